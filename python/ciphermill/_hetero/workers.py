"""The seam of the workers, which compute the products of a party's cells with encrypted vectors.

Workers see the matrix of one party and encrypted vectors. A product uses no random numbers, so that another worker can compute it
again with the same result. The caller draws the masks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ciphermill._hetero.numbers import Columns
from ciphermill._hetero.tiles import Cells, least_blocks
from ciphermill._native import (
    EncryptedProduct,
    EncryptedVector,
    EvaluationKeys,
    MatVecPlan,
    MatVecServer,
    PreparedMatrix,
    __version__,
    set_threads,
)
from ciphermill.errors import ParameterError

#: Bytes of an object, as an array that shared memory can hold.
Octets = npt.NDArray[np.uint8]


class Products(Protocol):
    """The products of one party's matrices, which stay prepared for all key sets."""

    def use_keys(self, keys: EvaluationKeys, data: memoryview) -> None:
        """The keys of the vectors that follow, and their bytes."""
        ...

    def multiply(self, vectors: Sequence[EncryptedVector], batch: int) -> Iterator[EncryptedProduct]:
        """The products of all cells of a batch, in the order of the cells. There is a vector for each tile."""
        ...


class Workers(ABC):
    """Prepares matrices for products."""

    def blocks(self, features: int) -> int:
        """The number of blocks into which a matrix of this many features is cut, by default as few as possible."""
        return least_blocks(features)

    @abstractmethod
    def prepare(self, plan: MatVecPlan, cells: Cells, batches: Sequence[Columns]) -> Products:
        """The products of a matrix for each batch. All cells have the plan."""


class Local(Workers):
    """The threads of this process. `blocks` is the number of blocks, at most one for each feature."""

    def __init__(self, blocks: int | None = None) -> None:
        self._blocks = blocks

    def blocks(self, features: int) -> int:
        return requested_blocks(self._blocks, features)

    def prepare(self, plan: MatVecPlan, cells: Cells, batches: Sequence[Columns]) -> LocalProducts:
        return LocalProducts(plan, cells, batches)


class LocalProducts:
    """The products by the threads of this process."""

    def __init__(self, plan: MatVecPlan, cells: Cells, batches: Sequence[Columns]) -> None:
        self._plan = plan
        self._cells = cells
        self._matrices = [
            [plan.prepare(cells.matrix(columns.integers, block, tile)) for block, tile in cells] for columns in batches
        ]

    def use_keys(self, keys: EvaluationKeys, data: memoryview) -> None:
        server = self._plan.server(keys)
        self._prepared: list[list[PreparedMatrix]] = [
            [matrix.for_server(server) for matrix in batch] for batch in self._matrices
        ]

    def multiply(self, vectors: Sequence[EncryptedVector], batch: int) -> Iterator[EncryptedProduct]:
        for (_, tile), matrix in zip(self._cells, self._prepared[batch], strict=True):
            yield matrix @ vectors[tile]


def requested_blocks(blocks: int | None, features: int) -> int:
    """The blocks of a matrix: the requested number, at most one for each feature, at least as many as the plan needs."""
    least = least_blocks(features)
    return least if blocks is None else max(least, min(blocks, features))


# Workers in other processes.

#: Returns the arrays of a list of handles.
Fetch = Callable[[list[Any]], list[npt.NDArray[Any]]]


@dataclass(frozen=True)
class Cell:
    """One cell of a prepared matrix, as another process needs it."""

    #: The name of the matrix.
    matrix: str
    #: The plan as bytes.
    plan: bytes
    cells: Cells
    batch: int
    block: int
    tile: int
    #: The path of a file .npy with the data of the batch, a row for each sample; or a list with the handle of the cell's array.
    source: str | list[Any]

    @property
    def key(self) -> tuple[str, int, int, int]:
        """The name of the cell."""
        return self.matrix, self.batch, self.block, self.tile

    def load(self, fetch: Fetch) -> npt.NDArray[np.int16]:
        """The integers, of shape (rows, columns)."""
        if not isinstance(self.source, str):
            (integers,) = fetch(self.source)
            return np.asarray(integers)
        return self.cells.matrix(np.load(self.source, mmap_mode="r", allow_pickle=False), self.block, self.tile)


@dataclass(frozen=True)
class Keys:
    """The evaluation keys of a key set."""

    #: The key set.
    tag: str
    #: A list with the handle of the bytes.
    source: list[Any]


class CellServer:
    """A process that computes products of cells.

    Prepared cells and keys are a cache. Each call carries the data to make them again, so that the process may be replaced at any
    time.
    """

    def __init__(self, fetch: Fetch, threads: int) -> None:
        set_threads(threads)
        self._fetch = fetch
        self._plans: dict[str, MatVecPlan] = {}
        self._cells: dict[tuple[str, int, int, int], PreparedMatrix] = {}
        self._servers: dict[str, tuple[str, MatVecServer]] = {}

    def ready(self, version: str) -> None:
        """Raises `ParameterError` if this process has another version of the package."""
        if version != __version__:
            raise ParameterError(
                f"a worker has ciphermill {__version__}, this process has {version}; install one version on all nodes"
            )

    def node(self) -> str:
        """The node of this process in a Ray cluster."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def prepare(self, cell: Cell) -> None:
        """Prepare a cell, unless it is prepared."""
        self._prepared(cell)

    def multiply(self, cell: Cell, keys: Keys, vector: Octets) -> Octets:
        """The product of a cell with an encrypted vector."""
        matrix, plan = self._prepared(cell), self._plan(cell)
        tag, server = self._servers.get(cell.matrix, ("", None))
        if server is None or tag != keys.tag:
            # The old keys are released before the new ones are loaded.
            self._servers.pop(cell.matrix, None)
            (data,) = self._fetch(keys.source)
            server = plan.server(EvaluationKeys.from_bytes(plan, data.data))
            self._servers[cell.matrix] = keys.tag, server
        product = matrix.for_server(server) @ EncryptedVector.from_bytes(plan, vector.data)
        return as_octets(product.to_bytes())

    def forget(self, matrix: str) -> None:
        """Release a matrix and its keys."""
        self._plans.pop(matrix, None)
        self._servers.pop(matrix, None)
        for key in [key for key in self._cells if key[0] == matrix]:
            del self._cells[key]

    def held(self) -> int:
        """Bytes of all prepared cells."""
        return sum(matrix.nbytes for matrix in self._cells.values())

    def _plan(self, cell: Cell) -> MatVecPlan:
        if cell.matrix not in self._plans:
            self._plans[cell.matrix] = MatVecPlan.from_bytes(cell.plan)
        return self._plans[cell.matrix]

    def _prepared(self, cell: Cell) -> PreparedMatrix:
        if cell.key not in self._cells:
            self._cells[cell.key] = self._plan(cell).prepare(cell.load(self._fetch))
        return self._cells[cell.key]


def as_octets(data: bytes | memoryview) -> Octets:
    """The bytes as an array, without a copy."""
    return np.frombuffer(data, np.uint8)
