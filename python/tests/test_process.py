"""Threads, fork, Ctrl-C, memory, and the time of an import."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest
from conftest import Parties

import ciphermill as cm


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_threads_share_a_matrix(usual: Parties, rng: np.random.Generator) -> None:
    vectors = rng.integers(-128, 128, (4, 256))
    failures: list[object] = []

    def work(x: np.ndarray) -> None:
        for _ in range(5):
            u = usual.client.decrypt(usual.matrix @ usual.client.encrypt(x))
            if not np.array_equal(u, usual.array @ x):
                failures.append(x)

    workers = [threading.Thread(target=work, args=(x,)) for x in vectors]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_the_number_of_threads_is_set() -> None:
    before = cm.threads()
    cm.set_threads(3)
    assert cm.threads() == 3
    cm.set_threads(before)
    assert cm.threads() == before


def product_in_child(connection: "multiprocessing.connection.Connection") -> None:
    try:
        plan = cm.MatVecPlan(5, 7)
        client = plan.keygen()
        u = client.decrypt(
            plan.server(client.evaluation).prepare(np.eye(5, 7, dtype=int)) @ client.encrypt(np.arange(7))
        )
        connection.send(u.tolist())
    except cm.CiphermillError as error:
        connection.send((type(error).__name__, str(error)))


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_child_processes(method: str, small: Parties) -> None:
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    child = context.Process(target=product_in_child, args=(there,))
    child.start()
    assert here.poll(60), "the child hangs"
    answer = here.recv()
    child.join(60)
    if method == "fork":
        assert answer[0] == "ForkError"
        assert "spawn" in answer[1]
    else:
        assert answer == [0, 1, 2, 3, 4]


CTRL_C = """
import os, signal, threading, time
import numpy as np
import ciphermill as cm

# A shell's background job ignores the signal, and so would this process.
signal.signal(signal.SIGINT, signal.default_int_handler)
plan = cm.MatVecPlan(8192, 8192)
client = plan.keygen()
server = plan.server(client.evaluation)
matrix = np.ones((8192, 8192), np.int8)
sent = []

def interrupt():
    time.sleep(0.2)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    while True:
        server.prepare(matrix)
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
product = client.decrypt(server.multiply(matrix[:, :], client.encrypt(np.eye(1, 8192, dtype=int)[0])))
print(int(product.sum()))
"""


def test_ctrl_c_ends_a_long_call() -> None:
    done = subprocess.run([sys.executable, "-c", CTRL_C], capture_output=True, text=True, timeout=300, check=True)
    waited, total = done.stdout.split()
    assert float(waited) < 0.5, done.stdout
    assert int(total) == 8192


def test_arrays_are_read_in_place() -> None:
    rows = cols = 4096
    plan = cm.MatVecPlan(rows, cols)
    server = plan.server(plan.keygen().evaluation)
    for dtype in [np.int8, np.int16, np.int32, np.int64, np.uint8]:
        matrix = np.zeros((rows, cols), dtype)
        # What NumPy would allocate for a conversion is traced.
        tracemalloc.start()
        prepared = server.prepare(matrix)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1 << 16, dtype
        del prepared
    matrix = np.zeros((rows, cols), np.int64)
    server.prepare(matrix)
    before = resident_bytes()
    prepared = server.prepare(matrix)
    # A copy as 64-bit integers would be 134 MB.
    assert resident_bytes() - before < prepared.nbytes + (64 << 20)


def test_ten_thousand_calls_leak_nothing(small: Parties) -> None:
    x = np.arange(7)

    def calls(count: int) -> None:
        for _ in range(count):
            small.client.decrypt(small.matrix @ small.client.encrypt(x))
            with pytest.raises(cm.ParameterError):
                small.client.encrypt(x[1:])

    calls(500)
    before = resident_bytes()
    calls(10_000)
    assert resident_bytes() - before < 4 << 20


def test_a_signal_handler_that_returns_does_not_end_a_call(small: Parties) -> None:
    seen: list[int] = []
    previous = signal.signal(signal.SIGALRM, lambda number, _: seen.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            plan = cm.MatVecPlan(300, 300)
        signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert seen
    assert plan.shape == (300, 300)
