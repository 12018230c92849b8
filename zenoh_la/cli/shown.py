"""How samples, replies and queries are shown: lines for people, JSON for machines."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import select
import sys
import threading
from typing import Any, TextIO

import zenoh

from zenoh_la.encoders import Location
from zenoh_la.session import LocatedQuery, LocatedSample
from zenoh_la.values import Circle, Coordinates, GeographicRange, MgrsCell, wkt

Sample = zenoh.Sample | LocatedSample
Query = zenoh.Query | LocatedQuery

_LOOK_S = 0.25


class Output:
    """Standard output, line by line from any thread; when its reader is gone, all is over.

    Args:
        stopped: is set when nobody reads any more, as after ``| head -1``.
    """

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped = stopped
        self._lock = threading.Lock()
        self._poll = select.poll()
        with contextlib.suppress(io.UnsupportedOperation):  # not a real file: nothing to look at
            self._poll.register(sys.stdout.fileno(), 0)

    def line(self, text: str) -> None:
        self._write(sys.stdout, text)

    def note(self, text: str) -> None:
        """Something beside the output, on standard error."""
        self._write(sys.stderr, text)

    def _write(self, stream: TextIO, text: str) -> None:
        with self._lock:
            try:
                stream.write(f"{text}\n")
                stream.flush()
            except BrokenPipeError:
                self._stopped.set()
                # What is still in the buffer goes nowhere, else Python complains at its end.
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)

    def wait(self, timeout_s: float) -> bool:
        """Waits until all is over or the time is up; returns whether all is over."""
        if self._poll.poll(0):
            self._stopped.set()
        return self._stopped.wait(max(min(timeout_s, _LOOK_S), 0.0))


def coordinates(place: Coordinates) -> str:
    """A position as ``--at`` takes it, to a tenth of a metre."""
    return f"{_short(place.lat)},{_short(place.long)}"


def _short(degrees: float) -> str:
    return f"{degrees:.6f}".rstrip("0").rstrip(".")


def place_of(sample: Sample) -> str:
    """Where a sample arose; a Bloom key if its grid is not known here, ``-`` if nowhere."""
    if not isinstance(sample, LocatedSample) or sample.location_key is None:
        return "-"
    if sample.location is None:
        return sample.location_key.written
    return coordinates(sample.location)


def sample_line(sample: Sample) -> str:
    """Topic, place and payload."""
    deleted = sample.kind == zenoh.SampleKind.DELETE
    payload = "(deleted)" if deleted else text(sample.payload)
    return f"{sample.key_expr}  {place_of(sample)}  {payload}"


def text(payload: zenoh.ZBytes) -> str:
    """A payload on one line, with nothing in it that a terminal would obey."""
    data = payload.to_bytes()
    try:
        decoded = data.decode()
    except UnicodeDecodeError:
        return f"({len(data)} bytes) {base64.b64encode(data).decode()}"
    if decoded.isprintable():
        return decoded
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in decoded)


def sample_json(sample: Sample) -> str:
    """All that a sample says, as one JSON object on one line."""
    location = sample.location if isinstance(sample, LocatedSample) else None
    key = sample.location_key if isinstance(sample, LocatedSample) else None
    return _json({
        "key": str(sample.key_expr),
        "kind": "DELETE" if sample.kind == zenoh.SampleKind.DELETE else "PUT",
        "encoding": str(sample.encoding),
        "location": None if location is None else location.to_dict(),
        "location_key": None if key is None else key.written,
        "timestamp": _time(sample.timestamp),
        **_content("payload", sample.payload),
        **_content("attachment", sample.attachment),
    })  # fmt: skip


def _time(stamp: zenoh.Timestamp | None) -> str | None:
    return None if stamp is None else stamp.to_string_rfc3339_lossy()


def error_line(error: zenoh.ReplyError) -> str:
    """What a queryable said went wrong."""
    return f"error reply: {text(error.payload)}"


def error_json(error: zenoh.ReplyError) -> str:
    """The same for machines."""
    return _json({"encoding": str(error.encoding), **_content("error", error.payload)})


def query_line(query: Query) -> str:
    """What was asked, where, and with which payload."""
    payload = "" if query.payload is None else f"  {text(query.payload)}"
    return f"{query.selector}  {_asked_where(query)}{payload}"


def _asked_where(query: Query) -> str:
    areas = query.areas if isinstance(query, LocatedQuery) else None
    if areas is None:
        return "everywhere"
    assert isinstance(query, LocatedQuery)
    keys = query.location_keys
    shown = _area(areas[0]) or keys[0].written
    return shown if len(keys) == 1 else f"{shown} and {len(keys) - 1} more"


def _area(location: Location) -> str | None:
    """An area as the option that would say it."""
    place = location.place
    if isinstance(place, Circle):
        return f"--circle {coordinates(place.centre)},{place.radius_m:g}"
    if isinstance(place, GeographicRange):
        return f"--range {','.join(_short(edge) for edge in place.to_dict().values())}"
    if isinstance(place, MgrsCell):
        return f"--cell {place.text}"
    return None if place is None else f'--wkt "{wkt(place)}"'


def query_json(query: Query) -> str:
    """The same for machines."""
    keys = query.location_keys if isinstance(query, LocatedQuery) else ()
    return _json({
        "key": str(query.key_expr),
        "parameters": str(query.parameters),
        "location_keys": [key.written for key in keys],
        **_content("payload", query.payload),
        **_content("attachment", query.attachment),
    })  # fmt: skip


def _content(name: str, data: zenoh.ZBytes | None) -> dict[str, str | None]:
    """Bytes as text if they are, else as Base64 under a name that says so."""
    if data is None:
        return {name: None}
    raw = data.to_bytes()
    try:
        return {name: raw.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(raw).decode()}


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False)
