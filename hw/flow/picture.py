"""Draws the pictures of hw/pictures.toml, as docs/hw/pictures/<unit>.svg, from waveforms that `make hw-waves` writes.

    python hw/flow/picture.py all|unit,… --waves FOLDER
    python hw/flow/picture.py all|unit,… --tests      names the tests to run for the waveforms, one a line

A value is what a signal has just before a rising edge of the clock, which is what registers see; cycle 0 is the first in
which all `start` signals are 1; a panel may name others than its picture. A hexadecimal value that is longer than its
box is shortened. Where cycles are narrower than a pixel, a single bit becomes a bar as high as its share
of ones, and values that do not last become a grey bar.
"""

import argparse
import sys
import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

from units import HW, UNITS, asked

PICTURES = HW / "pictures.toml"
FOLDER = HW.parent / "docs/hw/pictures"

# Pixels.
NAMES, PLOT, ROW, LINE, MARGIN = 170, 850, 26, 18, 12
# A digit's width, to know which values can be written into their boxes.
DIGIT = 7.0
# The fewest characters that a shortened value keeps.
SHORTEST = 6


class TooShort(ValueError):
    """A waveform ends before what is to be drawn."""


@dataclass(frozen=True)
class Trace:
    """A signal over the cycles of a panel."""

    name: str
    bits: int
    values: Sequence[int]


class Waveform:
    """A waveform file by cycles."""

    def __init__(self, path: Path) -> None:
        import pywellen  # type: ignore[import-not-found]

        file = pywellen.Waveform(str(path), multi_threaded=False)
        self._signals = {variable.full_name: variable for variable in file.all_vars()}
        _, clock = self._changes("clk_i")
        # The instant before each rising edge.
        self.instants = [time - 1 for time, value in clock if value == 1]

    def _changes(self, name: str) -> tuple[int, list[tuple[int, int]]]:
        """Width and changes of the signal of that name, the one nearest to the top where there are several."""
        those = [full for full in self._signals if full == name or full.endswith("." + name)]
        if not those:
            raise ValueError(f"no signal {name}")
        variable = self._signals[min(those, key=lambda full: full.count("."))]
        return variable.bitwidth or 1, [(time, _number(value)) for time, value in variable.signal]

    def trace(self, name: str, first: int, cycles: int) -> Trace:
        """A signal in so many cycles from one on."""
        bits, changes = self._changes(name)
        times = [time for time, _ in changes]
        instants = self.instants[first : first + cycles]
        if len(instants) < cycles:
            raise TooShort(f"the waveform ends in cycle {len(self.instants)}, {first + cycles} are wanted")
        return Trace(name, bits, [changes[max(bisect_right(times, at) - 1, 0)][1] for at in instants])

    def start(self, names: Sequence[str]) -> int:
        """The first cycle in which all of these are 1."""
        traces = [self.trace(name, 0, len(self.instants)).values for name in names]
        found = next((cycle for cycle, values in enumerate(zip(*traces, strict=True)) if all(values)), None)
        if found is None:
            raise TooShort(f"{' and '.join(names)} are never 1 together in {len(self.instants)} cycles")
        return found


def _number(value: int | str) -> int:
    """A value as the reader gives it: a number, or text of bits where some of them are unknown."""
    return value if isinstance(value, int) else int("".join(bit if bit in "01" else "0" for bit in value), 2)


def runs(values: Sequence[int]) -> list[tuple[int, int, int]]:
    """First cycle, length and value of each stretch of equal values."""
    found, at = [], 0
    for value, group in groupby(values):
        length = sum(1 for _ in group)
        found.append((at, length, value))
        at += length
    return found


def shares(values: Sequence[int], columns: int) -> list[float]:
    """The share of ones in each of so many equal columns."""
    found = []
    for column in range(columns):
        first, last = column * len(values) // columns, max((column + 1) * len(values) // columns, 1)
        part = values[first : max(last, first + 1)]
        found.append(sum(part) / len(part))
    return found


def _bit(trace: Trace, top: float, width: float) -> str:
    """A bit: a line, or a bar where a pixel has several cycles."""
    low, high = top + ROW - 5, top + ROW - 5 - LINE
    if width >= 1:
        points, level = [], low
        for first, length, value in runs(trace.values):
            level = high if value else low
            points += [
                f"{NAMES + first * width:.1f},{level:.1f}",
                f"{NAMES + (first + length) * width:.1f},{level:.1f}",
            ]
        return f'<polyline class="bit" points="{" ".join(points)}"/>'
    columns = int(len(trace.values) * width)
    outline = [f"{NAMES},{low:.1f}"]
    for first, length, share in _stretches(shares(trace.values, columns)):
        level = low - LINE * share
        outline += [f"{NAMES + first},{level:.1f}", f"{NAMES + first + length},{level:.1f}"]
    return f'<polygon class="bar" points="{" ".join([*outline, f"{NAMES + columns},{low:.1f}"])}"/>'


def _stretches(values: Sequence[float]) -> list[tuple[int, int, float]]:
    """As `runs`, of shares rounded to a tenth."""
    return [(first, length, value / 10) for first, length, value in runs([round(10 * share) for share in values])]


def fitting(digits: str, wide: float) -> str:
    """Hexadecimal digits as a box of that width holds them: all, or the first ones and the last two with dots between."""
    room = int((wide - 2) / DIGIT)
    if len(digits) <= room or room < SHORTEST:
        return digits
    return f"{digits[: room - 3]}…{digits[-2:]}"


