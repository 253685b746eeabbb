"""Code as a user writes it, for `mypy --strict`. It is not run here."""

import numpy as np
import numpy.typing as npt

import ciphermill as cm
from ciphermill import device, paillier, tfhe


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


async def blobs(address: str) -> list[str]:
    async with device.connect_async(address) as dev:
        await dev.put("0:0:0", device.assemble("return 4:0:3").code)
        return [entry.register for entry in await dev.list()]


def limits() -> str:
    try:
        cm.MatVecPlan(0, 1)
    except cm.ParameterError as error:
        return str(error)
    return ""
