"""The state of a training on disk, from which a party resumes after a restart.

    start.state                the training, its restarts and first products so far, the aligned rows, the stage
    iteration-0000007.state    the weights and the solver's vectors after an iteration

No file holds a key or a mask. The newest two iterations are kept, because parties may be one iteration apart. A file is
complete or absent: it is written under another name, flushed and then renamed.
"""

from __future__ import annotations

import copy
import fcntl
import hashlib
import io
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ciphermill._hetero.solver import State
from ciphermill.errors import StateError

#: The number of states that are kept.
KEPT = 2

_START = "start.state"
_NAME = re.compile(r"iteration-(\d{7})\.state")
_MAGIC = b"ciphermill state 1\n"
_DIGEST = 32


@dataclass(frozen=True)
class Saved:
    """A state with its place in the training."""

    #: The training, as the guest has named it.
    session: str
    #: Restarts so far.
    restart: int
    #: Masked products that this party has sent, over all epochs.
    answers: int
    state: State


#: The stages of a party: it trains, it has stored its result, all parties have stored theirs.
RUNNING, STORED, FINISHED = "running", "stored", "finished"


@dataclass(frozen=True)
class Start:
    """The beginning of an epoch, and the stage after it."""

    #: The training, as the guest has named it.
    session: str
    #: Restarts so far.
    restart: int
    #: The rows of this party that all parties have, in the common order, as 64-bit integers; `None` if they are not known.
    rows: npt.NDArray[np.int64] | None = None
    stage: str = RUNNING
    #: The first products whose answers the guest has released.
    first_products: int = 0


class Store(Protocol):
    """The last states of one party in one training."""

    def begin(self, start: Start) -> None:
        """Note the epoch that begins, or a later stage. Raises `StateError` if there is no room."""
        ...

    def start(self) -> Start | None:
        """The last noted epoch, or `None`."""
        ...

    def save(self, saved: Saved) -> None:
        """Keep a state, and forget all but the last two. Raises `StateError` if there is no room."""
        ...

    def keep(self, iteration: int) -> None:
        """Forget the states after an iteration, or all for -1: a new epoch begins there."""
        ...

    def load(self) -> dict[int, Saved]:
        """The states by iteration."""
        ...

    def close(self) -> None:
        """End the use."""
        ...


class Memory:
    """States in memory, for a party that need not survive its process."""

    def __init__(self) -> None:
        self._saved: dict[int, Saved] = {}
        self._start: Start | None = None

    def begin(self, start: Start) -> None:
        self._start = start

    def start(self) -> Start | None:
        return self._start

    def save(self, saved: Saved) -> None:
        self._saved[saved.state.iterations] = replace(saved, state=copy.deepcopy(saved.state))
        for iteration in sorted(self._saved)[:-KEPT]:
            del self._saved[iteration]

    def keep(self, iteration: int) -> None:
        for other in list(self._saved):
            if other > iteration:
                del self._saved[other]

    def load(self) -> dict[int, Saved]:
        return {iteration: replace(saved, state=copy.deepcopy(saved.state)) for iteration, saved in self._saved.items()}

    def close(self) -> None:
        pass


class Directory:
    """The directory of one party and one training. One process at a time can use it.

    `configuration` identifies the training's parameters and data. Raises `StateError` if the directory cannot be used.
    """

    def __init__(self, directory: str | os.PathLike[str], configuration: bytes) -> None:
        self._directory = Path(directory)
        self._configuration = configuration
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._failed("cannot be opened", error) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise StateError(f"the directory {directory} is in use by another process; use another one") from error

    def close(self) -> None:
        """Release the directory."""
        os.close(self._lock)

    def begin(self, start: Start) -> None:
        """Note the epoch that begins, or a later stage."""
        arrays = {} if start.rows is None else {"rows": start.rows}
        facts = {name: value for name, value in vars(start).items() if name != "rows"}
        self._write(_START, facts, arrays)

    def start(self) -> Start | None:
        """The last noted epoch; `None` also for a damaged file, and for one of another configuration."""
        if not (self._directory / _START).exists():
            return None
        found = self._read(_START)
        if found is None:
            return None
        configuration, facts, arrays = found
        return Start(rows=arrays.get("rows"), **facts) if configuration == self._configuration else None

    def save(self, saved: Saved) -> None:
        """Write a state, and remove all but the last two. If it fails, the earlier states remain."""
        facts = asdict(saved)
        vectors: dict[str, npt.NDArray[Any]] = facts["state"].pop("vectors")
        self._write(_name(saved.state.iterations), facts, vectors)
        for iteration in self._iterations()[:-KEPT]:
            self._remove(iteration)

    def keep(self, iteration: int) -> None:
        """Remove the states after an iteration, or all for -1: a new epoch begins there."""
        for other in self._iterations():
            if other > iteration:
                self._remove(other)

    def load(self) -> dict[int, Saved]:
        """The states by iteration. Damaged files are left out.

        Raises `StateError` if a state is of another configuration.
        """
        saved: dict[int, Saved] = {}
        for iteration in self._iterations():
            found = self._read(_name(iteration))
            if found is not None:
                configuration, facts, vectors = found
                self._require(configuration)
                saved[iteration] = Saved(state=State(vectors=vectors, **facts.pop("state")), **facts)
        return saved

    def _iterations(self) -> list[int]:
        return saved_iterations(self._directory)

    def _remove(self, iteration: int) -> None:
        (self._directory / _name(iteration)).unlink(missing_ok=True)

    def _write(self, name: str, facts: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        packed = _pack(facts | {"configuration": self._configuration.hex()}, arrays)
        try:
            write_private(self._directory / name, packed)
        except OSError as error:
            raise self._failed("cannot hold the state", error) from error

    def _read(self, name: str) -> tuple[bytes, dict[str, Any], dict[str, npt.NDArray[Any]]] | None:
        """The configuration, the facts and the arrays of a file, or `None` for a damaged one."""
        try:
            unpacked = _unpack((self._directory / name).read_bytes())
        except OSError as error:
            raise self._failed("cannot be read", error) from error
        if unpacked is None:
            return None
        facts, arrays = unpacked
        return bytes.fromhex(facts.pop("configuration")), facts, arrays

    def _require(self, configuration: bytes) -> None:
        if configuration != self._configuration:
            raise StateError(
                f"the directory {self._directory} has the state of a training with another configuration or other data; use "
                "another directory, or delete this one"
            )

    def _failed(self, what: str, error: OSError) -> StateError:
        return StateError(f"the directory {self._directory} {what}: {error.strerror}")


def saved_iterations(directory: Path) -> list[int]:
    """The iterations of which a directory has a state."""
    names = (_NAME.fullmatch(entry.name) for entry in directory.iterdir())
    return sorted(int(match.group(1)) for match in names if match)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read. After a crash it has the earlier or the new bytes. Raises `OSError`."""
    temporary = path.with_name(path.name + ".new")
    try:
        temporary.unlink(missing_ok=True)
        with open(temporary, "xb", opener=_private) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _flush(path.parent)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _flush(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _name(iteration: int) -> str:
    return f"iteration-{iteration:07}.state"


def _pack(facts: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """MAGIC | SHA-256 of the rest | arrays of NumPy, one of which has the facts as JSON."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)
    body = buffer.getvalue()
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]] | None:
    """The facts and arrays, or `None` for a damaged file."""
    start = len(_MAGIC) + _DIGEST
    body = data[start:]
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        return None
    # This party wrote it: the digest holds.
    with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
        facts: dict[str, Any] = json.loads(arrays["facts"].tobytes())
        return facts, {name: arrays[name] for name in arrays.files if name != "facts"}
