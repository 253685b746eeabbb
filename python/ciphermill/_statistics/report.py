"""The report of secure statistics: times, bytes, and the facts that each role learns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ciphermill._costs import Costs


@dataclass
class Report(Costs):
    """The costs of a computation and the facts that its roles learn."""

    #: The facts that each role learns beyond its own data.
    learns: dict[str, list[str]]
    #: Seconds by step.
    seconds: dict[str, float] = field(default_factory=dict)
    #: Bytes by sender, receiver and kind of message.
    bytes: dict[tuple[str, str, str], int] = field(default_factory=dict)
    #: The numbers of values that were clipped, by column; empty unless clipping was asked for.
    clipped: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """All facts, for JSON."""
        return {
            "learns": self.learns,
            "seconds": self.seconds,
            "bytes": self._messages(),
            "clipped": self.clipped,
        }

    def __str__(self) -> str:
        seconds, messages = self._lines(24)
        clipped = [f"{'clipped':<24}{count} values of {name}" for name, count in self.clipped.items()]
        facts = [f"{role} learns: {fact}" for role, facts in self.learns.items() for fact in facts]
        return "\n".join([*seconds, *messages, *clipped, *facts])
