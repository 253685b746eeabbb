"""Contenders whose work is in other processes: two parties over mTLS, and fits that use all cores."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from federated_setting import Authority, proxy

from ciphermill.federated import TLS
from ciphermill.linear_model import HeteroLogisticRegression
from ciphermill_bench.cases.federated.iteration import GUEST, HOST
from ciphermill_bench.harness import Contender, Sample

Answer = dict[str, Any]

#: The kinds of messages that are ciphertexts.
CIPHERTEXTS = ("half", "masked product")


class Child:
    """A process of `ciphermill_bench.child`."""

    def __init__(self, role: str, data: str, cores: Sequence[int], *options: str) -> None:
        self._role = role
        module = [sys.executable, "-m", "ciphermill_bench.child", role]
        words = ["--data", data, "--cores", ",".join(map(str, cores)), "--threads", str(len(cores)), *options]
        self._process = subprocess.Popen(
            [*module, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def send(self, **command: Any) -> None:
        """Write a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")

    def receive(self) -> Answer:
        """Wait for an answer. The process wrote the reason to the error output if it ends without one."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of the {self._role} ended with {self._process.wait()} and no answer")
        answer: Answer = json.loads(line)
        return answer

    def ask(self, **command: Any) -> Answer:
        """Write a command and wait for its answer."""
        self.send(**command)
        return self.receive()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


@contextmanager
def child(role: str, data: str, cores: Sequence[int], *options: str) -> Iterator[Child]:
    """A process that is ready for commands."""
    started = Child(role, data, cores, *options)
    try:
        started.receive()
        yield started
    finally:
        started.close()


@dataclass(frozen=True)
class Fitted:
    """The answers of the guest and of the host to one fit."""

    guest: Answer
    host: Answer

    @property
    def ns(self) -> float:
        """From the guest's call until both have their weights."""
        return float(max(self.guest["end_ns"], self.host["end_ns"]) - self.guest["start_ns"])

    @property
    def products(self) -> int:
        """The iterations."""
        return int(self.guest["products"])

    @property
    def ciphertext_bytes(self) -> int:
        """Bytes of all ciphertexts of the iterations, both directions together."""
        return sum(count for _, _, kind, count in self.guest["bytes"] if kind in CIPHERTEXTS)

    @property
    def message_bytes(self) -> int:
        """Bytes of all messages."""
        return sum(count for *_, count in self.guest["bytes"])

    def equals(self, model: HeteroLogisticRegression) -> bool:
        """Whether the weights are those of a model in every bit."""
        return (
            bytes.fromhex(self.guest["coef"] + self.host["coef"]) == model.coef_.tobytes()
            and bytes.fromhex(self.guest["intercept"]) == model.intercept_.tobytes()
            and self.guest["converged"]
            and self.host["converged"]
        )


class Parties:
    """A guest and a host, each in its own process, with certificates of one authority."""

    def __init__(self, guest: Child, host: Child) -> None:
        self._guest, self._host = guest, host

    def fit(self, tol: float) -> Fitted:
        """A fit over a new connection."""
        address = self._host.ask(tol=tol)["address"]
        return self._finish(tol, address)

    def fit_counted(self, tol: float) -> tuple[Fitted, int]:
        """A fit whose connections go through a proxy, and the bytes that it carried in both directions: all that the TCP
        connections contain."""
        with proxy(self._host.ask(tol=tol)["address"]) as between:
            return self._finish(tol, between.address), sum(between.pieces)

    def _finish(self, tol: float, address: str) -> Fitted:
        self._guest.send(tol=tol, address=address)
        return Fitted(self._guest.receive(), self._host.receive())


@contextmanager
def parties(data: str, cores: Sequence[int]) -> Iterator[Parties]:
    """Both processes, on a core each if there are two."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        authority = Authority(folder)
        processes = [
            stack.enter_context(child(role, data, [core], "--tls", *_files(authority.issue(role))))
            for role, core in ((GUEST, cores[0]), (HOST, cores[-1]))
        ]
        yield Parties(*processes)


def _files(tls: TLS) -> list[str]:
    return [str(path) for path in (tls.certificate, tls.key, tls.authority)]


class Apart(Contender):
    """Fits of two parties over mTLS on loopback, each with a new connection."""

    name = "two processes"

    def __init__(self, both: Parties, expected: HeteroLogisticRegression) -> None:
        self._parties, self._expected = both, expected
        self.first = self.last = both.fit(expected.tol)

    def sample(self) -> Sample:
        self.last = self._parties.fit(self._expected.tol)
        return Sample(self.last.ns, self.last.ns)

    def correct(self) -> bool:
        return self.last.equals(self._expected)


def wire(both: Parties, loose: float, tight: float) -> dict[str, Any]:
    """Bytes of an iteration on the wire: the difference of two fits that differ in the number of iterations only, so that
    handshakes and keys cancel."""
    (first, first_bytes), (second, second_bytes) = both.fit_counted(loose), both.fit_counted(tight)
    iterations = second.products - first.products
    if iterations < 1:
        raise SystemExit(f"the fits with tol={loose} and {tight} have {first.products} and {second.products} products")
    carried = (second_bytes - first_bytes) / iterations
    ciphertexts = (second.ciphertext_bytes - first.ciphertext_bytes) / iterations
    return {
        "wire_bytes": round(carried),
        "ciphertext_bytes": round(ciphertexts),
        "message_bytes": round((second.message_bytes - first.message_bytes) / iterations),
        "wire_over_ciphertexts": round(carried / ciphertexts, 4),
        "fit_wire_bytes": second_bytes,
        "iterations": iterations,
    }


class Alone(Contender):
    """Fits of both parties in one process with all cores."""

    def __init__(self, process: Child, backend: str) -> None:
        self.name = f"backend {backend}"
        self._process, self._backend = process, backend
        self.last: Answer = {}

    def sample(self) -> Sample:
        self.last = self._process.ask(backend=self._backend)
        ns = float(self.last["end_ns"] - self.last["start_ns"])
        return Sample(ns, ns)

    def correct(self) -> bool:
        """Whether the fit converged. The caller compares the weights of two back ends."""
        return bool(self.last["converged"])

    @property
    def weights(self) -> tuple[str, str]:
        """The weights of the last fit."""
        return self.last["coef"], self.last["intercept"]


class Agreeing(Alone):
    """Fits whose weights equal those of another back end in every bit."""

    def __init__(self, process: Child, backend: str, other: Alone) -> None:
        super().__init__(process, backend)
        self._other = other

    def correct(self) -> bool:
        return super().correct() and self.weights == self._other.weights
