"""Tests of the Helm chart: its objects, refusals, configuration, network rules and Pods."""

import json
import re
import tomllib
import unittest
from typing import Any

import yaml
from network import End, allows, selects
from rendering import (
    CHART,
    EXAMPLES,
    NAMESPACE,
    RELEASE,
    ROOT,
    VERSIONS,
    changed,
    configuration,
    containers,
    example,
    helm,
    of_kind,
    only,
    pinned_versions,
    pods,
    reader,
    refusal,
    render,
    validate,
    workspace_version,
)

Json = dict[str, Any]
# A field that no object has.
UNKNOWN = {"colour": "red"}


def everything() -> list[Json]:
    """One object at least of each kind that the chart makes."""
    values = example("ray")
    for switch in ("podDisruptionBudget", "metrics.serviceMonitor"):
        values = changed(values, f"{switch}.enabled", True)
    return render(values)


class Schemas(unittest.TestCase):
    def test_versions(self) -> None:
        self.assertEqual(VERSIONS, pinned_versions())
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual(chart["kubeVersion"], f">={VERSIONS[0]}-0")
        self.assertEqual(chart["appVersion"], workspace_version())

    def test_examples(self) -> None:
        for version in VERSIONS:
            documents = [document for name in EXAMPLES for document in render(example(name), name, version)]
            with self.subTest(version=version):
                self.assertEqual(validate([*documents, *everything()], version), [])

    def test_an_older_kubernetes_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "incompatible with Kubernetes"):
            render(example("guest"), version="1.30.9")

    def test_the_schemas_refuse_unknown_fields(self) -> None:
        for version in VERSIONS:
            documents = everything()
            for document in documents:
                place = document.get("spec", document)
                place |= UNKNOWN
            faults = validate(documents, version)
            self.assertTrue(all("colour" in fault for fault in faults), faults)
            kinds = sorted(fault.partition(":")[0] for fault in faults)
            self.assertEqual(kinds, sorted(document["kind"] for document in documents))

    def test_the_schemas_refuse_unknown_fields_of_containers(self) -> None:
        for version in VERSIONS:
            documents = everything()
            for pod in pods(documents).values():
                pod["spec"]["containers"][0] |= UNKNOWN
            kinds = [fault.partition(":")[0] for fault in validate(documents, version)]
            self.assertEqual(sorted(kinds), ["Job", "RayCluster"])

    def test_a_kind_without_schema_is_a_fault(self) -> None:
        document = {"apiVersion": "example.org/v1", "kind": "Unknown", "metadata": {"name": "x"}}
        self.assertEqual(len(validate([document], VERSIONS[-1])), 1)


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
    ("guest", "peers.0.role", "guest", "peers[0].role: a peer of this guest is not a guest; use host or arbiter"),
    ("host", "peers.0.role", "host", "peers[0].role: a peer of this host is not a host; use guest or arbiter"),
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


KEYS = {
    "party": {"name", "role", "state", "output", "metrics"},
    "tls": {"certificate", "key", "authority"},
    "listen": {"address"},
    "data": {"file", "id", "label", "features", "standardise", "align"},
    "training": {"backend", "C", "tol", "max_iter", "deadline"},
}
# All optional fields of `data` that a guest and a host have, and of `training`.
OF_GUEST: Json = {"positive": "yes", "fit_intercept": False, "max_bytes": 1 << 50}
OF_HOST: Json = {"allow_training_scores": True, "max_bytes": 5_000_000}
OF_ROLE = {"guest": OF_GUEST, "host": OF_HOST, "ray": OF_HOST}
OF_TRAINING: Json = {
    "backend": "paillier",
    "C": 10.0,
    "tol": 1e-9,
    "max_iter": 1_000_000,
    "solver": "adam",
    "learning_rate": 0.5,
    "batch_size": 4096,
    "seed": 2**53,
    "restarts": 20,
    "calibrate": True,
    "allow_label_leak": True,
    "deadline": 0.5,
}


def complete(name: str) -> Json:
    """The values of an example with all optional fields of the configuration."""
    values = changed(example(name), "training", OF_TRAINING)
    for key, value in OF_ROLE.get(name, {}).items():
        values = changed(values, f"data.{key}", value)
    return values


