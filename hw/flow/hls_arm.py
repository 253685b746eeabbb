"""Counts the transform of hw/hls on ARM processors and on a Rocket core; writes hw/reports/hls_arm.json.

    python hw/flow/hls_arm.py [--cycles N --mhz F]

The transform is that of n=256, q=3329, in two forms: the accelerator's source compiled as it is, and a source written for a
processor (hw/hls/software). Three kinds of figures:

    exact       instructions of the first transform, counted by QEMU one by one between two labels; a second one, whose branches
                may differ, must account for the rest of a longer run
    analytic    cycles by llvm-mca of the instructions in the order of their execution: no cache misses, every branch
                predicted, no load waits for an earlier store
    simulated   cycles of crates/arch's Rocket core, caches and branches included

--cycles and --mhz are the accelerator's. Without them the record has speed-ups for the paper's figures and for the floor only.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HLS = ROOT / "hw/hls"
SOFTWARE = HLS / "software"
BASELINE = ROOT / "crates/arch/baseline"
REPORT = ROOT / "hw/reports/hls_arm.json"
sys.path.insert(0, str(ROOT / "scripts"))

import hlspaper

N, Q, GENERATOR = 256, hlspaper.Q, 3
FORMS = ("as_written", "tuned")
# No run is longer; a transform of either form takes milliseconds.
SECONDS = 300

# Debian's packages that bring the tools.
PACKAGES = {
    "arm-linux-gnueabihf-gcc": "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    "riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu",
    "qemu-arm": "qemu-user",
    "qemu-aarch64": "qemu-user",
    "qemu-riscv64": "qemu-user",
    "llvm-mca": "llvm",
    "llvm-objdump": "llvm",
}


@dataclass(frozen=True)
class Core:
    """A processor: how to compile for it, and what is known of its speed."""

    name: str
    compiler: str
    builds: Mapping[str, tuple[str, ...]]
    qemu: str | None
    triple: str
    attributes: str
    mhz: float
    mhz_source: str
    # Instructions that it starts in a cycle at most.
    width: int
    width_source: str


ARM = ("-marm", "-mcpu=cortex-a9")
CORES = (
    Core(
        "cortex-a9",
        "arm-linux-gnueabihf-gcc",
        {
            "O2": ("-O2", *ARM, "-mfpu=vfpv3-d16"),
            "O3": ("-O3", *ARM, "-mfpu=vfpv3-d16"),
            "O3, NEON": ("-O3", *ARM, "-mfpu=neon"),
        },
        "qemu-arm",
        "armv7a-linux-gnueabihf",
        "+neon",
        667.0,
        "AMD DS187, processor clock, speed grade -1: the XC7Z020-1 of the ZC702",
        2,
        "Arm DDI 0388, Cortex-A9: two instructions decoded a cycle",
    ),
    Core(
        "cortex-a53",
        "aarch64-linux-gnu-gcc",
        {
            "O3": ("-O3", "-mcpu=cortex-a53", "-fno-tree-vectorize"),
            "O2, NEON": ("-O2", "-mcpu=cortex-a53"),
            "O3, NEON": ("-O3", "-mcpu=cortex-a53"),
        },
        "qemu-aarch64",
        "aarch64-linux-gnu",
        "",
        1500.0,
        "AMD UG1228 1.0, page 17: at most 1.5 GHz in a Zynq UltraScale+",
        2,
        "Arm DDI 0500, Cortex-A53: two instructions issued a cycle",
    ),
)
RISCV = {"O2": ("-O2",), "O3": ("-O3",)}
# As crates/arch/baseline/build.sh.
FREESTANDING = (
    *("-march=rv64im", "-mabi=lp64", "-mcmodel=medlow", "-mno-relax", "-nostdlib", "-no-pie", "-fno-pie"),
    *("-ffreestanding", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"),
    *("-fno-tree-loop-distribute-patterns", "-DFREESTANDING", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments"),
    *("-I", str(SOFTWARE / "freestanding"), "-Wl,-T,baseline.ld", "start.S"),
)

# The accelerator next to which the processors stand. The paper gives a constraint, not a frequency it reached.
PAPER = {"cycles": 2094, "mhz": 100.0, "source": "the paper: table 2, constraint of 100 MHz"}
FLOOR = {"cycles": 512, "mhz": 100.0, "source": "n/2 log2 n / B for B=2, at the paper's constraint"}
# An AXI port of 64 bits moves a word a cycle and direction, at most the port's own rate.
PORT_BYTES = 8
PORT_MB = 1200.0
PORT_SOURCE = (
    "AMD UG585 1.11, table 22-8: 1,200 MB/s for an AXI_HP port and direction; 8 bytes a cycle of the accelerator"
)
WORD_BYTES = 2


class FlowError(Exception):
    """Something is missing, failed, or has another form than expected."""


def missing(tools: Iterable[str]) -> list[str]:
    """Debian's packages of the tools that are not installed."""
    lacking = {package for tool in tools if shutil.which(tool) is None for package in PACKAGES[tool].split()}
    return sorted(lacking)


