"""Messages between two parties: frames, faults of a stream, and the behaviour of a hostile peer."""

import hashlib
import itertools
import os
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from federated_setting import (
    Fault,
    MemoryStream,
    Network,
    cut_after,
    cut_before,
    damage,
    delay,
    drop,
    reorder,
    repeat,
    truncate,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ciphermill as cm
from ciphermill._hetero.messages import Receive
from ciphermill.federated import _boxes, _frames, _link
from ciphermill.federated._frames import CHUNK, HEADER, MAX_FRAME, Frame, FrameType, decode, encode
from ciphermill.federated._link import Link, Lost, NewEpoch

# Frames.

numbers = st.integers(0, 2**32 - 1)
kinds = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=32)


@st.composite
def parts(draw: st.DrawFn) -> Frame:
    """A part of a message whose other parts do not exist."""
    offset = CHUNK * draw(st.integers(0, 2**20 - 1))
    chunk = draw(st.binary(max_size=100)) if draw(st.booleans()) else bytes(CHUNK)
    total = offset + len(chunk)
    if len(chunk) == CHUNK:
        total = min(total + draw(st.integers(0, 2**40)), 2**40)
    elif not chunk:
        offset = total = 0
    return Frame(FrameType.PART, draw(numbers), draw(numbers), draw(numbers), draw(kinds), total, offset, chunk)


others = st.one_of(
    st.builds(_frames.hello, numbers, numbers, st.binary(max_size=300)),
    st.builds(lambda epoch, expected: Frame(FrameType.ACKNOWLEDGEMENT, epoch, expected), numbers, numbers),
    st.builds(_frames.goodbye, numbers, numbers, st.text(max_size=2000)),
)
frames = st.one_of(parts(), others)


def refused_or_valid(data: bytes) -> None:
    """Bytes are refused by a typed error, or are the one encoding of a frame."""
    try:
        frame = decode(data, "shop")
    except cm.WireError as error:
        assert "shop" in str(error)
        assert "use" in str(error)
    else:
        assert encode(frame) == data


@settings(max_examples=150, deadline=None)
@given(frames)
def test_frames_survive_their_encoding(frame: Frame) -> None:
    data = encode(frame)
    assert len(data) <= MAX_FRAME
    assert decode(data, "shop") == frame


@settings(max_examples=300, deadline=None)
@given(frames, st.data())
def test_changed_frames_are_refused_or_valid(frame: Frame, data: st.DataObject) -> None:
    wire = bytearray(encode(frame))
    place = data.draw(st.integers(0, min(len(wire), HEADER.size + 40) - 1))
    wire[place] ^= data.draw(st.integers(1, 255))
    refused_or_valid(bytes(wire))


@settings(max_examples=100, deadline=None)
@given(frames, st.integers(1, 200), st.binary(min_size=1, max_size=50))
def test_cut_and_extended_frames_are_refused(frame: Frame, cut: int, extra: bytes) -> None:
    wire = encode(frame)
    with pytest.raises(cm.WireError):
        decode(wire[:-cut], "shop")
    with pytest.raises(cm.WireError):
        decode(wire + extra, "shop")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
@example(b"")
@example(b"CMFP")
@example(bytes(HEADER.size))
def test_any_bytes_are_refused_or_valid(data: bytes) -> None:
    refused_or_valid(data)


