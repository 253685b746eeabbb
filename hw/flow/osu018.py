"""Gate equivalents and the critical path of a configuration in the OSU 0.18 um cells, before layout: no wires.

Memories stay outside, counted as bits: a path ends where it enters one and begins where it leaves one, at no cost of
the memory's own. Multiplications become adders of gates.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import elaborate
from tool import ToolError, run, yosys
from units import Configuration

# Debian's qflow-tech-osu018.
LIBERTY = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
# A two-input NAND is the gate that others are counted in.
UNIT_CELL = "NAND2X1"
BUFFER = "BUFX4"
# At most so many inputs of small gates hang on an output: timing without buffers would be that of the widest fan-out.
FANOUT = 16
REGISTER, INVERTER = "DFF", "INV"
# What is copied where too much hangs on it: the pin that it takes, and the one that it gives.
COPIED = ((REGISTER, "D", "Q"), (INVERTER, "A", "Y"))
# The size of an inverter for so many inputs; it is as many inputs for what drives it.
INVERTERS = ((2, 1), (4, 2), (8, 4), (FANOUT, 8))
OUTPUTS = {"Y", "Q", "YC", "YS"}
# Generic gates before they are mapped: a unit with more would take hours.
GATE_LIMIT = 1_500_000
# For short paths: `if -g` balances sums of products by delay (A. Mishchenko et al., "Delay optimization using SOP
# balancing", ICCAD 2011). Yosys' own script for Liberty files has `dc2` and `&nf` in its place, which make a chain of a
# prefix tree of carries. Fan-out is left to `relieved`.
ABC = "+strash;ifraig;scorr;dch,-f;if,-g,-K,6;strash;dch,-f;map,-B,0.9;topo;upsize;dnsize;stime,-p"
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


@dataclass(frozen=True)
class Input:
    """An input of a cell: the bit that it hangs on, in a list that is the netlist's own."""

    cell: dict[str, Any]
    bits: list[Any]


def relieved(module: dict[str, Any]) -> None:
    """Lets no more than `FANOUT` small inputs hang on any bit of a netlist (as `write_json` has it).

    A register or an inverter is copied as often as it takes, as placers do: what feeds the copies is before the register's
    clock edge. Behind inputs and other gates are trees of buffers. Inverters get the size that their load asks for, and
    count by it.
    """
    sinks: dict[int, list[Input]] = defaultdict(list)
    # By what they drive: name, cell, the pins that it takes and gives.
    copiable: dict[int, tuple[str, dict[str, Any], str, str]] = {}
    highest = 1
    for name, cell in module["cells"].items():
        for kind, taken, given in COPIED:
            if cell["type"].startswith(kind):
                copiable[cell["connections"][given][0]] = name, cell, taken, given
        for pin, bits in cell["connections"].items():
            highest = max([highest, *(bit for bit in bits if isinstance(bit, int))])
            # The clock's tree is somebody else's, and so is the reset's.
            if pin not in OUTPUTS | {"CLK", "R", "S"} or cell["type"].startswith("MUX") and pin == "S":
                for bit in bits:
                    if isinstance(bit, int):
                        sinks[bit].append(Input(cell, bits))
    for net in module["netnames"].values():
        highest = max([highest, *(bit for bit in net["bits"] if isinstance(bit, int))])

    def size(inverter: dict[str, Any]) -> int:
        load = len(sinks[inverter["connections"]["Y"][0]])
        return next(size for limit, size in INVERTERS if load <= limit or limit == FANOUT)

    def groups(hanging: list[Input]) -> list[list[Input]]:
        found: list[list[Input]] = [[]]
        room = FANOUT
        for one in hanging:
            weight = size(one.cell) if one.cell["type"].startswith(INVERTER) else 1
            if weight > room:
                found.append([])
                room = FANOUT
            found[-1].append(one)
            room -= weight
        return found

    def is_register(bit: int) -> bool:
        return bit in copiable and copiable[bit][1]["type"].startswith(REGISTER)

    number = 0
    # Registers wait until what hangs on them is settled.
    registers = {bit for bit in sinks if is_register(bit)}
    others = set(sinks) - registers
    while others or registers:
        bit = (others or registers).pop()
        parts = groups(sinks[bit])
        if len(parts) == 1:
            continue
        name, cell, taken, given = copiable.get(bit, ("", {}, "", ""))
        copied = bool(cell) and cell["connections"][taken] != [bit]
        # What copies hang on is what the original hangs on; buffers hang on the bit itself.
        source = cell["connections"][taken][0] if copied else bit
        sinks[bit] = parts.pop(0) if copied else []
        for part in parts:
            highest, number = highest + 1, number + 1
            sinks[highest] = part
            for one in part:
                one.bits[:] = [highest if entry == bit else entry for entry in one.bits]
            data = [source]
            if copied:
                added = cell | {"connections": cell["connections"] | {taken: data, given: [highest]}}
                module["cells"][f"{name}_copy_{number}"] = added
            else:
                added = {"hide_name": 0, "type": BUFFER, "parameters": {}, "attributes": {}}
                added["connections"] = {"A": data, "Y": [highest]}
                module["cells"][f"fanout_{number}"] = added
            # A constant has no limit.
            if isinstance(source, int):
                sinks[source].append(Input(added, data))
        if isinstance(source, int):
            (registers if is_register(source) else others).add(source)

    for cell in module["cells"].values():
        if cell["type"].startswith(INVERTER):
            cell["type"] = f"{INVERTER}X{size(cell)}"


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
    memories, statistics = folder / "memories.il", folder / "osu018.cells.json"
    try:
        yosys(
            [
                elaborate.read(configuration, parameters, files, memories=False),
                f"hierarchy -top {top}",
                "flatten",
                f"tee -o {memories} dump t:prim_ram_1r1w t:prim_rom",
                "expose -evert t:prim_ram_1r1w t:prim_rom",
                # A memory's clock is no result of the unit.
                "delete -output w:*.clk_i",
                f"synth -top {top}",
                f"select -assert-max {GATE_LIMIT} t:*",
                f"dfflibmap -liberty {LIBERTY}",
                f"abc -liberty {LIBERTY} -script {ABC}",
                "opt_clean -purge",
                f"write_json {mapped}",
            ],
            folder,
            "osu018",
        )
        whole = json.loads(mapped.read_text())
        relieved(whole["modules"][top])
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
