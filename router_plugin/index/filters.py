"""Bloom filters as a matrix of bits: which of many filters have all bits of an element?

Equal filters share a slot: areas are small against the cells of a grid, so 10,000 circles of
1 km on 10 x 10 cells of 2 x 2 degrees are some 500 filters. For each bit there is one Python
integer with a bit per slot; those of an element's few bits, combined by ``&``, are the answer.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from zenoh_la.encoders.bloom import Bits

T = TypeVar("T")


class FilterTable(Generic[T]):
    """Filters, each under a number of its own, and whose they are."""

    __slots__ = ("_matrices",)

    def __init__(self) -> None:
        self._matrices: dict[int, dict[str | None, _Matrix[T]]] = {}

    def __len__(self) -> int:
        return len(self._matrices)

    def add(self, number: int, bits: Bits, ident: T) -> None:
        by_domain = self._matrices.setdefault(bits.length, {})
        matrix = by_domain.get(bits.domain)
        if matrix is None:
            matrix = by_domain[bits.domain] = _Matrix()
        matrix.add(number, bits.value, ident)

    def remove(self, number: int, bits: Bits) -> None:
        by_domain = self._matrices[bits.length]
        matrix = by_domain[bits.domain]
        matrix.remove(number, bits.value)
        if not matrix.slots:
            del by_domain[bits.domain]
            if not by_domain:
                del self._matrices[bits.length]

    def holding(self, element: Bits, found: list[T]) -> None:
        """Adds to ``found`` whose filters have every bit of the element.

        A domain that is not known may be any.
        """
        by_domain = self._matrices.get(element.length)
        if by_domain is None:
            return
        for domain, matrix in by_domain.items():
            if domain == element.domain or domain is None or element.domain is None:
                matrix.holding(element.value, found)


class _Matrix(Generic[T]):
    """The filters of one domain; ``slots`` are filters and whose they are, without gaps."""

    __slots__ = ("_places", "_rows", "slots")

    def __init__(self) -> None:
        self.slots: list[tuple[int, dict[int, T]]] = []
        self._places: dict[int, int] = {}
        self._rows: dict[int, int] = {}

    def add(self, number: int, value: int, ident: T) -> None:
        place = self._places.get(value)
        if place is None:
            place = self._places[value] = len(self.slots)
            self.slots.append((value, {}))
            self._flip(value, 1 << place)
        self.slots[place][1][number] = ident

    def remove(self, number: int, value: int) -> None:
        place = self._places[value]
        idents = self.slots[place][1]
        del idents[number]
        if idents:
            return
        del self._places[value]
        self._flip(value, 1 << place)
        last = self.slots.pop()
        if place < len(self.slots):  # the last slot moves into the gap
            self.slots[place] = last
            self._places[last[0]] = place
            self._flip(last[0], 1 << place | 1 << len(self.slots))

    def _flip(self, value: int, marks: int) -> None:
        rows = self._rows
        for bit in set_bits(value):
            row = rows.get(bit, 0) ^ marks
            if row:
                rows[bit] = row
            else:
                del rows[bit]

    def holding(self, value: int, found: list[T]) -> None:
        if not value:
            for _, idents in self.slots:
                found.extend(idents.values())
            return
        rows, places = self._rows, -1
        for bit in set_bits(value):
            places &= rows.get(bit, 0)
            if not places:
                return
        for place in set_bits(places):
            found.extend(self.slots[place][1].values())


_SHORT = 2048


def set_bits(value: int) -> list[int]:
    """The places of the bits that are set.

    Bit by bit each step copies the number: of 110 bits among 10,000 that takes 49 µs, by its
    digits 16 µs; of ten among 1,000 it is the faster way, 1.4 µs against 1.9 µs.
    """
    places = []
    if value.bit_length() <= _SHORT:
        while value:
            lowest = value & -value
            places.append(lowest.bit_length() - 1)
            value ^= lowest
        return places
    digits = bin(value)[:1:-1]
    place = digits.find("1")
    while place >= 0:
        places.append(place)
        place = digits.find("1", place + 1)
    return places
