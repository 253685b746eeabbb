"""The protocol of federated training: its forms, the messages of each party, and peers that lie."""

import math
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import ciphermill as cm
from ciphermill._hetero.arbiter import PRODUCT, arbitrate
from ciphermill._hetero.batches import Batches
from ciphermill._hetero.by_bfv import BfvTerms
from ciphermill._hetero.by_paillier import PaillierTerms
from ciphermill._hetero.calibration import calibrate
from ciphermill._hetero.messages import Program, Receive, Send, run_together
from ciphermill._hetero.numbers import Columns, encode_part, exponent_of, part_bits
from ciphermill._hetero.party import Party
from ciphermill._hetero.report import Report
from ciphermill._hetero.training import Setup, arbiters_part, party, solver, train_together
from ciphermill._native import EncryptedVector
from ciphermill.linear_model import HeteroLogisticRegression

THREE = {"bank": slice(0, 10), "post": slice(10, 16), "shop": slice(16, 30)}
TWO = {"bank": slice(0, 10), "shop": slice(10, 30)}


def data(rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return X[:rows], y[:rows]


def fit(X: np.ndarray, y: np.ndarray, backend: Any, **arguments: Any) -> HeteroLogisticRegression:
    return HeteroLogisticRegression(backend=backend, allow_label_leak=True, **arguments).fit(X, y)


@pytest.mark.parametrize("solver", ["cg", "sgd", "nesterov", "adam"])
@pytest.mark.parametrize(("columns", "arbiter"), [(TWO, False), (TWO, True), (THREE, True)])
def test_every_form_equals_plain_in_every_bit(columns: dict[str, slice], arbiter: bool, solver: str) -> None:
    X, y = data()
    batch = None if solver == "cg" else 200
    arguments: dict[str, Any] = {
        "columns": columns,
        "solver": solver,
        "max_iter": 4,
        "batch_size": batch,
        "arbiter": arbiter,
    }
    plain, encrypted = fit(X, y, "plain", **arguments), fit(X, y, "bfv", **arguments)
    assert plain.coef_.tobytes() == encrypted.coef_.tobytes()
    assert plain.intercept_.tobytes() == encrypted.intercept_.tobytes()
    assert np.abs(plain.coef_).max() > 0


@pytest.mark.parametrize(("columns", "arbiter"), [(TWO, False), (THREE, True)])
def test_paillier_equals_plain_in_every_bit(columns: dict[str, slice], arbiter: bool) -> None:
    X, y = data(60)
    arguments: dict[str, Any] = {"columns": columns, "max_iter": 2, "arbiter": arbiter}
    plain, encrypted = fit(X, y, "plain", **arguments), fit(X, y, "paillier", **arguments)
    assert plain.coef_.tobytes() == encrypted.coef_.tobytes()


def test_more_samples_than_a_plan_has_columns() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40_000, 4))
    y = (X @ [1.0, -2.0, 0.5, 1.5] + rng.normal(size=len(X)) > 0).astype(int)
    columns = {"guest": slice(0, 2), "host": slice(2, 4)}
    fits = [
        HeteroLogisticRegression(columns=columns, backend=backend, max_iter=4).fit(X, y) for backend in ("plain", "bfv")
    ]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()


@pytest.mark.parametrize(("solver", "rate"), [("sgd", 0.15), ("nesterov", None), ("adam", None)])
def test_rules_of_descent_approach_the_optimum(solver: Any, rate: float | None) -> None:
    X, y = data()
    best = HeteroLogisticRegression(columns=TWO).fit(X, y)
    model = HeteroLogisticRegression(columns=TWO, solver=solver, learning_rate=rate, max_iter=400, tol=1e-9).fit(X, y)
    scores, found = best.decision_function(X), model.decision_function(X)
    assert np.corrcoef(scores, found)[0, 1] > 0.99
    assert model.report_.residuals[-1] < model.report_.residuals[0]
    batched = HeteroLogisticRegression(columns=TWO, solver=solver, batch_size=100, max_iter=60).fit(X, y)
    assert np.corrcoef(scores, batched.decision_function(X))[0, 1] > 0.97
    assert batched.report_.products == 60 * 6
    other = HeteroLogisticRegression(columns=TWO, solver=solver, batch_size=100, max_iter=60, random_state=1).fit(X, y)
    assert not np.array_equal(other.coef_, batched.coef_)


