"""A configuration as Yosys reads it: files, parameters, contents of read-only memories."""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tool import yosys
from units import HW, Configuration, sources_of

REPOSITORY = HW.parent
# Where cargo, and with it this flow, builds.
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
BUILD = TARGET / "hw"


def write_tables(folder: Path) -> None:
    """Has crates/cosim write the contents of all read-only memories: those that the simulation reads."""
    command = ["cargo", "run", "--quiet", "--locked", "--profile", "test", "-p", "ciphermill-cosim"]
    subprocess.run([*command, "--example", "tables", "--", str(folder)], check=True, cwd=REPOSITORY)


def tables(configuration: Configuration, folder: Path) -> dict[str, Path]:
    """The files of a configuration's read-only memories, by the parameter that names each."""
    found = {path.name.split(".")[2]: path for path in folder.glob(f"{configuration.unit}.{configuration.name}.*.hex")}
    if configuration.has_tables and not found:
        raise ValueError(f"{folder} has no tables of {configuration}")
    return found


def read(
    configuration: Configuration,
    parameters: Mapping[str, int | str] | None = None,
    files: Mapping[str, Path] | None = None,
    *,
    memories: bool = True,
    modules: bool = False,
    wrapper: Path | None = None,
) -> str:
    """The command that reads the configuration, or a module `bounded` around it.

    Without `memories`, these are black boxes; with `modules`, they stay, a copy for each place that they are in.
    """
    # Parameters are numbers here, also those that are of an enumeration.
    top = configuration.top if wrapper is None else "bounded"
    words = [f"read_slang -j 1 --relax-enum-conversions --top {top}"]
    if modules:
        words.append("--best-effort-hierarchy")
    words += [f"-G {name}={value}" for name, value in (parameters or {}).items()]
    words += [f'-G {name}="{path}"' for name, path in (files or {}).items()]
    if not memories:
        words += ["--blackboxed-module prim_ram_1r1w", "--blackboxed-module prim_rom"]
    words += map(str, sources_of(configuration.top))
    if wrapper is not None:
        words.append(str(wrapper))
    return " ".join(words)


def read_module(module: str, parameters: Mapping[str, str], boxes: Iterable[str]) -> str:
    """The command that reads a module with parameters as SystemVerilog writes them, and black boxes inside it."""
    words = [f"read_slang -j 1 --relax-enum-conversions --top {module}"]
    words += [f"-G {name}={value}" for name, value in parameters.items()]
    words += [f"--blackboxed-module {box}" for box in boxes]
    return " ".join([*words, *map(str, sources_of(module))])


def ports(read_command: str, top: str, folder: Path) -> list[tuple[str, str, int]]:
    """Name, direction and width of a module's ports."""
    path = folder / "ports.json"
    # Only the ports are asked for: without its contents a great unit's module is written in no time.
    yosys([read_command, f"hierarchy -top {top}", f"blackbox {top}", f"write_json {path}"], folder, "ports")
    module = json.loads(path.read_text())["modules"][top]
    return [(name, port["direction"], len(port["bits"])) for name, port in module["ports"].items()]


def bounded(
    configuration: Configuration,
    parameters: Mapping[str, int | str],
    files: Mapping[str, Path],
    listed: list[tuple[str, str, int]],
) -> str:
    """A module `bounded`: the unit with a register at every port but clock and reset.

    So all paths of the unit run from register to register, and place and route sees them all: those from and to pins it
    would leave out of its Fmax.
    """
    given = [f".{name}({value})" for name, value in parameters.items()]
    given += [f'.{name}("{path}")' for name, path in files.items()]
    kept = {"clk_i", "rst_ni"}
    declared, inside, connected, registers = [], [], [], []
    for name, direction, width in listed:
        declared.append(f"  {direction} logic [{width - 1}:0] {name}")
        if name in kept:
            connected.append(f".{name}({name})")
            continue
        inside.append(f"  logic [{width - 1}:0] {name}_bound;")
        connected.append(f".{name}({name}_bound)")
        ends = (f"{name}_bound", name) if direction == "input" else (name, f"{name}_bound")
        registers.append(f"    {ends[0]} <= {ends[1]};")
    lines = ["module bounded (", ",\n".join(declared), ");", *inside]
    lines += [f"  {configuration.top} #({', '.join(given)}) u_unit ({', '.join(connected)});"]
    lines += ["  always_ff @(posedge clk_i) begin", *registers, "  end", "endmodule"]
    return "\n".join(lines) + "\n"
