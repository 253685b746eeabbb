"""Writes a FuseSoC core file for each engine: its sources, parameters and constraints.

    python hw/flow/cores.py            writes hw/ENGINE.core
    python hw/flow/cores.py --check    exit status 1 if one differs, or if constraints name a port that does not exist

An engine is a unit with the module `engine_ring`. The parameters are those of its first configuration in hw/units.toml.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from ports import declarations
from units import reached

ROOT = Path(__file__).resolve().parents[2]
HW = ROOT / "hw"


def engines() -> dict[str, dict[str, Any]]:
    """The engines of hw/units.toml, by name."""
    files = sorted(HW.glob("rtl/*/*.sv"))
    units = tomllib.loads((HW / "units.toml").read_text())["unit"]
    found = {}
    for unit in units:
        # Some units are groups of modules, which have no module of their name.
        if unit["name"] not in {path.stem for path in files}:
            continue
        modules = {path.stem for path in reached(unit["name"], files)}
        if "engine_ring" in modules - {unit["name"]}:
            found[unit["name"]] = unit
    return found


def core(name: str, unit: dict[str, Any]) -> str:
    """The core file of an engine."""
    files = reached(name, sorted(HW.glob("rtl/*/*.sv")))
    packages = [path for path in files if path.stem.endswith("_pkg")]
    ordered = packages + [path for path in files if path not in packages]
    parameters = unit["configuration"][0]["parameters"]
    tables = [one.name for one in declarations(HW / f"rtl/{name}/{name}.sv") if one.type == "string"]
    lines = [
        "CAPI=2:",
        "# Written by hw/flow/cores.py.",
        f"name: ciphermill:engine:{name}:0.1.0",
        f"description: {name} of Ciphermill, after {unit['paper']}; docs/hw/{name}.md",
        "",
        "filesets:",
        "  rtl:",
        "    file_type: systemVerilogSource",
        "    files:",
        *(f"      - {path.relative_to(HW)}" for path in ordered),
        "  constraints:",
        "    file_type: SDC",
        "    files:",
        f"      - constraints/{name}.sdc",
        "",
        "parameters:",
    ]
    for key, value in parameters.items():
        lines += [f"  {key}:", "    datatype: int", "    paramtype: vlogparam", f"    default: {value}"]
    for key in tables:
        lines += [f"  {key}:", "    datatype: str", "    paramtype: vlogparam"]
    names = ", ".join([*parameters, *tables])
    lines += [
        "",
        "targets:",
        "  default:",
        "    filesets: [rtl, constraints]",
        f"    toplevel: {name}",
        f"    parameters: [{names}]",
        "  lint:",
        "    filesets: [rtl]",
        f"    toplevel: {name}",
        f"    parameters: [{', '.join(parameters)}]",
        "    default_tool: verilator",
        "    tools:",
        "      verilator:",
        "        mode: lint-only",
    ]
    return "\n".join(lines) + "\n"


def absent_ports(name: str) -> list[str]:
    """Ports that the constraints of an engine name and its module lacks."""
    ports = {one.name for one in declarations(HW / f"rtl/{name}/{name}.sv")}
    named = re.findall(r"\[get_ports \{?(\w+)\}?\]", (HW / f"constraints/{name}.sdc").read_text())
    return sorted(set(named) - ports)


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    failed = False
    for name, unit in engines().items():
        path, made = HW / f"{name}.core", core(name, unit)
        if not path.is_file() or path.read_text() != made:
            if check:
                failed = True
                print(f"{path.relative_to(ROOT)}: differs from the sources; run python hw/flow/cores.py")
            else:
                path.write_text(made)
                print(f"{path.relative_to(ROOT)}: written")
        for port in absent_ports(name):
            failed = True
            print(f"hw/constraints/{name}.sdc: there is no port {port}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
