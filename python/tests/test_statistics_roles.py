"""The roles of secure statistics: threads, pickles, secret keys and released memory."""

import hashlib
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

import ciphermill as cm
from ciphermill import statistics
from ciphermill.statistics import SecureStatistics


def in_threads(*calls: Any) -> list[Exception]:
    """The errors of some calls, each in its own thread."""
    errors: list[Exception] = []

    def attempt(call: Any) -> None:
        try:
            call()
        except cm.CiphermillError as error:
            errors.append(error)

    threads = [threading.Thread(target=attempt, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_threads_add_a_party_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stats = SecureStatistics({"a": (0, 10)}, parties=4, max_rows=10)
    public, aggregator = stats.keygen().public, stats.aggregator()
    first, second = (stats.encrypt(public, {"a": [1]}).to_bytes() for _ in range(2))
    together = threading.Barrier(2)

    def sha256(data: bytes) -> Any:
        # Both threads have read their contribution, and neither has added it.
        together.wait(20)
        return hashlib.sha256(data)

    with monkeypatch.context() as patch:
        patch.setattr(statistics, "hashlib", type("", (), {"sha256": staticmethod(sha256)}))
        errors = in_threads(*(lambda data=data: aggregator.add("north", data) for data in (first, second)))
    assert [str(error) for error in errors] == ["north has contributed already; use one contribution of each party"]
    assert aggregator.parties == ["north"]


class _Slow:
    """A contribution whose addition waits until another thread asks for the total."""

    contributions = 1

    def __init__(self, sums: cm.EncryptedSums) -> None:
        self._sums = sums
        self.started = threading.Event()

    def __radd__(self, other: cm.EncryptedSums) -> cm.EncryptedSums:
        self.started.set()
        threading.Event().wait(0.3)
        return other + self._sums


def test_the_total_is_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contribution that is in progress is part of every total, or of none."""
    stats = SecureStatistics({"a": (0, 10)}, parties=4, max_rows=10)
    public, aggregator = stats.keygen().public, stats.aggregator()
    for party in ("north", "south"):
        aggregator.add(party, stats.encrypt(public, {"a": [1]}))
    sent = stats.encrypt(public, {"a": [2]}).to_bytes()
    slow = _Slow(cm.EncryptedSums.from_bytes(stats.plan, sent))
    monkeypatch.setattr(SecureStatistics, "_read_sums", lambda *_: slow)
    adding = threading.Thread(target=lambda: aggregator.add("east", sent))
    adding.start()
    assert slow.started.wait(20)
    early = aggregator.total()
    adding.join()
    assert early.to_bytes() == aggregator.total().to_bytes()
    assert early.contributions == len(aggregator.parties)


def test_an_aggregator_is_pickled_without_its_lock() -> None:
    stats = SecureStatistics({"a": (0, 10)}, parties=4, max_rows=10)
    holder, aggregator = stats.keygen(), stats.aggregator()
    aggregator.add("north", stats.encrypt(holder.public, {"a": [1]}))
    again = pickle.loads(pickle.dumps(aggregator))
    again.add("south", stats.encrypt(holder.public, {"a": [2]}))
    assert holder.decrypt(again.total()).sum("a") == 3
    assert aggregator.parties == ["north"] and again.parties == ["north", "south"]


def test_a_secret_key_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy in bytes could not be erased, so the native method gets the object of the caller."""
    stats = SecureStatistics({"a": (0, 10)}, parties=4, max_rows=10)
    holder = stats.keygen()
    secret = bytearray(holder.to_secret_bytes())
    given: list[object] = []

    class Plan:
        def key_holder(self, data: object) -> object:
            given.append(data)
            return plan.key_holder(data)  # type: ignore[arg-type]

    plan = stats.plan
    monkeypatch.setattr(stats, "plan", Plan())
    again = stats.key_holder(secret)
    assert given[0] is secret
    assert again.to_secret_bytes() == bytes(secret)


def test_released_memory_is_not_read() -> None:
    stats = SecureStatistics({"a": (0, 10)}, parties=4, max_rows=10)
    holder = stats.keygen()
    data = stats.encrypt(holder.public, {"a": [1]}).to_bytes()
    reads: tuple[Callable[[Any], object], ...] = (
        lambda view: stats.aggregator().add("north", view),
        lambda view: stats.encrypt(view, {"a": [1]}),
        holder.decrypt,
        stats.key_holder,
    )
    for read in reads:
        view = memoryview(data)
        view.release()
        with pytest.raises(cm.DtypeError, match="memoryview"):
            read(view)
