"""``/api/capture``: which programs a page may have recorded, where to, and what it is told."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException
from fastapi.testclient import TestClient

from stepscope.dashboard.cli.main import make_parser
from stepscope.dashboard.panels.registry import companion_patterns
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.capture import CaptureRules, ordered
from stepscope.profiler.client import Address, parse_address
from stepscope.profiler.server import start
from stepscope.summary import SummaryWriter
from stepscope.summary.follow import Follower
from stepscope.summary.logdir import Logdir
from tests.dashboard.media import NoFollower
from tests.profiler.training import training

TOKEN = "sixteen letters or more"
OPTIONS = {"host_tracer_level": 1, "python_tracer_level": 0, "device_tracer_level": 0, "delay_ms": 0}
JSON = {"content-type": "application/json"}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    with SummaryWriter(str(tmp_path / "logs" / "first")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    return tmp_path / "logs"


@contextmanager
def followed(
    path: Path, bound_host: str = "localhost", captures: tuple[Address, ...] = ()
) -> Iterator[tuple[TestClient, Live]]:
    live = Live(str(path), lambda publish: Follower(Logdir(path, companion_patterns=companion_patterns()), publish))
    live.start()
    app = build_app(live, access=Access(bound_host), captures=captures)
    try:
        # As a context manager, so that all requests share one event loop.
        with TestClient(app, base_url="http://localhost:6006") as client:
            while live.reading:
                pass
            yield client, live
    finally:
        live.stop()


def still(path: str, bound_host: str = "localhost", captures: tuple[Address, ...] = ()) -> TestClient:
    """A dashboard whose log directory is not read."""
    live = Live(path, lambda publish: NoFollower())
    return TestClient(build_app(live, access=Access(bound_host), captures=captures), base_url="http://localhost:6006")


def order(address: object, **more: Any) -> dict[str, Any]:
    return {"address": str(address), "steps": 2, "duration_ms": 30_000, "options": OPTIONS, **more}


def test_a_program_is_recorded_and_its_trace_is_listed(logdir: Path, tmp_path: Path) -> None:
    with training(tmp_path / "temporary", TOKEN) as program, followed(logdir) as (client, _):
        answer = client.post("/api/capture", json=order(program.address, run="first", token=TOKEN))
        listed = client.get("/api/timeline/traces").json()["traces"]
    assert answer.status_code == 200
    found = answer.json()
    assert found["file"].startswith(f"{logdir}/first/plugins/profile/")
    first = found["first_step"]
    expected = {"address": str(program.address), "pid": program.pid, "steps": 2, "last_step": first + 1, "records": 6}
    expected |= {"unfinished": 0, "notes": []}
    assert {name: found[name] for name in expected} == expected
    assert found["trace"] == f"first|file|first/{Path(found['file']).relative_to(logdir / 'first')}"
    assert found["trace"] in [trace["id"] for trace in listed]


def test_what_there_is_to_choose_from(logdir: Path) -> None:
    with followed(logdir, captures=(Address("node7", 6009),)) as (client, _):
        found = client.get("/api/capture").json()
    assert found.pop("collectors")[0] == "resources"
    assert found == {
        "why_not": "",
        "loopback": True,
        "addresses": ["node7:6009"],
        "usual": "node7:6009",
        "runs": ["first"],
    }


@pytest.mark.parametrize(
    ("bound", "allowed", "address", "refused"),
    [
        ("localhost", (), "localhost:6009", ""),
        ("127.0.0.1", (), "127.9.9.9:1", ""),
        ("::1", (), "[::1]:6009", ""),
        ("localhost", (), "node7:6009", "This dashboard records programs on this machine. To allow node7:6009 too"),
        ("localhost", (), "169.254.169.254:80", "programs on this machine."),
        ("localhost", (), "localhost.evil.example:6009", "programs on this machine."),
        ("localhost", (), "0.0.0.0:6009", "programs on this machine."),
        ("localhost", (), "[::ffff:10.0.0.1]:6009", "programs on this machine."),
        ("localhost", (Address("node7", 6009),), "node7:6009", ""),
        ("localhost", (Address("node7", 6009),), "node7:22", "programs on this machine."),
        # Programs trust anyone on their own machine; this host lets others in.
        (
            "0.0.0.0",
            (),
            "localhost:6009",
            "This dashboard records only programs that --capture allows, because other machines can reach it. To allow",
        ),
        ("node1", (), "localhost:6009", "To allow localhost:6009 too, start it with --capture localhost:6009."),
        ("0.0.0.0", (Address("localhost", 6009),), "localhost:6009", ""),
        (
            "0.0.0.0",
            (Address("localhost", 6009),),
            "localhost:6010",
            "To allow localhost:6010 too, start it with --capture localhost:6010.",
        ),
    ],
)
def test_which_programs_may_be_asked(bound: str, allowed: tuple[Address, ...], address: str, refused: str) -> None:
    rules = CaptureRules.of(bound, allowed)
    if not refused:
        rules.check(parse_address(address))
        return
    with pytest.raises(HTTPException) as error:
        rules.check(parse_address(address))
    assert error.value.status_code == 403
    assert refused in error.value.detail


def test_the_option_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    parsed_arguments = make_parser("serve").parse_args(
        ["serve", "--logdir", "x", "--capture", "node7:6009", "--capture", "[::1]:1"]
    )
    assert parsed_arguments.capture == [Address("node7", 6009), Address("::1", 1)]
    with pytest.raises(SystemExit, match=r"^2$"):
        make_parser("serve").parse_args(["serve", "--logdir", "x", "--capture", "node7"])
    assert "'node7' is not an address. Expected HOST:PORT, such as localhost:6009." in capsys.readouterr().err


def test_nobody_is_asked_for_a_page_of_another_site(logdir: Path) -> None:
    with start(0) as server, followed(logdir) as (client, _):
        body = json.dumps(order(server.address))
        # A form can send these; a page that declares JSON has to ask first, and is refused.
        for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = client.post("/api/capture", content=body, headers={"content-type": content_type})
            assert (answer.status_code, answer.json()["detail"]) == (
                415,
                "Expected the request as application/json.",
            )
        asking = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
        assert "access-control-allow-origin" not in client.options("/api/capture", headers=asking).headers
        answer = client.post("/api/capture", content=body, headers={**JSON, "host": "rebound.example"})
        assert answer.status_code == 421
    assert not list(logdir.rglob("*.trace.json.gz"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "This cannot be recorded: Input data was truncated."),
        (b"[]", "Expected `object`, got `array`."),
        (b'{"steps": 1}', "Object missing required field `address`."),
        (b'{"address": "localhost:1"}', "the request has neither duration_ms nor steps."),
        (b'{"address": "localhost:1", "steps": 0}', "Expected `int` >= 1"),
        (b'{"address": "localhost:1", "duration_ms": 600001}', "Expected `int` <= 600000"),
        (b'{"address": "localhost:1", "steps": 1, "collectors": ["gpu"]}', "there is no collector 'gpu'."),
        (b'{"address": "localhost:1", "steps": 1, "path": "/etc"}', "Object contains unknown field `path`."),
        (b'{"address": "localhost:1", "steps": 1, "options": {"delay_ms": -1}}', "Expected `int` >= 0"),
        (b"\xff\xfe", "This cannot be recorded: "),
    ],
)
def test_orders_that_are_none(body: bytes, said: str) -> None:
    with pytest.raises(HTTPException) as error:
        ordered(body)
    assert error.value.status_code == 400
    assert said in error.value.detail
    assert ".." not in error.value.detail


def test_addresses_that_are_none_or_not_allowed_are_not_asked(logdir: Path) -> None:
    with followed(logdir) as (client, _):
        for address, code in (("node7:6009", 403), ("localhost", 400), ("http://localhost:1/", 400), ("../x:1", 400)):
            assert client.post("/api/capture", json=order(address)).status_code == code


def test_a_program_that_cannot_be_recorded_is_no_error_of_the_page(logdir: Path) -> None:
    with followed(logdir) as (client, _), start(0, token=TOKEN) as server:
        wrong = client.post("/api/capture", json=order(server.address, token="wrong"))
        nobody = client.post("/api/capture", json=order("localhost:1"))
    assert (wrong.status_code, nobody.status_code) == (200, 200)
    assert wrong.json()["problem"] == "token"
    assert wrong.json()["message"].startswith(f"{server.address} refused: the token is missing or wrong.")
    assert nobody.json() == {
        "problem": "unreachable",
        "message": (
            "Nothing listens on localhost:1. Expected a program that has called stepscope.profiler.server.start(1)."
        ),
    }


@pytest.mark.parametrize("run", ["second", "../logs", "/etc", "first/../..", ""])
def test_runs_that_there_are_not(logdir: Path, run: str) -> None:
    with followed(logdir) as (client, _):
        answer = client.post("/api/capture", json=order("localhost:1", run=run))
    assert (answer.status_code, answer.json()["detail"]) == (404, f"There is no run {run!r} in the log directory.")


def test_a_run_that_lies_elsewhere_is_not_written_to(logdir: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with followed(logdir) as (client, _):
        for path in (logdir / "first").iterdir():
            path.unlink()
        (logdir / "first").rmdir()
        (logdir / "first").symlink_to(tmp_path / "elsewhere")
        answer = client.post("/api/capture", json=order("localhost:1", run="first"))
    assert answer.status_code in (404, 409)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_log_directories_that_cannot_be_written_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why = "Recordings are written into the log directory, which must be a single folder on this machine."
    for path in ("s3://bucket/logs", "a:/one, b:/two", str(tmp_path / "later")):
        client = still(path)
        assert client.get("/api/capture").json()["why_not"] == why
        answer = client.post("/api/capture", json=order("localhost:1"))
        assert (answer.status_code, answer.json()["detail"]) == (409, why)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert still(str(tmp_path)).get("/api/capture").json()["why_not"] == (
        f"Recordings are written into the log directory, but {tmp_path} is not writable."
    )
    monkeypatch.undo()
    assert still(str(tmp_path), "0.0.0.0").get("/api/capture").json()["why_not"] == (
        "Other machines can reach this dashboard. Start it with --capture HOST:PORT to record the program there."
    )
    assert still(str(tmp_path), "0.0.0.0", (Address("node7", 1),)).get("/api/capture").json()["why_not"] == ""
