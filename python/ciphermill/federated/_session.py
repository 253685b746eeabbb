"""Sessions: parties agree on a task, run their parts over links, and resume after cuts and restarts.

A connection begins with a hello of both sides: name, role, task, configuration, and the states from which the sender can
resume. If both sides run the same epoch, it goes on. Otherwise the guest begins an epoch: it collects the hellos of all peers,
chooses the last iteration that every party has, and connects again with that decision. New epochs have new keys.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, TypeVar

from ciphermill._hetero.messages import Observer, Program, Send
from ciphermill.errors import PeerError
from ciphermill.federated._frames import Frame
from ciphermill.federated._link import Link, Lost, NewEpoch, Stream, read_hello, send_hello
from ciphermill.federated._text import shortened

T = TypeVar("T")

#: The version of the hello.
PROTOCOL = 1

GUEST, HOST, ARBITER = "guest", "host", "arbiter"

#: The most hellos of the guest over a stream. The last one has its decision.
HELLOS = 2

#: Seconds in which the last acknowledgements may come at the end of a task.
PARTING = 10.0

#: The iteration before the first one.
START = -1

#: The most first products of a training. A crash before the first state needs a second one. Its answer shows a peer that lies
#: about a crash further sums of the labels.
FIRST_PRODUCTS = 2


class Finished(Exception):
    """The peer went on to another task."""


class Introduced(Exception):
    """The guest has the hello of a peer. It decides when it has the hellos of all peers."""


@dataclass(frozen=True)
class Decision:
    """The guest's decision on an epoch."""

    session: str
    epoch: int
    #: Restarts so far.
    restart: int
    iteration: int
    #: The facts of each party in the task.
    facts: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Hello:
    """The first message of a side over a connection."""

    name: str
    role: str
    task: str
    session: str
    epoch: int
    expected: int
    live: bool
    restart: int
    iterations: tuple[int, ...]
    #: The facts that must be equal at all parties, and the facts of the sender.
    shared: dict[str, Any]
    own: dict[str, Any]
    decision: Decision | None


@dataclass
class Task:
    """A task as one party sees it."""

    name: str
    #: The facts that must be equal at all parties: texts, numbers, booleans, `None`, lists.
    shared: dict[str, Any]
    #: The facts of this party that the others learn.
    own: dict[str, Any]
    #: The greatest number of restarts.
    restarts: int = 8
    #: From the disk: the session, its restarts so far, and the iterations from which this party can resume.
    session: str = ""
    restart: int = 0
    iterations: Callable[[], tuple[int, ...]] = field(default=tuple)
    #: At the guest, the first products so far whose answers it has released.
    first_products: Callable[[], int] = field(default=int)


