"""A separate process that measures one size and one contender, and prints a line of JSON for each case.

python -m ciphermill_bench.ray.child SIZE CONTENDER BLOCKS SAMPLES SECONDS
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ciphermill_bench import machine
from ciphermill_bench.harness import Sample, Stats
from ciphermill_bench.ray.cases import PROCESS, STORE, Contender, case_name, memory_bytes, terms

if TYPE_CHECKING:
    from ciphermill._hetero.workers import CellServer, Octets
    from ciphermill.federated import RayWorkers

#: The steps at the owner of the matrix.
STEPS = ("add", "multiply", "mask")

#: Calls without work, and those of them that are under way together.
CALLS, TOGETHER = 64, 32


@contextmanager
def cluster(nodes: int) -> Iterator[RayWorkers]:
    """A cluster of a head without CPUs and of nodes with one worker each, on the loopback address."""
    with tempfile.TemporaryDirectory(prefix="ray") as folder:
        # Ray reads it when it is imported.
        os.environ["RAY_TMPDIR"] = folder
        import ray
        from ray.cluster_utils import Cluster

        from ciphermill.federated import RayWorkers

        memory = available_bytes()
        head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
        held = Cluster(initialize_head=True, head_node_args=head)
        try:
            for _ in range(nodes):
                held.add_node(num_cpus=1, memory=memory, object_store_memory=STORE)
            with RayWorkers(held.address, actors=nodes, deadline=600) as workers:
                yield workers
        finally:
            ray.shutdown()
            held.shutdown()


class Product:
    """A product at the owner of the matrix: it adds its half, multiplies and masks."""

    def __init__(self, size: int, blocks: int, workers: RayWorkers | None) -> None:
        import numpy as np

        from ciphermill._hetero.numbers import Columns
        from ciphermill._hetero.report import Report

        rng = np.random.default_rng(20261127)
        integers = rng.integers(-32767, 32768, (size, size), np.int16)
        self._theirs, self._own = rng.integers(-(1 << 18), 1 << 18, (2, size))
        self._expected = exact_product(integers, self._theirs + self._own)
        self.terms = terms(size, blocks)
        self.report = Report("bfv", size, {})
        self._guest = self.terms.key_holder(Report("bfv", size, {}))
        columns = Columns(integers, np.zeros(size, np.int64))
        self.prepare_ns, self._host = timed(lambda: self.terms.matrix_holder([columns], self.report, workers))
        self._keys = self._guest.keys()
        self.keys_bytes = len(self._keys)
        self.keys_ns, _ = timed(lambda: self._host.use_keys(self._keys))
        self._vector = self._guest.encrypt(self._theirs)
        self.vector_bytes = len(self._vector)
        # Workers load the keys with their first product.
        self.first_ns, _ = timed(self.run)

    def run(self) -> None:
        """One product."""
        self._masked, self._share = self._host.product(self._vector, self._own, 0)

    def correct(self) -> bool:
        """Whether the last product, decrypted and without its mask, is exact."""
        found = self._host.unmask(self._guest.residues(self._masked), self._share)
        return bool((found == self._expected).all())


def exact_product(integers: Any, vector: Any) -> Any:
    """Xᵀd in integers of 64 bits, by slices: a copy of the whole matrix would have four times its memory."""
    import numpy as np

    slices = np.array_split(np.arange(len(vector)), max(1, len(vector) // 1024))
    return sum(integers[rows].T.astype(np.int64) @ vector[rows] for rows in slices)


def timed(work: Callable[[], Any]) -> tuple[int, Any]:
    """The nanoseconds and the result of a call."""
    start = time.perf_counter_ns()
    result = work()
    return time.perf_counter_ns() - start, result


def measure(product: Product, least: int, seconds: float) -> dict[str, Any]:
    """Samples of products, each checked, and the medians of their steps."""
    samples: list[Sample] = []
    steps: dict[str, list[float]] = {step: [] for step in STEPS}
    correct = product.correct()
    end = time.monotonic() + seconds
    while len(samples) < least or time.monotonic() < end:
        product.report.seconds.clear()
        gc.collect()
        ns, _ = timed(product.run)
        samples.append(Sample(ns, ns))
        for step in STEPS:
            steps[step].append(1e9 * product.report.seconds[step])
        correct = product.correct() and correct
    return {
        **asdict(Stats.of(samples, correct)),
        "times_ns": [sample.typical for sample in samples],
        "steps_ns": {step: statistics.median(times) for step, times in steps.items()},
        "prepare_ns": product.prepare_ns,
        "keys_ns": product.keys_ns,
        "first_ns": product.first_ns,
        "cells": len(product.terms.cells),
        "rows": product.terms.cells.rows,
        "parameters": product.terms.plan.parameters,
        "keys_bytes": product.keys_bytes,
        "vector_bytes": product.vector_bytes,
        "product_bytes": int(product.terms.plan.explain()["product_bytes"]),
        "guarantee": product.terms.guarantee,
    }


def echo(server: CellServer, vector: Octets, size: int) -> Octets:
    """A worker's part of a product without the product: the vector comes, and bytes of the product's size go."""
    import numpy as np

    return np.full(size, vector[0])


def call_ns(workers: RayWorkers, vector_bytes: int, product_bytes: int) -> dict[str, float]:
    """The times of a product that is not computed: of one cell alone, and of one among many."""
    import numpy as np

    pool = workers._pool
    assert pool is not None

    def calls(count: int) -> None:
        handle = pool.put(np.random.default_rng().integers(0, 256, vector_bytes, np.uint8))
        made = [pool.call(0, "__ray_call__", echo, handle, product_bytes) for _ in range(count)]
        for call in made:
            call.result()

    calls(1)
    alone = statistics.median(timed(lambda: calls(1))[0] for _ in range(CALLS))
    together = statistics.median(timed(lambda: calls(TOGETHER))[0] for _ in range(CALLS // TOGETHER + 1))
    return {"call_ns": alone, "stream_ns": together / TOGETHER}


def available_bytes() -> int:
    """Memory that processes may take."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    raise SystemExit("/proc/meminfo has no MemAvailable")


def run(size: int, contender: Contender, blocks: list[int], least: int, seconds: float) -> None:
    """Print the cases of all blocks."""

    def cases(workers: RayWorkers | None) -> None:
        for count in blocks:
            name = case_name(size, count, contender)
            needed, available = memory_bytes(size, count, contender), available_bytes() - PROCESS
            if needed > available:
                reason = f"needs up to {needed} bytes of memory, {available} are available"
                tell(case=name, not_run=reason)
                continue
            product = Product(size, count, workers)
            result = measure(product, least, seconds)
            del product
            gc.collect()
            if workers is not None:
                result |= call_ns(workers, result["vector_bytes"], result["product_bytes"])
            tell(case=name, size=size, blocks=count, contender=contender.name, **result)

    if contender.nodes:
        with cluster(contender.nodes) as workers:
            cases(workers)
    else:
        cases(None)


def tell(**answer: Any) -> None:
    """Print a line of JSON."""
    print("=" + json.dumps(answer, allow_nan=False), flush=True)


def main() -> None:
    size, contender, blocks, samples, seconds = sys.argv[1:]
    chosen = Contender.of(contender)
    # The package starts its threads when it is first used.
    if chosen.threads == 1:
        machine.pin()
    elif chosen.threads:
        os.sched_setaffinity(0, set(machine.cores()[: chosen.threads]))
    import ciphermill

    ciphermill.set_threads(chosen.threads or 1)
    run(int(size), chosen, [int(count) for count in blocks.split(",")], int(samples), float(seconds))


if __name__ == "__main__":
    main()
