"""Metrics, progress and the page of the report of a party."""

import io
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from federated_setting import Authority
from party_setting import COLUMNS, IDS, LIMIT, NAMES, PartyFiles, X, Y, run_here, write_columns, write_csv

import ciphermill as cm
from ciphermill.federated._party import html, metrics
from ciphermill.federated._party.metrics import Server, Watch
from ciphermill.federated._party.progress import Display, Lines, size
from ciphermill.federated._tls import Address

# Metrics.


def answer(address: Address, path: str = "/metrics", **headers: str) -> int:
    request = urllib.request.Request(f"http://{address}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as found:
            return int(found.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_metrics_answer_under_names_of_this_machine() -> None:
    with Server(Address("127.0.0.1", 0), Watch("bank", "guest", "bfv")) as server:
        assert answer(server.address) == 200
        assert answer(server.address, "/healthz") == 200
        assert answer(server.address, "/other") == 404
        for host in ("localhost", "localhost:1", "127.0.0.9:80", "[::1]:80"):
            assert answer(server.address, Host=host) == 200
        for host in ("example.org", "localhost.example.org", "10.0.0.1", "[::2]", ""):
            assert answer(server.address, Host=host) == 421
        with pytest.raises(cm.ParameterError, match="the metrics cannot listen on .*: Address already in use"):
            Server(server.address, Watch("shop", "host", "bfv"))


def test_idle_connections_do_not_hold_the_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "SECONDS", 0.3)
    with Server(Address("127.0.0.1", 0), Watch("bank", "guest", "bfv")) as server:
        idle = [socket.create_connection(server.address) for _ in range(metrics.MAX_CONNECTIONS)]
        end = time.monotonic() + 10
        while True:
            try:
                assert answer(server.address) == 200
                break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)
        for each in idle:
            each.close()


# Progress.


def part_of(iterations: int, phase: str = "training") -> Any:
    class Fake:
        def __init__(self) -> None:
            self.phase = phase
            self.report = type(
                "R", (), {"residuals": [0.5] * iterations, "bytes": {("a", "b", "c"): 1500}, "converged": False}
            )()

    return Fake()


def test_lines_of_a_log_are_few() -> None:
    log = io.StringIO()
    lines = Lines(log)
    for iterations in range(100):
        lines.show(part_of(iterations))
    lines.show(part_of(99, "writing"))
    found = log.getvalue().splitlines()
    assert found[0] == "training"
    assert found[1].startswith("iteration 1: relative gradient 5.00e-01, 0.")
    assert found[1].endswith(" s, 1.5 kB")
    assert found[-2].startswith("iteration 99: ")
    assert found[-1] == "writing"
    assert len(found) < 10


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_display() -> None:
    terminal = Terminal()
    display = Display(terminal)
    display.say("[red]bank[/red] waits")
    display.show(part_of(7))
    display.show(part_of(8))
    display.close()
    display.close()
    shown = terminal.getvalue()
    assert "[red]bank[/red] waits" in shown
    assert "iteration 8" in shown
    assert "5.00e-01" in shown


def test_sizes_have_units() -> None:
    assert [size(count) for count in (0, 999, 1000, 25_600_000, 3e12, 5e15)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "25.6 MB",
        "3.0 TB",
        "5000.0 TB",
    ]


# The page of the report.

HOSTILE = '<script>document.title="hit"</script>'
QUOTES = "\" onload=alert(1) '&amp;\x00\u202e"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> PartyFiles:
    """A training with columns whose names are parts of HTML."""
    parties = PartyFiles(tmp_path_factory.mktemp("hostile"), authority)
    names = [HOSTILE, QUOTES, "</title>", *NAMES[3:10]]
    write_csv(
        parties.folder / "bank.csv",
        ["customer", *names, "benign"],
        ([IDS[row], *X[row, :10], Y[row]] for row in range(569)),
    )
    write_columns(parties.folder / "shop.csv", COLUMNS["shop"], range(569))
    results = run_here(parties)
    assert results["bank"]["data"]["features"] == names
    return parties


def test_names_are_escaped(hostile: PartyFiles) -> None:
    page = (hostile.folder / "bank" / "report.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;document.title=&quot;hit&quot;&lt;/script&gt;" in page
    assert "\x00" not in page
    assert page.count("</title>") == len(re.findall("<title>", page))
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'' in page
    # No address except the name space of SVG.
    assert set(re.findall(r"https?://[^\"'\s<]*", page)) == {"http://www.w3.org/2000/svg"}


def test_the_page_has_every_number(hostile: PartyFiles) -> None:
    page, report = (hostile.folder / "bank" / "report.html").read_text(), hostile.report("bank")
    for residual in report["report"]["residuals"]:
        assert f">{residual:.6g}<" in page
    for words in (*report["report"]["guarantees"].values(), *report["report"]["leaks"], report["machine"]["system"]):
        assert html._text(words) in page


def chromium(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    # Only pages of this machine are opened; root has no sandbox.
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",
    ]
    home = {"HOME": str(path.parent)}
    return subprocess.run(
        [*command, *options, f"file://{path}"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=os.environ | home,
        check=True,
    )


def require_browser(capsys: pytest.CaptureFixture[str]) -> None:
    """Skip without Chromium, and list the skip. CIPHERMILL_REQUIRE with `browser` or `all` makes it a failure."""
    if shutil.which("chromium"):
        return
    if {"browser", "all"} & set(os.environ.get("CIPHERMILL_REQUIRE", "").split(",")):
        pytest.fail("chromium not found: run scripts/setup.sh browser, which installs Debian's packages")
    with capsys.disabled():
        print("\nNOT RUN: the report of a party in a browser: chromium is not installed")
    pytest.skip("chromium is not installed")


def test_a_browser_shows_the_page(hostile: PartyFiles, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    require_browser(capsys)
    shown = chromium(hostile.folder / "bank" / "report.html", "--dump-dom")
    assert "CONSOLE" not in shown.stderr
    for name in ("loss", "gradient", "seconds", "bytes", "equations"):
        figure = re.search(rf'<figure id="{name}">(.*?)</figure>', shown.stdout, re.DOTALL)
        assert figure, name
        assert re.search(r'<svg role="img" aria-labelledby="\w+-caption" viewBox=.*</svg>', figure[1], re.DOTALL)
        assert "<table>" in figure[1]
    assert shown.stdout.count("<polyline") == 2
    assert "<script" not in shown.stdout
    assert "<title>Training of bank (guest)</title>" in shown.stdout
    # A page with a script, which its policy forbids, has a message on the console.
    page = (hostile.folder / "bank" / "report.html").read_text()
    wrong = tmp_path / "wrong.html"
    wrong.write_text(page.replace("<main>", "<main><script>document.title='hit'</script>"))
    shown = chromium(wrong, "--dump-dom")
    assert "CONSOLE" in shown.stderr
    assert "<title>Training of bank (guest)</title>" in shown.stdout
