"""The report of private runs: times, bytes, clipped inputs, and the facts that each party learns."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ciphermill._costs import timed
from ciphermill._inference.network import Network, Stage


@dataclass
class LayerReport:
    """The costs of one linear layer."""

    name: str
    #: Seconds by step: "quantise", "encrypt" and "decrypt" of the client, "multiply" of the server.
    seconds: dict[str, float] = field(default_factory=dict)
    #: Bytes of the queries of the client, and of the answers of the server.
    sent: int = 0
    returned: int = 0
    #: Inputs outside of the range of the calibration, which were clipped.
    clipped: int = 0

    def step(self, name: str) -> AbstractContextManager[None]:
        """Add the time of a block to a step."""
        return timed(self.seconds, name)


@dataclass
class Report:
    """The costs of private runs, and the facts that each party learns."""

    network: Network
    #: Samples of all runs.
    samples: int = 0
    #: Bytes of the client's keys for the server, sent once.
    key_bytes: int = 0
    layers: list[LayerReport] = field(init=False)

    def __post_init__(self) -> None:
        self.layers = [LayerReport(describe(stage)) for stage in self.network.stages]

    @property
    def seconds(self) -> float:
        """Seconds of all steps."""
        return sum(sum(layer.seconds.values()) for layer in self.layers)

    @property
    def equations(self) -> list[tuple[int, int]]:
        """By layer: the equations in the weights of one output channel that the outputs are, and the unknowns in it.

        A client that has as many independent equations as unknowns can solve for the weights.
        """
        counts = []
        for stage in self.network.stages:
            geometry = stage.problem.geometry
            places = int(np.prod(geometry.output[1:]))
            counts.append((places * self.samples, geometry.terms + 1))
        return counts

    @property
    def learns(self) -> dict[str, list[str]]:
        """By party: the facts that it learns, apart from its own data."""
        client = ["the client spec: shapes, steps, classes, the ranges of the calibration, the scales of all layers"]
        client += [
            f"the outputs of {layer.name} as integers: {equations} equations in the {unknowns} weights of each output channel"
            + (", enough to solve for them" if equations >= unknowns else "")
            for layer, (equations, unknowns) in zip(self.layers, self.equations, strict=True)
        ]
        client.append("functions of the weights in the noise and in unused slots of ciphertexts")
        server = [f"the number of samples, {self.samples}, and the time of each message; nothing of the samples"]
        return {"client": client, "server": server}

    def as_dict(self) -> dict[str, Any]:
        """All facts, for JSON."""
        layers = [
            {
                "name": layer.name,
                "seconds": layer.seconds,
                "sent": layer.sent,
                "returned": layer.returned,
                "clipped": layer.clipped,
                "equations": list(equations),
            }
            for layer, equations in zip(self.layers, self.equations, strict=True)
        ]
        return {
            "samples": self.samples,
            "seconds": self.seconds,
            "key_bytes": self.key_bytes,
            "layers": layers,
            "learns": self.learns,
        }

    def __str__(self) -> str:
        lines = [f"{'samples':<10}{self.samples}", f"{'keys':<10}{self.key_bytes} B"]
        for index, layer in enumerate(self.layers):
            lines.append(f"{f'layer {index}':<10}{layer.name}, {layer.clipped} inputs clipped")
            times = ", ".join(f"{step} {seconds * 1e3:.2f} ms" for step, seconds in layer.seconds.items())
            lines.append(f"{'':<10}{times}")
            lines.append(f"{'':<10}client → server {layer.sent} B, server → client {layer.returned} B")
        lines += [f"{party:<10}learns {fact}" for party, facts in self.learns.items() for fact in facts]
        return "\n".join(lines)


def describe(stage: Stage) -> str:
    """A linear layer in words."""
    geometry = stage.problem.geometry
    if stage.dense:
        return f"dense {geometry.image[0]} → {geometry.kernels[0]}"
    sizes = " × ".join(map(str, geometry.image)), " × ".join(map(str, geometry.kernels[1:]))
    return f"convolution of {sizes[0]} by {geometry.kernels[0]} kernels {sizes[1]}"
