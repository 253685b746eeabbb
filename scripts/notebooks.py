"""Runs the notebooks and stores their outputs in them, so that a reader sees the pictures without running anything.

    .tools/site/bin/python scripts/notebooks.py     # runs each notebook and stores its outputs
    python scripts/notebooks.py --check             # exit status 1 if the stored outputs are not those of the code

`scripts/docs.sh notebooks` runs it with the package of the release profile, because the notebooks measure times. A notebook
names the digest of the code that its outputs are of: a changed cell needs new outputs.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MAX_BYTES = 500_000
CELL_SECONDS = 300
PICTURE = "image/png"
# Metadata of a notebook: the digest of its code.
DIGEST = "code_sha256"


def code(notebook: dict[str, Any]) -> list[str]:
    """The sources of the code cells."""
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def digest(notebook: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(code(notebook)).encode()).hexdigest()


def faults(text: str) -> list[str]:
    """The reasons why the stored outputs of a notebook are not those of its code."""
    notebook = json.loads(text)
    found = []
    if notebook["metadata"].get(DIGEST) != digest(notebook):
        found.append("its outputs are of other code")
    if len(text.encode()) > MAX_BYTES:
        found.append(f"it has {len(text.encode())} bytes; {MAX_BYTES} are allowed")
    for number, cell in enumerate(notebook["cells"]):
        outputs = cell.get("outputs", [])
        if any(output["output_type"] == "error" for output in outputs):
            found.append(f"cell {number} has an error")
        draws = cell["cell_type"] == "code" and "plt.show()" in "".join(cell["source"])
        if draws and not any(PICTURE in output.get("data", {}) for output in outputs):
            found.append(f"cell {number} shows no picture")
    return found


def run(path: Path) -> None:
    """Runs a notebook and stores its outputs, without times and versions of this run."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.pop("outputs", None)
        if cell.cell_type == "code":
            cell.outputs = []
    NotebookClient(notebook, timeout=CELL_SECONDS, resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in notebook.cells:
        cell.metadata = {}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        DIGEST: digest(notebook),
    }
    nbformat.write(notebook, path)


def main() -> int:
    if sys.argv[1:] not in ([], ["--check"]):
        print(f"usage: {sys.argv[0]} [--check]", file=sys.stderr)
        return 2
    failed = False
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        name = path.relative_to(ROOT)
        if not sys.argv[1:]:
            run(path)
            print(f"{name}: {path.stat().st_size} bytes")
        for fault in faults(path.read_text()):
            print(f"{name}: {fault}; run scripts/docs.sh notebooks")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
