"""The documentation site, built by `make docs`."""

import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
WORKSPACE = tomllib.loads((HERE.parent / "Cargo.toml").read_text())["workspace"]["package"]

project = "Ciphermill"
copyright = "the Ciphermill contributors"
release = version = WORKSPACE["version"]
repository_url = WORKSPACE["repository"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "docstrings",
    "native_stubs",
    "public_names",
    "repository_links",
]
exclude_patterns = ["_ext", "_tests"]
highlight_language = "none"
# Dashes only: a quoted word of a docstring is a value to type.
smartquotes_action = "D"
# A lexer that does not know an ellipsis, or the syntax of RVFHE, colours the rest.
suppress_warnings = ["misc.highlighting_failure"]

# Anchors of headings are those of the forge.
myst_heading_anchors = 6

html_theme = "furo"
html_title = "Ciphermill"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_theme_options = {"source_repository": repository_url, "source_branch": "main", "source_directory": "docs/"}

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
add_module_names = False
# Of a line with the modules of all types, which the page leaves out.
maximum_signature_line_length = 160
python_trailing_comma_in_multi_line_signatures = False
python_display_short_literal_types = True
# A single backtick in a docstring is code, and a reference if it names an object.
default_role = "py:obj"

copybutton_exclude = ".linenos, .gp, .go"

# Pages below others. They are listed here, because the forge would show a directive as code.
SUBPAGES = {
    "tutorials/index": [
        "first-product",
        "lookup",
        "digits",
        "logistic-regression",
        "serve",
        "rtl-parameter",
    ],
    "howto/index": [
        "keys",
        "pickle",
        "bits",
        "vectors",
        "connection",
        "mask",
        "threads",
        "errors",
        "paillier",
        "asyncio",
        "federated",
        "kubernetes",
        "ray",
    ],
    "api/index": [
        "ciphermill",
        "paillier",
        "tfhe",
        "device",
        "lookup",
        "inference",
        "statistics",
        "linear_model",
        "federated",
        "errors",
    ],
    "architecture": [
        "math",
        "bigint",
        "lattice",
        "tfhe",
        "bfv",
        "hmvp",
        "paillier",
        "psi",
        "wire",
        "program",
        "device",
        "nvme",
        "nvme-initiator",
        "middleware",
    ],
    "hw/README": [
        "mod_addsub",
        "mod_mul_shoup",
        "butterfly",
        "mod_mul_goldilocks",
        "mod_mul_lowham",
        "butterfly_ctgs",
        "ntt_cg",
        "mont_mul",
        "mod_exp",
        "ntt_goldilocks",
        "ntt_goldilocks_shift",
        "tfhe_cmux",
        "tfhe_vector",
        "tfhe_engine",
        "paillier_engine",
        "rvfhe_lane",
        "hls",
        "flow",
        "proofs",
        "results",
    ],
}


def add_subpages(app: Any, page: str, source: list[str]) -> None:
    """The hidden list of a page's subpages."""
    if page in SUBPAGES:
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", "", *SUBPAGES[page], "```", ""])


def setup(app: Any) -> None:
    app.connect("source-read", add_subpages)
