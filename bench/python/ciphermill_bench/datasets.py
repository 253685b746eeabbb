"""The data sets of the fits, for this process and for those that it starts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.preprocessing import StandardScaler

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

BREAST_CANCER = "569x31"


def load(name: str) -> tuple[Floats, Labels, int]:
    """Columns, labels, and the number of columns that belong to the guest. The name is samples × columns with the intercept."""
    if name == BREAST_CANCER:
        X, y = load_breast_cancer(return_X_y=True)
        return StandardScaler().fit_transform(X), y, 10
    samples, features = (int(number) for number in name.split("x"))
    columns = features - 1
    X, y = make_classification(samples, columns, n_informative=min(40, columns // 2), random_state=1)
    return X, y, columns // 2
