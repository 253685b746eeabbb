"""The machine of a record, and the core on which the work runs."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

#: Flags of /proc/cpuinfo that decide the path of a kernel; bench/src/machine.rs records the same.
FLAGS = ("avx2", "fma", "bmi2", "adx", "avx512f", "avx512dq", "avx512vl", "avx512ifma")

ROOT = Path(__file__).resolve().parents[3]


def output_of(*command: str) -> str:
    """The output of a command, or "unknown"."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def _field(path: str, name: str) -> str | None:
    """The first value of a field in a file of /proc."""
    for line in Path(path).read_text().splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            return value.strip()
    return None


def _number(name: str) -> int | None:
    value = _field("/proc/cpuinfo", name)
    return int(value) if value is not None and value.isdecimal() else None


def cores() -> list[int]:
    """One CPU of each core that this process may use, the last first, because the first ones serve most interrupts."""
    found: dict[str, int] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        found.setdefault(siblings.read_text() if siblings.exists() else str(cpu), cpu)
    return list(found.values())[::-1]


def describe() -> dict[str, Any]:
    """The machine with the fields of the other records, and the Python. Call it before `pin`."""
    offered = (_field("/proc/cpuinfo", "flags") or "").split()
    memory = (_field("/proc/meminfo", "MemTotal") or "0").split()[0]
    return {
        "cores": len(cores()),
        "cpu": _field("/proc/cpuinfo", "model name") or "unknown",
        "cpu_family": _number("cpu family"),
        "cpu_model": _number("model"),
        "cpu_stepping": _number("stepping"),
        "isa_offered": [flag for flag in FLAGS if flag in offered],
        "kernel": f"{platform.system()} {platform.release()}",
        "memory_mib": int(memory) >> 10,
        "rustc": output_of("rustc", "--version"),
        "python": platform.python_version(),
    }


def pin() -> None:
    """Confine this process, its later threads and its children to one core."""
    os.sched_setaffinity(0, {cores()[0]})
