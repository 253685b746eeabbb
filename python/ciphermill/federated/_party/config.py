"""The TOML file of a party. Every key is checked; an error names the file, the section, the key, its value and the limit."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ciphermill._hetero.tiles import MOST_BLOCKS
from ciphermill._hetero.training import MAX_BATCH, MAX_ITERATIONS, MAX_SEED, SCHEMES, SOLVERS
from ciphermill.errors import ParameterError
from ciphermill.federated._link import MAX_DEADLINE
from ciphermill.federated._network import DEADLINE, MAX_HOSTS, Peer, Role
from ciphermill.federated._ray import MOST_ACTORS, MOST_THREADS
from ciphermill.federated._rows import MAX_FEATURES
from ciphermill.federated._session import ARBITER, GUEST, HOST
from ciphermill.federated._text import in_message
from ciphermill.federated._tls import MAX_NAME, NAME, Address, parse_address

T = TypeVar("T")

#: The most bytes of a configuration file.
MAX_FILE = 1 << 20

#: The formats of data files.
FORMATS = (".csv", ".parquet", ".npy", ".npz")

#: The most bytes of a data file and of its numbers in memory, by default.
MAX_BYTES = 1 << 32

#: The greatest limit of bytes, and of restarts.
MOST_BYTES, MOST_RESTARTS = 1 << 50, 1000

_REQUIRED: Any = object()


@dataclass(frozen=True)
class Files:
    """The section `tls`."""

    certificate: Path
    key: Path
    authority: Path


@dataclass(frozen=True)
class Data:
    """The section `data`."""

    file: Path
    id: str | None
    label: str | None
    #: The label of the class to predict, or `None` for the greater one.
    positive: str | int | float | bool | None
    #: `None` for all other columns.
    features: tuple[str, ...] | None
    standardise: bool
    align: str
    fit_intercept: bool
    allow_training_scores: bool
    max_bytes: int


@dataclass(frozen=True)
class Terms:
    """The section `training`. All parties have the same, except for `deadline`."""

    backend: str
    C: float
    tol: float
    max_iter: int
    solver: str
    learning_rate: float | None
    batch_size: int | None
    seed: int
    restarts: int
    calibrate: bool
    allow_label_leak: bool
    deadline: float


@dataclass(frozen=True)
class Ray:
    """The section `ray`: the arguments of `RayWorkers`."""

    address: str | None = None
    actors: int | None = None
    blocks: int | None = None
    threads: int = 1
    directory: Path | None = None


@dataclass(frozen=True)
class Configuration:
    """The configuration of a party. Paths are absolute, or relative to the working directory."""

    file: Path
    name: str
    role: Role
    state: Path
    output: Path
    #: The address of the metrics, or `None`.
    metrics: Address | None
    tls: Files
    #: "host:port", or `None` for the guest.
    listen: str | None
    peers: tuple[Peer, ...]
    #: `None` for the arbiter.
    data: Data | None
    training: Terms
    #: `None` for the threads of the process.
    ray: Ray | None

    @property
    def roles(self) -> dict[str, str]:
        """The roles of all parties that this one knows."""
        return {self.name: self.role, **{peer.name: peer.role for peer in self.peers}}


def read(file: Path) -> Configuration:
    """The configuration in a file. Raises `ParameterError` for a file that cannot be read, and for an unsupported key or value."""
    document = _Section(file, "", _parse(file), ("party", "tls", "listen", "peers", "data", "training", "ray"))
    party = document.section("party", ("name", "role", "state", "output", "metrics"))
    name, role = party.dns("name"), party.choice("role", (GUEST, HOST, ARBITER))
    state, output = party.path("state"), party.path("output")
    if state.absolute() == output.absolute():
        raise party.error("output", "is that of state", "use two directories")
    training = _terms(document.section("training", Terms.__annotations__, required=False))
    return Configuration(
        file=file,
        name=name,
        role=role,  # type: ignore[arg-type]
        state=state,
        output=output,
        metrics=_metrics(party),
        tls=_files(document.section("tls", Files.__annotations__)),
        listen=_listen(document, role),
        peers=_peers(document, name, role),
        data=_data(document, role, training),
        training=training,
        ray=_ray(document, role, training),
    )


class _Section:
    """A table of the file, which has the named keys only."""

    def __init__(self, file: Path, name: str, table: dict[str, Any], keys: Iterable[str]) -> None:
        self.file, self.name = file, name
        self._table = table
        known = sorted(keys)
        for key in table:
            if key not in known:
                what = f'the unknown key "{key}"' if name else f'the unknown section "{key}"'
                raise ParameterError(f"{self._place} has {what}; use {', '.join(known)}")

    @property
    def _place(self) -> str:
        return f"{self.file}: {self.name}" if self.name else f"{self.file}"

    def error(self, key: str, what: str, use: str) -> ParameterError:
        """An error of a key."""
        return ParameterError(f"{self._place} {key} {what}; {use}")

    def has(self, key: str) -> bool:
        return key in self._table

    def section(self, name: str, keys: Iterable[str], required: bool = True) -> _Section:
        """A table in this one."""
        table = self._table.get(name)
        if table is None and required:
            raise ParameterError(f"{self.file} has no section [{name}]; add it")
        if table is not None and not isinstance(table, dict):
            raise ParameterError(f"{self.file}: {name} is {_shown(table)}; use a section [{name}]")
        return _Section(self.file, f"[{name}]", table or {}, keys)

    def tables(self, name: str, keys: Iterable[str]) -> list[_Section]:
        """The tables of an array."""
        tables = self._table.get(name)
        if tables is None:
            raise ParameterError(f"{self.file} has no section [[{name}]]; add one for each peer")
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise ParameterError(f"{self.file}: {name} is {_shown(tables)}; use sections [[{name}]]")
        keys = list(keys)
        return [_Section(self.file, f"[[{name}]] {number}", table, keys) for number, table in enumerate(tables, 1)]

    def value(self, key: str, kinds: tuple[type, ...], use: str, default: Any = _REQUIRED) -> Any:
        """The value of a key, of one of some types."""
        if key not in self._table:
            if default is _REQUIRED:
                raise ParameterError(f"{self._place} has no {key}; use {use}")
            return default
        value = self._table[key]
        # A boolean is an integer of Python.
        if type(value) not in kinds:
            raise self.error(key, f"is {_shown(value)}", f"use {use}")
        return value

    def text(self, key: str, default: T = _REQUIRED) -> str | T:
        value: str | T = self.value(key, (str,), "a text", default)
        if value == "":
            raise self.error(key, 'is ""', "use a text of at least 1 character")
        return value

    def dns(self, key: str) -> str:
        value: str = self.text(key)
        if not NAME.fullmatch(value) or len(value) > MAX_NAME:
            raise self.error(
                key,
                f"is {_shown(value)}",
                f"use a DNS name of at most {MAX_NAME} letters, digits, '.', '-' and '_'",
            )
        return value

    def path(self, key: str) -> Path:
        value: str = self.text(key)
        if "\0" in value:
            raise self.error(key, f"is {_shown(value)}", "use a path")
        return self.file.parent / value

    def choice(self, key: str, choices: tuple[str, ...], default: str = _REQUIRED) -> str:
        *others, last = (f'"{choice}"' for choice in choices)
        use = f"{', '.join(others)} or {last}"
        value: str = self.value(key, (str,), use, default)
        if value not in choices:
            raise self.error(key, f"is {_shown(value)}", f"use {use}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value: bool = self.value(key, (bool,), "true or false", default)
        return value

    def integer(self, key: str, least: int, greatest: int, default: T = _REQUIRED) -> int | T:
        use = f"an integer from {least} to {greatest}"
        value: Any = self.value(key, (int,), use, default)
        if value is not default and not least <= value <= greatest:
            raise self.error(key, f"is {_shown(value)}", f"use {least} to {greatest}")
        number: int | T = value
        return number

    def real(self, key: str, greatest: float, default: T) -> float | T:
        """A number above 0."""
        limit = f"a number above 0 and at most {greatest:g}"
        value = self.value(key, (int, float), limit, default)
        if value is default:
            return default
        # The comparison is false for NaN.
        if not 0 < value <= greatest:
            raise self.error(key, f"is {_shown(value)}", f"use {limit}")
        return float(value)

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of different texts."""
        use = f"a list of 1 to {MAX_FEATURES} different texts"
        value = self.value(key, (list,), use, None)
        if value is None:
            return None
        if (
            not all(type(each) is str and each for each in value)
            or not 1 <= len(set(value)) == len(value) <= MAX_FEATURES
        ):
            raise self.error(key, f"is {_shown(value)}", f"use {use}")
        return tuple(value)

    def checked(self, key: str, make: Callable[[], T]) -> T:
        """The result of a call. Its `ParameterError` gets the place of the key."""
        try:
            return make()
        except ParameterError as error:
            raise ParameterError(f"{self._place} {key}: {error}") from None


