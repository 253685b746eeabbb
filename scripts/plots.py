"""Draws the pictures of docs/arch.md and docs/arch-pipeline.md from the data in docs/arch: plots.py [FOLDER]."""

import json
import math
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# Pictures of the same data are the same files.
META = {"Software": None}
MACHINES = Path(__file__).parent.parent / "crates/arch/machines"
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


def beside(axes: Any, names: list[str], printed: list[float | None], ours: list[float | None]) -> None:
    """Pairs of bars, the paper's and ours, with their values; a name for each pair."""
    if not len(names) == len(printed) == len(ours):
        raise ValueError(f"{len(names)} names for {len(printed)} printed figures and {len(ours)} of ours: {names}")
    for values, shift, colour, label in ((printed, -0.2, ORANGE, "paper"), (ours, 0.2, BLUE, "ours")):
        mine = [(x + shift, y) for x, y in enumerate(values) if y is not None]
        bars = axes.bar([x for x, _ in mine], [y for _, y in mine], width=0.38, color=colour, label=label)
        axes.bar_label(bars, fmt="{:.2f}", fontsize=6)
    axes.set_xticks(range(len(names)), names, fontsize=8)
    axes.margins(y=0.12)
    axes.legend(fontsize=8)


def of_paper(folder: Path, *words: str) -> list[dict[str, Any]]:
    """The rows of paper.json whose place and text contain all words."""
    rows = load(folder, "paper")
    return [row for row in rows if all(word in f"{row['place']}: {row['what']}" for word in words)]


def figure_3(folder: Path) -> None:
    """The base core's time."""
    figure, axes = plt.subplots(figsize=(6, 3.6))
    rows = of_paper(folder, "Fig. 3")
    names = [row["what"].split(" of ")[1].split(" in ")[0] for row in rows]
    beside(axes, names, [row["paper"] for row in rows], [row["ours"] for row in rows])
    axes.set(ylabel="share of time, %", title="RVFHE Fig. 3: the base core's time (ours: simulated)")
    save(folder, "fig3", figure)


def gain_name(row: dict[str, Any]) -> str:
    """What a gain is of, in lines that fit below a bar."""
    kind, _, what = row["what"].partition("gain of ")
    head, _, where = what.replace(" at ", ", ").partition(", ")
    return textwrap.fill(f"{kind}{head}", 14) + (f",\n{textwrap.fill(where, 14)}" if where else "")


