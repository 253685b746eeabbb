"""Exceptions of Ciphermill.

Every exception is a `CiphermillError`, and also an instance of the built-in class that fits: a `ParameterError` is a
`ValueError`, for example. Messages name the given value, the limit and the remedy.
"""

__all__ = [
    "CiphermillError",
    "ClosedError",
    "DeviceError",
    "DtypeError",
    "ForkError",
    "KeyMismatchError",
    "MemoryLimitError",
    "ParameterError",
    "PeerError",
    "RangeError",
    "SecretError",
    "StateError",
    "WireError",
    "WorkerError",
]


class CiphermillError(Exception):
    """Base class of all exceptions of this package."""


class ParameterError(CiphermillError, ValueError):
    """An argument is not supported, or does not go with another one."""


class DtypeError(ParameterError, TypeError):
    """An argument, or the elements of an array, have an unsuitable type."""


class RangeError(CiphermillError, OverflowError):
    """A number is outside its range."""


class KeyMismatchError(CiphermillError):
    """Objects of different key sets or plans were combined."""


class WireError(CiphermillError):
    """Bytes are not a valid object: truncated, too long, damaged or of another kind."""


class MemoryLimitError(CiphermillError, MemoryError):
    """An operation needs more memory than it may use, or a server has no room for a client. It is raised before the memory is
    allocated."""


class ForkError(CiphermillError, RuntimeError):
    """The process was forked from one that had computed, whose threads it lacks."""


class PeerError(CiphermillError):
    """The other party or a served device cannot be reached, or broke the protocol."""


class WorkerError(CiphermillError, RuntimeError):
    """The worker processes of this party cannot be reached, or failed."""


class SecretError(CiphermillError, TypeError):
    """A secret was about to be pickled."""


class StateError(CiphermillError, OSError):
    """The state of a training cannot be stored or read, or is of another training."""


class DeviceError(CiphermillError):
    """A device refused an operation, or a program of it failed."""


class ClosedError(DeviceError, ValueError):
    """The device is not open, or was closed."""
