#!/usr/bin/env python3
"""Bit security of LWE instances with a uniform binary or ternary secret, by the lattice-estimator.

Needs an environment with SageMath (or the pip wheels `passagemath-standard-no-symbolics passagemath-symbolics scipy`)
and a checkout of the lattice-estimator (https://github.com/malb/lattice-estimator), which is not part of this repository.

    python3 estimate.py --estimator CHECKOUT rows ../../crates/tfhe/data/sets_to_estimate.csv
    python3 estimate.py --estimator CHECKOUT curve --log2-q 64 --levels 128 132 --dimensions 512 1024 2048
    python3 estimate.py --estimator CHECKOUT --secret ternary moduli ../../crates/bfv/data/moduli_to_estimate.csv

`rows` estimates every row of a CSV with the columns name,dimension,log2_std,log2_q: the dimension is n for LWE and k*N for
GLWE, log2_std is relative to the modulus. `curve` looks for the smallest standard deviation that keeps the wanted level.
`moduli` estimates every row of a CSV with the columns dimension,log2_q, whose errors have the standard deviation --std (BFV's
by default); log2_q may be a fraction. `largest` looks for the largest log2_q that keeps the wanted level with those errors.

The adversary has unlimited samples. The security of a row is the cheapest attack tried; every cost is a model, not a
measurement. MATZOV is the estimator's default cost model of lattice reduction and the lower one; BDGL16 is the one
TFHE-rs states for its own parameter sets.
"""

import argparse
import csv
import functools
import math
import multiprocessing
import sys
import time
import warnings

MODELS = ("MATZOV", "BDGL16")
ATTACKS = ("usvp", "bdd", "dual_hybrid", "dual_hybrid_fine")
# Slow (minutes a row) and never the cheapest for a dense binary secret in the rows tried: on request.
SLOW_ATTACKS = ("bdd_hybrid", "bdd_mitm_hybrid")


# The least and the greatest coefficient of a uniform secret.
SECRETS = {"binary": (0, 1), "ternary": (-1, 1)}


def power_of_two(exponent):
    """2^exponent rounded to an integer, with 53 bits of precision; exact for an integer exponent."""
    whole = math.floor(exponent)
    mantissa = int(2.0 ** (exponent - whole) * 2.0**52)
    return mantissa << (whole - 52) if whole >= 52 else mantissa >> (52 - whole)


def quicken():
    """Make the estimator faster without another result: constants as numbers, not symbols, and each root-Hermite factor once.

    Its log is turned off: where a search ends at a bound, the stored text of util.py logs a malformed message and stops.
    """
    from estimator import lwe_dual, lwe_primal, reduction, simulator
    from estimator.io import Logging
    from sage.all import RR, e, pi

    for module in (lwe_dual, lwe_primal, reduction, simulator):
        for name, value in (("pi", RR(pi)), ("e", RR(e))):
            if hasattr(module, name):
                setattr(module, name, value)
        if hasattr(module, "deltaf"):
            module.deltaf = functools.cache(module.deltaf)
    Logging.log = lambda *_, **__: None


def instance_of(dimension, std_dev, log2_q, secret):
    """The estimator's form of an instance, with as many samples as the adversary wants."""
    from estimator import LWE, ND

    return LWE.Parameters(
        n=dimension, q=power_of_two(log2_q), Xs=ND.Uniform(*SECRETS[secret]), Xe=ND.DiscreteGaussian(std_dev)
    )


def attack_costs(instance, model, attacks):
    """Yield (attack, log2 of the operations, the estimator's own line, seconds) for one instance."""
    from estimator import LWE, RC

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
    # Samples are counted in thousands at the dimensions of BFV: begin with strides of a sixteenth.
    m_steps = ((1024, 256) if instance.n > 4096 else ()) + (64, 16, 4)
    while moved:
        moved = False
        for key, steps in (("m", m_steps), ("t", (4, 1)), ("zeta", (4, 1)), ("beta", (4, 1)), ("p", (1,))):
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


def bits(instance, model, attacks):
    """Security of one instance: the cheapest of the attacks."""
    return min(cost for _, cost, _, _ in attack_costs(instance, model, attacks))


