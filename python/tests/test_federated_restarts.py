"""Parties that are killed, connections that break, and the bounds on what may be repeated."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from federated_parties import (
    COLUMNS,
    FOUR,
    KINDS,
    PAIR,
    THREE,
    Killed,
    aligned,
    cut_at,
    expected,
    kill,
    kill_at,
    part,
    parties,
    require_equal,
    together,
)

from ciphermill.errors import PeerError
from ciphermill.federated import TLS
from ciphermill.federated._state import saved_iterations
from ciphermill.federated._training import Arbitration, Training


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
                # The host has the first answer when it sends its second keys. A guest that ends earlier may take the answer along.
                killed("bank", False, "keys", 2)
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
