"""Draws which crate stands on which into docs/architecture.md, from the manifests.

    python scripts/crates.py            # rewrites the drawing
    python scripts/crates.py --check    # exit status 1 if the drawing is stale, an arrow of the house is reversed, or a
                                        # file of tests belongs to no test program

The drawing stands between `<!-- crates -->` and `<!-- end of crates -->`. A crate's layer is one above the highest crate
that it depends on. Arrows that follow from others are left out.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/architecture.md"
MARKS = re.compile(r"<!-- crates -->.*<!-- end of crates -->", re.DOTALL)
# A crate on the left must never reach a crate on the right.
NEVER = {
    "math": {"*"},
    "wire": {"*"},
    "nvme": {"*"},
    "program": {"tfhe", "bfv", "hmvp", "paillier", "device"},
    "tfhe": {"device", "nvme", "blockspace"},
    "bfv": {"device", "nvme", "blockspace"},
    "hmvp": {"device", "nvme", "blockspace"},
    "paillier": {"device", "nvme", "blockspace"},
    "device": {"nvme", "blockspace", "middleware", "cli"},
}


def manifests() -> Iterator[tuple[Path, dict[str, Any]]]:
    """The folder of each crate with its manifest."""
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        yield manifest.parent, tomllib.loads(manifest.read_text())


def dependencies() -> dict[str, set[str]]:
    """The crates of the workspace that each crate depends on, without development dependencies."""
    found = {}
    for crate, data in manifests():
        names = {name for table in ("dependencies", "build-dependencies") for name in data.get(table, {})}
        found[crate.name] = {n.removeprefix("ciphermill-") for n in names if n.startswith("ciphermill-")}
    return found


def reached(graph: dict[str, set[str]], crate: str) -> set[str]:
    """All crates below a crate."""
    below: set[str] = set()
    open_ends = [crate]
    while open_ends:
        for name in graph[open_ends.pop()] - below:
            below.add(name)
            open_ends.append(name)
    return below


def layer(graph: dict[str, set[str]], crate: str) -> int:
    return 1 + max((layer(graph, below) for below in graph[crate]), default=0)


def drawing(graph: dict[str, set[str]]) -> str:
    """The layers from the top, each crate with the crates that it stands on directly."""
    layers: dict[int, list[str]] = {}
    for crate in graph:
        layers.setdefault(layer(graph, crate), []).append(crate)
    lines = ["```text"]
    for number in sorted(layers, reverse=True):
        for place, crate in enumerate(layers[number]):
            direct = {
                below for below in graph[crate] if not any(below in reached(graph, b) for b in graph[crate] - {below})
            }
            arrow = f"──► {', '.join(sorted(direct))}" if direct else ""
            lines.append(f"{number if place == 0 else ' '} │ {crate:<12}{arrow}".rstrip())
        lines.append("──┼" + "─" * 60)
    return "\n".join([*lines[:-1], "```"])


def tests_left_out() -> list[str]:
    """Files of tests that no test program compiles: the crate names its programs, and no module or program has them."""
    found = []
    for crate, data in manifests():
        if data["package"].get("autotests", True):
            continue
        folder = crate / "tests"
        programs = {test["path"] for test in data["test"]}
        modules = set(re.findall(r"^mod (\w+);", (folder / "main.rs").read_text(), re.MULTILINE))
        files = [*folder.glob("*.rs"), *folder.glob("*/main.rs")]
        names = (file.relative_to(crate).as_posix() for file in files if file.stem not in modules)
        found += [f"crates/{crate.name}/{name}" for name in names if name not in programs]
    return sorted(found)


def main() -> int:
    graph = dependencies()
    failed = False
    for file in tests_left_out():
        failed = True
        print(f"{file}: in no test program; name it in tests/main.rs or in a [[test]] of Cargo.toml")
    for crate, forbidden in NEVER.items():
        if crate not in graph:
            continue
        wrong = reached(graph, crate) if "*" in forbidden else reached(graph, crate) & forbidden
        if wrong:
            failed = True
            print(f"crates/{crate} must not depend on {', '.join(sorted(wrong))}")
    text = PAGE.read_text()
    made = MARKS.sub(lambda _: f"<!-- crates -->\n\n{drawing(graph)}\n\n<!-- end of crates -->", text)
    if made != text:
        if "--check" in sys.argv[1:]:
            failed = True
            print("docs/architecture.md: stale drawing; run python scripts/crates.py")
        else:
            PAGE.write_text(made)
            print("docs/architecture.md: rewritten")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
