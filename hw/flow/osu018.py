"""Gate equivalents and the critical path of a configuration in the OSU 0.18 um cells, before layout: no wires.

Memories stay outside, counted as bits: a path ends where it enters one and begins where it leaves one, at no cost of
the memory's own. Multiplications become adders of gates.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import elaborate
import fanout
from tool import ToolError, run, yosys
from units import Configuration, sources_of

# Debian's qflow-tech-osu018.
LIBERTY = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
# A two-input NAND is the gate that others are counted in.
UNIT_CELL = "NAND2X1"
# Generic gates before they are mapped: a unit with more would take hours.
GATE_LIMIT = 1_500_000
# For short paths: `if -g` balances sums of products by delay (A. Mishchenko et al., "Delay optimization using SOP
# balancing", ICCAD 2011). Yosys' own script for Liberty files has `dc2` and `&nf` in its place, which make a chain of a
# prefix tree of carries. Fan-out is left to `fanout`.
ABC = "+strash;ifraig;scorr;dch,-f;if,-g,-K,6;strash;dch,-f;map,-B,0.9;topo;upsize;dnsize;stime,-p"
# Modules that are mapped each alone: long adders and rows of tiles. ABC makes the longest path of what it maps as short as
# it can, and anything else smaller, until it is as long; it knows nothing of fan-out then. Within a whole core an adder of
# 275 bits became a chain of 17 blocks, 6.8 ns; it is 2.9 ns alone.
ALONE = ("prim_add_select", "prim_mul_row")
# Longer than any path, ns: the slack tells the path's length.
PERIOD = 1000


def areas(liberty: str) -> dict[str, float]:
    """The area of every cell of a Liberty file."""
    return {
        name: float(area)
        for name, area in re.findall(
            r"^\s*cell\s*\(\s*\"?(\w+)\"?\s*\)\s*\{[^{}]*?\barea\s*:\s*([\d.]+)", liberty, re.MULTILINE
        )
    }


def equivalents(cells: Mapping[str, int], area: Mapping[str, float]) -> int:
    """The area of a netlist in that of a NAND. A cell that the library has not is an error."""
    return round(sum(number * area[name] for name, number in cells.items()) / area[UNIT_CELL])


def memory_bits(dump: str) -> int:
    """The bits of all memories in a dump of their cells."""
    bits = 0
    for cell in re.findall(r"^\s*cell \\prim_\w+ .*?^\s*end$", dump, re.DOTALL | re.MULTILINE):
        size = {name: re.search(rf"parameter (?:signed )?(?:\d+ )?\\{name} (\S+)", cell) for name in ("Width", "Depth")}
        if None in size.values():
            raise ValueError(f"a memory of unknown size:\n{cell}")
        bits += _constant(size["Width"].group(1)) * _constant(size["Depth"].group(1))  # type: ignore[union-attr]
    return bits


def _constant(text: str) -> int:
    """A number as RTLIL writes it: `35`, or its bits behind their count, `32'00…100011`."""
    return int(text.split("'")[1], 2) if "'" in text else int(text)


def slack(text: str) -> float:
    """The slack of the path that OpenSTA reports."""
    found = re.findall(r"^\s*(-?[\d.]+)\s+slack \((?:MET|VIOLATED)\)", text, re.MULTILINE)
    if len(found) != 1:
        raise ValueError(f"one path is wanted, OpenSTA reports {len(found)}")
    return float(found[0])


def critical_path(netlist: Path, top: str, folder: Path) -> float:
    """The longest path, ns: from registers and inputs to registers (with their set-up time) and outputs."""
    script = folder / "sta.tcl"
    script.write_text(
        "\n".join(
            [
                f"read_liberty {LIBERTY}",
                f"read_verilog {netlist}",
                f"link_design {top}",
                f"create_clock -name clock -period {PERIOD} [get_ports clk_i]",
                "set_input_delay 0 -clock clock [all_inputs]",
                "set_output_delay 0 -clock clock [all_outputs]",
                "report_checks -path_delay max -path_group clock -digits 4",
            ]
        )
        + "\n"
    )
    return round(PERIOD - slack(run(["sta", "-no_init", "-no_splash", "-exit", script], folder / "sta.log")), 3)


def gates(configuration: Configuration, files: Mapping[str, Path], folder: Path) -> dict[str, Any]:
    """Maps the configuration to cells, weighs them, times them."""
    parameters = configuration.parameters | configuration.osu018.parameters
    top, netlist = configuration.top, folder / "osu018.v"
    mapped = folder / "osu018.json"
    alone = [path.stem for path in sources_of(top) if path.stem in ALONE]
    memories, statistics = folder / "memories.il", folder / "osu018.cells.json"
    try:
        yosys(
            [
                elaborate.read(configuration, parameters, files, memories=False, modules=bool(alone)),
                f"hierarchy -top {top}",
                *(f"setattr -mod -set keep_hierarchy 1 {module}*" for module in alone),
                "flatten",
                f"tee -o {memories} dump t:prim_ram_1r1w t:prim_rom",
                "expose -evert t:prim_ram_1r1w t:prim_rom",
                # A memory's clock is no result of the unit.
                "delete -output w:*.clk_i",
                f"synth -top {top}",
                f"select -assert-max {GATE_LIMIT} t:*",
                f"dfflibmap -liberty {LIBERTY}",
                f"abc -liberty {LIBERTY} -script {ABC}",
                "setattr -mod -unset keep_hierarchy *",
                "flatten",
                "opt_clean -purge",
                f"write_json {mapped}",
            ],
            folder,
            "osu018",
        )
        whole = json.loads(mapped.read_text())
        fanout.relieve(whole["modules"][top])
        mapped.write_text(json.dumps(whole))
        yosys(
            [
                f"read_json {mapped}",
                f"tee -o {statistics} stat -json -top {top}",
                f"write_verilog -noattr -noexpr -simple-lhs {netlist}",
            ],
            folder,
            "osu018.relieved",
        )
    except ToolError as error:
        if "selection contains" not in str(error):
            raise
        return {"gate_equivalents": None, "reason": f"more than {GATE_LIMIT} gates before mapping"}
    cells = json.loads(statistics.read_text())["design"]["num_cells_by_type"]
    return {
        "gate_equivalents": equivalents(cells, areas(LIBERTY.read_text())),
        "critical_path_ns": critical_path(netlist, top, folder),
        "memory_bits": memory_bits(memories.read_text()),
    }
