"""Matrix-vector products against NumPy."""

import pickle

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from conftest import Parties
from hypothesis import given, settings
from hypothesis import strategies as st

import ciphermill as cm

INTEGER_DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i4", ">u8", "?"]


def test_the_product_is_numpys(usual: Parties, rng: np.random.Generator) -> None:
    x = rng.integers(-128, 128, 256)
    u = usual.client.decrypt(usual.matrix @ usual.client.encrypt(x))
    assert u.dtype == np.int64
    assert u.shape == (1024,)
    np.testing.assert_array_equal(u, usual.array @ x)


def test_the_extremes_are_exact(usual: Parties) -> None:
    least = usual.server.prepare(np.full((1024, 256), -128, np.int8))
    u = usual.client.decrypt(least @ usual.client.encrypt(np.full(256, -128)))
    np.testing.assert_array_equal(u, np.full(1024, 256 * 128 * 128))


def test_several_clients_share_a_matrix(small: Parties, rng: np.random.Generator) -> None:
    shared = small.plan.prepare(small.array)
    assert (shared.shape, shared.plan, shared.tag) == (small.matrix.shape, small.plan, None)
    assert shared.nbytes == small.matrix.nbytes
    x = rng.integers(-128, 128, 7)
    clients = [small.plan.keygen() for _ in range(2)]
    matrices = [shared.for_server(small.plan.server(client.evaluation)) for client in clients]
    for client, matrix in zip(clients, matrices, strict=True):
        assert matrix.tag == client.evaluation.tag
        np.testing.assert_array_equal(client.decrypt(matrix @ client.encrypt(x)), small.array @ x)
    with pytest.raises(cm.KeyMismatchError, match="key set"):
        matrices[0] @ clients[1].encrypt(x)
    with pytest.raises(cm.KeyMismatchError, match="use for_server"):
        shared @ clients[0].encrypt(x)
    # A plan with the same parameters, but for another shape.
    other = cm.MatVecPlan(4, 7)
    assert other.parameters == small.plan.parameters
    with pytest.raises(cm.KeyMismatchError, match="another plan"):
        shared.for_server(other.server(other.keygen().evaluation))
    with pytest.raises(cm.ParameterError, match=r"use \(5, 7\)"):
        small.plan.prepare(small.array.T)
    with pytest.raises(cm.MemoryLimitError):
        small.plan.prepare(small.array, memory=1)


def test_columns_are_several_vectors(small: Parties, rng: np.random.Generator) -> None:
    x = rng.integers(-128, 128, (7, 4))
    encrypted = small.client.encrypt(x)
    assert encrypted.shape == (7, 4)
    product = small.matrix @ encrypted
    assert product.shape == (5, 4)
    np.testing.assert_array_equal(small.client.decrypt(product), small.array @ x)
    for index, column in enumerate(product.columns()):
        assert column.shape == (5,)
        np.testing.assert_array_equal(small.client.decrypt(column), small.array @ x[:, index])
    again = cm.EncryptedProduct.stack(product.columns())
    np.testing.assert_array_equal(small.client.decrypt(again), small.array @ x)


def test_one_column_keeps_its_axis(small: Parties) -> None:
    u = small.client.decrypt(small.matrix @ small.client.encrypt(np.ones((7, 1), int)))
    assert u.shape == (5, 1)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_integer_dtype_and_strides(small: Parties, data: st.DataObject) -> None:
    dtype = np.dtype(data.draw(st.sampled_from(INTEGER_DTYPES)))
    bounds = {"b": (0, 1), "u": (0, 127), "i": (-128, 127)}[dtype.kind]
    elements = st.booleans() if dtype.kind == "b" else st.integers(*bounds)
    matrix = data.draw(hnp.arrays(dtype, (5, 7), elements=elements))
    vector = data.draw(hnp.arrays(dtype, 7, elements=elements))
    expected = matrix.astype(np.int64) @ vector.astype(np.int64)
    wide = np.zeros((10, 21), dtype)
    wide[::2, ::3] = matrix
    reverse = matrix[::-1, ::-1].copy()[::-1, ::-1]
    unaligned = np.frombuffer(b"\0" + matrix.tobytes(), np.uint8)[1:].view(dtype).reshape(5, 7)
    readonly = matrix.copy()
    readonly.flags.writeable = False
    for view in [matrix, np.asfortranarray(matrix), wide[::2, ::3], reverse, unaligned, readonly, matrix.tolist()]:
        product = small.server.prepare(view) @ small.client.encrypt(vector[::-1].copy()[::-1])
        np.testing.assert_array_equal(small.client.decrypt(product), expected)