def packed(*fields: int, kind: bytes = b"half", chunk: bytes = b"", magic: bytes = b"CMFP") -> bytes:
    return HEADER.pack(magic, *fields) + kind + chunk


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (
            packed(1, 2, 4, 0, 0, 0, 0, 1, 2**60, 0, chunk=b"x"),
            "the length of the message .* is 1152921504606846976; use 0 to",
        ),
        (packed(1, 2, 4, 0, 0, 0, 0, 1, 1, 2**60, chunk=b"x"), "the offset .* is 1152921504606846976; use 0"),
        (packed(1, 2, 4, 0, 0, 0, 0, 1, 9, 8, chunk=b"x"), "the rest of the offset by 1 MiB .* is 8; use 0"),
        (packed(1, 2, 4, 0, 0, 0, 0, 2**32 - 1, 1, 0, chunk=b"x"), "the length .* is 45; use 4294967339"),
        (packed(1, 2, 4, 0, 0, 0, 0, 1, 7, 0, chunk=b"x"), "the length of the chunk .* is 1; use 7"),
        (packed(1, 2, 255, 0, 0, 0, 0, 1, 7, 0, chunk=b"x"), "the length of the kind .* is 255; use 0 to 32"),
        (packed(1, 2, 0, 0, 0, 0, 0, 1, 1, 0, kind=b"", chunk=b"x"), "the length of the kind .* is 0; use 1 to 32"),
        (
            packed(1, 2, 4, 0, 0, 0, 0, 0, 0, 0, kind=b"ha\nf"),
            "the kind of a message of shop is b'ha.*nf'; use printable",
        ),
        (packed(1, 2, 4, 1, 0, 0, 0, 0, 0, 0), "byte 7 .* is 1; use 0"),
        (packed(2, 2, 4, 0, 0, 0, 0, 0, 0, 0), "the version .* is 2; use 1"),
        (packed(1, 5, 4, 0, 0, 0, 0, 0, 0, 0), "the type .* is 5; use 1 to 4"),
        (packed(1, 2, 4, 0, 0, 0, 0, 0, 0, 0, magic=b"HTTP"), "begins with b'HTTP'; use b'CMFP'"),
        (packed(1, 1, 0, 0, 0, 0, 0, 65537, 0, 0, kind=b"", chunk=bytes(65537)), "chunk .* is 65537; use 0 to 65536"),
        (packed(1, 3, 0, 0, 0, 0, 7, 0, 0, 0, kind=b""), "the number .* is 7; use 0"),
        (packed(1, 3, 0, 0, 0, 0, 0, 1, 0, 0, kind=b"", chunk=b"x"), "the length of the chunk .* is 1; use 0"),
        (packed(1, 4, 0, 0, 0, 0, 0, 5, 0, 0, kind=b"", chunk=b"\x1b[31m"), "a reason that cannot be printed"),
        (packed(1, 4, 0, 0, 0, 0, 0, 1, 0, 0, kind=b"", chunk=b"\xff"), "a reason that cannot be printed"),
        (bytes(MAX_FRAME + 1), f"the length .* is {MAX_FRAME + 1}; use 40 to {MAX_FRAME}"),
        (b"", f"the length .* is 0; use 40 to {MAX_FRAME}"),
    ],
)
def test_fields_have_limits(data: bytes, error: str) -> None:
    with pytest.raises(cm.WireError, match=error):
        decode(data, "shop")


def test_a_reason_is_printable_and_short() -> None:
    assert _frames.goodbye(0, 0, "no\x1b[2J\x00 room\ud800").text == "no?[2J? room?"
    reason = _frames.goodbye(0, 0, "é" * 3000).text
    assert reason == "é" * 512
    decode(encode(_frames.goodbye(0, 0, "\u202e" * 3000)), "shop")


def test_kinds_and_hellos_have_limits() -> None:
    for kind in ["", "k" * 33, "é", "a\n"]:
        with pytest.raises(cm.ParameterError, match="use 1 to 32 printable characters"):
            _frames.check_kind(kind)
    with pytest.raises(cm.ParameterError, match="65537; use 0 to 65536"):
        _frames.hello(0, 0, bytes(65537))


# A conversation over a stream with faults.


