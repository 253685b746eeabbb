"""Columns: their ranges, and their values as integers."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ciphermill._checks import integer, real
from ciphermill.errors import DtypeError, ParameterError, RangeError

Ints = npt.NDArray[np.int64]

#: The greatest ratio of a bound to the step: values in binary64 then are within a tenth of a step of their place.
MAX_STEPS = 2**48

#: The greatest magnitude of a bound, of an edge, and of the inverse of a step: squares and sums of them fit binary64.
MAX_NUMBER = 10.0**140

#: Columns of fewer steps than this, or than values, are counted step by step.
MIN_COUNTED = 2**16


def fraction(value: Any, what: str) -> Fraction:
    """The number that `value` shows as: 0.1 is 1/10."""
    try:
        number = value if isinstance(value, int | Fraction) else float(value)
        return Fraction(number if isinstance(number, int | Fraction) else repr(number))
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f"{what} is {value!r}; use a finite number") from error


@dataclass(frozen=True)
class Column:
    """The declaration of a column: values from `low` to `high` in steps of `step`, or of 10^-`decimals`.

    Values are rounded to the nearest step; the range is checked after that. Numbers count as they are written: a step of 0.1 is
    one tenth. `high` has to be a whole number of steps above `low`, and both bounds are at most 2^48 steps from 0.

    Raises `ParameterError` for other declarations.
    """

    low: float
    high: float
    step: float = 1.0
    decimals: int | None = None

    def __post_init__(self) -> None:
        low, high, step = self.grid
        for number in (low, high, step, 1 / step if step else step):
            if abs(number) > MAX_NUMBER:
                raise ParameterError(
                    f"the column has a bound, a step or 1/step above {MAX_NUMBER:.0e}; use other units"
                )
        if step <= 0:
            raise ParameterError(f"the step is {self.step}; use a number above 0")
        if low >= high:
            raise ParameterError(f"the range is {self.low} to {self.high}; use a lower bound below the upper one")
        if (high - low) % step:
            raise ParameterError(
                f"the range {self.low} to {self.high} is not a whole number of steps of {float(step):g}; move a bound or use "
                f"another step"
            )
        if max(abs(low), abs(high)) / step > MAX_STEPS:
            raise ParameterError(
                f"the bounds {self.low} and {self.high} are more than 2^48 steps of {float(step):g} from 0; use larger steps"
            )

    @functools.cached_property
    def grid(self) -> tuple[Fraction, Fraction, Fraction]:
        """The bounds and the step, exactly."""
        if self.decimals is None:
            step = fraction(self.step, "the step")
        else:
            if self.step != 1.0:
                raise ParameterError("a column with a step and decimals; use one of both")
            decimals = integer(self.decimals, "the number of decimals", -15, 15)
            step = Fraction(10) ** -decimals
        return fraction(self.low, "the lower bound"), fraction(self.high, "the upper bound"), step

    @property
    def steps(self) -> int:
        """The number of steps from the lower bound to the upper one."""
        low, high, step = self.grid
        return int((high - low) / step)

    @property
    def middle(self) -> int:
        """The step from which values are counted: the one in the middle, so that squares are small."""
        return self.steps // 2

    @property
    def bound(self) -> int:
        """The greatest magnitude of a value, counted from the middle."""
        return self.steps - self.middle

    def value(self, index: Fraction) -> Fraction:
        """The value of a step, counted from the middle. Raises `ParameterError` unless `index` is a finite number."""
        low, _, step = self.grid
        return low + step * (self.middle + fraction(index, "the index of a step"))

    def encode(self, values: npt.NDArray[Any], name: str, *, clip: bool) -> tuple[Ints, int]:
        """Values as steps from the middle, and the number of clipped ones.

        Raises `ParameterError` for NaN and infinity, `DtypeError` for other elements than real numbers, and `RangeError` for
        values outside of the range unless `clip` is true.
        """
        if values.dtype.kind not in "biuf":
            raise DtypeError(f"column {name!r} has the dtype {values.dtype}; use real numbers")
        numbers = values.astype(np.float64)
        bad = int(np.count_nonzero(~np.isfinite(numbers)))
        if bad:
            raise ParameterError(f"column {name!r} has {bad} values that are NaN or infinite; remove them")
        low, _, step = self.grid
        with np.errstate(over="ignore"):
            places = np.rint((numbers - float(low)) * (step.denominator / step.numerator))
        inside = np.clip(places, 0.0, float(self.steps))
        outside = int(np.count_nonzero(inside != places))
        if outside and not clip:
            raise RangeError(
                f"column {name!r} has {outside} of {len(values)} values outside {self.low} to {self.high}; use wider bounds or "
                f"clip=True"
            )
        return inside.astype(np.int64) - self.middle, outside


def declared(columns: Mapping[str, Column | Sequence[float]]) -> dict[str, Column]:
    """The columns of a declaration: each a `Column`, or its bounds and perhaps its step."""
    if not isinstance(columns, Mapping) or not columns:
        raise ParameterError("no columns are declared; use a mapping of names to bounds")
    return {_name(name): _column(name, column) for name, column in columns.items()}


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise ParameterError(f"the column name {name!r} is not a string; use strings")
    return name


def _column(name: str, declaration: Column | Sequence[float]) -> Column:
    if isinstance(declaration, Column):
        return declaration
    try:
        numbers: tuple[Any, ...] = tuple(declaration)
    except TypeError:
        numbers = ()
    if len(numbers) not in (2, 3):
        raise ParameterError(f"column {name!r} is declared by {declaration!r}; use (low, high) or (low, high, step)")
    try:
        return Column(*numbers)
    except ParameterError as error:
        raise ParameterError(f"column {name!r}: {error}") from error


def table(rows: Any, columns: Mapping[str, Column]) -> list[npt.NDArray[Any]]:
    """The values of each declared column: by name from a mapping or a data frame, in their order from an array."""
    if hasattr(rows, "keys"):
        missing = [name for name in columns if name not in rows]
        if missing:
            raise ParameterError(f"the rows have no column {missing[0]!r}; give all of {list(columns)}")
        arrays = [_array(rows[name], f"column {name!r}") for name in columns]
    else:
        array = _array(rows, "the array of rows")
        if array.ndim != 2 or array.shape[1] != len(columns):
            raise ParameterError(
                f"rows of shape {array.shape} do not fit {len(columns)} columns; use (n, {len(columns)})"
            )
        arrays = list(array.T)
    for name, array in zip(columns, arrays, strict=True):
        if array.ndim != 1 or len(array) != len(arrays[0]):
            raise ParameterError(
                f"column {name!r} has the shape {array.shape}, the first one {arrays[0].shape}; use one axis of one length"
            )
    return arrays


def _array(values: Any, what: str) -> npt.NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise ParameterError(f"{what} is a masked array; remove masked values first")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ParameterError(f"{what} is not an array: {error}; use values of one length") from error


@dataclass(frozen=True)
class Bins:
    """The bins of a histogram. Each has its lower edge, and the last one its upper edge too."""

    edges: tuple[float, ...]
    #: The first step, counted from the lower bound, of each bin, and the one after the last bin.
    places: tuple[int, ...]
    #: The steps of the column.
    steps: int

    @classmethod
    def of(cls, column: Column, edges: Any, name: str) -> Bins:
        """The bins between `edges`.

        Raises `ParameterError` unless these are two or more finite numbers that rise.
        """
        try:
            exact = [fraction(edge, f"an edge of column {name!r}") for edge in list(edges)]
        except TypeError as error:
            raise ParameterError(f"the edges of column {name!r} are {edges!r}; use a sequence of numbers") from error
        if any(abs(edge) > MAX_NUMBER for edge in exact):
            raise ParameterError(f"an edge of column {name!r} is above {MAX_NUMBER:.0e}; use smaller edges")
        if len(exact) < 2 or any(first >= second for first, second in itertools.pairwise(exact)):
            raise ParameterError(f"the edges of column {name!r} do not rise or are fewer than two; use rising numbers")
        low, _, step = column.grid
        places = [math.ceil((edge - low) / step) for edge in exact[:-1]]
        places.append(math.floor((exact[-1] - low) / step) + 1)
        # Steps outside of the column's range hold no value.
        inside = tuple(min(max(place, 0), column.steps + 1) for place in places)
        return cls(tuple(float(edge) for edge in exact), inside, column.steps)

    def count(self, places: Ints) -> Ints:
        """The number of values of each bin, for steps counted from the lower bound."""
        if self.steps < max(len(places), MIN_COUNTED):
            # Counting each step is several times faster than a search for each value.
            below = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=self.steps + 1))])
            within: Ints = np.diff(below[np.array(self.places)]).astype(np.int64)
            return within
        bins = np.searchsorted(np.array(self.places), places, side="right") - 1
        count = len(self.places) - 1
        counts: Ints = np.bincount(bins[(bins >= 0) & (bins < count)], minlength=count).astype(np.int64)
        return counts

    def merged(self, edges: Any, name: str) -> list[int]:
        """The bins, as indices of `edges`, that start wider bins between some of the edges.

        Raises `ParameterError` if `edges` are not some of the declared ones.
        """
        wanted = [real(edge, f"an edge of column {name!r}") for edge in edges]
        known = {edge: index for index, edge in enumerate(self.edges)}
        unknown = [edge for edge in wanted if edge not in known]
        if unknown or len(wanted) < 2 or wanted != sorted(set(wanted)):
            raise ParameterError(
                f"edges {wanted} of column {name!r}; use some of the declared ones, which are {list(self.edges)}"
            )
        return [known[edge] for edge in wanted]
