"""The mutation check: puts the faults of hw/mutations.toml into a copy of hw/, one at a time, and sees them caught.

    python hw/flow/mutate.py             all faults
    python hw/flow/mutate.py WORD…       those whose file or catcher contains a word

A fault is caught by the co-simulation tests of a configuration, by a proof, or by a bench of hw/axi. Each catcher must first be content with the
copy without a fault. A fault that nobody catches, that does not build, or whose line is not there, ends this with 1; so
does a fault that is listed as equivalent and is caught. What was found is put into hw/reports/mutations.json.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import process
from units import BUILD, code

ROOT = Path(__file__).resolve().parents[2]
# Shared by what builds models in its own way, so that what they depend on is compiled once.
MODELS = BUILD / "build"
REPORT = ROOT / "hw/reports/mutations.json"
SECONDS = 1800
# The tests of these units simulate many cycles. Optimised models save more time there than the compiler takes.
OPTIMISED = ("paillier_engine", "tfhe_engine", "tfhe_vector")
# The tests of a unit are in the file of its name, or in this one.
ARITHMETIC = "arithmetic"
# A fault may leave a signal without a use: what the lint says must not be what stops it.
NO_LINT = '\nlint_off -file "*"\n'


@dataclass(frozen=True)
class Mutation:
    """One fault of hw/mutations.toml."""

    file: str
    line: str
    fault: str
    why: str
    configuration: str | None = None
    tests: tuple[str, ...] = ()
    proof: str | None = None
    bench: str | None = None
    equivalent: str | None = None

    @property
    def catcher(self) -> str:
        """Who must catch it."""
        if self.proof:
            return f"proof {self.proof}"
        if self.bench:
            return f"bench {self.bench}"
        return f"tests of {self.configuration}" + (f" ({', '.join(self.tests)})" if self.tests else "")

    @property
    def key(self) -> tuple[str, str, str]:
        """What no two faults share."""
        return self.file, self.line, self.fault


@dataclass(frozen=True)
class Outcome:
    """What a catcher said."""

    content: bool
    built: bool
    said: str


def mutations(hw: Path) -> list[Mutation]:
    """All faults of a hardware folder."""
    entries = tomllib.loads((hw / "mutations.toml").read_text())["mutation"]
    listed = [Mutation(**{**entry, "tests": tuple(entry.get("tests", ()))}) for entry in entries]
    for mutation in listed:
        if sum(one is not None for one in (mutation.configuration, mutation.proof, mutation.bench)) != 1:
            raise ValueError(f"{mutation.file}: `{mutation.fault}` must name one configuration, proof or bench")
        if mutation.tests and not mutation.configuration:
            raise ValueError(f"{mutation.file}: `{mutation.fault}` names tests of no configuration")
    return listed


def with_fault(text: str, mutation: Mutation) -> str:
    """The file with the fault in the place of its line, indented as that."""
    lines = text.splitlines(keepends=True)
    places = [number for number, line in enumerate(lines) if line.strip() == mutation.line]
    if len(places) != 1:
        raise ValueError(f"{mutation.file} has {len(places)} lines `{mutation.line}`")
    lines[places[0]] = lines[places[0]].replace(mutation.line, mutation.fault)
    return "".join(lines)


def copy(work: Path) -> Path:
    """A fresh copy of hw/, without its lint."""
    hw = work / "hw"
    shutil.rmtree(hw, ignore_errors=True)
    shutil.copytree(ROOT / "hw", hw, ignore=shutil.ignore_patterns("reports", "__pycache__"))
    with (hw / "lint/waivers.vlt").open("a") as waivers:
        waivers.write(NO_LINT)
    # A copy has the times of what it copies, so that cargo would keep a model of an earlier copy's fault.
    os.utime(hw / "units.toml")
    return hw


def test_file(configuration: str) -> str:
    """The test file of a configuration's unit."""
    unit = configuration.split("/")[0]
    # The two constant-geometry transforms share one.
    unit = "ntt_cg" if unit == "ntt_cg_r4" else unit
    return unit if (ROOT / f"crates/cosim/tests/{unit}.rs").exists() else ARITHMETIC


