"""Messages between the two parties."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from ciphermill._checks import octets
from ciphermill._inference.network import MAX_SAMPLES
from ciphermill.errors import WireError

Kind = Literal["keys", "query", "answer"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: "CMPI", the version, the kind, the network, the client, the run, the layer, the samples, the number of parts. Each part follows
#: with its length before it.
HEADER = struct.Struct("<4sBB16s16s8sHIL")
LENGTH = struct.Struct("<L")
MAGIC, VERSION = b"CMPI", 1


@dataclass(frozen=True)
class Header:
    """The subject of a message."""

    kind: Kind
    #: The digest of the client spec.
    network: bytes
    #: The name of the client, drawn at random.
    client: bytes
    #: The name of the run, drawn at random for each.
    run: bytes
    layer: int
    samples: int


class Message:
    """Keys, encrypted inputs of a layer ("query") or its encrypted outputs ("answer").

    Within a process, a message carries objects. `to_bytes` writes them.
    """

    def __init__(self, header: Header, payload: Any, write: Callable[[Any], list[bytes]]) -> None:
        self.header = header
        self._payload = payload
        self._write = write

    def open(self, read: Callable[[list[bytes]], Any]) -> Any:
        """The objects. If the message was read from bytes, `read` reads its parts."""
        return read(self._payload) if self._write is _unchanged else self._payload

    @property
    def kind(self) -> Kind:
        """The kind."""
        return self.header.kind

    @property
    def layer(self) -> int:
        """The linear layer, from 0 on; 0 for keys."""
        return self.header.layer

    @property
    def samples(self) -> int:
        """The number of samples; 0 for keys."""
        return self.header.samples

    @property
    def client(self) -> str:
        """The name of the client."""
        return self.header.client.hex()

    def to_bytes(self) -> bytes:
        """The message as sent."""
        header, parts = self.header, self._write(self._payload)
        kind = KINDS.index(header.kind)
        fields = (header.network, header.client, header.run, header.layer, header.samples, len(parts))
        framed = [piece for part in parts for piece in (LENGTH.pack(len(part)), part)]
        return b"".join([HEADER.pack(MAGIC, VERSION, kind, *fields), *framed])

    @property
    def nbytes(self) -> int:
        """Bytes of the message as sent."""
        return HEADER.size + sum(LENGTH.size + len(part) for part in self._write(self._payload))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a message. The receiver judges its parts. Raises `WireError` if the bytes are not a message."""
        data = octets(data, "the message")
        if len(data) < HEADER.size:
            raise WireError(f"a message of {len(data)} bytes; use {HEADER.size} or more")
        magic, version, kind, network, client, run, layer, samples, count = HEADER.unpack_from(data)
        if magic != MAGIC or version != VERSION or kind >= len(KINDS):
            raise WireError(f"the bytes are not a message of version {VERSION}")
        if samples > MAX_SAMPLES or (samples == 0) != (KINDS[kind] == "keys"):
            raise WireError(f"a message of {samples} samples; use 1 to {MAX_SAMPLES}, or 0 for keys")
        parts: list[bytes] = []
        place = HEADER.size
        for _ in range(count):
            if place + LENGTH.size > len(data):
                raise WireError(f"a message of {count} parts ends in part {len(parts)}; send all of it")
            (length,) = LENGTH.unpack_from(data, place)
            place += LENGTH.size
            if place + length > len(data):
                raise WireError(f"a message of {count} parts ends in part {len(parts)}; send all of it")
            parts.append(data[place : place + length])
            place += length
        if place != len(data):
            raise WireError(f"{len(data) - place} bytes follow a message; send one message at a time")
        return cls(Header(KINDS[kind], network, client, run, layer, samples), parts, _unchanged)

    def __reduce__(self) -> Any:
        return Message.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        where = "" if self.kind == "keys" else f" of layer {self.layer} for {self.samples} samples"
        return f"<Message: {self.kind}{where}, client {self.client[:8]}>"


def _unchanged(parts: list[bytes]) -> list[bytes]:
    return parts
