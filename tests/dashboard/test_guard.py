"""Who is answered, and with what, on every existing route."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.routing import Mount, WebSocketRoute
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from stepscope.dashboard.panels.registry import uploads
from stepscope.dashboard.server import bounded_bodies
from stepscope.dashboard.server.access import Access, checked_host, checked_prefix
from stepscope.dashboard.server.app import LOCAL, build_app
from stepscope.dashboard.server.bounded_bodies import LARGEST_BODY
from stepscope.dashboard.server.guard import Guard
from stepscope.summary.logdir import open_logdir
from tests.dashboard.media import live_of

TOKEN = "a-token-of-enough-letters"
BASE = "http://localhost:6006"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def serve(logdir: Path) -> Callable[..., TestClient]:
    """Makes a client of a dashboard with the given access and address."""
    made: dict[Access, FastAPI] = {}

    def start(access: Access = LOCAL, base: str = BASE) -> TestClient:
        if access not in made:
            live = live_of(logdir)
            live.publish(open_logdir(logdir))
            made[access] = build_app(live, access=access)
        return TestClient(made[access], base_url=base, follow_redirects=False)

    return start


def addresses(routes: list[Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Method and path of every route, including those of included routers and mounted folders."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from addresses(inner.routes, prefix + route.include_context.prefix)
        elif isinstance(route, WebSocketRoute) or "WebSocket" in type(route).__name__:
            yield "WEBSOCKET", prefix + route.path
        elif isinstance(route, Mount):
            yield "GET", f"{prefix}{route.path}/favicon.svg"
        else:
            for method in route.methods - {"HEAD"}:
                yield method, prefix + re.sub(r"\{.*?\}", "x", route.path)


def every_route(client: TestClient) -> list[tuple[str, str]]:
    app = client.app
    assert isinstance(app, FastAPI)
    found = list(addresses(app.routes))
    described = {re.sub(r"\{.*?\}", "x", path) for path in app.openapi()["paths"]}
    assert described < {path for _, path in found}
    expected = {
        ("POST", "/_dash-update-component"),
        ("WEBSOCKET", "/_dash-ws-callback"),
        ("GET", "/assets/favicon.svg"),
        ("GET", "/api/revision"),
        ("GET", "/"),
    }
    assert expected < set(found)
    return [route for route in found if route[0] != "WEBSOCKET"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
        {"Sec-Fetch-Site": "something-new"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:7299"},
        {"Origin": "null"},
        {"Origin": "http://localhost:6006", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_no_route_answers_a_page_of_another_site(serve: Callable[..., TestClient], headers: dict[str, str]) -> None:
    client = serve()
    for method, path in every_route(client):
        answer = client.request(method, path, headers=headers)
        assert answer.status_code == 403, f"{method} {path}"
        assert answer.json()["detail"].startswith(
            ("A page of another site ", "This request comes from a page of another ")
        )


def test_no_route_answers_who_does_not_know_the_token(serve: Callable[..., TestClient]) -> None:
    client = serve(Access(token=TOKEN))
    for method, path in every_route(client):
        answer = client.request(method, path, headers={"Authorization": "Bearer wrong"})
        assert answer.status_code == (200 if path == "/healthz" else 401), f"{method} {path}"


def test_websockets_are_refused(serve: Callable[..., TestClient]) -> None:
    with pytest.raises(WebSocketDisconnect), serve().websocket_connect("/_dash-ws-callback"):
        pass


@pytest.mark.parametrize(
    ("path", "mode", "status"),
    [
        ("/?tab=scalars", "navigate", 200),
        ("/?tab=scalars", "no-cors", 403),
        ("/data/runs", "navigate", 403),
        ("/api/timeline/relations", "navigate", 403),
    ],
)
def test_links_and_frames_elsewhere_open_the_page_alone(
    serve: Callable[..., TestClient], path: str, mode: str, status: int
) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": "iframe"}
    assert serve().get(path, headers=headers).status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:6006"},
        {"Host": "localhost:7007", "Origin": "http://localhost:7007"},
    ],
)
def test_the_own_page_and_programs_are_answered(serve: Callable[..., TestClient], headers: dict[str, str]) -> None:
    assert serve().get("/data/runs", headers=headers).status_code == 200


def test_two_hosts_are_one_too_many(serve: Callable[..., TestClient]) -> None:
    answer = serve().get("/data/runs", headers=[("Host", "localhost:6006"), ("Host", "localhost:6006")])
    assert (answer.status_code, answer.json()["detail"]) == (400, "The request has several Host headers. Send one.")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("192.168.0.7:6006", 200),
        ("[fe80::1]:6006", 200),
        ("localhost:6006", 200),
        ("box.lab.example:6006", 200),
        ("box:6006", 200),
        ("box.local", 200),
        ("evil.example:6006", 421),
        ("box.evil.example", 421),
        ("192.168.0.7.evil.example", 421),
    ],
)
def test_names_are_checked_on_every_interface_too(
    monkeypatch: pytest.MonkeyPatch, serve: Callable[..., TestClient], host: str, status: int
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "box.lab.example")
    monkeypatch.setattr("socket.getfqdn", lambda: "box.lab.example")
    assert serve(Access("0.0.0.0")).get("/data/runs", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("notes.example.org", "https://notes.example.org", 200),
        ("localhost:6006", "https://NOTES.example.org", 200),
        ("a.lab.example", "https://b.lab.example:8443", 200),
        ("lab.example", "http://lab.example", 421),
        ("localhost:6006", "https://evil-notes.example.org", 403),
        ("localhost:6006", "https://evillab.example", 403),
        ("localhost:6006", "file://notes.example.org", 403),
        ("localhost:6006", "http://[", 403),
    ],
)
def test_a_proxys_names_can_be_allowed(serve: Callable[..., TestClient], host: str, origin: str, status: int) -> None:
    client = serve(Access(hosts=("notes.example.org", "*.lab.example")))
    assert client.get("/data/runs", headers={"Host": host, "Origin": origin}).status_code == status


@pytest.mark.parametrize("name", ["", "*", "a b", "*.*.org", "http://a.org", "a.org:80", "-", ".org"])
def test_names_that_cannot_be_allowed(name: str) -> None:
    with pytest.raises(ValueError, match="is not a host name"):
        checked_host(name)


def test_the_link_gives_the_browser_a_cookie(serve: Callable[..., TestClient]) -> None:
    client = serve(Access(token=TOKEN))
    answer = client.get(f"/?tab=text&token={TOKEN}&hide=a%26b")
    assert (answer.status_code, answer.headers["location"]) == (303, "./?tab=text&hide=a%26b")
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name == "stepscope-6006"
    assert rest.partition("; ")[2] == "HttpOnly; Path=/; SameSite=strict"
    assert TOKEN not in rest
    assert client.get("/?tab=text").status_code == 200
    assert client.get("/assets/favicon.svg").status_code == 200
    # Browsers also send it to other ports of the machine, where a server with another token rejects it.
    other = serve(Access(token=TOKEN + "!"))
    assert other.get("/data/runs", headers={"Cookie": f"stepscope-6006={rest.partition(';')[0]}"}).status_code == 401


def test_behind_encryption_the_cookie_stays_there(serve: Callable[..., TestClient]) -> None:
    answer = serve(Access(token=TOKEN), "https://localhost").get(f"/?token={TOKEN}")
    assert answer.headers["set-cookie"].endswith("; SameSite=strict; Secure")


def test_a_page_under_a_path(serve: Callable[..., TestClient]) -> None:
    client = serve(Access(token=TOKEN, prefix="/team/notes"))
    bearer = {"authorization": f"Bearer {TOKEN}"}
    for path in ("/team/notes/data/runs", "/data/runs"):
        assert client.get(path, headers=bearer).json() == []
    assert client.get("/team/notesdata/runs", headers=bearer).status_code == 404
    assert client.get("/team/notes?a=b&c").headers["location"] == "/team/notes/?a=b&c"
    opened = client.get(f"/team/notes/?token={TOKEN}")
    assert opened.headers["location"] == "./"
    assert "Path=/team/notes/;" in opened.headers["set-cookie"]
    page = client.get("/team/notes/", headers=bearer).text
    assert re.findall(r'(?:src|href)="(?!/team/notes/|page/|assets/)([^"]*)"', page) == []
    assert client.post("/team/notes/api/traces/drop?name=x", headers=bearer).status_code == 415


@pytest.mark.parametrize("given", ["notes", "/a//b", "/a b", "/../a", "/a?b", "//a", "/é", "/<a>"])
def test_paths_that_no_page_can_be_under(given: str) -> None:
    with pytest.raises(ValueError, match="is not a URL path"):
        checked_prefix(given)


def test_a_path_may_end_with_a_slash() -> None:
    assert [checked_prefix(given) for given in ("/a/b.c/", "/", "")] == ["/a/b.c", "", ""]


def test_programs_send_the_token_as_a_header(serve: Callable[..., TestClient]) -> None:
    client = serve(Access(token=TOKEN))
    assert client.get("/data/runs", headers={"Authorization": f"Bearer {TOKEN}"}).json() == []
    answer = client.get(f"/data/runs?token={TOKEN}")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["detail"].startswith("Stepscope requires its token: send it as Authorization: Bearer TOKEN")


def test_who_has_no_token_is_asked_for_it(serve: Callable[..., TestClient]) -> None:
    client = serve(Access(token=TOKEN))
    page = client.get('/?tab="><script>&token=wrong').text
    assert "The token is wrong." in page
    assert '<input type="hidden" name="tab" value="&quot;&gt;&lt;script&gt;">' in page
    assert 'http-equiv="refresh"' not in page
    # A browser withholds a strict cookie when it follows a link on another site, so it is asked to come again.
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    answer = client.get("/?tab=text", headers=headers)
    assert answer.status_code == 401
    assert '<meta http-equiv="refresh" content="0;url=./?tab=text">' in answer.text


def test_bodies_that_are_too_long_are_refused_on_every_route(
    serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    # This client leaves silently once it has its answer.
    monkeypatch.setattr("stepscope.dashboard.server.bounded_bodies.LINGER_SECONDS", 0)
    client = serve()
    posts = [path for method, path in every_route(client) if method == "POST" and path not in uploads()]
    assert "/_dash-update-component" in posts
    for path in posts:
        for body in (b"a" * (LARGEST_BODY + 1), iter([b"a" * LARGEST_BODY, b"a"])):
            answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 413, path
            assert answer.json()["detail"] == "The request is longer than the limit of 4,194,304 bytes."


def requested(receive: Receive, path: str = "/data/plugin/hparams/experiment") -> list[Message]:
    """What a guard sends to the client behind ``receive``; the application reads until the client is gone."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        raise AssertionError("the client had left before")

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"transfer-encoding", b"chunked")]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b""}
    guard = Guard(app, access=Access(), policy="", uploads={})
    asyncio.run(guard(scope, receive, send))
    return sent


