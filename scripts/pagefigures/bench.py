"""Figures of `docs/bench.md` and of `docs/cli.md`: ours beside peers, and the command `bench`."""

import statistics
from collections.abc import Callable

from .papers import CHAM_TABLE_3
from .records import Record, load, one, ratio, row, rows_of, runs
from .text import block, digits, duration, gain, listed, ours, source, spread, table, wrapped


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


@block("bench-table")
def bench_table() -> str:
    bench = load("bench/table.json")
    rows, path = rows_of(bench, "table")
    lines = []
    for found in rows:
        if found["peer"] == "tfhe":
            beside = row(rows, found["case"], "concrete", found["threads"])
            cells = [ours(found), gain(found), gain(beside) if beside else ""]
            lines.append([f"`{found['case']}`", str(found["threads"]), *cells])
    key = rows[0]["params"]
    note = wrapped(
        f"The server key of `{key['set']}` has {key['key_stored_bytes'] / 1e6:.1f} MB as sent and "
        f"{key['key_loaded_bytes'] / 1e6:.0f} MB when loaded, which takes {duration(key['key_load_s'] * 1e9)}."
    )
    head = ["case", "threads", "ours", "tfhe-rs ÷ ours", "Concrete ÷ ours"]
    return f"{table(head, lines)}\n\n{note}\n\n{source(bench, path=path)}"


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
