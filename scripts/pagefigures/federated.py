"""Figures of federated logistic regression, in `docs/federated.md` and `docs/papers.md`."""

import json
import math
import sys
from typing import Any

from .records import ROOT, Record, load, one, ratio
from .text import block, digits, duration, gain, items, listed, ours, size, source, spanned, table, theirs, wrapped

RECORD = "bench/federated.json"
COMPUTED = "computed from measured operations"

# The steps that a table shows. The others, removal of masks and messages, are in the whole.
STEPS = ("encrypt", "add", "multiply", "mask", "decrypt")
# Peers that encrypt, as the pages name them, with the ends of their cases.
ENCRYPTED = {
    "paillier-2048": "our Paillier, 2048 bits",
    "paillier-3072": "our Paillier, 3072 bits",
    "phe-2048": "phe, 2048 bits",
}
FLOOR, PHE, PAILLIER = "numpy-float64", "phe-2048", "paillier-2048"


def shape(name: str) -> str:
    """A size as a page writes it."""
    samples, columns = name.split("x")
    return f"{int(samples):,} × {int(columns):,}"


def sizes(bench: Record) -> list[str]:
    """The sizes of the iterations, in their order."""
    names = [found["case"].split("/")[1] for found in bench["rows"] if found["case"].startswith("iteration/")]
    return list(dict.fromkeys(names))


def case(bench: Record, name: str) -> Record:
    return one([found for found in bench["rows"] if found["case"] == name], f"the case {name}")


def iteration(bench: Record, name: str, peer: str) -> Record:
    return case(bench, f"iteration/{name}/{peer}")


def whole(bench: Record) -> str:
    """The path of a record that has all cases at full size."""
    if "--quick" in bench["command"]:
        sys.exit(f"figures: {RECORD} is of a quick run; run make bench CASES=federated")
    return str(bench["rows"][0]["isa"])


def marked(found: Record, text: str) -> str:
    """A figure of a peer, in italics if it is computed."""
    return f"*{text}*" if found["peer_kind"] == COMPUTED else text


def share(steps: dict[str, float]) -> float:
    """The part of an iteration that is the product."""
    return steps["multiply"] / sum(steps.values())


@block("federated-iterations")
def federated_iterations() -> str:
    bench = load(RECORD)
    path = whole(bench)
    lines = []
    for name in sizes(bench):
        floor = iteration(bench, name, FLOOR)
        compared = [iteration(bench, name, peer) for peer in ENCRYPTED]
        lines.append(
            [shape(name), ours(floor), limits(floor["asked"]), theirs(floor)]
            + [marked(found, gain(found)) + aim_of(found) for found in compared]
        )
    head = ["samples × columns", "BFV", "aim", "NumPy", *[f"{name} ÷ BFV" for name in ENCRYPTED.values()]]
    return f"{table(head, lines)}\n\n{source(bench, path=path)}"


def limits(asked: dict[str, float]) -> str:
    """The aims of an iteration, in time and compared with NumPy."""
    words = f"≤ {duration(asked['median_ns'])}"
    return f"{words}, ≤ {1 / asked['median_ratio']:g} × NumPy" if "median_ratio" in asked else words


def aim_of(found: Record) -> str:
    """The aim of a ratio, in brackets."""
    return f" (≥ {found['asked']['median_ratio']:,g})" if found["asked"] else ""


@block("federated-steps")
def federated_steps() -> str:
    bench = load(RECORD)
    path = whole(bench)
    lines, sentences = [], [comparison_of_steps(bench)]
    for name in sizes(bench):
        floor = iteration(bench, name, FLOOR)
        steps = floor["figures"]["steps_ns"]
        lines.append(step_cells(shape(name), "BFV", steps, floor["median_ns"], lambda text: text))
        for peer, text in ENCRYPTED.items():
            found = iteration(bench, name, peer)
            lines.append(
                step_cells(
                    "",
                    text,
                    found["figures"]["peer_steps_ns"],
                    found["peer_median_ns"],
                    lambda t, f=found: marked(f, t),
                )
            )
        for peer in (PAILLIER, PHE):
            found = iteration(bench, name, peer)
            if check := found["figures"].get("check"):
                sentences.append(checked(name, peer, check))
    head = ["samples × columns", "scheme", *STEPS, "whole", "product's share"]
    return f"{table(head, lines, 'llrrrrrrr')}\n\n{items(sentences)}\n\n{source(bench, path=path)}"


