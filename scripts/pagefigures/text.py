"""Writes figures: numbers, tables, and the line that names the machine and the records below each."""

import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from .records import Record, machine_name, ratio, same_machine

# The function that makes each block.
BLOCKS: dict[str, Callable[[], str]] = {}


def block(name: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Registers the text of a block."""

    def register(function: Callable[[], str]) -> Callable[[], str]:
        BLOCKS[name] = function
        return function

    return register


MISSING = "not measured"


def of(found: Record | None, text: Callable[[Record], str]) -> str:
    """A cell of a row that a record may lack."""
    return text(found) if found else MISSING


def ours(found: Record) -> str:
    return duration(found["median_ns"])


def theirs(found: Record) -> str:
    return duration(found["peer_median_ns"])


def gain(found: Record) -> str:
    return digits(ratio(found))


def spread(pairs: list[tuple[Record, Record]]) -> str:
    """How far two runs of one case lie apart, in words."""
    medians = [(first["median_ns"], second["median_ns"]) for first, second in pairs]
    factor = max(max(pair) / min(pair) for pair in medians)
    return (
        f"The two runs of one case differ by a factor of up to {factor:.2f}: `make bench` alternates the contenders, "
        "`make evidence` repeats one case, and the machine is virtual."
    )


def spanned(times: list[float]) -> str:
    """The range of some times in nanoseconds."""
    return f"{duration(min(times))} to {duration(max(times))}"


def listed(texts: list[str]) -> str:
    return ", ".join(texts[:-1]) + " and " + texts[-1] if len(texts) > 1 else texts[0]


@dataclass
class Page:
    """The page that is written: the machine that it named last."""

    machine: str = ""


PAGE = Page()


def make_command(command: str) -> str:
    """The target of the Makefile behind a recorded command."""
    command = re.sub(
        r"python -m ciphermill_bench(?:\.ray| --family \w+)? --output (\w+)\.json",
        lambda found: f"make bench CASES={found[1]}",
        command,
    )
    return re.sub(
        r"ciphermill-bench(?: --cases (\S+))? --output \w+\.json",
        lambda found: "make bench" + (f" CASES={found[1]}" if found[1] else ""),
        command,
    )


def recorded(record: Record) -> str:
    commit, _, state = record["commit"].partition(" ")
    return f"`{make_command(record['command'])}` at {commit[:9]}" + (f" {state}" if state else "")


def source(*records: Record, average: str = "medians", path: str = "") -> str:
    """The line under a table: the machine, unless the page has named it, and the commands and commits of its records.

    `average` is empty if the table states how each figure was averaged.
    """
    machines = [r["machine"] for r in records]
    if not all(same_machine(machines[0], machine) for machine in machines):
        sys.exit(f"figures: one table would hold figures of {', '.join(sorted({machine_name(m) for m in machines}))}")
    name = machine_name(max(machines, key=len))
    parts = [] if name == PAGE.machine else [f"Machine: {name}"]
    PAGE.machine = name
    parts += ([average] if average else []) + ([f"our path: `{path}`"] if path else [])
    text = "; ".join(parts)
    text = f"{text[0].upper()}{text[1:]}. Records: {', '.join(recorded(r) for r in records)}."
    return wrapped(text)


def wrapped(text: str, *, indent: str = "") -> str:
    """Lines of at most 100 columns; all but the first begin with `indent`."""
    lines = textwrap.wrap(text, 100, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return "\n".join(lines)


def table(head: list[str], rows: list[list[str]], align: str = "") -> str:
    marks = ["---:" if mark == "r" else "---" for mark in (align or "l" + "r" * (len(head) - 1))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, marks, *rows])


def items(texts: list[str]) -> str:
    """A list, wrapped."""
    return "\n".join(wrapped(f"- {text}", indent="  ") for text in texts)


def scaled(value: float, large: str, medium: str, small: str) -> str:
    """A number with three digits in the largest unit of 10^9, 10^6 and 10^3 that it reaches; empty below."""
    for unit, scale in ((large, 1e9), (medium, 1e6), (small, 1e3)):
        if value >= scale:
            return f"{digits(value / scale)} {unit}"
    return ""


def duration(ns: float) -> str:
    """A time with three digits."""
    return scaled(ns, "s", "ms", "µs") or f"{digits(ns)} ns"


def size(count: int) -> str:
    """Bytes with three digits."""
    return scaled(count, "GB", "MB", "kB") or f"{count} bytes"


def digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
