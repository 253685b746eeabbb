"""Secure statistics: sums, means, variances, histograms, covariances and correlations over the rows of several parties.

    stats = SecureStatistics({"age": (0, 120), "income": (0, 500_000, 0.01)}, parties=3, max_rows=100_000)
    holder = stats.keygen()                                   # the key holder: publishes holder.public
    sent = stats.encrypt(holder.public, rows).to_bytes()      # each party
    aggregator = stats.aggregator()                           # the aggregator: not the key holder
    aggregator.add("north", sent)                             # … for each party
    result = holder.decrypt(aggregator.total().to_bytes())    # the key holder
    result.mean("age"), result.variance("income", ddof=1)

Each party encrypts its own sums under the key holder's public key, the aggregator adds ciphertexts, and the key holder decrypts
the totals. All roles make `SecureStatistics` with the same arguments. `SecureStatistics.compute` plays all roles in one
process.

Values are integers of steps, so totals are exact, and every result is the nearest binary64 number.

**Exact totals are not differentially private.** They have no noise, so differences of totals reveal individuals:

- Two totals whose rows differ by one row: the difference is that row. It shows the row's values, their products and its bins.
- Two totals whose parties differ by one party: the difference is the totals of that party.
- A total and all of its rows but one: the difference is the remaining row.

Decide before the first total which totals to compute. Do not repeat one with fewer or more rows.

The key holder learns the totals over all parties, and nothing else about a contribution. The aggregator sees ciphertexts. This
holds if all roles follow the protocol, and if the key holder neither colludes with the aggregator nor reads its channels:
with the contributions it could decrypt each of them. Rows are counted under encryption: the key holder learns their total
number. The number of contributions is not authenticated: the sender of a sum states it, and neither the aggregator nor the key
holder can check it. One person can send several contributions under several names, and a dishonest aggregator can state any
number. `minimum` therefore protects only if the aggregator authenticates the parties and is honest.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from threading import Lock
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from ciphermill import _native
from ciphermill._checks import instance, integer, limit, mapping, received, require_memory, require_size
from ciphermill._statistics import moments
from ciphermill._statistics.columns import Bins, Column, declared, table
from ciphermill._statistics.report import Report
from ciphermill._statistics.roots import nearest_root
from ciphermill.errors import DtypeError, KeyMismatchError, ParameterError, RangeError, WireError

__all__ = ["Aggregator", "Column", "Contribution", "KeyHolder", "Report", "SecureStatistics", "Statistics"]

#: The greatest number of rows of a party.
MAX_ROWS = 2**32

#: The greatest magnitude of a total.
MAX_TOTAL = 2**126

#: The default limit of the bytes of a contribution.
MAX_BYTES = 256 << 20

#: Bytes of a sealed key beyond those of a ciphertext, at most.
SEAL_BYTES = 4096

Floats = npt.NDArray[np.float64]


class SecureStatistics:
    """The agreement on the statistics of several parties' rows. Every role makes one with the same arguments.

    Totals are exact and not differentially private. Two totals whose rows differ by one row reveal that row by their difference,
    two totals whose parties differ by one party reveal the totals of that party, and a reader who knows all rows but one learns
    the remaining row.

    Parameters
    ----------
    columns : mapping of names to `Column`, (low, high) or (low, high, step)
        The columns and the ranges of their values. The step is 1 by default.
    parties : int
        The greatest number of contributions, 2 to 65536.
    max_rows : int
        The greatest number of rows of a party, 1 to 2^32. It is public and bounds the totals.
    variances : bool, default True
        Whether the sum of squares of each column is encrypted, which variances need.
    covariances : bool, default False
        Whether the sums of products of all pairs of columns are encrypted. They include the squares.
    histograms : mapping of column names to rising edges, optional
        The histograms, with bins as those of `numpy.histogram`.
    clip : bool, default False
        Whether values outside of a column's range count as the nearest bound. Their numbers are encrypted and part of the
        result. By default such a value is an error of the party.
    minimum : int, default 2
        The least number of contributions of a total, 2 to `parties`. Totals of fewer parties reveal too much about each of
        them. It counts contributions, as their senders state them, not rows. A key holder that contributes too knows one of
        them.
    security : {128, 192, 256}, default 128
        Bits of security of the encryption.
    log2_failure : float, default -64.0
        Bounds the probability that any total is wrong.
    max_bytes : int, default 256 MiB
        The greatest number of bytes of a contribution, of a total and of the public key. `None` is no limit. It is this role's
        own limit, not a part of the agreement: a party that receives the arguments from another role bounds their cost by it.

    Raises
    ------
    ParameterError, RangeError
        For unsuitable arguments.
    MemoryLimitError
        If a contribution needs more than `max_bytes`, before keys or ciphertexts are made.

    Examples
    --------
    >>> stats = SecureStatistics({"age": (0, 120)}, parties=2, max_rows=1000, histograms={"age": [0, 18, 65, 120]})
    >>> result = stats.compute([{"age": [17, 40, 64]}, {"age": [65, 80]}])
    >>> result.rows, result.mean("age")
    (5, 53.2)
    >>> result.histogram("age")[0].tolist()
    [1, 2, 2]
    """

    def __init__(
        self,
        columns: Mapping[str, Column | Sequence[float]],
        *,
        parties: SupportsIndex,
        max_rows: SupportsIndex,
        variances: bool = True,
        covariances: bool = False,
        histograms: Mapping[str, npt.ArrayLike] | None = None,
        clip: bool = False,
        minimum: SupportsIndex = 2,
        security: SupportsIndex = 128,
        log2_failure: float = -64.0,
        max_bytes: SupportsIndex | None = MAX_BYTES,
    ) -> None:
        self.columns = declared(columns)
        self.parties = integer(parties, "parties", 2, 2**16)
        self.max_rows = integer(max_rows, "max_rows", 1, MAX_ROWS)
        self.minimum = integer(minimum, "minimum", 2, self.parties)
        self.covariances = bool(covariances)
        self.variances = bool(variances) or self.covariances
        self.clip = bool(clip)
        self._bins: dict[str, Bins] = {}
        for name, edges in mapping({} if histograms is None else histograms, "the mapping of histograms").items():
            self._bins[name] = Bins.of(self._column(name), edges, name)
        segments = self._segments()
        label = hashlib.sha256(self._declaration().encode()).digest()
        self.plan = _native.SumPlan(segments, self.parties, label=label, security=security, log2_failure=log2_failure)
        require_memory(
            self.plan.sums_bytes, "a contribution", limit(max_bytes, "max_bytes"), "max_bytes", "fewer columns or bins"
        )

    def _column(self, name: str) -> Column:
        if instance(name, str, "the name of a column") not in self.columns:
            raise ParameterError(f"there is no column {name!r}; use one of {list(self.columns)}")
        return self.columns[name]

    def _segments(self) -> list[tuple[int, int]]:
        """The vector of totals: counts, sums, and sums of squares or products, each with its bound for a party."""
        width, bound = len(self.columns), max(column.bound for column in self.columns.values())
        greatest = self.parties * self.max_rows * bound**2
        if self.variances and greatest > MAX_TOTAL:
            raise ParameterError(
                f"columns of up to {2 * bound} steps, {self.max_rows} rows and {self.parties} parties make totals of "
                f"{greatest.bit_length()} bits; use at most 126: larger steps, narrower ranges or fewer rows"
            )
        counts = 1 + (width if self.clip else 0) + sum(len(bins.edges) - 1 for bins in self._bins.values())
        segments = [(counts, self.max_rows), (width, self.max_rows * bound)]
        if self.variances:
            pairs = width * (width + 1) // 2 if self.covariances else width
            segments.append((pairs, self.max_rows * bound**2))
        return segments

    def _declaration(self) -> str:
        """A text that is equal for equal meanings of the totals."""
        return json.dumps(
            {
                "format": "ciphermill.statistics 1",
                "columns": [[name, *map(str, column.grid)] for name, column in self.columns.items()],
                "histograms": [
                    [name, list(map(float.hex, bins.edges)), bins.places] for name, bins in self._bins.items()
                ],
                "max_rows": self.max_rows,
                "minimum": self.minimum,
                "variances": self.variances,
                "covariances": self.covariances,
                "clip": self.clip,
            }
        )

    @property
    def learns(self) -> dict[str, list[str]]:
        """By role: the facts that it learns beyond its own data."""
        totals = ["the number of rows", "the sum of each column"]
        if self.covariances:
            totals.append("the sum of the products of each pair of columns")
        elif self.variances:
            totals.append("the sum of the squares of each column")
        if self._bins:
            totals.append("the number of values in each bin of " + ", ".join(self._bins))
        if self.clip:
            totals.append("the number of clipped values of each column")
        return {
            "key holder": [
                *(f"over all parties: {total}" for total in totals),
                "the number of contributions, as their senders state it",
            ],
            "aggregator": ["the senders of contributions, and the size of a ciphertext, which all share"],
            "party": ["nothing: it only sends"],
            "key holder with the aggregator": ["the same totals of each single party"],
            "key holder with other parties": ["the totals over the remaining parties"],
        }

    def keygen(self) -> KeyHolder:
        """Generate a key set. Its holder must not be the aggregator."""
        report = Report(self.learns)
        with report.step("keygen"):
            native = self.plan.keygen()
        return KeyHolder(self, native, report)

    def key_holder(self, secret: bytes | bytearray | memoryview) -> KeyHolder:
        """The holder of an existing secret key, from `KeyHolder.to_secret_bytes`.

        `secret` may be a `bytearray`, which its owner can erase; copies are erased after use.

        Raises `WireError` for other bytes, and `KeyMismatchError` for a key of other parameters.
        """
        # The native method reads the object itself: a copy here could not be erased.
        return KeyHolder(self, self.plan.key_holder(secret), Report(self.learns))

    def _read_sums(self, data: bytes, what: str) -> _native.EncryptedSums:
        """Received sums, whose size is known."""
        if len(data) != self.plan.sums_bytes:
            raise WireError(f"{what} has {len(data)} bytes; use one of {self.plan.sums_bytes} bytes")
        return _native.EncryptedSums.from_bytes(self.plan, data)

    def encrypt(self, public: _native.SumPublicKey | bytes, rows: Any) -> Contribution:
        """Encrypt a party's contribution.

        `rows` is a mapping of column names to arrays, such as a data frame, whose other columns are ignored, or an array of
        shape (n, number of columns). No row at all is a contribution too.

        Raises `ParameterError` for NaN, infinity and missing columns, `DtypeError` for values that are not real numbers, and
        `RangeError` for values outside of a column's range unless `clip` is set, or more than `max_rows` rows.
        """
        key = received(public, _native.SumPublicKey, "the public key")
        if isinstance(key, bytes):
            # A public key is smaller than a ciphertext, but for its header.
            require_size(key, self.plan.sums_bytes + SEAL_BYTES, "the public key")
            key = _native.SumPublicKey.from_bytes(self.plan, key)
        if key.plan != self.plan:
            raise KeyMismatchError("the public key is of other statistics; make them with the same arguments")
        report = Report(self.learns)
        with report.step("sums"):
            values, rows_given, clipped = self._sums(rows)
        with report.step("encrypt"):
            sums = key.encrypt(values)
        report.clipped = clipped
        report.sent("party", "aggregator", "contribution", self.plan.sums_bytes)
        return Contribution(sums, rows_given, report)

    def _sums(self, rows: Any) -> tuple[list[npt.NDArray[Any]], int, dict[str, int]]:
        """The values of a contribution, the number of rows, and the numbers of clipped values."""
        arrays = table(rows, self.columns)
        count = len(arrays[0])
        if count > self.max_rows:
            raise RangeError(f"{count} rows are given; use at most max_rows={self.max_rows}")
        encoded = np.empty((count, len(arrays)), np.int64)
        clipped: dict[str, int] = {}
        counts = [np.array([count])]
        for i, (name, column) in enumerate(self.columns.items()):
            encoded[:, i], outside = column.encode(arrays[i], name, clip=self.clip)
            if self.clip:
                clipped[name] = outside
        counts.append(np.array(list(clipped.values()), np.int64))
        places = list(self.columns)
        counts += [
            bins.count(encoded[:, places.index(name)] + self.columns[name].middle) for name, bins in self._bins.items()
        ]
        bits = max(column.bound for column in self.columns.values()).bit_length()
        values: list[npt.NDArray[Any]] = [np.concatenate(counts), moments.sums(encoded, bits)]
        if self.covariances:
            values.append(moments.products(encoded, bits)[np.triu_indices(len(arrays))])
        elif self.variances:
            values.append(moments.squares(encoded, bits))
        return values, count, clipped

    def aggregator(self) -> Aggregator:
        """The role that adds contributions. It must not be the key holder's."""
        return Aggregator(self)

    def compute(self, tables: Sequence[Any]) -> Statistics:
        """All roles in one process, for tests and trials: the statistics of a list of the parties' rows.

        Raises as `encrypt`, and `ParameterError` for fewer than `minimum` or more than `parties` tables.
        """
        if not isinstance(tables, Sequence) or isinstance(tables, bytes | str):
            raise DtypeError(f"the tables are of type {type(tables).__name__}; use a list of the rows of each party")
        if len(tables) > self.parties:
            raise ParameterError(f"{len(tables)} tables are given; use at most parties={self.parties}")
        holder, aggregator = self.keygen(), self.aggregator()
        report = holder.report
        public = holder.public.to_bytes()
        for i, rows in enumerate(tables):
            report.sent("key holder", "parties", "public key", len(public))
            contribution = self.encrypt(public, rows)
            for name, seconds in contribution.report.seconds.items():
                report.seconds[name] = report.seconds.get(name, 0.0) + seconds
            sent = contribution.to_bytes()
            report.sent("parties", "aggregator", "contributions", len(sent))
            with report.step("aggregate"):
                aggregator.add(f"party {i}", sent)
        with report.step("aggregate"):
            total = aggregator.total().to_bytes()
        return holder.decrypt(total)


