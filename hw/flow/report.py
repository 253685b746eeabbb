"""Joins what simulation counted with what synthesis found: hw/reports/summary.json, and docs/hw/results.md from it.

    python hw/flow/report.py all|unit,unit/configuration,… [--partial]

Replaces the entries of what is named and keeps the others. Ends with 1 where a figure that is due is not there; with
--partial such a figure is null, "not run" being its reason.
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import elaborate
import synthesise
from units import HW, Configuration, asked, configurations, digest, number, sources_of

SUMMARY = HW / "reports/summary.json"
TABLE = elaborate.REPOSITORY / "docs/hw/results.md"
# Where scripts/hw.sh has the tests of crates/cosim leave what they counted.
RECORDS = elaborate.BUILD / "records"

Entry = dict[str, Any]

# The columns of a line of text.
COLUMNS = 100

# What a step says of speed.
SPEEDS = ("fmax_mhz", "critical_path_ns")


class Missing(Exception):
    """A figure is not there."""


def _read(path: Path, what: str) -> Entry:
    if not path.exists():
        raise Missing(f"no {what}: {path}")
    return dict(json.loads(path.read_text()))


def _step(
    configuration: Configuration, listed: Iterable[Configuration], step: str, partial: bool
) -> tuple[Entry, Entry]:
    """What a step found for the configuration, and what is to be said of it."""
    said = synthesise.said(configuration, step)
    if said.instead is not None:
        other = next(one for one in listed if (one.unit, one.name) == (configuration.unit, said.instead))
        found, about = _step(other, listed, step, partial)
        if not found.keys() & set(SPEEDS):
            return {}, about | {"configuration": other.name}
        # It stands for this one's speed. Its size is its own.
        found = {name: found.get(name) for name in (*SPEEDS, "tool_versions") if name in found}
        return found, about | {"configuration": other.name, "reason": said.reason}
    if said.reason is not None:
        return {}, {"reason": said.reason}
    path = synthesise.known(configuration, step)
    if partial and not path.exists():
        return {}, {"reason": "not run"}
    found = _read(path, f"{step} result of {configuration}")
    about = {"parameters": said.parameters} if said.parameters else {}
    about |= {name: found[name] for name in ("parts", "whole") if name in found}
    return found, about | ({"reason": found["reason"]} if "reason" in found else {})


def entry(configuration: Configuration, listed: list[Configuration], partial: bool = False) -> Entry:
    """All that is known of a configuration."""
    counted = _read(RECORDS / f"{configuration.unit}.{configuration.name}.json", f"cycle counts of {configuration}")
    mapped, about_mapped = _step(configuration, listed, "xilinx", partial)
    routed, about_routed = _step(configuration, listed, "ecp5", partial)
    gates, about_gates = _step(configuration, listed, "osu018", partial)
    tools = {"verilator": counted["verilator"]}
    for found in (mapped, routed, gates):
        tools |= found.get("tool_versions", {})
    return {
        "schema": "ciphermill-hw/1",
        "case": str(configuration),
        "kind": "rtl",
        "unit": configuration.unit,
        "configuration": configuration.name,
        "parameters": {name: number(value) for name, value in configuration.parameters.items()},
        **{name: counted[name] for name in ("cycles", "latency", "bound")},
        "ratio": round(counted["bound"] / counted["cycles"], 4),
        **{name: mapped.get(name) for name in ("lut", "ff", "dsp", "bram", "bram18", "uram", "multipliers")},
        "xilinx_about": about_mapped,
        "ecp5_fmax_mhz": routed.get("fmax_mhz"),
        "ecp5_used": routed.get("used"),
        "ecp5_about": about_routed,
        "gate_equivalents": gates.get("gate_equivalents"),
        "memory_bits": gates.get("memory_bits"),
        "osu018_critical_path_ns": gates.get("critical_path_ns"),
        "osu018_about": about_gates,
        "tool_versions": dict(sorted(tools.items())),
        "sources": sources(configuration),
    }


def sources(configuration: Configuration) -> str:
    """A hash of what the configuration is made of: an entry of other sources is of another circuit."""
    return digest(sources_of(configuration.top), [configuration.top, configuration.parameters])


def merged(old: Iterable[Entry], new: Iterable[Entry], order: Iterable[str]) -> list[Entry]:
    """The new entries, and the old ones of what has none, in that order.

    An old entry of a case that is no longer listed is left out.
    """
    known = {one["case"]: one for one in old}
    known |= {one["case"]: one for one in new}
    return [known[case] for case in order if case in known]


def _about(about: Mapping[str, Any]) -> str:
    words = []
    if "configuration" in about:
        words.append(f"`{about['configuration']}`")
    if "parameters" in about:
        words.append(", ".join(f"{name} = {value}" for name, value in about["parameters"].items()))
    if "reason" in about:
        words.append(about["reason"])
    return ": ".join(words)


def _parts(one: Mapping[str, Any]) -> list[str]:
    """The table of an engine's parts."""
    lines = [
        "",
        f"### Parts of `{one['case']}`",
        "",
        "Each part is mapped on its own, without the parts inside it; the first one is the engine's glue.",
        "Figures are those of one instance.",
        "",
        "| module | parameters | instances | LUT | FF | DSP | BRAM |",
        "| --- | --- | --: | --: | --: | --: | --: |",
    ]
    for part in one["xilinx_about"]["parts"]:
        stated = ", ".join(f"{name} = {value}" for name, value in part["parameters"].items()) or "–"
        counts = " | ".join(_number(part[name]) for name in ("number", "lut", "ff", "dsp", "bram"))
        lines.append(f"| `{part['module']}` | {stated} | {counts} |")
    if "whole" in one["xilinx_about"]:
        whole = one["xilinx_about"]["whole"]
        compared = (
            f"{name.upper()} {_number(whole[name])} ({_share(one[name], whole[name])})"
            for name in ("lut", "ff", "dsp", "bram")
        )
        said = f"In one piece: {', '.join(compared)}. The percentages are those of the sum."
        lines += ["", *textwrap.wrap(said, COLUMNS)]
    return lines


