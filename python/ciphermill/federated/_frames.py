"""Frames: the pieces in which messages travel between two parties.

A frame is a header of 40 bytes, the kind of its message, and a chunk. Integers are unsigned and big-endian.

    byte    field
    0-3     "CMFP"
    4       version: 1
    5       type: 1 hello, 2 part, 3 acknowledgement, 4 goodbye
    6       length of the kind
    7       0
    8-11    epoch
    12-15   expected: number of the next message that the sender of the frame waits for
    16-19   number of the message
    20-23   length of the chunk
    24-31   length of the message
    32-39   offset of the chunk in the message
    40-     kind, chunk

A part carries 1 MiB of a message, and the last part the remaining bytes. A hello carries at most 64 KiB, a goodbye at most
1 KiB of text. Fields that a type does not use are 0. Each frame has one encoding: `encode(decode(data, peer)) == data`.
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass, field

from ciphermill._checks import integer
from ciphermill.errors import ParameterError, WireError
from ciphermill.federated._text import printable

MAGIC = b"CMFP"
VERSION = 1

#: Magic, version, type, length of the kind, 0; epoch, expected, number, length of the chunk; length and offset in the message.
HEADER = struct.Struct("!4sBBBBIIIIQQ")

#: The most letters of a kind.
MAX_KIND = 32

#: Bytes of a part, except for the last one of a message.
CHUNK = 1 << 20

#: The most bytes of a message. A `Receive` has a lower bound, which holds before anything is allocated.
MAX_MESSAGE = 1 << 40

#: The greatest epoch and the greatest number of a message.
MAX_NUMBER = (1 << 32) - 1

#: The most bytes of a frame.
MAX_FRAME = HEADER.size + MAX_KIND + CHUNK


class FrameType(enum.IntEnum):
    """The types of frames."""

    HELLO = 1
    PART = 2
    ACKNOWLEDGEMENT = 3
    GOODBYE = 4


#: The most bytes of the chunk of each type.
MAX_CHUNK = {
    FrameType.HELLO: 1 << 16,
    FrameType.PART: CHUNK,
    FrameType.ACKNOWLEDGEMENT: 0,
    FrameType.GOODBYE: 1 << 10,
}


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame. `number`, `kind`, `total` and `offset` belong to parts only."""

    type: FrameType
    epoch: int
    expected: int
    number: int = 0
    kind: str = ""
    total: int = 0
    offset: int = 0
    chunk: bytes | memoryview = field(default=b"", repr=False)

    @property
    def last(self) -> bool:
        """Whether the part ends its message."""
        return self.offset + len(self.chunk) == self.total

    @property
    def text(self) -> str:
        """The reason of a goodbye. An empty one is the regular end."""
        return bytes(self.chunk).decode()


def check_kind(kind: str) -> str:
    """Raises `ParameterError` for another kind than 1 to 32 printable characters of ASCII."""
    if not _is_kind(kind):
        raise ParameterError(f"the kind of a message is {kind!r}; use 1 to {MAX_KIND} printable characters of ASCII")
    return kind


def part(epoch: int, expected: int, number: int, kind: str, payload: bytes, offset: int) -> Frame:
    """The part of a message that begins at an offset, a multiple of `CHUNK`."""
    chunk = memoryview(payload)[offset : offset + CHUNK]
    return Frame(FrameType.PART, epoch, expected, number, kind, len(payload), offset, chunk)


def goodbye(epoch: int, expected: int, reason: str) -> Frame:
    """A goodbye. Characters that cannot be printed become "?", and the reason is cut to 1 KiB."""
    chunk = printable(reason).encode(errors="replace")[: MAX_CHUNK[FrameType.GOODBYE]]
    return Frame(FrameType.GOODBYE, epoch, expected, chunk=chunk.decode(errors="ignore").encode())


