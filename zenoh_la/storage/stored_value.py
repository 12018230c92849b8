"""A value as it is stored."""

from __future__ import annotations

import re
from dataclasses import dataclass

from zenoh_la import keys
from zenoh_la.errors import ArgumentError, LocationKeyError
from zenoh_la.keys import BLOOM, LocationKey, Role


@dataclass(frozen=True, slots=True)
class StoredValue:
    """What somebody published, and where.

    Attributes:
        topic: the plain topic, without wildcards.
        location_key: of the publisher.
        domain: the fingerprint of the publisher's Bloom domain, if it is a Bloom key.
        payload: the data.
        encoding: of the payload, as ``str(zenoh.Encoding)`` has it.
        attachment: the user's own, if there is one.
        timestamp: ``str(zenoh.Timestamp)``, that is ``<NTP64>/<id in hexadecimal>``.
    """

    topic: str
    location_key: LocationKey
    domain: str | None
    payload: bytes
    encoding: str
    attachment: bytes | None
    timestamp: str

    def __post_init__(self) -> None:
        check_place(self.topic, self.location_key, self.domain)
        order(self.timestamp)
        if not isinstance(self.payload, bytes):
            raise ArgumentError("payload", self.payload, "must be bytes")
        if not isinstance(self.encoding, str):
            raise ArgumentError("encoding", self.encoding, "must be a text")
        if not isinstance(self.attachment, bytes | None):
            raise ArgumentError("attachment", self.attachment, "must be bytes or None")


def check_place(topic: str, key: LocationKey, domain: str | None) -> None:
    """Whether something can be published there."""
    keys.join(key, topic)
    if "*" in topic:
        raise LocationKeyError(topic, "topic", "of one value cannot have wildcards")
    if key.role not in (None, Role.PUBLISHER) or key.is_filter:
        raise LocationKeyError(key.written, "role", "is not a publisher's")
    if domain is not None and (key.encoding != BLOOM or not isinstance(domain, str) or not domain):
        raise ArgumentError("domain", domain, "must be the fingerprint of a Bloom key's domain")


_TIMESTAMP = re.compile(r"([0-9]{1,20})/([0-9a-f]{1,32})")


def order(timestamp: str) -> tuple[int, str]:
    """What timestamps are compared by: the time, then the clock's id as a number."""
    match = _TIMESTAMP.fullmatch(timestamp) if isinstance(timestamp, str) else None
    if match is None or int(match[1]) >= 2**64:
        raise ArgumentError("timestamp", timestamp, "must be <NTP64>/<id in hexadecimal>")
    # SQLite's integers are signed, and NTP64 times pass 2**63 in 2038.
    return int(match[1]) - 2**63, match[2].rjust(32, "0")
