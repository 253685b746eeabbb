"""Writes the port tables of docs/hw from the comments in the RTL.

    python hw/flow/ports.py            rewrites the tables
    python hw/flow/ports.py --check    exit status 1 if a table is stale, or a port or parameter has no comment

A table stands between `<!-- ports of MODULE -->` and `<!-- end of ports -->`.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DECLARATION = re.compile(r"\s*(input|output|parameter|localparam)\b\s*([^/]*?)\s*(?://\s*(.*))?$")
MARKS = re.compile(r"<!-- ports of (\w+) -->.*?<!-- end of ports -->", re.DOTALL)


@dataclass(frozen=True)
class Declaration:
    """A port or parameter of a module, with its comment."""

    kind: str
    name: str
    type: str
    comment: str


def declarations(path: Path) -> list[Declaration]:
    """The ports and parameters of the module in a file, in order."""
    text = path.read_text()
    begin = re.search(r"^module\b", text, re.MULTILINE)
    if begin is None:
        return []
    found: list[Declaration] = []
    above: list[str] = []
    for line in text[begin.start() : text.index("\n);", begin.start())].splitlines():
        match = DECLARATION.match(line)
        if match:
            kind, rest, comment = match.groups()
            declared = rest.split("=")[0].rstrip(", ") if kind in ("parameter", "localparam") else rest.rstrip(", ")
            unpacked = re.search(r"((?:\[[^\]]*\])*)$", declared)
            tail = unpacked.group(1) if unpacked else ""
            words = declared.removesuffix(tail).split()
            shape = " ".join([*words[:-1], tail]).removeprefix("logic").strip()
            found.append(Declaration(kind, words[-1], shape, comment or " ".join(above)))
            above = []
        elif line.strip().startswith("//"):
            above.append(line.strip().lstrip("/ "))
        else:
            above = []
    return found


def table(path: Path) -> str:
    rows = ["| port | direction | width or type | content |", "| --- | --- | --- | --- |"]
    for one in declarations(path):
        if one.kind in ("input", "output"):
            shape = f"`{one.type}`" if one.type else "1"
            rows.append(f"| `{one.name}` | {one.kind} | {shape} | {one.comment} |")
    return "\n".join(rows)


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    files = {path.stem: path for path in sorted((ROOT / "hw/rtl").rglob("*.sv"))}
    failed = False
    for path in files.values():
        for one in declarations(path):
            if not one.comment:
                failed = True
                print(f"{path.relative_to(ROOT)}: {one.kind} {one.name} has no comment")
    for page in sorted((ROOT / "docs/hw").glob("*.md")):
        text = page.read_text()
        made = MARKS.sub(
            lambda m: f"<!-- ports of {m.group(1)} -->\n\n{table(files[m.group(1)])}\n\n<!-- end of ports -->", text
        )
        if made != text:
            if check:
                failed = True
                print(f"{page.relative_to(ROOT)}: stale port table; run python hw/flow/ports.py")
            else:
                page.write_text(made)
                print(f"{page.relative_to(ROOT)}: rewritten")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
