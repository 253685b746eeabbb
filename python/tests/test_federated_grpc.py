"""Links over gRPC on loopback: certificates, broken connections, hostile and vanished peers, threads."""

import contextlib
import copy
import dataclasses
import gc
import os
import pickle
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import grpc
import pytest
from federated_setting import Authority, proxy
from hypothesis import given, settings
from hypothesis import strategies as st
from test_process import resident_bytes

import ciphermill as cm
from ciphermill._hetero.messages import Receive
from ciphermill.federated import _frames
from ciphermill.federated._frames import CHUNK, MAX_FRAME, encode
from ciphermill.federated._grpc import MAX_BYTES, METHOD, SERVICE, Dialer, Listener, _Accepted
from ciphermill.federated._link import Link, Lost
from ciphermill.federated._tls import TLS, Address, Identity, digest, parse_address
from ciphermill.federated._x509 import read_certificate

BANK, SHOP = Identity("bank"), Identity("shop")


class Files:
    """The certificates of the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority, self.stranger = Authority(folder), Authority(folder, "stranger")
        self.bank, self.shop = self.authority.issue("bank"), self.authority.issue("shop")
        self.expired = self.authority.sign("expired", "bank", "shop", days=-1)
        self.foreign = self.with_authority(self.stranger.issue("bank", "bank", "shop"))
        self.other_name = self.authority.issue("mallory")

    def with_authority(self, tls: TLS) -> TLS:
        """The certificate of another authority; the peers are those of the authority of all."""
        return TLS(tls.certificate, tls.key, self.authority.path)

    def trusts_stranger(self, tls: TLS) -> TLS:
        return TLS(tls.certificate, tls.key, self.stranger.path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    until = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() <= before, threading.enumerate()


@pytest.fixture
def listener(files: Files) -> Iterator[Listener]:
    """The side of the shop."""
    with Listener("127.0.0.1:0", files.shop, [BANK]) as made:
        yield made


def der(tls: TLS) -> bytes:
    """The certificate in DER. The file may contain others after it."""
    end = "-----END CERTIFICATE-----\n"
    return ssl.PEM_cert_to_DER_cert(Path(tls.certificate).read_text().split(end)[0] + end)


def together(*parts: Callable[[], Any]) -> list[Any]:
    """The results or the exceptions of functions on threads of their own."""
    results: list[Any] = [None] * len(parts)

    def run(index: int) -> None:
        try:
            results[index] = parts[index]()
        except cm.CiphermillError as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "a side hangs"
    return results


def exchange(link: Link, peer: str, count: int = 10, size: int = 1000) -> int:
    """Both sides send a message and receive that of the other, some times. Returns the number of streams."""
    with link:
        for number in range(count):
            link.send(f"kind {number}", bytes([number]) * size)
            assert link.receive(Receive(peer, f"kind {number}", size, size)) == bytes([number]) * size
        link.finish()
    return link.connections


def pair(listener: Listener, files: Files, address: str | None = None, **options: Any) -> tuple[Link, Link]:
    """The links of the bank, which connects, and of the shop."""
    dialer = Dialer(address or listener.address, files.bank, SHOP)
    return Link("shop", dialer.dial, **options), Link("bank", listener.connector("bank"), **options)


def converse(bank: Link, shop: Link, *arguments: int) -> list[Any]:
    return together(lambda: exchange(bank, "shop", *arguments), lambda: exchange(shop, "bank", *arguments))


def test_a_conversation(listener: Listener, files: Files) -> None:
    assert converse(*pair(listener, files, deadline=20)) == [1, 1]
    assert converse(*pair(listener, files, deadline=20)) == [1, 1]


def test_large_messages_in_both_directions_at_once(listener: Listener, files: Files) -> None:
    """Each side sends 12 MiB before it receives, which no buffer of gRPC holds."""
    assert converse(*pair(listener, files, deadline=20), 3, 12 * CHUNK + 5) == [1, 1]


def test_an_intermediate_authority_and_ipv6(files: Files) -> None:
    """The file of a certificate contains that of the intermediate authority, and the peers trust the root only."""
    below = Authority(files.folder, "below", files.authority)
    bank, shop = below.issue("bank"), below.issue("shop")
    with Listener("[::1]:0", shop, [BANK]) as listener:
        dialer = Dialer(listener.address, bank, Identity("shop", pin=digest(der(shop))))
        links = Link("shop", dialer.dial, deadline=20), Link("bank", listener.connector("bank"), deadline=20)
        assert converse(*links) == [1, 1]


@pytest.mark.parametrize("most", [12_000, 20_000, 70_000])
def test_cut_connections(most: int, listener: Listener, files: Files) -> None:
    with proxy(listener.address) as between:
        between.most = most
        bank, shop = pair(listener, files, between.address, deadline=20)
        found = converse(bank, shop, 25, 3000)
    assert found[0] > 1, found
    assert found[1] > 1, found


def test_connections_cut_at_any_time(listener: Listener, files: Files) -> None:
    with proxy(listener.address) as between:
        bank, shop = pair(listener, files, between.address, deadline=20)
        over = threading.Event()

        def cut() -> None:
            while not over.wait(0.06):
                between.cut()

        def talk() -> list[Any]:
            found = converse(bank, shop, 200, 20_000)
            over.set()
            return found

        _, found = together(cut, talk)
    assert all(isinstance(count, int) for count in found), found
    assert found[0] > 1


def test_a_call_that_ends_before_its_first_frame() -> None:
    """gRPC may end a call before it asks for a frame. No thread reads from such a call."""
    stream = _Accepted("bank", iter(()), Mock(spec=grpc.ServicerContext))
    stream.finish()
    stream.close()
    assert stream.ended


@pytest.mark.parametrize(("piece", "pause"), [(1, 0.0), (1 << 16, 0.01)])
def test_slow_connections(piece: int, pause: float, listener: Listener, files: Files) -> None:
    with proxy(listener.address) as between:
        between.piece, between.pause = piece, pause
        assert converse(*pair(listener, files, between.address, deadline=20), 3, 500) == [1, 1]


# Certificates.


def dial(address: str, tls: TLS, peer: Identity = SHOP, **options: Any) -> None:
    """Connect, and read the hello. Raises the error of the link."""
    with Link(peer.name, Dialer(address, tls, peer).dial, **{"deadline": 10.0, **options}) as link:
        link.open()


def refused(expected: str, call: Callable[..., Any], *arguments: Any, within: float = 3.0) -> str:
    """A permanent cause: the error comes long before the deadline."""
    start = time.monotonic()
    with pytest.raises(cm.PeerError, match=expected) as raised:
        call(*arguments)
    assert time.monotonic() - start < within
    return str(raised.value)


def test_certificates_of_other_authorities(listener: Listener, files: Files) -> None:
    refused(
        "the certificate of shop at 127.0.0.1:[0-9]+ is not signed by an authority of this side; use",
        dial,
        listener.address,
        files.trusts_stranger(files.bank),
    )
    refused(
        "shop at .* ended 3 connections after it saw the certificate of this side; check that its authority signed",
        dial,
        listener.address,
        files.foreign,
    )


def test_names_of_certificates(listener: Listener, files: Files) -> None:
    error = refused(
        "the certificate of depot .* has another name", dial, listener.address, files.bank, Identity("depot")
    )
    assert "use one of its names as certificate_name" in error
    dialer = Dialer(listener.address, files.bank, Identity("depot", "shop"))
    bank, shop = Link("depot", dialer.dial, deadline=20), Link("bank", listener.connector("bank"), deadline=20)
    assert together(lambda: exchange(bank, "depot"), lambda: exchange(shop, "bank")) == [1, 1]
    error = refused("shop does not know the certificate of this side", dial, listener.address, files.other_name)
    assert "names and pins" in error
    with pytest.raises(
        cm.PeerError, match=r"bank sent nothing new .*a certificate with the names \['mallory'\] was refused"
    ):
        Link("bank", listener.connector("bank"), deadline=0.2).open()


def test_pins(listener: Listener, files: Files) -> None:
    right, wrong = digest(der(files.shop)), digest(der(files.bank))
    error = refused(
        "the certificate of shop .* the pin is", dial, listener.address, files.bank, Identity("shop", pin=wrong)
    )
    assert right in error
    assert wrong in error
    pinned = Identity("bank", pin=digest(der(files.bank)).upper().replace("SHA256", "sha256"))
    with Listener("127.0.0.1:0", files.shop, [pinned]) as strict:
        dialer = Dialer(strict.address, files.bank, Identity("shop", pin=right))
        bank, shop = Link("shop", dialer.dial, deadline=20), Link("bank", strict.connector("bank"), deadline=20)
        assert converse(bank, shop) == [1, 1]
        renewed = files.authority.issue("renewed", "bank")
        refused("shop does not know the certificate of this side", dial, strict.address, renewed)


def test_a_certificate_of_two_peers_is_refused(files: Files) -> None:
    both = files.authority.issue("both", "bank", "depot")
    with Listener("127.0.0.1:0", files.shop, [BANK, Identity("depot")]) as listener:
        refused("shop does not know the certificate", dial, listener.address, both)


def test_only_dns_names_count(listener: Listener, files: Files) -> None:
    for number, names in enumerate([("URI:bank",), ("email:bank",), ("DNS:*.bank", "DNS:bank.example")]):
        refused("shop does not know", dial, listener.address, files.authority.issue(f"named{number}", *names))


@contextlib.contextmanager
def raw_server(files: Files, tls: TLS, behaviour: Any, service: str = SERVICE) -> Iterator[str]:
    """The address of a server of gRPC that is not a listener."""
    handler: Any = grpc.stream_stream_rpc_method_handler(behaviour)
    with ThreadPoolExecutor(2) as threads:
        server = grpc.server(threads, options=[("grpc.max_send_message_length", -1)])
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {METHOD: handler})])
        files_of_pair = Path(tls.key).read_bytes(), Path(tls.certificate).read_bytes()
        credentials = grpc.ssl_server_credentials([files_of_pair], files.authority.path.read_bytes(), True)
        port = server.add_secure_port("127.0.0.1:0", credentials)
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(None).wait()


def raw_call(files: Files, address: str, tls: TLS | None, requests: Iterator[bytes], **options: Any) -> Any:
    """A call of gRPC without a dialer."""
    key, certificate = (Path(tls.key).read_bytes(), Path(tls.certificate).read_bytes()) if tls else (None, None)
    credentials = grpc.ssl_channel_credentials(files.authority.path.read_bytes(), key, certificate)
    settings = [("grpc.ssl_target_name_override", "shop"), ("grpc.max_send_message_length", -1)]
    with grpc.secure_channel(address, credentials, options=settings) as channel:
        multi: Any = channel.stream_stream(f"/{SERVICE}/{METHOD}")
        yield from multi(requests, timeout=10, **options)


def call_until_the_end(files: Files, address: str, *frames: bytes) -> None:
    """A call of the bank with some frames, which the other side ends."""
    ended = threading.Event()

    def requests() -> Iterator[bytes]:
        yield from frames
        # A party ends its direction last. If it ended earlier, the link could find the stream closed when it writes its hello.
        ended.wait(10)

    with contextlib.suppress(grpc.RpcError):
        list(raw_call(files, address, files.bank, requests()))
    ended.set()


def status(files: Files, address: str, tls: TLS | None, *requests: bytes, **options: Any) -> grpc.StatusCode:
    """The status with which a call ends."""
    with pytest.raises(grpc.RpcError) as raised:
        list(raw_call(files, address, tls, iter(requests), **options))
    return raised.value.code()


def test_expired_certificates(files: Files, listener: Listener) -> None:
    with pytest.raises(cm.ParameterError, match=r"expired.pem expired on 20..-..-.. ..:.. UTC; renew it"):
        TLS(files.expired.certificate, files.expired.key, files.expired.authority)
    with raw_server(files, files.expired, lambda requests, context: iter(())) as address:
        refused("the certificate of shop at .* expired; renew it", dial, address, files.bank)
    assert status(files, listener.address, files.expired) is grpc.StatusCode.UNAVAILABLE


def test_clients_without_a_certificate_are_refused(files: Files, listener: Listener) -> None:
    assert status(files, listener.address, None, encode(_frames.hello(0, 0, b""))) is grpc.StatusCode.UNAVAILABLE
    assert converse(*pair(listener, files, deadline=20)) == [1, 1]


def test_causes_outside_of_tls(files: Files) -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:
        address = f"127.0.0.1:{plain.getsockname()[1]}"
        thread = threading.Thread(target=lambda: plain.accept()[0].sendall(b"SSH-2.0-OpenSSH_9.2\r\n"))
        thread.start()
        refused("shop at .* does not use TLS .*; check the address", dial, address, files.bank)
        thread.join()
        # It accepts and never answers.
        with pytest.raises(cm.PeerError, match="shop at .* does not answer"):
            dial(address, files.bank, deadline=0.3)
    with pytest.raises(cm.PeerError, match="nothing new for 0.3 seconds.* no process listens for shop at"):
        dial(address, files.bank, deadline=0.3)
    with pytest.raises(cm.PeerError, match="the host name of shop at no-host.invalid:1 is unknown"):
        dial("no-host.invalid:1", files.bank, deadline=0.3)
    with raw_server(files, files.shop, lambda requests, context: iter(()), service="other.Service") as address:
        refused(f"shop does not serve {SERVICE}; check the address and the versions", dial, address, files.bank)


def test_a_peer_that_starts_later(files: Files) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"

    def late() -> int:
        time.sleep(0.4)
        with Listener(address, files.shop, [BANK]) as listener:
            return exchange(Link("bank", listener.connector("bank"), deadline=20), "bank")

    early = Link("shop", Dialer(address, files.bank, SHOP).dial, deadline=20)
    assert together(lambda: exchange(early, "shop"), late) == [1, 1]


def test_a_renewed_certificate_is_used(files: Files, listener: Listener) -> None:
    folder = files.folder / "renewal"
    folder.mkdir()
    for name, path in (("bank.pem", files.other_name.certificate), ("bank.key", files.other_name.key)):
        (folder / name).write_bytes(Path(path).read_bytes())
    tls = TLS(folder / "bank.pem", folder / "bank.key", files.authority.path)
    refused("shop does not know the certificate", dial, listener.address, tls)
    for name, path in (("bank.pem", files.bank.certificate), ("bank.key", files.bank.key)):
        (folder / name).write_bytes(Path(path).read_bytes())
    bank = Link("shop", Dialer(listener.address, tls, SHOP).dial, deadline=20)
    assert converse(bank, Link("bank", listener.connector("bank"), deadline=20)) == [1, 1]
    (folder / "bank.pem").unlink()
    with pytest.raises(cm.ParameterError, match=r"certificate, .*bank.pem, cannot be read: No such file or directory"):
        Dialer(listener.address, tls, SHOP).dial(1)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (("-newkey", "ed25519"), "has a key of kind Ed25519; use a P-256 key"),
        (("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-521"), "has a key of kind unknown; use a P-256 key"),
        (("-newkey", "rsa:1024"), "too short; use a P-256 key, or RSA with 2048 bits"),
    ],
)
def test_keys_that_grpc_does_not_accept(key: tuple[str, ...], error: str, files: Files) -> None:
    with pytest.raises(cm.ParameterError, match=error):
        files.authority.issue(key[-1].replace(":", "-"), key=key)


@pytest.mark.parametrize("key", [("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"), ("-newkey", "rsa:2048")])
def test_other_keys(key: tuple[str, ...], files: Files) -> None:
    shop = files.authority.issue(key[-1].replace(":", "-"), "shop", key=key)
    with Listener("127.0.0.1:0", shop, [BANK]) as listener:
        assert converse(*pair(listener, files, deadline=20)) == [1, 1]


def test_files_are_checked_at_once(files: Files) -> None:
    bank, shop, folder = files.bank, files.shop, files.folder
    (folder / "junk").write_bytes(os.urandom(100))
    (folder / "long").write_bytes(bytes((1 << 20) + 1))
    cut = Path(bank.certificate).read_text().splitlines()
    (folder / "damaged").write_text("\n".join([cut[0], cut[1][::-1], *cut[2:]]))
    (folder / "cut").write_bytes(Path(bank.key).read_bytes()[:100])
    _encrypt(files, "secret")
    for arguments, error in [
        (("none.pem", bank.key, bank.authority), "the file of the certificate, none.pem, cannot be read: No such file"),
        ((bank.certificate, folder, bank.authority), "the file of the key, .*, cannot be read: Is a directory"),
        ((bank.certificate, shop.key, bank.authority), "is not that of the certificate .*bank.pem; use its key"),
        ((bank.certificate, folder / "cut", bank.authority), "is not in PEM or is damaged"),
        ((bank.certificate, folder / "junk", bank.authority), "is not in PEM or is damaged"),
        ((bank.certificate, folder / "secret", bank.authority), "has a passphrase; use a key file without one"),
        (
            (folder / "junk", bank.key, bank.authority),
            "junk has no certificate in PEM; use a file with BEGIN CERTIFICATE",
        ),
        ((folder / "damaged", bank.key, bank.authority), "damaged is damaged; use another file"),
        ((bank.certificate, bank.key, bank.key), "has no authority in PEM; use a file with BEGIN CERTIFICATE"),
        ((folder / "long", bank.key, bank.authority), "has more than 1048576 bytes"),
    ]:
        with pytest.raises(cm.ParameterError, match=error):
            TLS(*arguments)
    with pytest.raises(cm.DtypeError, match="the path of the key is of type NoneType; use str or PathLike"):
        TLS(bank.certificate, None, bank.authority)  # type: ignore[arg-type]


def _encrypt(files: Files, name: str) -> None:
    command = ["openssl", "ec", "-aes256", "-passout", "pass:secret", "-in", str(files.bank.key), "-out", name]
    subprocess.run(command, cwd=files.folder, check=True, capture_output=True)


def test_keys_stay_where_they_are(files: Files) -> None:
    key = Path(files.bank.key).read_text().splitlines()[1]
    for shown in (
        repr(files.bank),
        str(vars(files.bank)),
        str(dataclasses.asdict(files.bank)),
        repr(files.bank.load()),
    ):
        assert "key" in shown or "context" in shown
        assert key not in shown
    for method in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(cm.SecretError, match="cannot be pickled; make one in each process"):
            method(files.bank)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_certificates_are_refused_or_read(files: Files, data: st.DataObject) -> None:
    certificate = bytearray(der(files.bank))
    assert read_certificate(bytes(certificate)).key == "P-256"
    place = data.draw(st.integers(0, len(certificate) - 1))
    certificate[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        read_certificate(bytes(certificate[: data.draw(st.integers(0, len(certificate)))]))
    with contextlib.suppress(ValueError):
        read_certificate(bytes(certificate))
    with pytest.raises(ValueError, match="DER"):
        read_certificate(bytes(certificate[:200]))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("shop.example:7443", Address("shop.example", 7443)),
        ("127.0.0.1:1", Address("127.0.0.1", 1)),
        ("[::1]:65535", Address("::1", 65535)),
        ("a_b:80", Address("a_b", 80)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "shop",
        "shop:",
        ":7443",
        "shop:x",
        "shop:0",
        "shop:65536",
        "::1:80",
        "unix:/tmp/x",
        "http://shop:1",
        "a..b:1",
        "-a:1",
    ]
    + ["a" * 64 + ":1", "shop:1 ", "dns:///shop:1", "shöp:1", "shop:٣", "[::1%lo]:1"],
)
def test_other_addresses_are_refused(text: str, files: Files) -> None:
    with pytest.raises(cm.ParameterError, match="use"):
        Dialer(text, files.bank, SHOP)


def test_names_and_pins_have_a_form() -> None:
    for name in ["", "a b", "*.example", "-a", "a..b", "a" * 64, "é", "a\n", "x." * 130 + "x"]:
        with pytest.raises(cm.ParameterError, match="is not a DNS name; use letters"):
            Identity("shop", name) if name else Identity("")
    for pin in ["", "sha256:", "sha256:" + "g" * 64, "md5:" + "0" * 32, "0" * 64, b"x", 5]:
        with pytest.raises(cm.ParameterError, match='use "sha256:" and 64 hexadecimal digits'):
            Identity("shop", pin=pin)  # type: ignore[arg-type]
    assert Identity("Shop", "SHOP.Example").certificate_name == "shop.example"


def test_arguments_of_a_listener(files: Files, listener: Listener) -> None:
    for peers, error in [
        ([], "a listener without peers; use at least 1"),
        ([BANK, BANK], "two peers are equal"),
        ([BANK, Identity("depot", "bank")], "two peers are equal"),
    ]:
        with pytest.raises(cm.ParameterError, match=error):
            Listener("127.0.0.1:0", files.shop, peers)
    with pytest.raises(cm.DtypeError, match="a peer is of type str; use Identity"):
        Listener("127.0.0.1:0", files.shop, ["bank"])  # type: ignore[list-item]
    with pytest.raises(cm.ParameterError, match="cannot listen on 127.*: Address already in use; use another"):
        Listener(listener.address, files.shop, [BANK])
    # Nor does another server get a part of the connections.
    other = grpc.server(ThreadPoolExecutor(1))
    credentials = grpc.ssl_server_credentials(
        [(Path(files.shop.key).read_bytes(), Path(files.shop.certificate).read_bytes())]
    )
    with pytest.raises(RuntimeError, match="Failed to bind"):
        other.add_secure_port(listener.address, credentials)
    with pytest.raises(cm.ParameterError, match="keepalive is 0.5 seconds; use 1 to 3600"):
        Listener("127.0.0.1:0", files.shop, [BANK], keepalive=0.5)
    with pytest.raises(cm.ParameterError, match=r"the peer 'depot' is not configured; use one of \['bank'\]"):
        listener.connector("depot")


# Hostile, silent and vanished peers.


def test_frames_above_the_limit(files: Files, listener: Listener) -> None:
    """A frame just above the limit is named by the link; gRPC refuses larger ones before they are in memory."""
    hello = encode(_frames.hello(0, 0, b""))
    for size in (MAX_FRAME + 1, MAX_BYTES):
        link = Link("bank", listener.connector("bank"), deadline=10)
        client = partial(call_until_the_end, files, listener.address, hello, bytes(size))
        _, error = together(client, partial(link.receive, Receive("bank", "half", 0, 10)))
        assert isinstance(error, cm.WireError)
        assert f"the length of a frame of bank is {size}; use 40 to {MAX_FRAME}" in str(error)
    before = resident_bytes()
    code = status(files, listener.address, files.bank, hello, bytes(64 << 20))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    # The client is in this process, and has the 64 MiB and a copy.
    assert resident_bytes() - before < 160 << 20


def test_a_server_with_long_frames_is_named(files: Files) -> None:
    sent = [encode(_frames.hello(0, 0, b"")), bytes(3 << 20)]
    with (
        raw_server(files, files.shop, lambda requests, context: iter(sent)) as address,
        Link("shop", Dialer(address, files.bank, SHOP).dial, deadline=10) as link,
        pytest.raises(cm.PeerError, match=f"a frame from or to shop is too long; use at most {MAX_FRAME} bytes"),
    ):
        link.receive(Receive("shop", "half", 0, 10))


def test_compressed_messages_are_refused(files: Files, listener: Listener) -> None:
    frame = encode(_frames.hello(0, 0, bytes(60_000)))
    code = status(files, listener.address, files.bank, frame, compression=grpc.Compression.Gzip)
    assert code is grpc.StatusCode.UNIMPLEMENTED


def test_frames_that_no_one_asked_for_stay_in_the_network(files: Files, listener: Listener) -> None:
    """A peer floods messages while this side computes: it is held back, and memory stays bounded."""
    big = bytes(200 * CHUNK)
    frames = [_frames.part(0, 0, 0, "half", big, offset) for offset in range(0, len(big), CHUNK)]
    sent = []

    def flood() -> Iterator[bytes]:
        yield encode(_frames.hello(0, 0, b""))
        for frame in frames:
            sent.append(frame)
            yield encode(frame)

    def client() -> None:
        with contextlib.suppress(grpc.RpcError):
            list(raw_call(files, listener.address, files.bank, flood()))

    thread = threading.Thread(target=client)
    link = Link("bank", listener.connector("bank"), deadline=10)
    before = resident_bytes()
    thread.start()
    link.open()
    time.sleep(1.0)
    assert 3 <= len(sent) < 40
    assert resident_bytes() - before < 64 << 20
    with pytest.raises(cm.WireError, match="has 209715200 bytes; use 0 to 10"):
        link.receive(Receive("bank", "half", 0, 10))
    thread.join(15)


def test_a_silent_peer(files: Files, listener: Listener) -> None:
    bank, shop = pair(listener, files, deadline=0.4)
    together(bank.open, shop.open)
    start = time.monotonic()
    with pytest.raises(cm.PeerError, match='shop sent nothing new for 0.4 seconds, .* waits for the message "half"'):
        bank.receive(Receive("shop", "half", 0, 10))
    assert time.monotonic() - start < 3
    # The other side learns it at once.
    with pytest.raises(cm.PeerError, match="bank ended the exchange: shop sent nothing new"):
        shop.receive(Receive("bank", "half", 0, 10))


def test_a_vanished_host(files: Files, listener: Listener) -> None:
    """No packet comes any more. The keepalive of gRPC finds it, and the new connections fail."""
    with proxy(listener.address) as between:
        dialer = Dialer(between.address, files.bank, SHOP, keepalive=1)
        bank, shop = Link("shop", dialer.dial, deadline=3), Link("bank", listener.connector("bank"), deadline=20)
        together(bank.open, shop.open)
        between.flowing.clear()
        with pytest.raises(cm.PeerError, match="shop sent nothing new for 3 seconds.* shop at .* does not answer"):
            bank.receive(Receive("shop", "half", 0, 10))
        shop.close()


def test_a_vanished_process(files: Files) -> None:
    listener = Listener("127.0.0.1:0", files.shop, [BANK])
    bank, shop = pair(listener, files, deadline=0.5)
    together(bank.open, shop.open)
    listener.close()
    with pytest.raises(cm.PeerError, match="shop sent nothing new for 0.5 seconds.* no process listens for shop"):
        bank.receive(Receive("shop", "half", 0, 10))
    shop.close()


def test_a_second_client_replaces_the_first(files: Files, listener: Listener) -> None:
    first, shop = pair(listener, files, deadline=20)
    together(first.open, shop.open)
    second = Link("shop", Dialer(listener.address, files.bank, SHOP).dial, deadline=20)
    assert converse(second, shop) == [1, 2]
    assert first.connections == 1
    first.close()


def test_many_streams_of_a_peer_are_bounded(files: Files, listener: Listener) -> None:
    """Each new stream ends the earlier one."""
    dialer = Dialer(listener.address, files.bank, SHOP)
    before = threading.active_count()
    streams = [dialer.dial(5) for _ in range(12)]
    for stream in streams:
        with contextlib.suppress(Lost):
            stream.write(encode(_frames.hello(0, 0, b"")))
    listener.accept("bank", 5)
    time.sleep(0.3)
    # The threads of the last stream, and those of clients that wait for `close`.
    assert threading.active_count() - before < 3 * 12
    for stream in streams:
        stream.close()
    assert threading.active_count() - before < 6


def test_other_clients_do_not_disturb_a_conversation(files: Files, listener: Listener) -> None:
    over = threading.Event()

    def strangers() -> int:
        count = 0
        while not over.is_set():
            assert status(files, listener.address, files.other_name) is grpc.StatusCode.PERMISSION_DENIED
            assert status(files, listener.address, None) is grpc.StatusCode.UNAVAILABLE
            count += 1
        return count

    def talk() -> list[Any]:
        found = converse(*pair(listener, files, deadline=20), 100, 5000)
        over.set()
        return found

    count, found = together(strangers, talk)
    assert found == [1, 1]
    assert count


def test_the_reason_of_a_goodbye_arrives(files: Files, listener: Listener) -> None:
    for side in range(2):
        links = pair(listener, files, deadline=20)
        together(*(link.open for link in links))
        links[side].close("the disk is full")
        name = ("shop", "bank")[1 - side]
        with pytest.raises(cm.PeerError, match=f"{name} ended the exchange: the disk is full"):
            links[1 - side].receive(Receive(name, "half", 0, 10))


# Processes.


SCRIPT = """
import os, signal, sys, threading, time
from ciphermill._hetero.messages import Receive
from ciphermill.federated._grpc import Dialer, Listener
from ciphermill.federated._link import Link, Lost
from ciphermill.federated._tls import TLS, Identity

