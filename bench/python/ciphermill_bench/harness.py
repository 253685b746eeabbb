"""Alternating measurement: each round takes a sample of every contender, so that a disturbance of the machine affects all."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

#: A sample lasts at least this long: shorter calls are timed several at once.
LEAST_SAMPLE_NS = 50_000

#: Work up to this long runs once untimed before each sample, because the other contenders have evicted its data from caches.
WARMED_NS = 20_000_000


class ResultsDiffer(Exception):
    """A contender's first result is wrong, so that its time would mean nothing."""


@dataclass(frozen=True)
class Effort:
    """The duration of a comparison."""

    #: Rounds at most.
    rounds: int
    #: Rounds at least, even beyond the budget.
    least_rounds: int
    #: Seconds after which no round begins, once the least number is complete.
    budget: float


@dataclass(frozen=True)
class Sample:
    """Nanoseconds of one operation. `least` and `typical` are equal unless the sample itself is a series of times."""

    least: float
    typical: float


@dataclass(frozen=True)
class Stats:
    """The samples of a contender, in nanoseconds of one operation."""

    min_ns: float
    median_ns: float
    #: The first and the third quartile.
    quartiles_ns: tuple[float, float]
    samples: int
    #: Whether every result was right.
    correct: bool

    @staticmethod
    def of(samples: Sequence[Sample], correct: bool) -> Stats:
        """Statistics of at least one sample."""
        typical = sorted(sample.typical for sample in samples)
        if len(typical) > 1:
            first, _, third = statistics.quantiles(typical, n=4, method="inclusive")
        else:
            first = third = typical[0]
        least = min(sample.least for sample in samples)
        return Stats(least, statistics.median(typical), (first, third), len(typical), correct)


class Contender:
    """One side of a comparison. Each round calls `prepare`, `sample` and `correct`."""

    #: The name in messages.
    name = ""

    def prepare(self, turn: int) -> None:
        """Set up the inputs of sample number `turn`, untimed."""

    def warm_up(self) -> None:
        """Do the work once, before the first sample."""
        self.sample()

    def sample(self) -> Sample:
        """Do the work and return its time."""
        raise NotImplementedError

    def correct(self) -> bool:
        """Whether the last result is right, untimed."""
        raise NotImplementedError


class Timed(Contender):
    """A contender whose method `run` is timed."""

    #: Operations of one run; times are those of one operation.
    operations = 1

    def __init__(self) -> None:
        self._calls = 1
        self._warmed = False

    def run(self) -> None:
        """The timed work."""
        raise NotImplementedError

    def _timed(self, calls: int) -> float:
        """Nanoseconds of one of several runs."""
        start = time.perf_counter_ns()
        for _ in range(calls):
            self.run()
        return (time.perf_counter_ns() - start) / calls

    def warm_up(self) -> None:
        """Run once, and once more if that is short, to choose the number of runs of a sample."""
        once = self._timed(1)
        self._warmed = once < WARMED_NS
        if self._warmed:
            once = self._timed(1)
        self._calls = max(1, math.ceil(LEAST_SAMPLE_NS / max(once, 1.0)))

    def sample(self) -> Sample:
        """The mean time of the runs of a sample."""
        if self._warmed:
            self.run()
        ns = self._timed(self._calls) / self.operations
        return Sample(ns, ns)


class Series(Timed):
    """A contender whose samples are series of runs, each after one untimed run, like those of a peer that times itself."""

    #: Timed runs of a sample.
    length = 20

    def sample(self) -> Sample:
        """The least and the median time of a series."""
        self.run()
        times = [self._timed(1) / self.operations for _ in range(self.length)]
        return Sample(min(times), statistics.median(times))


def alternate(contenders: Sequence[Contender], effort: Effort) -> list[Stats]:
    """Time the contenders in turn: A B C, B C A, C A B, ….

    Each result is checked. Raises `ResultsDiffer` before the first sample if a contender's first result is wrong.
    """
    for contender in contenders:
        contender.prepare(0)
        contender.warm_up()
        if not contender.correct():
            raise ResultsDiffer(contender.name)
    samples: list[list[Sample]] = [[] for _ in contenders]
    correct = [True for _ in contenders]
    begun = time.monotonic()
    for turn in range(max(1, effort.rounds)):
        if turn >= effort.least_rounds and time.monotonic() - begun > effort.budget:
            break
        for step in range(len(contenders)):
            index = (turn + step) % len(contenders)
            contenders[index].prepare(turn)
            gc.collect()
            gc.disable()
            try:
                samples[index].append(contenders[index].sample())
            finally:
                gc.enable()
            correct[index] &= contenders[index].correct()
    return [Stats.of(taken, right) for taken, right in zip(samples, correct, strict=True)]
