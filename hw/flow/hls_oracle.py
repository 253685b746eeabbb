"""The least intervals of random loops, proven by CP-SAT, compared with those of the compiler.

    cargo run --release -p ciphermill-hls --example loops -- 200 > loops.jsonl
    python hw/flow/hls_oracle.py loops.jsonl [--quick]

OR-tools is a test tool only (PyPI: ortools). For each interval from one up the solver either places all accesses or proves
that none can be; so the first interval that it places is the least. The model is exact: two accesses may not use the same
port of a bank in the same cycle in any pair of iterations, and values and dependences come in time. As in the hardware, an
access uses the same one of two ports in every iteration.

The loops are short, so that an access may wait until another one is done with all iterations. Such a schedule has a shorter
interval and takes no less time. So a schedule of a shorter interval counts if it ends the run in fewer cycles, with an
iteration at most twice as deep as the compiler's. The least interval of all depths is reported too. A proof of the compiler
that the solver refutes is a mistake.
"""

import argparse
import itertools
import json
import sys
import time
from typing import Any

from ortools.sat.python import cp_model

# The latest cycle of an access in its iteration, where any depth will do.
HORIZON = 400
# Seconds for one interval; beyond, nothing is proven.
LIMIT = 30.0
# Loops of a quick run.
QUICK = 20


def meetings(first: list[int], second: list[int]) -> set[int]:
    """Offsets from an iteration of the first access to one of the second at which both are in one bank."""

    def same(one: int, other: int) -> bool:
        return -1 not in (one, other) and (one == other or -2 in (one, other))

    pairs = itertools.product(enumerate(first), enumerate(second))
    return {then - now for (now, one), (then, other) in pairs if same(one, other)}


def apart(
    first: cp_model.IntVar, second: cp_model.IntVar, offsets: set[int], interval: int
) -> cp_model.BoundedLinearExpression:
    """Iteration i of the first access and iteration i + offset of the second must not be in the same cycle.

    One domain instead of many differences, from which the presolve of OR-tools 9.15 concludes too much.
    """
    return cp_model.BoundedLinearExpression(
        first - second, cp_model.Domain.from_values([interval * offset for offset in offsets]).complement()
    )


def share(
    model: cp_model.CpModel, cycles: list[cp_model.IntVar], banks: list[list[int]], ports: int, interval: int
) -> None:
    """Accesses that meet are in different cycles. If a bank has two ports, they may have different ports instead."""
    port = [model.new_bool_var("") for _ in cycles]
    for first, second in itertools.combinations(range(len(cycles)), 2):
        rule = model.add(apart(cycles[first], cycles[second], meetings(banks[first], banks[second]), interval))
        if ports == 2:
            same = model.new_bool_var("")
            rule.only_enforce_if(same)
            model.add(port[first] + port[second] == 1).only_enforce_if(~same)


def latest(problem: dict[str, Any], interval: int) -> int:
    """The last cycle of an iteration with which a shorter interval ends the run earlier."""
    depth, iterations = max(problem["cycles"]) + 1, len(problem["banks"][0])
    if interval >= problem["interval"]:
        return depth - 1
    saved = (problem["interval"] - interval) * (iterations - 1)
    return int(min(2 * depth, depth + saved - 1)) - 1


def placed(problem: dict[str, Any], interval: int, horizon: int) -> bool | None:
    """Whether all accesses can be placed at an interval up to a cycle; None if the solver does not know."""
    model = cp_model.CpModel()
    earliest = problem["earliest"]
    cycles = [model.new_int_var(0, horizon, f"t{access}") for access in range(len(earliest))]
    for cycle, first in zip(cycles, earliest, strict=True):
        model.add(cycle >= first)
    for read, access, latency in problem["latencies"]:
        model.add(cycles[access] >= cycles[read] + latency)
    for first, second, iterations, needed in problem["dependences"]:
        model.add(cycles[second] + interval * iterations >= cycles[first] + needed)
    for accesses, ports in problem["groups"]:
        banks = [problem["banks"][access] for access in accesses]
        share(model, [cycles[access] for access in accesses], banks, ports, interval)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = LIMIT
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return True
    return False if status == cp_model.INFEASIBLE else None


def least(problem: dict[str, Any], horizon: int | None = None) -> int | None:
    """The least interval of schedules up to a cycle, or of those that end earlier; None if it is not proven."""
    for interval in range(1, problem["interval"] + 1):
        answer = placed(problem, interval, latest(problem, interval) if horizon is None else horizon)
        if answer is None:
            return None
        if answer:
            return interval
    # The compiler has a schedule that the model refuses.
    return problem["interval"] + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loops", help="a file with one problem a line, or - for the input")
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK} loops")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    given = parser.parse_args()
    with sys.stdin if given.loops == "-" else open(given.loops, encoding="utf-8") as file:
        problems = [json.loads(line) for line in file if line.strip()]
    problems = problems[:QUICK] if given.quick else problems
    begun = time.monotonic()
    equal, longer, unproven, impossible, refuted = [], [], [], [], []
    any_depth = 0
    for problem in problems:
        name = f"{problem['program']}:{problem['loop']}"
        best = least(problem)
        any_depth += least(problem, HORIZON) == problem["interval"]
        if best is None:
            unproven.append(name)
        elif best == problem["interval"]:
            equal.append(name)
        elif best < problem["interval"]:
            longer.append({"loop": name, "least": best, "compiler": problem["interval"]})
            refuted += [name] if problem["proven"] else []
        else:
            impossible.append({"loop": name, "compiler": problem["interval"]})
    report = {
        "loops": len(problems),
        "above_one": sum(problem["interval"] > 1 for problem in problems),
        "proven_by_the_compiler": sum(problem["proven"] for problem in problems),
        "equal": len(equal),
        "equal_at_any_depth": any_depth,
        "longer": longer,
        "open": len(unproven),
        "unproven": unproven,
        "impossible": impossible,
        "refuted_proofs": refuted,
        "seconds": round(time.monotonic() - begun, 1),
    }
    if given.json:
        print(json.dumps(report, indent=2))
    else:
        print(f"{report['loops']} loops, {report['above_one']} with an interval above one, {report['seconds']} s")
        proven = report["proven_by_the_compiler"]
        print(
            f"{len(equal)} intervals are proven to be the least, {len(unproven)} are open; the compiler proves {proven}"
        )
        print(f"{any_depth} intervals are proven to be the least of all depths")
        for one in longer:
            print(f"{one['loop']}: {one['compiler']} cycles, at the least {one['least']}")
        for one in impossible:
            print(f"{one['loop']}: {one['compiler']} cycles, which the exact model refuses")
        for name in refuted:
            print(f"{name}: the compiler's proof is wrong")
    # A schedule or a proof that the model refuses is a mistake of the compiler or of the model.
    return 1 if impossible or refuted or not problems else 0


if __name__ == "__main__":
    sys.exit(main())
