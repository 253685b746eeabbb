"""The clients of a server: their keys by name, within budgets of number and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from ciphermill._checks import instance, limit
from ciphermill.errors import KeyMismatchError, MemoryLimitError

P = TypeVar("P")

#: Default budgets of a server: clients, and bytes of their keys.
MAX_CLIENTS, MAX_BYTES = 1024, 8 << 30

#: Bytes of a client in addition to its keys, rounded up.
CLIENT_BYTES = 4096


@dataclass(frozen=True)
class Registered(Generic[P]):
    """The keys of a client, and the object that multiplies by them."""

    name: str
    #: Whether the operator chose the name. Otherwise it is the label of the keys.
    named: bool
    #: The label of the keys.
    label: str
    #: The digest of the keys.
    digest: bytes
    prepared: P


class Clients(Generic[P]):
    """One key set for each client. The keys are found by their label, which their maker chooses.

    The keys of every client need `key_bytes`, which the server's plans state before any key is read.
    """

    def __init__(self, key_bytes: int, max_clients: int | None, max_bytes: int | None) -> None:
        self._each = key_bytes + CLIENT_BYTES
        self._max_clients = limit(max_clients, "max_clients")
        self._max_bytes = limit(max_bytes, "max_bytes")
        self._by_label: dict[str, Registered[P]] = {}
        self._by_name: dict[str, Registered[P]] = {}
        self._lock = Lock()
        # One registration at a time: the budgets hold while keys are read and prepared.
        self._registration = Lock()

    @property
    def names(self) -> list[str]:
        """The names of the registered clients."""
        with self._lock:
            return list(self._by_name)

    @property
    def nbytes(self) -> int:
        """Bytes that the registered clients need."""
        return self._each * len(self.names)

    def register(
        self, label: str, digest: bytes, name: str | None, prepare: Callable[[], P], *, replace: bool = True
    ) -> Registered[P]:
        """Accept keys and return the client, whose name is by default the label of its keys.

        Registered keys stay. New keys replace the old ones of a name after they are prepared, so an error changes nothing; this
        needs no room in the budgets, and the memory of both key sets meanwhile. Raises `KeyMismatchError` if the label belongs
        to other keys or to another name, or if keys of the name are registered and `replace` is false; `MemoryLimitError` beyond
        a budget.
        """
        named = name is not None
        name = label if name is None else instance(name, str, "the name of a client")
        with self._registration:
            entry = self._current(label, digest, name, named, replace)
            if entry is None:
                self._require_room(name)
                entry = Registered(name, named, label, digest, prepare())
                self._publish(entry)
        return entry

    def _current(self, label: str, digest: bytes, name: str, named: bool, replace: bool) -> Registered[P] | None:
        """The client if it has these keys already, `None` if it may have them."""
        with self._lock:
            owner, entry = self._by_label.get(label), self._by_name.get(name)
        if (owner is not None and owner.name != name) or (entry is not None and entry.label != label and not named):
            raise KeyMismatchError(f"client {label} is registered under another name; make new keys")
        if entry is None or entry.digest == digest:
            return entry
        if not named:
            raise KeyMismatchError(f"client {label} is registered with other keys; call forget first")
        if not replace:
            raise KeyMismatchError(f"client {name!r} is registered with other keys; call register to replace them")
        return None

    def _require_room(self, name: str) -> None:
        """Raise an error if there is no room for another client. All clients need the same room."""
        names = self.names
        if name in names:
            return
        count = len(names)
        if self._max_clients is not None and count >= self._max_clients:
            raise MemoryLimitError(
                f"{count} clients are registered, the limit is max_clients={self._max_clients}; call forget for "
                f"one of them, or raise the limit"
            )
        needed = (count + 1) * self._each
        if self._max_bytes is not None and needed > self._max_bytes:
            raise MemoryLimitError(
                f"{count + 1} clients need {needed} bytes, {self._each} each, the limit is "
                f"max_bytes={self._max_bytes}; call forget for one of them, or raise the limit"
            )

    def _publish(self, entry: Registered[P]) -> None:
        with self._lock:
            old = self._by_name.get(entry.name)
            if old is not None:
                del self._by_label[old.label]
            self._by_name[entry.name] = self._by_label[entry.label] = entry

    def get(self, label: str, name: str | None = None) -> Registered[P] | None:
        """The client of the keys with a label, `None` for an unknown one. Raises `KeyMismatchError` for another name."""
        with self._lock:
            entry = self._by_label.get(label)
        if name is not None:
            instance(name, str, "the name of a client")
        if entry is not None and name not in (None, entry.name):
            raise KeyMismatchError(f"client {label} is registered under another name; use the keys of {name!r}")
        return entry

    def find(self, label: str, name: str | None = None) -> Registered[P]:
        """The client of the keys with a label. Raises `KeyMismatchError` if there is none, or if it has another name."""
        entry = self.get(label, name)
        if entry is None:
            raise KeyMismatchError(f"client {label} is not registered; send its keys first")
        return entry

    def named(self, name: str) -> Registered[P] | None:
        """The client of a name, `None` for an unknown one."""
        with self._lock:
            return self._by_name.get(name)

    def forget(self, name: str) -> Registered[P] | None:
        """Remove a client and return it, `None` for an unknown name."""
        instance(name, str, "the name of a client")
        with self._lock:
            entry = self._by_name.pop(name, None)
            if entry is not None:
                del self._by_label[entry.label]
            return entry
