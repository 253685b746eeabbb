"""The products of an iteration on the cycle models of CHAM: docs/arch-pipeline.md."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from ciphermill_bench.cases.federated.iteration import Shape

#: The paper's machine, and the one with the transforms of our RTL.
MACHINES = ("cham-paper", "cham-ciphermill")

#: The kind of the times.
KIND = "simulated"


def simulate(command: Path, machine: str, rows: int, cols: int) -> dict[str, Any]:
    """The record of one product by algorithm 1."""
    words = ["arch", "pipeline", "run", "--machine", machine, "--rows", str(rows), "--cols", str(cols), "--json"]
    done = subprocess.run([command, *words], stdout=subprocess.PIPE, check=True)
    (record,) = json.loads(done.stdout)
    if record["label"] != KIND:
        raise SystemExit(f"{record['case']} is {record['label']}; this case expects {KIND} times")
    found: dict[str, Any] = record
    return found


def products(command: Path, shape: Shape) -> dict[str, Any]:
    """By machine: nanoseconds of the products of both parties, one after the other on one accelerator, and their cycles."""
    found: dict[str, Any] = {"kind": KIND, "command": "ciphermill arch pipeline run"}
    for machine in MACHINES:
        records = [simulate(command, machine, count, shape.samples) for count in shape.features.values()]
        found[machine] = {
            "multiply_ns": 1e6 * sum(record["params"]["milliseconds"] for record in records),
            "cycles": [record["cycles"] for record in records],
            "clock_mhz": records[0]["params"]["clock_mhz"],
        }
    return found
