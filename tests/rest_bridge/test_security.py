"""Tokens, TLS and origins."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.commands import run
from tests.network import wait_for
from tests.rest_bridge.events import subscribed
from tests.rest_bridge.server import Rest, rest

TOKEN = "s3cret-token-0123456789"
KNOWN = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def guarded() -> Iterator[Rest]:
    """One that needs a token, and says nothing of it."""
    with rest("--token", TOKEN) as running:
        yield running
        running.stop(15)
    assert not any(TOKEN in line for line in [*running.out, *running.err])


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        TOKEN,
        "Bearer \xff",
    ],
)
def test_without_the_token_nothing_is_served(
    guarded: Rest, method: str, header: str | None
) -> None:
    headers = {} if header is None else {"Authorization": header.encode("latin-1")}
    with guarded.client(headers=headers) as http:
        for path in ("/a", "/a?lat=1&long=2", "/@zla/metrics", "/@zla/streams/x", "/@zla/nothing"):
            answer = http.request(method, path)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.json()["field"] == "Authorization"
            assert TOKEN not in answer.text


def test_with_the_token_all_is_served(guarded: Rest) -> None:
    with guarded.client(headers=KNOWN) as http:
        with subscribed(http, "/a?lat=1&long=2", headers=KNOWN) as events:
            assert http.put("/a?lat=1&long=2", content="x").status_code == 200
            events.wait(1)
            assert http.put(f"{events.url}?lat=3&long=4").status_code == 200
        assert http.get("/@zla/metrics").status_code == 200
        assert http.get("/a", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200


def test_pages_without_data_are_open(guarded: Rest) -> None:
    with guarded.client() as http:
        for page in ("health", "docs", "openapi.json"):
            assert http.get(f"/@zla/{page}").status_code == 200


def test_the_token_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.cli import commands

    monkeypatch.setitem(commands.ENVIRONMENT, "ZLA_REST_TOKEN", TOKEN)
    with rest() as bridge, bridge.client() as http:
        assert http.get("/a").status_code == 401
        assert http.get("/a", headers=KNOWN).status_code == 200


@pytest.mark.parametrize("token", ["", "two words", "späte", "tab\there"])
def test_tokens_that_cannot_be(token: str) -> None:
    done = run("rest", "--listen", "127.0.0.1:0", "--token", token)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--token" in done.stderr
    assert not token or token not in done.stderr


ORIGIN = {"Origin": "https://dash.example"}
PREFLIGHT = {**ORIGIN, "Access-Control-Request-Method": "PUT"}


def allowed(http: httpx.Client) -> tuple[str | None, str | None]:
    """What a page of another origin is told, by a request and by its announcement."""
    answer, before = http.get("/a", headers=ORIGIN), http.options("/a", headers=PREFLIGHT)
    name = "access-control-allow-origin"
    return answer.headers.get(name), before.headers.get(name)


def test_any_origin_as_the_plug_in_allows(guarded: Rest) -> None:
    with guarded.client() as http:
        answer = http.get("/a", headers=ORIGIN)
        assert answer.status_code == 401
        assert answer.headers["access-control-allow-origin"] == "*"  # so that a page can read why
        assert http.options("/a", headers=PREFLIGHT).status_code == 200  # comes without a token


def test_one_origin_or_none() -> None:
    with rest("--cors-origin", "https://dash.example") as bridge, bridge.client() as http:
        assert allowed(http) == ("https://dash.example", "https://dash.example")
        elsewhere = {**ORIGIN, "Origin": "https://evil.example"}
        assert "access-control-allow-origin" not in http.get("/a", headers=elsewhere).headers
    with rest("--cors-origin", "none") as bridge, bridge.client() as http:
        assert allowed(http) == (None, None)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Signed by itself, for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return cert, key


def test_tls(certificate: tuple[Path, Path]) -> None:
    cert, key = (str(path) for path in certificate)
    with rest("--tls-cert", cert, "--tls-key", key) as bridge:
        assert bridge.url.startswith("https://")
        context = ssl.create_default_context(cafile=cert)
        with (
            bridge.client(verify=context) as http,
            subscribed(http, "/a", verify=context) as events,
        ):
            assert http.put("/a", content="x").status_code == 200
            events.wait(1)
        with pytest.raises(httpx.ConnectError, match=r"(?i)certificate"):
            httpx.get(f"{bridge.url}/@zla/health")
        wait_for(lambda: bridge.process.poll() is None, "it goes on")


def test_certificates_that_cannot_be_used(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    cert, key = (str(path) for path in certificate)
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("nothing")
    at = ("rest", "--listen", "127.0.0.1:0")
    for given, named in [
        (["--tls-cert", cert], "--tls-key"),
        (["--tls-key", key], "--tls-cert"),
        (["--tls-cert", cert, "--tls-key", str(tmp_path / "none.pem")], "none.pem"),
        (["--tls-cert", str(rubbish), "--tls-key", key], "rubbish.pem"),
        (["--tls-cert", cert, "--tls-key", str(rubbish)], "rubbish.pem"),
    ]:
        done = run(*at, *given)
        assert (done.returncode, done.stdout) == (2, ""), given
        assert named in done.stderr.replace("\n", "")
