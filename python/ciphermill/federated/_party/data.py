"""Data files of a party: CSV, Parquet and arrays of NumPy.

Files are hostile until they are read: sizes are compared with `max_bytes` before memory is allocated, and a cell that is empty,
not a number, NaN or infinite is an error with its line and column. No cell is corrected. Messages show no cell, because cells
are personal data.
"""

from __future__ import annotations

import csv
import json
import math
import operator
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ciphermill._hetero.numbers import Floats
from ciphermill.errors import CiphermillError, MemoryLimitError, ParameterError, RangeError
from ciphermill.federated._align import MAX_ID_BYTES, MAX_IDS
from ciphermill.federated._text import in_message

#: The most rows of a file.
MAX_ROWS = MAX_IDS

#: Bytes of a number in memory.
NUMBER = 8

#: Rows that are computed or copied at one time, and rows for which memory is first allocated.
BATCH, BLOCK, FIRST_ROWS = 1 << 12, 256, 1024

#: The bytes of numbers of a Parquet file that are read at one time.
BATCH_BYTES = 1 << 26

#: The most characters of the line or lines of one row of a CSV file.
MAX_LINE = 1 << 26

#: The characters of numbers.
DIGITS = b"0123456789+-.eE"

NUMERIC = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)

#: A label as in the file.
Label = str | int | float | bool


@dataclass(frozen=True)
class Selection:
    """The columns to read from a file."""

    file: Path
    id: str | None
    label: str | None
    #: `None` for all other columns.
    features: tuple[str, ...] | None
    max_bytes: int


