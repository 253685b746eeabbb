"""The command of a party: its configuration and its options."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from party_setting import Change, PartyFiles, drop, extra, peer, put, toml

import ciphermill as cm
from ciphermill.federated import _party
from ciphermill.federated._party import config
from ciphermill.federated._tls import Address

# The configuration.

WRONG: list[tuple[str, Change, str]] = [
    ("bank", extra("party", 5), r"bank.toml: party is 5; use a section \[party\]"),
    (
        "bank",
        extra("colour", {}),
        'has the unknown section "colour"; use data, listen, party, peers, ray, tls, training',
    ),
    ("bank", lambda sections: sections.pop("tls"), r"has no section \[tls\]"),
    ("bank", lambda sections: sections.pop("peers"), r"has no section \[\[peers\]\]"),
    ("bank", lambda sections: sections.pop("data"), r"has no section \[data\]"),
    ("bank", extra("peers", {}), r"peers is {}; use sections \[\[peers\]\]"),
    (
        "bank",
        put("party", "colour", 1),
        r'\[party\] has the unknown key "colour"; use metrics, name, output, role, state',
    ),
    ("bank", put("training", "maxiter", 1), r'\[training\] has the unknown key "maxiter"; use C, allow_label_leak'),
    ("bank", drop("party", "name"), r"\[party\] has no name; use a text"),
    ("bank", put("party", "name", "b ank"), r'\[party\] name is "b ank"; use a DNS name'),
    ("bank", put("party", "name", ["bank"]), r"\[party\] name is \['bank'\]; use a text"),
    ("bank", put("party", "role", "boss"), r'\[party\] role is "boss"; use "guest", "host" or "arbiter"'),
    ("bank", put("party", "output", "bank-state"), r"\[party\] output is that of state; use two directories"),
    ("bank", put("party", "state", ""), r'\[party\] state is ""; use a text of at least 1 character'),
    ("bank", put("party", "metrics", "9464"), r"\[party\] metrics: the address '9464' is not supported; use host:port"),
    ("bank", put("party", "metrics", 70000), r"\[party\] metrics: the port of .* is 70000; use 0 to 65535"),
    ("bank", put("party", "metrics", True), r"\[party\] metrics is true; use \"host:port\""),
    (
        "bank",
        extra("listen", {"address": "a:1"}),
        "has a section .listen.; a guest connects to its peers, so remove it",
    ),
    ("shop", lambda sections: sections.pop("listen"), r"has no section \[listen\]"),
    ("shop", put("listen", "address", "shop"), r"\[listen\] address: the address 'shop' is not supported"),
    (
        "bank",
        peer("role", "guest"),
        r'\[\[peers\]\] 1 role is "guest", and so is that of this party; use "host" or "arbiter"',
    ),
    ("bank", peer("name", "bank"), r'\[\[peers\]\] 1 name is "bank", which is that of another party'),
    ("bank", peer("address", "shop:x"), r"\[\[peers\]\] 1 address: the address 'shop:x' is not supported"),
    ("bank", lambda sections: sections["peers"][0].pop("address"), r"1 has no address; this guest connects to shop"),
    ("shop", peer("address", "bank:1"), r'1 address is "bank:1"; bank connects to this host: remove the address'),
    ("bank", peer("pin", "sha256:00"), r"1 pin: the pin 'sha256:00' is not supported; use \"sha256:\""),
    ("bank", peer("certificate_name", "*"), r"1 certificate_name: the certificate name '\*' is not a DNS name"),
    (
        "bank",
        lambda sections: sections["peers"].append(sections["peers"][0]),
        r"2 name is \"shop\", which is that of another",
    ),
    (
        "bank",
        lambda sections: sections["peers"].append({"name": "mall", "role": "host", "address": "mall:1"}),
        "there are 1 guests, 2 hosts and 0 arbiters; use 1 guest, 1 host, and perhaps an arbiter, or 2 to 15 hosts",
    ),
    ("shop", put("data", "label", "benign"), r"\[data\] label is for a guest; remove it from this host"),
    ("shop", put("data", "fit_intercept", True), r"\[data\] fit_intercept is for a guest"),
    ("bank", put("data", "allow_training_scores", True), r"\[data\] allow_training_scores is for a host"),
    ("bank", drop("data", "label"), r"\[data\] has no label; use a text"),
    (
        "bank",
        put("data", "file", "bank.xls"),
        r'\[data\] file is "bank.xls"; use a file that ends with .csv, .parquet',
    ),
    ("bank", put("data", "features", []), r"\[data\] features is \[\]; use a list of 1 to 1048576 different texts"),
    ("bank", put("data", "features", ["a", "a"]), r"\[data\] features is \['a', 'a'\]; use a list"),
    ("bank", put("data", "features", ["customer"]), r'\[data\] features has "customer", the column of ids or labels'),
    ("bank", put("data", "label", "customer"), r'\[data\] label is "customer", and so is id; use two columns'),
    ("bank", put("data", "standardise", 1), r"\[data\] standardise is 1; use true or false"),
    ("bank", put("data", "align", "hash"), r'\[data\] align is "hash"; use "psi" or "none"'),
    (
        "bank",
        lambda sections: sections["data"].pop("id") and sections["data"].pop("align"),
        r'\[data\] align is "psi", which needs the column of ids; set id, or use align = "none"',
    ),
    ("bank", put("data", "max_bytes", 0), r"\[data\] max_bytes is 0; use 1 to 1125899906842624"),
    ("bank", put("training", "backend", "plain"), r'\[training\] backend is "plain"; use "bfv" or "paillier"'),
    ("bank", put("training", "C", 0), r"\[training\] C is 0; use a number above 0 and at most 1e\+12"),
    ("bank", put("training", "C", 10**400), r"\[training\] C is 1000.*\.\.\.; use a number above 0"),
    ("bank", put("training", "tol", "small"), r'\[training\] tol is "small"; use a number above 0 and at most 1'),
    ("bank", put("training", "max_iter", 0), r"\[training\] max_iter is 0; use 1 to 1048576"),
    ("bank", put("training", "max_iter", 1.0), r"\[training\] max_iter is 1.0; use an integer from 1 to 1048576"),
    ("bank", put("training", "max_iter", True), r"\[training\] max_iter is true; use an integer"),
    (
        "bank",
        put("training", "deadline", 1e9),
        r"\[training\] deadline is 1000000000.0; use a number above 0 and at most 604800",
    ),
    (
        "bank",
        put("training", "learning_rate", 0.1),
        r'\[training\] learning_rate does not go with solver = "cg"; remove it',
    ),
    ("bank", put("training", "batch_size", 9), r'\[training\] batch_size does not go with solver = "cg"'),
    ("bank", put("training", "restarts", 1001), r"\[training\] restarts is 1001; use 0 to 1000"),
    ("bank", extra("ray", {"actors": 0}), r"\[ray\] actors is 0; use 1 to 1024"),
    ("bank", extra("ray", {"address": 5}), r"\[ray\] address is 5; use a text"),
    (
        "bank",
        lambda sections: sections["training"].update(backend="paillier") or sections.update(ray={}),
        r'has a section \[ray\], which needs backend = "bfv"',
    ),
    ("shop", put("training", "calibrate", True), r"\[data\] allow_training_scores is not true; calibrate = true shows"),
]


@pytest.mark.parametrize(("name", "change", "words"), WRONG, ids=[f"{name} {words[:40]}" for name, _, words in WRONG])
def test_a_wrong_configuration_names_its_key(parties: PartyFiles, name: str, change: Any, words: str) -> None:
    path = parties.write(name, change)
    with pytest.raises(cm.ParameterError, match=words) as raised:
        config.read(path)
    assert str(raised.value).startswith(str(path))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1.0", "0.0", "-0.0"])
def test_special_numbers_are_refused(parties: PartyFiles, value: str) -> None:
    path = parties.folder / "bank.toml"
    for key in ("C", "tol", "deadline"):
        path.write_text(toml(parties.sections("bank") | {"training": {}}) + f"{key} = {value}\n")
        with pytest.raises(cm.ParameterError, match=rf"\[training\] {key} is {value}; use a number above 0"):
            config.read(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a = \n", "is not TOML: .*line 1, column 5"),
        (b"a = 1\na = 2\n", "is not TOML: .*line 2"),
        (b"\xff", "is not TOML: .*utf-8"),
        (b"a=" + b"[" * 100_000, "is not TOML"),
        (b"#" * (config.MAX_FILE + 1), "has more than 1048576 bytes"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bank.toml"
    path.write_bytes(content)
    with pytest.raises(cm.ParameterError, match=words):
        config.read(path)


def test_a_configuration_is_read(parties: PartyFiles) -> None:
    """Paths are relative to the file, and keys have their defaults."""
    read = config.read(parties.folder / "bank.toml")
    assert read.state == parties.folder / "bank-state"
    assert read.data is not None
    assert read.data.file == parties.folder / "bank.csv"
    assert (read.metrics, read.listen) == (None, None)
    assert read.data.standardise
    assert read.data.fit_intercept
    assert read.data.positive is None
    assert (read.training.backend, read.training.C, read.training.max_iter, read.training.restarts) == (
        "bfv",
        1.0,
        200,
        8,
    )
    read = config.read(parties.write("shop", put("party", "metrics", 9464)))
    assert read.metrics == Address("127.0.0.1", 9464)
    assert read.data is not None
    assert not read.data.fit_intercept


def test_an_arbiter_has_no_data(parties: PartyFiles) -> None:
    def arbiter(sections: dict[str, Any]) -> None:
        sections["party"].update(name="notary", role="arbiter")
        sections["peers"] = [{"name": "bank", "role": "guest"}, {"name": "shop", "role": "host"}]
        del sections["data"]

    def with_data(sections: dict[str, Any]) -> None:
        arbiter(sections)
        sections["data"] = {}

    assert config.read(parties.write("shop", arbiter)).data is None
    with pytest.raises(cm.ParameterError, match=r"a section \[data\]; an arbiter has no data"):
        config.read(parties.write("shop", with_data))


# The command line.


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], *([verb, "--help"] for verb in _party.VERBS)):
        with pytest.raises(SystemExit) as ended:
            _party.main(arguments)
        assert ended.value.code == 0
        assert "example" in capsys.readouterr().out
    for arguments in ([], ["run"], ["--colour"], ["run", "a.toml", "--colour"], ["run", "a.toml", "b.toml"]):
        with pytest.raises(SystemExit) as ended:
            _party.main(arguments)
        assert ended.value.code == 2
        assert "usage" in capsys.readouterr().err


def test_the_example_of_the_help_is_a_configuration(parties: PartyFiles, capsys: pytest.CaptureFixture[str]) -> None:
    example = _party.EXAMPLE.partition("bank.toml of a guest\n")[2].partition("  $ ")[0]
    path = parties.folder / "example.toml"
    path.write_text(example)
    assert config.read(path).name == "bank"


def test_check_reads_everything_and_connects_to_no_peer(
    parties: PartyFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(parties.write_data().folder / "bank.toml")
    assert _party.main(["check", path]) == 0
    shown = capsys.readouterr().out
    for words in (
        "bank (guest)",
        f"shop (host) at localhost:{parties.port}",
        "569",
        "mean radius",
        "backend bfv",
        "none yet",
    ):
        assert words in shown
    assert _party.main(["check", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == [0, 1]
    assert sorted(each.name for each in parties.folder.iterdir()) == ["bank.csv", "bank.toml", "shop.csv", "shop.toml"]


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("bank", put("training", "tol", 0), r"bank.toml: \[training\] tol is 0; use"),
        ("bank", put("data", "file", "none.csv"), "none.csv cannot be read: No such file"),
        ("bank", put("data", "positive", "yes"), r'bank.toml: \[data\] positive is "yes"; use [01] or [01]'),
        ("bank", put("tls", "certificate", "none.pem"), "the file of the certificate, .*none.pem, cannot be read"),
        ("bank", put("data", "max_bytes", 1000), "bank.csv has .* bytes, the limit is max_bytes=1000; raise the limit"),
        (
            "bank",
            put("data", "features", ["colour"]),
            'bank.csv: there is no column "colour"; use customer, mean radius',
        ),
    ],
)
def test_errors_before_the_connection_are_usage(
    parties: PartyFiles, name: str, change: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(parties.write_data().write(name, change))
    for verb in (["check", path], ["run", path], [path]):
        assert _party.main(verb) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        (line,) = (line for line in shown.err.splitlines() if line.startswith("error: "))
        assert re.search(words, line), line


def test_the_rule_of_rows_holds_before_the_connection(parties: PartyFiles, capsys: pytest.CaptureFixture[str]) -> None:
    parties.write_data(shop=range(100))
    assert _party.main(["check", str(parties.folder / "shop.toml")]) == 2
    assert "100 samples are fewer than 16 times the 20 features of shop" in capsys.readouterr().err
    path = parties.write("shop", put("training", "allow_label_leak", True))
    assert _party.main(["check", str(path)]) == 0
