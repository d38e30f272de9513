"""How the server starts and ends, in its own process, and which clients it gives up on."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPResponse
from io import BytesIO
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
from fastapi import Response
from starlette.types import Receive, Scope, Send

from stepscope.dashboard.cli.serving import make_server
from stepscope.dashboard.server import web_server
from stepscope.dashboard.server.web_server import DashboardServer, ends_as_interrupted
from stepscope.summary.logdir import open_logdir
from tests.dashboard.media import live_of

REPOSITORY = Path(__file__).resolve().parents[2]
ONE_TICK = """
import os, signal, sys
from stepscope.dashboard.server import web_server
from stepscope.dashboard.cli.main import main

async def stop(self, counter):
    os.kill(os.getpid(), signal.SIGTERM)
    return True

web_server.DashboardServer.on_tick = stop
sys.exit(main(["--logdir", sys.argv[1], "--port", "0", "--no-cache"]))
"""
"""A server that is ended as soon as it runs."""


def environment(temporary: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(temporary)}


@pytest.fixture
def ends_with_its_terminal() -> Iterator[None]:
    """Started processes end on SIGHUP, even if the tests run under nohup, which is inherited."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("ends_with_its_terminal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_and_nothing_stays_behind(tmp_path: Path, number: signal.Signals) -> None:
    for name in ("logs", "tmp"):
        (tmp_path / name).mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "stepscope", "--logdir", str(tmp_path / "logs"), "--port", "0", "--no-cache"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(tmp_path / "tmp"),
    )
    assert process.stdout is not None
    url = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
    file = BytesIO()
    np.savez(file, points=np.eye(5))
    headers = {"Content-Type": "application/octet-stream"}
    with urlopen(Request(f"{url}api/projector/drop?name=a.npz", file.getvalue(), headers)) as answer:
        assert answer.status == 200
    assert list((tmp_path / "tmp").iterdir()) != []
    process.send_signal(number)
    assert process.stdout.read().endswith("Stopped.\n")
    assert process.wait() == 0
    assert list((tmp_path / "tmp").iterdir()) == []


def test_who_ignores_the_end_of_a_terminal_goes_on_doing_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ends_as_interrupted():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("output", [">&-", ">/dev/full"])
def test_a_server_nobody_can_hear_runs_all_the_same(tmp_path: Path, output: str) -> None:
    (tmp_path / "logs").mkdir()
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" "$2" {output}', sys.executable, ONE_TICK, str(tmp_path / "logs")],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """A server in this process."""
    live = live_of(tmp_path)
    live.publish(open_logdir(tmp_path))
    server = make_server(live)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def test_connections_that_never_ask_are_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with urlopen(f"http://localhost:{port}/api/revision") as stream:
        assert stream.readline() == b"event: server\n"
        assert b"id: 1\n" in iter(stream.readline, b"")
        monkeypatch.setattr(web_server, "HEADER_SECONDS", 0.0)
        for begun in (b"", b"GET /data/runs HTTP/1.1\r\nHost: local"):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(begun)
                assert connection.recv(1) == b""
        # This one asked, and waits for news.
        monkeypatch.setattr("stepscope.dashboard.server.revision.HEARTBEAT_SECONDS", 0.0)
        assert b"event: heartbeat\n" in iter(stream.readline, b"")


def test_connections_whose_requests_are_short_stay_open_while_they_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "_TICKS_PER_LOOK", 1 << 40)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response("here")(scope, receive, send)

    async def scene() -> None:
        server = DashboardServer(app, lambda: None)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            served = asyncio.create_task(server.serve(sockets=[listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            for time in range(0, 100, 20):
                writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert (await reader.readuntil(b"here")).startswith(b"HTTP/1.1 200 OK")
                server.close_silent(time)
            server.close_silent(101)
            assert await reader.read() == b""
            writer.close()
            server.should_exit = True
            await served

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("kind", "status", "why"),
    [
        ("application/octet-stream", 413, "The request is longer than the limit of 1,073,741,824 bytes."),
        ("text/plain", 415, "Expected the file as application/octet-stream."),
    ],
)
def test_who_sends_all_before_listening_hears_why_a_file_is_refused(
    port: int, kind: str, status: int, why: str
) -> None:
    """A connection closed with bytes unread is reset: the sender learned only of a lost connection."""
    declared = (1 << 30) + 1 if status == 413 else 1 << 29
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(
            f"POST /api/traces/drop?name=a.json HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {declared}\r\nConnection: close\r\n\r\n".encode()
        )
        for _ in range(16):
            connection.sendall(bytes(1 << 20))
        connection.shutdown(socket.SHUT_WR)
        answer = HTTPResponse(connection)
        answer.begin()
        assert (answer.status, json.loads(answer.read())) == (status, {"detail": why})
