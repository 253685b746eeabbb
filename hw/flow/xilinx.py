"""What a configuration costs on UltraScale+ by the mapping of Yosys (synth_xilinx -family xcup), before place and route.

lut     LUTs of logic, shift registers and LUT memories; two small functions in one LUT6_2 are counted as two
dsp     DSP48E2
bram    in units of RAMB36, a RAMB18 being half of one
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import elaborate
from tool import yosys
from units import Configuration

# LUTs that a primitive takes (UG974).
LUTS = {
    **{f"LUT{inputs}": 1 for inputs in range(1, 7)},
    "INV": 1,
    "SRL16E": 1,
    "SRLC16E": 1,
    "SRLC32E": 1,
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM512X1S": 8,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
}
REGISTERS = {"FDRE", "FDSE", "FDCE", "FDPE", "FDRE_1", "FDSE_1", "FDCE_1", "FDPE_1"}
# Beside the LUTs of a slice; no resource of their own.
FREE = {"CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9", "GND", "VCC"}
BLOCKS = {"DSP48E2", "RAMB18E2", "RAMB36E2", "URAM288"}


def resources(cells: Mapping[str, int]) -> dict[str, int | float]:
    """The sums over the cells of a netlist. A cell that is not known is an error: nothing may be left out."""
    unknown = cells.keys() - LUTS.keys() - REGISTERS - FREE - BLOCKS
    if unknown:
        raise ValueError(f"cells of unknown cost: {', '.join(sorted(unknown))}")
    count = {name: cells.get(name, 0) for name in BLOCKS}
    return {
        "lut": sum(LUTS[name] * number for name, number in cells.items() if name in LUTS),
        "ff": sum(number for name, number in cells.items() if name in REGISTERS),
        "dsp": count["DSP48E2"],
        "bram": count["RAMB36E2"] + count["RAMB18E2"] / 2,
        "bram18": count["RAMB18E2"],
        "uram": count["URAM288"],
    }


def multipliers(dump: str) -> dict[str, int]:
    """How many multiplications of which size a dump of `$mul` cells has, as {"26x17": 4}."""
    found: dict[str, int] = {}
    for cell in re.findall(r"cell \$mul .*?\n(.*?)\n\s*end", dump, re.DOTALL):
        widths = [int(re.search(rf"parameter \\{side}_WIDTH (\d+)", cell).group(1)) for side in "AB"]  # type: ignore[union-attr]
        size = f"{max(widths)}x{min(widths)}"
        found[size] = found.get(size, 0) + 1
    return dict(sorted(found.items()))


def cost(configuration: Configuration, files: Mapping[str, Path], folder: Path) -> dict[str, Any]:
    """Maps the configuration and counts."""
    top, netlist, dump = configuration.top, folder / "xilinx.json", folder / "multipliers.il"
    synth = f"synth_xilinx -family xcup -top {top} -flatten -noiopad -noclkbuf"
    yosys(
        [
            elaborate.read(configuration, configuration.parameters, files),
            f"{synth} -run begin:map_dsp",
            f"tee -o {dump} dump t:$mul",
            f"{synth} -run map_dsp:",
            f"tee -o {netlist} stat -json -top {top}",
        ],
        folder,
        "xilinx",
    )
    cells = json.loads(netlist.read_text())["design"]["num_cells_by_type"]
    return {**resources(cells), "multipliers": multipliers(dump.read_text()), "cells": cells}
