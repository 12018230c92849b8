"""Which topics intersect: what `zenoh.KeyExpr` says, asked as rarely as can be."""

from __future__ import annotations

from typing import Generic, TypeVar

from zenoh import KeyExpr

V = TypeVar("V")

# Topics, and values found for them: some 30 MB at the worst. Routers see many topics, but not all
# that anybody could invent.
_REMEMBERED = 65_536
_LONGEST = 256


class TopicTable(Generic[V]):
    """Values by topic; a topic with wildcards intersects many.

    ``known`` is what `meeting` has found for topics without wildcards and still holds: for those
    who are in a hurry.
    """

    __slots__ = ("_exact", "_known_wild", "_remembered", "_wild", "known")

    def __init__(self) -> None:
        self._exact: dict[str, V] = {}
        self._wild: dict[str, tuple[KeyExpr, V]] = {}
        # What was looked up before, apart for topics with wildcards: these notice every topic
        # that comes or goes, the others only their own and those with wildcards.
        self.known: dict[str, tuple[V, ...]] = {}
        self._known_wild: dict[str, tuple[V, ...]] = {}
        self._remembered = 0  # since all was forgotten

    def __len__(self) -> int:
        return len(self._exact) + len(self._wild)

    def get(self, topic: str) -> V | None:
        """The value of just this topic."""
        value = self._exact.get(topic)
        if value is None and (wild := self._wild.get(topic)) is not None:
            return wild[1]
        return value

    def add(self, topic: str, value: V) -> None:
        """Adds a value at a topic that has none.

        Raises:
            ZError: it is no key expression.
        """
        key = KeyExpr(topic)
        if "*" in topic:
            self._wild[topic] = key, value
        else:
            self._exact[topic] = value
        self._forget(topic)

    def remove(self, topic: str) -> None:
        if "*" in topic:
            del self._wild[topic]
        else:
            del self._exact[topic]
        self._forget(topic)

    def _forget(self, topic: str) -> None:
        self._known_wild.clear()
        if "*" in topic or not len(self):
            self.known.clear()
        else:
            self.known.pop(topic, None)

    def meeting(self, topic: str) -> tuple[V, ...]:
        """The values of all topics that intersect this one.

        Raises:
            ZError: it is no key expression.
        """
        known = self.known.get(topic)
        return known if known is not None else self._look_up(topic)

    def _look_up(self, topic: str) -> tuple[V, ...]:
        wild = "*" in topic
        remembered = self._known_wild if wild else self.known
        values = remembered.get(topic)
        if values is not None:
            return values
        key = KeyExpr(topic)
        met = [value for other, value in self._wild.values() if key.intersects(other)]
        if wild:
            met += [value for t, value in self._exact.items() if key.intersects(KeyExpr(t))]
        elif topic in self._exact:
            met.append(self._exact[topic])
        values = tuple(met)
        if len(self) and len(topic) <= _LONGEST:
            self._remembered += 1 + len(values)
            if self._remembered > _REMEMBERED:
                self.known.clear()
                self._known_wild.clear()
                self._remembered = 1 + len(values)
            remembered[topic] = values
        return values
