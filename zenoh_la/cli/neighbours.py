"""The location-aware nodes that a session can reach."""

from __future__ import annotations

import json
import threading
from time import monotonic
from typing import Any

import zenoh

from zenoh_la.router_plugin import protocol
from zenoh_la.session import LocationSession

_LOOK_S = 0.02
_INFORMED_S = 3.0


def statuses(session: LocationSession, timeout_s: float) -> list[dict[str, Any]]:
    """What all of them say of themselves (`Status.to_plain`), by their ids."""
    found: dict[str, dict[str, Any]] = {}
    ended = threading.Event()

    def on_reply(reply: zenoh.Reply) -> None:
        if reply.ok is not None:
            nid = protocol.last_chunk(str(reply.ok.key_expr))
            try:
                document = json.loads(reply.ok.payload.to_bytes())
            except ValueError:
                document = None
            # One that speaks otherwise is there all the same.
            found[nid] = {**document, "nid": nid} if type(document) is dict else {"nid": nid}

    session.get(
        protocol.status("*"),
        zenoh.handlers.Callback(on_reply, ended.set, indirect=False),
        target=zenoh.QueryTarget.ALL,
        consolidation=zenoh.ConsolidationMode.NONE,
        timeout=timeout_s,
    )
    ended.wait(timeout_s + 1.0)
    return [found[nid] for nid in sorted(found)]


def wait_until_informed(session: LocationSession, stopped: threading.Event) -> None:
    """Lets a session that matches for itself learn what others want, for a while.

    What it sent before that would stop at once: nobody seems to want it.
    """
    end_s = monotonic() + _INFORMED_S
    while not stopped.is_set() and monotonic() < end_s:
        own = session.node_status()
        if own is None:
            return  # its router knows
        others = [status for status in statuses(session, _INFORMED_S) if status["nid"] != own.nid]
        if all(own.nodes.get(status["nid"], -1) >= status.get("version", 0) for status in others):
            return
        stopped.wait(_LOOK_S)
