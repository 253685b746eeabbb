"""Draws docs/hls/pareto.svg, cycles, LUT and DSP of a transform's choices, from hw/reports/hls.json: hls_plots.py [FOLDER]."""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
# A picture of the same record is the same file.
META = {"Date": None, "Creator": None}
matplotlib.rcParams["svg.hashsalt"] = "hls"
matplotlib.rcParams["svg.fonttype"] = "none"
COLOURS = {1: "#1f5c99", 2: "#d9822b", 3: "#7a7a7a", 4: "#5b9a57"}
MARKERS = {1: "o", 2: "s"}
BANKS = {1: "2B banks, one port to read and one to write", 2: "B banks of two ports"}
# Points of area for a DSP.
AREA, AREA_MIN = 5.0, 22.0


def costs(one: dict[str, Any]) -> tuple[int, int, int]:
    """Cycles, LUT, DSP."""
    return one["found"]["cycles"], one["mapped"]["lut"], one["mapped"]["dsp"]


def front(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points that no other one beats."""

    def beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
        ours, theirs = costs(one), costs(other)
        return ours != theirs and all(a <= b for a, b in zip(ours, theirs, strict=True))

    return [one for one in points if not any(beats(other, one) for other in points)]


def is_left_of_another(one: dict[str, Any], points: list[dict[str, Any]]) -> bool:
    """Whether a point of about the same cycles is so near on the right that it needs the place of a label."""
    cycles, lut, _ = costs(one)
    return any(1 / 1.1 < costs(other)[0] / cycles < 1.1 and lut < costs(other)[1] < 4 * lut for other in points)


def panel(axes: Any, points: list[dict[str, Any]], bits: int) -> None:
    """The points of one modulus."""
    best = front(points)
    for one in sorted(points, key=lambda one: -costs(one)[2]):
        cycles, lut, dsp = costs(one)
        colour = COLOURS[one["found"]["interval"]]
        axes.scatter(
            lut,
            cycles,
            s=AREA_MIN + AREA * dsp,
            marker=MARKERS[one["partition"]],
            facecolor=colour if one in best else "white",
            edgecolor=colour,
            zorder=2,
        )
    for one in best:
        cycles, lut, dsp = costs(one)
        side, shift = ("right", -4) if is_left_of_another(one, best) else ("left", 7)
        axes.annotate(
            f"B={one['b']}, {dsp} DSP",
            (lut, cycles),
            xytext=(shift, 6),
            textcoords="offset points",
            horizontalalignment=side,
            fontsize=7,
        )
    axes.set(xscale="log", yscale="log", title=f"q of {bits} bits")
    axes.set(xlabel="LUT, mapped for UltraScale+", ylabel="cycles from start to done")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.tick_params(labelbottom=True, labelleft=True)
    axes.grid(visible=True, which="both", color="#eeeeee")
    axes.margins(x=0.38, y=0.18)


def key(figure: Any) -> None:
    """What the colours and marks are."""
    intervals = [
        plt.Line2D([], [], linestyle="", marker="o", color=colour, label=f"interval {interval}")
        for interval, colour in COLOURS.items()
    ]
    banks = [
        plt.Line2D([], [], linestyle="", marker=mark, color="black", markerfacecolor="white", label=BANKS[partition])
        for partition, mark in MARKERS.items()
    ]
    figure.legend(handles=[*intervals, *banks], loc="lower center", ncols=3, fontsize=8, frameon=False)


def main() -> int:
    """Draws the picture."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/hls"
    record = json.loads((ROOT / "hw/reports/hls.json").read_text())
    points = [one for one in record["points"] if "mapped" in one]
    widths = sorted({one["bits"] for one in points})
    figure, panels = plt.subplots(2, 2, figsize=(9.5, 7.5), sharex=True, sharey=True)
    for axes, bits in zip(panels.flat, widths, strict=True):
        panel(axes, [one for one in points if one["bits"] == bits], bits)
    key(figure)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "pareto.svg", metadata=META)
    plt.close(figure)
    return 0


if __name__ == "__main__":
    sys.exit(main())
