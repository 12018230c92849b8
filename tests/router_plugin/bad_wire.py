"""What a hostile client sends: every key of the protocol, every part of it wrong."""

from __future__ import annotations

import base64
import json
import random
import struct
from collections.abc import Callable
from typing import Any

import zenoh

Messages = list[tuple[str, bytes | None]]
"""Keys and attachments."""

MGRS = "zla_m_33TVM2406852607"
LINZ = "zla_m_33UVP4810249926"
_NAN = struct.pack("<dd", float("nan"), 14.0)
_DEEP = b'{"interests":' + b"[" * 100_000
_HUGE = b"9" * 5000


def area(role: str, radius_m: float = 1000.0, lat: float = 48.3) -> str:
    """The location key of a circle."""
    data = json.dumps({"r": radius_m, "c": {"lat": lat, "long": 14.3}}, separators=(",", ":"))
    return f"zla_{role}_2_{base64.urlsafe_b64encode(data.encode()).decode().rstrip('=')}"


def framed(header: bytes, flags: int = 0) -> bytes:
    """An attachment that is only a header."""
    return header + (len(header).to_bytes(3, "little") if flags & 1 else b"") + bytes([flags])


def header(location: bytes, topic: bytes, more: bytes = b"") -> bytes:
    return framed(location + bytes([len(topic)]) + topic + more)


def point(lat: float, long: float) -> bytes:
    return b"\x01" + struct.pack("<dd", lat, long)


def grid_point(lat: int, long: int) -> bytes:
    """In ten-millionths of a degree."""
    return b"\x05" + struct.pack("<ii", lat, long)


def tag_in(attachment: bytes) -> int:
    """The tag of a header with a point and a short topic."""
    found = attachment[:-1]
    if attachment[-1] & 1:
        found = attachment[-4 - int.from_bytes(attachment[-4:-1], "little") : -4]
    at = 17 if found[0] == 1 else 9
    at += 1 + found[at]
    tag = shift = 0
    while True:
        tag |= (found[at] & 127) << shift
        if found[at] < 128:
            return tag
        at, shift = at + 1, shift + 7


class Hostile:
    """A client of a router, with nothing but Zenoh, and what it found out about the network."""

    def __init__(self, session: zenoh.Session, zid: str, near: str, far: str) -> None:
        self.session = session
        self.zid = zid
        self.near = near
        self.far = far

    def call(self, key: str, payload: bytes) -> dict[str, Any]:
        replies = list(self.session.get(key, payload=payload, timeout=10.0))
        documents = [json.loads(r.ok.payload.to_bytes()) for r in replies if r.ok is not None]
        assert len(documents) == 1, f"{key}: {documents}"
        found: dict[str, Any] = documents[0]
        return found

    def hello(self) -> dict[str, Any]:
        return self.call(f"@zla/1/hello/{self.zid}", b"")


def _slots(hostile: Hostile) -> Messages:
    slots = ["", "x", "²", "٣", "007", "1234567890", "1lr", "1x", "-1", "-l", "*", "1.0", "0x1"]
    return [(f"@zla/1/in/{hostile.near}/{slot}/{MGRS}/t", None) for slot in slots if slot]


def _places(hostile: Hostile) -> Messages:
    nan = base64.urlsafe_b64encode(b'{"lat":NaN,"long":1}').decode().rstrip("=")
    chunks = [
        "t", "zla_", "zla_p_!", "zla_p_e30", f"zla_p_{nan}", "zla_p_" + "A" * 59_000,
        area("s"), area("q"), area("g"), "zla_m_33T", "zla_m_33TVM2452", "zla_m_99Z", "*",
        "zla_b_f_1.0", "zla_b_e_0", "zla_b_e_1~zz", "zla_b_e_ffffffff.ffffffff.1",
        "zla_x_nobody_p_1", f"{MGRS}|{MGRS}", "zla_b_e_1.0~0123456789ABCDEF",
    ]  # fmt: skip
    return [(f"@zla/1/in/{hostile.near}/-/{chunk}/t", None) for chunk in chunks]


def _topics(hostile: Hostile) -> Messages:
    topics = ["~t", "t/~", "~", "~@/x/router", "~@zla/1/to/1/1", "~@zla", "t/~x/y"]
    found: Messages = [(f"@zla/1/in/{hostile.near}/-/{MGRS}/{topic}", None) for topic in topics]
    wild = [f"*/-/{MGRS}/t", f"**/-/{MGRS}/t", "**", f"{hostile.near}/**", f"{hostile.near}/-"]
    return found + [(f"@zla/1/in/{rest}", None) for rest in wild]


