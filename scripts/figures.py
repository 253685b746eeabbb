"""Writes the figures of pages from the committed records.

    python scripts/figures.py            # rewrites every block
    python scripts/figures.py --check    # exit status 1 if a block is not that of the records

A block stands between `<!-- figures: NAME -->` and `<!-- end of figures: NAME -->`. The function of that name below makes
its text from `evidence/*.json`, `bench/*.json` and `docs/arch/*.json`. A table holds figures of one machine only: a block
that would join records of two machines is an error. A page names a machine once, below its first table. Figures are
those of the best path in the records; the line below a table names it. Figures of the architecture models in
`docs/arch*.md` and of the hardware in `docs/hw/results.md` have generators in their crates.
"""

import json
import re
import statistics
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Record = dict[str, Any]
BLOCKS: dict[str, Callable[[], str]] = {}
BEGIN, END = "<!-- figures: {} -->", "<!-- end of figures: {} -->"


def block(name: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Registers the text of a block."""

    def register(function: Callable[[], str]) -> Callable[[], str]:
        BLOCKS[name] = function
        return function

    return register


def load(path: str) -> Record:
    record: Record = json.loads((ROOT / path).read_text())
    return record


def runs(record: Record, case: str, **params: object) -> list[Record]:
    """The results of an evidence record for a case, narrowed by fields of the result or of its parameters."""
    found = []
    for run in record["results"]["runs"]:
        result = run["result"]
        inner = result["params"] if isinstance(result.get("params"), dict) else {}
        if result.get("case") == case and all(
            result.get(key, inner.get(key)) == value for key, value in params.items()
        ):
            found.append(result)
    return found


def one(found: list[Record], what: str) -> Record:
    if not found:
        sys.exit(f"figures: no record of {what}")
    return found[0]


# Our paths from the slowest to the fastest. On an instruction set a machine has one of the last three for big integers.
PATHS = ["portable", "avx2", "avx512", "adx", "ifma-single", "ifma"]
# For a single number, one over all lanes beats one in each lane.
SINGLE_PATHS = ["portable", "adx", "ifma", "ifma-single"]


def best_path(rows: list[Record], order: list[str] = PATHS) -> str:
    """The best of our paths in the rows."""
    return max({r["isa"] for r in rows}, key=order.index)


def rows_of(record: Record, family: str, order: list[str] = PATHS) -> tuple[list[Record], str]:
    """The rows of a comparison whose case begins with `family`, on the best path that the record has."""
    found = [r for r in record["rows"] if r["case"].startswith(family)]
    one(found, f"a comparison {family}")
    path = best_path(found, order)
    return [r for r in found if r["isa"] == path], path


def row(rows: list[Record], case: str, peer: str, threads: int = 1) -> Record | None:
    """The row of a comparison with a peer, if the record has it."""
    key = {"case": case, "peer": peer, "threads": threads}
    found = [r for r in rows if all(r[k] == v for k, v in key.items())]
    return found[0] if found else None


MISSING = "not measured"


def of(found: Record | None, text: Callable[[Record], str]) -> str:
    """A cell of a row that a record may lack."""
    return text(found) if found else MISSING


def ours(found: Record) -> str:
    return duration(found["median_ns"])


def theirs(found: Record) -> str:
    return duration(found["peer_median_ns"])


def ratio(found: Record) -> float:
    """The peer's median over ours."""
    value: float = found["peer_median_ns"] / found["median_ns"]
    return value


def gain(found: Record) -> str:
    return digits(ratio(found))


def spread(pairs: list[tuple[Record, Record]]) -> str:
    """How far two runs of one case lie apart, in words."""
    medians = [(first["median_ns"], second["median_ns"]) for first, second in pairs]
    factor = max(max(pair) / min(pair) for pair in medians)
    return (
        f"The two runs of one case differ by a factor of up to {factor:.2f}: `make bench` alternates the contenders, "
        "`make evidence` repeats one case, and the machine is virtual."
    )


def listed(texts: list[str]) -> str:
    return ", ".join(texts[:-1]) + " and " + texts[-1] if len(texts) > 1 else texts[0]


def extensions(flags: list[str]) -> str:
    """The vector instructions of a CPU in words."""
    if "avx512f" not in flags:
        return "AVX2, without AVX-512" if "avx2" in flags else "without AVX2"
    return "AVX-512 with IFMA" if "avx512ifma" in flags else "AVX-512 without IFMA"


def machine_name(machine: Record) -> str:
    """The machine in words. Records of earlier versions have the CPU's name only."""
    cpu = " ".join(machine["cpu"].replace("(R)", "").split())
    if machine.get("cpu_family") is not None:
        cpu += f" (family {machine['cpu_family']}, model {machine['cpu_model']}; {extensions(machine['isa_offered'])})"
    return f"{cpu}, {machine['cores']} cores (virtual)"


def same_machine(left: Record, right: Record) -> bool:
    """Whether two records can be of one machine: all that both of them state is equal."""
    fields = ("cpu", "cpu_family", "cpu_model", "cpu_stepping", "isa_offered")
    return all(left[f] == right[f] for f in fields if f in left and f in right)


@dataclass
class Page:
    """The page that is written: the machine that it named last."""

    machine: str = ""


PAGE = Page()


def make_command(command: str) -> str:
    """The target of the Makefile behind a recorded command."""
    return re.sub(
        r"ciphermill-bench(?: --cases (\S+))? --output \w+\.json",
        lambda found: "make bench" + (f" CASES={found[1]}" if found[1] else ""),
        command,
    )


def recorded(record: Record) -> str:
    commit, _, state = record["commit"].partition(" ")
    return f"`{make_command(record['command'])}` at {commit[:9]}" + (f" {state}" if state else "")


def source(*records: Record, average: str = "medians", path: str = "") -> str:
    """The line under a table: the machine, unless the page has named it, and the commands and commits of its records."""
    machines = [r["machine"] for r in records]
    if not all(same_machine(machines[0], machine) for machine in machines):
        sys.exit(f"figures: one table would hold figures of {', '.join(sorted({machine_name(m) for m in machines}))}")
    name = machine_name(max(machines, key=len))
    parts = [] if name == PAGE.machine else [f"Machine: {name}"]
    PAGE.machine = name
    parts += [average] + ([f"our path: `{path}`"] if path else [])
    text = "; ".join(parts)
    text = f"{text[0].upper()}{text[1:]}. Records: {', '.join(recorded(r) for r in records)}."
    return wrapped(text)


def wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 100, break_on_hyphens=False, break_long_words=False))


