"""The products X_Pᵀd that all parties contribute to: the seam of the back ends, and the one in clear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ciphermill._hetero.messages import Program, Send, Size, receive
from ciphermill._hetero.numbers import DATA_BITS, VECTOR_BITS, Integers
from ciphermill._hetero.party import Party
from ciphermill._hetero.report import Report
from ciphermill.errors import ParameterError


class Exchange(Protocol):
    """A party's part of a back end."""

    @property
    def guarantees(self) -> dict[str, str]:
        """The protection of each party's matrix, in words."""
        ...

    def rekey(self) -> Program[None]:
        """Make new keys. Ciphertexts under the old keys are useless."""
        ...

    def product(self, part: Integers, batch: int) -> Program[Integers]:
        """The integers X_Pᵀd of this party for the rows of a batch, where d is the sum of the parts of all parties."""
        ...

    def end(self) -> Program[None]:
        """The end of the training."""
        ...


class Plain:
    """The integer oracle: every party sends its half in clear. For one process."""

    def __init__(self, party: Party, names: Sequence[str], report: Report) -> None:
        # Exact: products of 16 and 20 bits, summed over at most 2^19 samples, are below 2^53.
        samples, most = party.columns.samples, 1 << (53 - DATA_BITS - VECTOR_BITS + 2)
        if samples > most:
            raise ParameterError(f"X has {samples} samples; use at most {most}, whose sums are exact in binary64")
        self._name = party.name
        self._others = [name for name in names if name != party.name]
        self._matrices = [columns.integers.astype(np.float64).T for columns in party.parts]
        self._report = report
        self.guarantees: dict[str, str] = {}

    def rekey(self) -> Program[None]:
        """Nothing: there are no keys."""
        yield from ()

    def product(self, part: Integers, batch: int) -> Program[Integers]:
        d = part.astype(np.float64)
        for other in self._others:
            yield Send(other, "part in clear", part.astype("<i8").tobytes())
        for other in self._others:
            payload = yield from receive(other, "part in clear", Size.exactly(8 * len(part)))
            d += np.frombuffer(payload, "<i8")
        with self._report.step("multiply"):
            return np.asarray(self._matrices[batch] @ d).astype(np.int64)

    def end(self) -> Program[None]:
        """Nothing."""
        yield from ()
