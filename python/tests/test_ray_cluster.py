"""Workers on the nodes of a Ray cluster: lost nodes, memory of nodes, addresses, connections."""

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from free_ports import free_port
from ray.util.client.worker import Worker
from ray_cluster import NODE, Cluster
from test_ray import COLUMNS, data, same
from workers_setting import Product, actors, eventually

import ciphermill as cm
from ciphermill.federated import RayWorkers
from ciphermill.federated._ray import _TOKEN, CONNECTIONS
from ciphermill.linear_model import HeteroLogisticRegression


@pytest.fixture(autouse=True)
def authenticated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The token of the clusters, which Ray reads once in a process, and their loopback address."""
    assert not ray.is_initialized()
    # Ray would look for the cluster at another address of this machine.
    monkeypatch.setattr(ray._private.ray_constants, "ENABLE_RAY_CLUSTER", False)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", _TOKEN)
    # Ray has read the mode when it was imported.
    ray._raylet.Config.initialize("")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A cluster without nodes other than its head."""
    with Cluster(_TOKEN) as found:
        yield found


def test_a_lost_node(cluster: Cluster) -> None:
    first, _ = cluster.add_node(), cluster.add_node()
    with RayWorkers(cluster.address, actors=2) as workers:
        product = Product(33, 20001, 4, workers)
        product.rekey()
        product.check()
        pool = workers._pool
        assert pool is not None
        # One actor is on each node; none is on the head.
        assert len(set(pool._nodes)) == 2
        cluster.remove_node(first)
        product.check()
        product.rekey()
        product.check()
        assert len({ray.get(actor.node.remote()) for actor in pool.actors}) == 1


def test_a_fit_survives_the_loss_of_a_node(cluster: Cluster) -> None:
    X, y = data()
    plain = HeteroLogisticRegression(columns=COLUMNS).fit(X, y)
    first, _ = cluster.add_node(), cluster.add_node()
    with RayWorkers(cluster.address, actors=2, blocks=5) as workers:
        Product(3, 20, 2, workers)
        killer = threading.Timer(0.5, os.kill, [first, signal.SIGKILL])
        killer.start()
        found = HeteroLogisticRegression(columns=COLUMNS, backend="bfv", workers=workers).fit(X, y)
        killer.join()
    assert same(found, plain)


def test_no_node_is_left(cluster: Cluster) -> None:
    node = cluster.add_node()
    with RayWorkers(cluster.address, actors=1, deadline=10) as workers:
        product = Product(7, 100, 2, workers)
        product.rekey()
        product.check()
        cluster.remove_node(node)
        start = time.monotonic()
        with pytest.raises(cm.WorkerError, match="within 10 seconds"):
            product.check()
        assert time.monotonic() - start < 25
        # A node that comes later takes the place.
        cluster.add_node()
        product.check()


def test_no_cpu(cluster: Cluster) -> None:
    with RayWorkers(cluster.address) as workers, pytest.raises(cm.WorkerError, match="has no CPU"):
        Product(7, 100, 2, workers)


def test_the_memory_of_the_nodes(cluster: Cluster) -> None:
    cluster.add_node()
    with RayWorkers(cluster.address) as workers:
        # 0.4 GiB of prepared cells, and keys.
        with pytest.raises(cm.MemoryLimitError, match=f"the node has {NODE}; use more nodes"):
            Product(4096, 4096, 2, workers)
        product = Product(7, 100, 2, workers)
        product.rekey()
        product.check()


def test_a_client_outside_of_the_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.add_node()
    monkeypatch.setenv("RAY_ADDRESS", cluster.client)
    with RayWorkers(actors=2) as workers:
        product = Product(33, 20001, 4, workers)
        for _ in range(2):
            product.rekey()
            product.check()
        os.kill(actors()[0], signal.SIGKILL)
        product.check()
    assert eventually(lambda: not actors())
    # The cluster stays.
    with RayWorkers(cluster.address, actors=1) as workers:
        product = Product(7, 100, 2, workers)
        product.rekey()
        product.check()


def test_the_process_of_a_client_crashes(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    crashes = CONNECTIONS - 1
    init = Worker._server_init

    def server_init(worker: Worker, *arguments: object) -> None:
        nonlocal crashes
        if crashes:
            crashes -= 1
            raise ConnectionAbortedError("the server of the client has ended")
        init(worker, *arguments)

    monkeypatch.setattr(Worker, "_server_init", server_init)
    cluster.add_node()
    with RayWorkers(cluster.client, actors=1) as workers:
        product = Product(7, 100, 2, workers)
        product.rekey()
        product.check()
    assert crashes == 0
    crashes = CONNECTIONS + 1
    with (
        RayWorkers(cluster.client, actors=1) as workers,
        pytest.raises(cm.WorkerError, match="the server of the client"),
    ):
        Product(7, 100, 2, workers)
    assert crashes == 1
    # This process can still be a driver.
    with RayWorkers(cluster.address, actors=1) as workers:
        Product(7, 100, 2, workers)


def test_a_node_without_the_package(tmp_path: Path) -> None:
    # It shadows an installed one.
    (tmp_path / "ciphermill.py").write_text("raise ModuleNotFoundError(\"No module named 'ciphermill'\")\n")
    with Cluster(_TOKEN, str(tmp_path)) as cluster, RayWorkers(cluster.address) as workers:
        cluster.add_node()
        for _ in range(2):
            with pytest.raises(cm.WorkerError, match="a worker does not start: ModuleNotFoundError: No module named"):
                Product(7, 100, 2, workers)
        pool = workers._pool
        assert pool is not None
        assert pool.actors == []


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_nothing_listens_at_the_address(address: str) -> None:
    address = address.format(free_port())
    start = time.monotonic()
    with (
        RayWorkers(address) as workers,
        pytest.raises(cm.WorkerError, match=re.escape(f"cannot connect to the Ray cluster at {address}")),
    ):
        Product(7, 100, 2, workers)
    assert time.monotonic() - start < 10
