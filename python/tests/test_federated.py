"""Federated training between parties with connections of their own: agreement, cuts, kills, states."""

import errno
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from federated_setting import Authority
from free_ports import free_port
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import ciphermill as cm
from ciphermill import federated
from ciphermill._hetero.solver import State
from ciphermill.errors import PeerError, StateError
from ciphermill.federated import TLS, Network, Peer
from ciphermill.federated._fit import fit, open_store
from ciphermill.federated._frames import Frame, FrameType
from ciphermill.federated._rows import Alignment, Columns
from ciphermill.federated._session import Task, _parse
from ciphermill.federated._state import Directory, Memory, Saved, saved_iterations
from ciphermill.federated._training import Arbitration, Options, Training
from ciphermill.linear_model import HeteroLogisticRegression

COLUMNS = {"bank": slice(0, 10), "shop": slice(10, 30)}
THREE = {"bank": slice(0, 10), "post": slice(10, 16), "shop": slice(16, 30)}

#: No wait of a test may last longer. A hang is then a failure.
DEADLINE = 20.0


def breast_cancer(rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:rows], y[:rows]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def certificates(authority: Authority) -> dict[str, TLS]:
    return {name: authority.issue(name) for name in ("bank", "shop", "post", "judge")}


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


def test_the_estimator_between_two_parties(certificates: dict[str, TLS]) -> None:
    X, y = breast_cancer()
    plain = HeteroLogisticRegression(columns=COLUMNS, backend="plain").fit(X, y)
    fresh = X[:100] + 0.01
    one_known = np.vstack([fresh[:99], X[:1]])
    with federated.listen("127.0.0.1:0", tls=certificates["shop"], name="shop", peer="bank", deadline=DEADLINE) as shop:
        address = shop.address
        assert address is not None
        bank = federated.connect(
            address, tls=certificates["bank"], name="bank", peer="shop", certificate_name="shop", deadline=DEADLINE
        )

        def host() -> Any:
            model = HeteroLogisticRegression(backend="bfv", role="host", peer=shop).fit(X[:, 10:])
            own = model.decision_function(fresh[:, 10:])
            for rows, known in ((X[:100], 100), (one_known, 1)):
                with pytest.raises(cm.ParameterError, match=f"^{known} of 100 rows are those of the training"):
                    model.decision_function(rows[:, 10:])
            # A second training over the same connections.
            return model, own, clone(model).fit(X[:, 10:])

        def guest() -> Any:
            model = HeteroLogisticRegression(backend="bfv", role="guest", peer=bank).fit(X[:, :10], y)
            scores = model.decision_function(fresh[:, :10])
            for rows in (X[:100], one_known):
                with pytest.raises(PeerError, match="shop does not release scores of training rows"):
                    model.predict(rows[:, :10])
            return model, scores, clone(model).fit(X[:, :10], y)

        with bank:
            results = together({"shop": host, "bank": guest})
    for result in results.values():
        assert not isinstance(result, BaseException), repr(result)
    (own, scores, again), (theirs, parts, _) = results["bank"], results["shop"]
    assert own.coef_.tobytes() == again.coef_.tobytes() == plain.coef_[:, :10].tobytes()
    assert theirs.coef_.tobytes() == plain.coef_[:, 10:].tobytes()
    assert own.intercept_ == plain.intercept_
    np.testing.assert_allclose(scores, plain.decision_function(fresh))
    np.testing.assert_allclose(parts, fresh[:, 10:] @ theirs.coef_[0])
    assert own.report_.bytes == {key: count for key, count in theirs.report_.bytes.items()}
    assert [thread.name for thread in threading.enumerate() if "ciphermill" in thread.name] == []


def test_calibration_needs_the_consent_of_the_host(certificates: dict[str, TLS]) -> None:
    X, y = breast_cancer(200)
    plain = HeteroLogisticRegression(columns=COLUMNS, calibrate=True, max_iter=5).fit(X, y)
    for allowed in (True, False):
        with parties(certificates, PAIR) as made:
            shop, bank = made.make("shop"), made.make("bank")
            common: dict[str, Any] = {"backend": "bfv", "calibrate": True, "max_iter": 5, "allow_label_leak": True}
            host = HeteroLogisticRegression(**common, peer=shop, allow_training_scores=allowed)
            guest = HeteroLogisticRegression(**common, peer=bank)
            results = together({"shop": partial(host.fit, X[:, 10:]), "bank": partial(guest.fit, X[:, :10], y)})
        if allowed:
            assert guest.calibration_ == pytest.approx(plain.calibration_)
        else:
            assert isinstance(results["shop"], cm.ParameterError)
            assert isinstance(results["bank"], PeerError)


