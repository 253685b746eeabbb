"""The report of a training: times, bytes, the guarantee and the leaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ciphermill._costs import Costs


@dataclass
class Report(Costs):
    """The costs of a training and the facts that the parties learn."""

    backend: str
    samples: int
    #: Features by party.
    features: dict[str, int]
    #: The party with the only key, or `None` for two keys.
    arbiter: str | None = None
    #: The solver.
    solver: str = "cg"
    #: Products of both parties' matrices.
    products: int = 0
    #: Seconds by step. "precondition" is the inversion of each party's block of the Hessian, in clear; with the back end "bfv",
    #: "encrypt", "multiply", "mask", "decrypt" and "unmask" are those of all products.
    seconds: dict[str, float] = field(default_factory=dict)
    #: Bytes by sender, receiver and kind of message.
    bytes: dict[tuple[str, str, str], int] = field(default_factory=dict)
    #: The protection of each party's matrix by masks and floods, in words.
    guarantees: dict[str, str] = field(default_factory=dict)
    #: The relative norm of the gradient after each iteration.
    residuals: list[float] = field(default_factory=list)
    #: The objective, loss and penalty, before the first and after each iteration; it follows from the solver's scalars.
    losses: list[float] = field(default_factory=list)
    #: Restarts of parties during the training.
    restarts: int = 0
    #: Whether the solver reached the tolerance.
    converged: bool = False

    @property
    def equations(self) -> dict[str, tuple[int, int]]:
        """By party: the number of equations in the entries of d that its gradients form, and the number of samples.

        A party with as many equations as samples can solve for d, and the first d holds the labels. This count is a heuristic,
        not a proof.
        """
        return {party: (count * self.products, self.samples) for party, count in self.features.items()}

    @property
    def leaks(self) -> list[str]:
        """The facts that each party learns beyond its own data."""
        if self.backend == "plain":
            return ["everything: the back end `plain` computes in one process, in clear"]
        guest, *hosts = self.features
        everyone = f"{', '.join([guest, *hosts[:-1]])} and {hosts[-1]}"
        scalars = (
            "the scalars of conjugate gradients, two for each product"
            if self.solver == "cg"
            else "the norm of the gradient, once for each pass"
        )
        facts = [
            f"{everyone}: their own gradients X_Pᵀd, one equation in d for each feature and product",
            f"{everyone}: {scalars}, and the scale of d",
            *(f"{host}: its own weights, which depend on the labels" for host in hosts),
            *(f"{guest}: predictions show it {host}'s part of the scores" for host in hosts),
        ]
        if self.arbiter is not None:
            facts.append(f"{self.arbiter}: the number of rows, products and columns; it must collude with no party")
        return facts

    def as_dict(self) -> dict[str, Any]:
        """All facts, for JSON."""
        return {
            "backend": self.backend,
            "arbiter": self.arbiter,
            "solver": self.solver,
            "samples": self.samples,
            "features": self.features,
            "products": self.products,
            "seconds": self.seconds,
            "bytes": self._messages(),
            "guarantees": self.guarantees,
            "equations": {party: list(count) for party, count in self.equations.items()},
            "leaks": self.leaks,
            "residuals": self.residuals,
            "losses": self.losses,
            "converged": self.converged,
            "restarts": self.restarts,
        }

    def plot(self, axes: Any = None) -> Any:
        """Draw the objective, the relative gradient, the equations learnt and the seconds by step. Needs the extra `plot`."""
        from ciphermill._hetero.plots import draw

        return draw(self, axes)

    def __str__(self) -> str:
        seconds, messages = self._lines(16)
        lines = [f"{'back end':<16}{self.backend}", f"{'products':<16}{self.products}", *seconds, *messages]
        lines += [f"{'hidden of ' + party:<16}{words}" for party, words in self.guarantees.items()]
        lines += [f"{'leak':<16}{leak}" for leak in self.leaks]
        return "\n".join(lines)