def payload(side: str, number: int) -> bytes:
    """The bytes of a message; two are longer than a frame, and one is empty."""
    size = {4: CHUNK + 3, 11: 2 * CHUNK, 12: 0}.get(number, 10 + number)
    return (hashlib.sha256(f"{side} {number}".encode()).digest() * (size // 32 + 1))[:size]


MESSAGES = 30


def talk(link: Link, side: str) -> list[bytes]:
    """30 messages in each direction: in turn, at the same time, and several in a row."""
    other = {"left": "right", "right": "left"}[side]
    found: list[bytes] = []

    def send(number: int) -> None:
        link.send(f"kind {number}", payload(side, number))

    def receive(number: int) -> None:
        size = len(payload(other, number))
        found.append(link.receive(Receive(other, f"kind {number}", size, size)))

    for number in range(0, 24, 2):
        for step in (send, receive) if side == "left" else (receive, send):
            step(number)
        send(number + 1)
        receive(number + 1)
    for number in range(24, MESSAGES):
        send(number)
    for number in range(24, MESSAGES):
        receive(number)
    return found


Outcome = list[bytes] | BaseException


def converse(
    network: Network,
    part: Callable[[Link, str], list[bytes]] = talk,
    *,
    deadline: float = 20.0,
    finish: bool = True,
    **options: Any,
) -> dict[str, Outcome]:
    """The received messages, or the error, of both sides. Fails if a side hangs."""
    outcomes: dict[str, Outcome] = {}
    links = {
        side: Link(other, connect, deadline=deadline, **options)
        for side, other, connect in zip(("left", "right"), ("right", "left"), network.ends, strict=True)
    }

    def run(side: str) -> None:
        link = links[side]
        try:
            outcomes[side] = part(link, side)
            if finish:
                link.finish(linger=0.5)
            else:
                link.close()
        except (cm.CiphermillError, NewEpoch) as error:
            outcomes[side] = error
            link.close()

    network.links = links
    threads = [threading.Thread(target=run, args=(side,), daemon=True) for side in links]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(40)
        assert not thread.is_alive(), "a side hangs"
    return outcomes


RIGHT = {"left": [payload("right", n) for n in range(MESSAGES)], "right": [payload("left", n) for n in range(MESSAGES)]}


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    """The number of frames of each direction in a conversation without faults."""
    network = Network()
    assert converse(network) == RIGHT
    assert 30 < min(network.written.values())
    assert max(network.written.values()) < 80
    return dict(network.written)


def with_fault(fault: Fault, counts: dict[str, int], **options: Any) -> Iterator[tuple[Network, dict[str, Outcome]]]:
    """The networks and the outcomes of a conversation with a fault at each position of each direction."""
    places = [(direction, number) for direction, count in counts.items() for number in range(count)]

    def run(place: tuple[str, int]) -> tuple[Network, dict[str, Outcome]]:
        network = Network({place: fault})
        return network, converse(network, **options)

    with ThreadPoolExecutor(16) as threads:
        yield from threads.map(run, places)


@pytest.mark.parametrize("fault", [cut_before, cut_after, delay])
def test_cuts_and_delays_lose_nothing(fault: Fault, counts: dict[str, int]) -> None:
    again = 0
    for network, outcomes in with_fault(fault, counts):
        assert outcomes == RIGHT, network.faults
        again += network.links["left"].connections > 1
    assert again == 0 if fault is delay else again > 40


@pytest.mark.parametrize(
    "fault",
    [repeat, reorder, drop, truncate, *map(damage, (5, 9, 15, 19, 23, 31, 39, HEADER.size))],
    ids=[
        "repeat",
        "reorder",
        "drop",
        "truncate",
        "type",
        "epoch",
        "expected",
        "number",
        "size",
        "total",
        "offset",
        "kind",
    ],
)
def test_other_faults_lose_nothing_or_are_named(fault: Fault, counts: dict[str, int]) -> None:
    """TLS prevents these faults, so that only a faulty peer causes them."""
    named = 0
    for network, outcomes in with_fault(fault, counts, deadline=0.4, finish=False):
        for side, outcome in outcomes.items():
            if isinstance(outcome, BaseException):
                assert isinstance(outcome, cm.PeerError | cm.WireError | NewEpoch), (network.faults, outcome)
                assert str(outcome)
                named += 1
            else:
                assert outcome == RIGHT[side], network.faults
    assert named > 10


def test_the_numbers_of_many_cuts() -> None:
    """Each sixth frame of each direction is cut off."""
    faults = {(side, number): cut_before for side in ("left", "right") for number in range(5, 200, 6)}
    network = Network(faults)
    assert converse(network) == RIGHT
    assert network.links["left"].connections > 5


# The parts of a link.


def part_of(number: int, payload: bytes, offset: int = 0, *, kind: str = "half", epoch: int = 0) -> Frame:
    return _frames.part(epoch, 0, number, kind, payload, offset)


def test_a_repeated_message_is_identical_or_refused() -> None:
    inbox = _boxes.Inbox("shop")
    long = bytes(CHUNK) + b"abc"
    request = Receive("shop", "half", 0, 2 * CHUNK)
    assert inbox.take(part_of(0, b"first"), request) == b"first"
    assert inbox.take(part_of(1, long), request) is None
    assert inbox.take(part_of(1, long, CHUNK), request) == long
    position = inbox.position
    # The same bytes are dropped.
    for frame in (part_of(0, b"first"), part_of(1, long), part_of(1, long, CHUNK)):
        assert inbox.take(frame, request) is None
    assert inbox.position == position == (2, 0)
    # Other bytes, another kind or length.
    assert inbox.take(part_of(1, long), request) is None
    with pytest.raises(
        cm.PeerError, match="shop repeats message 1 with other bytes; a repeated message must be identical"
    ):
        inbox.take(part_of(1, bytes(CHUNK) + b"abd", CHUNK), request)
    for altered in (part_of(0, b"First"), part_of(0, b"first", kind="keys"), part_of(0, b"firs")):
        inbox.restart()
        with pytest.raises(cm.PeerError, match="shop repeats message 0 with other bytes"):
            inbox.take(altered, request)


def test_the_length_of_a_repeated_message_is_checked_first() -> None:
    inbox = _boxes.Inbox("shop")
    inbox.take(part_of(0, b"first"), Receive("shop", "half", 0, 10))
    endless = Frame(FrameType.PART, 0, 0, 0, "half", 2**40, 0, bytes(CHUNK))
    with pytest.raises(cm.PeerError, match="repeats message 0 with other bytes"):
        inbox.take(endless, Receive("shop", "half", 0, 10))


def test_digests_of_64_messages_are_kept() -> None:
    inbox = _boxes.Inbox("shop")
    request = Receive("shop", "half", 1, 1)
    for number in range(100):
        assert inbox.take(part_of(number, b"x"), request) == b"x"
    assert inbox.take(part_of(36, b"x"), request) is None
    with pytest.raises(cm.PeerError, match="shop repeats message 35; use 36 to 100"):
        inbox.take(part_of(35, b"x"), request)


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ([part_of(1, b"x")], "shop sent message 1 out of order; use 0"),
        ([part_of(0, bytes(CHUNK + 1), CHUNK)], "message 0 from byte 1048576; it begins with byte 0"),
        (
            [part_of(0, bytes(3 * CHUNK)), part_of(0, bytes(3 * CHUNK), 2 * CHUNK)],
            "message 0 from byte 2097152; .* byte 1048576 of",
        ),
        (
            [part_of(0, bytes(2 * CHUNK)), part_of(0, bytes(2 * CHUNK))],
            "from byte 0; message 0 continues with byte 1048576",
        ),
        ([part_of(0, bytes(2 * CHUNK)), part_of(1, b"x")], "message 1 from byte 0; message 0 continues"),
        (
            [part_of(0, bytes(2 * CHUNK)), part_of(0, bytes(2 * CHUNK + 1), CHUNK)],
            "message 0 from byte 1048576; message 0",
        ),
        ([part_of(0, b"x", kind="keys")], 'sent "keys"; the protocol expects "half" here'),
        ([part_of(0, bytes(4 * CHUNK))], "has 4194304 bytes; use 1 to 3145728"),
        ([part_of(0, b"")], "has 0 bytes; use 1 to 3145728"),
    ],
)
def test_a_peer_keeps_the_order(parts: list[Frame], error: str) -> None:
    inbox = _boxes.Inbox("shop")
    request = Receive("shop", "half", 1, 3 * CHUNK)
    *first, last = parts
    for frame in first:
        assert inbox.take(frame, request) is None
    with pytest.raises((cm.PeerError, cm.WireError), match=error):
        inbox.take(last, request)


