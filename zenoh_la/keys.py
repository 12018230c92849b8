"""The location key: the only module that knows its grammar.

A location key is one chunk of a key expression that holds an encoded position or area::

    $zla_p_DATA              Base64-JSON position of a publisher
    $zla_ROLE_SHAPE_DATA     Base64-JSON area; ROLE is s, ps, q or g, SHAPE a number
    $zla_m_MGRS              MGRS cell
    $zla_b_e_HEX.HEX…        Bloom element (one cell of the grid)
    $zla_b_f_HEX.HEX…        Bloom filter (many cells)
    $zla_x_NAME_ROLE_DATA    an encoding that somebody registered under NAME

That is the *written form*. Stock Zenoh allows ``$`` only in ``$*``, so on the wire the ``$``
is dropped, and located key expressions travel below the verbatim root ``@zla``, where no
``*`` or ``**`` of a native application can see them. There a Bloom key may end in ``~`` and the
fingerprint of its domain, and a chunk of the topic that begins with ``@`` gets a ``~`` in front.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from zenoh_la.errors import LocationKeyError

__all__ = [
    "MAX_KEY_EXPRESSION_BYTES",
    "MAX_LOCATION_KEY_LENGTH",
    "WIRE_ROOT",
    "LocationKey",
    "Role",
    "check_topic",
    "escaped",
    "from_chunk",
    "from_wire",
    "join",
    "split",
    "to_chunk",
    "to_wire",
    "unescaped",
]

WIRE_ROOT = "@zla"
MAX_LOCATION_KEY_LENGTH = 60_000
MAX_KEY_EXPRESSION_BYTES = 65_000
"""Zenoh panics at 65,536 bytes; the rest is room for what the protocol puts in front."""

BASE64_JSON = "base64_json"
MGRS = "mgrs"
BLOOM = "bloom"


class Role(StrEnum):
    """Who a location key belongs to."""

    PUBLISHER = "p"
    SUBSCRIBER = "s"
    PULL_SUBSCRIBER = "ps"
    QUERYABLE = "q"
    GET = "g"


_PREFIX = re.compile(r"\$?zla_")
_BASE64 = r"[A-Za-z0-9_-]+"
_GRAMMAR = re.compile(
    r"\$?zla_(?:"
    rf"(?P<point>p)_(?P<point_data>{_BASE64})"
    rf"|(?P<role>s|ps|q|g)_(?P<shape>[1-9][0-9]?)_(?P<area_data>{_BASE64})"
    r"|m_(?P<mgrs>[0-9A-Z]{1,15})"
    r"|b_(?P<part>[ef])_(?P<words>[0-9a-f.]+)"
    rf"|x_(?P<name>[a-z][a-z0-9-]{{0,31}})_(?P<own_role>p|s|ps|q|g)_(?P<own_data>[\w.~+=,-]+)"
    r")",
    re.ASCII,
)
_ROLES = {role.value: role for role in Role}


@dataclass(frozen=True, slots=True)
class LocationKey:
    """A location key that follows the grammar; made from its written or its wire form.

    >>> key = LocationKey("$zla_m_10SGJ06")
    >>> key.encoding, key.data, key.wire
    ('mgrs', '10SGJ06', 'zla_m_10SGJ06')

    Attributes:
        written: the whole key, with its ``$``.
        encoding: the name of its encoding in the registry.
        data: the encoded place.
        role: whose key it is; None if the encoding does not tell (MGRS, Bloom).
        shape: the number of the shape of a Base64 area, else None.
        is_filter: of a Bloom key, whether it is a filter (else an element); None otherwise.
    """

    written: str
    encoding: str = field(init=False, repr=False, compare=False)
    data: str = field(init=False, repr=False, compare=False)
    role: Role | None = field(init=False, repr=False, compare=False)
    shape: int | None = field(init=False, repr=False, compare=False)
    is_filter: bool | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        text = self.written
        if not isinstance(text, str) or len(text) > MAX_LOCATION_KEY_LENGTH:
            raise _diagnosis(text)
        match = _GRAMMAR.fullmatch(text)
        if match is None:
            raise _diagnosis(text)
        encoding, role, shape, is_filter = BASE64_JSON, None, None, None
        last = match.lastgroup
        assert last is not None  # every alternative of the grammar ends in a named group
        if last == "mgrs":
            encoding = MGRS
        elif last == "point_data":
            role = Role.PUBLISHER
        elif last == "area_data":
            role, shape = _ROLES[match["role"]], int(match["shape"])
        elif last == "words":
            encoding, is_filter = BLOOM, match["part"] == "f"
        else:
            encoding, role = match["name"], _ROLES[match["own_role"]]
            if encoding in (MGRS, BLOOM):  # base64_json fits no key
                raise LocationKeyError(text, "flag", f"{encoding} has a flag of its own")
        put = object.__setattr__
        put(self, "written", text if text[0] == "$" else f"${text}")
        put(self, "encoding", encoding)
        put(self, "data", match[last])
        put(self, "role", role)
        put(self, "shape", shape)
        put(self, "is_filter", is_filter)

    @classmethod
    def of_position(cls, data: str) -> LocationKey:
        """The key of a publisher's Base64-JSON position."""
        return cls(f"$zla_p_{data}")

    @classmethod
    def of_area(cls, role: Role, shape: int, data: str) -> LocationKey:
        """The key of a Base64-JSON area."""
        if role == Role.PUBLISHER:
            raise LocationKeyError(data, "role", "a publisher has a position, not an area")
        return cls(f"$zla_{role}_{shape}_{data}")

    @classmethod
    def of_mgrs(cls, mgrs: str) -> LocationKey:
        """The key of an MGRS cell."""
        return cls(f"$zla_m_{mgrs}")

    @classmethod
    def of_bloom(cls, words: str, *, is_filter: bool) -> LocationKey:
        """The key of a Bloom filter or element."""
        return cls(f"$zla_b_{'f' if is_filter else 'e'}_{words}")

    @classmethod
    def of_extension(cls, name: str, role: Role, data: str) -> LocationKey:
        """The key of an encoding registered under ``name``."""
        return cls(f"$zla_x_{name}_{role}_{data}")

    @property
    def wire(self) -> str:
        """The key as a chunk that stock Zenoh accepts."""
        return self.written[1:]

    def __str__(self) -> str:
        return self.written