def table(head: list[str], rows: list[list[str]], align: str = "") -> str:
    marks = ["---:" if mark == "r" else "---" for mark in (align or "l" + "r" * (len(head) - 1))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, marks, *rows])


def duration(ns: float) -> str:
    """A time with three digits."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= scale:
            return f"{digits(ns / scale)} {unit}"
    return f"{digits(ns)} ns"


def digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


@block("readme-demo")
def readme_demo() -> str:
    device = load("evidence/tfhe-device.json")
    demos = [r["result"] for r in device["results"]["runs"] if r["command"].startswith("ciphermill demo")]
    demo = one(demos, "the demo")
    seconds, paper, sizes = demo["seconds"], demo["paper"], demo["sizes"]
    again = [duration(r["seconds"]["keygen"] * 1e9) for r in demos[1:] if r["params"] == demo["params"]]
    average = (
        f"times of keys are of one run (generation takes {listed(again)} in the record's others), the program's is a mean "
        f"of {demo['programs']}, the bootstrap's a median of {demo['bootstraps']}"
    )
    lines = [
        ["keys generated", duration(seconds["keygen"] * 1e9), ""],
        ["both keys loaded", duration(seconds["load"] * 1e9), ""],
        [
            "program x·y, two bootstraps",
            duration(seconds["compute"] / demo["programs"] * 1e9),
            duration(paper["program_fpga_s"] * 1e9),
        ],
        ["one bootstrap, two threads", duration(seconds["bootstrap"] * 1e9), duration(paper["bootstrap_fpga_s"] * 1e9)],
        [
            "bootstrapping key, stored",
            f"{sizes['bootstrapping_key'] / 1e9:.2f} GB",
            f"{paper['bootstrapping_key_bytes'] / 1e9:.2f} GB",
        ],
    ]
    return table(["step", "here", "paper: FPGA"], lines) + "\n\n" + source(device, average=average, path=demo["isa"])


@block("readme-products")
def readme_products() -> str:
    evidence, bench = load("evidence/hmvp.json"), load("bench/hmvp.json")
    compared, path = rows_of(bench, "hmvp")
    lines, pairs = [], []
    for strategy, fresh, text in (
        (
            "algorithm1",
            False,
            "algorithm 1 at the moduli reconstructed from the paper; rows are transformed during the product",
        ),
        ("row-packed", False, "row-packed, our strategy; the matrix is prepared beforehand"),
        ("row-packed", True, "row-packed with the preparation of the matrix"),
    ):
        case = f"hmvp/{strategy}/1024x256" + ("/fresh" if fresh else "")
        found = one(runs(evidence, case, threads=1, matrix_bits=8, vectors=1), case)
        beside = row(compared, f"hmvp-fresh/{strategy}/1024x256" if fresh else case, "lattigo")
        lines.append([text, duration(found["median_ns"]), "21.9 ms", "352 ms", of(beside, gain)])
        if beside:
            pairs.append((found, beside))
    head = ["1024 × 256 matrix times encrypted vector", "here, 1 thread", "paper: FPGA", "paper: CPU"]
    head.append("Lattigo's time ÷ ours")
    note = wrapped(
        "All three are on one thread. The paper's FPGA transforms rows during the product too; the paper does not state "
        "the extent of its times. The best public CPU figure that the records have is that of Lattigo, by its diagonal "
        "method, whose matrix is encoded beforehand except in the last row. The ratios are "
        f"of `make bench`, in which our times were {listed([ours(beside) for _, beside in pairs])}; the times above are of "
        f"`make evidence`. {spread(pairs)}"
    )
    return f"{table(head, lines)}\n\n{note}\n\n{source(evidence, bench, path=path)}"


@block("papers-nvme")
def papers_nvme() -> str:
    bench, evidence = load("bench/results.json"), load("evidence/tfhe-device.json")
    case = "ks-pbs/NVME_TFHE_PAPER/fft"
    rows, path = rows_of(bench, "ks-pbs/NVME_TFHE_PAPER/")
    single, double = (row(rows, case, "tfhe", threads) for threads in (1, 2))
    exact = row(rows_of(bench, "pbs/NVME_TFHE_PAPER/ntt")[0], "pbs/NVME_TFHE_PAPER/ntt", "tfhe")
    demos = [r["result"] for r in evidence["results"]["runs"] if r["command"].startswith("ciphermill demo")]
    demo = one(demos, "the demo")
    big = one([d for d in demos if (d["params"], d["choice"]) == (demo["params"], "big")], "the demo under the big key")
    paper, sizes, instructions = demo["paper"], demo["sizes"], demo["instructions"]
    program = demo["seconds"]["compute"] / demo["programs"]
    head = [
        "operation or size",
        "paper: FPGA",
        "paper: T4",
        "paper: Ryzen 9 (TFHEpp)",
        "tfhe-rs, our machine, 1 thread",
        "ours, 1 thread",
        "ours, 2 threads",
        "tfhe-rs ÷ ours, 1 thread",
    ]
    gpu, cpu, fpga = (paper[f"bootstrap_{key}_s"] * 1e9 for key in ("tesla_t4", "ryzen_5950x", "fpga"))
    lines = [
        [
            "bootstrap with key switch",
            duration(fpga),
            duration(gpu),
            duration(cpu),
            of(single, theirs),
            of(single, ours),
            of(double, ours),
            of(single, gain),
        ],
        ["bootstrap by exact NTT, no key switch", "", "", "", of(exact, theirs), of(exact, ours), "", of(exact, gain)],
        [
            "HomAdd",
            duration(paper["homadd_fpga_s"] * 1e9),
            "",
            "",
            "",
            duration(instructions["homadd"]["mean_seconds"] * 1e9),
            "",
            "",
        ],
        ["program x·y", duration(paper["program_fpga_s"] * 1e9), "", "", "", "", duration(program * 1e9), ""],
        [
            "bootstrapping key, stored",
            "2.10 GB",
            "",
            "",
            "",
            f"{sizes['bootstrapping_key'] / 1e9:.2f} GB seeded",
            "",
            "",
        ],
        ["key-switching key, stored", "367 MB", "", "", "", f"{sizes['keyswitching_key'] / 1e3:.0f} kB seeded", "", ""],
    ]
    kernels = load("evidence/kernels.json")
    again = {t: one(runs(kernels, "pbs/NVME_TFHE_PAPER/big/fft", threads=t), "a bootstrap") for t in (1, 2)}
    pairs = [(again[t], found) for t, found in ((1, single), (2, double)) if found]
    note = wrapped(
        f"Bootstraps are of `make bench`. In `make evidence AREA=kernels` ([tfhe.md](tfhe.md#figures)), the one with key "
        f"switch takes {listed([ours(found) for found in again.values()])}. {spread(pairs)} HomAdd and the program are of "
        f"ciphertexts under the {demo['choice']} key, of {sizes['ciphertext']:,} bytes, as in the paper. Under the big key "
        f"({big['sizes']['ciphertext']:,} bytes) HomAdd takes {duration(big['instructions']['homadd']['mean_seconds'] * 1e9)}."
    )
    average = "medians (the paper's are averages); of HomAdd and the program, means"
    return f"{table(head, lines)}\n\n{note}\n\n{source(bench, evidence, average=average, path=path)}"


# Rows, and milliseconds on the paper's CPU, GPU and FPGA.
CHAM_TABLE_3 = {
    64: (45.57, 13.25, 2.28),
    256: (100.45, 25.95, 6.17),
    1024: (352.06, 92.79, 21.88),
    2048: (639.78, 182.59, 42.86),
}


@block("papers-cham")
def papers_cham() -> str:
    evidence, bench = load("evidence/hmvp.json"), load("bench/hmvp.json")
    lines, pairs = [], []
    packed, path = rows_of(bench, "hmvp/")
    others: dict[str, list[str]] = {}
    for rows, times in CHAM_TABLE_3.items():
        first = one(runs(evidence, f"hmvp/algorithm1/{rows}x256", threads=1), f"algorithm 1 of {rows} rows")
        quick = one(runs(evidence, f"hmvp/row-packed/{rows}x256", threads=1), f"row-packed of {rows} rows")
        second = row(packed, f"hmvp/row-packed/{rows}x256", "lattigo")
        if again := row(packed, f"hmvp/algorithm1/{rows}x256", "lattigo"):
            pairs.append((first, again))
            others.setdefault("algorithm 1 in the latter", []).append(ours(again))
        if second:
            pairs.append((quick, second))
            others.setdefault("`row-packed` in the former", []).append(ours(quick))
        lines.append(
            [str(rows)]
            + [f"{time:.2f}" for time in times]
            + [
                digits(first["median_ns"] / 1e6),
                of(second, lambda found: digits(found["median_ns"] / 1e6)),
                of(second, gain),
            ]
        )
    head = [
        "rows × 256, ms",
        "paper: CPU",
        "paper: GPU",
        "paper: FPGA",
        "algorithm 1",
        "row-packed",
        "Lattigo ÷ row-packed",
    ]
    note = wrapped(
        "Algorithm 1 is of `make evidence`; `row-packed` and the ratio are of `make bench`. The others: "
        f"{'; '.join(f'{name} {listed(times)}' for name, times in others.items())}. {spread(pairs)}"
    )
    return f"{table(head, lines, 'rrrrrrr')}\n\n{note}\n\n{source(evidence, bench, path=path)}"


@block("papers-rvfhe")
def papers_rvfhe() -> str:
    records = json.loads((ROOT / "docs/arch/run.json").read_text())

    def cycles(case: str, steady: bool) -> list[str]:
        cells = []
        for machine in ("paper", "ciphermill", "lane"):
            found = [r for r in records if r["case"] == f"arch-{case}/p512" and r["machine"] == machine]
            found = [r for r in found if (r["cycles_steady"] is not None) == steady]
            if not found:
                cells.append("")
            elif steady:
                cells.append(f"{found[0]['cycles_steady']:.0f} with {found[0]['params']['in_flight']} in flight")
            else:
                cells.append(str(found[0]["cycles"]))
        return cells

    head = ["cycles, simulated", "paper", "its array here", "`ciphermill.toml`", "`lane.toml`"]
    lines = [
        ["NTT of 2^13, steady", "237", *cycles("ntt/n8192", True)],
        ["NTT of 2^13, one alone", "", *cycles("ntt/n8192", False)],
        ["NTT of 2^16, steady", "does not fit", *cycles("ntt/n65536", True)],
        ["key switch of three digits, 2^13, steady", "", *cycles("key-switch/n8192", True)],
    ]
    return table(head, lines) + "\n\nRecord: [run.json](arch/run.json), by `make arch`."


@block("papers-paillier")
def papers_paillier() -> str:
    bench = load("bench/paillier.json")
    rows, path = rows_of(bench, "")
    single, single_path = rows_of(bench, "modexp-single/1024", SINGLE_PATHS)
    eight = row(rows, "modexp/1024", "mpz_powm")
    alone = row(single, "modexp-single/1024", "mpz_powm")
    product = row(rows, "modmul/1024", "mpz_mul, mpz_mod")
    strict = row(rows, "paillier/512/encrypt_strict", "GMP")
    djn = row(rows, "paillier/512/encrypt", "GMP")

    def rate(found: Record) -> str:
        return f"{1e9 / found['median_ns']:,.0f}/s"

    head = ["512-bit n, modulus of 1024 bits", "paper: FPGA", "paper: CPU", "ours, 1 thread", "GMP's time ÷ ours"]
    lines = [
        [
            "exponentiations, exponent of 1024 bits, eight at a time",
            "1,498/s",
            "858/s",
            of(eight, rate),
            of(eight, gain),
        ],
        [
            f"latency of one exponentiation, path `{single_path}`",
            "667 µs",
            "1,166 µs",
            of(alone, ours),
            of(alone, gain),
        ],
        ["encryptions with r^n", "3,649/s", "", of(strict, rate), of(strict, gain)],
        ["encryptions, DJN", "", "", of(djn, rate), of(djn, gain)],
        ["modular products", "1,875,800/s", "597,700/s", of(product, rate), of(product, gain)],
    ]
    return table(head, lines) + "\n\n" + source(bench, path=path)


@block("bench-kernels")
def bench_kernels() -> str:
    bench = load("bench/results.json")
    families: dict[tuple[str, str], list[float]] = {}
    path = ""
    for family in ("ntt-fwd", "ntt-inv", "fft-fwd", "fft-inv"):
        rows, path = rows_of(bench, f"{family}/")
        for found in rows:
            families.setdefault((family, found["peer"]), []).append(ratio(found))
    lines = [
        [
            f"`{family}`",
            peer,
            str(len(values)),
            digits(statistics.median(values)),
            digits(min(values)),
            digits(max(values)),
        ]
        for (family, peer), values in sorted(families.items())
    ]
    head = ["family", "peer", "cases", "median ratio", "least", "greatest"]
    return table(head, lines, "llrrrr") + "\n\n" + source(bench, path=path)


@block("bench-tfhe")
def bench_tfhe() -> str:
    bench = load("bench/results.json")
    lines = []
    for found in bench["rows"]:
        if found["case"].split("/")[0] in ("pbs", "ks-pbs", "ks", "keygen", "keygen-made"):
            lines.append(
                [
                    f"`{found['case']}`",
                    found["isa"],
                    str(found["threads"]),
                    ours(found),
                    gain(found),
                ]
            )
    kernels, pairs = load("evidence/kernels.json"), []
    rows, _ = rows_of(bench, "ks-pbs/NVME_TFHE_PAPER/fft")
    for threads in (1, 2):
        found = row(rows, "ks-pbs/NVME_TFHE_PAPER/fft", "tfhe", threads)
        again = one(runs(kernels, "pbs/NVME_TFHE_PAPER/big/fft", threads=threads), "a bootstrap")
        if found:
            pairs.append((found, again))
    note = wrapped(
        f"In `make evidence AREA=kernels` ([tfhe.md](tfhe.md#figures)), `ks-pbs/NVME_TFHE_PAPER/fft` takes "
        f"{listed([ours(again) for _, again in pairs])} with 1 and 2 threads. {spread(pairs)}"
    )
    head = ["case", "path", "threads", "ours", "tfhe-rs ÷ ours"]
    return f"{table(head, lines, 'llrrr')}\n\n{note}\n\n{source(bench)}"


@block("bench-hmvp")
def bench_hmvp() -> str:
    bench = load("bench/hmvp.json")
    rows, path = rows_of(bench, "hmvp")
    lines = [[f"`{found['case']}`", ours(found), gain(found)] for found in rows]
    evidence, pairs = load("evidence/hmvp.json"), []
    for count in CHAM_TABLE_3:
        case = f"hmvp/algorithm1/{count}x256"
        again = one(runs(evidence, case, threads=1), case)
        if found := row(rows, case, "lattigo"):
            pairs.append((found, again))
    note = wrapped(
        f"In `make evidence AREA=hmvp` ([hmvp.md](hmvp.md#figures)), `algorithm1` takes "
        f"{listed([ours(again) for _, again in pairs])}. {spread(pairs)}"
    )
    return f"{table(['case', 'ours', 'Lattigo ÷ ours'], lines)}\n\n{note}\n\n{source(bench, path=path)}"


@block("bench-integers")
def bench_integers() -> str:
    bench = load("bench/paillier.json")
    wanted = ("modexp/2048", "modmul/2048", "paillier/2048/")
    rows, path = rows_of(bench, "")
    lines = [
        [f"`{found['case']}`", found["peer"], ours(found), gain(found)]
        for found in rows
        if found["case"].startswith(wanted) and found["peer"] != "ours term by term"
    ]
    return table(["case", "peer", "ours", "peer ÷ ours"], lines, "llrr") + "\n\n" + source(bench, path=path)


@block("bench-nvme")
def bench_nvme() -> str:
    evidence = load("evidence/nvme.json")
    records = {found["case"]: found for found in evidence["results"]["bench"]["result"]["records"]}

    def cells(case: str, text: Callable[[Record], str]) -> list[str]:
        return [text(records[f"{case}/{p}"]) if f"{case}/{p}" in records else "" for p in ("free", "awake", "one-core")]

    def reads(found: Record) -> str:
        return f"{found['ops_per_s']:,.0f} ({duration(found['floor_ns'])})"

    def rate(found: Record) -> str:
        return f"{found['bytes_per_s'] / 1e9:.2f} GB/s ({found['floor_bytes_per_s'] / 1e9:.2f})"

    def added(found: Record) -> str:
        return f"{duration(found['added_ns'])} ({duration(found['floor_ns'])})"

    lines = [
        ["4 KiB reads per second, depth 1 (round trip)", *cells("nvme/read/4k/depth1", reads)],
        ["4 KiB reads per second, depth 32 (round trip)", *cells("nvme/read/4k/depth32", reads)],
        ["128 KiB reads, depth 32 (stream)", *cells("nvme/read/128k/depth32", rate)],
        ["128 KiB durable writes, depth 32 (4 MiB and fdatasync)", *cells("nvme/write/128k/depth32", rate)],
        ["added by a compute-on-write (fdatasync)", *cells("nvme/compute-on-write/table5", added)],
        [
            "64 idle hosts, share of a core",
            *cells("nvme/idle/64hosts", lambda found: f"{100 * found['cpu_share']:.1f} %"),
        ],
    ]
    missed = sorted(case for case, found in records.items() if found["met"] is False)
    short = ", ".join(f"`{case}`" for case in missed) if missed else "none"
    sentence = wrapped(f"Aims missed in this run: {short}.")
    head = ["load", "`free`", "`awake`", "`one-core`"]
    return table(head, lines) + f"\n\n{sentence}\n\n" + source(evidence)


@block("tfhe-operations")
def tfhe_operations() -> str:
    kernels, device = load("evidence/kernels.json"), load("evidence/tfhe-device.json")

    def median(record: Record, case: str, threads: int) -> str:
        found = runs(record, case, threads=threads)
        return ours(found[0]) if found else MISSING

    def both(record: Record, case: str) -> list[str]:
        return [median(record, case, threads) for threads in (1, 2)]

    paper = "NVME_TFHE_PAPER"
    fft, ntt = (f"pbs/{paper}/big/{backend}" for backend in ("fft", "ntt"))
    lines = [
        ["bootstrap with its key switch, FFT", f"`{paper}`", *both(kernels, fft)],
        ["the same, 8 ciphertexts at a time, each", f"`{paper}`", *both(kernels, f"{fft}/batch8")],
        ["bootstrap with its key switch, exact NTT", f"`{paper}`", *both(kernels, ntt)],
        ["key switch", f"`{paper}`", median(kernels, f"ks/{paper}", 1), ""],
        ["generation of both server keys, seeded", f"`{paper}`", "", median(kernels, f"keygen/{paper}", 2)],
    ]
    for aim in ("2M64", "2M128"):
        for bits in range(1, 7):
            case = f"pbs/MESSAGE_{bits}_{aim}/big/fft"
            if runs(device, case, threads=1):
                lines.append(["bootstrap, FFT", f"`MESSAGE_{bits}_{aim}`", median(device, case, 1), ""])
    peaks = [one(runs(kernels, case, threads=1), case)["peak_rss_bytes"] / 1e9 for case in (fft, ntt)]
    memory = wrapped(
        f"Key generation, loading and bootstraps at the paper's dimensions need {peaks[0]:.2f} GB at their peak by FFT, "
        f"{peaks[1]:.2f} GB by NTT."
    )
    path = one(runs(kernels, fft, threads=1), fft)["isa"]
    compared, _ = rows_of(load("bench/results.json"), f"ks-pbs/{paper}/fft")
    again = [found for t in (1, 2) if (found := row(compared, f"ks-pbs/{paper}/fft", "tfhe", t))]
    pairs = [(found, runs(kernels, fft, threads=found["threads"])[0]) for found in again]
    note = wrapped(
        f"In `make bench` ([bench.md](bench.md#figures)), the first case takes {listed([ours(found) for found in again])}. "
        f"{spread(pairs)}"
    )
    head = ["operation", "set", "one thread", "two threads"]
    return f"{table(head, lines, 'llrr')}\n\n{note}\n\n{memory}\n\n{source(kernels, device, path=path)}"


@block("tfhe-floor")
def tfhe_floor() -> str:
    bench = load("bench/results.json")
    forward, path = rows_of(bench, "fft-fwd/n16384")
    inverse, _ = rows_of(bench, "fft-inv/n16384")
    each = [one(rows, "FFT of 16384")["median_ns"] for rows in (forward, inverse)]
    text = wrapped(
        f"8,000 forward transforms of {duration(each[0])} and 1,600 inverse ones of {duration(each[1])} take "
        f"{duration(8000 * each[0] + 1600 * each[1])} on one thread."
    )
    return f"{text}\n\n{source(bench, path=path)}"


@block("math-ntt")
def math_ntt() -> str:
    bench = load("bench/results.json")
    rows, path = rows_of(bench, "ntt-")
    primes = {
        "q31": "2^31, 32-bit words",
        "q46": "2^46",
        "q50": "2^50",
        "q60": "2^60",
        "q62": "2^62",
        "goldilocks": "2^64 − 2^32 + 1",
        "p38-23": "2^38 + 2^23 + 1",
    }

    def hardest(family: str, n: int, prime: str) -> Record | None:
        """The row with the fastest peer."""
        found = [r for r in rows if r["case"] == f"{family}/n{n}/{prime}"]
        return min(found, key=lambda r: r["peer_median_ns"], default=None)

    lines = []
    for prime, text in primes.items():
        cells: list[list[str]] = [[], [], []]
        peers = set()
        for family in ("ntt-fwd", "ntt-inv"):
            found = [hardest(family, n, prime) for n in (1024, 2048, 4096, 8192, 16384, 32768, 65536)]
            at_4096 = found[2]
            cells[0].append(of(at_4096, ours))
            cells[1].append(of(at_4096, gain))
            cells[2].append(digits(min(ratio(r) for r in found if r)))
            peers |= {f"{r['peer']} {r['peer_version']}" for r in found if r}
        lines.append([text, *[", ".join(pair) for pair in cells], ", ".join(sorted(peers))])
    head = [
        "primes below (or equal)",
        "forward, inverse, N = 4096",
        "fastest peer ÷ ours",
        "least ratio, N = 1024 … 65536",
        "fastest peer",
    ]
    return table(head, lines, "lrrrl") + "\n\n" + source(bench, path=path)


@block("math-fft")
def math_fft() -> str:
    bench = load("bench/results.json")
    forward, path = rows_of(bench, "fft-fwd/")
    inverse, _ = rows_of(bench, "fft-inv/")
    lines = []
    for n in (256, 1024, 4096, 16384, 65536, 131072):
        cells = [str(n)]
        for rows, family in ((forward, "fft-fwd"), (inverse, "fft-inv")):
            same, bare = (row(rows, f"{family}/n{n}", peer) for peer in ("tfhe", "tfhe-fft"))
            cells += [of(same, ours), of(same, gain), of(bare, gain)]
        lines.append(cells)
    head = ["N"]
    for direction in ("forward", "inverse"):
        head += [direction, "tfhe-rs, the same work, ÷ ours", "bare tfhe-fft ÷ ours"]
    return table(head, lines, "rrrrrrr") + "\n\n" + source(bench, path=path)


@block("paillier-operations")
def paillier_operations() -> str:
    bench = load("bench/paillier.json")
    rows, path = rows_of(bench, "paillier/2048/")
    lines = []
    for name, text in (
        ("encrypt", "encrypt, DJN; phe: r^n"),
        ("encrypt_strict", "encrypt, strict"),
        ("encrypt_owner", "encrypt by the owner, DJN; phe: r^n"),
        ("encrypt_owner_strict", "encrypt by the owner, strict"),
        ("decrypt", "decrypt"),
        ("add", "add"),
        ("mul64", "multiply by 64 bits"),
        ("matvec/64x64", "64 × 64 public 64-bit weights"),
    ):
        phe, gmp, terms = (row(rows, f"paillier/2048/{name}", peer) for peer in ("phe", "GMP", "ours term by term"))
        found = gmp or phe
        lines.append(
            [text, of(found, ours), of(found, lambda r: f"{1e9 / r['median_ns']:,.0f}"), of(phe, gain), of(gmp, gain)]
        )
        if terms:
            lines.append(
                ["the same, term by term", theirs(terms), f"{1e9 / terms['peer_median_ns']:,.0f}", "", ""],
            )
    head = ["operation", "ours", "per second", "phe 1.5 (gmpy2) ÷ ours", "formula in GMP ÷ ours"]
    return table(head, lines) + "\n\n" + source(bench, path=path)


@block("bigint-modexp")
def bigint_modexp() -> str:
    bench = load("bench/paillier.json")
    rows, best = rows_of(bench, "modexp/")
    columns = [
        ("ifma", "modexp", "`ifma`, of eight"),
        ("ifma-single", "modexp-single", "`ifma-single`"),
        ("adx", "modexp", "`adx`"),
        ("portable", "modexp", "`portable`"),
    ]
    offered = {r["isa"] for r in bench["rows"]}
    peers = {
        "mpz_powm": "GMP `mpz_powm`",
        "BN_mod_exp_mont_consttime": "OpenSSL, constant-time",
        "crypto_mb": "crypto_mb, of eight",
    }
    # crypto_mb needs AVX-512 IFMA.
    peers = {peer: text for peer, text in peers.items() if any(r["peer"] == peer for r in rows)}
    lines = []
    for bits in (512, 1024, 2048, 3072, 4096, 6144):
        cells = [str(bits)]
        for path, family, _ in columns:
            if path in offered:
                found = [r for r in bench["rows"] if r["case"] == f"{family}/{bits}" and r["isa"] == path]
                cells.append(of(found[0] if found else None, ours))
        for peer in peers:
            compared = row(rows, f"modexp/{bits}", peer)
            cells.append(gain(compared) if compared else "–")
        lines.append(cells)
    head = ["bits", *[text for path, _, text in columns if path in offered]]
    head += [f"{text} ÷ `{best}`" for text in peers.values()]
    lacking = [f"`{path}`" for path, _, _ in columns if path not in offered]
    note = f"Not measured, as this CPU lacks the instructions: {', '.join(lacking)}.\n\n" if lacking else ""
    return table(head, lines, "r" * len(head)) + f"\n\n{note}" + source(bench)


@block("hmvp-paper")
def hmvp_paper() -> str:
    evidence, bench = load("evidence/hmvp.json"), load("bench/hmvp.json")
    rows, _ = rows_of(bench, "hmvp/")
    lines, pairs = [], []
    others: dict[str, list[str]] = {}
    for count, times in CHAM_TABLE_3.items():
        cells = [str(count)]
        for strategy in ("row-packed", "algorithm1"):
            case = f"hmvp/{strategy}/{count}x256"
            found = one(runs(evidence, case, threads=1), case)
            cells.append(digits(found["median_ns"] / 1e6))
            if again := row(rows, case, "lattigo"):
                pairs.append((found, again))
                others.setdefault(strategy, []).append(ours(again))
        cells += [f"{time:.2f}" for time in times]
        cells += [
            of(row(rows, f"hmvp/{strategy}/{count}x256", "lattigo"), gain) for strategy in ("row-packed", "diagonal")
        ]
        lines.append(cells)
    head = ["rows × 256, ms", "row-packed", "algorithm 1", "paper: CPU", "paper: GPU", "paper: FPGA"]
    head += ["Lattigo ÷ row-packed", "Lattigo ÷ diagonal"]
    times_there = "; ".join(f"`{strategy}` {listed(times)}" for strategy, times in others.items())
    note = wrapped(
        f"Times are of `make evidence`, ratios of `make bench` ([bench.md](bench.md#figures)). Our times there: "
        f"{times_there}. {spread(pairs)}"
    )
    return f"{table(head, lines, 'r' * len(head))}\n\n{note}\n\n" + source(
        evidence, bench, path=evidence["results"]["isa"]
    )


@block("hmvp-cases")
def hmvp_cases() -> str:
    record = load("evidence/hmvp.json")

    def median(case: str, **params: object) -> Record:
        return one(runs(record, f"hmvp/row-packed/{case}", **params), f"row-packed {case}, {params}")

    large = median("8192x8192", threads=2)
    memory = f"{large['peak_rss_bytes'] / 1e9:.2f} GB of memory at most"
    lines = [
        ["1024 × 256, matrix fresh", ours(median("1024x256/fresh", threads=1))],
        ["1024 × 256, 16-bit entries on both sides", ours(median("1024x256", threads=1, matrix_bits=16))],
        ["1024 × 256, each of 8 vectors in one pass", ours(median("1024x256", threads=1, vectors=8))],
        ["2048 × 4096", ours(median("2048x4096", threads=1))],
        ["8192 × 8192", ours(median("8192x8192", threads=1))],
        [f"8192 × 8192, two threads; {memory}", ours(large)],
    ]
    return table(["case, `row-packed`", "time"], lines) + "\n\n" + source(record, path=record["results"]["isa"])


@block("arch-speed")
def arch_speed() -> str:
    record = load("evidence/arch.json")
    lines, slow = [], []
    for found in record["results"]["simulation_speed_million_cycles_per_second"]:
        size = f"2^{found['polynomial_size'].bit_length() - 1}"
        flight = "one transform after the other" if found["in_flight"] == 1 else f"{found['in_flight']} in flight"
        lines.append([f"{size}, {flight}", digits(found["median"]), digits(1000 / found["median"] / 16)])
        if found["median"] < 1:
            slow.append(f"{size}, {flight}")
    if len(slow) == len(lines):
        missed = "No workload reaches the aim of one million cycles per second."
    else:
        missed = wrapped(f"Below the aim of one million cycles per second: {'; '.join(slow) or 'none'}.")
    head = ["workload", "million cycles of the 16 cores per second", "ns per cycle of a core"]
    return f"{table(head, lines)}\n\n{missed}\n\n{source(record)}"


@block("cli-bench")
def cli_bench() -> str:
    device = load("evidence/tfhe-device.json")
    case = "pbs/MESSAGE_4_2M64/big/fft"
    run = next(r for r in device["results"]["runs"] if r["result"].get("case") == case)
    found = run["result"]
    cells = {
        "case": found["case"],
        "isa": found["isa"],
        "threads": str(found["threads"]),
        "samples": str(found["samples"]),
        "min": f"{found['min_ns'] / 1e6:.3f} ms",
        "median": f"{found['median_ns'] / 1e6:.3f} ms",
        "peak memory": f"{found['peak_rss_bytes'] / 1e9:.2f} GB",
        "correct": "yes",
    }
    widths = [max(len(head), len(cell)) for head, cell in cells.items()]

    def line(texts: list[str]) -> str:
        return "│ " + " ┆ ".join(text.ljust(width) for text, width in zip(texts, widths, strict=True)) + " │"

    def rule(left: str, fill: str, cross: str, right: str) -> str:
        return left + cross.join(fill * (width + 2) for width in widths) + right

    lines = [
        f"$ {run['command'].removesuffix(' --json')}",
        rule("┌", "─", "┬", "┐"),
        line(list(cells)),
        rule("╞", "═", "╪", "╡"),
        line(list(cells.values())),
        rule("└", "─", "┴", "┘"),
        f"measured on {found['machine']['cpu']}",
    ]
    return "```\n" + "\n".join(lines) + "\n```"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def faults_of_records() -> list[str]:
    """What a committed record lacks: a clean commit, or the family, model and stepping of its machine."""
    faults = []
    for path in sorted([*ROOT.glob("evidence/**/*.json"), *ROOT.glob("bench/*.json")]):
        name, record = str(path.relative_to(ROOT)), json.loads(path.read_text())
        if not re.fullmatch(r"[0-9a-f]{40}", record["commit"]):
            faults.append(f"{name}: recorded at `{record['commit']}`; record it again at a clean commit")
        if not all(isinstance(record["machine"].get(f"cpu_{f}"), int) for f in ("family", "model", "stepping")):
            faults.append(f"{name}: names no CPU model")
    return faults


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    faults = faults_of_records()
    stale, used = [], set()
    for page in pages():
        text = page.read_text()
        made = text
        PAGE.machine = ""
        for name in re.findall(r"<!-- figures: ([\w-]+) -->", text):
            if name not in BLOCKS:
                sys.exit(f"figures: {page.relative_to(ROOT)} has a block {name} that nothing makes")
            used.add(name)
            begin, end = BEGIN.format(name), END.format(name)
            if end not in made:
                sys.exit(f"figures: {page.relative_to(ROOT)} lacks {end}")
            before, rest = made.split(begin, 1)
            made = f"{before}{begin}\n\n{BLOCKS[name]()}\n\n{end}{rest.split(end, 1)[1]}"
        if made != text:
            stale.append(page)
            if not check:
                page.write_text(made)
    if unused := BLOCKS.keys() - used:
        sys.exit(f"figures: no page has the block {', '.join(sorted(unused))}")
    for page in stale:
        print(f"{page.relative_to(ROOT)}: {'stale; run python scripts/figures.py' if check else 'rewritten'}")
    for fault in faults:
        print(fault)
    return 1 if faults or (check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())
