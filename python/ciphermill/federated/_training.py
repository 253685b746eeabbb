"""One party's training and scoring over a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ciphermill._hetero.messages import Program, Send, Size, receive
from ciphermill._hetero.numbers import Floats, fixed_order_scores
from ciphermill._hetero.report import Report
from ciphermill._hetero.solver import Solver, State
from ciphermill._hetero.tiles import MOST_BLOCKS, least_blocks
from ciphermill._hetero.training import Setup, arbiters_part, party, solver
from ciphermill._hetero.workers import Workers
from ciphermill.errors import PeerError
from ciphermill.federated._rows import MAX_FEATURES, NONE, Alignment, Columns, Rows, common_rows, received_count
from ciphermill.federated._session import ARBITER, GUEST, HOST, START, Decision, Session, Task
from ciphermill.federated._state import FINISHED, RUNNING, STORED, Saved, Start, Store

#: Sees a part when its phase changes, and after each iteration.
Progress = Callable[["Part"], None]

#: Stores the result of a part, before the peers may end.
Finish = Callable[["Part"], None]

#: The message by which a party knows that another one has stored its result. It is empty.
DONE = "done"

#: The phases of a part, in their order.
CONNECTING, ALIGNING, TRAINING, SCORING = "connecting", "aligning", "training", "scoring"

#: Options that a `Setup` lacks, and options that the arbiter does not know.
_BEYOND_SETUP = {"ids", "align", "calibrate"}
_OF_ROWS = {"samples", "ids", "align"}

#: The messages without which no host can have an answer: the guest's own answers, and with an arbiter the encrypted sum.
_RELEASES = {"residues", "sum"}


@dataclass(frozen=True)
class Options:
    """The options of a training, which must be equal at all parties: a `Setup` without the columns.

    The arbiter has no rows: it learns their number from the guest, and ignores `samples`, `ids` and `align`.
    """

    backend: str
    #: 0 if the alignment finds the rows.
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
    #: "none" for rows in one order, "psi" for an alignment at the start.
    align: str = NONE
    #: Whether the guest learns the scores of the training rows at the end.
    calibrate: bool = False

    @property
    def shared(self) -> dict[str, Any]:
        """The options that the arbiter also has."""
        return {name: value for name, value in vars(self).items() if name not in _OF_ROWS}

    def setup(self, features: dict[str, int], blocks: dict[str, int], arbiter: str | None) -> Setup:
        """The setup with the columns of every party, and the blocks of its matrix."""
        options = {name: value for name, value in vars(self).items() if name not in _BEYOND_SETUP}
        return Setup(features=features, blocks=blocks, arbiter=arbiter, **options)


class Part:
    """The common base of the parts of all roles in a training. Other threads may read the public attributes."""

    #: The kind of the messages of this party that count as answers. Their number sizes the floods.
    _ANSWER = "masked product"

    def __init__(
        self,
        session: Session,
        options: Options,
        store: Store,
        progress: Progress | None = None,
        finish: Finish | None = None,
    ) -> None:
        self._session = session
        self._options = options
        self._store = store
        self._progress = progress
        self._finish = finish
        self._start = store.start() or Start("", 0)
        self._concluded = False
        self._setup: Setup | None = None
        self.phase = CONNECTING
        #: The report; features and samples follow after the connection.
        self.report = Report(options.backend, options.samples, {}, arbiter=session.arbiter, solver=options.solver)
        #: Answers so far, over all epochs, and the greatest number; 0 before it is known.
        self.answers = 0
        self.most_answers = 0
        self.task = Task(
            name="train",
            shared=options.shared | {"guest": session.guest, "arbiter": session.arbiter},
            own={},
            restarts=options.restarts,
        )

    def _run(self, part: Callable[[Decision], Program[Any]]) -> None:
        self._session.observe = self._observe
        try:
            self._session.run(self.task, part)
            if self._finish is not None:
                self._mark(FINISHED)
        except PeerError:
            # The result stays valid if a peer goes away after it.
            if not self._concluded and self._start.stage == RUNNING:
                raise
        finally:
            self._session.observe = None

    def _conclude(self) -> Program[None]:
        """Store the result, then wait until all parties have done so. Until then, a party that restarts finds its peers."""
        if self._finish is not None:
            self._finish(self)
            self._mark(STORED)
        self._concluded = True
        session = self._session
        others = [name for name in session.names if name != session.name]
        if session.role == GUEST:
            for host in session.hosts:
                yield from receive(host, DONE, Size.exactly(0))
            for other in others:
                yield Send(other, DONE, b"")
        else:
            if session.role == HOST:
                yield Send(session.guest, DONE, b"")
            yield from receive(session.guest, DONE, Size.exactly(0))

    def _begin(self, decision: Decision, rows: Rows | None = None) -> None:
        """Note the epoch before its first message, so that a party that restarts knows its training."""
        before = self._start if self._start.session == decision.session else Start(decision.session, 0)
        self._start = replace(before, restart=decision.restart, rows=rows)
        self._store.begin(self._start)

    def _mark(self, stage: str) -> None:
        self._start = replace(self._start, stage=stage)
        self._store.begin(self._start)

    def _enter(self, phase: str) -> None:
        self.phase = phase
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self)

    def _agree(self, decision: Decision, samples: int) -> Setup:
        """The setup of an epoch. Its facts enter the report."""
        options = replace(self._options, samples=samples)
        columns = columns_of(decision, self._session)
        setup = options.setup(columns, blocks_of(decision, columns), self._session.arbiter)
        setup.check()
        self._setup = setup
        self.report.samples, self.report.features = setup.samples, dict(setup.features)
        self.report.restarts = decision.restart
        self.most_answers = self._limit(setup)
        return setup

    def _limit(self, setup: Setup) -> int:
        """The most answers of this party."""
        raise NotImplementedError

    def _observe(self, sender: str, receiver: str, kind: str, payload: bytes) -> None:
        self.report.sent(sender, receiver, kind, len(payload))
        if sender == self._session.name and kind == self._ANSWER:
            self.answers += 1
            if self.answers > self.most_answers:
                raise PeerError(
                    f"the training needs more than the {self.most_answers} products for which the floods are sized; start a new "
                    "one"
                )


class Training(Part):
    """The part of the guest or of a host: its setup, its part of each epoch, its states.

    With `Columns`, the rows of all parties are in one order. With an `Alignment`, the parties find their common rows first, and
    later epochs use them again. `workers` compute the products of "bfv", by default the threads of this process.
    """

    def __init__(
        self,
        session: Session,
        options: Options,
        data: Columns | Alignment,
        store: Store,
        progress: Progress | None = None,
        workers: Workers | None = None,
        finish: Finish | None = None,
    ) -> None:
        super().__init__(session, options, store, progress, finish)
        self._data = data
        self._workers = workers
        self._solver: Solver | None = None
        self._columns: Columns | None = None
        #: Whether the guest has still to release the answer of a first product.
        self._withholds = False
        #: The weights of this party, the intercept last; `None` before the end.
        self.weights: Floats | None = None
        #: The scores of the training rows with `calibrate`: of all parties at the guest, of this party at a host.
        self.scores: Floats | None = None

    def run(self) -> tuple[Floats, Report]:
        """Train. Returns the weights of this party, the intercept last, and the report."""
        start, newest = self._start, self._newest()
        self.answers = newest.answers if newest else 0
        task = self.task
        task.iterations = lambda: tuple(self._store.load())
        task.session, task.restart = start.session, start.restart
        task.first_products = lambda: self._start.first_products
        if isinstance(self._data, Alignment) and start.rows is not None:
            self._data.use(start.rows, start.session)
        task.own = self._facts()
        self._run(self._part)
        if self.weights is None:
            # The result was stored before this process, and no peer came.
            newest = self._newest()
            assert newest is not None
            self.weights = newest.state.vectors["weights"]
        return self.weights, self.report

    def _newest(self) -> Saved | None:
        """The last state."""
        saved = self._store.load()
        return saved[max(saved)] if saved else None

    def _facts(self) -> dict[str, Any]:
        features, workers = self._data.features, self._workers
        return {
            "features": features,
            "blocks": workers.blocks(features) if workers else least_blocks(features),
            "align": self._options.align,
            "ids": self._options.ids,
            "rows": self._data.count if isinstance(self._data, Alignment) else self._options.samples,
            "alignment": self._data.session if isinstance(self._data, Alignment) else "",
        }

    def _part(self, decision: Decision) -> Program[None]:
        columns = yield from self._common_columns(decision)
        own = self._prepared(decision, columns)
        self._enter(TRAINING)
        self._store.keep(decision.iteration)
        self._withholds = self._session.role == GUEST and decision.iteration == START
        state = None if decision.iteration == START else self._store.load()[decision.iteration].state
        weights = yield from own.solve(state, self._checkpoint)
        if self._options.calibrate:
            self._enter(SCORING)
            self.scores = yield from self._training_scores(columns, weights)
        self.weights = weights
        yield from self._conclude()

    def _common_columns(self, decision: Decision) -> Program[Columns]:
        """The columns of the common rows. With an alignment, the parties look for them unless all know theirs."""
        count, data = common_rows(decision, self._session), self._data
        columns_of(decision, self._session)
        if isinstance(data, Columns):
            self._begin(decision)
            return data
        self._begin(decision, data.rows if data.session == decision.session else None)
        if count is None:
            self._enter(ALIGNING)
            before = data.rows
            rows = yield from data.part(self._session)
            if decision.iteration != START and before is not None and not np.array_equal(rows, before):
                raise PeerError("a party came back with other ids; use the same data in a training")
            data.use(rows, decision.session)
            self._begin(decision, rows)
            # A new object, because the decision holds the old one.
            self.task.own = self._facts()
        assert data.columns is not None
        return data.columns

    def _prepared(self, decision: Decision, columns: Columns) -> Solver:
        """The solver, made once for the same columns: the prepared matrices do not depend on the epoch."""
        before = self._setup
        setup = self._agree(decision, len(columns.values))
        if self._solver is None or columns is not self._columns:
            own = party(setup, self._session.name, columns.values, intercept=columns.intercept, report=self.report)
            self._solver = solver(setup, own, columns.labels, self.report, self._workers)
            self._columns = columns
        elif setup != before:
            raise PeerError("a party came back with another number of columns or blocks; use the same data and workers")
        return self._solver

    def _limit(self, setup: Setup) -> int:
        return setup.most_products

    def _observe(self, sender: str, receiver: str, kind: str, payload: bytes) -> None:
        if self._withholds and sender == self._session.name and kind in _RELEASES:
            self._withholds = False
            # Before the message leaves, so that no crash forgets it.
            self._start = replace(self._start, first_products=self._start.first_products + 1)
            self._store.begin(self._start)
        super()._observe(sender, receiver, kind, payload)

    def _checkpoint(self, state: State) -> None:
        self._store.save(Saved(self.task.session, self.task.restart, self.answers, state))
        self._tell()

    def _training_scores(self, columns: Columns, weights: Floats) -> Program[Floats]:
        session = self._session
        own = own_scores(columns.values, weights[: columns.values.shape[1]], weights[-1] if columns.intercept else 0.0)
        if session.role == GUEST:
            return (yield from gathered(own, session.hosts))
        return (yield from given(own, session.guest))


class Arbitration(Part):
    """The part of the arbiter. It has no data, and its store has no iterations."""

    _ANSWER = "residues"

    def run(self) -> Report:
        """Take part in the training."""
        self._run(self._part)
        return self.report

    def _part(self, decision: Decision) -> Program[None]:
        samples = common_rows(decision, self._session)
        columns_of(decision, self._session)
        self._begin(decision)
        if samples is None:
            self._enter(ALIGNING)
            samples = yield from received_count(self._session.guest)
        setup = self._agree(decision, samples)
        self._enter(TRAINING)
        yield from arbiters_part(setup, self.report)
        yield from self._conclude()

    def _limit(self, setup: Setup) -> int:
        return setup.answers


def columns_of(decision: Decision, session: Session) -> dict[str, int]:
    """The columns by party, the guest first. Raises `PeerError` for other facts, and if a party is missing."""
    missing = set(session.names) - set(decision.facts)
    # A host need not know the other hosts.
    strangers = set(decision.facts) - set(session.names) if session.role != HOST else set()
    if missing or strangers:
        raise PeerError(
            f"the parties of {session.guest} are {sorted(decision.facts)}, and those of this side are {sorted(session.names)}; use "
            "the same"
        )
    names = [session.guest, *sorted(name for name in decision.facts if name != session.guest)]
    columns = {}
    for name in names:
        if session.role_of(name) == ARBITER:
            continue
        features = decision.facts.get(name, {}).get("features")
        if type(features) is not int or not 0 <= features <= MAX_FEATURES:
            raise PeerError(f"{name} has {features!r} columns; use 0 to {MAX_FEATURES}")
        columns[name] = features
    return columns


def blocks_of(decision: Decision, columns: dict[str, int]) -> dict[str, int]:
    """The blocks of the matrix by party. Raises `PeerError` for other facts."""
    found = {}
    for name, features in columns.items():
        blocks, least = decision.facts[name].get("blocks"), least_blocks(features)
        most = max(least, min(features, MOST_BLOCKS))
        if type(blocks) is not int or not least <= blocks <= most:
            raise PeerError(f"{name} has {blocks!r} blocks of {features} columns; use {least} to {most}")
        found[name] = blocks
    return found


def own_scores(values: Floats, weights: Floats, intercept: float) -> Floats:
    """A party's part of the scores."""
    return np.asarray(fixed_order_scores(values, weights) + intercept)


