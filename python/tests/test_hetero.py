"""Logistic regression over columns of two parties."""

import math
import time
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from workers_setting import Product

import ciphermill as cm
from ciphermill._hetero import by_bfv
from ciphermill._hetero.batches import Batches
from ciphermill._hetero.by_bfv import DISTANCE_BITS, BfvTerms, _flooded_plan
from ciphermill._hetero.numbers import Columns
from ciphermill._hetero.party import Party, Preconditioner, inverse
from ciphermill._hetero.report import Report
from ciphermill._hetero.tiles import Cells
from ciphermill._hetero.training import Setup
from ciphermill._hetero.workers import Local
from ciphermill.federated._training import own_scores
from ciphermill.linear_model import HeteroLogisticRegression

COLUMNS = {"bank": slice(0, 10), "shop": slice(10, 30)}


def breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def optimum(X: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    """The minimum of the quadratic loss, by a direct solution."""
    m = len(y)
    A = np.column_stack([X, np.ones(m)])
    penalties = np.append(np.full(X.shape[1], 1.0 / (C * m)), 0.0)
    return np.linalg.solve(A.T @ A / (4 * m) + np.diag(penalties), A.T @ (2.0 * y - 1.0) / (2 * m))


@parametrize_with_checks([HeteroLogisticRegression(), HeteroLogisticRegression(backend="bfv", allow_label_leak=True)])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_encrypted_equals_plain_in_every_bit() -> None:
    X, y = breast_cancer()
    plain = HeteroLogisticRegression(columns=COLUMNS).fit(X, y)
    encrypted = HeteroLogisticRegression(columns=COLUMNS, backend="bfv").fit(X, y)
    assert plain.coef_.tobytes() == encrypted.coef_.tobytes()
    assert plain.intercept_.tobytes() == encrypted.intercept_.tobytes()
    report = encrypted.report_
    assert report.converged
    assert report.products == plain.report_.products == len(report.residuals) + 1
    assert report.residuals[-1] <= 1e-6
    assert np.all(np.diff(report.losses) <= 0)
    assert set(report.seconds) == {
        "encode",
        "precondition",
        "plan",
        "prepare",
        "keys",
        "encrypt",
        "add",
        "multiply",
        "mask",
        "decrypt",
        "unmask",
        "local",
    }
    assert report.features == {"bank": 11, "shop": 20}
    assert report.equations["shop"] == (20 * report.products, 569)
    assert all("hidden within" in words for words in report.guarantees.values())
    assert "gradients" in " ".join(report.leaks)
    assert "hidden of shop" in str(report)


def test_scores_have_one_order_of_summation() -> None:
    """BLAS has another order for each layout, number of rows and machine."""
    X, y = breast_cancer()
    X = np.tile(X, (2, 1))
    model = HeteroLogisticRegression(columns=COLUMNS, max_iter=3).fit(X, np.tile(y, 2))
    weights, intercept = model.coef_[0], float(model.intercept_[0])
    # Not by sum(), which compensates its errors in later versions of Python.
    expected = [
        reduce(add, (x * w for x, w in zip(row, weights.tolist(), strict=True))) + intercept for row in X.tolist()
    ]
    for values in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        assert model.decision_function(values).tolist() == expected
        assert own_scores(values, weights, intercept).tolist() == expected
    assert model.decision_function(X[5:6]).tolist() == expected[5:6]


def test_each_party_preconditions_with_its_own_block() -> None:
    X, y = breast_cancer()
    m = len(y)
    values = np.column_stack([X[:, :10], np.ones(m)])
    penalties = np.append(np.full(10, 1.0 / m), 0.0)
    columns = Columns.encode(values)
    precondition = Preconditioner(Party("bank", columns, penalties, Batches(m, None, 0)))
    values = np.ldexp(columns.integers.astype(np.float64), -columns.exponents)
    block = values.T @ values / (4 * m) + np.diag(penalties)
    residual = np.arange(11.0) - 5
    np.testing.assert_allclose(precondition(residual), np.linalg.solve(block, residual), rtol=1e-5)
    # Without a preconditioner, 39 products are needed; the blocks between the parties alone need fewer.
    report = HeteroLogisticRegression(columns=COLUMNS).fit(X, y).report_
    assert report.converged
    assert report.products <= 28


@pytest.mark.parametrize("backend", ["plain", "bfv"])
def test_the_report_times_the_inversion(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(matrix: np.ndarray) -> np.ndarray:
        time.sleep(0.2)
        return np.linalg.inv(matrix)

    monkeypatch.setattr("ciphermill._hetero.party.inverse", slow)
    X, y = breast_cancer()
    model = HeteroLogisticRegression(columns=COLUMNS, backend=backend, max_iter=2)
    start = time.perf_counter()
    report = model.fit(X, y).report_
    whole = time.perf_counter() - start
    # Both parties invert their blocks once. No other step has that time.
    assert (
        0.4
        <= report.seconds["precondition"]
        <= whole - sum(seconds for step, seconds in report.seconds.items() if step != "precondition")
    )
    assert "precondition" in str(report)


def test_the_inverse_of_dependent_columns() -> None:
    rng = np.random.default_rng(3)
    root = rng.normal(size=(40, 12))
    matrix = root @ root.T + 1e-3 * np.eye(40)
    np.testing.assert_allclose(inverse(matrix) @ matrix, np.eye(40), atol=1e-9)
    # A column twice, a column of zeros, and no penalty.
    values = rng.normal(size=(50, 1)) * np.array([1.0, 1.0, 0.0])
    precondition = Preconditioner(Party("shop", Columns.encode(values), np.zeros(3), Batches(50, None, 0)))
    assert np.isfinite(precondition(np.ones(3))).all()


def test_the_optimum_of_the_quadratic_loss() -> None:
    X, y = breast_cancer()
    for C in [0.01, 1.0, 100.0]:
        model = HeteroLogisticRegression(columns=COLUMNS, C=C).fit(X, y)
        best = optimum(X, y, C)
        scores = X @ best[:-1] + best[-1]
        assert abs(roc_auc_score(y, model.decision_function(X)) - roc_auc_score(y, scores)) <= 1e-6
        found = np.append(model.coef_[0], model.intercept_)
        assert np.abs(found - best).max() <= 1e-3 * np.abs(best).max()


def test_other_shapes() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:, X.std(0) > 0], (y >= 5).astype(int)
    X = StandardScaler().fit_transform(X)
    columns = {"guest": np.arange(0, X.shape[1], 2), "host": np.arange(1, X.shape[1], 2)}
    fits = [HeteroLogisticRegression(columns=columns, backend=backend).fit(X, y) for backend in ("plain", "bfv")]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()


def test_4096_samples_of_257_features() -> None:
    X, y = make_classification(4096, 256, n_informative=40, random_state=1)
    columns = {"guest": slice(0, 128), "host": slice(128, 256)}
    fits = [HeteroLogisticRegression(columns=columns, backend=backend).fit(X, y) for backend in ("plain", "bfv")]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()
    assert fits[0].score(X, y) > 0.8


def test_it_works_in_scikit_learns_tools() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    names = np.where(y == 1, "benign", "malignant")
    pipeline = make_pipeline(StandardScaler(), HeteroLogisticRegression(columns=COLUMNS))
    assert clone(pipeline).fit(X, names).score(X, names) > 0.95
    probabilities = pipeline.fit(X, names).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(pipeline.predict_log_proba(X)), probabilities, atol=1e-12)
    assert set(pipeline.predict(X)) == {"benign", "malignant"}


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"columns": {"a": slice(0, 30)}}, cm.ParameterError, "1 parties; use 2 to 16"),
        ({"columns": {"a": slice(0, 30)}, "backend": "bfv"}, cm.ParameterError, "1 parties; use two"),
        ({"solver": "newton"}, cm.ParameterError, "solver='newton'"),
        ({"learning_rate": 0.0}, cm.ParameterError, "learning_rate=0.0"),
        ({"learning_rate": 0.1}, cm.ParameterError, "learning_rate=0.1 does not go with solver"),
        ({"batch_size": 0}, cm.ParameterError, "batch_size is 0"),
        ({"batch_size": 100}, cm.ParameterError, "does not go with solver"),
        ({"columns": {"a": slice(0, 10), "b": slice(5, 30)}}, cm.ParameterError, "exactly one party"),
        ({"columns": {"a": [0], "b": [40]}}, cm.ParameterError, "beyond the data"),
        ({"C": 0}, cm.ParameterError, "C=0"),
        ({"tol": -1.0}, cm.ParameterError, "tol=-1.0"),
        ({"max_iter": 0}, cm.ParameterError, "max_iter is 0; use 1 to 1048576"),
        ({"backend": "gpu"}, cm.ParameterError, "backend='gpu'"),
    ],
)
def test_bad_parameters(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    X, y = breast_cancer()
    with pytest.raises(error, match=words):
        HeteroLogisticRegression(**arguments).fit(X, y)


def test_parameters_of_numpy_do_not_overflow() -> None:
    X, y = breast_cancer()
    X, y = X[:200], y[:200]
    pairs: list[Any] = [(np.int8(127), np.float16(1e4)), (127, 1e4)]
    found = [
        HeteroLogisticRegression(backend="bfv", tol=1e-2, max_iter=limit, C=C, allow_label_leak=True).fit(X, y)
        for limit, C in pairs
    ]
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)
    with pytest.raises(cm.ParameterError, match="C is '1'; use a real number"):
        HeteroLogisticRegression(C="1").fit(X, y)  # type: ignore[arg-type]


