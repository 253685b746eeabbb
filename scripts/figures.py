"""Writes the figures of pages from the committed records.

    python scripts/figures.py            # rewrites every block
    python scripts/figures.py --check    # exit status 1 if a block is not that of the records

A block stands between `<!-- figures: NAME -->` and `<!-- end of figures: NAME -->`. The function of that name below makes
its text from `evidence/*.json`, `bench/*.json` and `docs/arch/*.json`. A table holds figures of one machine only: a block
that would join records of two machines is an error. Figures of the architecture models in `docs/arch*.md` and of
the hardware in `docs/hw/results.md` have generators in their crates.
"""

import json
import re
import statistics
import sys
import textwrap
from collections.abc import Callable
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


def row(record: Record, case: str, peer: str, isa: str, threads: int) -> Record:
    """The row of a comparison with a peer."""
    key = {"case": case, "peer": peer, "isa": isa, "threads": threads}
    return one([r for r in record["rows"] if all(r[k] == v for k, v in key.items())], f"{key}")


def source(*records: Record, average: str = "medians") -> str:
    """The line under a table: machine, commands and commits of its records."""
    machines = {r["machine"]["cpu"] for r in records}
    if len(machines) != 1:
        sys.exit(f"figures: one table would hold figures of {', '.join(sorted(machines))}")
    machine = records[0]["machine"]
    cpu = " ".join(machine["cpu"].replace("(R)", "").split())
    which = ", ".join(f"`{r['command']}` at {r['commit'][:9]}" for r in records)
    text = f"Machine: {cpu}, {machine['cores']} cores (virtual); {average}. Records: {which}."
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
    demo = one(
        [r["result"] for r in device["results"]["runs"] if r["command"].startswith("ciphermill demo")], "the demo"
    )
    seconds, paper, sizes = demo["seconds"], demo["paper"], demo["sizes"]
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
    return table(["step", "here", "paper: FPGA"], lines) + "\n\n" + source(device)


@block("readme-products")
def readme_products() -> str:
    record = load("evidence/hmvp.json")
    lines = []
    for strategy, text in (
        ("algorithm1", "algorithm 1, as in the paper"),
        ("row-packed", "row-packed, our strategy; the matrix is prepared beforehand"),
    ):
        found = one(runs(record, f"hmvp/{strategy}/1024x256", threads=1, matrix_bits=8, vectors=1), strategy)
        lines.append([text, duration(found["median_ns"]), "21.9 ms", "352 ms"])
    head = ["1024 × 256 matrix times encrypted vector", "here, 1 thread", "paper: FPGA", "paper: CPU"]
    return table(head, lines) + "\n\n" + source(record)


@block("papers-nvme")
def papers_nvme() -> str:
    bench, evidence = load("bench/results.json"), load("evidence/tfhe-device.json")
    case = "ks-pbs/NVME_TFHE_PAPER/fft"
    single, double = (row(bench, case, "tfhe", "avx512", threads) for threads in (1, 2))
    exact = row(bench, "pbs/NVME_TFHE_PAPER/ntt", "tfhe", "avx512", 1)
    demo = one(
        [r["result"] for r in evidence["results"]["runs"] if r["command"].startswith("ciphermill demo")], "the demo"
    )
    paper, sizes, instructions = demo["paper"], demo["sizes"], demo["instructions"]
    program = demo["seconds"]["compute"] / demo["programs"]
    head = [
        "operation or size",
        "paper: FPGA",
        "paper: T4",
        "paper: Ryzen 9 (TFHEpp)",
        "ours, 1 thread",
        "ours, 2 threads",
        "tfhe-rs, same run",
    ]
    gpu, cpu, fpga = (paper[f"bootstrap_{key}_s"] * 1e9 for key in ("tesla_t4", "ryzen_5950x", "fpga"))
    lines = [
        [
            "bootstrap with key switch",
            duration(fpga),
            duration(gpu),
            duration(cpu),
            duration(single["median_ns"]),
            duration(double["median_ns"]),
            duration(single["peer_median_ns"]),
        ],
        [
            "bootstrap by exact NTT, no key switch",
            "",
            "",
            "",
            duration(exact["median_ns"]),
            "",
            duration(exact["peer_median_ns"]),
        ],
        [
            "HomAdd",
            duration(paper["homadd_fpga_s"] * 1e9),
            "",
            "",
            duration(instructions["homadd"]["mean_seconds"] * 1e9),
            "",
            "",
        ],
        ["program x·y", duration(paper["program_fpga_s"] * 1e9), "", "", "", duration(program * 1e9), ""],
        ["bootstrapping key, stored", "2.10 GB", "", "", f"{sizes['bootstrapping_key'] / 1e9:.2f} GB seeded", "", ""],
        ["key-switching key, stored", "367 MB", "", "", f"{sizes['keyswitching_key'] / 1e3:.0f} kB seeded", "", ""],
    ]
    return table(head, lines) + "\n\n" + source(bench, evidence, average="medians; of HomAdd and the program, means")


