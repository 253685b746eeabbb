"""Tests of the objects of the chart."""

import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any

import yaml
from network import selects
from rendering import (
    CHART,
    EXAMPLES,
    NAMESPACE,
    RAY_ADDRESS,
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
            copy = found["party"]["spec"]["initContainers"][0]
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
            known = {*texts(values), "psi", "bfv", "0.0.0.0:7443", "0.0.0.0:9464", RAY_ADDRESS}
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
                            known = ("GRPC_ENABLE_FORK_SUPPORT", "HOME", "RAY_AUTH_MODE", "RAY_USAGE_STATS_ENABLED")
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
        for pod in pods(documents).values():
            environment = {variable["name"]: variable for variable in pod["spec"]["containers"][0]["env"]}
            self.assertEqual(environment["RAY_AUTH_MODE"]["value"], "token")
            token = environment["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]
            self.assertEqual(token, {"name": "hospital-ray", "key": "token"})
        self.assertEqual(configuration(documents)["ray"]["address"], RAY_ADDRESS)
        self.assertEqual(RAY_ADDRESS, f"ray://{cluster['metadata']['name']}-head-svc:10001")
        self.assertEqual(of_kind(render(example("guest")), "RayCluster"), [])


class WaitForRay(unittest.TestCase):
    def test_the_container(self) -> None:
        documents = render(example("ray"))
        tls, wait = pods(documents)["party"]["spec"]["initContainers"]
        self.assertEqual((tls["name"], wait["name"]), ("tls", "ray"))
        python, option, script, address, nodes = wait["command"]
        self.assertEqual([python, option, address, nodes], ["python", "-c", RAY_ADDRESS, "5"])
        self.assertEqual(script.strip(), (CHART / "files" / "wait_for_ray.py").read_text().strip())
        for name in {*EXAMPLES} - {"ray"}:
            self.assertEqual(len(pods(render(example(name)))["party"]["spec"]["initContainers"]), 1)

    def test_the_script(self) -> None:
        """It ends when the cluster has all nodes, and ignores errors until then. Ray is a module of this test here."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "ray.py").write_text(
                "import os\n"
                "calls = 0\n"
                "def init(address, **options):\n"
                "    global calls\n"
                "    calls += 1\n"
                "    assert address == 'ray://head:10001'\n"
                "    if calls == 1: raise ConnectionError('the head starts')\n"
                "def nodes():\n"
                "    return [{'Alive': True}, {'Alive': True}, {'Alive': calls > 2}]\n"
                "def shutdown(): pass\n"
            )
            script = (
                (CHART / "files" / "wait_for_ray.py").read_text().replace("PAUSE = 900.0, 5.0", "PAUSE = 900.0, 0.0")
            )
            words = [sys.executable, "-c", script, "ray://head:10001", "3"]
            run = subprocess.run(
                words, capture_output=True, text=True, check=False, timeout=60, env={"PYTHONPATH": folder}
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            first, second = run.stdout.splitlines()
            self.assertIn("ConnectionError: the head starts", first)
            self.assertIn("2 of 3 nodes", second)
            late = script.replace("PAUSE = 900.0", "PAUSE = -1.0")
            words = [sys.executable, "-c", late, "ray://head:10001", "4"]
            run = subprocess.run(
                words, capture_output=True, text=True, check=False, timeout=60, env={"PYTHONPATH": folder}
            )
            self.assertEqual(run.returncode, 1)
            self.assertIn("look at the Pods of the cluster", run.stderr)


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


class Notes(unittest.TestCase):
    def test_notes(self) -> None:
        for name in EXAMPLES:
            run = helm(example(name), "install", RELEASE, str(CHART), "--dry-run=client")
            self.assertEqual(run.returncode, 0, run.stderr)
            notes = run.stdout.partition("NOTES:\n")[2]
            self.assertIn(f"The role of {example(name)['party']['name']} is {example(name)['party']['role']}.", notes)
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
