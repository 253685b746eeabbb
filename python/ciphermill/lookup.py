"""Private lookup: a client reads one record of a server's table, and the server does not learn which.

    table = PrivateTable(records)                        # the server
    reader = Reader(table.plan, table.shape)             # the client
    answer = table.answer(reader.evaluation, reader.query(17))
    reader.record(answer, 17)                            # its bytes

Records are the columns of a matrix, and the query is an encrypted unit vector: the answer is an encrypted product. The server
sees only ciphertexts. The client is trusted with the table: a query that is not a unit vector reads a sum of records.

A key set carries a tag, which its client draws at random. The tag tells key sets apart and authenticates no one. A server of
several clients authenticates each of them, for example by TLS certificates, and gives the authenticated name to
`PrivateTable.register` and `PrivateTable.answer`: a name has one key set, so that no client can fill the server's memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NoReturn, Self

import numpy as np
import numpy.typing as npt

from ciphermill import _native
from ciphermill._checks import instance, integer, limit, require_memory
from ciphermill._clients import MAX_BYTES, MAX_CLIENTS, Clients, Registered
from ciphermill._memory import key_set_memory
from ciphermill.errors import DtypeError, ParameterError, SecretError

__all__ = ["PrivateTable", "Reader"]

#: The greatest number of rows or columns of a matrix.
MAX_DIMENSION = 16384

#: The default limit of a client: bytes of memory of its keys.
MAX_KEY_BYTES = 256 << 20


def _layout(count: int) -> tuple[int, int]:
    """The folds of a table, which are the records in a column, and the columns."""
    folds = -(-count // MAX_DIMENSION)
    return folds, -(-count // folds)


def _as_bytes(records: Sequence[bytes] | npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The records as an array of shape (number, bytes of each)."""
    if isinstance(records, np.ndarray):
        if records.dtype != np.uint8 or records.ndim != 2:
            raise ParameterError(
                f"the records have the dtype {records.dtype} and the shape {records.shape}; use uint8 and two axes"
            )
        array = records
    else:
        if not isinstance(records, Sequence) or isinstance(records, bytes | str):
            raise DtypeError(f"the records are of type {type(records).__name__}; use a sequence of bytes or an array")
        for record in records:
            instance(record, bytes, "a record")
        lengths = {len(record) for record in records}
        if len(lengths) > 1:
            raise ParameterError(f"records have {min(lengths)} to {max(lengths)} bytes; use one length, with padding")
        length = lengths.pop() if lengths else 0
        array = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), length)
    if array.size == 0:
        raise ParameterError("the table is empty; use 1 or more records of 1 or more bytes")
    return array


