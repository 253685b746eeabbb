"""Writes the software bill of materials of the command `ciphermill`, in the format CycloneDX 1.6.

    .tools/sbom/bin/python scripts/sbom.py            # writes target/sbom/ciphermill.cdx.json
    .tools/sbom/bin/python scripts/sbom.py --check    # writes nothing

Both validate the list against the CycloneDX schema, and fail if it misses a package of Cargo.lock. Crates come from `cargo
metadata`, checksums from Cargo.lock. The scope `required` is that of crates that the release binary is built from;
`excluded` is that of crates of tests and of co-simulation, and of the pinned Python packages that build and test. The list
has no time and no random number, so that equal sources give equal bytes.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "target" / "sbom" / "ciphermill.cdx.json"
BINARY = "ciphermill"
# Lists of pinned Python packages. None of them is part of the binary.
PYTHON_LISTS = ("scripts/*-tools.txt", "hw/python-tools*.txt")
# Files of other package managers, which this script does not read: their packages would be missing without a word.
UNREAD = ("package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock")

Json = dict[str, Any]


def cargo_metadata() -> Json:
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    metadata: Json = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    return metadata


def lock() -> list[Json]:
    packages: list[Json] = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    return packages


def shipped() -> set[tuple[str, str]]:
    """Names and versions of the crates that the binary is built from: normal and build dependencies, for any target."""
    command = [
        "cargo",
        "tree",
        "--locked",
        "-p",
        BINARY,
        "--edges",
        "normal,build",
        "--target",
        "all",
        "--prefix",
        "none",
    ]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return {(name, version.removeprefix("v")) for name, version in (line.split()[:2] for line in lines if line)}


def cargo_url(package: Json) -> PackageURL:
    return PackageURL("cargo", None, package["name"], package["version"])


def crate(package: Json, checksum: str | None, required: bool) -> Component:
    expression = (package["license"] or "").replace("/", " OR ")
    return Component(
        type=ComponentType.APPLICATION if package["name"] == BINARY else ComponentType.LIBRARY,
        name=package["name"],
        version=package["version"],
        bom_ref=cargo_url(package).to_string(),
        purl=cargo_url(package),
        licenses=[LicenseFactory().make_from_string(expression)] if expression else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else [],
        scope=ComponentScope.REQUIRED if required else ComponentScope.EXCLUDED,
    )


def python_packages() -> Iterator[Component]:
    pins = set()
    for pattern in PYTHON_LISTS:
        for path in ROOT.glob(pattern):
            pins |= set(re.findall(r"^([\w.-]+)==(\S+)$", path.read_text(), re.MULTILINE))
    for name, version in sorted(pins):
        name = re.sub(r"[-_.]+", "-", name).lower()
        purl = PackageURL("pypi", None, name, version)
        yield Component(
            type=ComponentType.LIBRARY,
            name=name,
            version=version,
            bom_ref=purl.to_string(),
            purl=purl,
            scope=ComponentScope.EXCLUDED,
        )


def bill() -> Bom:
    metadata = cargo_metadata()
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in lock()}
    required = shipped()
    components = {}
    for package in metadata["packages"]:
        key = package["name"], package["version"]
        components[package["id"]] = crate(package, checksums.get(key), key in required)
    binary = next(c for c in components.values() if c.name == BINARY)
    others = [c for c in components.values() if c is not binary]
    bom = Bom(components=[*others, *python_packages()], serial_number=serial(checksums))
    bom.metadata.component = binary
    for node in metadata["resolve"]["nodes"]:
        bom.register_dependency(components[node["id"]], [components[dep["pkg"]] for dep in node["deps"]])
    return bom


def serial(checksums: dict[tuple[str, str], str | None]) -> uuid.UUID:
    """A serial number that is a function of the packages."""
    return uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(sorted(map(str, checksums.items()))))


def text_of(bom: Bom) -> str:
    made = json.loads(JsonV1Dot6(bom).output_as_string())
    del made["metadata"]["timestamp"]
    return json.dumps(made, indent=2, sort_keys=True) + "\n"


def faults_of(text: str) -> Iterator[str]:
    for error in JsonStrictValidator(SchemaVersion.V1_6).validate_str(text, all_errors=True) or []:
        yield f"the CycloneDX schema: {error}"
    listed = {c["purl"]: c for c in json.loads(text)["components"]}
    main = json.loads(text)["metadata"]["component"]
    listed[main["purl"]] = main
    for package in lock():
        found = listed.get(cargo_url(package).to_string())
        if not found:
            yield f"{package['name']} {package['version']} of Cargo.lock is not listed"
        elif "checksum" in package and found["hashes"][0]["content"] != package["checksum"]:
            yield f"{package['name']} has another checksum"
    yield from (f"{path} is not read" for path in sources() if path.name in UNREAD)


def sources() -> Iterator[Path]:
    """All files but those that are built or installed, whose folders .gitignore names. An export has no repository to ask."""
    ignored = {line.strip().strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()}
    for folder, folders, names in os.walk(ROOT):
        path = Path(folder).relative_to(ROOT)
        folders[:] = [name for name in folders if not any(fnmatch(f"{path / name}", line) for line in ignored)]
        yield from (path / name for name in names)


def main() -> int:
    text = text_of(bill())
    faults = list(faults_of(text))
    for fault in faults:
        print(f"sbom: {fault}")
    if faults:
        return 1
    if sys.argv[1:] == ["--check"]:
        return 0
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(text)
    components = json.loads(text)["components"]
    required = sum(c["scope"] == "required" for c in components)
    print(f"{OUTPUT.relative_to(ROOT)}: {len(components)} packages, of which the binary has {required}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
