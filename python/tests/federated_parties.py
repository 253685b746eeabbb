"""The parties of a federated training in one process: each in a thread, with connections of its own."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from free_ports import free_port
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from ciphermill.federated import TLS, Network, Peer
from ciphermill.federated._fit import fit, open_store
from ciphermill.federated._rows import Alignment, Columns
from ciphermill.federated._state import Memory
from ciphermill.federated._training import Arbitration, Options, Training
from ciphermill.linear_model import HeteroLogisticRegression

COLUMNS = {"bank": slice(0, 10), "shop": slice(10, 30)}
THREE = {"bank": slice(0, 10), "post": slice(10, 16), "shop": slice(16, 30)}

#: No wait of a test may last longer. A hang is then a failure.
DEADLINE = 20.0

#: Sender (guest or host), kind: every kind of message of two keys.
KINDS = ["keys", "exponent", "half", "masked product", "residues", "curvature", "norm"]


def breast_cancer(rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:rows], y[:rows]


class Parties:
    """The networks of all parties. A party that was killed gets a new one at the same address."""

    def __init__(self, certificates: dict[str, TLS], roles: dict[str, Any]) -> None:
        self.certificates = certificates
        self.roles = roles
        self.ports = {name: free_port() for name, role in roles.items() if role != "guest"}
        self.networks: dict[str, Network] = {}

    def make(self, name: str, deadline: float = DEADLINE) -> Network:
        role = self.roles[name]
        order = ["guest", "host", "arbiter"]
        peers = []
        for other, others_role in self.roles.items():
            if other == name or {role, others_role} == {"host"}:
                continue
            connects = order.index(role) < order.index(others_role)
            peers.append(Peer(other, others_role, f"127.0.0.1:{self.ports[other]}" if connects else None))
        listen = None if role == "guest" else f"127.0.0.1:{self.ports[name]}"
        made = Network(name, role, tls=self.certificates[name], peers=peers, listen=listen, deadline=deadline)
        self.networks[name] = made
        return made

    def close(self) -> None:
        for network in self.networks.values():
            network.close()


class Killed(BaseException):
    """The end of a party without a word to the others."""


def kill(network: Network) -> None:
    """End a party as the end of its process would: no goodbye, and its port is free."""
    for link in network._links:
        link.drop()
    if network._listener is not None:
        network._listener.close()


def kill_at(network: Network, sent: bool, kind: str, count: int) -> None:
    """Raise `Killed` when a party sends or has received a message of a kind for the `count`-th time."""
    session, seen = network.session, [0]
    before = session._seen

    def hooked(sender: str, receiver: str, message: str, payload: bytes) -> None:
        if message == kind and (sender == network.name) == sent:
            seen[0] += 1
            if seen[0] == count:
                session.close = lambda reason="": None  # type: ignore[method-assign]
                raise Killed
        before(sender, receiver, message, payload)

    session._seen = hooked  # type: ignore[assignment,method-assign]


def cut_at(network: Network, sent: bool, kind: str, count: int) -> None:
    """Break all connections of a party at such a message."""
    session, seen = network.session, [0]
    before = session._seen

    def hooked(sender: str, receiver: str, message: str, payload: bytes) -> None:
        before(sender, receiver, message, payload)
        if message == kind and (sender == network.name) == sent:
            seen[0] += 1
            if seen[0] == count:
                for link in network._links:
                    if link._stream is not None:
                        link._stream.close()

    session._seen = hooked  # type: ignore[assignment,method-assign]


def together(works: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Run the parties in threads. Returns their results or exceptions."""
    results: dict[str, Any] = {}

    def run(name: str, work: Callable[[], Any]) -> None:
        try:
            results[name] = work()
        except BaseException as error:  # noqa: BLE001
            results[name] = error

    threads = [threading.Thread(target=run, args=item, daemon=True) for item in works.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * DEADLINE)
        assert not thread.is_alive(), "a party hangs"
    return results


def options(rows: int, **changes: Any) -> dict[str, Any]:
    return {
        "backend": "bfv",
        "samples": rows,
        "C": 1.0,
        "tol": 1e-6,
        "max_iter": 6,
        "allow_label_leak": True,
        **changes,
    }


@contextmanager
def parties(certificates: dict[str, TLS], roles: dict[str, str]) -> Iterator[Parties]:
    made = Parties(certificates, roles)
    try:
        yield made
    finally:
        made.close()


PAIR = {"bank": "guest", "shop": "host"}
FOUR = {"bank": "guest", "post": "host", "shop": "host", "judge": "arbiter"}


def part(
    made: Parties, name: str, columns: dict[str, slice], state: Path | None = None, rows: int = 80, **changes: Any
) -> Callable[[], Any]:
    """The work of a party: its weights, or its report for the arbiter."""
    X, y = breast_cancer(rows)
    agreed = options(rows, **changes)
    if made.roles[name] == "arbiter":
        return lambda: Arbitration(made.networks[name].session, Options(**agreed), Memory()).run()
    guest = name == "bank"
    labels = np.where(y == 1, 1.0, -1.0) if guest else None
    values = np.asfortranarray(X[:, columns[name]])
    return lambda: fit(made.networks[name], agreed, values, labels, guest, state=state)


def expected(columns: dict[str, slice], rows: int = 80, **changes: Any) -> dict[str, np.ndarray]:
    """The weights of one process, in clear."""
    X, y = breast_cancer(rows)
    plain = HeteroLogisticRegression(
        columns=columns, backend="plain", max_iter=changes.pop("max_iter", 6), **changes
    ).fit(X, y)
    weights = {name: plain.coef_[0, index] for name, index in columns.items()}
    weights["bank"] = np.append(weights["bank"], plain.intercept_)
    return weights


def require_equal(results: dict[str, Any], columns: dict[str, slice], **changes: Any) -> None:
    for name, weights in expected(columns, **changes).items():
        assert not isinstance(results[name], BaseException), f"{name}: {results[name]!r}"
        assert results[name][0].tobytes() == weights.tobytes(), name


def aligned(made: Parties, name: str, state: Path, rows: int = 80) -> Any:
    """The work of a party of four that finds the common rows first and calibrates at the end. Returns its weights."""
    X, y = breast_cancer(rows)
    agreed = Options(**options(0, align="psi", calibrate=True))
    session = made.networks[name].session
    if made.roles[name] == "arbiter":
        Arbitration(session, agreed, Memory()).run()
        return None
    guest = name == "bank"
    order = np.random.default_rng(len(name)).permutation(rows)
    labels = np.where(y[order] == 1, 1.0, -1.0) if guest else None
    columns = Columns(np.asfortranarray(X[order][:, THREE[name]]), labels, guest)
    data = Alignment([f"n{row}" for row in order], columns)
    store = open_store(state, name, session.roles, agreed, data)
    try:
        return Training(session, agreed, data, store).run()[0]
    finally:
        store.close()
