"""The cases: square matrices in blocks of features, and the contenders that multiply them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciphermill._hetero.by_bfv import BfvTerms

#: Features and samples of a matrix.
SIZES = (1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14)

BLOCKS = (1, 2, 4, 8, 16, 32, 64)

#: Bytes of the object store of a node at most. Its memory is taken when objects come.
STORE = 3 << 30

#: Bytes of a process of Ray and of the benchmark, without matrices and keys.
PROCESS = 256 << 20

#: Bytes of the processes of a node.
NODE = 512 << 20


@dataclass(frozen=True)
class Contender:
    """Threads of one process, or nodes with a worker of one thread each."""

    threads: int = 0
    nodes: int = 0

    @property
    def name(self) -> str:
        """The name in cases."""
        return f"ray-{self.nodes}" if self.nodes else f"threads-{self.threads}"

    @staticmethod
    def of(name: str) -> Contender:
        """The contender of a name."""
        kind, _, count = name.partition("-")
        return Contender(nodes=int(count)) if kind == "ray" else Contender(threads=int(count))


CONTENDERS = (Contender(threads=1), Contender(threads=2), Contender(nodes=1), Contender(nodes=2), Contender(nodes=4))


def case_name(size: int, blocks: int, contender: Contender) -> str:
    """The name of a case, such as `ray/4096/8-blocks/ray-2`."""
    return f"ray/{size}/{blocks}-blocks/{contender.name}"


def terms(size: int, blocks: int) -> BfvTerms:
    """The terms of a matrix in a training with the defaults of `HeteroLogisticRegression`, the peer's in one block."""
    from ciphermill._hetero.by_bfv import BfvTerms
    from ciphermill._hetero.training import Setup

    names = {"guest": size, "host": size}
    setup = Setup("bfv", None, size, names, C=1.0, tol=1e-6, max_iter=200, blocks={"host": blocks})
    return BfvTerms(size, size, setup.masked_products, blocks=blocks)


def memory_bytes(size: int, blocks: int, contender: Contender) -> int:
    """The memory of a case, at most: integers, prepared cells, keys packed and loaded, messages, processes."""
    costs = terms(size, blocks).plan.explain()
    keys = int(costs["key_bytes"])
    integers, prepared = 2 * size * size, blocks * int(costs["matrix_bytes"])
    messages = 4 * blocks * int(costs["product_bytes"])
    # The owner of the key makes all keys here too.
    needed = 2 * integers + prepared + messages + 4 * keys + PROCESS
    if contender.nodes:
        # A second copy of the integers and one of the keys in the store of each node, and loaded keys of each worker.
        needed += integers + contender.nodes * (3 * keys + PROCESS) + (contender.nodes + 1) * NODE
    return needed
