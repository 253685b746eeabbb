"""The rows of a training: the columns of a party, and the alignment of rows by private set intersection."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ciphermill._hetero.messages import Program, Send, Size, receive
from ciphermill._hetero.numbers import Floats
from ciphermill.errors import PeerError
from ciphermill.federated import _align
from ciphermill.federated._session import ARBITER, GUEST, Decision, Session

Rows = npt.NDArray[np.int64]

#: The ways to put rows into one order: the parties have done it, or private set intersection does it.
NONE, PSI = "none", "psi"

#: The most rows and columns of a party.
MAX_ROWS, MAX_FEATURES = 2**31, 2**20

#: The guest's message to the arbiter with the number of common rows: 8 bytes, little-endian.
ROWS = "rows count"


@dataclass(frozen=True)
class Columns:
    """The data of a party: values of shape (samples, features). The guest also has labels ±1, and perhaps an intercept."""

    values: Floats
    labels: Floats | None = None
    intercept: bool = False

    @property
    def features(self) -> int:
        """The number of columns, the intercept included."""
        return int(self.values.shape[1]) + self.intercept

    def take(self, rows: Rows) -> Columns:
        """Some rows, in their order."""
        return Columns(self.values[rows], None if self.labels is None else self.labels[rows], self.intercept)

    def digest(self) -> bytes:
        """SHA-256 of the data."""
        hashed = hashlib.sha256(np.ascontiguousarray(self.values, np.float64).data)
        hashed.update(bytes([self.intercept]))
        if self.labels is not None:
            hashed.update(np.ascontiguousarray(self.labels, np.float64).data)
        return hashed.digest()


def unchanged(columns: Columns) -> Columns:
    """The same columns."""
    return columns


class Alignment:
    """The rows of a party before and after private set intersection.

    Parameters
    ----------
    ids : array-like of shape (samples,)
        The ids of the rows, as `_align.guest` describes.
    data : Columns
        All rows of the party.
    prepare : callable
        Makes the columns of the training from the columns of the common rows. It may standardise them.
    """

    def __init__(self, ids: npt.ArrayLike, data: Columns, prepare: Callable[[Columns], Columns] = unchanged) -> None:
        self._ids = ids
        self._data = data
        self._prepare = prepare
        self.features = data.features
        #: The training in which the common rows were found, or an empty text.
        self.session = ""
        #: The common rows in their order, and their columns; `None` before the alignment.
        self.rows: Rows | None = None
        self.columns: Columns | None = None

    @property
    def count(self) -> int:
        """The number of common rows; 0 before the alignment."""
        return 0 if self.rows is None else len(self.rows)

    def digest(self) -> bytes:
        """SHA-256 of all rows of the party, with their ids."""
        hashed = hashlib.sha256(self._data.digest())
        hashed.update(ids_digest(self._ids).encode())
        return hashed.digest()

    def use(self, rows: Rows, session: str) -> None:
        """Note the common rows of a training. The columns are made again only if the rows differ."""
        self.session = session
        if self.rows is None or not np.array_equal(rows, self.rows):
            self.columns = self._prepare(self._data.take(rows))
            self.rows = rows

    def part(self, session: Session) -> Program[Rows]:
        """This party's part of the intersection. Returns the common rows."""
        if session.role != GUEST:
            return (yield from _align.host(self._ids, session.guest))
        rows = yield from _align.guest(self._ids, session.hosts)
        if session.arbiter is not None:
            yield Send(session.arbiter, ROWS, len(rows).to_bytes(8, "little"))
        return rows


def received_count(guest: str) -> Program[int]:
    """The number of common rows, at the arbiter."""
    payload = yield from receive(guest, ROWS, Size.exactly(8))
    return _checked(int.from_bytes(payload, "little"), guest)


def common_rows(decision: Decision, session: Session) -> int | None:
    """The number of rows of all parties, or `None` if they must be aligned first.

    The parties with columns compare how they align rows, the digests of their ids and their numbers of rows. Raises `PeerError` if
    they differ.
    """
    facts = {name: own for name, own in decision.facts.items() if session.role_of(name) != ARBITER}
    reference = session.guest if session.role == ARBITER else session.name
    expected = facts.setdefault(reference, {})
    for name, own in facts.items():
        for key in ("align", "ids"):
            _require_equal(key, own.get(key), name, expected.get(key), reference)
    counts = {name: _checked(own.get("rows"), name) for name, own in facts.items()}
    found = {repr(own.get("alignment")) for own in facts.values()}
    if expected.get("align") != NONE and (len(found) > 1 or not all(counts.values())):
        return None
    for name, count in counts.items():
        _require_equal("rows", count, name, counts[reference], reference)
    return counts[reference]


def _require_equal(key: str, theirs: Any, name: str, ours: Any, reference: str) -> None:
    if theirs != ours:
        raise PeerError(f"{key} is {theirs!r:.80} at {name} and {ours!r:.80} at {reference}; use the same")


def _checked(count: Any, name: str) -> int:
    if type(count) is not int or not 0 <= count <= MAX_ROWS:
        raise PeerError(f"{name} has {count!r:.80} rows; use 0 to {MAX_ROWS}")
    return count


def ids_digest(ids: npt.ArrayLike | None) -> str:
    """The SHA-256 digest of ids in their order, or an empty text for none."""
    if ids is None:
        return ""
    hashed = hashlib.sha256()
    for one in _align.canonical(ids):
        hashed.update(len(one).to_bytes(4, "little") + one)
    return hashed.hexdigest()
