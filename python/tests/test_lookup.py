"""Private lookup."""

import numpy as np
import pytest

import ciphermill as cm
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
    with pytest.raises(cm.ParameterError, match="record 7 of 2; use -2 to 1"):
        reader.record(table.answer(reader.evaluation, reader.query(0)), 7)