def figure_9(folder: Path) -> None:
    """Cycles of a butterfly and lane, stage by stage, and gains."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4))
    data = load(folder, "ablation")
    sizes = [size for size in data["sizes"] if size["stages"]]
    for at, size in enumerate(sizes):
        heights = [stage["cycles_per_butterfly"] for stage in size["stages"]]
        places = [x + 0.15 * (at - len(sizes) / 2) for x in range(len(heights))]
        shade = 0.3 + 0.7 * at / max(1, len(sizes) - 1)
        label = f"2^{int(math.log2(size['polynomial_size']))}"
        left.bar(places, heights, width=0.14, color=BLUE, alpha=shade, label=label)
    left.plot(range(4), [290, 9.85, 7.58, 2.25], "_", color=ORANGE, markersize=40, markeredgewidth=2)
    left.plot([], [], color=ORANGE, label="the paper's")
    left.set(yscale="log", ylabel="cycles per butterfly and lane (simulated)", title="RVFHE Fig. 9 on paper.toml")
    left.set_xticks(range(4), ["base", "+ISA", "+reshuffle", "+dataflow"])
    left.legend(fontsize=8)
    rows = [row for row in of_paper(folder, "Fig. 9") if "scalar core" not in row["what"]]
    beside(right, [gain_name(row) for row in rows], [row["paper"] for row in rows], [row["ours"] for row in rows])
    right.set(yscale="log", ylabel="gain, per lane", title="gains, averages but for the one at 2^14 (ours: simulated)")
    save(folder, "fig9", figure)


def dram_cycles(record: dict[str, Any]) -> float:
    """Cycles of an input from DRAM to DRAM; the name of the parameter ends with what kind of figure it is."""
    (cycles,) = (value for name, value in record["params"].items() if name.startswith("dram_steady"))
    return cycles


def figure_10(folder: Path) -> None:
    """Times of transforms: the paper's array, two in flight; ours, as many as serve best; and what 8.96 times makes of an A100."""
    figure, axes = plt.subplots(figsize=(8.5, 5))
    labels = {}
    for place, colour in (("scratchpad to scratchpad", BLUE), ("DRAM to DRAM", ORANGE)):
        rows = of_paper(folder, "Fig. 10", "time of a transform of 2^", place)
        logs = [int(row["what"].split("2^")[1].split(",")[0]) for row in rows]
        labels[place] = rows[0]["label"]
        label = f"paper.toml, {place}, two in flight ({labels[place]})"
        # Larger than ours, which stand in the same place where memory is what holds both.
        axes.plot(logs, [row["ours"] for row in rows], "-o", color=colour, label=label, markersize=8, fillstyle="none")
    machine = tomllib.loads((MACHINES / "ciphermill.toml").read_text())
    steady = {
        r["params"]["n"]: r
        for r in load(folder, "run")
        if r["machine"] == machine["name"] and r["case"].startswith("arch-ntt/") and r["cycles_steady"] is not None
    }
    ours = [(log, steady[1 << log]) for log in range(10, 15)]
    places = (
        ("scratchpad to scratchpad", BLUE, [r["cycles_steady"] for _, r in ours]),
        ("DRAM to DRAM", ORANGE, [dram_cycles(r) for _, r in ours]),
    )
    for place, colour, cycles in places:
        axes.plot(
            [log for log, _ in ours],
            [count / machine["clock_ghz"] / 1e3 for count in cycles],
            "--s",
            color=colour,
            label=f"ciphermill.toml, {place}, best in flight ({labels[place]})",
            markersize=4,
        )
    (gain,) = of_paper(folder, "Fig. 10", "gain over an A100")
    (array,) = of_paper(folder, "Fig. 10", "2^13, scratchpad to scratchpad")
    (implied,) = of_paper(folder, "Fig. 10", "that follows")
    (least,) = of_paper(folder, "Fig. 10", "memory needs")
    for row, marker in ((implied, "x"), (least, "v")):
        label = f"{row['what'].removesuffix(', µs')} (analytic)"
        axes.plot([13], [row["ours"]], marker, color=GREY, label=label, linestyle="")
    # From the array's time to the one that the printed gain makes of the GPU's.
    arrow = {"arrowstyle": "<->", "color": GREY, "shrinkA": 4, "shrinkB": 4}
    axes.annotate("", (13, implied["ours"]), xytext=(13, array["ours"]), arrowprops=arrow)
    middle = math.sqrt(implied["ours"] * array["ours"])
    axes.text(12.95, middle, f"{gain['paper']:g} times (printed)", ha="right", va="center", fontsize=8, color=GREY)
    axes.set(
        yscale="log",
        xlabel="log2 N",
        ylabel="µs",
        title="RVFHE Fig. 10: time of a transform; the paper prints gains only",
    )
    axes.set_xticks(range(10, 15))
    # Below the axes: over them there is no place without a point.
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    axes.grid(alpha=0.3)
    save(folder, "fig10", figure)


def figure_11(folder: Path) -> None:
    """Gains of the FFT."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8))
    rows = of_paper(folder, "Fig. 11")
    beside(left, ["reshuffle", "dataflow", "both"], [row["paper"] for row in rows], [row["ours"] for row in rows])
    left.set(ylabel="average gain", title="RVFHE Fig. 11: FFT on paper.toml (ours: simulated)")
    others = load(folder, "ablation-fft-butterflies")
    names = [f"{one['interval']} / {one['latency']}" for one in others]
    right.plot(names, [one["total"] for one in others], "-o", color=BLUE, label="both", markersize=4)
    right.plot(names, [one["steps"][1] for one in others], "--o", color=BLUE, label="dataflow", markersize=4)
    right.axhline(rows[2]["paper"], color=ORANGE, label="the paper's, both")
    right.axhline(rows[1]["paper"], color=ORANGE, linestyle="--", label="the paper's, dataflow")
    right.set(
        xlabel="interval / latency of a complex butterfly, cycles", title="with other complex butterflies (simulated)"
    )
    right.set_ylim(bottom=0)
    right.legend(fontsize=8)
    save(folder, "fig11", figure)


def figure_12(folder: Path) -> None:
    """Performance per watt, and what it says of the GPU."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8))
    (implied,) = of_paper(folder, "Fig. 12", "power of the A100 that follows")
    bars = left.bar(
        ["that follows from 8.53 times\n(analytic)", "least rating of a board"],
        [implied["ours"], 250],
        color=[ORANGE, GREY],
    )
    left.bar_label(bars, fmt="{:.3g}", fontsize=8)
    left.set(yscale="log", ylabel="W", title="RVFHE Fig. 12: power of the A100")
    left.margins(y=0.2)
    ranges = [r for r in load(folder, "energy") if r["polynomial_size"] == 8192]
    for at, one in enumerate(ranges):
        low, high = (nanojoules / 1e3 for nanojoules in one["energy_nj"])
        right.plot(
            [low, high],
            [at, at],
            color=BLUE if one["table"] == "literature" else ORANGE,
            linewidth=6,
            solid_capstyle="butt",
        )
    right.set_yticks(
        range(len(ranges)), [f"{one['machine']}, {one['table']}, {one['level']}" for one in ranges], fontsize=7
    )
    right.set(
        xscale="log", xlabel="µJ a transform of 2^13 (analytic)", title="ranges by tables of components: no claim"
    )
    save(folder, "fig12", figure)