class Reader(unittest.TestCase):
    """The reader of `ciphermill-party` accepts the configuration, and the schema has its keys and limits."""

    def test_examples(self) -> None:
        names = [(name, make) for name in EXAMPLES for make in (example, complete)]
        files = [only(render(make(name)), "ConfigMap")["data"]["party.toml"] for name, make in names]
        for (name, make), read in zip(names, reader(files)["configurations"], strict=True):
            with self.subTest(name, values=make.__name__):
                self.assertNotIn("error", read)
                self.assertEqual(read["name"], example(name)["party"]["name"])
                self.assertEqual(read["state"], f"/var/lib/ciphermill/{example(name).get('run', '1')}/state")
                if make is complete:
                    self.assertEqual(read["training"], OF_TRAINING)
                    expected = OF_ROLE.get(name, {})
                    self.assertEqual({key: read["data"][key] for key in expected}, expected)

    def test_a_wrong_file_is_refused(self) -> None:
        text = only(render(example("guest")), "ConfigMap")["data"]["party.toml"].replace("max_iter", "maxiter")
        (read,) = reader([text])["configurations"]
        self.assertIn('the unknown key "maxiter"', read["error"])

    def test_keys(self) -> None:
        keys = reader([])["keys"]
        schema = dict(fields(json.loads((CHART / "values.schema.json").read_text())))
        self.assertEqual(sorted({*schema["data"]["properties"]} - {"volume"}), keys["data"])
        self.assertEqual(sorted(schema["training"]["properties"]), keys["training"])
        self.assertEqual(sorted(KEYS["tls"]), keys["tls"])

    def test_limits(self) -> None:
        made = reader([])
        schema = dict(fields(json.loads((CHART / "values.schema.json").read_text())))
        for path, choices in made["choices"].items():
            self.assertEqual(sorted(schema[path]["enum"]), sorted(choices))
        for path, greatest in made["greatest"].items():
            self.assertEqual(schema[path]["maximum"], greatest)
        (found,) = re.findall(r"\\\.\((.*)\)\$$", schema["data.file"]["pattern"])
        self.assertEqual(sorted(f".{word}" for word in found.split("|")), sorted(made["formats"]))


