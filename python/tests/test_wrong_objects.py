"""Objects of wrong classes at every public function: a typed error that names the argument, never one of Python's own lookups."""

import inspect
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from wrong_objects import Call, calls

import ciphermill as cm
from ciphermill import device, inference, linear_model, lookup, paillier, statistics, tfhe

MODULES = (paillier, tfhe, device, lookup, inference, statistics, linear_model)

#: The files of the run; they go with it.
FILES = tempfile.TemporaryDirectory()

CALLS = calls(Path(FILES.name))

#: Objects that no function accepts. The last has separate attributes `_native`, `public` and `decrypt`.
OBJECTS: dict[str, object] = {
    "None": None,
    "str": "text",
    "int": 7,
    "object": object(),
    "neighbour": statistics.SecureStatistics({"a": (0, 1)}, parties=2, max_rows=1).keygen(),
}

#: Classes that other functions of the package make: their constructors are not for users.
MADE = {
    "inference.Exchange",
    "inference.LayerIntegers",
    "inference.LayerReport",
    "inference.Message",
    "inference.NetworkExplanation",
    "inference.Report",
    "inference.Result",
    "inference.Server",
    "statistics.Aggregator",
    "statistics.Contribution",
    "statistics.KeyHolder",
    "statistics.Report",
    "statistics.Statistics",
    "device.Object",
    "device.Program",
    "device.Result",
}

#: Functions that are not called with objects of users: parts of other functions of the package, and the methods of
#: `AsyncDevice`, which call those of `Device`.
OTHERS = {
    "inference.Message.open",
    "inference.LayerReport.step",
    "statistics.Report.sent",
    "statistics.Report.step",
    "statistics.Column.encode",
    "device.AsyncDevice.put",
    "device.AsyncDevice.get",
    "device.AsyncDevice.delete",
    "device.AsyncDevice.stat",
}

#: Booleans: any object has a truth value.
FLAGS = {
    "insecure",
    "strict",
    "exact",
    "signed",
    "armed",
    "stored",
    "unsplit",
    "variances",
    "covariances",
    "clip",
    "options",
}

#: Methods of steps and layers, which networks call with shapes and values of their own.
LAYER_METHODS = {"apply", "geometry", "output_shape"}


def attempt(call: Call, changed: dict[str, Any], name: str, accepted: bool) -> None:
    """Call a function with one wrong object, and require an error of this package, or a TypeError that names the argument."""
    try:
        call(changed)
    except cm.CiphermillError as error:
        assert str(error)
        return
    except (TypeError, ValueError) as error:
        if call.foreign:
            return
        # The extension module names the argument in a note.
        text = " ".join([str(error), *getattr(error, "__notes__", [])])
        assert type(error) is TypeError, f"{type(error).__name__}: {text}"
        assert name in text or "operand" in text, text
        return
    except IndexError:
        # Python ends an iteration over an object without `__iter__` by it.
        assert changed == {"other": 7}
        return
    assert accepted, "the object is accepted"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is a suitable name of a store, which is then made here."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("wrong", OBJECTS)
@pytest.mark.parametrize(
    ("function", "argument"), [(name, each) for name, call in CALLS.items() for each in call.arguments]
)
def test_wrong_objects(function: str, argument: str, wrong: str) -> None:
    call = CALLS[function]
    attempt(call, {argument: OBJECTS[wrong]}, argument, wrong in call.accepts.get(argument, "").split())


@pytest.mark.parametrize("function", CALLS)
def test_the_suitable_arguments_are_suitable(function: str) -> None:
    """Otherwise the sweep could see an error of another argument."""
    call = CALLS[function]
    if not call.refusal:
        call({})
        return
    with pytest.raises(getattr(cm, call.refusal)):
        call({})


def takes_arguments(function: Any) -> bool:
    parameters = list(inspect.signature(function).parameters)
    return bool([name for name in parameters if name not in ("self", "cls")])


def functions_of(module: ModuleType) -> set[str]:
    """The public functions of a module that take arguments."""
    found = set()
    prefix = module.__name__.removeprefix("ciphermill.")
    for name in module.__all__:
        value = getattr(module, name)
        if not inspect.isclass(value):
            if callable(value) and takes_arguments(value):
                found.add(f"{prefix}.{name}")
            continue
        if not value.__module__.startswith("ciphermill") or value.__module__ == "ciphermill._native":
            continue
        if takes_arguments(value):
            found.add(f"{prefix}.{name}")
        for method, member in inspect.getmembers(value, callable):
            # Methods of tuples and of scikit-learn's classes are not of this package.
            own = (getattr(member, "__module__", None) or "").startswith("ciphermill")
            if own and not method.startswith("_") and takes_arguments(member):
                found.add(f"{prefix}.{name}.{method}")
    return found


def test_the_sweep_is_complete() -> None:
    every = set().union(*(functions_of(module) for module in MODULES))
    assert len(every) > 80
    missing = {name for name in every - CALLS.keys() - MADE - OTHERS if name.rpartition(".")[2] not in LAYER_METHODS}
    assert not missing
    for name, call in CALLS.items():
        if call.function.__name__ != "<lambda>" and call.function.__name__ not in ("fit", "refit"):
            parameters = inspect.signature(call.function).parameters
            assert set(parameters) - FLAGS <= call.arguments.keys() - FLAGS, name
    assert MADE <= every, MADE - every
    assert OTHERS <= every, OTHERS - every