def test_a_rate_that_is_too_great_is_named() -> None:
    X, y = data()
    with pytest.raises(cm.RangeError, match="use a smaller learning_rate"):
        HeteroLogisticRegression(columns=TWO, solver="sgd", learning_rate=1e30, max_iter=200).fit(X, y)


def test_batches_have_fixed_members() -> None:
    for samples, size in [(10, 3), (7, 7), (5, 9), (1, 1), (100, 1)]:
        batches, again = Batches(samples, size, 4), Batches(samples, size, 4)
        rows = np.arange(1, samples + 1)
        parts = [batches.part(rows, i) for i in range(batches.count)]
        assert all(len(part) == batches.size for part in parts)
        assert [batches.length(i) for i in range(batches.count)] == [np.count_nonzero(part) for part in parts]
        assert sorted(np.concatenate(parts)[np.concatenate(parts) > 0].tolist()) == rows.tolist()
        assert all(np.array_equal(part, again.part(rows, i)) for i, part in enumerate(parts))
    # Known answer: the membership must not depend on a version of NumPy.
    assert Batches(8, 4, 7).part(np.arange(8), 0).tolist() == BATCH_OF_SEED_7


#: The first four of eight rows by seed 7: the order of the 64-bit words of SHAKE-128("ciphermill batches" | 7 in 8 bytes), as
#: `openssl dgst -shake128 -xoflen 64` has them.
BATCH_OF_SEED_7 = [4, 5, 7, 0]


def test_parts_of_many_parties_fit_the_vector() -> None:
    for parties in (2, 3, 4, 5, 16):
        bits = part_bits(parties)
        assert parties << bits <= 1 << 19 < parties << (bits + 1) or parties in (3, 5)
        values = np.array([3.7e-5, -2.0, 1.999])
        exponent = exponent_of(values, parties)
        assert np.abs(encode_part(values, exponent, parties)).max() <= 1 << bits
        with pytest.raises(cm.RangeError, match="use the smallest exponent"):
            encode_part(values, exponent + 2, parties)


def test_calibration_is_platts() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=2000) * 1e-3
    labels = np.where(rng.random(2000) < 1 / (1 + np.exp(-(3e3 * z - 0.5))), 1.0, -1.0)
    a, b = calibrate(z, labels)
    # scikit-learn's solution without a penalty, up to the targets off 0 and 1.
    other = LogisticRegression(C=1e12, tol=1e-10).fit(z[:, None] * 1e3, labels)
    assert a == pytest.approx(1e3 * other.coef_[0, 0], rel=2e-2)
    assert b == pytest.approx(other.intercept_[0], abs=2e-2)
    # Separable scores, all scores equal, one class of a single row.
    for scores, signs in [(np.arange(10.0) - 5, np.repeat([-1.0, 1.0], 5)), (np.zeros(4), np.array([1.0, 1, 1, -1]))]:
        assert all(math.isfinite(value) for value in calibrate(scores, signs))


def test_a_calibration_does_not_depend_on_the_order_of_the_rows() -> None:
    """Sums in another order differ in their last bits. The line search alone would stop 1e-8 away from the optimum."""
    rng = np.random.default_rng(5)
    for rows in (30, 569, 20000):
        z = rng.normal(size=rows)
        labels = np.where(z + rng.normal(size=rows) > 0, 1.0, -1.0)
        first = calibrate(z, labels)
        for _ in range(20):
            order = rng.permutation(rows)
            np.testing.assert_allclose(calibrate(z[order], labels[order]), first, rtol=1e-12, atol=1e-13)


def test_a_calibrated_model_has_the_same_order() -> None:
    X, y = data()
    plain = HeteroLogisticRegression(columns=TWO).fit(X, y)
    model = HeteroLogisticRegression(columns=TWO, calibrate=True).fit(X, y)
    a, b = model.calibration_
    assert a > 0
    np.testing.assert_allclose(model.decision_function(X), a * plain.decision_function(X) + b)

    def loss(fitted: HeteroLogisticRegression) -> float:
        return -float(fitted.predict_log_proba(X)[np.arange(len(y)), y].mean())

    assert loss(model) < loss(plain)


