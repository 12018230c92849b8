"""Where a located get goes, and for how long that is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import zenoh

from zenoh_la import Circle, Coordinates, Role
from zenoh_la.encoders import Location
from zenoh_la.encoders.base64_json import Base64JsonEncoder
from zenoh_la.keys import to_chunk
from zenoh_la.router_plugin import frames, protocol
from zenoh_la.router_plugin.asks import ALL, Ask
from zenoh_la.router_plugin.members import Members
from zenoh_la.router_plugin.protocol import Interest, Sender
from zenoh_la.router_plugin.routes import Owner, RoutingTable
from zenoh_la.router_plugin.ways import At, Way, Ways

NID, OTHER = "7f3a0c91", "0c55e1aa"
LINZ = Circle(Coordinates(48.3, 14.3), 5000)
GRAZ = Circle(Coordinates(47.07, 15.44), 5000)


def chunk(area: Circle, role: Role) -> str:
    (key,) = Base64JsonEncoder().encode_area(area, role)
    return to_chunk(key, None)


def queryable(area: Circle = LINZ) -> Interest:
    return Interest.of("q", "t/last", (chunk(area, Role.QUERYABLE),))


class Scene:
    """A node that knows what it is told here."""

    def __init__(self, table: RoutingTable | None = None) -> None:
        self.table = RoutingTable() if table is None else table
        self.owners: dict[int, Owner] = {}
        self.at: dict[tuple[str, int], At] = {}
        self.members = Members(NID)
        self.ways = Ways(NID, self.table, self.members, self.owners.get)
        self.ways.at = lambda nid, entry: self.at.get((nid, entry))

    def change(self, new: dict[Owner, Interest], gone: Sequence[Owner] = ()) -> None:
        self.table.change(new.items(), gone)
        self.ways.changed({interest.topic for interest in new.values()} or {"t/last"})

    def asked(self, target: str = "best") -> Way:
        key = protocol.ingress_get(NID, 4, chunk(LINZ, Role.GET), "t/last")
        return self.ways.of_session(key, Ask(target=target).write())


def targets(way: Way) -> dict[str, Ask]:
    return {str(key): Ask.read(frames.split(zenoh.ZBytes(end))[0]) for key, end in way.targets}


def test_a_session_at_another_node_is_asked_straight() -> None:
    scene = Scene()
    scene.change({(OTHER, 3): queryable(), (OTHER, 5): queryable()})
    scene.at = {(OTHER, 3): (9, 300, 1), (OTHER, 5): (9, 300, 2)}
    ((key, ask),) = targets(scene.asked()).items()
    assert key == protocol.get_of_session(OTHER, 9)
    assert (ask.tag, ask.ids, ask.topic) == (300, (1, 2), "t/last")


def test_several_sessions_behind_one_link_are_asked_through_their_node() -> None:
    scene = Scene()
    scene.change({(OTHER, 3): queryable(), (OTHER, 5): queryable()})
    scene.at = {(OTHER, 3): (9, 300, 1), (OTHER, 5): (10, 301, 1)}
    ((key, ask),) = targets(scene.asked()).items()
    assert (key, ask.only) == (protocol.one_get(OTHER), -1)


def test_so_is_one_whose_node_does_not_say_where_it_is() -> None:
    scene = Scene()
    scene.change({(OTHER, 3): queryable(), (OTHER, 5): queryable(GRAZ)})
    ((key, ask),) = targets(scene.asked()).items()
    assert (key, ask.only) == (protocol.one_get(OTHER), 3)


def test_a_way_is_remembered_until_somebody_who_could_answer_changes() -> None:
    scene = Scene()
    first = scene.asked()
    assert scene.asked() is first
    assert scene.asked(ALL) is not first  # another question
    elsewhere = Interest.of("q", "t/other", (chunk(LINZ, Role.QUERYABLE),))
    scene.change({(OTHER, 1): elsewhere})
    assert scene.asked() is first
    scene.change({(OTHER, 3): queryable()})
    assert list(targets(scene.asked())) == [protocol.one_get(OTHER)]
    scene.change({}, [(OTHER, 3)])
    assert not scene.asked().targets


def test_an_entry_that_is_not_known_means_all_and_is_not_remembered() -> None:
    """The node that asks may know of an entry before the table here does."""
    scene = Scene()
    first, second = scene.members.new(), scene.members.new()
    owners: list[Owner] = [(first.slot, 1), (second.slot, 1)]
    scene.change({owner: queryable() for owner in owners})
    document = Ask("t/last", chunk(LINZ, Role.GET), only=7).write()
    assert len(scene.ways.of_node(document).targets) == 2
    scene.owners[7] = owners[1]
    assert list(targets(scene.ways.of_node(document))) == [str(second.gets)]
    assert scene.ways.of_node(document) is scene.ways.of_node(document)


class Interrupted(RoutingTable):
    """Something happens while it is being asked, once."""

    meanwhile: Callable[[], None] | None = None

    def answerers(
        self, topic: str, locations: Iterable[Location], sender: Sender
    ) -> dict[Owner, Interest]:
        found = super().answerers(topic, locations, sender)
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            happens()
        return found


def test_what_changes_while_a_way_is_decided_is_not_missed() -> None:
    table = Interrupted()
    scene = Scene(table)
    table.meanwhile = lambda: scene.change({(OTHER, 3): queryable()})
    assert not scene.asked().targets
    assert list(targets(scene.asked())) == [protocol.one_get(OTHER)]
