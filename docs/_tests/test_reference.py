"""The completeness of the reference, its examples, and the form of the snippets that run. CIPHERMILL_SITE names the folder of the site."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ["CIPHERMILL_SITE"])


def public_modules() -> list[str]:
    package = importlib.import_module("ciphermill")
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return ["ciphermill", *(f"ciphermill.{name}" for name in names if not name.startswith("_"))]


@pytest.mark.parametrize("module", public_modules())
def test_the_reference_describes_every_public_name(module: str) -> None:
    """Names of `ciphermill` that another module describes need no second description."""
    inventory = InventoryFile.loads((SITE / "objects.inv").read_bytes(), uri="")
    described = {name for kind, entries in inventory.data.items() if kind.startswith("py:") for name in entries}
    names = set(importlib.import_module(module).__all__) - {"__version__"}
    elsewhere = {name.rpartition(".")[2] for name in described if name.startswith("ciphermill.errors.")}
    elsewhere |= {name.rpartition(".")[2] for name in public_modules()}
    if module == "ciphermill":
        names -= elsewhere
    assert {name for name in names if f"{module}.{name}" not in described} == set()


def test_the_examples_of_docstrings_run() -> None:
    """The reference shows them; each is a session of `>>>`."""
    package = importlib.import_module("ciphermill")
    names = [module.name for module in pkgutil.walk_packages(package.__path__, "ciphermill.")]
    results = [doctest.testmod(importlib.import_module(name)) for name in names if name != "ciphermill._native"]
    assert sum(result.failed for result in results) == 0
    assert sum(result.attempted for result in results) > 0


def test_every_python_block_is_run() -> None:
    """Blocks of Python in another form would not run: with another name, indented, or in a directive."""
    other = re.compile(
        r"^\s*(?:```|~~~)\s*(?:python\b.+|python3|py|pycon|ipython|\{(?:code|code-block|sourcecode)\}.*)$"
    )
    indented = re.compile(r"^\s+(?:```|~~~)\s*python")
    wrong = [
        f"{page.relative_to(ROOT)}:{number}: {line}"
        for page in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "python" / "README.md"]
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if other.match(line) or indented.match(line)
    ]
    assert not wrong, "\n".join(wrong)