class PrivateTable:
    """A table of records of equal length, on the server.

    A table of more than 16384 records puts several of them into each column; a client then receives all records of a column.
    The bytes of a column are 16384 at most.

    `max_clients` limits the registered clients, 1024 by default. `max_bytes` limits the memory of their keys, 8 GiB by default.
    `None` is no limit. While new keys of a name replace its old ones, the table has both. All clients share the prepared table.

    Raises `ParameterError` for records of several lengths, no records, or too many of them; `DtypeError` for objects that are
    not bytes.
    """

    def __init__(
        self,
        records: Sequence[bytes] | npt.NDArray[np.uint8],
        *,
        max_clients: int | None = MAX_CLIENTS,
        max_bytes: int | None = MAX_BYTES,
    ) -> None:
        array = _as_bytes(records)
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        count, length = self.shape
        folds, columns = _layout(count)
        if folds * length > MAX_DIMENSION:
            raise ParameterError(
                f"{count} records of {length} bytes do not fit; use at most {MAX_DIMENSION * (MAX_DIMENSION // length)} records, or "
                f"split records to {MAX_DIMENSION // folds} bytes"
            )
        self.plan = _native.MatVecPlan(folds * length, columns, matrix_bits=8, vector_bits=2)
        # Record i is in column i mod columns, fold i div columns. Bytes are their two's complement.
        padded = np.zeros((folds * columns, length), np.uint8)
        padded[:count] = array
        matrix = (
            padded.view(np.int8).reshape(folds, columns, length).transpose(0, 2, 1).reshape(folds * length, columns)
        )
        self._matrix = self.plan.prepare(np.ascontiguousarray(matrix))
        key_bytes = int(self.plan.explain()["key_bytes"])
        self._clients: Clients[_native.PreparedMatrix] = Clients(key_bytes, max_clients, max_bytes)

    @property
    def clients(self) -> list[str]:
        """The names of the registered clients."""
        return self._clients.names

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the registered clients need: their keys, and 4096 bytes each."""
        return self._clients.nbytes

    def register(self, evaluation: _native.EvaluationKeys, *, name: str | None = None) -> str:
        """Prepare the keys of a client, so that its first query takes no longer than the others, and return its name.

        `name` is the client's name as the operator has authenticated it; by default, it is the tag of the keys. A name has one
        key set: new keys replace the old ones. The old keys stay until the new ones are prepared, so an error changes nothing.
        During a replacement the table has both key sets of one client, which may exceed `max_bytes` by one client. Registering
        the same keys again changes nothing.

        Raises `KeyMismatchError` for keys of another plan, if the tag belongs to another client, or if no name is given and the
        tag is registered with other keys; `MemoryLimitError` beyond `max_clients` or `max_bytes`, before memory is allocated.

        A reader that `Reader.from_secret_bytes` made has the tag of the first reader and other evaluation keys. Without a name
        they are refused: use the registration of the first reader, which answers the queries of both, or call `forget` first.
        """
        return self._register(instance(evaluation, _native.EvaluationKeys, "the evaluation keys"), name).name

    def _register(
        self, keys: _native.EvaluationKeys, name: str | None, *, replace: bool = True
    ) -> Registered[_native.PreparedMatrix]:
        digest = hashlib.sha256(keys.to_bytes()).digest()
        return self._clients.register(
            keys.tag, digest, name, lambda: self._matrix.for_server(self.plan.server(keys)), replace=replace
        )

    def forget(self, name: str) -> None:
        """Free the memory that a client's keys use. The name is by default the tag of its keys; an unknown name
        changes nothing.

        It does not exclude the client: `register` and `answer` accept its keys again. A server that excludes clients checks
        their authenticated names before both.
        """
        self._clients.forget(name)

    def answer(
        self,
        evaluation: _native.EvaluationKeys,
        query: _native.EncryptedVector,
        *,
        name: str | None = None,
    ) -> _native.EncryptedProduct:
        """The encrypted record of an encrypted query.

        Keys with an unknown tag are registered first, under `name`, also those of a client that was forgotten. For a known tag,
        the registered keys are used. `answer` never replaces the keys of a name: only `register` does.

        Raises as `register`, and `KeyMismatchError` for a query under other keys, for the keys of another name, and for keys
        with an unknown tag whose name has other keys.
        """
        keys = instance(evaluation, _native.EvaluationKeys, "the evaluation keys")
        query = instance(query, _native.EncryptedVector, "the query")
        client = self._clients.get(keys.tag, name)
        if client is None:
            client = self._register(keys, name, replace=False)
        return client.prepared @ query

    def __reduce__(self) -> NoReturn:
        raise SecretError("a table holds the keys of its clients and is not pickled; pickle its records")

    def __len__(self) -> int:
        return self.shape[0]


def _shape_of(plan: _native.MatVecPlan, shape: tuple[int, int]) -> tuple[int, int]:
    """The shape of a table, checked against its plan."""
    try:
        count, length = shape
    except (TypeError, ValueError):
        raise ParameterError(f"the shape is {shape!r}; use (records, bytes of each)") from None
    count = integer(count, "the number of records", 1, MAX_DIMENSION**2)
    length = integer(length, "the number of bytes of a record", 1, MAX_DIMENSION)
    folds, columns = _layout(count)
    if plan.shape != (folds * length, columns) or plan.matrix_bits != 8:
        raise ParameterError(
            f"the plan has the shape {plan.shape} and {plan.matrix_bits} bits; use the plan of a table of the shape "
            f"{(count, length)}, which has the shape {(folds * length, columns)} and 8 bits"
        )
    return count, length


class Reader:
    """A client of a table with its own key set.

    `plan` and `shape` are those of the table. The server chooses them, so the client limits the memory of its keys:
    `max_key_bytes`, 256 MiB by default; `None` is no limit.

    Raises `ParameterError` if the plan is not that of a table of the shape, `MemoryLimitError` if the keys need more than
    `max_key_bytes`, before they are generated.
    """

    def __init__(
        self, plan: _native.MatVecPlan, shape: tuple[int, int], *, max_key_bytes: int | None = MAX_KEY_BYTES
    ) -> None:
        self._start(plan, shape, max_key_bytes, lambda plan: plan.keygen())

    @classmethod
    def from_secret_bytes(
        cls,
        plan: _native.MatVecPlan,
        shape: tuple[int, int],
        data: bytes | bytearray | memoryview,
        *,
        max_key_bytes: int | None = MAX_KEY_BYTES,
    ) -> Self:
        """The reader of an existing secret key, from its `to_secret_bytes`; the keys for the server are made again.

        The new keys have the tag of the old ones and other bytes, so `PrivateTable.register` refuses them, without a name,
        while the old ones are registered. Use the old registration, which answers the queries of both readers, or call
        `PrivateTable.forget` first. `data` may be a `bytearray`, which its owner can erase; copies are erased after use.

        Raises `WireError` for other bytes, `KeyMismatchError` for a key of another parameter set, and the errors of `Reader`.
        """
        self = cls.__new__(cls)
        # The native method reads the object itself: a copy here could not be erased.
        self._start(plan, shape, max_key_bytes, lambda plan: plan.client(_native.BfvSecretKey.from_secret_bytes(data)))
        return self

    def _start(
        self,
        plan: _native.MatVecPlan,
        shape: tuple[int, int],
        max_key_bytes: int | None,
        client: Callable[[_native.MatVecPlan], _native.MatVecClient],
    ) -> None:
        most = limit(max_key_bytes, "max_key_bytes")
        self.shape = _shape_of(instance(plan, _native.MatVecPlan, "the plan"), shape)
        needed = key_set_memory(plan.explain())
        require_memory(needed, f"the key set of a plan of shape {plan.shape}", most, "max_key_bytes", "a smaller table")
        self._client = client(plan)
        self._columns = plan.shape[1]

    def to_secret_bytes(self) -> bytes:
        """The secret key in clear."""
        return self._client.secret.to_secret_bytes()

    def __reduce__(self) -> NoReturn:
        raise SecretError("a reader holds a secret key and is not pickled; use to_secret_bytes")

    def __repr__(self) -> str:
        return f"<Reader of {self.shape[0]} records, key set {self._client.evaluation.tag}>"

    @property
    def evaluation(self) -> _native.EvaluationKeys:
        """The keys for the server."""
        return self._client.evaluation

    def query(self, index: int) -> _native.EncryptedVector:
        """The encrypted query of a record; negative indices count from the end.

        Raises `ParameterError` for an index beyond the table.
        """
        unit = np.zeros(self._columns, np.int8)
        unit[self._checked(index) % self._columns] = 1
        return self._client.encrypt(unit)

    def _checked(self, index: int) -> int:
        """The index, counted from the start."""
        count = self.shape[0]
        return integer(index, "the index of a record", -count, count - 1) % count

    def record(self, answer: _native.EncryptedProduct, index: int) -> bytes:
        """The record of an answer to the query of `index`. The caller has to give the index of that query.

        Raises `ParameterError` for an index beyond the table, `KeyMismatchError` for an answer to another reader.
        """
        length = self.shape[1]
        index = self._checked(index)
        product = instance(answer, _native.EncryptedProduct, "the answer")
        column = self._client.decrypt(product).astype(np.int8).view(np.uint8)
        fold = index // self._columns
        return column[fold * length : (fold + 1) * length].tobytes()