def scores(session: Session, own: Floats, purpose: str, release: bool = True) -> Floats:
    """The sum of all parties' parts of the scores at the guest; a host sends its part, and returns it.

    `purpose` is "training" or "prediction"; all parties must have the same. With `release=False` a host sends nothing. The guest
    then raises `PeerError`, and the network remains usable.
    """
    shared: dict[str, Any] = {"rows": len(own), "purpose": purpose}
    hosts = session.hosts
    silent: list[str] = []

    def part(decision: Decision) -> Program[Floats]:
        silent[:] = [host for host in hosts if not decision.facts.get(host, {}).get("release")]
        if silent:
            return _nothing(own)
        if session.role == GUEST:
            return gathered(own, hosts)
        return given(own, session.guest) if session.role == HOST else _nothing(own)

    result = session.run(Task("score", shared=shared, own={"release": release}), part)
    if silent and session.role == GUEST:
        raise PeerError(f"{', '.join(silent)} does not release scores of training rows")
    return result


def _nothing(own: Floats) -> Program[Floats]:
    yield from ()
    return own


def gathered(own: Floats, hosts: list[str]) -> Program[Floats]:
    """The guest's scores: the sum of its own part and the parts of the hosts."""
    total = own.astype(np.float64)
    for host in hosts:
        payload = yield from receive(host, "scores", Size.exactly(8 * len(own)))
        part: npt.NDArray[np.float64] = np.frombuffer(payload, "<f8")
        if not np.isfinite(part).all():
            raise PeerError(f"a score of {host} is not finite; the protocol expects finite numbers")
        total = total + part
    return total


def given(own: Floats, guest: str) -> Program[Floats]:
    """Send a host's part of the scores to the guest."""
    yield Send(guest, "scores", own.astype("<f8").tobytes())
    return own
