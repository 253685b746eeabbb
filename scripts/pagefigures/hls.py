"""Figures of the transforms by high-level synthesis: processors and peers beside the accelerator."""

from .records import Record, load
from .text import block, digits, table, wrapped

FORMS = {"as_written": "as written", "tuned": "for a processor"}


def times(values: list[float]) -> str:
    """A range of speed-ups or of times."""
    low, high = (digits(value) for value in (values[0], values[-1]))
    return low if low == high else f"{low} to {high}"


@block("papers-hls-software")
def papers_hls_software() -> str:
    record = load("hw/reports/hls_arm.json")
    lines = [
        [
            f"{processor['core']}, {digits(processor['mhz'])} MHz",
            FORMS[run["form"]],
            run["name"],
            f"{run['instructions']:,}",
            f"{run['analytic_cycles']:,}",
            "",
            digits(run["analytic_cycles"] / processor["mhz"]),
        ]
        for processor in record["processors"]
        for run in processor["runs"]
    ]
    # A core in the same logic, at the paper's constraint.
    lines += [
        [
            "Rocket, 100 MHz",
            FORMS[run["form"]],
            run["name"],
            f"{run['instructions']:,}",
            "",
            f"{run['simulated_cycles']:,}",
        ]
        + [digits(run["simulated_cycles"] / 100)]
        for run in record["rocket"]["runs"]
    ]
    head = ["core", "source", "gcc 12.2", "instructions, exact", "cycles, analytic", "cycles, simulated", "µs"]
    return "\n".join([table(head, lines, "lllrrrr"), "", wrapped("Record: `python3 hw/flow/hls_arm.py`.")])


def name_of(accelerator: Record) -> str:
    cycles, mhz = accelerator["cycles"], accelerator["mhz"]
    kind = "paper" if accelerator["source"].startswith("the paper") else "ours"
    kind = "floor" if accelerator["source"].startswith("n/2") else kind
    return f"{kind}: {cycles:,} cycles, {digits(mhz)} MHz"


@block("papers-hls-speedup")
def papers_hls_speedup() -> str:
    record = load("hw/reports/hls_arm.json")
    lines = [
        [
            name_of(one["accelerator"]),
            row["core"],
            FORMS[row["form"]],
            digits(row["without_moving"][0]),
            times(row["without_moving"][1:]),
            times(row["with_moving"][1:]),
        ]
        for one in record["speed_up"]
        for row in one["rows"]
    ]
    head = ["accelerator", "processor", "source", "least", "analytic, without moving", "analytic, with moving"]
    moved = record["speed_up"][0]["transfer"]
    text = (
        f"`least`: the fewest instructions of a build at two a cycle in every cycle, without moving; no program reaches it. "
        f"The ranges are over the builds of the table above. Moving is {moved['bytes_in']} bytes in and "
        f"{moved['bytes_out']} bytes out at {digits(moved['mb_per_s'])} MB/s, {digits(moved['us'])} µs. "
        f"Sources: {record['transfer_source']}; "
        + "; ".join(f"{one['core']}: {one['mhz_source']}" for one in record["processors"])
        + ". Not counted: calls of a driver, flushes of caches, setting up DMA, interrupts. Each adds to the "
        "accelerator's time."
    )
    return "\n".join([table(head, lines, "lllrrr"), "", wrapped(text)])


@block("papers-hls-peers")
def papers_hls_peers() -> str:
    record = load("hw/reports/hls_peers.json")
    lines = []
    for one in record["peers"]:
        fmax = one.get("ecp5_fmax_mhz")
        speed = f"{min(fmax.values()):.0f} to {max(fmax.values()):.0f}" if fmax else ""
        cost = [f"{one[name]:,}" if name in one else "" for name in ("lut", "ff", "dsp")]
        if one["peer"] == "XLS":
            what = f"XLS, one butterfly, {one['function'].replace('_', ' ')}, {one['stages']} stages"
            cycles = [str(one["interval"]), str(one["latency"])]
        elif "layers" in one:
            what, cycles = (
                f"AMD's tutorial, {one['layers']} layers as {one['tasks']} tasks",
                [
                    f"{one['interval']:,}",
                    f"{one['latency']:,}",
                ],
            )
        else:
            # To the last result: the latency to the first one, and the rest of its N / 2B beats.
            last = one["latency"] + one["n"] // (2 * one["butterflies"]) - 1
            what, cycles = (
                f"`ntt_cg`, {one['butterflies']} butterflies, q={one['q']}",
                [f"{one['cycles']:,}", f"{last:,}"],
            )
        lines.append([what, *cycles, *cost, speed])
    head = ["peer", "interval", "latency", "LUT", "FF", "DSP", "Fmax on ECP5, MHz"]
    xls, (amd, hand) = record["peers"][0], record["peers"][-2:]
    text = (
        "Interval and latency in cycles: for XLS of a butterfly, else of a transform; that of `ntt_cg` is to its last "
        "result. LUT, FF and DSP by mapping for UltraScale+, where a delay of several cycles is a LUT; Fmax of three "
        f"seeds. A pipeline of XLS has registers at its ports and is {xls['has']}. Of `ntt_cg`, q={hand['q']} is "
        f"{hand['why_this_q']}. The text of AMD's page has a constraint of {amd['constraint_mhz']} MHz and no resources: "
        f"{amd['source']}. Record: `.tools/hw-synthesis/bin/python hw/flow/hls_peers.py`."
    )
    return "\n".join([table(head, lines), "", wrapped(text)])
