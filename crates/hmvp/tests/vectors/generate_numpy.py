"""Writes numpy.json and numpy.bin: matrix-vector products by NumPy, for the tests of this crate.

    pip install numpy==2.4.6
    python generate_numpy.py

A case's matrix (row after row) and then its vector are the numbers of SplitMix64 from the seed, of which the highest bits are
taken as a signed integer; or constants. numpy.bin holds the products, little-endian 64-bit signed words, case after case.
"""

import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
GAMMA = np.uint64(0x9E3779B97F4A7C15)


def split_mix(seed: int, first: int, count: int, bits: int) -> np.ndarray:
    """Numbers `first` … of SplitMix64 from `seed`: their highest `bits` bits, signed."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(first + 1, first + count + 1, dtype=np.uint64) * GAMMA
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return z.view(np.int64) >> (64 - bits)


def main() -> None:
    paper = [(rows, 256) for rows in (64, 128, 256, 512, 1024, 2048)]
    larger = [(2048, 4096), (8192, 4096), (8192, 8192)]
    cases = []
    products = []
    for seed, (rows, cols) in enumerate(paper + larger + [(1, 1), (3, 1000), (77, 300), (100, 5000), (5000, 3)]):
        cases.append({"rows": rows, "cols": cols, "matrix_bits": 8, "vector_bits": 8, "seed": seed})
    for bits in ((16, 16), (16, 8), (8, 16), (24, 12)):
        cases.append({"rows": 1024, "cols": 256, "matrix_bits": bits[0], "vector_bits": bits[1], "seed": 100})
    for rows, cols in paper:
        for entry, other in ((-128, -128), (-128, 127), (127, 127)):
            cases.append(
                {"rows": rows, "cols": cols, "matrix_bits": 8, "vector_bits": 8, "matrix": entry, "vector": other}
            )
    for case in cases:
        rows, cols = case["rows"], case["cols"]
        if "seed" in case:
            matrix = split_mix(case["seed"], 0, rows * cols, case["matrix_bits"]).reshape(rows, cols)
            vector = split_mix(case["seed"], rows * cols, cols, case["vector_bits"])
        else:
            matrix = np.full((rows, cols), case["matrix"], dtype=np.int64)
            vector = np.full(cols, case["vector"], dtype=np.int64)
        products.append(matrix @ vector)
    np.concatenate(products).astype("<i8").tofile(HERE / "numpy.bin")
    lines = ",\n ".join(json.dumps(case) for case in cases)
    (HERE / "numpy.json").write_text(f"[\n {lines}\n]\n")


if __name__ == "__main__":
    main()
