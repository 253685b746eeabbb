"""Writes the JSON schemas with which kubeconform checks the chart.

    schemas.py core FOLDER TARGET VERSION…      # of Kubernetes, from the folders of the package kubernetes-validate
    schemas.py definitions TARGET FILE…         # of custom resources, from files of CustomResourceDefinitions

A schema is TARGET/vVERSION/NAME.json or TARGET/definitions/NAME.json. NAME is that of kubeconform: the kind, the first word of
the group and the version, as in `job-batch-v1`. All schemas refuse unknown fields.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
# The place of the common definitions in the schemas of kubernetes-validate, and in ours.
FOREIGN, OWN = "/api/_definitions.json#", "_definitions.json#"


def core(source: Path, target: Path, versions: list[str]) -> None:
    for version in versions:
        folder = target / f"v{version}"
        folder.mkdir(parents=True)
        for path in (source / f"v{version}-local-strict").glob("*.json"):
            schema = json.loads(path.read_text())
            # References are relative to the file; an identifier would be another base.
            schema.pop("$id", None)
            (folder / path.name).write_text(json.dumps(schema).replace(FOREIGN, OWN))


def definitions(target: Path, files: list[Path]) -> None:
    folder = target / "definitions"
    folder.mkdir(parents=True)
    for path in files:
        definition = yaml.load(path.read_text(), yaml.CSafeLoader)["spec"]
        kind, group = definition["names"]["kind"], definition["group"]
        for version in definition["versions"]:
            name = f"{kind}-{group.partition('.')[0]}-{version['name']}".lower()
            schema = strict(version["schema"]["openAPIV3Schema"])
            schema["required"] = ["apiVersion", "kind", "metadata", *schema.get("required", [])]
            schema["properties"]["apiVersion"] = {"enum": [f"{group}/{version['name']}"]}
            schema["properties"]["kind"] = {"enum": [kind]}
            (folder / f"{name}.json").write_text(json.dumps(schema))


def strict(schema: Any) -> Any:
    """An OpenAPI schema whose objects have no other fields than the listed ones. Free objects stay free."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made: Json = {}
    for key, value in schema.items():
        # The keys below `properties` are names of fields.
        made[key] = {name: strict(field) for name, field in value.items()} if key == "properties" else strict(value)
    free = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    if schema.get("type") == "object" and "properties" in schema and not free:
        made["additionalProperties"] = False
    return made


def main() -> int:
    match sys.argv[1:]:
        case ["core", source, target, *versions]:
            core(Path(source), Path(target), versions)
        case ["definitions", target, *files]:
            definitions(Path(target), [Path(file) for file in files])
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
