"""Location-aware sessions: `zenoh.Session` with places.

`location_session` is the session, put together from `publishing`, `subscribing` and `querying`; the
handles it gives out are in `publisher`, `subscriber`, `query`, `queryable` and `querier`. Below
these, `core` joins the parts: `position` and `mobility` (where the session is), `places` (from
arguments to location keys), `membership` and `home` (the node it belongs to), `local` and
`handlers` (how things reach the application).
"""

from zenoh_la.session.location_session import LocationSession, open  # noqa: A004 - as in zenoh
from zenoh_la.session.losses import Losses
from zenoh_la.session.matching import MatchingListener, MatchingStatus
from zenoh_la.session.publisher import Publisher
from zenoh_la.session.querier import Querier
from zenoh_la.session.query import LocatedQuery
from zenoh_la.session.queryable import Queryable
from zenoh_la.session.samples import LocatedReply, LocatedSample
from zenoh_la.session.subscriber import MobilitySubscriber, PullSubscriber, Subscriber

__all__ = [
    "LocatedQuery",
    "LocatedReply",
    "LocatedSample",
    "LocationSession",
    "Losses",
    "MatchingListener",
    "MatchingStatus",
    "MobilitySubscriber",
    "Publisher",
    "PullSubscriber",
    "Querier",
    "Queryable",
    "Subscriber",
    "open",
]