def join(key: LocationKey, topic: str) -> str:
    """The located key expression, in written form.

    >>> join(LocationKey("$zla_m_10SGJ06"), "temperature/external")
    '$zla_m_10SGJ06/temperature/external'
    """
    if not isinstance(key, LocationKey) or not isinstance(topic, str):
        raise LocationKeyError((key, topic), "expression", "needs a LocationKey and a topic")
    expression = f"{key.written}/{topic}"
    _check_topic(expression, topic)
    return expression


def split(expression: str) -> tuple[LocationKey | None, str]:
    """Location key and topic of a key expression in written form; None if it is plain.

    >>> split("$zla_m_10SGJ06/temperature/external")
    (LocationKey(written='$zla_m_10SGJ06'), 'temperature/external')
    >>> split("temperature/external")
    (None, 'temperature/external')
    """
    if not isinstance(expression, str):
        raise LocationKeyError(expression, "expression", "must be a text")
    if not expression.startswith("$zla"):
        _check_topic(expression, expression)
        return None, expression
    first, _, topic = expression.partition("/")
    _check_topic(expression, topic)
    return LocationKey(first), topic


def to_wire(expression: str) -> str:
    """A located key expression as it travels.

    >>> to_wire("$zla_m_10SGJ06/temperature/external")
    '@zla/zla_m_10SGJ06/temperature/external'
    """
    key, topic = split(expression)
    if key is None:
        raise LocationKeyError(expression, "prefix", "is not a located key expression")
    return f"{WIRE_ROOT}/{key.wire}/{topic}"


def from_wire(expression: str) -> str:
    """The written form of a located key expression that travelled."""
    if not isinstance(expression, str):
        raise LocationKeyError(expression, "expression", "must be a text")
    root, _, rest = expression.partition("/")
    if root != WIRE_ROOT or not rest.startswith("zla_"):
        raise LocationKeyError(expression, "prefix", f"does not begin with {WIRE_ROOT}/zla_")
    first, _, topic = rest.partition("/")
    return join(LocationKey(first), topic)


_DOMAIN = re.compile("[0-9a-f]{16}")


def to_chunk(key: LocationKey, domain: str | None = None) -> str:
    """A location key as it travels in one chunk, a Bloom key with its domain's fingerprint.

    >>> to_chunk(LocationKey("$zla_b_e_8000.0"), "c335f03db772f514")
    'zla_b_e_8000.0~c335f03db772f514'
    """
    return key.wire if domain is None else f"{key.wire}~{domain}"


def from_chunk(chunk: str) -> tuple[LocationKey, str | None]:
    """Location key and domain of a chunk that travelled."""
    if not chunk.startswith("zla_b_"):
        return LocationKey(chunk), None
    text, tilde, domain = chunk.partition("~")
    if tilde and not _DOMAIN.fullmatch(domain):
        raise LocationKeyError(chunk, "domain", "must be 16 hexadecimal digits")
    return LocationKey(text), domain or None


