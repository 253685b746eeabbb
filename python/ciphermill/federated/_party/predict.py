"""Scores of new rows: the hosts send their parts to the guest, which writes scores, probabilities and classes."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ciphermill._hetero.calibration import sigmoid
from ciphermill._hetero.messages import Program, Send, Size, receive
from ciphermill._hetero.numbers import Floats
from ciphermill.errors import ParameterError, PeerError
from ciphermill.federated._fit import known_rows, refusal, row_digests
from ciphermill.federated._party import model as models
from ciphermill.federated._party.config import Configuration, Data
from ciphermill.federated._party.data import Selection, Table, load
from ciphermill.federated._party.model import Model, write_output
from ciphermill.federated._party.progress import Progress
from ciphermill.federated._party.run import connect, load_tls, meeting
from ciphermill.federated._rows import PSI, Alignment, Columns, Rows, common_rows, ids_digest, received_count
from ciphermill.federated._session import ARBITER, GUEST, HOST, Decision, Session, Task
from ciphermill.federated._tls import TLS
from ciphermill.federated._training import columns_of, gathered, given

#: The message of a host before its scores: whether it releases them.
RELEASE, YES, NO = "release", b"\1", b"\0"


@dataclass(frozen=True)
class Input:
    """The files of a party that predicts. The arbiter has a certificate only."""

    tls: TLS
    model: Model | None = None
    table: Table | None = None
    #: At a host that does not release scores of training rows: the digests of these rows.
    training: set[bytes] | None = None


def prepare(configuration: Configuration, file: Path | None, out: Path | None) -> Input:
    """Read the model and the new rows. Raises `ParameterError` for options that the role does not have."""
    role, data = configuration.role, configuration.data
    for option, value, needed in (("--data", file, data is not None), ("--out", out, role == GUEST)):
        if value is None and needed:
            raise ParameterError(f"{option} is missing; a {role} needs it")
        if value is not None and not needed:
            raise ParameterError(f"{option} is not for a {role}; remove it")
    tls = load_tls(configuration)
    if data is None or file is None:
        return Input(tls)
    model = models.load(configuration.output)
    if (model.party, model.role) != (configuration.name, role):
        raise ParameterError(
            f"the model in {configuration.output} is that of {model.party} ({model.role}); use that of {configuration.name} ({role})"
        )
    table = load(Selection(file, data.id, None, model.features, data.max_bytes), least=1)
    return Input(tls, model, table, _training_rows(configuration, data, model))


def _training_rows(configuration: Configuration, data: Data, model: Model) -> set[bytes] | None:
    """The digests of the rows of the training file, at a host that does not release their scores."""
    if configuration.role != HOST or data.allow_training_scores:
        return None
    table = load(Selection(data.file, None, None, model.features, data.max_bytes))
    return row_digests(table.values)


class Prediction:
    """One party's part of a prediction."""

    def __init__(self, session: Session, configuration: Configuration, ready: Input) -> None:
        self._session = session
        self._input = ready
        self._data: Columns | Alignment | None = None
        self._known, self._released = 0, True
        self._silent: list[str] = []
        #: The scored rows in their order.
        self.rows: Rows = np.zeros(0, np.int64)
        own: dict[str, Any] = {}
        if ready.table is not None and ready.model is not None and configuration.data is not None:
            table, psi = ready.table, configuration.data.align == PSI
            columns = Columns(table.values)
            self._data = Alignment(table.ids, columns) if psi and table.ids is not None else columns
            own = {
                "features": columns.features,
                "align": configuration.data.align,
                "ids": "" if psi else ids_digest(table.ids),
                "rows": 0 if psi else table.rows,
                "training": ready.model.training,
            }
        self.task = Task("predict", shared={"guest": session.guest, "arbiter": session.arbiter}, own=own)

    def run(self) -> Floats:
        """Take part. Returns the scores at the guest, this party's part at a host, nothing at the arbiter.

        If a row is one of a host's training, raises `ParameterError` there and `PeerError` at the guest.
        """
        result = self._session.run(self.task, self._part)
        if not self._released:
            raise refusal(self._known, len(self.rows))
        if self._silent:
            raise PeerError(f"{', '.join(self._silent)} does not release scores of training rows; use other rows")
        return result

    def _part(self, decision: Decision) -> Program[Floats]:
        session, data = self._session, self._data
        columns_of(decision, session)
        _check_training(decision, session)
        count = common_rows(decision, session)
        if data is None:
            if count is None:
                yield from received_count(session.guest)
            return np.zeros(0)
        model, table = self._input.model, self._input.table
        assert model is not None and table is not None
        self.rows = (yield from data.part(session)) if isinstance(data, Alignment) else np.arange(table.rows)
        values = table.values[self.rows]
        own = model.part(values)
        if session.role == GUEST:
            return (yield from self._gathered(own))
        self._known = known_rows(values, self._input.training)
        self._released = self._known == 0
        yield Send(session.guest, RELEASE, YES if self._released else NO)
        return (yield from given(own, session.guest)) if self._released else own

    def _gathered(self, total: Floats) -> Program[Floats]:
        self._silent = []
        for host in self._session.hosts:
            released = yield from receive(host, RELEASE, Size.exactly(1))
            if released == YES:
                total = yield from gathered(total, [host])
            else:
                self._silent.append(host)
        return total


def _check_training(decision: Decision, session: Session) -> None:
    """Raises `PeerError` if the models of the parties are of different trainings."""
    trainings = {
        name: facts.get("training") for name, facts in decision.facts.items() if session.role_of(name) != ARBITER
    }
    if len(set(map(repr, trainings.values()))) > 1:
        raise PeerError(
            f"the models of {', '.join(sorted(trainings))} are of different trainings; use those of one training"
        )


def predict(configuration: Configuration, ready: Input, out: Path | None, shown: Progress) -> dict[str, Any]:
    """Run the party. The guest writes a CSV file with an id, a score, a probability and a class for each row."""
    with connect(configuration, ready.tls) as network:
        shown.say(meeting(network))
        prediction = Prediction(network.session, configuration, ready)
        scores = prediction.run()
    if out is not None and ready.model is not None and ready.table is not None and configuration.data is not None:
        _write(out, ready.model, ready.table, configuration.data.id, prediction.rows, scores)
    return {
        "party": configuration.name,
        "role": configuration.role,
        "rows": len(prediction.rows),
        "out": out and str(out),
    }


def _write(out: Path, model: Model, table: Table, id: str | None, rows: Rows, scores: Floats) -> None:
    """Write the file of the guest."""
    assert model.classes is not None
    slope, offset = model.calibration
    scores = slope * scores + offset
    probabilities = sigmoid(scores)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([id or "row", "score", "probability", "class"])
    for row, score, probability in zip(rows.tolist(), scores.tolist(), probabilities.tolist(), strict=True):
        name = row + 1 if table.ids is None else table.ids[row]
        writer.writerow([name, score, probability, model.classes[int(score > 0)]])
    write_output(out, text.getvalue())
