"""Line and toggle coverage of every unit by the co-simulation tests.

    python hw/flow/coverage.py            build, run, count; writes hw/reports/coverage.json
    python hw/flow/coverage.py UNIT…      the same for units that have a test file of their name; the others stay in the report
    python hw/flow/coverage.py --count    count again what the last run left
    python hw/flow/coverage.py --list     also name what is not covered

Verilator counts points: a block of lines, a branch, a bit going up or down. The same point of a module is merged over its
instances, configurations and tests; a unit is a folder of hw/rtl. hw/lint/coverage-exclusions.toml takes points out, each
with its reason; one that takes out nothing, or something that was covered, is wrong. Of modules from C, the compiler names
the bits that are always 0, and these are taken out too. Below 95 % ends this with 1.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from units import BUILD, HLS_MHZ, digest

ROOT = Path(__file__).resolve().parents[2]
# Shared by what builds models in its own way, so that what they depend on is compiled once.
MODELS = BUILD / "build"
REPORT = ROOT / "hw/reports/coverage.json"
BOUND = 95.0
# What has all the code of the transforms, at sizes that compile with counters in a minute.
TRANSFORMS = {
    "ntt_cg/n256_b1",
    "ntt_cg/n256_b1_inverse",
    "ntt_cg_r4/n1024_a34_b27",
    "ntt_goldilocks/n128_1x2",
    "ntt_goldilocks_shift/n4096",
}
# The same of those on long numbers: what is short enough for Verilator to count in.
LONG = {
    "mont_mul/b256",
    "mont_mul/b256_karatsuba",
    "mont_mul/b272_latency",
    "mod_exp/b256_window4",
    "mod_exp/b256_ladder",
}
# The engines and their largest part, at the least size. They do not count the files of other units.
ENGINES = {
    "tfhe_cmux/n4096_c2",
    "tfhe_engine/n4096_c2",
    "paillier_engine/b256",
}
LARGE = ("ntt_", "mont_mul/", "mod_exp/", "rvfhe_lane/l32", "tfhe_cmux/", "tfhe_engine/", "paillier_engine/")
ALWAYS_ZERO = "the compiler proves that its operations leave these bits 0"
# Tests that compare cycle models with the RTL. They make a thousand instances, each with a file of counts; the tests of the
# unit itself count the same code.
COMPARISONS = {"array_lane"}


@dataclass(frozen=True, order=True)
class Point:
    """Something that can be covered: a block of lines, a branch, or a bit going up or down."""

    file: str
    line: int
    kind: str
    what: str


def points(texts: Iterable[str]) -> Iterable[tuple[Point, int]]:
    """The points of Verilator's files, with their counts. Fields are between bytes 1 and 2: name, 2, value."""
    # Files of one model have the same points. To read the fields of each point once takes a fraction of the time.
    counts: dict[str, int] = defaultdict(int)
    for text in texts:
        for entry in text.split("\n"):
            if entry.startswith("C '"):
                body, count = entry[3:].rsplit("' ", 1)
                counts[body] += int(count)
    for body, hits in counts.items():
        fields = dict(field.split("\x02", 1) for field in body.split("\x01") if "\x02" in field)
        kind = fields.get("page", "").split("/")[0].removeprefix("v_")
        kind = "toggle" if kind == "toggle" else "line"
        file = "/".join(Path(fields["f"]).parts[-2:])
        yield Point(file, int(fields["l"]), kind, fields.get("o", "")), hits


def bit_of(what: str) -> tuple[str, int | None]:
    """The signal of a toggle, and which bit of it it is."""
    found = re.fullmatch(r"(.*)\[(\d+)\]:[01]->[01]", what)
    return (found[1], int(found[2])) if found else (what, None)


def toggled(what: str) -> tuple[str, int]:
    """The signal of a toggle, and its bit; a signal of one bit has bit 0."""
    signal, bit = bit_of(what)
    return (re.sub(r":[01]->[01]$", "", signal), 0) if bit is None else (signal, bit)


@dataclass(frozen=True)
class Exclusion:
    """Points that cannot be covered, and why."""

    file: str
    reason: str
    what: str = ""
    bits: dict[str, list[list[int]]] = field(default_factory=dict)
    kind: str = "toggle"
    lines: tuple[int, ...] = ()

    def takes(self, point: Point) -> bool:
        """Whether the point is one of these.

        `what` is a regular expression for the whole of its name, `bits` has the first and the last bits of signals.
        """
        if point.file != self.file or point.kind != self.kind or (self.lines and point.line not in self.lines):
            return False
        if re.fullmatch(self.what, point.what):
            return True
        signal, bit = toggled(point.what)
        return any(first <= bit <= last for first, last in self.bits.get(signal, []))

    def __str__(self) -> str:
        signals = list(self.bits)
        return f"{self.file}: {self.what or ', '.join(signals[:3]) + (', …' if len(signals) > 3 else '')}"