def _bus(trace: Trace, top: float, width: float, hexadecimal: bool) -> str:
    """Several bits: a box for each value, the value in it where there is room."""
    high = top + ROW - 5 - LINE
    parts = []
    # Stretches that are too short to be seen become one grey box.
    grey_from: int | None = None
    for first, length, value in [*runs(trace.values), (len(trace.values), 10**9, 0)]:
        if length * width < 2:
            grey_from = first if grey_from is None else grey_from
            continue
        if grey_from is not None:
            x, wide = NAMES + grey_from * width, (first - grey_from) * width
            parts.append(f'<rect class="busy" x="{x:.1f}" y="{high:.1f}" width="{wide:.1f}" height="{LINE}"/>')
            grey_from = None
        if first == len(trace.values):
            break
        x, wide = NAMES + first * width, length * width
        parts.append(f'<rect class="bus" x="{x:.1f}" y="{high:.1f}" width="{wide:.1f}" height="{LINE}"/>')
        text = fitting(f"{value:x}", wide) if hexadecimal else str(value)
        if len(text) * DIGIT <= wide - 2:
            parts.append(f'<text class="value" x="{x + wide / 2:.1f}" y="{high + 13:.1f}">{text}</text>')
    return "".join(parts)


def _ticks(cycles: int, labels: int = 8) -> list[int]:
    """Round numbers of cycles for the axis."""
    step = 1
    while cycles / step > labels:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return list(range(0, cycles + 1, step))


def panel(
    title: str, traces: Sequence[Trace], first: int, hexadecimal: frozenset[str], top: float
) -> tuple[str, float]:
    """A panel's drawing, and where the next one begins. `first` is the number of its first cycle."""
    cycles = len(traces[0].values)
    width = PLOT / cycles
    parts = [f'<text class="title" x="{MARGIN}" y="{top + 14:.1f}">{escape(title)}</text>']
    begin = top + 22
    bottom = begin + ROW * len(traces)
    for tick in _ticks(cycles):
        x = NAMES + tick * width
        parts.append(f'<line class="tick" x1="{x:.1f}" y1="{begin:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>')
        parts.append(f'<text class="cycle" x="{x:.1f}" y="{bottom + 14:.1f}">{first + tick}</text>')
    for number, trace in enumerate(traces):
        row = begin + ROW * number
        parts.append(f'<text class="name" x="{NAMES - 8}" y="{row + ROW - 8:.1f}">{escape(trace.name)}</text>')
        if trace.bits == 1:
            parts.append(_bit(trace, row, width))
        else:
            parts.append(_bus(trace, row, width, trace.name in hexadecimal))
    return "\n".join(parts), bottom + 30


STYLE = """
text { font: 12px sans-serif; fill: #222 }
.title { font-weight: bold }
.name { text-anchor: end; font-family: monospace }
.cycle { text-anchor: middle; fill: #666; font-size: 10px }
.value { text-anchor: middle; font: 11px monospace }
.tick { stroke: #ddd }
.bit { fill: none; stroke: #1a5fb4; stroke-width: 1.5 }
.bar { fill: #99c1f1; stroke: #1a5fb4; stroke-width: 0.5 }
.bus { fill: #f6f5f4; stroke: #26a269; stroke-width: 1 }
.busy { fill: #c0bfbc }
"""


def draw(picture: Mapping[str, object], waveform: Waveform) -> str:
    """The whole picture."""
    panels = picture["panel"]
    assert isinstance(panels, list)
    body, top = [], float(MARGIN)
    for given in panels:
        start = waveform.start(given.get("start", picture["start"]))
        names = [name.removesuffix(":x") for name in given["signals"]]
        marked = frozenset(name.removesuffix(":x") for name in given["signals"] if name.endswith(":x"))
        traces = [waveform.trace(name, start + given["first"], given["cycles"]) for name in names]
        drawn, top = panel(given["title"], traces, given["first"], marked, top)
        body.append(drawn)
    size = f'width="{NAMES + PLOT + 2 * MARGIN}" height="{top:.0f}"'
    box = f'viewBox="0 0 {NAMES + PLOT + 2 * MARGIN} {top:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>\n<style>{STYLE}</style>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *body, "</svg>"]) + "\n"


def main() -> int:
    """Names the tests, or draws."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", help="all, or a list of units and unit/configuration")
    parser.add_argument("--tests", action="store_true", help="name the tests that make the waveforms")
    parser.add_argument("--waves", type=Path, help="the folder of the waveforms")
    arguments = parser.parse_args()
    chosen = asked(arguments.names)
    if arguments.tests:
        units = {configuration.unit for configuration in chosen}
        tests = [unit.get("waves", "") for unit in tomllib.loads(UNITS.read_text())["unit"] if unit["name"] in units]
        print("\n".join(dict.fromkeys(tests)))
        return 0
    for picture in tomllib.loads(PICTURES.read_text())["picture"]:
        if picture["case"] in map(str, chosen):
            path = FOLDER / f"{picture['case'].split('/')[0]}.svg"
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                drawn = draw(picture, Waveform(arguments.waves / f"{picture['case'].replace('/', '.')}.fst"))
            except TooShort as error:
                # A waveform that was asked to be shorter is still a waveform.
                print(f"no picture of {picture['case']}: {error}")
                continue
            path.write_text(drawn)
            print(path.relative_to(HW.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
