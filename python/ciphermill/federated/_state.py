"""The state of a training on disk, from which a party resumes after a restart.

A state has the weights and the solver's vectors after an iteration. It holds no key and no mask. The newest two states are
kept, because parties may be one iteration apart. A file is complete or absent: it is written under another name, flushed and
then renamed.
"""

from __future__ import annotations

import copy
import fcntl
import hashlib
import io
import json
import os
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ciphermill._hetero.solver import State
from ciphermill.errors import StateError

#: States that are kept.
KEPT = 2

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


class Store(Protocol):
    """The last states of one party in one training."""

    def save(self, saved: Saved) -> None:
        """Keep a state, and forget those before the last two. Raises `StateError` if there is no room."""
        ...

    def keep(self, iteration: int | None) -> None:
        """Forget the states after an iteration, or all for `None`: a new epoch begins there."""
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

    def save(self, saved: Saved) -> None:
        self._saved[saved.state.iterations] = replace(saved, state=copy.deepcopy(saved.state))
        for iteration in sorted(self._saved)[:-KEPT]:
            del self._saved[iteration]

    def keep(self, iteration: int | None) -> None:
        for other in list(self._saved):
            if iteration is None or other > iteration:
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

    def save(self, saved: Saved) -> None:
        """Write a state, and remove those before the last two. Earlier states remain if it fails."""
        path = self._path(saved.state.iterations)
        temporary = path.with_suffix(".new")
        try:
            with open(temporary, "wb", opener=_private) as file:
                file.write(_encode(saved, self._configuration))
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            self._flush()
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise self._failed("cannot hold the state", error) from error
        for iteration in self._iterations()[:-KEPT]:
            self._path(iteration).unlink(missing_ok=True)

    def keep(self, iteration: int | None) -> None:
        """Remove the states after an iteration, or all for `None`: a new epoch begins there."""
        for other in self._iterations():
            if iteration is None or other > iteration:
                self._path(other).unlink(missing_ok=True)

    def load(self) -> dict[int, Saved]:
        """The states by iteration. Damaged files are left out.

        Raises `StateError` if a state is of another configuration.
        """
        found: dict[int, Saved] = {}
        for iteration in self._iterations():
            try:
                decoded = _decode(self._path(iteration).read_bytes())
            except OSError as error:
                raise self._failed("cannot be read", error) from error
            if decoded is None:
                continue
            configuration, found[iteration] = decoded
            if configuration != self._configuration:
                raise StateError(
                    f"the directory {self._directory} has the state of a training with another configuration or other data; "
                    "use another directory, or delete this one"
                )
        return found

    def _iterations(self) -> list[int]:
        names = (_NAME.fullmatch(entry.name) for entry in self._directory.iterdir())
        return sorted(int(match.group(1)) for match in names if match)

    def _path(self, iteration: int) -> Path:
        return self._directory / f"iteration-{iteration:07}.state"

    def _flush(self) -> None:
        descriptor = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _failed(self, what: str, error: OSError) -> StateError:
        return StateError(f"the directory {self._directory} {what}: {error.strerror}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _encode(saved: Saved, configuration: bytes) -> bytes:
    """MAGIC | SHA-256 of the rest | arrays of NumPy, one of which has the other facts as JSON."""
    facts = asdict(saved)
    vectors: dict[str, npt.NDArray[Any]] = facts["state"].pop("vectors")
    facts["configuration"] = configuration.hex()
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **vectors)
    body = buffer.getvalue()
    return _MAGIC + hashlib.sha256(body).digest() + body


def _decode(data: bytes) -> tuple[bytes, Saved] | None:
    """The configuration and the state, or `None` for a damaged file."""
    start = len(_MAGIC) + _DIGEST
    body = data[start:]
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        return None
    # This party wrote it: the digest holds.
    with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
        facts: dict[str, Any] = json.loads(arrays["facts"].tobytes())
        vectors = {name: arrays[name] for name in arrays.files if name != "facts"}
    configuration = bytes.fromhex(facts.pop("configuration"))
    state = State(vectors=vectors, **facts.pop("state"))
    return configuration, Saved(state=state, **facts)
