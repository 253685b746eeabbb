"""Conjugate gradients.

The optimum of the quadratic loss solves a linear system, for which conjugate gradients need one pair of products Xᵀd an
iteration (M. R. Hestenes, E. Stiefel, 1952). The preconditioner is block Jacobi: each party inverts its own block of the
Hessian, in clear and alone, so that only the blocks between the parties cost iterations. The labels enter the first product
only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ciphermill._hetero.messages import Program
from ciphermill._hetero.numbers import part_bits
from ciphermill._hetero.party import Preconditioner, dot
from ciphermill._hetero.solver import Solver, State


class ConjugateGradients(Solver):
    """Conjugate gradients over all rows. The norm of the gradient is that of the preconditioner."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        with self.report.step("precondition"):
            self._preconditioner = Preconditioner(self.party)

    def start(self) -> Program[State]:
        gradient = yield from self.gradient(-0.5 * self.labels, 0, part_bits(self.scalars.parties))
        # No ciphertext of labels stays under a key that answers further products.
        yield from self.exchange.rekey()
        residual = -gradient
        direction = self._preconditioner(residual)
        rho = yield from self.scalars.total("norm", dot(residual, direction))
        vectors = {"weights": np.zeros_like(residual), "residual": residual, "direction": direction}
        return State(vectors, rho, rho, products=1, losses=[math.log(2.0)])

    def iterate(self, state: State) -> Program[None]:
        party, vectors = self.party, state.vectors
        with self.report.step("local"):
            part = 0.25 * party.scores(vectors["direction"])
        gradient = yield from self.gradient(part, 0)
        state.products += 1
        with self.report.step("local"):
            image = gradient + party.penalties * vectors["direction"]
            own = dot(vectors["direction"], image)
        curvature = yield from self.scalars.total("curvature", own)
        if not curvature > 0.0:
            # Rounding allows no smaller gradient.
            state.stalled = True
            return
        with self.report.step("local"):
            step = state.rho / curvature
            # Along a conjugate direction the quadratic falls by half of the step times the residual's norm.
            state.losses.append(state.losses[-1] - 0.5 * step * state.rho)
            vectors["weights"] = vectors["weights"] + step * vectors["direction"]
            vectors["residual"] = vectors["residual"] - step * image
            preconditioned = self._preconditioner(vectors["residual"])
            own = dot(vectors["residual"], preconditioned)
        following = yield from self.scalars.total("norm", own)
        vectors["direction"] = preconditioned + (following / state.rho) * vectors["direction"]
        state.advance(following)