def test_an_arbiter_and_two_hosts(certificates: dict[str, TLS]) -> None:
    with parties(certificates, FOUR) as made:
        for name in FOUR:
            made.make(name)
        results = together({name: part(made, name, THREE) for name in FOUR})
    require_equal(results, THREE)
    assert results["judge"].arbiter == "judge"


@pytest.mark.parametrize(("roles", "columns"), [(PAIR, COLUMNS), (FOUR, THREE)])
def test_paillier_over_a_network(
    roles: dict[str, str], columns: dict[str, slice], certificates: dict[str, TLS]
) -> None:
    changes: dict[str, Any] = {"rows": 40, "max_iter": 2}
    with parties(certificates, roles) as made:
        for name in roles:
            made.make(name)
        results = together({name: part(made, name, columns, backend="paillier", **changes) for name in roles})
    require_equal(results, columns, **changes)
    assert results["bank"][1].backend == "paillier"


#: Sender (guest or host), kind: every kind of message of two keys.
KINDS = ["keys", "exponent", "half", "masked product", "residues", "curvature", "norm"]


@pytest.mark.parametrize("victim", ["shop", "bank"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_party_comes_back(kind: str, victim: str, certificates: dict[str, TLS], tmp_path: Path) -> None:
    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        kill_at(made.networks[victim], True, kind, 2)

        def survives() -> Any:
            return part(made, victim, COLUMNS, tmp_path / victim)()

        def killed() -> Any:
            with pytest.raises(Killed):
                survives()
            kill(made.networks[victim])
            made.make(victim)
            return survives()

        other = "bank" if victim == "shop" else "shop"
        results = together({victim: killed, other: part(made, other, COLUMNS, tmp_path / other)})
    require_equal(results, COLUMNS)
    # The second keys come before the first state: the training then starts again.
    assert results["bank"][1].restarts == results["shop"][1].restarts == 1


@pytest.mark.parametrize(
    ("victim", "kind"),
    [
        ("judge", "keys"),
        ("judge", "residues"),
        ("bank", "round"),
        ("bank", "sum"),
        ("bank", "curvature"),
        ("post", "part"),
        ("post", "norm"),
        ("shop", "exponent"),
        ("shop", "masked product"),
    ],
)
def test_a_killed_party_of_four_comes_back(
    victim: str, kind: str, certificates: dict[str, TLS], tmp_path: Path
) -> None:
    with parties(certificates, FOUR) as made:
        for name in FOUR:
            made.make(name)
        kill_at(made.networks[victim], True, kind, 3)

        def killed() -> Any:
            with pytest.raises(Killed):
                part(made, victim, THREE, tmp_path / victim)()
            kill(made.networks[victim])
            made.make(victim)
            return part(made, victim, THREE, tmp_path / victim)()

        works = {name: part(made, name, THREE, tmp_path / name) for name in FOUR if name != victim}
        results = together({victim: killed, **works})
    require_equal(results, THREE)
    assert results["bank"][1].restarts == 1


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


@pytest.mark.parametrize(
    ("victim", "kind"),
    [
        ("shop", "ids count"),
        ("post", "blinded ids"),
        ("shop", "twice blinded ids"),
        ("bank", "common ids"),
        ("bank", "rows count"),
        ("post", "scores"),
    ],
)
def test_a_party_killed_in_the_alignment_or_at_the_scores_comes_back(
    victim: str, kind: str, certificates: dict[str, TLS], tmp_path: Path
) -> None:
    with parties(certificates, FOUR) as made:
        for name in FOUR:
            made.make(name)
        kill_at(made.networks[victim], True, kind, 1)

        def killed() -> Any:
            with pytest.raises(Killed):
                aligned(made, victim, tmp_path / victim)
            kill(made.networks[victim])
            made.make(victim)
            return aligned(made, victim, tmp_path / victim)

        works = {name: partial(aligned, made, name, tmp_path / name) for name in FOUR if name != victim}
        results = together({victim: killed, **works})
    for name, weights in expected(THREE).items():
        assert not isinstance(results[name], BaseException), f"{name}: {results[name]!r}"
        np.testing.assert_allclose(results[name], weights, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("roles", "columns", "first"),
    [(PAIR, COLUMNS, "shop"), (PAIR, COLUMNS, "bank"), (FOUR, THREE, "shop")],
)
def test_a_host_without_a_state_gets_two_first_answers(
    roles: dict[str, str], columns: dict[str, slice], first: str, certificates: dict[str, TLS], tmp_path: Path
) -> None:
    """A host that lies may choose another matrix each time. The count survives the end of the guest's process."""
    with parties(certificates, roles) as made:
        for name in roles:
            made.make(name)

        def killed(name: str, sent: bool, kind: str, count: int) -> None:
            kill_at(made.networks[name], sent, kind, count)
            with pytest.raises(Killed):
                part(made, name, columns, tmp_path / name)()
            kill(made.networks[name])
            made.make(name)

        def host() -> Any:
            if first == "shop":
                killed("shop", False, "residues", 1)
                killed("shop", False, "residues", 1)
            else:
                # The guest's end makes this host begin again.
                killed("shop", False, "residues", 2)
            assert saved_iterations(tmp_path / "shop") == []
            kill_at(made.networks["shop"], False, "residues", 1)
            return part(made, "shop", columns, tmp_path / "shop")()

        def guest() -> Any:
            if first == "bank":
                # New keys follow the first answer.
                killed("bank", True, "keys", 2)
            return part(made, "bank", columns, tmp_path / "bank")()

        others = {name: part(made, name, columns, tmp_path / name) for name in roles if name not in ("bank", "shop")}
        results = together({"shop": host, "bank": guest, **others})
    for error in results.values():
        assert isinstance(error, PeerError), repr(error)
    assert "the training began 2 times, and" in str(results["bank"])
    assert "shop" in str(results["bank"])


@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_connection_goes_on(kind: str, sent: bool, certificates: dict[str, TLS]) -> None:
    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        cut_at(made.networks["shop"], sent, kind, 2)
        results = together({name: part(made, name, COLUMNS) for name in PAIR})
        assert made.networks["shop"].connections["bank"] >= 2
    require_equal(results, COLUMNS)
    # No epoch was needed, so no key was made again.
    assert results["bank"][1].restarts == 0


def test_without_a_directory_a_restart_is_a_named_error(certificates: dict[str, TLS]) -> None:
    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        kill_at(made.networks["shop"], True, "norm", 4)

        def killed() -> Any:
            with pytest.raises(Killed):
                part(made, "shop", COLUMNS)()
            kill(made.networks["shop"])
            made.make("shop")
            return part(made, "shop", COLUMNS)()

        results = together({"shop": killed, "bank": part(made, "bank", COLUMNS)})
    for error in results.values():
        assert isinstance(error, PeerError)
        assert "no state in common" in str(error)


@pytest.mark.parametrize(("roles", "columns", "name"), [(PAIR, COLUMNS, "shop"), (FOUR, THREE, "judge")])
def test_answers_are_bounded(
    roles: dict[str, str],
    columns: dict[str, slice],
    name: str,
    certificates: dict[str, TLS],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A party sends no answer beyond those for which the floods are sized."""
    kind = Arbitration if name == "judge" else Training
    monkeypatch.setattr(kind, "_limit", lambda self, setup: 3 if self._session.name == name else setup.most_products)
    answer = "residues" if name == "judge" else "masked product"
    with parties(certificates, roles) as made:
        for each in roles:
            made.make(each)
        answers = [0]
        for each in roles:
            session = made.networks[each].session

            def seen(sender: str, receiver: str, message: str, payload: bytes, before: Any = session._seen) -> None:
                before(sender, receiver, message, payload)
                answers[0] += sender == name != receiver and message == answer

            session._seen = seen  # type: ignore[assignment,method-assign]
        results = together({each: part(made, each, columns) for each in roles})
    for error in results.values():
        assert isinstance(error, PeerError), repr(error)
        assert "the training needs more than the 3 products for which the floods are sized" in str(error)
    # Each one as it left, and as it came.
    assert answers[0] == 2 * 3


def test_restarts_are_bounded(certificates: dict[str, TLS], tmp_path: Path) -> None:
    with parties(certificates, PAIR) as made:
        made.make("bank")

        def killed() -> Any:
            for _ in range(2):
                made.make("shop")
                kill_at(made.networks["shop"], True, "norm", 2)
                with pytest.raises(Killed):
                    part(made, "shop", COLUMNS, tmp_path / "shop", restarts=1)()
                kill(made.networks["shop"])
            made.make("shop")
            return part(made, "shop", COLUMNS, tmp_path / "shop", restarts=1)()

        results = together({"shop": killed, "bank": part(made, "bank", COLUMNS, tmp_path / "bank", restarts=1)})
    for error in results.values():
        assert isinstance(error, PeerError)
        assert "use at most 1 restart" in str(error)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"C": 2.0}, "C is"),
        ({"samples": 79, "rows": 79}, "rows is"),
        ({"tol": 1e-5}, "tol is"),
        ({"max_iter": 7}, "max_iter is"),
        ({"backend": "paillier"}, "backend is"),
        ({"ids": "ab"}, "ids is"),
        ({"allow_label_leak": False}, "allow_label_leak is"),
    ],
)
def test_other_options_are_named(change: dict[str, Any], words: str, certificates: dict[str, TLS]) -> None:
    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        ids = change.pop("ids", None)
        rows = change.pop("rows", 80)

        def host() -> Any:
            X, _ = breast_cancer(rows)
            values = np.asfortranarray(X[:, 10:])
            identifiers = None if ids is None else [str(i) for i in range(rows)]
            return fit(made.networks["shop"], options(80, **change), values, None, False, ids=identifiers)

        results = together({"shop": host, "bank": part(made, "bank", COLUMNS)})
    for error in results.values():
        assert isinstance(error, PeerError)
        assert words in str(error)


def test_another_task_or_role_is_named(certificates: dict[str, TLS]) -> None:
    from ciphermill.federated._training import scores

    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        results = together(
            {
                "shop": lambda: scores(made.networks["shop"].session, np.zeros(80), "prediction"),
                "bank": part(made, "bank", COLUMNS),
            }
        )
    assert all("the task" in str(error) and isinstance(error, PeerError) for error in results.values())
    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        made.networks["shop"].session.role = "arbiter"
        results = together({name: part(made, name, COLUMNS) for name in PAIR})
    assert "has the role" in str(results["bank"])


def test_other_data_after_a_restart_is_refused(certificates: dict[str, TLS], tmp_path: Path) -> None:
    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        results = together({name: part(made, name, COLUMNS, tmp_path / name) for name in PAIR})
        require_equal(results, COLUMNS)
        X, _ = breast_cancer(80)
        with pytest.raises(StateError, match="another configuration or other data"):
            fit(made.networks["shop"], options(80), X[:, 10:] + 1.0, None, False, state=tmp_path / "shop")


def test_a_full_disk_leaves_a_state(certificates: dict[str, TLS], tmp_path: Path) -> None:
    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        saved: list[int] = []
        save = Directory.save

        def until_full(self: Directory, state: Any) -> None:
            if "shop" not in str(self._directory) or len(saved) < 3:
                save(self, state)
                saved.append(1)
                return
            # The limit of a process would meet the other party too.
            here, flush = threading.get_ident(), os.fsync

            def full(descriptor: int) -> None:
                if threading.get_ident() == here:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                flush(descriptor)

            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(os, "fsync", full)
                save(self, state)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Directory, "save", until_full)
            results = together({name: part(made, name, COLUMNS, tmp_path / name) for name in PAIR})
        assert isinstance(results["shop"], StateError)
        assert str(tmp_path / "shop") in str(results["shop"])
        assert isinstance(results["bank"], PeerError)
        assert "StateError" in str(results["bank"])
    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        results = together({name: part(made, name, COLUMNS, tmp_path / name) for name in PAIR})
    require_equal(results, COLUMNS)
    assert results["bank"][1].restarts == 1


def test_a_silent_peer_ends_at_the_deadline(certificates: dict[str, TLS]) -> None:
    with parties(certificates, PAIR) as made:
        made.make("shop", deadline=1.0)
        with pytest.raises(PeerError, match="bank sent nothing new for 1 seconds"):
            part(made, "shop", COLUMNS)()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"peers": []}, "0 hosts"),
        ({"peers": [Peer("shop", "host", "shop:1"), Peer("post", "host", "post:1")]}, "several hosts need one"),
        ({"peers": [Peer("bank", "host", "shop:1")]}, "the same name"),
        ({"peers": [Peer("shop", "host")]}, "use an address to listen at"),
        ({"peers": [Peer("shop", "host", "shop:1")], "listen": "127.0.0.1:0"}, "no peer connects to this side"),
        ({"peers": [Peer("shop", "guest", "shop:1")]}, "2 guests"),
        ({"peers": [Peer("shop", "boss", "shop:1")]}, 'use "guest"'),  # type: ignore[arg-type]
    ],
)
def test_roles_that_do_not_go_together(arguments: dict[str, Any], words: str, certificates: dict[str, TLS]) -> None:
    with pytest.raises(cm.ParameterError, match=words):
        Network("bank", "guest", tls=certificates["bank"], **arguments)


def hello_body(**changes: Any) -> bytes:
    body: dict[str, Any] = {
        "protocol": 1,
        "name": "shop",
        "role": "host",
        "task": "train",
        "session": "",
        "live": False,
        "restart": 0,
        "iterations": [],
        "shared": {},
        "digest": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        "own": {},
        **changes,
    }
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"1" * 5000,
        b"[" * 60000,
        hello_body(protocol=2),
        hello_body(name="bank"),
        hello_body(digest="00"),
        hello_body(live=1),
        hello_body(iterations=["1"]),
        hello_body(iterations=3),
        hello_body(shared=[]),
        hello_body(restart=True),
        hello_body(decision={}),
        hello_body(decision=[]),
        hello_body(restart=1.5),
    ],
)
def test_malformed_hellos_are_refused(body: bytes) -> None:
    with pytest.raises(PeerError):
        _parse(Frame(FrameType.HELLO, 0, 0, chunk=body), "shop")
    assert _parse(Frame(FrameType.HELLO, 0, 0, chunk=hello_body()), "shop").name == "shop"


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_a_hello_or_refused(value: Any) -> None:
    base = json.loads(hello_body())
    for key in base:
        try:
            _parse(Frame(FrameType.HELLO, 0, 0, chunk=json.dumps({**base, key: value}).encode()), "shop")
        except PeerError:
            continue


def saved(iterations: int = 3) -> Saved:
    vectors = {name: np.arange(4.0) + i for i, name in enumerate(("weights", "residual", "direction"))}
    return Saved("ab" * 16, 2, 7, State(vectors, 0.5, 1.0, iterations + 1, [0.69, 0.5], [0.5] * iterations))


def test_states_survive_and_stay_apart(tmp_path: Path) -> None:
    store = Directory(tmp_path / "state", b"one")
    for iterations in range(4):
        store.save(saved(iterations))
    found = store.load()
    assert sorted(found) == [2, 3]
    assert found[3].state.vectors["residual"].tolist() == [1, 2, 3, 4]
    assert replace(found[3].state, vectors={}) == replace(saved().state, vectors={})
    assert (found[3].session, found[3].restart, found[3].answers) == ("ab" * 16, 2, 7)
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "state").iterdir())
    with pytest.raises(StateError, match="in use by another process"):
        Directory(tmp_path / "state", b"one")
    store.close()
    with pytest.raises(StateError, match="another configuration or other data"):
        other = Directory(tmp_path / "state", b"two")
        try:
            other.load()
        finally:
            other.close()
    # A damaged file is left out, whatever the damage; the one before it is used.
    newest = max((tmp_path / "state").glob("iteration-*"))
    data = newest.read_bytes()
    for damaged in (b"", data[:-1], data[:100] + bytes([data[100] ^ 1]) + data[101:], data + b"x"):
        newest.write_bytes(damaged)
        store = Directory(tmp_path / "state", b"one")
        assert sorted(store.load()) == [2]
        store.close()
    with pytest.raises(StateError):
        Directory("/proc/none", b"one")


def test_states_in_memory_are_copies() -> None:
    store, state = Memory(), saved()
    store.save(state)
    state.state.vectors["weights"][:] = 9
    assert store.load()[3].state.vectors["weights"].tolist() == [0, 1, 2, 3]
    store.keep(-1)
    assert store.load() == {}


def test_a_state_holds_no_key(certificates: dict[str, TLS], tmp_path: Path) -> None:
    """A state is as small as its vectors: there is no room for a key or a mask."""
    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        together({name: part(made, name, COLUMNS, tmp_path / name) for name in PAIR})
    for path in (tmp_path / "shop").glob("iteration-*"):
        assert path.stat().st_size < 20 * 3 * 8 + 4000
        with np.load(__import__("io").BytesIO(path.read_bytes()[19 + 32 :]), allow_pickle=False) as arrays:
            assert set(arrays.files) == {"facts", "weights", "residual", "direction"}


def test_a_forked_child_is_refused(certificates: dict[str, TLS]) -> None:
    with parties(certificates, PAIR) as made:
        network = made.make("shop")
        link = network._links[0]
        link._process = os.getpid() + 1
        with pytest.raises(cm.ForkError):
            link.open()


def test_tasks_have_defaults() -> None:
    assert Task("train", {}, {}).iterations() == ()
