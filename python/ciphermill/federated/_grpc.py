"""Streams over gRPC: one call with frames in both directions, and certificates on both sides (mTLS).

    Dialer   ── /ciphermill.federated.v1.Party/Exchange ──►   Listener
      frames as messages of gRPC, one for one, without protobuf

A `Dialer` belongs to the side that connects, a `Listener` to the side that waits. Both prove their identity by a certificate that
an authority of the other side signed. The listener serves configured peers only: it reads the names of the certificate (subject
alternative name, DNS) and compares its digest with the pin, before it reads a frame. The dialer first makes a TLS connection with
`ssl`, which verifies the authority, the name and the pin of the listener's certificate. The connection of gRPC then trusts that
one certificate and no authority.

gRPC starts its own threads. Do not fork the process after the first `Dialer` or `Listener`: use spawn or forkserver.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import suppress
from functools import partial
from typing import Any, Self, cast

import grpc

from ciphermill._checks import instance, real
from ciphermill.errors import ParameterError, PeerError
from ciphermill.federated._frames import MAX_FRAME
from ciphermill.federated._link import Connect, Lost, Stream
from ciphermill.federated._tls import TLS, Address, Identity, Probe, parse_address

SERVICE, METHOD = "ciphermill.federated.v1.Party", "Exchange"

#: Frames that wait between a thread of gRPC and the link, in each direction. A frame is at most 1 MiB.
QUEUED = 2

#: Seconds in which the last frames of a closed stream may leave.
PARTING = 1.0

#: Seconds without data after which a side asks whether the other host is alive, and the wait for its answer.
KEEPALIVE = 20.0

#: Seconds for the TLS handshake of a client, and the longest time without a call after it.
HANDSHAKE = 10.0

#: Bytes of HTTP/2 that the peer may send before this side reads them.
WINDOW = 4 << 20

#: The limit of gRPC for a message. A frame just above its limit reaches the link, which names it.
MAX_BYTES = MAX_FRAME + 4096

Options = list[tuple[str, int | str]]


def _options(keepalive: float) -> Options:
    """The options of both sides."""
    interval = int(1000 * keepalive)
    return [
        ("grpc.max_receive_message_length", MAX_BYTES),
        ("grpc.max_send_message_length", MAX_BYTES),
        # Identity only: a compressed message could grow.
        ("grpc.compression_enabled_algorithms_bitset", 1),
        ("grpc.http2.lookahead_bytes", WINDOW),
        ("grpc.http2.bdp_probe", 0),
        ("grpc.keepalive_time_ms", interval),
        ("grpc.keepalive_timeout_ms", interval),
        ("grpc.http2.ping_timeout_ms", interval),
        ("grpc.http2.max_pings_without_data", 0),
    ]


def _server_options(keepalive: float) -> Options:
    return [
        *_options(keepalive),
        # Otherwise a second server on the same port could receive some of the connections.
        ("grpc.so_reuseport", 0),
        ("grpc.max_concurrent_streams", 2),
        ("grpc.server_handshake_timeout_ms", int(1000 * HANDSHAKE)),
        ("grpc.max_connection_idle_ms", int(1000 * HANDSHAKE)),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 500),
    ]


def _client_options(keepalive: float, name: str) -> Options:
    return [
        *_options(keepalive),
        ("grpc.ssl_target_name_override", name),
        # A new connection for each call, without the pauses that gRPC makes after a failure.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        # The probe knows no proxy, and no service configuration is used.
        ("grpc.enable_http_proxy", 0),
        ("grpc.service_config_disable_resolution", 1),
    ]


class _Pipe:
    """A bounded queue of frames between two threads, which can be closed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._frames: deque[bytes] = deque()
        self._end: Exception | None = None

    def put(self, frame: bytes) -> None:
        """Append a frame; waits while the queue is full. Raises the reason of the end if the pipe is closed."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._frames) < QUEUED or self._end is not None)
            if self._end is not None:
                raise _again(self._end)
            self._frames.append(frame)
            self._changed.notify_all()

    def get(self, seconds: float | None = None) -> bytes:
        """The next frame. Raises `TimeoutError` if there is none in time, and the reason of the end after the last frame."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._frames or self._end is not None, seconds):
                raise TimeoutError
            if self._end is not None and not self._frames:
                raise _again(self._end)
            frame = self._frames.popleft()
            self._changed.notify_all()
            return frame

    @property
    def ended(self) -> bool:
        """Whether the pipe is closed. Frames may be left."""
        return self._end is not None

    def close(self, reason: Exception) -> None:
        """End the pipe. Its frames can still be read. Only the first reason counts."""
        with self._changed:
            self._end = self._end or reason
            self._changed.notify_all()

    def __iter__(self) -> Iterator[bytes]:
        """The frames until the end."""
        while True:
            try:
                frame = self.get()
            except (Lost, PeerError):
                return
            yield frame


