"""A Ray cluster in processes of its own, for tests. This module is also the program that holds its nodes."""

import os
import signal
import subprocess
import sys
import tempfile
from typing import Any, Self

from free_ports import free_port

#: The memory of the head, and that of other nodes.
HEAD, NODE = 10**9, 4 * 10**8

STORE = 10**8


class Cluster:
    """A head without CPUs, on the loopback address of this machine. Clients connect at `client`."""

    def __init__(self, token: str, path: str | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ray")
        client_port = free_port()
        environment = os.environ | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": token,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_TMPDIR": self._folder.name,
            # The process of a client crashes at its start now and then without this: Ray's issue 63202.
            "GRPC_ENABLE_FORK_SUPPORT": "0",
            # A node that hangs is lost sooner.
            "RAY_health_check_period_ms": "500",
            "RAY_health_check_initial_delay_ms": "500",
        }
        if path is not None:
            environment["PYTHONPATH"] = path
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(client_port)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.address = self._answer()
        self.client = f"ray://127.0.0.1:{client_port}"

    def add_node(self) -> int:
        """Add a node with one CPU. Returns the process of its raylet."""
        return int(self._ask("add"))

    def remove_node(self, raylet: int) -> None:
        """Kill the processes of a node."""
        self._ask(f"remove {raylet}")

    def close(self) -> None:
        """Kill all processes."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, words: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("= "):
                return line[2:].strip()
        raise AssertionError("the cluster has ended")


def hold(client_port: int) -> None:
    """Start the head, and add and remove nodes as the standard input says."""
    from ray import cluster_utils

    cluster = cluster_utils.Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "memory": HEAD,
            "object_store_memory": STORE,
            "include_dashboard": False,
            "ray_client_server_port": client_port,
        },
    )
    print("=", cluster.address, flush=True)
    nodes: dict[int, Any] = {}
    for line in sys.stdin:
        match line.split():
            case ["add"]:
                node = cluster.add_node(num_cpus=1, memory=NODE, object_store_memory=STORE)
                raylet = node.all_processes["raylet"][0].process.pid
                nodes[raylet] = node
                print("=", raylet, flush=True)
            case ["remove", raylet]:
                cluster.remove_node(nodes.pop(int(raylet)), allow_graceful=False)
                print("= removed", flush=True)


if __name__ == "__main__":
    hold(int(sys.argv[1]))
