"""The extension module. Import its classes from `ciphermill`."""

import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, SupportsIndex, TypeAlias, final

import numpy as np
import numpy.typing as npt

from ciphermill._plans import Explanation

__all__ = [
    "BfvPublicKey",
    "BfvSecretKey",
    "Conv2dClient",
    "Conv2dPlan",
    "Conv3dClient",
    "Conv3dPlan",
    "DeviceHandle",
    "EncryptedConv3d",
    "EncryptedConvolution",
    "EncryptedImage",
    "EncryptedProduct",
    "EncryptedSums",
    "EncryptedVector",
    "EncryptedVolume",
    "EvaluationKeys",
    "MaskedProduct",
    "MatVecClient",
    "MatVecPlan",
    "MatVecServer",
    "PaillierPacked",
    "PaillierPacking",
    "PaillierPlain",
    "PaillierPublicKey",
    "PaillierSecretKey",
    "PaillierVector",
    "PreparedKernels",
    "PreparedKernels3d",
    "PreparedMatrix",
    "PsiIds",
    "PsiParty",
    "PsiPoints",
    "SumKeyHolder",
    "SumPlan",
    "SumPublicKey",
    "TfheCiphertexts",
    "TfheClientKey",
    "TfheEvaluationKeys",
    "TfheServer",
    "TfheTable",
    "TfheWord",
    "TfheWordTable",
    "__version__",
    "assemble",
    "disassemble",
    "fixed_order_product",
    "recommended_tfhe_sets",
    "reconstruct",
    "set_threads",
    "threads",
]

# Every other contiguous bytes-like object is accepted too.
_Bytes: TypeAlias = bytes | bytearray | memoryview

__version__: str

def set_threads(threads: SupportsIndex) -> None:
    """Set the number of threads, 1 to 1024, of all later computations. The default is one thread per core.

    Raises `ParameterError` for another number.
    """

def threads() -> int:
    """The number of threads."""

def reconstruct(first: npt.ArrayLike, second: npt.ArrayLike, modulus: SupportsIndex) -> npt.NDArray[np.int64]:
    """The integers of two shares of shape (n,), which are residues modulo `modulus`, 2 to 2^62 - 1.

    Raises `DtypeError` if the elements are not integers, `RangeError` if one is not a residue, `ParameterError` for other
    shapes or different lengths.
    """

