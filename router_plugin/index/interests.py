"""An index of interests by topic and place."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from zenoh_la.encoders import Location
from zenoh_la.encoders.locations import Point
from zenoh_la.router_plugin.index.bucket import Bucket
from zenoh_la.router_plugin.index.topics import TopicTable

T = TypeVar("T", bound=Hashable)


class InterestIndex(Generic[T]):
    """Who is interested in what, and where: the answers of `locations_match`, without asking all.

    An interest has an ident of the caller's choice, a topic (a key expression, wildcards
    included) and locations, any of which is enough. Not for several threads at once: the caller
    locks.

    >>> from zenoh_la import encoders
    >>> index = InterestIndex[str]()
    >>> index.set("Ada", "traffic/*", [encoders.decode("$zla_m_33TVM2452")])
    >>> index.find("traffic/jam", encoders.decode("$zla_m_33TVM2406852607"))
    ['Ada']
    """

    def __init__(self) -> None:
        self._buckets: TopicTable[Bucket[T]] = TopicTable()
        self._homes: dict[T, Bucket[T]] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._homes)

    def __contains__(self, ident: object) -> bool:
        return ident in self._homes

    def set(self, ident: T, topic: str, locations: Sequence[Location]) -> None:
        """Adds an interest, or moves the one of that ident; on an error nothing has changed.

        Raises:
            ZError: the topic is no key expression.
        """
        locations = tuple(locations)
        home = self._homes.get(ident)
        bucket = self._buckets.get(topic)
        if bucket is None:
            bucket = Bucket(topic)
            self._buckets.add(topic, bucket)
        if home is not None:
            home.remove(ident)
            if home is not bucket and not home.members:
                self._buckets.remove(home.topic)
        bucket.add(ident, self._number, locations)
        self._number += len(locations)
        self._homes[ident] = bucket

    def remove(self, ident: T) -> bool:
        """Removes an interest; False if there is none of that ident."""
        home = self._homes.pop(ident, None)
        if home is None:
            return False
        home.remove(ident)
        if not home.members:
            self._buckets.remove(home.topic)
        return True

    def find(self, topic: str, location: Location) -> list[T]:
        """Everyone whose topic intersects and one of whose locations matches, each once.

        Raises:
            ZError: the topic is no key expression.
        """
        found: list[T] = []
        for bucket in self._buckets.known.get(topic) or self._buckets.meeting(topic):
            if type(location) is Point and bucket.only is not None:
                bucket.only.holding(location.place, found)
            else:
                bucket.find(location, found)
        return found

    def count(self, topic: str) -> int:
        """How many interests the topic intersects, wherever they are."""
        count = 0
        for bucket in self._buckets.known.get(topic) or self._buckets.meeting(topic):
            count += len(bucket.members)
        return count

    def with_topic(self, topic: str) -> list[T]:
        """Whose interests those are."""
        return [ident for bucket in self._buckets.meeting(topic) for ident in bucket.members]