class Configuration(unittest.TestCase):
    def test_keys(self) -> None:
        absent = {"guest": {"listen"}, "host": set(), "arbiter": {"data"}, "ray": set()}
        fewer = {"host": {"label", "features"}, "ray": {"label", "features", "id"}}
        for name in EXAMPLES:
            with self.subTest(name):
                file = configuration(render(example(name)))
                self.assertEqual(set(file), {*KEYS, "peers"} - absent[name])
                for table in set(KEYS) - absent[name]:
                    expected = KEYS[table] - (fewer.get(name, set()) if table == "data" else set())
                    self.assertEqual(set(file[table]), expected, table)

    def test_all_keys(self) -> None:
        for name in EXAMPLES:
            file = configuration(render(complete(name)))
            self.assertEqual(file["training"], OF_TRAINING)
            for key, value in OF_ROLE.get(name, {}).items():
                self.assertEqual(file["data"][key], value)

    def test_peers(self) -> None:
        for name in EXAMPLES:
            given = [{key: peer[key] for key in peer if key != "network"} for peer in example(name)["peers"]]
            self.assertEqual(configuration(render(example(name)))["peers"], given)

    def test_a_guest(self) -> None:
        file = configuration(render(example("guest")))
        storage = "/var/lib/ciphermill/1"
        self.assertEqual(
            file["party"],
            {
                "name": "bank",
                "role": "guest",
                "state": f"{storage}/state",
                "output": f"{storage}/output",
                "metrics": "0.0.0.0:9464",
            },
        )
        self.assertEqual(
            file["data"],
            {
                "file": "/data/bank.csv",
                "id": "customer",
                "label": "default",
                "features": ["income", "age"],
                "standardise": True,
                "align": "psi",
            },
        )

    def test_types_of_numbers(self) -> None:
        """TOML distinguishes integers and floats. Helm has one kind of number, which it prints as 1e+06 from a million on."""
        training = configuration(render(complete("guest")))["training"]
        self.assertEqual(
            {key: type(training[key]) for key in training}, {key: type(OF_TRAINING[key]) for key in training}
        )
        whole = configuration(render(changed(example("guest"), "training.C", 10)))["training"]["C"]
        self.assertIs(type(whole), float)
        # Values of the command line are integers in Helm.
        line = "training.C=10,training.tol=1,training.deadline=60,training.max_iter=1000000"
        run = helm(example("guest"), "template", RELEASE, str(CHART), "--set", line)
        documents = [document for document in yaml.safe_load_all(run.stdout) if document]
        expected = {"C": 10.0, "tol": 1.0, "deadline": 60.0, "max_iter": 1_000_000}
        training = configuration(documents)["training"]
        self.assertEqual(
            {key: (type(training[key]), training[key]) for key in expected},
            {key: (type(value), value) for key, value in expected.items()},
        )
        for positive in ("yes", True, 1, -3, 0.5):
            found = configuration(render(changed(example("guest"), "data.positive", positive)))["data"]["positive"]
            self.assertEqual((type(found), found), (type(positive), positive))

    def test_texts_are_quoted(self) -> None:
        odd = (
            '"',
            "\\",
            "a\\b",
            '"""',
            "'",
            "{{ .Values }}",
            "größe",
            "a = 1 # b",
            "] [training]",
            "${HOME}",
            " ",
            "|",
            "- x",
            "€𝄞\u200b",
        )
        for text in odd:
            with self.subTest(text):
                file = configuration(render(changed(example("guest"), "data.id", text)))
                self.assertEqual(file["data"]["id"], text)
                self.assertEqual(file["training"]["max_iter"], 200)
        every = "".join(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0x120), *range(0x2000, 0x2028)]))
        for start in range(0, len(every), 250):
            text = every[start : start + 250]
            self.assertEqual(
                configuration(render(changed(example("guest"), "data.label", text)))["data"]["label"], text
            )

    def test_line_breaks_of_yaml_are_refused(self) -> None:
        for letter in "\n\r\t\0\x7f\x85\u2028\u2029\ufeff":
            with self.subTest(repr(letter)):
                self.assertIn("'/data/label'", refusal(changed(example("guest"), "data.label", f"a{letter}b")))

    def test_the_run_is_a_directory(self) -> None:
        values = changed(example("host"), "run", "autumn")
        self.assertEqual(configuration(render(values))["party"]["state"], "/var/lib/ciphermill/autumn/state")

    def test_paths_are_mounts(self) -> None:
        for name in EXAMPLES:
            documents = render(example(name))
            file = configuration(documents)
            mounts = {
                mount["name"]: mount for mount in pods(documents)["party"]["spec"]["containers"][0]["volumeMounts"]
            }
            storage = mounts["storage"]["mountPath"]
            self.assertTrue(file["party"]["state"].startswith(f"{storage}/"))
            self.assertTrue(file["party"]["output"].startswith(f"{storage}/"))
            for path in file["tls"].values():
                self.assertTrue(path.startswith(f"{mounts['tls']['mountPath']}/"))
            if "data" in file:
                self.assertTrue(file["data"]["file"].startswith(f"{mounts['data']['mountPath']}/"))
            command = pods(documents)["party"]["spec"]["containers"][0]["command"]
            self.assertEqual(command, ["ciphermill-party", f"{mounts['configuration']['mountPath']}/party.toml"])


def labels(component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "ciphermill-party",
        "app.kubernetes.io/instance": RELEASE,
        "app.kubernetes.io/component": component,
    }


