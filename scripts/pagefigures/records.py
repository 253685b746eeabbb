"""Reads committed records: `evidence/*.json`, `bench/*.json`, `docs/arch/*.json`."""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
Record = dict[str, Any]


class MissingRecord(Exception):
    """A page takes figures from a record that does not exist."""


def load(path: str) -> Record:
    if not (ROOT / path).exists():
        raise MissingRecord(path)
    record: Record = json.loads((ROOT / path).read_text())
    return record


def cases(path: str) -> dict[str, Record]:
    """The entries of a record that is a list, by their case."""
    if not (ROOT / path).exists():
        raise MissingRecord(path)
    entries: list[Record] = json.loads((ROOT / path).read_text())
    return {entry["case"]: entry for entry in entries}


def runs(record: Record, case: str, **params: object) -> list[Record]:
    """The results of an evidence record for a case, narrowed by fields of the result or of its parameters."""
    found = []
    for run in record["results"]["runs"]:
        result = run["result"]
        inner = result["params"] if isinstance(result.get("params"), dict) else {}
        if result.get("case") == case and all(
            result.get(key, inner.get(key)) == value for key, value in params.items()
        ):
            found.append(result)
    return found


def one(found: list[Record], what: str) -> Record:
    if not found:
        sys.exit(f"figures: no record of {what}")
    return found[0]


# Our paths from the slowest to the fastest. On an instruction set a machine has one of the last three for big integers.
PATHS = ["portable", "avx2", "avx512", "adx", "ifma-single", "ifma"]
# For a single number, one over all lanes beats one in each lane.
SINGLE_PATHS = ["portable", "adx", "ifma", "ifma-single"]


def best_path(rows: list[Record], order: list[str] = PATHS) -> str:
    """The best of our paths in the rows."""
    return max({r["isa"] for r in rows}, key=order.index)


def rows_of(record: Record, family: str, order: list[str] = PATHS) -> tuple[list[Record], str]:
    """The rows of a comparison whose case begins with `family`, on the best path that the record has."""
    found = [r for r in record["rows"] if r["case"].startswith(family)]
    one(found, f"a comparison {family}")
    path = best_path(found, order)
    return [r for r in found if r["isa"] == path], path


def row(rows: list[Record], case: str, peer: str, threads: int = 1) -> Record | None:
    """The row of a comparison with a peer, if the record has it."""
    key = {"case": case, "peer": peer, "threads": threads}
    found = [r for r in rows if all(r[k] == v for k, v in key.items())]
    return found[0] if found else None


def ratio(found: Record) -> float:
    """The peer's median over ours."""
    value: float = found["peer_median_ns"] / found["median_ns"]
    return value


def extensions(flags: list[str]) -> str:
    """The vector instructions of a CPU in words."""
    if "avx512f" not in flags:
        return "AVX2, without AVX-512" if "avx2" in flags else "without AVX2"
    return "AVX-512 with IFMA" if "avx512ifma" in flags else "AVX-512 without IFMA"


def machine_name(machine: Record) -> str:
    """The machine in words. Records of earlier versions have the CPU's name only."""
    cpu = " ".join(machine["cpu"].replace("(R)", "").split())
    if machine.get("cpu_family") is not None:
        cpu += f" (family {machine['cpu_family']}, model {machine['cpu_model']}; {extensions(machine['isa_offered'])})"
    return f"{cpu}, {machine['cores']} cores (virtual)"


def same_machine(left: Record, right: Record) -> bool:
    """Whether two records can be of one machine: all that both of them state is equal."""
    fields = ("cpu", "cpu_family", "cpu_model", "cpu_stepping", "isa_offered")
    return all(left[f] == right[f] for f in fields if f in left and f in right)
