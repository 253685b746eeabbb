"""Pictures of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ciphermill._hetero.report import Report


def draw(report: Report, axes: Any = None) -> Any:
    """The relative gradient by iteration, and the seconds by step, on two axes of matplotlib."""
    import matplotlib.pyplot as plt

    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    residuals, seconds = axes
    residuals.semilogy(range(1, len(report.residuals) + 1), report.residuals)
    residuals.set_xlabel("iteration")
    residuals.set_ylabel("relative gradient")
    steps = sorted(report.seconds, key=lambda step: report.seconds[step])
    seconds.barh(steps, [report.seconds[step] for step in steps])
    seconds.set_xlabel("seconds")
    return axes
