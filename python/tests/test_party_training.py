"""Trainings and predictions of parties: models, restarts, signals, refusals."""

import csv
import io
import json
import os
import re
import shutil
import signal
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from federated_setting import Authority
from free_ports import free_port
from party_setting import (
    COLUMNS,
    NAMES,
    PartyFiles,
    Process,
    X,
    Y,
    plain,
    put,
    require_weights,
    run_here,
    write_columns,
    write_csv,
)

import ciphermill as cm
from ciphermill.federated import _party
from ciphermill.federated._fit import open_store
from ciphermill.federated._party import config, model
from ciphermill.federated._party.data import Scaling
from ciphermill.federated._party.metrics import STATES
from ciphermill.federated._party.progress import Lines
from ciphermill.federated._party.run import prepare
from ciphermill.federated._state import RUNNING, STORED
from ciphermill.federated._training import Part
from ciphermill.linear_model import HeteroLogisticRegression


class Scrapes(Lines):
    """Reads the metrics at an iteration."""

    def __init__(self, iteration: int) -> None:
        self.log = io.StringIO()
        super().__init__(self.log)
        self.iteration = iteration
        self.found = ""

    def show(self, part: Part) -> None:
        super().show(part)
        if len(part.report.residuals) == self.iteration and not self.found:
            address = re.search(r"http://\S+", self.log.getvalue())
            assert address
            self.found = urllib.request.urlopen(address[0], timeout=5).read().decode()


