"""What each party receives, over a network, is what the tables of docs/federated.md and docs/psi.md list."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from federated_parties import FOUR, PAIR, THREE, aligned, breast_cancer, parties, together
from party_setting import COLUMNS, IDS, NAMES, PartyFiles, X, put, run_here, write_csv

from ciphermill.federated import TLS, _session
from ciphermill.federated._party import config
from ciphermill.federated._party.predict import Prediction, prepare
from ciphermill.federated._party.run import connect
from ciphermill.federated._session import Session
from ciphermill.linear_model import HeteroLogisticRegression

DOCS = Path(__file__).parents[2] / "docs"

#: The roles that a word of a table stands for.
WORDS = {
    "guest": {"guest"},
    "host": {"host"},
    "hosts": {"host"},
    "arbiter": {"arbiter"},
    "all": {"guest", "host", "arbiter"},
    "party": {"guest", "host"},
    "that party": {"guest", "host"},
}

#: A message between roles: sender, receiver, kind.
Way = tuple[str, str, str]


class Table:
    """The table that follows a text of a page."""

    def __init__(self, page: str, before: str) -> None:
        _, found, text = (DOCS / page).read_text().partition(before)
        assert found, f"{page} lacks {before!r}"
        lines = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
        assert lines is not None
        head, _, *rows = ([cell.strip() for cell in line.strip("|\n").split("|")] for line in lines[0].splitlines())
        self.rows = [dict(zip(head, row, strict=True)) for row in rows]

    def kinds(self, row: dict[str, str]) -> list[str]:
        """The kinds of a row, which its first column names."""
        return re.findall("`(.+?)`", next(iter(row.values())))

    def ways(self) -> set[Way]:
        """All messages of a table with a column `from, to`."""
        found = set()
        for row in self.rows:
            for way in row["from, to"].split(", "):
                match = re.fullmatch(r"(.+) ([→↔]) (.+)", way)
                assert match is not None, way
                for sender, receiver in product(WORDS[match[1]], WORDS[match[3]], both=match[2] == "↔"):
                    found |= {(sender, receiver, kind) for kind in self.kinds(row)}
        return found

    def row(self, kind: str) -> dict[str, str]:
        return next(row for row in self.rows if kind in self.kinds(row))


def product(first: set[str], second: set[str], *, both: bool) -> Iterator[tuple[str, str]]:
    """The pairs of a role and another one."""
    for one in first:
        for other in second:
            if one != other:
                yield one, other
                if both:
                    yield other, one


#: The directions of the messages of two keys.
TWO = (("guest", "host"), ("host", "guest"))

TWO_KEYS = Table("federated.md", "**Two keys.**")
ARBITER = Table("federated.md", "**Arbiter.**")
SCORES = Table("federated.md", "**Scores.**")
ENDS = Table("federated.md", "**Beginning and end.**")
ALIGNMENT = Table("psi.md", "knows a size before it allocates memory:")


class Received:
    """All messages that the sessions of this process receive, and all hellos."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        #: Roles of sender and receiver, kind, bytes.
        self.messages: list[tuple[str, str, str, int]] = []
        self.hellos: list[dict[str, Any]] = []
        seen, parse = Session._seen, _session._parse

        def recorded(session: Session, sender: str, receiver: str, kind: str, payload: bytes) -> None:
            if receiver == session.name:
                self.messages.append((session.role_of(sender) or sender, session.role, kind, len(payload)))
            seen(session, sender, receiver, kind, payload)

        def parsed(frame: Any, peer: str) -> Any:
            self.hellos.append(json.loads(bytes(frame.chunk)))
            return parse(frame, peer)

        patch.setattr(Session, "_seen", recorded)
        patch.setattr(_session, "_parse", parsed)

    @property
    def ways(self) -> set[Way]:
        return {(sender, receiver, kind) for sender, receiver, kind, _ in self.messages}

    def sizes(self, kind: str, receiver: str) -> set[int]:
        return {size for _, to, each, size in self.messages if each == kind and to == receiver}


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> Received:
    return Received(monkeypatch)


def only(table: Table, kind: str) -> set[Way]:
    return {way for way in table.ways() if way[2] == kind}


def require_hellos(received: Received, roles: dict[str, str]) -> None:
    """The fields of the hellos are those of the page. Only a guest sends a decision."""
    fields = set(re.findall("`(.+?)`", ENDS.row("hello")["content"]))
    found = {hello["role"]: set[str]() for hello in received.hellos}
    for hello in received.hellos:
        found[hello["role"]] |= set(hello)
    assert found == {role: fields - ({"decision"} if role != "guest" else set()) for role in set(roles.values())}


