"""Docstrings and signatures of the package as the reference shows them."""

from __future__ import annotations

import re
import sys
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring

# Attributes are one list.
SECTIONS = Config(napoleon_use_ivar=True)

# Parameters of constructors that only the package itself calls.
INTERNAL_PARAMETERS = ("(native", "(handle", "(fields", "(opening")


def prepare_docstring(app: Any, kind: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Docstrings as reStructuredText, in which the star of `(k, *shape)` begins no emphasis, and 2^`bits` has a gap."""
    # A page introduces its module itself, with an example that runs.
    if kind == "module":
        lines.clear()
    # Docstrings of properties have no sections of NumPy's form. There, "By role: …" is not a type.
    if kind in ("class", "function", "method"):
        lines[:] = str(NumpyDocstring(lines, SECTIONS, app, kind, name, value, options)).splitlines()
    for number, line in enumerate(lines):
        # The underscore at the end of an attribute's name does not make it a reference.
        line = re.sub(r"^(:(?:ivar|vartype) \w+)_:", r"\1\\_:", line)
        line = re.sub(r"(?<=[ (])\*(?=\w[^*`]*$)", r"\\*", line)
        lines[number] = re.sub(r"(?<=\^)(`[^`]+`)", r"\\ \1", line)


def prepare_signature(
    app: Any, kind: str, name: str, value: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """No signature of a constructor that only the package calls, and the values of default names."""
    if signature is None:
        return None
    if kind == "class" and signature.startswith(INTERNAL_PARAMETERS):
        return "", None
    names = vars(sys.modules.get(".".join(name.split(".")[:2]), sys))
    return re.sub(r"= ([A-Z_]+)\b", lambda match: f"= {names.get(match[1], match[1])}", signature), returns


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", prepare_docstring)
    app.connect("autodoc-process-signature", prepare_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
