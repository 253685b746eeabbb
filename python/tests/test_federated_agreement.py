"""The agreement of a host with its guest, hello by hello: guests that lie, and repeated decisions."""

import json
from typing import Any

import pytest
from federated_setting import MemoryStream, Network

from ciphermill._hetero.messages import Program, Size, receive
from ciphermill.errors import PeerError
from ciphermill.federated import _frames
from ciphermill.federated._frames import encode
from ciphermill.federated._link import Link
from ciphermill.federated._session import START, Decision, Session, Task, digest

#: The facts of the parties.
FACTS: dict[str, Any] = {"bank": {}, "shop": {}}


def hello(
    epoch: int = 0, restart: int = 0, session: str = "ab", *, decides: bool = True, begins: int | None = None
) -> bytes:
    """The frame of a guest's hello, with its decision or without. The decision begins the epoch, or another one."""
    body: dict[str, Any] = {
        "protocol": 1,
        "name": "bank",
        "role": "guest",
        "task": "train",
        "session": session,
        "live": False,
        "restart": restart,
        "iterations": [],
        "shared": {},
        "digest": digest({}).hex(),
        "own": {},
    }
    if decides:
        begun = epoch if begins is None else begins
        body["decision"] = {"session": session, "epoch": begun, "restart": restart, "iteration": START, "facts": FACTS}
    return encode(_frames.hello(epoch, 0, json.dumps(body).encode()))


class Host:
    """A host, and the streams of its guest. With the beginning of each epoch, one stream breaks."""

    def __init__(self, *streams: list[bytes]) -> None:
        network = Network()
        self._session = Session("shop", "host", {"bank": "guest"})
        self._session.add(Link("bank", network.accept, self._session.handshake, deadline=2.0))
        self.streams: list[MemoryStream] = []
        for frames in streams:
            self.streams.append(network.connect(0))
            for frame in frames:
                self.streams[-1].write(frame)
        #: The decisions that it followed.
        self.decisions: list[Decision] = []

    def run(self) -> bytes:
        def program(decision: Decision) -> Program[bytes]:
            self.streams[len(self.decisions)].close()
            self.decisions.append(decision)
            return (yield from receive("bank", "half", Size.exactly(1)))

        return self._session.run(Task("train", {}, {}), program)


@pytest.mark.parametrize("count", [2, 50])
def test_a_guest_without_a_decision_is_refused(count: int) -> None:
    """It could keep the host in its handshake for ever."""
    host = Host([hello(decides=False)] * count)
    with pytest.raises(PeerError, match="bank sent 2 hellos without a decision"):
        host.run()
    assert host.decisions == []


@pytest.mark.parametrize(("restart", "session"), [(0, "ab"), (0, "cd"), (9, "ab")])
def test_a_guest_that_counts_no_restart_is_refused(restart: int, session: str) -> None:
    """The host bounds the epochs itself, whatever the guest counts."""
    later = [hello(2, restart, session)]
    host = Host([hello(1)], later, later)
    with pytest.raises(PeerError, match=f"bank announces restart {restart}; use 1 to 8 restarts"):
        host.run()
    assert [decision.epoch for decision in host.decisions] == [1]


@pytest.mark.parametrize(("epoch", "begins"), [(0, 0), (1, 0), (1, -1), (1, 2), (1, 2**32), (2**32 - 1, 10**30)])
def test_a_guest_that_begins_another_epoch_is_refused(epoch: int, begins: int) -> None:
    host = Host([hello(epoch, begins=begins)])
    with pytest.raises(PeerError, match=f"^the hello of bank in epoch {epoch} begins epoch {begins}"):
        host.run()
    assert host.decisions == []


def test_a_guest_may_begin_an_epoch() -> None:
    later = hello(2, 1)
    message = encode(_frames.part(2, 0, 0, "half", b"x", 0))
    host = Host([hello(1)], [later], [later, message])
    assert host.run() == b"x"
    assert [decision.restart for decision in host.decisions] == [0, 1]


def test_a_guest_may_repeat_its_decision() -> None:
    """The host's answer was lost with the first stream. The host goes on in its epoch."""
    message = encode(_frames.part(1, 0, 0, "half", b"x", 0))
    host = Host([hello(1)], [hello(1), message])
    assert host.run() == b"x"
    assert len(host.decisions) == 1
