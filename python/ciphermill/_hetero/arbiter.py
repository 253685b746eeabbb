"""The protocol with an arbiter, for one guest and any number of hosts (section 4.2 of the CHAM paper; S. Hardy et al., 2017).

The arbiter holds the only key. Every party encrypts its part of d under the public key. The guest adds the parts and sends the
sum ⟦d⟧ to the hosts. Each party multiplies its matrix and masks the product; the arbiter decrypts it and returns the residues
to this party alone. The party removes its mask.

The guest adds its part as a fresh encryption. Added in clear, it would be the difference of two ciphertexts that a host has
seen. The arbiter sees residues only. The arbiter of FATE sees the gradients. The arbiter must collude with no party.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ciphermill._hetero.messages import Program, Send, Size, receive
from ciphermill._hetero.numbers import Integers
from ciphermill._hetero.party import Party
from ciphermill._hetero.report import Report
from ciphermill._hetero.schemes import Terms
from ciphermill._hetero.workers import Workers
from ciphermill.errors import PeerError

#: The rounds that the guest announces to the arbiter.
REKEY, PRODUCT, END = b"k", b"p", b"e"


class WithArbiter:
    """The part of the guest or of a host. The first of `names` is the guest. `terms` belong to the own matrix. `workers` compute
    the products with it, by default in this process."""

    def __init__(
        self,
        party: Party,
        names: list[str],
        arbiter: str,
        terms: Terms,
        report: Report,
        workers: Workers | None = None,
    ) -> None:
        self._guest, *self._hosts = names
        self._is_guest = party.name == self._guest
        self._arbiter = arbiter
        self._terms = terms
        self._features = party.columns.features
        self._owner = terms.matrix_holder(party.parts, report, workers)
        self.guarantees = {name: terms.guarantee for name in names}

    def rekey(self) -> Program[None]:
        """Receive new keys of the arbiter."""
        yield from self._announce(REKEY)
        self._owner.use_keys((yield from receive(self._arbiter, "keys", self._terms.keys)))

    def product(self, part: Integers, batch: int) -> Program[Integers]:
        yield from self._announce(PRODUCT)
        encrypted = self._owner.encrypt(part)
        if self._is_guest:
            parts = [encrypted]
            for host in self._hosts:
                parts.append((yield from receive(host, "part", self._terms.vector)))
            total = self._owner.add(parts)
            for host in self._hosts:
                yield Send(host, "sum", total)
        else:
            yield Send(self._guest, "part", encrypted)
            total = yield from receive(self._guest, "sum", self._terms.vector)
        if not self._features:
            return np.zeros(0, np.int64)
        masked, share = self._owner.product(total, None, batch)
        yield Send(self._arbiter, "masked product", masked)
        residues = yield from receive(self._arbiter, "residues", self._terms.residues)
        return self._owner.unmask(residues, share)

    def end(self) -> Program[None]:
        """Release the arbiter."""
        yield from self._announce(END)

    def _announce(self, round_: bytes) -> Program[None]:
        if self._is_guest:
            yield Send(self._arbiter, "round", round_)


def arbitrate(features: dict[str, int], terms: Mapping[str, Terms], most: int, report: Report) -> Program[None]:
    """The part of the arbiter.

    `features` has the number of columns of each party, the guest first. `terms` has the terms of each party's matrix. `most` is
    the greatest number of products. Raises `PeerError` for an unknown round, and for more products.
    """
    guest = next(iter(features))
    owners = [name for name, count in features.items() if count]
    holder = terms[guest].key_holder(report)
    products = 0
    while True:
        announced = yield from receive(guest, "round", Size.exactly(1))
        if announced == END:
            return
        if announced == REKEY:
            keys = holder.keys()
            for name in features:
                yield Send(name, "keys", keys)
        elif announced == PRODUCT:
            products += 1
            _require_products(products, most, guest)
            for name in owners:
                masked = yield from receive(name, "masked product", terms[name].masked)
                yield Send(name, "residues", holder.residues(masked, features[name], terms[name].blocks))
        else:
            raise PeerError(
                f"{guest} announced the round {announced!r}; the protocol expects {REKEY!r}, {PRODUCT!r} or {END!r}"
            )


def _require_products(products: int, most: int, guest: str) -> None:
    if products > most:
        raise PeerError(f"{guest} asked for product {products}; the training has at most {most}")