def _in_attachment(hostile: Hostile) -> Messages:
    """The place of a message that is on its way through the node's key ``-``."""
    data = [
        None, b"", b"x", framed(b""), framed(b"\x00"), framed(b"\x01" + _NAN),
        framed(point(91, 0)), framed(point(48, 14)[:-1]), framed(point(48, 14) + b"\x00"),
        framed(b"\x02\x0333T"), framed(b"\x04" + bytes([len(area("s"))]) + area("s").encode()),
        framed(b"\x03\x00\x01\x41" + bytes(65)), framed(b"\x09"), framed(point(48, 14), flags=2),
        framed(b"\xff" * 60_000), framed(grid_point(900_000_001, 0)), framed(b"\x05" + bytes(7)),
        framed(grid_point(0, -1_800_000_001)), framed(grid_point(48, 14) + b"\x00"),
    ]  # fmt: skip
    return [(f"@zla/1/in/{hostile.near}/-/-/t", attachment) for attachment in data]


def _headers() -> list[bytes | None]:
    linz = point(48.3, 14.3)
    return [
        None, b"", b"x", b"\x00" * 4, b"\xff" * 4, b"\xff" * 3 + b"\x01", b"\x00" * 400,
        header(b"\x00", b"honest/a"),
        header(linz, b""), header(linz, b"honest/a", b"\x01\x01\x01"), header(linz, b"a//b"),
        header(linz, b"@zla/1/to/x"), header(linz, b"\xff\xff"), header(linz, b"honest/$a"),
        header(b"\x01" + _NAN, b"honest/a"), header(point(91, 0), b"honest/a"),
        header(b"\x02\x0333T", b"honest/a"), header(b"\x02\x03ABC", b"honest/a"),
        header(b"\x03\x00\x01\x41" + bytes(65), b"honest/a"),
        header(b"\x04" + bytes([len(area("s"))]) + area("s").encode(), b"honest/a"),
        header(b"\x05abc", b"honest/a"),
        framed(linz + b"\x08honest/a", flags=4), framed(linz + b"\x08honest/a", flags=255),
        framed(linz + b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), framed(b"\xff" * 100_000),
    ]  # fmt: skip


PUTS: dict[str, Callable[[Hostile], Messages]] = {
    "in: slots": _slots,
    "in: places": _places,
    "in: topics": _topics,
    "in: attachments": _in_attachment,
    "one": lambda hostile: [(f"@zla/1/one/{hostile.near}", h) for h in _headers()],
    "many": lambda hostile: [
        (f"@zla/1/many/0badcafe/{hostile.near}/1", h) for h in _headers()[::4]
    ],
    "everything": lambda _: [("@zla/1/**", None), ("@zla/1/*/**", b"x"), ("@zla/**", None)],
}


def _marked(document: Any) -> bytes:
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return framed(text) + b"zlA1"


_BAD_ASKS: list[Any] = [
    b"", b"nonsense", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"timeout_ms":' + _HUGE + b"}",
    {"target": "nearest"}, {"target": 1}, {"timeout_ms": 0}, {"timeout_ms": -1},
    {"timeout_ms": 1e3}, {"timeout_ms": True}, {"timeout_ms": 10**12}, {"timeout_ms": "1"},
    {"any_key": 1}, {"any_key": "no"}, {"ids": 1}, {"ids": ["1"]}, {"ids": [-1]},
    {"ids": [2, 1]}, {"ids": [1, 1]}, {"only": -2}, {"only": 2**40}, {"topic": 1}, {"chunk": 1},
    {"tag": 1.5}, b'{"timeout_ms":NaN}', b'{"target":"all","target":"best"}',
]  # fmt: skip


def _get_places(hostile: Hostile) -> Messages:
    many = "|".join(f"zla_m_33TVM{i:04d}" for i in range(2049))
    circles = "|".join(area("g", 1000 + i) for i in range(17))
    chunks = ["t", area("s"), area("q"), "zla_b_f_1.0", "zla_p_e30", many, circles, f"{MGRS}|",
              "|", "zla_p_eyJsYXQiOjE2LjAsImxvbmciOjIxLjV9"]  # fmt: skip
    return [(f"@zla/1/get/{hostile.near}/-/{chunk}/t", None) for chunk in chunks]


