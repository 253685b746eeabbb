"""Secure statistics against NumPy and exact fractions, their roles, and input that does not fit."""

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ciphermill as cm
from ciphermill._statistics.roots import nearest_root
from ciphermill.statistics import Column, SecureStatistics, Statistics

COLUMNS = {"age": (0, 120), "income": (-1000, 500_000, 0.01), "height": Column(0.5, 2.5, decimals=3)}
EDGES = {"age": [0, 18, 30, 65, 120], "height": [0.5, 1.5, 1.7, 2.5]}


def rows_of(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    return {
        "age": rng.integers(0, 121, count),
        "income": np.round(rng.uniform(-1000, 500_000, count), 2),
        "height": np.round(rng.uniform(0.5, 2.5, count), 3),
    }


@pytest.fixture(scope="module")
def stats() -> SecureStatistics:
    return SecureStatistics(COLUMNS, parties=4, max_rows=10_000, covariances=True, histograms=EDGES)


def test_results_are_those_of_numpy(stats: SecureStatistics, rng: np.random.Generator) -> None:
    tables = [rows_of(rng, count) for count in (5000, 1, 3210)]
    result = stats.compute(tables)
    whole = {name: np.concatenate([table[name] for table in tables]) for name in COLUMNS}
    assert (result.rows, result.contributions, result.columns) == (8211, 3, list(COLUMNS))
    for name, values in whole.items():
        np.testing.assert_allclose(result.sum(name), values.sum(), rtol=1e-12)
        np.testing.assert_allclose(result.mean(name), values.mean(), rtol=1e-12)
        for ddof in (0, 1):
            np.testing.assert_allclose(result.variance(name, ddof=ddof), values.var(ddof=ddof), rtol=1e-10)
            np.testing.assert_allclose(result.std(name, ddof=ddof), values.std(ddof=ddof), rtol=1e-11)
    matrix = np.stack(list(whole.values()))
    np.testing.assert_allclose(result.correlation(), np.corrcoef(matrix), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(np.diag(result.correlation()), 1.0)
    np.testing.assert_array_equal(result.std(), [result.std(name) for name in COLUMNS])
    np.testing.assert_allclose(result.covariance(), np.cov(matrix), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(result.covariance(ddof=0), np.cov(matrix, ddof=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(result.variance(), np.diag(result.covariance(ddof=0)))
    assert result.mean().tolist() == [result.mean(name) for name in COLUMNS]
    for name, edges in EDGES.items():
        counts, got_edges = result.histogram(name)
        np.testing.assert_array_equal(counts, np.histogram(whole[name], edges)[0])
        assert got_edges.tolist() == edges
    merged, edges = result.histogram("age", [0, 30, 120])
    np.testing.assert_array_equal(merged, np.histogram(whole["age"], edges)[0])
    assert result.clipped == {}


@st.composite
def problems(draw: st.DrawFn) -> tuple[dict[str, Column], list[list[list[int]]]]:
    """Columns, and for each of several parties its rows as steps from the lower bounds."""
    steps = st.sampled_from([1, 0.1, 0.01, 7, 0.25, 1e-6])
    columns = {}
    counts = []
    for i in range(draw(st.integers(1, 4))):
        step = draw(steps)
        count = draw(st.integers(1, 2**40))
        low = draw(st.integers(-(2**40), 2**40))
        exact = Fraction(str(step))
        columns[f"c{i}"] = Column(low * exact, (low + count) * exact, step)
        counts.append(count)
    row = st.tuples(*(st.integers(0, count) for count in counts)).map(list)
    return columns, draw(st.lists(st.lists(row, max_size=8), min_size=2, max_size=4))


def is_nearest_root(root: float, square: Fraction) -> bool:
    """Whether no other binary64 number is nearer to the square root: its middles with both neighbours lie around it."""
    below, above = (Fraction(math.nextafter(root, to)) for to in (-math.inf, math.inf))
    low, high = (Fraction(root) + below) / 2, (Fraction(root) + above) / 2
    return (low < 0 or low**2 <= square) and square <= high**2


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**300), st.integers(1, 2**300), st.integers(-400, 400))
def test_roots_are_the_nearest_numbers(above: int, below: int, power: int) -> None:
    value = Fraction(above, below) * Fraction(2) ** power
    assert is_nearest_root(nearest_root(value), value)
    exact = Fraction(above % 2**53) * Fraction(2) ** power
    assert nearest_root(exact**2) == float(exact)


def test_roots_next_to_the_middle_of_two_numbers() -> None:
    """Digits far beyond those of binary64 decide."""
    little, start = Fraction(1, 2**300), 2**53
    for middle in (start + 1, start + 3):
        assert nearest_root(middle**2 + little) == middle + 1
        assert nearest_root(middle**2 - little) == middle - 1
    assert nearest_root(Fraction((start + 1) ** 2)) == start
    assert nearest_root(Fraction((start + 3) ** 2)) == start + 4


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_results_are_the_nearest_numbers(problem: tuple[dict[str, Column], list[list[list[int]]]]) -> None:
    columns, parties = problem
    stats = SecureStatistics(columns, parties=4, max_rows=8, covariances=True)
    exact = [
        [
            [column.grid[0] + column.grid[2] * place for place, column in zip(row, columns.values(), strict=True)]
            for row in rows
        ]
        for rows in parties
    ]
    tables = [np.array(rows, dtype=np.float64).reshape(len(rows), len(columns)) for rows in exact]
    result = stats.compute(tables)
    every = [row for rows in exact for row in rows]
    assert result.rows == len(every)
    for i, name in enumerate(columns):
        values = [row[i] for row in every]
        assert result.sum(name) == float(sum(values, Fraction(0)))
        if values:
            mean = sum(values, Fraction(0)) / len(values)
            assert result.mean(name) == float(mean)
            variance = sum(((v - mean) ** 2 for v in values), Fraction(0)) / len(values)
            assert result.variance(name) == float(variance)
            assert is_nearest_root(result.std(name), variance)
    if len(every) > 1:
        means = [sum((row[i] for row in every), Fraction(0)) / len(every) for i in range(len(columns))]
        for i, j in [(0, 0), (0, len(columns) - 1)]:
            products = [(row[i] - means[i]) * (row[j] - means[j]) for row in every]
            assert result.covariance()[i, j] == float(sum(products, Fraction(0)) / (len(every) - 1))
            both = [sum(((row[k] - means[k]) ** 2 for row in every), Fraction(0)) for k in (i, j)]
            coefficient = result.correlation()[i, j]
            if both[0] * both[1] == 0:
                assert np.isnan(coefficient)
            else:
                assert (coefficient > 0, coefficient < 0) == (sum(products) > 0, sum(products) < 0)
                assert is_nearest_root(abs(coefficient), sum(products, Fraction(0)) ** 2 / (both[0] * both[1]))


def test_many_rows_and_wide_columns(rng: np.random.Generator) -> None:
    """More rows than one block of binary64 products, at the ends of the widest column."""
    column = Column(-(2**47), 2**47)
    stats = SecureStatistics({"a": column, "b": column}, parties=2, max_rows=10_000, covariances=True)
    values = rng.choice([-(2**47), 2**47, 2**47 - 1, 12345], (2, 9000, 2))
    result = stats.compute(list(values))
    flat = values.reshape(-1, 2).astype(object)
    n = len(flat)
    for i, name in enumerate("ab"):
        total, square = sum(flat[:, i]), sum(flat[:, i] ** 2)
        assert result.sum(name) == float(total)
        assert result.variance(name, ddof=1) == float(Fraction(n * square - total**2, n * (n - 1)))
    cross = sum(flat[:, 0] * flat[:, 1]) * n - sum(flat[:, 0]) * sum(flat[:, 1])
    assert result.covariance()[0, 1] == float(Fraction(cross, n * (n - 1)))


def test_variances_without_covariances(rng: np.random.Generator) -> None:
    stats = SecureStatistics({"a": (0, 9), "b": (0, 9)}, parties=2, max_rows=50)
    tables = [rng.integers(0, 10, (50, 2)) for _ in range(2)]
    result = stats.compute(tables)
    np.testing.assert_allclose(result.variance(), np.concatenate(tables).var(axis=0), rtol=1e-14)
    with pytest.raises(cm.ParameterError, match="covariances=True"):
        result.covariance()
    with pytest.raises(cm.ParameterError, match="covariances=True"):
        result.correlation()
    np.testing.assert_allclose(result.std(ddof=1), np.concatenate(tables).std(axis=0, ddof=1), rtol=1e-14)
    only_sums = SecureStatistics({"a": (0, 9), "b": (0, 9)}, parties=2, max_rows=50, variances=False)
    assert only_sums.plan.segments == [(1, 50), (2, 50 * 5)]
    result = only_sums.compute(tables)
    assert result.sum("a") == float(tables[0][:, 0].sum() + tables[1][:, 0].sum())
    for method in (result.variance, result.std):
        with pytest.raises(cm.ParameterError, match="variances=True"):
            method("a")


def test_roles_across_machines(rng: np.random.Generator) -> None:
    """Every role makes the statistics again; bytes alone travel."""

    def agreed() -> SecureStatistics:
        return SecureStatistics(COLUMNS, parties=3, max_rows=100, histograms=EDGES, clip=True)

    holder = agreed().keygen()
    public = holder.public.to_bytes()
    tables = [rows_of(rng, 100) for _ in range(2)]
    tables[0]["age"][:3] = [-1, 121, 500]
    sent = []
    for rows in tables:
        contribution = agreed().encrypt(public, rows)
        assert contribution.rows == 100
        sent.append(contribution.to_bytes())
    assert agreed().encrypt(public, tables[0]).clipped == {"age": 3, "income": 0, "height": 0}
    aggregator = agreed().aggregator()
    for name, data in zip(("north", "south"), sent, strict=True):
        aggregator.add(name, data)
    assert aggregator.parties == ["north", "south"]
    # The key holder comes back from its stored key.
    again = agreed().key_holder(holder.to_secret_bytes())
    for key in (holder, again):
        result = key.decrypt(aggregator.total().to_bytes())
        assert isinstance(result, Statistics)
        ages = np.clip(np.concatenate([table["age"] for table in tables]), 0, 120)
        assert (result.rows, result.mean("age")) == (200, ages.mean())
        assert result.clipped == {"age": 3, "income": 0, "height": 0}
        np.testing.assert_array_equal(result.histogram("age")[0], np.histogram(ages, EDGES["age"])[0])


def test_the_report_names_bytes_seconds_and_what_roles_learn(stats: SecureStatistics, rng: np.random.Generator) -> None:
    report = stats.compute([rows_of(rng, 10) for _ in range(2)]).report
    assert set(report.seconds) == {"keygen", "sums", "encrypt", "aggregate", "decrypt"}
    size = stats.plan.sums_bytes
    assert report.bytes[("parties", "aggregator", "contributions")] == 2 * size
    assert report.bytes[("aggregator", "key holder", "total")] == size
    text = str(report)
    assert "key holder learns" in text and "sum of the products of each pair" in text and f"{size} B of total" in text
    assert report.as_dict()["learns"]["party"] == ["nothing: it only sends"]
    # Exact totals, and the differences of totals that reveal a row or a party.
    for fact in (
        "not differentially private",
        "reveal that row",
        "reveal the totals of that party",
        "not authenticated",
    ):
        assert f"{fact}" in text and any(fact in caution for caution in report.as_dict()["cautions"])
    plain = SecureStatistics({"a": (0, 1)}, parties=2, max_rows=1)
    assert not any("clipped" in fact or "bin" in fact for fact in plain.learns["key holder"])
    assert any("same totals of each single party" in fact for fact in plain.learns["key holder with the aggregator"])


def test_values_are_rounded_to_the_nearest_step() -> None:
    stats = SecureStatistics({"a": (0, 1, 0.1)}, parties=2, max_rows=4)
    # In binary32, 0.1 and 1.0 are near their steps; 1.04 is nearest to the upper bound.
    result = stats.compute([{"a": np.array([0.1, 1.0], np.float32)}, {"a": [0.26, 1.04, -0.04, True]}])
    assert result.sum("a") == 3.4
    with pytest.raises(cm.RangeError, match="1 of 1 values outside 0 to 1"):
        stats.compute([{"a": [1.06]}, {"a": []}])


def test_bins_are_those_of_numpy(rng: np.random.Generator) -> None:
    edges = [-5, 0, 0.1, 0.15, 0.17, 0.5, 0.9, 3]
    stats = SecureStatistics({"a": (0, 1, 0.1)}, parties=2, max_rows=500, histograms={"a": edges})
    places = rng.integers(0, 11, 500)
    values = np.array([float(Fraction(int(place), 10)) for place in places])
    result = stats.compute([{"a": values[:250]}, {"a": values[250:]}])
    np.testing.assert_array_equal(result.histogram("a")[0], np.histogram(values, edges)[0])
    # Values outside of all bins are not counted; the last edge belongs to its bin.
    stats = SecureStatistics({"a": (0, 9)}, parties=2, max_rows=9, histograms={"a": [2, 4, 7]})
    result = stats.compute([{"a": [0, 1, 2, 3, 4]}, {"a": [6, 7, 8, 9]}])
    assert result.histogram("a")[0].tolist() == [2, 3]


def test_empty_parties() -> None:
    stats = SecureStatistics({"a": (5, 9)}, parties=3, max_rows=9)
    result = stats.compute([{"a": []}, np.empty((0, 1)), {"a": [6]}])
    assert (result.rows, result.sum("a"), result.mean("a"), result.variance("a")) == (1, 6.0, 6.0, 0.0)
    with pytest.raises(cm.ParameterError, match="1 rows; use 2 or more"):
        result.variance("a", ddof=1)
    nothing = stats.compute([{"a": []}, {"a": []}])
    assert nothing.sum("a") == 0.0
    with pytest.raises(cm.ParameterError, match="0 rows"):
        nothing.mean("a")
    with pytest.raises(cm.ParameterError, match="0 rows"):
        nothing.covariance() if stats.covariances else nothing.variance()


@pytest.mark.parametrize(
    ("rows", "error", "match"),
    [
        ({"a": [1, np.nan], "b": [1, 2]}, cm.ParameterError, "'a' has 1 values that are NaN"),
        ({"a": [1, np.inf], "b": [1, 2]}, cm.ParameterError, "infinite"),
        ({"a": [1, 10], "b": [1, 2]}, cm.RangeError, "'a' has 1 of 2 values outside 0 to 9"),
        ({"a": [1, -1], "b": [1, 2]}, cm.RangeError, "clip=True"),
        ({"a": [1e300], "b": [1]}, cm.RangeError, "outside"),
        ({"a": [1]}, cm.ParameterError, "no column 'b'"),
        ({"a": [1, 2], "b": [1]}, cm.ParameterError, r"shape \(1,\), the first one \(2,\)"),
        ({"a": [[1]], "b": [1]}, cm.ParameterError, "one axis"),
        ({"a": 1, "b": 2}, cm.ParameterError, "one axis"),
        ({"a": ["x"], "b": [1]}, cm.DtypeError, "<U1"),
        ({"a": [None], "b": [1]}, cm.DtypeError, "object"),
        ({"a": [1j], "b": [1]}, cm.DtypeError, "complex128"),
        ({"a": np.array(["2020-01-01"], "M8[D]"), "b": [1]}, cm.DtypeError, "datetime64"),
        ({"a": np.ma.array([1], mask=[True]), "b": [1]}, cm.ParameterError, "masked"),
        ({"a": [[1, 2], [3]], "b": [1]}, cm.ParameterError, "not an array"),
        (np.zeros((3, 3)), cm.ParameterError, r"use \(n, 2\)"),
        (np.zeros(3), cm.ParameterError, r"use \(n, 2\)"),
        (None, cm.ParameterError, "fit 2 columns"),
        (np.zeros((101, 2)), cm.RangeError, "max_rows=100"),
    ],
)
def test_rows_that_do_not_fit(rows: object, error: type[Exception], match: str) -> None:
    stats = SecureStatistics({"a": (0, 9), "b": (0, 9)}, parties=2, max_rows=100)
    with pytest.raises(error, match=match):
        stats.encrypt(stats.keygen().public, rows)


@pytest.mark.parametrize(
    ("columns", "options", "error", "match"),
    [
        ({}, {}, cm.ParameterError, "no columns"),
        ([("a", (0, 1))], {}, cm.ParameterError, "mapping"),
        ({1: (0, 1)}, {}, cm.ParameterError, "not a string"),
        ({"a": (0,)}, {}, cm.ParameterError, r"use \(low, high\)"),
        ({"a": 5}, {}, cm.ParameterError, r"use \(low, high\)"),
        ({"a": (1, 1)}, {}, cm.ParameterError, "lower bound below"),
        ({"a": (2, 1)}, {}, cm.ParameterError, "lower bound below"),
        ({"a": (0, np.inf)}, {}, cm.ParameterError, "upper bound is inf"),
        ({"a": (np.nan, 1)}, {}, cm.ParameterError, "lower bound is nan"),
        ({"a": ("x", 1)}, {}, cm.ParameterError, "lower bound is 'x'"),
        ({"a": (0, 1, 0)}, {}, cm.ParameterError, "above 0"),
        ({"a": (0, 1, -1)}, {}, cm.ParameterError, "above 0"),
        ({"a": (0, 1, 0.3)}, {}, cm.ParameterError, "whole number of steps"),
        ({"a": (0, 1, 1e-15)}, {}, cm.ParameterError, "more than 2"),
        ({"a": (0, 1)}, {"parties": 1}, cm.ParameterError, "parties is 1; use 2 to 65536"),
        ({"a": (0, 1)}, {"parties": 2**16 + 1}, cm.ParameterError, "parties"),
        ({"a": (0, 1)}, {"parties": 2.5}, cm.ParameterError, "parties is 2.5; use 2 to 65536"),
        ({"a": (0, 1)}, {"max_rows": 0}, cm.ParameterError, "max_rows is 0"),
        ({"a": (0, 1)}, {"max_rows": 2**32 + 1}, cm.ParameterError, "max_rows"),
        ({"a": (0, 1)}, {"minimum": 1}, cm.ParameterError, "minimum is 1; use 2 to 3"),
        ({"a": (0, 1)}, {"minimum": 4}, cm.ParameterError, "use 2 to 3"),
        ({"a": (0, 1)}, {"security": 100}, cm.ParameterError, "use 128, 192 or 256"),
        ({"a": (0, 1)}, {"log2_failure": 1.0}, cm.ParameterError, "failure probability"),
        ({"a": (0, 1)}, {"histograms": {"b": [0, 1]}}, cm.ParameterError, "no column 'b'"),
        ({"a": (0, 1)}, {"histograms": {"a": [0]}}, cm.ParameterError, "do not rise or are fewer"),
        ({"a": (0, 1)}, {"histograms": {"a": [0, 0]}}, cm.ParameterError, "do not rise"),
        ({"a": (0, 1)}, {"histograms": {"a": [0, np.nan]}}, cm.ParameterError, "an edge"),
        ({"a": (0, 1)}, {"histograms": {"a": 5}}, cm.ParameterError, "sequence of numbers"),
        ({"a": (-(2**47), 2**47)}, {"parties": 2**16, "max_rows": 2**32}, cm.ParameterError, "totals of 143 bits"),
    ],
)
def test_declarations_that_do_not_fit(
    columns: Any, options: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        SecureStatistics(columns, **{"parties": 3, "max_rows": 10, **options})


def test_a_column_has_a_step_or_decimals() -> None:
    assert Column(0, 1, decimals=2).steps == Column(0, 1, 0.01).steps == 100
    assert Column(0, 1000, decimals=-2).steps == 10
    with pytest.raises(cm.ParameterError, match="one of both"):
        Column(0, 1, 0.5, decimals=1)
    with pytest.raises(cm.ParameterError, match="-15 to 15"):
        Column(0, 1, decimals=16)


def test_objects_of_other_statistics_are_refused(stats: SecureStatistics, rng: np.random.Generator) -> None:
    holder, rows = stats.keygen(), rows_of(rng, 5)
    good = stats.encrypt(holder.public, rows)
    # Equal sizes, another meaning.
    shifted = {**COLUMNS, "age": (1, 121)}
    other = SecureStatistics(shifted, parties=4, max_rows=10_000, covariances=True, histograms=EDGES)
    assert other.plan.segments == stats.plan.segments
    with pytest.raises(cm.KeyMismatchError, match="other statistics"):
        other.encrypt(holder.public, rows)
    with pytest.raises(cm.KeyMismatchError, match="another plan"):
        other.aggregator().add("a", good)
    with pytest.raises(cm.KeyMismatchError, match="other statistics"):
        other.keygen().decrypt(good.sums + good.sums)
    with pytest.raises(cm.KeyMismatchError, match="another plan"):
        other.keygen().decrypt((good.sums + good.sums).to_bytes())
    # Another key set.
    stranger = stats.keygen()
    foreign = stats.encrypt(stranger.public, rows)
    aggregator = stats.aggregator()
    aggregator.add("a", good)
    with pytest.raises(cm.KeyMismatchError, match="key set"):
        aggregator.add("b", foreign)
    aggregator.add("b", stats.encrypt(holder.public, rows))
    with pytest.raises(cm.KeyMismatchError, match="key set"):
        stranger.decrypt(aggregator.total())
    with pytest.raises(cm.WireError):
        stats.encrypt(b"no key", rows)
    with pytest.raises(cm.WireError):
        stats.aggregator().add("a", b"no contribution")
    with pytest.raises(cm.WireError):
        holder.decrypt(good.to_bytes()[:-1])
    with pytest.raises(cm.WireError):
        stats.key_holder(b"no key")
    with pytest.raises(cm.KeyMismatchError, match="secret key"):
        stats.key_holder(SecureStatistics({"a": (0, 1)}, parties=2, max_rows=1).keygen().to_secret_bytes())


def test_the_aggregator_takes_each_party_once(stats: SecureStatistics, rng: np.random.Generator) -> None:
    holder = stats.keygen()
    first, second, third = (stats.encrypt(holder.public, rows_of(rng, 5)) for _ in range(3))
    aggregator = stats.aggregator()
    with pytest.raises(cm.ParameterError, match="0 parties have contributed; wait for 2"):
        aggregator.total()
    aggregator.add("a", first)
    with pytest.raises(cm.ParameterError, match="a has contributed already"):
        aggregator.add("a", second)
    with pytest.raises(cm.ParameterError, match="copy of that of a"):
        aggregator.add("b", first.to_bytes())
    with pytest.raises(cm.ParameterError, match="sum of 2 contributions"):
        aggregator.add("b", (second.sums + third.sums).to_bytes())
    with pytest.raises(cm.ParameterError, match="1 parties have contributed; wait for 2"):
        aggregator.total()
    aggregator.add("b", second)
    total = aggregator.total()
    with pytest.raises(cm.ParameterError, match="comes after the total"):
        aggregator.add("c", third)
    assert aggregator.total() is total
    # The key holder does not decrypt a single contribution.
    with pytest.raises(cm.ParameterError, match="use 2 or more"):
        holder.decrypt(first.to_bytes())
    with pytest.raises(cm.ParameterError, match="at most parties=4"):
        stats.compute([rows_of(rng, 1)] * 5)
    with pytest.raises(cm.ParameterError, match="wait for 2"):
        stats.compute([rows_of(rng, 1)])


def test_constant_columns_have_no_correlation() -> None:
    stats = SecureStatistics({"a": (0, 9), "b": (0, 9), "c": (0, 9)}, parties=2, max_rows=9, covariances=True)
    result = stats.compute([{"a": [1, 2], "b": [5, 5], "c": [4, 3]}, {"a": [3], "b": [5], "c": [2]}])
    nan = np.nan
    np.testing.assert_array_equal(result.correlation(), [[1.0, nan, -1.0], [nan, nan, nan], [-1.0, nan, 1.0]])
    assert result.std("b") == 0.0
    single = stats.compute([{"a": [1], "b": [2], "c": [3]}, {"a": [], "b": [], "c": []}])
    with pytest.raises(cm.ParameterError, match="1 rows; use 2 or more"):
        single.correlation()


def test_the_differences_that_cautions_name() -> None:
    """The documented leaks: two totals that differ by one row, or by one party, reveal it."""
    stats = SecureStatistics({"a": (0, 99), "b": (0, 99)}, parties=3, max_rows=9, covariances=True)
    others: list[dict[str, list[int]]] = [{"a": [10, 20], "b": [1, 2]}, {"a": [30], "b": [3]}]
    with_one, without = (stats.compute([*others, {"a": a, "b": b}]) for a, b in (([77], [88]), ([], [])))
    assert (with_one.sum() - without.sum()).tolist() == [77.0, 88.0]
    assert with_one.rows - without.rows == 1


def test_the_number_of_contributions_is_stated_by_the_sender() -> None:
    """A dishonest aggregator adds an empty contribution: `minimum` does not see that one party alone is in the total."""
    stats = SecureStatistics({"a": (0, 99)}, parties=2, max_rows=9)
    holder = stats.keygen()
    one = stats.encrypt(holder.public, {"a": [42]})
    nobody = stats.encrypt(holder.public, {"a": []})
    result = holder.decrypt((one.sums + nobody.sums).to_bytes())
    assert (result.contributions, result.rows, result.sum("a")) == (2, 1, 42.0)


def test_a_role_limits_the_bytes_of_a_contribution() -> None:
    """The arguments may come from another role: their costs are known before keys and ciphertexts."""
    declaration: dict[str, Any] = {"columns": {f"c{i}": (0, 9) for i in range(300)}, "parties": 2, "max_rows": 9}
    size = SecureStatistics(**declaration, covariances=True).plan.sums_bytes
    assert size > 100_000
    with pytest.raises(
        cm.MemoryLimitError, match=f"a contribution takes {size} bytes, the limit is max_bytes={size - 1}; use fewer"
    ):
        SecureStatistics(**declaration, covariances=True, max_bytes=size - 1)
    limited = SecureStatistics(**declaration, covariances=True, max_bytes=size)
    # It is not part of the agreement.
    assert limited.plan == SecureStatistics(**declaration, covariances=True, max_bytes=None).plan
    hostile = {f"c{i}": (0, 2**40) for i in range(5700)}
    with pytest.raises(cm.MemoryLimitError, match="the limit is max_bytes=268435456"):
        SecureStatistics(hostile, parties=2**16, max_rows=2**20, covariances=True)
    for value in (0, -1, 1.5, "all"):
        with pytest.raises(cm.ParameterError, match=f"max_bytes is {value!r}; use 1 to"):
            SecureStatistics(**declaration, max_bytes=value)


def test_bytes_of_another_size_are_not_read(stats: SecureStatistics, rng: np.random.Generator) -> None:
    holder, rows = stats.keygen(), rows_of(rng, 5)
    sent, size = stats.encrypt(holder.public, rows).to_bytes(), stats.plan.sums_bytes
    for data in (sent + b"\0", sent[:-1], sent * 1000):
        with pytest.raises(cm.WireError, match=f"the contribution has {len(data)} bytes; use one of {size} bytes"):
            stats.aggregator().add("a", data)
        with pytest.raises(cm.WireError, match=f"the total has {len(data)} bytes; use one of {size} bytes"):
            holder.decrypt(data)
    with pytest.raises(cm.WireError, match=f"the public key has {size + 4097} bytes; use at most {size + 4096}"):
        stats.encrypt(bytes(size + 4097), rows)


def test_totals_that_no_rows_have(rng: np.random.Generator) -> None:
    stats = SecureStatistics({"a": (0, 9)}, parties=2, max_rows=10)
    holder = stats.keygen()
    forged = [
        # A sum beyond the number of rows, squares too small for the sum, a negative number of rows.
        ([1], [10], [20]),
        ([4], [8], [1]),
        ([-1], [0], [0]),
    ]
    for values in forged:
        one = holder.public.encrypt([np.array(v) for v in values])
        zero = holder.public.encrypt([np.zeros(1, int)] * 3)
        with pytest.raises(cm.RangeError, match="contradict"):
            holder.decrypt(one + zero)
    # A covariance beyond the variances.
    stats = SecureStatistics({"a": (0, 9), "b": (0, 9)}, parties=2, max_rows=10, covariances=True)
    holder = stats.keygen()
    for product, sound in ((4, True), (5, False), (-5, False)):
        one = holder.public.encrypt([[4], [0, 0], [4, product, 4]])
        zero = holder.public.encrypt([np.zeros(n, int) for n in (1, 2, 3)])
        if sound:
            assert holder.decrypt(one + zero).correlation()[0, 1] == 1.0
        else:
            with pytest.raises(cm.RangeError, match="contradict"):
                holder.decrypt(one + zero)


def test_results_name_their_limits(stats: SecureStatistics, rng: np.random.Generator) -> None:
    result = stats.compute([rows_of(rng, 10) for _ in range(2)])
    with pytest.raises(cm.ParameterError, match="no column 'weight'"):
        result.mean("weight")
    with pytest.raises(cm.ParameterError, match="no histogram of 'income'"):
        result.histogram("income")
    for edges in ([0, 17], [0], [30, 18], [0, 0, 18]):
        with pytest.raises(cm.ParameterError, match="some of the declared ones"):
            result.histogram("age", edges)
    for ddof in (-1, 0.5):
        with pytest.raises(cm.ParameterError, match="ddof"):
            result.variance("age", ddof=ddof)
    with pytest.raises(cm.ParameterError, match="20 rows; use 21 or more"):
        result.covariance(ddof=20)


NUMPY_INTEGERS = list(dict.fromkeys(np.dtype(code).type for code in np.typecodes["AllInteger"]))


@pytest.mark.parametrize("kind", NUMPY_INTEGERS)
def test_ddof_of_every_integer_type(kind: type[np.integer], stats: SecureStatistics, rng: np.random.Generator) -> None:
    """The arithmetic with it is exact, and not that of 8 to 64 bits."""
    result = stats.compute([rows_of(rng, 300) for _ in range(2)])
    for ddof in (0, 1, 100):
        for method in (result.variance, result.std, result.covariance):
            np.testing.assert_array_equal(method(ddof=kind(ddof)), method(ddof=ddof))  # type: ignore[arg-type]


def test_secrets_are_neither_printed_nor_pickled(stats: SecureStatistics) -> None:
    holder = stats.keygen()
    with pytest.raises(cm.SecretError, match="secret key"):
        pickle.dumps(holder)
    assert "KeyHolder" in repr(holder) and holder.to_secret_bytes().hex()[:40] not in repr(holder)


# The native sums.


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_sums_are_exact(data: st.DataObject) -> None:
    bounds = data.draw(st.lists(st.integers(1, 2**120), min_size=1, max_size=3))
    lengths = [data.draw(st.integers(1, 20)) for _ in bounds]
    plan = cm.SumPlan(list(zip(lengths, bounds, strict=True)), 3)
    holder = plan.keygen()
    contributions = [
        [data.draw(st.lists(st.integers(-b, b), min_size=n, max_size=n)) for n, b in zip(lengths, bounds, strict=True)]
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    total = None
    for values in contributions:
        sums = cm.EncryptedSums.from_bytes(plan, holder.public.encrypt(values).to_bytes())
        total = sums if total is None else total + sums
    assert total is not None and total.contributions == len(contributions)
    for segment, (got, bound) in enumerate(zip(holder.decrypt(total), bounds, strict=True)):
        assert got.dtype == (np.int64 if 3 * bound < 2**63 else object)
        assert got.tolist() == [sum(column) for column in zip(*(c[segment] for c in contributions), strict=True)]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.int64, bool])
def test_sums_of_integer_types(dtype: type) -> None:
    plan = cm.SumPlan([(5, 200)], 2)
    holder = plan.keygen()
    values: np.ndarray = np.array([0, 1, 1, 0, 1], dtype)[::-1]
    got = holder.decrypt(holder.public.encrypt([values]) + holder.public.encrypt([values]))
    assert got[0].tolist() == (2 * values.astype(int)).tolist()


@pytest.mark.parametrize("values", [[0, 2**63], [-1, 2**64 - 1], [2**100, -5], (2**63, 2**63 - 1), [True, False]])
def test_sums_of_lists_that_numpy_would_round(values: list[int]) -> None:
    plan = cm.SumPlan([(2, 2**100)], 2)
    holder = plan.keygen()
    one = holder.public.encrypt([values])
    assert holder.decrypt(one + one)[0].tolist() == [2 * value for value in values]


def test_native_objects_travel_and_pickle() -> None:
    plan = cm.SumPlan([(3, 10)], 2, label=bytes(range(32)))
    holder = plan.keygen()
    assert pickle.loads(pickle.dumps(plan)) == plan == cm.SumPlan.from_bytes(plan.to_bytes())
    assert hash(plan) == hash(cm.SumPlan.from_bytes(plan.to_bytes())) and plan != cm.SumPlan([(3, 10)], 2)
    assert (plan.segments, plan.parties, plan.label) == ([(3, 10)], 2, bytes(range(32)))
    assert plan.log2_failure <= -64 and plan.ciphertexts == 1
    public = pickle.loads(pickle.dumps(holder.public))
    sums = pickle.loads(pickle.dumps(public.encrypt([[1, 2, -3]])))
    assert len(sums.to_bytes()) == plan.sums_bytes and sums.tag == public.tag == holder.tag
    assert holder.decrypt(sums)[0].tolist() == [1, 2, -3]
    with pytest.raises(cm.SecretError):
        pickle.dumps(holder)


def test_native_bad_input() -> None:
    plan = cm.SumPlan([(3, 10), (1, 2**100)], 2)
    holder = plan.keygen()
    encrypt = holder.public.encrypt
    with pytest.raises(cm.RangeError, match="11; use -10 to 10"):
        encrypt([[0, 0, 11], [0]])
    with pytest.raises(cm.RangeError, match="a value is"):
        encrypt([[0, 0, 0], [2**100 + 1]])
    with pytest.raises(cm.RangeError, match="more than 128 bits"):
        encrypt([[0, 0, 0], [2**200]])
    with pytest.raises(cm.RangeError, match="18446744073709551615"):
        encrypt([np.array([0, 0, 2**64 - 1], np.uint64), [0]])
    with pytest.raises(cm.ParameterError, match="number of values of a segment is 2; use 3"):
        encrypt([[0, 0], [0]])
    with pytest.raises(cm.ParameterError, match="number of segments is 1; use 2"):
        encrypt([[0, 0, 0]])
    with pytest.raises(cm.ParameterError, match="one axis"):
        encrypt([[[0, 0, 0]], [0]])
    with pytest.raises(cm.DtypeError, match="float64"):
        encrypt([[0.5, 0, 0], [0]])
    with pytest.raises(cm.DtypeError, match="not an integer"):
        encrypt([[0, 0, 0], np.array([None])])
    for segments in ([], [(0, 1)], [(1, 0)], [(1, 2**126)], [(2**24 + 1, 1)], [(1, 1)] * 65):
        with pytest.raises(cm.RangeError):
            cm.SumPlan(segments, 2)
    with pytest.raises(cm.RangeError, match="parties"):
        cm.SumPlan([(1, 1)], 0)
    with pytest.raises(cm.ParameterError, match="32 bytes"):
        cm.SumPlan([(1, 1)], 2, label=b"short")
    sums = encrypt([[1, 2, 3], [4]])
    with pytest.raises(cm.RangeError, match="number of contributions is 3"):
        sums + sums + sums
    with pytest.raises(cm.KeyMismatchError, match="another plan"):
        sums + cm.SumPlan([(3, 10)], 2).keygen().public.encrypt([[0, 0, 0]])
    with pytest.raises(cm.KeyMismatchError, match="key set"):
        plan.keygen().decrypt(sums)
    data = sums.to_bytes()
    for damaged in (b"", data[:100], data[:-1], data + b"\0", bytes([data[0] ^ 1]) + data[1:]):
        with pytest.raises(cm.WireError):
            cm.EncryptedSums.from_bytes(plan, damaged)
    with pytest.raises(cm.WireError):
        cm.SumPlan.from_bytes(holder.public.to_bytes())


@pytest.mark.parametrize("steps", [1, 10, 2**16 - 1, 2**16, 10**9])
def test_histograms_of_narrow_and_wide_columns(steps: int) -> None:
    rng = np.random.default_rng(steps)
    edges = np.unique(rng.integers(-3, steps + 4, 20))
    values = rng.integers(0, steps + 1, 2000)
    stats = SecureStatistics({"a": (0, steps)}, parties=2, max_rows=1000, variances=False, histograms={"a": edges})
    result = stats.compute([{"a": values[:1000]}, {"a": values[1000:]}])
    np.testing.assert_array_equal(result.histogram("a")[0], np.histogram(values, edges)[0])


def test_each_result_keeps_its_clipped_counts() -> None:
    stats = SecureStatistics({"a": (0, 10)}, parties=2, max_rows=10, clip=True)
    holder = stats.keygen()
    results = []
    for rows in ([11, 12], [3, 4]):
        aggregator = stats.aggregator()
        for name, value in zip("xy", rows, strict=True):
            aggregator.add(name, stats.encrypt(holder.public, {"a": [value]}).to_bytes())
        results.append(holder.decrypt(aggregator.total().to_bytes()))
    assert [result.clipped for result in results] == [{"a": 2}, {"a": 0}]


def test_the_minimum_is_part_of_the_agreement() -> None:
    two, three = (SecureStatistics({"a": (0, 10)}, parties=4, max_rows=10, minimum=least) for least in (2, 3))
    with pytest.raises(cm.KeyMismatchError):
        three.encrypt(two.keygen().public, {"a": [1]})


@pytest.mark.parametrize(
    ("column", "histogram"),
    [((0, 1e-310, 1e-320), None), ((0, 10**400, 10**399), None), ((0, 1e200, 1e199), None), ((0, 9), [0, 10**400])],
)
def test_numbers_beyond_binary64(column: tuple[float, ...], histogram: list[int] | None) -> None:
    with pytest.raises(cm.ParameterError, match="1e\\+140"):
        SecureStatistics({"a": column}, parties=2, max_rows=9, histograms={"a": histogram} if histogram else None)


def test_the_explanation_of_a_plan_has_the_facts() -> None:
    plan = cm.SumPlan([(1000, 10), (3, 2**70)], 5)
    explanation = plan.explain()
    assert explanation["sums_bytes"] == plan.sums_bytes < 2 * explanation["sums_memory"]
    assert explanation["ciphertexts"] == plan.ciphertexts and explanation["parameters"] == plan.parameters
    assert explanation["log2_failure"] == plan.log2_failure and explanation["security_bits"] >= 128
    assert explanation["noise_bits"] < explanation["noise_limit_bits"]
    for words in ("failure probability", "memory", "sent", plan.parameters):
        assert words in str(explanation)
    # The estimate is for a model, and its far tails are not shown as figures.
    certain = cm.SumPlan([(1, 1)], 2, log2_failure=-4000.0).explain()
    assert certain["log2_failure"] < -4000
    assert "< 2^-128 (model: independent Gaussian noise)" in str(certain)
    assert repr(explanation) == f"<Explanation of a sums plan by {plan.parameters}>"
