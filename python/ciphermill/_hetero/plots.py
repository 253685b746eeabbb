"""Pictures of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ciphermill.errors import ParameterError

if TYPE_CHECKING:
    from ciphermill._hetero.report import Report

#: Axes of one report: loss, gradient, leaks, time.
AXES = 4


def draw(report: Report, axes: Any = None) -> Any:
    """Four pictures on axes of matplotlib: loss, relative gradient, equations that a party learns, seconds by step.

    `axes` has four of them in any shape; by default they are made. Returns them.
    """
    import matplotlib.pyplot as plt
    import numpy as np

    if axes is None:
        _, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
    flat = np.ravel(axes)
    if len(flat) != AXES:
        raise ParameterError(f"axes has {len(flat)} entries; use {AXES}")
    losses, residuals, leaks, seconds = flat

    losses.plot(range(len(report.losses)), report.losses, marker=".")
    losses.set_xlabel("iteration")
    losses.set_ylabel("objective")

    residuals.semilogy(range(1, len(report.residuals) + 1), report.residuals, marker=".")
    residuals.set_xlabel("iteration")
    residuals.set_ylabel("relative gradient")

    parties = list(report.equations)
    # A gradient is an equation in d for each feature; no more than the samples can be independent.
    shares = [min(count / samples, 1.0) for count, samples in report.equations.values()]
    leaks.bar(parties, shares)
    leaks.axhline(1.0, linestyle="--", linewidth=1)
    leaks.set_ylim(0, 1.1)
    leaks.set_ylabel("equations learnt by sample")

    steps = sorted(report.seconds, key=lambda step: report.seconds[step])
    seconds.barh(steps, [report.seconds[step] for step in steps])
    seconds.set_xlabel("seconds")
    return axes
