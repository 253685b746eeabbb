"""The cost of a whole engine on UltraScale+: the sum over its modules, each mapped separately.

Yosys takes hours for an engine in one piece, which has many instances of few modules. hw/units.toml names the modules that
are parts. Each part is mapped once for each set of its parameters, with the parts inside it as black boxes. The rest of the
engine, its glue, is mapped in the same way. The figure is the sum over all instances.

Nothing is optimised across the border of a part: a constant input stays a signal. With `whole = true`, the report compares
the sum with the same configuration in one piece.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import elaborate
import versions
import xilinx
from tool import yosys
from units import RTL, Configuration, circuit, code, sources_of

# The folder of results, also those of whole configurations.
RESULTS = elaborate.BUILD / "results"

# The resources that are compared with those of the configuration in one piece.
SHOWN = ("lut", "ff", "dsp", "bram")


@dataclass(frozen=True)
class Part:
    """A module with the parameters that an instance of it has, as SystemVerilog writes them."""

    module: str
    parameters: tuple[tuple[str, str], ...]


def overridable(module: str) -> set[str]:
    """The parameters of a module that an instance may set."""
    text = code(next(RTL.glob(f"*/{module}.sv")))
    header = text[: text.index(");")]
    return set(re.findall(r"^\s*parameter\b[^=\n]*?(\w+)\s*=", header, re.MULTILINE))


def literal(value: str) -> str:
    """A parameter in a netlist of Yosys, which has bits or a text, as SystemVerilog writes it."""
    return f"{len(value)}'b{value}" if re.fullmatch("[01]+", value) else f'"{value}"'


def number_of(value: str) -> int:
    """The number that a literal of `literal` or of hw/units.toml stands for."""
    return int(value.partition("'b")[2], 2) if "'b" in value else int(value.removeprefix("32'd"))


def box(netlist: dict[str, Any], top: str, parts: set[str]) -> dict[str, Part]:
    """Makes the instances of parts in a module black boxes without parameters; the part of each, by the box's name.

    The width of a port depends on the parameters, so each set of parameters has a separate box.
    """
    names: dict[Part, str] = {}
    modules = netlist["modules"]
    for cell in modules[top]["cells"].values():
        module = cell["type"]
        if module not in parts:
            continue
        kept = overridable(module)
        given = {name: literal(value) for name, value in cell["parameters"].items() if name in kept}
        part = Part(module, tuple(sorted(given.items())))
        name = names.setdefault(part, f"{module}.{len(names)}")
        wires = iter(range(2, 1 << 30))
        ports = {
            port: {"direction": cell["port_directions"][port], "bits": [next(wires) for _ in bits]}
            for port, bits in cell["connections"].items()
        }
        modules[name] = {"attributes": {"blackbox": "1"}, "ports": ports, "cells": {}, "netnames": {}}
        cell["type"], cell["parameters"] = name, {}
    for module in parts & modules.keys():
        del modules[module]
    return {name: part for part, name in names.items()}


Mapped = tuple[dict[str, int], dict[str, int], Counter[Part]]


def inside(module: str, parts: set[str]) -> set[str]:
    """The parts that a module contains, at any depth."""
    return parts & {path.stem for path in sources_of(module)} - {module}


def key(part: Part, parts: set[str]) -> str:
    """A hash of everything on which the mapping of a part depends."""
    boxes = sorted(inside(part.module, parts))
    digest = hashlib.sha256(json.dumps([part.module, boxes, versions.of_step("xilinx")]).encode())
    for name, value in part.parameters:
        text = Path(value.strip('"')).read_text() if value.startswith('"') else value
        digest.update(f"{name} {len(text)}\n{text}".encode())
    digest.update(circuit(part.module))
    for module in ("elaborate", "tool", "xilinx", "parts"):
        digest.update(Path(__file__).with_name(f"{module}.py").read_bytes())
    return digest.hexdigest()[:24]


def mapped(part: Part, parts: set[str], folder: Path) -> Mapped:
    """The result of `_map`, made now or earlier for another configuration."""
    path = RESULTS / f"part.{part.module}.{key(part, parts)}.json"
    if path.exists():
        own, products, listed = json.loads(path.read_text())
        # Tables of the same contents have another path in each configuration.
        paths = {name: value for name, value in part.parameters if value.startswith('"')}
        found: Counter[Part] = Counter()
        for module, given, times in listed:
            found[Part(module, tuple((name, paths.get(name, value)) for name, value in given))] += times
        return own, products, found
    own, products, found = _map(part, inside(part.module, parts), folder)
    listed = [(one.module, one.parameters, times) for one, times in found.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{folder.name}")
    unfinished.write_text(json.dumps([own, products, listed]) + "\n")
    unfinished.replace(path)
    return own, products, found


def _map(part: Part, parts: set[str], folder: Path) -> Mapped:
    """Cells and multiplications of a module without the parts in it, and these."""
    top, inner = part.module, parts
    name = f"{len(list(folder.glob('*.map.ys'))):02d}.{top}"
    words, counted, dump = (folder / f"{name}.{end}" for end in ("words.json", "mapped.json", "il"))
    read = elaborate.read_module(top, dict(part.parameters), boxes=sorted(inner))
    yosys([read, f"hierarchy -top {top}", f"write_json {words}"], folder, f"{name}.read")
    netlist = json.loads(words.read_text())
    boxes = box(netlist, top, inner)
    words.write_text(json.dumps(netlist))
    synth = f"synth_xilinx -family xcup -top {top} -flatten -noiopad -noclkbuf"
    script = [
        f"read_json {words}",
        f"{synth} -run begin:map_dsp",
        f"tee -o {dump} dump t:$mul",
        f"{synth} -run map_dsp:",
        f"tee -o {counted} stat -json -top {top}",
    ]
    yosys(script, folder, f"{name}.map")
    cells = json.loads(counted.read_text())["design"]["num_cells_by_type"]
    own = {cell: number for cell, number in cells.items() if cell not in boxes}
    found = Counter({boxes[cell]: number for cell, number in cells.items() if cell in boxes})
    listed = Counter(cell["type"] for cell in netlist["modules"][top]["cells"].values() if cell["type"] in boxes)
    if {name: listed[name] for name in boxes} != {name: found[part] for name, part in boxes.items()}:
        raise ValueError(f"{top}: not all parts are there after mapping: {dict(listed)} before, {cells} after")
    return own, xilinx.multipliers(dump.read_text()), found


def cost(configuration: Configuration, files: Mapping[str, Path], folder: Path) -> dict[str, Any]:
    """Maps the glue and each part, and adds."""
    for stale in folder.iterdir():
        stale.unlink()
    parts = set(configuration.parts)
    given = {name: str(value) for name, value in configuration.parameters.items()}
    given |= {name: f'"{path}"' for name, path in files.items()}
    top = Part(configuration.top, tuple(sorted(given.items())))
    number: Counter[Part] = Counter({top: 1})
    known: dict[Part, Mapped] = {}
    order: list[Part] = []

    def visit(part: Part) -> None:
        if part not in known:
            known[part] = mapped(part, parts, folder)
            for inner in known[part][2]:
                visit(inner)
            # A part comes before those in it, so that its number of instances is known first.
            order.insert(0, part)

    visit(top)
    for part in order:
        for inner, times in known[part][2].items():
            number[inner] += times * number[part]

    cells: Counter[str] = Counter()
    products: Counter[str] = Counter()
    rows = []
    for part in order:
        own, multiplied, _ = known[part]
        for cell, times in own.items():
            cells[cell] += times * number[part]
        for size, times in multiplied.items():
            products[size] += times * number[part]
        shown = {name: number_of(value) for name, value in part.parameters if not value.startswith('"')}
        rows.append({"module": part.module, "parameters": shown, "number": number[part], **xilinx.resources(own)})
    # The same in one piece shows the cost of the borders.
    whole = xilinx.cost(configuration, files, folder) if configuration.xilinx.whole else {}
    in_one_piece = {"whole": {name: whole[name] for name in SHOWN}} if whole else {}
    return {
        **xilinx.resources(cells),
        **in_one_piece,
        "multipliers": dict(sorted(products.items())),
        "cells": dict(sorted(cells.items())),
        "parts": rows,
    }