GETS: dict[str, Callable[[Hostile], Messages]] = {
    "get: places": _get_places,
    "get: documents": lambda hostile: [
        (f"@zla/1/get/{hostile.near}/-/{area('g')}/honest/q", _marked(bad)) for bad in _BAD_ASKS
    ],
    "get: keys": lambda hostile: [
        (f"@zla/1/get/{rest}", None)
        for rest in (f"{hostile.near}/²/{MGRS}/t", f"{hostile.near}/-/{MGRS}/~t",
                     f"{hostile.near}/-", f"{hostile.near}/-/{MGRS}/~@/x")
    ],
    "oneget": lambda hostile: [
        (f"@zla/1/oneget/{hostile.near}", data)
        for data in (None, b"", b"x", *(framed(_bytes(bad)) for bad in _BAD_ASKS),
                     framed(b"{}"), framed(b'{"topic":"t"}'), framed(b'{"topic":"t","chunk":""}'),
                     framed(b'{"topic":"@zla/1","chunk":"zla_m_33T"}'))
    ],
}  # fmt: skip


def _bytes(document: Any) -> bytes:
    return document if isinstance(document, bytes) else json.dumps(document).encode()


_BAD_INTERESTS: list[Any] = [
    None, 1, "s", [], {}, ["s"], ["s", "t", [], 0], ["s", "t", [], 0, 0, 0],
    ["x", "t", [MGRS], 0, 0], ["S", "t", [MGRS], 0, 0], [1, "t", [MGRS], 0, 0],
    ["s", 1, [MGRS], 0, 0], ["s", "", [MGRS], 0, 0], ["s", "a//b", [MGRS], 0, 0],
    ["s", "/t", [MGRS], 0, 0], ["s", "t?", [MGRS], 0, 0], ["s", "@zla/1/in/x", [MGRS], 0, 0],
    ["s", "\ud800", [MGRS], 0, 0], ["s", "t" * 66_000, [MGRS], 0, 0],
    ["s", "t", MGRS, 0, 0], ["s", "t", [1], 0, 0], ["s", "t", [[]], 0, 0],
    ["s", "t", ["nonsense"], 0, 0], ["s", "t", [area("q")], 0, 0], ["s", "t", [area("g")], 0, 0],
    ["q", "t", [area("s")], 0, 0], ["q", "t", ["zla_b_e_1.0"], 0, 0],
    ["s", "t", [area("s", -1.0)], 0, 0], ["s", "t", [area("s", lat=91.0)], 0, 0],
    ["s", "t", [MGRS], 2, 0], ["s", "t", [MGRS], True, 0], ["s", "t", [MGRS], 0.0, 0],
    ["s", "t", [MGRS], None, 0], ["s", "t", [MGRS], 0, 3], ["s", "t", [MGRS], 0, -1],
    ["s", "t", [MGRS], 0, False], ["s", "t", [MGRS] * 2049, 0, 0],
]  # fmt: skip
_BAD_REQUESTS: list[Any] = [
    {"interests": []}, {"interests": 1}, {"watch": []}, {"gone": {}}, {"gone": ["1"]},
    {"gone": [-1]}, {"gone": [1.0]}, {"gone": [True]}, {"gone": [2**32]}, {"gone": [[]]},
    {"unwatch": ["x"]}, {"unwatch": 5}, {"reset": 1}, {"reset": "yes"},
    *({"interests": {n: ["s", "t", [MGRS], 0, 0]}} for n in
      ("-1", "²", "٣", "01", "1.0", "", "x", "4294967296", "9" * 5000, " 1", "1_0")),
    *({"watch": {"1": bad}} for bad in
      (None, 1, [], ["s", "t"], ["x", "t", None], ["s", "", None], ["s", "t", "nonsense"],
       ["s", "t", 1], ["s", "t", area("s")], ["q", "t", area("q")], ["s", "t", f"{MGRS}|{MGRS}"],
       ["s", "t", "zla_m_33T"])),
    {"matching": 1}, {"matching": ["s", "t", "nonsense"]},
    {"interests": {"1": ["s", "t", [MGRS], 0, 0]}, "matching": []},
    {"interests": {"1": ["s", "t", [MGRS], 0, 0]}, "watch": {"x": []}},
    {"watch": {str(n): ["s", "t", MGRS] for n in range(4097)}},
    {"interests": {str(n): ["s", "t", [MGRS] * 2048, 0, 0] for n in range(98)}},
]  # fmt: skip


