"""The least intervals of random loops, proven by CP-SAT, beside those of the compiler.

    cargo run --release -p ciphermill-hls --example loops -- 200 > loops.jsonl
    python hw/flow/hls_oracle.py loops.jsonl [--quick]

OR-tools is a test tool only (PyPI: ortools). For each interval from one up the solver either places all accesses or proves
that none can be; so the first interval that it places is the least. The model is exact: two accesses may not be in the same
bank in the same cycle in any pair of iterations, a bank with two ports takes two of them, values and dependences come in time.

The loops are short, so that an access may wait until another one is done with all iterations. Such a schedule has a shorter
interval and takes no less time. So a schedule counts that is no deeper than the compiler's; the least interval of all depths
is reported too.
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


def meetings(banks: list[list[int]], accesses: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Offsets of iterations, from the first access on, at which these accesses are in one bank."""
    count = len(banks[0])

    def same(visits: list[int]) -> bool:
        known = {bank for bank in visits if bank != -2}
        return -1 not in known and len(known) <= 1

    found = set()
    for iterations in itertools.product(range(count), repeat=len(accesses)):
        if same([banks[access][iteration] for access, iteration in zip(accesses, iterations, strict=True)]):
            found.add(tuple(iteration - iterations[0] for iteration in iterations[1:]))
    return found


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
        for several in itertools.combinations(accesses, ports + 1):
            for offsets in meetings(problem["banks"], several):
                # Iteration i of the first access and iteration i + offset of another one must not be in the same cycle.
                apart = []
                for other, offset in zip(several[1:], offsets, strict=True):
                    differs = model.new_bool_var("")
                    shift = cycles[several[0]] - cycles[other] - interval * offset
                    model.add(shift != 0).only_enforce_if(differs)
                    apart.append(differs)
                model.add_bool_or(apart)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = LIMIT
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return True
    return False if status == cp_model.INFEASIBLE else None


def least(problem: dict[str, Any], horizon: int) -> int | None:
    """The least interval of schedules up to a cycle; None if it is not proven."""
    for interval in range(1, problem["interval"] + 1):
        answer = placed(problem, interval, horizon)
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
    equal, longer, unproven, impossible = [], [], [], []
    any_depth = 0
    for problem in problems:
        name = f"{problem['program']}:{problem['loop']}"
        best = least(problem, max(problem["cycles"]))
        any_depth += least(problem, HORIZON) == problem["interval"]
        if best is None:
            unproven.append(name)
        elif best == problem["interval"]:
            equal.append(name)
        elif best < problem["interval"]:
            longer.append({"loop": name, "least": best, "compiler": problem["interval"]})
        else:
            impossible.append({"loop": name, "compiler": problem["interval"]})
    report = {
        "loops": len(problems),
        "above_one": sum(problem["interval"] > 1 for problem in problems),
        "equal": len(equal),
        "equal_at_any_depth": any_depth,
        "longer": longer,
        "unproven": unproven,
        "impossible": impossible,
        "seconds": round(time.monotonic() - begun, 1),
    }
    if given.json:
        print(json.dumps(report, indent=2))
    else:
        print(f"{report['loops']} loops, {report['above_one']} with an interval above one, {report['seconds']} s")
        print(f"{len(equal)} intervals are proven to be the least of this depth, {len(unproven)} are open")
        print(f"{any_depth} intervals are proven to be the least of all depths")
        for one in longer:
            print(f"{one['loop']}: {one['compiler']} cycles, at the least {one['least']}")
        for one in impossible:
            print(f"{one['loop']}: {one['compiler']} cycles, which the exact model refuses")
    # A schedule that the model refuses is a mistake of the compiler or of the model.
    return 1 if impossible or not problems else 0


if __name__ == "__main__":
    sys.exit(main())
