"""Metrics of a party in Prometheus' text format, at /metrics; /healthz answers as long as the process lives."""

from __future__ import annotations

import ipaddress
import os
import socket
import socketserver
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Self, cast

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

import ciphermill
from ciphermill.errors import ParameterError
from ciphermill.federated._network import Network
from ciphermill.federated._tls import Address
from ciphermill.federated._training import ALIGNING, CONNECTING, SCORING, TRAINING, Part

#: The states of a party in their order: before, in and after the phases of its part.
READING, WRITING, DONE = "reading", "writing", "done"
STATES = (READING, CONNECTING, ALIGNING, TRAINING, SCORING, WRITING, DONE)

#: Connections at one time, and seconds for one.
MAX_CONNECTIONS, SECONDS = 16, 5.0

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Watch:
    """The facts of a party that the metrics show. The thread of the training writes them, the thread of a request reads them."""

    def __init__(self, name: str, role: str, backend: str) -> None:
        self.name, self.role, self.backend = name, role, backend
        self.state = READING
        self.started = time.time()
        self.part: Part | None = None
        self.network: Network | None = None

    def collect(self) -> Iterator[Metric]:
        """The metrics. They are named like the metrics of the device server."""
        yield _gauge("ciphermill_build_info", "The version that runs.", 1, version=ciphermill.__version__)
        yield _gauge("ciphermill_start_time_seconds", "The start of the process, as Unix time.", self.started)
        yield _gauge("ciphermill_resident_memory_bytes", "Memory of the process that is resident.", _resident())
        yield _gauge("ciphermill_party_info", "The party.", 1, name=self.name, role=self.role, backend=self.backend)
        state = GaugeMetricFamily("ciphermill_party_state", "1 for the state of the party.", labels=["state"])
        for name in STATES:
            state.add_metric([name], float(name == self.state))
        yield state
        connections = {} if self.network is None else self.network.connections
        again = [((peer,), max(0, count - 1)) for peer, count in connections.items()]
        yield _counter("ciphermill_party_reconnections", "Connections after the first one.", ["peer"], again)
        if self.part is not None:
            yield from self._training(self.part)

    def _training(self, part: Part) -> Iterator[Metric]:
        report = part.report
        last = report.residuals[-1] if report.residuals else 1.0
        left = part.most_answers - part.answers
        for name, text, value in (
            ("iterations", "Finished iterations.", len(report.residuals)),
            ("relative_gradient", "The norm of the gradient relative to that at the start.", last),
            ("products", "Products with the matrix of each party.", report.products),
            ("answers_left", "Further products of this party for which the floods are sized.", left),
            ("restarts", "Restarts of parties during the training.", report.restarts),
        ):
            yield _gauge(f"ciphermill_party_{name}", text, value)
        # The copy of a dict is atomic. The other thread may add entries after it.
        sent = [(self._labels(*message), count) for message, count in dict(report.bytes).items()]
        yield _counter("ciphermill_party_bytes", "Bytes of messages.", ["direction", "peer", "kind"], sent)
        steps = [((step,), seconds) for step, seconds in dict(report.seconds).items()]
        yield _counter("ciphermill_party_step_seconds", "Seconds of the steps of the computation.", ["step"], steps)

    def _labels(self, sender: str, receiver: str, kind: str) -> tuple[str, str, str]:
        return ("sent", receiver, kind) if sender == self.name else ("received", sender, kind)


def _gauge(name: str, text: str, value: float, /, **labels: str) -> Metric:
    metric = GaugeMetricFamily(name, text, labels=list(labels))
    metric.add_metric(list(labels.values()), value)
    return metric


def _counter(name: str, text: str, labels: list[str], values: Iterable[tuple[Sequence[str], float]]) -> Metric:
    metric = CounterMetricFamily(name, text, labels=labels)
    for each, value in values:
        metric.add_metric(each, value)
    return metric


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Server(socketserver.ThreadingTCPServer):
    """The server of the metrics of one party. Raises `ParameterError` if the address cannot be listened on."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: Address, watch: Watch) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(watch)
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        if ":" in address.host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__(address, Handler)
        except OSError as error:
            raise ParameterError(
                f"the metrics cannot listen on {address}: {error.strerror}; use another address"
            ) from error
        host, port = self.server_address[:2]
        self.address = Address(str(host), int(port))
        #: Whether only processes of this machine can connect.
        self.local = ipaddress.ip_address(self.address.host).is_loopback
        threading.Thread(target=self.serve_forever, args=(0.05,), name="ciphermill metrics", daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        end = threading.Timer(SECONDS, _end, (request,))
        end.daemon = True
        end.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is not an error of the party."""

    def close(self) -> None:
        """Stop listening."""
        self.shutdown()
        self.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server_version, sys_version = "ciphermill", ""

    def do_GET(self) -> None:
        server = cast("Server", self.server)
        if server.local and not _is_local(self.headers.get("Host", "")):
            # A web page whose name resolves to this machine must not read the metrics.
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, b"use the name localhost or a loopback address\n")
        elif self.path == "/metrics":
            self._answer(HTTPStatus.OK, generate_latest(server.registry), CONTENT_TYPE)
        elif self.path == "/healthz":
            self._answer(HTTPStatus.OK, b"ok\n")
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"use /metrics or /healthz\n")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """No log: standard error has the progress."""


def _is_local(host: str) -> bool:
    """Whether the header `Host` names this machine."""
    name = host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
