"""Fig. 7 of the CHAM paper: federated logistic regression by size and by step, Paillier against BFV; fits, and bytes on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import ciphermill as cm
from ciphermill._hetero.by_paillier import KEY_BITS
from ciphermill.linear_model import HeteroLogisticRegression
from ciphermill_bench.cases import Settings
from ciphermill_bench.cases.federated import accelerator, elementwise
from ciphermill_bench.cases.federated.iteration import Clear, Data, Iteration, Shape, Steps
from ciphermill_bench.cases.federated.processes import Agreeing, Alone, Apart, child, parties, wire
from ciphermill_bench.cases.phe import BITS as PHE_BITS
from ciphermill_bench.cases.phe import peer as phe_peer
from ciphermill_bench.cases.product import plan_params
from ciphermill_bench.cases.regression import Backend, Fit, Problem
from ciphermill_bench.datasets import BREAST_CANCER, load
from ciphermill_bench.harness import Contender, Sample, Stats
from ciphermill_bench.record import COMPUTED, MEASURED, Case, Peer, Report, tenths

#: The lengths of Paillier's keys: the usual one of FATE and phe, and the one with the security of our BFV sets.
KEYS = (2048, 3072)

#: The aim against phe, in every size.
PHE_RATIO = 500.0

#: The greatest relative norm of the gradient of a short fit, and that of a whole one.
LOOSE, TIGHT = 0.1, 1e-6


@dataclass(frozen=True)
class Size:
    """A size of an iteration with its aims."""

    shape: Shape
    #: Samples that Paillier is measured on; the times of all are computed from them.
    paillier_samples: int
    #: Samples from which the time of our Paillier is computed in addition, to test the computation.
    checked_samples: int | None = None
    #: Nanoseconds at most.
    limit: float | None = None
    #: NumPy's time over ours at least, and that of our own Paillier with 2048 bits.
    clear_ratio: float | None = None
    paillier_ratio: float | None = None


SIZES = [
    Size(Shape(569, 11, 20), 569, limit=6e6, paillier_ratio=15.0),
    Size(Shape(4096, 129, 128), 4096, checked_samples=512, limit=16e6),
    Size(Shape(4096, 4096, 4096), 512, limit=110e6, clear_ratio=0.25, paillier_ratio=1000.0),
    Size(Shape(8192, 4096, 4096), 512, limit=200e6, paillier_ratio=1000.0),
]

#: The sizes of a quick run, without aims.
QUICK = [Size(Shape(569, 11, 20), 569, checked_samples=128), Size(Shape(512, 64, 64), 64)]

#: The samples of the iteration by phe that is measured whole.
WHOLE, WHOLE_QUICK = 569, 16


@dataclass(frozen=True)
class Fits:
    """The data sets of the fits, and their aims in nanoseconds and bytes."""

    alone: float = 350e6
    apart: float = 600e6
    #: The TCP bytes of an iteration over those of its ciphertexts.
    wire: float = 1.05
    second: str = "4096x257"
    large: str = "100000x501"
    large_limit: float = 30e9
    memory: str = "8192x8192"
    memory_limit: float = 4e9


FITS = Fits()
FITS_QUICK = Fits(second="1024x33", large="4096x65", memory="512x128")


def run(settings: Settings, report: Report) -> None:
    """Iterations by size, then memory, fits and bytes."""
    sizes = [size for size in (QUICK if settings.quick else SIZES) if settings.takes(f"iteration/{size.shape.name}")]
    if sizes:
        _iterations(settings, report, sizes)
    fits = FITS_QUICK if settings.quick else FITS
    if settings.takes(f"memory/{fits.memory}"):
        _memory(settings, report, fits)
    _fits(settings, report, fits)


def _clear() -> Peer:
    return Peer("ciphermill, in clear", cm.__version__, "Apache-2.0")


def _numpy() -> Peer:
    return Peer.package("numpy", "BSD-3-Clause")


def _own_paillier() -> Peer:
    return Peer("ciphermill, Paillier", cm.__version__, "Apache-2.0")


def _rounded(steps: Mapping[str, float]) -> Steps:
    return {step: tenths(ns) for step, ns in steps.items()}


def _aims(**aims: float | None) -> dict[str, float] | None:
    given = {name: limit for name, limit in aims.items() if limit is not None}
    return given or None


# Iterations.


@dataclass(frozen=True)
class Measured:
    """The results of one scheme or peer that a row compares with."""

    stats: Stats
    steps: Steps
    kind: str = MEASURED


def _iterations(settings: Settings, report: Report, sizes: list[Size]) -> None:
    shapes = [size.shape for size in sizes]
    operations = _phe_operations(settings, max(shapes, key=lambda shape: shape.samples * shape.guest))
    for size in sizes:
        data = Data.draw(size.shape)
        _by_size(settings, report, size, data, operations)


def _phe_operations(settings: Settings, largest: Shape) -> dict[str, Stats]:
    """The operations of phe, alternating. The masks have the length of those of the largest size."""
    found = elementwise.contenders(20 if settings.quick else 200, _mask_bits(largest))
    stats = settings.measure("phe operations", list(found.values()), 30, 30, 0.0)
    return dict(zip(found, stats, strict=True))


def _mask_bits(shape: Shape) -> int:
    """The length of the longest masks of Paillier."""
    return max(terms.mask_bits for terms in shape.paillier_terms(PHE_BITS).values())


def _by_size(settings: Settings, report: Report, size: Size, data: Data, operations: dict[str, Stats]) -> None:
    name = f"iteration/{size.shape.name}"
    bfv = Iteration("BFV", data, size.shape.bfv_terms())
    clear: list[Contender] = [Clear(data, np.float64), Clear(data, np.int64)]
    ours, *floors = settings.measure(name, [bfv, *clear], 60, 7, 20.0)
    del clear
    parameters = _params(size.shape)

    def add(
        suffix: str,
        note: str,
        peer: Peer,
        theirs: Measured,
        asked: dict[str, float] | None = None,
        figures: dict[str, Any] | None = None,
    ) -> None:
        case = Case(f"{name}/{suffix}", parameters, settings.isa, note)
        figures = (figures or {}) | {"peer_steps_ns": _rounded(theirs.steps)}
        report.add(case, ours, peer, theirs.stats, asked=asked, figures=figures, peer_kind=theirs.kind)

    costs = {
        "steps_ns": _rounded(bfv.median_steps()),
        "sent_bytes": bfv.sent(),
        "guarantees": {party: terms.guarantee for party, terms in bfv.terms.items()},
        "accelerator": accelerator.products(settings.command, size.shape),
    }
    note = "both directions, masked and flooded, two keys, both parties in one process; NumPy computes the two products alone"
    for dtype, stats in zip(("float64", "int64"), floors, strict=True):
        asked = _aims(median_ns=size.limit, median_ratio=size.clear_ratio) if dtype == "float64" else None
        floor = Measured(stats, {"multiply": stats.median_ns})
        add(f"numpy-{dtype}", note, _numpy(), floor, asked, costs if dtype == "float64" else None)
    del bfv
    for bits in KEYS:
        theirs, extra = _paillier(settings, name, size, data, bits)
        asked = _aims(median_ratio=size.paillier_ratio) if bits == KEYS[0] else None
        add(
            f"paillier-{bits}",
            f"our Paillier with {bits} bits in the same protocol",
            _own_paillier(),
            theirs,
            asked,
            extra,
        )
    theirs, extra = _phe(settings, name, data, operations)
    asked = None if settings.quick else {"median_ratio": PHE_RATIO}
    note = f"phe with {PHE_BITS} bits in the same protocol, number by number; operations were timed in this run"
    add(f"phe-{PHE_BITS}", note, phe_peer(), theirs, asked, extra)


def _params(shape: Shape) -> dict[str, Any]:
    plans = {party: plan_params(terms.plan) for party, terms in shape.bfv_terms().items()}
    return {"samples": shape.samples, "features": shape.guest + shape.host, **shape.features, "plans": plans}


def _paillier(settings: Settings, name: str, size: Size, data: Data, bits: int) -> tuple[Measured, dict[str, Any]]:
    """An iteration by our Paillier, measured whole or on fewer samples."""

    def measure(samples: int) -> tuple[Iteration, Stats]:
        contender = Iteration(f"Paillier {bits}", data, size.shape.head(samples).paillier_terms(bits), samples)
        (stats,) = settings.measure(f"{name}/paillier-{bits}", [contender], 9, 2, 6.0)
        return contender, stats

    contender, stats = measure(size.paillier_samples)
    figures: dict[str, Any] = {"measured_samples": size.paillier_samples}
    if bits == KEYS[0] and size.checked_samples is not None:
        _, fewer = measure(size.checked_samples)
        figures["check"] = _check(stats, fewer, size.checked_samples)
    kind = COMPUTED if contender.computed else MEASURED
    return Measured(stats, contender.median_steps(), kind), figures


def _phe(settings: Settings, name: str, data: Data, operations: dict[str, Stats]) -> tuple[Measured, dict[str, Any]]:
    """An iteration by phe, computed; for the smallest size once whole."""
    shape = data.shape
    stats, steps = elementwise.computed(operations, shape)
    figures: dict[str, Any] = {
        "operations_ns": _rounded({operation: each.median_ns for operation, each in operations.items()}),
        "operations": elementwise.counts(shape),
    }
    if shape.name == BREAST_CANCER:
        part = data.head(WHOLE_QUICK if settings.quick else WHOLE)
        whole = elementwise.Whole(part, _mask_bits(shape))
        (measured,) = settings.measure(f"{name}/phe whole", [whole], 1, 1, 0.0)
        expected, _ = elementwise.computed(operations, part.shape)
        figures["check"] = _check(measured, expected, part.shape.samples) | {"steps_ns": _rounded(whole.steps)}
        stats = replace(stats, correct=stats.correct and measured.correct)
    return Measured(stats, steps, COMPUTED), figures


def _check(measured: Stats, computed: Stats, samples: int) -> dict[str, Any]:
    """A measured time and the computed one of the same work."""
    return {
        "samples": samples,
        "measured_ns": tenths(measured.median_ns),
        "computed_ns": tenths(computed.median_ns),
        "measured_over_computed": round(measured.median_ns / computed.median_ns, 4),
    }


# Memory.


class Remote(Contender):
    """Iterations in a process of their own."""

    name = "iteration in a fresh process"

    def __init__(self, settings: Settings, data: str) -> None:
        self._settings, self._data = settings, data
        self.last: dict[str, Any] = {}

    def sample(self) -> Sample:
        with child("iteration", self._data, self._settings.cores[:1]) as process:
            self.last = process.ask()
        return Sample(self.last["ns"], self.last["ns"])

    def correct(self) -> bool:
        return bool(self.last["correct"])


def _memory(settings: Settings, report: Report, fits: Fits) -> None:
    """The peak memory of both parties together, and that of a fit with floating-point data."""
    name = f"memory/{fits.memory}"
    remote = Remote(settings, fits.memory)
    (stats,) = settings.measure(name, [remote], 3, 2, 30.0)
    with child("wide", fits.memory, settings.cores[:1]) as process:
        whole = process.ask()
    samples, features = (int(number) for number in fits.memory.split("x"))
    figures = {
        "peak_bytes": remote.last["peak_bytes"],
        "fit_peak_bytes": whole["peak_bytes"],
        "fit_data_bytes": whole["data_bytes"],
        "fit_ns": whole["end_ns"] - whole["start_ns"],
        "fit_products": whole["products"],
    }
    note = (
        "both parties in one fresh process: data, matrices, keys and an iteration; the fit begins with data in binary64"
    )
    case = Case(name, {"samples": samples, "features": features}, settings.isa, note)
    report.add(case, stats, asked={"peak_bytes": fits.memory_limit}, figures=figures)


# Fits.


def _fits(settings: Settings, report: Report, fits: Fits) -> None:
    for name in (BREAST_CANCER, fits.second):
        if not settings.takes(f"fit/{name}/mtls"):
            continue
        problem = Problem(*load(name))
        if name == BREAST_CANCER and settings.takes(f"fit/{name}"):
            _fit(settings, report, fits, problem)
        _apart(settings, report, fits, name, problem)
    if settings.takes(f"fit/{fits.large}"):
        _large(settings, report, fits)


def _case(settings: Settings, name: str, data: str, note: str) -> Case:
    samples, features = (int(number) for number in data.split("x"))
    return Case(name, {"samples": samples, "features": features}, settings.isa, note)


def _fit(settings: Settings, report: Report, fits: Fits, problem: Problem) -> None:
    """All parties in one process: BFV, in clear, and Paillier."""
    name = f"fit/{BREAST_CANCER}"
    ours, plain = (Fit(problem, backend) for backend in _backends("bfv", "plain"))
    stats = settings.measure(name, [ours, plain], 60, 15, 15.0)
    figures = {"products": ours.model.report_.products, "seconds": ours.model.report_.seconds}
    note = "both parties in one process, masked and flooded, keys included; weights equal those in clear in every bit"
    case = _case(settings, name, BREAST_CANCER, note)
    report.add(case, stats[0], _clear(), stats[1], asked={"median_ns": fits.alone}, figures=figures)
    if settings.quick:
        return
    (baseline,) = _backends("paillier")
    slow = Fit(problem, baseline)
    (theirs,) = settings.measure(f"{name}/paillier", [slow], 3, 2, 20.0)
    note = f"as above; our Paillier with {KEY_BITS} bits"
    figures = {"peer_products": slow.model.report_.products, "peer_seconds": slow.model.report_.seconds}
    report.add(
        _case(settings, f"{name}/paillier-{KEY_BITS}", BREAST_CANCER, note),
        stats[0],
        _own_paillier(),
        theirs,
        figures=figures,
    )


def _backends(*names: Backend) -> tuple[Backend, ...]:
    return names


def _apart(settings: Settings, report: Report, fits: Fits, name: str, problem: Problem) -> None:
    """Two processes over mTLS on loopback, compared with one process."""
    expected = HeteroLogisticRegression(columns=problem.columns, backend="plain", tol=TIGHT).fit(problem.X, problem.y)
    cores = settings.cores[:2]
    with parties(name, cores) as both:
        apart, alone = Apart(both, expected), Fit(problem, "bfv")
        stats = settings.measure(f"fit/{name}/mtls", [apart, alone], 30, 7, 15.0)
        figures = {
            "first_ns": apart.first.ns,
            "products": apart.last.products,
            "cores": len(cores),
            **wire(both, LOOSE, TIGHT),
        }
    placed = "on a core each" if len(cores) == 2 else "on one core"
    note = (
        f"two processes {placed}, one thread each, mTLS on loopback, a new connection for each fit; from the guest's call until "
        "both have their weights; the peer is the fit in one process; wire_bytes are of an iteration, counted at a TCP proxy"
    )
    peer = Peer("ciphermill, one process", cm.__version__, "Apache-2.0")
    limit = fits.apart if name == BREAST_CANCER else None
    asked = _aims(median_ns=limit, wire_over_ciphertexts=fits.wire)
    report.add(_case(settings, f"fit/{name}/mtls", name, note), stats[0], peer, stats[1], asked=asked, figures=figures)


def _large(settings: Settings, report: Report, fits: Fits) -> None:
    """A fit of many samples in tiles, with all cores."""
    name, cores = f"fit/{fits.large}", settings.cores[:2]
    with child("alone", fits.large, cores) as process:
        plain = Alone(process, "plain")
        ours = Agreeing(process, "bfv", plain)
        theirs, stats = settings.measure(name, [plain, ours], 3, 2, 60.0)
    figures = {key: ours.last[key] for key in ("products", "seconds", "peak_bytes")}
    figures["sent_bytes"] = sum(count for *_, count in ours.last["bytes"])
    note = "both parties in one process on two cores, masked and flooded, keys included; weights equal those in clear in every bit"
    asked = {"median_ns": fits.large_limit}
    case = _case(settings, name, fits.large, note)
    report.add(case, stats, _clear(), theirs, asked=asked, figures=figures, threads=len(cores))