def cham_figure_2(folder: Path) -> None:
    """The roofline of encrypted products."""
    data = load(folder, "pipeline-roofline")
    platforms = data["platforms"]
    figure, axes = plt.subplots(figsize=(8, 4.4))
    for at, platform in enumerate(platforms):
        colour = plt.get_cmap("tab10")(at)
        peak, rate = platform["multiplications_per_second"], platform["bytes_per_second"]
        xs = [0.1, peak / rate, 1000]
        axes.plot(xs, [min(peak, x * rate) for x in xs], color=colour, label=platform["name"])
        mine = [p for p in data["points"] if p["platform"] == platform["name"]]
        axes.plot([p["intensity"] for p in mine], [p["attainable"] for p in mine], "o", color=colour, markersize=4)
    labels = {"ntt": "transform", "key-switch": "key switch"}
    first = [p for p in data["points"] if p["platform"] == platforms[0]["name"]]
    for point in first:
        kernel = point["kernel"]
        name = (
            labels.get(kernel) if isinstance(kernel, str) else f"{kernel['hmvp']['rows']} × {kernel['hmvp']['columns']}"
        )
        axes.annotate(
            str(name),
            (point["intensity"], point["attainable"]),
            fontsize=7,
            xytext=(2, -10),
            textcoords="offset points",
        )
    axes.set(xscale="log", yscale="log", xlabel="multiplications per byte", ylabel="multiplications per second")
    axes.set_title("CHAM Fig. 2: roofline (analytic; the paper's has no numbers)")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    save(folder, "cham-fig2", figure)


def cham_figure_3(folder: Path) -> None:
    """Designs: the scarcest resource against cycles."""
    points = load(folder, "pipeline-explore")
    figure, axes = plt.subplots(figsize=(8, 4.4))
    for wanted, colour, size, label in (
        (lambda p: not p["pareto"] and not p["printed"], GREY, 5, "designs that fit"),
        (lambda p: p["pareto"], BLUE, 22, "the front"),
        (lambda p: p["printed"], ORANGE, 40, "the paper's two best"),
    ):
        mine = [p for p in points if wanted(p)]
        axes.scatter([100 * p["share"] for p in mine], [p["cycles"] for p in mine], s=size, color=colour, label=label)
    axes.set(
        yscale="log", xlabel="share of the scarcest resource, % (analytic)", ylabel="cycles of 1024 × 256 (simulated)"
    )
    axes.set_title("CHAM Fig. 3: design space")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    save(folder, "cham-fig3", figure)


def cham_table_3(folder: Path) -> None:
    """Milliseconds by rows."""
    records = load(folder, "pipeline-table3")
    figure, axes = plt.subplots(figsize=(6.5, 4))
    for machine, colour in (("cham-paper", ORANGE), ("cham-ciphermill", BLUE)):
        mine = [r for r in records if r["machine"] == machine]
        axes.plot(
            [r["params"]["rows"] for r in mine],
            [r["params"]["milliseconds"] for r in mine],
            "-o",
            color=colour,
            label=f"{machine} (simulated)",
            markersize=4,
        )
    printed = {
        r["params"]["rows"]: r["params"]["paper_milliseconds"] for r in records if r["params"].get("paper_milliseconds")
    }
    axes.plot(list(printed), list(printed.values()), "x", color="black", label="printed")
    axes.set(xscale="log", yscale="log", xlabel="rows, of 256 columns", ylabel="ms at 300 MHz", title="CHAM Table 3")
    axes.set_xscale("log", base=2)
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    save(folder, "cham-table3", figure)


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
        # DRAM changes nothing from scratchpad to scratchpad.
        dram = name == "dram-bytes"
        cycles = [dram_cycles(p["record"]) if dram else p["record"]["cycles_steady"] for p in mine]
        axes.plot(range(len(mine)), cycles, "-o", color=ORANGE if dram else BLUE, markersize=4)
        axes.set_xticks(range(len(mine)), labels, fontsize=7)
        axes.set_ylim(0, 1.1 * max(cycles))
        axes.set_title(f"{name}: DRAM to DRAM (analytic)" if dram else name, fontsize=9)
        axes.grid(alpha=0.3)
    figure.suptitle("NTT of 2^13 on ciphermill.toml: cycles in steady state (simulated), one number changed at a time")
    save(folder, "sweep", figure)


