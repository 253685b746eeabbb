"""Draws the pictures of docs/arch.md from the data in docs/arch: plots.py [FOLDER]."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# Pictures of the same data are the same files.
META = {"Software": None}
BLUE, ORANGE, GREY = "#1f5c99", "#d9822b", "#7a7a7a"


def load(folder: Path, name: str) -> Any:
    return json.loads((folder / f"{name}.json").read_text())


def save(folder: Path, name: str, figure: Any) -> None:
    figure.tight_layout()
    figure.savefig(folder / f"{name}.png", dpi=110, metadata=META)
    plt.close(figure)


def runs(folder: Path) -> None:
    """Cycles of transforms by size: one alone, steady state, bound."""
    figure, axes = plt.subplots(figsize=(7, 4))
    records = [r for r in load(folder, "run") if r["case"].startswith("arch-ntt/")]
    for machine, colour in (("ciphermill", BLUE), ("paper", ORANGE)):
        mine = [r for r in records if r["machine"] == machine]
        alone = {r["params"]["n"]: r["cycles"] for r in mine if r["cycles_steady"] is None}
        steady = {r["params"]["n"]: r["cycles_steady"] for r in mine if r["cycles_steady"] is not None}
        bound = {r["params"]["n"]: r["params"]["bound_cycles"] for r in mine}
        axes.plot(list(alone), list(alone.values()), "--o", color=colour, label=f"{machine}, one alone", markersize=4)
        axes.plot(list(steady), list(steady.values()), "-o", color=colour, label=f"{machine}, steady", markersize=4)
        axes.plot(list(bound), list(bound.values()), ":", color=colour, label=f"{machine}, bound (analytic)")
    axes.set(xscale="log", yscale="log", xlabel="N", ylabel="cycles (simulated)", title="NTT, scratchpad to scratchpad")
    axes.set_xscale("log", base=2)
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    save(folder, "runs", figure)


def ablation(folder: Path) -> None:
    """Cycles of a butterfly and lane, stage by stage."""
    figure, axes = plt.subplots(figsize=(7, 4))
    data = load(folder, "ablation")
    sizes = [size for size in data["sizes"] if size["stages"]]
    for at, size in enumerate(sizes):
        heights = [stage["cycles_per_butterfly"] for stage in size["stages"]]
        places = [x + 0.15 * (at - len(sizes) / 2) for x in range(len(heights))]
        shade = 0.3 + 0.7 * at / max(1, len(sizes) - 1)
        label = f"2^{int(math.log2(size['polynomial_size']))}"
        axes.bar(places, heights, width=0.14, color=BLUE, alpha=shade, label=label)
    paper = [290, 9.85, 7.58, 2.25]
    axes.plot(range(4), paper, "_", color=ORANGE, markersize=40, markeredgewidth=2, label="the paper's, per lane")
    axes.set(yscale="log", ylabel="cycles per butterfly and lane (simulated)", title="Ablation on paper.toml")
    axes.set_xticks(range(4), ["base", "+ISA", "+reshuffle", "+dataflow"])
    axes.legend(fontsize=8)
    save(folder, "ablation", figure)


def sweep(folder: Path) -> None:
    """One number of the machine at a time."""
    points = load(folder, "sweep")
    names = list(dict.fromkeys(point["changed"][0][0] for point in points if point["changed"]))
    columns = 5
    rows = math.ceil(len(names) / columns)
    figure, grid = plt.subplots(rows, columns, figsize=(13, 2.7 * rows), squeeze=False)
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    for axes, name in zip(grid.flat, names, strict=False):
        mine = [p for p in points if p["changed"] and p["changed"][0][0] == name and p["record"]]
        labels = [p["changed"][0][1] for p in mine]
        axes.plot(range(len(mine)), [p["record"]["cycles_steady"] for p in mine], "-o", color=BLUE, markersize=4)
        axes.set_xticks(range(len(mine)), labels, fontsize=7)
        axes.set_ylim(bottom=0)
        axes.set_title(name, fontsize=9)
        axes.grid(alpha=0.3)
    figure.suptitle("NTT of 2^13 on ciphermill.toml: cycles in steady state (simulated), one number changed at a time")
    save(folder, "sweep", figure)


def roofline(folder: Path) -> None:
    """Ceilings, and what runs reach."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
    for axes, machine in zip(panels, ("ciphermill", "paper"), strict=True):
        data = load(folder, f"roofline-{machine}")
        flat = min(c["butterflies_per_cycle"] for c in data["ceilings"] if c["butterflies_per_cycle"])
        span = [0.05, 8.0]
        axes.axhline(flat, color=GREY)
        for ceiling in data["ceilings"]:
            rate = ceiling["bytes_per_cycle"]
            if rate:
                axes.plot(span, [min(flat, x * rate) for x in span], color=GREY, linewidth=0)
                xs = [span[0], min(span[1], flat / rate)]
                if xs[1] > xs[0]:
                    axes.plot(xs, [x * rate for x in xs], color=GREY)
                    axes.annotate(f"{ceiling['name']}, {rate:g} B/cycle", (xs[0], xs[0] * rate), fontsize=7)
        for level, colour in (("scratchpad", BLUE), ("dram", ORANGE)):
            mine = [p for p in data["points"] if p["level"] == level]
            xs, ys = [p["intensity"] for p in mine], [p["reached"] for p in mine]
            axes.plot(xs, ys, "o", color=colour, label=f"from and to {level}", markersize=4)
        axes.set(xscale="log", yscale="log", xlabel="butterflies per byte", title=machine)
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("butterflies per cycle (points simulated)")
    save(folder, "roofline", figure)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "docs/arch")
    for draw in (runs, ablation, sweep, roofline):
        draw(folder)


if __name__ == "__main__":
    main()
