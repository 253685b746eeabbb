"""A training of one party, from its configuration to its files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ciphermill._hetero.calibration import calibrate
from ciphermill.errors import ParameterError, StateError
from ciphermill.federated._fit import open_store
from ciphermill.federated._network import Network
from ciphermill.federated._party import document, html
from ciphermill.federated._party.config import Configuration, Data, Terms
from ciphermill.federated._party.data import Label, Scaling, Selection, Table, constant_columns, load
from ciphermill.federated._party.metrics import DONE, WRITING, Server, Watch
from ciphermill.federated._party.model import Model, write_output
from ciphermill.federated._party.progress import Progress
from ciphermill.federated._ray import RayWorkers
from ciphermill.federated._rows import NONE, PSI, Alignment, Columns, ids_digest
from ciphermill.federated._session import ARBITER
from ciphermill.federated._state import FINISHED, Store, saved_iterations
from ciphermill.federated._tls import TLS
from ciphermill.federated._training import Arbitration, Options, Part, Training


class Preparation:
    """Makes the columns of the training from the aligned rows, and keeps the facts that the model needs."""

    def __init__(self, features: tuple[str, ...], standardise: bool) -> None:
        self._features = features
        self._standardise = standardise
        self.scaling: Scaling | None = None
        self.constant: list[str] = []
        self.columns: Columns | None = None

    def __call__(self, columns: Columns) -> Columns:
        """Raises `ParameterError` if all rows have one label, `RangeError` for numbers that are too large to standardise."""
        if columns.labels is not None and len(np.unique(columns.labels)) < 2:
            raise ParameterError("the common rows have one label; use rows of both classes")
        values = columns.values
        self.constant = constant_columns(values, self._features)
        if self._standardise:
            self.scaling = Scaling.of(values, self._features)
            values = self.scaling.apply(values)
        self.columns = Columns(values, columns.labels, columns.intercept)
        return self.columns


@dataclass
class Party:
    """A party whose files are read, and which has not connected yet."""

    configuration: Configuration
    tls: TLS
    options: Options
    #: At the guest and at a host.
    table: Table | None = None
    data: Columns | Alignment | None = None
    preparation: Preparation | None = None
    #: At the guest.
    classes: tuple[Label, Label] | None = None
    #: `None` for the threads of this process.
    workers: RayWorkers | None = None


def prepare(configuration: Configuration) -> Party:
    """Read and check all files. Raises the errors of `TLS` and of the data, and `ParameterError` for too few rows."""
    tls = load_tls(configuration)
    if configuration.data is None:
        return Party(configuration, tls, _options(configuration.training, None, None))
    return _with_data(configuration, configuration.data, tls)


def _with_data(configuration: Configuration, data: Data, tls: TLS) -> Party:
    table = load(Selection(data.file, data.id, data.label, data.features, data.max_bytes))
    labels, classes = None, None
    if table.labels is not None:
        try:
            labels, classes = table.labels.signs(data.positive)
        except ParameterError as error:
            raise ParameterError(f"{configuration.file}: [data] {error}") from None
    options = _options(configuration.training, data, table)
    columns = Columns(table.values, labels, data.fit_intercept)
    _check_rows(configuration, options, columns)
    preparation = Preparation(table.features, data.standardise)
    aligned: Columns | Alignment
    if data.align == PSI:
        aligned = Alignment(table.ids, columns, preparation)  # type: ignore[arg-type]
    else:
        aligned = preparation(columns)
    return Party(configuration, tls, options, table, aligned, preparation, classes, _workers(configuration))


def _workers(configuration: Configuration) -> RayWorkers | None:
    """The workers of the party. They connect to their cluster when the training begins."""
    if configuration.ray is None:
        return None
    try:
        return RayWorkers(**vars(configuration.ray), deadline=configuration.training.deadline)
    except ImportError as error:
        raise ParameterError(f"{configuration.file}: [ray] {error}") from error
    except ParameterError as error:
        raise ParameterError(f"{configuration.file}: [ray] {error}") from None


def _options(terms: Terms, data: Data | None, table: Table | None) -> Options:
    options = {name: value for name, value in asdict(terms).items() if name != "deadline"}
    if data is None or table is None:
        return Options(samples=0, **options)
    aligned = data.align == PSI
    return Options(
        samples=0 if aligned else table.rows,
        ids="" if aligned else ids_digest(table.ids),
        align=data.align,
        **options,
    )


def _check_rows(configuration: Configuration, options: Options, columns: Columns) -> None:
    """Check the number of rows against the columns of this party. The common rows are at most all of its rows."""
    own = {configuration.name: columns.features}
    replace(options, samples=len(columns.values)).setup(own, dict.fromkeys(own, 1), None).check()


def check_output(configuration: Configuration) -> None:
    """Make the directory of the output. Raises `StateError` if it cannot hold files."""
    directory = configuration.output
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        trial = directory / ".trial"
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise StateError(f"the directory {directory} cannot be written: {error.strerror}; use another one") from error


def load_tls(configuration: Configuration) -> TLS:
    """The certificate, the key and the authorities of a party."""
    files = configuration.tls
    return TLS(files.certificate, files.key, files.authority)


def connect(configuration: Configuration, tls: TLS) -> Network:
    """The network of a party, which listens if peers connect to it."""
    return Network(
        configuration.name,
        configuration.role,
        tls=tls,
        peers=configuration.peers,
        listen=configuration.listen,
        deadline=configuration.training.deadline,
    )


def train(configuration: Configuration, watch: Watch, shown: Progress, ready: Callable[[], None]) -> dict[str, Any]:
    """Run the party to its end and write its files. `ready` is called when everything is read. Returns the report."""
    started, start = time.time(), time.monotonic()
    with ExitStack() as stack:
        if configuration.metrics is not None:
            server = stack.enter_context(Server(configuration.metrics, watch))
            shown.say(f"metrics at http://{server.address}/metrics")
        party = prepare(configuration)
        ready()
        check_output(configuration)
        store = open_store(configuration.state, configuration.name, configuration.roles, party.options, party.data)
        stack.callback(store.close)
        before = store.start()
        if before is not None and before.stage == FINISHED:
            shown.say(
                f"this training is finished; delete the directory {configuration.state} at all parties to train again"
            )
            return stored_report(configuration, before.session)
        network = watch.network = stack.enter_context(connect(configuration, party.tls))
        shown.say(meeting(network))
        made: dict[str, Any] = {}

        def finish(part: Part) -> None:
            watch.state = WRITING
            made.update(_document(party, part, network, started, time.monotonic() - start))
            _write(party, part, made)

        part = _run(party, network, store, watch, shown, finish)
        watch.state = DONE
        if not made:
            shown.say("no peer came; the result was stored before")
            return stored_report(configuration, part.task.session)
        return made


def _run(
    party: Party, network: Network, store: Store, watch: Watch, shown: Progress, finish: Callable[[Part], None]
) -> Part:
    def show(part: Part) -> None:
        watch.part, watch.state = part, part.phase
        shown.show(part)

    if party.data is None:
        arbitration = Arbitration(network.session, party.options, store, show, finish)
        show(arbitration)
        arbitration.run()
        return arbitration
    with ExitStack() as stack:
        if party.workers is not None:
            stack.enter_context(party.workers)
        training = Training(
            network.session, party.options, party.data, store, show, workers=party.workers, finish=finish
        )
        show(training)
        training.run()
        return training


def stored_report(configuration: Configuration, training: str) -> dict[str, Any]:
    """The report that an earlier process has written. Raises `StateError` if it is not that of this training."""
    path = configuration.output / "report.json"
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
        if found["training"] == training:
            return found
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise StateError(
        f"{path} is not the report of the training in {configuration.state}, which is finished; restore it, or delete the states of "
        "all parties to train again"
    )


def _document(party: Party, part: Part, network: Network, started: float, seconds: float) -> dict[str, Any]:
    configuration = party.configuration
    return document.make(
        party={"name": configuration.name, "role": configuration.role},
        training=part.task.session,
        configuration=_facts(configuration),
        data=_data_facts(party),
        alignment=configuration.data.align if configuration.data else NONE,
        report=part.report,
        started=started,
        seconds=seconds,
        connections=network.connections,
    )


def _write(party: Party, part: Part, made: dict[str, Any]) -> None:
    """Write the files of the output, the model first."""
    output = party.configuration.output
    if isinstance(part, Training):
        _model(party, part, made).save(output)
    text = json.dumps(made, indent=2, ensure_ascii=False, allow_nan=False)
    write_output(output / "report.json", text + "\n")
    write_output(output / "report.html", html.page(made))


def _model(party: Party, training: Training, made: dict[str, Any]) -> Model:
    assert party.table is not None and party.preparation is not None and training.weights is not None
    features, weights = party.table.features, training.weights
    return Model(
        party=party.configuration.name,
        role=party.configuration.role,
        training=made["training"],
        features=features,
        weights=weights[: len(features)],
        intercept=float(weights[len(features)]) if len(weights) > len(features) else 0.0,
        scaling=party.preparation.scaling,
        classes=party.classes,
        calibration=_calibration(party.preparation, training),
        configuration=made["configuration"] | {"rows": made["alignment"]["rows"]},
    )


def _calibration(preparation: Preparation, training: Training) -> tuple[float, float]:
    """a and b of the probabilities, at the guest of a training with `calibrate`."""
    labels = None if preparation.columns is None else preparation.columns.labels
    return (1.0, 0.0) if training.scores is None or labels is None else calibrate(training.scores, labels)


def meeting(network: Network) -> str:
    """The connections to come."""
    parts = [f"connects to {peer.name} at {peer.address}" for peer in network.peers if peer.address is not None]
    waiting = [peer.name for peer in network.peers if peer.address is None]
    if waiting:
        parts.append(f"waits for {', '.join(waiting)} at {network.address}")
    return f"{network.name} ({network.role}) {'; '.join(parts)}"


def _facts(configuration: Configuration) -> dict[str, Any]:
    """The configuration as the report shows it."""
    peers = [f"{peer.name} ({peer.role})" for peer in configuration.peers]
    return asdict(configuration.training) | {"peers": peers}


def _data_facts(party: Party) -> dict[str, Any]:
    data, table, preparation = party.configuration.data, party.table, party.preparation
    if data is None or table is None or preparation is None:
        return {}
    return {
        "file": data.file.name,
        "rows": table.rows,
        "features": list(table.features),
        "standardised": data.standardise,
        "constant columns": preparation.constant,
        "classes": None if party.classes is None else list(party.classes),
        "intercept": data.fit_intercept,
    }


def describe(party: Party) -> dict[str, Any]:
    """The facts of a party that would run, for `check`."""
    configuration = party.configuration
    iterations = _saved(configuration.state)
    facts: dict[str, Any] = {
        "party": f"{configuration.name} ({configuration.role})",
        "peers": [
            f"{peer.name} ({peer.role})" + (f" at {peer.address}" if peer.address else "")
            for peer in configuration.peers
        ],
        "listens": configuration.listen,
        "certificate": str(configuration.tls.certificate),
    }
    facts |= _data_facts(party)
    if configuration.data is not None:
        facts["alignment"] = configuration.data.align
    facts["training"] = asdict(configuration.training)
    facts["ray"] = (
        None
        if configuration.ray is None
        else configuration.ray.address or "the cluster of RAY_ADDRESS, or of this machine"
    )
    facts["state"] = str(configuration.state) + (
        f", from iteration {iterations[-1]} on" if iterations else ", none yet"
    )
    facts["output"] = str(configuration.output)
    return facts


def lines(facts: dict[str, Any]) -> str:
    """The facts in lines for people."""
    return "\n".join(f"{name:<17} {_shown(value)}" for name, value in facts.items() if value not in (None, []))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(each)}" for name, each in value.items() if each is not None)
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _saved(directory: Path) -> list[int]:
    try:
        return saved_iterations(directory) if directory.exists() else []
    except OSError as error:
        raise StateError(f"the directory {directory} cannot be read: {error.strerror}; use another one") from error


def summary(made: dict[str, Any], configuration: Configuration) -> str:
    """The result in a few lines."""
    result, output = made["result"], configuration.output
    lines = []
    if configuration.role != ARBITER:
        end = "the tolerance is reached" if result["converged"] else "the tolerance is not reached"
        gradient = result["relative gradient"]
        shown = "" if gradient is None else f", relative gradient {gradient:.2e}"
        lines.append(f"{result['iterations']} iterations{shown}: {end}")
        lines.append(f"model   {output / 'model.json'}")
    return "\n".join([*lines, f"report  {output / 'report.json'}", f"        {output / 'report.html'}"])