class Recorder:
    """The messages of a run."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str, str, bytes]] = []

    def __call__(self, sender: str, receiver: str, kind: str, payload: bytes) -> None:
        self.messages.append((sender, receiver, kind, payload))

    def kinds(self, receiver: str) -> set[tuple[str, str]]:
        return {(sender, kind) for sender, other, kind, _ in self.messages if other == receiver}


def setting(
    backend: str = "bfv",
    arbiter: str | None = None,
    columns: dict[str, slice] = TWO,
    rows: int | None = None,
    max_iter: int = 3,
) -> tuple[Setup, dict[str, Party], np.ndarray]:
    X, y = data(rows)
    features = {name: X[:, index].shape[1] + (name == "bank") for name, index in columns.items()}
    setup = Setup(
        backend=backend,
        arbiter=arbiter,
        samples=len(y),
        features=features,
        C=1.0,
        tol=1e-6,
        max_iter=max_iter,
        allow_label_leak=True,
    )
    report = setup.report()
    parties = {
        name: party(setup, name, X[:, index], intercept=name == "bank", report=report)
        for name, index in columns.items()
    }
    return setup, parties, np.where(y == 1, 1.0, -1.0)


def programs(setup: Setup, parties: dict[str, Party], labels: np.ndarray) -> dict[str, Program[Any]]:
    report = setup.report()
    made: dict[str, Program[Any]] = {
        name: solver(setup, own, labels if name == "bank" else None, report).solve() for name, own in parties.items()
    }
    if setup.arbiter is not None:
        made[setup.arbiter] = arbiters_part(setup, report)
    return made


SCALARS = {"exponent", "curvature", "norm"}


@pytest.mark.parametrize("backend", ["bfv", "paillier"])
def test_each_party_receives_the_documented_messages_of_two_keys(backend: str) -> None:
    record = Recorder()
    run_together(programs(*setting(backend, rows=60)), record)
    for receiver, sender in (("bank", "shop"), ("shop", "bank")):
        expected = {"keys", "half", "masked product", "residues", *SCALARS}
        assert record.kinds(receiver) == {(sender, kind) for kind in expected}


@pytest.mark.parametrize("backend", ["bfv", "paillier"])
def test_each_party_receives_the_documented_messages_with_an_arbiter(backend: str) -> None:
    record = Recorder()
    run_together(programs(*setting(backend, "judge", THREE, rows=60)), record)
    of_arbiter = {("judge", "keys"), ("judge", "residues")}
    hosts = ("post", "shop")
    assert record.kinds("bank") == of_arbiter | {(host, kind) for host in hosts for kind in {"part", *SCALARS}}
    for host in hosts:
        assert record.kinds(host) == of_arbiter | {("bank", kind) for kind in {"sum", *SCALARS}}
    assert record.kinds("judge") == {("bank", "round")} | {(name, "masked product") for name in ("bank", *hosts)}


def uniform(values: np.ndarray, modulus: int) -> float:
    """The p-value of a chi-square test of 64 bins. One of 10^6 honest runs is below 1e-6. Small biases go unseen."""
    bins = np.bincount((values.astype(object) * 64 // modulus).astype(np.int64), minlength=64)
    return float(stats.chisquare(bins).pvalue)


@pytest.mark.parametrize("arbiter", [None, "judge"])
def test_residues_are_uniform(arbiter: str | None) -> None:
    found: dict[str, list[np.ndarray]] = {"bank": [], "shop": []}
    masked: list[bytes] = []

    def observe(sender: str, receiver: str, kind: str, payload: bytes) -> None:
        if kind == "residues":
            found[receiver].append(np.frombuffer(payload, "<u8"))
        if kind == "masked product":
            masked.append(payload)

    setup, parties, labels = setting(arbiter=arbiter, max_iter=40)
    for _ in range(4):
        run_together(programs(setup, parties, labels), observe)
    for name, values in found.items():
        if arbiter is None:
            modulus = BfvTerms(setup.features[name], setup.samples, setup.answers).plan.plaintext_modulus
        else:
            modulus = BfvTerms(20, setup.samples, setup.answers, summands=2).plan.plaintext_modulus
        residues = np.concatenate(values)
        # 64 bins of more than ten values.
        assert len(residues) > 640
        assert residues.max() < modulus
        assert uniform(residues, modulus) > 1e-6, name
    # No answer repeats, although the protocol computes the same gradients each time.
    assert len(set(masked)) == len(masked)


def test_masks_of_paillier_hide_the_products() -> None:
    terms = PaillierTerms(4, 60, 100)
    # The mask exceeds the product by 40 bits and the number of masks.
    assert terms.mask_bits - terms.product_bits >= 40 + math.log2(4 * 100)
    found: list[int] = []

    def observe(sender: str, receiver: str, kind: str, payload: bytes) -> None:
        if kind == "residues":
            width = PaillierTerms(setup.features[receiver], setup.samples, setup.answers).width
            values = [payload[i : i + width] for i in range(0, len(payload), width)]
            bits = PaillierTerms(setup.features[receiver], setup.samples, setup.answers).mask_bits
            found.extend(int.from_bytes(value, "little") * 1000 >> bits for value in values)

    setup, parties, labels = setting("paillier", rows=40, max_iter=6)
    for _ in range(4):
        run_together(programs(setup, parties, labels), observe)
    assert len(found) > 640
    assert uniform(np.clip(np.array(found), 0, 999), 1000) > 1e-6


# Peers that lie.


def altered(name: str, program: Program[Any], change: Callable[[str, bytes, int], bytes | None]) -> Program[Any]:
    """A party whose messages are changed: `change` has the kind, the payload and the number of the message of that kind."""
    counts: Counter[str] = Counter()
    answer = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(request, Send):
            changed = change(request.kind, request.payload, counts[request.kind])
            counts[request.kind] += 1
            request = Send(request.receiver, request.kind, request.payload if changed is None else changed)
        answer = yield request


def with_liar(change: Callable[[str, bytes, int], bytes | None], backend: str = "bfv", liar: str = "shop") -> None:
    made = programs(*setting(backend, rows=60))
    made[liar] = altered(liar, made[liar], change)
    run_together(made)


@pytest.mark.parametrize(
    ("kind", "make", "error", "words"),
    [
        ("half", lambda data: data[:-1], cm.WireError, "bytes; use"),
        ("half", lambda data: data + b"\0", cm.WireError, "bytes; use"),
        ("half", lambda data: bytes(len(data)), cm.WireError, "use|corrupt|damaged|magic|version|checksum|bytes"),
        (
            "half",
            lambda data: data[:5000] + bytes([data[5000] ^ 1]) + data[5001:],
            cm.WireError,
            "use|corrupt|damaged|magic|version|checksum|bytes",
        ),
        ("masked product", lambda data: b"", cm.WireError, "0 bytes"),
        ("masked product", lambda data: data[:-1], cm.WireError, "use|corrupt|damaged|magic|version|checksum|bytes"),
        (
            "masked product",
            lambda data: bytes(len(data)),
            cm.WireError,
            "use|corrupt|damaged|magic|version|checksum|bytes",
        ),
        ("keys", lambda data: data[:3], cm.WireError, "3 bytes"),
        ("keys", lambda data: bytes(len(data)), cm.WireError, "use|corrupt|damaged|magic|version|checksum|bytes"),
        (
            "keys",
            lambda data: struct.pack("<I", 2**32 - 1) + data[4:],
            cm.WireError,
            "use|corrupt|damaged|magic|version|checksum|bytes",
        ),
        ("residues", lambda data: b"\xff" * len(data), cm.CiphermillError, "use"),
        ("residues", lambda data: data[8:], cm.WireError, "bytes; use"),
        ("norm", lambda data: struct.pack("<d", math.nan), cm.PeerError, "nan"),
        ("norm", lambda data: struct.pack("<d", math.inf), cm.PeerError, "inf"),
        ("curvature", lambda data: data[:4], cm.WireError, "4 bytes; use 8"),
        ("exponent", lambda data: struct.pack("<i", 2**30), cm.PeerError, "use -2200 to 2200"),
    ],
)
def test_malformed_messages_are_refused(
    kind: str, make: Callable[[bytes], bytes], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        with_liar(lambda sent, payload, _: make(payload) if sent == kind else None)


@pytest.mark.parametrize(
    ("kind", "make", "error"),
    [
        ("keys", lambda data: data[:-1], cm.WireError),
        ("half", lambda data: bytes(len(data)), cm.WireError),
        ("masked product", lambda data: data[: len(data) // 2], cm.WireError),
        ("residues", lambda data: b"\x77" * len(data), cm.PeerError),
        ("residues", lambda data: data[:-1], cm.WireError),
    ],
)
def test_malformed_messages_of_paillier_are_refused(
    kind: str, make: Callable[[bytes], bytes], error: type[Exception]
) -> None:
    with pytest.raises(error):
        with_liar(lambda sent, payload, _: make(payload) if sent == kind else None, "paillier")


def test_foreign_keys_are_refused() -> None:
    other = BfvTerms(11, 569, 8).key_holder(Report("bfv", 1, {})).keys()
    with pytest.raises(cm.CiphermillError):
        with_liar(lambda kind, _, __: other if kind == "keys" else None)
    # A public key of one set and evaluation keys of another.
    terms = BfvTerms(11, 60, 8)
    first, second = (terms.key_holder(Report("bfv", 1, {})).keys() for _ in range(2))
    (length,) = struct.unpack_from("<I", first)
    mixed = first[: 4 + length] + second[4 + length :]
    with pytest.raises(cm.CiphermillError, match=r"two key sets|another"):
        with_liar(lambda kind, _, __: mixed if kind == "keys" else None)


def test_another_message_than_expected_is_refused() -> None:
    def quiet() -> Program[None]:
        yield Send("bank", "half", b"")

    def waits() -> Program[bytes | None]:
        return (yield Receive("shop", "keys", 1, 10))

    with pytest.raises(cm.PeerError, match='sent "half"; the protocol expects "keys"'):
        run_together({"shop": quiet(), "bank": waits()})
    with pytest.raises(cm.PeerError, match="which no party sends"):
        run_together({"bank": waits()})


def test_the_arbiter_refuses_other_rounds() -> None:
    setup, _, _ = setting(arbiter="judge", max_iter=2)
    judge = arbiters_part(setup, setup.report())
    next(judge)
    with pytest.raises(cm.PeerError, match="announced the round"):
        judge.send(b"x")
    # One product more than the training may have.
    terms = BfvTerms(20, setup.samples, setup.answers, summands=2)
    judge = arbitrate(setup.features, dict.fromkeys(setup.features, terms), 0, setup.report())
    next(judge)
    with pytest.raises(cm.PeerError, match="the training has at most 0"):
        judge.send(PRODUCT)


def reseal(data: bytes, tag: bytes, old: bytes) -> bytes:
    """The bytes of an object with another key tag: a forger can compute the checksum."""
    body = data[24:-4]
    assert body.count(old) == 1
    body = body.replace(old, tag)
    return data[:24] + body + struct.pack("<I", crc32c(body))


def crc32c(data: bytes) -> int:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def test_rekeying_stops_a_host_that_asks_for_more_labels() -> None:
    """A host may choose its matrix, so each answer can show it as many entries of d as it has features. It keeps the ciphertext
    of the labels and has it decrypted again in later answers. New keys after the first product stop that."""
    assert crc32c(b"123456789") == 0xE3069283
    samples, features = 128, 16
    rng = np.random.default_rng(8)
    labels = np.where(rng.random(samples) < 0.5, -1.0, 1.0)
    d = encode_part(-0.5 * labels, 18, 2)
    terms = BfvTerms(features, samples, answers=16)
    report = Report("bfv", samples, {})
    guest = terms.key_holder(report)

    def selecting(first: int) -> Any:
        """A matrix whose product is entries `first`, `first` + 1, … of the vector."""
        integers = np.zeros((samples, features), np.int16)
        integers[first + np.arange(features), np.arange(features)] = 1
        return terms.matrix_holder([Columns(integers, np.zeros(features, np.int64))], report)

    def stolen(host: Any, vector: bytes, forged: tuple[bytes, bytes] | None) -> np.ndarray:
        masked, share = host.product(vector, np.zeros(samples, np.int64), 0)
        if forged is not None:
            masked = reseal(masked, *forged)
        return host.unmask(guest.residues(masked), share)

    keys = guest.keys()
    vector = guest.encrypt(d)
    first = selecting(0)
    first.use_keys(keys)
    # The first answer shows as many labels as the host has features. Nothing prevents it.
    assert np.array_equal(stolen(first, vector, None), d[:features])
    # Without new keys the next answer shows as many again.
    second = selecting(features)
    second.use_keys(keys)
    guest.encrypt(np.zeros(samples, np.int64))
    assert np.array_equal(stolen(second, vector, None), d[features : 2 * features])
    # With new keys, and a forged tag, the answer has nothing to do with the labels.
    old = second._public.tag
    guest.keys()
    guest.encrypt(np.zeros(samples, np.int64))
    tag = guest._secret.tag
    forged = (int(tag, 16).to_bytes(8, "little"), int(old, 16).to_bytes(8, "little"))
    found = stolen(second, vector, forged)
    assert not np.any(found == d[features : 2 * features])
    modulus = terms.plan.plaintext_modulus
    found = np.concatenate([stolen(second, vector, forged) for _ in range(64)])
    assert uniform(found.astype(object) % modulus, modulus) > 1e-6
    # A tag that is not forged is refused.
    with pytest.raises(cm.KeyMismatchError):
        stolen(second, vector, None)


def test_an_echo_is_refused() -> None:
    terms = PaillierTerms(3, 10, 4)
    holder = terms.key_holder(Report("paillier", 1, {}))
    holder.keys()
    vector = holder.encrypt(np.arange(10))
    encrypted = cm.paillier.EncryptedVector.from_bytes(holder._secret.public, vector)
    with pytest.raises(cm.PeerError, match="own encrypted half"):
        holder.residues(encrypted[:3].to_bytes())
    # Also after further halves under the same key.
    holder.encrypt(np.arange(10))
    with pytest.raises(cm.PeerError, match="own encrypted half"):
        holder.residues(encrypted[:3].to_bytes())
    # New keys: the ciphertexts are of another modulus.
    holder.keys()
    with pytest.raises(cm.CiphermillError):
        holder.residues(encrypted[:3].to_bytes())


def resealed(template: bytes, ciphertexts: bytes, form: int = 0) -> bytes:
    """An object with the plan and the key tag of another one, and these ciphertexts."""
    (plan,) = struct.unpack_from("<H", template, 24)
    body = template[24 : 24 + 2 + plan + 8] + bytes([form]) + bytes(7) + ciphertexts
    head = template[:12] + struct.pack("<Q", len(body))
    return head + struct.pack("<I", crc32c(head)) + body + struct.pack("<I", crc32c(body))


@pytest.mark.parametrize(
    ("later", "first", "second"), [(0, True, True), (0, False, True), (2, True, True), (2, True, False)]
)
def test_an_echo_by_bfv_is_refused(later: int, first: bool, second: bool) -> None:
    """A host returns polynomials of the guest's half in a masked product. It may wait for further halves under the same key."""
    samples, features = 128, 16
    # With room for a sum, a sum with zero shows the second polynomial, which is sent as a seed.
    terms = BfvTerms(features, samples, answers=16, summands=2)
    guest = terms.key_holder(Report("bfv", samples, {}))
    keys, half = guest.keys(), guest.encrypt(np.arange(samples))
    host = terms.matrix_holder(
        [Columns(np.ones((samples, features), np.int16), np.zeros(features, np.int64))], Report("bfv", samples, {})
    )
    host.use_keys(keys)
    masked, _ = host.product(half, None, 0)
    offset = 24 + 2 + struct.unpack_from("<H", half, 24)[0] + 16
    size = len(half) - 4 - offset - 32
    zero = EncryptedVector.from_bytes(terms.plan, resealed(half, bytes(2 * size)))
    full = EncryptedVector.from_bytes(terms.plan, half).add(zero).to_bytes()[offset:-4]
    honest = masked[offset:-4]
    assert len(full) == len(honest) == 2 * size
    assert full[:size] == half[-4 - size : -4]
    for _ in range(later):
        guest.encrypt(np.zeros(samples, np.int64))
    forged = (full if first else honest)[:size] + (full if second else honest)[size:]
    with pytest.raises(cm.PeerError, match="own encrypted half"):
        guest.residues(resealed(masked, forged))
    # Neither the product itself nor its copy is one.
    assert guest.residues(masked) == guest.residues(resealed(masked, honest))
    # New keys forget the halves. The old ones are of another key set.
    guest.keys()
    with pytest.raises(cm.KeyMismatchError):
        guest.residues(masked)


def test_reports_name_the_leaks_of_each_form() -> None:
    X, y = data(200)
    model = fit(X, y, "bfv", columns=THREE, arbiter=True, max_iter=2)
    report = model.report_
    assert report.arbiter == "arbiter"
    assert any("collude" in leak for leak in report.leaks)
    assert any(leak.startswith("bank, post and shop") for leak in report.leaks)
    descent = fit(X, y, "bfv", columns=TWO, solver="sgd", batch_size=64, max_iter=2)
    assert any("norm of the gradient" in leak for leak in descent.report_.leaks)
    assert descent.report_.equations["shop"] == (20 * 8, 200)
    with pytest.raises(
        cm.ParameterError, match="64 samples of a batch are fewer than 16 times the 20 features of shop"
    ):
        HeteroLogisticRegression(columns=TWO, backend="bfv", solver="sgd", batch_size=64).fit(X, y)


def test_the_whole_runs_of_train_together() -> None:
    setup, parties, labels = setting(max_iter=2)
    report = setup.report()
    weights = train_together(setup, parties, labels, report)
    assert {name: len(values) for name, values in weights.items()} == setup.features
