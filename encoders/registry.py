"""Encoders by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any

from zenoh_la.encoders.base64_json import Base64JsonEncoder
from zenoh_la.encoders.bloom import BloomEncoder
from zenoh_la.encoders.interface import Encoder, Location
from zenoh_la.encoders.mgrs import MgrsEncoder
from zenoh_la.errors import EncodingNameError, LocationKeyError, UnknownEncodingError
from zenoh_la.keys import LocationKey, Role

ENTRY_POINT_GROUP = "zenoh_la.encoders"

_BUILT_IN: dict[str, Callable[..., Encoder]] = {
    encoder.name: encoder for encoder in (Base64JsonEncoder, MgrsEncoder, BloomEncoder)
}
_encoders = dict(_BUILT_IN)
_decoders: dict[str, Encoder] = {}


def register(name: str, make: Callable[..., Encoder]) -> None:
    """Adds an encoding: ``make(**options)`` gives an encoder, and needs no option to decode.

    Its keys are ``$zla_x_NAME_ROLE_DATA``, made by `LocationKey.of_extension`. A name that is
    taken is refused, so that nobody's keys change their meaning.
    """
    if name in names():
        raise EncodingNameError(name, "is registered already")
    try:
        LocationKey.of_extension(name, Role.PUBLISHER, "0")
    except LocationKeyError as exc:
        problem = "must be lower-case letters, digits and -, at most 32"
        raise EncodingNameError(name, problem) from exc
    _encoders[name] = make


def unregister(name: str) -> None:
    """Takes back a `register`; what was decoded before is forgotten."""
    if name in _BUILT_IN or name not in _encoders:
        raise UnknownEncodingError(name, tuple(sorted(_encoders.keys() - _BUILT_IN.keys())))
    del _encoders[name]
    _decoders.pop(name, None)
    _decode_short.cache_clear()
    _decode_long.cache_clear()


def names() -> tuple[str, ...]:
    """The names of all encodings, installed ones included."""
    return tuple(sorted({*_encoders, *_installed()}))


def get(name: str, **options: Any) -> Encoder:
    """An encoder by its name, made with the encoder's own options.

    >>> from zenoh_la import Coordinates
    >>> str(get("mgrs", max_cells=4).encode_position(Coordinates(0, 0)))
    '$zla_m_31NAA6602100000'
    """
    make = _encoders.get(name)
    if make is None:
        installed = _installed().get(name)
        if installed is None:
            raise UnknownEncodingError(name, names())
        make = _encoders[name] = installed.load()
    return make(**options)


@lru_cache(maxsize=1)
def _installed() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def decode(key: str | LocationKey) -> Location:
    """The location that a key of any encoding holds; remembered in a bounded cache.

    Raises:
        LocationKeyError: the key is wrong, or nobody here knows its encoding.
    """
    text = key.written if type(key) is LocationKey else key
    if type(text) is not str:
        raise LocationKeyError(text, "key", "must be a text")
    return _decode_short(text) if len(text) <= _SHORT else _decode_long(text)


def _decode(text: str) -> Location:
    key = LocationKey(text)
    decoder = _decoders.get(key.encoding)
    if decoder is None:
        try:
            decoder = _decoders[key.encoding] = get(key.encoding)
        except UnknownEncodingError as exc:
            raise LocationKeyError(key.written, "flag", str(exc)) from exc
    return decoder.decode(key)


# Two sizes, so that a flood of the longest keys cannot fill the memory: at the worst some
# 30 MB each.
_SHORT = 512
_decode_short = lru_cache(maxsize=8192)(_decode)
_decode_long = lru_cache(maxsize=32)(_decode)