def comparison_of_steps(bench: Record) -> str:
    """A sentence on the steps in which BFV is not faster than Paillier."""
    slower = []
    for name in sizes(bench):
        steps = iteration(bench, name, FLOOR)["figures"]["steps_ns"]
        for peer, text in ENCRYPTED.items():
            others = iteration(bench, name, peer)["figures"]["peer_steps_ns"]
            slower += [f"{step} at {shape(name)} ({text})" for step in STEPS if steps[step] >= others[step]]
    if not slower:
        return "Every step is faster by BFV than by Paillier, in every size."
    return f"Steps in which BFV is not faster than Paillier: {listed(slower)}."


def step_cells(name: str, scheme: str, steps: dict[str, float], total: float, mark: Any) -> list[str]:
    times = [mark(duration(steps[step])) if steps.get(step) else "" for step in STEPS]
    return [name, scheme, *times, mark(duration(total)), f"{100 * share(steps):.0f} %"]


def checked(name: str, peer: str, check: dict[str, Any]) -> str:
    """A sentence on a measured time and the computed one."""
    samples, times = int(name.split("x")[0]), f"{check['measured_over_computed']:.2f} times"
    if peer == PHE:
        extent = "A whole iteration" if check["samples"] == samples else f"An iteration of {check['samples']:,} samples"
        return (
            f"{extent} of {shape(name)} by phe was measured once: {duration(check['measured_ns'])}, {times} the time that is "
            "computed from its operations."
        )
    return f"For {shape(name)}, our Paillier takes {times} the time that is computed from {check['samples']:,} of the samples."


@block("federated-fits")
def federated_fits() -> str:
    bench = load(RECORD)
    path = whole(bench)
    fits = [found for found in bench["rows"] if found["case"].startswith("fit/")]
    lines = [
        [
            f"`{found['case']}`",
            str(found["threads"]),
            ours(found),
            f"≤ {duration(found['asked']['median_ns'])}" if "median_ns" in (found["asked"] or {}) else "",
            f"{found['peer'].removeprefix('ciphermill, ')} {theirs(found)}",
        ]
        for found in fits
    ]
    sentences = [wire(found) for found in fits if found["case"].endswith("/mtls")]
    sentences += [memory(found) for found in bench["rows"] if found["case"].startswith("memory/")]
    sentences.append(missed_aims(bench))
    head = ["case", "threads", "time", "aim", "compared with"]
    return f"{table(head, lines, 'lrrrl')}\n\n{items(sentences)}\n\n{source(bench, path=path)}"


def missed_aims(bench: Record) -> str:
    """Sentences on the aims that the record misses, each with its size and its value."""
    missed = []
    for found in bench["rows"]:
        texts = shortfalls(found)
        if (found["met"] is False) != bool(texts):
            sys.exit(
                f"figures: {RECORD} and the page disagree on the aims of {found['case']}; add its aim to shortfalls"
            )
        # The peer is the last part of a case's name.
        missed += [f"`{found['case'].rpartition('/')[0]}` {text}." for text in texts]
    return f"Aims missed in this run: {len(missed) or 'none'}. {' '.join(missed)}".rstrip()


def shortfalls(found: Record) -> list[str]:
    """The aims of a row that it misses, each with its value."""
    asked, texts = found["asked"] or {}, []
    if found["median_ns"] > asked.get("median_ns", math.inf):
        texts.append(f"takes {duration(found['median_ns'])}; the aim is at most {duration(asked['median_ns'])}")
    if "median_ratio" in asked and ratio(found) < asked["median_ratio"]:
        peer = "NumPy" if found["case"].endswith(FLOOR) else found["peer"]
        wanted = asked["median_ratio"]
        if wanted < 1:
            texts.append(f"takes {digits(1 / ratio(found))} × the time of {peer}; the aim is at most {1 / wanted:g} ×")
        else:
            bits = found["case"].rpartition("-")[2]
            texts.append(
                f"by BFV is {digits(ratio(found))} × as fast as by our Paillier, {bits} bits; the aim is at least {wanted:,g} ×"
            )
    return texts


def wire(found: Record) -> str:
    figures = found["figures"]
    beyond = 100 * (figures["wire_over_ciphertexts"] - 1)
    return (
        f"An iteration of `{found['case']}` has {size(figures['ciphertext_bytes'])} of ciphertexts and "
        f"{size(figures['wire_bytes'])} in the TCP connection, {beyond:.1f} % more; the aim is at most 5 % more. The fit takes "
        f"{figures['products']} iterations, and the first one in new processes {duration(figures['first_ns'])}."
    )


