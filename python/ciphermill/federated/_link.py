"""A reliable, ordered channel of messages to one peer, over streams that may break.

    program ── send ───► Outbox ── frames ──► stream ──► peer
            ◄─ receive ─ Inbox  ◄─ frames ─── stream ◄── peer

Each side numbers its messages of an epoch 0, 1, 2, … and keeps a message until the peer acknowledges it. If the stream breaks,
the link connects again, both sides exchange hellos, and each side repeats the messages that the other side lacks. A peer that
breaks the protocol ends the link with an error that names the fault and the limit.

`Link` joins an outbox and an inbox to streams: the calling thread reads, and one thread per stream writes, so that two parties
can send large messages to each other at the same time.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Protocol, Self

from ciphermill._checks import instance, integer, real
from ciphermill._hetero.messages import Receive
from ciphermill.errors import CiphermillError, ForkError, MemoryLimitError, ParameterError, PeerError, WireError
from ciphermill.federated._boxes import Inbox, Outbox
from ciphermill.federated._frames import MAX_NUMBER, Frame, FrameType, check_kind, decode, encode, goodbye, hello

#: The most bytes of messages that wait for an acknowledgement, by default.
BUDGET = 1 << 30

#: The most frames that the link reads before the program asks for their messages.
MAX_EARLY = 8

#: Seconds between attempts to connect: the first pause, which doubles, and the longest one.
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 2.0

#: Seconds in which a goodbye may leave.
PARTING = 1.0

#: Seconds in which a side that finished waits for the goodbye of the peer, by default.
LINGER = 5.0

#: Seconds of a wait between looks at other links: for a frame, and for a connection or a hello.
TURN, ATTEMPT = 0.25, 2.0

#: The longest deadline: a week.
MAX_DEADLINE = 7 * 86400.0


class Lost(Exception):
    """The stream broke. A new one may carry on."""


class NewEpoch(Exception):
    """The peer is in a newer epoch. The session then ends its program and calls `Link.reset`."""

    def __init__(self, epoch: int) -> None:
        super().__init__(f"the peer is in epoch {epoch}")
        self.epoch = epoch


class Stream(Protocol):
    """An ordered pipe of frames to the peer and back, which may break at any time."""

    def write(self, frame: bytes) -> None:
        """Queue a frame; waits while the queue is full. Raises `Lost` after a break."""

    def read(self, seconds: float) -> bytes:
        """The next frame. Raises `TimeoutError` if there is none in time.

        After a break the frames that came before it are read first. Then `Lost` is raised, or `PeerError` if a new stream cannot
        help.
        """

    @property
    def ended(self) -> bool:
        """Whether the stream broke or was closed. Frames that came before may be left; the peer repeats their messages."""

    def close(self) -> None:
        """Close the stream, also a broken or closed one. Written frames still leave, for at most a second."""


#: One attempt to get a stream within some seconds. Raises `Lost` if a later attempt may succeed, `PeerError` if not.
Connect = Callable[[float], Stream]

#: Exchanges hellos over a new stream within some seconds. Returns the number of the next message that the peer expects.
Handshake = Callable[["Link", Stream, float], int]


def _ends(frame: Frame | None) -> bool:
    return frame is not None and frame.type is FrameType.GOODBYE


class _Wait:
    """The deadline of a wait. It starts again with each frame that brings the exchange forward."""

    def __init__(self, peer: str, what: str, seconds: float, outbox: Outbox) -> None:
        self._peer, self._what, self._seconds, self._outbox = peer, what, seconds, outbox
        self.progress()

    def progress(self) -> None:
        """Start again: the peer sent a new part, or has a message of this side."""
        self._start = time.monotonic()
        self._pause = FIRST_PAUSE
        self._cause = ""

    def left(self) -> float:
        """Seconds to the deadline. Raises `PeerError` after it."""
        left = max(self._start, self._outbox.advanced) + self._seconds - time.monotonic()
        if left <= 0:
            cause = f" The connection failed: {self._cause}." if self._cause else ""
            raise PeerError(
                f"{self._peer} sent nothing new for {self._seconds:g} seconds, and this side waits for {self._what}; check "
                f"{self._peer}, or use a longer deadline.{cause}"
            )
        return left

    def pause(self, cause: Exception, most: float) -> None:
        """Wait before the next attempt to connect, for at most some seconds. Raises `PeerError` after the deadline."""
        self._cause = str(cause) or self._cause
        time.sleep(min(self._pause, most, self.left()))
        self._pause = min(2 * self._pause, LONGEST_PAUSE)


class Link:
    """Messages to and from one peer.

    One thread uses a link. Ctrl-C ends each wait. A link and its streams do not survive a fork of the process.

    Parameters
    ----------
    peer : str
        The name of the peer, for errors.
    connect : callable
        One attempt to get a stream to the peer: `Dialer.dial`, or `Listener.accept` for one peer.
    handshake : callable, optional
        Exchanges hellos over a new stream. By default `greet`.
    deadline : float, default 300
        Seconds without any new frame of the peer after which a wait ends, up to a week. A frame of this side that leaves counts
        also, so that a slow transfer of a large message is not an error.
    budget : int, default 2^30
        The most bytes of sent messages that wait for an acknowledgement.
    epoch : int, default 0
        The epoch, 0 to 2^32 - 1.

    Raises
    ------
    ParameterError
        If `deadline`, `budget` or `epoch` is out of range.
    """

    def __init__(
        self,
        peer: str,
        connect: Connect,
        handshake: Handshake | None = None,
        *,
        deadline: float = 300.0,
        budget: int = BUDGET,
        epoch: int = 0,
    ) -> None:
        self.peer = peer
        self.deadline = check_deadline(deadline)
        #: The number of streams so far.
        self.connections = 0
        self._connect = connect
        self._handshake = handshake or greet
        self._budget = integer(budget, "the budget", 1, 1 << 62)
        self._outbox = Outbox(integer(epoch, "the epoch", 0, MAX_NUMBER), self._budget)
        self._inbox = Inbox(peer)
        #: Frames that came before the program asked for their messages.
        self._early: deque[Frame] = deque()
        #: Guards the outbox and `_stream`, which the writing thread uses also.
        self._changed = threading.Condition()
        self._stream: Stream | None = None
        self._writer: threading.Thread | None = None
        self._failure: CiphermillError | None = None
        self._process = os.getpid()
        #: Seconds of an attempt to connect, if the link looks after others: few for a listening side, where peers may be absent.
        self.patience = ATTEMPT
        #: Seconds for a hello, if the link looks after others.
        self.courtesy = ATTEMPT
        #: Whether there was a stream in this epoch.
        self._opened = False
        #: Called now and then while the link waits: a session with several links looks after the others.
        self.attend: Callable[[], None] | None = None

    @property
    def epoch(self) -> int:
        """The epoch."""
        return self._outbox.epoch

    @property
    def expected(self) -> int:
        """The number of the next message of the peer. The hello carries it."""
        return self._inbox.expected

    def open(self) -> None:
        """Connect to the peer and exchange hellos, if that did not happen yet.

        Raises `PeerError` if the peer cannot be reached before the deadline, and also the errors of the handshake.
        """
        with self._usable():
            self._connected(self._wait("its hello"))

    def send(self, kind: str, payload: bytes) -> None:
        """Send a message. Returns when the message is queued; a thread of the link sends it.

        If too many messages or bytes wait for an acknowledgement of the peer, the call waits for it.

        Raises
        ------
        ParameterError
            If the kind is not 1 to 32 printable characters of ASCII, or the payload is not `bytes`.
        MemoryLimitError
            If the message is above the budget, or if both sides send more than their budgets before either receives.
        PeerError
            If the peer broke the protocol, ended the exchange, or did nothing until the deadline.
        """
        check_kind(kind)
        size = len(instance(payload, bytes, "the payload"))
        if size > self._budget:
            raise MemoryLimitError(
                f'the message "{kind}" has {size} bytes, the limit is {self._budget}; use fewer blocks, or fewer rows'
            )
        with self._usable():
            wait = self._wait(f'room for the message "{kind}"')
            while not self._outbox.room(size):
                self._hold(wait)
            self._connected(wait)
            with self._changed:
                self._outbox.put(kind, payload)
                self._changed.notify()

    def receive(self, request: Receive) -> bytes:
        """The payload of the next message, which must have the kind and the length of the request.

        Raises
        ------
        PeerError
            If the peer sent another message, broke the protocol in another way, ended the exchange, or sent nothing new until the
            deadline.
        WireError
            If the message has another length, or a frame is damaged.
        """
        with self._usable():
            wait = self._wait(f'the message "{request.kind}"')
            while True:
                frame = self._next(wait)
                if frame is None:
                    continue
                if frame.type is FrameType.PART:
                    payload = self._take(frame, request, wait)
                    if payload is not None:
                        return payload
                elif frame.type is not FrameType.ACKNOWLEDGEMENT:
                    raise self._unexpected(frame, f'the message "{request.kind}"')

    def check(self) -> None:
        """Make one attempt to connect again if a stream of this epoch has ended. Raises the errors of the handshake."""
        if not self._opened or (self._stream is not None and not self._stream.ended):
            return
        with self._usable():
            self.drop()
            with suppress(Lost, TimeoutError):
                self._open(self._wait("its hello", 2 * ATTEMPT))

    def flush(self, seconds: float | None = None) -> None:
        """Wait until the peer has all sent messages. Raises `PeerError` if it ends before, or at the deadline.

        `seconds` is a deadline for this call alone.
        """
        with self._usable():
            wait = self._wait("its last acknowledgement", seconds)
            while len(self._outbox):
                self._hold(wait)

    def finish(self, linger: float = LINGER) -> None:
        """End the exchange in order: wait until the peer has all sent messages and finishes also, then close the link.

        If the connection breaks at the end, the link connects again, so that the peer can learn that this side has all of its
        messages. After `linger` seconds without the goodbye of the peer the call returns: nothing is missing on this side.

        Raises `PeerError` as `flush`.
        """
        self.flush()
        with self._usable():
            with self._changed:
                self._outbox.end("")
                self._changed.notify()
            wait = self._wait("its goodbye", min(linger, self.deadline))
            with suppress(PeerError, WireError):
                while not _ends(self._next(wait)):
                    pass
        self.close()

    def close(self, reason: str = "") -> None:
        """Say goodbye and close the stream, in at most a few seconds. An empty reason is the regular end.

        The peer prints the reason: it must not contain secret data. Further calls of the link raise `PeerError`.
        """
        with self._changed:
            self._outbox.end(reason)
            self._changed.notify()
        if self._writer is not None:
            self._writer.join(PARTING)
        self.drop()
        self._failure = self._failure or PeerError(f"the link with {self.peer} is closed; make a new one")

    def drop(self) -> None:
        """Close the stream without a goodbye. The next call connects again, and both sides exchange hellos."""
        with self._changed:
            stream, self._stream = self._stream, None
            self._changed.notify()
        if stream is not None:
            stream.close()
        if self._writer is not None:
            self._writer.join(PARTING)
            self._writer = None

    def reset(self, epoch: int) -> None:
        """Begin an epoch: drop all messages and start again with number 0.

        Raises `ParameterError` for an epoch that is not newer.
        """
        integer(epoch, "the new epoch", self.epoch + 1, MAX_NUMBER)
        with self._changed:
            self._outbox = Outbox(epoch, self._budget)
        self._inbox = Inbox(self.peer)
        self._opened = False
        self._early = deque(frame for frame in self._early if frame.epoch >= epoch)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close("" if kind is None else f"the run ended with {kind.__name__}")

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Ends the link after a `PeerError` or `WireError`, and reports the reason to the peer."""
        if os.getpid() != self._process:
            raise ForkError("the process was forked after its link was made; use multiprocessing's spawn or forkserver")
        if self._failure is not None:
            raise type(self._failure)(*self._failure.args)
        try:
            yield
        except (PeerError, WireError) as error:
            self._failure = error
            self.close(str(error))
            raise

    def _wait(self, what: str, seconds: float | None = None) -> _Wait:
        return _Wait(self.peer, what, self.deadline if seconds is None else seconds, self._outbox)

    def _turn(self, wait: _Wait, most: float) -> float:
        """Seconds of a wait before the next attention to other links."""
        return wait.left() if self.attend is None else min(most, wait.left())

    def _attention(self) -> None:
        if self.attend is not None:
            self.attend()

    def _connected(self, wait: _Wait) -> Stream:
        """The stream. Connects if there is none."""
        while self._stream is None:
            self._attention()
            try:
                self._open(wait)
            except (Lost, TimeoutError) as error:
                wait.pause(error, LONGEST_PAUSE if self.attend is None else TURN)
        return self._stream

    def _open(self, wait: _Wait) -> None:
        stream = self._connect(self._turn(wait, self.patience))
        try:
            expected = self._handshake(self, stream, self._turn(wait, self.courtesy))
            with self._changed:
                if self._outbox.rewind(expected, self.peer):
                    wait.progress()
                self._stream = stream
        except BaseException as error:
            self._refuse(stream, error)
            raise
        self._inbox.restart()
        self._early.clear()
        self.connections += 1
        self._opened = True
        self._writer = threading.Thread(
            target=self._write, args=(stream,), name=f"ciphermill link {self.peer}", daemon=True
        )
        self._writer.start()

    def _refuse(self, stream: Stream, error: BaseException) -> None:
        """Close a stream whose handshake failed. The peer gets the reason if it is permanent."""
        if isinstance(error, PeerError | WireError):
            with suppress(Lost, PeerError):
                stream.write(encode(goodbye(self.epoch, self.expected, str(error))))
        stream.close()

    def _write(self, stream: Stream) -> None:
        """The writing thread of a stream. It ends with the stream, and after a goodbye."""
        parted = False
        try:
            while not parted and (frame := self._due(stream)) is not None:
                stream.write(encode(frame))
                parted = frame.type is FrameType.GOODBYE
        except (Lost, PeerError):
            pass
        finally:
            if not parted:
                stream.close()

    def _due(self, stream: Stream) -> Frame | None:
        """Wait for the next frame to send over a stream. None if the stream is not in use any more."""
        with self._changed:
            while self._stream is stream:
                now = time.monotonic()
                frame = self._outbox.take(now)
                if frame is not None:
                    return frame
                self._changed.wait(self._outbox.idle(now))
        return None

    def _next(self, wait: _Wait) -> Frame | None:
        """The next frame of the epoch: a held one, or as `_read`."""
        while self._early:
            frame = self._early.popleft()
            if self._current(frame):
                return frame
        return self._read(wait)

    def _read(self, wait: _Wait) -> Frame | None:
        """The next frame of the epoch from the stream.

        None if the stream broke, or if there is a new one: its hello may have brought the awaited acknowledgement.
        """
        if self._stream is None:
            self._connected(wait)
            return None
        try:
            frame = decode(self._stream.read(self._turn(wait, TURN)), self.peer)
        except Lost as error:
            self.drop()
            wait.pause(error, LONGEST_PAUSE if self.attend is None else TURN)
            return None
        except TimeoutError:
            self._attention()
            return None
        if not self._current(frame):
            return None
        with self._changed:
            if self._outbox.acknowledge(frame.expected, self.peer):
                wait.progress()
        return frame

    def _current(self, frame: Frame) -> bool:
        """Whether a frame is of this epoch. Raises `NewEpoch` for one of a newer epoch, and holds it."""
        if frame.epoch > self.epoch:
            self._early.appendleft(frame)
            raise NewEpoch(frame.epoch)
        return frame.epoch == self.epoch

    def _hold(self, wait: _Wait) -> None:
        """Read a frame for its acknowledgement, and hold it if it carries more."""
        frame = self._read(wait)
        if frame is None or frame.type is FrameType.ACKNOWLEDGEMENT:
            return
        if frame.type is FrameType.GOODBYE and len(self._outbox):
            raise self._unexpected(frame, "acknowledgements")
        if len(self._early) >= MAX_EARLY:
            raise MemoryLimitError(
                f"this side waits for acknowledgements of {self._outbox.nbytes} bytes, the limit is {self._budget}, and "
                f"{self.peer} sent {MAX_EARLY} frames that the program did not ask for yet; use fewer blocks, or fewer rows"
            )
        self._early.append(frame)

    def _take(self, frame: Frame, request: Receive, wait: _Wait) -> bytes | None:
        before = self._inbox.position
        payload = self._inbox.take(frame, request)
        if self._inbox.position > before:
            wait.progress()
        if payload is not None:
            with self._changed:
                self._outbox.received(self._inbox.expected, time.monotonic())
                self._changed.notify()
        return payload

    def _unexpected(self, frame: Frame, what: str) -> PeerError:
        if frame.type is not FrameType.GOODBYE:
            return PeerError(f"{self.peer} sent a frame of type {frame.type.name}, and this side waits for {what}")
        if frame.text:
            return PeerError(f"{self.peer} ended the exchange: {frame.text}")
        return PeerError(f"{self.peer} finished, and this side waits for {what}")


