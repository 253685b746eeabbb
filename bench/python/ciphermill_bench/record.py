"""Rows, the results file and the table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from ciphermill_bench.harness import Stats
from ciphermill_bench.machine import output_of

SCHEMA = "ciphermill-side-by-side/1"

#: The kinds of a time. A computed one is a sum of measured times of operations, each multiplied by its number.
MEASURED, COMPUTED = "measured", "computed from measured operations"


@dataclass(frozen=True)
class Peer:
    """The other side of a row."""

    name: str
    version: str
    #: As SPDX has it.
    licence: str

    @staticmethod
    def package(name: str, licence: str) -> Peer:
        """An installed package of PyPI."""
        return Peer(name, metadata.version(name), licence)


@dataclass(frozen=True)
class Case:
    """The facts that rows of one case share."""

    name: str
    params: dict[str, Any]
    #: The path of the kernels, or None if the case computes nothing encrypted.
    isa: str | None
    note: str = ""


def tenths(ns: float) -> float:
    """A time to a tenth of a nanosecond: more would be noise."""
    return round(ns, 1)


@dataclass
class Report:
    """The rows of a run."""

    machine: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(
        self,
        case: Case,
        ours: Stats,
        peer: Peer | None = None,
        theirs: Stats | None = None,
        *,
        asked: dict[str, float] | None = None,
        figures: dict[str, Any] | None = None,
        threads: int = 1,
        peer_kind: str = MEASURED,
    ) -> None:
        """Add a row and print it. Without a peer, its fields are null.

        `asked` has the aims: `median_ns` at most, `median_ratio`, the peer's median over ours, at least, and any of `figures` at
        most. `figures` has the other results of the case. `peer_kind` is `MEASURED` or `COMPUTED`.
        """
        row: dict[str, Any] = {
            "schema": SCHEMA,
            "case": case.name,
            "params": case.params,
            "isa": case.isa,
            "threads": threads,
            "samples": ours.samples,
            "ours_ns": tenths(ours.min_ns),
            "min_ns": tenths(ours.min_ns),
            "median_ns": tenths(ours.median_ns),
            "quartiles_ns": [tenths(ns) for ns in ours.quartiles_ns],
            "peer": peer and peer.name,
            "peer_version": peer and peer.version,
            "peer_licence": peer and peer.licence,
            "peer_threads": theirs and threads,
            "peer_samples": theirs and theirs.samples,
            "peer_ns": theirs and tenths(theirs.min_ns),
            "peer_median_ns": theirs and tenths(theirs.median_ns),
            "peer_quartiles_ns": theirs and [tenths(ns) for ns in theirs.quartiles_ns],
            "ratio": theirs and round(theirs.min_ns / ours.min_ns, 3),
            "correct": ours.correct and (theirs is None or theirs.correct),
            "kind": MEASURED,
            "peer_kind": theirs and peer_kind,
            "cpu": self.machine["cpu"],
            "figures": figures or {},
            "asked": asked,
            "met": None,
            "note": case.note,
        }
        row["met"] = reached(row)
        self.rows.append(row)
        print("  " + "  ".join(cells(row)), flush=True)

    def note(self, text: str) -> None:
        """Add a remark on the run."""
        self.notes.append(text)

    def to_json(self, command: str, commit: str, started: str, seconds: int) -> str:
        """The results file: its head indented, one row on a line."""
        head = {
            "schema": SCHEMA,
            "command": command,
            "commit": commit,
            "started": started,
            "wall_s": seconds,
            "clock": "wall",
            "machine": self.machine,
            "peers_compiled_with": "as their wheels on PyPI",
            "notes": self.notes,
        }
        lines = [f"  {json.dumps(key)}: {compact(value)}," for key, value in head.items()]
        rows = ",\n".join(f"    {compact(row)}" for row in self.rows)
        return "{\n" + "\n".join(lines) + f'\n  "rows": [\n{rows}\n  ]\n}}\n'

    def table(self) -> str:
        """All rows for people."""
        lines = [["case", "ours", "peer", "its time", "ratio", "aim"], *[cells(row) for row in self.rows]]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
        )


def reached(row: dict[str, Any]) -> bool | None:
    """Whether a row reached its aims, or None without an aim. A wrong result reaches none."""
    if row["asked"] is None:
        return None
    return bool(row["correct"]) and all(_reaches(row, name, limit) for name, limit in row["asked"].items())


def _reaches(row: dict[str, Any], name: str, limit: float) -> bool:
    if name == "median_ratio":
        return bool(row["peer_median_ns"] / row["median_ns"] >= limit)
    value = row["median_ns"] if name == "median_ns" else row["figures"][name]
    return bool(value <= limit)


def aim(name: str, limit: float) -> str:
    """An aim in words."""
    if name == "median_ratio":
        return f"at least {limit:g}"
    return f"at most {duration(limit)}" if name == "median_ns" else f"{name} at most {limit:g}"


def compact(value: Any) -> str:
    """JSON on one line. NaN and infinity, which JSON lacks, raise `ValueError`."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def clean_commit() -> str:
    """The commit of the sources, with a mark if they have uncommitted changes outside of records."""
    changes = output_of("git", "status", "--porcelain", "--", ":/", ":!/bench/*.json", ":!/evidence")
    return output_of("git", "rev-parse", "HEAD") + (" with uncommitted changes" if changes else "")


def duration(ns: float) -> str:
    """A time with three digits or so."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns:.3g} ns"


def cells(row: dict[str, Any]) -> list[str]:
    """A row in words, by medians."""
    peer = f"{row['peer']} {row['peer_version']}" if row["peer"] else "–"
    theirs = duration(row["peer_median_ns"]) if row["peer"] else "–"
    ratio = f"{row['peer_median_ns'] / row['median_ns']:.3g}" if row["peer"] else "–"
    aims = "–"
    if row["asked"]:
        words = [aim(name, limit) for name, limit in row["asked"].items()]
        aims = ", ".join([*words, "met" if row["met"] else "missed"])
    ours = duration(row["median_ns"])
    return [row["case"], ours if row["correct"] else f"{ours} WRONG", peer, theirs, ratio, aims]