def _share(part: float, whole: float) -> str:
    return "–" if whole == 0 else f"{part / whole:.0%}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,}"


def table(entries: list[Entry], older: Iterable[str] = ()) -> str:
    """The page: its tables, and the names of the cases whose figures are of older sources."""
    lines = [
        "# Results",
        "",
        "`make hw` writes this page from [hw/reports/summary.json](../../hw/reports/summary.json).",
        "[flow.md](flow.md) describes the making of each figure.",
        "",
        "**These are neither Vivado's figures nor those of a 12 nm process.** LUTs, registers and blocks are",
        "counted after Yosys' mapping, before placement. Fmax is that of an ECP5-85, placed and routed by",
        "nextpnr. Gates and paths are those of a 0.18 µm library, before layout. The figures compare our",
        "units with one another, and hold for these tools.",
        "",
        "## Cycles, counted in simulation",
        "",
        "| unit | configuration | cycles | latency | bound | bound ÷ cycles |",
        "| --- | --- | --: | --: | --: | --: |",
    ]
    for one in entries:
        counts = " | ".join(_number(one[name]) for name in ("cycles", "latency", "bound", "ratio"))
        lines.append(f"| `{one['unit']}` | `{one['configuration']}` | {counts} |")
    lines += [
        "",
        "## UltraScale+, mapped by Yosys",
        "",
        "BRAM in units of RAMB36. The last column has the multiplications that reached the mapper, by size.",
        "If none exceeds a DSP48E2's 26 × 17 bits without signs, all tiling is that of the source.",
        "",
        "| unit | configuration | LUT | FF | DSP | BRAM | URAM | multiplications |",
        "| --- | --- | --: | --: | --: | --: | --: | --- |",
    ]
    for one in entries:
        counts = " | ".join(_number(one[name]) for name in ("lut", "ff", "dsp", "bram", "uram"))
        sizes = ", ".join(
            f"{number} of {size.replace('x', ' × ')}" for size, number in (one["multipliers"] or {}).items()
        )
        remark = sizes or _about(one["xilinx_about"]) or "–"
        if "parts" in one["xilinx_about"]:
            remark = f"sum of parts; {remark}"
        lines.append(f"| `{one['unit']}` | `{one['configuration']}` | {counts} | {remark} |")
    for one in entries:
        if "parts" in one["xilinx_about"]:
            lines += _parts(one)
    lines += [
        "",
        "## ECP5-85, placed and routed",
        "",
        "MHz for each seed of the placement, with a register at every port of the unit.",
        "",
        "| unit | configuration | MHz | multipliers | memory blocks | remarks |",
        "| --- | --- | --: | --: | --: | --- |",
    ]
    for one in entries:
        speed, used = one["ecp5_fmax_mhz"], one["ecp5_used"]
        figures = " / ".join(str(value) for value in speed.values()) if speed else "–"
        blocks = " | ".join(_number(None if used is None else used.get(name, 0)) for name in ("MULT18X18D", "DP16KD"))
        lines.append(
            f"| `{one['unit']}` | `{one['configuration']}` | {figures} | {blocks} | {_about(one['ecp5_about'])} |"
        )
    lines += [
        "",
        "## OSU 0.18 µm, before layout",
        "",
        "Gate equivalents are the area of all cells in that of a two-input NAND. Memories are counted",
        "separately, as bits. The path is the longest, without wires and at the library's only corner.",
        "",
        "| unit | configuration | gate equivalents | memory, bits | path, ns | remarks |",
        "| --- | --- | --: | --: | --: | --- |",
    ]
    for one in entries:
        counts = " | ".join(
            _number(one[name]) for name in ("gate_equivalents", "memory_bits", "osu018_critical_path_ns")
        )
        lines.append(f"| `{one['unit']}` | `{one['configuration']}` | {counts} | {_about(one['osu018_about'])} |")
    if names := [f"`{case}`" for case in older]:
        lines += [
            "",
            "## Older sources",
            "",
            "These figures are of sources that have changed since by more than comments. `make hw UNIT=…` makes",
            "them again:",
            "",
            *(f"- {name}" for name in names),
        ]
    lines += ["", "## Tools", ""]
    for tool, version in sorted({item for one in entries for item in one["tool_versions"].items()}):
        lines.append(f"- {tool} {version}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes both files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", help="all, or a list of units and unit/configuration")
    parser.add_argument("--partial", action="store_true", help="figures that are not there are null")
    arguments = parser.parse_args()
    listed = configurations()
    new, missing = [], []
    for configuration in asked(arguments.names):
        try:
            new.append(entry(configuration, listed, arguments.partial))
        except Missing as error:
            missing.append(str(error))
    old = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else []
    now = {str(one): sources(one) for one in listed}
    entries = merged(old, new, now)
    older = [one["case"] for one in entries if one["sources"] != now[one["case"]]]
    SUMMARY.parent.mkdir(exist_ok=True)
    SUMMARY.write_text(json.dumps(entries, indent=1) + "\n")
    TABLE.write_text(table(entries, older))
    print(f"{SUMMARY.relative_to(elaborate.REPOSITORY)}: {len(entries)} configurations, {len(new)} of them new")
    if older:
        print(f"of older sources: {', '.join(older)}; `make hw UNIT=…` makes them again")
    for what in missing:
        print(what, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
