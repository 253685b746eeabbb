"""The progress of a party on standard error: a line that changes in a terminal, lines of a log otherwise."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol, TextIO

from ciphermill.federated._training import Part

#: Seconds between two lines of a log within one phase.
INTERVAL = 1.0


class Progress(Protocol):
    """Shows the progress of a party."""

    def say(self, text: str) -> None:
        """Show a line that stays."""
        ...

    def show(self, part: Part) -> None:
        """Show the phase, and the iterations so far."""
        ...

    def close(self) -> None:
        """End the display. Further calls do nothing."""
        ...


def progress(stream: TextIO = sys.stderr) -> Progress:
    """The progress for a stream: lines, or a display if it is a terminal and `rich` is installed."""
    if stream.isatty():
        try:
            return Display(stream)
        except ImportError:
            pass
    return Lines(stream)


def facts(part: Part, start: float) -> dict[str, str]:
    """The numbers of a part: iteration, relative gradient, seconds since `start`, bytes."""
    report = part.report
    gradient = f"{report.residuals[-1]:.2e}" if report.residuals else "–"
    return {
        "iteration": f"{len(report.residuals)}",
        "gradient": gradient,
        "seconds": f"{time.monotonic() - start:.1f}",
        "bytes": size(sum(dict(report.bytes).values())),
    }


def size(count: float) -> str:
    """Bytes in a unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            break
        count /= 1000
    else:
        unit = "TB"
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"


class Lines:
    """Lines of a log: one for each phase, and at most one a second for iterations."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._start = time.monotonic()
        self._phase = ""
        self._last = -INTERVAL
        self._shown = 0

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def show(self, part: Part) -> None:
        if part.phase != self._phase:
            self._finish(part)
            self._phase = part.phase
            self.say(part.phase)
        now, iterations = time.monotonic(), len(part.report.residuals)
        if iterations > self._shown and (now - self._last >= INTERVAL or part.report.converged):
            self._last, self._shown = now, iterations
            self._line(part)

    def _finish(self, part: Part) -> None:
        """The last iteration, if its line was left out."""
        if len(part.report.residuals) > self._shown:
            self._shown = len(part.report.residuals)
            self._line(part)

    def _line(self, part: Part) -> None:
        numbers = facts(part, self._start)
        self.say(
            f"iteration {numbers['iteration']}: relative gradient {numbers['gradient']}, {numbers['seconds']} s, {numbers['bytes']}"
        )

    def close(self) -> None:
        pass


class Display:
    """A line of `rich` that changes in place."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn

        columns = [SpinnerColumn(), TextColumn("{task.description}")]
        columns += [TextColumn(f"{label} {{task.fields[{key}]}}") for key, label in _LABELS.items()]
        self._start = time.monotonic()
        self._console = Console(file=stream)
        self._bar = Bar(*columns, console=self._console, transient=True)
        self._task: Any = None

    def say(self, text: str) -> None:
        # `rich` would read brackets in a name as markup.
        self._console.print(text, markup=False, highlight=False)

    def show(self, part: Part) -> None:
        numbers: dict[str, Any] = dict(facts(part, self._start))
        if self._task is None:
            self._task = self._bar.add_task(part.phase, total=None, **numbers)
            self._bar.start()
        self._bar.update(self._task, description=part.phase, **numbers)

    def close(self) -> None:
        self._bar.stop()


_LABELS = {"iteration": "iteration", "gradient": "relative gradient", "seconds": "seconds", "bytes": "bytes"}
