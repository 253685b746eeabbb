"""Private lookup."""

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import ciphermill as cm
from ciphermill import lookup
from ciphermill._memory import key_set_memory
from ciphermill.lookup import PrivateTable, Reader


@pytest.mark.parametrize(("count", "length"), [(1, 1), (7, 3), (4096, 256), (16384, 16), (40000, 5)])
def test_records_are_read(count: int, length: int, rng: np.random.Generator) -> None:
    records = rng.integers(0, 256, (count, length), dtype=np.uint8)
    table = PrivateTable(records)
    assert len(table) == count
    reader = Reader(table.plan, table.shape)
    for index in {0, count - 1, count // 2, -1}:
        answer = table.answer(reader.evaluation, reader.query(index))
        assert reader.record(answer, index) == records[index].tobytes()


def test_records_as_bytes_and_several_clients() -> None:
    table = PrivateTable([b"first", b"other"])
    readers = [Reader(table.plan, table.shape) for _ in range(2)]
    for reader in readers:
        assert reader.record(table.answer(reader.evaluation, reader.query(1)), 1) == b"other"
    table.forget(readers[0].evaluation.tag)
    with pytest.raises(cm.KeyMismatchError):
        table.answer(readers[0].evaluation, readers[1].query(0))


def test_bad_input() -> None:
    with pytest.raises(cm.ParameterError, match="1 to 2 bytes"):
        PrivateTable([b"a", b"bb"])
    with pytest.raises(cm.ParameterError, match="empty"):
        PrivateTable([])
    with pytest.raises(cm.ParameterError, match="int64"):
        PrivateTable(np.zeros((2, 2), np.int64))
    with pytest.raises(cm.ParameterError, match="do not fit"):
        PrivateTable(np.zeros((16385, 16384), np.uint8))
    table = PrivateTable([b"a", b"b"])
    reader = Reader(table.plan, table.shape)
    with pytest.raises(cm.ParameterError, match="-2 to 1"):
        reader.query(2)
    with pytest.raises(cm.ParameterError, match="the index of a record is 7; use -2 to 1"):
        reader.record(table.answer(reader.evaluation, reader.query(0)), 7)


def test_a_reader_keeps_its_key() -> None:
    records = [bytes([i, 255 - i]) for i in range(40)]
    table = PrivateTable(records)
    reader = Reader(table.plan, table.shape)
    answer = table.answer(reader.evaluation, reader.query(7))
    secret = reader.to_secret_bytes()
    again = Reader.from_secret_bytes(table.plan, table.shape, secret)
    assert again.evaluation.tag == reader.evaluation.tag
    assert again.record(answer, 7) == records[7]
    # The server's keys of the first reader answer the queries of the second.
    assert again.record(table.answer(reader.evaluation, again.query(-1)), -1) == records[-1]
    with pytest.raises(cm.SecretError, match="use to_secret_bytes"):
        pickle.dumps(again)
    with pytest.raises(cm.SecretError, match="pickle its records"):
        pickle.dumps(table)
    assert secret.hex()[:40] not in repr(again) and "40 records" in repr(again)
    with pytest.raises(cm.WireError):
        Reader.from_secret_bytes(table.plan, table.shape, secret[:-1])
    wide = PrivateTable(np.zeros((4096, 4096), np.uint8)).plan
    assert wide.parameters != table.plan.parameters
    with pytest.raises(cm.KeyMismatchError):
        Reader.from_secret_bytes(wide, (4096, 4096), secret)


def test_a_reader_limits_its_keys() -> None:
    """The plan is the server's: its costs are known, and refused, before any key is generated."""
    plan, shape = cm.MatVecPlan.from_bytes(cm.MatVecPlan(512, 700, vector_bits=2).to_bytes()), (700, 512)
    needed = key_set_memory(plan.explain())
    # The keys that a server holds are packed.
    assert needed > plan.explain()["key_bytes"] > 1 << 20
    with pytest.raises(
        cm.MemoryLimitError, match=f"takes {needed} bytes, the limit is max_key_bytes={needed - 1}; use"
    ):
        Reader(plan, shape, max_key_bytes=needed - 1)
    secret = Reader(plan, shape, max_key_bytes=needed).to_secret_bytes()
    with pytest.raises(cm.MemoryLimitError):
        Reader.from_secret_bytes(plan, shape, secret, max_key_bytes=needed - 1)
    Reader(plan, shape, max_key_bytes=None)
    assert inspect.signature(Reader).parameters["max_key_bytes"].default == 256 << 20


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((700, 511), r"the plan has the shape \(512, 700\)"),
        ((701, 512), "use the plan of a table of the shape"),
        ((0, 512), "the number of records is 0; use 1 to"),
        ((700, 0), "the number of bytes of a record is 0; use 1 to 16384"),
        ((700, 2**40), "the number of bytes"),
        ((700, 512, 1), r"use \(records, bytes of each\)"),
        ((700.0, 512), "the number of records is 700.0"),
        (None, "the shape is None"),
    ],
)
def test_shapes_that_do_not_fit_the_plan(shape: Any, words: str) -> None:
    with pytest.raises(cm.ParameterError, match=words):
        Reader(cm.MatVecPlan(512, 700, vector_bits=2), shape)


