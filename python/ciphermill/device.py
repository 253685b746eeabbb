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
from ciphermill._checks import instance, mapping, one_of, optional
from ciphermill.errors import ClosedError, DtypeError

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
    code, names = _native.assemble(text, list(mapping(bindings or {}, "the mapping of bindings").items()))
    return Program(code, dict(names))


def disassemble(program: bytes) -> str:
    """The text of a program. Raises `WireError` if the bytes are not a program."""
    return _native.disassemble(program)


#: The greatest identifier of a space, and the least and the greatest limit of memory.
MAX_ID, MIN_MEMORY, MAX_MEMORY = (1 << 32) - 1, 4096, (1 << 63) - 1


def _path(directory: str | os.PathLike[str]) -> str:
    one_of(directory, (str, os.PathLike), "the directory")
    return os.fspath(directory)


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

    Parameters
    ----------
    directory : path
        The directory of the store.
    space : int, optional
        The space of the store, 0 to 2^32 - 1: the objects of one tenant. 0 by default. A space that does not exist is made, with
        room for 64 GiB and 65536 objects. Namespace N of a served store is space N.
    memory : int, optional
        The most bytes of registers in main memory, 4096 or more. 256 MiB by default; the rest is paged to disk.
    key_memory : int, optional
        The most bytes of loaded keys and prepared matrices. Half of the machine's memory by default.
    max_program_seconds : float, optional
        The longest time of a program, 20 seconds by default. A program that is expected to take longer is refused, and one that
        takes longer ends before its next instruction.
    max_log2_failure : float, optional
        A program whose result would be wrong with a probability above 2^`max_log2_failure` is refused. By default the limit is
        that of the parameter set, 2^-64 for most.
    progress : callable, optional
        Called with the work done and all work while a key is loaded. An exception of it is printed and dropped.
    insecure : bool, default False
        Accept parameter sets and keys below 128 bits of security, for tests.

    Raises
    ------
    DeviceError
        If another process has the store open, or if the store is damaged.
    ParameterError
        If `space`, `memory` or `key_memory` is out of range, and if `max_program_seconds` is negative, NaN or infinite.
    """
    return Device(
        _native.DeviceHandle.embedded(
            _path(directory),
            space=optional(space, "the space", 0, MAX_ID),
            memory=optional(memory, "memory", MIN_MEMORY, MAX_MEMORY),
            key_memory=optional(key_memory, "key_memory", 0, MAX_MEMORY),
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
    """Connect to a served device. A lost connection is established again.

    Parameters
    ----------
    address : str
        "HOST:PORT" or "nvme-tcp://HOST:PORT/SUBSYSTEM-NQN". The other arguments take precedence over it.
    subsystem : str, optional
        The NQN of the subsystem. By default the only one that the server offers this host.
    host : str, optional
        The NQN of this host, which the server must allow. By default that of the variable CIPHERMILL_HOST_NQN, else
        "nqn.2026-01.io.github.ciphermill:host".
    namespace : int, optional
        The namespace, 1 by default. Its objects are those of the space with the same number.
    give_up_after : float, optional
        Seconds without a connection after which operations raise `PeerError`, 30 by default.

    Raises
    ------
    PeerError
        If no server answers, or if it refuses this host.
    ParameterError
        For an address or a name of another form, a namespace out of range, and for a negative, NaN or infinite `give_up_after`.
    """
    return Device(
        _native.DeviceHandle.served(
            address,
            subsystem=subsystem,
            host=host,
            namespace=optional(namespace, "the namespace", 1, MAX_ID - 1),
            give_up_after=give_up_after,
        )
    )


class Device:
    """An open device. It can be used by several threads at once. Use it in a `with` statement, or close it."""

    def __init__(self, handle: _native.DeviceHandle) -> None:
        self._handle = instance(handle, _native.DeviceHandle, "the handle")

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
        if not callable(opening):
            raise DtypeError(f"opening is of type {type(opening).__name__}; use a function that opens a device")
        self._opening = opening
        self._device: Device | None = None

    def _call(self, method: Callable[..., T], *arguments: Any, **keywords: Any) -> Awaitable[T]:
        return asyncio.to_thread(method, *arguments, **keywords)

    @property
    def device(self) -> Device:
        """The device, for calls that wait. Raises `ClosedError` outside of the `async with` statement."""
        if self._device is None:
            raise ClosedError("the device is not open; use it in an `async with` statement")
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
    path = _path(directory)
    return AsyncDevice(lambda: open(path, **options))


def connect_async(address: str, **options: Any) -> AsyncDevice:
    """A served device, for `async with`; options are those of `connect`."""
    instance(address, str, "the address")
    return AsyncDevice(lambda: connect(address, **options))
