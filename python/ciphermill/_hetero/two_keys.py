"""The protocol of two parties with a key each, without an arbiter (section 2.3 of the CHAM paper, once in each direction).

Each party encrypts its half of d under its own key. The other party adds its half, multiplies its matrix, masks and floods.
The owner of the key decrypts the masked product and returns the residues. The owner of the matrix removes
the mask.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ciphermill._hetero.messages import Program, Send, receive
from ciphermill._hetero.numbers import Integers
from ciphermill._hetero.party import Party
from ciphermill._hetero.report import Report
from ciphermill._hetero.schemes import KeyHolder, MatrixHolder, Terms
from ciphermill._hetero.workers import Workers


class TwoKeys:
    """One party's part. `others_features` is the number of the peer's columns; a direction without columns has no messages.

    `terms` makes the terms of a product with the matrix of a party, by its name. `workers` compute the products with the own
    matrix, by default in this process.
    """

    def __init__(
        self,
        party: Party,
        peer: str,
        others_features: int,
        terms: Callable[[str], Terms],
        report: Report,
        workers: Workers | None = None,
    ) -> None:
        self._peer = peer
        self._features = party.columns.features
        self.guarantees: dict[str, str] = {}
        self._holder: KeyHolder | None = None
        self._owner: MatrixHolder | None = None
        if others_features:
            with report.step("plan"):
                self._others = terms(peer)
            self.guarantees[peer] = self._others.guarantee
            self._holder = self._others.key_holder(report)
        if self._features:
            with report.step("plan"):
                self._own = terms(party.name)
            self.guarantees[party.name] = self._own.guarantee
            self._owner = self._own.matrix_holder(party.parts, report, workers)

    def rekey(self) -> Program[None]:
        """Send new keys, receive those of the peer."""
        if self._holder is not None:
            yield Send(self._peer, "keys", self._holder.keys())
        if self._owner is not None:
            self._owner.use_keys((yield from receive(self._peer, "keys", self._own.keys)))

    def product(self, part: Integers, batch: int) -> Program[Integers]:
        if self._holder is not None:
            yield Send(self._peer, "half", self._holder.encrypt(part))
        if self._owner is not None:
            vector = yield from receive(self._peer, "half", self._own.vector)
            masked, share = self._owner.product(vector, part, batch)
            yield Send(self._peer, "masked product", masked)
        if self._holder is not None:
            masked = yield from receive(self._peer, "masked product", self._others.masked)
            yield Send(self._peer, "residues", self._holder.residues(masked))
        if self._owner is not None:
            residues = yield from receive(self._peer, "residues", self._own.residues)
            return self._owner.unmask(residues, share)
        return np.zeros(self._features, np.int64)

    def end(self) -> Program[None]:
        """Nothing: both parties know the end."""
        yield from ()
