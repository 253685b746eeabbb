"""The report of a party as a document for JSON, from which the page of HTML is made."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

import ciphermill
from ciphermill._hetero.report import Report
from ciphermill.federated._rows import NONE
from ciphermill.federated._session import ARBITER

#: The version of the document.
FORMAT = "ciphermill party report 1"


def make(
    *,
    party: Mapping[str, Any],
    training: str,
    configuration: Mapping[str, Any],
    data: Mapping[str, Any],
    alignment: str,
    report: Report,
    started: float,
    seconds: float,
    connections: Mapping[str, int],
) -> dict[str, Any]:
    """The document. It has no weight, no key and no cell of the data. The arbiter does not know the iterations."""
    guest, *hosts = report.features
    arbitrates = party["role"] == ARBITER
    return {
        "format": FORMAT,
        "party": dict(party),
        "training": training,
        "result": {
            "iterations": None if arbitrates else len(report.residuals),
            "products": None if arbitrates else report.products,
            "relative gradient": report.residuals[-1] if report.residuals else None,
            "converged": None if arbitrates else report.converged,
            "restarts": report.restarts,
            "reconnections": {peer: max(0, count - 1) for peer, count in connections.items()},
            "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
            "seconds": seconds,
        },
        "configuration": dict(configuration),
        "data": dict(data),
        "alignment": {
            "method": alignment,
            "rows": report.samples,
            "leaks": [] if alignment == NONE or arbitrates else _alignment_leaks(guest, hosts, report.samples),
        },
        "report": report.as_dict(),
        "machine": machine(),
        "versions": versions(),
    }


def _alignment_leaks(guest: str, hosts: list[str], common: int) -> list[str]:
    """The facts that private set intersection shows to the parties."""
    facts = [
        f"{guest} and {host}: the number of the other's ids, and the {common} ids that all parties have"
        for host in hosts
    ]
    if len(hosts) > 1:
        facts.append(f"{guest}: which of its ids each host has")
    return facts


def machine() -> dict[str, Any]:
    """The machine of this process."""
    return {"processor": _processor(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform()}


def versions() -> dict[str, str]:
    """The versions of this package, of Python and of NumPy."""
    return {"ciphermill": ciphermill.__version__, "Python": platform.python_version(), "NumPy": np.__version__}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == "model name":
                    return value.strip()
    except OSError:
        pass
    return platform.machine()