def _parse(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_FILE + 1)
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror}; use the path of a TOML file") from error
    if len(data) > MAX_FILE:
        raise ParameterError(f"{file} has more than {MAX_FILE} bytes; use a smaller file")
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ParameterError(f"{file} is not TOML: {error}; correct the file") from error


def _files(section: _Section) -> Files:
    return Files(section.path("certificate"), section.path("key"), section.path("authority"))


def _metrics(section: _Section) -> Address | None:
    """The address of the metrics. A port alone is on loopback."""
    value = section.value("metrics", (str, int), '"host:port", or a port on 127.0.0.1', None)
    if value is None:
        return None
    text = f"127.0.0.1:{value}" if isinstance(value, int) else value
    return section.checked("metrics", lambda: parse_address(text, 0))


def _listen(document: _Section, role: str) -> str | None:
    if role == GUEST:
        if document.has("listen"):
            raise ParameterError(f"{document.file} has a section [listen]; a guest connects to its peers, so remove it")
        return None
    section = document.section("listen", ("address",))
    address: str = section.text("address")
    section.checked("address", lambda: parse_address(address, 0))
    return address


def _peers(document: _Section, name: str, role: str) -> tuple[Peer, ...]:
    keys = ("name", "role", "address", "certificate_name", "pin")
    found: list[Peer] = []
    for section in document.tables("peers", keys):
        peer = _peer(section, role)
        if peer.name in (name, *(other.name for other in found)):
            raise section.error("name", f'is "{peer.name}", which is that of another party', "use different names")
        found.append(peer)
    _check_numbers(document.file, role, found)
    return tuple(found)


