"""The access rules of docs/PROTOCOL.md let zenoh-la work, and nothing else pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import zenoh

from tests.network import Inbox, client, endpoint, native_client, settings, wait_for
from tests.router_plugin.foreign import DOCUMENT
from zenoh_la import Circle, Coordinates
from zenoh_la.router_plugin.router import Router

LINZ = Coordinates(48.3, 14.3)
ALL = ["put", "delete", "declare_subscriber", "query", "declare_queryable", "reply",
       "liveliness_token", "liveliness_query", "declare_liveliness_subscriber"]  # fmt: skip


def rules() -> list[dict[str, Any]]:
    """The table of the document, publishing and asking only below ``sensors`` as it shows."""
    table = DOCUMENT.partition("| messages | keys |")[2].partition("\n\n")[0]
    found = []
    for messages, keys in re.findall(r"^\| (`.*?) \| (`.*?) \|$", table, re.MULTILINE):
        exprs = re.findall("`(.*?)`", keys)
        for wide in ("@zla/1/in/**", "@zla/1/get/**"):
            if wide in exprs:
                narrow = wide.replace("**", "*/*/*/sensors/**")
                assert f"`{narrow}`" in DOCUMENT
                exprs[exprs.index(wide)] = narrow
        if "topics" in keys:
            exprs.append("sensors/**")
        found.append(rule(re.findall("`(.*?)`", messages), exprs, "ingress"))
    assert len(found) == 6
    return [*found, rule(ALL, ["**", "@zla/1/**"], "egress")]


def rule(messages: list[str], keys: list[str], flow: str) -> dict[str, Any]:
    name = f"{flow} {messages[0]}"
    return {"id": name, "permission": "allow", "flows": [flow], "messages": messages,
            "key_exprs": keys}  # fmt: skip


@pytest.fixture
def guarded() -> Iterator[tuple[Router, str]]:
    """A router that allows its clients what the document says."""
    at, allowed = endpoint(), rules()
    access = {
        "enabled": True,
        "default_permission": "deny",
        "rules": allowed,
        "subjects": [{"id": "everybody"}],
        "policies": [{"rules": [r["id"] for r in allowed], "subjects": ["everybody"]}],
    }
    text = settings("router", listen=[at], access_control=access)
    with Router(zenoh.Config.from_json5(text), grants=False) as router:
        yield router, at


def test_the_rules_suffice_and_keep_to_the_topic(guarded: tuple[Router, str]) -> None:
    def answer(query: Any) -> None:
        with query:
            query.reply("sensors/last", "21.5")

    _, at = guarded
    with client(at) as subscriber, client(at) as publisher:
        inbox, area = Inbox(), Circle(LINZ, 100)
        subscriber.declare_subscriber("*/a", inbox, location_shape=area)
        subscriber.declare_queryable("sensors/last", answer, location_shape=area)
        publisher.declare_position_handler(0, lambda: LINZ)
        texts = [str(i) for i in range(100)]  # enough to be granted a route
        for text in texts:
            publisher.put("secrets/a", "not allowed")
            publisher.put("sensors/a", text)
        inbox.wait(100)
        assert inbox.texts() == texts
        (reply,) = publisher.get("sensors/*", location_shape=area)
        assert reply.ok.payload.to_string() == "21.5"


def test_what_only_routers_say_is_not_heard_from_clients(guarded: tuple[Router, str]) -> None:
    router, at = guarded
    nid = router.status().nid
    forbidden = [f"one/{nid}", f"many/{nid}/0badcafe", "delta/0badcafe", "**", "*/*",
                 f"in/{nid}/-/bad/secrets/a", f"in/{nid}/**", "in/**"]  # fmt: skip
    with native_client(at) as hostile:
        token = hostile.liveliness().declare_token("@zla/1/node/0badcafe/x")  # a bad one is counted
        liar = hostile.declare_queryable("@zla/1/ask/**", lambda query: query.drop())
        for key in forbidden:
            hostile.put(f"@zla/1/{key}", b"bad")
        hostile.put(f"@zla/1/in/{nid}/-/bad/sensors/a", b"bad, but allowed: the fence")
        wait_for(lambda: router.status().counters.refused, "the fence is refused")
        assert router.status().counters.refused == 1
        token.undeclare()
        liar.undeclare()
