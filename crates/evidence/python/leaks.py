"""Memory after ten thousand calls of each operation of the package: prints one JSON object; exit status 1 if memory grew.

The growth is that of the resident memory of this process between two counts of calls. Memory that an operation needs once is
allocated in the calls before. A control, which keeps a kilobyte a call, must be seen to grow.
"""

import gc
import json
import sys
from collections.abc import Callable

import numpy as np

import ciphermill as cm
from ciphermill import lookup, paillier, tfhe

CALLS = 10_000
#: Calls before the first count.
FIRST = 1_000
#: Greatest growth: less than half of a kilobyte a call.
LIMIT_BYTES = 4 << 20
CONTROL = "control: keep a kilobyte"


def resident_bytes() -> int:
    """Resident memory of this process, exactly: the counts of /proc/self/statm lag."""
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Rss:"))


def operations() -> dict[str, Callable[[], object]]:
    """Each operation, with small operands and keys below the sizes of production."""
    rng = np.random.default_rng(1)
    plan = cm.MatVecPlan(5, 7)
    client = plan.keygen()
    server = plan.server(client.evaluation)
    array, x = rng.integers(-128, 128, (5, 7)), rng.integers(-128, 128, 7)
    matrix, vector = server.prepare(array), client.encrypt(x)
    masking = cm.MatVecPlan(5, 7, unsplit=True, flooding_bits=20)
    owner = masking.keygen()
    masked = masking.server(owner.evaluation).prepare(array) @ owner.encrypt(x)
    public, secret = paillier.keygen(512, insecure=True)
    numbers = public.encrypt(x)
    bits = tfhe.keygen("TEST_SMALL_U64", insecure=True)
    gates = tfhe.Server(bits.evaluation())
    pair = bits.encrypt_bits([True, False])
    table = lookup.PrivateTable(rng.integers(0, 256, (16, 4), dtype=np.uint8))
    reader = lookup.Reader(table.plan, table.shape)
    wire = vector.to_bytes()
    kept: list[bytearray] = []

    def refused() -> None:
        try:
            client.encrypt(x[1:])
        except cm.ParameterError:
            return
        raise AssertionError("a vector of another length is accepted")

    return {
        "encrypt a vector": lambda: client.encrypt(x),
        "multiply": lambda: matrix @ vector,
        "encrypt, multiply, decrypt": lambda: client.decrypt(matrix @ client.encrypt(x)),
        "mask, decrypt the share": lambda: owner.decrypt_masked(masked.mask(owner.public)[0]),
        "prepare a matrix": lambda: server.prepare(array),
        "write and read a vector": lambda: cm.EncryptedVector.from_bytes(plan, vector.to_bytes()),
        "refuse truncated bytes": lambda: refuse(lambda: cm.EncryptedVector.from_bytes(plan, wire[:-1])),
        "refuse a vector": refused,
        "look up a record": lambda: reader.record(table.answer(reader.evaluation, reader.query(3)), 3),
        "Paillier: encrypt, add, multiply, decrypt": lambda: secret.decrypt((public.encrypt(x) + numbers) * 3),
        "Paillier: matrix-vector product": lambda: array @ numbers,
        "TFHE: encrypt, decrypt": lambda: bits.decrypt_bits(bits.encrypt_bits([True, False])),
        "TFHE: a gate": lambda: gates.gate("and", pair, pair),
        CONTROL: lambda: kept.append(bytearray(1024)),
    }


def refuse(call: Callable[[], object]) -> None:
    """Expect a `WireError`."""
    try:
        call()
    except cm.WireError:
        return
    raise AssertionError("truncated bytes are accepted")


def main() -> int:
    """Run all operations; 1 if one of them leaks."""
    growth = {}
    for name, call in operations().items():
        for _ in range(FIRST):
            call()
        gc.collect()
        before = resident_bytes()
        for _ in range(CALLS):
            call()
        gc.collect()
        growth[name] = resident_bytes() - before
        print(f"{name}: {growth[name]} bytes after {CALLS} calls", file=sys.stderr, flush=True)
    correct = all((grown < LIMIT_BYTES) != (name == CONTROL) for name, grown in growth.items())
    records = [{"operation": name, "calls": CALLS, "grown_bytes": grown} for name, grown in growth.items()]
    print(json.dumps({"correct": correct, "limit_bytes": LIMIT_BYTES, "operations": records}))
    return 0 if correct else 1


if __name__ == "__main__":
    sys.exit(main())