def test_only_sent_messages_are_acknowledged() -> None:
    outbox = _boxes.Outbox(0, 100)
    outbox.put("half", b"0123456789")
    with pytest.raises(cm.PeerError, match="shop acknowledges 1 messages, of which 0 were sent"):
        outbox.acknowledge(1, "shop")
    for expected in (1 << 31, 2):
        with pytest.raises(cm.PeerError, match=f"shop expects message {expected}; use 0 to 1"):
            outbox.rewind(expected, "shop")
    assert outbox.take(0.0) == part_of(0, b"0123456789")
    assert outbox.take(0.0) is None
    assert outbox.room(90)
    assert not outbox.room(91)
    assert outbox.acknowledge(1, "shop")
    assert not outbox.acknowledge(0, "shop")
    assert (len(outbox), outbox.nbytes) == (0, 0)
    with pytest.raises(cm.PeerError, match="shop expects message 0; use 1 to 1"):
        outbox.rewind(0, "shop")


def test_messages_are_repeated_from_the_expected_one() -> None:
    outbox = _boxes.Outbox(0, 1 << 30)
    long = bytes(CHUNK + 1)
    for payload in (b"a", long, b"c"):
        outbox.put("half", payload)
    sent = [part_of(0, b"a"), part_of(1, long), part_of(1, long, CHUNK), part_of(2, b"c")]
    assert [outbox.take(0.0) for _ in range(5)] == [*sent, None]
    outbox.rewind(1, "shop")
    assert [outbox.take(0.0) for _ in range(4)] == [*sent[1:], None]


