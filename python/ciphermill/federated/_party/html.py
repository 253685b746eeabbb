"""The report of a party as one page of HTML. It loads nothing, runs no script, and has its pictures as SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ciphermill.federated._party.progress import size
from ciphermill.federated._text import printable

#: The size of a picture, and the room for its axes, in units of SVG.
WIDTH, HEIGHT = 480, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 12, 40

#: The height of a bar with its gap, the width of the names of bars and of their values, and the most letters of a name.
BAR, NAMES, VALUES, NAME_LETTERS = 22, 190, 80, 30

#: The most rows of a table, and the most ticks of an axis.
MAX_ROWS, TICKS = 500, 6

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #5b6570; --line: #c9d1d9; --mark: #0b6e99;
  --over: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #14181c; --soft: #a2acb5; --line: #3a424a;
  --mark: #58b5dd; --over: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; max-width: 66rem;
  padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid var(--line); }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-weight: 600; }
svg { width: 100%; height: auto; } svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.axis { stroke: var(--line); } .line { stroke: var(--mark); fill: none; stroke-width: 2; } .bar, .dot { fill: var(--mark); }
.over { fill: var(--over); } .limit { stroke: var(--over); stroke-dasharray: 4 3; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top;
  overflow-wrap: anywhere; }
thead th { border-bottom: 1px solid var(--line); } td.number { text-align: right; font-variant-numeric: tabular-nums; }
tbody th { white-space: nowrap; } #equations { max-width: 33rem; }
details { margin: .3rem 0; } .scroll { overflow-x: auto; }
"""

#: The page may use its own style, and nothing else.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(document: Mapping[str, Any]) -> str:
    """The page of a document, as `document.make` returns it. All texts in it are escaped."""
    party, result, report = document["party"], document["result"], document["report"]
    title = f"Training of {party['name']} ({party['role']})"
    body = [
        f"<h1>{_text(title)}</h1>",
        f"<p>{_text(_summary(result))}</p>",
        _section("Course", _pictures(report, party["name"])),
        _section("Leaks", _leaks(report, document["alignment"]["leaks"])),
        _section("Configuration", _facts(document["configuration"])),
        _section("Data", _facts(document["data"])) if document["data"] else "",
        _section("Result", _facts(result)),
        _section("Machine", _facts(document["machine"] | document["versions"])),
    ]
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n"
        "</body>\n</html>\n"
    )


def _text(value: object) -> str:
    """A value as text of HTML. Characters that cannot be printed become question marks."""
    return html.escape("\n".join(map(printable, str(value).split("\n"))))


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{_text(title)}</h2>\n{content}\n</section>"


def _summary(result: Mapping[str, Any]) -> str:
    if result["iterations"] is None:
        return f"The arbiter does not learn the course of the training. It took {result['seconds']:.1f} seconds."
    end = "It reached the tolerance" if result["converged"] else "It did not reach the tolerance"
    return f"{end} after {result['iterations']} iterations. It took {result['seconds']:.1f} seconds and had {result['restarts']} restarts."


def _pictures(report: Mapping[str, Any], own: str) -> str:
    seconds = sorted(report["seconds"].items(), key=lambda item: -item[1])
    losses = list(enumerate(report["losses"]))
    residuals = list(enumerate(report["residuals"], 1))
    messages = _messages(report["bytes"], own)
    figures = [
        _figure(
            "loss",
            "Objective: loss and penalty",
            _curve(losses, "iteration", "objective"),
            ("iteration", "objective"),
            losses,
        ),
        _figure(
            "gradient",
            "Relative gradient",
            _curve(residuals, "iteration", "relative gradient", logarithmic=True),
            ("iteration", "relative gradient"),
            residuals,
        ),
        _figure(
            "seconds",
            "Seconds by step, since the last start of this party",
            _bars([(step, value, f"{value:.3g} s") for step, value in seconds], "seconds"),
            ("step", "seconds"),
            seconds,
        ),
        _figure(
            "bytes",
            "Bytes by message, since the last start of this party",
            _bars([(name, value, size(value)) for name, value in messages], "bytes"),
            ("message", "bytes"),
            messages,
        ),
    ]
    return f'<div class="pictures">\n{"".join(figures)}\n</div>'


