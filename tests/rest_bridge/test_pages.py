"""The bridge's own pages, and the metrics of a router."""

from __future__ import annotations

import re
import urllib.request

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.commands import Command, run
from tests.network import Inbox, client, endpoint, router, wait_for
from tests.rest_bridge.events import subscribed
from tests.rest_bridge.server import Rest, rest
from zenoh_la import Circle, Coordinates, Precision

LINZ = Coordinates(48.3, 14.3)
HERE = "lat=48.3&long=14.3"


def samples(text: str) -> dict[str, float]:
    """Metrics by name and labels, as Prometheus itself reads them."""
    return {
        sample.name + "".join(f" {k}={v}" for k, v in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def metrics(http: httpx.Client) -> dict[str, float]:
    answer = http.get("/@zla/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return samples(answer.text)


def test_docs_need_nothing_from_elsewhere(http: httpx.Client) -> None:
    page = http.get("/@zla/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert not re.search(r"""(src|href)=["'](https?:)?//""", page.text)
    assert not re.search(r"https?://", page.text)
    assert http.get("/@zla/openapi.json").json()["openapi"] == "3.1.0"


def test_health(http: httpx.Client) -> None:
    assert http.get("/@zla/health").json()["status"] == "ok"


@pytest.mark.parametrize("alone", [True, False])
def test_metrics_by_encoding(alone: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A bridge of its own router shows that; one that joined a router shows that router's."""
    with router() as at:
        with (
            rest(connect=None if alone else at.endpoint) as bridge,
            bridge.client() as http,
            client(bridge.endpoint if alone else at.endpoint) as session,
        ):
            exact, cells = Inbox(), Inbox()
            session.declare_subscriber("x", exact, location_shape=Circle(LINZ, 50))
            session.declare_subscriber(
                "x", cells, location_shape=Circle(LINZ, 50), precision=Precision.MGRS
            )
            for _ in range(3):
                assert http.put(f"/x?{HERE}", content="x").status_code == 200
            assert http.put("/x?lat=1&long=1&precision=mgrs", content="x").status_code == 200
            exact.wait(3)
            cells.wait(3)
            wait_for(lambda: metrics(http)["zla_received_total encoding=mgrs"] == 1, "the last")
            found = metrics(http)
        assert found["zla_received_total encoding=base64_json"] == 3
        assert found["zla_delivered_total encoding=base64_json"] == 3
        assert found["zla_vetoed_total encoding=base64_json"] == 0
        assert found["zla_vetoed_total encoding=mgrs"] == 2
        assert found["zla_stopped_total encoding=mgrs"] == 1
        assert found["zla_forwarded_total encoding=mgrs"] == 0
        assert found["zla_interests encoding=base64_json"] == 1
        assert found["zla_interests encoding=mgrs"] == 1
        assert found["zla_interests encoding=bloom"] == 0
        assert found["zla_match_seconds_count encoding=base64_json"] == 1, "decided once"
        assert 0 < found["zla_match_seconds_sum encoding=base64_json"] < 5
        assert found["zla_routes"] >= 2
        assert found["zla_http_requests_total method=PUT status=200"] == 4


def test_metrics_of_requests_and_streams(http: httpx.Client, bridge: Rest) -> None:
    before = metrics(http)
    with subscribed(http, f"/x?{HERE}") as events:
        assert metrics(http)["zla_streams"] == before["zla_streams"] + 1
        http.put(f"/x?{HERE}", content="x")
        events.wait(1)
        http.put("/x?lat=99&long=1", content="x")
    wait_for(lambda: metrics(http)["zla_streams"] == before["zla_streams"], "the stream is gone")
    after = metrics(http)
    assert after["zla_events_sent_total"] == before["zla_events_sent_total"] + 1
    assert after["zla_http_requests_total method=PUT status=400"] == 1


def test_a_router_offers_the_same() -> None:
    own = endpoint()
    with Command("router", "--listen", own, "--metrics", "127.0.0.1:0") as running:
        running.until("ready")
        (line,) = [line for line in running.out if "metrics at" in line]
        url = line.split()[-1]
        with client(own) as session:
            inbox = Inbox()
            session.declare_subscriber("x", inbox, location_shape=Circle(LINZ, 50))
            session.put("x", "x", location=LINZ)
            inbox.wait(1)

            def found() -> dict[str, float]:
                with urllib.request.urlopen(url, timeout=10) as answer:
                    return samples(answer.read().decode())

            wait_for(lambda: found()["zla_received_total encoding=base64_json"] == 1, "it counts")
            assert found()["zla_delivered_total encoding=base64_json"] == 1
            assert found()["zla_interests encoding=base64_json"] == 1
            port = url.split(":")[-1].partition("/")[0]
            second = run("router", "--listen", endpoint(), "--metrics", f"127.0.0.1:{port}")
            assert second.returncode == 2
            assert f"--metrics 127.0.0.1:{port}: Address already in use" in second.stderr
        assert running.stop(15) == 0


def test_what_zla_rest_refuses() -> None:
    taken = endpoint().removeprefix("tcp/")
    with Command("rest", "--listen", taken, "--zenoh-listen", endpoint()) as running:
        running.until("ready")
        for given, named in [
            (["--listen", taken], "Address already in use"),
            (["--listen", "8000"], "HOST:PORT"),
            (["--listen", "localhost:http"], "HOST:PORT"),
            (["--listen", "127.0.0.1:70000"], "HOST:PORT"),
            (["--listen", "203.0.113.1:8000"], "203.0.113.1:8000"),
            (["--listen", "127.0.0.1:0", "--connect", "tcp/127.0.0.1:1"], "no connection"),
            (["--listen", "127.0.0.1:0", "--zenoh-listen", "tcp/203.0.113.1:1"], "203.0.113.1"),
            (["--listen", "127.0.0.1:0", "--cors-origin", "dash.example"], "--cors-origin"),
            (["--listen", "127.0.0.1:0", "--mode", "king"], "--mode"),
            (["--listen", "127.0.0.1:0", "--bloom-domain", "none.json"], "none.json"),
        ]:
            done = run("rest", *given)
            assert (done.returncode, done.stdout) == (2, ""), given
            assert named in done.stderr, given
        assert running.stop(2) == 0