def test_an_acknowledgement_waits_for_a_message() -> None:
    outbox = _boxes.Outbox(3, 100)
    outbox.received(1, 10.0)
    assert outbox.take(10.0) is None
    assert outbox.idle(10.0) == pytest.approx(_boxes.ACKNOWLEDGEMENT_DELAY)
    outbox.put("half", b"x")
    frame = outbox.take(10.0)
    assert frame is not None
    assert (frame.type, frame.expected) == (FrameType.PART, 1)
    assert outbox.take(11.0) is None
    outbox.received(2, 11.0)
    assert outbox.take(12.0) == Frame(FrameType.ACKNOWLEDGEMENT, 3, 2)
    assert outbox.take(12.0) is None


# A hostile or silent peer.


class Peer:
    """The other end of the first stream of a link, frame by frame."""

    def __init__(self, **options: Any) -> None:
        self.network = Network()
        self.link = Link("shop", self.network.accept, **options)
        self.stream: MemoryStream = self.network.connect(0)

    def again(self) -> "Peer":
        """Break the stream and connect again."""
        self.stream.close()
        self.stream = self.network.connect(0)
        return self

    def hello(self, expected: int = 0, epoch: int = 0, body: bytes = b"") -> "Peer":
        return self.write(_frames.hello(epoch, expected, body))

    def write(self, *sent: Frame | bytes) -> "Peer":
        for frame in sent:
            self.stream.write(frame if isinstance(frame, bytes) else encode(frame))
        return self

    def read(self) -> Frame:
        return decode(self.stream.read(5), "bank")

    def last(self) -> Frame:
        """The last frame before the link closes the stream."""
        found = None
        try:
            while True:
                found = self.read()
        except Lost:
            assert found is not None
            return found


HALF = Receive("shop", "half", 1, 100)


def test_a_length_is_checked_before_anything_is_allocated() -> None:
    announced = Frame(FrameType.PART, 0, 0, 0, "half", 2**39, 0, bytes(CHUNK))
    peer = Peer(deadline=5).hello().write(announced)
    tracemalloc.start()
    with pytest.raises(cm.WireError, match='the message "half" of shop has 549755813888 bytes; use 1 to 100'):
        peer.link.receive(HALF)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    assert "549755813888" in peer.last().text


@pytest.mark.parametrize("frame", ["acknowledgement", "repeated", "older"])
def test_frames_without_news_do_not_extend_the_deadline(frame: str) -> None:
    peer = Peer(deadline=0.5, epoch=2).hello(epoch=2).write(part_of(0, b"x", epoch=2))
    assert peer.link.receive(HALF) == b"x"
    useless = {
        "acknowledgement": Frame(FrameType.ACKNOWLEDGEMENT, 2, 0),
        "repeated": part_of(0, b"x", epoch=2),
        "older": part_of(5, b"x", epoch=1),
    }[frame]
    over = threading.Event()

    def flood() -> None:
        while not over.is_set():
            peer.network.carry(peer.stream.outgoing, encode(useless))
            time.sleep(0.001)

    thread = threading.Thread(target=flood)
    thread.start()
    start = time.monotonic()
    with pytest.raises(
        cm.PeerError, match='shop sent nothing new for 0.5 seconds, and this side waits for the message "half"'
    ):
        peer.link.receive(HALF)
    assert 0.4 < time.monotonic() - start < 3
    over.set()
    thread.join()


