"""Messages of a link to and from a peer: numbers, frames, acknowledgements, digests.

`Outbox` and `Inbox` know no stream, no thread and no clock.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from dataclasses import dataclass, field

from ciphermill._hetero.messages import Receive
from ciphermill.errors import PeerError
from ciphermill.federated._frames import CHUNK, MAX_NUMBER, Frame, FrameType, goodbye, part

#: The number of received messages whose digests are kept, and the most messages that wait for an acknowledgement.
WINDOW = 64

#: Seconds that an acknowledgement waits for a message that carries it.
ACKNOWLEDGEMENT_DELAY = 0.02


class Outbox:
    """Messages to the peer: numbered, cut into frames, and kept until the peer acknowledges them."""

    def __init__(self, epoch: int, budget: int) -> None:
        self.epoch = epoch
        self.budget = budget
        self.expected = 0
        self.nbytes = 0
        #: The time of the last frame that carried new bytes of a message.
        self.advanced = -math.inf
        self._messages: deque[tuple[str, bytes]] = deque()
        self._first = 0
        self._number, self._offset = 0, 0
        self._furthest = (0, -1)
        self._due: float | None = None
        self._reason: str | None = None
        self._parted = False

    def __len__(self) -> int:
        """The number of messages that wait for an acknowledgement."""
        return len(self._messages)

    def room(self, size: int) -> bool:
        """Whether a further message fits."""
        return len(self._messages) < WINDOW and self.nbytes + size <= self.budget

    def put(self, kind: str, payload: bytes) -> None:
        """Append a message."""
        if self._first + len(self._messages) > MAX_NUMBER:
            raise PeerError(f"the epoch has {MAX_NUMBER + 1} messages, which is the limit; begin a new epoch")
        self._messages.append((kind, payload))
        self.nbytes += len(payload)

    def received(self, expected: int, now: float) -> None:
        """Note that all messages below a number came. The peer gets an acknowledgement, alone or with a message."""
        self.expected = expected
        if self._due is None:
            self._due = now + ACKNOWLEDGEMENT_DELAY

    def acknowledge(self, expected: int, peer: str) -> bool:
        """Drop the messages below a number, which the peer has. Returns whether there were any."""
        if expected > self._number:
            raise PeerError(f"{peer} acknowledges {expected} messages, of which {self._number} were sent")
        return self._drop(expected)

    def rewind(self, expected: int, peer: str) -> bool:
        """Start a stream: the next message is the one that the peer expects. Returns whether that acknowledges messages."""
        end = self._first + len(self._messages)
        if not self._first <= expected <= end:
            raise PeerError(f"{peer} expects message {expected}; use {self._first} to {end}")
        self._number, self._offset = expected, 0
        self._parted = False
        return self._drop(expected)

    def end(self, reason: str) -> None:
        """Send a goodbye next, and nothing after it on the same stream."""
        self._reason = reason

    def take(self, now: float) -> Frame | None:
        """The next frame, if one is due: a goodbye, a part of a message, or an acknowledgement."""
        if self._parted:
            return None
        if self._reason is not None:
            self._parted = True
            return goodbye(self.epoch, self.expected, self._reason)
        if self._number < self._first + len(self._messages):
            self._due = None
            return self._part(now)
        if self._due is not None and self._due <= now:
            self._due = None
            return Frame(FrameType.ACKNOWLEDGEMENT, self.epoch, self.expected)
        return None

    def idle(self, now: float) -> float | None:
        """Seconds until an acknowledgement is due. None if there is none."""
        return None if self._due is None else max(0.0, self._due - now)

    def _part(self, now: float) -> Frame:
        kind, payload = self._messages[self._number - self._first]
        frame = part(self.epoch, self.expected, self._number, kind, payload, self._offset)
        if (self._number, self._offset) > self._furthest:
            self._furthest, self.advanced = (self._number, self._offset), now
        if frame.last:
            self._number, self._offset = self._number + 1, 0
        else:
            self._offset += CHUNK
        return frame

    def _drop(self, expected: int) -> bool:
        before = self._first
        while self._first < expected:
            _, payload = self._messages.popleft()
            self.nbytes -= len(payload)
            self._first += 1
        return self._first > before


@dataclass
class _Message:
    """A message that is not complete yet."""

    number: int
    kind: str
    total: int
    received: int = 0
    chunks: list[bytes | memoryview] = field(default_factory=list)
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def add(self, frame: Frame, keep: bool) -> bool:
        """Append a part. Returns whether it is the last one."""
        self.received += len(frame.chunk)
        self.digest.update(frame.chunk)
        if keep:
            self.chunks.append(frame.chunk)
        return frame.last

    def summary(self) -> tuple[str, int, bytes]:
        return self.kind, self.total, self.digest.digest()


class Inbox:
    """Messages of the peer: in order, each one once, and none longer than the program allows."""

    def __init__(self, peer: str) -> None:
        self.expected = 0
        self._peer = peer
        self._message: _Message | None = None
        #: Kind, length and digest of the last messages. The last entry is that of `expected - 1`.
        self._past: deque[tuple[str, int, bytes]] = deque(maxlen=WINDOW)

    @property
    def position(self) -> tuple[int, int]:
        """The number of complete messages and the bytes of the next one. It grows with each new part."""
        message = self._message
        return self.expected, message.received if message and message.number == self.expected else 0

    def restart(self) -> None:
        """Start a stream: the peer repeats an incomplete message from its beginning."""
        self._message = None

    def take(self, frame: Frame, request: Receive) -> bytes | None:
        """Add a part to its message. Returns the payload with its last part.

        The message must be the one that the program expects, or an identical repetition of an earlier one, which is dropped.
        """
        message = self._message
        if message is None:
            message = self._begin(frame, request)
        elif not _continues(message, frame):
            raise PeerError(
                f"{self._peer} sent message {frame.number} from byte {frame.offset}; message {message.number} continues with "
                f"byte {message.received} of {message.total}"
            )
        self._message = message
        if not message.add(frame, keep=message.number == self.expected):
            return None
        self._message = None
        return self._complete(message)

    def _begin(self, frame: Frame, request: Receive) -> _Message:
        if frame.offset:
            raise PeerError(f"{self._peer} sent message {frame.number} from byte {frame.offset}; it begins with byte 0")
        if frame.number > self.expected:
            raise PeerError(f"{self._peer} sent message {frame.number} out of order; use {self.expected}")
        if frame.number == self.expected:
            request.check(frame.kind, frame.total)
        elif self._earlier(frame.number)[:2] != (frame.kind, frame.total):
            raise self._altered(frame.number)
        return _Message(frame.number, frame.kind, frame.total)

    def _complete(self, message: _Message) -> bytes | None:
        if message.number < self.expected:
            if self._earlier(message.number) != message.summary():
                raise self._altered(message.number)
            return None
        self._past.append(message.summary())
        self.expected += 1
        return b"".join(message.chunks)

    def _earlier(self, number: int) -> tuple[str, int, bytes]:
        back = self.expected - number
        if back > len(self._past):
            raise PeerError(
                f"{self._peer} repeats message {number}; use {self.expected - len(self._past)} to {self.expected}"
            )
        return self._past[-back]

    def _altered(self, number: int) -> PeerError:
        return PeerError(
            f"{self._peer} repeats message {number} with other bytes; a repeated message must be identical"
        )


def _continues(message: _Message, frame: Frame) -> bool:
    """Whether a frame is the next part of a message."""
    expected = message.number, message.kind, message.total, message.received
    return (frame.number, frame.kind, frame.total, frame.offset) == expected
