"""Tests of the values of the chart: wrong ones, the schema, the defaults."""

import json
import re
import unittest
from typing import Any

import yaml
from rendering import (
    CHART,
    changed,
    example,
    fields,
    refusal,
    render,
)

Json = dict[str, Any]
PEER = {"name": "third", "role": "host", "address": "third.example:7443", "network": {"namespaces": ["third"]}}
# Values that must be refused: an example, the changed field, its value (None: removed), words of the refusal.
REFUSED: list[tuple[str, str, Any, str]] = [
    # The schema names a field by its path.
    ("guest", "party.role", "gest", "'/party/role'"),
    ("guest", "party.role", None, "missing property 'role'"),
    ("guest", "party.name", "Bank of Nowhere", "'/party/name'"),
    ("guest", "party.name", "-----BEGIN PRIVATE KEY-----", "'/party/name'"),
    ("guest", "image.repository", None, "missing property 'repository'"),
    ("guest", "image.repository", "registry.example/x; rm", "'/image/repository'"),
    ("arbiter", "image.digest", "sha256:0", "'/image/digest'"),
    ("guest", "tls.secret", None, "missing property 'secret'"),
    ("guest", "tls.key", "MC4CAQAwBQYDK2VwBCIEIA", "'key' not allowed"),
    ("guest", "colour", "red", "'colour' not allowed"),
    ("guest", "training.maxiter", 5, "'maxiter' not allowed"),
    ("guest", "training.max_iter", 0, "'/training/max_iter'"),
    ("guest", "training.max_iter", 2**20 + 1, "'/training/max_iter'"),
    ("guest", "training.max_iter", 1.5, "'/training/max_iter'"),
    ("guest", "training.C", -1.0, "'/training/C'"),
    ("guest", "training.solver", "newton", "'/training/solver'"),
    ("guest", "training.batch_size", 0, "'/training/batch_size'"),
    ("guest", "training.seed", 2**53 + 2, "'/training/seed'"),
    ("guest", "training.calibrate", "yes", "'/training/calibrate'"),
    ("guest", "data.positive", ["yes"], "'/data/positive'"),
    ("guest", "data.max_bytes", 0, "'/data/max_bytes'"),
    ("guest", "training.C", "1", "'/training/C'"),
    ("guest", "training.tol", 1.5, "'/training/tol'"),
    ("guest", "training.backend", "plain", "'/training/backend'"),
    ("guest", "training.deadline", 0, "'/training/deadline'"),
    ("guest", "peers", [], "'/peers'"),
    ("guest", "peers.0.address", "shop.example", "'/peers/0/address'"),
    ("guest", "peers.0.address", "shop.example:65536", "'/peers/0/address'"),
    ("guest", "peers.0.pin", "sha256:abc", "'/peers/0/pin'"),
    ("guest", "peers.0.network.cidrs", ["0.0.0.0/0"], "'/peers/0/network/cidrs/0'"),
    ("guest", "peers.0.network.cidrs", ["::/0"], "'/peers/0/network/cidrs/0'"),
    ("guest", "peers.0.network.cidrs", ["203.0.113.256/32"], "'/peers/0/network/cidrs/0'"),
    ("guest", "peers.0.network.cidrs", [], "'/peers/0/network/cidrs'"),
    ("guest", "peers.1.network.namespaces", ["Notary"], "'/peers/1/network/namespaces/0'"),
    ("guest", "data.file", "../etc/passwd.csv", "'/data/file'"),
    ("guest", "data.file", "/etc/bank.csv", "'/data/file'"),
    ("guest", "data.file", "bank.pickle", "'/data/file'"),
    ("guest", "data.id", "a\nb", "'/data/id'"),
    ("guest", "data.features", ["income", "income"], "'/data/features'"),
    ("guest", "data.volume.secret", "bank-data", "'/data/volume'"),
    ("guest", "data.align", "fuzzy", "'/data/align'"),
    ("guest", "storage.accessMode", "ReadWriteMany", "'/storage/accessMode'"),
    ("guest", "storage.size", "1 GB", "'/storage/size'"),
    ("guest", "job.retries", -1, "'/job/retries'"),
    ("guest", "resources.limits.gpu", "1", "'gpu' not allowed"),
    ("guest", "user", 0, "'/user'"),
    ("guest", "run", "../other", "'/run'"),
    ("host", "service.type", "ExternalName", "'/service/type'"),
    ("host", "metrics.serviceMonitor.interval", "soon", "'/metrics/serviceMonitor/interval'"),
    ("ray", "ray.workers", 0, "'/ray/workers'"),
    ("ray", "ray.version", "latest", "'/ray/version'"),
    ("ray", "tolerations.0.effect", "Nothing", "'/tolerations/0/effect'"),
    # Rules that join several values.
    ("guest", "peers.0.address", None, "peers[0].address is not set; this guest connects to shop"),
    ("host", "peers.0.address", "bank.example:7443", "peers[0].address is set, but bank connects to this host"),
    ("host", "peers.1.address", None, "peers[1].address is not set; this host connects to notary"),
    ("arbiter", "peers.1.address", "shop.example:7443", "peers[1].address is set, but shop connects to this arbiter"),
    ("guest", "peers.0.network", None, "peers[0].network is not set"),
    ("guest", "peers.1.name", "bank", "peers[1].name: bank is the name of another party"),
    ("guest", "peers.1.name", "shop", "peers[1].name: shop is the name of another party"),
    (
        "guest",
        "peers.0.role",
        "guest",
        "peers[0].role: a peer of this guest does not have the role guest; use host or arbiter",
    ),
    (
        "host",
        "peers.0.role",
        "host",
        "peers[0].role: a peer of this host does not have the role host; use guest or arbiter",
    ),
    ("guest", "peers.0.role", "arbiter", "peers: 2 arbiters are not supported"),
    ("arbiter", "peers", [{**PEER, "address": None}], "'/peers/0/address'"),
    ("arbiter", "peers.0.role", "host", "peers: 0 guests are not supported"),
    ("arbiter", "peers.1", None, "peers: no host is listed"),
    ("guest", "peers.0", None, "peers: no host is listed"),
    ("guest", "data.label", None, "data.label is not set"),
    ("guest", "data.allow_training_scores", True, "data.allow_training_scores is set, but it is for a host"),
    ("host", "data.label", "default", "data.label is set, but it is for a guest"),
    ("host", "data.positive", 1, "data.positive is set, but it is for a guest"),
    ("guest", "data.file", None, "data.file is not set"),
    ("guest", "data.volume", None, "data.volume is not set"),
    ("guest", "data.id", None, "data.id is not set; psi needs the column"),
    ("arbiter", "data.file", "notary.csv", "data.file is set, but an arbiter has no data"),
    ("arbiter", "ray.enabled", True, "ray.enabled is true, but an arbiter has no matrix"),
    ("arbiter", "image.tag", "1", "image.tag and image.digest are both set"),
    ("host", "metrics.enabled", False, "metrics.serviceMonitor.enabled is true, but metrics.enabled is false"),
    ("guest", "peers.1", PEER, "peers: 2 hosts without an arbiter are not supported"),
    ("ray", "training.backend", "paillier", "Ray does not compute with training.backend paillier"),
    ("ray", "ray.blocks", 257, "'/ray/blocks'"),
    ("ray", "ray.version", None, "ray.version is not set"),
    ("ray", "ray.tokenSecret", None, "ray.tokenSecret is not set"),
]


