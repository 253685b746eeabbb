"""One party's training and scoring over a session."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ciphermill._hetero.messages import Program, Receive, Send
from ciphermill._hetero.numbers import Floats
from ciphermill._hetero.party import Party
from ciphermill._hetero.report import Report
from ciphermill._hetero.solver import Solver, State
from ciphermill._hetero.training import Setup, arbiters_part, party, solver
from ciphermill.errors import PeerError
from ciphermill.federated._session import ARBITER, GUEST, HOST, START, Decision, Session, Task
from ciphermill.federated._state import Saved, Store

#: Sees the report after each iteration.
Progress = Callable[[Report], None]


@dataclass(frozen=True)
class Options:
    """The options of a training that all parties must have alike: those of `Setup`, without the columns."""

    backend: str
    samples: int
    C: float
    tol: float
    max_iter: int
    solver: str = "cg"
    learning_rate: float | None = None
    batch_size: int | None = None
    seed: int = 0
    restarts: int = 8
    allow_label_leak: bool = False
    #: A digest of the ids of the rows, or an empty text.
    ids: str = ""

    def setup(self, features: dict[str, int], arbiter: str | None) -> Setup:
        """The setup with the columns of every party."""
        options = {name: value for name, value in vars(self).items() if name != "ids"}
        return Setup(features=features, arbiter=arbiter, **options)


@dataclass(frozen=True)
class Columns:
    """The data of a party: values of shape (samples, features), for the guest labels ±1 and whether there is an intercept."""

    values: Floats
    labels: Floats | None = None
    intercept: bool = False

    @property
    def features(self) -> int:
        """The columns with the intercept."""
        return int(self.values.shape[1]) + self.intercept

    def digest(self) -> bytes:
        """SHA-256 of the data."""
        hashed = hashlib.sha256(np.ascontiguousarray(self.values, np.float64).data)
        hashed.update(bytes([self.intercept]))
        if self.labels is not None:
            hashed.update(np.ascontiguousarray(self.labels, np.float64).data)
        return hashed.digest()


class Training:
    """One party's training: its setup, its part of each epoch, its states."""

    def __init__(
        self, session: Session, options: Options, data: Columns, store: Store, progress: Progress | None = None
    ) -> None:
        self._session = session
        self._options = options
        self._data = data
        self._store = store
        self._progress = progress
        self._solver: Solver | None = None
        self._setup: Setup | None = None
        self._answers = 0

    def run(self) -> tuple[Floats, Report]:
        """Train. Returns the weights of this party, the intercept last, and the report."""
        saved = self._store.load()
        newest = saved[max(saved)] if saved else None
        self._answers = newest.answers if newest else 0
        self._task = Task(
            name="train",
            shared={**vars(self._options), "parties": sorted(self._session.names)},
            own={"features": self._data.features},
            restarts=self._options.restarts,
            session=newest.session if newest else "",
            restart=newest.restart if newest else 0,
            iterations=lambda: tuple(self._store.load()),
        )
        self._session.observe = self._observe
        try:
            weights = self._session.run(self._task, self._part)
        finally:
            self._session.observe = None
        return weights, self._report

    def _part(self, decision: Decision) -> Program[Floats]:
        own = self._prepared(decision)
        self._report.restarts = decision.restart
        if decision.iteration == START:
            self._store.keep(None)
            return own.solve(None, self._checkpoint)
        self._store.keep(decision.iteration)
        return own.solve(self._store.load()[decision.iteration].state, self._checkpoint)

    def _prepared(self, decision: Decision) -> Solver:
        """The solver, made once: the prepared matrices do not depend on the epoch."""
        setup = self._options.setup(columns_of(decision, self._session), self._session.arbiter)
        if self._solver is None:
            setup.check()
            self._setup = setup
            self._report = setup.report()
            self._own: Party = party(
                setup, self._session.name, self._data.values, intercept=self._data.intercept, report=self._report
            )
            self._solver = solver(setup, self._own, self._data.labels, self._report)
        elif setup != self._setup:
            raise PeerError("a party came back with another number of columns; use the same data in a training")
        return self._solver

    def _checkpoint(self, state: State) -> None:
        self._store.save(Saved(self._task.session, self._task.restart, self._answers, state))
        if self._progress is not None:
            self._progress(self._report)

    def _observe(self, sender: str, receiver: str, kind: str, payload: bytes) -> None:
        self._report.sent(sender, receiver, kind, len(payload))
        if sender == self._session.name and kind == "masked product":
            assert self._setup is not None
            self._answers += 1
            if self._answers > self._setup.most_products:
                raise PeerError(
                    f"the training needs more than the {self._setup.most_products} products for which the floods are sized; "
                    "start a new one"
                )


