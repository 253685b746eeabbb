"""The cases, in the order in which they run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ciphermill_bench.harness import Contender, Effort, ResultsDiffer, Stats, alternate
from ciphermill_bench.record import Report


@dataclass(frozen=True)
class Settings:
    """The options of a run and the facts about the build."""

    only: str
    quick: bool
    #: The command `ciphermill`, built for release.
    command: Path
    #: The path of products, and that of big integers.
    isa: str
    integers: str
    #: A CPU of each core of the machine. This process runs on the first one; processes of a case may use the others.
    cores: list[int]

    @staticmethod
    def of(only: str, quick: bool, command: Path, cores: list[int]) -> Settings:
        """Settings with the paths that the command chooses on this CPU, as the package does."""
        product = bench(command, "hmvp", "--rows", "16", "--cols", "16")
        paillier = bench(command, "paillier", "--key-bits", "2048", "--batch", "8")
        return Settings(only, quick, command, product["isa"], paillier["path"], cores)

    def takes(self, case: str) -> bool:
        """Whether the case is selected."""
        return self.only in case

    def measure(self, case: str, contenders: list[Contender], rounds: int, least: int, budget: float) -> list[Stats]:
        """Time the contenders of a case. `budget` is in seconds; a quick run takes two or three rounds."""
        effort = Effort(3, 2, 1.0) if self.quick else Effort(rounds, least, budget)
        try:
            return alternate(contenders, effort)
        except ResultsDiffer as error:
            raise ResultsDiffer(f"{case}: the first result of {error} is wrong") from error


def bench(command: Path, operation: str, *arguments: str, samples: int = 1) -> dict[str, Any]:
    """The record of `ciphermill bench` on one thread."""
    options = ["--threads", "1", "--samples", str(samples), "--json"]
    done = subprocess.run([command, "bench", operation, *arguments, *options], stdout=subprocess.PIPE, check=True)
    record: dict[str, Any] = json.loads(done.stdout)
    return record


Family = Callable[[Settings, Report], None]


def families(name: str) -> list[Family]:
    """The functions that run the cases of a family. Peers are imported here, after the process is pinned."""
    if name == "federated":
        from ciphermill_bench.cases import federated

        return [federated.run]
    from ciphermill_bench.cases import heu, imports, inference, lookup, phe, product, regression, statistics, tenseal

    return [
        imports.run,
        product.run,
        tenseal.run,
        phe.run,
        heu.run,
        lookup.run,
        regression.run,
        inference.run,
        statistics.run,
    ]
