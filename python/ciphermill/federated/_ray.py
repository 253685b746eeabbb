"""Workers of a Ray cluster inside of one party, for matrices that exceed one machine.

Ray never connects two parties: a party's driver is the only process that talks to the peers. The driver draws all masks. Workers
see the party's own matrix, encrypted vectors and the peer's evaluation keys; they return encrypted products.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import socket
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np

from ciphermill import _native
from ciphermill._checks import integer, optional
from ciphermill._hetero.numbers import Columns
from ciphermill._hetero.tiles import MOST_BLOCKS, Cells
from ciphermill._hetero.workers import Cell, CellServer, Keys, Workers, as_octets, requested_blocks
from ciphermill.errors import CiphermillError, DtypeError, MemoryLimitError, ParameterError, WorkerError
from ciphermill.federated._link import check_deadline
from ciphermill.federated._tls import parse_address

#: The prefix of addresses for processes that are not on a node.
CLIENT = "ray://"

#: The most actors, and the most threads of one.
MOST_ACTORS, MOST_THREADS = 1024, 1024

#: Seconds in which a worker must return a product or a prepared cell.
DEADLINE = 300.0

#: Seconds for a first connection to the address of a cluster.
ATTEMPT = 10.0

#: How often a connection to a cluster is tried.
CONNECTIONS = 3

#: How often Ray repeats a call whose worker is lost. After that, the driver repeats it until the deadline.
RETRIES = 3

#: Seconds between looks at a signal, and before a call is repeated.
WAIT = 0.25

#: Ray's variables of authentication.
_AUTHENTICATION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")

#: The token of clusters that this process starts. Ray reads it once in a process.
_TOKEN = secrets.token_hex(32)


class RayWorkers(Workers):
    """Workers of a Ray cluster that compute the products with this party's matrix. They need the extra `ray`.

    The cluster is connected, or started, when a training begins, and left by `close` or at the end of a `with` block. All nodes
    need the same versions of Python, Ray and this package. One object serves any number of trainings.

    Parameters
    ----------
    address : str, optional
        The address of the cluster: "host:6379" on a node of it, "ray://host:10001" elsewhere. The default is the variable
        RAY_ADDRESS. Without this variable, a cluster on this machine begins and ends with this object; it listens on the loopback
        address only. If this process has called `ray.init` already, that cluster is used.
    actors : int, optional
        The number of processes, 1 to 1024, by default one for each `threads` CPUs of a node. There is at most one for each cell.
    blocks : int, optional
        The number of blocks into which the features are cut, 1 to 256, by default as few as possible. There is at most one
        for each feature. The cells are the blocks times the tiles of 16384 samples.
    threads : int, default 1
        Threads of each process, 1 to 1024.
    directory : path, optional
        A directory that all nodes have under the same path. The driver writes the encoded matrix there for the time of the
        training, and workers map it. By default the cells are in Ray's object store.
    deadline : float, default 300
        Seconds in which a worker must prepare a cell or return a product.

    Raises
    ------
    ImportError
        If Ray is not installed.
    ParameterError
        If a parameter is out of range. During a training: if a node has another version of the package.
    WorkerError
        During a training: if the cluster cannot be reached, or its workers fail or are silent until the deadline.
    MemoryLimitError
        During a training: if the nodes of the workers have too little memory.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        actors: int | None = None,
        blocks: int | None = None,
        threads: int = 1,
        directory: str | os.PathLike[str] | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        self._address = _checked_address(address)
        self._actors = optional(actors, "actors", 1, MOST_ACTORS)
        self._blocks = optional(blocks, "blocks", 1, MOST_BLOCKS)
        self._threads = integer(threads, "threads", 1, MOST_THREADS)
        self._directory = None if directory is None else _checked_directory(directory)
        self._deadline = check_deadline(deadline)
        self._ray = _ray()
        self._lock = threading.Lock()
        self._pool: Pool | None = None
        self._stack = contextlib.ExitStack()
        # Runs also at the end of the process, and when this object is deleted.
        self._closing = weakref.finalize(self, self._stack.close)

    def blocks(self, features: int) -> int:
        """The number of blocks of a matrix of this many features."""
        return requested_blocks(self._blocks, features)

    def prepare(self, plan: _native.MatVecPlan, cells: Cells, batches: Sequence[Columns]) -> RayProducts:
        """Prepare the cells of a matrix on the workers."""
        with self._lock:
            pool = self._connected()
            pool.grow(min(self._actors or len(pool.places()), len(cells)))
        return RayProducts(pool, plan, cells, batches, self._directory)

    def close(self) -> None:
        """End the workers. A cluster that this object started ends too. Further calls do nothing."""
        self._closing()

    def _connected(self) -> Pool:
        if not self._closing.alive:
            raise WorkerError("the workers are closed; make a new RayWorkers")
        if self._pool is None:
            _connect(self._ray, self._address, self._stack)
            self._pool = Pool(self._ray, self._threads, self._deadline)
            self._stack.callback(self._pool.close)
        return self._pool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # scikit-learn copies the parameters of estimators. The workers are shared.
        return self

    def __reduce__(self) -> NoReturn:
        raise DtypeError("RayWorkers cannot be pickled; make one in each process")

    def __repr__(self) -> str:
        return f"<RayWorkers of {self._address or 'the default cluster'}>"


