"""Parties of a training that are killed at random messages: prints one JSON object; exit status 1 if a model differs.

A guest and a host run as processes over mTLS on this machine. A party kills itself with SIGKILL when it sends or receives the
n-th message, for a random n, and is started again. Both models must then equal that of the back end `plain` in every bit.
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from ciphermill import federated
from ciphermill.federated._fit import fit
from ciphermill.linear_model import HeteroLogisticRegression

#: Kills, each at a random message of a random party; some are at the same message.
KILLS = 100
#: Rows and iterations: the messages of a run number 12 for each iteration, about.
ROWS, ITERATIONS = 200, 6
#: The columns of the guest.
SPLIT = 10
#: Seconds within which a run must end. Its wait for a peer ends before.
LIMIT, DEADLINE = 120.0, 60.0
#: The status of a process that found no killing message.
UNHARMED = 0


def data() -> tuple[Any, Any]:
    """The rows and the labels ±1."""
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:ROWS], np.where(y[:ROWS] == 1, 1.0, -1.0)


def party(name: str, folder: Path, port: int, kill_at: int) -> None:
    """One party: trains and writes its weights."""
    tls = federated.TLS(folder / f"{name}.pem", folder / f"{name}.key", folder / "ca.pem")
    guest = name == "bank"
    other = "shop" if guest else "bank"
    open_network = federated.connect if guest else federated.listen
    X, labels = data()
    values = np.asfortranarray(X[:, :SPLIT] if guest else X[:, SPLIT:])
    options = {
        "backend": "bfv",
        "samples": ROWS,
        "C": 1.0,
        "tol": 1e-9,
        "max_iter": ITERATIONS,
        "allow_label_leak": True,
    }
    with open_network(
        f"127.0.0.1:{port}", tls=tls, name=name, peer=other, certificate_name=other, deadline=DEADLINE
    ) as network:
        session, seen = network.session, [0]
        before = session._seen

        def counted(sender: str, receiver: str, kind: str, payload: bytes) -> None:
            seen[0] += 1
            if seen[0] == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            before(sender, receiver, kind, payload)

        session._seen = counted  # type: ignore[method-assign]
        weights, _ = fit(network, options, values, labels if guest else None, guest, state=folder / f"state-{name}")
    np.save(folder / f"{name}.npy", weights)
    (folder / f"{name}.messages").write_text(str(seen[0]))


def start(name: str, folder: Path, port: int, kill_at: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--party", name, str(folder), str(port), str(kill_at)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def run(certificates: Path, victim: str, kill_at: int) -> dict[str, Any]:
    """One training with one kill. Returns how it ended."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in certificates.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        running = {each: start(each, folder, port, kill_at if each == victim else 0) for each in ("shop", "bank")}
        kills = 0
        try:
            if running[victim].wait(LIMIT) == -signal.SIGKILL:
                kills = 1
                running[victim] = start(victim, folder, port, 0)
            ends = {each: process.wait(LIMIT) for each, process in running.items()}
        except subprocess.TimeoutExpired:
            return {"victim": victim, "message": kill_at, "kills": kills, "end": "hangs"}
        finally:
            for process in running.values():
                process.kill()
                process.wait()
        if any(ends.values()):
            errors = [
                (process.stderr.read() if process.stderr else b"").decode().strip()[-300:]
                for process in running.values()
            ]
            return {"victim": victim, "message": kill_at, "kills": kills, "end": "error", "errors": errors}
        equal = np.concatenate([np.load(folder / "bank.npy"), np.load(folder / "shop.npy")]).tobytes() == EXPECTED
        messages = int((folder / f"{victim}.messages").read_text())
    return {
        "victim": victim,
        "message": kill_at,
        "kills": kills,
        "end": "equal" if equal else "different",
        "messages": messages,
        "seconds": time.monotonic() - begun,
    }


def expected() -> bytes:
    """The weights of both parties by the back end `plain`."""
    X, labels = data()
    columns = {"bank": slice(0, SPLIT), "shop": slice(SPLIT, X.shape[1])}
    plain = HeteroLogisticRegression(columns=columns, tol=1e-9, max_iter=ITERATIONS).fit(X, labels)
    return np.concatenate([plain.coef_[0, :SPLIT], plain.intercept_, plain.coef_[0, SPLIT:]]).tobytes()


def make_certificates(folder: Path) -> None:
    """An authority and a certificate of each party."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *curve, "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
    for name in ("bank", "shop"):
        openssl("req", *curve, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{name}\n")
        signer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
        openssl(
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            *signer,
            "-days",
            "2",
            "-extfile",
            f"{name}.ext",
            "-out",
            f"{name}.pem",
        )


def main() -> int:
    """Kill parties at random messages; 1 if a model differs or a party hangs."""
    rng = random.Random(29)
    with tempfile.TemporaryDirectory() as name:
        certificates = Path(name)
        make_certificates(certificates)
        whole = run(certificates, "bank", 0)
        if whole["end"] != "equal":
            print(json.dumps({"correct": False, "unharmed": whole}))
            return 1
        records = []
        for _ in range(KILLS):
            victim, message = rng.choice(("bank", "shop")), rng.randint(1, whole["messages"])
            records.append(run(certificates, victim, message))
            print(records[-1], file=sys.stderr, flush=True)
    correct = all(record["end"] == "equal" and record["kills"] == 1 for record in records)
    ends = {end: sum(record["end"] == end for record in records) for end in ("equal", "different", "error", "hangs")}
    print(
        json.dumps({"correct": correct, "kills": len(records), "messages": whole["messages"], **ends, "runs": records})
    )
    return 0 if correct else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--party", nargs=4)
    parser.add_argument("--kills", type=int, default=KILLS)
    arguments = parser.parse_args()
    KILLS = arguments.kills
    if arguments.party:
        party(arguments.party[0], Path(arguments.party[1]), int(arguments.party[2]), int(arguments.party[3]))
        sys.exit(0)
    EXPECTED = expected()
    sys.exit(main())
