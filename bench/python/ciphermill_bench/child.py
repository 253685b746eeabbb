"""A separate process of a case: reads a JSON command from each line of its input and answers with a line of JSON.

guest, host    one party of a fit over a network
alone          all parties of fits in one process
iteration      iterations of random data, for their peak memory
wide           a fit with many columns, for its peak memory
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ciphermill.federated import Network
    from ciphermill.linear_model import HeteroLogisticRegression

Answer = dict[str, Any]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=list(ROLES))
    parser.add_argument("--data", required=True, help="samples × columns, the intercept included")
    parser.add_argument("--cores", required=True, type=lambda text: {int(core) for core in text.split(",")})
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tls", nargs=3, type=Path, metavar="FILE", help="certificate, key, authority")
    return parser.parse_args()


def tell(**answer: Any) -> None:
    """Write an answer."""
    print(json.dumps(answer), flush=True)


def commands() -> Iterator[Answer]:
    """The commands, after the process has reported that it is ready."""
    tell(ready=True)
    for line in sys.stdin:
        yield json.loads(line)


def peak_bytes() -> int:
    """The greatest resident memory so far. That of `getrusage` would count the parent's before the program was loaded."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise SystemExit("/proc/self/status has no VmHWM")


def result(model: HeteroLogisticRegression, start: int, end: int) -> Answer:
    """The times, weights and costs of a fit."""
    report = model.report_
    return {
        "start_ns": start,
        "end_ns": end,
        "coef": model.coef_.tobytes().hex(),
        "intercept": model.intercept_.tobytes().hex(),
        "products": report.products,
        "converged": report.converged,
        "seconds": report.seconds,
        "bytes": [[*key, count] for key, count in report.bytes.items()],
        "peak_bytes": peak_bytes(),
    }


def party(options: argparse.Namespace) -> None:
    """A party on loopback, with a new connection for each fit."""
    from ciphermill.federated import TLS, connect, listen
    from ciphermill_bench.datasets import load

    X, y, guest = load(options.data)
    tls = TLS(*options.tls)
    for command in commands():
        if options.role == "host":
            with listen("127.0.0.1:0", tls=tls, deadline=60) as network:
                tell(address=network.address)
                answer = _fit(network, X[:, guest:], None, command)
        else:
            # The wait of the guest begins before it connects.
            start = time.monotonic_ns()
            with connect(command["address"], tls=tls, certificate_name="host", deadline=60) as network:
                answer = _fit(network, X[:, :guest], y, command) | {"start_ns": start}
        tell(**answer)


def _fit(network: Network, X: Any, y: Any, command: Answer) -> Answer:
    from ciphermill.linear_model import HeteroLogisticRegression

    start = time.monotonic_ns()
    model = HeteroLogisticRegression(backend="bfv", peer=network, tol=command["tol"]).fit(X, y)
    return result(model, start, time.monotonic_ns())


def alone(options: argparse.Namespace) -> None:
    """Fits in this process."""
    from ciphermill.linear_model import HeteroLogisticRegression
    from ciphermill_bench.datasets import load

    X, y, guest = load(options.data)
    columns = {"guest": slice(0, guest), "host": slice(guest, X.shape[1])}
    for command in commands():
        start = time.monotonic_ns()
        model = HeteroLogisticRegression(columns=columns, backend=command["backend"]).fit(X, y)
        tell(**result(model, start, time.monotonic_ns()))


def iteration(options: argparse.Namespace) -> None:
    """Iterations with both parties in this process."""
    from ciphermill_bench.cases.federated.iteration import Data, Iteration, Shape

    samples, features = (int(number) for number in options.data.split("x"))
    shape = Shape(samples, features - features // 2, features // 2)
    contender = Iteration("bfv", Data.draw(shape), shape.bfv_terms())
    contender.warm_up()
    for _ in commands():
        sample = contender.sample()
        # Before the check, which needs memory too.
        peak = peak_bytes()
        tell(ns=sample.typical, peak_bytes=peak, correct=contender.correct())


def wide(options: argparse.Namespace) -> None:
    """A fit of two iterations on noise."""
    import numpy as np

    from ciphermill.linear_model import HeteroLogisticRegression

    samples, features = (int(number) for number in options.data.split("x"))
    rng = np.random.default_rng(10)
    X, y = rng.standard_normal((samples, features - 1)), rng.integers(0, 2, samples)
    for _ in commands():
        start = time.monotonic_ns()
        model = HeteroLogisticRegression(backend="bfv", max_iter=2, allow_label_leak=True).fit(X, y)
        tell(**result(model, start, time.monotonic_ns()), data_bytes=X.nbytes)


ROLES: dict[str, Callable[[argparse.Namespace], None]] = {
    "guest": party,
    "host": party,
    "alone": alone,
    "iteration": iteration,
    "wide": wide,
}


def main() -> None:
    options = arguments()
    # NumPy and the package start their threads when they are imported or first used.
    os.sched_setaffinity(0, options.cores)
    import ciphermill

    ciphermill.set_threads(options.threads)
    ROLES[options.role](options)


if __name__ == "__main__":
    main()
