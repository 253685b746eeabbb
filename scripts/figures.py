"""Writes the figures of pages from the committed records.

    python scripts/figures.py            # rewrites every block
    python scripts/figures.py --check    # exit status 1 if a block is not that of the records

A block stands between `<!-- figures: NAME -->` and `<!-- end of figures: NAME -->`. The function of that name in
`pagefigures` makes its text from `evidence/*.json`, `bench/*.json` and `docs/arch/*.json`. A table holds figures of one
machine only: a block that would join records of two machines is an error. A block whose record is missing stays as it is, and the
exit status is 1. A page names a machine once, below its first table.
Figures are those of the best path in the records; the line below a table names it. Figures of the architecture models in
`docs/arch*.md` and of the hardware in `docs/hw/results.md` have generators in their crates.
"""

import json
import re
import sys
from pathlib import Path

from pagefigures.records import ROOT, MissingRecord
from pagefigures.text import BLOCKS, PAGE

BEGIN, END = "<!-- figures: {} -->", "<!-- end of figures: {} -->"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def faults_of_records() -> list[str]:
    """What a committed record lacks: a clean commit, or the family, model and stepping of its machine."""
    faults = []
    for path in sorted([*ROOT.glob("evidence/**/*.json"), *ROOT.glob("bench/*.json")]):
        name, record = str(path.relative_to(ROOT)), json.loads(path.read_text())
        if not re.fullmatch(r"[0-9a-f]{40}", record["commit"]):
            faults.append(f"{name}: recorded at `{record['commit']}`; record it again at a clean commit")
        if not all(isinstance(record["machine"].get(f"cpu_{f}"), int) for f in ("family", "model", "stepping")):
            faults.append(f"{name}: names no CPU model")
    return faults


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    faults = faults_of_records()
    stale, used = [], set()
    for page in pages():
        text = page.read_text()
        made = text
        PAGE.machine = ""
        for name in re.findall(r"<!-- figures: ([\w-]+) -->", text):
            if name not in BLOCKS:
                sys.exit(f"figures: {page.relative_to(ROOT)} has a block {name} that nothing makes")
            used.add(name)
            begin, end = BEGIN.format(name), END.format(name)
            if end not in made:
                sys.exit(f"figures: {page.relative_to(ROOT)} lacks {end}")
            try:
                block = BLOCKS[name]()
            except MissingRecord as record:
                faults.append(f"{page.relative_to(ROOT)}: the block {name} needs {record}, which is missing")
                continue
            before, rest = made.split(begin, 1)
            made = f"{before}{begin}\n\n{block}\n\n{end}{rest.split(end, 1)[1]}"
        if made != text:
            stale.append(page)
            if not check:
                page.write_text(made)
    if unused := BLOCKS.keys() - used:
        sys.exit(f"figures: no page has the block {', '.join(sorted(unused))}")
    for page in stale:
        print(f"{page.relative_to(ROOT)}: {'stale; run python scripts/figures.py' if check else 'rewritten'}")
    for fault in faults:
        print(fault)
    return 1 if faults or (check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())
