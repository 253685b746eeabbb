"""Figures of the README."""

from .records import load, one, row, rows_of, runs
from .text import block, duration, gain, listed, of, ours, source, spread, table, wrapped


@block("readme-demo")
def readme_demo() -> str:
    device = load("evidence/tfhe-device.json")
    demos = [r["result"] for r in device["results"]["runs"] if r["command"].startswith("ciphermill demo")]
    demo = one(demos, "the demo")
    seconds, paper, sizes = demo["seconds"], demo["paper"], demo["sizes"]
    again = [duration(r["seconds"]["keygen"] * 1e9) for r in demos[1:] if r["params"] == demo["params"]]
    average = (
        f"key times are of one run (in the record's other runs, generation takes {listed(again)}), the program's is a mean "
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
        "which steps its times include. The best public CPU figure that the records have is that of Lattigo, by its diagonal "
        "method, which encodes its matrix beforehand, except in the last line. The ratios are "
        f"of `make bench`, in which our times were {listed([ours(beside) for _, beside in pairs])}; the times above are of "
        f"`make evidence`. {spread(pairs)}"
    )
    return f"{table(head, lines)}\n\n{note}\n\n{source(evidence, bench, path=path)}"