class Refusals(unittest.TestCase):
    def test_values(self) -> None:
        for name, path, value, words in REFUSED:
            with self.subTest(name, path=path, value=value):
                self.assertIn(words, refusal(changed(example(name), path, value)))

    def test_no_values(self) -> None:
        message = refusal({})
        for field in ("'/party'", "'/image'", "'/tls'", "'/peers'"):
            self.assertIn(field, message)

    def test_release_names(self) -> None:
        self.assertIn("the release name 1st is not supported", refusal(example("guest"), "1st"))
        self.assertIn("has 50 characters; use at most 49", refusal(example("ray"), "r" * 50))

    def test_names_of_objects_fit(self) -> None:
        for name, length in (("host", 53), ("ray", 49)):
            for document in render(example(name), "r" * length):
                self.assertLessEqual(len(document["metadata"]["name"]), 63)


class Values(unittest.TestCase):
    def setUp(self) -> None:
        self.schema = json.loads((CHART / "values.schema.json").read_text())
        self.defaults = yaml.safe_load((CHART / "values.yaml").read_text())

    def test_every_object_is_closed(self) -> None:
        free = {"global"}
        for path, field in fields(self.schema):
            self.assertIn("description", field, path)
            if field.get("type") == "object" and path not in free:
                inner = field["additionalProperties"]
                with self.subTest(path):
                    self.assertTrue(inner is False if "properties" in field else inner == {"type": "string"})
        self.assertIs(self.schema["additionalProperties"], False)

    def test_every_text_is_bounded(self) -> None:
        for path, field in fields(self.schema):
            if field.get("type") == "string" and not path.startswith("tolerations"):
                with self.subTest(path):
                    self.assertTrue("pattern" in field or "enum" in field)

    def test_every_default_is_a_value(self) -> None:
        known = {path for path, _ in fields(self.schema)}
        free = {
            path for path, field in fields(self.schema) if field.get("type") == "object" and "properties" not in field
        }

        def paths(value: Any, path: str) -> list[str]:
            if not isinstance(value, dict) or path in free:
                return [path]
            return [path, *(p for key, inner in value.items() for p in paths(inner, f"{path}.{key}"))]

        for key, value in self.defaults.items():
            self.assertLessEqual(set(paths(value, key)), known)

    def test_the_comments_are_values(self) -> None:
        """Each commented line of values.yaml that looks like a field is one of the schema."""
        names = {path.rpartition(".")[2].removesuffix("[]") for path, _ in fields(self.schema)}
        text = (CHART / "values.yaml").read_text()
        commented = re.findall(r"^\s*#\s+(?:- )?([a-zA-Z_]+):(?: |$)", text, re.MULTILINE)
        self.assertGreater(len(commented), 20)
        self.assertLessEqual(set(commented), names)


if __name__ == "__main__":
    unittest.main()