def hello(epoch: int, expected: int, body: bytes) -> Frame:
    """A hello. Raises `ParameterError` if the body is above 64 KiB."""
    integer(len(body), "the length of a hello", 0, MAX_CHUNK[FrameType.HELLO])
    return Frame(FrameType.HELLO, epoch, expected, chunk=body)


def encode(frame: Frame) -> bytes:
    """The bytes of a frame."""
    kind = frame.kind.encode("ascii")
    head = HEADER.pack(
        MAGIC,
        VERSION,
        frame.type,
        len(kind),
        0,
        frame.epoch,
        frame.expected,
        frame.number,
        len(frame.chunk),
        frame.total,
        frame.offset,
    )
    return b"".join((head, kind, frame.chunk))


def decode(data: bytes, sender: str) -> Frame:
    """The frame that `data` encodes; its chunk is a view of `data`.

    Raises `WireError` for other bytes, with the name of the sender, the field and its limit. Nothing is allocated by the size of
    a field.
    """
    fields = _Fields(sender)
    fields.within("the length", len(data), HEADER.size, MAX_FRAME)
    magic, version, type_, kind_size, zero, epoch, expected, number, size, total, offset = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise WireError(f"a frame of {sender} begins with {magic!r}; use {MAGIC!r}")
    fields.equal("the version", version, VERSION)
    fields.within("the type", type_, min(FrameType), max(FrameType))
    fields.equal("byte 7", zero, 0)
    fields.within("the length of the kind", kind_size, 0, MAX_KIND)
    fields.equal("the length", len(data), HEADER.size + kind_size + size)
    start = HEADER.size + kind_size
    kind = _kind(data[HEADER.size : start], sender)
    frame = Frame(FrameType(type_), epoch, expected, number, kind, total, offset, memoryview(data)[start:])
    fields.within("the length of the chunk", size, 0, MAX_CHUNK[frame.type])
    if frame.type is FrameType.PART:
        fields.part(frame)
    else:
        fields.other(frame)
    return frame


class _Fields:
    """Checks of the fields of a frame."""

    def __init__(self, sender: str) -> None:
        self._sender = sender

    def within(self, what: str, value: int, least: int, most: int) -> None:
        if not least <= value <= most:
            use = str(least) if least == most else f"{least} to {most}"
            raise WireError(f"{what} of a frame of {self._sender} is {value}; use {use}")

    def equal(self, what: str, value: int, right: int) -> None:
        self.within(what, value, right, right)

    def part(self, frame: Frame) -> None:
        self.within("the length of the kind", len(frame.kind), 1, MAX_KIND)
        self.within("the length of the message", frame.total, 0, MAX_MESSAGE)
        self.within("the offset", frame.offset, 0, max(0, frame.total - 1))
        self.equal("the rest of the offset by 1 MiB", frame.offset % CHUNK, 0)
        self.equal("the length of the chunk", len(frame.chunk), min(CHUNK, frame.total - frame.offset))

    def other(self, frame: Frame) -> None:
        self.equal("the length of the kind", len(frame.kind), 0)
        self.equal("the number", frame.number, 0)
        self.equal("the length of the message", frame.total, 0)
        self.equal("the offset", frame.offset, 0)
        if frame.type is FrameType.GOODBYE:
            _check_reason(frame, self._sender)


def _is_kind(kind: str) -> bool:
    return 1 <= len(kind) <= MAX_KIND and kind.isascii() and kind.isprintable()


def _kind(data: bytes, sender: str) -> str:
    kind = data.decode("ascii", errors="replace")
    if kind and not _is_kind(kind):
        raise WireError(f"the kind of a message of {sender} is {data!r}; use printable characters of ASCII")
    return kind


def _check_reason(frame: Frame, sender: str) -> None:
    try:
        printable = frame.text.isprintable()
    except UnicodeDecodeError:
        printable = False
    if not printable:
        raise WireError(f"a goodbye of {sender} has a reason that cannot be printed; use printable UTF-8")
