"""A page of a server whose application is still being imported."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import brotli
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from stepscope.dashboard.page.front import Front
from stepscope.dashboard.server import compression
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.app import LOCAL, build_app
from stepscope.dashboard.server.first_answers import (
    FirstAnswers,
    KeptAnswer,
    KeptFirstAnswers,
    ask_for,
    installation_key,
)
from stepscope.dashboard.server.opening import Opening
from stepscope.summary.logdir import open_logdir
from tests.dashboard.media import live_of

BASE = "http://localhost:6006"
TOKEN = "a-token-of-enough-letters"
POLICY = "content-security-policy"
SMALL = FirstAnswers(["'sha256-x'"], {"/": KeptAnswer({"content-type": "text/html"}, b"<title>old</title>page")})


def application(folder: Path, access: Access = LOCAL) -> FastAPI:
    folder.mkdir(exist_ok=True)
    live = live_of(folder)
    live.publish(open_logdir(folder))
    return build_app(live, access=access)


def first_answers(app: FastAPI, access: Access = LOCAL, known: FirstAnswers | None = None) -> FirstAnswers:
    found = asyncio.run(ask_for(app, access, app.state.scripts, known))
    assert found is not None
    return found


@pytest.mark.parametrize("access", [LOCAL, Access("0.0.0.0", TOKEN, (), (), "/notes")])
def test_a_page_is_the_same_before_and_after_its_application_is_there(tmp_path: Path, access: Access) -> None:
    app = application(tmp_path / "logs", access)
    opening = Opening(access, first_answers(application(tmp_path / "other", access), access).titled("logs · Stepscope"))
    headers = {"accept-encoding": "br, gzip", "authorization": f"Bearer {access.token}"}
    early, late = (TestClient(one, base_url=BASE, headers=headers, client=("127.0.0.1", 1)) for one in (opening, app))
    paths = list(first_answers(app, access).answers)
    assert len(paths) > 20
    for path in paths:
        before, after = early.get(access.prefix + path), late.get(access.prefix + path)
        without_id = [answer.text.partition('"end_id"')[0] for answer in (before, after)]
        assert (before.status_code, without_id[0]) == (200, without_id[1]), path
        assert dict(before.headers) == dict(after.headers), path


@pytest.mark.parametrize("access", [LOCAL, Access("0.0.0.0", TOKEN, (), (), "/notes")])
def test_where_nothing_is_kept_the_page_and_its_files_come_from_the_front(tmp_path: Path, access: Access) -> None:
    app = application(tmp_path / "logs", access)
    front = Front(access, "logs · Stepscope")
    opening = Opening(access, None)
    opening.show(front.app, front.scripts)
    headers = {"accept-encoding": "br, gzip", "authorization": f"Bearer {access.token}"}
    early, late = (TestClient(one, base_url=BASE, headers=headers, client=("127.0.0.1", 1)) for one in (opening, app))
    paths = [path for path in first_answers(app, access).answers if not path.startswith("/_dash-lay")]
    paths.remove("/_dash-dependencies")
    assert len(paths) > 20
    for path in paths:
        before, after = early.get(access.prefix + path), late.get(access.prefix + path)
        without_id = [answer.text.partition('"end_id"')[0] for answer in (before, after)]
        assert (before.status_code, without_id[0]) == (200, without_id[1]), path
        assert dict(before.headers) == dict(after.headers), path
    stranger = TestClient(opening, base_url="http://evil.example.org")
    assert stranger.get(f"{access.prefix}/").status_code == 421
    assert opening.open(app)
    assert early.get(f"{access.prefix}/_dash-layout").content == late.get(f"{access.prefix}/_dash-layout").content


def test_a_whole_application_goes_on_with_the_scripts_that_its_front_has_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compressed: list[bytes] = []

    def compress(content: bytes, quality: int) -> bytes:
        compressed.append(content)
        made: bytes = brotli.compress(content, quality=quality)
        return made

    monkeypatch.setattr(compression, "_SUITES", {})
    monkeypatch.setattr(compression, "brotli", SimpleNamespace(compress=compress))
    front = Front(LOCAL, "logs")
    app = build_app(live_of(tmp_path), front=front)
    early, late = (TestClient(one, base_url=BASE, headers={"accept-encoding": "br"}) for one in (front.app, app))
    (suite, *_) = re.findall(r'"(/_dash-component-suites/[^"]*)"', early.get("/").text)
    before, after = early.get(suite), late.get(suite)
    assert (before.text, before.headers["etag"]) == (after.text, after.headers["etag"])
    assert [content.decode() for content in compressed] == [before.text]


def test_everything_else_waits_for_the_application(tmp_path: Path) -> None:
    opening = Opening(LOCAL, SMALL)
    client = TestClient(opening, base_url=BASE)
    answers: list[bytes] = []
    waiting = threading.Thread(target=lambda: answers.append(client.get("/healthz").content))
    waiting.start()
    assert client.get("/").content == b"<title>old</title>page"
    assert answers == []
    app = application(tmp_path / "logs")
    assert opening.open(app)
    waiting.join()
    assert answers == [TestClient(app, base_url=BASE).get("/healthz").content]
    assert b"page/" in client.get("/").content


def test_nobody_waits_for_a_server_that_ends() -> None:
    opening = Opening(LOCAL, None)
    assert opening.end()
    answer = TestClient(opening, base_url=BASE).get("/")
    assert (answer.status_code, answer.json()) == (503, {"detail": "The server is shutting down."})
    assert not opening.open(FastAPI())


def test_the_guard_stands_before_the_first_answers_too() -> None:
    first = Opening(Access("0.0.0.0", TOKEN), SMALL)
    assert TestClient(first, base_url=BASE).get("/").status_code == 401
    assert TestClient(first, base_url=BASE).get("/", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    local = Opening(LOCAL, SMALL)
    assert TestClient(local, base_url="http://evil.example.org").get("/").status_code == 421
    answer = TestClient(local, base_url=BASE).get("/")
    assert "script-src 'self' 'sha256-x';" in answer.headers[POLICY]
    assert answer.headers["x-content-type-options"] == "nosniff"
    head = TestClient(local, base_url=BASE).head("/")
    assert (head.status_code, head.content) == (200, b"")


def test_what_a_client_cannot_decode_waits() -> None:
    packed = KeptAnswer({"content-encoding": "br"}, b"packed")
    opening = Opening(LOCAL, FirstAnswers([], {"/": packed}))
    assert opening.end()
    assert TestClient(opening, base_url=BASE, headers={"accept-encoding": "gzip"}).get("/").status_code == 503


def test_titles_are_text() -> None:
    assert SMALL.titled("a&b\\1</title>").answers["/"].body == b"<title>a&amp;b\\1&lt;/title&gt;</title>page"


def test_answers_are_kept_and_damage_is_noticed(tmp_path: Path) -> None:
    kept = KeptFirstAnswers(tmp_path / "pages", "key")
    assert kept.load() is None
    kept.store(SMALL)
    assert kept.load() == SMALL
    assert kept.path.stat().st_mode & 0o077 == 0
    content = bytearray(kept.path.read_bytes())
    content[-1] ^= 1
    kept.path.write_bytes(content)
    assert kept.load() is None
    kept.forget()
    assert not kept.path.exists()


def test_a_few_installations_are_kept(tmp_path: Path) -> None:
    for number in range(12):
        kept = KeptFirstAnswers(tmp_path, f"key{number}")
        kept.store(SMALL)
        os.utime(kept.path, (number, number))
    KeptFirstAnswers(tmp_path, "last").store(SMALL)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "key10",
        "key11",
        "key5",
        "key6",
        "key7",
        "key8",
        "key9",
        "last",
    ]


def test_what_is_as_it_is_kept_is_not_asked_for_again(tmp_path: Path) -> None:
    app = application(tmp_path / "logs")
    first = first_answers(app)
    assert first_answers(app, known=first) is first
    other = FirstAnswers(first.scripts, {**first.answers, "/_dash-layout": KeptAnswer({}, b"{}")})
    assert first_answers(app, known=other).answers.keys() == first.answers.keys()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name in ("dashboard/web", "summary"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "dashboard/web/page.ts").write_text("1")
    (tmp_path / "summary/logdir.py").write_text("1")
    return tmp_path


@pytest.mark.parametrize(
    "change",
    [
        lambda package: (package / "dashboard/web/page.ts").write_text("12"),
        lambda package: (package / "summary/logdir.py").unlink(),
        lambda package: (package / "dashboard/new.py").write_text(""),
    ],
)
def test_a_changed_module_is_another_installation(package: Path, change: Callable[[Path], object]) -> None:
    before = installation_key("", {}, package)
    assert before == installation_key("", {}, package)
    assert before != installation_key("/notes", {}, package)
    assert before != installation_key("", {"STEPSCOPE_PAGE": "debug"}, package)
    change(package)
    assert before != installation_key("", {}, package)


def test_a_distribution_that_is_installed_is_another_installation(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = installation_key("", {}, package)
    place = tmp_path / "site"
    monkeypatch.syspath_prepend(str(place))
    (place / "dash-5.dist-info").mkdir(parents=True)
    assert before != installation_key("", {}, package)


STOPPED = """
import sys
from stepscope.dashboard.cli.main import main
from stepscope.dashboard.cli.start import Start
before = getattr(Start, sys.argv[1])
def wait_and_go_on(self):
    sys.stdin.readline()
    return before(self)
