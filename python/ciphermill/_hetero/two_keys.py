"""The protocol of two parties with a key each, without an arbiter (section 2.3 of the CHAM paper, once in each direction).

Each party encrypts its half of d under its own key. The other party adds its half, multiplies its matrix, masks and floods.
The owner of the key decrypts the masked product and returns the residues, from which the mask is removed.
"""

from __future__ import annotations

import numpy as np

from ciphermill._hetero.bfv import KeyHolder, MatrixHolder, Terms
from ciphermill._hetero.messages import Program, Receive, Send
from ciphermill._hetero.numbers import Integers
from ciphermill._hetero.party import Party
from ciphermill._hetero.report import Report


class TwoKeys:
    """One party's part. `others_features` is the number of the peer's columns; a direction without columns has no messages.

    `answers` is the greatest number of products of the whole training, of both parties.
    """

    def __init__(self, party: Party, peer: str, others_features: int, answers: int, report: Report) -> None:
        self._peer = peer
        self._features = party.columns.features
        self._holder = self._owner = None
        self.guarantees: dict[str, str] = {}
        samples = party.columns.samples
        if others_features:
            with report.step("plan"):
                self._key_terms = Terms(others_features, samples, answers)
            self.guarantees[peer] = self._key_terms.guarantee
            self._holder = KeyHolder(self._key_terms, report)
        if self._features:
            with report.step("plan"):
                self._matrix_terms = Terms(self._features, samples, answers)
            self.guarantees[party.name] = self._matrix_terms.guarantee
            self._owner = MatrixHolder(self._matrix_terms, party.columns, report)

    def rekey(self) -> Program[None]:
        """Send new keys, receive those of the peer."""
        if self._holder is not None:
            public, evaluation = self._holder.keys()
            yield Send(self._peer, "public key", public)
            yield Send(self._peer, "evaluation keys", evaluation)
        if self._owner is not None:
            terms = self._matrix_terms
            public = yield from self._receive("public key", 1, terms.most_public_bytes)
            evaluation = yield from self._receive("evaluation keys", 1, terms.most_evaluation_bytes)
            self._owner.use_keys(public, evaluation)

    def product(self, half: Integers) -> Program[Integers]:
        if self._holder is not None:
            yield Send(self._peer, "half", self._holder.encrypt(half))
        if self._owner is not None:
            terms = self._matrix_terms
            vector = yield from self._receive("half", terms.vector_bytes, terms.vector_bytes)
            masked, share = self._owner.product(vector, half)
            yield Send(self._peer, "masked product", masked)
        if self._holder is not None:
            masked = yield from self._receive("masked product", 1, self._key_terms.most_masked_bytes)
            yield Send(self._peer, "residues", self._holder.residues(masked))
        if self._owner is not None:
            residues = yield from self._receive("residues", terms.residue_bytes, terms.residue_bytes)
            return self._owner.unmask(residues, share)
        return np.zeros(self._features, np.int64)

    def _receive(self, kind: str, least: int, most: int) -> Program[bytes]:
        payload = yield Receive(self._peer, kind, least, most)
        assert payload is not None
        return payload
