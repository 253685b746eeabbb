"""Conjugate gradients for the quadratic loss, over the columns of two parties.

The loss of a sample is ln 2 − sz/2 + z²/8 with the label s = ±1 and the score z (S. Hardy et al., "Private federated learning
on vertically partitioned data", 2017). Its gradient is Xᵀd/m + λw with d = z/4 − s/2. The optimum solves a linear system, for
which conjugate gradients need one pair of products Xᵀd an iteration (M. R. Hestenes, E. Stiefel, 1952). The preconditioner is
block Jacobi: each party inverts its own block of the Hessian, in clear and alone, so that only the blocks between the parties
cost iterations. The labels enter the first product only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ciphermill._hetero.exchange import Exchange
from ciphermill._hetero.numbers import Floats, encode_half, exponent_of
from ciphermill._hetero.party import Party, dot
from ciphermill._hetero.report import Report

#: The exponent of d in the first product: ±1/2 is ±2^17.
LABEL_EXPONENT = 18


@dataclass
class _State:
    """A party's vectors."""

    weights: Floats
    residual: Floats
    direction: Floats


def solve(
    parties: tuple[Party, Party], labels: Floats, exchange: Exchange, report: Report, *, tol: float, max_iter: int
) -> tuple[Floats, Floats]:
    """The weights of both parties. The first party owns `labels`, ±1.

    Ends at a relative norm of the gradient of `tol`, in the norm of the preconditioner, or after `max_iter` iterations.
    """
    nothing = np.zeros(len(labels), np.int64)
    halves = (encode_half(-0.5 * labels, LABEL_EXPONENT), nothing)
    gradients = _products(parties, halves, LABEL_EXPONENT, exchange, report)
    # No ciphertext of labels stays under a key that answers further products.
    exchange.rekey()
    states = []
    for party, gradient in zip(parties, gradients, strict=True):
        residual = -gradient
        states.append(_State(np.zeros_like(residual), residual, party.precondition(residual)))
    rho = first = sum(dot(state.residual, state.direction) for state in states)
    report.losses.append(math.log(2.0))
    for _ in range(max_iter):
        if rho <= tol * tol * first:
            report.converged = True
            break
        with report.step("local"):
            scores = [0.25 * party.scores(state.direction) for party, state in zip(parties, states, strict=True)]
            exponent = min(exponent_of(score) for score in scores)
            first_half, second_half = (encode_half(score, exponent) for score in scores)
        gradients = _products(parties, (first_half, second_half), exponent, exchange, report)
        with report.step("local"):
            images = [
                gradient + party.penalties * state.direction
                for party, state, gradient in zip(parties, states, gradients, strict=True)
            ]
            curvature = sum(dot(state.direction, image) for state, image in zip(states, images, strict=True))
            if not curvature > 0.0:
                # Rounding has used up the tolerance that was asked for.
                break
            step = rho / curvature
            # Along a conjugate direction the quadratic falls by half of the step times the residual's norm.
            report.losses.append(report.losses[-1] - 0.5 * step * rho)
            for state, image in zip(states, images, strict=True):
                state.weights += step * state.direction
                state.residual -= step * image
            steps = [party.precondition(state.residual) for party, state in zip(parties, states, strict=True)]
            following = sum(dot(state.residual, own) for state, own in zip(states, steps, strict=True))
            for state, own in zip(states, steps, strict=True):
                state.direction = own + (following / rho) * state.direction
            rho = following
            report.residuals.append(math.sqrt(max(rho, 0.0) / first) if first > 0 else 0.0)
    else:
        report.converged = rho <= tol * tol * first
    return states[0].weights, states[1].weights


def _products(
    parties: tuple[Party, Party],
    halves: tuple[np.ndarray, np.ndarray],
    exponent: int,
    exchange: Exchange,
    report: Report,
) -> list[Floats]:
    sums = exchange.products(halves)
    report.products += 1
    return [party.gradient(integers, exponent) for party, integers in zip(parties, sums, strict=True)]
