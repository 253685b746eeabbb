"""Explanations of plans, and the loading of pickled objects."""

import functools
from typing import Any

from ciphermill import _native

__all__ = ["Explanation"]


class Explanation:
    """The costs of a plan: of matrix-vector products with the reasons for its choices, of convolutions, or of sums.

    `print(explanation)` shows one line per fact. Every fact is also an item: `explanation["log2_failure"]`.
    """

    def __init__(self, fields: dict[str, Any], text: str) -> None:
        self._fields = fields
        self._text = text

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def as_dict(self) -> dict[str, Any]:
        """All facts by name. Those of matrix-vector plans have the names of `ciphermill hmvp plan --json`."""
        return dict(self._fields)

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        return f"<Explanation of a {self['strategy']} plan by {self['parameters']}>"


@functools.lru_cache(maxsize=8)
def _load_plan(data: bytes) -> _native.MatVecPlan:
    # A pickle is made by this package, in a process that had accepted the parameters.
    return _native.MatVecPlan.from_bytes(data, insecure=True)


def _load_of_plan(cls: Any, plan: bytes, data: bytes) -> Any:
    return cls.from_bytes(_load_plan(plan), data)
