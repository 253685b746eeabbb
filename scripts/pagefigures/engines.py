"""Figures of whole engines that RTL simulation and cycle models count."""

from .records import load
from .text import block, digits, source, table, wrapped

# The paper's clock.
CLOCK = 200e6


@block("engine-tfhe")
def engine_tfhe() -> str:
    record = load("evidence/engines.json")
    results = record["results"]
    demo = results["tfhe_engine"]["result"]
    cost, paper, slow = demo["engine_cost"], demo["paper"], results["slow_memory"]
    lines = [
        [name, f"{cycles:,}", f"{seconds * CLOCK:,.0f}", f"{digits(seconds * CLOCK / cycles)}"]
        for name, cycles, seconds in (
            ("HomAdd or HomSub", cost["addition_cycles"], paper["homadd_fpga_s"]),
            ("HomIntMult", cost["integer_product_cycles"], paper["homintmult_fpga_s"]),
            ("bootstrap in the program", cost["bootstrap_cycles"], paper["bootstrap_fpga_s"]),
            ("program x·y of Table 5", cost["program"]["cycles"], paper["program_fpga_s"]),
        )
    ]
    head = ["n = 800", "cycles", "paper, at 200 MHz", "paper ÷ ours"]
    low, high = slow["latency"]
    note = wrapped(
        f"The {demo['programs']} simulated programs have {demo['bootstraps']} bootstraps and "
        f"{demo['wrong_pairs'] or 'no'} wrong products. Cycles, stalls and bytes of every port are those of the model. With a "
        f"memory that answers after {low} to {high} cycles and pauses in {slow['gaps']} cycles, a bootstrap takes "
        f"{slow['cycles']:,} cycles, {100 * slow['added']:.1f} % more. The simulation of a bootstrap takes "
        f"{demo['seconds']['bootstrap']:.0f} s on a core."
    )
    return f"{table(head, lines)}\n\n{note}\n\n{source(record, average='')}"


@block("engine-paillier")
def engine_paillier() -> str:
    record = load("evidence/engines.json")
    jobs = record["results"]["paillier_engine"]["random_jobs"]
    note = wrapped(f"{jobs:,} random jobs have the values of their definition and the cycles of the model.")
    return f"{note}\n\n{source(record, average='')}"
