"""Checks every relative link of every Markdown page: its file or folder exists, and its page has the heading.

    python scripts/links.py

Links in code are ignored. Anchors of headings are formed as GitHub forms them.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"\]\(([^) ]+)")
HEADING = re.compile(r"#{1,6} +(.*?)[ #]*$")
ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')


def pages(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "target")):
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from pages(entry)
        elif entry.suffix == ".md":
            yield entry


def text(page: Path) -> Iterator[str]:
    """The lines of a page outside of fenced code."""
    fenced = False
    for line in page.read_text().splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield line


@cache
def anchors(page: Path) -> frozenset[str]:
    """The names in a page that a link can lead to; repeated headings are numbered from the second on."""
    found: set[str] = set()
    repeated: Counter[str] = Counter()
    for line in text(page):
        found.update(ANCHOR.findall(line))
        if heading := HEADING.match(line):
            words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            found.add(f"{name}-{repeated[name]}" if repeated[name] else name)
            repeated[name] += 1
    return frozenset(found)


def wrong(page: Path, link: str) -> str | None:
    """Why a link leads nowhere."""
    file, _, anchor = link.partition("#")
    target = page.parent / file if file else page
    if not target.exists():
        return f"no such file: {file}"
    if anchor and target.suffix == ".md" and anchor not in anchors(target.resolve()):
        return f"no such heading: {link}"
    return None


def main() -> int:
    count, broken = 0, 0
    for page in pages(ROOT):
        for line in text(page):
            for link in LINK.findall(CODE.sub("", line)):
                if re.match(r"[a-z]+:", link):
                    continue
                count += 1
                if reason := wrong(page, link):
                    broken += 1
                    print(f"{page.relative_to(ROOT)}: {reason}")
    print(f"{count} relative links, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
