"""Training and scoring of an estimator over a network."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from ciphermill._hetero.numbers import Floats
from ciphermill._hetero.report import Report
from ciphermill.errors import ParameterError
from ciphermill.federated._align import canonical
from ciphermill.federated._network import Network
from ciphermill.federated._session import HOST
from ciphermill.federated._state import Directory, Memory, Store
from ciphermill.federated._training import Columns, Options, Progress, Training, scores

#: Bytes of the digest of a row.
ROW_DIGEST = 16


def fit(
    network: Network,
    options: dict[str, Any],
    values: Floats,
    labels: Floats | None,
    intercept: bool,
    ids: npt.ArrayLike | None = None,
    state: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> tuple[Floats, Report]:
    """Train one party. Returns its weights, the intercept last, and its report."""
    if options["backend"] == "plain":
        raise ParameterError(
            'backend="plain" sends data in clear and works in one process only; use "bfv" or "paillier"'
        )
    agreed = Options(ids=ids_digest(ids), **options)
    data = Columns(values, labels, intercept)
    store = _store(state, network, agreed, data)
    try:
        return Training(network.session, agreed, data, store, progress).run()
    finally:
        store.close()


def _store(state: str | os.PathLike[str] | None, network: Network, options: Options, data: Columns) -> Store:
    if state is None:
        return Memory()
    hashed = hashlib.sha256(data.digest())
    for fact in (network.name, network.role, sorted(network.session.names), sorted(vars(options).items())):
        hashed.update(repr(fact).encode() + b"\0")
    return Directory(state, hashed.digest())


def joint_scores(network: Network, rows: Floats, own: Floats, purpose: str, training: set[bytes] | None) -> Floats:
    """The scores at the guest, the own part at a host. A host refuses rows of its training, of which it has digests."""
    known = 0
    if network.role == HOST and training is not None:
        known = sum(digest in training for digest in _digests(rows))
    release = 2 * known <= len(rows)
    result = scores(network.session, own, purpose, release)
    if not release:
        raise ParameterError(
            f"{known} of {len(rows)} rows are those of the training, whose scores would reveal to the guest more than the "
            "training does; use other rows, or set allow_training_scores=True"
        )
    return result


def row_digests(rows: Floats) -> set[bytes]:
    """A digest of each row."""
    return set(_digests(rows))


def _digests(rows: Floats) -> list[bytes]:
    return [hashlib.blake2b(row.tobytes(), digest_size=ROW_DIGEST).digest() for row in np.ascontiguousarray(rows)]


def ids_digest(ids: npt.ArrayLike | None) -> str:
    """The SHA-256 digest of ids in their order, or an empty text for none."""
    if ids is None:
        return ""
    hashed = hashlib.sha256()
    for one in canonical(ids):
        hashed.update(len(one).to_bytes(4, "little") + one)
    return hashed.hexdigest()