def count(
    covered: dict[Point, int], exclusions: list[Exclusion]
) -> tuple[dict[str, dict[str, dict[str, float | None]]], list[Point], list[str]]:
    """Per unit and kind how many points are covered; those that are not; and what is wrong with the exclusions."""
    wrong = []
    excluded: set[Point] = set()
    for exclusion in exclusions:
        taken = [point for point in covered if exclusion.takes(point)]
        if not taken:
            wrong.append(f"{exclusion}: there is no such point")
        unknown = exclusion.bits.keys() - {toggled(point.what)[0] for point in taken}
        if taken and unknown:
            wrong.append(f"{exclusion}: there is no signal {min(unknown)}")
        reached = [point.what for point in taken if covered[point]]
        if reached:
            wrong.append(f"{exclusion}: reached, in {len(reached)} of {len(taken)}: {reached[0]}")
        excluded.update(taken)
    tables: dict[str, dict[str, list[int]]] = defaultdict(lambda: {"line": [0, 0, 0], "toggle": [0, 0, 0]})
    missing = []
    for point, hits in sorted(covered.items()):
        numbers = tables[point.file.split("/")[0]][point.kind]
        if point in excluded:
            numbers[2] += 1
            continue
        numbers[1] += 1
        if hits:
            numbers[0] += 1
        else:
            missing.append(point)
    units = {
        unit: {
            kind: {
                "covered": hit,
                "of": of,
                "excluded": out,
                # Where all is assignments there are no lines to run.
                "percent": round(100 * hit / of, 2) if of else None,
            }
            for kind, (hit, of, out) in kinds.items()
        }
        for unit, kinds in sorted(tables.items())
    }
    return units, missing, wrong


def in_ranges(missing: Iterable[Point]) -> Iterable[str]:
    """What is not covered, bits that follow one another in one line."""
    signals: dict[tuple[str, int, str, str], set[int]] = defaultdict(set)
    for point in missing:
        signal, bit = bit_of(point.what)
        change = point.what.rsplit(":", 1)[-1] if bit is not None else ""
        signals[point.file, point.line, f"{point.kind} {signal}", change].update(() if bit is None else (bit,))
    for (file, line, signal, change), bits in sorted(signals.items()):
        if not change:
            yield f"{file}:{line}: {signal}"
        for first in sorted(bit for bit in bits if bit - 1 not in bits):
            last = next(bit for bit in range(first, max(bits) + 1) if bit + 1 not in bits)
            yield (
                f"{file}:{line}: {signal}[{last}:{first}] {change}"
                if last > first
                else f"{file}:{line}: {signal}[{first}] {change}"
            )


def percent(counts: dict[str, float | None]) -> str:
    """What is covered of a unit's points of a kind."""
    return "–" if counts["percent"] is None else f"{counts['percent']:.2f}"


def below(counts: dict[str, float | None]) -> bool:
    """Whether too little is covered of what there is."""
    return counts["percent"] is not None and counts["percent"] < BOUND


def folders() -> set[str]:
    """The folders of hw/rtl with something to count: not those of packages alone."""
    modules = (path for path in (ROOT / "hw/rtl").glob("*/*.sv") if not path.stem.endswith("_pkg"))
    return {path.parent.name for path in modules}


def unit_sources(unit: str) -> str:
    """A hash of the files of a unit: what was counted was counted on those."""
    return digest(sorted((ROOT / "hw/rtl" / unit).glob("*.sv")))


def test_files() -> set[str]:
    """The names of the co-simulation tests."""
    return {path.stem for path in (ROOT / "crates/cosim/tests").glob("*.rs")}


