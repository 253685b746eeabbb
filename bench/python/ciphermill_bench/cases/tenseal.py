"""Products with an encrypted vector, compared with TenSEAL's `matmul` of CKKS."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import tenseal as ts

from ciphermill_bench.cases import Settings
from ciphermill_bench.cases.product import Product, plan_params
from ciphermill_bench.harness import Timed
from ciphermill_bench.record import Case, Peer, Report

ROWS, COLS = 1024, 256

#: The fastest set whose rounded results are right: N = 4096, and scales of 2^30 or less, err by more than 1/2.
POLYNOMIAL_SIZE = 8192
CHAIN = [60, 40, 60]
SCALE_BITS = 40

NOTE = (
    "both matrices are plain and prepared as far as the API allows: TenSEAL encodes the diagonals in each call. "
    "BFV's results are exact integers, those of CKKS approximate; TenSEAL rotates by Galois keys of all powers of two, ours has "
    "keys for the rotations of its plan only"
)


class Matmul(Timed):
    """`CKKSVector.matmul` with a plain matrix, on one thread."""

    name = "tenseal"

    def __init__(self, matrix: npt.NDArray[np.int64], vectors: npt.NDArray[np.int64]) -> None:
        super().__init__()
        self.context = ts.context(ts.SCHEME_TYPE.CKKS, POLYNOMIAL_SIZE, coeff_mod_bit_sizes=CHAIN, n_threads=1)
        self.context.global_scale = 2.0**SCALE_BITS
        self.context.generate_galois_keys()
        self._matrix = ts.plain_tensor(matrix.T.astype(float).tolist())
        self.vectors = [ts.ckks_vector(self.context, vector.astype(float).tolist()) for vector in vectors]
        self._expected = [matrix @ vector for vector in vectors]
        self._turn = 0
        self.product: ts.CKKSVector = None
        #: The greatest error of any result so far.
        self.error = 0.0

    def prepare(self, turn: int) -> None:
        self._turn = turn % len(self.vectors)

    def run(self) -> None:
        self.product = self.vectors[self._turn].matmul(self._matrix)

    def correct(self) -> bool:
        found, expected = np.array(self.product.decrypt()), self._expected[self._turn]
        self.error = max(self.error, float(np.abs(found - expected).max()))
        return np.array_equal(np.rint(found), expected)

    @property
    def keys_bytes(self) -> int:
        """Bytes of the Galois keys, as sent."""
        return len(
            self.context.serialize(
                save_public_key=False, save_secret_key=False, save_galois_keys=True, save_relin_keys=False
            )
        )


def run(settings: Settings, report: Report) -> None:
    """One size: TenSEAL takes a time that grows with the number of columns."""
    name = f"ckks/{ROWS}x{COLS}"
    if not settings.takes(name):
        return
    rng = np.random.default_rng(2)
    matrix, vectors = rng.integers(-128, 128, (ROWS, COLS)), rng.integers(-128, 128, (4, COLS))
    ours, theirs = Product(matrix, vectors), Matmul(matrix, vectors)
    stats = settings.measure(name, [ours, theirs], 30, 9, 20.0)
    params = {
        **plan_params(ours.plan),
        "peer_polynomial_size": POLYNOMIAL_SIZE,
        "peer_chain_bits": CHAIN,
        "peer_scale_bits": SCALE_BITS,
    }
    figures = {
        "greatest_error": 0,
        "keys_bytes": len(ours.client.evaluation.to_bytes()),
        "vector_bytes": ours.plan.explain()["vector_bytes"],
        "product_bytes": len(ours.product.to_bytes()),
        "peer_greatest_error": round(theirs.error, 6),
        "peer_keys_bytes": theirs.keys_bytes,
        "peer_vector_bytes": len(theirs.vectors[0].serialize()),
        "peer_product_bytes": len(theirs.product.serialize()),
    }
    peer = Peer.package("tenseal", "Apache-2.0")
    case = Case(name, params, settings.isa, NOTE)
    report.add(case, stats[0], peer, stats[1], asked={"median_ratio": 1000.0}, figures=figures)
