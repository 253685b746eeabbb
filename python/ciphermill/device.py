"""Devices: objects in registers, programs that run when an object is written or read.

    with device.open("store") as dev:                    # a directory of this machine
        dev.put("0:0:0", device.assemble("homadd 4:0:3, 3:0:2\\nreturn 4:0:3").code)
        dev.put("3:0:2", x)
        dev.put("4:0:3", y)                              # runs the program
        result = dev.get("4:0:3")

    async with device.connect_async("127.0.0.1:4420") as dev:   # a served device
        result = await dev.get("4:0:3")

A register is written TYPE:KEY:DATA, as in assembly texts. The bytes of objects are those that `to_bytes` of keys, vectors and
ciphertexts return.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Literal, NamedTuple, ParamSpec, Self, TypeVar

from ciphermill import _native

__all__ = [
    "AsyncDevice",
    "Device",
    "Object",
    "Program",
    "Result",
    "assemble",
    "connect",
    "connect_async",
    "disassemble",
    "open",
    "open_async",
]

ReadMode = Literal["armed", "compute", "stored"]
P = ParamSpec("P")
T = TypeVar("T")


class Object(NamedTuple):
    """An object that a device stores."""

    register: str
    """The register, as TYPE:KEY:DATA."""
    nbytes: int
    """Bytes."""
    armed: bool
    """Whether reading it runs a program."""


class Result(NamedTuple):
    """The outcome of a write."""

    nbytes: int
    """Bytes of the stored object."""
    computed: bool
    """Whether a program ran; the stored object is then its result."""


class Program(NamedTuple):
    """A program, to be stored in a register of type 0."""

    code: bytes
    """Its bytes."""
    registers: dict[str, str]
    """The register of every name of the text."""


def assemble(text: str, bindings: Mapping[str, str] | None = None) -> Program:
    """Translate an assembly text. `bindings` maps names to registers, as {"x": "3:0:2"}.

    Raises `ParameterError` with the line and the reason.
    """
    code, names = _native.assemble(text, list((bindings or {}).items()))
    return Program(code, dict(names))


def disassemble(program: bytes) -> str:
    """The text of a program. Raises `WireError` if the bytes are not a program."""
    return _native.disassemble(program)


def open(
    directory: str | os.PathLike[str],
    *,
    space: int | None = None,
    memory: int | None = None,
    key_memory: int | None = None,
    max_program_seconds: float | None = None,
    max_log2_failure: float | None = None,
    progress: Callable[[int, int], object] | None = None,
    insecure: bool = False,
) -> Device:
    """Open the store in a directory of this machine; it is made if it does not exist.

    `memory` bounds the bytes of registers in memory, `key_memory` those of loaded keys and matrices. `progress` is called with
    the work done and all work while a key is loaded. A program whose result would be wrong with a probability above
    2^`max_log2_failure` is refused. Raises `DeviceError` if another process has the store open.
    """
    return Device(
        _native.DeviceHandle.embedded(
            os.fspath(directory),
            space=space,
            memory=memory,
            key_memory=key_memory,
            max_program_seconds=max_program_seconds,
            max_log2_failure=max_log2_failure,
            progress=progress,
            insecure=insecure,
        )
    )


def connect(
    address: str,
    *,
    subsystem: str | None = None,
    host: str | None = None,
    namespace: int | None = None,
    give_up_after: float | None = None,
) -> Device:
    """Connect to a served device, as "HOST:PORT" or "nvme-tcp://HOST:PORT/SUBSYSTEM-NQN".

    `host` is this host's NQN, by default that of the variable CIPHERMILL_HOST_NQN. A lost connection is established again;
    after `give_up_after` seconds without success, by default 30, operations raise `PeerError`. Raises `PeerError` if no server
    answers, or if it refuses this host.
    """
    return Device(
        _native.DeviceHandle.served(
            address, subsystem=subsystem, host=host, namespace=namespace, give_up_after=give_up_after
        )
    )


class Device:
    """An open device. It can be used by several threads at once. Use it in a `with` statement, or close it."""

    def __init__(self, handle: _native.DeviceHandle) -> None:
        self._handle = handle

    def put(self, register: str, data: bytes, *, armed: bool = False, stored: bool = False) -> Result:
        """Write an object. A write to a compute-on-write register runs its program, unless `stored`.

        `armed` lets a read of a compute-on-read register run its program. Raises `DeviceError` if the device refuses the object
        or the program fails; the device is then as before.
        """
        return Result(*self._handle.put(register, data, armed=armed, stored=stored))

    def get(self, register: str, *, mode: ReadMode = "armed") -> bytes:
        """Read an object. A program runs if the object is armed ("armed"), in any case ("compute"), or never ("stored")."""
        return self._handle.get(register, mode=mode)[0]

    def delete(self, register: str) -> None:
        """Delete an object. Raises `ParameterError` if it does not exist."""
        self._handle.delete(register)

    def stat(self, register: str) -> Object:
        """An object's size and state. Raises `ParameterError` if it does not exist."""
        return Object(*self._handle.stat(register))

    def list(self) -> list[Object]:
        """All objects."""
        return [Object(*entry) for entry in self._handle.list()]

    def metrics(self) -> dict[str, float]:
        """The metrics of an embedded device, by their names in Prometheus' format."""
        lines = (line.rsplit(" ", 1) for line in self._handle.metrics().splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in lines}

    @property
    def closed(self) -> bool:
        """Whether the device is closed."""
        return self._handle.closed

    def close(self) -> None:
        """Close the store or the connection. Later operations raise `ClosedError`."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._handle).replace("DeviceHandle", "closed Device" if self.closed else "Device")


class AsyncDevice:
    """A device for `asyncio`: the operations of `Device`, to be awaited. Use it in an `async with` statement.

    Each operation runs on a thread of the event loop's executor. A cancelled operation ends there; its result is dropped.
    """

    def __init__(self, opening: Callable[[], Device]) -> None:
        self._opening = opening
        self._device: Device | None = None

    def _call(self, method: Callable[..., T], *arguments: Any, **keywords: Any) -> Awaitable[T]:
        return asyncio.to_thread(method, *arguments, **keywords)

    @property
    def device(self) -> Device:
        """The device, for calls that wait."""
        if self._device is None:
            raise RuntimeError("the device is not open; use `async with`")
        return self._device

    async def put(self, register: str, data: bytes, *, armed: bool = False, stored: bool = False) -> Result:
        """Write an object, as `Device.put`."""
        return await self._call(self.device.put, register, data, armed=armed, stored=stored)

    async def get(self, register: str, *, mode: ReadMode = "armed") -> bytes:
        """Read an object, as `Device.get`."""
        return await self._call(self.device.get, register, mode=mode)

    async def delete(self, register: str) -> None:
        """Delete an object, as `Device.delete`."""
        await self._call(self.device.delete, register)

    async def stat(self, register: str) -> Object:
        """An object's size and state, as `Device.stat`."""
        return await self._call(self.device.stat, register)

    async def list(self) -> list[Object]:
        """All objects."""
        return await self._call(self.device.list)

    def metrics(self) -> dict[str, float]:
        """The metrics of an embedded device."""
        return self.device.metrics()

    async def __aenter__(self) -> Self:
        self._device = await asyncio.to_thread(self._opening)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.device.close)


def open_async(directory: str | os.PathLike[str], **options: Any) -> AsyncDevice:
    """The device in a directory of this machine, for `async with`; options are those of `open`."""
    return AsyncDevice(lambda: open(directory, **options))


def connect_async(address: str, **options: Any) -> AsyncDevice:
    """A served device, for `async with`; options are those of `connect`."""
    return AsyncDevice(lambda: connect(address, **options))
