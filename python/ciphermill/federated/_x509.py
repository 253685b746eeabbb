"""The kind of the key and the validity of a certificate (X.509 in DER).

Python's `ssl` has no public function for them. Only certificates of this side are read here.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

SEQUENCE, UTC_TIME, GENERALIZED_TIME, VERSION = 0x30, 0x17, 0x18, 0xA0

#: Object identifiers of key kinds, and of the curves of elliptic keys (RFC 3279, RFC 5480, RFC 8410).
RSA = bytes.fromhex("2a864886f70d010101")
ELLIPTIC = bytes.fromhex("2a8648ce3d0201")
CURVES = {bytes.fromhex("2a8648ce3d030107"): "P-256", bytes.fromhex("2b81040022"): "P-384"}
NAMES = {bytes.fromhex("2b6570"): "Ed25519", bytes.fromhex("2b6571"): "Ed448"}


class Certificate(NamedTuple):
    """Fields of a certificate."""

    key: str
    """"P-256", "P-384", "RSA", "Ed25519", "Ed448", or "unknown"."""
    begin: datetime
    """The first second of its validity, in UTC."""
    end: datetime
    """The last second of its validity, in UTC."""


class Element(NamedTuple):
    """An element of DER: its tag and its content."""

    tag: int
    content: bytes


def read_certificate(der: bytes) -> Certificate:
    """The fields of a certificate. Raises `ValueError` for bytes that are not one."""
    fields = _sequence(_sequence(_only(elements(der)))[0])
    if fields[0].tag == VERSION:
        fields = fields[1:]
    if len(fields) < 6:
        raise ValueError("a certificate has too few fields")
    _serial, _algorithm, _issuer, validity, _subject, key = fields[:6]
    begin, end = (_time(element) for element in _sequence(validity))
    return Certificate(_key(key), begin, end)


def elements(data: bytes) -> list[Element]:
    """The elements of which `data` consists. Raises `ValueError` if one is cut, or is not DER."""
    found = []
    while data:
        if len(data) < 2 or data[0] & 0x1F == 0x1F:
            raise ValueError("an element of DER is cut or has a long tag")
        start, size = _length(data)
        if len(data) < start + size:
            raise ValueError("an element of DER is cut")
        found.append(Element(data[0], data[start : start + size]))
        data = data[start + size :]
    return found


def _length(data: bytes) -> tuple[int, int]:
    """Where the content of an element begins, and its length."""
    if data[1] < 0x80:
        return 2, data[1]
    octets = data[1] & 0x7F
    if not 1 <= octets <= 4 or len(data) < 2 + octets:
        raise ValueError("the length of an element of DER is not supported")
    return 2 + octets, int.from_bytes(data[2 : 2 + octets])


def _only(found: list[Element]) -> Element:
    if len(found) != 1:
        raise ValueError(f"{len(found)} elements of DER; use 1")
    return found[0]


def _sequence(element: Element) -> list[Element]:
    if element.tag != SEQUENCE or not element.content:
        raise ValueError("an element of DER is not a sequence with elements")
    return elements(element.content)


def _key(information: Element) -> str:
    kind, *parameters = _sequence(_sequence(information)[0])
    if kind.content == RSA:
        return "RSA"
    if kind.content == ELLIPTIC and parameters:
        return CURVES.get(parameters[0].content, "unknown")
    return NAMES.get(kind.content, "unknown")


def _time(element: Element) -> datetime:
    text = element.content.decode("ascii")
    if element.tag == UTC_TIME:
        # Two digits of the year: 1950 to 2049 (RFC 5280, 4.1.2.5.1).
        text = ("19" if text[:2] >= "50" else "20") + text
    elif element.tag != GENERALIZED_TIME:
        raise ValueError("the validity of a certificate is not a time")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
