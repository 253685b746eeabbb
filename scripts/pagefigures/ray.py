"""Figures of the workers of Ray, in `docs/howto/ray.md`."""

import sys

from .records import Record, load, one
from .text import block, digits, duration, items, listed, source, spanned, table

RECORD = "bench/ray.json"
CONTENDERS = {
    "threads-1": "one thread",
    "threads-2": "two threads",
    "ray-1": "Ray, 1 node",
    "ray-2": "2 nodes",
    "ray-4": "4 nodes",
}
# The network of the table, in bits per second.
BANDWIDTH = 10e9


def best(bench: Record, size: int, contender: str) -> Record | None:
    """The measured case of a contender with its best number of blocks."""
    found = [r for r in bench["rows"] if r["params"]["size"] == size and r["case"].endswith(f"/{contender}")]
    return min(found, key=lambda row: row["median_ns"], default=None)


def measured(found: Record | None) -> str:
    if found is None:
        return "not run"
    blocks = found["params"]["blocks"]
    return f"{duration(found['median_ns'])} ({blocks})"


def modelled(bench: Record, size: int, nodes: int) -> Record:
    """The model with the best number of blocks."""
    found = [
        entry
        for entry in bench["model"]
        if (entry["size"], entry["nodes"], entry["bandwidth_bits_per_s"]) == (size, nodes, BANDWIDTH)
    ]
    return (
        min(found, key=lambda entry: entry["product_ns"])
        if found
        else one(found, f"a model of {size} on {nodes} nodes")
    )


def deviations(bench: Record) -> list[float]:
    """Measured over modelled products on one node, on the fastest network, for all sizes and blocks."""
    fastest = max(entry["bandwidth_bits_per_s"] for entry in bench["model"])
    model = {
        (entry["size"], entry["blocks"]): entry["product_ns"]
        for entry in bench["model"]
        if entry["nodes"] == 1 and entry["bandwidth_bits_per_s"] == fastest
    }
    return [
        row["median_ns"] / model[row["params"]["size"], row["params"]["blocks"]]
        for row in bench["rows"]
        if row["case"].endswith("/ray-1")
    ]


@block("ray-curve")
def ray_curve() -> str:
    bench = load(RECORD)
    if "--quick" in bench["command"] or "--only" in bench["command"]:
        sys.exit(f"figures: {RECORD} is of a part of the cases; run make bench CASES=ray")
    sizes = sorted({row["params"]["size"] for row in bench["rows"]})
    first = table(
        ["features × samples", *CONTENDERS.values()],
        [
            [f"{size:,} × {size:,}", *[measured(best(bench, size, contender)) for contender in CONTENDERS]]
            for size in sizes
        ],
    )
    modelled_sizes = sorted({entry["size"] for entry in bench["model"]})
    nodes = sorted({entry["nodes"] for entry in bench["model"]})
    lines = []
    for size in modelled_sizes:
        thread = min(entry["one_thread_ns"] for entry in bench["model"] if entry["size"] == size)
        found = [modelled(bench, size, count) for count in nodes]
        cells = [f"{duration(entry['product_ns'])} ({digits(thread / entry['product_ns'])})" for entry in found]
        lines.append([f"{size:,} × {size:,}", *cells])
    second = table(["analytic", *[f"{count} nodes" if count > 1 else "1 node" for count in nodes]], lines)
    calls = [row["figures"][name] for row in bench["rows"] for name in ("call_ns",) if row["figures"][name]]
    ratios = deviations(bench)
    left_out = [f"`{entry['case']}`" for entry in bench["not_run"]]
    sentences = [
        f"A call of a worker without a product takes {spanned(calls)}.",
        f"On one node, measured products take {digits(min(ratios))} to {digits(max(ratios))} times as long as the model says.",
        f"Cases not run, with the reasons in the record: {listed(left_out) if left_out else 'none'}.",
    ]
    parts = [
        first,
        second,
        "![Times by blocks, and the model by nodes](ray/curve.png)",
        items(sentences),
        "The model assumes:",
        items(bench["assumptions"]),
        source(bench, path=str(bench["rows"][0]["isa"])),
    ]
    return "\n\n".join(parts)
