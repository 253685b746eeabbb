"""Workers of Ray on one machine: exact products, killed workers, memory, shutdown."""

import builtins
import copy
import gc
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from federated_setting import Authority
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from workers_setting import Product, actors, eventually

import ciphermill as cm
from ciphermill import federated
from ciphermill._hetero.workers import CellServer, Local
from ciphermill.federated import RayWorkers
from ciphermill.federated._ray import Pool
from ciphermill.federated._session import Decision
from ciphermill.federated._training import blocks_of
from ciphermill.linear_model import HeteroLogisticRegression

COLUMNS = {"bank": slice(0, 10), "shop": slice(10, 30)}

#: Two actors, of which each has several cells of these blocks.
BLOCKS = 5


@pytest.fixture(scope="module")
def workers() -> Iterator[RayWorkers]:
    """Two processes of a cluster of this machine."""
    with RayWorkers(actors=2, blocks=BLOCKS) as found:
        yield found
    assert eventually(lambda: not actors())


def pool_of(workers: RayWorkers) -> Pool:
    assert workers._pool is not None
    return workers._pool


def data() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def same(found: HeteroLogisticRegression, expected: HeteroLogisticRegression) -> bool:
    return all(
        left.tobytes() == right.tobytes()
        for left, right in ((found.coef_, expected.coef_), (found.intercept_, expected.intercept_))
    )


# Products.


@pytest.mark.parametrize(
    ("features", "samples", "blocks"),
    [(1, 1, 1), (1, 50, 1), (7, 100, 3), (20000, 64, 2), (20000, 64, 5), (33, 20001, 4), (3, 2 * 16384 + 1, 2)],
)
def test_products_are_exact(workers: RayWorkers, features: int, samples: int, blocks: int) -> None:
    product = Product(features, samples, blocks, workers)
    for _ in range(2):
        # The keys are sent again after each change.
        product.rekey()
        product.check()
        product.check()


def test_batches_have_cells_of_their_own(workers: RayWorkers) -> None:
    product = Product(9, 60, 4, workers, batches=3)
    product.rekey()
    for batch in (0, 1, 2, 1):
        product.check(batch)


def test_two_matrices_at_one_time(workers: RayWorkers) -> None:
    first, second = Product(7, 100, 3, workers), Product(40, 30, 2, workers)
    first.rekey()
    second.rekey()
    for product in (first, second, first, second):
        product.check()


def test_cells_from_files(workers: RayWorkers, tmp_path: Path) -> None:
    mapped = RayWorkers(actors=2, directory=tmp_path)
    # Of the same cluster, which it does not end.
    Product(3, 20, 1, workers)
    product = Product(33, 20001, 4, mapped, batches=2)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in folder.iterdir()} == {"0.npy", "1.npy"}
    product.rekey()
    product.check(0)
    product.check(1)
    del product
    assert eventually(lambda: not list(tmp_path.iterdir()))
    mapped.close()
    other = Product(7, 100, 3, workers)
    other.rekey()
    other.check()


# Estimators.


def test_an_estimator_equals_plain_in_every_bit(workers: RayWorkers) -> None:
    X, y = data()
    plain = HeteroLogisticRegression(columns=COLUMNS).fit(X, y)
    model = HeteroLogisticRegression(columns=COLUMNS, backend="bfv", workers=workers)
    assert same(model.fit(X, y), plain)
    # The floods of five blocks are greater than those of one.
    whole = HeteroLogisticRegression(columns=COLUMNS, backend="bfv").fit(X, y)
    assert same(whole, plain)
    assert sum(model.report_.bytes.values()) > sum(whole.report_.bytes.values())
    assert clone(model).workers is workers
    assert same(clone(model).fit(X, y), plain)


EXAMPLE = """
import pickle, sys
names = pickle.load(sys.stdin.buffer)
exec(names.pop("text"), names)
print(names["model"].coef_.tobytes().hex())
"""


