"""Seconds and bytes of the steps of a computation: a part of reports."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


@contextmanager
def timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Add the time of a block to a step."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[step] = seconds.get(step, 0.0) + time.perf_counter() - start


class Costs:
    """The methods of a report that has seconds by step, and bytes by sender, receiver and kind of message."""

    seconds: dict[str, float]
    bytes: dict[tuple[str, str, str], int]

    def step(self, name: str) -> AbstractContextManager[None]:
        """Add the time of a block to a step."""
        return timed(self.seconds, name)

    def sent(self, sender: str, receiver: str, kind: str, count: int) -> None:
        """Count a message."""
        key = (sender, receiver, kind)
        self.bytes[key] = self.bytes.get(key, 0) + count

    def _messages(self) -> list[dict[str, Any]]:
        """The bytes, for JSON."""
        return [
            {"from": sender, "to": receiver, "kind": kind, "bytes": count}
            for (sender, receiver, kind), count in self.bytes.items()
        ]

    def _lines(self, width: int) -> tuple[list[str], list[str]]:
        """Lines of text for the seconds and for the bytes, behind names of `width` letters."""
        seconds = [f"{step:<{width}}{seconds * 1e3:.1f} ms" for step, seconds in self.seconds.items()]
        messages = [
            f"{sender + ' → ' + receiver:<{width}}{count} B of {kind}"
            for (sender, receiver, kind), count in self.bytes.items()
        ]
        return seconds, messages
