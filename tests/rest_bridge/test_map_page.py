"""The live map in a browser: what it shows, and what can be done on it."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import zenoh_la
from tests.cli.commands import Command
from tests.network import Inbox, endpoint, wait_for
from tests.rest_bridge.browser import MapPage, map_page
from tests.rest_bridge.events import subscribed
from tests.rest_bridge.server import Rest, rest
from zenoh_la import Circle, Coordinates

LINZ, VIENNA = (48.3, 14.3), (48.2, 16.4)
TEXT = {"Content-Type": "text/plain"}


def put(http: httpx.Client, topic: str, at: tuple[float, float], text: str, more: str = "") -> None:
    url = f"/{topic}?lat={at[0]}&long={at[1]}{more}"
    assert http.put(url, content=text, headers=TEXT).status_code == 200


@pytest.fixture
def page(bridge: Rest, tmp_path: Path) -> Iterator[MapPage]:
    with map_page(tmp_path) as opened:
        opened.open(bridge.url)
        opened.look_at(48.0, 15.0, 7)
        yield opened


def dot(topic: str) -> str:
    return f"[...zlaMap.dots._dots.values()].find((dot) => dot.topic === '{topic}')"


def test_it_shows_areas_and_messages(page: MapPage, http: httpx.Client) -> None:
    with subscribed(http, "/show/*?shape=circle&lat=48.3&long=14.3&r=30&unit=km"):
        about = "[...zlaMap.interests.values()].find((i) => i.interest.topic === 'show/*')"
        assert page.wait(f"{about}?.interest.circles", "the area") == [[48.3, 14.3, 30000]]
        put(http, "show/in", LINZ, "a")
        put(http, "show/out", VIENNA, "b")
        assert page.wait(f"{dot('show/in')}?.kind", "the first") == "delivered"
        assert page.wait(f"{dot('show/out')}?.kind", "the second") == "vetoed"
        page.wait("document.querySelector('#counters dd')?.textContent > '0'", "counters")
        page.save("shown")
    page.wait(f"!({about})", "the area gone")


def test_filters(page: MapPage, http: httpx.Client) -> None:
    page.fill("filter-topic", "filter/a/*")
    page.wait("document.getElementById('state').className === 'live'", "live again")
    for _ in range(2):  # of the first, the feed may not yet have been there
        put(http, "filter/b/1", LINZ, "no")
        put(http, "filter/a/1", LINZ, "yes")
    page.wait(dot("filter/a/1"), "what was asked for")
    assert not page.js(f"return {dot('filter/b/1')}")
    page.fill("filter-encoding", "mgrs")
    wait_for(lambda: page.js("return zlaMap.dots.size()") == 0, "an empty map")

    def seen() -> bool:
        put(http, "filter/a/2", LINZ, "no")
        put(http, "filter/a/3", LINZ, "yes", "&precision=mgrs")
        return bool(page.js(f"return {dot('filter/a/3')}"))

    wait_for(seen, "the MGRS one")
    assert not page.js(f"return {dot('filter/a/2')}")


def test_a_click_tells_why(page: MapPage, http: httpx.Client) -> None:
    with subscribed(http, "/why/*?shape=circle&lat=48.3&long=14.3&r=30&unit=km"):
        put(http, "why/out", VIENNA, "x")
        page.wait(f"{dot('why/out')}?.kind === 'vetoed'", "the message")
        page.tool("ask")
        page.click(*VIENNA)
        page.wait("!document.getElementById('why').hidden", "an answer")
        wait_for(lambda: "vetoed for 1" in page.text("why-summary"), "the verdict")
        assert "beyond the radius of 30,000.0 m" in page.text("why-list")
        page.save("why")


def test_publish_by_a_click(page: MapPage, session: zenoh_la.LocationSession) -> None:
    inbox = Inbox()
    area = Circle(Coordinates(*LINZ), 40_000)
    with session.declare_subscriber("click/*", inbox, location_shape=area):
        page.fill("own-topic", "click/here")
        page.fill("own-payload", "by hand")
        page.tool("publish")
        page.click(*VIENNA)
        wait_for(lambda: "vetoed for 1" in page.text("why-summary"), "the first verdict")
        page.click(*LINZ)
        inbox.wait(1)
        wait_for(lambda: "delivered to 1" in page.text("why-summary"), "the second verdict")
    assert inbox.texts() == ["by hand"]
    place = inbox.items[0].location
    assert place is not None
    assert place.distance_m(Coordinates(*LINZ)) < 2000


@pytest.mark.parametrize("tool", ["circle", "box"])
def test_an_area_is_drawn_and_dragged(page: MapPage, http: httpx.Client, tool: str) -> None:
    page.fill("own-topic", f"drawn/{tool}")
    page.tool(tool)
    page.drag([(48.5, 14.1), (48.4, 14.3), (48.1, 14.6)])
    page.wait("zlaMap.areas.all[0]?.url && zlaMap.areas.all[0].told", "the stream")
    inside, there = (48.4, 14.2), (48.4, 16.2)
    put(http, f"drawn/{tool}", there, "too early")
    put(http, f"drawn/{tool}", inside, "one")
    page.wait("document.querySelectorAll('#events li').length === 1", "an event")
    assert '"one"' in page.text("events")
    page.tool("ask")  # an area is dragged whatever the tool is
    page.drag([inside, (48.4, 15.0), there])
    page.wait("zlaMap.areas.all[0].told === zlaMap.areas.all[0].wanted "
              "&& !zlaMap.areas.all[0].sending", "the move")  # fmt: skip
    put(http, f"drawn/{tool}", inside, "too late")
    put(http, f"drawn/{tool}", there, "two")
    page.wait("document.querySelectorAll('#events li').length === 2", "another event")
    assert '"two"' in page.text("events")
    assert "too" not in page.text("events")
    page.save(f"drawn-{tool}")
    page.js("zlaMap.areas.drop(zlaMap.areas.all[0])")


@pytest.mark.parametrize(("phone", "dark"), [(True, False), (True, True), (False, True)])
def test_phone_and_dark(
    bridge: Rest, http: httpx.Client, tmp_path: Path, phone: bool, dark: bool
) -> None:
    size = (390, 844) if phone else (1280, 800)
    with map_page(tmp_path, *size, dark=dark, phone=phone) as page:
        page.open(bridge.url)
        page.look_at(48.0, 15.0, 6)
        put(http, "look/here", LINZ, "x")
        page.wait(dot("look/here"), "the message")
        assert page.js("return document.documentElement.scrollWidth <= innerWidth")
        shown = page.js("return document.getElementById('map').getBoundingClientRect().height")
        assert shown > 250
        page.save(f"{'phone' if phone else 'desktop'}-{'dark' if dark else 'light'}")
        background = page.js("return getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(20, 27, 31)" if dark else "rgb(255, 255, 255)")


def test_fingers_draw_and_drag(bridge: Rest, http: httpx.Client, tmp_path: Path) -> None:
    with map_page(tmp_path, 390, 844, phone=True) as page:
        page.open(bridge.url)
        page.look_at(48.0, 15.5, 7)
        page.js(
            "window.kinds = new Set();"
            "addEventListener('pointerdown', (e) => kinds.add(e.pointerType), true)"
        )
        page.fill("own-topic", "finger/a")
        page.tool("circle")
        page.drag([(48.2, 14.8), (48.2, 15.0), (48.2, 15.2)])
        page.wait("zlaMap.areas.all[0]?.told", "the stream")
        page.tool("ask")
        before = page.js("return zlaMap.map.getCenter()")
        page.drag([(48.2, 14.7), (48.2, 15.2), (48.2, 15.9)])
        page.wait("zlaMap.areas.all[0].told === zlaMap.areas.all[0].wanted "
                  "&& !zlaMap.areas.all[0].sending", "the move")  # fmt: skip
        assert page.js("return zlaMap.map.getCenter()") == before  # the area moved, not the map
        put(http, "finger/a", (48.2, 14.8), "too late")
        put(http, "finger/a", (48.2, 16.0), "here")
        page.wait("document.querySelectorAll('#events li').length === 1", "an event")
        assert '"here"' in page.text("events")
        assert page.js("return [...kinds]") == ["touch"]
        page.save("phone-drawn")
        page.drag([(47.6, 15.5), (47.6, 15.2)])
        page.wait(f"zlaMap.map.getCenter().lng > {before['lng']}", "the map dragged")


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    with rest("--token", "s3cret") as guarded, map_page(tmp_path) as page:
        page.driver.get(f"{guarded.url}/@zla/map")
        page.wait("document.getElementById('token-dialog').open", "the question")
        page.fill("token", "s3cret")
        page.js("document.querySelector('#token-dialog button').click()")
        page.wait("document.getElementById('state').className === 'live'", "live")
        assert all("401" in text for text in page.complaints())  # which reads them


def test_what_the_readme_says(tmp_path: Path) -> None:
    """Two terminals and a browser."""
    text = (Path(__file__).parents[2] / "README.md").read_text()
    (block,) = [b for b in re.findall(r"```console\n(.*?)```", text, re.DOTALL) if "$ zla map" in b]
    first, second = (shlex.split(line, comments=True)[2:] for line in block.splitlines())
    assert first == ["map"]
    own = endpoint()
    second = [own if word == "tcp/127.0.0.1:7447" else word for word in second]
    with Command("map", "--listen", "127.0.0.1:0", "--zenoh-listen", own) as showing:
        showing.until("ready; Ctrl-C stops it")
        (url,) = re.findall(r"(http://\S+)/@zla/map", showing.out[0])
        with map_page(tmp_path) as page, Command(*second) as publishing:
            page.open(url)
            page.wait(f"{dot('demo/hello')}?.kind === 'unwanted'", "the message")
            page.wait("zlaMap.map.getZoom() > 4", "a closer look")
            page.fill("own-topic", "demo/*")
            page.tool("circle")
            page.drag([(48.3, 14.3), (48.3, 14.6)])
            page.wait(f"{dot('demo/hello')}.kind === 'delivered'", "delivered")
            page.wait("document.querySelectorAll('#events li').length > 0", "an event")
            page.tool("ask")
            page.drag([(48.25, 14.25), (48.25, 15.0), (48.25, 16.0)])
            page.wait(f"{dot('demo/hello')}.kind === 'vetoed'", "vetoed")
            page.save("readme")
            assert publishing.process.poll() is None
        assert showing.stop(signal.SIGINT) == 0
