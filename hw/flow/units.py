"""What hw/units.toml says, and the files of hw/rtl: the one place where the tools of hw/flow take them from.

    python hw/flow/units.py all|unit,unit/configuration,…

prints the chosen configurations, one a line; exit status 2 if there is no such unit.
"""

import hashlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

HW = Path(__file__).resolve().parent.parent
RTL = HW / "rtl"
UNITS = HW / "units.toml"
# Where this flow builds: beside what cargo builds.
BUILD = Path(os.environ.get("CARGO_TARGET_DIR", HW.parent / "target")) / "hw"
# The clock for which the modules of hw/rtl/hls are compiled, in MHz.
HLS_MHZ = 120


@dataclass(frozen=True)
class Step:
    """What a configuration says about one step of synthesis: other parameters, another configuration, or a reason."""

    # Laid over those of the configuration: tiles that fit the multipliers of the device, say.
    parameters: dict[str, int | str] = field(default_factory=dict)
    # The configuration of the same unit whose figures stand for this one's.
    instead: str | None = None
    # Of a unit with parts: whether the configuration is also mapped in one piece, to compare.
    whole: bool = False
    # Why there are no figures, or why those of another configuration are given.
    reason: str | None = None

    @property
    def runs(self) -> bool:
        """Whether this configuration goes through the step itself."""
        return self.instead is None and self.reason is None


@dataclass(frozen=True)
class Configuration:
    """A unit with parameters."""

    unit: str
    name: str
    # The module.
    top: str
    parameters: dict[str, int | str]
    # Whether the unit reads files, one for each of its parameters that names one.
    has_tables: bool
    # Modules that are mapped on their own, so that the resources on UltraScale+ are sums.
    parts: tuple[str, ...]
    xilinx: Step
    ecp5: Step
    osu018: Step

    def __str__(self) -> str:
        return f"{self.unit}/{self.name}"


def _step(where: str, given: object) -> Step:
    """`"a reason"`, `{ parameters = … }`, `{ whole = true }` or `{ instead = …, reason = … }`; nothing says: do it."""
    if given is None:
        return Step()
    if isinstance(given, str):
        return Step(reason=given)
    if not isinstance(given, dict) or not set(given) <= {"parameters", "instead", "whole", "reason"}:
        raise ValueError(f"{where}: {given!r} is neither a reason nor parameters nor another configuration")
    step = Step(given.get("parameters", {}), given.get("instead"), given.get("whole", False), given.get("reason"))
    if (step.instead is None) != (step.reason is None) or (step.parameters and step.instead):
        raise ValueError(f"{where}: another configuration stands for this one: say which (instead) and why (reason)")
    return step


def parse(text: str) -> list[Configuration]:
    """All configurations of a file, in its order."""
    found = []
    for unit in tomllib.loads(text)["unit"]:
        names = {configuration["name"] for configuration in unit["configuration"]}
        parts = tuple(unit.get("parts", ()))
        for given in unit["configuration"]:
            where = f"{unit['name']}/{given['name']}"
            steps = {step: _step(f"{where}: {step}", given.get(step)) for step in ("xilinx", "ecp5", "osu018")}
            for step, said in steps.items():
                if said.whole and (step != "xilinx" or not parts):
                    raise ValueError(f"{where}: {step}: only what has parts is mapped in one piece as well")
                if said.instead is not None and said.instead not in names - {given["name"]}:
                    raise ValueError(f"{where}: {step}: the unit has no other configuration {said.instead}")
            found.append(
                Configuration(
                    unit=unit["name"],
                    name=given["name"],
                    top=given.get("top", unit.get("top", unit["name"])),
                    parameters={name: literal(value) for name, value in given.get("parameters", {}).items()},
                    has_tables="tables" in unit,
                    parts=parts,
                    **steps,
                )
            )
    return found


def literal(value: int) -> int | str:
    """The number as SystemVerilog can read it: without a length it is a signed one of 32 bits."""
    if not 0 <= value < 1 << 32:
        raise ValueError(f"hw/units.toml: a parameter is a number of 32 bits, {value} is not")
    return value if value < 1 << 31 else f"32'd{value}"


def number(value: int | str) -> int:
    """What `literal` made a literal of."""
    return int(str(value).removeprefix("32'd"))


def configurations() -> list[Configuration]:
    """All configurations of hw/units.toml, in its order."""
    return parse(UNITS.read_text())


def select(listed: Iterable[Configuration], names: str) -> list[Configuration]:
    """Those that a list like `ntt_cg,butterfly/w32_s9` names, or `all`."""
    listed = list(listed)
    if names == "all":
        return listed
    chosen = []
    for name in map(str.strip, names.split(",")):
        those = [configuration for configuration in listed if name in (configuration.unit, str(configuration))]
        if not those:
            unit = name.split("/")[0]
            its = [configuration.name for configuration in listed if configuration.unit == unit]
            units = dict.fromkeys(configuration.unit for configuration in listed)
            known = f"{unit} has {', '.join(its)}" if its else f"its units are {', '.join(units)}"
            raise ValueError(f"hw/units.toml has no unit or configuration '{name}' (commas separate them); {known}")
        chosen += those
    return [configuration for configuration in listed if configuration in chosen]


def asked(names: str) -> list[Configuration]:
    """Those of hw/units.toml that a command line names; ends with 2 if it has no such unit."""
    try:
        return select(configurations(), names)
    except ValueError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def folders() -> list[Path]:
    """The folders of hw/rtl."""
    return sorted(path for path in RTL.iterdir() if path.is_dir())


def packages() -> list[Path]:
    """Packages, which must come before what imports them."""
    return sorted(RTL.glob("*/*_pkg.sv"))


def sources() -> list[Path]:
    """All files of hw/rtl, packages first."""
    return packages() + sorted(set(RTL.glob("*/*.sv")) - set(packages()))


def code(path: Path) -> str:
    """A file without its comments and empty lines: another comment makes no other circuit."""
    lines = (re.sub(r"//.*", "", line).rstrip() for line in path.read_text().splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def circuit(top: str) -> bytes:
    """All that the files of a module say, for a hash of it."""
    return said_by(sources_of(top))


def said_by(files: Iterable[Path]) -> bytes:
    """All that files say, for a hash of it."""
    return "".join(f"{path.name}\n{code(path)}" for path in files).encode()


def digest(files: Iterable[Path], stated: object = None) -> str:
    """A hash of files, and of what else is stated, for what a report says of them: of other ones it is stale."""
    head = b"" if stated is None else json.dumps(stated, sort_keys=True).encode()
    return hashlib.sha256(head + said_by(files)).hexdigest()[:16]


def sources_of(top: str) -> list[Path]:
    """The files that a module is made of, packages first."""
    return reached(top, sources())


def reached(top: str, among: Iterable[Path]) -> list[Path]:
    """Those of the files that a module is made of, in their order: a file has one module, and the name of that."""
    files = {path.stem: path for path in among}
    if top not in files:
        raise ValueError(f"hw/rtl has no module {top}")
    needed: set[str] = set()
    open_ends = [top]
    while open_ends:
        name = open_ends.pop()
        if name not in needed:
            needed.add(name)
            open_ends += files.keys() & set(re.findall(r"\w+", code(files[name])))
    return [path for name, path in files.items() if name in needed]


if __name__ == "__main__":
    print(*asked(",".join(sys.argv[1:])), sep="\n")