def test_a_silent_peer_is_named() -> None:
    for peer in (Peer(deadline=0.2), Peer(deadline=0.2).hello()):
        with pytest.raises(
            cm.PeerError, match='shop sent nothing new for 0.2 seconds, .* message "half"; check shop, or use'
        ):
            peer.link.receive(HALF)
        with pytest.raises(cm.PeerError, match="shop sent nothing new"):
            peer.link.send("half", b"x")
    link = Link("shop", Network().accept, deadline=0.2)
    with pytest.raises(cm.PeerError, match="waits for its hello; .* The connection failed: there is no connection"):
        link.open()


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ([b"GET / HTTP/1.1\r\n" * 4], "a frame of shop begins with b'GET '"),
        ([Frame(FrameType.ACKNOWLEDGEMENT, 0, 0)], "shop began with a frame of type ACKNOWLEDGEMENT; use HELLO"),
        ([_frames.goodbye(0, 0, "another configuration")], "shop ended the exchange: another configuration"),
        ([_frames.hello(0, 1, b"")], "shop expects message 1; use 0 to 0"),
        (
            [_frames.hello(0, 0, b""), _frames.hello(0, 0, b"")],
            "shop sent a frame of type HELLO, and this side waits for",
        ),
        (
            [_frames.hello(0, 0, b""), Frame(FrameType.ACKNOWLEDGEMENT, 0, 9)],
            "shop acknowledges 9 messages, of which 0",
        ),
        ([_frames.hello(0, 0, b""), _frames.goodbye(0, 0, "no room")], "shop ended the exchange: no room"),
        (
            [_frames.hello(0, 0, b""), _frames.goodbye(0, 0, "")],
            'shop finished, and this side waits for the message "half"',
        ),
    ],
)
def test_a_fault_ends_the_link_and_the_peer_learns_it(sent: list[Frame | bytes], error: str) -> None:
    peer = Peer(deadline=5).write(*sent)
    with pytest.raises((cm.PeerError, cm.WireError), match=error) as raised:
        peer.link.receive(HALF)
    last = peer.last()
    assert last.type is FrameType.GOODBYE
    assert last.text == str(raised.value)
    for call in (lambda: peer.link.receive(HALF), peer.link.open, peer.link.flush, lambda: peer.link.send("half", b"")):
        with pytest.raises((cm.PeerError, cm.WireError), match=error):
            call()


def test_a_goodbye_has_a_reason() -> None:
    peer = Peer().hello()
    with pytest.raises(ZeroDivisionError), peer.link as link:
        link.open()
        raise ZeroDivisionError("a secret")
    assert peer.last().text == "the run ended with ZeroDivisionError"
    peer = Peer().hello()
    with peer.link as link:
        link.open()
    assert peer.last() == _frames.goodbye(0, 0, "")
    with pytest.raises(cm.PeerError, match="the link with shop is closed; make a new one"):
        link.receive(HALF)
    link.close()


def test_a_goodbye_overtakes_a_long_message() -> None:
    peer = Peer().hello()
    peer.network.faults = {("right", number): delay for number in range(1, 30)}
    peer.link.send("keys", bytes(20 * CHUNK))
    assert peer.read().type is FrameType.HELLO
    assert peer.read().type is FrameType.PART
    peer.link.close("enough")
    assert peer.last().text == "enough"
    assert peer.network.written["right"] < 10


# Breaks at particular places.


def test_a_hello_acknowledges() -> None:
    """The acknowledgement was lost with the first stream. On the second one the peer has nothing to send but its hello."""
    peer = Peer(deadline=20).hello()
    peer.link.send("half", b"x")
    peer.again().hello(expected=1)
    start = time.monotonic()
    peer.link.flush()
    assert time.monotonic() - start < 5
    peer.link.close()


def test_held_frames_come_again_after_a_break() -> None:
    long = bytes(CHUNK) + b"end"
    peer = Peer(deadline=20).hello().write(part_of(0, long))
    peer.link.send("half", b"x")
    peer.again().hello(expected=0).write(part_of(0, long), _frames.part(0, 1, 0, "half", long, CHUNK))
    # It reads and holds the first part of both streams, and then finds its acknowledgement.
    peer.link.flush()
    assert peer.link.connections == 2
    assert peer.link.receive(Receive("shop", "half", 0, 2 * CHUNK)) == long
    peer.link.close()


