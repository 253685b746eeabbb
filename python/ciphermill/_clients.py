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

#: Bytes of a client in addition to its keys, rounded up. Some plans need no keys.
CLIENT_BYTES = 4096


@dataclass(frozen=True)
class Registered(Generic[P]):
    """The keys of a client, and the object that multiplies by them."""

    name: str
    #: Whether the operator gave the name. Otherwise it is the label of the keys.
    named: bool
    #: The digest of the keys.
    digest: bytes
    prepared: P


class Clients(Generic[P]):
    """One key set for each client. The keys are found by their label, which their maker chooses.

    The keys of every client take `key_bytes`, which the server's plans give before any key is read.
    """

    def __init__(self, key_bytes: int, max_clients: int | None, max_bytes: int | None) -> None:
        self._each = key_bytes + CLIENT_BYTES
        self._max_clients = limit(max_clients, "max_clients")
        self._max_bytes = limit(max_bytes, "max_bytes")
        self._by_label: dict[str, Registered[P]] = {}
        self._labels: dict[str, str] = {}
        self._lock = Lock()
        # One registration at a time: the budgets hold while keys are read and prepared.
        self._registration = Lock()

    @property
    def names(self) -> list[str]:
        """The names of the registered clients."""
        with self._lock:
            return list(self._labels)

    @property
    def nbytes(self) -> int:
        """Bytes that the registered clients take."""
        return self._each * len(self.names)

    def register(self, label: str, digest: bytes, name: str | None, prepare: Callable[[], P]) -> str:
        """Accept keys and return the client's name: the given one, or the label of the keys.

        Keys that are registered stay. New keys of a given name replace its old keys, which are freed before. Raises
        `KeyMismatchError` if the label belongs to other keys or to another name, `MemoryLimitError` beyond a budget.
        """
        named = name is not None
        name = label if name is None else instance(name, str, "the name of a client")
        with self._registration:
            if not self._is_known(label, digest, name, named):
                self._make_room(name)
                entry = Registered(name, named, digest, prepare())
                with self._lock:
                    self._by_label[label] = entry
                    self._labels[name] = label
        return name

    def _is_known(self, label: str, digest: bytes, name: str, named: bool) -> bool:
        with self._lock:
            known, taken = self._by_label.get(label), self._labels.get(name, label) != label
        if (known is not None and known.name != name) or (taken and not named):
            raise KeyMismatchError(f"client {label} is registered under another name; make new keys")
        if known is not None and known.digest != digest and not named:
            raise KeyMismatchError(f"client {label} is registered with other keys; call forget first")
        return known is not None and known.digest == digest

    def _make_room(self, name: str) -> None:
        """Free the old keys of a name, and raise an error if there is no room for the new ones."""
        if self.forget(name) is not None:
            return
        count = len(self.names)
        if self._max_clients is not None and count >= self._max_clients:
            raise MemoryLimitError(
                f"{count} clients are registered, the limit is max_clients={self._max_clients}; call forget for "
                f"one of them, or raise the limit"
            )
        needed = (count + 1) * self._each
        if self._max_bytes is not None and needed > self._max_bytes:
            raise MemoryLimitError(
                f"{count + 1} clients take {needed} bytes, {self._each} each, the limit is "
                f"max_bytes={self._max_bytes}; call forget for one of them, or raise the limit"
            )

    def find(self, label: str, name: str | None = None) -> Registered[P]:
        """The client of the keys with a label. Raises `KeyMismatchError` if there is none, or if it has another name."""
        with self._lock:
            entry = self._by_label.get(label)
        if entry is None:
            raise KeyMismatchError(f"client {label} is not registered; send its keys first")
        if name is not None and entry.name != instance(name, str, "the name of a client"):
            raise KeyMismatchError(f"client {label} is registered under another name; use the keys of {name!r}")
        return entry

    def __contains__(self, label: str) -> bool:
        with self._lock:
            return label in self._by_label

    def forget(self, name: str) -> Registered[P] | None:
        """Remove a client and return it, `None` for an unknown name."""
        instance(name, str, "the name of a client")
        with self._lock:
            label = self._labels.pop(name, None)
            return None if label is None else self._by_label.pop(label)