_PLACE = point(48.3, 14.3).hex()
_BAD_QUESTIONS: list[Any] = [
    {}, {"n": -1}, {"n": "1"}, {"n": True}, {"n": 2**32}, {"n": 1, "sent": -1},
    {"n": 1, "sent": 1.5}, {"n": 1, "ended": "x"}, {"n": 1, "topic": "t"},
    {"n": 1, "serial": 1, "topic": ""}, {"n": 1, "serial": 1, "topic": 5},
    {"n": 1, "serial": 1, "topic": "a//b", "place": _PLACE},
    {"n": 1, "serial": 1, "topic": "@zla/1/x", "place": _PLACE},
    {"n": 1, "serial": -1, "topic": "t", "place": _PLACE},
    *({"n": 1, "serial": 1, "topic": "t", "place": bad} for bad in (
        "", "xyz", "00", "05", "01", _PLACE + "00", _PLACE[:-2], 5, (b"\x02\x0333T").hex(),
        (b"\x01" + _NAN).hex(), "é", "ff" * 50_000)),
]  # fmt: skip


def questions(hostile: Hostile, place: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Questions for a granted route, of a session and in its node's name."""
    at, secret = f"@zla/1/route/{hostile.near}/{place['slot']}", place["secret"]
    somebody = {"nid": "0badcafe", "slot": 1, "tag": 1}
    good = {"n": 1, "serial": 1, "topic": "t", "place": _PLACE}
    found = [(at, _bytes({"secret": secret, **bad})) for bad in _BAD_QUESTIONS]
    found += [(at, _bytes({"secret": bad, **good})) for bad in (None, 1, "", "0" * 32)]
    found += [(at, bad) for bad in (b"", b"[]", _DEEP, b"\xff")]
    found += [(f"@zla/1/route/{hostile.near}/{slot}", _bytes({"secret": secret, **good}))
              for slot in ("²", "00", "*", "999")]  # fmt: skip
    at = f"@zla/1/routeat/{hostile.near}"
    found += [(at, _bytes({**somebody, **bad})) for bad in _BAD_QUESTIONS]
    found += [(at, _bytes({**somebody, **good, **bad})) for bad in (
        {"nid": "x/**"}, {"nid": 1}, {"nid": "0BADCAFE"}, {"slot": -1}, {"slot": "1"},
        {"slot": 10**9}, {"tag": None}, {"tag": -1}, {"tag": 2**32})]  # fmt: skip
    return found


def asks(hostile: Hostile, place: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Requests of a registered session, and of others in its name."""
    key = f"@zla/1/ask/{hostile.near}/{place['slot']}"
    secret = place["secret"]
    bad = [*_BAD_REQUESTS, *({"interests": {"1": interest}} for interest in _BAD_INTERESTS)]
    found = [(key, json.dumps({"secret": secret, **request}).encode()) for request in bad]
    head = b'{"secret":"' + secret.encode() + b'",'
    found += [
        (key, payload)
        for payload in (
            b"", b"nonsense", b"[]", b"1", b"\xff", b"{", _DEEP, b"NaN",
            head + b'"x":NaN}', head + b'"x":1,"x":2}', head + b'"gone":[' + _HUGE + b"]}",
            head + b'"gone":[1e400]}', head.decode().encode("utf-16"),
            head + b'"interests":{"1":["s","t",["' + MGRS.encode() + b'"],0,NaN]}}',
            b"{}", b'{"secret":null}', b'{"secret":1}', b'{"secret":"\\ud800"}',
            b'{"secret":"' + secret.upper().encode() + b' "}', b'{"tag":1,"reset":true}',
            json.dumps({"tag": place["tag"], "secret": place["tag"]}).encode(),
        )
    ]  # fmt: skip
    good = json.dumps({"secret": secret}).encode()
    slots = ["²", "٣", "00", "-1", "x", "9" * 5000, "999999999", "1234567890", "*", "-"]
    return found + [(f"@zla/1/ask/{hostile.near}/{slot}", good) for slot in slots]


_ENTRY = b'["s","t",["zla_m_33T"],0]'
BAD_DELTAS = [
    b"", b"nonsense", b"[]", b"{}", b'{"v":1}', b'{"v":[1]}', b'{"v":[1,2,3]}', b'{"v":[2,1]}',
    b'{"v":[-1,5]}', b'{"v":[-5,-1]}', b'{"v":["0","1"]}', b'{"v":[true,true]}', b'{"v":[0,1.0]}',
    b'{"v":[0,9007199254740992]}', b'{"v":[0,' + _HUGE + b"]}", b'{"v":[0,NaN]}', _DEEP,
    *(b'{"v":[0,99999],"set":' + bad + b"}" for bad in (
        b"[]", b"1", b'{"x":' + _ENTRY + b"}", b'{"-1":' + _ENTRY + b"}",
        '{"²":'.encode() + _ENTRY + b"}", '{"٣":'.encode() + _ENTRY + b"}",
        b'{"01":' + _ENTRY + b"}", b'{"4294967296":' + _ENTRY + b"}",
        b'{"' + _HUGE + b'":' + _ENTRY + b"}", b'{"1":{}}', b'{"1":[]}', b'{"1":"s"}',
        b'{"1":["s","t",["zla_m_33T"],0,0]}', b'{"1":["s","t//u",["zla_m_33T"],0]}',
        b'{"1":["s","t",["nonsense"],0]}', b'{"1":' + _ENTRY + b',"1":' + _ENTRY + b"}",
    )),
    *(b'{"v":[0,99999],"gone":' + bad + b"}" for bad in (b"{}", b'["1"]', b"[-1]", b"[1.0]")),
    *(b'{"v":[0,99999],"at":' + bad + b"}" for bad in (
        b"[]", b'{"1":[1,2]}', b'{"1":[1,2,3,4]}', b'{"1":["1",2,3]}', b'{"1":[-1,2,3]}',
        b'{"1":{}}', b'{"x":[1,2,3]}', b'{"1":[1000000000,2,3]}', b'{"1":[1,true,3]}',
    )),
]  # fmt: skip
BAD_STATES = [
    b"", b"{}", b"[]", b'{"v":null}', b'{"v":-1}', b'{"v":true}', b'{"v":1.5}', b'{"v":"1"}',
    b'{"v":9007199254740992}', b'{"v":1,"set":[]}', b'{"v":1,"set":{"x":[]}}',
    b'{"v":1,"set":{"1":["q","t",["zla_s_9_AA"],0]}}',
]  # fmt: skip
BAD_TOKENS = [
    "@zla/1/alive/NID/*", "@zla/1/alive/NID/²", "@zla/1/alive/NID/x", "@zla/1/alive/NID/007",
    "@zla/1/alive/NID/" + "9" * 5000, "@zla/1/alive/**", "@zla/1/alive/*/1",
    "@zla/1/node/x/1", "@zla/1/node/0badcafe/x", "@zla/1/node/0BADCAFE/1", "@zla/1/node/**",
    "@zla/1/node/*/*", "@zla/1/node/0badcafe/*", "@zla/1/node/0badcaf²/1",
    "@zla/1/node/0badcafe/" + "1" * 33,
]  # fmt: skip


def deliveries(nid: str, zid: str) -> list[tuple[str, bytes, bytes | None]]:
    """On keys that belong to sessions and their handlers; nobody knows their tags."""
    linz = point(48.3, 14.3)
    attachments = [
        None, b"", b"x" * 40, header(linz, b"honest/a"),
        *(header(linz, b"honest/a", bytes([tag, 3, 1, 2, 3])) for tag in (0, 1, 127)),
        header(b"\x01" + _NAN, b"honest/a", b"\x01\x01\x01"),
        framed(b'{"topic":"honest/q","chunk":"zla_m_33T","tag":1,"ids":[1,2,3]}'), framed(b"{}"),
    ]  # fmt: skip
    payloads = [
        b"",
        b"lies",
        b'{"tag":1,"route":[1,1,"@/x",""]}',
        b'{"tag":1,"watch":{"1":true}}',
        b'{"watch":{"x":1}}',
        b"[" * 9999,
    ]
    keys = [f"@zla/1/{kind}/{nid}/{slot}" for kind in ("to", "toget") for slot in (0, 1, "*")]
    keys += [f"@zla/1/own/{kind}/{n}" for kind in (zid, "q", "m") for n in (1, 2)]
    keys += ["@zla/1/own/get"]
    rng = random.Random(1)
    return [(key, rng.choice(payloads), rng.choice(attachments)) for key in keys * 2] + [
        (keys[0], payload, attachment) for payload in payloads for attachment in attachments
    ]


PLAIN_ATTACHMENTS = [
    b"zlA1", b"\x00\x00\x00\x00zlA1", header(b"\x01" + _NAN, b"") + b"zlA1",
    header(point(91, 0), b"") + b"zlA1", header(b"\x00", b"") + b"zlA1",
    header(point(48.3, 14.3), b"honest/a") + b"zlA1", header(b"\x02\x03ABC", b"") + b"zlA1",
    framed(point(48.3, 14.3) + b"\x00", flags=7) + b"zlA1", b"mine",
]  # fmt: skip
