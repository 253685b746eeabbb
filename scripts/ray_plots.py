"""Draws the picture of docs/howto/ray.md from bench/ray.json: ray_plots.py [RECORD [FOLDER]]."""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
# A picture of the same record is the same file.
META = {"Software": None}
BLUE, ORANGE, GREY = "#1f5c99", "#d9822b", "#7a7a7a"
# Contenders with their words, colours and markers.
CONTENDERS = {
    "threads-1": ("one thread", GREY, "--o"),
    "threads-2": ("two threads", "black", "--o"),
    "ray-1": ("Ray, 1 node", BLUE, "-s"),
    "ray-2": ("Ray, 2 nodes", ORANGE, "-s"),
    "ray-4": ("Ray, 4 nodes", "#7a1f5c", "-s"),
}


def panel(axes: Any, rows: list[dict[str, Any]], size: int) -> None:
    """The medians of one size by blocks."""
    for contender, (label, colour, style) in CONTENDERS.items():
        mine = sorted(
            (row["params"]["blocks"], row["median_ns"] / 1e6)
            for row in rows
            if row["params"]["size"] == size and row["case"].endswith(contender)
        )
        xs, ys = [x for x, _ in mine], [y for _, y in mine]
        axes.plot(xs, ys, style, color=colour, label=label, markersize=4)
    axes.set(yscale="log", title=f"{size:,} features × {size:,} samples", xlabel="blocks", ylabel="ms (measured)")
    axes.set_xscale("log", base=2)
    axes.grid(alpha=0.3)


def model(axes: Any, entries: list[dict[str, Any]], size: int) -> None:
    """The model of the largest size by nodes, each with its best number of blocks."""
    mine = [entry for entry in entries if entry["size"] == size]
    for bandwidth, colour in zip(sorted({e["bandwidth_bits_per_s"] for e in mine}), (GREY, BLUE, ORANGE), strict=True):
        times: dict[int, float] = {}
        for entry in mine:
            if entry["bandwidth_bits_per_s"] == bandwidth:
                nodes, time = entry["nodes"], entry["product_ns"] / 1e6
                times[nodes] = min(time, times.get(nodes, time))
        axes.plot(
            list(times), list(times.values()), "-o", color=colour, label=f"{bandwidth / 1e9:g} Gbit/s", markersize=4
        )
    thread = min(entry["one_thread_ns"] for entry in mine) / 1e6
    axes.axhline(thread, color="black", linestyle=":", linewidth=1, label="one thread, without Ray")
    axes.set(yscale="log", title=f"model of {size:,} × {size:,}, best blocks", xlabel="nodes", ylabel="ms (analytic)")
    axes.set_xscale("log", base=2)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)


def main() -> None:
    record = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "bench/ray.json")
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "docs/howto/ray")
    data = json.loads(record.read_text())
    sizes = sorted({row["params"]["size"] for row in data["rows"]})
    rows = -(-(len(sizes) + 1) // 3)
    figure, panels = plt.subplots(rows, 3, figsize=(14, 4 * rows), squeeze=False)
    for axes, size in zip(panels.flat, sizes, strict=False):
        panel(axes, data["rows"], size)
    model(panels.flat[len(sizes)], data["model"], max(entry["size"] for entry in data["model"]))
    for axes in panels.flat[len(sizes) + 1 :]:
        axes.set_visible(False)
    panels.flat[0].legend(fontsize=7)
    figure.suptitle("A masked product at the owner of the matrix, by blocks of features")
    figure.tight_layout()
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / "curve.png", dpi=110, metadata=META)


if __name__ == "__main__":
    main()
