"""Private lookup: a client reads one record of a server's table, and the server does not learn which.

    table = PrivateTable(records)                        # the server
    reader = Reader(table.plan, table.shape)             # the client
    answer = table.answer(reader.evaluation, reader.query(17))
    reader.record(answer, 17)                            # its bytes

Records are the columns of a matrix, and the query is an encrypted unit vector: the answer is an encrypted product. The server
sees only ciphertexts. The client is trusted with the table: a query that is not a unit vector reads a sum of records.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ciphermill import _native
from ciphermill.errors import ParameterError

__all__ = ["PrivateTable", "Reader"]

#: The greatest number of rows or columns of a matrix.
MAX_DIMENSION = 16384


def _as_bytes(records: Sequence[bytes] | npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The records as an array of shape (number, bytes of each)."""
    if isinstance(records, np.ndarray):
        if records.dtype != np.uint8 or records.ndim != 2:
            raise ParameterError(f"records of dtype {records.dtype} and shape {records.shape}; use uint8 and two axes")
        array = records
    else:
        lengths = {len(record) for record in records}
        if len(lengths) > 1:
            raise ParameterError(f"records have {min(lengths)} to {max(lengths)} bytes; pad them to one length")
        length = lengths.pop() if lengths else 0
        array = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), length)
    if array.size == 0:
        raise ParameterError("the table is empty; give at least one record of one byte")
    return array


class PrivateTable:
    """A table of records of equal length, on the server.

    A table of more than 16384 records puts several of them into each column; a client then receives all records of a column.
    The bytes of a column are 16384 at most.
    """

    def __init__(self, records: Sequence[bytes] | npt.NDArray[np.uint8]) -> None:
        array = _as_bytes(records)
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        count, length = self.shape
        folds = -(-count // MAX_DIMENSION)
        if folds * length > MAX_DIMENSION:
            raise ParameterError(
                f"{count} records of {length} bytes do not fit; use at most {MAX_DIMENSION * (MAX_DIMENSION // length)} records, or "
                f"split records to {MAX_DIMENSION // folds} bytes"
            )
        columns = -(-count // folds)
        self.plan = _native.MatVecPlan(folds * length, columns, matrix_bits=8, vector_bits=2)
        # Record i is in column i mod columns, fold i div columns. Bytes are their two's complement.
        padded = np.zeros((folds * columns, length), np.uint8)
        padded[:count] = array
        matrix = (
            padded.view(np.int8).reshape(folds, columns, length).transpose(0, 2, 1).reshape(folds * length, columns)
        )
        self._matrix = np.ascontiguousarray(matrix)
        self._prepared: dict[str, _native.PreparedMatrix] = {}

    def register(self, evaluation: _native.EvaluationKeys) -> None:
        """Prepare the table for a client, so that its first query takes no longer than the others."""
        if evaluation.tag not in self._prepared:
            self._prepared[evaluation.tag] = self.plan.server(evaluation).prepare(self._matrix)

    def forget(self, tag: str) -> None:
        """Free the memory that a client's keys and matrix use."""
        self._prepared.pop(tag, None)

    def answer(self, evaluation: _native.EvaluationKeys, query: _native.EncryptedVector) -> _native.EncryptedProduct:
        """The encrypted record of an encrypted query."""
        self.register(evaluation)
        return self._prepared[evaluation.tag] @ query

    def __len__(self) -> int:
        return self.shape[0]


class Reader:
    """A client of a table with its own key set."""

    def __init__(self, plan: _native.MatVecPlan, shape: tuple[int, int]) -> None:
        self._client = plan.keygen()
        self._columns = plan.shape[1]
        self.shape = shape

    @property
    def evaluation(self) -> _native.EvaluationKeys:
        """The keys for the server."""
        return self._client.evaluation

    def query(self, index: int) -> _native.EncryptedVector:
        """The encrypted query of a record; negative indices count from the end."""
        unit = np.zeros(self._columns, np.int8)
        unit[self._checked(index) % self._columns] = 1
        return self._client.encrypt(unit)

    def _checked(self, index: int) -> int:
        """The index, counted from the start."""
        index, count = operator.index(index), self.shape[0]
        if not -count <= index < count:
            raise ParameterError(f"record {index} of {count}; use {-count} to {count - 1}")
        return index % count

    def record(self, answer: _native.EncryptedProduct, index: int) -> bytes:
        """The record of an answer to the query of `index`. The caller has to give the index of that query.

        Raises `ParameterError` for an index beyond the table.
        """
        length = self.shape[1]
        index = self._checked(index)
        column = self._client.decrypt(answer).astype(np.int8).view(np.uint8)
        fold = index // self._columns
        return column[fold * length : (fold + 1) * length].tobytes()
