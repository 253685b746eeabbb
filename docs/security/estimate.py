#!/usr/bin/env python3
"""Bit security of LWE instances with a uniform binary secret, by the lattice-estimator.

Needs an environment with SageMath (or the pip wheels `passagemath-standard-no-symbolics passagemath-symbolics scipy`)
and a checkout of the lattice-estimator (https://github.com/malb/lattice-estimator), which is not part of this repository.

    python3 estimate.py --estimator CHECKOUT rows ../../crates/tfhe/data/sets_to_estimate.csv
    python3 estimate.py --estimator CHECKOUT curve --log2-q 64 --levels 128 132 --dimensions 512 1024 2048

`rows` estimates every row of a CSV with the columns name,dimension,log2_std,log2_q: the dimension is n for LWE and k*N for
GLWE, log2_std is relative to the modulus. `curve` looks for the smallest standard deviation that keeps the wanted level.

The adversary has unlimited samples. The security of a row is the cheapest attack tried; every cost is a model, not a
measurement. MATZOV is the estimator's default cost model of lattice reduction and the lower one; BDGL16 is the one
TFHE-rs states for its own parameter sets.
"""

import argparse
import csv
import math
import multiprocessing
import sys
import time
import warnings

MODELS = ("MATZOV", "BDGL16")
ATTACKS = ("usvp", "bdd", "dual_hybrid")
# Slow (minutes a row) and never the cheapest for a dense binary secret in the rows tried: on request.
SLOW_ATTACKS = ("bdd_hybrid", "bdd_mitm_hybrid")


def attack_costs(dimension, log2_std, log2_q, model, attacks):
    """Yield (attack, log2 of the operations, the estimator's own line, seconds) for one instance."""
    from estimator import LWE, ND, RC

    q = 2**log2_q
    instance = LWE.Parameters(n=dimension, q=q, Xs=ND.Uniform(0, 1), Xe=ND.DiscreteGaussian(2.0 ** (log2_std + log2_q)))
    cost_model = getattr(RC, model)
    run = {
        "usvp": lambda: LWE.primal_usvp(instance, red_cost_model=cost_model),
        "bdd": lambda: LWE.primal_bdd(instance, red_cost_model=cost_model),
        "dual_hybrid": lambda: LWE.dual_hybrid(instance, red_cost_model=cost_model),
        "bdd_hybrid": lambda: LWE.primal_hybrid(instance, mitm=False, babai=False, red_cost_model=cost_model),
        "bdd_mitm_hybrid": lambda: LWE.primal_hybrid(instance, mitm=True, babai=True, red_cost_model=cost_model),
    }
    for attack in attacks:
        start = time.time()
        cost = run[attack]()
        yield attack, log2(cost["rop"]), repr(cost), time.time() - start


def log2(value):
    """Base-2 logarithm of a cost, which may be beyond the range of a float; infinite where the estimator finds none."""
    from sage.all import RR, oo

    return math.inf if value == oo else float(RR(value).log2())


def bits(dimension, log2_std, log2_q, model, attacks):
    """Security of one instance: the cheapest of the attacks."""
    return min(cost for _, cost, _, _ in attack_costs(dimension, log2_std, log2_q, model, attacks))


def estimate_row(job):
    name, dimension, log2_std, log2_q, model, attacks = job
    lines = [f"[{name}] dimension={dimension} log2_std={log2_std:g} log2_q={log2_q} model={model}"]
    found = {}
    for attack, cost, line, seconds in attack_costs(dimension, log2_std, log2_q, model, attacks):
        found[attack] = cost
        lines.append(f"  {attack:16s} {cost:8.2f}  ({seconds:.0f} s)  {line}")
    best = min(found, key=found.get)
    lines.append(f"  => {found[best]:.2f} bits ({best})")
    return "\n".join(lines)


def curve_point(job):
    """Smallest standard deviation found, within 0.1 bits of security, at which the instance keeps `level` bits."""
    dimension, log2_q, level, model, attacks = job
    place = f"dimension={dimension} log2_q={log2_q} model={model} level={level:g}"
    # Security grows almost linearly with log2 of the noise: start on Zama's 128-bit line and follow secants. Two units of
    # the modulus is the least noise considered.
    floor = 1.0 - log2_q
    guess = max(floor, 2.68 - 0.0257 * dimension)
    value = bits(dimension, guess, log2_q, model, attacks)
    if guess == floor and value >= level:
        return f"{place} log2_std={floor:.3f} bits={value:.2f} (least noise considered)"
    slope = value / abs(guess) if value < math.inf else 10.0
    for _ in range(12):
        if level <= value <= level + 0.1:
            break
        following = max(floor, guess + (level + 0.05 - value) / slope)
        reached = bits(dimension, following, log2_q, model, attacks)
        if following != guess and reached != value:
            slope = (reached - value) / (following - guess)
        guess, value = following, reached
    return f"{place} log2_std={guess:.3f} bits={value:.2f}"


def names(text):
    return tuple(text.split(","))


def jobs_of(args):
    if args.command == "rows":
        with open(args.csv, encoding="utf-8") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        return estimate_row, [
            (row["name"], int(row["dimension"]), float(row["log2_std"]), int(row["log2_q"]), model, args.attacks)
            for row in rows
            if not args.only or any(text in row["name"] for text in args.only)
            for model in args.models
        ]
    return curve_point, [
        (dimension, args.log2_q, level, model, args.attacks)
        for model in args.models
        for level in args.levels
        for dimension in args.dimensions
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--estimator", required=True, help="folder that holds the `estimator` package")
    parser.add_argument("--models", type=names, default=MODELS, help="comma-separated cost models of lattice reduction")
    parser.add_argument("--attacks", type=names, default=ATTACKS, help=f"comma-separated, of {ATTACKS + SLOW_ATTACKS}")
    parser.add_argument("--processes", type=int, default=2)
    commands = parser.add_subparsers(dest="command", required=True)
    rows = commands.add_parser("rows")
    rows.add_argument("csv")
    rows.add_argument("--only", nargs="*", default=[], help="rows whose name contains one of these")
    curve = commands.add_parser("curve")
    curve.add_argument("--log2-q", type=int, default=64)
    curve.add_argument("--levels", type=float, nargs="+", default=[128, 132])
    curve.add_argument("--dimensions", type=int, nargs="+", required=True)
    args = parser.parse_args()

    warnings.filterwarnings("ignore")
    sys.path.insert(0, args.estimator)
    work, jobs = jobs_of(args)
    with multiprocessing.Pool(args.processes) as pool:
        for result in pool.imap(work, jobs):
            print(result, flush=True)


if __name__ == "__main__":
    main()