@pytest.mark.parametrize("acknowledges", [True, False])
def test_a_peer_that_connects_again_and_again(acknowledges: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only acknowledgements extend the deadline; repetitions of the same messages do not."""
    monkeypatch.setattr(_link, "LONGEST_PAUSE", 0.02)
    peer, over = Peer(deadline=0.5), threading.Event()

    def connect() -> None:
        peer.hello()
        for number in range(1, 11):
            if over.wait(0.3):
                return
            peer.again().hello(expected=min(number, 4) if acknowledges else 0)

    thread = threading.Thread(target=connect)
    thread.start()
    start = time.monotonic()
    for _ in range(4):
        peer.link.send("half", b"x")
    if acknowledges:
        peer.link.flush()
        assert time.monotonic() - start > 0.9
    else:
        with pytest.raises(cm.PeerError, match="shop sent nothing new for 0.5 seconds, .* its last acknowledgement"):
            peer.link.flush()
    assert time.monotonic() - start < 2.5
    over.set()
    thread.join()
    peer.link.close()


# Epochs.


def test_a_new_epoch_begins_with_number_0() -> None:
    peer = Peer(deadline=5, epoch=1).hello(epoch=1).write(part_of(0, b"one", epoch=1))
    link = peer.link
    assert link.receive(HALF) == b"one"
    link.send("half", b"lost with its epoch")
    peer.write(part_of(7, b"old", epoch=0), part_of(0, b"two", epoch=2))
    for _ in range(2):
        with pytest.raises(NewEpoch) as raised:
            link.receive(HALF)
        assert raised.value.epoch == 2
    with pytest.raises(cm.ParameterError, match="the new epoch is 1; use 2 to 4294967295"):
        link.reset(1)
    link.reset(2)
    assert (link.epoch, link.expected) == (2, 0)
    peer.write(part_of(1, b"old", epoch=1))
    assert link.receive(HALF) == b"two"
    link.send("half", b"new")
    frame = peer.read()
    while frame.epoch != 2 or frame.type is not FrameType.PART:
        frame = peer.read()
    assert (frame.number, bytes(frame.chunk)) == (0, b"new")
    link.close()


def test_the_hello_of_another_epoch() -> None:
    with pytest.raises(NewEpoch):
        Peer().hello(epoch=1).link.open()
    with pytest.raises(cm.PeerError, match="The connection failed: .*"):
        Peer(epoch=1, deadline=0.2).hello(epoch=0).link.open()


def test_both_sides_move_to_a_new_epoch() -> None:
    """The left side begins epochs and connects again, as after a restart. The right side follows."""

    def part(link: Link, side: str) -> list[bytes]:
        other = {"left": "right", "right": "left"}[side]
        while True:
            try:
                found = []
                for number in range(3):
                    link.send("half", f"{side} {link.epoch} {number}".encode())
                    found.append(link.receive(Receive(other, "half", 1, 100)))
                if link.epoch == 2:
                    return found
                if side == "right":
                    link.receive(Receive(other, "half", 1, 100))
                link.reset(link.epoch + 1)
                link.drop()
            except NewEpoch as new:
                assert side == "right"
                link.reset(new.epoch)

    assert converse(Network(), part) == {
        side: [f"{other} 2 {number}".encode() for number in range(3)]
        for side, other in (("left", "right"), ("right", "left"))
    }


# Bounds, slow peers, arguments.


def one_way(count: int, size: int) -> Callable[[Link, str], list[bytes]]:
    def part(link: Link, side: str) -> list[bytes]:
        if side == "right":
            return [link.receive(Receive("left", "half", size, size)) for _ in range(count)]
        most = 0
        for _ in range(count):
            link.send("half", bytes(size))
            most = max(most, link._outbox.nbytes)
        return [str(most).encode()]

    return part


def test_unacknowledged_bytes_are_bounded() -> None:
    outcomes = converse(Network(), one_way(20, 3000), budget=10_000)
    assert outcomes["right"] == [bytes(3000)] * 20
    assert outcomes["left"] == [b"9000"]
    outcomes = converse(Network(), one_way(200, 0))
    assert outcomes["right"] == [b""] * 200


def test_two_budgets_do_not_lock_each_other() -> None:
    def flood(count: int) -> Callable[[Link, str], list[bytes]]:
        def part(link: Link, side: str) -> list[bytes]:
            for _ in range(count):
                link.send("half", bytes(10))
            return []

        return part

    # Both sides wait for acknowledgements, and neither receives: a fault of the protocol that both programs follow.
    for outcome in converse(Network(), flood(15), budget=50, deadline=0.3, finish=False).values():
        assert isinstance(outcome, cm.PeerError)
    outcomes = converse(Network(), flood(40), budget=100, finish=False)
    error = next(outcome for outcome in outcomes.values() if isinstance(outcome, cm.MemoryLimitError))
    assert "the limit is 100" in str(error)
    assert "sent 8 frames that the program did not ask for yet" in str(error)
    with pytest.raises(
        cm.MemoryLimitError, match='"half" has 101 bytes, the limit is 100; use fewer blocks, or fewer rows'
    ):
        Peer(budget=100).link.send("half", bytes(101))


def test_a_slow_transfer_is_not_a_silent_peer() -> None:
    def slow(pipe: Any, frame: bytes) -> None:
        time.sleep(0.15)
        pipe.put(frame)

    def part(link: Link, side: str) -> list[bytes]:
        if side == "left":
            link.send("keys", bytes(8 * CHUNK))
            return [link.receive(Receive("right", "half", 2, 2))]
        found = link.receive(Receive("left", "keys", 8 * CHUNK, 8 * CHUNK))
        link.send("half", b"ok")
        return [found]

    faults = dict.fromkeys([("left", number) for number in range(1, 9)], slow)
    start = time.monotonic()
    assert converse(Network(faults), part, deadline=0.6) == {"left": [b"ok"], "right": [bytes(8 * CHUNK)]}
    assert time.monotonic() - start > 1.2


def test_large_messages_at_the_same_time() -> None:
    def part(link: Link, side: str) -> list[bytes]:
        other = {"left": "right", "right": "left"}[side]
        link.send("keys", side.encode() * (4 * CHUNK))
        return [link.receive(Receive(other, "keys", 1, 30 * CHUNK))]

    assert converse(Network(), part) == {"left": [b"right" * (4 * CHUNK)], "right": [b"left" * (4 * CHUNK)]}


def test_a_reconnection_loop_pauses() -> None:
    attempts = []

    def connect(seconds: float) -> MemoryStream:
        attempts.append(time.monotonic())
        raise Lost("no process listens")

    link = Link("shop", connect, deadline=1.0)
    with pytest.raises(cm.PeerError, match="The connection failed: no process listens"):
        link.open()
    pauses = [second - first for first, second in itertools.pairwise(attempts)]
    assert 4 < len(attempts) < 12
    assert pauses[0] < 0.1
    assert sum(pauses) <= 1.2


@pytest.mark.parametrize("deadline", [0, -1, float("nan"), float("inf"), 1e9, "5", None])
def test_deadlines_have_limits(deadline: Any) -> None:
    with pytest.raises(cm.ParameterError, match="the deadline is"):
        Link("shop", Network().accept, deadline=deadline)


def test_arguments_are_checked() -> None:
    with pytest.raises(cm.ParameterError, match="the budget is 0; use 1 to"):
        Link("shop", Network().accept, budget=0)
    with pytest.raises(cm.ParameterError, match="the epoch is -1; use 0 to 4294967295"):
        Link("shop", Network().accept, epoch=-1)
    peer = Peer().hello()
    with pytest.raises(cm.ParameterError, match="the kind of a message is 'a\\\\nb'"):
        peer.link.send("a\nb", b"")
    wrong: list[Any] = ["text", bytearray(3), None]
    for payload in wrong:
        with pytest.raises(cm.DtypeError, match="the payload is of type .*; use bytes"):
            peer.link.send("half", payload)
    # The link is still usable.
    peer.link.send("half", b"x")
    peer.link.close()


def test_a_forked_process_does_not_use_the_link() -> None:
    peer = Peer().hello()
    peer.link.open()
    child = os.fork()
    if not child:
        try:
            peer.link.send("half", b"x")
        except cm.ForkError as error:
            os._exit(0 if "spawn" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    peer.link.close()


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("ciphermill"):
            thread.join(3)
            assert not thread.is_alive(), thread.name