class Contribution:
    """A party's encrypted sums, for the aggregator, with facts for the party itself."""

    def __init__(self, sums: _native.EncryptedSums, rows: int, report: Report) -> None:
        self.sums = sums
        #: The number of the party's rows. It is not sent in clear.
        self.rows = rows
        #: Seconds, bytes, and the party's numbers of clipped values.
        self.report = report

    @property
    def clipped(self) -> dict[str, int]:
        """The party's numbers of clipped values by column; empty unless clipping was asked for. They are not sent in clear."""
        return self.report.clipped

    def to_bytes(self) -> bytes:
        """The bytes for the aggregator."""
        return self.sums.to_bytes()

    def __repr__(self) -> str:
        return f"<Contribution of key set {self.sums.tag}>"


class Aggregator:
    """Adds the contributions of parties. It has no key: all it sees are ciphertexts. Threads can share it."""

    def __init__(self, statistics: SecureStatistics) -> None:
        self._statistics = statistics
        self._seen: dict[bytes, str] = {}
        self._sum: _native.EncryptedSums | None = None
        self._closed = False
        self._lock = Lock()

    @property
    def parties(self) -> list[str]:
        """The parties that have contributed."""
        with self._lock:
            return list(self._seen.values())

    def add(self, party: str, contribution: Contribution | bytes) -> None:
        """Add a party's contribution.

        `party` is the party's name as the aggregator has authenticated it.

        Raises `WireError` for bytes that are not a contribution, `KeyMismatchError` for one of other statistics or another key
        set, and `ParameterError` for a second one of a party, a copy of another party's, a sum of several, or one that comes
        after the total.
        """
        instance(party, str, "the name of a party")
        given = received(contribution, Contribution, "the contribution")
        data = given.to_bytes() if isinstance(given, Contribution) else given
        sums = self._statistics._read_sums(data, "the contribution")
        digest = hashlib.sha256(data).digest()
        with self._lock:
            self._require_new(party, sums, digest)
            self._sum = sums if self._sum is None else self._sum + sums
            self._seen[digest] = party

    def _require_new(self, party: str, sums: _native.EncryptedSums, digest: bytes) -> None:
        """An error for a contribution that must not be added."""
        if self._closed:
            raise ParameterError(
                f"the contribution of {party} comes after the total; add it before, because totals that differ by one party "
                f"reveal it"
            )
        if sums.contributions != 1:
            raise ParameterError(
                f"the object of {party} is a sum of {sums.contributions} contributions; use single ones"
            )
        if party in self._seen.values():
            raise ParameterError(f"{party} has contributed already; use one contribution of each party")
        if digest in self._seen:
            raise ParameterError(
                f"the contribution of {party} is a copy of that of {self._seen[digest]}; encrypt it again"
            )

    def total(self) -> _native.EncryptedSums:
        """The encrypted totals for the key holder. No contribution can be added afterwards.

        Raises `ParameterError` for fewer than `minimum` contributions.
        """
        minimum = self._statistics.minimum
        with self._lock:
            if self._sum is None or len(self._seen) < minimum:
                raise ParameterError(f"{len(self._seen)} parties have contributed; wait for {minimum} or more")
            self._closed = True
            return self._sum

    def __getstate__(self) -> dict[str, Any]:
        """The sum and the parties. The lock is not pickled."""
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"} | {
                "_seen": dict(self._seen)
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<Aggregator of {len(self._seen)} contributions>"