def fixed_order_product(matrix: npt.ArrayLike, vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The product of a matrix of integers and a vector in binary64, summed in one order on every machine."""

@final
class MatVecPlan:
    """The agreement between the client and the server of an encrypted matrix-vector product.

    `rows` (m) and `cols` (n) are the shape of the matrix, 1 to 16384 each. Entries of the matrix have `matrix_bits` bits
    with sign, those of vectors `vector_bits`, 2 to 32 each; 8 bits are -128 to 127. The product has exact 64-bit entries.

    `security` is 128, 192 or 256 bits. `encryption` states who encrypts vectors: the owner of the secret key ("secret",
    less noise, half the size) or anybody with the public key ("public"). `strategy` ("row-packed", "diagonal",
    "rotate-and-sum", "algorithm1") and `parameters` (the name of a set) are the planner's choice by default.
    `log2_failure` bounds the probability that any entry of a product is wrong, -64 by default. `unsplit` makes the product one integer
    modulo `plaintext_modulus`, which masking needs, and `flooding_bits` leaves room for that much flooding noise. A vector
    may be the sum of as many encrypted vectors as `summands` states, 1 to 256.
    `insecure` accepts parameter sets below 128 bits, for tests.

    Raises `ParameterError` if there is no such plan.
    """

    def __new__(
        cls,
        rows: SupportsIndex,
        cols: SupportsIndex,
        *,
        matrix_bits: SupportsIndex = 8,
        vector_bits: SupportsIndex = 8,
        security: SupportsIndex = 128,
        encryption: Literal["secret", "public"] = "secret",
        strategy: str | None = None,
        parameters: str | None = None,
        log2_failure: float = ...,
        unsplit: bool = False,
        flooding_bits: SupportsIndex = 0,
        summands: SupportsIndex = 1,
        insecure: bool = False,
    ) -> MatVecPlan: ...
    def explain(self) -> Explanation:
        """The costs of the plan and the reasons for its choices."""
    @property
    def shape(self) -> tuple[int, int]:
        """The shape (m, n) of the matrix."""
    @property
    def matrix_bits(self) -> int:
        """Bits of an entry of the matrix, with sign."""
    @property
    def vector_bits(self) -> int:
        """Bits of an entry of a vector, with sign."""
    @property
    def strategy(self) -> str:
        """The strategy."""
    @property
    def parameters(self) -> str:
        """The name of the parameter set."""
    @property
    def plaintext_modulus(self) -> int:
        """The modulus t of plaintexts."""
    @property
    def encryption(self) -> Literal["secret", "public"]:
        """Who encrypts vectors."""
    def keygen(self) -> MatVecClient:
        """Generate a key set."""
    def client(self, secret: BfvSecretKey) -> MatVecClient:
        """The client of an existing secret key; its public keys are made again.

        Raises `KeyMismatchError` if the key is of another parameter set.
        """
    def server(self, evaluation: EvaluationKeys) -> MatVecServer:
        """The server's side, with the evaluation keys of one client.

        Raises `KeyMismatchError` if the keys are of another plan.
        """
    def prepare(self, matrix: npt.ArrayLike, *, memory: SupportsIndex | None = None) -> PreparedMatrix:
        """Prepare a matrix for the servers of several clients, which share its memory: see `PreparedMatrix.for_server`.

        Raises as `MatVecServer.prepare`.
        """
    def encrypt(self, public: BfvPublicKey, values: npt.ArrayLike) -> EncryptedVector:
        """Encrypt integers of shape (n,) or (n, k) under a public key. The plan needs `encryption="public"`."""
    def assess(self) -> tuple[float, str, float | None]:
        """The guarantee of a masked product: log2 of its failure probability, the guarantee in words, and, if the matrix is
        hidden, -log2 of the statistical distance. The plan must be unsplit."""
    def to_bytes(self) -> bytes:
        """The plan as `ciphermill hmvp plan` writes it."""
    @staticmethod
    def from_bytes(data: _Bytes, *, insecure: bool = False) -> MatVecPlan:
        """Read a plan. Raises `WireError` if the bytes are not a plan."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@final
class MatVecClient:
    """The owner of a key set: encrypts vectors and decrypts products."""

    @property
    def plan(self) -> MatVecPlan:
        """The plan."""
    @property
    def secret(self) -> BfvSecretKey:
        """The secret key."""
    @property
    def public(self) -> BfvPublicKey:
        """The public key, for others who encrypt."""
    @property
    def evaluation(self) -> EvaluationKeys:
        """The evaluation keys, for the server."""
    def encrypt(self, values: npt.ArrayLike) -> EncryptedVector:
        """Encrypt integers of shape (n,), or the k columns of an array of shape (n, k).

        Raises `ParameterError` for another shape, `DtypeError` if the elements are not integers, `RangeError` if one does
        not fit `vector_bits`.
        """
    def decrypt(self, product: EncryptedProduct) -> npt.NDArray[np.int64]:
        """The entries of a product, of shape (m,) or (m, k).

        Raises `KeyMismatchError` if the product is of another key set.
        """
    def decrypt_masked(self, product: MaskedProduct) -> npt.NDArray[np.uint64]:
        """The share of a masked product that belongs to the owner of the vector: residues modulo `plaintext_modulus`."""
    def __reduce__(self) -> Any: ...

@final
class MatVecServer:
    """A server with the evaluation keys of one client. It sees neither vectors nor products."""

    @property
    def plan(self) -> MatVecPlan:
        """The plan."""
    @property
    def tag(self) -> str:
        """The key set of the client."""
    @property
    def matrix_nbytes(self) -> int:
        """The most memory that `prepare` takes, in bytes."""
    def prepare(self, matrix: npt.ArrayLike, *, memory: SupportsIndex | None = None) -> PreparedMatrix:
        """Prepare a matrix of integers for any number of products.

        The array is read in place, without a copy, whatever its strides; do not change it during the call. Raises
        `ParameterError` for another shape, `DtypeError` if the elements are not integers, `RangeError` if one does not fit
        `matrix_bits`, `MemoryLimitError` if more than `memory` bytes (8 GiB by default) would be needed.
        """
    def multiply(self, matrix: npt.ArrayLike, vector: EncryptedVector) -> EncryptedProduct:
        """The product with a matrix that is not prepared, one row tile at a time: for a matrix larger than memory."""

@final
class PreparedMatrix:
    """A matrix in the form in which it multiplies: `matrix @ vector` is the encrypted product.

    Raises `KeyMismatchError` for a vector of another plan or key set, and if the matrix is for no client.
    """

    __array_ufunc__: ClassVar[None]
    @property
    def shape(self) -> tuple[int, int]:
        """The shape (m, n)."""
    @property
    def plan(self) -> MatVecPlan:
        """The plan."""
    @property
    def tag(self) -> str | None:
        """The key set whose vectors it multiplies, `None` for a matrix of `MatVecPlan.prepare`."""
    def for_server(self, server: MatVecServer) -> PreparedMatrix:
        """The same matrix for the client of a server. The matrices of all clients share their memory.

        Raises `KeyMismatchError` if the server is of another plan.
        """
    @property
    def nbytes(self) -> int:
        """Bytes that the matrix occupies."""
    def __matmul__(self, vector: EncryptedVector, /) -> EncryptedProduct: ...
    def __rmatmul__(self, value: Any, /) -> Any: ...

@final
class EncryptedVector:
    """An encrypted vector of shape (n,), or k vectors as the columns of an array of shape (n, k)."""

    __array_ufunc__: ClassVar[None]
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
    @property
    def plan(self) -> MatVecPlan:
        """The plan."""
    @property
    def tag(self) -> str:
        """The key set."""
    def add_plain(self, values: npt.ArrayLike) -> EncryptedVector:
        """The vector plus plain integers of shape (n,). The plan must be unsplit, and the sum must fit `vector_bits`."""
    def add(self, other: EncryptedVector) -> EncryptedVector:
        """The sum with another vector of the same key set, within the plan's `summands`. A received vector counts as one. The
        sums of entries must fit `vector_bits`."""
    def columns(self) -> list[EncryptedVector]:
        """The vectors, one by one."""
    @staticmethod
    def stack(vectors: list[EncryptedVector]) -> EncryptedVector:
        """The vectors of a list as one array of shape (n, k)."""
    def to_bytes(self) -> bytes:
        """One vector as `ciphermill hmvp encrypt` writes it."""
    @staticmethod
    def from_bytes(plan: MatVecPlan, data: _Bytes) -> EncryptedVector:
        """Read a vector. Raises `WireError` if the bytes are not one, `KeyMismatchError` if it is of another plan."""
    def __reduce__(self) -> Any: ...

@final
class EncryptedProduct:
    """An encrypted product of shape (m,), or k products as the columns of an array of shape (m, k)."""

    __array_ufunc__: ClassVar[None]
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
    @property
    def plan(self) -> MatVecPlan:
        """The plan."""
    @property
    def tag(self) -> str:
        """The key set."""
    def mask(self, public: BfvPublicKey) -> tuple[MaskedProduct, npt.NDArray[np.uint64]]:
        """Mask the product for the owner of the vector, whose public key is given; re-randomise and flood it as far as the
        plan has room. Returns the masked product and the mask's share, which the owner of the matrix keeps."""
    def columns(self) -> list[EncryptedProduct]:
        """The products, one by one."""
    @staticmethod
    def stack(products: list[EncryptedProduct]) -> EncryptedProduct:
        """The products of a list as one array of shape (m, k)."""
    def to_bytes(self) -> bytes:
        """One product as `ciphermill hmvp multiply` writes it."""
    @staticmethod
    def from_bytes(plan: MatVecPlan, data: _Bytes) -> EncryptedProduct:
        """Read a product. Raises `WireError` if the bytes are not one, `KeyMismatchError` if it is of another plan."""
    def __reduce__(self) -> Any: ...

@final
class MaskedProduct:
    """A masked product on its way to the owner of the vector."""

    def to_bytes(self) -> bytes:
        """The masked product as sent."""
    @staticmethod
    def from_bytes(plan: MatVecPlan, data: _Bytes) -> MaskedProduct:
        """Read a masked product. Raises `WireError` if the bytes are not one."""
    @property
    def nbytes(self) -> int:
        """Bytes as sent."""
    @property
    def tag(self) -> str:
        """The key set."""
    def echoes(self, vector: EncryptedVector) -> bool:
        """Whether the answer has a part of a vector that was sent, in place of a product."""
    def __reduce__(self) -> Any: ...

@final
class BfvSecretKey:
    """A secret key of BFV. It is neither printed nor pickled."""

    def to_secret_bytes(self) -> bytes:
        """The key in clear, as `ciphermill hmvp keygen` writes it."""
    @staticmethod
    def from_secret_bytes(data: _Bytes, *, insecure: bool = False) -> BfvSecretKey:
        """Read a secret key. Raises `WireError` if the bytes are not one."""
    def encrypt(self, plan: MatVecPlan, values: npt.ArrayLike) -> EncryptedVector:
        """`MatVecClient.encrypt` without a client, whose evaluation keys take most of its memory.

        Raises `KeyMismatchError` too, if the key's parameters are not the plan's.
        """
    def decrypt_masked(self, product: MaskedProduct) -> npt.NDArray[np.uint64]:
        """`MatVecClient.decrypt_masked` without a client."""
    @property
    def tag(self) -> str:
        """The key set."""
    def __reduce__(self) -> Any: ...

@final
class BfvPublicKey:
    """A public key of BFV."""

    def to_bytes(self) -> bytes:
        """The key as `ciphermill hmvp keygen` writes it."""
    @staticmethod
    def from_bytes(plan: MatVecPlan, data: _Bytes) -> BfvPublicKey:
        """Read a public key. Raises `WireError` if the bytes are not one, `KeyMismatchError` if its parameters are not the plan's.

        Plans with the same parameters can share keys.
        """
    @property
    def tag(self) -> str:
        """The key set."""
    def __reduce__(self) -> Any: ...

@final
class EvaluationKeys:
    """The keys with which a server computes: they let it multiply, not decrypt."""

    def to_bytes(self) -> bytes:
        """The keys as `ciphermill hmvp keygen` writes them."""
    @staticmethod
    def from_bytes(plan: MatVecPlan, data: _Bytes) -> EvaluationKeys:
        """Read evaluation keys. Raises `WireError` if the bytes are not evaluation keys, `KeyMismatchError` if their parameters
        are not the plan's or a key is missing that the plan needs.
        """
    @property
    def tag(self) -> str:
        """The key set."""
    def __reduce__(self) -> Any: ...

@final
class Conv2dPlan:
    """The agreement between the client and the server of a convolution of an encrypted image with plain kernels.

    `image` is the shape (C, H, W), `kernels` their number and size (M, h, w). Entries of kernels have `kernel_bits` bits with
    sign, those of images `image_bits`. The image is padded with zeros on all sides. Outputs are exact; any is wrong with a
    probability of at most 2^-64.

    Raises `RangeError` for sizes out of range, `ParameterError` if there is no plan.
    """

    def __new__(
        cls,
        image: tuple[SupportsIndex, SupportsIndex, SupportsIndex],
        kernels: tuple[SupportsIndex, SupportsIndex, SupportsIndex],
        *,
        stride: SupportsIndex = 1,
        padding: SupportsIndex = 0,
        kernel_bits: SupportsIndex = 8,
        image_bits: SupportsIndex = 8,
    ) -> Conv2dPlan: ...
    @property
    def image_shape(self) -> tuple[int, int, int]:
        """The shape (C, H, W) of an image."""
    @property
    def kernels_shape(self) -> tuple[int, int, int, int]:
        """The shape (M, C, h, w) of the kernels."""
    @property
    def output_shape(self) -> tuple[int, int, int]:
        """The shape (M, H', W') of the output."""
    @property
    def log2_failure(self) -> float:
        """log2 of the estimated probability that any entry of an output is wrong, for independent Gaussian noise."""
    def explain(self) -> Explanation:
        """The costs of the plan: parameters, noise, failure probability, and the bytes of all objects, in memory and as sent.

        `kernels_bytes` is the memory that `prepare` takes, `key_bytes` that of `keygen`, `image_memory` and `output_memory`
        those of an encrypted image and output.
        """
    def keygen(self) -> Conv2dClient:
        """Generate a secret key. The server needs no key."""
    def prepare(self, kernels: npt.ArrayLike) -> PreparedKernels:
        """Prepare kernels of shape (M, C, h, w) for any number of images."""

@final
class Conv2dClient:
    """The owner of a secret key: encrypts images and decrypts outputs."""

    @property
    def tag(self) -> str:
        """The name of the key set, which all its objects carry: 16 hexadecimal digits. It is not secret."""
    def encrypt(self, image: npt.ArrayLike) -> EncryptedImage:
        """Encrypt integers of shape (C, H, W)."""
    def decrypt(self, output: EncryptedConvolution) -> npt.NDArray[np.int64]:
        """The output, of shape (M, H', W'). Raises `KeyMismatchError` if it is of another key set or plan."""
    def __reduce__(self) -> Any: ...

@final
class PreparedKernels:
    """Kernels in the form in which they multiply. `kernels @ image` is the encrypted convolution."""

    @property
    def tag(self) -> str | None:
        """The key set whose images they multiply, or `None` for the images of every key set."""
    @property
    def nbytes(self) -> int:
        """Bytes that the kernels occupy."""
    def for_key_set(self, tag: str) -> PreparedKernels:
        """The same kernels for the images of one key set, which the `tag` of its client names. The memory is shared.

        A server that knows its clients uses them, so that a ciphertext under another key is refused. A tag detects mix-ups; it
        does not authenticate. Raises `ParameterError` if `tag` is not 16 hexadecimal digits.
        """
    def convolve(self, image: EncryptedImage) -> EncryptedConvolution:
        """The convolution of an encrypted image with all kernels.

        Raises `KeyMismatchError` for an image of another plan, or of another key set than `for_key_set` names.
        """
    def __matmul__(self, image: EncryptedImage, /) -> EncryptedConvolution: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...

@final
class EncryptedImage:
    """An encrypted image."""

    @property
    def tag(self) -> str:
        """The key set."""
    def to_bytes(self) -> list[bytes]:
        """The bytes of each ciphertext."""
    @staticmethod
    def from_bytes(plan: Conv2dPlan, ciphertexts: Sequence[_Bytes]) -> EncryptedImage:
        """Read an image. Raises `WireError` if the bytes are not ciphertexts."""

@final
class EncryptedConvolution:
    """An encrypted convolution."""

    @property
    def tag(self) -> str:
        """The key set."""
    def to_bytes(self) -> list[bytes]:
        """The bytes of each ciphertext."""
    @staticmethod
    def from_bytes(plan: Conv2dPlan, ciphertexts: Sequence[_Bytes]) -> EncryptedConvolution:
        """Read a convolution. Raises `WireError` if the bytes are not ciphertexts."""

@final
class Conv3dPlan:
    """The agreement between the client and the server of a three-dimensional convolution of an encrypted image.

    `image` is the shape (C, D, H, W), `kernels` their number and size (M, d, h, w). Each slice of the image is encrypted once.
    `stride` and `padding` hold along all three axes; `depth_stride` and `depth_padding` replace them along the depth. Entries of
    kernels have `kernel_bits` bits with sign, those of images `image_bits`. Outputs are exact; any is wrong with a probability of
    at most 2^-64.

    Raises `RangeError` for sizes out of range, `ParameterError` if there is no plan.
    """

    def __new__(
        cls,
        image: tuple[SupportsIndex, SupportsIndex, SupportsIndex, SupportsIndex],
        kernels: tuple[SupportsIndex, SupportsIndex, SupportsIndex, SupportsIndex],
        *,
        stride: SupportsIndex = 1,
        padding: SupportsIndex = 0,
        depth_stride: SupportsIndex | None = None,
        depth_padding: SupportsIndex | None = None,
        kernel_bits: SupportsIndex = 8,
        image_bits: SupportsIndex = 8,
    ) -> Conv3dPlan: ...
    @property
    def image_shape(self) -> tuple[int, int, int, int]:
        """The shape (C, D, H, W) of an image."""
    @property
    def kernels_shape(self) -> tuple[int, int, int, int, int]:
        """The shape (M, C, d, h, w) of the kernels."""
    @property
    def output_shape(self) -> tuple[int, int, int, int]:
        """The shape (M, D', H', W') of the output."""
    @property
    def log2_failure(self) -> float:
        """log2 of the estimated probability that any entry of an output is wrong, for independent Gaussian noise."""
    def explain(self) -> Explanation:
        """The costs of the plan: parameters, noise, failure probability, and the bytes of all objects, in memory and as sent.

        `kernels_bytes` is the memory that `prepare` takes, `key_bytes` that of `keygen`, `image_memory` and `output_memory`
        those of an encrypted image and output.
        """
    def keygen(self) -> Conv3dClient:
        """Generate a secret key. The server needs no key."""
    def prepare(self, kernels: npt.ArrayLike) -> PreparedKernels3d:
        """Prepare kernels of shape (M, C, d, h, w) for any number of images."""

@final
class Conv3dClient:
    """The owner of a secret key: encrypts images and decrypts outputs."""

    @property
    def tag(self) -> str:
        """The name of the key set, which all its objects carry: 16 hexadecimal digits. It is not secret."""
    def encrypt(self, image: npt.ArrayLike) -> EncryptedVolume:
        """Encrypt integers of shape (C, D, H, W)."""
    def decrypt(self, output: EncryptedConv3d) -> npt.NDArray[np.int64]:
        """The output, of shape (M, D', H', W'). Raises `KeyMismatchError` if it is of another key set or plan."""
    def __reduce__(self) -> Any: ...

@final
class PreparedKernels3d:
    """Kernels in the form in which they multiply. `kernels @ image` is the encrypted convolution."""

    @property
    def tag(self) -> str | None:
        """The key set whose images they multiply, or `None` for the images of every key set."""
    @property
    def nbytes(self) -> int:
        """Bytes that the kernels occupy."""
    def for_key_set(self, tag: str) -> PreparedKernels3d:
        """The same kernels for the images of one key set, which the `tag` of its client names. The memory is shared.

        A server that knows its clients uses them, so that a ciphertext under another key is refused. A tag detects mix-ups; it
        does not authenticate. Raises `ParameterError` if `tag` is not 16 hexadecimal digits.
        """
    def convolve(self, image: EncryptedVolume) -> EncryptedConv3d:
        """The convolution of an encrypted image with all kernels.

        Raises `KeyMismatchError` for an image of another plan, or of another key set than `for_key_set` names.
        """
    def __matmul__(self, image: EncryptedVolume, /) -> EncryptedConv3d: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...

@final
class EncryptedVolume:
    """An encrypted image of three dimensions."""

    @property
    def tag(self) -> str:
        """The key set."""
    def to_bytes(self) -> list[bytes]:
        """The bytes of each ciphertext."""
    @staticmethod
    def from_bytes(plan: Conv3dPlan, ciphertexts: Sequence[_Bytes]) -> EncryptedVolume:
        """Read an image. Raises `WireError` if the bytes are not ciphertexts."""

@final
class EncryptedConv3d:
    """An encrypted convolution of three dimensions."""

    @property
    def tag(self) -> str:
        """The key set."""
    def to_bytes(self) -> list[bytes]:
        """The bytes of each ciphertext."""
    @staticmethod
    def from_bytes(plan: Conv3dPlan, ciphertexts: Sequence[_Bytes]) -> EncryptedConv3d:
        """Read a convolution. Raises `WireError` if the bytes are not ciphertexts."""

# Sums of several parties; `ciphermill.statistics` gives them a meaning.

@final
class SumPlan:
    """The agreement between parties, an aggregator and a key holder on sums of encrypted vectors.

    `segments` has the length of each segment of the vector, and the bound B of its values, which are integers of [-B, B].
    `parties` is the greatest number of contributions, 1 to 65536. There are at most 64 segments and 2^24 values, and parties
    times B is at most 2^126. `label`, 32 bytes, names the meaning of the values: objects of plans with other labels do not mix.
    `security` is 128, 192 or 256 bits. `log2_failure` bounds the estimated probability that any total is wrong.

    Raises `RangeError` for sizes and bounds out of range, `ParameterError` if there is no plan.
    """

    def __new__(
        cls,
        segments: list[tuple[int, int]],
        parties: SupportsIndex,
        *,
        label: _Bytes | None = None,
        security: SupportsIndex = 128,
        log2_failure: float = ...,
    ) -> SumPlan: ...
    @property
    def segments(self) -> list[tuple[int, int]]:
        """The length and the bound of each segment."""
    @property
    def parties(self) -> int:
        """The greatest number of contributions."""
    @property
    def label(self) -> bytes:
        """The label."""
    @property
    def parameters(self) -> str:
        """The name of the parameter set."""
    @property
    def ciphertexts(self) -> int:
        """The number of ciphertexts of a contribution, and of a sum."""
    @property
    def sums_bytes(self) -> int:
        """The bytes of a contribution, and of a sum."""
    @property
    def log2_failure(self) -> float:
        """log2 of the estimated probability that any total is wrong, with contributions of all parties.

        The estimate is for independent Gaussian noise and not a bound: read values below -128 as negligible.
        """
    def explain(self) -> Explanation:
        """The costs of the plan: parameters, noise, failure probability, and bytes, in memory and as sent.

        `sums_memory` is the memory of a contribution or a sum, `key_bytes` that of the keys.
        """
    def keygen(self) -> SumKeyHolder:
        """Generate a key set."""
    def key_holder(self, secret: _Bytes) -> SumKeyHolder:
        """The holder of an existing secret key, from its `to_secret_bytes`; the public key is made again.

        Raises `WireError` for other bytes, `KeyMismatchError` for a key of another parameter set.
        """
    def to_bytes(self) -> bytes:
        """The sealed plan."""
    @staticmethod
    def from_bytes(data: _Bytes) -> SumPlan:
        """Read a sealed plan. Raises `WireError` if the bytes are not one."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@final
class SumKeyHolder:
    """The owner of a secret key: decrypts totals. It must not see single contributions."""

    @property
    def plan(self) -> SumPlan:
        """The plan."""
    @property
    def public(self) -> SumPublicKey:
        """The key under which parties encrypt."""
    @property
    def tag(self) -> str:
        """The name that all objects of this key set carry."""
    def decrypt(self, sums: EncryptedSums) -> list[npt.NDArray[Any]]:
        """The totals of each segment: 64-bit integers, or Python's integers where totals may be beyond.

        Raises `KeyMismatchError` for sums of another key set or plan, `RangeError` or `ParameterError` for totals that
        contributions of the plan cannot have.
        """
    def to_secret_bytes(self) -> bytes:
        """The secret key in clear."""
    def __reduce__(self) -> Any: ...

@final
class SumPublicKey:
    """The key under which parties encrypt."""

    @property
    def plan(self) -> SumPlan:
        """The plan."""
    @property
    def tag(self) -> str:
        """The name that all objects of this key set carry."""
    def encrypt(self, values: Sequence[npt.ArrayLike]) -> EncryptedSums:
        """Encrypt a contribution: for each segment a vector of integers, of Python's if they are beyond 64 bits.

        Raises `ParameterError` for other lengths, `DtypeError` for values that are not integers, `RangeError` for values beyond
        their bound.
        """
    def to_bytes(self) -> bytes:
        """The sealed key, with its plan."""
    @staticmethod
    def from_bytes(plan: SumPlan, data: _Bytes) -> SumPublicKey:
        """Read a key. Raises `WireError` if the bytes are not one, `KeyMismatchError` if it is of another plan."""
    def __reduce__(self) -> Any: ...

@final
class EncryptedSums:
    """An encrypted contribution, or the sum of several. `+` adds them."""

    @property
    def plan(self) -> SumPlan:
        """The plan."""
    @property
    def tag(self) -> str:
        """The name that all objects of the key set carry."""
    @property
    def contributions(self) -> int:
        """The number of contributions, as declared by their senders."""
    def __add__(self, other: EncryptedSums, /) -> EncryptedSums:
        """The sum. Each contribution must be encrypted separately: a ciphertext that is added twice has too much noise.

        Raises `KeyMismatchError` for another plan or key set, `RangeError` for more contributions than the plan has parties.
        """
    def __radd__(self, other: EncryptedSums, /) -> EncryptedSums: ...
    def to_bytes(self) -> bytes:
        """The sealed sum."""
    @staticmethod
    def from_bytes(plan: SumPlan, data: _Bytes) -> EncryptedSums:
        """Read a sum. Raises `WireError` if the bytes are not one, `KeyMismatchError` if it is of another plan."""
    def __reduce__(self) -> Any: ...

# Private set intersection: `ciphermill.federated` adds the messages.

@final
class PsiIds:
    """The ids of a party: 1 to 2^24 distinct byte strings of 1 to 256 bytes. Rows are counted from 0.

    Raises `DtypeError` for objects other than bytes, `ParameterError` for another number or length, and for a repeated id. The
    messages name rows, never ids.
    """

    def __new__(cls, ids: Sequence[_Bytes]) -> PsiIds: ...
    def __len__(self) -> int: ...
    def blind(self) -> PsiParty:
        """A party of a new run, with a fresh secret scalar."""
    def sort(self, rows: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Rows of shape (k,) in ascending order of their ids, bytewise. Raises `RangeError` for a row that does not exist."""

@final
class PsiParty:
    """A party in one run with one other party: its secret scalar, and the points of its ids in a random order."""

    @property
    def points(self) -> PsiPoints:
        """The points, for the other party."""
    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The row of each point. The other party must not learn it."""
    def raise_points(self, points: PsiPoints) -> PsiPoints:
        """The points of the other party times the scalar, in the same order. The scalar is then erased.

        Raises `ParameterError` for a second call.
        """
    def __reduce__(self) -> Any: ...

@final
class PsiPoints:
    """Distinct elements of ristretto255 other than the identity."""

    @staticmethod
    def from_bytes(data: _Bytes, count: SupportsIndex) -> PsiPoints:
        """Read `count` points of 32 bytes. Raises `WireError` if the bytes are not their canonical encodings, for the identity
        and for a repeated point, `ParameterError` for another count than 1 to 2^24."""
    def to_bytes(self) -> bytes:
        """The encodings of 32 bytes each."""
    def common(self, other: PsiPoints) -> npt.NDArray[np.int64]:
        """The places of equal points, here and in the other list: an array of shape (k, 2)."""
    def __len__(self) -> int: ...

# Paillier: vectors are flat; `ciphermill.paillier` adds shapes.

@final
class PaillierPublicKey:
    @staticmethod
    def from_modulus(n: int, *, insecure: bool = False) -> PaillierPublicKey: ...
    @staticmethod
    def from_bytes(data: _Bytes, *, insecure: bool = False) -> PaillierPublicKey: ...
    def to_bytes(self) -> bytes: ...
    @property
    def n(self) -> int: ...
    @property
    def bits(self) -> int: ...
    @property
    def max_plaintext(self) -> int: ...
    @property
    def tag(self) -> str: ...
    def encrypt(self, plain: PaillierPlain, *, strict: bool = False) -> PaillierVector: ...
    def pack(self, packing: PaillierPacking, values: npt.ArrayLike, *, strict: bool = False) -> PaillierPacked: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@final
class PaillierSecretKey:
    @staticmethod
    def generate(bits: SupportsIndex, *, insecure: bool = False) -> PaillierSecretKey: ...
    @staticmethod
    def from_primes(p: int, q: int, *, insecure: bool = False) -> PaillierSecretKey: ...
    @staticmethod
    def from_secret_bytes(data: _Bytes, *, insecure: bool = False) -> PaillierSecretKey: ...
    def to_secret_bytes(self) -> bytes: ...
    @property
    def public(self) -> PaillierPublicKey: ...
    @property
    def tag(self) -> str: ...
    def encrypt(self, plain: PaillierPlain, *, strict: bool = False) -> PaillierVector: ...
    def decrypt(self, vector: PaillierVector, *, exact: bool = False) -> npt.NDArray[Any] | list[int]: ...
    def unpack(self, packed: PaillierPacked) -> npt.NDArray[np.int64] | list[int]: ...
    def __reduce__(self) -> Any: ...

@final
class PaillierPlain:
    @staticmethod
    def from_floats(
        values: npt.NDArray[np.float64], integer_bits: SupportsIndex, fraction_bits: SupportsIndex
    ) -> PaillierPlain: ...
    @staticmethod
    def from_integers(
        values: npt.ArrayLike, integer_bits: SupportsIndex, fraction_bits: SupportsIndex
    ) -> PaillierPlain: ...
    @staticmethod
    def from_ratios(
        values: list[tuple[int, int]], integer_bits: SupportsIndex, fraction_bits: SupportsIndex
    ) -> PaillierPlain: ...
    def gather(self, places: npt.ArrayLike) -> PaillierPlain: ...
    def __len__(self) -> int: ...
    @property
    def fraction_bits(self) -> int: ...

@final
class PaillierVector:
    @staticmethod
    def from_ciphertexts(
        key: PaillierPublicKey, ciphertexts: list[int], fraction_bits: SupportsIndex, bound: int
    ) -> PaillierVector: ...
    def ciphertexts(self) -> list[int]: ...
    @staticmethod
    def from_bytes(key: PaillierPublicKey, data: _Bytes) -> PaillierVector: ...
    def to_bytes(self) -> bytes: ...
    @property
    def key(self) -> PaillierPublicKey: ...
    @property
    def fraction_bits(self) -> int: ...
    @property
    def bound(self) -> int: ...
    def __len__(self) -> int: ...
    def gather(self, places: npt.ArrayLike) -> PaillierVector: ...
    @staticmethod
    def concat(parts: list[PaillierVector]) -> PaillierVector: ...
    def add(self, other: PaillierVector) -> PaillierVector: ...
    def subtract(self, other: PaillierVector) -> PaillierVector: ...
    def negate(self) -> PaillierVector: ...
    def add_plain(self, plain: PaillierPlain) -> PaillierVector: ...
    def subtract_plain(self, plain: PaillierPlain) -> PaillierVector: ...
    def multiply(self, plain: PaillierPlain) -> PaillierVector: ...
    def matrix_product(self, weights: npt.ArrayLike, fraction_bits: SupportsIndex) -> PaillierVector: ...
    def rerandomise(self, *, strict: bool = False) -> PaillierVector: ...
    def __reduce__(self) -> Any: ...

@final
class PaillierPacking:
    def __new__(cls, value_bits: SupportsIndex, guard_bits: SupportsIndex, slots: SupportsIndex) -> PaillierPacking: ...
    @staticmethod
    def fill(value_bits: SupportsIndex, guard_bits: SupportsIndex, key_bits: SupportsIndex) -> PaillierPacking: ...
    @property
    def value_bits(self) -> int: ...
    @property
    def guard_bits(self) -> int: ...
    @property
    def slots(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@final
class PaillierPacked:
    @staticmethod
    def from_bytes(key: PaillierPublicKey, data: _Bytes) -> PaillierPacked: ...
    def to_bytes(self) -> bytes: ...
    @property
    def key(self) -> PaillierPublicKey: ...
    @property
    def packing(self) -> PaillierPacking: ...
    @property
    def bound(self) -> int: ...
    def __len__(self) -> int: ...
    def add(self, other: PaillierPacked) -> PaillierPacked: ...
    def subtract(self, other: PaillierPacked) -> PaillierPacked: ...
    def negate(self) -> PaillierPacked: ...
    def add_plain(self, values: npt.ArrayLike) -> PaillierPacked: ...
    def subtract_plain(self, values: npt.ArrayLike) -> PaillierPacked: ...
    def multiply(self, factor: SupportsIndex) -> PaillierPacked: ...
    def rerandomise(self, *, strict: bool = False) -> PaillierPacked: ...
    def __reduce__(self) -> Any: ...

# TFHE: arrays are flat; `ciphermill.tfhe` adds shapes.

def recommended_tfhe_sets() -> list[str]: ...

@final
class TfheClientKey:
    @staticmethod
    def generate(parameters: str, *, insecure: bool = False) -> TfheClientKey: ...
    @staticmethod
    def from_secret_bytes(data: _Bytes, *, insecure: bool = False) -> TfheClientKey: ...
    def to_secret_bytes(self) -> bytes: ...
    @property
    def parameters(self) -> str: ...
    @property
    def message_bits(self) -> int: ...
    @property
    def tag(self) -> str: ...
    def encrypt(
        self,
        values: npt.ArrayLike,
        min: SupportsIndex,
        max: SupportsIndex,
        least: SupportsIndex,
        greatest: SupportsIndex,
    ) -> TfheCiphertexts: ...
    def decrypt(self, ciphertexts: TfheCiphertexts) -> npt.NDArray[np.int64]: ...
    def encrypt_bits(self, bits: npt.ArrayLike) -> TfheCiphertexts: ...
    def decrypt_bits(self, bits: TfheCiphertexts) -> npt.NDArray[np.bool_]: ...
    def encrypt_word(self, value: SupportsIndex, bits: SupportsIndex) -> TfheWord: ...
    def decrypt_word(self, word: TfheWord) -> int: ...
    def evaluation(self) -> TfheEvaluationKeys: ...
    def __reduce__(self) -> Any: ...

@final
class TfheEvaluationKeys:
    """The public keys with which a server computes on a client's ciphertexts."""

    def parts(self) -> list[bytes]:
        """The keys as `ciphermill tfhe keygen` writes them into two files, or three for a set with words."""
    @staticmethod
    def from_parts(parts: Sequence[_Bytes], *, insecure: bool = False) -> TfheEvaluationKeys:
        """Keys from their parts. They are checked when a server loads them."""
    @property
    def nbytes(self) -> int:
        """Bytes of all parts."""
    def __reduce__(self) -> Any: ...

@final
class TfheServer:
    def __new__(cls, keys: TfheEvaluationKeys, *, memory: SupportsIndex | None = None) -> TfheServer: ...
    @property
    def parameters(self) -> str: ...
    @property
    def insecure(self) -> bool: ...
    @property
    def tag(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    def apply(self, table: TfheTable, inputs: TfheCiphertexts) -> TfheCiphertexts: ...
    def gate(self, name: str, left: TfheCiphertexts, right: TfheCiphertexts) -> TfheCiphertexts: ...
    def invert(self, bits: TfheCiphertexts) -> TfheCiphertexts: ...
    def look_up(self, word: TfheWord, tables: list[TfheWordTable]) -> list[TfheWord]: ...

@final
class TfheCiphertexts:
    def __len__(self) -> int: ...
    @property
    def tag(self) -> str | None: ...
    @property
    def range(self) -> tuple[int, int, int] | None: ...
    def gather(self, places: npt.ArrayLike) -> TfheCiphertexts: ...
    @staticmethod
    def concat(parts: list[TfheCiphertexts]) -> TfheCiphertexts: ...
    def add(self, other: TfheCiphertexts) -> TfheCiphertexts: ...
    def subtract(self, other: TfheCiphertexts) -> TfheCiphertexts: ...
    def scale(self, factors: npt.ArrayLike) -> TfheCiphertexts: ...
    def to_bytes(self) -> list[bytes]: ...
    @staticmethod
    def from_bytes(elements: Sequence[_Bytes]) -> TfheCiphertexts: ...
    def __reduce__(self) -> Any: ...

@final
class TfheTable:
    def __new__(
        cls,
        parameters: str,
        values: npt.ArrayLike,
        places: SupportsIndex,
        min: SupportsIndex,
        output_min: SupportsIndex,
        output_max: SupportsIndex,
        *,
        insecure: bool = False,
    ) -> TfheTable: ...

@final
class TfheWord:
    @property
    def digits(self) -> int: ...
    @property
    def tag(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: _Bytes) -> TfheWord: ...
    def __reduce__(self) -> Any: ...

@final
class TfheWordTable:
    def __new__(cls, values: npt.ArrayLike, input_bits: SupportsIndex, output_bits: SupportsIndex) -> TfheWordTable: ...

# Devices: `ciphermill.device` adds named results and the async form.

def assemble(text: str, bindings: list[tuple[str, str]] | None = None) -> tuple[bytes, list[tuple[str, str]]]: ...
def disassemble(program: _Bytes) -> str: ...

@final
class DeviceHandle:
    @staticmethod
    def embedded(
        directory: str | os.PathLike[str],
        *,
        space: SupportsIndex | None = None,
        memory: SupportsIndex | None = None,
        key_memory: SupportsIndex | None = None,
        max_program_seconds: float | None = None,
        max_log2_failure: float | None = None,
        progress: Callable[[int, int], object] | None = None,
        insecure: bool = False,
    ) -> DeviceHandle: ...
    @staticmethod
    def served(
        address: str,
        *,
        subsystem: str | None = None,
        host: str | None = None,
        namespace: SupportsIndex | None = None,
        give_up_after: float | None = None,
    ) -> DeviceHandle: ...
    def put(self, register: str, data: _Bytes, *, armed: bool = False, stored: bool = False) -> tuple[int, bool]: ...
    def get(self, register: str, *, mode: str = "armed") -> tuple[bytes, bool]: ...
    def delete(self, register: str) -> None: ...
    def stat(self, register: str) -> tuple[str, int, bool]: ...
    def list(self) -> list[tuple[str, int, bool]]: ...
    def metrics(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
