"""`make mutants`: makes small faults in the code, one at a time, and runs tests that should fail.

    python scripts/mutants.py              # all areas of scripts/mutants.toml
    python scripts/mutants.py noise store  # these areas
    python scripts/mutants.py --list       # the number of faults in each area

cargo-mutants makes the faults and runs the tests. `scripts/mutants.toml` lists the files of each area, the tests that run,
and the faults that no test finds, with the reason for each. The exit status is 1 if another fault stays without a failing
test, or if a listed one is found after all or does not exist any more. A fault is named by its file, function and change, not
by its line, so that the list bears changes of other code.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "scripts" / "mutants.toml"
TOOL = ROOT / ".tools" / "bin" / "cargo-mutants"
# Tests that take so long have a fault that makes them wait; cargo-mutants counts it as found.
TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class Area:
    """Files of a package, and the tests that guard them."""

    name: str
    package: str
    files: list[str]
    # Arguments of `cargo test`, quick tests first: those after them try only what these leave.
    tests: list[list[str]]
    skip: list[str]

    def arguments(self) -> list[str]:
        """What selects the faults."""
        files = [argument for file in self.files for argument in ("--file", file)]
        skips = [argument for pattern in self.skip for argument in ("--exclude-re", pattern)]
        return ["--package", self.package, *files, *skips]


def key(name: str) -> str:
    """The name of a fault without its line and column."""
    file, _, rest = name.partition(":")
    _, _, change = rest.partition(": ")
    return f"{file}: {change}"


def listed(area: Area) -> list[str]:
    """All faults of an area."""
    command = [str(TOOL), "mutants", "--list", "--json", "--no-config", *area.arguments()]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    return [key(mutant["name"]) for mutant in json.loads(output)]


def outcomes(area: Area) -> list[tuple[str, str]]:
    """Makes the faults of an area one by one; gives each with the summary of the last tests that tried it."""
    folder = ROOT / "target" / "mutants" / area.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # All areas share what does not change: the packages of others.
    environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target" / "mutants" / "build")}
    found: dict[str, str] = {}
    for number, tests in enumerate(area.tests):
        command = [str(TOOL), "mutants", "--no-config", "--profile", "mutants", "--no-shuffle", "--output", str(folder)]
        command += ["--timeout", str(TIMEOUT_SECONDS), "--colors", "never", *area.arguments()]
        command += ["--iterate"] if number else []
        command += ["--cargo-arg=--locked", "--", *tests]
        # Survivors and tests that wait too long are judged here; anything else is an error, such as tests that fail without a
        # fault.
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if status not in (0, 2, 3):
            sys.exit(f"{area.name}: cargo-mutants ended with {status}")
        report = json.loads((folder / "mutants.out" / "outcomes.json").read_text())
        for outcome in report["outcomes"]:
            if outcome["scenario"] != "Baseline":
                name = outcome["scenario"]["Mutant"]["name"]
                # One that makes a test wait is found, but is tried again.
                if found.get(name) != "Timeout":
                    found[name] = outcome["summary"]
        if "MissedMutant" not in found.values():
            break
    return [(key(name), summary) for name, summary in found.items()]


def judge(area: Area, found: list[tuple[str, str]], explained: Counter[str]) -> list[str]:
    """The faults that should not have survived, and the explained ones that did not."""
    survivors = Counter(name for name, summary in found if summary == "MissedMutant")
    new = survivors - explained
    gone = explained - survivors
    return [f"{area.name}: no test finds: {name}" for name in new.elements()] + [
        f"{area.name}: listed as surviving, but found or gone: {name}" for name in gone.elements()
    ]


def main() -> int:
    arguments = argparse.ArgumentParser(description="Small faults in the code, and tests that should find them.")
    arguments.add_argument("areas", nargs="*", help="areas of scripts/mutants.toml (default: all)")
    arguments.add_argument("--list", action="store_true", help="count the faults of each area, make none")
    given = arguments.parse_args()
    table = tomllib.loads(LIST.read_text())
    areas = [Area(**{"skip": [], **area}) for area in table["area"]]
    if unknown := set(given.areas) - {area.name for area in areas}:
        arguments.error(f"unknown areas: {', '.join(sorted(unknown))}; known: {', '.join(area.name for area in areas)}")
    chosen = [area for area in areas if not given.areas or area.name in given.areas]
    wrong: list[str] = []
    lines: list[str] = []
    for area in chosen:
        if given.list:
            lines.append(f"{area.name}: {len(listed(area))} faults")
            continue
        found = outcomes(area)
        explained = Counter(
            survivor["fault"]
            for survivor in table.get("survivor", [])
            if survivor["area"] == area.name
            for _ in range(survivor.get("count", 1))
        )
        wrong += judge(area, found, explained)
        counts = Counter(summary for _, summary in found)
        lines.append(f"{area.name}: " + ", ".join(f"{summary} {count}" for summary, count in sorted(counts.items())))
    print("\n".join(lines + wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