@given(rows=st.integers(1, 40), cols=st.integers(1, 40), matrix_bits=st.integers(2, 20), vector_bits=st.integers(2, 20))
@settings(max_examples=25, deadline=None)
def test_any_shape_and_width(rows: int, cols: int, matrix_bits: int, vector_bits: int) -> None:
    plan = cm.MatVecPlan(rows, cols, matrix_bits=matrix_bits, vector_bits=vector_bits)
    client = plan.keygen()
    rng = np.random.default_rng(rows * 41 + cols)
    matrix = rng.integers(-(1 << (matrix_bits - 1)), 1 << (matrix_bits - 1), (rows, cols))
    vector = rng.integers(-(1 << (vector_bits - 1)), 1 << (vector_bits - 1), cols)
    server = plan.server(client.evaluation)
    expected = matrix @ vector
    np.testing.assert_array_equal(client.decrypt(server.prepare(matrix) @ client.encrypt(vector)), expected)
    np.testing.assert_array_equal(client.decrypt(server.multiply(matrix, client.encrypt(vector))), expected)


@pytest.mark.parametrize("strategy", ["algorithm1", "rotate-and-sum", "diagonal", "row-packed"])
def test_every_strategy(strategy: str, rng: np.random.Generator) -> None:
    plan = cm.MatVecPlan(20, 30, strategy=strategy)
    assert plan.strategy == strategy
    client = plan.keygen()
    matrix, x = rng.integers(-128, 128, (20, 30)), rng.integers(-128, 128, 30)
    u = client.decrypt(plan.server(client.evaluation).prepare(matrix) @ client.encrypt(x))
    np.testing.assert_array_equal(u, matrix @ x)


def test_encryption_under_the_public_key(rng: np.random.Generator) -> None:
    plan = cm.MatVecPlan(6, 8, encryption="public")
    client = plan.keygen()
    sender = cm.BfvPublicKey.from_bytes(plan, client.public.to_bytes())
    matrix, x = rng.integers(-128, 128, (6, 8)), rng.integers(-128, 128, 8)
    u = client.decrypt(plan.server(client.evaluation).prepare(matrix) @ plan.encrypt(sender, x))
    np.testing.assert_array_equal(u, matrix @ x)


def test_objects_travel_as_bytes_and_as_pickles(small: Parties, rng: np.random.Generator) -> None:
    x = rng.integers(-128, 128, (7, 2))
    plan = cm.MatVecPlan.from_bytes(small.plan.to_bytes())
    assert plan == small.plan
    assert hash(plan) == hash(small.plan)
    assert plan != cm.MatVecPlan(5, 8)
    keys = cm.EvaluationKeys.from_bytes(plan, small.client.evaluation.to_bytes())
    server = pickle.loads(pickle.dumps(plan)).server(pickle.loads(pickle.dumps(keys)))
    encrypted = pickle.loads(pickle.dumps(small.client.encrypt(x)))
    product = pickle.loads(pickle.dumps(server.prepare(small.array) @ encrypted))
    np.testing.assert_array_equal(small.client.decrypt(product), small.array @ x)
    one = cm.EncryptedVector.from_bytes(plan, small.client.encrypt(x[:, 0]).to_bytes())
    back = cm.EncryptedProduct.from_bytes(plan, (server.prepare(small.array) @ one).to_bytes())
    np.testing.assert_array_equal(small.client.decrypt(back), small.array @ x[:, 0])
    public = pickle.loads(pickle.dumps(small.client.public))
    assert public.tag == small.client.public.tag


def test_a_client_is_made_again_from_its_secret_key(small: Parties) -> None:
    secret = cm.BfvSecretKey.from_secret_bytes(small.client.secret.to_secret_bytes())
    client = small.plan.client(secret)
    assert client.evaluation.tag == small.client.evaluation.tag
    x = np.arange(7)
    np.testing.assert_array_equal(client.decrypt(small.matrix @ small.client.encrypt(x)), small.array @ x)


def test_the_explanation_has_the_facts(small: Parties) -> None:
    explanation = small.plan.explain()
    assert explanation["strategy"] == small.plan.strategy
    assert explanation["log2_failure"] <= -64
    assert explanation["security_bits"] >= 128
    assert explanation["vector_bytes"] == len(small.client.encrypt(np.zeros(7, int)).to_bytes())
    assert explanation["matrix_bytes"] == small.matrix.nbytes
    assert "failure probability" in str(explanation)
    assert set(explanation.as_dict()) >= {"parameters", "alternatives", "estimated_us"}
