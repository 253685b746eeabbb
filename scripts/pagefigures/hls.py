"""Figures of the transforms by high-level synthesis: processors and peers beside the accelerator."""

from .records import Record, cases, load
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
    return "\n".join([table(head, lines, "lllrrrr"), "", wrapped(f"Record: `{command(record)}`.")])


def command(record: Record) -> str:
    """The command of the record of processors, with the accelerator's figures."""
    ours = [one["accelerator"] for one in record["speed_up"] if name_of(one["accelerator"]).startswith("ours")]
    given = "".join(f" --cycles {one['cycles']} --mhz {one['mhz']:g}" for one in ours)
    return f"python3 hw/flow/hls_arm.py{given}"


def name_of(accelerator: Record) -> str:
    cycles, mhz = accelerator["cycles"], accelerator["mhz"]
    kind = "paper" if accelerator["source"].startswith("the paper") else "ours"
    kind = "floor" if accelerator["source"].startswith("n/2") else kind
    return f"{kind}: {cycles:,} cycles, {digits(mhz)} MHz"


@block("papers-hls-speedup")
def papers_hls_speedup() -> str:
    record = load("hw/reports/hls_arm.json")
    lines = [
        line
        for one in record["speed_up"]
        for line in [
            [
                name_of(one["accelerator"]),
                row["core"],
                FORMS[row["form"]],
                "analytic",
                digits(row["without_moving"][0]),
                times(row["without_moving"][1:]),
                times(row["with_moving"][1:]),
            ]
            for row in one["rows"]
        ]
        + rocket_rows(record["rocket"], one)
    ]
    head = ["accelerator", "processor", "source", "kind", "least", "without moving", "with moving"]
    moved = record["speed_up"][0]["transfer"]
    speeds = {
        (digits(one["accelerator"]["mhz"]), digits(one["transfer"]["mb_per_s"]), digits(one["transfer"]["us"]))
        for one in record["speed_up"]
    }
    rates = " and ".join(f"{time} µs at {mhz} MHz ({rate} MB/s)" for mhz, rate, time in sorted(speeds))
    text = (
        "`least` is a lower bound of the speed-up without moving data: the build with the fewest instructions, two of which "
        "end in every cycle. The ranges are over the builds of the table above. Rocket runs at 100 MHz. Moving the data, "
        f"{moved['bytes_in']} bytes in and {moved['bytes_out']} bytes out, takes {rates}. "
        f"Sources: {record['transfer_source']}; "
        + "; ".join(f"{one['core']}: {one['mhz_source']}" for one in record["processors"])
        + ". Not counted: calls of a driver, flushes of caches, setting up DMA, interrupts. Each adds to the "
        "accelerator's time."
    )
    return "\n".join([table(head, lines, "llllrrr"), "", wrapped(text)])


def rocket_rows(rocket: Record, one: Record) -> list[list[str]]:
    """The speed-up over the Rocket core, from its simulated cycles at 100 MHz."""
    ours = one["accelerator"]["cycles"] / one["accelerator"]["mhz"]
    lines = []
    for form, name in FORMS.items():
        taken = sorted(run["simulated_cycles"] / 100 for run in rocket["runs"] if run["form"] == form)
        without, moved = ([us / each for us in taken] for each in (ours, ours + one["transfer"]["us"]))
        lines.append([name_of(one["accelerator"]), "Rocket", name, "simulated", "–", times(without), times(moved)])
    return lines


def fmax(one: Record) -> str:
    """The range over the seeds, where the module was placed."""
    speeds = one.get("ecp5_fmax_mhz")
    return f"{min(speeds.values()):.0f} to {max(speeds.values()):.0f}" if speeds else "–"


def peer(one: Record) -> list[str]:
    """The name of a peer, its interval and its latency."""
    if one["peer"] == "XLS":
        what = f"XLS, one butterfly, {one['function'].replace('_', ' ')}, {one['stages']} stages"
        return [what, str(one["interval"]), str(one["latency"])]
    if "layers" in one:
        what = f"AMD's tutorial, {one['layers']} layers as {one['tasks']} tasks"
        return [what, f"{one['interval']:,}", f"{one['latency']:,}"]
    # To the last result: the latency to the first one, and the rest of its N / 2B beats.
    last = one["latency"] + one["n"] // (2 * one["butterflies"]) - 1
    return [f"`ntt_cg`, {one['butterflies']} butterflies, q={one['q']}", f"{one['cycles']:,}", f"{last:,}"]


# Our rows: configurations of hw/units.toml.
OURS = {
    "hls/ntt_gs": "ours, `hls_ntt_gs`, 2 butterflies",
    "hls/ntt_ct": "ours, `hls_ntt_ct`, 2 butterflies",
    "hls/kyber_ntt": "ours, `hls_kyber_ntt`, 7 layers, 2 butterflies",
}


@block("papers-hls-peers")
def papers_hls_peers() -> str:
    record = load("hw/reports/hls_peers.json")
    known = cases("hw/reports/summary.json")
    # The next run can begin in the cycle of `done_o`.
    rows = [(peer(one), one) for one in record["peers"]]
    rows += [
        ([name, f"{known[case]['cycles']:,}", f"{known[case]['cycles']:,}"], known[case]) for case, name in OURS.items()
    ]
    lines = [
        [*names, *(f"{one[cost]:,}" if cost in one else "–" for cost in ("lut", "ff", "dsp")), fmax(one)]
        for names, one in rows
    ]
    head = ["design", "interval", "latency", "LUT", "FF", "DSP", "Fmax on ECP5, MHz"]
    xls, (amd, hand) = record["peers"][0], record["peers"][-2:]
    text = (
        "n=256 and q=3329, unless the row names another q. Interval and latency in cycles: of a butterfly for XLS, of a "
        "transform for the others. The latency of `ntt_cg` is to its last result. Our modules transform words in their own "
        "memories; the moves by a host between runs are not counted. LUT, FF and DSP by mapping for UltraScale+, where a delay "
        "of several cycles is a LUT; Fmax of three seeds; –: not on the cited page. A pipeline of XLS has registers at its "
        f"ports and is {xls['has']}. Of `ntt_cg`, q={hand['q']} is {hand['why_this_q']}. The text of AMD's page has a "
        f"constraint of {amd['constraint_mhz']} MHz and no resources: {amd['source']}. Records: "
        "`.tools/hw-synthesis/bin/python hw/flow/hls_peers.py`; ours, `make hw UNIT=hls`."
    )
    return "\n".join([table(head, lines), "", wrapped(text)])
