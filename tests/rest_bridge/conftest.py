from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

import zenoh_la
from tests.network import client
from tests.rest_bridge.server import Rest, rest
from zenoh_la import BloomDomain, GeographicRange

DOMAIN = BloomDomain(GeographicRange(45, 12, 49, 17), 10, 10, 0.01)


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    """A bridge that runs alone, with a Bloom domain."""
    file = tmp_path_factory.mktemp("rest") / "grid.json"
    DOMAIN.to_file(file)
    with rest("--bloom-domain", str(file)) as running:
        yield running


@pytest.fixture(scope="module")
def http(bridge: Rest) -> Iterator[httpx.Client]:
    with bridge.client() as opened:
        yield opened


def fence(session: zenoh_la.LocationSession) -> None:
    """Returns when the router knows what the session declared: it answers after that."""
    assert list(session.get("@/*/router"))


@pytest.fixture(scope="module")
def session(bridge: Rest) -> Iterator[zenoh_la.LocationSession]:
    """A client of the bridge's router."""
    with client(bridge.endpoint) as opened:
        opened.declare_bloom_domain(DOMAIN)
        yield opened