def _again(error: Exception) -> Exception:
    """A copy of an error. Each thread of a pipe raises its own object."""
    return type(error)(*error.args)


class _Call(Stream):
    """The common part of the streams of both sides: two pipes, and a thread that reads from gRPC."""

    def __init__(self, peer: str) -> None:
        self._peer = peer
        self._incoming, self._outgoing = _Pipe(), _Pipe()
        self._reader = threading.Thread(target=self._read_frames, name=f"ciphermill stream {peer}", daemon=True)
        self._closing = threading.Lock()

    def write(self, frame: bytes) -> None:
        self._outgoing.put(frame)

    def read(self, seconds: float) -> bytes:
        return self._incoming.get(seconds)

    @property
    def ended(self) -> bool:
        return self._incoming.ended

    def end(self, reason: Exception) -> None:
        """End both directions. Frames that came can still be read."""
        self._incoming.close(reason)
        self._outgoing.close(reason)

    def close(self) -> None:
        with self._closing:
            self._outgoing.close(Lost("this side closed the stream"))
            self._part()
            # The writing thread may close the stream first. A goodbye that came before can still be read.
            self._incoming.close(Lost("this side closed the stream"))
            # gRPC may end a call before it asks for the first frame, and then the thread was never started.
            if self._reader.is_alive():
                self._reader.join(PARTING)

    def _part(self) -> None:
        """Let the last frames leave for at most `PARTING` seconds, then end the call."""
        raise NotImplementedError

    def _frames(self) -> Iterator[bytes]:
        """The frames from gRPC. Raises `Lost` or `PeerError` at a break."""
        raise NotImplementedError

    def _read_frames(self) -> None:
        reason: Exception = Lost(f"{self._peer} ended the stream")
        try:
            for frame in self._frames():
                self._incoming.put(frame)
        except (Lost, PeerError) as error:
            reason = error
        finally:
            self.end(reason)


class _Dialed(_Call):
    """The stream of a dialer."""

    def __init__(self, peer: str, channel: grpc.Channel) -> None:
        super().__init__(peer)
        self._channel = channel
        self._received = 0
        exchange: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(f"/{SERVICE}/{METHOD}")
        self._call = exchange(iter(self._outgoing))
        self._reader.start()

    def _frames(self) -> Iterator[bytes]:
        try:
            for frame in self._call:
                self._received += 1
                yield frame
        except grpc.RpcError as error:
            raise self._cause(error.code()) from error

    def _cause(self, code: grpc.StatusCode) -> Exception:
        peer = self._peer
        if code is grpc.StatusCode.PERMISSION_DENIED:
            return PeerError(
                f"{peer} does not know the certificate of this side; check its configured peers, names and pins"
            )
        if code is grpc.StatusCode.UNIMPLEMENTED:
            return PeerError(f"{peer} does not serve {SERVICE}; check the address and the versions of both sides")
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED and self._received:
            return PeerError(f"a frame from or to {peer} is too long; use at most {MAX_FRAME} bytes")
        return Lost(f"the stream with {peer} broke ({code.name})")

    def _part(self) -> None:
        self._reader.join(PARTING)
        self._call.cancel()
        self._channel.close()


