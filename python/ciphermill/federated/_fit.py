"""Training and scoring of an estimator over a network."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ciphermill._hetero.numbers import Floats
from ciphermill._hetero.report import Report
from ciphermill._hetero.workers import Workers
from ciphermill.errors import ParameterError
from ciphermill.federated._network import Network
from ciphermill.federated._rows import Alignment, Columns, ids_digest
from ciphermill.federated._session import HOST
from ciphermill.federated._state import Directory, Memory, Store
from ciphermill.federated._training import Options, Training, scores

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
    workers: Workers | None = None,
) -> tuple[Floats, Report]:
    """Train one party. Returns its weights, the intercept last, and its report."""
    if options["backend"] == "plain":
        raise ParameterError(
            'backend="plain" sends data in clear and works in one process only; use "bfv" or "paillier"'
        )
    agreed = Options(ids=ids_digest(ids), **options)
    data = Columns(values, labels, intercept)
    store = Memory() if state is None else open_store(state, network.name, network.session.roles, agreed, data)
    try:
        return Training(network.session, agreed, data, store, workers=workers).run()
    finally:
        store.close()


def open_store(
    state: str | os.PathLike[str],
    name: str,
    roles: Mapping[str, str],
    options: Options,
    data: Columns | Alignment | None,
) -> Store:
    """The states of a party in a directory. `roles` has the roles of all parties that this one knows. The arbiter has no data.

    Raises `StateError` if the directory cannot be used.
    """
    hashed = hashlib.sha256(data.digest() if data else b"")
    for fact in (name, roles[name], sorted(roles), sorted(vars(options).items())):
        hashed.update(repr(fact).encode() + b"\0")
    return Directory(state, hashed.digest())


def joint_scores(network: Network, rows: Floats, own: Floats, purpose: str, training: set[bytes] | None) -> Floats:
    """The scores at the guest, the own part at a host. A host refuses rows of its training; `training` has their digests."""
    known = known_rows(rows, training if network.role == HOST else None)
    result = scores(network.session, own, purpose, release=not known)
    if known:
        raise refusal(known, len(rows))
    return result


def known_rows(rows: Floats, training: set[bytes] | None) -> int:
    """The number of rows whose digests are among the digests of a training. 0 for `None`.

    A host releases no scores if there is one: a guest that mixes a few known rows into each request would learn all of them.
    """
    return 0 if training is None else sum(digest in training for digest in _digests(rows))


def refusal(known: int, rows: int) -> ParameterError:
    """The error of a host that does not send its part of the scores."""
    return ParameterError(
        f"{known} of {rows} rows are those of the training, whose scores would reveal to the guest more than the training does; "
        "use other rows, or set allow_training_scores=True"
    )


def row_digests(rows: Floats) -> set[bytes]:
    """A digest of each row."""
    return set(_digests(rows))


def _digests(rows: Floats) -> list[bytes]:
    return [hashlib.blake2b(row.tobytes(), digest_size=ROW_DIGEST).digest() for row in np.ascontiguousarray(rows)]
