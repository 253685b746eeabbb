"""Encrypted fits compared with the back end `plain`: prints one JSON object; exit status 1 if a weight differs in any bit.

The data is scikit-learn's breast cancer and digits, and random problems. Penalties, the division of columns and the intercept
vary.
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from ciphermill.linear_model import HeteroLogisticRegression

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

#: Random problems, one for each seed.
SEEDS = range(20)
#: The greatest difference of the area under the ROC curve from that of the optimum.
AUC_TOLERANCE = 1e-6


def problems() -> Iterator[tuple[str, Floats, Labels, dict[str, Any]]]:
    """Names, data and arguments."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for C in (0.01, 1.0, 100.0):
        for guest in (1, 10, 29):
            columns = {"guest": slice(0, guest), "host": slice(guest, 30)}
            yield f"breast cancer, C={C}, {guest} of 30 columns", X, y, {"C": C, "columns": columns}
    yield "breast cancer, no intercept", X, y, {"fit_intercept": False}
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X[:, X.std(0) > 0])
    yield "digits, 5 to 9 or not", X, (y >= 5).astype(np.int64), {}
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        samples, features = int(rng.integers(64, 4097)), int(rng.integers(2, 129))
        X, y = make_classification(
            samples, features, n_informative=max(2, features // 2), n_redundant=0, random_state=seed
        )
        # Columns of unlike scale.
        X *= np.exp2(rng.integers(-20, 21, features))
        yield f"random, seed {seed}, {samples} × {features}", X, y, {"allow_label_leak": True}
    X, y = make_classification(4096, 256, n_informative=40, random_state=1)
    yield "random, 4096 × 256", X, y, {}


def optimum(X: Floats, y: Labels, C: float) -> Floats:
    """The minimum of the quadratic loss with an intercept, by a direct solution."""
    samples = len(y)
    A = np.column_stack([X, np.ones(samples)])
    penalty = np.diag(np.append(np.full(X.shape[1], 1.0 / (C * samples)), 0.0))
    return np.linalg.solve(A.T @ A / (4 * samples) + penalty, A.T @ (2.0 * y - 1.0) / (2 * samples))


def main() -> int:
    """Fit all problems by both back ends; 1 if they differ."""
    records = []
    for name, X, y, arguments in problems():
        plain, encrypted = (HeteroLogisticRegression(backend=backend, **arguments) for backend in ("plain", "bfv"))
        plain.fit(X, y)
        begun = time.perf_counter()
        encrypted.fit(X, y)
        seconds = time.perf_counter() - begun
        equal = all(
            getattr(plain, weights).tobytes() == getattr(encrypted, weights).tobytes()
            for weights in ("coef_", "intercept_")
        )
        record = {
            "problem": name,
            "equal_in_every_bit": equal,
            "products": encrypted.report_.products,
            "converged": encrypted.report_.converged,
            "seconds": seconds,
        }
        # Columns of unlike scale make the direct solution inaccurate.
        if not name.startswith("random, seed") and encrypted.fit_intercept:
            best = optimum(X, y, encrypted.C)
            found, least = (
                float(roc_auc_score(y, scores)) for scores in (encrypted.decision_function(X), X @ best[:-1] + best[-1])
            )
            record |= {"auc": found, "auc_optimum": least}
            equal &= abs(found - least) <= AUC_TOLERANCE
        record["correct"] = equal
        records.append(record)
        print(f"{name}: {'equal' if equal else 'DIFFERENT'}, {seconds:.2f} s", file=sys.stderr, flush=True)
    correct = all(record["correct"] for record in records)
    print(json.dumps({"correct": correct, "fits": records}))
    return 0 if correct else 1


if __name__ == "__main__":
    sys.exit(main())