PARTY, RAY = labels("party"), labels("ray")
OWN, OWN_RAY = End(namespace=NAMESPACE, labels=PARTY), End(namespace=NAMESPACE, labels=RAY)
NEIGHBOUR = End(namespace=NAMESPACE, labels={"app": "other"})
DNS = End(namespace="kube-system", labels={"k8s-app": "kube-dns"})
# Connections of a Pod that all examples refuse.
NEVER = [
    ("in", End("8.8.8.8"), 7443),
    ("in", End("8.8.8.8"), 9464),
    ("in", NEIGHBOUR, 7443),
    ("in", NEIGHBOUR, 9464),
    ("in", End(namespace="monitoring"), 7443),
    ("out", End("8.8.8.8"), 7443),
    ("out", End("8.8.8.8"), 53),
    ("out", NEIGHBOUR, 7443),
    # The metadata service of clouds, and the Kubernetes API.
    ("out", End("169.254.169.254"), 80),
    ("out", End("10.96.0.1"), 443),
    ("out", End(namespace="kube-system", labels={"component": "kube-apiserver"}), 53),
    ("out", DNS, 443),
]
# Connections of the party's Pod: the example, the direction, the other end, the port, whether they are allowed.
FLOWS = [
    ("guest", "out", End("203.0.113.7"), 7443, True),
    ("guest", "out", End("203.0.113.7"), 443, False),
    ("guest", "out", End("203.0.113.8"), 7443, False),
    ("guest", "out", End(namespace="notary"), 7443, True),
    ("guest", "out", End(namespace="bank"), 7443, False),
    ("guest", "in", End("203.0.113.7"), 7443, False),
    ("guest", "in", End(namespace="notary"), 7443, False),
    ("host", "in", End("198.51.100.3"), 7443, True),
    ("host", "in", End("198.51.100.3"), 9464, False),
    ("host", "in", End("198.51.100.16"), 7443, False),
    ("host", "in", End("192.0.2.1"), 7443, False),
    ("host", "out", End("192.0.2.1"), 443, True),
    ("host", "out", End("2001:db8::1"), 443, True),
    ("host", "out", End("2001:db8::2"), 443, False),
    ("host", "out", End("192.0.2.1"), 7443, False),
    ("host", "out", End("198.51.100.3"), 7443, False),
    ("arbiter", "in", End(namespace="bank"), 7443, True),
    ("arbiter", "in", End("203.0.113.7"), 7443, True),
    ("arbiter", "in", End(namespace="shop"), 7443, False),
    ("arbiter", "out", End(namespace="bank"), 7443, False),
    ("arbiter", "out", End("203.0.113.7"), 7443, False),
    ("ray", "in", End(namespace="clinic"), 7443, True),
    ("ray", "out", OWN_RAY, 10001, True),
    ("ray", "out", OWN_RAY, 6379, False),
    ("ray", "in", OWN_RAY, 7443, False),
]


class Network(unittest.TestCase):
    def test_flows(self) -> None:
        policies = {name: of_kind(render(example(name)), "NetworkPolicy") for name in EXAMPLES}
        for name in EXAMPLES:
            for direction, end, port in NEVER:
                with self.subTest(name, direction=direction, end=end, port=port):
                    self.assertFalse(allows(policies[name], PARTY, direction, end, port))
            self.assertTrue(allows(policies[name], PARTY, "in", End(namespace="monitoring"), 9464))
            for protocol in ("UDP", "TCP"):
                self.assertTrue(allows(policies[name], PARTY, "out", DNS, 53, protocol))
        for name, direction, end, port, allowed in FLOWS:
            with self.subTest(name, direction=direction, end=end, port=port):
                self.assertEqual(allows(policies[name], PARTY, direction, end, port), allowed)

    def test_flows_of_ray(self) -> None:
        policies = of_kind(render(example("ray")), "NetworkPolicy")
        for direction, end, port in [
            *NEVER,
            ("in", End(namespace="monitoring"), 9464),
            ("in", End(namespace="clinic"), 10001),
        ]:
            with self.subTest(direction=direction, end=end, port=port):
                self.assertFalse(allows(policies, RAY, direction, end, port))
        self.assertTrue(allows(policies, RAY, "in", OWN, 10001))
        self.assertFalse(allows(policies, RAY, "in", OWN, 6379))
        self.assertFalse(allows(policies, RAY, "in", End(namespace="other", labels=RAY), 6379))
        self.assertFalse(allows(policies, RAY, "out", OWN, 7443))
        for port in (6379, 6380, 33333):
            self.assertTrue(allows(policies, RAY, "in", OWN_RAY, port))
            self.assertTrue(allows(policies, RAY, "out", OWN_RAY, port))

    def test_all_pods_are_selected_in_both_directions(self) -> None:
        for name in EXAMPLES:
            documents = render(example(name))
            for pod in pods(documents).values():
                found = pod["metadata"]["labels"]
                (policy,) = (p for p in of_kind(documents, "NetworkPolicy") if selects(p["spec"]["podSelector"], found))
                self.assertEqual(policy["spec"]["policyTypes"], ["Ingress", "Egress"])

    def test_every_rule_names_ends(self) -> None:
        """A rule without `from` or `to`, or with an empty list there, admits everything."""
        for name in EXAMPLES:
            for policy in of_kind(render(example(name)), "NetworkPolicy"):
                for key, rules in (("from", policy["spec"]["ingress"]), ("to", policy["spec"]["egress"])):
                    for rule in rules:
                        self.assertTrue(rule[key])
                        self.assertNotIn({}, rule[key])

    def test_no_metrics_no_port(self) -> None:
        documents = render(changed(example("guest"), "metrics.enabled", False))
        self.assertEqual(only(documents, "NetworkPolicy")["spec"]["ingress"] or [], [])
        self.assertNotIn("metrics", configuration(documents)["party"])
        self.assertEqual(of_kind(documents, "Service"), [])

    def test_name_servers_on_nodes(self) -> None:
        values = changed(example("guest"), "networkPolicy.dns.cidrs", ["169.254.20.10/32"])
        policies = of_kind(render(values), "NetworkPolicy")
        self.assertTrue(allows(policies, PARTY, "out", End("169.254.20.10"), 53, "UDP"))
        self.assertFalse(allows(policies, PARTY, "out", End("169.254.20.10"), 80))

    def test_without_policies(self) -> None:
        documents = render(changed(example("ray"), "networkPolicy.enabled", False))
        self.assertEqual(of_kind(documents, "NetworkPolicy"), [])