class KeyHolder:
    """Has the secret key, publishes the public one, and decrypts totals. It must not see single contributions.

    `minimum` is compared with the number of contributions that a total states. The sender of the total states it; it is not
    authenticated.
    """

    def __init__(self, statistics: SecureStatistics, native: _native.SumKeyHolder, report: Report) -> None:
        self._statistics = statistics
        self._native = native
        #: Seconds, bytes, and the facts that each role learns.
        self.report = report

    @property
    def public(self) -> _native.SumPublicKey:
        """The key for the parties: its `to_bytes` travels."""
        return self._native.public

    def to_secret_bytes(self) -> bytes:
        """The secret key in clear."""
        return self._native.to_secret_bytes()

    def decrypt(self, total: _native.EncryptedSums | bytes) -> Statistics:
        """The statistics of the totals.

        Raises `WireError` for other bytes, `KeyMismatchError` for totals of other statistics or another key set,
        `ParameterError` for totals of fewer than `minimum` parties, and `RangeError` for totals that no contributions of this
        package have.
        """
        statistics, report = self._statistics, self.report
        total = received(total, _native.EncryptedSums, "the total")
        if isinstance(total, bytes):
            total = statistics._read_sums(total, "the total")
        if total.plan != statistics.plan:
            raise KeyMismatchError("the total is of other statistics; make them with the same arguments")
        if total.contributions < statistics.minimum:
            raise ParameterError(
                f"a total of {total.contributions} contributions shows too much of each; use {statistics.minimum} or more"
            )
        report.sent("aggregator", "key holder", "total", statistics.plan.sums_bytes)
        with report.step("decrypt"):
            totals = [array.tolist() for array in self._native.decrypt(total)]
        return Statistics(statistics, totals, total.contributions, report)

    def __repr__(self) -> str:
        return f"<KeyHolder of key set {self._native.tag}>"