def output(command: Sequence[str | Path], folder: Path | None = None) -> bytes:
    """What a command writes; its failure is an error with the end of its messages."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise FlowError(f"{words[0]} was not done after {SECONDS} s") from None
    if done.returncode != 0:
        raise FlowError(f"{words[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-800:]}")
    return done.stdout


def version(tool: str) -> str:
    """The line of a tool's report that names its version."""
    lines = output([tool, "--version"]).decode(errors="replace").splitlines()
    return next(line.strip() for line in lines if re.search(r"\d+\.\d+", line))


def driver_words(seed: int = 1, floor: int = 0) -> list[int]:
    """The words that driver.c transforms."""
    words, state = [], seed
    for _ in range(N):
        state = (state * 1664525 + 1013904223) % (1 << 32)
        words.append(floor + (state >> 16) % (Q - floor))
    return words


def expected(words: list[int], repeats: int = 1) -> list[int]:
    """The transform by its definition, in bit-reversed order, applied again and again."""
    for _ in range(repeats):
        words = hlspaper.in_reverse(hlspaper.transform(words, pow(GENERATOR, (Q - 1) // N, Q)))
    return words


def check(written: bytes, repeats: int, what: str) -> None:
    """The words that a program wrote must be right."""
    words = [int.from_bytes(written[i : i + WORD_BYTES], "little") for i in range(0, len(written), WORD_BYTES)]
    if words != expected(driver_words(), repeats):
        raise FlowError(f"{what}: the words are wrong")


def trace(log: Iterable[str]) -> list[int]:
    """Addresses of the executed instructions, from QEMU's log of single steps.

    Trace 0: 0x7f… [00800480/0001055c/00000000/00000201] main
    """
    addresses = []
    for line in log:
        if line.startswith("Trace "):
            found = re.search(r"\[[0-9a-f]+/([0-9a-f]+)/", line)
            if found is None:
                raise FlowError(f"QEMU's log has another form: {line.rstrip()}")
            addresses.append(int(found[1], 16))
    return addresses


def between(addresses: list[int], begin: int, end: int) -> list[int]:
    """The instructions from the first arrival at `begin` to the next one at `end`, which is not among them."""
    try:
        first = addresses.index(begin)
        return addresses[first : addresses.index(end, first)]
    except ValueError:
        raise FlowError(f"the program did not run from {begin:#x} to {end:#x}") from None


def symbols(table: str) -> dict[str, int]:
    """The addresses of the symbols that nm lists."""
    rows = (line.split() for line in table.splitlines())
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}


def disassembly(dump: str) -> dict[int, str]:
    """The instructions of llvm-objdump by address, without comments, with a label as the target of each branch."""
    found = {}
    for line in dump.splitlines():
        row = re.match(r"\s*([0-9a-f]+):\s+(\S.*)$", line)
        if row is None:
            continue
        # Comments begin with @ (ARM) or //, symbols of addresses are in angles.
        text = re.sub(r"\s*(@|//|<).*$", "", row[2]).replace("\t", " ").strip()
        found[int(row[1], 16)] = re.sub(r"0x[0-9a-f]+$", "target", text) if re.match(BRANCH, text) else text
    return found


# Instructions whose last operand is an address.
BRANCH = re.compile(r"(b|bl|blx|cbz|cbnz|tbz|tbnz|adr|adrp|b\.?(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le))\s")


# Instructions of ARM that move several registers: their names, the base if it is written, the registers.
SEVERAL = re.compile(r"(v?)(push|pop|ldm|stm)\w*\s+(?:(\w+)(!?), )?\{(.*)\}$")


def modelled(instruction: str) -> list[str]:
    """The instruction as llvm-mca knows it.

    It gives a call a hundred cycles; here a call is a branch. Its Cortex-A9 has no cost of a move of several registers,
    which are single moves here and the change of their base.
    """
    found = SEVERAL.match(instruction)
    if found is None:
        return [re.sub(r"^blx? target$", "b target", instruction)]
    vector, name, base, written, registers = found.groups()
    # A return loads the program counter, which llvm-mca would take as the end.
    each = registers.replace("pc", "lr").split(", ")
    move, size = (f"{vector}ldr" if name in ("pop", "ldm") else f"{vector}str"), 8 if vector else 4
    moves = [f"{move} {register}, [{base or 'sp'}, #{size * i}]" for i, register in enumerate(each)]
    change = [] if base and not written else [f"add {base or 'sp'}, {base or 'sp'}, #{size * len(each)}"]
    return moves + change


def assembly(addresses: Iterable[int], instructions: Mapping[int, str]) -> str:
    """The executed instructions as a source for llvm-mca, which takes no branch."""
    try:
        return "\n".join(line for address in addresses for line in modelled(instructions[address])) + "\n"
    except KeyError as error:
        raise FlowError(f"no instruction at {error.args[0]:#x} in the disassembly") from None


def hottest_loop(addresses: list[int]) -> tuple[list[int], int]:
    """The straight loop in which most instructions are executed, and how often its body is."""
    bodies: Counter[tuple[int, ...]] = Counter()
    start = 0
    for i in range(1, len(addresses)):
        before, now = addresses[i - 1], addresses[i]
        if now <= before:
            body = addresses[start:i]
            if now in body:
                bodies[tuple(body[body.index(now) :])] += 1
            start = i
        elif now > before + 4:
            start = i
    if not bodies:
        raise FlowError("the transform has no loop")
    hottest, count = max(bodies.items(), key=lambda one: len(one[0]) * one[1])
    return list(hottest), count


def total_cycles(summary: str) -> int:
    """The cycles in a summary of llvm-mca."""
    found = re.search(r"^Total Cycles:\s+(\d+)$", summary, re.MULTILINE)
    if found is None:
        raise FlowError(f"llvm-mca wrote no cycles: {summary[:200]}")
    return int(found[1])


def mca(core: Core, source: str, iterations: int, folder: Path) -> int:
    """Cycles of so many runs of the instructions."""
    path = folder / "trace.s"
    path.write_text(source)
    command = ["llvm-mca", f"-mtriple={core.triple}", f"-mcpu={core.name}", f"-iterations={iterations}"]
    if core.attributes:
        command.append(f"-mattr={core.attributes}")
    return total_cycles(output([*command, "-instruction-info=0", "-resource-pressure=0", path]).decode())


def compiled(compiler: str, options: Sequence[str], form: str, repeats: int, program: Path) -> Path:
    """A program that transforms so many times."""
    common = ["-std=gnu11", "-w", "-DNDEBUG", f"-DREPEATS={repeats}", f'-DVARIANT="{form}.c"', "-static"]
    output([compiler, *options, *common, SOFTWARE / "driver.c", "-o", program], BASELINE)
    return program


def single_steps(qemu: str) -> str:
    """The option for one instruction a step, whose name changed in QEMU 8.1."""
    return "-one-insn-per-tb" if b"one-insn-per-tb" in output([qemu, "--help"]) else "-singlestep"


def traced(qemu: str, program: Path, repeats: int, folder: Path) -> list[int]:
    """Addresses of a program's instructions, once its words are found right."""
    log = folder / "qemu.log"
    written = output([qemu, single_steps(qemu), "-d", "exec,nochain", "-D", log, program])
    check(written, repeats, program.name)
    with log.open() as lines:
        addresses = trace(lines)
    log.unlink()
    return addresses


def on_arm(core: Core, build: str, form: str, folder: Path) -> dict[str, Any]:
    """Instructions and analytic cycles of a transform."""
    if core.qemu is None:
        raise FlowError(f"{core.name} has no QEMU")
    runs, programs = {}, {}
    for repeats in (1, 2):
        programs[repeats] = folder / f"{core.name}.{form}.{build.replace(', ', '-')}.{repeats}"
        compiled(core.compiler, core.builds[build], form, repeats, programs[repeats])
        runs[repeats] = traced(core.qemu, programs[repeats], repeats, folder)
    prefix = core.compiler.removesuffix("gcc")
    borders = {}
    for repeats, program in programs.items():
        labels = symbols(output([f"{prefix}nm", program]).decode())
        borders[repeats] = (labels["transform_begin"], labels["transform_end"])
    region = between(runs[1], *borders[1])
    # The second transform has other words, on which the branches of a sum may depend.
    first = between(runs[2], *borders[2])
    second = between(runs[2][runs[2].index(borders[2][1]) + 1 :], *borders[2])
    if len(first) != len(region):
        raise FlowError(f"the first transform takes {len(first)} instructions before a second one, {len(region)} alone")
    # Two runs differ by a transform, its call and a turn of the driver's loop.
    difference = len(runs[2]) - len(runs[1])
    if not 0 <= difference - len(second) <= 16:
        raise FlowError(f"a second transform takes {len(second)} instructions, and the runs differ by {difference}")
    attributes = [f"--mattr={core.attributes}"] if core.attributes else []
    dump = output(
        ["llvm-objdump", "-d", "--no-show-raw-insn", f"--mcpu={core.name}", *attributes, programs[1]]
    ).decode()
    instructions = disassembly(dump)
    body, turns = hottest_loop(region)
    per_turn = mca(core, assembly(body, instructions), 100, folder) / 100
    return {
        "form": form,
        "build": f"{core.compiler} {' '.join(core.builds[build])}",
        "name": build,
        "instructions": len(region),
        "instructions_of_a_second_transform": difference,
        "analytic_cycles": mca(core, assembly(region, instructions), 1, folder),
        "hottest_loop": {
            "instructions": len(body),
            "turns": turns,
            "share_of_instructions": round(len(body) * turns / len(region), 3),
            "analytic_cycles_a_turn": per_turn,
        },
        "correct": True,
    }


def on_rocket(build: str, form: str, folder: Path) -> dict[str, Any]:
    """Instructions and simulated cycles of a transform on crates/arch's core."""
    program = folder / f"rocket.{form}.{build}"
    options = [*RISCV[build], *FREESTANDING]
    compiled("riscv64-linux-gnu-gcc", options, form, 1, program)
    words = folder / "words"
    command = ["cargo", "run", "--quiet", "--release", "--locked", "-p", "ciphermill-arch", "--example", "simulate-elf"]
    found = json.loads(output([*command, "--", program, words], ROOT))
    check(words.read_bytes(), 1, program.name)
    labels = symbols(output(["riscv64-linux-gnu-nm", program]).decode())
    region = between(traced("qemu-riscv64", program, 1, folder), labels["transform_begin"], labels["transform_end"])
    # The model and QEMU are two implementations: a count that both have is right.
    if len(region) != found["instructions"]:
        raise FlowError(f"QEMU counts {len(region)} instructions, the model {found['instructions']}")
    return {
        "form": form,
        "build": f"riscv64-linux-gnu-gcc {build_options(options)}",
        "name": build,
        "instructions": found["instructions"],
        "simulated_cycles": found["cycles"],
        "causes": found["causes"],
        "correct": True,
    }


def build_options(options: Iterable[str]) -> str:
    """The options that change the code."""
    return " ".join(one for one in options if re.match(r"-(O|m|f(?!no-))", one))


def microseconds(cycles: float, mhz: float) -> float:
    """A time."""
    return round(cycles / mhz, 3)


def transfer(mhz: float) -> dict[str, Any]:
    """The time in which the words reach the accelerator and the results leave it, one after the other."""
    rate = min(PORT_MB, PORT_BYTES * mhz)
    count = N * WORD_BYTES
    return {"bytes_in": count, "bytes_out": count, "mb_per_s": rate, "us": round(2 * count / rate, 3)}


def speed_up(accelerator: Mapping[str, Any], processors: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """How many times as fast the accelerator is: for each processor and form the least and the greatest of its builds.

    The least time of a processor is the best build at its full width, every cycle; the greatest the worst build by
    llvm-mca.
    """
    mhz = accelerator["mhz"]
    alone = microseconds(accelerator["cycles"], mhz)
    moved = transfer(mhz)
    rows = []
    for processor in processors:
        for form in FORMS:
            runs = [run for run in processor["runs"] if run["form"] == form]
            best = min(run["instructions"] for run in runs) / processor["width"] / processor["mhz"]
            analytic = sorted(run["analytic_cycles"] / processor["mhz"] for run in runs)
            rows.append(
                {
                    "core": processor["core"],
                    "form": form,
                    "us_at_full_width": round(best, 3),
                    "us_analytic": [round(analytic[0], 3), round(analytic[-1], 3)],
                    "without_moving": [round(time / alone, 2) for time in (best, analytic[0], analytic[-1])],
                    "with_moving": [
                        round(time / (alone + moved["us"]), 2) for time in (best, analytic[0], analytic[-1])
                    ],
                }
            )
    return {"accelerator": dict(accelerator), "us": alone, "transfer": moved, "rows": rows}


def sources() -> str:
    """A hash of the files that the figures depend on."""
    digest = hashlib.sha256()
    paths = [*sorted(HLS.glob("*.h")), *sorted(SOFTWARE.rglob("*.[ch]")), Path(__file__)]
    for path in [*paths, BASELINE / "start.S", BASELINE / "baseline.ld"]:
        digest.update(f"{path.relative_to(ROOT)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def record(ours: Mapping[str, Any] | None, folder: Path) -> dict[str, Any]:
    """All figures."""
    processors = [
        {
            "core": core.name,
            "mhz": core.mhz,
            "mhz_source": core.mhz_source,
            "width": core.width,
            "width_source": core.width_source,
            "runs": [on_arm(core, build, form, folder) for form in FORMS for build in core.builds],
        }
        for core in CORES
    ]
    rocket = [on_rocket(build, form, folder) for form in FORMS for build in RISCV]
    accelerators = [PAPER, FLOOR, *([ours] if ours else [])]
    return {
        "schema": "ciphermill-hls-arm/1",
        "case": f"cyclic transform, n={N}, q={Q}",
        "kinds": {"instructions": "exact", "analytic_cycles": "analytic", "simulated_cycles": "simulated"},
        "processors": processors,
        "rocket": {"description": "crates/arch/machines/rocket.toml", "runs": rocket},
        "speed_up": [speed_up(accelerator, processors) for accelerator in accelerators],
        "transfer_source": PORT_SOURCE,
        "not_counted": "calls of a driver, caches to flush, DMA to set up, interrupts: each adds to the accelerator's time",
        "tool_versions": {tool: version(tool) for tool in PACKAGES},
        "sources": sources(),
    }


def main() -> int:
    """Writes the record, or says what is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cycles", type=int, help="cycles of our accelerator, start to done")
    parser.add_argument("--mhz", type=float, help="its frequency")
    arguments = parser.parse_args()
    if (arguments.cycles is None) != (arguments.mhz is None):
        parser.error("--cycles and --mhz go together")
    if arguments.cycles is not None and (arguments.cycles < 1 or not 0 < arguments.mhz < 10_000):
        parser.error("use cycles of at least 1, and a frequency from above 0 to 10,000 MHz")
    if lacking := missing(PACKAGES):
        print(f"hls_arm: missing tools; install as root: apt-get install {' '.join(lacking)}", file=sys.stderr)
        return 2
    if shutil.which("cargo") is None:
        print("hls_arm: no cargo on PATH; install a Rust toolchain, see https://rustup.rs", file=sys.stderr)
        return 2
    ours = None
    if arguments.cycles is not None:
        ours = {"cycles": arguments.cycles, "mhz": arguments.mhz, "source": "ours, from the command line"}
    try:
        with tempfile.TemporaryDirectory(prefix="ciphermill-hls-arm-") as folder:
            found = record(ours, Path(folder))
    except FlowError as error:
        print(f"hls_arm: {error}", file=sys.stderr)
        return 1
    unfinished = REPORT.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(found, indent=2) + "\n")
    os.replace(unfinished, REPORT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
