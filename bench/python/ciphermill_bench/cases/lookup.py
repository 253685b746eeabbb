"""Private lookup: the server's time of an answer, and the bytes of both directions."""

from __future__ import annotations

import numpy as np

from ciphermill.lookup import PrivateTable, Reader
from ciphermill_bench.cases import Settings
from ciphermill_bench.cases.product import plan_params
from ciphermill_bench.harness import Timed
from ciphermill_bench.record import Case, Report

RECORD_BYTES = 256

#: Records, and the aim for an answer in nanoseconds.
TABLES = {4096: 2e6, 16384: 7e6}


class Answer(Timed):
    """The server's answer to a query; its table is prepared for the client."""

    name = "ciphermill"

    def __init__(self, records: int) -> None:
        super().__init__()
        rng = np.random.default_rng(5)
        self._records = rng.integers(0, 256, (records, RECORD_BYTES), dtype=np.uint8)
        self.table = PrivateTable(self._records)
        self._reader = Reader(self.table.plan, self.table.shape)
        self._keys = self._reader.evaluation
        self.table.register(self._keys)
        self._indices = [0, records - 1, *rng.integers(0, records, 6).tolist()]
        self._queries = [self._reader.query(index) for index in self._indices]
        self._turn = 0
        self._answer = self.table.answer(self._keys, self._queries[0])

    def prepare(self, turn: int) -> None:
        self._turn = turn % len(self._queries)

    def run(self) -> None:
        self._answer = self.table.answer(self._keys, self._queries[self._turn])

    def correct(self) -> bool:
        index = self._indices[self._turn]
        found: bytes = self._reader.record(self._answer, index)
        return found == bytes(self._records[index])

    def figures(self) -> dict[str, int]:
        """Bytes of the table and of all messages."""
        return {
            "table_bytes": self._records.nbytes,
            "keys_bytes": len(self._keys.to_bytes()),
            "query_bytes": len(self._queries[0].to_bytes()),
            "answer_bytes": len(self._answer.to_bytes()),
        }


def run(settings: Settings, report: Report) -> None:
    """Both tables. There is no peer: another library has no such lookup."""
    for records, limit in TABLES.items():
        name = f"lookup/{records}x{RECORD_BYTES}"
        if not settings.takes(name):
            continue
        answer = Answer(records)
        (stats,) = settings.measure(name, [answer], 400, 50, 4.0)
        case = Case(name, plan_params(answer.table.plan), settings.isa, "the client's keys are sent once")
        report.add(case, stats, asked={"median_ns": limit}, figures=answer.figures())