def metric(text: str, name: str) -> float:
    (value,) = re.findall(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(value)


def test_parties_train_as_in_clear(parties: PartyFiles) -> None:
    """Two parties over mTLS, with labels of their own, and metrics during the run."""
    parties.write_data()
    for name in ("bank", "shop"):
        parties.write(name, put("party", "metrics", "127.0.0.1:0"))
    parties.write(
        "bank", lambda sections: sections["party"].update(metrics="127.0.0.1:0") or sections["data"].update(positive=0)
    )
    scrapes = Scrapes(5)
    results = run_here(parties, shown={"bank": scrapes})
    expected = plain()
    # With the other class as the positive one, all weights have the other sign.
    require_weights(parties, {name: -weights for name, weights in expected.items()})
    text = scrapes.found
    assert metric(text, "ciphermill_party_iterations") == 5
    assert 0 < metric(text, "ciphermill_party_relative_gradient") < 1
    assert metric(text, "ciphermill_party_products") == 6
    assert metric(text, "ciphermill_party_answers_left") == 200 + 1 + 2 * 8 - 6
    assert metric(text, 'ciphermill_party_info{backend="bfv",name="bank",role="guest"}') == 1
    states = {state: metric(text, f'ciphermill_party_state{{state="{state}"}}') for state in STATES}
    assert states == dict.fromkeys(STATES, 0.0) | {"training": 1.0}
    sent = {}
    for direction in ("sent", "received"):
        name = f'ciphermill_party_bytes_total{{direction="{direction}",kind="half",peer="shop"}}'
        sent[direction] = metric(text, name)
    assert sent["sent"] == sent["received"] > 1e5
    assert metric(text, 'ciphermill_party_step_seconds_total{step="multiply"}') > 0
    assert metric(text, 'ciphermill_party_reconnections_total{peer="shop"}') == 0
    assert metric(text, "ciphermill_party_restarts") == 0
    for line in text.splitlines():
        assert line.startswith(("# HELP ciphermill_", "# TYPE ciphermill_", "ciphermill_"))
    found = parties.model("bank")
    assert found["classes"] == [1, 0]
    assert found["features"] == NAMES[:10]
    assert found["training"] == parties.model("shop")["training"]
    for path in (*(parties.folder / "bank").iterdir(), *(parties.folder / "bank-state").iterdir()):
        assert path.stat().st_mode & 0o777 == 0o600, path
    assert results["bank"] == parties.report("bank")
    assert results["bank"]["result"]["converged"]
    assert "weights" not in json.dumps(results["bank"]["configuration"])


def test_the_command_prints_its_report(parties: PartyFiles, started: list[Process]) -> None:
    parties.write_data()
    started += [parties.start("shop"), parties.start("bank", "run", "--json")]
    shop, bank = started
    status, output = bank.finish()
    assert status == 0, bank.errors
    assert json.loads(output) == parties.report("bank")
    status, output = shop.finish()
    assert status == 0, shop.errors
    assert "23 iterations, relative gradient" in output
    assert str(parties.folder / "shop" / "model.json") in output
    log = bank.errors.splitlines()
    assert log[0] == f"bank (guest) connects to shop at localhost:{parties.port}"
    assert log[1:3] == ["connecting", "training"]
    assert re.fullmatch(r"iteration 23: relative gradient 1\.49e-07, \d+\.\d s, 2\d\.\d MB", log[-1])


#: Half a second, and a second for a busy machine to notice the end.
SOON = 1.5

SLOW = {"solver": "sgd", "max_iter": 80, "tol": 1e-9}


@pytest.mark.parametrize(("killed", "align", "training"), [("shop", "none", SLOW), ("bank", "psi", SLOW)])
def test_a_killed_party_resumes(
    tmp_path: Path, authority: Authority, started: list[Process], killed: str, align: str, training: dict[str, Any]
) -> None:
    """The model is that of an uninterrupted training and of the back end in clear, in every bit."""
    parties = PartyFiles(tmp_path, authority, training, align)
    rows = [row for row in range(len(X)) if row % 7]
    parties.write_data(shop=range(len(X)) if align == "none" else rows[::-1])
    running = {name: parties.start(name) for name in ("shop", "bank")}
    started += running.values()
    parties.wait_for(killed, 10)
    running[killed].kill()
    assert running[killed].process.returncode == -signal.SIGKILL
    stopped = parties.iterations(killed)
    assert stopped < 80
    running[killed] = parties.start(killed)
    started.append(running[killed])
    for process in running.values():
        status, _ = process.finish()
        assert status == 0, process.errors
    options = {**training, "solver": "sgd"}
    require_weights(parties, plain(None if align == "none" else rows, **options))
    report = parties.report(killed)
    assert report["result"]["restarts"] == 1
    assert len(report["report"]["residuals"]) == 80
    # The restarted process has the products after the stop only, and its rows without a new alignment.
    received = {(each["from"], each["kind"]): each["bytes"] for each in report["report"]["bytes"]}
    other = parties.report("bank" if killed == "shop" else "shop")
    before = {(each["from"], each["kind"]): each["bytes"] for each in other["report"]["bytes"]}
    assert received[killed, "half"] < before[killed, "half"]
    assert ("shop", "blinded ids") not in received
    assert (("shop", "blinded ids") in before) == (align == "psi")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_party_soon(parties: PartyFiles, started: list[Process], number: int) -> None:
    """In a wait for a peer that does not come, and in a wait for one that does not answer. The training resumes."""
    parties.write_data()
    bank = parties.start("bank")
    started.append(bank)
    bank.wait_for("connecting")
    assert bank.kill(number) < SOON
    assert bank.process.returncode == 1
    assert f"ended by {signal.Signals(number).name}; the state is in " in bank.errors
    shop, bank = parties.start("shop"), parties.start("bank")
    started += [shop, bank]
    parties.wait_for("bank", 1)
    os.kill(shop.process.pid, signal.SIGSTOP)
    assert bank.kill(number) < SOON
    assert bank.process.returncode == 1
    os.kill(shop.process.pid, signal.SIGKILL if number == signal.SIGINT else signal.SIGCONT)
    running = [parties.start("bank")] + ([parties.start("shop")] if number == signal.SIGINT else [])
    started += running
    for process in running if number == signal.SIGINT else [*running, shop]:
        assert process.finish()[0] == 0, process.errors
    require_weights(parties, plain())


def test_ctrl_c_ends_the_peers(parties: PartyFiles, started: list[Process]) -> None:
    parties.training.update(SLOW)
    for name in COLUMNS:
        parties.write(name)
    parties.write_data()
    shop, bank = parties.start("shop"), parties.start("bank")
    started += [shop, bank]
    parties.wait_for("bank", 3)
    assert bank.kill(signal.SIGINT) < SOON
    assert bank.process.returncode == 1
    assert shop.finish()[0] == 1
    assert "error: bank ended the exchange: the run ended with KeyboardInterrupt" in shop.errors


def test_a_full_disk_is_named_and_the_training_resumes(parties: PartyFiles, started: list[Process]) -> None:
    parties.write_data()
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2600, 2600))"
    shop, bank = parties.start("shop", prefix=limit), parties.start("bank")
    started += [shop, bank]
    assert shop.finish()[0] == 1
    assert re.search("error: the directory .*shop-state cannot hold the state: File too large", shop.errors)
    assert bank.finish()[0] == 1
    assert "error: shop ended the exchange: the run ended with StateError" in bank.errors
    assert 0 < parties.iterations("shop") < 23
    assert not list((parties.folder / "shop-state").glob("*.new"))
    again = [parties.start("shop"), parties.start("bank")]
    started += again
    for process in again:
        assert process.finish()[0] == 0, process.errors
    require_weights(parties, plain())


