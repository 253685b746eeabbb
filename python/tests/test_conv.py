"""Convolutions against the definition."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import signal

import ciphermill as cm
from ciphermill import inference


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
    output = plan.prepare(w) @ sent
    back = cm.EncryptedConvolution.from_bytes(plan, output.to_bytes())
    decrypted = client.decrypt(back)
    assert decrypted.shape == plan.output_shape
    np.testing.assert_array_equal(decrypted, convolution(x, w, stride, padding))
    assert plan.log2_failure <= -64


def test_bad_input() -> None:
    plan = cm.Conv2dPlan((1, 8, 8), (2, 3, 3))
    client = plan.keygen()
    image, kernels = np.zeros((1, 8, 8), int), np.zeros((2, 1, 3, 3), int)
    with pytest.raises(cm.ParameterError, match=r"use \(1, 8, 8\)"):
        client.encrypt(np.zeros((8, 8), int))
    with pytest.raises(cm.ParameterError, match=r"use \(2, 1, 3, 3\)"):
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
    with pytest.raises(cm.SecretError, match="holds a secret key; keep it in its process, or make another by keygen"):
        pickle.dumps(client)


def convolution3d(
    image: np.ndarray, kernels: np.ndarray, strides: tuple[int, int], paddings: tuple[int, int]
) -> np.ndarray:
    """By scipy: the correlation of each channel in full, then every stride-th window. Strides and paddings: depth, plane."""
    pads = [(0, 0), (paddings[0], paddings[0]), (paddings[1], paddings[1]), (paddings[1], paddings[1])]
    padded = np.pad(image, pads)
    outputs = [
        sum(
            signal.correlate(channel, kernel, mode="valid", method="direct")
            for channel, kernel in zip(padded, kernel_of_m, strict=True)
        )
        for kernel_of_m in kernels
    ]
    return np.stack(outputs)[:, :: strides[0], :: strides[1], :: strides[1]]


@pytest.mark.parametrize(
    ("image", "kernels", "stride", "padding"),
    [
        ((1, 8, 8, 8), (4, 3, 3, 3), 1, 1),
        ((3, 6, 20, 24), (5, 2, 3, 3), 2, 1),
        ((2, 5, 5, 9), (3, 5, 2, 4), 1, 0),
        ((1, 1, 1, 1), (1, 1, 1, 1), 1, 0),
        ((4, 3, 60, 80), (2, 3, 5, 5), 3, 2),
    ],
)
def test_outputs_of_volumes_are_those_of_scipy(
    image: tuple[int, int, int, int],
    kernels: tuple[int, int, int, int],
    stride: int,
    padding: int,
    rng: np.random.Generator,
) -> None:
    plan = cm.Conv3dPlan(image, kernels, stride=stride, padding=padding)
    assert (plan.image_shape, plan.kernels_shape) == (image, (kernels[0], image[0], *kernels[1:]))
    client = plan.keygen()
    x = rng.integers(-128, 128, image)
    w = rng.integers(-128, 128, plan.kernels_shape)
    sent = cm.EncryptedVolume.from_bytes(plan, client.encrypt(x).to_bytes())
    output = plan.prepare(w) @ sent
    decrypted = client.decrypt(cm.EncryptedConv3d.from_bytes(plan, output.to_bytes()))
    assert decrypted.shape == plan.output_shape
    np.testing.assert_array_equal(decrypted, convolution3d(x, w, (stride, stride), (padding, padding)))
    assert plan.log2_failure <= -64


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_volumes_of_any_shape(data: st.DataObject) -> None:
    def draw(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    strides, paddings = (draw(1, 3), draw(1, 3)), (draw(0, 3), draw(0, 2))
    channels, count, depth, height, width = draw(1, 3), draw(1, 4), draw(1, 6), draw(1, 10), draw(1, 10)
    size = (
        draw(1, min(4, depth + 2 * paddings[0])),
        draw(1, min(4, height + 2 * paddings[1])),
        draw(1, min(4, width + 2 * paddings[1])),
    )
    bits = draw(2, 12), draw(2, 12)
    plan = cm.Conv3dPlan(
        (channels, depth, height, width),
        (count, *size),
        stride=strides[1],
        padding=paddings[1],
        depth_stride=strides[0],
        depth_padding=paddings[0],
        kernel_bits=bits[0],
        image_bits=bits[1],
    )
    rng = np.random.default_rng(draw(0, 2**32))
    x = rng.integers(-(2 ** (bits[1] - 1)), 2 ** (bits[1] - 1), plan.image_shape)
    w = rng.integers(-(2 ** (bits[0] - 1)), 2 ** (bits[0] - 1), plan.kernels_shape)
    client = plan.keygen()
    output = client.decrypt(plan.prepare(w).convolve(client.encrypt(x)))
    np.testing.assert_array_equal(output, convolution3d(x, w, strides, paddings))


def test_volumes_of_other_types_and_strides(rng: np.random.Generator) -> None:
    plan = cm.Conv3dPlan((2, 3, 4, 5), (2, 2, 2, 2))
    client = plan.keygen()
    x = rng.integers(0, 100, (5, 4, 3, 2), dtype=np.uint8).T
    w = rng.integers(-9, 9, (4, 2, 2, 2, 4)).astype(np.int16)[::2, :, :, :, ::2]
    np.testing.assert_array_equal(
        client.decrypt(plan.prepare(w) @ client.encrypt(x)), convolution3d(x.astype(int), w.astype(int), (1, 1), (0, 0))
    )


def test_bad_input_of_volumes() -> None:
    plan = cm.Conv3dPlan((1, 4, 8, 8), (2, 2, 3, 3))
    client = plan.keygen()
    image, kernels = np.zeros((1, 4, 8, 8), int), np.zeros((2, 1, 2, 3, 3), int)
    with pytest.raises(cm.ParameterError, match=r"use \(1, 4, 8, 8\)"):
        client.encrypt(np.zeros((4, 8, 8), int))
    with pytest.raises(cm.ParameterError, match=r"use \(2, 1, 2, 3, 3\)"):
        plan.prepare(np.zeros((2, 1, 3, 3), int))
    with pytest.raises(cm.RangeError, match="128"):
        client.encrypt(image + 128)
    with pytest.raises(cm.RangeError, match="-129"):
        plan.prepare(kernels - 129)
    with pytest.raises(cm.DtypeError, match="float64"):
        client.encrypt(image + np.nan)
    for arguments, options, match in [
        (((1, 2, 8, 8), (1, 3, 3, 3)), {}, "depth of a kernel is 3; use 1 to 2"),
        (((1, 0, 8, 8), (1, 1, 3, 3)), {}, "depth of the image is 0"),
        (((1, 4, 8, 8), (1, 1, 9, 3)), {}, "height of a kernel"),
        (((1, 4, 8, 8), (1, 1, 3, 3)), {"depth_stride": 0}, "stride along the depth is 0"),
        (((1, 4, 8, 8), (1, 1, 3, 3)), {"depth_padding": 20000}, "padding along the depth is 20000"),
        (((64, 64, 64, 128), (1, 1, 3, 3)), {}, "number of entries of the image"),
        (((1, 4, 8, 8), (1, 1, 3, 3)), {"kernel_bits": 33}, "bits of kernel entries"),
    ]:
        with pytest.raises(cm.RangeError, match=match):
            cm.Conv3dPlan(*arguments, **options)
    with pytest.raises(cm.ParameterError, match="outputs of"):
        cm.Conv3dPlan((1, 4, 8, 8), (1, 2, 3, 3), kernel_bits=32, image_bits=32)
    for image_shape in [(1, 8, 8), (1, -4, 8, 8), (1, 4, 8.5, 8), None]:
        with pytest.raises(cm.ParameterError, match=r"an image of shape .* use \(C, D, H, W\)"):
            cm.Conv3dPlan(image_shape, (1, 1, 3, 3))
    with pytest.raises(cm.ParameterError, match=r"kernels of shape \(1, 3, 3\) is not supported; use \(M, d, h, w\)"):
        cm.Conv3dPlan((1, 4, 8, 8), (1, 3, 3))
    with pytest.raises(cm.ParameterError, match=r"use \(C, H, W\)"):
        cm.Conv2dPlan((8, 8), (1, 3, 3))
    other = cm.Conv3dPlan((1, 5, 8, 8), (2, 2, 3, 3))
    with pytest.raises(cm.KeyMismatchError, match="another plan"):
        plan.prepare(kernels) @ other.keygen().encrypt(np.zeros((1, 5, 8, 8), int))
    with pytest.raises(TypeError):
        plan.prepare(kernels) @ cm.Conv2dPlan((1, 8, 8), (2, 3, 3)).keygen().encrypt(np.zeros((1, 8, 8), int))
    output = plan.prepare(kernels) @ client.encrypt(image)
    with pytest.raises(cm.KeyMismatchError, match="key set"):
        plan.keygen().decrypt(output)
    with pytest.raises(cm.WireError):
        cm.EncryptedVolume.from_bytes(plan, [b"no ciphertext"])
    with pytest.raises(cm.ParameterError, match="number of ciphertexts"):
        cm.EncryptedConv3d.from_bytes(plan, [])
    with pytest.raises(cm.SecretError, match="holds a secret key; keep it in its process, or make another by keygen"):
        pickle.dumps(client)


@pytest.mark.parametrize(
    ("plan", "image", "read"),
    [
        (lambda: cm.Conv2dPlan((1, 8, 8), (2, 3, 3)), cm.EncryptedImage, cm.EncryptedConvolution),
        (lambda: cm.Conv3dPlan((1, 4, 8, 8), (2, 2, 3, 3)), cm.EncryptedVolume, cm.EncryptedConv3d),
    ],
)
def test_kernels_for_one_key_set_refuse_every_other(
    plan: Callable[[], Any], image: Any, read: Any, rng: np.random.Generator
) -> None:
    plan = plan()
    client, stranger = plan.keygen(), plan.keygen()
    x, w = rng.integers(-128, 128, plan.image_shape), rng.integers(-128, 128, plan.kernels_shape)
    every = plan.prepare(w)
    bound = every.for_key_set(client.tag)
    assert (every.tag, bound.tag) == (None, client.tag)
    assert every.nbytes == bound.nbytes == plan.explain()["kernels_bytes"]
    ours = image.from_bytes(plan, client.encrypt(x).to_bytes())
    theirs = image.from_bytes(plan, stranger.encrypt(x).to_bytes())
    assert (ours.tag, theirs.tag) == (client.tag, stranger.tag)
    for multiply in (bound.convolve, bound.__matmul__):
        with pytest.raises(cm.KeyMismatchError, match=f"of key set {stranger.tag}, key set {client.tag} is needed"):
            multiply(theirs)
    output = bound @ ours
    assert output.tag == client.tag
    np.testing.assert_array_equal(client.decrypt(output), client.decrypt(every @ ours))
    np.testing.assert_array_equal(stranger.decrypt(every @ theirs), client.decrypt(output))
    # A binding replaces another one.
    assert bound.for_key_set(stranger.tag).convolve(theirs).tag == stranger.tag
    assert read.from_bytes(plan, output.to_bytes()).tag == client.tag
    for tag in ("", "0" * 15, "0" * 17, "+" + "0" * 15, "g" * 16, "é" * 8):
        with pytest.raises(cm.ParameterError, match="16 hexadecimal digits"):
            every.for_key_set(tag)


def test_an_output_of_another_plan_is_not_decrypted() -> None:
    # Both plans have the same parameters and numbers of ciphertexts, but outputs of other shapes.
    plan, other = cm.Conv2dPlan((1, 8, 8), (1, 3, 3)), cm.Conv2dPlan((1, 9, 8), (1, 3, 3))
    assert plan.explain()["parameters"] == other.explain()["parameters"]
    client = plan.keygen()
    sent = (plan.prepare(np.ones(plan.kernels_shape, int)) @ client.encrypt(np.ones((1, 8, 8), int))).to_bytes()
    with pytest.raises(cm.KeyMismatchError, match="the output is of another plan"):
        client.decrypt(cm.EncryptedConvolution.from_bytes(other, sent))


def test_a_server_of_inference_answers_the_registered_key_alone(rng: np.random.Generator) -> None:
    layer = inference.Conv2d(rng.integers(-3, 4, (4, 1, 3, 3)).astype(float))
    X = rng.integers(0, 9, (2, 1, 12, 12)).astype(float)
    classifier = inference.PrivateClassifier([layer, inference.Flatten()], (1, 12, 12), X)
    assert classifier.explain().as_dict()["layers"][0]["form"] == "convolution"
    server = classifier.server()
    client, thief = inference.Client(server.client_spec()), inference.Client(server.client_spec())
    server.register(client.keys())
    server.layer(0, client.start(X).query)
    # A query that carries the name of the client, under another key.
    thief._name = client._name
    with pytest.raises(cm.KeyMismatchError, match="key set"):
        server.layer(0, thief.start(X).query.to_bytes())


@pytest.mark.parametrize(
    "plan",
    [
        cm.Conv2dPlan((3, 40, 40), (16, 3, 3), padding=1),
        cm.Conv3dPlan((2, 5, 20, 20), (8, 3, 3, 3), stride=2),
    ],
)
def test_the_explanation_has_the_facts(plan: Any) -> None:
    explanation = plan.explain()
    client = plan.keygen()
    image = client.encrypt(np.zeros(plan.image_shape, int))
    kernels = plan.prepare(np.zeros(plan.kernels_shape, int))
    sent, returned = image.to_bytes(), (kernels @ image).to_bytes()
    assert explanation["image_bytes"] == sum(map(len, sent))
    assert explanation["output_bytes"] == sum(map(len, returned))
    assert (explanation["image_ciphertexts"], explanation["output_ciphertexts"]) == (len(sent), len(returned))
    assert explanation["kernels_bytes"] == kernels.nbytes > 0
    assert explanation["log2_failure"] == plan.log2_failure
    assert explanation["security_bits"] >= 128
    assert explanation["noise_bits"] < explanation["noise_limit_bits"]
    for words in ("failure probability", "memory", "sent", explanation["parameters"]):
        assert words in str(explanation)