def test_two_keys(certificates: dict[str, TLS], received: Received) -> None:
    """The whole training with calibration. The sizes are those of the page."""
    features, labels = breast_cancer()
    with parties(certificates, PAIR) as made:
        common: dict[str, Any] = {"backend": "bfv", "calibrate": True}
        shop, bank = made.make("shop"), made.make("bank")
        host = HeteroLogisticRegression(**common, peer=shop, allow_training_scores=True)
        guest = HeteroLogisticRegression(**common, peer=bank)
        results = together(
            {"shop": partial(host.fit, features[:, 10:]), "bank": partial(guest.fit, features[:, :10], labels)}
        )
    assert not any(isinstance(result, BaseException) for result in results.values()), results
    both = {(*way, kind) for row in TWO_KEYS.rows for kind in TWO_KEYS.kinds(row) for way in TWO}
    assert received.ways == both | only(SCORES, "scores") | {way for way in only(ENDS, "done") if "arbiter" not in way}
    require_hellos(received, PAIR)
    for row in TWO_KEYS.rows:
        counts = [int(text.replace(",", "")) for text in re.findall(r"\d[\d,]*", row["bytes"])]
        for kind in TWO_KEYS.kinds(row):
            if "guest" in row["bytes"]:
                assert (received.sizes(kind, "host"), received.sizes(kind, "guest")) == ({counts[0]}, {counts[1]}), kind
            elif "column" in row["bytes"]:
                assert received.sizes(kind, "host") == {20 * counts[0]}, kind
                assert received.sizes(kind, "guest") == {11 * counts[0]}, kind
            else:
                assert received.sizes(kind, "host") == received.sizes(kind, "guest") == {counts[0]}, kind
    assert received.sizes("scores", "guest") == {8 * len(labels)}


def test_an_arbiter_an_alignment_and_a_calibration(
    certificates: dict[str, TLS], received: Received, tmp_path: Path
) -> None:
    with parties(certificates, FOUR) as made:
        for name in FOUR:
            made.make(name)
        results = together({name: partial(aligned, made, name, tmp_path / name) for name in FOUR})
    assert not any(isinstance(result, BaseException) for result in results.values()), results
    assert received.ways == ARBITER.ways() | ALIGNMENT.ways() | only(SCORES, "scores") | only(ENDS, "done")
    require_hellos(received, FOUR)
    assert received.sizes("residues", "guest") == {8 * (THREE["bank"].stop + 1)}
    require_sizes_of_the_alignment(received, {"guest": 80, "host": 80})


def require_sizes_of_the_alignment(received: Received, ids: dict[str, int]) -> None:
    """`ids` are the numbers of the ids of the guest and of each host."""
    guest, host = ids["guest"], ids["host"]
    sizes = {
        ("ids count", "host"): 8,
        ("ids count", "guest"): 8,
        ("blinded ids", "host"): 32 * guest,
        ("blinded ids", "guest"): 32 * host,
        ("twice blinded ids", "guest"): 32 * guest,
        ("common ids", "host"): -(-host // 8),
    }
    assert {way: received.sizes(*way) for way in sizes} == {way: {size} for way, size in sizes.items()}


@pytest.mark.parametrize("allowed", [True, False])
def test_a_prediction(allowed: bool, tmp_path: Path, authority: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host that releases no scores sends none, and says so."""
    made = PartyFiles(tmp_path, authority, align="psi").write_data()
    made.write("shop", put("data", "allow_training_scores", allowed))
    run_here(made)
    received = Received(monkeypatch)
    rows = {"bank": range(30), "shop": range(10, 35)}
    for name, columns in COLUMNS.items():
        head = ["customer", *NAMES[columns]]
        write_csv(tmp_path / f"new-{name}.csv", head, ([IDS[row], *X[row, columns].tolist()] for row in rows[name]))

    def predict(name: str) -> np.ndarray:
        configuration = config.read(tmp_path / f"{name}.toml")
        out = tmp_path / "scores.csv" if name == "bank" else None
        ready = prepare(configuration, tmp_path / f"new-{name}.csv", out)
        with connect(configuration, ready.tls) as network:
            return Prediction(network.session, configuration, ready).run()

    results = together({name: partial(predict, name) for name in COLUMNS})
    expected = SCORES.ways() if allowed else only(SCORES, "release")
    assert received.ways == ALIGNMENT.ways() | expected, results
    require_hellos(received, PAIR)
    require_sizes_of_the_alignment(received, {"guest": 30, "host": 25})
    assert received.sizes("scores", "guest") == ({8 * 20} if allowed else set())
    assert isinstance(results["bank"], BaseException) is not allowed
