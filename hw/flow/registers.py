"""Writes what hosts and RTL know of registers from their one description in SystemRDL, hw/rdl/<unit>.rdl.

    python hw/flow/registers.py            writes the files
    python hw/flow/registers.py --check    writes nothing; ends with 1 if a file is not what would be written

C: hw/include/<unit>.h by PeakRDL-cheader. Rust: constants in crates/cosim/src/units/<unit>/registers.rs.
SystemVerilog: the same constants as hw/rtl/<unit>/<unit>_registers_pkg.sv.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from peakrdl_cheader.exporter import CHeaderExporter  # type: ignore[import-untyped]
from systemrdl import RDLCompiler  # type: ignore[import-untyped]
from systemrdl.node import AddrmapNode, FieldNode, RegNode  # type: ignore[import-untyped]

HW = Path(__file__).resolve().parent.parent
REPOSITORY = HW.parent


def registers(top: AddrmapNode) -> Iterator[tuple[str, RegNode, int, int]]:
    """Name, register, byte offset and number of words of everything in a map; a window is one entry."""
    for node in top.children():
        if not isinstance(node, RegNode):
            raise SystemExit(f"{node.get_path()}: only registers are expected in a map")
        words = 1
        if node.is_array:
            (words,) = node.array_dimensions
        yield node.inst_name, node, node.raw_address_offset, words


def c_header(top: AddrmapNode) -> str:
    """The header for C, and for C++."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{top.inst_name}.h"
        CHeaderExporter().export(top, str(path))
        return path.read_text()


def rust(top: AddrmapNode) -> str:
    """Constants for Rust."""
    lines = [
        f"//! Registers of `{top.inst_name}`, from `hw/rdl/{top.inst_name}.rdl` by `hw/flow/registers.py`: byte offsets,"
    ]
    lines += ["//! words of windows, masks of fields."]
    for name, node, offset, words in registers(top):
        lines += ["", f"/// {node.get_property('name')}: byte offset."]
        lines += [f"pub const {name}: u32 = {offset:#x};"]
        if node.is_array:
            lines += [f"/// Words of the window at [`{name}`].", f"pub const {name}_WORDS: u32 = {words};"]
            continue
        for field in node.fields():
            lines += [
                f"/// {field.get_property('name')}.",
                f"pub const {name}_{field.inst_name}: u32 = {mask(field):#x};",
            ]
            encoded = list(values(field))
            for value, number, text in encoded:
                lines += [f"/// {text}.", f"pub const {name}_{field.inst_name}_{value}: u32 = {number};"]
            if encoded:
                lines += ["/// The names of these values."]
                lines += [f"pub const {name}_{field.inst_name}_NAMES: [(u32, &str); {len(encoded)}] = ["]
                lines += [f'    ({name}_{field.inst_name}_{value}, "{value}"),' for value, _, _ in encoded]
                lines += ["];"]
    return "\n".join(lines) + "\n"


def systemverilog(top: AddrmapNode) -> str:
    """Constants for the RTL."""
    lines = [
        f"// Registers of {top.inst_name}, from hw/rdl/{top.inst_name}.rdl by hw/flow/registers.py: byte offsets, places of fields."
    ]
    lines += [f"package {top.inst_name}_registers_pkg;"]
    lines += [f"  localparam int unsigned AddrWidth = {(top.size - 1).bit_length()};"]
    for name, node, offset, _ in registers(top):
        camel = camel_case(name)
        lines += [f"  localparam logic [AddrWidth-1:0] {camel} = {(top.size - 1).bit_length()}'h{offset:x};"]
        if node.is_array:
            continue
        for field in node.fields():
            part = field.inst_name.capitalize()
            lines += [f"  localparam int unsigned {camel}{part}Bit = {field.low};"]
            if field.get_property("reset") is not None and not field.is_sw_writable:
                lines += [
                    f"  localparam logic [{field.width - 1}:0] {camel}{part} = {field.width}'h{field.get_property('reset'):x};"
                ]
            for value, number, _ in values(field):
                lines += [
                    f"  localparam logic [{field.width - 1}:0] {camel}{part}{camel_case(value)} = {field.width}'d{number};"
                ]
    lines += ["endpackage"]
    return "\n".join(lines) + "\n"


def camel_case(name: str) -> str:
    """UPPER_CASE as UpperCase."""
    return "".join(part.capitalize() for part in name.lower().split("_"))


def values(field: FieldNode) -> Iterator[tuple[str, int, str]]:
    """Name, number and description of the values that a field is encoded with; none if it is a number."""
    encoding = field.get_property("encode")
    for member in encoding or []:
        yield member.name, member.value, member.rdl_name or member.name


def mask(field: object) -> int:
    """The bits of a field in its register."""
    width: int = field.width  # type: ignore[attr-defined]
    low: int = field.low  # type: ignore[attr-defined]
    return ((1 << width) - 1) << low


def outputs(description: Path) -> Iterator[tuple[Path, str]]:
    """The files that follow from a description."""
    compiler = RDLCompiler()
    compiler.compile_file(str(description))
    top = compiler.elaborate().top
    name = top.inst_name
    kinds: list[tuple[Path, Callable[[AddrmapNode], str]]] = [
        (HW / "include" / f"{name}.h", c_header),
        (REPOSITORY / "crates/cosim/src/units" / name / "registers.rs", rust),
        (HW / "rtl" / name / f"{name}_registers_pkg.sv", systemverilog),
    ]
    for path, write in kinds:
        yield path, write(top)


def main() -> int:
    """Writes or checks all files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check: bool = parser.parse_args().check
    stale = []
    for description in sorted((HW / "rdl").glob("*.rdl")):
        for path, text in outputs(description):
            if check:
                if not path.exists() or path.read_text() != text:
                    stale.append(path)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    for path in stale:
        print(
            f"{path.relative_to(REPOSITORY)} does not follow from its description: run hw/flow/registers.py",
            file=sys.stderr,
        )
    print(f"registers: {len(list((HW / 'rdl').glob('*.rdl')))} descriptions")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
