"""The import of the package in a fresh process."""

from __future__ import annotations

import subprocess
import sys

import ciphermill
from ciphermill_bench.cases import Settings
from ciphermill_bench.harness import Contender, Sample
from ciphermill_bench.record import Case, Peer, Report

IMPORT = """
import sys, time
{before}
start = time.perf_counter_ns()
import {module}
print(time.perf_counter_ns() - start, {module}.__version__)
"""

#: The aim for the import, with that of NumPy.
LIMIT_NS = 300e6


class Import(Contender):
    """An import, timed within a new interpreter after its start."""

    def __init__(self, module: str, version: str, before: str = "") -> None:
        self.name = f"import {module}"
        self._code = IMPORT.format(module=module, before=before)
        self._version = version
        self._said = ""

    def sample(self) -> Sample:
        command = [sys.executable, "-c", self._code]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        ns, self._said = done.stdout.split()
        return Sample(float(ns), float(ns))

    def correct(self) -> bool:
        return self._said == self._version


def run(settings: Settings, report: Report) -> None:
    """The package with NumPy, NumPy alone, and the package after NumPy."""
    if not settings.takes("import"):
        return
    numpy = Peer.package("numpy", "BSD-3-Clause")
    contenders = [
        Import("ciphermill", ciphermill.__version__),
        Import("numpy", numpy.version),
        Import("ciphermill", ciphermill.__version__, before="import numpy"),
    ]
    ours, theirs, beyond = settings.measure("import", list(contenders), 60, 20, 15.0)
    report.add(
        Case("import", {}, None, "the package with NumPy, and NumPy alone, each in a new process"),
        ours,
        numpy,
        theirs,
        asked={"median_ns": LIMIT_NS},
        figures={"beyond_numpy_ns": beyond.median_ns},
    )
