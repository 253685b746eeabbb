"""Figures of the README."""

from .records import load, one, row, rows_of, runs
from .text import block, duration, gain, items, of, ours, source, spanned, spread, table


@block("readme-demo")
def readme_demo() -> str:
    device = load("evidence/tfhe-device.json")
    demos = [r["result"] for r in device["results"]["runs"] if r["command"].startswith("ciphermill demo")]
    demo = one(demos, "the demo")
    seconds, paper, sizes = demo["seconds"], demo["paper"], demo["sizes"]
    keygen = [r["seconds"]["keygen"] * 1e9 for r in demos if r["params"] == demo["params"]]
    lines = [
        ["keys generated", duration(keygen[0]), "", f"the first of {len(keygen)} runs: {spanned(keygen)}"],
        ["both keys loaded", duration(seconds["load"] * 1e9), "", "one run"],
        [
            "program x·y, two bootstraps",
            duration(seconds["compute"] / demo["programs"] * 1e9),
            duration(paper["program_fpga_s"] * 1e9),
            f"mean of {demo['programs']} programs",
        ],
        [
            "one bootstrap, two threads",
            duration(seconds["bootstrap"] * 1e9),
            duration(paper["bootstrap_fpga_s"] * 1e9),
            f"median of {demo['bootstraps']} bootstraps",
        ],
        [
            "bootstrapping key, stored",
            f"{sizes['bootstrapping_key'] / 1e9:.2f} GB",
            f"{paper['bootstrapping_key_bytes'] / 1e9:.2f} GB",
            "size",
        ],
    ]
    head = ["step", "here", "paper: FPGA", "statistic"]
    return table(head, lines, "lrrl") + "\n\n" + source(device, average="", path=demo["isa"])


@block("readme-products")
def readme_products() -> str:
    evidence, bench = load("evidence/hmvp.json"), load("bench/hmvp.json")
    compared, path = rows_of(bench, "hmvp")
    lines, pairs = [], []
    for strategy, fresh, text in (
        (
            "algorithm1",
            False,
            "algorithm 1 at moduli reconstructed from the paper; rows are transformed during the product",
        ),
        ("row-packed", False, "row-packed, our strategy; the matrix is prepared beforehand"),
        ("row-packed", True, "row-packed with the preparation of the matrix"),
    ):
        case = f"hmvp/{strategy}/1024x256" + ("/fresh" if fresh else "")
        found = one(runs(evidence, case, threads=1, matrix_bits=8, vectors=1), case)
        beside = row(compared, f"hmvp-fresh/{strategy}/1024x256" if fresh else case, "lattigo")
        lines.append([text, duration(found["median_ns"]), of(beside, ours), of(beside, gain), "21.9 ms", "352 ms"])
        if beside:
            pairs.append((found, beside))
    head = ["1024 × 256 matrix times encrypted vector", "here, alone", "here, next to Lattigo"]
    head += ["Lattigo's time ÷ ours", "paper: FPGA", "paper: CPU"]
    lattigo = (
        "Lattigo, with its diagonal method, is the fastest other CPU library in our records. It encodes its matrix beforehand, "
        "except in the last row."
    )
    notes = [
        "Our times are of one thread: *alone* by `make evidence`, *next to Lattigo* by `make bench`. " + spread(pairs),
        lattigo,
        "The paper's FPGA also transforms rows during the product. The paper does not state which steps its times include.",
    ]
    return f"{table(head, lines)}\n\n{items(notes)}\n\n{source(evidence, bench, path=path)}"
