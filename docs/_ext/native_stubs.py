"""The reference of native classes: signatures and docstrings of the stubs in place of the extension module's.

Autodoc imports `ciphermill`, whose native classes have neither. The stubs `_native.pyi` are Python, so they are executed, and
their classes and functions replace the native ones in all modules of the package.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import numpy.typing
from public_names import public_modules
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

NATIVE = "ciphermill._native"
Scalar = TypeVar("Scalar")


class ArrayLike:
    """NumPy's alias by its name; autodoc would show the union for which it stands."""


class NDArray(Generic[Scalar]):
    """NumPy's alias by its name."""


ArrayLike.__module__ = NDArray.__module__ = "numpy.typing"


def load_stubs(path: Path) -> dict[str, Any]:
    """The names that the stubs define."""
    names: dict[str, Any] = {"__name__": NATIVE}
    # Annotations may name classes that follow.
    code = compile(path.read_text(), path, "exec", flags=annotations.compiler_flag)
    exec(code, names)  # noqa: S102 (the package's own stubs)
    return names


def replace_native_objects(package: ModuleType) -> None:
    """Replace the native objects of a package by their stubs, under the names by which users import them."""
    path = Path(package.__path__[0]) / "_native.pyi"
    source = path.read_text()
    stubs = load_stubs(path)
    native = sys.modules[NATIVE]
    modules = [module for name, module in sys.modules.items() if name == "ciphermill" or name.startswith("ciphermill.")]
    for name in stubs["__all__"]:
        original, stub = getattr(native, name), stubs.get(name)
        if not (inspect.isclass(stub) or inspect.isfunction(stub)):
            continue
        for module in modules:
            for alias in [alias for alias, value in vars(module).items() if value is original]:
                setattr(module, alias, stub)
                if module is not native and alias in getattr(module, "__all__", ()):
                    stub.__module__, stub.__name__, stub.__qualname__ = module.__name__, alias, alias
    # The members of `ciphermill` have the order of the stubs.
    analyzer = ModuleAnalyzer.for_string(source, package.__name__, str(path))
    analyzer.analyze()
    analyzer.finals.clear()
    ModuleAnalyzer.cache["module", package.__name__] = analyzer


def setup(app: Sphinx) -> dict[str, bool]:
    # Before the package is imported, whose modules have aliases of these.
    vars(numpy.typing).update(ArrayLike=ArrayLike, NDArray=NDArray)
    for module in public_modules():
        importlib.import_module(module)
    replace_native_objects(importlib.import_module("ciphermill"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
