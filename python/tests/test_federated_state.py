"""The states on disk: what they hold, a full disk, other data."""

import errno
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from federated_parties import (
    COLUMNS,
    PAIR,
    breast_cancer,
    options,
    part,
    parties,
    require_equal,
    together,
)

from ciphermill._hetero.solver import State
from ciphermill.errors import PeerError, StateError
from ciphermill.federated import TLS
from ciphermill.federated._fit import fit
from ciphermill.federated._state import Directory, Memory, Saved


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


def test_other_data_after_a_restart_is_refused(certificates: dict[str, TLS], tmp_path: Path) -> None:
    with parties(certificates, PAIR) as made:
        for name in PAIR:
            made.make(name)
        results = together({name: part(made, name, COLUMNS, tmp_path / name) for name in PAIR})
        require_equal(results, COLUMNS)
        X, _ = breast_cancer(80)
        with pytest.raises(StateError, match="another configuration or other data"):
            fit(made.networks["shop"], options(80), X[:, 10:] + 1.0, None, False, state=tmp_path / "shop")