def estimate_row(job):
    title, dimension, std_dev, log2_q, secret, model, attacks = job
    lines = [f"{title} model={model}"]
    found = {}
    for attack, cost, line, seconds in attack_costs(instance_of(dimension, std_dev, log2_q, secret), model, attacks):
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
    dimension, log2_q, level, secret, model, attacks = job
    place = f"dimension={dimension} log2_q={log2_q} model={model} level={level:g}"

    def security(log2_std):
        return bits(instance_of(dimension, 2.0 ** (log2_std + log2_q), log2_q, secret), model, attacks)

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


def largest_modulus(job):
    """Largest log2 q, to a sixteenth of a bit, at which the instance keeps `level` bits."""
    dimension, std_dev, level, secret, model, attacks = job
    place = f"dimension={dimension} std={std_dev:g} secret={secret} model={model} level={level:g}"

    def security(log2_q):
        return bits(instance_of(dimension, std_dev, log2_q, secret), model, attacks)

    # The standard's column of 2018 for 128 bits is N/37.4; the answer is close to it times 128 over the level.
    step = max(1.0, dimension / 1024)
    low = high = round(dimension / 38 * 128 / level)
    while security(low) < level:
        low, high = low - step, low
    while high == low or security(high) >= level:
        low, high = high, high + step
    while high - low > 1 / 16:
        middle = (low + high) / 2
        low, high = (middle, high) if security(middle) >= level else (low, middle)
    return f"{place} log2_q={low:.4f} bits={security(low):.2f}"


def names(text):
    return tuple(text.split(","))


def csv_rows(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def named_rows(args):
    """Jobs of the sets whose noise is relative to the modulus, a power of two."""
    for row in csv_rows(args.csv):
        if args.only and not any(text in row["name"] for text in args.only):
            continue
        dimension, log2_std, log2_q = int(row["dimension"]), float(row["log2_std"]), int(row["log2_q"])
        title = f"[{row['name']}] dimension={dimension} log2_std={log2_std:g} log2_q={log2_q}"
        for model in args.models:
            yield title, dimension, 2.0 ** (log2_std + log2_q), log2_q, args.secret, model, args.attacks


def modulus_rows(args):
    """Jobs of the moduli whose noise is absolute."""
    for row in csv_rows(args.csv):
        dimension, log2_q = int(row["dimension"]), float(row["log2_q"])
        title = f"[{args.secret}] dimension={dimension} std={args.std:g} log2_q={log2_q:g}"
        for model in args.models:
            yield title, dimension, args.std, log2_q, args.secret, model, args.attacks


def jobs_of(args):
    if args.command == "rows":
        return estimate_row, named_rows(args)
    if args.command == "moduli":
        return estimate_row, modulus_rows(args)
    work, number = (curve_point, args.log2_q) if args.command == "curve" else (largest_modulus, args.std)
    return work, (
        (dimension, number, level, args.secret, model, args.attacks)
        for model in args.models
        for level in args.levels
        for dimension in args.dimensions
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--estimator", required=True, help="folder that holds the `estimator` package")
    parser.add_argument("--models", type=names, default=MODELS, help="comma-separated cost models of lattice reduction")
    parser.add_argument("--attacks", type=names, default=ATTACKS, help=f"comma-separated, of {ATTACKS + SLOW_ATTACKS}")
    parser.add_argument("--secret", choices=SECRETS, default="binary", help="distribution of the secret's coefficients")
    parser.add_argument("--processes", type=int, default=2)
    commands = parser.add_subparsers(dest="command", required=True)
    rows = commands.add_parser("rows")
    rows.add_argument("csv")
    rows.add_argument("--only", nargs="*", default=[], help="rows whose name contains one of these")
    curve = commands.add_parser("curve")
    curve.add_argument("--log2-q", type=int, default=64)
    curve.add_argument("--levels", type=float, nargs="+", default=[128, 132])
    curve.add_argument("--dimensions", type=int, nargs="+", required=True)
    moduli = commands.add_parser("moduli")
    moduli.add_argument("csv")
    largest = commands.add_parser("largest")
    for command in (moduli, largest):
        command.add_argument("--std", type=float, default=3.2, help="standard deviation of the errors")
    largest.add_argument("--levels", type=float, nargs="+", default=[128, 192, 256])
    largest.add_argument("--dimensions", type=int, nargs="+", required=True)
    args = parser.parse_args()

    warnings.filterwarnings("ignore")
    sys.path.insert(0, args.estimator)
    work, jobs = jobs_of(args)
    with multiprocessing.Pool(args.processes, quicken) as pool:
        for result in pool.imap(work, jobs):
            print(result, flush=True)


if __name__ == "__main__":
    main()