@dataclass(frozen=True)
class Table:
    """The rows of a file."""

    features: tuple[str, ...]
    #: Of shape (rows, features), in the order of C.
    values: Floats
    #: Texts or integers, or `None`.
    ids: list[Any] | None
    #: The labels of the rows, or `None`.
    labels: Labels | None

    @property
    def rows(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Labels:
    """A column with two values: for each row 0 or 1, the place of its value in `classes`."""

    codes: npt.NDArray[np.int8]
    classes: tuple[Label, Label]

    def signs(self, positive: Label | None) -> tuple[Floats, tuple[Label, Label]]:
        """Labels ±1, and the classes of -1 and of 1. By default 1 is the greater class.

        Raises `ParameterError` if `positive` is not one of the classes.
        """
        classes = self.classes
        if positive is None:
            place = int(_rank(classes[1]) > _rank(classes[0]))
        else:
            found = [place for place in (0, 1) if _same(classes[place], positive)]
            if not found:
                shown = [json.dumps(label, ensure_ascii=False) for label in (positive, *classes)]
                raise ParameterError(f"positive is {shown[0]}; use {shown[1]} or {shown[2]}")
            (place,) = found
        return np.where(self.codes == place, 1.0, -1.0), (classes[1 - place], classes[place])


@dataclass(frozen=True)
class Scaling:
    """The mean and the standard deviation of each column. A constant column has its value as mean and 1 as scale."""

    mean: Floats
    scale: Floats

    @staticmethod
    def of(values: Floats, names: Sequence[str]) -> Scaling:
        """The scaling of columns. Raises `RangeError` for values so large that the sums overflow."""
        # Along the first axis of arrays in the order of C, NumPy adds the rows in their order, the same on every machine.
        rows = len(values)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.add.reduce(values, axis=0) / rows
            total = np.zeros(values.shape[1])
            for start in range(0, rows, BATCH):
                total += np.add.reduce((values[start : start + BATCH] - mean) ** 2, axis=0)
            scale = np.sqrt(total / rows)
        for name, finite in zip(names, np.isfinite(scale).tolist(), strict=True):
            if not finite:
                raise RangeError(f'the column "{name}" has values above 1e150; use values of smaller size')
        constant = values.max(axis=0) == values.min(axis=0)
        return Scaling(np.where(constant, values[0], mean), np.where(constant | (scale == 0.0), 1.0, scale))

    def apply(self, values: Floats) -> Floats:
        """The standardised columns."""
        result = values - self.mean
        result /= self.scale
        return result


def constant_columns(values: Floats, names: Sequence[str]) -> list[str]:
    """The names of columns with one value."""
    return [name for name, same in zip(names, values.max(axis=0) == values.min(axis=0), strict=True) if same]


def load(selection: Selection, least: int = 2) -> Table:
    """The selected columns of a file, which has `least` rows or more.

    Raises `ParameterError` for a malformed file and for unsuitable columns and cells, `MemoryLimitError` for a file above
    `max_bytes`.
    """
    _check_size(selection)
    reader = {".csv": _read_csv, ".parquet": _read_parquet, ".npy": _read_npy, ".npz": _read_npz}
    with _named(selection.file):
        table = reader[selection.file.suffix.lower()](selection)
        if table.rows < least:
            raise ParameterError(f"the file has {table.rows} rows; use {least} to {MAX_ROWS}")
        if not table.features:
            raise ParameterError("the file has no columns of features; use 1 or more")
    return table


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Puts the name of the file before messages."""
    try:
        yield
    except CiphermillError as error:
        raise type(error)(f"{file}: {error}") from error.__cause__
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror or error}; use a readable file") from error


def _check_size(selection: Selection) -> None:
    file = selection.file
    try:
        status = file.stat()
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror}; use a readable file") from error
    if not stat.S_ISREG(status.st_mode):
        raise ParameterError(f"{file} is not a regular file; use the path of a data file")
    if status.st_size > selection.max_bytes:
        raise MemoryLimitError(
            f"{file} has {status.st_size} bytes, the limit is max_bytes={selection.max_bytes}; raise the limit"
        )


def _require(nbytes: int, selection: Selection) -> None:
    """Raises `MemoryLimitError` for numbers of too many bytes, before they are allocated."""
    if nbytes > selection.max_bytes:
        raise MemoryLimitError(
            f"the columns take {nbytes} bytes in memory, the limit is max_bytes={selection.max_bytes}; select fewer columns, or "
            "raise the limit"
        )


def _require_rows(rows: int) -> None:
    if rows > MAX_ROWS:
        raise ParameterError(f"the file has {rows} rows or more; use at most {MAX_ROWS}")


def _select(names: Sequence[str], selection: Selection) -> tuple[str, ...]:
    """The features among the columns of a file. Raises `ParameterError` for a missing or repeated column."""
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if name == "":
            raise ParameterError(f"column {number} has no name; use a header with a name for each column")
        if name in seen:
            raise ParameterError(f'two columns have the name "{in_message(name)}"; use different names')
        seen.add(name)
    reserved = [name for name in (selection.id, selection.label) if name is not None]
    for name in (*reserved, *(selection.features or ())):
        if name not in seen:
            shown = ", ".join(in_message(name) for name in names[:10]) + (", …" if len(names) > 10 else "")
            raise ParameterError(f'there is no column "{in_message(name)}"; use {shown}')
    return selection.features or tuple(name for name in names if name not in reserved)


# CSV.


def _read_csv(selection: Selection) -> Table:
    # A byte order mark at the start is part of the encoding.
    with selection.file.open(encoding="utf-8-sig", newline="") as text:
        lines = _Lines(text)
        rows = csv.reader(lines, strict=True)
        with _csv_errors(rows, selection.file):
            header = next(rows, None)
            if header is None:
                raise ParameterError("the file is empty; use a header and rows")
            return _CsvRows(header, selection).read(rows, lines)


@contextmanager
def _csv_errors(rows: Any, path: Path) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:
        raise ParameterError(f"line {rows.line_num} is not CSV ({error}); correct the line") from error
    except UnicodeDecodeError as error:
        raise ParameterError(f"line {_undecodable(path)} is not UTF-8; use a file in UTF-8") from error


def _undecodable(path: Path) -> int:
    """The first line that is not UTF-8. The decoder of a text reads ahead."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return number


class _Lines:
    """The lines of a text. The length of a row is bounded."""

    def __init__(self, text: IO[str]) -> None:
        self._text = text
        self._left = MAX_LINE

    def next_row(self) -> None:
        """A row begins."""
        self._left = MAX_LINE

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(self._left + 1):
            self._left -= len(line)
            if self._left < 0:
                raise ParameterError(f"a row has more than {MAX_LINE} characters; use shorter rows")
            yield line


class _CsvRows:
    """The rows of a CSV file, as far as they are read."""

    def __init__(self, header: list[str], selection: Selection) -> None:
        self._header, self._selection = header, selection
        self._features = _select(header, selection)
        place = {name: index for index, name in enumerate(header)}
        self._places = [place[name] for name in self._features]
        self._id = None if selection.id is None else place[selection.id]
        self._label = None if selection.label is None else place[selection.label]
        self._ids: dict[str, int] = {}
        self._labels = _LabelCodes()

    def read(self, rows: Any, lines: _Lines) -> Table:
        width, columns = len(self._header), len(self._places)
        if not columns:
            raise ParameterError("the file has no columns of features; use 1 or more")
        pick = _picker(self._places)
        values = np.empty((0, columns))
        count = 0
        for row in rows:
            lines.next_row()
            if len(row) != width:
                raise self._wrong_width(rows.line_num, len(row))
            if count == len(values):
                self._grow(values, count)
            cells = pick(row)
            values[count] = self._numbers(cells, rows.line_num)
            if not np.isfinite(values[count]).all():
                raise self._bad_cell(cells, rows.line_num)
            if self._id is not None:
                self._add_id(row[self._id], rows.line_num)
            if self._label is not None:
                self._labels.add(row[self._label], f"line {rows.line_num}")
            count += 1
        values.resize((count, columns), refcheck=False)
        ids = None if self._id is None else list(self._ids)
        return Table(self._features, values, ids, None if self._label is None else self._labels.done(_csv_label))

    def _grow(self, values: Floats, count: int) -> None:
        """Make room for further rows. Large arrays grow by pages, without a copy."""
        rows = max(FIRST_ROWS, count + count // 2)
        most = self._selection.max_bytes // (NUMBER * values.shape[1])
        if rows > most:
            _require(NUMBER * values.shape[1] * (count + 1), self._selection)
            rows = most
        _require_rows(count + 1)
        values.resize((min(rows, MAX_ROWS), values.shape[1]), refcheck=False)

    def _numbers(self, cells: tuple[str, ...], line: int) -> list[float]:
        try:
            strange = "".join(cells).encode("ascii").translate(None, DIGITS)
            numbers = list(map(float, cells))
        except ValueError:
            strange, numbers = b"?", []
        if strange:
            raise self._bad_cell(cells, line)
        return numbers

    def _bad_cell(self, cells: tuple[str, ...], line: int) -> ParameterError:
        for name, cell in zip(self._features, cells, strict=True):
            fault = _fault(cell)
            if fault:
                return ParameterError(f'line {line}, column "{in_message(name)}": the cell {fault}')
        raise AssertionError("a row without a fault")

    def _wrong_width(self, line: int, cells: int) -> ParameterError:
        if not cells:
            return ParameterError(f"line {line} is empty; remove it")
        return ParameterError(f"line {line} has {cells} cells; use {len(self._header)}, as in the header")

    def _add_id(self, cell: str, line: int) -> None:
        if not 1 <= len(cell.encode()) <= MAX_ID_BYTES:
            what = f"has more than {MAX_ID_BYTES} bytes" if cell else "is empty"
            raise ParameterError(
                f'line {line}, column "{in_message(self._header[self._id or 0])}": the id {what}; use 1 to {MAX_ID_BYTES} bytes'
            )
        earlier = self._ids.setdefault(cell, line)
        if earlier != line:
            raise ParameterError(f"the ids of lines {earlier} and {line} are equal; use an id for each row")


def _picker(places: list[int]) -> Callable[[list[str]], tuple[str, ...]]:
    if len(places) == 1:
        (place,) = places
        return lambda row: (row[place],)
    pick: Callable[[list[str]], tuple[str, ...]] = operator.itemgetter(*places)
    return pick


def _fault(cell: str) -> str:
    """The fault of a cell that should be a number, or an empty text."""
    bare = cell.strip()
    if not bare:
        return "is empty; use a number"
    if bare != cell:
        return "has spaces around its text; remove them"
    if bare.lower().lstrip("+-") in ("nan", "na", "null", "none"):
        return "is not a number but NaN or a similar mark; use a number"
    if bare.lower().lstrip("+-") in ("inf", "infinity"):
        return "is infinite; use a finite number"
    if not NUMERIC.fullmatch(cell):
        return "is not a number; use decimal digits, with '.' and an exponent if need be"
    return "" if math.isfinite(float(cell)) else "is beyond the range of binary64; use -1.7e308 to 1.7e308"


def _csv_label(cell: str) -> Label:
    """A label of a CSV file: a number if it is written as one."""
    if not NUMERIC.fullmatch(cell):
        return cell
    number = float(cell)
    return int(number) if number.is_integer() and abs(number) <= 2**53 else number


# Labels.


class _LabelCodes:
    """The codes of labels, of which there may be few different ones."""

    #: The most different texts. Several texts may mean the same number.
    MOST = 16

    def __init__(self) -> None:
        self._codes = bytearray()
        self._values: dict[Any, int] = {}

    def add(self, value: Any, where: str) -> None:
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            raise ParameterError(f"{where}: the label is missing; use one of two values")
        code = self._values.setdefault(value, len(self._values))
        if code >= self.MOST:
            raise ParameterError(f"the column of labels has more than {self.MOST} different values; use two")
        self._codes.append(code)

    def done(self, convert: Callable[[Any], Label]) -> Labels:
        """The labels. Raises `ParameterError` unless there are two values."""
        values = [convert(value) for value in self._values]
        classes = list(dict.fromkeys(values))
        if len(classes) != 2:
            raise ParameterError(f"the column of labels has {len(classes)} different values; use two")
        table = np.array([classes.index(value) for value in values], np.int8)
        return Labels(table[np.frombuffer(self._codes, np.uint8)], (classes[0], classes[1]))


def _rank(value: Label) -> tuple[bool, Any]:
    """The order of labels: numbers, then texts."""
    return isinstance(value, str), value


def _same(value: Label, given: Label) -> bool:
    """Whether a label is the configured one. A text that is written as a number is that number."""
    return value == (_csv_label(given) if isinstance(given, str) and not isinstance(value, str) else given)


# Arrays of NumPy.


def _read_npy(selection: Selection) -> Table:
    if selection.id is not None or selection.label is not None:
        raise ParameterError("a .npy file has no ids and no labels; use .npz, .csv or .parquet")
    with selection.file.open("rb") as file:
        array = _read_array(file, "the array", selection.file.stat().st_size, selection)
    return _table(_columns(array, ""), selection)


def _read_npz(selection: Selection) -> Table:
    columns: dict[str, npt.NDArray[Any]] = {}
    total = 0
    try:
        with zipfile.ZipFile(selection.file) as archive:
            for member in archive.infolist():
                total += member.file_size
                _require(total, selection)
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ParameterError(
                        f"the compression {member.compress_type} is not supported; use numpy.savez_compressed"
                    )
                name = member.filename.removesuffix(".npy")
                with archive.open(member) as file:
                    array = _read_array(file, f'the array "{in_message(name)}"', member.file_size, selection)
                for column, values in _columns(array, name).items():
                    if column in columns:
                        raise ParameterError(f'two columns have the name "{in_message(column)}"; use different names')
                    columns[column] = values
    except (zipfile.BadZipFile, RuntimeError, EOFError, zlib.error) as error:
        raise ParameterError(f"the file is not an archive of NumPy ({error}); use numpy.savez") from error
    return _table(columns, selection)


def _read_array(file: IO[bytes], what: str, size: int, selection: Selection) -> npt.NDArray[Any]:
    """An array whose header agrees with the number of its bytes. Objects are refused: they would be pickles."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        reader = readers[np.lib.format.read_magic(file)]
        shape, fortran, dtype = reader(file)
    except (ValueError, KeyError) as error:
        raise ParameterError(f"{what} is not one of NumPy; use numpy.save or numpy.savez") from error
    if dtype.kind not in "biufUS" or not dtype.itemsize or len(shape) not in (1, 2) or min(shape) < 0:
        raise ParameterError(
            f"{what} has the type {dtype} and {len(shape)} axes; use numbers or texts, with 1 or 2 axes"
        )
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes != size - file.tell():
        raise ParameterError(
            f"{what} has {size - file.tell()} bytes, its header announces {nbytes}; use the whole file"
        )
    _require(nbytes, selection)
    data = file.read(nbytes)
    if len(data) != nbytes:
        raise ParameterError(f"{what} is cut; use the whole file")
    return np.ndarray(shape, dtype, data, order="F" if fortran else "C")


def _columns(array: npt.NDArray[Any], name: str) -> dict[str, npt.NDArray[Any]]:
    """The columns of an array: X.0, X.1, … of an array X with two axes, and 0, 1, … without a name."""
    if array.ndim == 1:
        return {name or "0": array}
    return {f"{name}.{index}" if name else f"{index}": array[:, index] for index in range(array.shape[1])}


def _table(columns: dict[str, npt.NDArray[Any]], selection: Selection) -> Table:
    """A table of the selected columns."""
    features = _select(list(columns), selection)
    ids = None if selection.id is None else columns[selection.id]
    labels = None if selection.label is None else columns[selection.label]
    chosen = [columns[name] for name in features]
    lengths = {len(column) for column in (*chosen, ids, labels) if column is not None}
    if len(lengths) > 1:
        raise ParameterError(f"the columns have {min(lengths)} to {max(lengths)} rows; use one length")
    rows = lengths.pop() if lengths else 0
    _require_rows(rows)
    _require(NUMBER * rows * len(features), selection)
    values = np.empty((rows, len(features)))
    _fill(values, [_numbers_of(column, name) for name, column in zip(features, chosen, strict=True)])
    return Table(features, values, _ids_of(ids), _labels_of(labels))


def _fill(values: Floats, columns: list[Floats]) -> None:
    """Copy columns into a table, by blocks of rows that fit the caches."""
    for start in range(0, len(values), BLOCK):
        values[start : start + BLOCK] = np.array([column[start : start + BLOCK] for column in columns]).T


def _numbers_of(column: npt.NDArray[Any], name: str, first: int = 1) -> Floats:
    """The numbers of a column, whose first row has the number `first`."""
    if column.dtype.kind not in "biuf":
        raise ParameterError(f'the column "{in_message(name)}" has the type {column.dtype}; use numbers')
    numbers = column.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        what = "NaN" if np.isnan(numbers[wrong[0]]) else "infinite"
        raise ParameterError(
            f'row {first + int(wrong[0])}, column "{in_message(name)}": the cell is {what}; use a number'
        )
    return numbers


def _ids_of(column: npt.NDArray[Any] | None) -> list[Any] | None:
    if column is None:
        return None
    if column.dtype.kind not in "iuUS":
        raise ParameterError(f"the column of ids has the type {column.dtype}; use texts or integers")
    return _distinct(column.tolist())


def _distinct(ids: list[Any]) -> list[Any]:
    """Ids, if they are distinct and not empty. Integers and their decimal texts do not occur in one column."""
    seen: dict[Any, int] = {}
    for row, one in enumerate(ids, 1):
        if one is None or one in ("", b""):
            raise ParameterError(f"row {row}: the id is empty; use 1 to {MAX_ID_BYTES} bytes")
        earlier = seen.setdefault(one, row)
        if earlier != row:
            raise ParameterError(f"the ids of rows {earlier} and {row} are equal; use an id for each row")
    return ids


def _labels_of(column: npt.NDArray[Any] | None) -> Labels | None:
    if column is None:
        return None
    codes = _LabelCodes()
    values: list[Any] = column.tolist()
    for row, value in enumerate(values, 1):
        codes.add(value.decode(errors="replace") if isinstance(value, bytes) else value, f"row {row}")
    return codes.done(lambda value: value)


# Parquet.


def _read_parquet(selection: Selection) -> Table:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise ParameterError(
            'Parquet needs pyarrow; install it with pip install "ciphermill[parquet]", or use .csv'
        ) from error
    try:
        with parquet.ParquetFile(selection.file) as file:
            return _ParquetRows(file, selection).read()
    except arrow.ArrowException as error:
        reason = str(error).splitlines()[0][:200]
        raise ParameterError(f"the file is not Parquet, or is damaged ({reason}); use another file") from error


class _ParquetRows:
    """The rows of a Parquet file."""

    def __init__(self, file: Any, selection: Selection) -> None:
        self._file, self._selection = file, selection
        self._features = _select(file.schema_arrow.names, selection)
        self._rows = int(file.metadata.num_rows)

    def read(self) -> Table:
        selection = self._selection
        self._check()
        values = np.empty((self._rows, len(self._features)))
        ids: list[Any] = []
        labels = _LabelCodes()
        names = [*self._features, *(name for name in (selection.id, selection.label) if name is not None)]
        first = 0
        size = max(BLOCK, BATCH_BYTES // (NUMBER * len(names)))
        for batch in self._file.iter_batches(batch_size=size, columns=names):
            last = first + batch.num_rows
            if last > self._rows:
                raise ParameterError(
                    f"the file has more than the {self._rows} rows that it announces; use another file"
                )
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            _fill(values[first:last], [self._numbers(columns[name], name, first) for name in self._features])
            if selection.id is not None:
                ids += _objects(columns[selection.id])
            if selection.label is not None:
                for row, value in enumerate(_objects(columns[selection.label]), first + 1):
                    labels.add(value, f"row {row}")
            first = last
        if first != self._rows:
            raise ParameterError(f"the file has {first} rows, and it announces {self._rows}; use another file")
        return Table(
            self._features,
            values,
            None if selection.id is None else _distinct(ids),
            None if selection.label is None else labels.done(lambda value: value),
        )

    def _check(self) -> None:
        """Sizes and types, before a column is read."""
        from pyarrow import types

        _require_rows(self._rows)
        _require(NUMBER * self._rows * len(self._features), self._selection)
        _require(self._unpacked(), self._selection)
        schema = self._file.schema_arrow
        texts = (types.is_string, types.is_large_string)
        numbers = (types.is_integer, types.is_floating, types.is_boolean)
        expected: list[tuple[str, tuple[Any, ...], str]] = [(name, numbers, "numbers") for name in self._features]
        if self._selection.id is not None:
            expected.append((self._selection.id, (*texts, types.is_integer), "texts or integers"))
        if self._selection.label is not None:
            expected.append((self._selection.label, (*texts, *numbers), "texts, numbers or booleans"))
        for name, checks, use in expected:
            kind = schema.field(name).type
            plain = kind.value_type if types.is_dictionary(kind) else kind
            if not any(check(plain) for check in checks):
                raise ParameterError(f'the column "{in_message(name)}" has the type {kind}; use {use}')

    def _unpacked(self) -> int:
        """Bytes of the row groups without compression."""
        metadata = self._file.metadata
        return sum(int(metadata.row_group(group).total_byte_size) for group in range(metadata.num_row_groups))

    def _numbers(self, column: Any, name: str, first: int) -> Floats:
        if column.null_count:
            row = next(row for row, value in enumerate(column.to_pylist(), first + 1) if value is None)
            raise ParameterError(f'row {row}, column "{in_message(name)}": the cell is empty; use a number')
        return _numbers_of(column.to_numpy(zero_copy_only=False), name, first + 1)


def _objects(column: Any) -> list[Any]:
    """The entries of a column as objects of Python. A missing one is `None`."""
    if column.null_count:
        found: list[Any] = column.to_pylist()
        return found
    # Many times as fast as `to_pylist`.
    plain = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
    return list(plain.to_numpy(zero_copy_only=False).tolist())
