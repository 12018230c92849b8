"""What the description cannot say of good requests, told to schemathesis."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import strategies as st

_SIDES = st.tuples(*[st.integers(1, 8)] * 4)


def _box(sides: tuple[int, ...]) -> str:
    west, south, width, height = sides
    east, north = west + width, south + height
    corners = [(west, south), (east, south), (east, north), (west, north), (west, south)]
    return f"POLYGON(({','.join(f'{x} {y}' for x, y in corners)}))"


_CHUNKS = st.one_of(st.just("*"), st.text("abcé0-_. ", min_size=1, max_size=5))
schemathesis.openapi.format("wkt", _SIDES.map(_box))
schemathesis.openapi.format(
    "key-expression", st.lists(_CHUNKS, min_size=1, max_size=4).map("/".join)
)


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    """Mends what is right in all its parts and wrong as a whole."""
    query = case.query
    if not isinstance(query, dict):
        return
    try:
        if float(query["min_lat"]) > float(query["max_lat"]):  # the south north of the north
            query["min_lat"], query["max_lat"] = query["max_lat"], query["min_lat"]
    except (KeyError, TypeError, ValueError):
        pass  # it is meant to be wrong, or is none
    try:
        if float(query["r"]) > 100:
            query["r"] = 100  # in degrees more would be round the globe
    except (KeyError, TypeError, ValueError):
        pass