def test_a_party_that_ends_after_its_peer_stored_the_model_finds_it(parties: PartyFiles) -> None:
    """A party waits at the end until its peers have stored their results."""
    parties.write_data()
    (parties.folder / "shop").mkdir()
    (parties.folder / "shop" / "report.json").mkdir()
    results = run_here(parties)
    assert isinstance(results["shop"], cm.StateError)
    assert "report.json cannot be written: Is a directory" in str(results["shop"])
    # The guest has its model, although its peer failed at the end.
    assert results["bank"]["result"]["converged"]
    (parties.folder / "shop" / "report.json").rmdir()
    results = run_here(parties)
    assert results["shop"]["result"]["restarts"] == 1
    require_weights(parties, plain())


def test_a_finished_party_has_its_result_at_once(parties: PartyFiles) -> None:
    parties.write_data()
    results = run_here(parties)
    # No peer is there, and none is needed.
    assert run_here(parties, "shop") == {"shop": results["shop"]}
    assert run_here(parties, "bank") == {"bank": results["bank"]}
    (parties.folder / "bank" / "report.json").unlink()
    error = run_here(parties, "bank")["bank"]
    assert isinstance(error, cm.StateError)
    assert "report.json is not the report of the training in " in str(error)


def test_a_party_with_a_stored_result_needs_no_peer(parties: PartyFiles) -> None:
    """A party was killed after it stored its result, before it knew that all parties have."""
    parties.write_data()
    results = run_here(parties)
    parties.training["deadline"] = 1
    for name in COLUMNS:
        parties.write(name)
        file = parties.folder / f"{name}-state" / "start.state"
        assert b'"stage": "finished"' in file.read_bytes()
    party = prepare(config.read(parties.folder / "shop.toml"))
    store = open_store(
        parties.folder / "shop-state", "shop", {"shop": "host", "bank": "guest"}, party.options, party.data
    )
    start = store.start()
    assert start is not None
    store.begin(replace(start, stage=STORED))
    store.close()
    assert run_here(parties, "shop") == {"shop": results["shop"]}
    # Without a stored result, the same is an error.
    store = open_store(
        parties.folder / "shop-state", "shop", {"shop": "host", "bank": "guest"}, party.options, party.data
    )
    store.begin(replace(start, stage=RUNNING))
    store.close()
    assert isinstance(run_here(parties, "shop")["shop"], cm.PeerError)


def test_an_earlier_state_of_other_data_is_refused(parties: PartyFiles) -> None:
    parties.write_data()
    run_here(parties)
    parties.write_data(shop=reversed(range(len(X))))
    results = run_here(parties, "shop")
    assert isinstance(results["shop"], cm.StateError)
    assert "has the state of a training with another configuration or other data" in str(results["shop"])


def without_ids(sections: dict[str, Any], name: str) -> None:
    del sections["data"]["id"]
    sections["data"]["features"] = NAMES[COLUMNS[name]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("training", "C", 2.0), "C is .* at .* and .* at this side"),
        (put("training", "calibrate", True), "calibrate is .* at .* and .* at this side"),
        (put("data", "align", "psi"), "align is 'psi' at shop and 'none' at bank"),
        (lambda sections: without_ids(sections, "shop"), "ids is '' at shop and '"),
        (lambda sections: sections["party"].update(name="mall"), "no process|mall|certificate"),
    ],
)
def test_parties_compare_their_options(parties: PartyFiles, change: Any, words: str) -> None:
    parties.write_data()
    parties.training["deadline"] = 3
    parties.write("bank")
    parties.write("shop", lambda sections: sections["data"].update(allow_training_scores=True) or change(sections))
    results = run_here(parties)
    assert isinstance(results["bank"], cm.PeerError)
    assert re.search(words, str(results["bank"])), results["bank"]
    assert isinstance(results["shop"], cm.PeerError)


def test_other_rows_are_an_error_of_the_comparison(parties: PartyFiles) -> None:
    parties.write_data(shop=range(1, len(X)))
    results = run_here(parties)
    assert re.search("ids is '.*' at shop and '.*' at bank", str(results["bank"]))
    for name in COLUMNS:
        parties.write(name, lambda sections, name=name: without_ids(sections, name))  # type: ignore[misc]
    results = run_here(parties)
    assert "rows is 568 at shop and 569 at bank; use the same" in str(results["bank"])


