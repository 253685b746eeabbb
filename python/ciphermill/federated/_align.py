"""Private set intersection: parties find the rows of their common ids and put them into the same order.

The guest runs the protocol with each host (`docs/psi.md` has its picture):

    guest → host   ids count, blinded ids            H(x)·a in a random order
    host → guest   ids count, twice blinded ids      the same points times b, in the same order
                   blinded ids                       H(y)·b in a random order
    guest → host   common ids                        a bit per point of the host: whether all parties have its id

`a` and `b` are secret scalars of one run. The parties follow the protocol (semi-honest). Each learns the number of the other's
ids and the common ids. With several hosts, the guest also learns which of its ids each host has.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ciphermill._checks import instance, integer, items
from ciphermill._hetero.messages import Program, Send, Size, receive
from ciphermill._native import PsiIds, PsiParty, PsiPoints
from ciphermill.errors import DtypeError, ParameterError, WireError

Rows = npt.NDArray[np.int64]

#: The most ids of a party.
MAX_IDS = 2**24

#: The most bytes of an id.
MAX_ID_BYTES = 256

#: The greatest magnitude of integers that binary64 represents without a gap.
MAX_EXACT = 2**53

#: Bytes of a point.
POINT_BYTES = 32

COUNT = "ids count"
BLINDED = "blinded ids"
TWICE_BLINDED = "twice blinded ids"
COMMON = "common ids"


def guest(ids: Any, host_names: Sequence[str], *, max_ids: int = MAX_IDS) -> Program[Rows]:
    """The guest's part: the rows of the ids that all parties have, in ascending order of the ids, as an array of shape (k,).

    `ids` has shape (m,): a list, an array or a column of texts, bytes or integers. An integer is the same id as its decimal
    text, and so is a real number without a fraction, of at most 2^53. Other ids are equal if their bytes in UTF-8 are. A host
    may have at most `max_ids` ids, 1 to 2^24.

    Raises `ParameterError` for no or too many ids, an id of other than 1 to 256 bytes, a fraction, NaN and a repeated id,
    `DtypeError` for an id of another type. Messages name rows, counted from 0, never ids. While it runs, the part raises
    `WireError` for a malformed message, and `ParameterError` if no id is common; the hosts then raise it also.
    """
    names = [instance(name, str, "a name of a host") for name in items(host_names, "host_names", "a list of names")]
    if not names or len(set(names)) != len(names):
        raise ParameterError(f"host_names is {names}; use one or more different names")
    return _guest(_native_ids(ids), names, integer(max_ids, "max_ids", 1, MAX_IDS))


def host(ids: Any, guest_name: str, *, max_ids: int = MAX_IDS) -> Program[Rows]:
    """A host's part; its arguments, result and errors are those of `guest`."""
    name = instance(guest_name, str, "guest_name")
    return _host(_native_ids(ids), name, integer(max_ids, "max_ids", 1, MAX_IDS))


def canonical(ids: Any) -> list[bytes]:
    """The bytes of each id, as `guest` describes."""
    use = "a list or an array of texts or integers"
    if getattr(ids, "ndim", 1) != 1:
        raise ParameterError(f"the ids have the shape {ids.shape}; use one axis")
    if isinstance(ids, AbstractSet | Mapping):
        raise DtypeError(f"the array of ids is of type {type(ids).__name__}, without rows; use {use}")
    # Elements of arrays as objects of Python, which convert in less time.
    values = ids.tolist() if isinstance(ids, np.ndarray) else items(ids, "the array of ids", use)
    return [_canonical(value, row) for row, value in enumerate(values)]


def _canonical(value: Any, row: int) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise ParameterError(f"the id of row {row} is not a text in Unicode; use texts or integers") from None
    if isinstance(value, bytes):
        return value
    if isinstance(value, float | np.floating):
        # Columns of integers with gaps are often read as real numbers. The first comparison is false for NaN.
        real = float(value)
        if not (abs(real) <= MAX_EXACT and real == int(real) == value):
            raise ParameterError(
                f"the id of row {row} is a real number with a fraction, above 2^53, or NaN; use texts or integers"
            )
        value = int(real)
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise DtypeError(f"the id of row {row} is of type {type(value).__name__}; use texts or integers") from None
    if number.bit_length() > 8 * MAX_ID_BYTES:
        raise ParameterError(f"the id of row {row} has more than {MAX_ID_BYTES} bytes; use 1 to {MAX_ID_BYTES}")
    return b"%d" % number


