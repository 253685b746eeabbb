"""Code as a user writes it, for `mypy --strict`. It is not run here."""

import numpy as np
import numpy.typing as npt

import ciphermill as cm
from ciphermill import device, inference, lookup, paillier, statistics, tfhe


def product(matrix: npt.NDArray[np.int8], x: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    plan = cm.MatVecPlan(*matrix.shape)
    client = plan.keygen()
    prepared = plan.server(client.evaluation).prepare(matrix)
    return client.decrypt(prepared @ client.encrypt(x))


def sums(values: npt.NDArray[np.float64]) -> float:
    public, secret = paillier.keygen(2048)
    encrypted = public.encrypt(values, step=2**-16)
    return float(secret.decrypt((encrypted * 2 + 1.5).sum()))


def table(values: list[int]) -> list[int]:
    client = tfhe.keygen(bits=4)
    server = tfhe.Server(client.evaluation())
    result: list[int] = client.decrypt(server.apply(lambda v: v // 2, client.encrypt(values))).tolist()
    return result


def digit(kernels: npt.NDArray[np.float64], dense: npt.NDArray[np.float64], images: npt.NDArray[np.float64]) -> int:
    layers = [inference.Conv2d(kernels), inference.ReLU(), inference.Flatten(), inference.Dense(dense)]
    classifier = inference.PrivateClassifier(layers, (1, 8, 8), images, batch=4)
    server = classifier.server(max_samples=10)
    client = inference.Client(server.client_spec())
    server.register(client.keys(), name="reception")
    exchange = client.start(images[:1])
    while not exchange.done:
        exchange = client.next(exchange, server.layer(exchange.layer, exchange.query, name="reception"))
    return int(exchange.result.predict()[0])


def record(records: list[bytes], index: int) -> bytes:
    table = lookup.PrivateTable(records, max_clients=4)
    reader = lookup.Reader(table.plan, table.shape, max_key_bytes=1 << 24)
    again = lookup.Reader.from_secret_bytes(table.plan, table.shape, reader.to_secret_bytes())
    return again.record(table.answer(reader.evaluation, reader.query(index), name="reception"), index)


async def blobs(address: str) -> list[str]:
    async with device.connect_async(address) as dev:
        await dev.put("0:0:0", device.assemble("return 4:0:3").code)
        return [entry.register for entry in await dev.list()]


def volume(image: npt.NDArray[np.int8], kernels: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
    plan = cm.Conv3dPlan((1, 16, 16, 16), (4, 3, 3, 3), padding=1)
    client = plan.keygen()
    return client.decrypt(plan.prepare(kernels) @ client.encrypt(image))


def survey(tables: list[dict[str, npt.NDArray[np.float64]]]) -> float:
    stats = statistics.SecureStatistics(
        {"age": (0, 120), "height": statistics.Column(0, 3, decimals=2)},
        parties=3,
        max_rows=1000,
        covariances=True,
        max_bytes=1 << 20,
    )
    holder, aggregator = stats.keygen(), stats.aggregator()
    for i, rows in enumerate(tables):
        aggregator.add(f"party {i}", stats.encrypt(holder.public, rows))
    result = holder.decrypt(aggregator.total())
    assert result.correlation().shape == (2, 2) and result.std("age") >= 0
    return float(result.mean("age"))


def limits() -> str:
    try:
        cm.MatVecPlan(0, 1)
    except cm.ParameterError as error:
        return str(error)
    return ""
