"""Draws the picture of docs/federated.md from bench/federated.json: federated_plots.py [RECORD [FOLDER]]."""

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
BLUE, ORANGE, LIGHT, GREY = "#1f5c99", "#d9822b", "#efc79b", "#7a7a7a"
COMPUTED = "computed from measured operations"
STEPS = ("encrypt", "add", "multiply", "mask", "decrypt")
WHOLE = "whole"
# The ends of the cases of peers, with the words and the colour of each.
PEERS = {
    "phe-2048": ("phe, 2048 bits", GREY),
    "paillier-3072": ("our Paillier, 3072 bits", LIGHT),
    "paillier-2048": ("our Paillier, 2048 bits", ORANGE),
}
FLOOR = "numpy-float64"
WIDTH = 0.2


def bars(axes: Any, place: int, times: dict[str, float], colour: str, label: str, computed: bool) -> None:
    """The bars of one scheme, in milliseconds; hatched if they are computed."""
    at = [x + (place - len(PEERS) / 2) * WIDTH for x in range(len(times))]
    heights = [ns / 1e6 for ns in times.values()]
    name = f"{label}, computed" if computed else label
    axes.bar(at, heights, width=WIDTH, color=colour, label=name, hatch="///" if computed else None, edgecolor="white")


def panel(axes: Any, rows: dict[str, Any], name: str) -> None:
    """One size: the steps, and the whole iteration."""
    floor = rows[FLOOR]

    def shown(steps: dict[str, float], total: float) -> dict[str, float]:
        return {step: steps[step] for step in STEPS} | {WHOLE: total}

    for place, (peer, (label, colour)) in enumerate(PEERS.items()):
        row = rows[peer]
        times = shown(row["figures"]["peer_steps_ns"], row["peer_median_ns"])
        bars(axes, place, times, colour, label, row["peer_kind"] == COMPUTED)
    steps = floor["figures"]["steps_ns"]
    ours = shown(steps, floor["median_ns"])
    bars(axes, len(PEERS), ours, BLUE, "our BFV", False)
    model = floor["figures"]["accelerator"]["cham-paper"]["multiply_ns"]
    accelerated = {"multiply": model, WHOLE: floor["median_ns"] - steps["multiply"] + model}
    places = [list(ours).index(step) + (len(PEERS) / 2) * WIDTH for step in accelerated]
    label = "our BFV, product on cham-paper (simulated)"
    heights = [ns / 1e6 for ns in accelerated.values()]
    axes.plot(places, heights, "D", color="black", markerfacecolor="white", markersize=5, label=label, linestyle="")
    axes.axhline(
        floor["peer_median_ns"] / 1e6, color="black", linestyle=":", linewidth=1, label="NumPy, products alone"
    )
    samples, columns = name.split("x")
    axes.set(yscale="log", title=f"{int(samples):,} samples × {int(columns):,} columns", ylabel="ms")
    axes.set_xticks(range(len(ours)), list(ours), fontsize=8)
    axes.grid(alpha=0.3, axis="y")


def main() -> None:
    record = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "bench/federated.json")
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "docs/federated")
    by_size: dict[str, dict[str, Any]] = {}
    for row in json.loads(record.read_text())["rows"]:
        family, name, *peer = row["case"].split("/")
        if family == "iteration":
            by_size.setdefault(name, {})[peer[0]] = row
    count = -(-len(by_size) // 2)
    figure, panels = plt.subplots(count, 2, figsize=(12, 4 * count), sharey=True, squeeze=False)
    for axes in panels.flat[len(by_size) :]:
        axes.set_visible(False)
    for axes, (name, rows) in zip(panels.flat, by_size.items(), strict=False):
        panel(axes, rows, name)
    # Of each label once: some times are measured in one size and computed in another.
    labels: dict[str, Any] = {}
    for axes in panels.flat[: len(by_size)]:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    figure.suptitle("CHAM Fig. 7, by our measurements: an iteration of logistic regression, both directions, one core")
    figure.legend(labels.values(), labels.keys(), loc="lower center", ncols=3, fontsize=8)
    # Room for the legend, in a share of the height.
    figure.tight_layout(rect=(0, 0.6 / (4 * count), 1, 1))
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / "iteration.png", dpi=110, metadata=META)


if __name__ == "__main__":
    main()