def _native_ids(ids: Any) -> PsiIds:
    return PsiIds(canonical(ids))


@dataclass(frozen=True)
class _Match:
    """The guest's rows whose ids a host has, and the places of these ids among the points of the host."""

    rows: Rows
    places: Rows
    points: int

    def marks(self, common: Rows) -> bytes:
        """A bit per point of the host, the lowest bit of a byte first: 1 for the points of common rows."""
        bits = np.zeros(self.points, np.bool_)
        bits[self.places[np.isin(self.rows, common)]] = True
        return np.packbits(bits, bitorder="little").tobytes()


def _guest(ids: PsiIds, names: list[str], max_ids: int) -> Program[Rows]:
    parties: dict[str, PsiParty] = {}
    for name in names:
        # A fresh scalar and order for each host: hosts that compare their messages cannot link them.
        parties[name] = ids.blind()
        yield Send(name, COUNT, _count_bytes(ids))
        yield Send(name, BLINDED, parties[name].points.to_bytes())
    matches: dict[str, _Match] = {}
    for name in names:
        count = yield from _receive_count(name, max_ids)
        answers = yield from _receive_points(name, TWICE_BLINDED, len(ids))
        points = yield from _receive_points(name, BLINDED, count)
        party = parties.pop(name)
        places = answers.common(party.raise_points(points))
        matches[name] = _Match(party.rows[places[:, 0]], places[:, 1], count)
    common = functools.reduce(np.intersect1d, (match.rows for match in matches.values()))
    for name, match in matches.items():
        yield Send(name, COMMON, match.marks(common))
    return _in_order(ids, common)


def _host(ids: PsiIds, name: str, max_ids: int) -> Program[Rows]:
    # Before the guest's points arrive, so that both parties compute at the same time.
    party = ids.blind()
    count = yield from _receive_count(name, max_ids)
    points = yield from _receive_points(name, BLINDED, count)
    answers = party.raise_points(points)
    yield Send(name, COUNT, _count_bytes(ids))
    yield Send(name, TWICE_BLINDED, answers.to_bytes())
    yield Send(name, BLINDED, party.points.to_bytes())
    marks = yield from receive(name, COMMON, Size.exactly(-(-len(ids) // 8)))
    bits = np.unpackbits(np.frombuffer(marks, np.uint8), bitorder="little")
    places = np.flatnonzero(bits)
    if len(places) > count or bits[len(ids) :].any():
        raise WireError(
            f'the message "{COMMON}" of {name} marks {len(places)} of {len(ids)} points; use at most {count}, and no bit after '
            "the last point"
        )
    return _in_order(ids, party.rows[places])


def _in_order(ids: PsiIds, rows: Rows) -> Rows:
    """The rows in the order that all parties give them. Raises `ParameterError` if there are none."""
    if not len(rows):
        raise ParameterError("no id is common to all parties; use ids of one kind, in one form")
    return ids.sort(rows)


def _count_bytes(ids: PsiIds) -> bytes:
    return len(ids).to_bytes(8, "little")


def _receive_count(name: str, max_ids: int) -> Program[int]:
    count = int.from_bytes((yield from receive(name, COUNT, Size.exactly(8))), "little")
    if not 1 <= count <= max_ids:
        raise WireError(f"{name} has {count} ids; use 1 to {max_ids}")
    return count


def _receive_points(name: str, kind: str, count: int) -> Program[PsiPoints]:
    payload = yield from receive(name, kind, Size.exactly(POINT_BYTES * count))
    try:
        return PsiPoints.from_bytes(payload, count)
    except WireError as error:
        raise WireError(f'the message "{kind}" of {name} is refused: {error}') from None