def test_the_example_of_the_page() -> None:
    X, y = data()
    page = (Path(__file__).parents[2] / "docs/howto/ray.md").read_text()
    text = page.split("```text\n")[1].split("```")[0]
    assert "RayWorkers" in text
    # In a process without other workers.
    child = subprocess.run(
        [sys.executable, "-c", EXAMPLE],
        input=pickle.dumps({"X": X, "y": y, "text": text}),
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert child.returncode == 0, child.stderr.decode()
    plain = HeteroLogisticRegression(columns=COLUMNS).fit(X, y)
    assert child.stdout.decode().strip() == plain.coef_.tobytes().hex()


def test_mini_batches(workers: RayWorkers) -> None:
    X, y = data()
    options: dict[str, Any] = {"solver": "sgd", "batch_size": 200, "max_iter": 3, "allow_label_leak": True}
    plain = HeteroLogisticRegression(columns=COLUMNS, **options).fit(X, y)
    assert same(HeteroLogisticRegression(columns=COLUMNS, backend="bfv", workers=workers, **options).fit(X, y), plain)


def test_a_host_with_workers_over_a_network(workers: RayWorkers, tmp_path: Path) -> None:
    """The guest has no workers. It learns the blocks of the host before it makes its plans."""
    X, y = data()
    plain = HeteroLogisticRegression(columns=COLUMNS).fit(X, y)
    authority = Authority(tmp_path)
    shop = federated.listen("127.0.0.1:0", tls=authority.issue("shop"), name="shop", peer="bank", deadline=60)
    assert shop.address is not None
    bank = federated.connect(
        shop.address,
        tls=authority.issue("bank"),
        name="bank",
        peer="shop",
        certificate_name="shop",
        deadline=60,
    )
    models: list[HeteroLogisticRegression] = []

    def host() -> None:
        models.append(HeteroLogisticRegression(backend="bfv", peer=shop, workers=workers).fit(X[:, 10:]))

    thread = threading.Thread(target=host)
    thread.start()
    try:
        guest = HeteroLogisticRegression(backend="bfv", peer=bank).fit(X[:, :10], y)
    finally:
        thread.join(120)
        bank.close()
        shop.close()
    assert np.array_equal(guest.coef_[0], plain.coef_[0, :10])
    assert np.array_equal(models[0].coef_[0], plain.coef_[0, 10:])
    sizes = {kind: count for (sender, _, kind), count in guest.report_.bytes.items() if sender == "shop"}
    whole = HeteroLogisticRegression(columns=COLUMNS, backend="bfv").fit(X, y).report_.bytes
    # Five blocks are five masked products.
    assert sizes["masked product"] > 4 * whole["shop", "bank", "masked product"]


# Lost workers.


def test_killed_workers_are_replaced(workers: RayWorkers) -> None:
    product = Product(7, 100, BLOCKS, workers)
    product.rekey()
    product.check()
    before = set(actors())
    for process in before:
        os.kill(process, signal.SIGKILL)
    product.check()
    assert before.isdisjoint(actors())
    # The new ones have the keys of the last change.
    product.rekey()
    os.kill(actors()[0], signal.SIGKILL)
    product.check()


def test_workers_that_ray_gives_up_are_replaced(workers: RayWorkers) -> None:
    product = Product(7, 100, BLOCKS, workers)
    product.rekey()
    pool = pool_of(workers)
    before = list(pool.actors)
    for actor in before:
        pool.ray.kill(actor, no_restart=True)
    product.check()
    assert all(old is not new for old, new in zip(before, pool.actors, strict=True))


def test_a_fit_survives_kills_at_any_time(workers: RayWorkers) -> None:
    X, y = data()
    plain = HeteroLogisticRegression(columns=COLUMNS).fit(X, y)
    end = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        rng = np.random.default_rng(5)
        # On a busy machine a worker may need longer to start than the next kill waits.
        while len(killed) < 6 and not end.wait(rng.uniform(0.1, 1.0)):
            for process in actors()[:1]:
                os.kill(process, signal.SIGKILL)
                killed.append(process)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        found = HeteroLogisticRegression(columns=COLUMNS, backend="bfv", workers=workers).fit(X, y)
    finally:
        end.set()
        thread.join()
    assert killed
    assert same(found, plain)


def test_a_worker_that_hangs_ends_at_the_deadline(workers: RayWorkers) -> None:
    product = Product(7, 100, BLOCKS, workers)
    product.rekey()
    product.check()
    pool, process = pool_of(workers), actors()[0]
    pool.deadline, before = 2.0, pool.deadline
    os.kill(process, signal.SIGSTOP)
    try:
        start = time.monotonic()
        with pytest.raises(cm.WorkerError, match="not answered within 2 seconds"):
            product.check()
        assert time.monotonic() - start < 10
    finally:
        os.kill(process, signal.SIGCONT)
        pool.deadline = before
    product.check()


def test_ctrl_c_ends_the_wait(workers: RayWorkers) -> None:
    product = Product(7, 100, BLOCKS, workers)
    product.rekey()
    product.check()
    process = actors()[0]
    sent: list[float] = []

    def interrupt() -> None:
        time.sleep(1.0)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    os.kill(process, signal.SIGSTOP)
    thread = threading.Thread(target=interrupt)
    # A shell's background job ignores the signal, and so would this process.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            product.check()
        assert time.monotonic() - sent[0] < 0.5
    finally:
        thread.join()
        signal.signal(signal.SIGINT, previous)
        os.kill(process, signal.SIGCONT)
    product.check()


# Memory.


def stored(pool: Pool) -> int:
    """Bytes in the object store."""
    from ray._private.internal_api import node_stats

    (node,) = pool.ray.nodes()
    stats = node_stats(node["NodeManagerAddress"], node["NodeManagerPort"], False)
    return int(stats.store_stats.object_store_bytes_used)


def test_memory_is_bounded(workers: RayWorkers) -> None:
    Product(3, 20, 1, workers)
    pool = pool_of(workers)
    # Errors of other tests hold frames.
    gc.collect()
    assert eventually(lambda: stored(pool) == 0), stored(pool)
    product = Product(64, 2000, BLOCKS, workers)

    def held() -> list[int]:
        return [pool.ray.get(actor.held.remote()) for actor in pool.actors]

    prepared = held()
    assert min(prepared) > 0
    product.rekey()
    product.check()
    keys, matrix = len(product.key_holder.keys()), product.matrices.nbytes
    vector, masked = product.terms.vector.most, product.terms.masked.most
    # The cells, the keys, and the messages of one product, with as much again for objects that Ray is about to drop.
    limit = 2 * (matrix + keys + vector + masked)
    for _ in range(10):
        product.rekey()
        product.check()
        product.check()
    assert eventually(lambda: stored(pool) <= limit), stored(pool)
    # As many cells as before.
    assert held() == prepared
    del product
    assert eventually(lambda: sum(held()) == 0)
    assert eventually(lambda: stored(pool) == 0), stored(pool)
    assert pool._loads == {}


def test_too_little_memory_is_refused_before_it_is_used(workers: RayWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = pool_of(workers)
    (node,) = pool.ray.nodes()
    node["Resources"]["memory"] = 1000.0
    monkeypatch.setattr(pool.ray, "nodes", lambda: [node])
    with pytest.raises(cm.MemoryLimitError, match="the node has 1000; use more nodes"):
        Product(7, 100, BLOCKS, workers)
    assert pool._loads == {}


def test_an_object_beyond_the_store_is_a_memory_error(workers: RayWorkers) -> None:
    pool = pool_of(workers)
    for error, expected in (
        (pool.ray.exceptions.ObjectStoreFullError("full"), cm.MemoryLimitError),
        (pool.ray.exceptions.OutOfMemoryError("a worker was killed"), cm.MemoryLimitError),
        (pool.ray.exceptions.RayTaskError("multiply", "trace", MemoryError("none")), cm.MemoryLimitError),
        (pool.ray.exceptions.RayTaskError("multiply", "trace", cm.KeyMismatchError("key")), cm.KeyMismatchError),
        (pool.ray.exceptions.RayTaskError("multiply", "trace", OSError("gone")), cm.WorkerError),
    ):
        with pytest.raises(expected), pool._translated():
            raise error


# Errors.


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"address": 6379}, cm.DtypeError, "address is of type int"),
        ({"address": "auto"}, cm.ParameterError, "'auto' is not supported; use host:port"),
        ({"address": "ray://head"}, cm.ParameterError, "'head' is not supported"),
        ({"address": "head:0"}, cm.ParameterError, "use 1 to 65535"),
        ({"actors": 0}, cm.ParameterError, "actors is 0; use 1 to 1024"),
        ({"actors": 1.5}, cm.ParameterError, "actors is 1.5; use 1 to 1024"),
        ({"blocks": 257}, cm.ParameterError, "blocks is 257; use 1 to 256"),
        ({"threads": 0}, cm.ParameterError, "threads is 0; use 1 to 1024"),
        ({"directory": 7}, cm.DtypeError, "directory is of type int"),
        ({"directory": "/no/such/place"}, cm.ParameterError, "/no/such/place is not a directory"),
        ({"deadline": float("nan")}, cm.ParameterError, "the deadline is nan seconds"),
        ({"deadline": 0}, cm.ParameterError, "the deadline is 0 seconds"),
        ({"deadline": "soon"}, cm.ParameterError, "use a real number"),
    ],
)
def test_bad_parameters(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        RayWorkers(**arguments)


def test_workers_need_the_back_end_bfv() -> None:
    X, y = data()
    for backend in ("plain", "paillier"):
        with pytest.raises(cm.ParameterError, match=f'workers do not go with backend="{backend}"'):
            HeteroLogisticRegression(columns=COLUMNS, backend=backend, workers=RayWorkers()).fit(X, y)
    with pytest.raises(cm.DtypeError, match=r"workers are of type int; use ciphermill\.federated\.RayWorkers"):
        HeteroLogisticRegression(columns=COLUMNS, backend="bfv", workers=2).fit(X, y)  # type: ignore[arg-type]


def test_workers_are_shared_and_never_pickled(workers: RayWorkers) -> None:
    assert copy.deepcopy(workers) is workers
    with pytest.raises(cm.DtypeError, match="cannot be pickled"):
        pickle.dumps(workers)
    assert repr(RayWorkers("head:6379")) == "<RayWorkers of head:6379>"


def test_a_second_cluster_is_refused(workers: RayWorkers) -> None:
    Product(3, 20, 1, workers)
    with pytest.raises(cm.WorkerError, match="connected to a Ray cluster already"):
        Product(3, 20, 1, RayWorkers("127.0.0.1:6379"))


def test_closed_workers(workers: RayWorkers) -> None:
    Product(3, 20, 1, workers)
    closed = RayWorkers(actors=1)
    product = Product(3, 20, 1, closed)
    product.rekey()
    closed.close()
    closed.close()
    with pytest.raises(cm.WorkerError, match="closed"):
        product.check()
    with pytest.raises(cm.WorkerError, match="closed"):
        Product(3, 20, 1, closed)


def test_ray_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_ray(name: str, *arguments: Any) -> Any:
        if name == "ray":
            raise ImportError("no ray")
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(ImportError, match=re.escape('pip install "ciphermill[ray]"')):
        RayWorkers()


def test_blocks_of_a_request() -> None:
    workers = RayWorkers(blocks=8)
    assert [workers.blocks(features) for features in (0, 1, 3, 8, 100, 16384 * 9 + 1)] == [1, 1, 3, 8, 8, 10]
    assert [RayWorkers().blocks(features) for features in (0, 1, 16384, 16385)] == [1, 1, 1, 2]
    assert Local(blocks=2).blocks(16384) == 2


@pytest.mark.parametrize("blocks", [None, 0, 6, 1.0, True, "1", 1025])
def test_blocks_of_a_peer_are_checked(blocks: Any) -> None:
    decision = Decision("session", 1, 0, 0, {"bank": {"blocks": 1}, "shop": {"blocks": blocks}})
    with pytest.raises(cm.PeerError, match=r"shop has .* blocks of 5 columns; use 1 to 5"):
        blocks_of(decision, {"bank": 3, "shop": 5})
    # More columns than a plan has rows need two blocks.
    with pytest.raises(cm.PeerError, match="bank has 1 blocks of 20000 columns; use 2 to 256"):
        blocks_of(decision, {"bank": 20000, "shop": 5})


def test_a_worker_of_another_version_is_refused() -> None:
    server = CellServer(lambda handles: handles, cm.threads())
    server.ready(cm.__version__)
    with pytest.raises(cm.ParameterError, match=re.escape(f"a worker has ciphermill {cm.__version__}")):
        server.ready("0.0.0")


# A process that starts its own cluster.

ALONE = """
import os, sys
sys.path.insert(0, {tests!r})
import numpy as np
from workers_setting import Product, descendants
from ciphermill.federated import RayWorkers
workers = RayWorkers(actors=2)
product = Product(7, 100, 3, workers)
product.rekey()
product.check()
below = list(descendants(os.getpid()))
sockets = set()
for process, _ in below:
    for entry in os.scandir(f"/proc/{{process}}/fd"):
        try:
            sockets.add(os.readlink(entry.path))
        except OSError:
            pass
listening = set()
for table in ("tcp", "tcp6"):
    for line in open(f"/proc/net/{{table}}").read().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and f"socket:[{{words[9]}}]" in sockets:
            listening.add(words[1].split(":")[0])
print(sorted(listening))
print([name for name in os.environ if name.startswith("RAY_AUTH")])
tokens = {{
    open(f"/proc/{{process}}/environ").read().partition("RAY_AUTH_TOKEN=")[2].partition(chr(0))[0] for process, _ in below
}}
print(sorted(map(len, tokens)))
import ray
print(repr(ray._private.worker.get_dashboard_url()), os.environ["RAY_USAGE_STATS_ENABLED"])
{end}
"""


@pytest.mark.parametrize("end", ["workers.close()", ""])
def test_a_cluster_begins_and_ends_with_its_object(end: str, tmp_path: Path) -> None:
    # Paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix="ray") as scratch:
        alone(end, tmp_path, Path(scratch))


def alone(end: str, home: Path, scratch: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"HOME": str(home), "TMPDIR": str(scratch)}
    script = ALONE.format(tests=str(Path(__file__).parent), end=end)
    child = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert child.returncode == 0, child.stderr
    addresses, variables, tokens, dashboard = child.stdout.splitlines()
    # 127.0.0.1, also as an address of IPv6.
    assert addresses == "['0000000000000000FFFF00000100007F', '0100007F']"
    assert variables == "[]"
    assert dashboard == "'' 0"
    # The processes have the same token, which no file has. Those that name themselves overwrite their variables.
    assert tokens in ("[64]", "[0, 64]")
    assert list(home.iterdir()) == []
    assert list(scratch.iterdir()) == []
    mark = str(scratch)
    assert eventually(lambda: not [words for _, words in all_processes() if mark in words])


def all_processes() -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                yield int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
