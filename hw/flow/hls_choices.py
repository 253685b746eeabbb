"""Compiles the choices of a transform from C, maps them, and writes hw/reports/hls.json: what `make hls` draws from.

    .tools/hw-synthesis/bin/python hw/flow/hls_choices.py [--jobs N] [--most LUT] [--known]

    points    hw/hls/ntt_choices.c over the modulus, the butterflies, the banks and the interval
    units     the modules of hw/units.toml that are compared with the tables of the paper

Every schedule is run on random contents by crates/hls, and the results are compared with the source's reference. Resources are
those of a mapping for UltraScale+. Each mapping stays in `<target>/hw/results`, under a hash of the module and the tools.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import report
import synthesise
import versions
import xilinx
from tool import ToolError, yosys
from units import BUILD, HLS_MHZ, HW, UNITS, Configuration, asked

ROOT = HW.parent
REPORT = HW / "reports/hls.json"
WORK = BUILD / "work/hls"
CRATE = ROOT / "crates/hls"

N = 256
FUNCTION = "ntt_choices"
# The primes, by the bits that they stand for.
MODULI = {12: 3329, 23: 8380417, 30: 1073479681, 60: 1152921504606584833}
BUTTERFLIES = (1, 2, 4, 8, 16)
PARTITIONS = (1, 2)
INTERVALS = (1, 2, 3, 4)
# Points with a larger estimate are not mapped: it would take too long. All butterflies are mapped for the smallest modulus.
LUTS_SMALLEST, LUTS_OTHERS = 30_000, 13_000
# The modules of Tables 2 and 3 of the paper, and of its section 4.2.
CASES = (
    *("ntt_gs", "intt_gs", "ntt_ct", "intt_ct"),
    *("bit_reverse", "bit_reverse_table", "bit_reverse_n512", "bit_reverse_table_n512"),
    *("pointwise", "product", "product_reversed", "kyber_ntt", "kyber_intt", "kyber_product"),
)
RESOURCES = ("lut", "ff", "dsp", "bram", "bram18")

Point = dict[str, Any]


def compiled(source: str, function: str, macros: Mapping[str, Sequence[int]], folder: Path) -> list[Point]:
    """The points of a grid of macros: module, cycles, estimate, or the refusal."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["cargo", "run", "--quiet", "--locked", "--release", "-p", "ciphermill-hls", "--example", "points", "--"]
    grid = [f"{name}={','.join(map(str, values))}" for name, values in macros.items()]
    arguments: list[str | Path] = [str(HLS_MHZ), HW / "hls" / source, function, folder, *grid]
    lines = subprocess.run([*command, *map(str, arguments)], check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in lines.stdout.splitlines()]


def explored() -> list[Point]:
    """The points of the transform, with their choices as numbers."""
    macros = {"N": (N,), "Q": tuple(MODULI.values()), "B": BUTTERFLIES, "PARTITION": PARTITIONS, "INTERVAL": INTERVALS}
    widths = {q: bits for bits, q in MODULI.items()}
    points = []
    for one in compiled("ntt_choices.c", FUNCTION, macros, WORK / "points"):
        given = {name: int(value) for name, value in one["values"].items()}
        choice = {"bits": widths[given["Q"]], "q": given["Q"], "b": given["B"]}
        choice |= {"partition": given["PARTITION"], "requested": given["INTERVAL"]}
        points.append(choice | {name: one[name] for name in ("module", "refusal", "found")})
    return points


def costs(point: Point) -> tuple[int, int, int]:
    """Cycles, and LUTs and multipliers by the estimate."""
    found = point["found"]
    return found["cycles"], found["estimate"]["luts"], found["estimate"]["dsps"]


def unbeaten(points: Iterable[Point]) -> list[Point]:
    """Those that no other point of the same modulus beats by the estimate."""
    points = list(points)

    def beats(one: Point, other: Point) -> bool:
        ours, theirs = costs(one), costs(other)
        same = one["q"] == other["q"] and ours != theirs
        return same and all(a <= b for a, b in zip(ours, theirs, strict=True))

    return [one for one in points if not any(beats(other, one) for other in points)]


def limit(bits: int, others: int) -> int:
    """The largest estimate of a point that is mapped."""
    return LUTS_SMALLEST if bits == min(MODULI) else others


def chosen(points: Iterable[Point], others: int = LUTS_OTHERS) -> list[Point]:
    """The points to map: the unbeaten ones, the least interval of each modulus, B and partition, and the paper's q and B.

    Where intervals have the same module size, the estimate alone would leave out all but one of them.
    """
    found = [one for one in points if one["found"]]
    least: dict[tuple[int, int, int], Point] = {}
    for one in found:
        key = one["q"], one["b"], one["partition"]
        if key not in least or one["found"]["interval"] < least[key]["found"]["interval"]:
            least[key] = one
    those = {one["module"] for one in (*unbeaten(found), *least.values())}
    those |= {one["module"] for one in found if (one["q"], one["b"]) == (MODULI[12], 2)}
    return [
        one
        for one in found
        if one["module"] in those and one["found"]["estimate"]["luts"] <= limit(one["bits"], others)
    ]


def files(module: str) -> list[Path]:
    """The files of a point's module: its own, and that of wide products, if it has some."""
    own, part = (WORK / f"points/{name}.sv" for name in (module, "prim_mul"))
    return [own, part] if "prim_mul" in own.read_text() else [own]


