"""Scalars that all parties contribute to. The guest adds or compares them and sends the result to every host."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from ciphermill._hetero.messages import Program, Send, Size, receive
from ciphermill.errors import PeerError

_REAL = struct.Struct("<d")
_INTEGER = struct.Struct("<i")

#: Exponents of two that scale binary64 numbers to integers are within ±2200.
MAX_EXPONENT = 2200


class Scalars:
    """The scalars of one party. The first of `parties` is the guest."""

    def __init__(self, name: str, parties: Sequence[str]) -> None:
        self._guest, *self._hosts = parties
        self._is_guest = name == self._guest
        #: The number of parties.
        self.parties = len(parties)

    def total(self, kind: str, value: float) -> Program[float]:
        """The sum of one real number of each party, added in the order of the parties."""
        if not self._is_guest:
            yield Send(self._guest, kind, _REAL.pack(value))
            return (yield from self._real(self._guest, kind))
        for host in self._hosts:
            value += yield from self._real(host, kind)
        for host in self._hosts:
            yield Send(host, kind, _REAL.pack(value))
        return value

    def least(self, kind: str, value: int) -> Program[int]:
        """The least of one integer of each party."""
        if not self._is_guest:
            yield Send(self._guest, kind, _INTEGER.pack(value))
            return (yield from self._integer(self._guest, kind))
        for host in self._hosts:
            value = min(value, (yield from self._integer(host, kind)))
        for host in self._hosts:
            yield Send(host, kind, _INTEGER.pack(value))
        return value

    @staticmethod
    def _real(sender: str, kind: str) -> Program[float]:
        (value,) = _REAL.unpack((yield from receive(sender, kind, Size.exactly(_REAL.size))))
        if not math.isfinite(value):
            raise PeerError(f'the "{kind}" of {sender} is {value}; the protocol expects a finite number')
        return float(value)

    @staticmethod
    def _integer(sender: str, kind: str) -> Program[int]:
        (value,) = _INTEGER.unpack((yield from receive(sender, kind, Size.exactly(_INTEGER.size))))
        if not -MAX_EXPONENT <= value <= MAX_EXPONENT:
            raise PeerError(f'the "{kind}" of {sender} is {value}; use {-MAX_EXPONENT} to {MAX_EXPONENT}')
        return int(value)
