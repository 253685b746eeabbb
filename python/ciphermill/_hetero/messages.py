"""The messages between parties, and the driver that runs all parties in one process.

A party's part of a protocol is a generator. It yields a `Send` or a `Receive`, and the driver answers a `Receive` with the
payload. So a part knows nothing of processes and connections: `run_together` runs the parts of all parties here, and
`ciphermill.federated` runs one part over connections. Parts call `receive`, which yields the `Receive` for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ciphermill.errors import PeerError, WireError

T = TypeVar("T")


@dataclass(frozen=True)
class Size:
    """The bounds of a message, in bytes."""

    least: int
    most: int

    @staticmethod
    def exactly(count: int) -> Size:
        """One size."""
        return Size(count, count)


@dataclass(frozen=True)
class Send:
    """A message to a party. `kind` is at most 32 letters of ASCII."""

    receiver: str
    kind: str
    payload: bytes = field(repr=False)


@dataclass(frozen=True)
class Receive:
    """The wait for a message of a kind, of `least` to `most` bytes."""

    sender: str
    kind: str
    least: int
    most: int

    def check(self, kind: str, size: int) -> None:
        """Raises `PeerError` for another kind, `WireError` for another size, before anything is read."""
        if kind != self.kind:
            raise PeerError(f'{self.sender} sent "{kind}"; the protocol expects "{self.kind}" here')
        if not self.least <= size <= self.most:
            use = str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
            raise WireError(f'the message "{kind}" of {self.sender} has {size} bytes; use {use}')


#: A party's part of a protocol.
Program = Generator[Send | Receive, bytes | None, T]


def receive(sender: str, kind: str, size: Size) -> Program[bytes]:
    """Wait for a message and return its payload."""
    payload = yield Receive(sender, kind, size.least, size.most)
    assert payload is not None
    return payload


#: Sees each message: sender, receiver, kind, payload.
Observer = Callable[[str, str, str, bytes], None]


def run_together(programs: Mapping[str, Program[Any]], observe: Observer | None = None) -> dict[str, Any]:
    """Run the parts of all parties, by the name of the party. Returns their results.

    Raises `PeerError` if a party waits for a message that no party sends.
    """
    inboxes: dict[tuple[str, str], deque[tuple[str, bytes]]] = {}
    waiting: dict[str, Send | Receive] = {}
    results: dict[str, Any] = {}

    def advance(name: str, answer: bytes | None) -> None:
        try:
            waiting[name] = programs[name].send(answer)
        except StopIteration as end:
            results[name] = end.value
            waiting.pop(name, None)

    try:
        for name in programs:
            advance(name, None)
        while waiting:
            moved = False
            for name, request in list(waiting.items()):
                if isinstance(request, Send):
                    if observe is not None:
                        observe(name, request.receiver, request.kind, request.payload)
                    inboxes.setdefault((name, request.receiver), deque()).append((request.kind, request.payload))
                    advance(name, None)
                elif inbox := inboxes.get((request.sender, name)):
                    kind, payload = inbox.popleft()
                    request.check(kind, len(payload))
                    advance(name, payload)
                else:
                    continue
                moved = True
            if not moved:
                name, request = next(iter(waiting.items()))
                raise PeerError(f"{name} waits for {request}, which no party sends")
    finally:
        for program in programs.values():
            program.close()
    return results