def test_names(file: str, unit: str) -> list[str]:
    """The tests of a file that look at a unit; all of them where the file has one unit only."""
    if file != ARITHMETIC:
        return []
    text = (ROOT / f"crates/cosim/tests/{file}.rs").read_text()
    found = re.findall(r"#\[test\]\nfn (\w+)\(\) \{\n    each\(\"(\w+)\"", text)
    return [name for name, tested in found if tested == unit]


def of_tests(succeeded: bool, text: str) -> Outcome:
    """What a run of the tests says. A failed assertion of the RTL ends the run before any test is named."""
    if succeeded:
        passed = sum(int(count) for count in re.findall(r"test result: \w+\. (\d+) passed", text))
        return Outcome(passed > 0, passed > 0, "" if passed else "no test ran")
    failed = sorted(set(re.findall(r"^    (\w+)$", text, re.MULTILINE)))
    broken = re.search(r"%Error: (\S+\.sv):\d+: Assertion failed in [^:\n]*: (.+)", text)
    if failed:
        return Outcome(False, True, ", ".join(failed))
    if broken:
        return Outcome(False, True, f"assertion of {broken[1]}: {broken[2]}")
    return Outcome(False, False, f"neither a test nor an assertion failed: {text[-300:]}")


def ask_tests(configuration: str, chosen: tuple[str, ...], hw: Path, work: Path) -> Outcome:
    """Builds the configuration from the copy and runs its tests, or the chosen ones."""
    file = test_file(configuration)
    unit = configuration.split("/")[0]
    command = ["cargo", "test", "--locked", "--quiet", "-p", "ciphermill-cosim", "--test", file]
    environment = {
        **os.environ,
        "CIPHERMILL_HW": configuration,
        "CIPHERMILL_HW_FOLDER": str(hw),
        "CIPHERMILL_HW_OPT": "1" if unit in OPTIMISED else "0",
        "CARGO_TARGET_DIR": str(MODELS.resolve()),
    }
    # Most of a model is the same for every fault.
    if shutil.which("ccache"):
        environment |= {"CXX": "ccache c++", "CCACHE_DIR": str(work / "ccache")}
    log = work / "log"
    with log.open("w") as output:
        try:
            built = process.run([*command, "--no-run"], SECONDS, output, environment, ROOT)
        except process.TimeUp:
            return Outcome(False, False, "it does not build in time")
        if built != 0:
            return Outcome(False, False, f"it does not build: {log.read_text()[-300:]}")
        names = list(chosen) or test_names(file, unit)
        tests = [*command, "--", "--exact", *names] if names else command
        try:
            done = process.run(tests, SECONDS, output, environment, ROOT)
        except process.TimeUp:
            # No verdict: it may be that this machine is slow.
            return Outcome(False, False, f"the tests did not end in {SECONDS} s")
    return of_tests(done == 0, log.read_text())


def ask_proof(proof: str, hw: Path, work: Path) -> Outcome:
    """Tries the proof on the copy."""
    command = [sys.executable, str(ROOT / "hw/flow/prove.py"), "--hw", str(hw), "--work", str(work / "proofs"), proof]
    log = work / "log"
    try:
        with log.open("w") as output:
            done = process.run(command, SECONDS, output, os.environ)
    except process.TimeUp:
        return Outcome(False, False, "no answer in time")
    text = log.read_text()
    said = " ".join(line.strip() for line in text.splitlines() if line.strip().startswith("not true"))
    built = done == 0 or bool(said)
    return Outcome(done == 0, built, said if built else text)


def ask_bench(bench: str, hw: Path, work: Path) -> Outcome:
    """Runs the bench on the copy."""
    # cocotb has a separate environment. A machine without that environment gives no verdict.
    python = ROOT / ".tools/hw-cocotb/bin/python"
    command = [
        str(python),
        str(ROOT / "hw/flow/axi.py"),
        "--hw",
        str(hw),
        "--work",
        str(work / "axi"),
        "--exact",
        bench,
    ]
    log = work / "log"
    try:
        with log.open("w") as output:
            done = process.run(command, SECONDS, output, os.environ)
    except (process.TimeUp, FileNotFoundError) as error:
        return Outcome(False, False, f"no answer: {error}")
    text = log.read_text()
    said = " ".join(re.findall(r"^    failed: ([^;]*)", text, re.MULTILINE))
    return Outcome(done == 0, done == 0 or bool(said), said or text[-300:])


