"""Certificates of both sides, and the cause of a failed connection.

gRPC reports each failure of a connection as UNAVAILABLE. So the connecting side makes a TLS connection with Python's `ssl` first.
It returns the certificate of the peer, or a typed cause.

    cause                                                  permanent
    the host name is unknown, the host does not answer     no
    no process listens, the connection was cut             no
    the peer's certificate: expired, not yet valid,        yes
      of another authority, another name, another pin
    the peer refuses the certificate of this side          yes
    the peer does not use TLS                              yes
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, NoReturn

from ciphermill._checks import one_of
from ciphermill.errors import ParameterError, PeerError, SecretError
from ciphermill.federated._link import Lost
from ciphermill.federated._x509 import read_certificate

#: The most bytes of a file of certificates or of a key.
MAX_FILE = 1 << 20

#: Seconds for one attempt to connect.
ATTEMPT = 10.0

#: The number of connections in a row that end right after the handshake. Then the peer counts as one that refuses this side.
REFUSALS = 3

#: Keys that gRPC accepts.
KEYS = ("P-256", "P-384", "RSA")

#: The least bits of an RSA key.
MIN_RSA_BITS = 2048

#: `SSLCertVerificationError.verify_code` (OpenSSL, x509_vfy.h): the cause, and the remedy.
NOT_YET_VALID, EXPIRED, NAME_MISMATCH, SHORT_KEY = 9, 10, 62, 66
UNKNOWN_AUTHORITY = (18, 19, 20, 21)
VERIFICATION = {
    NOT_YET_VALID: ("is not yet valid", "check the clocks of both sides"),
    EXPIRED: ("expired", "renew it"),
    **dict.fromkeys(
        UNKNOWN_AUTHORITY, ("is not signed by an authority of this side", "use the certificate of its authority")
    ),
    SHORT_KEY: ("has a key that is too short", "use a P-256 key"),
}

#: `SSLError.reason` of the alerts by which a server refuses the certificate of this side.
REFUSED = {
    "SSLV3_ALERT_BAD_CERTIFICATE",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED",
    "SSLV3_ALERT_CERTIFICATE_REVOKED",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
    "SSLV3_ALERT_HANDSHAKE_FAILURE",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "TLSV1_ALERT_ACCESS_DENIED",
    "TLSV1_ALERT_DECRYPT_ERROR",
    "TLSV1_ALERT_UNKNOWN_CA",
}

#: `SSLError.reason` of an answer that is not TLS.
NOT_TLS = {
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "HTTPS_PROXY_REQUEST",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
}

LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*")
MAX_NAME = 253
PIN = re.compile(r"sha256:([0-9a-fA-F]{64})")
ADDRESS = re.compile(rf"(?:\[([0-9A-Fa-f:.]+)\]|({NAME.pattern})):([0-9]{{1,5}})")
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True)
class Material:
    """The contents of the files of a `TLS`, and a context for connections of Python."""

    certificate: bytes = field(repr=False)
    authority: bytes = field(repr=False)
    key: bytes = field(repr=False)
    context: ssl.SSLContext


@dataclass(frozen=True)
class TLS:
    """The certificate of this side, its key, and the authorities that sign the certificates of the peers.

    The files are read at once, and again for each new connection: a renewed certificate is in use from the next connection on. A
    listening side reads them once more when it starts. The object holds the paths only, and cannot be pickled.

    Parameters
    ----------
    certificate : path
        The certificate of this side in PEM, with the intermediate certificates after it. Its names (subject alternative name, DNS)
        contain the name that the peers expect.
    key : path
        The private key of the certificate in PEM, without a passphrase: P-256, P-384, or RSA with 2048 bits or more.
    authority : path
        The certificates in PEM that sign the certificates of the peers. No other authority is trusted.

    Raises
    ------
    ParameterError
        If a file cannot be read or is not PEM, the key does not match the certificate, gRPC does not accept the kind of the key
        (Ed25519), or the certificate is expired or not yet valid.
    """

    certificate: str | os.PathLike[str]
    key: str | os.PathLike[str]
    authority: str | os.PathLike[str]

    def __post_init__(self) -> None:
        for name in ("certificate", "key", "authority"):
            one_of(getattr(self, name), (str, os.PathLike), f"the path of the {name}")
        self.load()

    def __reduce__(self) -> NoReturn:
        raise SecretError("a TLS object names a private key and cannot be pickled; make one in each process")

    def load(self) -> Material:
        """Read and check the files."""
        certificate = _read(self.certificate, "certificate")
        key = _read(self.key, "key")
        authority = _read(self.authority, "authority")
        _check_certificate(certificate, self.certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("DEFAULT:@SECLEVEL=2")
        context.hostname_checks_common_name = False
        # As in gRPC, a certificate among the authorities is trusted even if another authority signed it.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.set_alpn_protocols(["h2"])
        _load_pair(context, self.certificate, self.key)
        _load_authority(context, authority, self.authority)
        return Material(certificate, authority, key, context)


@dataclass(frozen=True)
class Identity:
    """The name of a peer, and the certificate by which it proves that name.

    Parameters
    ----------
    name : str
        The name of the party.
    certificate_name : str, optional
        A DNS name among the names of its certificate. `name` by default.
    pin : str, optional
        "sha256:" and the SHA-256 of its certificate in DER, as 64 hexadecimal digits. No other certificate is accepted then.

    Raises
    ------
    ParameterError
        If `certificate_name` is not a DNS name, or `pin` has another form.
    """

    name: str
    certificate_name: str = ""
    pin: str | None = None

    def __post_init__(self) -> None:
        name = self.certificate_name or self.name
        if not NAME.fullmatch(name) or len(name) > MAX_NAME:
            raise ParameterError(
                f"the certificate name {name!r} is not a DNS name; use letters, digits, '.', '-' and '_'"
            )
        object.__setattr__(self, "certificate_name", name.lower())
        if self.pin is not None:
            object.__setattr__(self, "pin", _pin(self.pin))

    def accepts(self, names: Iterable[str], der: bytes) -> bool:
        """Whether a verified certificate is that of the peer. The name must be equal; a wildcard does not count."""
        return self.certificate_name in (name.lower() for name in names) and self.pinned(der)

    def pinned(self, der: bytes) -> bool:
        """Whether a certificate is the pinned one. True without a pin."""
        return self.pin in (None, digest(der))


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Found(NamedTuple):
    """A peer that was reached: the address of its host, and its certificate in PEM."""

    address: Address
    certificate: bytes


def digest(der: bytes) -> str:
    """A pin: "sha256:" and the SHA-256 of a certificate in DER."""
    return "sha256:" + hashlib.sha256(der).hexdigest()


def parse_address(text: str, least_port: int = 1) -> Address:
    """The host and the port of "host:port" or "[IPv6]:port". Raises `ParameterError` for another text."""
    match = ADDRESS.fullmatch(text)
    if match is None or len(text) > MAX_NAME:
        raise ParameterError(f"the address {text!r} is not supported; use host:port or [IPv6]:port")
    port = int(match[3])
    if not least_port <= port <= 65535:
        raise ParameterError(f"the port of the address {text!r} is {port}; use {least_port} to 65535")
    return Address(match[1] or match[2], port)


class Probe:
    """TLS connections to one peer. They find its certificate, or the cause of a failure."""

    def __init__(self, address: Address, identity: Identity) -> None:
        self._address, self._identity = address, identity
        self._refusals = 0

    def __call__(self, context: ssl.SSLContext, seconds: float) -> Found:
        """One attempt. Raises `Lost` for a cause that may pass, `PeerError` for a permanent one."""
        name, address = self._identity.name, self._address
        until = time.monotonic() + min(seconds, ATTEMPT)
        with _causes(name, address), socket.create_connection(address, _left(until)) as plain:
            host = Address(*plain.getpeername()[:2])
            plain.settimeout(_left(until))
            with context.wrap_socket(plain, server_hostname=self._identity.certificate_name) as secure:
                der = secure.getpeercert(binary_form=True) or b""
                secure.settimeout(_left(until))
                accepted = _sends(secure)
        self._check_accepted(accepted)
        if not self._identity.pinned(der):
            raise PeerError(
                f"the certificate of {name} at {address} is {digest(der)}, and the pin is {self._identity.pin}; use the pin of its "
                f"present certificate"
            )
        return Found(host, ssl.DER_cert_to_PEM_cert(der).encode())

    def _check_accepted(self, accepted: bool) -> None:
        """A server of gRPC sends its settings after it has accepted the certificate; otherwise it closes the connection."""
        self._refusals = 0 if accepted else self._refusals + 1
        if self._refusals >= REFUSALS:
            raise PeerError(
                f"{self._identity.name} at {self._address} ended {REFUSALS} connections after it saw the certificate of this side; "
                f"check that its authority signed the certificate"
            )
        if not accepted:
            raise Lost(f"{self._identity.name} at {self._address} closed the connection after the TLS handshake")


def _sends(secure: ssl.SSLSocket) -> bool:
    """Whether the peer sends a byte, and does not close the connection."""
    try:
        return secure.recv(1) != b""
    except ConnectionResetError:
        return False


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


@contextmanager
def _causes(name: str, address: Address) -> Iterator[None]:
    """Turns errors of a connection into `Lost` and `PeerError`."""
    where = f"{name} at {address}"
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise PeerError(_verification(where, error)) from error
    except ssl.SSLError as error:
        if error.reason in REFUSED:
            raise PeerError(
                f"{where} refuses the certificate of this side ({error.reason}); check its authority"
            ) from error
        if error.reason in NOT_TLS:
            raise PeerError(f"{where} does not use TLS ({error.reason}); check the address") from error
        raise Lost(f"the TLS handshake with {where} failed ({error.reason})") from error
    except TimeoutError as error:
        raise Lost(f"{where} does not answer") from error
    except ConnectionRefusedError as error:
        raise Lost(f"no process listens for {where}") from error
    except socket.gaierror as error:
        raise Lost(f"the host name of {where} is unknown") from error
    except OSError as error:
        raise Lost(f"the connection with {where} failed: {error.strerror or type(error).__name__}") from error


def _verification(where: str, error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code == NAME_MISMATCH:
        return f"the certificate of {where} has another name; use one of its names as certificate_name"
    default = f"is not valid (code {error.verify_code} of OpenSSL)", "renew it"
    cause, remedy = VERIFICATION.get(error.verify_code, default)
    return f"the certificate of {where} {cause}; {remedy}"


def _pin(text: object) -> str:
    if not isinstance(text, str) or not PIN.fullmatch(text):
        raise ParameterError(f'the pin {text!r} is not supported; use "sha256:" and 64 hexadecimal digits')
    return text.lower()


def _read(path: str | os.PathLike[str], what: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ParameterError(
            f"the file of the {what}, {path}, cannot be read: {reason}; use a readable file"
        ) from error
    if len(data) > MAX_FILE:
        raise ParameterError(f"the file of the {what}, {path}, has more than {MAX_FILE} bytes; use a file in PEM")
    return data


def _check_certificate(pem: bytes, path: str | os.PathLike[str]) -> None:
    """Checks the validity of a certificate of this side, and the kind of its key."""
    match = CERTIFICATE.search(pem.decode("ascii", errors="replace"))
    if match is None:
        raise ParameterError(f"the file {path} has no certificate in PEM; use a file with BEGIN CERTIFICATE")
    try:
        certificate = read_certificate(ssl.PEM_cert_to_DER_cert(match[0]))
    except ValueError as error:
        raise ParameterError(f"the certificate {path} is damaged; use another file") from error
    if certificate.key not in KEYS:
        raise ParameterError(f"the certificate {path} has a key of kind {certificate.key}; use a P-256 key")
    now = datetime.now(UTC)
    if now > certificate.end:
        raise ParameterError(f"the certificate {path} expired on {certificate.end:%Y-%m-%d %H:%M} UTC; renew it")
    if now < certificate.begin:
        raise ParameterError(
            f"the certificate {path} is valid from {certificate.begin:%Y-%m-%d %H:%M} UTC on; check the clock"
        )


class _Passphrase(Exception):
    """The key file needs a passphrase."""


def _load_pair(context: ssl.SSLContext, certificate: str | os.PathLike[str], key: str | os.PathLike[str]) -> None:
    def ask() -> NoReturn:
        raise _Passphrase

    try:
        context.load_cert_chain(certificate, key, password=ask)
    except _Passphrase:
        raise ParameterError(f"the key {key} has a passphrase; use a key file without one") from None
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ParameterError(f"the key {key} is not that of the certificate {certificate}; use its key") from error
        if error.reason == "EE_KEY_TOO_SMALL":
            raise ParameterError(
                f"the key of the certificate {certificate} is too short; use a P-256 key, or RSA with {MIN_RSA_BITS} bits"
            ) from error
        raise ParameterError(
            f"the certificate {certificate} or the key {key} is not in PEM or is damaged; use other files"
        ) from error
    except OSError as error:
        raise ParameterError(f"the key {key} cannot be read: {error.strerror}; use a readable file") from error


def _load_authority(context: ssl.SSLContext, pem: bytes, path: str | os.PathLike[str]) -> None:
    try:
        context.load_verify_locations(cadata=pem.decode("ascii", errors="replace"))
    except (ssl.SSLError, ValueError) as error:
        raise ParameterError(f"the file {path} has no authority in PEM; use a file with BEGIN CERTIFICATE") from error