class Pods(unittest.TestCase):
    def test_restricted(self) -> None:
        """The Pod Security Standard "restricted", and a read-only root file system."""
        volumes = {"configMap", "emptyDir", "persistentVolumeClaim", "secret"}
        for name in EXAMPLES:
            for title, pod in pods(render(example(name))).items():
                with self.subTest(name, pod=title):
                    spec = pod["spec"]
                    self.assertEqual(
                        spec["securityContext"],
                        {
                            "runAsNonRoot": True,
                            "runAsUser": 10001,
                            "runAsGroup": 10001,
                            "fsGroup": 10001,
                            "fsGroupChangePolicy": "OnRootMismatch",
                            "seccompProfile": {"type": "RuntimeDefault"},
                        },
                    )
                    self.assertFalse({"hostNetwork", "hostPID", "hostIPC"} & set(spec))
                    self.assertIs(spec["automountServiceAccountToken"], False)
                    self.assertIs(spec["enableServiceLinks"], False)
                    for volume in spec["volumes"]:
                        self.assertLessEqual(set(volume) - {"name"}, volumes)
                    for container in containers(pod):
                        self.assertEqual(
                            container["securityContext"],
                            {
                                "allowPrivilegeEscalation": False,
                                "privileged": False,
                                "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]},
                            },
                        )
                        self.assertFalse(any("hostPort" in port for port in container.get("ports", [])))
                        for part in ("requests", "limits"):
                            self.assertIn("memory", container["resources"][part])

    def test_volumes(self) -> None:
        """Every mount has a volume. A container writes only to its storage, to /tmp, and once to the folder of the key."""
        for name in EXAMPLES:
            for title, pod in pods(render(example(name))).items():
                volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
                for container in containers(pod):
                    mounts = container["volumeMounts"]
                    self.assertLessEqual({mount["name"] for mount in mounts}, volumes)
                    writable = {mount["name"] for mount in mounts if not mount.get("readOnly")}
                    expected = {"party": {"storage", "tmp"}, "tls": {"tls"}}.get(container["name"], {"tmp"})
                    with self.subTest(name, pod=title, container=container["name"]):
                        self.assertEqual(writable, expected)

    def test_the_key(self) -> None:
        for name in EXAMPLES:
            found = pods(render(example(name)))
            volumes = {volume["name"]: volume for volume in found["party"]["spec"]["volumes"]}
            secret = volumes["tls-secret"]["secret"]
            self.assertEqual(secret["defaultMode"], 0o400)
            self.assertEqual([item["key"] for item in secret["items"]], ["tls.crt", "tls.key", "ca.crt"])
            self.assertEqual(volumes["tls"]["emptyDir"]["medium"], "Memory")
            (copy,) = found["party"]["spec"]["initContainers"]
            self.assertIn("--mode=0400", copy["command"])
            # The party itself does not see the Secret, and Ray sees neither.
            mounted = {mount["name"] for mount in found["party"]["spec"]["containers"][0]["volumeMounts"]}
            self.assertNotIn("tls-secret", mounted)
            for title, pod in found.items():
                if title != "party":
                    self.assertEqual({volume["name"] for volume in pod["spec"]["volumes"]}, {"tmp"})

    def test_data(self) -> None:
        by_claim = render(example("guest"))
        by_secret = render(changed(example("guest"), "data.volume", {"secret": "bank-rows"}))
        for documents, expected in (
            (by_claim, {"persistentVolumeClaim": {"claimName": "bank-data", "readOnly": True}}),
            (by_secret, {"secret": {"secretName": "bank-rows", "defaultMode": 0o400}}),
        ):
            (volume,) = (v for v in pods(documents)["party"]["spec"]["volumes"] if v["name"] == "data")
            self.assertEqual(volume, {"name": "data", **expected})
        arbiter = pods(render(example("arbiter")))["party"]["spec"]
        self.assertNotIn("data", {volume["name"] for volume in arbiter["volumes"]})

    def test_probes(self) -> None:
        """Every probe asks for a port of its container. Only the metrics, which are served from the start, may end a party."""
        for name in EXAMPLES:
            for title, pod in pods(render(example(name))).items():
                container = pod["spec"]["containers"][0]
                ports = {p for port in container["ports"] for p in (port["name"], port["containerPort"])}
                self.assertNotIn("startupProbe", container)
                with self.subTest(name, pod=title):
                    if title == "party":
                        self.assertEqual(container["livenessProbe"]["httpGet"], {"port": "metrics", "path": "/healthz"})
                        self.assertEqual("readinessProbe" in container, name != "guest")
                    else:
                        self.assertIn(container["livenessProbe"]["tcpSocket"]["port"], ports)
                    if "readinessProbe" in container:
                        self.assertIn(container["readinessProbe"]["tcpSocket"]["port"], ports)
        silent = pods(render(changed(example("guest"), "metrics.enabled", False)))["party"]["spec"]["containers"][0]
        self.assertFalse({"readinessProbe", "livenessProbe"} & set(silent))

    def test_images(self) -> None:
        images = {
            "guest": f"registry.example/ciphermill-party:{workspace_version()}",
            "arbiter": f"registry.example/ciphermill-party@{example('arbiter')['image']['digest']}",
            "ray": "registry.example/ciphermill-party:0.1.0-ray",
        }
        for name, image in images.items():
            for pod in pods(render(example(name))).values():
                self.assertEqual({container["image"] for container in containers(pod)}, {image})
        self.assertEqual(pods(render(example("arbiter")))["party"]["spec"]["imagePullSecrets"], [{"name": "registry"}])