class Statistics:
    """The statistics over all parties' rows. Each number is the nearest binary64 one to the exact value."""

    def __init__(
        self, statistics: SecureStatistics, totals: list[list[int]], contributions: int, report: Report
    ) -> None:
        self._of = statistics
        counts, self._sums = totals[0], totals[1]
        self._products = totals[2] if statistics.variances else []
        #: The number of rows of all parties.
        self.rows = counts[0]
        #: The number of contributions, as the senders of sums state it. It is not authenticated.
        self.contributions = contributions
        #: Seconds, bytes, and the facts that each role learns.
        self.report = report
        at = 1
        self._clipped: dict[str, int] = {}
        if statistics.clip:
            self._clipped = dict(zip(statistics.columns, counts[at:], strict=False))
            at += len(statistics.columns)
        self._counts: dict[str, list[int]] = {}
        for name, bins in statistics._bins.items():
            self._counts[name] = counts[at : at + len(bins.edges) - 1]
            at += len(bins.edges) - 1
        self._require_consistent(counts)
        report.clipped = self._clipped

    def _require_consistent(self, counts: list[int]) -> None:
        """An error for totals that no rows have."""
        rows, bounds = self.rows, [column.bound for column in self._of.columns.values()]
        sound = 0 <= rows <= self.contributions * self._of.max_rows and all(0 <= count <= rows for count in counts)
        sound &= all(sum(bins) <= rows for bins in self._counts.values())
        sound &= all(abs(total) <= rows * bound for total, bound in zip(self._sums, bounds, strict=True))
        if self._of.variances:
            squares = [self._product(i, i) for i in range(len(bounds))]
            sound &= all(
                total**2 <= rows * square <= rows * rows * bound**2
                for total, square, bound in zip(self._sums, squares, bounds, strict=True)
            )
        if self._of.covariances:
            pairs = itertools.combinations(range(len(bounds)), 2)
            centred = [self._centred(i, i) for i in range(len(bounds))]
            sound &= all(self._centred(i, j) ** 2 <= centred[i] * centred[j] for i, j in pairs)
        if not sound:
            raise RangeError(
                "the totals contradict each other; a contribution was not made by this package for these statistics"
            )

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order of all arrays."""
        return list(self._of.columns)

    @property
    def clipped(self) -> dict[str, int]:
        """The numbers of clipped values of all parties by column; empty unless clipping was asked for."""
        return dict(self._clipped)

    def sum(self, column: str | None = None) -> Any:
        """The sum of a column, or an array of the sums of all columns."""
        return self._each(column, lambda i, of: of.value(Fraction(0)) * self.rows + of.grid[2] * self._sums[i])

    def mean(self, column: str | None = None) -> Any:
        """The mean of a column, or an array of the means of all columns.

        Raises `ParameterError` if there are no rows.
        """
        self._require_rows(0)
        return self._each(column, lambda i, of: of.value(Fraction(self._sums[i], self.rows)))

    def variance(self, column: str | None = None, *, ddof: int = 0) -> Any:
        """The variance of a column, or an array of the variances of all columns, as that of `numpy.var`.

        Raises `ParameterError` unless there are more than `ddof` rows and variances were asked for.
        """
        self._require_products()
        ddof = self._require_rows(ddof)
        return self._each(column, lambda i, of: self._covariance(i, i, ddof))

    def std(self, column: str | None = None, *, ddof: int = 0) -> Any:
        """The standard deviation of a column, or an array of the standard deviations of all columns, as that of `numpy.std`.

        Each is the binary64 number nearest to the square root of the exact variance. Raises `ParameterError` as `variance`.
        """
        self._require_products()
        ddof = self._require_rows(ddof)
        return self._each(column, lambda i, of: nearest_root(self._covariance(i, i, ddof)))

    def correlation(self) -> Floats:
        """The correlation coefficients of all pairs of columns, of shape (columns, columns), as those of `numpy.corrcoef`.

        Each is the binary64 number nearest to the exact coefficient, and lies within -1 to 1. Those of a column with one value
        in all rows are NaN, its own included.

        Raises `ParameterError` unless there are 2 rows or more and covariances were asked for.
        """
        self._require_covariances()
        self._require_rows(1)
        count = len(self._sums)
        centred = [self._centred(i, i) for i in range(count)]
        out = np.full((count, count), np.nan)
        for i, j in itertools.combinations_with_replacement(range(count), 2):
            if centred[i] and centred[j]:
                product = self._centred(i, j)
                root = nearest_root(Fraction(product**2, centred[i] * centred[j]))
                out[i, j] = out[j, i] = root if product >= 0 else -root
        return out

    def covariance(self, *, ddof: int = 1) -> Floats:
        """The covariances of all pairs of columns, of shape (columns, columns), as those of `numpy.cov`.

        Raises `ParameterError` unless there are more than `ddof` rows and covariances were asked for.
        """
        self._require_covariances()
        ddof = self._require_rows(ddof)
        count = len(self._sums)
        out = np.empty((count, count))
        for i in range(count):
            for j in range(i, count):
                out[i, j] = out[j, i] = float(self._covariance(i, j, ddof))
        return out

    def histogram(self, column: str, edges: npt.ArrayLike | None = None) -> tuple[npt.NDArray[np.int64], Floats]:
        """The number of values in each bin of a column, and the edges, as those of `numpy.histogram`.

        `edges` are some of the declared ones, and all of them by default.

        Raises `ParameterError` for a column without a histogram, and for other edges.
        """
        self._of._column(column)
        if column not in self._counts:
            raise ParameterError(f"no histogram of {column!r} was asked for; name its edges in histograms=")
        bins, counts = self._of._bins[column], self._counts[column]
        starts = list(range(len(bins.edges))) if edges is None else bins.merged(np.atleast_1d(edges), column)
        merged = [sum(counts[first:last]) for first, last in itertools.pairwise(starts)]
        return np.array(merged, np.int64), np.array([bins.edges[start] for start in starts])

    def _each(self, column: str | None, value: Any) -> Any:
        """A number of one column, or an array of those of all."""
        if column is not None:
            self._of._column(column)
        values = {name: (i, of) for i, (name, of) in enumerate(self._of.columns.items())}
        if column is not None:
            return float(value(*values[column]))
        return np.array([float(value(i, of)) for i, of in values.values()])

    def _product(self, i: int, j: int) -> int:
        """The sum of the products of two columns, i at most j, in steps from their middles."""
        if not self._of.covariances:
            return self._products[i]
        # The upper triangle, row after row.
        width = len(self._sums)
        return self._products[i * width - i * (i - 1) // 2 + j - i]

    def _covariance(self, i: int, j: int, ddof: int) -> Fraction:
        # The steps' middles do not matter: a covariance does not depend on the origin.
        columns = list(self._of.columns.values())
        scale = columns[i].grid[2] * columns[j].grid[2]
        return scale * Fraction(self._centred(i, j), self.rows * (self.rows - ddof))

    def _centred(self, i: int, j: int) -> int:
        """The covariance of two columns, i at most j, in steps, times the square of the number of rows."""
        return self.rows * self._product(i, j) - self._sums[i] * self._sums[j]

    def _require_rows(self, ddof: int) -> int:
        """`ddof` as an integer of Python, whose arithmetic does not overflow. Raises an error unless there are more rows."""
        ddof = integer(ddof, "ddof", 0, MAX_ROWS)
        if self.rows <= ddof:
            raise ParameterError(f"the parties have {self.rows} rows; use {ddof + 1} or more")
        return ddof

    def _require_products(self) -> None:
        if not self._of.variances:
            raise ParameterError("variances were not asked for; make the statistics with variances=True")

    def _require_covariances(self) -> None:
        if not self._of.covariances:
            raise ParameterError("covariances were not asked for; make the statistics with covariances=True")

    def __repr__(self) -> str:
        return f"<Statistics of {self.rows} rows of {self.contributions} parties>"
