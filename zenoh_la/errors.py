"""What can go wrong, as one tree.

ZenohLaError
├── InvalidLocationError (ValueError)    a position, area or domain that cannot exist
│   └── OutsideDomainError               a place beyond the Bloom domain's grid
├── LocationKeyError (ValueError)        a location key that breaks the grammar
├── EncodingNameError (ValueError)       a name that an encoding cannot be registered under
├── UnknownEncodingError (LookupError)   no encoder goes by that name
├── ArgumentError (ValueError)           a location argument of a session's method that is wrong
├── PositionError (RuntimeError)         a position is needed and there is none
├── ProtocolError (ValueError)           a message of another node or session that cannot be right
├── NodeError (RuntimeError)             a node did not answer, or refused
├── StorageError (RuntimeError)          a storage's file that cannot be used
└── TrackError (ValueError)              a track's file that cannot be read

Each error carries the data that was wrong as attributes and names it in its message.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ArgumentError",
    "EncodingNameError",
    "InvalidLocationError",
    "LocationKeyError",
    "NodeError",
    "OutsideDomainError",
    "PositionError",
    "ProtocolError",
    "StorageError",
    "TrackError",
    "UnknownEncodingError",
    "ZenohLaError",
]

_SHOWN = 80


def _shown(value: object) -> str:
    """A value short enough for a message: hostile input may be megabytes long."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"  # repr() of it may itself raise
    if isinstance(value, str | bytes) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]!r}… ({len(value)} long)"
    try:
        text = repr(value)
    except Exception:  # an integer too long to print, a list too deep, somebody's own class
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class ZenohLaError(Exception):
    """Root of all errors this package raises on purpose."""


class InvalidLocationError(ZenohLaError, ValueError):
    """A position, an area or a domain that cannot exist.

    Attributes:
        field: the part that is wrong, e.g. ``"lat"`` or ``"points[3]"``.
        value: what was given for it.
        problem: what is wrong with it, without field and value.
    """

    def __init__(self, field: str, value: Any, problem: str) -> None:
        super().__init__(field, value, problem)
        self.field = field
        self.value = value
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.field} = {_shown(self.value)}: {self.problem}"

    def within(self, outer: str) -> InvalidLocationError:
        """The same error seen from the value that holds this one: ``lat`` becomes ``c.lat``."""
        joint = "" if self.field.startswith("[") else "."
        return type(self)(f"{outer}{joint}{self.field}", self.value, self.problem)


class OutsideDomainError(InvalidLocationError):
    """A position, or a whole area, beyond the grid of the Bloom domain."""


class LocationKeyError(ZenohLaError, ValueError):
    """A location key that breaks the grammar or holds a place that cannot exist.

    Attributes:
        key: the key, as it was given.
        part: the part of it that is wrong: ``"prefix"``, ``"flag"``, ``"data.c.lat"`` …
        problem: what is wrong with that part.
    """

    def __init__(self, key: Any, part: str, problem: str) -> None:
        super().__init__(key, part, problem)
        self.key = key
        self.part = part
        self.problem = problem

    def __str__(self) -> str:
        return f"bad location key {_shown(self.key)}: {self.part}: {self.problem}"


class EncodingNameError(ZenohLaError, ValueError):
    """An encoding cannot be registered under that name: it is taken, or fits into no key."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name = name
        self.problem = problem

    def __str__(self) -> str:
        return f"no encoding can be called {_shown(self.name)}: {self.problem}"


class UnknownEncodingError(ZenohLaError, LookupError):
    """No encoder is registered under that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(name, known)
        self.name = name
        self.known = known

    def __str__(self) -> str:
        return f"no encoding is called {_shown(self.name)}; known: {', '.join(self.known)}"


class ArgumentError(ZenohLaError, ValueError):
    """An argument of a session's method that is wrong.

    Attributes:
        argument: its name.
        value: what was given for it.
        problem: what is wrong with it.
    """

    def __init__(self, argument: str, value: Any, problem: str) -> None:
        super().__init__(argument, value, problem)
        self.argument = argument
        self.value = value
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.argument} = {_shown(self.value)}: {self.problem}"


class PositionError(ZenohLaError, RuntimeError):
    """A position is needed, and there is no handler, or the handler failed and never answered."""


class ProtocolError(ZenohLaError, ValueError):
    """A message of another node or session that cannot be right; it is refused and counted."""

    def __init__(self, data: Any, problem: str) -> None:
        super().__init__(data, problem)
        self.data = data
        self.problem = problem

    def __str__(self) -> str:
        return f"{_shown(self.data)}: {self.problem}"


class NodeError(ZenohLaError, RuntimeError):
    """The node that a session belongs to did not answer in time, or refused."""


class StorageError(ZenohLaError, RuntimeError):
    """A storage's file that cannot be used."""

    def __init__(self, path: Any, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"storage {str(self.path)!r}: {self.problem}"


class TrackError(ZenohLaError, ValueError):
    """A track's file that cannot be read.

    Attributes:
        path: the file.
        where: the line or column in it.
        problem: what is wrong there.
    """

    def __init__(self, path: Any, where: str, problem: str) -> None:
        super().__init__(path, where, problem)
        self.path = path
        self.where = where
        self.problem = problem

    def __str__(self) -> str:
        return f"no track in {str(self.path)!r}: {self.where}: {self.problem}"