def go_on_and_wait(self):
    found = before(self)
    sys.stdin.readline()
    return found
setattr(Start, sys.argv[1], wait_and_go_on if sys.argv[1] == "_build" else go_on_and_wait)
sys.exit(main(sys.argv[2:]))
"""
"""Stops a start in the thread that builds, until there is a line to be read: before it begins, or after its front."""


class Stopped:
    """A server that is stopped while it starts."""

    def __init__(self, tmp_path: Path, where: str) -> None:
        logs = tmp_path / "logs"
        logs.mkdir(exist_ok=True)
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-c", STOPPED, where, "--logdir", str(logs), "--port", "0"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout is not None
        words = (word for line in self.process.stdout for word in line.split())
        self.url = next(word for word in words if word.startswith("http://"))

    def page(self) -> bytes:
        with urlopen(self.url) as answer:
            content: bytes = answer.read()
            return content

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate("\n")
        assert self.process.returncode == 0
        assert said.endswith("Stopped.\n")


def test_the_page_is_answered_before_its_application_is_there(tmp_path: Path) -> None:
    first = Stopped(tmp_path, "_show_front")
    assert b"<title>logs \xc2\xb7 Stepscope</title>" in first.page()
    first.go_on()
    pages = tmp_path / "cache/stepscope/pages"
    looked = threading.Event()
    while not (pages.is_dir() and any(path.stat().st_size for path in pages.iterdir())):
        assert first.process.poll() is None
        looked.wait(0.05)
    first.end()
    second = Stopped(tmp_path, "_build")
    assert b"<title>logs \xc2\xb7 Stepscope</title>" in second.page()
    second.end()
