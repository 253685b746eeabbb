"""Shared parts of the tests of federated training: certificates, streams in memory, a TCP proxy, and their faults."""

import contextlib
import queue
import socket
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ciphermill.federated._link import Connect, Link, Lost
from ciphermill.federated._tls import TLS

P256 = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


class Authority:
    """An authority that signs certificates. All files are in one folder."""

    def __init__(self, folder: Path, name: str = "authority", parent: "Authority | None" = None) -> None:
        self.folder, self.name, self.parent = folder, name, parent
        self.path, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        if parent is None:
            subject = ("-subj", f"/CN={name}", "-keyout", str(self.key), "-out", str(self.path))
            openssl(folder, "req", "-x509", *P256, "-nodes", "-days", "30", *subject)
        else:
            parent.write(name, "basicConstraints=critical,CA:TRUE\n", P256, 30, self.path)

    @property
    def root(self) -> Path:
        """The certificate that the peers trust."""
        return self.parent.root if self.parent else self.path

    def write(self, name: str, extensions: str, key: tuple[str, ...], days: int, file: Path) -> None:
        """Write a certificate and its key, `file` with the suffix .key. The certificate of an intermediate authority follows."""
        request, options = file.with_suffix(".csr"), file.with_suffix(".ext")
        options.write_text(extensions)
        openssl(
            self.folder,
            "req",
            *key,
            "-nodes",
            "-subj",
            f"/CN={name}",
            "-keyout",
            str(file.with_suffix(".key")),
            "-out",
            str(request),
        )
        signer = ("-CA", str(self.path), "-CAkey", str(self.key), "-CAcreateserial")
        times = ("-days", str(days), "-extfile", str(options), "-out", str(file))
        openssl(self.folder, "x509", "-req", "-in", str(request), *signer, *times)
        if self.parent:
            file.write_text(file.read_text() + self.path.read_text())

    def sign(self, name: str, *names: str, key: tuple[str, ...] = P256, days: int = 30) -> TLS:
        """A certificate with DNS names (by default its own name), which `TLS` does not check."""
        file = self.folder / f"{self.name}-{name}.pem"
        san = ",".join(each if ":" in each else f"DNS:{each}" for each in names or (name,))
        self.write(name, f"subjectAltName={san}\n", key, days, file)
        unchecked = object.__new__(TLS)
        for attribute, path in (("certificate", file), ("key", file.with_suffix(".key")), ("authority", self.root)):
            object.__setattr__(unchecked, attribute, path)
        return unchecked

    def issue(self, name: str, *names: str, key: tuple[str, ...] = P256, days: int = 30) -> TLS:
        """A checked certificate."""
        made = self.sign(name, *names, key=key, days=days)
        return TLS(made.certificate, made.key, made.authority)


#: A fault of one frame: delivers nothing, one or several frames, or cuts the stream.
Fault = Callable[["Pipe", bytes], None]


class Pipe:
    """One direction of a stream in memory."""

    def __init__(self, network: "Network", direction: str) -> None:
        self.network, self.direction = network, direction
        self.frames: queue.Queue[bytes | None] = queue.Queue()
        self.held: list[bytes] = []
        self.closed = False
        self.cut: Callable[[], None] = lambda: None

    def put(self, frame: bytes) -> None:
        """Deliver a frame, and after it the held ones."""
        self.frames.put(frame)
        while self.held:
            self.frames.put(self.held.pop())

    def close(self) -> None:
        self.closed = True
        self.frames.put(None)


class MemoryStream:
    """One end of a stream in memory."""

    def __init__(self, outgoing: Pipe, incoming: Pipe) -> None:
        self.outgoing, self.incoming = outgoing, incoming

    def write(self, frame: bytes) -> None:
        if self.outgoing.closed:
            raise Lost("the stream is closed")
        self.outgoing.network.carry(self.outgoing, frame)

    def read(self, seconds: float) -> bytes:
        try:
            frame = self.incoming.frames.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if frame is None:
            self.incoming.frames.put(None)
            raise Lost("the stream broke")
        return frame

    @property
    def ended(self) -> bool:
        return self.incoming.closed

    def close(self) -> None:
        self.outgoing.close()
        self.incoming.close()