def roofline(folder: Path) -> None:
    """Ceilings, and what runs reach."""
    figure, panels = plt.subplots(1, 2, figsize=(12, 5), sharey=True)
    for axes, machine in zip(panels, ("ciphermill", "paper"), strict=True):
        data = load(folder, f"roofline-{machine}")
        flat = min(c["butterflies_per_cycle"] for c in data["ceilings"] if c["butterflies_per_cycle"])
        span = [0.05, 20.0]
        axes.axhline(flat, color=GREY)
        for ceiling in data["ceilings"]:
            rate = ceiling["bytes_per_cycle"]
            if rate:
                axes.plot(span, [min(flat, x * rate) for x in span], color=GREY, linewidth=0)
                xs = [span[0], min(span[1], flat / rate)]
                if xs[1] > xs[0]:
                    axes.plot(xs, [x * rate for x in xs], color=GREY)
                    name = f"{ceiling['name']}, {rate:g} B/cycle"
                    axes.annotate(
                        name, (xs[0], xs[0] * rate), xytext=(0, -10), textcoords="offset points", fontsize=7, va="top"
                    )
        # Tasks that stand in one place are told apart by markers that leave each other visible.
        markers = {"ntt": ("o", 4), "product": ("s", 8), "key-switch": ("x", 5)}
        for level, colour in (("scratchpad", BLUE), ("dram", ORANGE)):
            for task in dict.fromkeys(p["operation"] for p in data["points"]):
                marker, size = markers[task]
                mine = sorted(
                    (p["intensity"], p["reached"], int(math.log2(p["polynomial_size"])))
                    for p in data["points"]
                    if p["level"] == level and p["operation"] == task
                )
                label = f"{task}, from and to {level}"
                xs, ys = [x for x, _, _ in mine], [y for _, y, _ in mine]
                axes.plot(xs, ys, marker, color=colour, fillstyle="none", label=label, markersize=size, linestyle="")
                # Points of one task are too near to each other for a name each: the sizes, from left to right.
                logs = [log for _, _, log in mine]
                name = f"{task} 2^{logs[0]}" + (f" … 2^{logs[-1]}" if len(logs) > 1 else "")
                # Where no ceiling crosses them.
                if task == "ntt":
                    at, shift, side = (xs[0], ys[0]), (-6, 2), "right"
                else:
                    below = {"product": -8, "key-switch": -18}[task]
                    left = level == "scratchpad"
                    at, shift, side = (
                        ((xs[-1] if left else xs[0]), min(ys)),
                        (6 if left else -4, below),
                        ("right" if left else "left"),
                    )
                axes.annotate(
                    name, at, xytext=shift, textcoords="offset points", ha=side, va="top", fontsize=7, color=colour
                )
        axes.set(xscale="log", yscale="log", xlabel="butterflies per byte", title=machine)
        # Room for a name below the lowest point.
        axes.margins(y=0.1)
        axes.legend(fontsize=7, loc="lower right")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("butterflies per cycle (scratchpad: simulated; dram: analytic)")
    save(folder, "roofline", figure)


def lane(folder: Path) -> None:
    """Cycles of compiled transforms in the simulator and in the RTL of the lanes."""
    figure, axes = plt.subplots(figsize=(6.5, 4.4))
    records = [r for r in load(folder, "lane") if not r["case"].endswith("/random")]
    if any(r["label"] != "rtl-checked" for r in records):
        raise ValueError("lane.json has a record that is not rtl-checked")
    styles = (("l4_a2", "o", BLUE, 7), ("l4_a1", "x", ORANGE, 5), ("l32_a2", "s", GREY, 5))
    for name, marker, colour, size in styles:
        mine = [r for r in records if r["case"].split("/")[1] == name]
        lanes, adders = mine[0]["params"]["lanes"], mine[0]["params"]["adders"]
        worst = max(abs(r["params"]["deviation"]) for r in mine)
        label = f"{name}: {lanes} lanes, adders: {adders}; {len(mine)} transforms, deviation {100 * worst:g} %"
        xs, ys = [r["params"]["cycles_rtl"] for r in mine], [r["cycles"] for r in mine]
        axes.plot(xs, ys, marker, color=colour, fillstyle="none", label=label, markersize=size, linestyle="")
    ends = [min(r["cycles"] for r in records), max(r["cycles"] for r in records)]
    axes.plot(ends, ends, ":", color="black", label="the same", linewidth=1)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="cycles in the RTL, first issue to last, of the cores compared",
        ylabel="cycles in the simulator (rtl-checked)",
        title="Transforms on lane.toml and in rvfhe_lane",
    )
    axes.legend(fontsize=7)
    axes.grid(alpha=0.3)
    save(folder, "lane", figure)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "docs/arch")
    figures = (figure_3, figure_9, figure_10, figure_11, figure_12, cham_figure_2, cham_figure_3, cham_table_3)
    for draw in (runs, sweep, roofline, lane, *figures):
        draw(folder)


if __name__ == "__main__":
    main()
