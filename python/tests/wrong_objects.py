"""Calls of the public functions of the package, with suitable arguments: the base of `test_wrong_objects.py`."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import ciphermill as cm
from ciphermill import device, inference, lookup, paillier, statistics, tfhe
from ciphermill.linear_model import HeteroLogisticRegression


@dataclass
class Call:
    """A function, suitable arguments by name, and the wrong objects that an argument accepts all the same."""

    function: Callable[..., object]
    arguments: dict[str, Any]
    accepts: dict[str, str] = field(default_factory=dict)
    #: The error that the suitable arguments raise, if a result needs another machine or large keys.
    refusal: str = ""
    #: Whether scikit-learn checks the arguments, by its own `ValueError` and `TypeError`.
    foreign: bool = False

    def __call__(self, changed: dict[str, Any]) -> object:
        """Call the function with all arguments by name, some of them changed."""
        return self.function(**(self.arguments | changed))


def binary(function: Callable[[Any, Any], object], left: Any, right: Any, accepts: str = "") -> Call:
    """An operator, whose right operand is swept."""
    return Call(lambda other: function(left, other), {"other": right}, {"other": accepts})


def first(function: Callable[..., object], name: str, value: Any, accepts: str = "") -> Call:
    """A function of one argument by position."""
    return Call(lambda **given: function(given[name]), {name: value}, {name: accepts})


def _native_calls() -> dict[str, Call]:
    plan = cm.MatVecPlan(5, 7, unsplit=True, flooding_bits=20, summands=2)
    client = plan.keygen()
    server = plan.server(client.evaluation)
    matrix, x = np.ones((5, 7), int), np.ones(7, int)
    prepared, vector = server.prepare(matrix), client.encrypt(x)
    product = prepared @ vector
    masked, share = product.mask(client.public)
    conv = cm.Conv2dPlan((1, 4, 4), (1, 2, 2))
    images = conv.keygen()
    kernels, image = conv.prepare(np.ones((1, 1, 2, 2), int)), images.encrypt(np.ones((1, 4, 4), int))
    sums = cm.SumPlan([(1, 10)], 2)
    holder = sums.keygen()
    contribution = holder.public.encrypt([[1]])
    return {
        "MatVecPlan": Call(
            cm.MatVecPlan,
            {
                "rows": 5,
                "cols": 7,
                "matrix_bits": 8,
                "vector_bits": 8,
                "security": 128,
                "encryption": "secret",
                "strategy": "row-packed",
                "parameters": None,
                "log2_failure": -64.0,
                "unsplit": False,
                "flooding_bits": 0,
                "summands": 1,
            },
            {"rows": "int", "cols": "int", "matrix_bits": "int", "vector_bits": "int", "strategy": "None"}
            | {"parameters": "None", "flooding_bits": "int", "summands": "int"},
        ),
        "MatVecPlan.client": first(plan.client, "secret", client.secret),
        "MatVecPlan.server": first(plan.server, "evaluation", client.evaluation),
        "MatVecPlan.from_bytes": first(cm.MatVecPlan.from_bytes, "data", plan.to_bytes()),
        "MatVecClient.encrypt": first(client.encrypt, "values", x),
        "MatVecClient.decrypt": first(client.decrypt, "product", product),
        "MatVecClient.decrypt_masked": first(client.decrypt_masked, "product", masked),
        "BfvSecretKey.encrypt": Call(
            lambda plan, values: client.secret.encrypt(plan, values), {"plan": plan, "values": x}
        ),
        "BfvSecretKey.decrypt_masked": first(client.secret.decrypt_masked, "product", masked),
        "EncryptedVector.add": first(vector.add, "other", vector),
        "MaskedProduct.echoes": first(masked.echoes, "vector", vector),
        "MatVecServer.prepare": first(server.prepare, "matrix", matrix),
        "MatVecServer.multiply": Call(
            lambda matrix, vector: server.multiply(matrix, vector), {"matrix": matrix, "vector": vector}
        ),
        "PreparedMatrix.__matmul__": binary(operator.matmul, prepared, vector),
        "EncryptedVector.add_plain": first(vector.add_plain, "values", x),
        "EncryptedVector.stack": first(cm.EncryptedVector.stack, "vectors", [vector]),
        "EncryptedVector.from_bytes": Call(
            lambda plan, data: cm.EncryptedVector.from_bytes(plan, data), {"plan": plan, "data": vector.to_bytes()}
        ),
        "EncryptedProduct.mask": first(product.mask, "public", client.public),
        "EncryptedProduct.stack": first(cm.EncryptedProduct.stack, "products", [product]),
        "EncryptedProduct.from_bytes": Call(
            lambda plan, data: cm.EncryptedProduct.from_bytes(plan, data), {"plan": plan, "data": product.to_bytes()}
        ),
        "reconstruct": Call(
            lambda first, second, modulus: cm.reconstruct(first, second, modulus),
            {"first": share, "second": share, "modulus": plan.plaintext_modulus},
            {"modulus": "int"},
        ),
        "set_threads": first(cm.set_threads, "threads", cm.threads(), "int"),
        "Conv2dPlan": Call(
            lambda image, kernels: cm.Conv2dPlan(image, kernels), {"image": (1, 4, 4), "kernels": (1, 2, 2)}
        ),
        "Conv2dPlan.prepare": first(conv.prepare, "kernels", np.ones((1, 1, 2, 2), int)),
        "Conv2dClient.encrypt": first(images.encrypt, "image", np.ones((1, 4, 4), int)),
        "Conv2dClient.decrypt": first(images.decrypt, "output", kernels.convolve(image)),
        "PreparedKernels.convolve": first(kernels.convolve, "image", image),
        "EncryptedImage.from_bytes": Call(
            lambda plan, ciphertexts: cm.EncryptedImage.from_bytes(plan, ciphertexts),
            {"plan": conv, "ciphertexts": image.to_bytes()},
        ),
        "SumPlan": Call(
            lambda segments, parties: cm.SumPlan(segments, parties),
            {"segments": [(1, 10)], "parties": 2},
            {"parties": "int"},
        ),
        "SumPlan.key_holder": first(sums.key_holder, "secret", holder.to_secret_bytes()),
        "SumPlan.from_bytes": first(cm.SumPlan.from_bytes, "data", sums.to_bytes()),
        "SumKeyHolder.decrypt": first(holder.decrypt, "sums", contribution),
        "SumPublicKey.encrypt": first(holder.public.encrypt, "values", [[1]]),
        "EncryptedSums.__add__": binary(operator.add, contribution, contribution),
    }


def _paillier_calls() -> dict[str, Call]:
    public, secret = paillier.keygen(512, insecure=True)
    x = public.encrypt([1, 2, 3])
    packing = paillier.Packing(8, 8, 4)
    packed = public.pack([1, 2, 3], packing)
    options: dict[str, Any] = {"step": 1.0, "bits": 8}
    loose = {"step": "None int", "bits": "int"}
    whole = {"values": "int"}
    primes = 2**255 + 95, 2**256 - 189
    return {
        "paillier.keygen": Call(lambda bits: paillier.keygen(bits, insecure=True), {"bits": 512}),
        "paillier.plain": Call(paillier.plain, {"values": [1]} | options, whole | loose),
        "paillier.PublicKey": first(paillier.PublicKey, "native", public._native),
        "paillier.PublicKey.from_modulus": first(
            lambda n: paillier.PublicKey.from_modulus(n, insecure=True), "n", public.n
        ),
        "paillier.PublicKey.from_bytes": first(
            lambda data: paillier.PublicKey.from_bytes(data, insecure=True), "data", public.to_bytes()
        ),
        "paillier.PublicKey.encrypt": Call(public.encrypt, {"values": [1]} | options, whole | loose),
        "paillier.PublicKey.pack": Call(public.pack, {"values": [1], "packing": packing}, whole),
        "paillier.SecretKey": first(paillier.SecretKey, "native", secret._native),
        "paillier.SecretKey.from_primes": Call(
            lambda p, q: paillier.SecretKey.from_primes(p, q, insecure=True), {"p": primes[0], "q": primes[1]}
        ),
        "paillier.SecretKey.from_secret_bytes": first(
            lambda data: paillier.SecretKey.from_secret_bytes(data, insecure=True), "data", secret.to_secret_bytes()
        ),
        "paillier.SecretKey.encrypt": Call(secret.encrypt, {"values": [1]} | options, whole | loose),
        "paillier.SecretKey.decrypt": Call(secret.decrypt, {"encrypted": x}),
        "paillier.EncryptedVector": Call(paillier.EncryptedVector, {"native": x._native, "shape": (3,)}),
        "paillier.EncryptedVector.__add__": binary(operator.add, x, x, "int"),
        "paillier.EncryptedVector.__sub__": binary(operator.sub, x, x, "int"),
        "paillier.EncryptedVector.__rsub__": Call(lambda other: other - x, {"other": 1}, {"other": "int"}),
        "paillier.EncryptedVector.__mul__": binary(operator.mul, x, 2, "int"),
        "paillier.EncryptedVector.__truediv__": binary(operator.truediv, x, 2),
        "paillier.EncryptedVector.__matmul__": binary(operator.matmul, x, [1, 2, 3]),
        "paillier.EncryptedVector.__rmatmul__": Call(lambda other: other @ x, {"other": np.array([1, 2, 3])}),
        "paillier.EncryptedVector.__getitem__": binary(operator.getitem, x, 1, "None"),
        "paillier.EncryptedVector.sum": Call(x.sum, {"axis": 0}, {"axis": "None"}),
        "paillier.EncryptedVector.rerandomise": Call(x.rerandomise, {"strict": False}),
        "paillier.EncryptedVector.reshape": first(x.reshape, "shape", (3, 1)),
        "paillier.EncryptedVector.from_ciphertexts": Call(
            paillier.EncryptedVector.from_ciphertexts,
            {"key": public, "ciphertexts": x.ciphertexts()} | options,
            {"ciphertexts": "int", "step": "int", "bits": "int"},
        ),
        "paillier.EncryptedVector.from_bytes": Call(
            paillier.EncryptedVector.from_bytes, {"key": public, "data": x.to_bytes()}
        ),
        "paillier.Packing": Call(
            paillier.Packing,
            {"value_bits": 8, "guard_bits": 8, "slots": 4},
            dict.fromkeys(["value_bits", "guard_bits", "slots"], "int"),
        ),
        "paillier.Packing.fill": Call(
            paillier.Packing.fill,
            {"value_bits": 8, "guard_bits": 8, "key": public},
            {"value_bits": "int", "guard_bits": "int"},
        ),
        "paillier.PackedVector": Call(paillier.PackedVector, {"native": packed._native, "shape": (3,)}),
        "paillier.PackedVector.__add__": binary(operator.add, packed, packed, "int"),
        "paillier.PackedVector.__sub__": binary(operator.sub, packed, packed, "int"),
        "paillier.PackedVector.__mul__": binary(operator.mul, packed, 2, "int"),
        "paillier.PackedVector.rerandomise": Call(packed.rerandomise, {"strict": False}),
        "paillier.PackedVector.from_bytes": Call(
            paillier.PackedVector.from_bytes, {"key": public, "data": packed.to_bytes()}
        ),
        "paillier.Plain": Call(paillier.Plain, {"native": paillier.plain([1])._native, "shape": (1,)}),
    }


def _tfhe_calls() -> dict[str, Call]:
    client = tfhe.keygen("TEST_SMALL_U64", insecure=True)
    keys = client.evaluation()
    server = tfhe.Server(keys)
    x, pair = client.encrypt([1, 0]), client.encrypt_bits([True, False])
    words = tfhe.keygen("WORD_2M64")
    word = words.encrypt_word(1, bits=2)
    return {
        "tfhe.keygen": Call(
            lambda parameters, bits: tfhe.keygen(parameters, bits=bits, insecure=True),
            {"parameters": "TEST_SMALL_U64", "bits": 1},
            {"parameters": "None", "bits": "None str int object neighbour"},
        ),
        "tfhe.ClientKey": first(tfhe.ClientKey, "native", client._native),
        "tfhe.ClientKey.from_secret_bytes": first(
            lambda data: tfhe.ClientKey.from_secret_bytes(data, insecure=True), "data", client.to_secret_bytes()
        ),
        "tfhe.ClientKey.encrypt": Call(
            client.encrypt,
            {"values": [1], "bits": 2, "within": (0, 1)},
            {"bits": "None int", "within": "None"},
        ),
        "tfhe.ClientKey.decrypt": Call(client.decrypt, {"encrypted": x}),
        "tfhe.ClientKey.encrypt_bits": Call(client.encrypt_bits, {"bits": [True]}),
        "tfhe.ClientKey.decrypt_bits": Call(client.decrypt_bits, {"encrypted": pair}),
        "tfhe.ClientKey.encrypt_word": Call(
            words.encrypt_word, {"value": 1, "bits": 2}, {"value": "int", "bits": "int"}
        ),
        "tfhe.ClientKey.decrypt_word": Call(words.decrypt_word, {"word": word}),
        "tfhe.Server": Call(tfhe.Server, {"keys": keys, "memory": None}, {"memory": "None"}),
        "tfhe.Server.apply": Call(
            server.apply,
            {"function": lambda v: v, "values": x, "bits": None},
            {"bits": "None int"},
        ),
        "tfhe.Server.gate": Call(server.gate, {"name": "and", "left": pair, "right": pair}),
        "tfhe.Server.invert": Call(server.invert, {"bits": pair}),
        "tfhe.Server.look_up": Call(
            server.look_up,
            {"function": lambda v: v, "word": word, "bits": 2, "output_bits": 2},
            refusal="ParameterError",
        ),
        "tfhe.EncryptedIntegers": Call(tfhe.EncryptedIntegers, {"native": x._native, "shape": (2,)}),
        "tfhe.EncryptedIntegers.__add__": binary(operator.add, x, x),
        "tfhe.EncryptedIntegers.__sub__": binary(operator.sub, x, x),
        "tfhe.EncryptedIntegers.__mul__": binary(operator.mul, x, 1, "int"),
        "tfhe.EncryptedIntegers.__getitem__": binary(operator.getitem, x, 1, "None"),
        "tfhe.EncryptedIntegers.reshape": first(x.reshape, "shape", (2, 1)),
        "tfhe.EncryptedIntegers.from_bytes": first(tfhe.EncryptedIntegers.from_bytes, "elements", x.to_bytes()),
        "tfhe.EncryptedBits": Call(tfhe.EncryptedBits, {"native": pair._native, "shape": (2,)}),
        "tfhe.EncryptedBits.reshape": first(pair.reshape, "shape", (2, 1)),
        "tfhe.EncryptedBits.from_bytes": first(tfhe.EncryptedBits.from_bytes, "elements", pair.to_bytes()),
        "tfhe.EncryptedWord": first(tfhe.EncryptedWord, "native", word._native),
        "tfhe.EncryptedWord.from_bytes": first(tfhe.EncryptedWord.from_bytes, "data", word.to_bytes()),
    }


def _device_calls(directory: Path) -> dict[str, Call]:
    code = device.assemble("return 4:0:3").code
    dev = device.open(directory)
    dev.put("0:0:0", code)
    dev.put("0:1:0", code)
    register = {"register": "0:0:0"}
    numbers = {"space": None, "memory": None, "key_memory": None, "max_program_seconds": None, "max_log2_failure": None}
    return {
        "device.assemble": Call(device.assemble, {"text": "return 4:0:3", "bindings": None}, {"bindings": "None"}),
        "device.disassemble": Call(device.disassemble, {"program": code}),
        "device.open": Call(
            device.open,
            {"directory": directory} | numbers | {"progress": None},
            {"directory": "str"} | dict.fromkeys(numbers, "None") | {"progress": "None"},
            refusal="DeviceError",
        ),
        "device.connect": Call(
            device.connect,
            {"address": "127.0.0.1:1", "subsystem": None, "host": None, "namespace": None, "give_up_after": 0.01},
            refusal="PeerError",
        ),
        "device.open_async": Call(device.open_async, {"directory": directory}, {"directory": "str"}),
        "device.connect_async": Call(device.connect_async, {"address": "127.0.0.1:1"}, {"address": "str"}),
        "device.Device": first(device.Device, "handle", dev._handle),
        "device.Device.put": Call(dev.put, register | {"data": code}),
        "device.Device.get": Call(dev.get, register | {"mode": "armed"}),
        "device.Device.stat": Call(dev.stat, register),
        "device.Device.delete": Call(dev.delete, {"register": "0:1:0"}),
        "device.AsyncDevice": first(device.AsyncDevice, "opening", lambda: dev),
    }


def _lookup_calls() -> dict[str, Call]:
    table = lookup.PrivateTable([b"first", b"other"])
    reader = lookup.Reader(table.plan, table.shape)
    answer = table.answer(reader.evaluation, reader.query(1), name="reader")
    arguments = {"plan": table.plan, "shape": table.shape, "max_key_bytes": 1 << 20}
    budgets = {"max_clients": "None int", "max_bytes": "None int"}
    return {
        "lookup.PrivateTable": Call(
            lookup.PrivateTable, {"records": [b"a", b"b"], "max_clients": 1, "max_bytes": 1 << 30}, budgets
        ),
        "lookup.PrivateTable.register": Call(table.register, {"evaluation": reader.evaluation, "name": "reader"}),
        "lookup.PrivateTable.forget": Call(table.forget, {"name": "nobody"}, {"name": "str"}),
        "lookup.PrivateTable.answer": Call(
            table.answer,
            {"evaluation": reader.evaluation, "query": reader.query(0), "name": "reader"},
            {"name": "None"},
        ),
        "lookup.Reader": Call(lookup.Reader, arguments, {"max_key_bytes": "None int"}),
        "lookup.Reader.from_secret_bytes": Call(
            lookup.Reader.from_secret_bytes,
            arguments | {"data": reader.to_secret_bytes()},
            {"max_key_bytes": "None int"},
        ),
        "lookup.Reader.query": Call(reader.query, {"index": 0}),
        "lookup.Reader.record": Call(reader.record, {"answer": answer, "index": 1}),
    }


def _inference_calls() -> dict[str, Call]:
    X = np.arange(8.0).reshape(2, 4)
    layers = [inference.Dense(np.eye(4))]
    classifier = inference.PrivateClassifier(layers, (4,), X)
    server = classifier.server()
    client = inference.Client(server.client_spec())
    server.register(client.keys(), name="client")
    exchange = client.start(X)
    answer = server.layer(0, exchange.query)
    result = classifier.run(X)
    bits = {"weight_bits": 8, "activation_bits": 8, "batch": 1, "input_range": "feature"}
    some = {"weight_bits": "int", "activation_bits": "int", "batch": "int"}
    model = LogisticRegression().fit(X, [0, 1])
    limits = {"max_samples": None, "max_clients": None, "max_bytes": None}
    none = dict.fromkeys(limits, "None int")
    pool = {"size": 2, "stride": 2}
    return {
        "inference.PrivateClassifier": Call(
            inference.PrivateClassifier,
            {"layers": layers, "input_shape": (4,), "calibration": X, "classes": None} | bits,
            some | {"classes": "None"},
        ),
        "inference.PrivateClassifier.from_sklearn": Call(
            inference.PrivateClassifier.from_sklearn, {"model": model, "X_calibration": X} | bits, some
        ),
        "inference.PrivateClassifier.server": Call(classifier.server, limits, none),
        "inference.PrivateClassifier.run": Call(classifier.run, {"X": X}),
        "inference.PrivateClassifier.predict": Call(classifier.predict, {"X": X}),
        "inference.PrivateClassifier.predict_proba": Call(classifier.predict_proba, {"X": X}),
        "inference.PrivateClassifier.decision_function": Call(classifier.decision_function, {"X": X}),
        "inference.PrivateClassifier.score": Call(classifier.score, {"X": X, "y": [0, 1]}),
        "inference.PrivateClassifier.run_plain": Call(classifier.run_plain, {"X": X}),
        "inference.PrivateClassifier.predict_plain": Call(classifier.predict_plain, {"X": X}),
        "inference.Client": Call(
            inference.Client,
            {"client_spec": server.client_spec(), "max_key_bytes": 1 << 20, "max_query_bytes": 1 << 20},
            {"max_key_bytes": "None int", "max_query_bytes": "None int"},
        ),
        "inference.Client.start": Call(client.start, {"X": X}),
        "inference.Client.next": Call(client.next, {"exchange": exchange, "answer": answer}),
        "inference.Server.register": Call(server.register, {"keys": client.keys(), "name": "client"}),
        "inference.Server.forget": Call(server.forget, {"name": "nobody"}, {"name": "str"}),
        "inference.Server.reset": Call(
            classifier.server().reset, {"name": "client", "samples": [0]}, {"name": "str", "samples": "None"}
        ),
        "inference.Server.samples": Call(server.samples, {"name": "client"}),
        "inference.Server.layer": Call(
            server.layer, {"index": 0, "query": exchange.query, "name": "client"}, {"name": "None"}
        ),
        "inference.Message.from_bytes": Call(inference.Message.from_bytes, {"data": answer.to_bytes()}),
        "inference.Dense": Call(inference.Dense, {"weights": np.eye(2), "bias": None}, {"bias": "None"}),
        "inference.Conv2d": Call(
            inference.Conv2d,
            {"weights": np.ones((1, 1, 1, 1)), "bias": None, "stride": 1, "padding": 0},
            {"bias": "None", "stride": "int", "padding": "int"},
        ),
        "inference.MaxPool2d": Call(inference.MaxPool2d, pool, {"size": "int", "stride": "None int"}),
        "inference.AvgPool2d": Call(inference.AvgPool2d, pool, {"size": "int", "stride": "None int"}),
        "inference.Result.concatenate": Call(inference.Result.concatenate, {"parts": [result]}),
    }


def _statistics_calls() -> dict[str, Call]:
    stats = statistics.SecureStatistics(
        {"a": (0, 9)}, parties=2, max_rows=9, covariances=True, histograms={"a": [0, 5]}
    )
    holder, aggregator = stats.keygen(), stats.aggregator()
    contributions = [stats.encrypt(holder.public, {"a": [i, i + 1]}) for i in range(3)]
    for i, contribution in enumerate(contributions[:2]):
        aggregator.add(f"party {i}", contribution)
    total = aggregator.total()
    result = holder.decrypt(total)
    options: dict[str, Any] = {
        "columns": {"a": (0, 9)},
        "parties": 8,
        "max_rows": 9,
        "histograms": {"a": [0, 5]},
        "minimum": 2,
        "security": 128,
        "log2_failure": -64.0,
        "max_bytes": 1 << 20,
    }
    every = {"column": "a", "ddof": 1}
    return {
        "statistics.SecureStatistics": Call(
            statistics.SecureStatistics,
            options,
            {"parties": "int", "max_rows": "int", "histograms": "None", "minimum": "int", "max_bytes": "None"},
        ),
        "statistics.SecureStatistics.key_holder": Call(stats.key_holder, {"secret": holder.to_secret_bytes()}),
        "statistics.SecureStatistics.encrypt": Call(stats.encrypt, {"public": holder.public, "rows": {"a": [1]}}),
        "statistics.SecureStatistics.compute": Call(stats.compute, {"tables": [{"a": [1]}, {"a": [2]}]}),
        "statistics.Aggregator.add": Call(
            lambda party, contribution: stats.aggregator().add(party, contribution),
            {"party": "another", "contribution": contributions[2]},
            {"party": "str"},
        ),
        "statistics.KeyHolder.decrypt": Call(holder.decrypt, {"total": total}),
        "statistics.Column": Call(
            statistics.Column,
            {"low": 0, "high": 14, "step": 1.0, "decimals": None},
            {"low": "int", "high": "int", "step": "int", "decimals": "None int"},
        ),
        "statistics.Column.value": first(stats.columns["a"].value, "index", 1, "int"),
        "statistics.Statistics.sum": Call(result.sum, {"column": "a"}, {"column": "None"}),
        "statistics.Statistics.mean": Call(result.mean, {"column": "a"}, {"column": "None"}),
        "statistics.Statistics.variance": Call(result.variance, every, {"column": "None"}),
        "statistics.Statistics.std": Call(result.std, every, {"column": "None"}),
        "statistics.Statistics.covariance": Call(result.covariance, {"ddof": 1}),
        "statistics.Statistics.histogram": Call(result.histogram, {"column": "a", "edges": [0, 5]}, {"edges": "None"}),
    }


def _estimator_calls() -> dict[str, Call]:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    fitted = HeteroLogisticRegression().fit(X, y)

    def fit(**parameters: Any) -> object:
        return HeteroLogisticRegression(**parameters).fit(X, y)

    def refit(**given: Any) -> object:
        return HeteroLogisticRegression().fit(**({"X": X, "y": y} | given))

    parameters: dict[str, Any] = {
        "columns": None,
        "C": 1.0,
        "fit_intercept": True,
        "tol": 1e-6,
        "max_iter": 5,
        "backend": "plain",
        "allow_label_leak": False,
    }
    flags = "None str int object neighbour"
    return {
        "linear_model.HeteroLogisticRegression": Call(
            fit,
            parameters,
            {"columns": "None", "C": "int", "tol": "int", "max_iter": "int"}
            | {"fit_intercept": flags, "allow_label_leak": flags},
        ),
        "linear_model.HeteroLogisticRegression.fit": Call(refit, {"X": X, "y": y}, foreign=True),
        "linear_model.HeteroLogisticRegression.predict": Call(fitted.predict, {"X": X}, foreign=True),
        "linear_model.HeteroLogisticRegression.predict_proba": Call(fitted.predict_proba, {"X": X}, foreign=True),
        "linear_model.HeteroLogisticRegression.predict_log_proba": Call(
            fitted.predict_log_proba, {"X": X}, foreign=True
        ),
        "linear_model.HeteroLogisticRegression.decision_function": Call(
            fitted.decision_function, {"X": X}, foreign=True
        ),
    }


def calls(directory: Path) -> dict[str, Call]:
    """All calls by the name of the function. A device has its store in the directory."""
    return (
        _native_calls()
        | _paillier_calls()
        | _tfhe_calls()
        | _device_calls(directory / "store")
        | _lookup_calls()
        | _inference_calls()
        | _statistics_calls()
        | _estimator_calls()
    )
