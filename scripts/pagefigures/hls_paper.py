"""Tables 1 to 3 of the paper on high-level synthesis next to ours, and the choices of the transform."""

import statistics
import sys
from collections.abc import Callable

from .hls import command
from .records import ROOT, Record, cases, load
from .text import block, digits, listed, table, wrapped

# T. Sasaki and Y. Hara: Table 2, and Table 3, whose latency of Algorithm 3 is not a number.
PAPER_CT = {"cycles": 2114, "dsp": 2, "ff": 9276, "lut": 7351}
PAPER_GS = {"cycles": 2094, "dsp": 2, "ff": 8568, "lut": 7426}
PAPER_REVERSALS = (
    {"cycles": "undetermined", "ff": 57, "lut": 172},
    {"cycles": 30, "ff": 1165, "lut": 2169},
    {"cycles": 89, "ff": 3202, "lut": 5379},
)
RECORD = "hw/reports/hls.json"
RESOURCES = {"cycles": "cycles", "lut": "LUT", "ff": "FF", "dsp": "DSP", "bram": "BRAM"}
PORTS = {1: "one to read, one to write", 2: "two"}
MADE = "Cycles from start to done, simulated: runs of the schedule on random contents, compared with the source."
MAPPED = "LUT, FF, DSP and BRAM of the whole module with its memories, mapped for UltraScale+ by Yosys."


def units() -> dict[str, Record]:
    """The modules of the record by the name of their configuration."""
    return {one["case"].removeprefix("hls/"): one for one in load(RECORD)["units"]}


def points() -> list[Record]:
    """The mapped points, from the smallest modulus, B and interval."""
    found = [one for one in load(RECORD)["points"] if "mapped" in one]
    return sorted(found, key=lambda one: (one["bits"], one["b"], one["partition"], one["requested"]))


def point(bits: int, b: int, partition: int, interval: int) -> Record:
    """The figures of a mapped point."""
    key = (bits, b, partition, interval)
    for one in points():
        if key == (one["bits"], one["b"], one["partition"], one["requested"]):
            return {"cycles": one["found"]["cycles"], **one["mapped"]}
    sys.exit(f"figures: {RECORD} has no mapped point of {bits} bits, B={b}, partition {partition}, interval {interval}")


def cell(figures: Record, name: str) -> str:
    """A figure, or a dash."""
    value = figures.get(name)
    return (
        "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:g}" if name == "bram" else value
    )


def columns(head: list[str], figures: list[Record]) -> str:
    """A table with a line for each kind of figure."""
    lines = [[title, *(cell(one, name) for one in figures)] for name, title in RESOURCES.items()]
    return table(["figure", *head], lines)


def pragma(file: str, text: str) -> str:
    """A pragma of a source, which must be there."""
    if f"#pragma HLS {text}\n" not in (ROOT / "hw/hls" / file).read_text():
        sys.exit(f"figures: hw/hls/{file} has no `#pragma HLS {text}`; Table 1 names it")
    return f"`{text}`"


@block("papers-hls-table-1")
def papers_hls_table_1() -> str:
    lines = [
        [
            "indices, operands and results of an iteration",
            "`array_partition complete`",
            "none: the values of an iteration are wires and registers",
        ],
        [
            "words â",
            "`array_partition block factor=8`",
            f"{pragma('ntt_gs.c', 'array_partition variable=a complete dim=1')}, 2B banks by the masks of `hls banks`",
        ],
        ["`BUTTERFLY_LOOP`", "`pipeline`", pragma("ntt.h", "pipeline II=1")],
        ["innermost loops", "`unroll`", "none: loops inside of a pipelined loop are always unrolled"],
        [
            "`BUTTERFLY_LOOP`: â",
            "`dependence inter false`",
            f"{pragma('ntt.h', 'dependence variable=a inter false')}, proved by the compiler",
        ],
    ]
    return table(["code", "paper", "ours"], lines, "lll")


@block("papers-hls-table-2")
def papers_hls_table_2() -> str:
    known = units()
    head = ["CT, paper", "CT, ours", "GS, paper", "GS, ours", "GS, ours, interval 4"]
    figures = [PAPER_CT, known["ntt_ct"], PAPER_GS, known["ntt_gs"], point(12, 2, 2, 4)]
    text = (
        "Paper: Vivado HLS 2018.3 for a Zynq-7, constraint of 100 MHz; it states no memories. "
        f"Ours: schedules for {load(RECORD)['mhz']} MHz. {MADE} {MAPPED} A LUT has six inputs in both families. The last "
        "column has the paper's interval, and two banks of two ports. Command: `make hls`."
    )
    return "\n".join([columns(head, figures), "", wrapped(text)])


