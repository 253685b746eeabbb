"""The client spec: a network without its weights, as a JSON document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, NoReturn

from ciphermill._checks import octets, require_size
from ciphermill._inference.forms import ConvolutionForm, Form, MatrixForm, Problem
from ciphermill._inference.layers import MAX_SIZE, Geometry, Step, step_from
from ciphermill._inference.network import LINKS, MAX_SAMPLES, Network, Stage, check_exact, labels
from ciphermill._inference.numbers import GREATEST, MAX_BITS, MIN_BITS, Floats, Quantiser, reals
from ciphermill.errors import CiphermillError, WireError

#: The version of the document.
VERSION = 1

#: The most bytes of a document, the most linear layers, and the most steps before a layer.
MAX_BYTES, MAX_LAYERS, MAX_STEPS = 16 << 20, 256, 64

#: The most inputs that stand for the bias of a layer.
MAX_BIAS_ENTRIES = 64


def to_bytes(network: Network) -> bytes:
    """The client spec of a network."""
    document = {
        "ciphermill": "client spec",
        "version": VERSION,
        "input_shape": list(network.input_shape),
        "stages": [_stage_fields(stage) for stage in network.stages],
        "steps": [step.to_fields() for step in network.steps],
        "classes": network.classes.tolist(),
        "link": network.link,
    }
    return json.dumps(document, sort_keys=True, allow_nan=False).encode()


def from_bytes(data: bytes) -> Network:
    """Read a client spec. Raises `WireError` if the bytes are not one."""
    data = octets(data, "the client spec")
    require_size(data, MAX_BYTES, "the client spec")
    try:
        return _network(_Fields(json.loads(data, parse_constant=_no_constant), "the client spec"))
    except WireError:
        raise
    except (CiphermillError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise WireError(f"the client spec is not valid: {error}") from error


def digest(network: Network) -> bytes:
    """16 bytes that name a network. They depend on the client spec alone, so they reveal nothing of the weights."""
    return hashlib.sha256(to_bytes(network)).digest()[:16]


def _stage_fields(stage: Stage) -> dict[str, Any]:
    problem, geometry = stage.problem, stage.problem.geometry
    return {
        "steps": [step.to_fields() for step in stage.steps],
        "input_scale": stage.quantiser.scale.tolist(),
        "input_offset": stage.quantiser.offset.tolist(),
        "image": list(geometry.image),
        "kernels": list(geometry.kernels),
        "stride": geometry.stride,
        "padding": geometry.padding,
        "weight_bits": problem.weight_bits,
        "activation_bits": problem.activation_bits,
        "bias_entries": problem.entries,
        "bias_constant": problem.constant,
        "form": stage.form.name,
        "lanes": stage.form.lanes,
        "dense": stage.dense,
        "scale": stage.scale,
    }


def _no_constant(name: str) -> NoReturn:
    raise WireError(f"the client spec has the number {name}; use finite numbers")


class _Fields:
    """An object of a client spec, whose fields are read once each and checked."""

    def __init__(self, document: Any, what: str) -> None:
        if not isinstance(document, dict):
            raise WireError(f"{what} is not a JSON object")
        self._fields = document
        self._what = what

    def _take(self, name: str) -> Any:
        if name not in self._fields:
            raise WireError(f"{self._what} lacks the field {name}")
        return self._fields[name]

    def _refuse(self, name: str, use: str) -> NoReturn:
        raise WireError(f"the field {name} of {self._what} is {str(self._fields[name])[:40]}; use {use}")

    def integer(self, name: str, least: int, greatest: int) -> int:
        value = self._take(name)
        if type(value) is not int or not least <= value <= greatest:
            self._refuse(name, f"{least} to {greatest}")
        return int(value)

    def flag(self, name: str) -> bool:
        value = self._take(name)
        if type(value) is not bool:
            self._refuse(name, "true or false")
        return bool(value)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        value = self._take(name)
        if value not in choices:
            self._refuse(name, " or ".join(choices))
        return str(value)

    def items(self, name: str, most: int) -> list[Any]:
        value = self._take(name)
        if not isinstance(value, list) or len(value) > most:
            self._refuse(name, f"a list of at most {most}")
        return list(value)

    def sizes(self, name: str, counts: range) -> tuple[int, ...]:
        value = self.items(name, counts.stop - 1)
        if len(value) not in counts or any(type(size) is not int or not 1 <= size <= MAX_SIZE for size in value):
            self._refuse(name, f"a list of integers of 1 to {MAX_SIZE}")
        return tuple(value)

    def numbers(self, name: str) -> Floats:
        """A number, or a list of numbers."""
        value = self._take(name)
        if not all(type(number) in (int, float) for number in (value if isinstance(value, list) else [value])):
            self._refuse(name, "a number or a list of numbers")
        return reals(value, f"the field {name}")


def _steps(fields: _Fields) -> tuple[Step, ...]:
    return tuple(
        step_from(item) if isinstance(item, dict) else step_from({}) for item in fields.items("steps", MAX_STEPS)
    )


def _quantiser(fields: _Fields, bits: int, size: int) -> Quantiser:
    scale, offset = fields.numbers("input_scale"), fields.numbers("input_offset")
    for name, array in (("input_scale", scale), ("input_offset", offset)):
        if array.shape not in ((), (size,)):
            raise WireError(f"the field {name} has {array.size} numbers; use 1 or {size}")
    if not (scale >= 1 / GREATEST / (1 << MAX_BITS)).all():
        raise WireError("the field input_scale has a number of 0 or less; use numbers above 0")
    return Quantiser(scale, offset, bits)


def _stage(fields: _Fields) -> Stage:
    def triple(name: str) -> tuple[int, int, int]:
        first, second, third = fields.sizes(name, range(3, 4))
        return first, second, third

    image, kernels = triple("image"), triple("kernels")
    geometry = Geometry(image, kernels, fields.integer("stride", 1, MAX_SIZE), fields.integer("padding", 0, MAX_SIZE))
    bits = fields.integer("activation_bits", MIN_BITS, MAX_BITS)
    problem = Problem(
        geometry,
        fields.integer("weight_bits", MIN_BITS, MAX_BITS),
        bits,
        fields.integer("bias_entries", 0, MAX_BIAS_ENTRIES),
        fields.integer("bias_constant", 1, (1 << (bits - 1)) - 1),
    )
    check_exact(problem)
    lanes = fields.integer("lanes", 1, MAX_SAMPLES)
    forms: dict[str, Callable[[], Form]] = {
        ConvolutionForm.name: lambda: ConvolutionForm(problem, lanes),
        MatrixForm.name: lambda: MatrixForm(problem),
    }
    form = forms[fields.choice("form", tuple(forms))]()
    (scale,) = fields.numbers("scale").reshape(-1)
    if not scale > 0:
        raise WireError("the field scale is 0 or less; use a number above 0")
    dense = fields.flag("dense")
    # One number for each feature, if the layer is dense.
    size = image[0] if dense else 1
    return Stage(_steps(fields), _quantiser(fields, bits, size), form, dense, float(scale))


def _network(fields: _Fields) -> Network:
    fields.choice("ciphermill", ("client spec",))
    fields.integer("version", VERSION, VERSION)
    stages = [_stage(_Fields(item, f"layer {i}")) for i, item in enumerate(fields.items("stages", MAX_LAYERS))]
    if not stages:
        raise WireError(f"the client spec has no layers; use 1 to {MAX_LAYERS}")
    link: Any = fields.choice("link", LINKS)
    return Network(
        fields.sizes("input_shape", range(1, 4)),
        tuple(stages),
        _steps(fields),
        labels(fields.items("classes", MAX_SIZE)),
        link,
    )
