"""Figures of the compiler of C: the record of its full counts, and the clocks that its modules reach."""

import math

from .records import Record, cases, load
from .text import block, listed, table, wrapped


@block("hls-evidence")
def hls_evidence() -> str:
    record = load("evidence/hls.json")
    parts: dict[str, Record] = record["results"]
    sizes, loops, faults, programs = (parts[name] for name in ("configurations", "loops", "faults", "programs"))
    away, all_of_them = sizes["not_at_floor_and_depth"], sizes["configurations"]
    # A greatest time is not rounded down.
    longest = math.ceil(round(100 * sizes["most_compile_cpu_s"], 6)) / 100
    lines = [
        [
            "`configurations`",
            (
                f"{sizes['at_floor_and_depth']} of {all_of_them} in floor + depth − 1 cycles, {away} with idle cycles after "
                f"each stage; a compilation takes at most {longest:.2f} s of processor time"
            ),
        ],
        [
            "`loops`",
            (
                f"{loops['equal']} of {loops['loops']} intervals are those of CP-SAT, {loops['above_one']} of them above 1; "
                f"{loops['equal_at_any_depth']} are also the least for an iteration of any length"
            ),
        ],
        ["`proofs`", f"{len(parts['proofs']['proved'])} proved"],
        ["`faults`", f"{faults['caught']} of {faults['faults']} caught"],
        ["`rtl_programs`", f"{parts['rtl_programs']['programs']} programs with the values of the C compiler"],
        [
            "`programs`",
            (
                f"{programs['programs']:,} programs: {programs['lowered']:,} pass the front end, {programs['scheduled']:,} have a "
                f"schedule, the others are refused with a reason; {programs['failures']} failures in {programs['compared']:,} "
                "comparisons"
            ),
        ],
    ]
    machine = record["machine"]
    text = (
        f"Command: `{record['command']}`. Machine: {machine['cores']} cores of an {machine['cpu']}. Only the processor time "
        "depends on it."
    )
    return "\n".join([table(["part", "result"], lines, "ll"), "", wrapped(text)])


@block("hls-below-clock")
def hls_below_clock() -> str:
    clock = load("hw/reports/hls.json")["mhz"]
    known = {case: one for case, one in cases("hw/reports/summary.json").items() if case.startswith("hls/")}
    speeds = {case: one["ecp5_fmax_mhz"].values() for case, one in known.items() if one.get("ecp5_fmax_mhz")}
    slow = {case: sorted(values) for case, values in speeds.items() if min(values) < clock}
    named = [
        f"`hls_{case.removeprefix('hls/')}` {values[0]:.1f} to {values[-1]:.1f} MHz"
        for case, values in sorted(slow.items(), key=lambda one: one[1][0])
    ]
    without = [f"`hls_{case.removeprefix('hls/')}`" for case in known if case not in speeds]
    placed = f"The other {len(speeds) - len(slow)} do"
    placed += f", and {listed(without)} has no placement" if without else ""
    text = (
        f"Modules that do not reach their clock of {clock} MHz on an ECP5-85 with each of three seeds: {listed(named)}. "
        f"{placed} ([results](hw/results.md))."
    )
    return wrapped(text)
