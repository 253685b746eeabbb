"""Helm and kubeconform as functions, for the tests of the chart."""

import copy
import functools
import json
import os
import re
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "deploy" / "chart"
TOOLS = ROOT / ".tools" / "chart"
EXAMPLES = sorted(path.stem for path in (CHART / "examples").glob("*.yaml"))
VERSIONS = sorted(path.name.removeprefix("v") for path in (TOOLS / "schemas").glob("v*"))
RELEASE, NAMESPACE = "training", "party"
RAY_ADDRESS = f"ray://{RELEASE}-ray-head-svc:10001"
Json = dict[str, Any]


def example(name: str) -> Json:
    """The values of an example, to be changed."""
    values: Json = yaml.safe_load((CHART / "examples" / f"{name}.yaml").read_text())
    return values


def changed(values: Json, path: str, value: Any) -> Json:
    """A copy of values with another value at a path such as `peers.0.name`. The value `None` removes the field."""
    result = copy.deepcopy(values)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place: Any = result
    for part in parents:
        if isinstance(place, dict):
            place = place.setdefault(part, {})
        else:
            place = place[part]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return result


def helm(values: Json, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of Helm with values in a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        words = [str(TOOLS / "bin" / "helm"), *command, "--values", file.name, "--namespace", NAMESPACE]
        return subprocess.run(words, capture_output=True, text=True, check=False)


def render(values: Json, release: str = RELEASE, version: str = VERSIONS[-1]) -> list[Json]:
    """The objects of a release, or a `ValueError` with Helm's message."""
    return [
        document
        for document in yaml.load_all(_rendered(json.dumps(values), release, version), yaml.CSafeLoader)
        if document
    ]


@functools.cache
def _rendered(values: str, release: str, version: str) -> str:
    run = helm(json.loads(values), "template", release, str(CHART), "--kube-version", version)
    if run.returncode:
        raise ValueError(run.stderr)
    return run.stdout


def refusal(values: Json, release: str = RELEASE) -> str:
    """Helm's message about wrong values."""
    try:
        render(values, release)
    except ValueError as error:
        return str(error)
    raise AssertionError("Helm accepts the values")


def of_kind(documents: list[Json], kind: str) -> list[Json]:
    return [document for document in documents if document["kind"] == kind]


def only(documents: list[Json], kind: str) -> Json:
    (document,) = of_kind(documents, kind)
    return document


def configuration(documents: list[Json]) -> Json:
    """The parsed party.toml."""
    return tomllib.loads(only(documents, "ConfigMap")["data"]["party.toml"])


def pods(documents: list[Json]) -> dict[str, Json]:
    """The templates of all Pods by the name of their first container."""
    templates = [job["spec"]["template"] for job in of_kind(documents, "Job")]
    for cluster in of_kind(documents, "RayCluster"):
        groups = [cluster["spec"]["headGroupSpec"], *cluster["spec"]["workerGroupSpecs"]]
        templates += [group["template"] for group in groups]
    return {template["spec"]["containers"][0]["name"]: template for template in templates}


def containers(pod: Json) -> list[Json]:
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def validate(documents: list[Json], version: str) -> list[str]:
    """The faults that kubeconform finds in objects by the schemas of a version of Kubernetes."""
    place = "{{.ResourceKind}}{{.KindSuffix}}.json"
    command = [str(TOOLS / "bin" / "kubeconform"), "-strict", "-output", "json", "-summary", "-n", "1"]
    for folder in (f"v{version}", "definitions"):
        command += ["-schema-location", f"{TOOLS / 'schemas' / folder}/{place}"]
    run = subprocess.run(command, input=yaml.safe_dump_all(documents), capture_output=True, text=True, check=False)
    report = json.loads(run.stdout)
    counts = report["summary"]
    faults = [f"{resource['kind']}: {resource['msg']}" for resource in report.get("resources") or []]
    if not faults and (run.returncode or counts["valid"] != len(documents)):
        faults = [f"kubeconform: {counts} of {len(documents)} objects. {run.stderr}"]
    return faults


def reader(configurations: list[str]) -> Json:
    """The output of reader.py for the texts of configurations. chart.sh names the package in the environment."""
    environment = os.environ | {"PYTHONPATH": os.environ["CIPHERMILL_PACKAGE"]}
    with tempfile.TemporaryDirectory() as folder:
        words = [str(ROOT / ".venv" / "bin" / "python"), str(ROOT / "scripts" / "chart" / "reader.py")]
        for number, text in enumerate(configurations):
            words.append(f"{folder}/{number}.toml")
            Path(words[-1]).write_text(text)
        run = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    if run.returncode:
        raise AssertionError(run.stderr)
    made: Json = json.loads(run.stdout)
    return made


def workspace_version() -> str:
    version: str = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    return version


def pinned_versions() -> list[str]:
    """The versions of Kubernetes in scripts/chart-tools.sh."""
    found = re.search(r"^KUBERNETES=\((.*)\)$", (ROOT / "scripts" / "chart-tools.sh").read_text(), re.MULTILINE)
    assert found
    return found[1].split()


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
