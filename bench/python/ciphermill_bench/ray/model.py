"""An analytic model that extends the measured products to clusters of more nodes. Its results are of the kind "analytic".

The inputs are measured on one machine: the time of a cell on one thread, of a mask, and of calls of a worker without a product. The
network is a parameter. `ASSUMPTIONS` lists what the model takes for granted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NODES = (1, 2, 4, 8, 16, 32, 64)

#: Bits a second between the driver and the nodes together.
BANDWIDTHS = (1e9, 10e9, 25e9)

#: Seconds of a message on its way, in addition to the call on the loopback address.
LATENCY = 100e-6

ASSUMPTIONS = (
    "A node has one worker of one thread, and nodes share no memory bandwidth.",
    "A cell takes the time that one thread of the measured machine takes alone. A worker multiplies one cell at a time.",
    "The driver sends the encrypted vector to each node, and each node sends its products to the driver.",
    "All transfers share one link of the driver, which has its full bandwidth in each direction.",
    f"A call of a worker takes the time measured on the loopback address, and {LATENCY * 1e6:g} µs of latency.",
    "The driver receives and masks products one after the other as they come, while workers multiply further cells.",
    "Keys are in the store of each node already. A training by conjugate gradients sends them twice.",
)


@dataclass(frozen=True)
class Measured:
    """The measured inputs for one size and number of blocks, in nanoseconds and bytes."""

    size: int
    blocks: int
    cells: int
    #: Per product.
    add_ns: float
    #: Per cell.
    cell_ns: float
    mask_ns: float
    #: A call alone, and one among many.
    call_ns: float
    stream_ns: float
    vector_bytes: int
    product_bytes: int
    keys_bytes: int

    @staticmethod
    def of(threads: Mapping[str, Any], workers: Mapping[str, Any]) -> Measured:
        """The inputs from the figures of one thread, and of workers on one node."""
        steps, cells = threads["steps_ns"], threads["cells"]
        return Measured(
            threads["size"],
            threads["blocks"],
            cells,
            steps["add"],
            steps["multiply"] / cells,
            steps["mask"] / cells,
            workers["call_ns"],
            workers["stream_ns"],
            threads["vector_bytes"],
            threads["product_bytes"],
            threads["keys_bytes"],
        )

    def local_ns(self) -> float:
        """A product on one thread, without Ray."""
        return self.add_ns + self.cells * (self.cell_ns + self.mask_ns)

    def product_ns(self, nodes: int, bandwidth: float) -> float:
        """A product on the nodes of a cluster."""
        workers = min(nodes, self.cells)
        each = -(-self.cells // workers)
        send = 8e9 * self.vector_bytes / bandwidth
        receive = 8e9 * self.product_bytes / bandwidth
        begin = self.add_ns + workers * send + self.call_ns + 1e9 * LATENCY
        # The slowest of three lines: a worker with its cells, the link with all products, the driver with all products and masks.
        worker = each * self.cell_ns + receive + self.mask_ns
        link = self.cell_ns + self.cells * receive + self.mask_ns
        driver = self.cell_ns + receive + (self.cells - 1) * self.stream_ns + self.cells * self.mask_ns
        return begin + max(worker, link, driver)

    def keys_ns(self, nodes: int, bandwidth: float) -> float:
        """The transfer of new keys to all nodes."""
        return min(nodes, self.cells) * 8e9 * self.keys_bytes / bandwidth


def extend(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The model for every size and number of blocks that was measured on one thread and on one node."""
    by_name = {(case["size"], case["blocks"], case["contender"]): case for case in cases}
    found = []
    for (size, blocks, contender), threads in by_name.items():
        workers = by_name.get((size, blocks, "ray-1"))
        if contender != "threads-1" or workers is None:
            continue
        measured = Measured.of(threads, workers)
        for bandwidth in BANDWIDTHS:
            for nodes in NODES:
                if nodes <= measured.cells:
                    found.append(
                        {
                            "kind": "analytic",
                            "size": size,
                            "blocks": blocks,
                            "nodes": nodes,
                            "bandwidth_bits_per_s": bandwidth,
                            "product_ns": round(measured.product_ns(nodes, bandwidth), 1),
                            "one_thread_ns": round(measured.local_ns(), 1),
                            "keys_ns": round(measured.keys_ns(nodes, bandwidth), 1),
                        }
                    )
    return found
