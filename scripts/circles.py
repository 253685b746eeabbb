"""Finds circles of imports: groups of more than two files of a crate in which each file needs every other one.

    python scripts/circles.py [CRATE…]     # crates below crates/, by default all

An edge from one file to another is a `use` of an item that the other file defines. Re-exports are followed to the
file that defines the item. Declarations of child modules, re-exports themselves, and test modules are not edges.
Exit status 1 if a group has more than two files.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 2

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"', re.DOTALL)
USE = re.compile(r"(?:^|(?<=[;{}\]]))\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
ITEM = re.compile(
    r"\b(?:struct|enum|union|trait|fn|type|const|static|mod|macro_rules!)\s+(?:mut\s+)?([A-Za-z_][A-Za-z0-9_]*)(?!\s*;)"
)
TEST_MODULE = re.compile(r"#\[cfg\((?:test|all\(test[^\]]*)\)?\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*\{")


@dataclass
class Module:
    """One source file as a module of its crate."""

    path: Path
    name: tuple[str, ...]
    text: str
    children: dict[str, "Module"] = field(default_factory=dict)
    items: set[str] = field(default_factory=set)
    imports: list[tuple[bool, tuple[str, ...], str]] = field(default_factory=list)


def without_tests(text: str) -> str:
    """The text without the bodies of inline test modules."""
    while match := TEST_MODULE.search(text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: match.start()] + text[end:]
    return text


def expand(tree: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The paths of a use tree, each with the name that it brings into scope."""
    tree = " ".join(tree.split())
    if "{" in tree:
        start = tree.index("{")
        prefix, inner = tree[:start], tree[start + 1 : tree.rindex("}")]
        depth, part = 0, ""
        for letter in inner + ",":
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                if part.strip():
                    yield from expand(prefix.replace(" ", "") + part.strip())
                part = ""
            else:
                part += letter
        return
    path, _, alias = tree.partition(" as ")
    parts = tuple(piece.strip() for piece in path.split("::") if piece.strip())
    if parts[-1] == "self":
        parts = parts[:-1]
    yield parts, alias.strip() or parts[-1]


def load(source: Path) -> Module | None:
    """The module tree of a crate."""
    root = next((source / name for name in ("lib.rs", "main.rs") if (source / name).exists()), None)
    if root is None:
        return None
    modules: dict[tuple[str, ...], Module] = {}
    for path in sorted(source.rglob("*.rs")):
        name = path.relative_to(source).with_suffix("").parts
        if path == root:
            name = ()
        elif name[-1] == "mod":
            name = name[:-1]
        if any(part in ("tests", "test_support") or part.endswith("_tests") for part in name):
            continue
        if name[:1] == ("bin",) or name in (("main",), ("lib",)):
            continue
        text = without_tests(STRING.sub('""', COMMENT.sub("", path.read_text())))
        module = Module(path, name, text)
        module.items = set(ITEM.findall(text))
        for match in USE.finditer(text):
            for parts, alias in expand(match.group(2)):
                module.imports.append((bool(match.group(1)), parts, alias))
        modules[name] = module
    for name, module in modules.items():
        if name and name[:-1] in modules:
            modules[name[:-1]].children[name[-1]] = module
    return modules[()]


class Crate:
    """A crate's modules, and the edges between their files."""

    def __init__(self, root: Module) -> None:
        self.root = root
        self.modules: dict[tuple[str, ...], Module] = {}
        self._collect(root)

    def _collect(self, module: Module) -> None:
        self.modules[module.name] = module
        for child in module.children.values():
            self._collect(child)

    def start(self, module: Module, parts: tuple[str, ...]) -> tuple[Module, tuple[str, ...]] | None:
        """The module at which a path begins, and the rest of the path; none for a path of another crate."""
        first = parts[0]
        if first == "crate":
            return self.root, parts[1:]
        if first == "self":
            return module, parts[1:]
        if first == "super":
            here = module
            while parts and parts[0] == "super":
                parent = self.modules.get(here.name[:-1])
                if parent is None:
                    return None
                here, parts = parent, parts[1:]
            return here, parts
        if first in module.children or first in module.items:
            return module, parts
        return None

    def resolve(self, module: Module, parts: tuple[str, ...], seen: frozenset[object] = frozenset()) -> set[Path]:
        """The files that define the item of a path that is read inside `module`."""
        begun = self.start(module, parts)
        if begun is None or (module.name, parts) in seen:
            return set()
        return self.descend(*begun, seen | {(module.name, parts)})

    def descend(self, module: Module, rest: tuple[str, ...], seen: frozenset[object]) -> set[Path]:
        if not rest or rest[0] == "*":
            return {module.path}
        name = rest[0]
        if name in module.children:
            return self.descend(module.children[name], rest[1:], seen) if len(rest) > 1 else set()
        if name in module.items:
            return {module.path}
        for _, parts, alias in module.imports:
            if alias == name and (found := self.resolve(module, parts + rest[1:], seen)):
                return found
        for _, parts, alias in module.imports:
            if alias == "*":
                begun = self.start(module, parts[:-1])
                if begun and (module.name, parts, name) not in seen:
                    found = self.descend(begun[0], begun[1] + rest, seen | {(module.name, parts, name)})
                    if found:
                        return found
        return set()

    def edges(self) -> dict[Path, set[Path]]:
        graph: dict[Path, set[Path]] = {}
        for module in self.modules.values():
            targets: set[Path] = set()
            for public, parts, alias in module.imports:
                if public:
                    continue
                targets |= self.resolve(module, parts)
                # An imported module: the items that the file names through it.
                for item in set(re.findall(rf"(?<![\w:]){re.escape(alias)}::(\w+)", module.text)):
                    targets |= self.resolve(module, (*parts, item))
            graph[module.path] = targets - {module.path}
        return graph


def groups(graph: dict[Path, set[Path]]) -> list[list[Path]]:
    """Strongly connected components (Tarjan's algorithm, without recursion)."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found = []
    for first in sorted(graph):
        if first in index:
            continue
        index[first] = low[first] = len(index)
        stack.append(first)
        work = [(first, iter(sorted(graph[first])))]
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while True:
                        group.append(stack.pop())
                        if group[-1] == node:
                            break
                    found.append(group)
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                work.append((target, iter(sorted(graph.get(target, ())))))
            elif target in stack:
                low[node] = min(low[node], index[target])
    return found


def main() -> int:
    names = sys.argv[1:] or sorted(path.name for path in (ROOT / "crates").iterdir() if (path / "src").is_dir())
    failed = False
    for name in names:
        root = load(ROOT / "crates" / name / "src")
        if root is None:
            continue
        graph = Crate(root).edges()
        for group in groups(graph):
            if len(group) > LARGEST:
                failed = True
                print(f"{name}: a circle of {len(group)} files")
                for path in sorted(group):
                    targets = sorted(
                        str(t.relative_to(ROOT / "crates" / name / "src")) for t in graph[path] & set(group)
                    )
                    print(f"    {path.relative_to(ROOT)} uses {', '.join(targets)}")
    if not failed:
        print(f"no circle of more than {LARGEST} files in {len(names)} crates")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