def merged(units: dict[str, Any], missing: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The report's other units and their points, with these."""
    known = json.loads(REPORT.read_text()) if REPORT.exists() else {"units": {}, "not_covered": []}
    others = [point for point in known["not_covered"] if point.split("/")[0] not in units]

    def place(point: str) -> tuple[str, int]:
        file, line = point.split(":")[:2]
        return file, int(line)

    return dict(sorted({**known["units"], **units}.items())), sorted(others + missing, key=place)


def units_of(only: set[str]) -> list[dict[str, Any]]:
    """The units of hw/units.toml, or those of some names."""
    units = tomllib.loads((ROOT / "hw/units.toml").read_text())["unit"]
    return [unit for unit in units if not only or unit["name"] in only]


def zero_bits(units: list[dict[str, Any]]) -> list[Exclusion]:
    """The bits of modules from C that are always 0, as the compiler proves."""
    exclusions = []
    for one in (one for unit in units for one in unit["configuration"] if "hls" in one):
        compiled = one["hls"]
        command = ["cargo", "run", "--quiet", "--locked", "-p", "ciphermill-hls", "--example", "zero_bits", "--"]
        command += [str(HLS_MHZ), f"hw/hls/{compiled['source']}", compiled["function"]]
        command += [f"{name}={value}" for name, value in compiled["defines"].items()]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(MODELS.resolve())}
        printed = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True).stdout
        # A module may have no such bits.
        if bits := json.loads(printed):
            exclusions.append(Exclusion(f"hls/{one['top']}.sv", ALWAYS_ZERO, bits=bits))
    return exclusions


def run(work: Path, only: set[str]) -> None:
    """Builds with counters and runs all tests, or those of some units."""
    units = units_of(only)
    names = [f"{unit['name']}/{configuration['name']}" for unit in units for configuration in unit["configuration"]]
    records = work / "records"
    shutil.rmtree(records, ignore_errors=True)
    records.mkdir(parents=True)
    environment = {
        **os.environ,
        "CIPHERMILL_HW": ",".join(
            name for name in names if not name.startswith(LARGE) or name in TRANSFORMS | LONG | ENGINES
        ),
        "CIPHERMILL_HW_OPT": "1",
        "CIPHERMILL_HW_COVERAGE": "1",
        "CIPHERMILL_HW_RECORDS": str(records),
        "CARGO_TARGET_DIR": str(MODELS.resolve()),
    }
    files = only or test_files() - COMPARISONS
    tests = [word for file in sorted(files) for word in ("--test", file)]
    command = ["cargo", "test", "--locked", "-p", "ciphermill-cosim", *tests, "--no-fail-fast"]
    log = work / "log"
    with log.open("w") as output:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the tests do not pass with counters: {log}\n{log.read_text()[-2000:]}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "units", nargs="*", metavar="UNIT", help="a unit with a test file of its name (default: all units)"
    )
    parser.add_argument("--count", action="store_true", help="do not build and run")
    parser.add_argument("--list", action="store_true", help="name every point that is not covered")
    parser.add_argument("--work", type=Path, default=BUILD / "coverage")
    options = parser.parse_args()

    only = set(options.units)
    if unknown := only - (folders() & test_files()):
        parser.error(f"{', '.join(sorted(unknown))}: use units that have a file in crates/cosim/tests")
    if not options.count:
        run(options.work, only)
    covered: dict[Point, int] = defaultdict(int)
    for point, hits in points(path.read_text() for path in sorted((options.work / "records").glob("*.cov"))):
        if not only or point.file.split("/")[0] in only:
            covered[point] += hits
    if not covered:
        raise SystemExit(f"{options.work / 'records'} has no counts")
    listed = tomllib.loads((ROOT / "hw/lint/coverage-exclusions.toml").read_text()).get("exclusion", [])
    exclusions = [Exclusion(**entry) for entry in listed]
    exclusions = [one for one in exclusions if not only or one.file.split("/")[0] in only]
    units, missing, wrong = count(covered, exclusions + zero_bits(units_of(only)))

    print(f"{'unit':20} {'lines':>18} {'toggles':>22}   excluded")
    low: list[str] = []
    for unit, kinds in units.items():
        line, toggle = kinds["line"], kinds["toggle"]
        print(
            f"{unit:20} {percent(line):>7} % of {line['of']:5} {percent(toggle):>7} % of {toggle['of']:8}"
            f"   {line['excluded']} + {toggle['excluded']}"
        )
        low.extend(f"{unit}: {kind} {percent(at)} %" for kind, at in kinds.items() if below(at))
    for text in in_ranges(missing) if options.list else []:
        print(f"    {text}")
    absent = (only or folders()) - set(units)
    low.extend(f"{unit}: no points at all" for unit in sorted(absent))
    for problem in wrong + low:
        print(f"wrong: {problem}", file=sys.stderr)
    if not wrong and not low:
        found = {unit: {**kinds, "sources": unit_sources(unit)} for unit, kinds in units.items()}
        not_covered = list(in_ranges(missing))
        if only:
            found, not_covered = merged(found, not_covered)
        report = {
            "schema": "ciphermill.hw.coverage/1",
            "bound_percent": BOUND,
            "units": found,
            "not_covered": not_covered,
            "exclusions": listed,
        }
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if wrong or low else 0


if __name__ == "__main__":
    sys.exit(main())
