"""Federated training between parties with connections of their own: results, agreement, deadlines."""

import json
import os
import threading
from functools import partial
from typing import Any

import numpy as np
import pytest
from federated_parties import (
    COLUMNS,
    DEADLINE,
    FOUR,
    PAIR,
    THREE,
    breast_cancer,
    options,
    part,
    parties,
    require_equal,
    together,
)
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import ciphermill as cm
from ciphermill import federated
from ciphermill.errors import PeerError
from ciphermill.federated import TLS, Network, Peer
from ciphermill.federated._fit import fit
from ciphermill.federated._frames import Frame, FrameType
from ciphermill.federated._session import Task, _parse
from ciphermill.linear_model import HeteroLogisticRegression


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


def test_a_forked_child_is_refused(certificates: dict[str, TLS]) -> None:
    with parties(certificates, PAIR) as made:
        network = made.make("shop")
        link = network._links[0]
        link._process = os.getpid() + 1
        with pytest.raises(cm.ForkError):
            link.open()


def test_tasks_have_defaults() -> None:
    assert Task("train", {}, {}).iterations() == ()