class _Accepted(_Call):
    """The stream of a listener. The thread of the handler sends its frames."""

    def __init__(self, peer: str, requests: Iterator[bytes], context: grpc.ServicerContext) -> None:
        super().__init__(peer)
        self._requests, self._context = requests, context
        self._done = threading.Event()

    def serve(self) -> Iterator[bytes]:
        """The frames for gRPC, until the end of the call."""
        self._reader.start()
        try:
            yield from self._outgoing
        finally:
            self.end(Lost(f"{self._peer} ended the stream"))
            self._done.set()

    def finish(self) -> None:
        """gRPC has ended the call."""
        self.end(Lost(f"the stream with {self._peer} broke"))
        self._done.set()

    def _frames(self) -> Iterator[bytes]:
        try:
            yield from self._requests
        except grpc.RpcError as error:
            raise Lost(f"the stream with {self._peer} broke") from error

    def _part(self) -> None:
        self._done.wait(PARTING)
        self._context.cancel()


class Dialer:
    """Connects to one listening peer.

    Parameters
    ----------
    address : str
        "host:port" or "[IPv6]:port" of the peer. The environment's proxies are not used.
    tls : TLS
        The certificate of this side and the authorities of the peer.
    peer : Identity
        The name, the certificate name and perhaps the pin of the peer.
    keepalive : float, default 20
        Seconds without data after which this side asks whether the host of the peer is alive, 1 to 3600. After the same time
        without an answer the stream breaks.

    Raises
    ------
    ParameterError
        If the address or `keepalive` is not supported.
    """

    def __init__(self, address: str, tls: TLS, peer: Identity, *, keepalive: float = KEEPALIVE) -> None:
        self._tls = instance(tls, TLS, "the TLS argument")
        self._peer = instance(peer, Identity, "the peer")
        self._probe = Probe(parse_address(instance(address, str, "the address")), peer)
        self._options = _client_options(_check_keepalive(keepalive), peer.certificate_name)

    def dial(self, seconds: float) -> Stream:
        """One attempt to connect. The `connect` of a `Link`.

        Raises `Lost` if a later attempt may succeed, `PeerError` for a permanent cause, and `ParameterError` if the files of the
        TLS object are not valid any more.
        """
        material = self._tls.load()
        found = self._probe(material.context, seconds)
        credentials = grpc.ssl_channel_credentials(found.certificate, material.key, material.certificate)
        family = "ipv6" if ":" in found.address.host else "ipv4"
        channel = grpc.secure_channel(f"{family}:{found.address}", credentials, options=self._options)
        return _Dialed(self._peer.name, channel)


