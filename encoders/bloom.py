"""Bloom filters: cells of the developer's own grid; false positives, never false negatives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, product
from struct import unpack
from typing import ClassVar

from zenoh_la.encoders.bloom_domain import WORD_BITS, BloomDomain, Cell
from zenoh_la.encoders.interface import Location, check_interested
from zenoh_la.errors import InvalidLocationError, LocationKeyError
from zenoh_la.keys import BLOOM, LocationKey, Role
from zenoh_la.values import Area, Coordinates

_REMEMBERED = 65_536  # cells whose bits an encoder keeps: some 10 MB
_HEX_DIGITS = WORD_BITS // 4
_WORD = re.compile(rf"0|[1-9a-f][0-9a-f]{{0,{_HEX_DIGITS - 1}}}")
_WORDS = re.compile(rf"(?:{_WORD.pattern})(?:\.(?:{_WORD.pattern}))*")


@dataclass(frozen=True, slots=True)
class Bits:
    """A bit array: of a filter (an area) or of an element (one cell).

    ``domain`` is the fingerprint of the grid if it is known from beside the key: filters and
    elements of equal length but different grids must not match.
    """

    value: int
    length: int
    is_filter: bool
    domain: str | None = None
    role: ClassVar[Role | None] = None
    place: ClassVar[None] = None

    def matches(self, other: Location) -> bool:
        if type(other) is not Bits:
            return False
        if self.is_filter is other.is_filter or self.length != other.length:
            return False
        if self.domain != other.domain and None not in (self.domain, other.domain):
            return False
        both = self.value & other.value
        return both == (other.value if self.is_filter else self.value)


class BloomEncoder:
    """Positions as elements and areas as filters of a domain's grid.

    >>> from zenoh_la.values import GeographicRange
    >>> domain = BloomDomain(GeographicRange(0, 0, 5, 5), 10, 10, 0.25)
    >>> str(BloomEncoder(domain).encode_position(Coordinates(2.2, 3.7)))
    '$zla_b_e_8000.0.0.0.0.0.0.0.10000000.0'

    Args:
        domain: the grid that all parties share. Without it keys can be decoded and matched,
            which is all that a router does, but not made.
    """

    name = BLOOM

    def __init__(self, domain: BloomDomain | None = None) -> None:
        self._domain = domain
        if domain is not None:
            self._element = lru_cache(maxsize=_REMEMBERED)(domain.element)

    def __reduce__(self) -> tuple[type[BloomEncoder], tuple[BloomDomain | None]]:
        return BloomEncoder, (self._domain,)

    @property
    def domain(self) -> BloomDomain:
        if self._domain is None:
            raise InvalidLocationError("bloom_domain", None, "Bloom keys need a BloomDomain")
        return self._domain

    def encode_position(self, position: Coordinates) -> LocationKey:
        cell = self.domain.cell_at(position)
        return self._key(self._element(cell), is_filter=False)

    def encode_area(self, area: Area, role: Role) -> tuple[LocationKey, ...]:
        """One filter; for a get one element per cell, as a filter does not match a filter."""
        check_interested(role)
        cells = self.domain.cells_meeting(area)
        if role is Role.GET:
            return tuple(self._key(self._element(cell), is_filter=False) for cell in cells)
        bits = chain.from_iterable(self._element(cell) for cell in cells)
        return (self._key(bits, is_filter=True),)

    def _key(self, bits: Iterable[int], *, is_filter: bool) -> LocationKey:
        array = bytearray(self.domain.bits // 8)
        for bit in bits:
            array[bit >> 3] |= 1 << (bit & 7)
        words = unpack(f"<{len(array) * 8 // WORD_BITS}I", array)
        return LocationKey.of_bloom(".".join([f"{w:x}" for w in words]), is_filter=is_filter)

    def decode(self, key: LocationKey) -> Bits:
        if not _WORDS.fullmatch(key.data):
            for i, word in enumerate(key.data.split(".")):
                if not _WORD.fullmatch(word):
                    problem = f"{word[:20]!r} must be 32 bits of hex without leading zeros"
                    raise LocationKeyError(key.written, f"data word {i}", problem)
        words = key.data.split(".")
        value = int("".join([word.zfill(_HEX_DIGITS) for word in reversed(words)]), 16)
        if value == 0:
            raise LocationKeyError(key.written, "data", "has no bit set: it names no place")
        return Bits(value, len(words) * WORD_BITS, key.is_filter is True)

    def locate(self, key: LocationKey) -> Bits:
        """`decode`, with the fingerprint of this encoder's domain."""
        return replace(self.decode(key), domain=self.domain.fingerprint)

    def cells(self, key: LocationKey) -> list[Cell]:
        """The cells that a key names in this encoder's domain, false positives among them."""
        bits = self.decode(key)
        if bits.length != self.domain.bits:
            problem = f"has {bits.length} bits, keys of this domain have {self.domain.bits}"
            raise LocationKeyError(key.written, "data", problem)
        array = bits.value.to_bytes(bits.length // 8, "little")
        columns, rows = range(self.domain.columns), range(self.domain.rows)
        named = [
            cell
            for cell in product(columns, rows)
            if all(array[bit >> 3] >> (bit & 7) & 1 for bit in self._element(cell))
        ]
        if bits.is_filter:
            return named
        return [cell for cell in named if len(self._element(cell)) == bits.value.bit_count()]
