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
ATTACKS = ("usvp", "bdd", "dual_hybrid", "dual_hybrid_fine")
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
    found: dict[str, object] = {}
    run["dual_hybrid_fine"] = lambda: refined_dual(found["dual_hybrid"], instance, cost_model)
    for attack in attacks:
        start = time.time()
        cost = found[attack] = run[attack]()
        yield attack, log2(cost["rop"]), repr(cost), time.time() - start


def refined_dual(coarse, instance, cost_model):
    """Lower the estimator's dual hybrid cost by coordinate descent from the optimum it returned.

    Its own search takes the guessed and the transformed coordinates in steps of ten and as many samples as the dimension;
    an adversary is not bound to either.
    """
    from estimator import LWE

    def cost(at):
        return LWE.dual_hybrid.cost(
            at["beta"], instance, m=at["m"], p=at["p"], k_enum=at["zeta"], k_fft=at["t"], red_cost_model=cost_model
        )

    place = {key: int(coarse[key]) for key in ("beta", "p", "zeta", "t", "m")}
    least = {"beta": 40, "p": 2, "zeta": 0, "t": 0, "m": 1}
    best, moved = coarse, log2(coarse["rop"]) < math.inf
    while moved:
        moved = False
        for key, steps in (("m", (64, 16, 4)), ("t", (4, 1)), ("zeta", (4, 1)), ("beta", (4, 1)), ("p", (1,))):
            for step in steps:
                for signed in (step, -step):
                    while True:
                        tried = dict(place, **{key: place[key] + signed})
                        if tried[key] < least[key] or tried["zeta"] + tried["t"] >= instance.n:
                            break
                        value = cost(tried)
                        if not value["rop"] < best["rop"]:
                            break
                        best, place, moved = value, tried, True
    return best


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
    best = min(found, key=lambda attack: found[attack])
    # The estimator considers block sizes up to 1754 only, about 2^512 operations in its cheapest cost model.
    lines.append(
        f"  => {found[best]:.2f} bits ({best})" if found[best] < math.inf else "  => beyond the estimator's range"
    )
    return "\n".join(lines)


def curve_point(job):
    """Smallest standard deviation, to a fiftieth of a bit, at which the instance keeps `level` bits."""
    dimension, log2_q, level, model, attacks = job
    place = f"dimension={dimension} log2_q={log2_q} model={model} level={level:g}"

    def security(log2_std):
        return bits(dimension, log2_std, log2_q, model, attacks)

    # Two units of the modulus is the least noise considered; a sixteenth of the torus is more than any set can use.
    least, most = 1.0 - log2_q, -4.0
    # Zama's 128-bit line is within two units of the answer: open the bracket there, widen it if it is not.
    low = high = max(least, min(most, 2.68 - 0.0257 * dimension))
    while low > least and security(low) >= level:
        low, high = max(least, low - 2), low
    if low == least and security(low) >= level:
        return f"{place} log2_std={low:.2f} bits={security(low):.2f} (least noise considered)"
    while high == low or security(high) < level:
        if high >= most:
            return f"{place} out of reach"
        low, high = high, min(most, high + 1)
    while high - low > 0.02:
        middle = (low + high) / 2
        if security(middle) >= level:
            high = middle
        else:
            low = middle
    return f"{place} log2_std={high:.2f} bits={security(high):.2f}"


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
