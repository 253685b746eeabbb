"""Figures of the Python package in `docs/bench.md`."""

from typing import Any

from .records import Record, load
from .text import block, duration, gain, items, listed, ours, size, source, table, theirs

# Peers as the page names them.
NAMES = {
    "ciphermill bench hmvp": "the command",
    "tenseal": "TenSEAL",
    "phe": "phe",
    "sf-heu": "HEU",
    "numpy": "NumPy",
    "ciphermill, in clear": "ours",
}
# Peers of other libraries, and the command: their ratio is of interest. The others compute in clear.
COMPARED = ("ciphermill bench hmvp", "tenseal", "phe", "sf-heu")


def aim(found: Record) -> str:
    if not found["asked"]:
        return ""
    ((field, limit),) = found["asked"].items()
    return f"≤ {duration(limit)}" if field == "median_ns" else f"≥ {limit:,g}"


def spread_of(found: Record) -> float:
    """The range between the quartiles of our times, over their median."""
    first, third = found["quartiles_ns"]
    value: float = (third - first) / found["median_ns"]
    return value


def ckks(figures: dict[str, Any]) -> str:
    def both(kind: str) -> str:
        return f"{size(figures[kind])} and {size(figures[f'peer_{kind}'])}"

    return (
        f"Results of TenSEAL err by up to {figures['peer_greatest_error']:.2g}; ours are exact. As sent, the evaluation keys have "
        f"{both('keys_bytes')} (ours, TenSEAL), a vector {both('vector_bytes')}, a product {both('product_bytes')}."
    )


def lookup(found: Record) -> str:
    figures = found["figures"]
    return (
        f"A query of `{found['case']}` has {size(figures['query_bytes'])}, the answer {size(figures['answer_bytes'])}, and the "
        f"client's keys, sent once, {size(figures['keys_bytes'])}; the table has {size(figures['table_bytes'])}."
    )


def fit(figures: dict[str, Any]) -> str:
    return (
        f"The fit takes {figures['products']} products and sends {size(figures['sent_bytes'])}, "
        f"{size(figures['keys_bytes'])} of them keys. Its weights equal those of `plain` in every bit. The area under the ROC "
        f"curve is {figures['auc']:.6f}, that of the optimum of the quadratic loss {figures['auc_optimum']:.6f}."
    )


def inference(found: Record) -> str:
    figures = found["figures"]
    return (
        f"A request of `{found['case']}` sends {size(figures['sent_bytes'])} and returns {size(figures['returned_bytes'])}; the "
        f"client's keys, sent once, have {size(figures['keys_bytes'])}. The integer network labels "
        f"{100 * figures['accuracy']:.1f} % of unseen digits correctly, the network in binary64 "
        f"{100 * figures['accuracy_in_floats']:.1f} %."
    )


def contribution(found: Record) -> str:
    figures = found["figures"]
    return (
        f"A contribution of `{found['case']}` has {size(figures['sent_bytes'])}; {duration(figures['encrypt_ns'])} of its time "
        "are encryption."
    )


@block("bench-python")
def bench_python() -> str:
    bench = load("bench/python.json")
    rows: list[Record] = bench["rows"]
    cases = {found["case"]: found for found in rows}
    compared = [
        [f"`{found['case']}`", ours(found), NAMES[found["peer"]], theirs(found), gain(found), aim(found)]
        for found in rows
        if found["peer"] in COMPARED
    ]
    others = [
        [
            f"`{found['case']}`",
            ours(found),
            aim(found),
            f"{NAMES[found['peer']]} {theirs(found)}" if found["peer"] else "",
        ]
        for found in rows
        if found["peer"] not in COMPARED
    ]
    beyond = duration(cases["import"]["figures"]["beyond_numpy_ns"])
    widest = max(rows, key=spread_of)
    missed = [f"`{found['case']}`" for found in rows if found["met"] is False]
    sentences = [
        ckks(cases["ckks/1024x256"]["figures"]),
        *(lookup(found) for case, found in cases.items() if case.startswith("lookup/")),
        fit(cases["fit/breast-cancer"]["figures"]),
        *(inference(found) for case, found in cases.items() if case.startswith("digits/")),
        *(contribution(found) for case, found in cases.items() if case.startswith("statistics/")),
        f"After NumPy, the import takes {beyond}.",
        f"The quartiles of our times lie at most {100 * spread_of(widest):.0f} % of the median apart (`{widest['case']}`).",
        f"Aims missed in this run: {listed(missed) if missed else 'none'}.",
    ]
    paths = "`, `".join(sorted({found["isa"] for found in rows if found["isa"]}))
    head = ["case", "ours", "peer", "its time", "peer ÷ ours", "aim"]
    first = table(head, compared, "lrlrrr")
    second = table(["case", "ours", "aim", "in clear"], others, "lrrr")
    return f"{first}\n\n{second}\n\n{items(sentences)}\n\n{source(bench, path=paths)}"
