"""Names what hw/reports says of other sources than those of hw/rtl: python hw/flow/stale.py.

It ends with 0 all the same: synthesis takes hours, and a change to the RTL need not wait for it. Figures of a release must.
"""

import json
from pathlib import Path
from typing import Any

import coverage
import hls_arm
import hls_choices
import hls_peers
import mutate
import prove
import report
from units import configurations


def _read(path: Path, empty: Any) -> Any:
    return json.loads(path.read_text()) if path.exists() else empty


def figures() -> list[str]:
    """Configurations without an entry in summary.json, or with one of another circuit."""
    known = {one["case"]: one["sources"] for one in _read(report.SUMMARY, [])}
    return [str(one) for one in configurations() if known.get(str(one)) != report.sources(one)]


def proofs() -> list[str]:
    """Proofs that proofs.json does not have, or has of other files."""
    known = {one["name"]: one.get("sources") for one in _read(prove.REPORT, {"proofs": []})["proofs"]}
    hw = prove.ROOT / "hw"
    return [one["name"] for one in prove.proofs(hw) if known.get(one["name"]) != prove.proof_sources(hw, one)]


def faults() -> list[str]:
    """Files with faults that mutations.json has no verdict on, or one on an older file."""
    known = {mutate.key(record) for record in mutate.reported()}
    return sorted({one.file for one in mutate.mutations(prove.ROOT / "hw") if one.key not in known})


def counted() -> list[str]:
    """Units whose lines and toggles were not counted, or in other files."""
    known = _read(coverage.REPORT, {"units": {}})["units"]
    return [
        unit for unit in sorted(coverage.folders()) if known.get(unit, {}).get("sources") != coverage.unit_sources(unit)
    ]


def comparisons() -> list[str]:
    """Records that compare the transforms of hw/hls with others, and are not there or of other files."""
    return [
        made.REPORT.name
        for made in (hls_arm, hls_choices, hls_peers)
        if _read(made.REPORT, {"sources": None})["sources"] != made.sources()
    ]


def main() -> None:
    """One line for each report, and what makes it anew."""
    for what, names, remedy in (
        ("figures", figures(), "make hw UNIT=…"),
        ("proofs", proofs(), "prove.py --all"),
        ("verdicts on faults", faults(), "make hw-mutations"),
        ("coverage", counted(), "make hw-coverage"),
        ("comparisons", comparisons(), "make hls, hw/flow/hls_arm.py, hw/flow/hls_peers.py"),
    ):
        if names:
            print(f"{what} of other sources in hw/reports ({remedy}): {', '.join(names)}")


if __name__ == "__main__":
    main()