@block("papers-hls-table-3")
def papers_hls_table_3() -> str:
    known = units()
    head = ["masks, 8 bits, paper", "table, 8 bits, paper", "table, 9 bits, paper"]
    head += ["masks, 8 bits, ours", "table, 8 bits, ours", "masks, 9 bits, ours", "table, 9 bits, ours"]
    names = ("bit_reverse", "bit_reverse_table", "bit_reverse_n512", "bit_reverse_table_n512")
    text = (
        "Ours moves 240 of 256 words, and 480 of 512, in eight banks of two ports; the floors are 30 and 60 cycles. The rest of our "
        "cycles fill and empty the pipeline. The paper does not say whether its LUT and FF include the words. Kinds and "
        "command: as in Table 2."
    )
    return "\n".join([columns(head, [*PAPER_REVERSALS, *(known[name] for name in names)]), "", wrapped(text)])


def saving(less: float, more: float) -> str:
    """The part that is saved, in percent."""
    return f"{100 * (1 - less / more):.0f} %" if more else "–"


@block("papers-hls-products")
def papers_hls_products() -> str:
    known = units()
    pair, reversed_, kyber = known["product"], known["product_reversed"], known["kyber_product"]
    lines = [
        [title, cell(reversed_, name), cell(pair, name), saving(pair[name], reversed_[name]), cell(kyber, name)]
        for name, title in RESOURCES.items()
    ]
    text = (
        "Products of two polynomials, n=256, q=3329, B=2; each has two transforms, pointwise products, and an inverse. "
        "With reversals, all three transforms are CT. The pair has GS transforms and a CT inverse. Kyber's ring has seven layers, "
        "products of degree 1, and no reversal. Kinds and command: as in Table 2."
    )
    head = ["figure", "x^256 − 1, with reversals", "x^256 − 1, by a pair", "saved", "Kyber's ring"]
    return "\n".join([table(head, lines), "", wrapped(text)])


def gaps() -> str:
    """The idle cycles between stages, at an interval of one and 12 bits."""
    found = [one for one in load(RECORD)["points"] if (one["bits"], one["partition"], one["requested"]) == (12, 1, 1)]
    gap = {one["b"]: one["found"]["gap"] for one in found}
    without = [f"{b}" for b in sorted(gap) if gap[b] == 0]
    idle = [f"{gap[b]} at B={b}" for b in sorted(gap) if gap[b]]
    return f"idle cycles between stages: none at B={listed(without)}, {listed(idle)}"


