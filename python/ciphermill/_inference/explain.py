"""The explanation of a network: the form of each layer, its candidates, and their costs."""

from __future__ import annotations

from typing import Any

from ciphermill._inference.choice import Candidate
from ciphermill._inference.network import Network
from ciphermill._inference.report import describe


class NetworkExplanation:
    """The forms of the layers of a network and their estimated costs.

    `print(explanation)` shows them as text, `as_dict()` has them for JSON.
    """

    def __init__(self, network: Network, candidates: list[list[Candidate]], batch: int) -> None:
        self._batch = batch
        self._layers: list[dict[str, Any]] = [
            {
                "name": describe(stage),
                "form": stage.form.name,
                "lanes": stage.form.lanes,
                "weight_bits": stage.problem.weight_bits,
                "activation_bits": stage.problem.activation_bits,
                "output_scale": stage.scale,
                "candidates": [_candidate(candidate, batch) for candidate in found],
            }
            for stage, found in zip(network.stages, candidates, strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """All facts."""
        return {"batch": self._batch, "layers": self._layers}

    def __str__(self) -> str:
        lines = [f"estimates for {self._batch} samples at once: client and server on one thread, and sending"]
        for index, layer in enumerate(self._layers):
            lines.append(f"layer {index}   {layer['name']}: {layer['form']}, lanes {layer['lanes']}")
            for each in layer["candidates"]:
                sizes = f"{each['sent_bytes']} B sent, {each['returned_bytes']} B returned for each group"
                lines.append(
                    f"{'':<10}{each['form']}, lanes {each['lanes']}: {each['estimated_us']:.0f} us a sample, {sizes}"
                )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<NetworkExplanation of {len(self._layers)} linear layers>"


def _candidate(candidate: Candidate, batch: int) -> dict[str, Any]:
    return {
        "form": candidate.form.name,
        "lanes": candidate.form.lanes,
        "estimated_us": candidate.microseconds / batch,
        "sent_bytes": candidate.sent,
        "returned_bytes": candidate.returned,
    }