class Session:
    """One party's links, with the role of each peer. One task at a time runs over them."""

    def __init__(self, name: str, role: str, roles: Mapping[str, str]) -> None:
        self.name = name
        self.role = role
        self._roles = {name: role, **roles}
        self._links: dict[str, Link] = {}
        self._task: Task | None = None
        self._live = False
        self._finished = False
        self._decision: Decision | None = None
        #: Whether this party has followed a decision in its task.
        self._followed = False
        self._hellos: dict[str, Hello] = {}
        #: Sees each message before this party sends it, and after it receives one.
        self.observe: Observer | None = None

    def add(self, link: Link) -> None:
        """A link, whose handshake is `handshake`."""
        self._links[link.peer] = link
        if len(self._links) > 1:
            for each in self._links.values():
                each.attend = partial(self._attend, each)

    @property
    def roles(self) -> Mapping[str, str]:
        """The roles of all parties."""
        return self._roles

    @property
    def names(self) -> list[str]:
        """All parties."""
        return [*self._roles]

    @property
    def guest(self) -> str:
        """The name of the guest."""
        return next(name for name, role in self._roles.items() if role == GUEST)

    @property
    def hosts(self) -> list[str]:
        """The names of the hosts that this party knows."""
        return [name for name, role in self._roles.items() if role == HOST]

    @property
    def arbiter(self) -> str | None:
        """The name of the arbiter, or `None`."""
        return next((name for name, role in self._roles.items() if role == ARBITER), None)

    def role_of(self, name: str) -> str | None:
        """The role of a party, or `None` for a stranger."""
        return self._roles.get(name)

    def run(self, task: Task, program: Callable[[Decision], Program[T]]) -> T:
        """Run a task to its end. `program` makes this party's part for an epoch.

        Raises `PeerError` if a peer has another task or configuration, breaks the protocol, vanishes until the deadline, or if
        there are too many restarts; and the errors of the part.
        """
        self._task = task
        self._decision = None
        self._followed = False
        try:
            while True:
                self._agree()
                assert self._decision is not None
                part = program(self._decision)
                try:
                    return self._drive(part)
                except NewEpoch:
                    continue
                finally:
                    self._live = self._finished = False
                    part.close()
        except BaseException as error:
            self.close(str(error) if isinstance(error, PeerError) else f"the run ended with {type(error).__name__}")
            raise
        finally:
            self._task = None

    def close(self, reason: str = "") -> None:
        """Close all links. The peers print the reason."""
        for link in self._links.values():
            link.close(reason)

    def _drive(self, part: Program[T]) -> T:
        answer: bytes | None = None
        self._live = True
        while True:
            try:
                request = part.send(answer)
            except StopIteration as end:
                self._flush()
                result: T = end.value
                return result
            if isinstance(request, Send):
                self._seen(self.name, request.receiver, request.kind, request.payload)
                self._links[request.receiver].send(request.kind, request.payload)
                answer = None
            else:
                answer = self._links[request.sender].receive(request)
                self._seen(request.sender, self.name, request.kind, answer)

    def _flush(self) -> None:
        """Wait until the peers have all messages."""
        self._finished = True
        for link in self._links.values():
            try:
                link.flush(PARTING)
            except Finished:
                link.drop()
            except PeerError:
                # The peer went away after its last message. This side has its result.
                continue

    def _attend(self, waiting: Link) -> None:
        """Look after the other links while one of them waits. A peer that came back begins a new epoch."""
        if self._live and not self._finished:
            for link in self._links.values():
                if link is not waiting:
                    link.check()

    def _seen(self, sender: str, receiver: str, kind: str, payload: bytes) -> None:
        if self.observe is not None:
            self.observe(sender, receiver, kind, payload)

    # The agreement on an epoch.

    def _agree(self) -> None:
        self._decision = None
        opened = self._links.values() if self.role == GUEST else [self._links[self.guest]]
        if self.role == GUEST and len(self._links) > 1:
            self._introduce()
            self._decide()
        for link in opened:
            link.drop()
            link.open()
        assert self._decision is not None
        for link in self._links.values():
            if link.epoch < self._decision.epoch:
                link.drop()
                link.reset(self._decision.epoch)

    def _introduce(self) -> None:
        """Collect the hellos of all peers."""
        for link in self._links.values():
            link.drop()
            try:
                link.open()
            except Introduced:
                continue

    def _decide(self) -> None:
        task = self._running()
        hellos = list(self._hellos.values())
        session = task.session or secrets.token_hex(16)
        for other in hellos:
            # A party without an iteration loses nothing.
            if other.session not in ("", session) and other.iterations:
                raise PeerError(
                    f"{other.name} has the state of another training, which this side does not have; delete it at {other.name} "
                    "to start from the beginning"
                )
        common = _startable(task.iterations())
        for other in hellos:
            if other.role != ARBITER:
                common &= _startable(other.iterations)
        if not common:
            raise PeerError(
                "the parties have no state in common; delete the states of all parties to start from the beginning"
            )
        if common == {START}:
            self._require_a_first_product()
        resumed = task.session or any(other.session for other in hellos)
        restart = max([task.restart, *(other.restart for other in hellos)]) + 1 if resumed else 0
        if restart > task.restarts:
            raise PeerError(f"the training was restarted {restart} times; use at most {task.restarts} restarts")
        epoch = max([link.epoch for link in self._links.values()] + [other.epoch for other in hellos]) + 1
        facts = {self.name: task.own, **{other.name: other.own for other in hellos}}
        self._decision = Decision(session, epoch, restart, max(common), facts)
        task.session, task.restart = session, restart
        for link in self._links.values():
            link.reset(epoch)

    def _require_a_first_product(self) -> None:
        """Raises `PeerError` if the answers of all permitted first products are released."""
        released = self._running().first_products()
        if released >= FIRST_PRODUCTS:
            without = [other.name for other in self._hellos.values() if other.role == HOST and not other.iterations]
            raise PeerError(
                f"the training began {released} times, and no state is at {', '.join(without) or self.name}; use at most "
                f"{FIRST_PRODUCTS} beginnings, because the answer at the start can show a host further sums of the labels"
            )

    # Handshakes.

    def handshake(self, link: Link, stream: Stream, seconds: float) -> int:
        """Exchange hellos over a new stream. Returns the number of the next message that the peer expects."""
        if self._task is None:
            raise Lost("this side runs no task")
        if self.role == GUEST:
            return self._lead(link, stream, seconds)
        if link.peer == self.guest:
            return self._follow(link, stream, seconds)
        self._write(link, stream)
        other, same = self._read(link, stream, seconds)
        if not same or not other.live:
            raise Lost(f"{link.peer} is not in epoch {link.epoch} yet")
        return other.expected

    def _lead(self, link: Link, stream: Stream, seconds: float) -> int:
        """The guest's side of a handshake."""
        self._write(link, stream)
        other, same = self._read(link, stream, seconds)
        if self._decision is None:
            if len(self._links) > 1:
                raise Introduced
            # With one peer, the decision follows at once.
            self._decide()
            self._write(link, stream)
            other, same = self._read(link, stream, seconds)
        if same and (other.live or not self._live):
            return other.expected
        if self._live:
            raise NewEpoch(other.epoch)
        raise Lost(f"{other.name} does not follow yet")

    def _follow(self, link: Link, stream: Stream, seconds: float) -> int:
        """A host's or the arbiter's side of a handshake with the guest."""
        for _ in range(HELLOS):
            other, same = self._read(link, stream, seconds)
            # A guest that repeats its decision lacks the answer of this side only.
            if same and self._live and (other.live or other.decision == self._decision):
                self._write(link, stream)
                return other.expected
            if other.decision is None:
                self._write(link, stream)
                continue
            if self._live:
                raise NewEpoch(other.decision.epoch)
            if self._decision is None or other.decision.epoch > self._decision.epoch:
                self._accept(other.decision)
                if link.epoch < other.decision.epoch:
                    link.reset(other.decision.epoch)
            self._write(link, stream)
            return other.expected
        raise PeerError(f"{link.peer} sent {HELLOS} hellos without a decision; the protocol expects one in the last")

    def _write(self, link: Link, stream: Stream) -> None:
        send_hello(link, stream, self._body())

    def _read(self, link: Link, stream: Stream, seconds: float) -> tuple[Hello, bool]:
        """The hello of the peer, and whether it is in the same epoch of the same session."""
        other = _parse(read_hello(link, stream, seconds), link.peer)
        task = self._running()
        same = self._decision is not None and other.session == task.session and other.epoch == link.epoch
        if not same:
            if self._finished:
                # The peer has another task, so it has all messages of this one.
                raise Finished
            # A guest that restarted leads its peers from their epoch into a new one.
            leads = self.role == GUEST and task.session != "" and other.session == task.session
            if other.live and not leads:
                # If the peer waits for the end of its task, this answer shows it that this side has gone on.
                if self.role != GUEST:
                    self._write(link, stream)
                raise Lost(f"{other.name} is still in epoch {other.epoch}")
        self._compare(other)
        self._hellos[link.peer] = other
        return other, same

    def _accept(self, decision: Decision) -> None:
        task = self._running()
        if task.session not in ("", decision.session) and task.iterations():
            raise PeerError(
                f"this side has the state of another training, which {self.guest} does not have; delete it to start from the "
                "beginning"
            )
        # Only a party that ended and came back may hear of a restart a second time.
        least = task.restart + self._followed
        if not least <= decision.restart <= task.restarts:
            raise PeerError(
                f"{self.guest} announces restart {decision.restart}; use {least} to {task.restarts} restarts"
            )
        if self.role != ARBITER and decision.iteration not in _startable(task.iterations()):
            raise PeerError(f"{self.guest} resumes at iteration {decision.iteration}, of which this side has no state")
        if decision.facts.get(self.name) != task.own:
            raise PeerError(f"{self.guest} has other facts of {self.name}; the protocol expects those of the hello")
        self._decision = decision
        self._followed = True
        task.session, task.restart = decision.session, decision.restart

    def _running(self) -> Task:
        assert self._task is not None
        return self._task

    def _body(self) -> bytes:
        task, decision = self._running(), self._decision
        body = {
            "protocol": PROTOCOL,
            "name": self.name,
            "role": self.role,
            "task": task.name,
            "session": task.session,
            "live": self._live,
            "restart": task.restart,
            "iterations": list(task.iterations()),
            "shared": task.shared,
            "digest": digest(task.shared).hex(),
            "own": task.own,
        }
        if self.role == GUEST and decision is not None and not self._live:
            body["decision"] = asdict(decision)
        return json.dumps(body, sort_keys=True).encode()

    def _compare(self, other: Hello) -> None:
        """Raises `PeerError` if a peer is not the configured one, or has another task or configuration."""
        task, peer = self._running(), other.name
        expected = self._roles.get(peer)
        if other.role != expected:
            raise PeerError(f'{peer} has the role "{other.role}"; this side expects "{expected}"')
        if other.task != task.name:
            raise PeerError(f'{peer} runs the task "{other.task}", this side "{task.name}"; use the same')
        for key in sorted(task.shared.keys() | other.shared.keys()):
            ours, theirs = task.shared.get(key), other.shared.get(key)
            if ours != theirs:
                raise PeerError(f"{key} is {_shown(theirs)} at {peer} and {_shown(ours)} at this side; use the same")