def test_few_samples_need_consent() -> None:
    X, y = breast_cancer()
    few = HeteroLogisticRegression(columns=COLUMNS, backend="bfv", max_iter=2)
    with pytest.raises(cm.ParameterError, match="100 samples are fewer than 16 times the 20 features of shop"):
        few.fit(X[:100], y[:100])
    clone(few).set_params(allow_label_leak=True).fit(X[:100], y[:100])


def test_columns_of_very_different_size() -> None:
    X, y = make_classification(400, 6, n_informative=4, random_state=2)
    columns = {"guest": slice(0, 3), "host": slice(3, 6)}
    expected = HeteroLogisticRegression(columns=columns, C=1e6).fit(X, y)
    X = X * np.array([1e155, 1e155, 1.0, 1.0, 1e-150, 1.0])
    model = HeteroLogisticRegression(columns=columns, C=1e6).fit(X, y)
    assert model.report_.converged
    assert model.score(X, y) >= expected.score(X / np.array([1e155, 1e155, 1.0, 1.0, 1e-150, 1.0]), y) - 0.03


# Blocks of features and tiles of samples.


@pytest.mark.parametrize(
    ("features", "samples", "blocks", "cells"),
    [
        (1, 1, 1, 1),
        (1, 50, 1, 1),
        (7, 100, 1, 1),
        (7, 100, 3, 3),
        (7, 100, 7, 7),
        # Two blocks are the fewest for 20,000 features, two tiles those for 20,001 samples.
        (20000, 64, 2, 2),
        (20000, 64, 7, 7),
        (33, 20001, 1, 2),
        (33, 20001, 4, 8),
        (3, 2 * 16384 + 1, 2, 6),
    ],
)
def test_products_in_cells(features: int, samples: int, blocks: int, cells: int) -> None:
    product = Product(features, samples, blocks)
    assert len(product.terms.cells) == cells
    for _ in range(2):
        product.rekey()
        product.check()