def escaped(topic: str) -> str:
    """A topic that ``**`` matches whole: no chunk of it is verbatim.

    >>> escaped("@fleet/7/state")
    '~@fleet/7/state'
    """
    if "@" not in topic and "~" not in topic:
        return topic
    return "/".join([f"~{c}" if c[:1] in ("@", "~") else c for c in topic.split("/")])


def unescaped(topic: str) -> str:
    """The topic that was `escaped`.

    Raises:
        LocationKeyError: it was not. A second way to write a topic would slip past access rules.
    """
    if "~" not in topic:
        return topic
    chunks = topic.split("/")
    for i, chunk in enumerate(chunks):
        if chunk[:1] == "~":
            if chunk[1:2] not in ("@", "~"):
                problem = f"chunk {chunk[:40]!r}: ~ stands only before @ and ~"
                raise LocationKeyError(topic, "topic", problem)
            chunks[i] = chunk[1:]
    return "/".join(chunks)


def check_topic(topic: str) -> None:
    """Refuses what is no topic: key expressions that Zenoh refuses, and this protocol's own.

    Raises:
        LocationKeyError: it says which part is wrong.
    """
    _check_topic(topic, topic)
    if topic.partition("/")[0] == WIRE_ROOT:
        raise LocationKeyError(topic, "topic", f"{WIRE_ROOT} is the protocol's own")


# What Zenoh accepts between two slashes: a wildcard, or text in which $* stands for any text.
_CHUNK = re.compile(r"\*\*|\*|(?!\$\*\Z)(?:[^*$#?/]|\$\*(?!\$))+", re.DOTALL)


def _check_topic(expression: str, topic: str) -> None:
    """Zenoh's own rules; a key expression that is too long would make it panic."""
    try:
        length = len(expression.encode())
    except UnicodeEncodeError as exc:
        raise LocationKeyError(expression, "topic", f"is not Unicode: {exc.reason}") from exc
    if length > MAX_KEY_EXPRESSION_BYTES:
        problem = f"the whole is over {MAX_KEY_EXPRESSION_BYTES} bytes"
        raise LocationKeyError(expression, "topic", problem)
    chunks = topic.split("/")
    for i, chunk in enumerate(chunks):
        if not chunk:
            raise LocationKeyError(expression, "topic", "has an empty chunk")
        if not _CHUNK.fullmatch(chunk):
            problem = f"chunk {chunk[:40]!r}: #, ? and stray $ or * are not allowed"
            raise LocationKeyError(expression, "topic", problem)
        if i and chunks[i - 1] == "**" and chunk in ("*", "**"):
            problem = f"**/{chunk} must be written {'*/**' if chunk == '*' else '**'}"
            raise LocationKeyError(expression, "topic", problem)


def _diagnosis(text: Any) -> LocationKeyError:
    """Why a text is no location key. Only ever called for bad ones, so it may take its time."""
    if not isinstance(text, str):
        return LocationKeyError(text, "key", "must be a text")
    if len(text) > MAX_LOCATION_KEY_LENGTH:
        problem = f"has {len(text)} characters, {MAX_LOCATION_KEY_LENGTH} are allowed"
        return LocationKeyError(text, "length", problem)
    if not text:
        problem = "is empty (a shell replaces $zla_… by nothing unless it is in single quotes)"
        return LocationKeyError(text, "key", problem)
    prefix = _PREFIX.match(text)
    if prefix is None:
        return LocationKeyError(text, "prefix", "must be $zla_, or zla_ on the wire")
    flag, _, rest = text[prefix.end() :].partition("_")
    if flag == "p":
        return LocationKeyError(text, "data", "must be URL-safe Base64 without padding")
    if flag in ("s", "ps", "q", "g"):
        shape, _, data = rest.partition("_")
        if not re.fullmatch("[1-9][0-9]?", shape):
            return LocationKeyError(text, "shape", f"{shape[:20]!r} must be a number from 1 to 99")
        problem = "must be URL-safe Base64 without padding" if data else "is missing"
        return LocationKeyError(text, "data", problem)
    if flag == "m":
        return LocationKeyError(text, "data", "must be 1 to 15 upper-case characters of MGRS")
    if flag == "b":
        part, _, data = rest.partition("_")
        if part not in ("e", "f"):
            return LocationKeyError(text, "flag", f"b_{part[:20]} must be b_e or b_f")
        problem = "must be lower-case hexadecimal words joined by dots"
        return LocationKeyError(text, "data", problem if data else "is missing")
    if flag == "x":
        return LocationKeyError(text, "flag", "must read x_NAME_ROLE_DATA")
    return LocationKeyError(text, "flag", f"{flag[:20]!r} is none of p, s, ps, q, g, m, b, x")