class Secrets(unittest.TestCase):
    def test_the_chart_makes_no_secret(self) -> None:
        for name in EXAMPLES:
            documents = render(example(name))
            self.assertEqual(of_kind(documents, "Secret"), [])
            self.assertEqual(set(only(documents, "ConfigMap")["data"]), {"party.toml"})

    def test_the_configuration_has_only_paths(self) -> None:
        """The texts of party.toml are those of the values, the paths of mounts, and the listed constants."""
        for name in EXAMPLES:
            values = example(name)
            file = configuration(render(values))
            known = set(texts(values)) | {"psi", "bfv", "0.0.0.0:7443", "0.0.0.0:9464"}
            for text in texts(file):
                if not text.startswith(("/data/", "/run/ciphermill/tls/", "/var/lib/ciphermill/")):
                    self.assertIn(text, known)
            self.assertEqual(
                file["tls"],
                {
                    "certificate": "/run/ciphermill/tls/tls.crt",
                    "key": "/run/ciphermill/tls/tls.key",
                    "authority": "/run/ciphermill/tls/ca.crt",
                },
            )

    def test_environments_have_no_secret(self) -> None:
        """The token of Ray comes from a Secret. All other variables are known texts."""
        for name in EXAMPLES:
            for pod in pods(render(example(name))).values():
                for container in containers(pod):
                    self.assertNotIn("envFrom", container)
                    for variable in container.get("env", []):
                        if variable["name"] == "RAY_AUTH_TOKEN":
                            self.assertEqual(set(variable), {"name", "valueFrom"})
                            self.assertEqual(set(variable["valueFrom"]), {"secretKeyRef"})
                        else:
                            known = ("HOME", "RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_USAGE_STATS_ENABLED")
                            self.assertIn(variable["name"], known)
                            self.assertEqual(set(variable), {"name", "value"})


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for item in inner for text in texts(item)]