def test_cells_cover_the_matrix() -> None:
    cells = Cells(rows=3, samples=16385, blocks=3)
    integers = np.random.default_rng(4).integers(-9, 10, (16385, 7)).astype(np.int16)
    whole = np.zeros((9, 2 * cells.columns), np.int16)
    for block, tile in cells:
        columns = slice(tile * cells.columns, (tile + 1) * cells.columns)
        whole[3 * block : 3 * block + 3, columns] = cells.matrix(integers, block, tile)
    assert np.array_equal(whole[:7, :16385], integers.T)
    assert not whole[7:].any()
    assert not whole[:, 16385:].any()
    assert np.array_equal(np.concatenate(list(cells.vectors(integers[:, 0].astype(np.int64))))[:16385], integers[:, 0])


def test_the_floods_hide_all_cells_of_a_training() -> None:
    setup = Setup("bfv", None, 20000, {"bank": 5, "shop": 40}, 1.0, 1e-6, 10, blocks={"shop": 8})
    assert setup.most_products == 11
    assert setup.masked_products == 11 * (1 + 8)
    total = 0.0
    for name, features in setup.features.items():
        terms = BfvTerms(features, setup.samples, setup.masked_products, blocks=setup.blocks_of(name))
        _, _, hidden = terms.plan.assess()
        assert hidden is not None
        # Each product of the training has as many masked products as the matrix has cells.
        total += setup.most_products * len(terms.cells) * 2.0**-hidden
    assert 0.0 < total <= 2.0**-DISTANCE_BITS
    # Blocks cost flooding: 4.5 times as many masked products as without them.
    one = BfvTerms(5, setup.samples, 2 * setup.most_products)
    many = BfvTerms(5, setup.samples, setup.masked_products)
    assert many.plan.assess()[2] >= one.plan.assess()[2] + math.log2(4.5) - 1.0  # type: ignore[operator]