def result(module: str) -> Path:
    """Where the resources of a point's module lie, once it is mapped."""
    key = hashlib.sha256(json.dumps(versions.of_step("xilinx")).encode())
    for file in (*files(module), Path(xilinx.__file__)):
        key.update(file.read_bytes())
    return synthesise.RESULTS / f"hls_points.{module}.{key.hexdigest()[:24]}.json"


def mapped(module: str) -> dict[str, Any]:
    """Resources of a point's module on UltraScale+, with all its memories."""
    known = result(module)
    if not known.exists():
        folder = WORK / module
        folder.mkdir(parents=True, exist_ok=True)
        cells = folder / "xilinx.json"
        synth = f"synth_xilinx -family xcup -top {module} -flatten -noiopad -noclkbuf"
        sources = files(module)
        # The multipliers of UltraScale+.
        tiles = " -G TileA=26 -G TileB=17" if len(sources) > 1 else ""
        read = f"read_slang -j 1 --top {module}{tiles} {' '.join(map(str, sources))}"
        script = [read, synth, f"tee -o {cells} stat -json -top {module}"]
        yosys(script, folder, "xilinx")
        cost = xilinx.resources(json.loads(cells.read_text())["design"]["num_cells_by_type"])
        known.parent.mkdir(parents=True, exist_ok=True)
        for stale in known.parent.glob(f"hls_points.{module}.*"):
            stale.unlink()
        whole = known.with_suffix(".unfinished")
        whole.write_text(json.dumps({name: cost[name] for name in RESOURCES}) + "\n")
        whole.replace(known)
        print(f"{module}: {cost['lut']:,} LUT", flush=True)
    return dict(json.loads(known.read_text()))


def unit(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A module of hw/units.toml: its cycles by a run of the schedule, and its resources."""
    macros = {macro: (value,) for macro, value in given["defines"].items()}
    (point,) = compiled(given["source"], given["function"], macros, WORK / "units")
    if point["found"] is None:
        raise ValueError(f"{name}: {point['refusal']}")
    (configuration,) = asked(f"hls/{name}")
    cost = summarised(configuration) or synthesised(configuration)
    return {"case": f"hls/{name}", **point["found"], **{kind: cost[kind] for kind in RESOURCES}}


def summarised(configuration: Configuration) -> dict[str, Any] | None:
    """The entry of the summary, if it is of the same sources and tools."""
    tools = versions.of_step("xilinx")
    for one in json.loads(report.SUMMARY.read_text()):
        if one["case"] == str(configuration) and one["sources"] == report.sources(configuration):
            return dict(one) if tools.items() <= one["tool_versions"].items() else None
    return None


def synthesised(configuration: Configuration) -> dict[str, Any]:
    """The resources of a mapping by the flow of `make hw`."""
    synthesise.carry_out(configuration, "xilinx")
    return dict(json.loads(synthesise.known(configuration, "xilinx").read_text()))


def listed() -> dict[str, dict[str, Any]]:
    """The modules from C in hw/units.toml: source, function, macros."""
    units = tomllib.loads(UNITS.read_text())["unit"]
    (those,) = [one for one in units if one["name"] == "hls"]
    return {one["name"]: one["hls"] for one in those["configuration"]}


def sources() -> str:
    """A hash of the files that the figures depend on."""
    digest = hashlib.sha256()
    files = [*sorted((HW / "hls").glob("*.[ch]")), *sorted((CRATE / "src").rglob("*.rs")), CRATE / "examples/points.rs"]
    for path in [*files, Path(xilinx.__file__), Path(__file__)]:
        digest.update(f"{path.relative_to(ROOT)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def record(jobs: int, others: int = LUTS_OTHERS, *, known: bool = False) -> dict[str, Any]:
    """The whole record; with `known`, points that were not mapped before are left out, and counted."""
    points = explored()
    due = chosen(points, others)
    those = [one for one in due if not known or result(one["module"]).exists()]
    print(f"{len(points)} points, {len(those)} of them to map", flush=True)
    with ThreadPoolExecutor(jobs) as pool:
        # The largest ones first, so that none of them is left for one process at the end.
        order = sorted(those, key=lambda one: -one["found"]["estimate"]["luts"])
        for one, cost in zip(order, pool.map(mapped, [one["module"] for one in order]), strict=True):
            one["mapped"] = cost
        about = listed()
        units = list(pool.map(lambda name: unit(name, about[name]), CASES))
    return {
        "schema": "ciphermill-hls/1",
        "case": f"transform of n={N}, Gentleman-Sande, cyclic",
        "kinds": {"cycles": "simulated", "estimate": "estimate", "mapped": "mapped"},
        "mhz": HLS_MHZ,
        "luts_max": {str(bits): limit(bits, others) for bits in MODULI},
        "left_out": len(due) - len(those),
        "points": points,
        "units": units,
        "tool_versions": versions.of_step("xilinx"),
        "sources": sources(),
    }


def main() -> int:
    """Writes the record, or says what failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="mappings at once (default 2)")
    parser.add_argument(
        "--most", type=int, default=LUTS_OTHERS, help=f"largest estimate above 12 bits (default {LUTS_OTHERS:,} LUT)"
    )
    parser.add_argument("--known", action="store_true", help="map no more points; the record counts those left out")
    arguments = parser.parse_args()
    try:
        found = record(arguments.jobs, arguments.most, known=arguments.known)
    except (ToolError, ValueError, subprocess.CalledProcessError) as error:
        print(f"hls_choices: {error}", file=sys.stderr)
        return 1
    unfinished = REPORT.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(found, indent=1) + "\n")
    os.replace(unfinished, REPORT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
