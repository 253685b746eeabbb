"""Synthesises configurations of hw/units.toml: resources on UltraScale+, Fmax on an ECP5, gates and path in OSU 0.18 um.

    python hw/flow/synthesise.py all|unit,unit/configuration,… [--jobs N] [--steps xilinx,ecp5,osu018]

What a step found stays in `<target>/hw/results` under a hash of all that it depends on (sources, contents of memories,
parameters, versions of tools, this flow), so that nothing is done twice. Logs lie in `<target>/hw/work`.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ecp5
import elaborate
import osu018
import parts
import versions
import xilinx
from tool import ToolError
from units import Configuration, Step, asked, circuit, configurations

STEPS: dict[str, Callable[[Configuration, Mapping[str, Path], Path], dict[str, Any]]] = {
    "xilinx": lambda configuration, files, folder: (parts if configuration.parts else xilinx).cost(
        configuration, files, folder
    ),
    "ecp5": ecp5.speed,
    "osu018": osu018.gates,
}
# The modules of this flow that a step depends on.
MODULES: dict[str, tuple[str, ...]] = {step: ("elaborate", "tool", step) for step in STEPS}
MODULES["osu018"] += ("fanout",)
# A step with parts depends on these in addition.
PARTS = ("parts",)
# Where `elaborate.write_tables` puts its files.
TABLES = elaborate.BUILD / "tables"
RESULTS = elaborate.BUILD / "results"
WORK = elaborate.BUILD / "work"


def said(configuration: Configuration, step: str) -> Step:
    """What hw/units.toml says about a step."""
    return {"xilinx": configuration.xilinx, "ecp5": configuration.ecp5, "osu018": configuration.osu018}[step]


def key(configuration: Configuration, step: str, files: Mapping[str, Path]) -> str:
    """A hash of all that the result of a step depends on."""
    digest = hashlib.sha256()

    def add(name: str, content: bytes) -> None:
        digest.update(f"{name} {len(content)}\n".encode() + content)

    parameters = configuration.parameters | said(configuration, step).parameters
    add("parameters", json.dumps([configuration.top, parameters, versions.of_step(step)], sort_keys=True).encode())
    add("sources", circuit(configuration.top))
    for name, path in sorted(files.items()):
        add(name, path.read_bytes())
    by_parts = step == "xilinx" and bool(configuration.parts)
    if by_parts:
        add("parts", json.dumps([configuration.parts, configuration.xilinx.whole]).encode())
    for module in MODULES[step] + (PARTS if by_parts else ()):
        add(module, Path(__file__).with_name(f"{module}.py").read_bytes())
    return digest.hexdigest()[:24]


def known(configuration: Configuration, step: str) -> Path:
    """Where the result of a step lies, once it is there."""
    files = elaborate.tables(configuration, TABLES)
    return RESULTS / f"{configuration.unit}.{configuration.name}.{step}.{key(configuration, step, files)}.json"


def carry_out(configuration: Configuration, step: str) -> None:
    """Does a step, unless its result is there; says how long it took."""
    path = known(configuration, step)
    if path.exists():
        return
    folder = WORK / f"{configuration.unit}.{configuration.name}.{step}"
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    found = STEPS[step](configuration, elaborate.tables(configuration, TABLES), folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    for stale in path.parent.glob(f"{configuration.unit}.{configuration.name}.{step}.*"):
        stale.unlink()
    # Whole or not at all: what is there is not made again.
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(found | {"tool_versions": versions.of_step(step)}, indent=2) + "\n")
    unfinished.replace(path)
    print(f"{configuration}: {step}, {time.monotonic() - start:.0f} s", flush=True)


def due(chosen: Iterable[Configuration], listed: Iterable[Configuration], step: str) -> list[Configuration]:
    """Those that go through a step: of the chosen ones, and of those whose figures stand for theirs."""
    by_name = {(one.unit, one.name): one for one in listed}
    found: list[Configuration] = []
    for configuration in chosen:
        while (other := said(configuration, step).instead) is not None:
            configuration = by_name[configuration.unit, other]
        if said(configuration, step).runs and configuration not in found:
            found.append(configuration)
    return found


def main() -> int:
    """Does all steps of the chosen configurations; says at the end which failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", help="all, or a list of units and unit/configuration")
    parser.add_argument("--jobs", type=int, default=2, help="steps at once (default 2)")
    parser.add_argument("--steps", default=",".join(STEPS), help="some of the steps")
    arguments = parser.parse_args()
    listed = configurations()
    chosen = asked(arguments.names)
    if any(configuration.has_tables for configuration in chosen):
        elaborate.write_tables(TABLES)
    steps = arguments.steps.split(",")
    jobs = [(configuration, step) for step in steps for configuration in due(chosen, listed, step)]
    failures = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        running = [(job, pool.submit(carry_out, *job)) for job in jobs]
        for (configuration, step), future in running:
            try:
                future.result()
            except (ToolError, ValueError, LookupError, OSError, subprocess.SubprocessError) as error:
                failures += 1
                name = "" if isinstance(error, ToolError) else f"{type(error).__name__}: "
                print(f"{configuration}: {step}: {name}{error}", file=sys.stderr, flush=True)
    print(f"synthesis: {len(jobs)} steps of {len(chosen)} configurations, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