def _messages(messages: Sequence[Mapping[str, Any]], own: str) -> list[tuple[str, int]]:
    """Bytes by direction and kind, the most first."""
    total: dict[str, int] = {}
    for message in messages:
        name = f"{message['kind']}, {'sent' if message['from'] == own else 'received'}"
        total[name] = total.get(name, 0) + message["bytes"]
    return sorted(total.items(), key=lambda item: -item[1])


def _figure(name: str, caption: str, picture: str, head: tuple[str, str], rows: Sequence[tuple[Any, Any]]) -> str:
    """A picture with a table of its numbers."""
    return (
        f'<figure id="{name}">\n<figcaption id="{name}-caption">{_text(caption)}</figcaption>\n'
        + picture.replace("<svg", f'<svg role="img" aria-labelledby="{name}-caption"', 1)
        + f"\n<details><summary>Numbers</summary>{_table(head, rows)}</details>\n</figure>\n"
    )


def _table(head: Iterable[str], rows: Sequence[Sequence[Any]]) -> str:
    heads = "".join(f'<th scope="col">{_text(each)}</th>' for each in head)
    body = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in rows[:MAX_ROWS])
    more = f"<p>{len(rows) - MAX_ROWS} more rows are in report.json.</p>" if len(rows) > MAX_ROWS else ""
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>{more}'


def _cell(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td class="number">{_text(value if isinstance(value, int) else f"{value:.6g}")}</td>'
    return f"<td>{_text(value)}</td>"


def _facts(facts: Mapping[str, Any]) -> str:
    """A table of names and values."""
    rows = "".join(
        f'<tr><th scope="row">{_text(name)}</th><td>{_text(_shown(value))}</td></tr>' for name, value in facts.items()
    )
    return f'<div class="scroll"><table><tbody>{rows}</tbody></table></div>'


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(each)}" for name, each in value.items())
    if isinstance(value, list | tuple) and value:
        return ", ".join(map(_shown, value[:MAX_ROWS])) + (", …" if len(value) > MAX_ROWS else "")
    return "–" if value in (None, []) else str(value)


def _leaks(report: Mapping[str, Any], alignment: Sequence[str]) -> str:
    """The meter: equations for each row, the guarantees, and the facts that the parties learn."""
    equations = {name: (count, rows) for name, (count, rows) in report["equations"].items()}
    bars = [
        (name, count / rows if rows else 0.0, f"{count / rows:.3g}" if rows else "–")
        for name, (count, rows) in equations.items()
    ]
    meter = _figure(
        "equations",
        "Equations in the entries of d that a party learns, for each row",
        _bars(bars, "equations for each row", limit=1.0),
        ("party", "equations, rows"),
        [(name, f"{count}, {rows}") for name, (count, rows) in equations.items()],
    )
    note = (
        "<p>A party with one equation or more for each row can solve for d, and the first d holds the labels. The count is a "
        "heuristic, not a proof.</p>"
    )
    guarantees = _table(("matrix of", "guarantee"), list(report["guarantees"].items()))
    leaks = "".join(f"<li>{_text(leak)}</li>" for leak in [*alignment, *report["leaks"]])
    return f"{meter}{note}\n<h3>Guarantees</h3>\n{guarantees}\n<h3>Facts that the parties learn</h3>\n<ul>{leaks}</ul>"


# Pictures.


def _svg(height: float, content: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height:g}" xmlns="http://www.w3.org/2000/svg">{"".join(content)}</svg>'


def _label(x: float, y: float, text: object, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_text(text)}</text>'


