"""Private set intersection: common rows, what each party receives, refused ids and messages."""

import pickle
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ciphermill as cm
from ciphermill import _native
from ciphermill._hetero.messages import Receive, Send, run_together
from ciphermill.federated import _align

#: RFC 9496, appendix A.1: the generator of ristretto255, and twice the generator.
GENERATOR = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
TWICE = bytes.fromhex("6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919")

#: A recorded message: sender, receiver, kind, payload.
Message = tuple[str, str, str, bytes]


def align(guest: Any, **hosts: Any) -> tuple[dict[str, npt.NDArray[np.int64]], list[Message]]:
    """The rows of each party, and all messages."""
    messages: list[Message] = []
    programs = {"guest": _align.guest(guest, list(hosts))}
    programs |= {name: _align.host(ids, "guest") for name, ids in hosts.items()}
    rows = run_together(programs, lambda *message: messages.append(message))
    return rows, messages


def points(payload: bytes) -> set[bytes]:
    """The points of a message."""
    return {payload[start : start + 32] for start in range(0, len(payload), 32)}


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
numbers = st.integers(-20, 20)
lists = st.lists(st.one_of(numbers, numbers.map(str), texts), min_size=1, max_size=30, unique_by=str)


@settings(max_examples=60, deadline=None)
@given(lists, lists, lists)
def test_common_rows_are_those_of_plain_sets(guest: list[Any], bank: list[Any], shop: list[Any]) -> None:
    columns = {"guest": guest, "bank": bank, "shop": shop}
    places = {name: {str(value): row for row, value in enumerate(ids)} for name, ids in columns.items()}
    common = sorted(set.intersection(*(set(place) for place in places.values())), key=str.encode)
    if not common:
        with pytest.raises(cm.ParameterError, match="no id is common to all parties"):
            align(guest, bank=bank, shop=shop)
        return
    rows, _ = align(guest, bank=bank, shop=shop)
    for name, place in places.items():
        assert rows[name].dtype == np.int64
        assert rows[name].tolist() == [place[value] for value in common]


def test_thousands_of_rows(rng: np.random.Generator) -> None:
    guest, host = (rng.permutation(np.arange(0, 12000, step)) for step in (2, 3))
    rows, _ = align(guest, host=host)
    assert len(rows["guest"]) == 2000
    np.testing.assert_array_equal(guest[rows["guest"]], host[rows["host"]])
    # In the order of their texts.
    assert sorted(map(str, guest[rows["guest"]])) == list(map(str, guest[rows["guest"]]))


