"""Recomputes the arithmetic of docs/papers.md from the numbers that the five papers print.

    python scripts/papers.py            # exit status 1 if the page differs from the numbers

Each `@paper` function holds the printed tables of one section of the page, and yields the texts that the section must
contain. A text is made of recomputed figures, so a wrong figure in the page or in the table here is found. Every row of
the page whose kind or evidence is `arithmetic` must contain at least one of these texts, or stand in ARGUED.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hlspaper as listings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "papers.md"
SECTIONS: dict[int, Callable[[], Iterator[str]]] = {}

# Rows without a figure to recompute: the beginning of the row, and why.
ARGUED = {
    "| Table 14 | power |": "a statement about the rows of a table",
    "| Fig. 1, Fig. 2 | use case; butterflies": "a count of products in two formulas",
    "| Fig. 10 | time against A100": "a statement about a missing number",
    "| Table 1 | complexity": "orders of growth",
}


def paper(section: int) -> Callable[[Callable[[], Iterator[str]]], Callable[[], Iterator[str]]]:
    """Registers the texts of a section."""

    def register(function: Callable[[], Iterator[str]]) -> Callable[[], Iterator[str]]:
        SECTIONS[section] = function
        return function

    return register


def hold(condition: bool, what: str) -> None:
    if not condition:
        sys.exit(f"papers: {what} does not hold")


def agree(printed: float, computed: float, within: float, what: str) -> None:
    hold(abs(printed - computed) <= within, f"{what}: printed {printed}, computed {computed}")


@paper(1)
def nvme() -> Iterator[str]:
    lwe, ring, glwe, levels, switch_levels = 800, 16384, 1, 5, 7
    key = lwe * (glwe + 1) * levels * (glwe + 1) * ring * 8
    switch = (lwe + 1) * switch_levels * glwe * ring * 4
    yield f"the formulas give {key / 1e9:.3f} GB, {switch / 1e6:.1f} MB and {(lwe + 1) * 4} bytes"
    yield f"{lwe} CMuxes × 6 passes × 7168 cycles at 200 MHz are {lwe * 6 * 7168 / 200e3:.0f} ms"

    # Table 9: used, available, printed percentage; Table 10: bridge, engine, other.
    resources = {
        "LUT": (625520, 1303680, 47.98),
        "FF": (763718, 2607360, 29.29),
        "BRAM": (1265.5, 2016, 62.72),
        "URAM": (96, 960, 10.00),
        "DSP": (1564, 9024, 17.33),
    }
    parts = {
        "LUT": (134504, 461123, 29893),
        "FF": (115600, 615303, 32818),
        "BRAM": (233, 1023.5, 8),
        "URAM": (0, 64, 32),
        "DSP": (9, 1549, 6),
    }
    for name, (used, available, percent) in resources.items():
        if name != "BRAM":
            agree(percent, 100 * used / available, 0.0051, f"Table 9, {name}")
    for name in ("LUT", "URAM", "DSP"):
        hold(sum(parts[name]) == resources[name][0], f"Table 10, {name}")
    used, available, percent = resources["BRAM"]
    yield f"{used} of {available} block RAMs are {100 * used / available:.2f} %, not {percent} %"
    yield f"block RAMs add up to {sum(parts['BRAM'])}, Table 9 has {used}"
    yield f"registers to {sum(parts['FF']):,}, Table 9 has {resources['FF'][0]:,}"

    # Tables 11 to 15: milliseconds, watts, printed joules.
    yield f"two bootstraps and three sums are {2 * 249.96 + 3 * 0.124:.2f} ms"
    cpu, m1, board, platform = (63.08, 3970, 250.42), (4.64, 30800, 143), (59.18, 250, 14.80), (77.79, 250, 19.44)
    for name, (watts, time, joules) in {"Ryzen": cpu, "M1": m1, "board": board, "platform": platform}.items():
        agree(joules, watts * time / 1e3, 0.1, f"Table 15, {name}")
    gpus = ((43.56, 617, 23.44), (41.77, 754, 22.46))
    first, second = (watts * time / 1e3 for watts, time, _ in gpus)
    yield f"GPU: 43.56 W × 617 ms = {first:.1f} J and 41.77 W × 754 ms = {second:.1f} J, printed 23.44 and 22.46"
    for watts, _, joules in gpus:
        agree(joules, watts * 538 / 1e3, 0.02, "Table 15, GPU at 538 ms")
    yield "both printed values are the power × 538 ms"
    low, high = (joules / platform[2] for joules in (22.46, 23.44))
    agree(1.15, low, 0.006, "the least printed gain over a GPU")
    agree(1.2, high, 0.006, "the greatest printed gain over a GPU")
    yield f"{first / platform[2]:.2f} to {second / platform[2]:.2f} times by the paper's own power and time"
    yield f"The accelerator board alone needs {board[2]:.2f} J, {first / board[2]:.1f} to {second / board[2]:.1f} times less"

    chip, dynamic = (0.59, 45.63, 5.80), (3.71, 5.75, 4.47, 2.07, 0.24, 0.73, 0.03, 25.27, 3.36)
    agree(45.63, sum(dynamic), 0.0051, "Table 16 (b)")
    yield f"(a) adds up to {sum(chip):.2f} W, printed 52.11"
    yield f"(b) HBM is {2527 / 45.63:.0f} % of 45.63 W, printed 52; Other {336 / 45.63:.0f} %, printed 9"


@paper(2)
def cham() -> Iterator[str]:
    # Table 1: the three rows, what the device has, the printed percentage.
    table1 = (
        ("LUT", (259318, 259502, 234066), 1182240, 63.68),
        ("FF", (89894, 90043, 302670), 2364480, 20.41),
        ("BRAM", (640, 640, 278), 2160, 72.13),
        ("URAM", (294, 294, 7), 960, 61.98),
        ("DSP", (986, 986, 14), 6840, 29.04),
    )
    for name, rows, available, percent in table1:
        agree(percent, 100 * sum(rows) / available, 0.0051, f"Table 1, {name}")
    yield "all five sums and percentages"
    hold(6 * 4096 * 2 // 8 == 6144, "Table 2, cycles of N/2 log2 N butterflies in fours")
    agree(7.36, 202 * 896 / (6144 * 4), 0.0051, "Table 2, F1")
    agree(2.78 / 1.96, 9248 / 6508, 0.01, "Table 2, LUT")

    # Table 3: milliseconds of CPU, GPU and FPGA.
    table3 = {
        64: (45.57, 13.25, 2.28),
        128: (62.36, 15.95, 3.57),
        256: (100.45, 25.95, 6.17),
        512: (174.45, 47.01, 11.4),
        1024: (352.06, 92.79, 21.88),
        2048: (639.78, 182.59, 42.86),
    }
    latency = [fpga / gpu for _, gpu, fpga in table3.values()]
    throughput = [gpu / fpga for _, gpu, fpga in table3.values()]
    gains = [cpu / fpga for cpu, _, fpga in table3.values()]
    yield (
        f"Table 3 gives {min(latency):.2f} to {max(latency):.2f}; the throughput ratio of "
        f"{sum(throughput) / len(throughput):.1f} is the average of its rows"
    )
    hold(max(gains) == gains[0] and min(gains) == gains[-1], "the order of Table 3's gains")
    yield f"Table 3 falls from {gains[0]:.1f} at 64 rows to {gains[-1]:.1f} at 2048"
    yield f"Table 3 gives at most {max(gains):.0f} times"
    per_row = (table3[2048][2] - table3[64][2]) / (2048 - 64) * 1e3
    yield f"Table 3 grows by {per_row:.1f} µs per row"
    agree(6144, per_row * 300, 10, "cycles of a row")
    # Section 4.2: gains of the products within logistic regression, and of the whole.
    least, most, whole = 30, 1800, 36
    yield (
        f"the factor of {most / least:.0f} between the two numbers is that of {4096 * least / most:.0f} to 4096 columns. "
        f"{most} times the {per_row:.1f} µs of a row in Table 3 are {most * per_row / 4096:.1f} µs for each of 4096 entries"
    )
    yield f"a gain of {whole} needs a product that takes at least {100 * (1 - 1 / whole):.1f} % of the baseline"
    unit = 300e6 / 6144
    yield f"6144 cycles at 300 MHz are {unit / 1e3:.1f} k/s for one unit, so {4 * unit / 1e3:.0f} k/s are four units"
    yield f"Table 3 alone needs {2047 / table3[2048][2]:.1f} k key switches per second"


@paper(3)
def rvfhe() -> Iterator[str]:
    yield f"Their product is {29.44 * 1.3 * 3.37:.1f}"
    # Our estimate of the base, divided by the gains one after the other.
    stages = [290, 290 / 29.44, 290 / 29.44 / 1.3, 290 / 29.44 / 1.3 / 3.37]
    yield " → ".join(f"{stage:.3g}" for stage in stages)
    word, m, x, y = 2**8, 15, 5, 3
    left = x * y - m * (y * (x * word // m) // word)
    yield f"with words of 8 bits, {x}·{y} modulo {m} gives {left - m if left > m else left}"
    agree(4.54, 1.34 * 3.39, 0.0051, "the gain of the FFT")
    # Table 4: combinational, other, printed total.
    adder, multiplier = (4646.52, 1270.70, 5917.23), (117720.76, 5353.21, 123160.23)
    agree(adder[2], adder[0] + adder[1], 0.011, "Table 4, adder")
    yield f"the multiplier's parts are {multiplier[2] - multiplier[0] - multiplier[1]:.0f} less than their total"
    # Table 5: short circuit, switching, leakage, printed total.
    for row in (
        (0.032, 0.120, 0.001, 0.154),
        (0.080, 0.0929, 0.034, 0.206),
        (0.113, 0.213, 0.035, 0.360),
        (0.002, 0.001, 0.001, 0.003),
        (0.148, 0.147, 0.022, 0.317),
        (2.859, 2.826, 1.424, 7.109),
        (3.009, 2.974, 1.447, 7.430),
    ):
        agree(row[3], sum(row[:3]), 0.0016, "Table 5")
    yield "the sums hold within rounding"
    # Table 6: square millimetres and milliwatts.
    hold(round(0.125 + 0.033 + 0.015 + 0.054, 3) == 0.227, "Table 6, a core")
    hold(round(3.63 + 1.13 + 1.10 + 0.16 + 0.27, 2) == 6.29, "Table 6, area")
    hold(766 + 194 + 400 + 82 + 44 == 1486, "Table 6, power")
    units = 32 * (multiplier[2] + adder[2]) / 1e6
    yield f"its sums hold; its computing units are {units / 0.125:.0f} times smaller than 32 units of Table 4"
    yield f"32 of both are {units:.2f} mm² per core; Table 6 gives its computing unit 0.125 mm², {units / 0.125:.0f} times less"
    yield f"512 of both draw {512 * (7.43 + 0.36) / 1e3:.2f} W, in an array of 766 mW"
    gpu = 1.486 * 8.53 / 8.96
    yield f"a gain of 8.53 implies an A100 of {gpu:.2f} W"
    yield f"the GPU would draw {gpu:.2f} W"
    cycles = 13 * 4096 / 512 * 2 / 0.8782
    hold(round(cycles) == 237, "the cycles of the paper's utilization")
    yield f"Scratchpad to scratchpad it gives the A100 {cycles * 8.96 / 1e3:.1f} µs at 2^13"
    # 32-bit coefficients in and out, by the A100's 1,555 GB/s and the array's 32 GB/s.
    moved = 2 * 8192 * 4
    yield (
        f"The A100's memory allows {moved / 1555e3:.2f} µs for each of many transforms; the array's own DRAM "
        f"{moved / 32e3:.1f} µs"
    )


@paper(4)
def hls() -> Iterator[str]:
    q, n, bits = listings.Q, 256, 8
    hold((q - 1) % n == 0 and (q - 1) % (2 * n) != 0, "the roots of unity modulo 3329")
    yield "A cyclic transform exists, ψ_512 does not"
    root = listings.root_of_order(n)
    values = [(17 * i * i + 5) % q for i in range(n)]
    others = [(5 * i + 1) % q for i in range(n)]
    expected = listings.transform(values, root)
    cyclic = listings.product_without_reversals(values, others) == listings.cyclic_product(values, others)
    hold(cyclic, "a product without reversals")
    yield "products are modulo x^256 − 1"
    yield "a GS pair and a CT inverse give the cyclic product"

    hold(listings.algorithm1(values, root) == expected, "algorithm 1 with five corrections")
    found = listings.outcomes1()
    hold(len(found.right) == 1, "the five corrections of algorithm 1 are all needed")
    yield "right with five corrections"
    yield "`m++` never ends its loop; `j++` must be j += m; l−1 of l passes run"
    yield f"Of all {len(found.right) + found.never_end + found.leave + found.wrong} readings"
    yield f"The sign alone negates {listings.negated_by_sign()} of {n} words"
    mended = listings.algorithm2(values, listings.powers(root, n // 2))
    hold(mended == listings.in_reverse(expected), "algorithm 2 with three corrections")
    yield "right with three corrections"
    yield "The rotation must be by l−i−1, the twiddle index ((s+b)>>i)<<i, and the step s += B"
    yield f"It pairs bits {', '.join(map(str, listings.pairing(listings.printed_rotation)))}."
    turned = {order for turn, _, order in listings.readings2(listings.mended_twiddle) if turn == "l-i+1"}
    hold(turned == {"rotated by 2"}, "the order of words that the printed rotation fits")
    yield "stored with their index rotated by two bits"
    hold(not listings.readings2(listings.printed_twiddle), "the error of algorithm 2 as printed")
    orders, inputs = len(listings.tables(16)), len(listings.inputs(16))
    yield f"A transform in none of {3 * orders * inputs} readings"
    yield f"stages 0 and 1 read the same {listings.shared_entries()} entries"
    hold(("l-i-1", "by stage", "natural") in listings.readings2(listings.staged_twiddle), "the index by stage")
    yield "The nearest right index is (1<<(l−1−i)) + ((s+b)>>i)"
    yield "Right if b is one variable that keeps its last value"

    places = {(x >> 1, 1 - listings.parity(x)) for x in range(n)}
    yield f"each of the {len(places)} words has a separate location"
    crowded = {name: len(listings.crowded_stages(bank, 2)) for name, bank in listings.BANKS.items()}
    hold(not listings.crowded_stages(listings.BANKS["parity"], 1), "parity banks for one butterfly")
    yield (
        f"For B=2 two reads meet in a bank in all {crowded['parity']} stages, with `block factor=8` and parity in "
        f"{crowded['blocks and parity']} of {bits}"
    )
    yield f"all {listings.most_in_a_bank(listings.BANKS['blocks'], 2)} words of an iteration are in one"
    distance, inside = listings.read_after_write(2)
    hold(not inside and distance == n // 8, "dependences of Table 1")
    yield f"a word is read {distance} iterations after its write"
    yield "two pragmas claim too much"

    iterations = bits * (n // 2) // 2
    (ct,), (gs,) = listings.intervals(2114, iterations), listings.intervals(2094, iterations)
    yield (
        f"fits {iterations - 1}·{ct[0]} + {ct[1]} and + {gs[1]}, an initiation interval of {gs[0]}; "
        f"the floor for B=2 is {iterations} cycles"
    )
    yield f"Only an interval of {gs[0]} leaves a pipeline"
    cycles, registers, logic = (100 * (gs / ct - 1) for gs, ct in ((2094, 2114), (8568, 9276), (7426, 7351)))
    yield f"GS has {-cycles:.1f} % fewer cycles, {-registers:.1f} % fewer FF and {logic:.1f} % more LUT"

    hold(all(listings.algorithm3(v) == listings.reversed_bits(v, 8) for v in range(256)), "algorithm 3")
    hold(all(listings.reversal_by_masks(v, 4) == listings.reversed_bits(v, 16) for v in range(1 << 16)), "16 bits")
    hold(all(listings.reversal_by_masks(v, 4) >> 7 == listings.reversed_bits(v, 9) for v in range(512)), "9 bits")
    yield "right for all 256 values; four steps reverse 16 bits"
    yield "9 bits are 16 reversed, >> 7: right for all 512 values"
    yield "three steps of four operations and a shift"
    for width in (8, 9):
        floor = listings.reversal_floor(width)
        hold(2 * len(listings.reversal_schedule(width)) == floor, f"a schedule for the floor of {width} bits")
    yield f"{listings.reversal_floor(8)} is the floor of eight two-port banks"
    yield f"For 9 bits the floor of eight two-port banks is {listings.reversal_floor(9)}"
    yield f"They grow {3202 / 1165:.2f} times for one bit more, LUT {5379 / 2169:.2f} times"


@paper(5)
def paillier() -> Iterator[str]:
    for used, available, percent in ((195955, 341280, 57.42), (199844, 682560, 29.28), (2635, 3528, 74.69)):
        agree(percent, 100 * used / available, 0.0051, "Table 2")
    yield "its three percentages"
    product, power, cpu_product, cpu_power = 0.523, 667.42, 1.673, 1165.91
    hold(round(cpu_product / product, 2) == 3.20 and round(cpu_power / power, 2) == 1.75, "Table 3")
    gains = [100 * (ratio - 1) for ratio in (cpu_product / product, cpu_power / power)]
    yield f"Table 3 gives {gains[0]:.1f} % and {gains[1]:.1f} %"
    yield f"{power / product:.0f} product times for 1024 exponent bits"
    yield f"The 3649 encryptions/s of a 512-bit exponent are {1e6 / 3649.2 / product:.0f} product times"
    lut = 35478 * 8
    yield f"{100 * 1498.3 / 3593.7:.1f} % by Table 4: 1498.3 of 3593.7"
    yield f"35,478 CLB are {lut:,} LUT"
    yield f"its area-time products use {lut:,} LUT, Table 2 has 195,955"
    agree(189430.10, lut * power / 1e3, 1, "Table 4, area-time product of the power")
    yield f"1/{product} µs is {1e3 / product:.0f} K/s; the area-time products of Table 4 use {151.28e3 / lut:.3f} µs"
    # Section 3.2: ours, theirs, printed percentage more.
    printed = (
        (1875.8, 180.8, 937.59),
        (1875.8, 992.41, 88.99),
        (1875.8, 1863.2, 0.68),
        (1498.3, 484.57, 209.33),
        (1498.3, 657.9, 127.74),
        (3649.2, 956.69, 281.38),
        (3649.2, 680.3, 436.34),
    )
    worst = max(abs(percent - 100 * (ours / theirs - 1)) for ours, theirs, percent in printed)
    yield (
        f"1875.8 / 719.4 is {100 * (1875.8 / 719.4 - 1):.1f} % more; the other {len(printed)} percentages hold "
        f"within {worst:.2f}"
    )


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def main() -> int:
    page = PAGE.read_text()
    faults = []
    for section, body in re.findall(r"^## (\d)\. .*?\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL):
        texts = list(SECTIONS[int(section)]())
        faults += [f"section {section} lacks: {text}" for text in texts if text not in plain(body)]
        for row in body.splitlines():
            covered = any(text in row for text in texts) or any(row.startswith(start) for start in ARGUED)
            if re.search(r"\| arithmetic\b[^|]*\|", row) and not covered:
                faults.append(f"section {section}: no figure of this row is recomputed: {row[:100]}")
    unused = [start for start in ARGUED if start not in page]
    faults += [f"no row begins with: {start}" for start in unused]
    for fault in faults:
        print(f"docs/papers.md: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