def test_common_rows_have_both_classes(parties: PartyFiles) -> None:
    parties.align = "psi"
    for name in COLUMNS:
        parties.write(name, put("training", "allow_label_leak", True))
    benign = np.flatnonzero(Y)[:50]
    parties.write_data(shop=benign)
    results = run_here(parties)
    assert "the common rows have one label" in str(results["bank"])
    assert isinstance(results["shop"], cm.PeerError)
    parties.write_data(bank=range(100), shop=range(100, 200))
    results = run_here(parties)
    assert "no id is common to all parties" in str(results["bank"])
    assert re.search("no id is common|bank ended the exchange", str(results["shop"]))


@pytest.fixture
def four(parties: PartyFiles) -> PartyFiles:
    """A guest, two hosts and an arbiter with other rows each."""
    mall, notary = free_port(), free_port()
    parties.align = "psi"
    parties.training.update(calibrate=True)
    arbiter = {"name": "notary", "role": "arbiter", "address": f"localhost:{notary}"}

    def guest(sections: dict[str, Any]) -> None:
        sections["peers"] += [{"name": "mall", "role": "host", "address": f"localhost:{mall}"}, arbiter]

    def host(sections: dict[str, Any]) -> None:
        sections["peers"].append(arbiter)
        sections["data"]["allow_training_scores"] = True

    def second(sections: dict[str, Any]) -> None:
        host(sections)
        sections["party"].update(name="mall", state="mall-state", output="mall")
        sections["listen"]["address"] = f"127.0.0.1:{mall}"
        sections["data"]["file"] = "mall.csv"
        sections["tls"].update({key: value.replace("ca-shop", "ca-mall") for key, value in sections["tls"].items()})

    def judge(sections: dict[str, Any]) -> None:
        second(sections)
        sections["party"].update(name="notary", role="arbiter", state="notary-state", output="notary")
        sections["listen"]["address"] = f"127.0.0.1:{notary}"
        sections["peers"] = [
            {"name": "bank", "role": "guest"},
            *({"name": name, "role": "host"} for name in ("shop", "mall")),
        ]
        sections["tls"].update({key: value.replace("ca-mall", "ca-notary") for key, value in sections["tls"].items()})
        del sections["data"]

    texts = {}
    for name, change in (("bank", guest), ("notary", judge), ("mall", second), ("shop", host)):
        texts[name] = parties.write("bank" if name == "bank" else "shop", change).read_text()
    for name, text in texts.items():
        (parties.folder / f"{name}.toml").write_text(text)
    write_columns(parties.folder / "bank.csv", slice(0, 10), range(569), labels=True)
    write_columns(parties.folder / "shop.csv", slice(10, 20), range(568, 3, -1))
    write_columns(parties.folder / "mall.csv", slice(20, 30), range(560))
    return parties


def test_several_hosts_and_an_arbiter(four: PartyFiles) -> None:
    """All parties find their common rows, train, calibrate, and score new rows."""
    results = run_here(four, "notary", "mall", "shop", "bank")
    rows = np.arange(4, 560)
    columns = {"bank": slice(0, 10), "mall": slice(10, 20), "shop": slice(20, 30)}
    order = [*range(10), *range(20, 30), *range(10, 20)]
    values = X[rows][:, order]
    scaled = Scaling.of(values, NAMES).apply(values)
    fitted = HeteroLogisticRegression(columns=columns, arbiter=True, calibrate=True).fit(scaled, Y[rows])
    for name, part in columns.items():
        assert np.array(four.model(name)["weights"]).tobytes() == fitted.coef_[0, part].tobytes(), results[name]
    assert four.model("bank")["intercept"] == fitted.intercept_[0]
    np.testing.assert_allclose(four.model("bank")["calibration"], fitted.calibration_, rtol=1e-9)
    notary = results["notary"]
    assert notary["alignment"]["rows"] == 556
    assert notary["result"]["iterations"] is None
    assert not (four.folder / "notary" / "model.json").exists()
    assert "bank: which of its ids each host has" in results["bank"]["alignment"]["leaks"]
    page = (four.folder / "notary" / "report.html").read_text()
    assert "The arbiter does not learn the course of the training" in page

    # New rows, in another order at each party.
    moved = X + 0.01
    write_csv(
        four.folder / "new-bank.csv", ["customer", *NAMES[:10]], ([f"n{row}", *moved[row, :10]] for row in range(20))
    )
    write_csv(
        four.folder / "new-shop.csv",
        [*NAMES[10:20], "customer"],
        ([*moved[row, 10:20], f"n{row}"] for row in range(19, 4, -1)),
    )
    write_csv(
        four.folder / "new-mall.csv",
        ["customer", *NAMES[20:30]],
        ([f"n{row}", *moved[row, 20:30]] for row in range(18)),
    )
    predict(four, "notary", "mall", "shop", "bank")
    with (four.folder / "scores.csv").open() as file:
        head, *found = csv.reader(file)
    assert head == ["customer", "score", "probability", "class"]
    chosen = sorted((f"n{row}", row) for row in range(5, 18))
    assert [row[0] for row in found] == [name for name, _ in chosen]
    expected = Scaling.of(values, NAMES).apply(moved[[row for _, row in chosen]][:, order])
    scores = fitted.decision_function(expected)
    np.testing.assert_allclose([float(row[1]) for row in found], scores, rtol=1e-9)
    np.testing.assert_allclose([float(row[2]) for row in found], fitted.predict_proba(expected)[:, 1], atol=1e-12)
    assert [int(row[3]) for row in found] == fitted.predict(expected).tolist()


