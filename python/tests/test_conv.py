"""Convolutions against the definition."""

import pickle

import numpy as np
import pytest

import ciphermill as cm


def convolution(image: np.ndarray, kernels: np.ndarray, stride: int, padding: int) -> np.ndarray:
    """The definition: out[m, i, j] is the sum of a kernel's products with the window at (i, j)."""
    padded = np.pad(image, ((0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernels.shape[2:], axis=(1, 2))[:, ::stride, ::stride]
    return np.einsum("cijhw,mchw->mij", windows, kernels)


@pytest.mark.parametrize(
    ("image", "kernels", "stride", "padding"),
    [
        ((1, 8, 8), (8, 3, 3), 1, 0),
        ((1, 8, 8), (8, 3, 3), 1, 1),
        ((3, 32, 32), (16, 3, 3), 2, 1),
        ((2, 5, 9), (3, 2, 4), 1, 2),
        ((1, 1, 1), (1, 1, 1), 1, 0),
        ((4, 100, 120), (2, 5, 5), 3, 0),
    ],
)
def test_outputs_are_those_of_the_definition(
    image: tuple[int, int, int],
    kernels: tuple[int, int, int],
    stride: int,
    padding: int,
    rng: np.random.Generator,
) -> None:
    plan = cm.Conv2dPlan(image, kernels, stride=stride, padding=padding)
    client = plan.keygen()
    x = rng.integers(-128, 128, image)
    w = rng.integers(-128, 128, plan.kernels_shape)
    sent = cm.EncryptedImage.from_bytes(plan, client.encrypt(x).to_bytes())
    output = plan.prepare(w).convolve(sent)
    back = cm.EncryptedConvolution.from_bytes(plan, output.to_bytes())
    decrypted = client.decrypt(back)
    assert decrypted.shape == plan.output_shape
    np.testing.assert_array_equal(decrypted, convolution(x, w, stride, padding))
    assert plan.log2_failure <= -64


def test_bad_input() -> None:
    plan = cm.Conv2dPlan((1, 8, 8), (2, 3, 3))
    client = plan.keygen()
    image, kernels = np.zeros((1, 8, 8), int), np.zeros((2, 1, 3, 3), int)
    with pytest.raises(cm.ParameterError, match=r"use \[1, 8, 8\]"):
        client.encrypt(np.zeros((8, 8), int))
    with pytest.raises(cm.ParameterError, match=r"use \[2, 1, 3, 3\]"):
        plan.prepare(np.zeros((2, 3, 3), int))
    with pytest.raises(cm.RangeError, match="128"):
        client.encrypt(image + 128)
    with pytest.raises(cm.RangeError, match="-129"):
        plan.prepare(kernels - 129)
    with pytest.raises(cm.DtypeError, match="float64"):
        plan.prepare(kernels / 2)
    with pytest.raises(cm.RangeError, match="height of a kernel"):
        cm.Conv2dPlan((1, 2, 2), (1, 3, 3))
    with pytest.raises(cm.KeyMismatchError, match="another plan"):
        plan.prepare(kernels).convolve(cm.Conv2dPlan((1, 9, 9), (2, 3, 3)).keygen().encrypt(np.zeros((1, 9, 9), int)))
    output = plan.prepare(kernels).convolve(client.encrypt(image))
    with pytest.raises(cm.KeyMismatchError, match="key set"):
        plan.keygen().decrypt(output)
    with pytest.raises(cm.WireError):
        cm.EncryptedImage.from_bytes(plan, [b"no ciphertext"])
    with pytest.raises(cm.ParameterError, match="number of ciphertexts"):
        cm.EncryptedConvolution.from_bytes(plan, [])
    with pytest.raises(cm.SecretError, match="secret key"):
        pickle.dumps(client)