# A shell's background job ignores the signal, and so would this process.
signal.signal(signal.SIGINT, signal.default_int_handler)
folder, authority, what = sys.argv[1:]
bank, shop = (TLS(f"{folder}/authority-{n}.pem", f"{folder}/authority-{n}.key", authority) for n in ("bank", "shop"))
listener = Listener("127.0.0.1:0", shop, [Identity("bank")])
a = Link("shop", Dialer(listener.address, bank, Identity("shop")).dial, deadline=60)
b = Link("bank", listener.connector("bank"), deadline=60)
if what != "connect":
    thread = threading.Thread(target=b.open)
    thread.start()
    a.open()
    thread.join()
sent = []

def interrupt():
    time.sleep(0.3)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

if what != "exit":
    threading.Thread(target=interrupt).start()
    try:
        if what == "flush":
            a.send("half", b"x")
            a.flush()
        a.receive(Receive("shop", "half", 0, 10))
    except KeyboardInterrupt:
        print(time.monotonic() - sent[0])
# Nothing is closed.
"""


@pytest.mark.parametrize("what", ["receive", "flush", "connect", "exit"])
def test_ctrl_c_and_the_end_of_a_process(what: str, files: Files) -> None:
    arguments = [sys.executable, "-c", SCRIPT, str(files.folder), str(files.authority.path), what]
    start = time.monotonic()
    done = subprocess.run(arguments, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    if what != "exit":
        assert float(done.stdout) < 0.5
    assert time.monotonic() - start < 10


def test_programs_start_beside_connections(files: Files) -> None:
    """gRPC's handlers of fork write a line if they find other threads in gRPC, and the child may crash. Ray's processes start
    like this."""
    script = SCRIPT.split("sent = []")[0] + (
        "import subprocess\n"
        "for _ in range(100):\n"
        "    a.send('half', bytes(1000))\n"
        "    subprocess.run(['true'], check=True, preexec_fn=os.getpid)\n"
        "    b.receive(Receive('bank', 'half', 1000, 1000))\n"
        "for link in (a, b):\n"
        "    link.close()\n"
        "listener.close()\n"
    )
    arguments = [sys.executable, "-c", script, str(files.folder), str(files.authority.path), ""]
    done = subprocess.run(arguments, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_killed_process(files: Files, listener: Listener) -> None:
    """Its successor lost the messages of the epoch, and so cannot go on with it: both sides learn that."""
    script = SCRIPT.split("sent = []")[0].replace('what != "connect"', "False") + (
        f"link = Link('shop', Dialer({listener.address!r}, bank, Identity('shop')).dial, deadline=60)\n"
        "link.send('half', bytes(1000))\n"
        "link.flush()\n"
        "print('sent', flush=True)\n"
        "sys.stdin.read()\n"
    )
    arguments = [sys.executable, "-c", script, str(files.folder), str(files.authority.path), ""]
    shop = Link("bank", listener.connector("bank"), deadline=20)
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert shop.receive(Receive("bank", "half", 1000, 1000)) == bytes(1000)
        assert process.stdout is not None
        assert process.stdout.readline() == b"sent\n"
        process.send_signal(signal.SIGKILL)
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # It has sent no message yet, and this side expects its second one.
        with pytest.raises(cm.PeerError, match="bank ended the exchange: shop expects message 1; use 0 to 0"):
            shop.receive(Receive("bank", "half", 1000, 1000))
        process.kill()


def test_many_connections_leave_nothing(files: Files, listener: Listener) -> None:
    def rounds(count: int) -> None:
        for _ in range(count):
            assert converse(*pair(listener, files, deadline=20), 2, 100) == [1, 1]
        gc.collect()

    rounds(5)
    threads, before, descriptors = threading.active_count(), resident_bytes(), len(os.listdir("/proc/self/fd"))
    rounds(25)
    assert threading.active_count() <= threads + 2
    assert resident_bytes() - before < 16 << 20
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 4