def memory(found: Record) -> str:
    figures = found["figures"]
    return (
        f"An iteration of {shape(found['case'].split('/')[1])} needs {size(figures['peak_bytes'])} of memory at most for both "
        f"parties together; the aim is {size(int(found['asked']['peak_bytes']))}. A fit of the estimator, which begins with "
        f"{size(figures['fit_data_bytes'])} of data in binary64, needs {size(figures['fit_peak_bytes'])}."
    )


def between(times: list[float]) -> str:
    """The range of some times, or the one that all are."""
    return duration(times[0]) if duration(min(times)) == duration(max(times)) else spanned(times)


def require_record(name: str, accelerator: dict[str, Any]) -> None:
    """The cycles of 4096 rows are those of Table 3's record, if a row is one ciphertext."""
    rows = "m4096/n256"
    for machine in ("cham-paper", "cham-ciphermill"):
        (cycles,) = (
            found["cycles"]
            for found in json.loads((ROOT / "docs/arch/pipeline-table3.json").read_text())
            if found["machine"] == machine and found["case"].endswith(rows)
        )
        if name == "4096x8192" and accelerator[machine]["cycles"] != [cycles, cycles]:
            sys.exit(
                f"figures: {RECORD} has {accelerator[machine]['cycles']} cycles of {machine} for {name}, "
                f"docs/arch/pipeline-table3.json {cycles} for each product; run make bench CASES=federated"
            )


@block("papers-cham-products")
def papers_cham_products() -> str:
    """The products of an iteration, and the gain of the accelerator."""
    bench = load(RECORD)
    path = whole(bench)
    lines = []
    entries: dict[str, list[float]] = {PAILLIER: [], PHE: []}
    for name in sizes(bench):
        floor = iteration(bench, name, FLOOR)
        accelerator = floor["figures"]["accelerator"]
        require_record(name, accelerator)
        model, own = (accelerator[machine]["multiply_ns"] for machine in ("cham-paper", "cham-ciphermill"))
        cells = [shape(name), duration(floor["figures"]["steps_ns"]["multiply"]), duration(model), duration(own)]
        for peer in (PAILLIER, PHE):
            found = iteration(bench, name, peer)
            multiply = found["figures"]["peer_steps_ns"]["multiply"]
            entries[peer].append(multiply / (found["params"]["samples"] * found["params"]["features"]))
            cells += [marked(found, duration(multiply)), marked(found, digits(multiply / model))]
        lines.append(cells)
    head = ["samples × columns", "our BFV", "`cham-paper`", "`cham-ciphermill`"]
    for peer in (PAILLIER, PHE):
        head += [ENCRYPTED[peer], "÷ `cham-paper`"]
    times = [f"{between(each)} by {ENCRYPTED[peer]}" for peer, each in entries.items()]
    note = wrapped(f"An entry of the matrices takes {listed(times)}.")
    return f"{table(head, lines)}\n\n{note}\n\n{source(bench, path=path)}"


@block("papers-cham-iterations")
def papers_cham_iterations() -> str:
    """Whole iterations, with the product by our CPU and by the accelerator."""
    bench = load(RECORD)
    path = whole(bench)
    lines, bounds = [], []
    for name in sizes(bench):
        floor = iteration(bench, name, FLOOR)
        multiply = floor["figures"]["steps_ns"]["multiply"]
        model = floor["figures"]["accelerator"]["cham-paper"]["multiply_ns"]
        accelerated = floor["median_ns"] - multiply + model
        cells = [shape(name), ours(floor), duration(accelerated), f"{100 * model / accelerated:.0f} %"]
        for peer in (PAILLIER, PHE):
            found = iteration(bench, name, peer)
            cells += [marked(found, text) for text in (gain(found), digits(found["peer_median_ns"] / accelerated))]
        part = share(iteration(bench, name, PHE)["figures"]["peer_steps_ns"])
        bounds.append((name, part))
        lines.append([*cells, f"{100 * part:.1f} %", digits(1 / (1 - part))])
    name, part = max(bounds, key=lambda pair: pair[1])
    note = wrapped(
        f"The last column is the greatest gain if only phe's product becomes faster: at {shape(name)} the product is "
        f"{100 * part:.1f} % of the iteration, so the bound is {digits(1 / (1 - part))}."
    )
    head = ["samples × columns", "BFV", "BFV, product on `cham-paper`", "this product's share"]
    for peer in (PAILLIER, PHE):
        head += [f"{ENCRYPTED[peer]} ÷ BFV", "÷ BFV with `cham-paper`"]
    head += ["phe: product's share", "bound by it"]
    return f"{table(head, lines)}\n\n{note}\n\n{source(bench, path=path)}"
