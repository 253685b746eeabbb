"""The probabilities of scores: σ(az + b), with a and b fitted to labels (J. Platt, "Probabilistic outputs for support vector
machines", 1999; the iteration after H.-T. Lin, C.-J. Lin, R. C. Weng, 2007)."""

from __future__ import annotations

import numpy as np

from ciphermill._hetero.numbers import Floats

#: Newton steps; fewer than 10 are usual.
STEPS = 100

#: The predicted decrease of the loss, as a part of it, below which a step is exact enough to need no line search.
EXACT = 1e-10


def calibrate(scores: Floats, labels: Floats) -> tuple[float, float]:
    """a and b for scores with labels ±1. Targets are a little off 0 and 1, so that separable scores have finite a and b."""
    positive = float(np.sum(labels > 0))
    negative = len(labels) - positive
    targets = np.where(labels > 0, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
    # Scores of unit size, so that the steps do not depend on their scale.
    scale = float(np.abs(scores).max(initial=0.0)) or 1.0
    z = scores / scale
    a, b = 0.0, float(np.log((positive + 1.0) / (negative + 1.0)))
    loss = _loss(z, targets, a, b)
    for _ in range(STEPS):
        p = sigmoid(a * z + b)
        slope = np.array([np.sum((p - targets) * z), np.sum(p - targets)])
        weight = p * (1.0 - p)
        cross = np.sum(weight * z)
        first, last = np.sum(weight * z * z) + 1e-12, np.sum(weight) + 1e-12
        # By elimination, in a fixed order: a library's order differs between machines.
        ratio = cross / first
        second = (ratio * slope[0] - slope[1]) / (last - ratio * cross)
        step = np.array([(-slope[0] - cross * second) / first, second])
        decrease = -float(slope[0] * step[0] + slope[1] * step[1])
        if 0 <= decrease <= EXACT * loss:
            # The loss no longer shows such a step, but each one still squares the error.
            a, b = a + float(step[0]), b + float(step[1])
            if decrease <= EXACT**2 * loss:
                break
            loss = _loss(z, targets, a, b)
            continue
        rate = 1.0
        while rate > 1e-10:
            next_a, next_b = a + rate * float(step[0]), b + rate * float(step[1])
            next_loss = _loss(z, targets, next_a, next_b)
            if next_loss < loss - 1e-4 * rate * decrease:
                break
            rate /= 2.0
        else:
            break
        a, b, loss = next_a, next_b, next_loss
    return a / scale, b


def sigmoid(x: Floats) -> Floats:
    """σ(x), without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


def _loss(z: Floats, targets: Floats, a: float, b: float) -> float:
    x = a * z + b
    return float(np.sum(np.logaddexp(0.0, x) - targets * x))