def ask(mutation: Mutation, hw: Path, work: Path) -> Outcome:
    """What the mutation's catcher says of the copy as it is."""
    if mutation.proof:
        return ask_proof(mutation.proof, hw, work)
    if mutation.bench:
        return ask_bench(mutation.bench, hw, work)
    assert mutation.configuration is not None
    return ask_tests(mutation.configuration, mutation.tests, hw, work)


def digest(file: str) -> str:
    """A hash of a file of hw/rtl as it is, without a fault: a verdict is on that."""
    return hashlib.sha256(code(ROOT / "hw/rtl" / file).encode()).hexdigest()[:16]


def key(record: dict[str, Any]) -> tuple[str, str, str]:
    """Which fault a record is of."""
    return record["file"], record["line"], record["fault"]


def reported() -> list[dict[str, Any]]:
    """What the report says of files as they are now."""
    records = json.loads(REPORT.read_text())["mutations"] if REPORT.exists() else []
    return [record for record in records if record["source"] == digest(record["file"])]


def write_report(listed: list[Mutation], records: list[dict[str, Any]], unknown: list[Mutation]) -> None:
    """Puts what was tried into the report, beside what it says of listed faults that were not tried now.

    Nothing is known of those whose catcher was not content with the copy without a fault.
    """
    found = {key(record): record for record in reported() + records}
    for mutation in unknown:
        found.pop(mutation.key, None)
    kept = [found[mutation.key] for mutation in listed if mutation.key in found]
    report = {
        "schema": "ciphermill.hw.mutations/1",
        "faults": len(listed),
        "tried": len(kept),
        "caught": sum(1 for record in kept if record["caught"]),
        "equivalent": sum(1 for record in kept if record["equivalent"]),
        "mutations": kept,
    }
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument(
        "--new", action="store_true", help="only what the report does not have of the files as they are"
    )
    parser.add_argument("--work", type=Path, default=BUILD / "mutants")
    options = parser.parse_args()

    listed = mutations(ROOT / "hw")
    wanted = [
        mutation
        for mutation in listed
        if not options.words or any(word in f"{mutation.file} {mutation.catcher}" for word in options.words)
    ]
    if options.new:
        known = {key(record) for record in reported()}
        wanted = [mutation for mutation in wanted if mutation.key not in known]
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    wrong = []
    records: list[dict[str, Any]] = []
    unknown: list[Mutation] = []

    content: dict[str, bool] = {}
    for mutation in wanted:
        if mutation.catcher not in content:
            outcome = ask(mutation, copy(work), work)
            content[mutation.catcher] = outcome.content
            if not outcome.content:
                print(f"without a fault: {mutation.catcher}: {outcome.said}", flush=True)
        if not content[mutation.catcher]:
            wrong.append(mutation.why)
            unknown.append(mutation)
            write_report(listed, records, unknown)
            continue
        start = time.monotonic()
        hw = copy(work)
        path = hw / "rtl" / mutation.file
        path.write_text(with_fault(path.read_text(), mutation))
        outcome = ask(mutation, hw, work)
        caught = outcome.built and not outcome.content
        as_it_should = outcome.built and caught == (mutation.equivalent is None)
        if not as_it_should:
            wrong.append(mutation.why)
        verdict = "caught" if caught else "SURVIVED" if outcome.built else "NOT TRIED"
        print(f"{verdict:9} {time.monotonic() - start:6.1f} s  {mutation.file}: {mutation.why}", flush=True)
        print(f"    {mutation.catcher}: {outcome.said or '-'}", flush=True)
        records.append(
            {
                "file": mutation.file,
                "line": mutation.line,
                "fault": mutation.fault,
                "source": digest(mutation.file),
                "why": mutation.why,
                "caught": caught,
                "by": f"{mutation.catcher}: {outcome.said}" if caught else None,
                "equivalent": mutation.equivalent,
            }
        )
        write_report(listed, records, unknown)
    caught_count = sum(1 for record in records if record["caught"])
    print(f"{caught_count} of {len(wanted)} faults caught; {len(wrong)} not as listed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
