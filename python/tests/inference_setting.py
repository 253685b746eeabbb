"""Shared parts of the tests of private inference: two parties, a run through bytes, a comparison."""

import numpy as np

from ciphermill.inference import Client, Dense, PrivateClassifier, ReLU, Result, Server


def same_integers(first: Result, second: Result) -> None:
    """All inputs and outputs of all linear layers are equal, and so are the scores in every bit."""
    assert len(first.layers) == len(second.layers)
    for a, b in zip(first.layers, second.layers, strict=True):
        np.testing.assert_array_equal(a.inputs, b.inputs)
        np.testing.assert_array_equal(a.outputs, b.outputs)
    assert first.scores.tobytes() == second.scores.tobytes()
    assert first.clipped == second.clipped


class Setting:
    """A network with a layer that needs keys at the server, its server, and samples."""

    def __init__(self, rng: np.random.Generator) -> None:
        weights = rng.normal(0, 1, (512, 700)), rng.normal(0, 1, (4, 512))
        layers = [Dense(weights[0], rng.normal(0, 1, 512)), ReLU(), Dense(weights[1])]
        self.X = rng.normal(0, 1, (6, 700))
        self.classifier = PrivateClassifier(layers, (700,), self.X)
        self.server = self.classifier.server()

    def server_bytes(self) -> int:
        """Bytes of one client of a server."""
        server = self.classifier.server()
        server.register(Client(server.client_spec()).keys())
        return server.nbytes

    def client(self) -> Client:
        client = Client(self.server.client_spec())
        self.server.register(client.keys().to_bytes())
        return client


def through_bytes(client: Client, server: Server, X: np.ndarray) -> Result:
    exchange = client.start(X)
    for layer in range(client.layers):
        assert exchange.layer == exchange.query.layer == layer
        query = exchange.query.to_bytes()
        assert len(query) == exchange.query.nbytes
        answer = server.layer(layer, query).to_bytes()
        exchange = client.next(exchange, answer)
    assert exchange.done
    return exchange.result
