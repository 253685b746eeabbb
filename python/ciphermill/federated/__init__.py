"""Federated training between parties on different machines, over gRPC with certificates on both sides (mTLS).

The guest has the labels. It connects to the host, and both fit one estimator, each with its own columns of the same rows:

    # the host
    with federated.listen("0.0.0.0:7443", tls=federated.TLS("shop.pem", "shop.key", "ca.pem"), peer="bank") as network:
        HeteroLogisticRegression(backend="bfv", peer=network).fit(X_shop)

    # the guest
    with federated.connect("shop:7443", tls=federated.TLS("bank.pem", "bank.key", "ca.pem"), name="bank") as network:
        HeteroLogisticRegression(backend="bfv", peer=network).fit(X_bank, y)

`Network` joins more parties: an arbiter and several hosts. All calls that exchange messages raise `PeerError` if a peer has
another configuration, breaks the protocol, or sends nothing until the deadline.

gRPC starts its own threads. Do not fork the process after the first connection; use spawn or forkserver.
"""

import os

# With gRPC's support of forks, a program that this process starts crashes now and then before it begins: Ray's issue 63202.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

try:
    import grpc  # noqa: F401
except ImportError as error:
    raise ImportError('federated training needs grpcio; install it with pip install "ciphermill[federated]"') from error

from ciphermill.federated._network import Network, Peer, connect, listen
from ciphermill.federated._ray import RayWorkers
from ciphermill.federated._tls import TLS

__all__ = ["TLS", "Network", "Peer", "RayWorkers", "connect", "listen"]