def _peer(section: _Section, own_role: str) -> Peer:
    name, role = section.dns("name"), section.choice("role", (GUEST, HOST, ARBITER))
    if role == own_role:
        others = " or ".join(f'"{other}"' for other in (GUEST, HOST, ARBITER) if other != role)
        raise section.error("role", f'is "{role}", and so is that of this party', f"use {others}")
    address = section.text("address", None)
    # The guest connects to all parties, and hosts connect to the arbiter.
    connects = own_role == GUEST or role == ARBITER
    if connects and address is None:
        raise ParameterError(
            f'{section.file}: {section.name} has no address; this {own_role} connects to {name}: use "host:port"'
        )
    if not connects and address is not None:
        raise section.error(
            "address", f"is {_shown(address)}", f"{name} connects to this {own_role}: remove the address"
        )
    if address is not None:
        section.checked("address", lambda: parse_address(address))
    peer = Peer(name, role, address, section.text("certificate_name", None), section.text("pin", None))  # type: ignore[arg-type]
    section.checked("pin" if peer.pin else "certificate_name", peer.identity)
    return peer


def _check_numbers(file: Path, role: str, peers: list[Peer]) -> None:
    numbers = {kind: [role, *(peer.role for peer in peers)].count(kind) for kind in (GUEST, HOST, ARBITER)}
    several = numbers[HOST] > 1 and not numbers[ARBITER]
    if numbers[GUEST] != 1 or not 1 <= numbers[HOST] <= MAX_HOSTS or numbers[ARBITER] > 1 or several:
        raise ParameterError(
            f"{file}: with this party there are {numbers[GUEST]} guests, {numbers[HOST]} hosts and {numbers[ARBITER]} arbiters; use 1 "
            f"guest, 1 host, and perhaps an arbiter, or 2 to {MAX_HOSTS} hosts and an arbiter"
        )


