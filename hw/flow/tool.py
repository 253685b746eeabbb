"""Runs a tool in a process of its own with its output in a file; says at the end of a failing one what went wrong."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# Lines of its log that a failing tool's message shows.
SHOWN = 12


class ToolError(Exception):
    """A tool failed: its command, the end of its log, and where all of that is."""


def run(command: Sequence[str | Path], log: Path) -> str:
    """Runs the command, keeps and returns its output."""
    with log.open("w") as output:
        done = subprocess.run(list(map(str, command)), stdout=output, stderr=subprocess.STDOUT, check=False)
    text = log.read_text(errors="replace")
    if done.returncode != 0:
        end = "\n".join(text.splitlines()[-SHOWN:])
        raise ToolError(f"{Path(command[0]).name} ended with {done.returncode}; {log}:\n{end}")
    return text


# pyosys runs passes one by one; a script file is a pass, too.
_YOSYS = "import sys; from pyosys import libyosys as ys; ys.run_pass('script ' + sys.argv[1], ys.Design())"


def yosys(script: Sequence[str], folder: Path, name: str) -> str:
    """Runs a script of Yosys, kept as `<folder>/<name>.ys`, and returns its log."""
    path = folder / f"{name}.ys"
    path.write_text("\n".join(script) + "\n")
    return run([sys.executable, "-c", _YOSYS, path], folder / f"{name}.log")


def beside(name: str) -> Path:
    """A program that is installed beside this interpreter."""
    return Path(sys.executable).with_name(name)