def test_a_client_that_leaves_in_the_midst_of_its_request_is_let_go() -> None:
    messages: Iterator[Message] = iter(
        [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    )

    async def receive() -> Message:
        return next(messages)

    assert requested(receive) == []


def test_a_client_that_sends_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_bodies, "GRACE_SECONDS", 0.0)

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    start, body = requested(receive)
    assert start["status"] == 408
    assert (b"connection", b"close") in start["headers"]
    assert body["body"] == b'{"detail":"The request came too slowly: 0 bytes so far."}'


def test_head_is_answered_as_get_without_the_body(serve: Callable[..., TestClient]) -> None:
    client = serve()
    plain = {"accept-encoding": "identity"}
    whole, head = client.get("/", headers=plain), client.head("/", headers=plain)
    assert (head.status_code, head.content, head.headers) == (200, b"", whole.headers)
    # An event stream would never end.
    assert client.head("/api/revision").status_code == 200
    assert client.head("/_dash-update-component").status_code == 405


def test_every_answer_has_the_headers_that_keep_browsers_from_guessing(serve: Callable[..., TestClient]) -> None:
    client = serve()
    for path in ("/", "/data/runs", "/nowhere", "/assets/favicon.svg", "/_dash-layout"):
        headers = client.get(path).headers
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "same-origin"), path
    policy = client.get("/").headers["content-security-policy"].split("; ")
    assert {"default-src 'self'", "object-src 'none'", "base-uri 'none'", "form-action 'self'"} < set(policy)
    (scripts,) = [part for part in policy if part.startswith("script-src ")]
    assert re.fullmatch(r"script-src 'self' 'sha256-[^']+'", scripts)


