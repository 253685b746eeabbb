"""The report of secure statistics: times, bytes, and the facts that each role learns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ciphermill._costs import Costs

#: The limits of the privacy of exact totals.
CAUTIONS = (
    "totals are exact and have no noise: they are not differentially private",
    "two totals whose rows differ by one row reveal that row by their difference: its values, their products, its bins",
    "two totals whose parties differ by one party reveal the totals of that party by their difference",
    "a reader of a total who knows all rows but one learns the remaining row",
    "the number of contributions is stated by the sender of a sum and is not authenticated",
)


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

    @property
    def cautions(self) -> list[str]:
        """The limits of the privacy of exact totals."""
        return list(CAUTIONS)

    def as_dict(self) -> dict[str, Any]:
        """All facts, for JSON."""
        return {
            "learns": self.learns,
            "cautions": self.cautions,
            "seconds": self.seconds,
            "bytes": self._messages(),
            "clipped": self.clipped,
        }

    def __str__(self) -> str:
        seconds, messages = self._lines(24)
        clipped = [f"{'clipped':<24}{count} values of {name}" for name, count in self.clipped.items()]
        facts = [f"{role} learns: {fact}" for role, facts in self.learns.items() for fact in facts]
        cautions = [f"caution: {caution}" for caution in self.cautions]
        return "\n".join([*seconds, *messages, *clipped, *facts, *cautions])