@block("papers-hls-ours")
def papers_hls_ours() -> str:
    known = units()
    gs, ct, kyber = known["ntt_gs"], known["ntt_ct"], known["kyber_ntt"]
    masks, by_table, nine = known["bit_reverse"], known["bit_reverse_table"], known["bit_reverse_table_n512"]
    pair, reversals = known["product"], known["product_reversed"]
    widest = known["bit_reverse_n512"]
    sized = f"{by_table['ff']:,} and {nine['ff']:,} FF, {by_table['lut']:,} and {nine['lut']:,} LUT"
    back = known["intt_gs"]
    cycles, both = "simulated", "simulated, mapped"

    def saved(name: str) -> str:
        return f"{reversals[name] - pair[name]:,} of {reversals[name]:,}"

    rows = [
        ["section 4", "n=256, q=3329", f"Kyber's seven layers in {kyber['cycles']:,} cycles", cycles],
        ["Algorithm 1, Table 2", "CT in 2,114 cycles", f"{ct['cycles']:,} cycles", cycles],
        ["Algorithm 2, Table 2", "GS in 2,094 cycles", f"{gs['cycles']:,} cycles; floor 512", cycles],
        [
            "Table 2",
            "an interval of 4",
            f"{gs['interval']}; with 4, {point(12, 2, 2, 4)['cycles']:,} cycles",
            cycles,
        ],
        [
            "Table 2",
            "GS: 2 DSP, 7,426 LUT, 8,568 FF",
            f"{gs['dsp']} DSP, {gs['lut']:,} LUT, {gs['ff']:,} FF with memories",
            "mapped",
        ],
        ["Table 1", "parity banks for B=2", f"4 banks by masks, at an interval of {gs['interval']}", cycles],
        ["Table 1", "`dependence inter false`", f"proved within a stage; {gaps()}", cycles],
        ["Algorithm 3, Table 3", "latency undetermined", f"{masks['cycles']} cycles", cycles],
        ["Table 3", "8 and 9 bits in 30 and 89 cycles", f"{by_table['cycles']} and {nine['cycles']} cycles", cycles],
        ["Table 3", "1,165 and 3,202 FF, 2,169 and 5,379 LUT", sized, "mapped"],
        [
            "Table 3",
            "masks need fewer resources: 172 to 2,169 LUT",
            f"masks {masks['lut']:,} LUT in {masks['cycles']} cycles, table {by_table['lut']:,} in {by_table['cycles']}",
            both,
        ],
        ["section 3.3", "9 bits need a table", f"masks: {widest['cycles']} cycles, {widest['lut']:,} LUT", both],
        [
            "section 4.2",
            "a pair saves the reversals",
            f"{saved('cycles')} cycles, {saved('lut')} LUT",
            both,
        ],
        [
            "section 5",
            "an inverse by GS costs no more",
            f"{back['cycles']:,} cycles, {back['lut']:,} LUT; forward {gs['cycles']:,}, {gs['lut']:,}",
            both,
        ],
    ]
    lines = [[*row, "`make hls`"] for row in rows]
    lines.insert(
        1, ["section 4.1", "a constraint of 100 MHz", f"{clock()} MHz on an ECP5-85", "placed", "`make hw UNIT=hls`"]
    )
    about = ["section 5", "speed-up over an ARM processor left open", "[below](#speed-up-over-processors)"]
    lines.append([*about, "exact, analytic, simulated", f"`{command(load('hw/reports/hls_arm.json'))}`"])
    text = f"{rtl()} Mapped figures include all memories."
    return "\n".join([table(["place", "paper", "ours", "kind", "command"], lines, "lllll"), "", wrapped(text)])


def clock() -> str:
    """Frequencies of the GS transform over the seeds."""
    speeds = cases("hw/reports/summary.json")["hls/ntt_gs"]["ecp5_fmax_mhz"].values()
    return f"{min(speeds):.0f} to {max(speeds):.0f}"


def rtl() -> str:
    """Whether simulations of the RTL counted the same cycles."""
    counted = cases("hw/reports/summary.json")
    other = [one["case"] for one in load(RECORD)["units"] if counted[one["case"]]["cycles"] != one["cycles"]]
    if not other:
        return "The simulations of the RTL count the same cycles (`make hw UNIT=hls`, [results](hw/results.md); kind: rtl)."
    return (
        f"[The results](hw/results.md) of the RTL have other cycles for {listed(other)}. `make hls` and `make hw UNIT=hls` "
        "write both records again."
    )


def beats(one: Record, other: Record) -> bool:
    """Whether a point is at least as good as another one of its modulus in cycles, LUT and DSP, and better in one."""
    ours, theirs = ((p["found"]["cycles"], p["mapped"]["lut"], p["mapped"]["dsp"]) for p in (one, other))
    return ours != theirs and one["q"] == other["q"] and all(a <= b for a, b in zip(ours, theirs, strict=True))


@block("hw-hls-choices")
def hw_hls_choices() -> str:
    record, those = load(RECORD), points()
    lines = []
    for one in those:
        found, cost = one["found"], one["mapped"]
        lines.append(
            [
                str(one["bits"]),
                str(one["b"]),
                str(found["banks"]),
                PORTS[one["partition"]],
                str(found["interval"]),
                f"{128 * 8 * found['interval'] // one['b']:,}",
                f"{found['cycles']:,}",
                *(cell(cost, name) for name in ("lut", "ff", "dsp", "bram")),
                "" if any(beats(other, one) for other in those) else "yes",
            ]
        )
    head = ["bits of q", "B", "banks", "ports of a bank", "II", "floor", "cycles", "LUT", "FF", "DSP", "BRAM", "best"]
    every, refused = record["points"], [one for one in record["points"] if one["refusal"]]
    moduli = {one["bits"]: one["q"] for one in those}
    first, *others = sorted(set(record["luts_max"].values()), reverse=True)
    left = f"; {record['left_out']} others are not mapped yet" if record["left_out"] else ""
    limits = " or ".join([f"{first:,} (12 bits)", *(f"{one:,} (more bits)" for one in others)])
    text = (
        f"Of {len(every)} points the compiler refuses {len(refused)}, whose interval is out of reach. Points whose estimated LUT exceed "
        f"{limits} are not mapped{left}. The floor is n/2 · log2 n / B cycles, times the interval. A point is best if no "
        "other one of the same q is at least as good in cycles, LUT and DSP and better in one. "
        f"{MADE} {MAPPED} Schedules are for {record['mhz']} MHz. q is {listed([str(q) for q in moduli.values()])}. Command: "
        "`make hls`."
    )
    return "\n".join([table(head, lines, "rrrlrrrrrrrl"), "", wrapped(text)])