def digest(facts: Mapping[str, Any]) -> bytes:
    """SHA-256 of facts."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).digest()


def _startable(iterations: tuple[int, ...]) -> set[int]:
    """The iterations from which a party can start. Without one after the first, also the start."""
    return set(iterations) | ({START} if max(iterations, default=START) <= 0 else set())


def _shown(value: object) -> str:
    return shortened(repr(value))


def _parse(frame: Frame, peer: str) -> Hello:
    """The hello of a peer. Raises `PeerError` for another one."""
    try:
        body = json.loads(bytes(frame.chunk))
        if body["protocol"] != PROTOCOL:
            raise PeerError(f"{peer} speaks version {_shown(body['protocol'])} of the protocol; use {PROTOCOL}")
        decision = body.get("decision")
        parsed = Hello(
            name=of_type(body["name"], str),
            role=of_type(body["role"], str),
            task=of_type(body["task"], str),
            session=of_type(body["session"], str),
            epoch=frame.epoch,
            expected=frame.expected,
            live=of_type(body["live"], bool),
            restart=of_type(body["restart"], int),
            iterations=tuple(of_type(iteration, int) for iteration in of_type(body["iterations"], list)),
            shared=of_type(body["shared"], dict),
            own=of_type(body["own"], dict),
            decision=None if decision is None else _decision(decision),
        )
        announced = bytes.fromhex(of_type(body["digest"], str))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PeerError(f"the hello of {peer} is malformed: {type(error).__name__}") from error
    if parsed.name != peer:
        raise PeerError(f'{peer} calls itself "{_shown(parsed.name)}"; use the name of its certificate')
    if announced != digest(parsed.shared):
        raise PeerError(f"the hello of {peer} has a digest of other facts")
    if parsed.decision is not None and not 0 < parsed.decision.epoch == parsed.epoch:
        raise PeerError(
            f"the hello of {peer} in epoch {parsed.epoch} begins epoch {_shown(parsed.decision.epoch)}; use one epoch, from 1"
        )
    return parsed


def _decision(body: dict[str, Any]) -> Decision:
    facts = of_type(body["facts"], dict)
    return Decision(
        session=of_type(body["session"], str),
        epoch=of_type(body["epoch"], int),
        restart=of_type(body["restart"], int),
        iteration=of_type(body["iteration"], int),
        facts={of_type(name, str): of_type(own, dict) for name, own in facts.items()},
    )


def of_type(value: Any, kind: type[T]) -> T:
    """A value of JSON. Raises `TypeError` for one of another type; a boolean is not an integer."""
    if type(value) is not kind:
        raise TypeError(f"a value is not of type {kind.__name__}")
    return value