def test_the_plan_of_a_reader_has_8_bits() -> None:
    with pytest.raises(cm.ParameterError, match="9 bits"):
        Reader(cm.MatVecPlan(512, 700, matrix_bits=9, vector_bits=2), (700, 512))


def test_a_table_limits_its_clients() -> None:
    records = np.resize(np.arange(2048, dtype=np.uint8), (512, 300))
    table = PrivateTable(records, max_clients=2)
    readers = [Reader(table.plan, table.shape) for _ in range(3)]
    for reader in readers[:2]:
        table.register(reader.evaluation)
    each = table.nbytes // 2
    assert each - 4096 == table.plan.explain()["key_bytes"] > 0
    for register in (table.register, lambda keys: table.answer(keys, readers[2].query(0))):
        with pytest.raises(
            cm.MemoryLimitError, match="2 clients are registered, the limit is max_clients=2; call forget"
        ):
            register(readers[2].evaluation)
    # Known clients are served, and one may leave.
    assert readers[1].record(table.answer(readers[1].evaluation, readers[1].query(5)), 5) == records[5].tobytes()
    table.forget(readers[0].evaluation.tag)
    assert table.register(readers[2].evaluation) == readers[2].evaluation.tag
    assert table.clients == [reader.evaluation.tag for reader in readers[1:]]
    narrow = PrivateTable(records, max_bytes=2 * each - 1)
    narrow.register(readers[0].evaluation)
    with pytest.raises(
        cm.MemoryLimitError, match=f"2 clients need {2 * each} bytes, {each} each, .*max_bytes={2 * each - 1}"
    ):
        narrow.register(readers[1].evaluation)
    PrivateTable(records, max_clients=None, max_bytes=None).register(readers[0].evaluation)


def test_a_name_has_one_key_set() -> None:
    table = PrivateTable([b"first", b"other"], max_clients=1)
    readers = [Reader(table.plan, table.shape) for _ in range(3)]
    for reader in readers:
        # New keys of a name replace the old ones, so a client cannot fill the server.
        table.register(reader.evaluation, name="ann")
        assert reader.record(table.answer(reader.evaluation, reader.query(1), name="ann"), 1) == b"other"
        assert table.clients == ["ann"]
    # The keys of another name are refused, from every sender.
    last = readers[-1]
    for call in (
        lambda: table.answer(last.evaluation, last.query(0), name="bob"),
        lambda: table.register(last.evaluation, name="bob"),
        lambda: table.register(last.evaluation),
    ):
        with pytest.raises(cm.KeyMismatchError, match="under another name"):
            call()
    table.forget("bob")
    table.forget("ann")
    assert table.clients == []


def test_answers_do_not_replace_keys() -> None:
    """Otherwise two connections of one name, with a reader each, prepare keys for every query."""
    table = PrivateTable([b"first", b"other"])
    first, second = (Reader(table.plan, table.shape) for _ in range(2))
    table.register(first.evaluation, name="ann")
    for _ in range(2):
        with pytest.raises(cm.KeyMismatchError, match="'ann' is registered with other keys; call register to replace"):
            table.answer(second.evaluation, second.query(1), name="ann")
        assert first.record(table.answer(first.evaluation, first.query(1), name="ann"), 1) == b"other"
    table.register(second.evaluation, name="ann")
    assert second.record(table.answer(second.evaluation, second.query(1), name="ann"), 1) == b"other"
    # A client that is forgotten is not excluded.
    table.forget("ann")
    assert first.record(table.answer(first.evaluation, first.query(0), name="ann"), 0) == b"first"
    assert table.clients == ["ann"]
    # A query that is not one registers nothing.
    table.forget("ann")
    with pytest.raises(cm.DtypeError, match="the query is of type bytes"):
        table.answer(first.evaluation, b"query", name="ann")  # type: ignore[arg-type]
    assert table.clients == []


