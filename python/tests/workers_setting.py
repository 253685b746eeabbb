"""What the tests of the workers share: a product of two parties, and a view of the processes of Ray."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ciphermill._hetero.by_bfv import BfvTerms
from ciphermill._hetero.numbers import Columns
from ciphermill._hetero.report import Report
from ciphermill._hetero.workers import Workers


class Product:
    """A matrix of one party, batches of it, and the keys of another one."""

    def __init__(
        self, features: int, samples: int, blocks: int = 1, workers: Workers | None = None, batches: int = 1
    ) -> None:
        self.rng = np.random.default_rng(20261127)
        shape = (batches, samples, features)
        self.matrices = self.rng.integers(-32767, 32768, shape).astype(np.int16)
        self.terms = BfvTerms(features, samples, answers=64 * blocks, blocks=blocks)
        report = Report("bfv", samples, {})
        self.key_holder = self.terms.key_holder(report)
        columns = [Columns(matrix, np.zeros(features, np.int64)) for matrix in self.matrices]
        self.matrix_holder = self.terms.matrix_holder(columns, report, workers)

    def rekey(self) -> None:
        self.matrix_holder.use_keys(self.key_holder.keys())

    def check(self, batch: int = 0) -> None:
        """One exchange gives the exact integers."""
        samples = self.terms.cells.samples
        theirs, own = self.rng.integers(-(2**18), 2**18, (2, samples))
        masked, share = self.matrix_holder.product(self.key_holder.encrypt(theirs), own, batch)
        residues = self.key_holder.residues(masked)
        assert self.terms.masked.least <= len(masked) <= self.terms.masked.most
        assert self.terms.residues.least <= len(residues) <= self.terms.residues.most
        found = self.matrix_holder.unmask(residues, share)
        expected = self.matrices[batch].astype(np.int64).T @ (theirs + own)
        assert np.array_equal(found, expected)


def parents() -> dict[int, int]:
    """The parent of every process."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    return found


def descendants(ancestor: int) -> Iterator[tuple[int, str]]:
    """The processes below one, with their command lines."""
    parent_of = parents()
    for process in parent_of:
        above: int | None = process
        while above and above != ancestor:
            above = parent_of.get(above)
        if above == ancestor and process != ancestor:
            try:
                words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            yield process, words


def actors() -> list[int]:
    """The processes of actors below this process."""
    return [process for process, words in descendants(os.getpid()) if words.startswith("ray::CellServer")]


def eventually(true: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Whether something becomes true in time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