def _data(document: _Section, role: str, training: Terms) -> Data | None:
    if role == ARBITER:
        if document.has("data"):
            raise ParameterError(f"{document.file} has a section [data]; an arbiter has no data, so remove it")
        return None
    section = document.section("data", Data.__annotations__)
    for key in ("label", "positive", "fit_intercept") if role == HOST else ("allow_training_scores",):
        if section.has(key):
            raise section.error(key, f"is for a {GUEST if role == HOST else HOST}", f"remove it from this {role}")
    file = section.path("file")
    if file.suffix.lower() not in FORMATS:
        raise section.error("file", f"is {_shown(file.name)}", f"use a file that ends with {', '.join(FORMATS)}")
    data = Data(
        file=file,
        id=section.text("id", None),
        label=section.text("label") if role == GUEST else None,
        positive=section.value("positive", (str, int, float, bool), "a text, a number or a boolean", None),
        features=section.texts("features"),
        standardise=section.flag("standardise", True),
        align=section.choice("align", ("psi", "none"), "psi"),
        fit_intercept=section.flag("fit_intercept", role == GUEST),
        allow_training_scores=section.flag("allow_training_scores", False),
        max_bytes=section.integer("max_bytes", 1, MOST_BYTES, MAX_BYTES),
    )
    if data.align == "psi" and data.id is None:
        raise section.error("align", 'is "psi", which needs the column of ids', 'set id, or use align = "none"')
    if data.id is not None and data.label == data.id:
        raise section.error("label", f"is {_shown(data.label)}, and so is id", "use two columns")
    for name in data.features or ():
        if name in (data.id, data.label):
            raise section.error("features", f"has {_shown(name)}, the column of ids or labels", "remove it")
    if role == HOST and training.calibrate and not data.allow_training_scores:
        raise section.error(
            "allow_training_scores",
            "is not true",
            "calibrate = true shows the guest this party's part of the scores of training rows: set both, or none",
        )
    return data


def _terms(section: _Section) -> Terms:
    solver = section.choice("solver", SOLVERS, "cg")
    for key in ("learning_rate", "batch_size"):
        if solver == "cg" and section.has(key):
            *others, last = (f'"{each}"' for each in SOLVERS if each != "cg")
            raise section.error(
                key, 'does not go with solver = "cg"', f"remove it, or use {', '.join(others)} or {last}"
            )
    return Terms(
        backend=section.choice("backend", tuple(SCHEMES), "bfv"),
        C=section.real("C", 1e12, 1.0),
        tol=section.real("tol", 1.0, 1e-6),
        max_iter=section.integer("max_iter", 1, MAX_ITERATIONS, 200),
        solver=solver,
        learning_rate=section.real("learning_rate", 1e6, None),
        batch_size=section.integer("batch_size", 1, MAX_BATCH, None),
        seed=section.integer("seed", 0, MAX_SEED, 0),
        restarts=section.integer("restarts", 0, MOST_RESTARTS, 8),
        calibrate=section.flag("calibrate", False),
        allow_label_leak=section.flag("allow_label_leak", False),
        deadline=section.real("deadline", MAX_DEADLINE, DEADLINE),
    )


def _ray(document: _Section, role: str, training: Terms) -> Ray | None:
    """The cluster of this party. Without the section there is none: RAY_ADDRESS alone must not move data."""
    if not document.has("ray"):
        return None
    if role == ARBITER:
        raise ParameterError(f"{document.file} has a section [ray]; an arbiter has no matrix, so remove it")
    if training.backend != "bfv":
        raise ParameterError(f'{document.file} has a section [ray], which needs backend = "bfv"; remove one of them')
    section = document.section("ray", Ray.__annotations__)
    return Ray(
        address=section.text("address", None),
        actors=section.integer("actors", 1, MOST_ACTORS, None),
        blocks=section.integer("blocks", 1, MOST_BLOCKS, None),
        threads=section.integer("threads", 1, MOST_THREADS, 1),
        directory=section.path("directory") if section.has("directory") else None,
    )


def _shown(value: object) -> str:
    """A value as in the file, shortened."""
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else repr(value)
    return in_message(text)