class References(unittest.TestCase):
    def test_services(self) -> None:
        for name, expected in (("guest", 1), ("host", 2), ("arbiter", 2), ("ray", 2)):
            documents = render(example(name))
            services = of_kind(documents, "Service")
            self.assertEqual(len(services), expected)
            pod = pods(documents)["party"]
            ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
            for service in services:
                self.assertTrue(selects({"matchLabels": service["spec"]["selector"]}, pod["metadata"]["labels"]))
                (port,) = service["spec"]["ports"]
                self.assertEqual(ports[port["targetPort"]], port["port"])

    def test_a_load_balancer_keeps_addresses(self) -> None:
        for kind in ("LoadBalancer", "NodePort"):
            values = changed(example("host"), "service.type", kind)
            service = next(s for s in of_kind(render(values), "Service") if s["metadata"]["name"] == RELEASE)
            self.assertEqual(service["spec"]["externalTrafficPolicy"], "Local")
        local = next(s for s in of_kind(render(example("arbiter")), "Service") if s["metadata"]["name"] == RELEASE)
        self.assertNotIn("externalTrafficPolicy", local["spec"])

    def test_the_monitor(self) -> None:
        documents = render(example("host"))
        monitor = only(documents, "ServiceMonitor")["spec"]
        (service,) = (s for s in of_kind(documents, "Service") if selects(monitor["selector"], s["metadata"]["labels"]))
        self.assertEqual(monitor["endpoints"][0]["port"], service["spec"]["ports"][0]["name"])
        self.assertEqual(monitor["namespaceSelector"], {"matchNames": [NAMESPACE]})
        self.assertEqual(only(documents, "ServiceMonitor")["metadata"]["labels"]["release"], "prometheus")

    def test_the_account(self) -> None:
        for name in EXAMPLES:
            documents = render(example(name))
            account = only(documents, "ServiceAccount")
            self.assertIs(account["automountServiceAccountToken"], False)
            for pod in pods(documents).values():
                self.assertEqual(pod["spec"]["serviceAccountName"], account["metadata"]["name"])

    def test_claims(self) -> None:
        documents = render(example("arbiter"))
        claim = only(documents, "PersistentVolumeClaim")
        self.assertEqual(claim["metadata"]["annotations"], {"helm.sh/resource-policy": "keep"})
        self.assertEqual(claim["spec"]["accessModes"], ["ReadWriteOncePod"])
        self.assertEqual(claim["spec"]["storageClassName"], "encrypted")
        for found, name in ((documents, claim["metadata"]["name"]), (render(example("host")), "shop-state")):
            (volume,) = (v for v in pods(found)["party"]["spec"]["volumes"] if v["name"] == "storage")
            self.assertEqual(volume["persistentVolumeClaim"], {"claimName": name})
        self.assertEqual(of_kind(render(example("host")), "PersistentVolumeClaim"), [])

    def test_the_budget(self) -> None:
        documents = render(example("arbiter"))
        budget = only(documents, "PodDisruptionBudget")["spec"]
        self.assertTrue(selects(budget["selector"], pods(documents)["party"]["metadata"]["labels"]))
        self.assertEqual(of_kind(render(example("guest")), "PodDisruptionBudget"), [])

    def test_the_ray_cluster(self) -> None:
        documents = render(example("ray"))
        cluster = only(documents, "RayCluster")
        self.assertEqual(cluster["spec"]["workerGroupSpecs"][0]["replicas"], 4)
        self.assertEqual(cluster["spec"]["rayVersion"], "2.60.0")
        self.assertIs(cluster["spec"]["enableInTreeAutoscaling"], False)
        self.assertEqual(cluster["spec"]["headGroupSpec"]["rayStartParams"]["include-dashboard"], "false")
        for title, pod in pods(documents).items():
            environment = {variable["name"]: variable for variable in pod["spec"]["containers"][0]["env"]}
            self.assertEqual(environment["RAY_AUTH_MODE"]["value"], "token")
            token = environment["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]
            self.assertEqual(token, {"name": "hospital-ray", "key": "token"})
            self.assertEqual("RAY_ADDRESS" in environment, title == "party")
        party = {v["name"]: v for v in pods(documents)["party"]["spec"]["containers"][0]["env"]}
        self.assertEqual(party["RAY_ADDRESS"]["value"], f"ray://{cluster['metadata']['name']}-head-svc:10001")
        self.assertEqual(of_kind(render(example("guest")), "RayCluster"), [])


class Jobs(unittest.TestCase):
    def test_every_role_is_a_job(self) -> None:
        for name in EXAMPLES:
            documents = render(example(name))
            self.assertEqual(len(of_kind(documents, "Job")), 1)
            self.assertFalse(of_kind(documents, "Deployment") + of_kind(documents, "StatefulSet"))

    def test_failures(self) -> None:
        spec = only(render(changed(example("guest"), "job.retries", 7)), "Job")["spec"]
        self.assertEqual((spec["backoffLimit"], spec["completions"], spec["parallelism"]), (7, 1, 1))
        self.assertEqual(spec["template"]["spec"]["restartPolicy"], "Never")
        self.assertEqual(spec["podReplacementPolicy"], "Failed")
        wrong, disrupted = spec["podFailurePolicy"]["rules"]
        self.assertEqual(wrong["onExitCodes"]["values"], [2])
        container = spec["template"]["spec"]["containers"][0]["name"]
        self.assertEqual((wrong["action"], wrong["onExitCodes"]["containerName"]), ("FailJob", container))
        self.assertEqual((disrupted["action"], disrupted["onPodConditions"][0]["type"]), ("Ignore", "DisruptionTarget"))

    def test_the_duration(self) -> None:
        self.assertEqual(only(render(example("arbiter")), "Job")["spec"]["activeDeadlineSeconds"], 86400)
        self.assertNotIn("activeDeadlineSeconds", only(render(example("guest")), "Job")["spec"])

    def test_a_change_makes_another_job(self) -> None:
        """The template of a Job cannot change, so its name does."""
        first = only(render(example("guest")), "Job")
        again = only(render(example("guest")), "Job")
        self.assertEqual(first["metadata"]["name"], again["metadata"]["name"])
        names = {first["metadata"]["name"]}
        for path, value in (
            ("training.C", 2.0),
            ("run", "2"),
            ("resources.limits.memory", "8Gi"),
            ("image.tag", "next"),
            ("peers.0.pin", None),
        ):
            names.add(only(render(changed(example("guest"), path, value)), "Job")["metadata"]["name"])
        self.assertEqual(len(names), 6)
        retried = only(render(changed(example("guest"), "job.retries", 9)), "Job")
        self.assertIn(retried["metadata"]["name"], names)


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


def fields(schema: Json, path: str = "") -> list[tuple[str, Json]]:
    """All fields of a schema with their paths."""
    found: list[tuple[str, Json]] = []
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        found.append((here, field))
        found += fields(field, here)
        if "properties" in field.get("items", {}):
            found += fields(field["items"], f"{here}[]")
    return found


class Notes(unittest.TestCase):
    def test_notes(self) -> None:
        for name in EXAMPLES:
            run = helm(example(name), "install", RELEASE, str(CHART), "--dry-run=client")
            self.assertEqual(run.returncode, 0, run.stderr)
            notes = run.stdout.partition("NOTES:\n")[2]
            self.assertIn(f"{example(name)['party']['name']} is a {example(name)['party']['role']}.", notes)
            self.assertEqual("Peers connect to port 7443" in notes, name != "guest")
            self.assertNotIn("No NetworkPolicy", notes)


class Image(unittest.TestCase):
    """The Dockerfile agrees with the chart and the package. It is not built here."""

    FOLDER = ROOT / "deploy" / "container"

    def setUp(self) -> None:
        self.lines = (self.FOLDER / "Dockerfile").read_text().splitlines()

    def test_user_and_command(self) -> None:
        user = yaml.safe_load((CHART / "values.yaml").read_text())["user"]
        self.assertIn(f"USER {user}:{user}", self.lines)
        self.assertIn('ENTRYPOINT ["ciphermill-party"]', self.lines)

    def test_copied_files_exist_and_are_sent(self) -> None:
        copied = [line.split()[1:-1] for line in self.lines if line.startswith("COPY ") and "--from" not in line]
        names = sorted(name for line in copied for name in line)
        for name in names:
            self.assertTrue((ROOT / name).exists(), name)
        ignore = (self.FOLDER / "Dockerfile.dockerignore").read_text().splitlines()
        self.assertEqual(sorted(line[1:] for line in ignore if line.startswith("!")), names)
        self.assertIn("*", ignore)

    def test_versions_are_pinned(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        extras = project["optional-dependencies"]
        needed = [*project["dependencies"], *extras["federated"], *extras["parquet"], *extras["ray"]]
        pinned = re.findall(r"^([\w.-]+)==\S+$", (self.FOLDER / "constraints.txt").read_text(), re.MULTILINE)
        names = {re.split(r"[^\w.-]", name)[0].replace("_", "-") for name in needed}
        self.assertLessEqual(names, {name.replace("_", "-") for name in pinned})


if __name__ == "__main__":
    unittest.main()
