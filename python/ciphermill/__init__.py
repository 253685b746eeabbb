"""Computation on encrypted data: NumPy in, NumPy out.

import ciphermill as cm

plan = cm.MatVecPlan(1024, 256)                     # both sides
client = plan.keygen()                              # the owner of the vector
A = plan.server(client.evaluation).prepare(array)   # the owner of the matrix
u = client.decrypt(A @ client.encrypt(x))           # exact
"""

from ciphermill import device, errors, paillier, tfhe
from ciphermill._native import (
    BfvPublicKey,
    BfvSecretKey,
    Conv2dClient,
    Conv2dPlan,
    EncryptedConvolution,
    EncryptedImage,
    EncryptedProduct,
    EncryptedVector,
    EvaluationKeys,
    MaskedProduct,
    MatVecClient,
    MatVecPlan,
    MatVecServer,
    PreparedKernels,
    PreparedMatrix,
    __version__,
    reconstruct,
    set_threads,
    threads,
)
from ciphermill._plans import Explanation
from ciphermill.errors import (
    CiphermillError,
    ClosedError,
    DeviceError,
    DtypeError,
    ForkError,
    KeyMismatchError,
    MemoryLimitError,
    ParameterError,
    PeerError,
    RangeError,
    SecretError,
    WireError,
)

__all__ = [
    "BfvPublicKey",
    "BfvSecretKey",
    "CiphermillError",
    "ClosedError",
    "Conv2dClient",
    "Conv2dPlan",
    "DeviceError",
    "DtypeError",
    "EncryptedConvolution",
    "EncryptedImage",
    "EncryptedProduct",
    "EncryptedVector",
    "EvaluationKeys",
    "Explanation",
    "ForkError",
    "KeyMismatchError",
    "MaskedProduct",
    "MatVecClient",
    "MatVecPlan",
    "MatVecServer",
    "MemoryLimitError",
    "ParameterError",
    "PeerError",
    "PreparedKernels",
    "PreparedMatrix",
    "RangeError",
    "SecretError",
    "WireError",
    "__version__",
    "device",
    "errors",
    "paillier",
    "reconstruct",
    "set_threads",
    "tfhe",
    "threads",
]
