"""The connections of one party to the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from ciphermill._checks import instance, items
from ciphermill.errors import ParameterError
from ciphermill.federated._grpc import Dialer, Listener
from ciphermill.federated._link import TURN, Connect, Link
from ciphermill.federated._session import ARBITER, GUEST, HOST, Session
from ciphermill.federated._tls import TLS, Identity, parse_address

Role = Literal["guest", "host", "arbiter"]

#: Seconds without any message after which a wait ends.
DEADLINE = 300.0

#: The most hosts of a training.
MAX_HOSTS = 15


@dataclass(frozen=True)
class Peer:
    """Another party.

    Parameters
    ----------
    name : str
        Its name. All parties use the same name for it.
    role : {"guest", "host", "arbiter"}
        Its role.
    address : str, optional
        "host:port" at which it listens. The guest connects to hosts and the arbiter, and hosts connect to the arbiter. Without
        an address the peer connects to this side.
    certificate_name : str, optional
        The DNS name that its certificate must have, by default its name.
    pin : str, optional
        "sha256:" and the SHA-256 digest of its certificate in DER, in hexadecimal. Another certificate is then refused.
    """

    name: str
    role: Role
    address: str | None = None
    certificate_name: str | None = None
    pin: str | None = None

    def identity(self) -> Identity:
        """Its certificate."""
        return Identity(self.name, self.certificate_name or self.name, self.pin)


class Network:
    """The connections of one party, which connects or listens when the first task begins.

    Parameters
    ----------
    name : str
        The name of this party. All parties use the same name for it.
    role : {"guest", "host", "arbiter"}
        Its role: the guest has the labels, the arbiter has a key and no data.
    tls : TLS
        Its certificate, its key, and the authorities of the peers.
    peers : sequence of Peer
        The other parties: one guest and one or more hosts in all. Two parties need no arbiter.
    listen : str, optional
        "host:port" at which this party listens, for the peers without an address. Port 0 takes a free one.
    deadline : float, default 300
        Seconds without any message after which a wait ends with `PeerError`.

    Raises
    ------
    ParameterError
        If the roles, names or addresses do not go together, or a certificate or key is unsuitable.
    """

    def __init__(
        self,
        name: str,
        role: Role,
        *,
        tls: TLS,
        peers: Sequence[Peer],
        listen: str | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        self.name = instance(name, str, "the name")
        self.role = role
        self.peers = [instance(peer, Peer, "a peer") for peer in items(peers, "peers", "a list of Peer")]
        _check_roles({name: role, **{peer.name: peer.role for peer in self.peers}}, 1 + len(self.peers))
        instance(tls, TLS, "tls")
        waiting = [peer for peer in self.peers if peer.address is None]
        if bool(waiting) != (listen is not None):
            names = ", ".join(peer.name for peer in waiting) or "no peer"
            raise ParameterError(
                f"{names} connects to this side, and listen is {listen!r}; use an address to listen at if a peer has none"
            )
        self._listener = None if listen is None else Listener(listen, tls, [peer.identity() for peer in waiting])
        self.session = Session(name, role, {peer.name: peer.role for peer in self.peers})
        self._links = [
            Link(peer.name, self._connector(peer, tls), self.session.handshake, deadline=deadline)
            for peer in self.peers
        ]
        for peer, link in zip(self.peers, self._links, strict=True):
            if peer.address is None:
                link.patience = TURN
            if role == HOST and peer.role == ARBITER:
                # An arbiter that came back answers hosts after the guest only.
                link.courtesy = TURN
            self.session.add(link)

    def _connector(self, peer: Peer, tls: TLS) -> Connect:
        if peer.address is not None:
            return Dialer(peer.address, tls, peer.identity()).dial
        assert self._listener is not None
        return self._listener.connector(peer.name)

    @property
    def address(self) -> str | None:
        """The address at which this party listens, or `None`."""
        return None if self._listener is None else self._listener.address

    @property
    def connections(self) -> dict[str, int]:
        """The number of connections so far, by peer."""
        return {link.peer: link.connections for link in self._links}

    def close(self) -> None:
        """Say goodbye to all peers and close the connections. Further calls do nothing."""
        self.session.close()
        if self._listener is not None:
            self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # scikit-learn copies the parameters of estimators. A connection is shared.
        return self

    def __repr__(self) -> str:
        peers = ", ".join(f"{peer.name} ({peer.role})" for peer in self.peers)
        return f"<Network of {self.name} ({self.role}) with {peers}>"


def connect(
    address: str,
    *,
    tls: TLS,
    name: str = GUEST,
    peer: str = HOST,
    certificate_name: str | None = None,
    pin: str | None = None,
    deadline: float = DEADLINE,
) -> Network:
    """The guest's connection to one host, which listens at "host:port".

    `name` is the name of this party, `peer` the name of the host. The host uses the same names. `certificate_name` is the DNS
    name of the host's certificate, by default the host of the address. `Network` and `Peer` describe the other parameters and
    the errors.
    """
    expected = certificate_name or parse_address(address).host
    return Network(name, "guest", tls=tls, peers=[Peer(peer, "host", address, expected, pin)], deadline=deadline)


def listen(
    address: str,
    *,
    tls: TLS,
    name: str = HOST,
    peer: str = GUEST,
    certificate_name: str | None = None,
    pin: str | None = None,
    deadline: float = DEADLINE,
) -> Network:
    """The host's side of a connection with one guest, which connects to "host:port".

    `certificate_name` is the DNS name of the guest's certificate, by default `peer`. `connect` describes the other parameters
    and the errors.
    """
    guest = Peer(peer, "guest", None, certificate_name, pin)
    return Network(name, "host", tls=tls, peers=[guest], listen=address, deadline=deadline)


def _check_roles(roles: dict[str, str], count: int) -> None:
    """Raises `ParameterError` unless there is one guest, 1 to 15 hosts, at most one arbiter, and no name twice."""
    if len(roles) != count:
        raise ParameterError("two parties have the same name; use different names")
    for name, role in roles.items():
        if role not in (GUEST, HOST, ARBITER):
            raise ParameterError(f'{name} has the role {role!r}; use "guest", "host" or "arbiter"')
    numbers = {role: list(roles.values()).count(role) for role in (GUEST, HOST, ARBITER)}
    if numbers[GUEST] != 1 or not 1 <= numbers[HOST] <= MAX_HOSTS or numbers[ARBITER] > 1:
        raise ParameterError(
            f"there are {numbers[GUEST]} guests, {numbers[HOST]} hosts and {numbers[ARBITER]} arbiters; use 1 guest, 1 to "
            f"{MAX_HOSTS} hosts and 0 or 1 arbiter"
        )
    if numbers[HOST] > 1 and not numbers[ARBITER]:
        raise ParameterError(f"there are {numbers[HOST]} hosts and no arbiter; several hosts need one")
