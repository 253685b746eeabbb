"""Measures all cases in separate processes, prints a table and writes the record. `make bench CASES=ray` calls it."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from ciphermill_bench import machine
from ciphermill_bench.cases import bench
from ciphermill_bench.harness import Sample, Stats
from ciphermill_bench.ray.cases import BLOCKS, CONTENDERS, SIZES, Contender, case_name
from ciphermill_bench.ray.model import ASSUMPTIONS, extend
from ciphermill_bench.record import clean_commit, compact, duration, tenths

SCHEMA = "ciphermill-ray/1"

#: The variables of a cluster that only this process and its children reach.
LOOPBACK = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}

#: Seconds after which a child is killed.
LIMIT = 3600


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m ciphermill_bench.ray", description=__doc__)
    parser.add_argument("--command", type=Path, required=True, help="the command `ciphermill`, built for release")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only cases whose name contains this")
    parser.add_argument("--quick", action="store_true", help="two small sizes, few samples: a check, not to quote")
    parser.add_argument("--once", action="store_true", help="take all cases in one order, not in the opposite one too")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the record here")
    return parser.parse_args()


def plan(options: argparse.Namespace) -> Iterator[tuple[int, Contender, list[int]]]:
    """Size, contender and blocks of each child. A full run takes all in one order and then in the other, because the speed of the
    machine drifts; with `--once` it takes half the time."""
    sizes, blocks = (SIZES[:2], (1, 4)) if options.quick else (SIZES, BLOCKS)
    groups = [
        (size, contender, chosen)
        for size in sizes
        for contender in CONTENDERS
        if (chosen := [count for count in blocks if options.only in case_name(size, count, contender)])
    ]
    yield from groups
    if not options.quick and not options.once:
        yield from reversed(groups)


def answers(size: int, contender: Contender, blocks: list[int], quick: bool) -> Iterator[dict[str, Any]]:
    """The lines of a child. Its processes end with it. A child that fails has its last words in `not_run`."""
    samples, seconds = ("2", "0") if quick else ("5", "2")
    words = [str(size), contender.name, ",".join(map(str, blocks)), samples, seconds]
    child = subprocess.Popen(
        [sys.executable, "-m", "ciphermill_bench.ray.child", *words],
        env=os.environ | LOOPBACK | {"RAY_AUTH_TOKEN": secrets.token_hex(32)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    missing = dict.fromkeys(case_name(size, count, contender) for count in blocks)
    limit = threading.Timer(LIMIT, child.kill)
    limit.start()
    try:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith("="):
                answer = json.loads(line[1:])
                missing.pop(answer["case"], None)
                yield answer
        status = child.wait()
    finally:
        limit.cancel()
        # Ray starts some of its processes in groups of their own; they end with their parents.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    for name in missing:
        yield {"case": name, "not_run": f"the process ended with {status}"}


def merged(first: dict[str, Any] | None, second: dict[str, Any]) -> dict[str, Any]:
    """The samples of both runs of a case; steps and other times are means of both."""
    if first is None:
        return second
    times = [*first["times_ns"], *second["times_ns"]]
    stats = Stats.of([Sample(ns, ns) for ns in times], first["correct"] and second["correct"])
    mean: dict[str, Any] = {
        name: (first[name] + second[name]) / 2
        for name in ("prepare_ns", "keys_ns", "first_ns", "call_ns", "stream_ns")
        if name in first
    }
    steps = {step: (ns + second["steps_ns"][step]) / 2 for step, ns in first["steps_ns"].items()}
    return {**first, **vars(stats), **mean, "times_ns": times, "steps_ns": steps}


def row(case: dict[str, Any], isa: str, cpu: str) -> dict[str, Any]:
    """The record of a case."""
    contender = Contender.of(case["contender"])
    return {
        "schema": SCHEMA,
        "case": case["case"],
        "params": {
            "size": case["size"],
            "blocks": case["blocks"],
            "cells": case["cells"],
            "rows": case["rows"],
            "parameters": case["parameters"],
            "nodes": contender.nodes or None,
        },
        "engine": "cpu",
        "isa": isa,
        "threads": contender.threads or contender.nodes,
        "samples": case["samples"],
        "min_ns": tenths(case["min_ns"]),
        "median_ns": tenths(case["median_ns"]),
        "quartiles_ns": [tenths(ns) for ns in case["quartiles_ns"]],
        "correct": case["correct"],
        "kind": "measured",
        "cpu": cpu,
        "figures": {
            name: case.get(name)
            for name in (
                "steps_ns",
                "prepare_ns",
                "keys_ns",
                "first_ns",
                "call_ns",
                "stream_ns",
                "keys_bytes",
                "vector_bytes",
                "product_bytes",
                "guarantee",
            )
        },
    }


def to_json(head: dict[str, Any], **lists: list[dict[str, Any]]) -> str:
    """The record: its head indented, one entry of a list on a line."""
    lines = [f"  {json.dumps(key)}: {compact(value)}" for key, value in head.items()]
    for name, entries in lists.items():
        body = ",\n".join(f"    {compact(entry)}" for entry in entries)
        lines.append(f'  "{name}": [\n{body}\n  ]' if entries else f'  "{name}": []')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    """Measure; 1 if any result is wrong."""
    options = arguments()
    needed = {"ray": "ray", "grpc": "grpcio", "numpy": "numpy", "ciphermill": "ciphermill"}
    if absent := [package for module, package in needed.items() if importlib.util.find_spec(module) is None]:
        sys.exit(f"{', '.join(absent)} not installed in {sys.prefix}; run `make bench CASES=ray`, which installs all")
    if not options.command.is_file():
        sys.exit(f"{options.command} does not exist; run `make bench CASES=ray`, which builds it")
    begun, started = time.monotonic(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    described, isa = machine.describe(), bench(options.command.resolve(), "hmvp", "--rows", "16", "--cols", "16")["isa"]
    commit = clean_commit()
    spec = importlib.util.find_spec("ciphermill")
    if spec is None or not Path(str(spec.origin)).is_relative_to(sys.prefix):
        commit += " with a package that is not an installed wheel"
    words = [
        "python -m ciphermill_bench.ray",
        *(["--quick"] if options.quick else []),
        *(["--once"] if options.once else []),
        *([f"--only {options.only}"] if options.only else []),
    ]
    groups = list(plan(options))
    if not groups:
        print(f"ciphermill_bench.ray: no case contains {options.only!r}", file=sys.stderr)
        return 2
    cases: dict[str, dict[str, Any]] = {}
    not_run = {
        case_name(size, count, contender): "not reached" for size, contender, blocks in groups for count in blocks
    }

    def write(output: Path) -> None:
        """The record of the cases until now."""
        head = {
            "schema": SCHEMA,
            "command": " ".join([*words, f"--output {output.name}"]),
            "commit": commit,
            "started": started,
            "wall_s": round(time.monotonic() - begun),
            "machine": described,
            "ray": metadata.version("ray"),
            "assumptions": list(ASSUMPTIONS),
        }
        rows = [row(case, isa, described["cpu"]) for case in cases.values()]
        # A case may have run once and then found no memory.
        left_out = [{"case": name, "reason": reason} for name, reason in not_run.items() if name not in cases]
        output.write_text(to_json(head, rows=rows, not_run=left_out, model=extend(list(cases.values()))))

    for size, contender, blocks in groups:
        for answer in answers(size, contender, blocks, options.quick):
            name = answer["case"]
            if "not_run" in answer:
                not_run[name] = answer["not_run"]
                print(f"  {name}  not run: {answer['not_run']}", flush=True)
            else:
                cases[name] = merged(cases.get(name), answer)
                right = "" if answer["correct"] else "  WRONG"
                print(f"  {name}  {duration(answer['median_ns'])}{right}", flush=True)
        # Each time, so that an interrupted run of hours leaves its record.
        if options.output:
            write(options.output)
    if options.output:
        print(f"Written: {options.output}")
    wrong = [name for name, case in cases.items() if not case["correct"]]
    if wrong:
        print(f"ciphermill_bench.ray: results are wrong: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