@block("papers-cham")
def papers_cham() -> str:
    evidence, bench = load("evidence/hmvp.json"), load("bench/hmvp.json")
    paper = {
        64: (45.57, 13.25, 2.28),
        256: (100.45, 25.95, 6.17),
        1024: (352.06, 92.79, 21.88),
        2048: (639.78, 182.59, 42.86),
    }
    lines = []
    for rows, times in paper.items():
        ours = one(runs(evidence, f"hmvp/algorithm1/{rows}x256", threads=1), f"algorithm 1 of {rows} rows")
        packed = row(bench, f"hmvp/row-packed/{rows}x256", "lattigo", "avx512", 1)
        lines.append(
            [str(rows)]
            + [f"{time:.2f}" for time in times]
            + [
                digits(ours["median_ns"] / 1e6),
                digits(packed["median_ns"] / 1e6),
                digits(packed["peer_median_ns"] / 1e6),
            ]
        )
    head = [
        "rows × 256, ms",
        "paper: CPU",
        "paper: GPU",
        "paper: FPGA",
        "algorithm 1",
        "row-packed",
        "Lattigo, same run",
    ]
    return table(head, lines, "rrrrrrr") + "\n\n" + source(evidence, bench)


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
    eight = row(bench, "modexp/1024", "mpz_powm", "ifma", 1)
    alone = row(bench, "modexp-single/1024", "mpz_powm", "ifma-single", 1)
    product = row(bench, "modmul/1024", "mpz_mul, mpz_mod", "ifma", 1)
    strict = row(bench, "paillier/512/encrypt_strict", "GMP", "ifma", 1)
    djn = row(bench, "paillier/512/encrypt", "GMP", "ifma", 1)

    def rate(ns: float) -> str:
        return f"{1e9 / ns:,.0f}/s"

    head = ["512-bit n, modulus of 1024 bits", "paper: FPGA", "paper: CPU", "ours, 1 thread", "GMP, same run"]
    lines = [
        [
            "exponentiations, exponent of 1024 bits, eight at a time",
            "1,498/s",
            "858/s",
            rate(eight["median_ns"]),
            rate(eight["peer_median_ns"]),
        ],
        [
            "latency of one exponentiation",
            "667 µs",
            "1,166 µs",
            duration(alone["median_ns"]),
            duration(alone["peer_median_ns"]),
        ],
        ["encryptions with r^n", "3,649/s", "", rate(strict["median_ns"]), rate(strict["peer_median_ns"])],
        ["encryptions, DJN", "", "", rate(djn["median_ns"]), rate(djn["peer_median_ns"])],
        ["modular products", "1,875,800/s", "597,700/s", rate(product["median_ns"]), rate(product["peer_median_ns"])],
    ]
    return table(head, lines) + "\n\n" + source(bench)


def ratio(found: Record) -> float:
    """The peer's median over ours."""
    value: float = found["peer_median_ns"] / found["median_ns"]
    return value


@block("bench-kernels")
def bench_kernels() -> str:
    bench = load("bench/results.json")
    families: dict[tuple[str, str], list[float]] = {}
    for found in bench["rows"]:
        family = found["case"].split("/")[0]
        if (
            family in ("ntt-fwd", "ntt-inv", "fft-fwd", "fft-inv")
            and found["isa"] == "avx512"
            and found["threads"] == 1
        ):
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
    return table(head, lines, "llrrrr") + "\n\n" + source(bench)


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
                    duration(found["median_ns"]),
                    duration(found["peer_median_ns"]),
                    digits(ratio(found)),
                ]
            )
    return table(["case", "path", "threads", "ours", "tfhe-rs", "ratio"], lines, "llrrrr") + "\n\n" + source(bench)


@block("bench-hmvp")
def bench_hmvp() -> str:
    bench = load("bench/hmvp.json")
    lines = [
        [f"`{found['case']}`", duration(found["median_ns"]), duration(found["peer_median_ns"]), digits(ratio(found))]
        for found in bench["rows"]
    ]
    return table(["case", "ours", "Lattigo", "ratio"], lines) + "\n\n" + source(bench)


@block("bench-integers")
def bench_integers() -> str:
    bench = load("bench/paillier.json")
    wanted = ("modexp/2048", "modmul/2048", "paillier/2048/")
    lines = [
        [
            f"`{found['case']}`",
            found["peer"],
            duration(found["median_ns"]),
            duration(found["peer_median_ns"]),
            digits(ratio(found)),
        ]
        for found in bench["rows"]
        if found["isa"] == "ifma" and found["case"].startswith(wanted) and found["peer"] != "ours term by term"
    ]
    return table(["case, path `ifma`", "peer", "ours", "peer's time", "ratio"], lines, "llrrr") + "\n\n" + source(bench)


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
    sentence = "\n".join(textwrap.wrap(f"Aims missed in this run: {short}.", 100, break_on_hyphens=False))
    head = ["load", "`free`", "`awake`", "`one-core`"]
    return table(head, lines) + f"\n\n{sentence}\n\n" + source(evidence)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    stale, used = [], set()
    for page in pages():
        text = page.read_text()
        made = text
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
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
