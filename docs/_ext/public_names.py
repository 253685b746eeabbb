"""References to public objects by other names: those of private modules, and exceptions without their module.

A type hint names the module that defines a class, for example `ciphermill._inference.layers.Conv2d`. The reference describes the
class as `ciphermill.inference.Conv2d`, where users import it. Docstrings name exceptions alone, as `ParameterError`.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform


def public_modules() -> list[str]:
    """The modules that users import, without `ciphermill` itself."""
    package = importlib.import_module("ciphermill")
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return [f"ciphermill.{name}" for name in names if not name.startswith("_")]


def other_names() -> dict[str, str]:
    """The public name of every object that has another name too."""
    found = {}
    for module in ["ciphermill", *public_modules()]:
        namespace = importlib.import_module(module)
        for name in namespace.__all__:
            value = getattr(namespace, name)
            home = getattr(value, "__module__", None)
            if isinstance(value, type) and isinstance(home, str) and home.startswith("ciphermill._"):
                found[f"{home}.{value.__qualname__}"] = f"{module}.{name}"
    for name in importlib.import_module("ciphermill.errors").__all__:
        found[name] = f"ciphermill.errors.{name}"
    return found


class ExactNames(SphinxTransform):
    """A word of a docstring's type, such as "array of shape (k,)", is not a reference to any object of that name."""

    default_priority = 1

    def apply(self, **kwargs: Any) -> None:
        for node in self.document.findall(pending_xref):
            node.attributes.pop("refspecific", None)


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Element | None:
    """The reference of a name that is not described under this name."""
    names: dict[str, str] = app.config.public_names
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or target not in names:
        return None
    domain: Any = env.get_domain("py")
    found: nodes.Element | None = domain.resolve_xref(
        env, node["refdoc"], app.builder, "obj", names[target], node, content
    )
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("public_names", other_names(), "env", dict)
    app.add_transform(ExactNames)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