def test_a_plan_that_hides_too_little_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever bits the search asks for, its plans lack one bit."""
    asked = []

    class Weak:
        def __init__(self, *shape: int, flooding_bits: int, **options: Any) -> None:
            asked.append(flooding_bits)

        def assess(self) -> tuple[None, str, float]:
            return None, "", 49.0

    monkeypatch.setattr(by_bfv._native, "MatVecPlan", Weak)
    with pytest.raises(cm.ParameterError, match=r"no plan hides a matrix of shape \(4, 70\) within 2\^-50.0 an answer"):
        _flooded_plan.__wrapped__(4, 70, 20, 0, 50.0)
    assert asked == [50, 51, 52, 53]


def test_rows_that_fill_up_the_last_block_are_no_answers() -> None:
    """A host that puts other rows there would learn more entries of d than it has features."""
    terms = BfvTerms(9, 64, 64, blocks=4)
    assert terms.cells.blocks * terms.cells.rows == 12
    report = Report("bfv", 64, {})
    guest = terms.key_holder(report)
    cheating = np.eye(64, 12, dtype=np.int16)
    host = terms.matrix_holder([Columns(cheating, np.zeros(12, np.int64))], report)
    host.use_keys(guest.keys())
    masked, _ = host.product(guest.encrypt(np.arange(64)), None, 0)
    assert len(guest.residues(masked)) == 8 * 9


def test_masked_products_of_other_blocks_are_refused() -> None:
    product = Product(7, 100, 3)
    product.rekey()
    masked, _ = product.matrix_holder.product(product.key_holder.encrypt(np.zeros(100, np.int64)), None, 0)
    part = len(masked) // 3
    with pytest.raises(cm.WireError, match="use a multiple of 3"):
        product.key_holder.residues(masked[:-1])
    for wrong in (masked[:-3], masked[: 2 * part] + masked[: part - 3], masked[: 2 * part], masked + masked):
        with pytest.raises(cm.WireError):
            product.key_holder.residues(wrong)


@pytest.mark.parametrize("blocks", [1, 3, 20])
def test_blocks_change_no_bit_of_a_fit(blocks: int) -> None:
    X, y = breast_cancer()
    plain = HeteroLogisticRegression(columns=COLUMNS).fit(X, y)
    workers: Any = Local(blocks)
    found = HeteroLogisticRegression(columns=COLUMNS, backend="bfv", workers=workers).fit(X, y)
    assert found.coef_.tobytes() == plain.coef_.tobytes()
    assert found.intercept_.tobytes() == plain.intercept_.tobytes()


@pytest.mark.parametrize("blocks", [2, 5])
def test_blocks_with_an_arbiter(blocks: int) -> None:
    """The blocks of all parties have as many rows as those of the greatest matrix, and each has its own number of them."""
    X, y = breast_cancer()
    columns = {"bank": slice(0, 3), "shop": slice(3, 20), "post": slice(20, 30)}
    workers: Any = Local(blocks)
    options: dict[str, Any] = {"columns": columns, "arbiter": True, "max_iter": 20}
    plain = HeteroLogisticRegression(**options).fit(X, y)
    model = HeteroLogisticRegression(backend="bfv", workers=workers, **options).fit(X, y)
    assert model.coef_.tobytes() == plain.coef_.tobytes()


def test_more_features_than_one_plan_has_rows() -> None:
    X, y = make_classification(64, 20100, n_informative=10, random_state=3)
    columns = {"guest": slice(0, 100), "host": slice(100, 20100)}
    options: dict[str, Any] = {"columns": columns, "max_iter": 2, "allow_label_leak": True}
    fits = [HeteroLogisticRegression(backend=backend, **options).fit(X, y) for backend in ("plain", "bfv")]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()
