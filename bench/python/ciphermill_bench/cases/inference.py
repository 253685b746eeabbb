"""Private inference: a small convolutional network on digits, client-aided, both parties in this process."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import ciphermill as cm
from ciphermill.inference import Conv2d, Dense, Flatten, MaxPool2d, PrivateClassifier, ReLU, Result
from ciphermill_bench.cases import Settings
from ciphermill_bench.harness import Timed
from ciphermill_bench.record import Case, Peer, Report

Floats = npt.NDArray[np.float64]

#: Digits that the network learns from; it is measured on others.
TRAINED = 1400

KERNELS, WINDOW, POOL = 8, 3, 2

LIMIT_NS = 2e6

#: Samples of one request, with the name of the case.
BATCHES = {"digits/cnn": 1, "digits/cnn/batch32": 32}


def features(images: Floats, kernels: Floats, bias: Floats) -> Floats:
    """The convolution, ReLU and pooling in clear: shape (k, features)."""
    windows = np.lib.stride_tricks.sliding_window_view(images[:, 0], (WINDOW, WINDOW), axis=(1, 2))
    outputs = np.einsum("kyxab,mab->kmyx", windows, kernels[:, 0]) + bias[:, np.newaxis, np.newaxis]
    count, channels, height, width = outputs.shape
    blocks = np.maximum(outputs, 0).reshape(count, channels, height // POOL, POOL, width // POOL, POOL)
    pooled: Floats = blocks.max(axis=(3, 5)).reshape(count, -1)
    return pooled


class Digits:
    """The data, and a network whose kernels are random and whose dense layer is trained."""

    def __init__(self) -> None:
        images, self.labels = load_digits(return_X_y=True)
        self.images: Floats = images.reshape(-1, 1, 8, 8) / 16.0
        rng = np.random.default_rng(6)
        self._kernels, self._bias = rng.normal(size=(KERNELS, 1, WINDOW, WINDOW)), rng.normal(size=KERNELS)
        self._dense = LogisticRegression(max_iter=1000).fit(self._features(slice(TRAINED)), self.labels[:TRAINED])

    def _features(self, part: slice) -> Floats:
        return features(self.images[part], self._kernels, self._bias)

    def classifier(self, batch: int) -> PrivateClassifier:
        """The quantised network."""
        return PrivateClassifier(
            [
                Conv2d(self._kernels, self._bias),
                ReLU(),
                MaxPool2d(POOL),
                Flatten(),
                Dense(self._dense.coef_, self._dense.intercept_),
            ],
            (1, 8, 8),
            self.images[:TRAINED],
            batch=batch,
        )

    def accuracy(self) -> float:
        """The share of right labels of the network that is not quantised, on the images that it has not seen."""
        return float(self._dense.score(self._features(slice(TRAINED, None)), self.labels[TRAINED:]))


class Inference(Timed):
    """Predictions for a batch of images, in clear or by both parties; times are those of an image."""

    def __init__(self, classifier: PrivateClassifier, images: Floats, batch: int, private: bool) -> None:
        super().__init__()
        self.name = "private inference" if private else "inference in clear"
        self.operations = batch
        self._classifier, self._images, self._private = classifier, images, private
        self._part = slice(0, batch)
        self._result: Result | None = None

    def prepare(self, turn: int) -> None:
        start = turn % (len(self._images) // self.operations) * self.operations
        self._part = slice(start, start + self.operations)

    def run(self) -> None:
        images = self._images[self._part]
        self._result = self._classifier.run(images) if self._private else self._classifier.run_plain(images)

    def correct(self) -> bool:
        """Whether every layer has the integers of the network in clear."""
        expected = self._classifier.run_plain(self._images[self._part])
        return self._result is not None and all(
            np.array_equal(found.outputs, wanted.outputs)
            for found, wanted in zip(self._result.layers, expected.layers, strict=True)
        )


def _costs(classifier: PrivateClassifier, images: Floats) -> dict[str, Any]:
    """Bytes of one request, by the protocol of two processes."""
    client, server = classifier.client(), classifier.server()
    keys, sent, returned = client.keys().to_bytes(), 0, 0
    server.register(keys)
    exchange = client.start(images)
    while not exchange.done:
        query = exchange.query.to_bytes()
        answer = server.layer(exchange.layer, query).to_bytes()
        sent, returned = sent + len(query), returned + len(answer)
        exchange = client.next(exchange, answer)
    return {"keys_bytes": len(keys), "sent_bytes": sent, "returned_bytes": returned}


def run(settings: Settings, report: Report) -> None:
    """One image in a request, and several."""
    taken = {name: batch for name, batch in BATCHES.items() if settings.takes(name)}
    if not taken:
        return
    digits = Digits()
    images, labels = digits.images[TRAINED:], digits.labels[TRAINED:]
    for name, batch in taken.items():
        classifier = digits.classifier(batch)
        contenders = [Inference(classifier, images, batch, private) for private in (True, False)]
        stats = settings.measure(name, list(contenders), 200, 30, 10.0)
        figures = {
            **_costs(classifier, images[:batch]),
            "accuracy": float(np.mean(classifier.predict_plain(images) == labels)),
            "accuracy_in_floats": digits.accuracy(),
        }
        params = {"image": [1, 8, 8], "kernels": [KERNELS, WINDOW, WINDOW], "pool": POOL, "classes": 10, "batch": batch}
        note = "both parties in one process, messages in memory, keys made before; every layer has the integers of that in clear"
        case = Case(name, params, settings.isa, note)
        peer = Peer("ciphermill, in clear", cm.__version__, "Apache-2.0")
        asked = {"median_ns": LIMIT_NS}
        report.add(case, stats[0], peer, stats[1], asked=asked, figures=figures)