def test_keys_that_are_replaced_during_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    table = PrivateTable([b"first", b"other"])
    first, second = (Reader(table.plan, table.shape) for _ in range(2))
    register = table._clients.register

    def interrupted(*arguments: Any, **options: Any) -> Any:
        found = register(*arguments, **options)
        # Another thread is faster.
        monkeypatch.undo()
        table.register(second.evaluation, name="ann")
        return found

    monkeypatch.setattr(table._clients, "register", interrupted)
    assert first.record(table.answer(first.evaluation, first.query(1), name="ann"), 1) == b"other"
    assert second.record(table.answer(second.evaluation, second.query(1), name="ann"), 1) == b"other"


def test_bad_keys_do_not_remove_a_client() -> None:
    table = PrivateTable([b"first", b"other"], max_clients=1)
    first, second = (Reader(table.plan, table.shape) for _ in range(2))
    table.register(first.evaluation, name="ann")
    foreign = cm.MatVecPlan(512, 700).keygen().evaluation
    with pytest.raises(cm.KeyMismatchError):
        table.register(foreign, name="ann")
    assert table.clients == ["ann"]
    assert first.record(table.answer(first.evaluation, first.query(1), name="ann"), 1) == b"other"
    # A replacement needs no further room.
    exact = PrivateTable([b"first", b"other"], max_bytes=table.nbytes)
    for reader in (first, second, first):
        exact.register(reader.evaluation, name="ann")
    assert exact.nbytes == table.nbytes


def test_a_tag_with_other_keys() -> None:
    """The keys for the server of a restored reader have the same tag and other bytes."""
    table = PrivateTable([b"first", b"other"] * 300)
    reader = Reader(table.plan, table.shape)
    again = Reader.from_secret_bytes(table.plan, table.shape, reader.to_secret_bytes())
    assert again.evaluation.to_bytes() != reader.evaluation.to_bytes()
    table.register(reader.evaluation)
    with pytest.raises(cm.KeyMismatchError, match="registered with other keys; call forget"):
        table.register(again.evaluation)
    # The registered keys answer the queries of both readers.
    assert again.record(table.answer(again.evaluation, again.query(1)), 1) == b"other"
    for of in (PrivateTable.register, Reader.from_secret_bytes):
        assert "forget" in (of.__doc__ or "") and "registration" in (of.__doc__ or "")
    table.forget(reader.evaluation.tag)
    table.register(reader.evaluation, name="ann")
    assert table.register(again.evaluation, name="ann") == "ann"


def test_a_secret_key_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy in bytes could not be erased, so the native method gets the object of the caller."""
    table = PrivateTable([b"first", b"other"])
    reader = Reader(table.plan, table.shape)
    secret, key = bytearray(reader.to_secret_bytes()), cm.BfvSecretKey
    given: list[object] = []

    class Key:
        @staticmethod
        def from_secret_bytes(data: Any) -> cm.BfvSecretKey:
            given.append(data)
            return key.from_secret_bytes(data)

    monkeypatch.setattr(lookup._native, "BfvSecretKey", Key)
    again = Reader.from_secret_bytes(table.plan, table.shape, secret)
    assert given[0] is secret
    assert again.to_secret_bytes() == bytes(secret)
    monkeypatch.undo()
    view = memoryview(bytes(secret))
    view.release()
    for other in (None, view, 5, "text"):
        with pytest.raises(cm.DtypeError):
            Reader.from_secret_bytes(table.plan, table.shape, other)  # type: ignore[arg-type]


def test_records_of_other_classes() -> None:
    for records in ("text", b"text", 5, None, {b"a": b"b"}):
        with pytest.raises(cm.DtypeError, match="use a sequence of bytes or an array"):
            PrivateTable(records)
    with pytest.raises(cm.DtypeError, match="a record is of type str; use bytes"):
        PrivateTable([b"a", "b"])  # type: ignore[list-item]