def columns_of(decision: Decision, session: Session) -> dict[str, int]:
    """The columns by party, the guest first. Raises `PeerError` for facts that are not such."""
    names = [session.guest, *sorted(name for name in decision.facts if name != session.guest)]
    columns = {}
    for name in names:
        if session.role_of(name) == ARBITER:
            continue
        features = decision.facts.get(name, {}).get("features")
        if type(features) is not int or not 0 <= features <= 1 << 20:
            raise PeerError(f"{name} has {features!r} columns; use 0 to {1 << 20}")
        columns[name] = features
    return columns


def arbitrate(session: Session, options: Options) -> Report:
    """The arbiter's part of a training."""
    report: list[Report] = []

    def part(decision: Decision) -> Program[None]:
        setup = options.setup(columns_of(decision, session), session.name)
        setup.check()
        if not report:
            report.append(setup.report())
        report[0].restarts = decision.restart
        return arbiters_part(setup, report[0])

    def observe(sender: str, receiver: str, kind: str, payload: bytes) -> None:
        report[0].sent(sender, receiver, kind, len(payload))

    session.observe = observe
    try:
        shared = {**vars(options), "parties": sorted(session.names)}
        session.run(Task("train", shared=shared, own={}, restarts=options.restarts), part)
    finally:
        session.observe = None
    return report[0]


def scores(session: Session, own: Floats, purpose: str, release: bool = True) -> Floats:
    """The sum of all parties' parts of the scores at the guest; a host sends its part, and returns it.

    `purpose` is "training" or "prediction"; all parties must have the same. With `release=False` a host sends nothing. The guest
    then raises `PeerError`, and the network remains usable.
    """
    shared: dict[str, Any] = {"rows": len(own), "purpose": purpose}
    hosts = [name for name in session.names if session.role_of(name) == HOST]
    silent: list[str] = []

    def part(decision: Decision) -> Program[Floats]:
        silent[:] = [host for host in hosts if not decision.facts.get(host, {}).get("release")]
        if silent:
            return _nothing(own)
        if session.role == GUEST:
            return _gathered(own, hosts)
        return _given(own, session.guest) if session.role == HOST else _nothing(own)

    result = session.run(Task("score", shared=shared, own={"release": release}), part)
    if silent and session.role == GUEST:
        raise PeerError(f"{', '.join(silent)} does not release scores of training rows")
    return result


def _nothing(own: Floats) -> Program[Floats]:
    yield from ()
    return own


def _gathered(own: Floats, hosts: list[str]) -> Program[Floats]:
    total = own.astype(np.float64)
    for host in hosts:
        payload = yield Receive(host, "scores", 8 * len(own), 8 * len(own))
        assert payload is not None
        part: npt.NDArray[np.float64] = np.frombuffer(payload, "<f8")
        if not np.isfinite(part).all():
            raise PeerError(f"a score of {host} is not finite; the protocol expects finite numbers")
        total = total + part
    return total


def _given(own: Floats, guest: str) -> Program[Floats]:
    yield Send(guest, "scores", own.astype("<f8").tobytes())
    return own