class Listener:
    """Waits for connections of configured peers.

    A new stream of a peer replaces its earlier one. Clients without a certificate of the authority fail in the TLS handshake;
    clients whose certificate is not that of a peer are refused before a frame is read.

    Parameters
    ----------
    address : str
        "host:port" or "[IPv6]:port" of this side. Port 0 is a free port.
    tls : TLS
        The certificate of this side and the authorities of the peers. The files are read once.
    peers : sequence of Identity
        The peers. Their names differ, and so do their certificate names or pins.
    keepalive : float, default 20
        As for a `Dialer`.

    Raises
    ------
    ParameterError
        If the address cannot be listened on, or two peers have the same name or the same certificate.
    """

    def __init__(self, address: str, tls: TLS, peers: Sequence[Identity], *, keepalive: float = KEEPALIVE) -> None:
        self._peers = _check_peers(peers)
        self._changed = threading.Condition()
        self._current: dict[str, _Accepted] = {}
        self._waiting: set[str] = set()
        self._refused = ""
        self._threads = _Threads()
        self._server = self._make_server(_check_keepalive(keepalive))
        self._address = self._bind(parse_address(instance(address, str, "the address"), 0), tls)
        self._server.start()

    @property
    def address(self) -> str:
        """The address with the actual port."""
        return str(self._address)

    def accept(self, peer: str, seconds: float) -> Stream:
        """Wait for a new stream of a peer. Raises `Lost` if there is none in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: peer in self._waiting, seconds):
                raise Lost(f"{peer} did not connect{self._refused}")
            self._waiting.remove(peer)
            return self._current[peer]

    def connector(self, peer: str) -> Connect:
        """`accept` for one peer: the `connect` of a `Link`. Raises `ParameterError` for a peer that is not configured."""
        if peer not in (identity.name for identity in self._peers):
            raise ParameterError(
                f"the peer {peer!r} is not configured; use one of {[each.name for each in self._peers]}"
            )
        return partial(self.accept, peer)

    def close(self) -> None:
        """End all streams, and listen no more. Close the links first, so that their goodbyes leave."""
        with self._changed:
            streams = list(self._current.values())
            self._current.clear()
            self._waiting.clear()
        for stream in streams:
            stream.end(Lost("the listener is closed"))
        self._server.stop(PARTING).wait()
        self._threads.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make_server(self, keepalive: float) -> grpc.Server:
        method: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(self._exchange)
        handler = grpc.method_handlers_generic_handler(SERVICE, {METHOD: method})
        return grpc.server(
            # gRPC uses nothing but `submit`.
            cast("futures.ThreadPoolExecutor", self._threads),
            handlers=[handler],
            options=_server_options(keepalive),
            # Room for an earlier stream of each peer, and for a few clients before their refusal.
            maximum_concurrent_rpcs=2 * len(self._peers) + 4,
        )

    def _bind(self, address: Address, tls: TLS) -> Address:
        material = instance(tls, TLS, "the TLS argument").load()
        _check_free(address)
        credentials = grpc.ssl_server_credentials([(material.key, material.certificate)], material.authority, True)
        try:
            return Address(address.host, self._server.add_secure_port(str(address), credentials))
        except RuntimeError as error:
            raise ParameterError(f"gRPC cannot listen on {address}; use another address or certificate") from error

    def _exchange(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """The handler of a call."""
        peer = self._identify(context)
        stream = _Accepted(peer, requests, context)
        if not context.add_callback(stream.finish):
            return
        with self._changed:
            earlier = self._current.get(peer)
            self._current[peer] = stream
            self._waiting.add(peer)
            self._changed.notify_all()
        if earlier is not None:
            earlier.end(Lost(f"a new connection of {peer} replaced the stream"))
        yield from stream.serve()

    def _identify(self, context: grpc.ServicerContext) -> str:
        """The peer of a certificate. Ends the call if there is no peer, or more than one."""
        names, der = _certificate(context)
        found = [identity.name for identity in self._peers if identity.accepts(names, der)]
        if len(found) != 1:
            self._refused = f"; a certificate with the names {names} was refused"
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "the certificate is not that of one peer")
        return found[0]


class _Threads(futures.Executor):
    """A thread for each call. gRPC bounds the number of calls.

    The threads do not keep the process alive, unlike those of `ThreadPoolExecutor`.
    """

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **options: Any) -> futures.Future[Any]:
        future: futures.Future[Any] = futures.Future()

        def run() -> None:
            try:
                work(*arguments, **options)
            finally:
                # gRPC waits for the end only.
                future.set_result(None)

        thread = threading.Thread(target=run, name="ciphermill call", daemon=True)
        self._threads = [*(each for each in self._threads if each.is_alive()), thread]
        thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for thread in self._threads:
            thread.join(PARTING)


def _check_keepalive(seconds: float) -> float:
    value = real(seconds, "keepalive")
    if not 1 <= value <= 3600:
        raise ParameterError(f"keepalive is {value:g} seconds; use 1 to 3600")
    return value


def _check_peers(peers: Iterable[Identity]) -> list[Identity]:
    found = [instance(peer, Identity, "a peer") for peer in peers]
    if not found:
        raise ParameterError("a listener without peers; use at least 1")
    for values in ([peer.name for peer in found], [(peer.certificate_name, peer.pin) for peer in found]):
        if len(set(values)) < len(values):
            raise ParameterError(f"two peers are equal in {values}; use different names, and certificate names or pins")
    return found


def _check_free(address: Address) -> None:
    """Bind the address for a moment: Python reports the cause of a failure, gRPC does not."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(place)
    except OSError as error:
        raise ParameterError(f"cannot listen on {address}: {error.strerror}; use another address or port") from error


def _certificate(context: grpc.ServicerContext) -> tuple[list[str], bytes]:
    """The DNS names and the DER of the certificate of a client. TLS has verified it."""
    # The type of the stub package is too narrow: each property is a list.
    properties = cast("Mapping[str, Sequence[bytes]]", context.auth_context())
    names = [name.decode(errors="replace") for name in properties.get("peer_dns", ())]
    for pem in properties.get("x509_pem_cert", ()):
        with suppress(ValueError):
            return names, ssl.PEM_cert_to_DER_cert(pem.decode("ascii"))
    return [], b""