# As msgspec says it since 0.23, and before.
NOT_UTF_8 = (
    "Malformed request (reload the page): Invalid UTF-8 encoded string.",
    "Malformed request (reload the page): 'utf-8' codec can't decode",
)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "Malformed request (reload the page): Input data was truncated."),
        (b"{", "Malformed request (reload the page): Input data was truncated."),
        (b'{"a":' * 100_000, "Malformed request (reload the page): maximum recursion depth exceeded"),
        (b'{"output": "\xff"}', NOT_UTF_8),
        (b"[]", "Malformed request (reload the page): Expected `object`, got `array`."),
        (b'{"output": "x", "inputs": [1]}', "Malformed request (reload the page): Expected `object | array`"),
        (b'{"output": "x", "inputs": []}', "There is no callback for 'x'. Reload the page."),
        (b'{"output": "panel.children@1", "inputs": []}', "There is no callback for 'panel.children@1'."),
    ],
)
def test_junk_for_dash_is_refused(serve: Callable[..., TestClient], body: bytes, said: str | tuple[str, ...]) -> None:
    answer = serve().post("/_dash-update-component", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(said)


@pytest.mark.parametrize(
    "values",
    [[], [1, 1, {}, None, None], ["", "1", {}, None, None], ["", 1, [], None, None], ["", 1, {"a": 1}, None, None]],
)
def test_callbacks_are_called_with_what_they_take_alone(serve: Callable[..., TestClient], values: list[Any]) -> None:
    client = serve()
    dependencies = client.get("/_dash-dependencies").json()
    (frame,) = [one for one in dependencies if "runs-listing.data" in one["output"]]
    named = [{"id": "x", "property": "y", "value": value} for value in values]
    body = {"output": frame["output"], "outputs": [], "inputs": named[:2], "state": named[2:], "changedPropIds": []}
    answer = client.post("/_dash-update-component", json=body)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("The callback cannot be called with these values: ")


def test_dash_is_asked_as_json_alone(serve: Callable[..., TestClient]) -> None:
    answer = serve().post("/_dash-update-component", content=b"{}", headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()["detail"]) == (415, "Expected the request as application/json.")


@pytest.mark.parametrize("path", ["os/os.py", "dash/%2e%2e/os.py", "dash/dash.py", "nowhere/x.js"])
def test_packages_give_away_nothing_but_their_scripts(serve: Callable[..., TestClient], path: str) -> None:
    assert serve().get(f"/_dash-component-suites/{path}").status_code == 404
