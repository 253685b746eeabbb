"""Reads configurations with the reader of `ciphermill-party`. It runs with the package, in the interpreter of the package's tests.

reader.py FILE…     # one line of JSON: the configurations, the reader's keys and limits
"""

import json
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ciphermill.errors import ParameterError
from ciphermill.federated._party import config


def read(file: str) -> dict[str, Any]:
    try:
        return asdict(config.read(Path(file)))
    except ParameterError as error:
        return {"error": str(error)}


def main() -> None:
    made = {
        "configurations": [read(file) for file in sys.argv[1:]],
        "keys": {
            name: sorted(field.name for field in fields(section))
            for name, section in (
                ("tls", config.Files),
                ("data", config.Data),
                ("training", config.Terms),
                ("ray", config.Ray),
            )
        },
        "choices": {
            "training.backend": list(config.SCHEMES),
            "training.solver": list(config.SOLVERS),
            "party.role": [config.GUEST, config.HOST, config.ARBITER],
        },
        "greatest": {
            "training.max_iter": config.MAX_ITERATIONS,
            "training.batch_size": config.MAX_BATCH,
            "training.restarts": config.MOST_RESTARTS,
            "training.deadline": config.MAX_DEADLINE,
            "data.max_bytes": config.MOST_BYTES,
            "ray.actors": config.MOST_ACTORS,
            "ray.blocks": config.MOST_BLOCKS,
            "ray.threads": config.MOST_THREADS,
        },
        "formats": list(config.FORMATS),
    }
    print(json.dumps(made, default=str))


if __name__ == "__main__":
    main()
