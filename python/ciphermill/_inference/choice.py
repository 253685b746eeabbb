"""The choice of the form of a layer by estimated time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ciphermill._inference.forms import ConvolutionForm, Form, MatrixForm, Problem
from ciphermill.errors import CiphermillError

# Measured on one core of a Zen 5 CPU with AVX-512. They rank candidates on every machine; only their ratio matters.
#: Microseconds of a call, for each of encryption, product and decryption.
CALL_US = 15.0
#: Microseconds of encrypting, of multiplying and of decrypting, for each byte of a ciphertext of two polynomials.
ENCRYPT_BYTE_US, MULTIPLY_BYTE_US, DECRYPT_BYTE_US = 2.5e-3, 0.2e-3, 0.25e-3
#: Microseconds of a product of a prepared plaintext and a ciphertext.
PRODUCT_US = 0.7

#: The time of a matrix-vector product as a multiple of the estimate of its plan, which counts kernels alone.
MATRIX_FACTOR = 2.0
#: Microseconds of sending a byte, by a network of 8 Gbit/s. It decides between forms of nearly equal time.
SEND_BYTE_US = 1e-3

#: The most samples that share ciphertexts.
MAX_LANES = 256

#: A candidate whose estimate is within this factor of the least counts as equal; of equals, the most lanes win.
EQUAL = 1.05

#: Sizes up to which an alternative is tried: coefficients of the plaintexts of kernels, entries of the matrix of a convolution.
MAX_COEFFICIENTS, MAX_MATRIX = 1 << 22, 1 << 22


@dataclass(frozen=True)
class Candidate:
    """A form, and its estimated microseconds for a batch: client and server on one thread, and sending."""

    form: Form
    microseconds: float
    #: Bytes of the ciphertexts of one group of samples, from the client and back.
    sent: int
    returned: int


def convolution(form: ConvolutionForm, batch: int) -> Candidate:
    """The candidate with a `Conv2dPlan`."""
    facts = form.facts
    inputs, outputs = int(facts["image_bytes"]), int(facts["output_bytes"])
    group = (
        3 * CALL_US
        + ENCRYPT_BYTE_US * inputs
        + MULTIPLY_BYTE_US * (inputs + outputs)
        + PRODUCT_US * facts["plain_products"]
        + DECRYPT_BYTE_US * outputs
        + SEND_BYTE_US * (inputs + outputs)
    )
    return Candidate(form, -(-batch // form.lanes) * group, inputs, outputs)


def matrix(problem: Problem, batch: int) -> Candidate:
    """The candidate with a `MatVecPlan`."""
    form = MatrixForm(problem)
    facts = form.facts
    sent, returned = int(facts["vector_bytes"]), int(facts["product_bytes"])
    # A vector is sent as one polynomial and the seed of the other.
    each = (
        2 * ENCRYPT_BYTE_US * sent
        + MATRIX_FACTOR * facts["estimated_us"]
        + (MULTIPLY_BYTE_US + DECRYPT_BYTE_US) * returned
        + SEND_BYTE_US * (sent + returned)
    )
    return Candidate(form, 3 * CALL_US + batch * each, sent, returned)


def candidates(problem: Problem, batch: int) -> list[Candidate]:
    """All forms that are worth an estimate. Raises the plan's error if there is none."""
    found: list[Candidate] = []
    refusals: list[CiphermillError] = []
    geometry = problem.geometry
    entries = math.prod(geometry.output) * (math.prod(geometry.image) + problem.entries)
    # Without padding, a kernel of the image's size gives a dense layer. Its matrix is as large as its kernels.
    if (geometry.kernels[1:] == geometry.image[1:] and math.prod(geometry.output[1:]) == 1) or entries <= MAX_MATRIX:
        try:
            found.append(matrix(problem, batch))
        except CiphermillError as error:
            refusals.append(error)
    lanes = 1
    while lanes <= MAX_LANES:
        try:
            form = ConvolutionForm(problem, lanes)
        except CiphermillError as error:
            refusals.append(error)
            break
        if found and form.coefficients > MAX_COEFFICIENTS:
            break
        found.append(convolution(form, batch))
        # More lanes than samples are of use only while they are free.
        if lanes >= batch and found[-1].microseconds > EQUAL * min(each.microseconds for each in found):
            break
        lanes *= 2
    if not found:
        raise refusals[0]
    return found


def choose(problem: Problem, batch: int) -> tuple[Form, list[Candidate]]:
    """The form of least estimated time for `batch` samples, and all candidates, the best first."""
    found = sorted(candidates(problem, batch), key=lambda candidate: candidate.microseconds)
    equal = [candidate for candidate in found if candidate.microseconds <= EQUAL * found[0].microseconds]
    return max(equal, key=lambda candidate: candidate.form.lanes).form, found