@dataclass
class Network:
    """Streams in memory between "left", which connects, and "right", which waits. A fault meets one frame of one direction."""

    faults: Mapping[tuple[str, int], Fault] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    waiting: "queue.Queue[MemoryStream]" = field(default_factory=queue.Queue)
    links: dict[str, Link] = field(default_factory=dict)

    def carry(self, pipe: Pipe, frame: bytes) -> None:
        number = self.written[pipe.direction]
        self.written[pipe.direction] += 1
        fault = self.faults.get((pipe.direction, number))
        if fault is None:
            pipe.put(frame)
        else:
            fault(pipe, frame)

    def connect(self, seconds: float) -> MemoryStream:
        there, back = Pipe(self, "left"), Pipe(self, "right")

        def cut() -> None:
            there.close()
            back.close()

        there.cut = back.cut = cut
        self.waiting.put(MemoryStream(back, there))
        return MemoryStream(there, back)

    def accept(self, seconds: float) -> MemoryStream:
        try:
            return self.waiting.get(timeout=seconds)
        except queue.Empty:
            raise Lost("there is no connection") from None

    @property
    def ends(self) -> tuple[Connect, Connect]:
        return self.connect, self.accept


def cut_before(pipe: Pipe, frame: bytes) -> None:
    pipe.cut()


def cut_after(pipe: Pipe, frame: bytes) -> None:
    pipe.put(frame)
    pipe.cut()


def delay(pipe: Pipe, frame: bytes) -> None:
    time.sleep(0.03)
    pipe.put(frame)


def repeat(pipe: Pipe, frame: bytes) -> None:
    pipe.put(frame)
    pipe.put(frame)


def reorder(pipe: Pipe, frame: bytes) -> None:
    pipe.held.append(frame)


def drop(pipe: Pipe, frame: bytes) -> None:
    """The frame never comes."""


def truncate(pipe: Pipe, frame: bytes) -> None:
    pipe.put(frame[:-1])


def damage(byte: int) -> Fault:
    """Another value of one byte. The last one if the frame is shorter."""

    def fault(pipe: Pipe, frame: bytes) -> None:
        changed = bytearray(frame)
        changed[min(byte, len(frame) - 1)] ^= 0x55
        pipe.put(bytes(changed))

    return fault


class Proxy:
    """A TCP proxy on loopback that cuts, delays, splits and stalls."""

    def __init__(self, target: str) -> None:
        host, port = target.rsplit(":", 1)
        self._target = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._closed = False
        #: Bytes in one piece, seconds before each piece, and the number of bytes of a connection after which it is cut.
        self.piece, self.pause, self.most = 1 << 16, 0.0, 1 << 62
        self.flowing = threading.Event()
        self.flowing.set()
        self.connections = 0
        #: The size of each piece that it forwarded, in both directions.
        self.pieces: list[int] = []
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True, name="proxy")
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                there = socket.create_connection(self._target)
                for each in (here, there):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open += [here, there]
                self.connections += 1
                budget = [self.most]
                self._start(self._forward, here, there, budget)
                self._start(self._forward, there, here, budget)

    def _forward(self, source: socket.socket, sink: socket.socket, budget: list[int]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(self.piece):
                while not self.flowing.wait(0.05) and not self._closed:
                    pass
                if self.pause:
                    time.sleep(self.pause)
                budget[0] -= len(data)
                if budget[0] < 0:
                    break
                sink.sendall(data)
                self.pieces.append(len(data))
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Break all connections."""
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._closed = True
        self.flowing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(5)
        for each in self._open:
            each.close()


@contextlib.contextmanager
def proxy(target: str) -> Iterator[Proxy]:
    made = Proxy(target)
    try:
        yield made
    finally:
        made.close()
