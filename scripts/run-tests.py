"""Runs the unit and integration tests of the workspace: as `cargo test` does, but several test programs at once.

    python scripts/run-tests.py [arguments of cargo test]

`cargo test` runs one program after another, and many have one long test: half of the processors would be idle. The output
of a program is printed in one piece when the program has ended. Failures are named again at the end, with their messages.

A test that cannot run a part of its work writes a line that starts with "not run: " (crates/testing/src/skip.rs). These lines
are named at the end as well.
"""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

# Programs that write gigabytes, full-size keys and a store of them: one after another, so that the disk needs room for one.
LARGE = ("cli: tests/main.rs", "middleware: tests/main.rs")


@dataclass(frozen=True)
class Program:
    """A test program, and the folder that its tests expect to run in."""

    name: str
    path: str
    folder: Path


def build(arguments: list[str]) -> list[Program]:
    """Compiles; exits as cargo does if that fails."""
    command = ["cargo", "test", "--no-run", "--message-format=json-render-diagnostics", *arguments]
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as cargo:
        assert cargo.stdout is not None
        for line in cargo.stdout:
            message = json.loads(line)
            # A program that its tests need is listed too, as no test.
            if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
                folder = Path(message["manifest_path"]).parent
                target = message["target"]
                name = f"{folder.name}: {Path(target['src_path']).relative_to(folder)}"
                found.append(Program(name, message["executable"], folder))
    if cargo.returncode != 0:
        sys.exit(cargo.returncode)
    return found


def run(program: Program) -> tuple[Program, int, str, float]:
    """What the program returned and printed, and its seconds."""
    start = time.monotonic()
    # Cargo sets this for tests, too.
    environment = os.environ | {"CARGO_MANIFEST_DIR": str(program.folder)}
    done = subprocess.run(
        [program.path, "--show-output"],
        cwd=program.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return program, done.returncode, done.stdout, time.monotonic() - start


def in_turn(programs: list[Program]) -> list[tuple[Program, int, str, float]]:
    """The outcomes of programs that run one after another."""
    return [run(program) for program in programs]


def not_run(output: str) -> list[str]:
    """The lines of work that could not run, without repetitions. The harness may have begun a line of its own before."""
    mark = "not run: "
    return list(dict.fromkeys(line.partition(mark)[2] for line in output.splitlines() if mark in line))


def failures(output: str) -> list[str]:
    """The failed tests of a program, each with the beginning of what its thread said when it ended."""
    found = []
    sections = re.split(r"\n---- (\S+(?: - .*)?) stdout ----\n", output.partition("\nfailures:\n")[2])[1:]
    for test, said in zip(sections[::2], sections[1::2], strict=True):
        said = said.partition("\n\nfailures:\n")[0]
        # Threads that a test starts may say more, and before it; the last words are those of the test.
        words = re.split(r"\n(?:stack backtrace:|note: run with)", said.rpartition("panicked at ")[2])[0]
        found.append(f"{test}: {' '.join(words.split())[:400]}")
    return found


def without_successes(output: str) -> str:
    """The output of a passed program without that of its tests."""
    before, mark, after = output.partition("\nsuccesses:\n")
    result = after.rfind("\ntest result: ")
    return before + after[result:] if mark and result >= 0 else output


def main() -> int:
    programs = build(sys.argv[1:])
    failed: list[str] = []
    left_out: list[str] = []
    large = [program for program in programs if program.name in LARGE]
    groups = [large, *([program] for program in programs if program not in large)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures = [pool.submit(in_turn, group) for group in groups]
        outcomes = (outcome for future in as_completed(futures) for outcome in future.result())
        for program, status, output, seconds in outcomes:
            shown = output if status != 0 else without_successes(output)
            print(f"-- {program.name}, {seconds:.1f} s\n{shown}", flush=True)
            left_out.extend(not_run(output))
            if status != 0:
                failed.append(f"{program.name}: exit status {status}")
                failed.extend(f"{program.name}: {failure}" for failure in failures(output))
    for line in left_out:
        print(f"NOT RUN: {line}")
    for line in failed:
        print(f"FAILED: {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