class Pool:
    """The actors of one driver. Each is a `CellServer`."""

    def __init__(self, ray: Any, threads: int, deadline: float) -> None:
        self.ray = ray
        self._threads = threads
        self.deadline = deadline
        self.actors: list[Any] = []
        self._nodes: list[str] = []
        #: Bytes of each matrix by actor.
        self._loads: dict[str, list[int]] = {}

    def places(self) -> list[str]:
        """The nodes for actors, in turn, each as many times as its CPUs allow. Raises `WorkerError` if there is none."""
        cpus = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in self.ray.nodes() if node["Alive"]}
        counts = {node: max(1, count // self._threads) for node, count in cpus.items() if count}
        if not counts:
            raise WorkerError("the Ray cluster has no CPU; add a node with one or more")
        return [node for turn in range(max(counts.values())) for node, count in counts.items() if turn < count]

    def grow(self, count: int) -> None:
        """Have at least `count` actors. Raises `WorkerError` if they do not start."""
        places, end = self.places(), time.monotonic() + self.deadline
        new = [self._start(places[index % len(places)]) for index in range(len(self.actors), count)]
        nodes = []
        try:
            for actor in new:
                self.wait(actor.ready.remote(_native.__version__), end)
                nodes.append(self.wait(actor.node.remote(), end))
        except BaseException as error:
            self._kill(new)
            if isinstance(error, _lost(self.ray)):
                raise WorkerError(f"a worker does not start: {_summary(error)}") from error
            raise
        self.actors += new
        self._nodes += nodes

    def reserve(self, matrix: str, needs: list[int]) -> None:
        """Note the bytes of a matrix by actor. Raises `MemoryLimitError` if a node has too little memory for its actors."""
        memory = {node["NodeID"]: int(node["Resources"].get("memory", 0)) for node in self.ray.nodes() if node["Alive"]}
        for node in set(self._nodes[: len(needs)]):
            places = [index for index, place in enumerate(self._nodes) if place == node]
            others = sum(load[index] for load in self._loads.values() for index in places if index < len(load))
            need = sum(needs[index] for index in places if index < len(needs))
            # The actors of a lost node run on other nodes.
            if node in memory and others + need > memory[node]:
                raise MemoryLimitError(
                    f"the workers of a node need {others + need} bytes for their cells and keys, the node has {memory[node]}; "
                    "use more nodes, more actors, or nodes with more memory"
                )
        self._loads[matrix] = needs

    def put(self, data: np.ndarray) -> Any:
        """A handle of an array in the object store."""
        with self._translated():
            return self.ray.put(data)

    def call(self, index: int, method: str, *arguments: Any) -> Call:
        """Call a method of an actor."""
        return Call(self, index, method, arguments)

    def release(self, matrix: str) -> None:
        """Let all actors forget a matrix."""
        if self._loads.pop(matrix, None) is not None and self.ray.is_initialized():
            for actor in self.actors:
                # A lost actor has nothing to forget.
                with contextlib.suppress(Exception):
                    actor.forget.options(max_task_retries=0).remote(matrix)

    def replace(self, index: int, actor: Any) -> None:
        """Start another actor in place of one that Ray has given up, unless that has happened."""
        if self.actors[index] is actor:
            places = self.places()
            self.actors[index] = self._start(places[index % len(places)])

    def close(self) -> None:
        """End all actors."""
        if self.ray.is_initialized():
            self._kill(self.actors)
        self.actors = []

    def _kill(self, actors: list[Any]) -> None:
        for actor in actors:
            # A lost actor has ended already.
            with contextlib.suppress(Exception):
                self.ray.kill(actor)

    def wait(self, handle: Any, end: float) -> Any:
        """The result of a call. Raises `WorkerError` at the time `end`, and the errors of the call."""
        with self._translated():
            while not self.ray.wait([handle], timeout=max(0.0, min(WAIT, end - time.monotonic())))[0]:
                if time.monotonic() >= end:
                    raise WorkerError(
                        f"a worker has not answered within {self.deadline:g} seconds; raise the deadline, use more blocks, or "
                        "look for a node that hangs"
                    )
            return self.ray.get(handle)

    def _start(self, node: str) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # If its node is lost, an actor starts on another one. It needs one CPU there, and holds none while it lives.
        strategy = NodeAffinitySchedulingStrategy(node, soft=True)
        kind = self.ray.remote(max_restarts=-1, max_task_retries=RETRIES, scheduling_strategy=strategy)(CellServer)
        return kind.remote(self.ray.get, self._threads)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Turns errors of Ray into errors of this package, except for lost workers."""
        errors = self.ray.exceptions
        try:
            yield
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, CiphermillError):
                raise cause from None
            if isinstance(cause, MemoryError):
                raise MemoryLimitError(f"a worker has too little memory: {_summary(cause)}") from error
            raise WorkerError(f"a worker failed: {type(cause).__name__}: {_summary(cause)}") from error
        except (errors.OutOfMemoryError, errors.ObjectStoreFullError, errors.OutOfDiskError) as error:
            raise MemoryLimitError(f"the Ray cluster has too little memory: {_summary(error)}") from error


class Call:
    """A call of an actor that is made again if its worker is lost. A repeated call has the same result."""

    def __init__(self, pool: Pool, index: int, method: str, arguments: tuple[Any, ...]) -> None:
        self._pool = pool
        self._index = index
        self._method = method
        self._arguments = arguments
        self._make()

    def result(self) -> Any:
        """The result. Raises `WorkerError` if there is none until the deadline."""
        pool = self._pool
        lost = _lost(pool.ray)
        end = time.monotonic() + pool.deadline
        while True:
            try:
                return pool.wait(self._handle, end)
            except lost as error:
                if time.monotonic() >= end:
                    raise WorkerError(
                        f"a worker was lost and not replaced within {pool.deadline:g} seconds: {_summary(error)}"
                    ) from error
                time.sleep(WAIT)
                if isinstance(error, pool.ray.exceptions.ActorDiedError):
                    # Another node may join before the deadline.
                    with contextlib.suppress(WorkerError):
                        pool.replace(self._index, self._actor)
                self._make()

    def _make(self) -> None:
        if not self._pool.actors or not self._pool.ray.is_initialized():
            # Ray would start another cluster.
            raise WorkerError("the workers are closed, or this process has left their cluster; make a new RayWorkers")
        self._actor = self._pool.actors[self._index]
        self._handle = getattr(self._actor, self._method).remote(*self._arguments)


@dataclass(frozen=True)
class _Source:
    """The data of the cells of one batch: a path, or a handle for each cell."""

    path: str | None
    handles: list[Any]

    def of(self, index: int) -> Any:
        # Ray fetches the object of an argument at once, but not the object of a handle in a list.
        return self.path or self.handles[index : index + 1]


class RayProducts:
    """The products of a matrix by the actors of a pool. Cell i of a batch belongs to actor i modulo their number."""

    def __init__(
        self,
        pool: Pool,
        plan: _native.MatVecPlan,
        cells: Cells,
        batches: Sequence[Columns],
        directory: Path | None,
    ) -> None:
        self._pool = pool
        self._plan = plan
        self._cells = cells
        self._matrix = uuid.uuid4().hex
        self._actors = min(len(pool.actors), len(cells))
        self._keys: Keys | None = None
        stack = contextlib.ExitStack()
        # Deletes the files and the prepared cells when this object is deleted.
        self._closing = weakref.finalize(self, stack.close)
        try:
            pool.reserve(self._matrix, self._needs(len(batches)))
            stack.callback(pool.release, self._matrix)
            self._sources = list(_sources(pool, cells, batches, directory, stack))
            calls = [
                pool.call(index % self._actors, "prepare", self._cell(batch, index))
                for batch in range(len(batches))
                for index in range(len(cells))
            ]
            for call in calls:
                call.result()
        except BaseException:
            self._closing()
            raise

    def use_keys(self, keys: _native.EvaluationKeys, data: memoryview) -> None:
        """Put the keys into the object store, once for all workers, which fetch them with the next product."""
        self._keys = Keys(keys.tag, [self._pool.put(as_octets(data))])

    def multiply(self, vectors: Sequence[_native.EncryptedVector], batch: int) -> Iterator[_native.EncryptedProduct]:
        """The products of all cells, in their order."""
        handles = [self._pool.put(as_octets(vector.to_bytes())) for vector in vectors]
        calls = [
            self._pool.call(index % self._actors, "multiply", self._cell(batch, index), self._keys, handles[tile])
            for index, (_, tile) in enumerate(self._cells)
        ]
        calls.reverse()
        while calls:
            # The call is dropped, and with it the handle of the result.
            product = calls.pop().result()
            yield _native.EncryptedProduct.from_bytes(self._plan, memoryview(product))

    def _cell(self, batch: int, index: int) -> Cell:
        block, tile = divmod(index, self._cells.tiles)
        source = self._sources[batch].of(index)
        return Cell(self._matrix, self._plan.to_bytes(), self._cells, batch, block, tile, source)

    def _needs(self, batches: int) -> list[int]:
        """The bytes of each actor: its cells, and its keys twice, packed and loaded."""
        costs = self._plan.explain()
        matrix, keys = int(costs["matrix_bytes"]), 2 * int(costs["key_bytes"])
        counts = [len(range(actor, len(self._cells), self._actors)) for actor in range(self._actors)]
        return [batches * count * matrix + keys for count in counts]


def _sources(
    pool: Pool, cells: Cells, batches: Sequence[Columns], directory: Path | None, stack: contextlib.ExitStack
) -> Iterator[_Source]:
    """The data of each batch, in files below the directory or in the object store."""
    if directory is None:
        for columns in batches:
            yield _Source(None, [pool.put(cells.matrix(columns.integers, *place)) for place in cells])
        return
    try:
        folder = tempfile.mkdtemp(prefix="ciphermill-", dir=directory)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for batch, columns in enumerate(batches):
            path = os.path.join(folder, f"{batch}.npy")
            np.save(path, columns.integers, allow_pickle=False)
            yield _Source(path, [])
    except OSError as error:
        raise WorkerError(f"the matrix cannot be written below {directory}: {error}") from error


def _checked_address(address: object) -> str | None:
    if address is not None and not isinstance(address, str):
        raise DtypeError(f'address is of type {type(address).__name__}; use "host:port", "ray://host:port" or None')
    if address is not None:
        parse_address(address.removeprefix(CLIENT))
    return address


def _checked_directory(directory: object) -> Path:
    try:
        path = Path(directory).resolve()  # type: ignore[arg-type]
    except TypeError:
        raise DtypeError(f"directory is of type {type(directory).__name__}; use a path") from None
    if not path.is_dir():
        raise ParameterError(f"{path} is not a directory; use one that all nodes have under this path")
    return path


def _ray() -> Any:
    """The package."""
    # Ray counts the uses of clusters and reports them, unless this is set when it starts.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ImportError('RayWorkers need Ray; install it with pip install "ciphermill[ray]"') from error
    return ray


def _connect(ray: Any, address: str | None, stack: contextlib.ExitStack) -> None:
    """Connect to a cluster, or start one; the stack leaves it. Raises `WorkerError` if that fails."""
    if ray.is_initialized():
        if address is not None:
            raise WorkerError(
                f"this process is connected to a Ray cluster already; use address=None in place of {address!r}"
            )
        return
    address = address or os.environ.get("RAY_ADDRESS")
    try:
        if address:
            _probe(address)
            _join(ray, address)
        else:
            _start(ray, stack)
    except CiphermillError:
        raise
    except Exception as error:
        where = f"cannot connect to the Ray cluster at {address}" if address else "cannot start a Ray cluster"
        raise WorkerError(f"{where}: {_summary(error)}") from error
    stack.callback(ray.shutdown)


def _probe(address: str) -> None:
    """Raises `OSError` if no process listens at the address, for which Ray would wait for minutes."""
    # RAY_ADDRESS may also be a word, for example "auto".
    if ":" in address:
        socket.create_connection(parse_address(address.removeprefix(CLIENT)), ATTEMPT).close()


def _join(ray: Any, address: str) -> None:
    """Connect to a cluster that runs."""
    for left in reversed(range(CONNECTIONS)):
        try:
            ray.init(address, log_to_driver=False, logging_level="ERROR")
        except BaseException as error:
            # Ray would direct all later calls of this process to the server of clients.
            ray.shutdown()
            # The process that the cluster starts for a client crashes now and then: Ray's issue 63202.
            if not isinstance(error, ConnectionAbortedError) or not left:
                raise
        else:
            return


def _start(ray: Any, stack: contextlib.ExitStack) -> None:
    """Start a cluster that listens on the loopback address only."""
    # It holds logs, sockets and objects that exceed the store. mkdtemp makes it private to this user.
    folder = tempfile.mkdtemp(prefix="ciphermill-ray-")
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    try:
        with _loopback(ray):
            ray.init("local", include_dashboard=False, log_to_driver=False, logging_level="ERROR", _temp_dir=folder)
    except BaseException:
        # Some processes of the cluster may run already.
        ray.shutdown()
        raise
    listening = ray.get_runtime_context().gcs_address
    if not listening.startswith(("127.0.0.1:", "[::1]:")):
        ray.shutdown()
        raise WorkerError(
            f"the Ray cluster of this machine listens at {listening}; use a version of Ray that honours the loopback"
        )


@contextlib.contextmanager
def _loopback(ray: Any) -> Iterator[None]:
    """Let a cluster listen on the loopback address, and ask for a token of this process."""
    variables = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    if not any(name in os.environ for name in _AUTHENTICATION):
        # Ray asks for a token by default, and stores one in the home directory if it finds none.
        variables["RAY_AUTH_TOKEN"] = _TOKEN
    before = {name: os.environ.get(name) for name in (*variables, *_AUTHENTICATION)}
    # This process has read the first variable at the import of Ray. The processes that it starts read it now.
    constants = ray._private.ray_constants
    cluster = constants.ENABLE_RAY_CLUSTER
    os.environ.update(variables)
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = cluster
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _lost(ray: Any) -> tuple[type[Exception], ...]:
    """The errors of a worker, a node or an object that is lost."""
    errors = ray.exceptions
    return (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError, errors.NodeDiedError)


def _summary(error: BaseException) -> str:
    """One line of an error: the cause at the end of a traceback, else the first line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    last = lines[-1].strip()
    return last if re.match(r"[\w.]+(Error|Exception)\b", last) else lines[0]