@pytest.mark.parametrize("length", [1, 7, 8, 9])
def test_every_row_is_common(length: int) -> None:
    ids = [f"{row}" for row in range(length)]
    rows, messages = align(ids, host=ids[::-1])
    assert rows["guest"].tolist() == list(range(length))
    assert rows["host"].tolist() == list(range(length))[::-1]
    assert messages[-1][3] == (2**length - 1).to_bytes(-(-length // 8), "little")


FORMS: list[tuple[Any, bytes]] = [
    (7, b"7"),
    ("7", b"7"),
    (b"7", b"7"),
    (7.0, b"7"),
    (np.int8(7), b"7"),
    (np.uint64(2**64 - 1), b"18446744073709551615"),
    (np.float32(7), b"7"),
    (np.longdouble(7), b"7"),
    (np.str_("7"), b"7"),
    (np.bytes_(b"7"), b"7"),
    (-7, b"-7"),
    (-0.0, b"0"),
    (2.0**53, b"9007199254740992"),
    (10**255, b"1" + b"0" * 255),
    ("07", b"07"),
    (" 7", b" 7"),
    ("7.0", b"7.0"),
    ("é", b"\xc3\xa9"),
    ("\0", b"\0"),
]


@pytest.mark.parametrize(("value", "form"), FORMS)
def test_forms_of_ids(value: Any, form: bytes) -> None:
    assert _align.canonical([value]) == [form]


@pytest.mark.parametrize("kind", ["i1", "u8", "f8", "U3", "S3", "O"])
def test_arrays_have_the_ids_of_lists(kind: str) -> None:
    assert _align.canonical(np.array([3, 12, 0]).astype(kind)) == [b"3", b"12", b"0"]


def test_columns_of_pandas() -> None:
    for column in ([1, 2], ["1", "2"], [1.0, 2.0]):
        assert _align.canonical(pd.Series(column)) == [b"1", b"2"]
    with pytest.raises(cm.ParameterError, match=r"shape \(2, 1\); use one axis"):
        _align.canonical(pd.DataFrame({"id": [1, 2]}))
    with pytest.raises(cm.ParameterError, match="row 1 is a real number"):
        _align.canonical(pd.Series([1, None]))


REFUSED: list[tuple[Any, type[Exception], str]] = [
    ([], cm.ParameterError, "0 ids are not supported; use 1 to 16777216"),
    ([1, ""], cm.ParameterError, "the id of row 1 has 0 bytes; use 1 to 256"),
    (["x" * 257], cm.ParameterError, "the id of row 0 has 257 bytes; use 1 to 256"),
    ([10**256], cm.ParameterError, "the id of row 0 has 257 bytes; use 1 to 256"),
    ([10**9999], cm.ParameterError, "the id of row 0 has more than 256 bytes"),
    ([1, 2.5], cm.ParameterError, "the id of row 1 is a real number with a fraction"),
    ([np.longdouble(2) ** 53 + np.longdouble(0.5)], cm.ParameterError, "the id of row 0 is a real number"),
    ([float("nan")], cm.ParameterError, "the id of row 0 is a real number.*NaN"),
    ([-np.inf], cm.ParameterError, "the id of row 0 is a real number"),
    ([2.0**53 + 2], cm.ParameterError, r"the id of row 0 is a real number.*above 2\^53"),
    (np.array([1.5]), cm.ParameterError, "the id of row 0 is a real number"),
    (["\ud800"], cm.ParameterError, "the id of row 0 is not a text in Unicode"),
    ([1, None], cm.DtypeError, "the id of row 1 is of type NoneType; use texts or integers"),
    ([True], cm.DtypeError, "the id of row 0 is of type bool"),
    ([np.True_], cm.DtypeError, "the id of row 0 is of type bool"),
    ([[1]], cm.DtypeError, "the id of row 0 is of type list"),
    ([1j], cm.DtypeError, "the id of row 0 is of type complex"),
    (np.array(["2026-01-01"], "M8[D]"), cm.DtypeError, "the id of row 0 is of type date"),
    (np.zeros((2, 2), int), cm.ParameterError, r"shape \(2, 2\); use one axis"),
    (np.int64(3), cm.ParameterError, r"shape \(\); use one axis"),
    ("ann", cm.DtypeError, "of type str; use a list or an array"),
    (3, cm.DtypeError, "of type int; use a list or an array"),
    ({1, 2}, cm.DtypeError, "of type set, without rows"),
    ({1: 2}, cm.DtypeError, "of type dict, without rows"),
    (None, cm.DtypeError, "of type NoneType"),
    ([1, 2, "1"], cm.ParameterError, "rows 0 and 2 have the same id, number of repeated ids: 1; use each id once"),
    (["a", "b", "b", "a", "b"], cm.ParameterError, "rows 0 and 3 have the same id, number of repeated ids: 2"),
]


@pytest.mark.parametrize(("ids", "error", "words"), REFUSED)
def test_refused_ids(ids: Any, error: type[Exception], words: str) -> None:
    """At the call, before anything is sent."""
    with pytest.raises(error, match=words):
        _align.guest(ids, ["host"])
    with pytest.raises(error, match=words):
        _align.host(ids, "guest")


def test_messages_of_errors_have_no_ids() -> None:
    with pytest.raises(cm.ParameterError) as caught:
        _align.guest(["secret-7", "x", "secret-7"], ["host"])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: _align.guest([1], []), cm.ParameterError, "use one or more different names"),
        (lambda: _align.guest([1], ["a", "a"]), cm.ParameterError, "use one or more different names"),
        (lambda: _align.guest([1], "host"), cm.DtypeError, "host_names is of type str"),
        (lambda: _align.guest([1], [b"host"]), cm.DtypeError, "a name of a host is of type bytes"),  # type: ignore[list-item]
        (lambda: _align.host([1], None), cm.DtypeError, "guest_name is of type NoneType"),  # type: ignore[arg-type]
        (lambda: _align.guest([1], ["host"], max_ids=0), cm.ParameterError, "max_ids is 0; use 1 to 16777216"),
        (lambda: _align.host([1], "guest", max_ids=2**24 + 1), cm.ParameterError, "16777217; use 1 to 16777216"),
    ],
)
def test_refused_arguments(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_party_receives_counts_points_and_marks() -> None:
    """All messages of a run, whose contents are counts, points, and the common ids."""
    guest, host = ["ann", "bob", "eve"], ["dan", "eve", "ann", "joe"]
    rows, messages = align(guest, host=host)
    shape = [(sender, receiver, kind, len(payload)) for sender, receiver, kind, payload in messages]
    assert shape == [
        ("guest", "host", "ids count", 8),
        ("guest", "host", "blinded ids", 3 * 32),
        ("host", "guest", "ids count", 8),
        ("host", "guest", "twice blinded ids", 3 * 32),
        ("host", "guest", "blinded ids", 4 * 32),
        ("guest", "host", "common ids", 1),
    ]
    payloads = [payload for *_, payload in messages]
    assert [int.from_bytes(payloads[0], "little"), int.from_bytes(payloads[2], "little")] == [3, 4]
    assert payloads[5][0] < 2**4 and payloads[5][0].bit_count() == 2
    # Points only: nothing else parses, and all of a run are different.
    lists = [payloads[1], payloads[3], payloads[4]]
    for payload in lists:
        assert len(_native.PsiPoints.from_bytes(payload, len(payload) // 32)) == len(payload) // 32
    assert len(set.union(*map(points, lists))) == 3 + 3 + 4
    assert rows["guest"].tolist() == [0, 2] and rows["host"].tolist() == [2, 1]


def test_runs_cannot_be_linked() -> None:
    """Runs over the same ids have no point in common, neither do the messages to two hosts, and orders differ."""
    ids = list(range(60))
    seen: list[set[bytes]] = []
    marked = []
    for _ in range(2):
        _, messages = align(ids, bank=ids[:30], shop=ids)
        seen += [points(payload) for *_, kind, payload in messages if kind.endswith("blinded ids")]
        marked += [payload for _, receiver, kind, payload in messages if kind == "common ids" and receiver == "shop"]
    assert len(seen) == 12
    assert sum(map(len, seen)) == len(set.union(*seen)) == 2 * (4 * 60 + 30 + 60)
    # 30 of 60 places, by the order of the host's points.
    assert [int.from_bytes(marks, "little").bit_count() for marks in marked] == [30, 30]
    assert marked[0] != marked[1], "equal with a probability below 2^-55"


def test_a_host_learns_the_total_only() -> None:
    """The marks for a host do not show an id that another host lacks."""
    _, messages = align([1, 2, 3, 4, 5], bank=[1, 2, 3], shop=[3, 4, 5, 6])
    marks = {receiver: payload for _, receiver, kind, payload in messages if kind == "common ids"}
    assert {name: payload[0].bit_count() for name, payload in marks.items()} == {"bank": 1, "shop": 1}
    # No message passes between hosts.
    assert not [message for message in messages if "guest" not in message[:2]]


def test_all_parties_learn_that_no_id_is_common() -> None:
    for hosts in ({"bank": [3]}, {"bank": [1], "shop": [2]}):
        guest, parts = _align.guest([1, 2], list(hosts)), {n: _align.host(ids, "guest") for n, ids in hosts.items()}
        sent: dict[tuple[str, str], list[bytes]] = {}
        errors = set()
        open_parts: dict[str, Generator[Send | Receive, bytes | None, Any]] = {"guest": guest, **parts}
        requests = {name: next(part) for name, part in open_parts.items()}
        while requests:
            for name, request in list(requests.items()):
                if isinstance(request, Send):
                    sent.setdefault((name, request.receiver), []).append(request.payload)
                    payload = None
                elif inbox := sent.get((request.sender, name)):
                    payload = inbox.pop(0)
                else:
                    continue
                try:
                    requests[name] = open_parts[name].send(payload)
                except cm.ParameterError as error:
                    assert "no id is common" in str(error)
                    errors.add(name)
                    del requests[name]
        assert errors == {"guest", *hosts}


def _count(number: int) -> bytes:
    return number.to_bytes(8, "little")


def lying(receiver: str, *messages: tuple[str, bytes]) -> Generator[Send | Receive, bytes | None, None]:
    """A peer that sends given messages."""
    for kind, payload in messages:
        yield Send(receiver, kind, payload)


def own_points(count: int) -> bytes:
    """Points as a peer computes them."""
    return _native.PsiIds([b"%d" % number for number in range(count)]).blind().points.to_bytes()


IDENTITY = bytes(32)
NEGATIVE = b"\x01" + bytes(31)
HOSTILE_POINTS: list[tuple[bytes, str]] = [
    (GENERATOR, "32 bytes; use 64"),
    (GENERATOR + TWICE[:31], "63 bytes; use 64"),
    (GENERATOR + TWICE + b"\0", "65 bytes; use 64"),
    (b"", "0 bytes; use 64"),
    (GENERATOR + IDENTITY, "is refused: point 1 is the identity"),
    (NEGATIVE + GENERATOR, "is refused: point 0 is not canonical"),
    (GENERATOR + b"\xff" * 32, "is refused: point 1 is not canonical"),
    (GENERATOR + GENERATOR, "is refused: points 0 and 1 are equal"),
]


@pytest.mark.parametrize("count", [0, 2**24 + 1, 2**64 - 1])
def test_counts_out_of_range_are_refused(count: int) -> None:
    messages = ("ids count", _count(count))
    with pytest.raises(cm.WireError, match=f"liar has {count} ids; use 1 to 16777216"):
        run_together({"host": _align.host([1, 2], "liar"), "liar": lying("host", messages)})
    with pytest.raises(cm.WireError, match=f"liar has {count} ids; use 1 to 16777216"):
        run_together({"guest": _align.guest([1, 2], ["liar"]), "liar": lying("guest", messages)})


def test_a_party_bounds_the_count() -> None:
    with pytest.raises(cm.WireError, match="guest has 3 ids; use 1 to 2"):
        run_together({"guest": _align.guest([1, 2, 3], ["host"]), "host": _align.host([1], "guest", max_ids=2)})
    with pytest.raises(cm.WireError, match="host has 3 ids; use 1 to 2"):
        run_together({"guest": _align.guest([1], ["host"], max_ids=2), "host": _align.host([1, 2, 3], "guest")})


@pytest.mark.parametrize(("payload", "words"), HOSTILE_POINTS)
def test_hostile_points(payload: bytes, words: str) -> None:
    """In each of the three lists of points."""
    count = ("ids count", _count(2))
    with pytest.raises(cm.WireError, match=words):
        run_together({"host": _align.host([1], "liar"), "liar": lying("host", count, ("blinded ids", payload))})
    twice = ("twice blinded ids", payload)
    with pytest.raises(cm.WireError, match=words):
        run_together({"guest": _align.guest([1, 2], ["liar"]), "liar": lying("guest", count, twice)})
    twice = ("twice blinded ids", own_points(2))
    with pytest.raises(cm.WireError, match=words):
        liar = lying("guest", count, twice, ("blinded ids", payload))
        run_together({"guest": _align.guest([1, 2], ["liar"]), "liar": liar})


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        (b"", "0 bytes; use 1"),
        (b"\x01\x00", "2 bytes; use 1"),
        (b"\x08", "marks 1 of 3 points; use at most 2, and no bit after the last point"),
        (b"\x80", "no bit after the last point"),
        (b"\x07", "marks 3 of 3 points; use at most 2"),
    ],
)
def test_hostile_marks(marks: bytes, words: str) -> None:
    liar = lying("host", ("ids count", _count(2)), ("blinded ids", own_points(2)), ("common ids", marks))
    with pytest.raises(cm.WireError, match=words):
        run_together({"host": _align.host([1, 2, 3], "liar"), "liar": liar})


def test_another_kind_of_message_is_refused() -> None:
    with pytest.raises(cm.PeerError, match='liar sent "hello"; the protocol expects "ids count" here'):
        run_together({"host": _align.host([1], "liar"), "liar": lying("host", ("hello", bytes(8)))})


def test_a_secret_serves_one_run() -> None:
    party = _native.PsiIds([b"ann"]).blind()
    other = _native.PsiIds([b"ann"]).blind()
    assert len(party.raise_points(other.points).common(other.raise_points(party.points))) == 1
    with pytest.raises(cm.ParameterError, match="the secret of this run is used up"):
        party.raise_points(other.points)
    with pytest.raises(cm.SecretError, match="a PsiParty is not pickled"):
        pickle.dumps(party)
    assert [repr(party), repr(party.points)] == ["<PsiParty of 1 rows>", "<PsiPoints of 1 points>"]


def test_native_ids() -> None:
    ids = _native.PsiIds([b"bob", bytearray(b"ann"), memoryview(b"eve")])
    assert (len(ids), repr(ids)) == (3, "<PsiIds of 3 rows>")
    assert ids.sort([2, 0, 1]).tolist() == [1, 0, 2]
    assert ids.sort(np.array([], int)).tolist() == []
    party = ids.blind()
    assert sorted(party.rows.tolist()) == [0, 1, 2]
    assert len(party.points) == 3 and len(party.points.to_bytes()) == 96
    assert party.points.common(_native.PsiIds([b"x"]).blind().points).shape == (0, 2)
    for row in (-1, 3):
        with pytest.raises(cm.RangeError, match=f"entry {row}; use 0 to 2"):
            ids.sort([row])
    with pytest.raises(cm.DtypeError, match="of type str"):
        _native.PsiIds(["ann"])  # type: ignore[list-item]
