"""What the tests share: plans and keys that several files need, and the files of federated parties."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import ciphermill as cm

if TYPE_CHECKING:
    from federated_setting import Authority
    from party_setting import PartyFiles, Process

    from ciphermill.federated import TLS

# scikit-learn's checks leave out the array API without it. SciPy reads it at its import.
os.environ["SCIPY_ARRAY_API"] = "1"


@pytest.fixture(scope="session")
def rng() -> np.random.Generator:
    """Reproducible numbers."""
    return np.random.default_rng(20261127)


class Parties:
    """A plan, its client, its server, and a matrix."""

    def __init__(self, rows: int, cols: int, rng: np.random.Generator) -> None:
        self.plan = cm.MatVecPlan(rows, cols)
        self.client = self.plan.keygen()
        self.server = self.plan.server(self.client.evaluation)
        self.array = rng.integers(-128, 128, (rows, cols))
        self.matrix = self.server.prepare(self.array)


@pytest.fixture(scope="session")
def small(rng: np.random.Generator) -> Parties:
    """A product of a 5×7 matrix."""
    return Parties(5, 7, rng)


@pytest.fixture(scope="session")
def usual(rng: np.random.Generator) -> Parties:
    """A product of a 1024×256 matrix."""
    return Parties(1024, 256, rng)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that has signed the certificates of four parties."""
    from federated_setting import Authority

    made = Authority(tmp_path_factory.mktemp("authority"), "ca")
    for name in ("bank", "shop", "mall", "notary"):
        made.issue(name, name)
    return made


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TLS]:
    """The certificates of the parties of `federated_parties`."""
    from federated_setting import Authority

    made = Authority(tmp_path_factory.mktemp("certificates"))
    return {name: made.issue(name) for name in ("bank", "shop", "post", "judge")}


@pytest.fixture
def parties(tmp_path: Path, authority: Authority) -> PartyFiles:
    """A guest and a host."""
    from party_setting import PartyFiles

    return PartyFiles(tmp_path, authority)


@pytest.fixture
def started() -> Iterator[list[Process]]:
    """Processes that end with the test."""
    made: list[Process] = []
    yield made
    for each in made:
        if each.process.poll() is None:
            each.kill()