def predict(parties: PartyFiles, *names: str) -> dict[str, tuple[int, str]]:
    """Run the command of all parties in processes. Returns exit statuses and logs."""
    running = {}
    for name in names:
        options = ["predict"]
        if name != "notary":
            options += ["--data", str(parties.folder / f"new-{name}.csv")]
        if name == "bank":
            options += ["--out", str(parties.folder / "scores.csv")]
        running[name] = parties.start(name, *options)
    return {name: (process.finish()[0], process.errors) for name, process in running.items()}


def test_a_host_does_not_release_scores_of_training_rows(parties: PartyFiles) -> None:
    parties.write_data()
    run_here(parties)
    for name in COLUMNS:
        shutil.copy(parties.folder / f"{name}.csv", parties.folder / f"new-{name}.csv")
    results = predict(parties, "shop", "bank")
    assert results["shop"][0] == results["bank"][0] == 1
    assert "569 of 569 rows are those of the training" in results["shop"][1]
    assert "shop does not release scores of training rows" in results["bank"][1]
    assert not (parties.folder / "scores.csv").exists()
    # One row of the training among new rows: the guest cannot ask for a few of them at a time.
    mixed = np.vstack([X[:1], X[1:20] + 0.01])
    for name, columns in (("bank", slice(0, 10)), ("shop", slice(10, 30))):
        rows = ([f"n{row}", *values] for row, values in enumerate(mixed[:, columns]))
        write_csv(parties.folder / f"new-{name}.csv", ["customer", *NAMES[columns]], rows)
    results = predict(parties, "shop", "bank")
    assert results["shop"][0] == results["bank"][0] == 1
    assert "1 of 20 rows are those of the training" in results["shop"][1]
    assert not (parties.folder / "scores.csv").exists()
    for name in COLUMNS:
        shutil.copy(parties.folder / f"{name}.csv", parties.folder / f"new-{name}.csv")
    parties.write("shop", put("data", "allow_training_scores", True))
    results = predict(parties, "shop", "bank")
    assert results["shop"][0] == results["bank"][0] == 0, results
    with (parties.folder / "scores.csv").open() as file:
        found = [int(row["class"]) for row in csv.DictReader(file)]
    assert np.mean(np.array(found) == Y) > 0.95


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("bank", ["--data", "a.csv"], "--out is missing; a guest needs it"),
        ("bank", ["--out", "s.csv"], "--data is missing; a guest needs it"),
        ("shop", ["--data", "a.csv", "--out", "s.csv"], "--out is not for a host"),
        (
            "bank",
            ["--data", "a.csv", "--out", "s.csv"],
            "bank/model.json cannot be read: No such file or directory; train a model",
        ),
    ],
)
def test_options_of_a_prediction(
    parties: PartyFiles, name: str, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _party.main(["predict", str(parties.folder / f"{name}.toml"), *options]) == 2
    assert words in capsys.readouterr().err


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    made = model.Model("bank", "guest", "0f", ("a",), np.ones(1), 0.5, None, (0, 1), (1.0, 0.0), {})
    made.save(tmp_path)
    path = tmp_path / model.FILE
    read = model.load(tmp_path)
    assert (read.features, read.weights.tolist(), read.classes) == (("a",), [1.0], (0, 1))
    facts = json.loads(path.read_text())
    for change in (
        {"format": "other"},
        {"weights": [1, 2]},
        {"weights": ["1"]},
        {"weights": [float("nan")]},
        {"classes": [1]},
        {"features": "a"},
        {"standardise": {"mean": [1]}},
        {"calibration": 5},
    ):
        path.write_text(json.dumps(facts | change))
        with pytest.raises(cm.ParameterError, match=r"model\.json is not a model"):
            model.load(tmp_path)
    for text in ("", "[]", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(cm.ParameterError, match=r"model\.json is not a model"):
            model.load(tmp_path)