def _curve(points: Sequence[tuple[int, float]], across: str, up: str, logarithmic: bool = False) -> str:
    """A line through points, with whole numbers across. Points that have no place on the axis are left out."""
    shown = [(x, y) for x, y in points if math.isfinite(y) and (y > 0.0 or not logarithmic)]
    if not shown:
        return _svg(HEIGHT, [_label(WIDTH / 2, HEIGHT / 2, "this party has no numbers here")])
    heights = [math.log10(y) if logarithmic else y for _, y in shown]
    low, high = _range(min(heights), max(heights))
    first, last = shown[0][0], max(shown[-1][0], shown[0][0] + 1)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (x - first) / (last - first) * (WIDTH - LEFT - RIGHT),
            TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM),
        )

    parts = [_axis(LEFT, TOP, LEFT, HEIGHT - BOTTOM), _axis(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM)]
    for tick in _heights(low, high, logarithmic):
        _, y = place(first, tick)
        shown_tick = f"{10.0**tick:.2g}" if logarithmic else f"{tick:.4g}"
        parts += [_axis(LEFT - 4, y, LEFT, y), _label(LEFT - 7, y + 4, shown_tick, "end")]
    for tick in _ticks(first, last, whole=True):
        x, _ = place(tick, low)
        parts += [_axis(x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 4), _label(x, HEIGHT - BOTTOM + 16, f"{tick:g}")]
    parts += [_label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, across)]
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<g transform="rotate(-90 12 {middle:g})">{_label(12, middle, up)}</g>')
    places = [place(x, y) for (x, _), y in zip(shown, heights, strict=True)]
    parts.append(f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>')
    if len(places) <= 100:
        parts += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in places]
    return _svg(HEIGHT, parts)


def _axis(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _range(low: float, high: float) -> tuple[float, float]:
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _heights(low: float, high: float, logarithmic: bool) -> list[float]:
    """The ticks of the upright axis: powers of ten if it is logarithmic and has two of them."""
    powers = _ticks(low, high, whole=True) if logarithmic else []
    return powers if len(powers) >= 2 else _ticks(low, high)


def _ticks(low: float, high: float, whole: bool = False) -> list[float]:
    """At most `TICKS` round numbers between two numbers."""
    span = high - low
    step = 10.0 ** math.floor(math.log10(span / (TICKS - 1)))
    if whole:
        step = max(step, 1.0)
    factors = (1, 2, 5, 10, 20, 50)
    step *= next(factor for factor in factors if span / (step * factor) <= TICKS - 1)
    first = math.ceil(low / step - 1e-9)
    return [step * index for index in range(first, math.floor(high / step + 1e-9) + 1)]


def _bars(bars: Sequence[tuple[str, float, str]], across: str, limit: float | None = None) -> str:
    """Bars with names and values. `limit` is a line; bars beyond it have another colour."""
    most = max([value for _, value, _ in bars] + [limit or 0.0]) or 1.0
    room = WIDTH - NAMES - VALUES
    height = BAR * max(len(bars), 1) + 24
    parts = []
    for index, (name, value, shown) in enumerate(bars):
        y = BAR * index
        width = max(0.0, value) / most * room
        kind = "over" if limit is not None and value >= limit else "bar"
        short = name if len(name) <= NAME_LETTERS else name[: NAME_LETTERS - 1] + "…"
        parts += [
            f"<g><title>{_text(name)}: {_text(shown)}</title>",
            _label(NAMES - 6, y + 15, short, "end"),
            f'<rect class="{kind}" x="{NAMES}" y="{y + 3}" width="{width:.1f}" height="{BAR - 6}"/>',
            _label(WIDTH - RIGHT, y + 15, shown, "end"),
            "</g>",
        ]
    if limit is not None:
        x = NAMES + limit / most * room
        parts.append(_axis(x, 0, x, height - 22, "limit"))
    parts.append(_label(NAMES + room / 2, height - 6, across))
    return _svg(height, parts)
