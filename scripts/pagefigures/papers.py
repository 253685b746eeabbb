"""Figures of `docs/papers.md`: the papers beside ours."""

import json

from .records import ROOT, SINGLE_PATHS, Record, load, one, row, rows_of, runs
from .text import block, digits, duration, gain, listed, of, ours, source, spread, table, theirs, wrapped


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