def check_deadline(seconds: float) -> float:
    """Raises `ParameterError` for another number of seconds than above 0 and at most a week."""
    value = real(seconds, "the deadline")
    if not 0 < value <= MAX_DEADLINE:
        raise ParameterError(f"the deadline is {value:g} seconds; use a number above 0 and at most {MAX_DEADLINE:g}")
    return value


def send_hello(link: Link, stream: Stream, body: bytes = b"") -> None:
    """Send the hello of a link over a new stream."""
    stream.write(encode(hello(link.epoch, link.expected, body)))


def read_hello(link: Link, stream: Stream, seconds: float) -> Frame:
    """The hello of the peer. Raises `PeerError` for another frame."""
    frame = decode(stream.read(seconds), link.peer)
    if frame.type is FrameType.GOODBYE:
        raise PeerError(f"{link.peer} ended the exchange: {frame.text or 'it finished'}")
    if frame.type is not FrameType.HELLO:
        raise PeerError(f"{link.peer} began with a frame of type {frame.type.name}; use HELLO")
    return frame


def greet(link: Link, stream: Stream, seconds: float) -> int:
    """The handshake of a link without a session: hellos without a body.

    Raises `NewEpoch` if the peer is in a newer epoch, and `Lost` if the peer is in an older one: the peer then follows.
    """
    send_hello(link, stream)
    frame = read_hello(link, stream, seconds)
    if frame.epoch > link.epoch:
        raise NewEpoch(frame.epoch)
    if frame.epoch < link.epoch:
        raise Lost(f"{link.peer} is in the older epoch {frame.epoch}")
    return frame.expected