# The estimate's name of each figure, and how a mapping counts it.
ESTIMATES: dict[str, tuple[str, Callable[[Record], float]]] = {
    "luts": ("LUT", lambda cost: float(cost["lut"])),
    "registers": ("FF", lambda cost: float(cost["ff"])),
    "dsps": ("DSP", lambda cost: float(cost["dsp"])),
}


def deviations(title: str, over: str, off: dict[str, float]) -> list[str]:
    """A line of the estimate's deviations: the mean of absolute ones, and the worst."""
    worst = max(off, key=lambda name: abs(off[name]))
    mean = statistics.mean(abs(value) for value in off.values())
    most = f"{100 * off[worst]:+.0f} %".replace("-", "−")
    return [title, over, f"{100 * mean:.0f} %", *([most, worst] if off[worst] else ["0 %", "–"])]


@block("hls-estimate")
def hls_estimate() -> str:
    those, modules = points(), load(RECORD)["units"]

    def where(one: Record) -> str:
        found = one["found"]
        return f"{one['bits']} bits, B={one['b']}, {found['banks']} banks, II={found['interval']}"

    lines = []
    for name, (title, count) in ESTIMATES.items():
        choices = {where(one): one["found"]["estimate"][name] / count(one["mapped"]) - 1 for one in those}
        units = {one["case"]: one["estimate"][name] / count(one) - 1 for one in modules if count(one)}
        named = {f"`hls_{case.removeprefix('hls/')}`": value for case, value in units.items()}
        lines.append(deviations(title, f"{len(choices)} choices", choices))
        lines.append(deviations(title, f"{len(named)} modules", named))
    text = (
        "Deviations of the estimate from a mapping for UltraScale+: over the mapped points of "
        "[the transform's choices](hw/hls.md#choices-of-the-transform), and over the modules of q=3329 with up to two butterflies "
        "and without streams. The mean is that of absolute deviations. Command: `make hls`."
    )
    return "\n".join([table(["figure", "over", "mean", "worst", "worst at"], lines, "llrrl"), "", wrapped(text)])


# A module from C, and the hand-written one for the same sizes.
BY_HAND = {"hls/montgomery": "`hls_montgomery`, from C", "mont_mul/b256": "`mont_mul`, by hand"}


@block("hw-hls-by-hand")
def hw_hls_by_hand() -> str:
    known = cases("hw/reports/summary.json")
    lines = []
    for case, title in BY_HAND.items():
        one = known[case]
        speeds = one["ecp5_fmax_mhz"].values()
        figures = (f"{one[name]:,}" for name in ("latency", "cycles", "lut", "ff", "dsp"))
        lines.append([title, *figures, f"{min(speeds):.0f} to {max(speeds):.0f}"])
    ours, hand = (known[case] for case in BY_HAND)
    often = ours["cycles"] / hand["cycles"]
    mhz = {case: statistics.mean(known[case]["ecp5_fmax_mhz"].values()) for case in BY_HAND}
    by_clock = often * mhz["mont_mul/b256"] / mhz["hls/montgomery"]
    text = (
        f"Operands of 256 bits. In equal cycles, [mont_mul](mont_mul.md) accepts {digits(often)} products for one of `hls_montgomery`, and "
        f"{digits(by_clock)} at the mean Fmax of each design, with {digits(hand['dsp'] / ours['dsp'])} times the DSP. It reads "
        "both operands at once, and its result is below n. `hls_montgomery` reads 17 bits of `b` in each iteration, and its result is "
        "below 2n. The host's writes of `b` and reads of `r` are not counted. Fmax on an "
        "ECP5-85 of three seeds ([results](results.md)). LUT, FF and DSP by mapping for UltraScale+. Command: `make hw UNIT=hls`."
    )
    head = ["design", "latency", "interval", "LUT", "FF", "DSP", "Fmax on ECP5, MHz"]
    return "\n".join([table(head, lines), "", wrapped(text)])
