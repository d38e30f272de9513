"""The server in a training program: what it records, whom it answers, and that it never disturbs the program."""

import http.client
import io
import json
import os
import resource
import socket
import socketserver
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope import profiler
from stepscope.profiler import capture_http, capture_recording, process
from stepscope.profiler.capture_recording import NoStepsError, RequestedProfile
from stepscope.profiler.capture_request import CaptureOptions, CaptureRequest, parse_request
from stepscope.profiler.client import Client
from stepscope.profiler.collectors.base import Collected, RecordingClock
from stepscope.profiler.process import AlreadyStartedError
from stepscope.profiler.server import Server, start, status
from stepscope.profiler.session import Recording
from stepscope.profiler.traces import load_trace
from stepscope.summary.errors import UserError
from stepscope.summary.logdir import Logdir
from tests.profiler.training import FIRST_STEP, training

TOKEN = "correct horse battery staple"
PLAIN = CaptureOptions(host_tracer_level=1, device_tracer_level=0)
"""The host's scopes alone."""
LONG = {"duration_ms": 600_000, "collectors": []}
PATIENCE_S = 60


@pytest.fixture
def server() -> Iterator[Server]:
    with start(0) as running:
        yield running
    assert process._process.session is None
    assert process._process.profile is None


def ask(
    server: Server, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if answer.headers.get_content_subtype() == "json" else content
    finally:
        connection.close()


def capture(server: Server, request: dict[str, Any]) -> tuple[int, Any]:
    return ask(server, "POST", "/capture", json.dumps(request).encode(), {"Content-Type": "application/json"})


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        threading.Event().wait(0.01)


# --- recordings of a real program ----------------------------------------------------------------------------------


def test_a_duration_of_a_training_program_is_recorded_in_whole_steps(tmp_path: Path) -> None:
    with training(tmp_path / "temporary") as program:
        client = Client(program.address)
        request = CaptureRequest(duration_ms=100, options=PLAIN)
        done = client.capture(request, tmp_path / "logs", 1_700_000_000_000_000_000)
        assert list(program.temporary.iterdir()) == []
    files = done.files
    assert files.pid == program.pid
    assert files.host == socket.gethostname()
    assert files.notes == ()
    assert files.unfinished == 0
    first, last = files.steps.first, files.steps.last
    assert first is not None
    assert last is not None
    assert first >= FIRST_STEP
    steps = range(first, last + 1)
    assert files.step_stats == files.steps.count == len(steps)

    trace = load_trace(str(files.trace_path))
    names = [trace.names[name_id] for name_id in trace.name_id]
    assert sorted(set(names) - {"backward", "forward"}) == [f"ProfilerStep#{step}" for step in steps]
    # Each step is whole: both scopes of every step are there.
    assert names.count("forward") == names.count("backward") == len(steps)
    assert len(names) == files.records
    assert {lane.name for lane in trace.lanes} == {"steps", "MainThread"}

    assert files.trace_path.relative_to(tmp_path / "logs").parts[:2] == ("plugins", "profile")
    (run,) = Logdir(tmp_path / "logs").update().runs.values()
    assert [(series.tag, series.steps.tolist()) for series in run.series.values()] == [
        (f"step_{step}", [step]) for step in steps
    ]


def test_so_many_steps_of_a_training_program_are_recorded(tmp_path: Path) -> None:
    with training(tmp_path / "temporary") as program:
        client = Client(program.address)
        request = CaptureRequest(steps=3, options=PLAIN)
        first = client.capture(request, tmp_path / "logs", 0)
        second = client.capture(request, tmp_path / "logs", 0)
    assert first.files.steps.count == second.files.steps.count == 3
    assert first.files.steps.last is not None
    assert second.files.steps.first is not None
    assert second.files.steps.first > first.files.steps.last
    assert first.files.trace_path.parent == second.files.trace_path.parent
    assert second.files.trace_path.name == f"{first.files.host}.2.trace.json.gz"


def test_the_status_of_a_training_program(tmp_path: Path) -> None:
    with training(tmp_path / "temporary", TOKEN) as program:
        found = Client(program.address, TOKEN).status()
    assert found == {
        "host": socket.gethostname(),
        "pid": program.pid,
        "recording": False,
        "step": None,
        "collectors": status()["collectors"],
        "version": "0.1.0",
    }


def test_the_status_knows_the_step_of_a_recording(server: Server, tmp_path: Path) -> None:
    with profiler.Profile(tmp_path, first_step=6, collectors=[]):
        profiler.step()
        _, found = ask(server, "GET", "/status")
    assert (found["recording"], found["step"]) == (True, 7)


# --- when a recording begins and ends ------------------------------------------------------------------------------


def requested(folder: Path, **request: Any) -> RequestedProfile:
    return RequestedProfile(folder, CaptureRequest(**request, collectors=[]))


def test_the_first_recorded_step_has_the_number_that_the_program_gives(tmp_path: Path) -> None:
    for number, expected in ((17, (17, 18)), (None, (0, 1))):
        profile = requested(tmp_path, steps=2)
        with profile:
            profiler.step(number)
            profiler.step()
            profiler.step()
            # The recording is over, and the program goes on.
            profiler.step()
        assert profile.result().steps == expected


def test_steps_count_that_began_after_the_delay(tmp_path: Path) -> None:
    profile = requested(tmp_path, steps=2, options=CaptureOptions(delay_ms=1))
    with profile:
        profiler.step(5)
        after_delay = time.monotonic() + 0.001
        wait_until(lambda: time.monotonic() > after_delay)
        for _ in range(3):
            profiler.step()
    found = profile.result()
    assert (found.steps, found.unfinished, found.notes) == ((6, 7), 0, ())


def test_a_step_that_outlasts_the_recording_is_kept_from_the_delay_on(tmp_path: Path) -> None:
    profile = requested(tmp_path, steps=2, duration_ms=1, options=CaptureOptions(delay_ms=1))
    with profile:
        profiler.step(5)
        profile.wait(lambda: True)
    found = profile.result()
    assert (found.steps, found.notes) == ((5,), ("only 0 of 2 steps ended within 0.002 s",))


def test_steps_that_are_not_all_over_in_time_are_said(tmp_path: Path) -> None:
    profile = requested(tmp_path, steps=3, duration_ms=1500)
    with profile:
        profiler.step(5)
        profiler.step()
    found = profile.result()
    assert found.steps[0] == 5
    assert found.notes == ("only 1 of 3 steps ended within 1.5 s",)


def test_a_program_without_steps_is_recorded_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_recording, "STEP_PATIENCE_S", 0.01)
    with profiler.annotate("before"):
        found = capture_recording.record(CaptureRequest(duration_ms=1, collectors=[]), tmp_path, lambda: True)
    assert found.steps == (0,)
    assert found.notes == ("no step began within 0.01 s, so the recording does not start and end at step boundaries",)


def test_steps_that_never_come_are_an_error(server: Server) -> None:
    assert capture(server, {"steps": 2, "duration_ms": 10, "collectors": []}) == (
        504,
        {
            "error": "no step began within 0.01 s, so there was none to record. Expected calls to profiler.step() in "
            "the training loop; or ask for a duration instead of steps."
        },
    )


def test_a_program_that_stops_the_recording_itself_ends_it(tmp_path: Path) -> None:
    profile = requested(tmp_path, steps=600)
    with profile:
        profiler.step(3)
        profiler.stop()
        profile.wait(lambda: True)
    assert profile.result().steps == (3,)


def test_a_recording_that_lasts_ends_though_no_step_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_recording, "STEP_PATIENCE_S", 0.0)
    profile = requested(tmp_path, duration_ms=1)
    with profile:
        profiler.step(3)
        profile.wait(lambda: True)
    assert profile.result().steps == (3,)


class ThreadCollector:
    def __init__(self) -> None:
        self.threads: list[int] = []

    def start(self, clock: RecordingClock) -> None:
        self.threads.append(threading.get_ident())

    def stop(self) -> Collected:
        self.threads.append(threading.get_ident())
        return Collected(notes=("seen",))


def test_collectors_start_and_stop_in_the_thread_that_trains(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    # PyTorch's profiler and sys.setprofile record the thread that starts them.
    collector = ThreadCollector()
    monkeypatch.setattr(process, "make_collector", lambda name: collector)
    answers: list[tuple[int, Any]] = []
    asking = threading.Thread(target=lambda: answers.append(capture(server, {"steps": 2, "collectors": ["torch"]})))
    asking.start()
    while asking.is_alive():
        profiler.step()
    assert collector.threads == [threading.get_ident()] * 2
    code, content = answers[0]
    assert code == 200
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        assert json.loads(packed.read("recording.json"))["notes"] == ["seen"]


class FailingCollector:
    def start(self, clock: RecordingClock) -> None:
        raise UserError("no device here")

    def stop(self) -> Collected:
        raise AssertionError("it never started")


def test_a_collector_that_cannot_record_never_disturbs_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "make_collector", lambda name: FailingCollector())
    profile = RequestedProfile(tmp_path, CaptureRequest(steps=1, collectors=["nvml"]))
    with profile:
        profiler.step(1)
        profiler.step(2)
    with pytest.raises(UserError, match="no device here"):
        profile.result()


def test_files_that_cannot_be_written_never_disturb_the_program(tmp_path: Path) -> None:
    profile = requested(tmp_path / "logs", steps=1)
    with profile:
        profiler.step(1)
        (tmp_path / "logs" / "plugins").write_text("in the way")
        profiler.step(2)
        profiler.step(3)
    with pytest.raises(OSError, match="plugins"):
        profile.result()


def test_nothing_is_recorded_while_the_program_records_itself(server: Server, tmp_path: Path) -> None:
    with profiler.Profile(tmp_path, collectors=[]) as own:
        assert capture(server, {"duration_ms": 1000}) == (
            409,
            {
                "error": "a recording is already running in this process, which can have only one at a time. "
                "Try again when it has finished."
            },
        )
    assert own.recording is not None
    with pytest.raises(AlreadyStartedError), requested(tmp_path, steps=1):
        profiler.start(tmp_path)


# --- a client that goes, a server that stops -----------------------------------------------------------------------


def send(server: Server, request: dict[str, Any]) -> socket.socket:
    body = json.dumps(request).encode()
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)
    head = f"POST /capture HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    connection.sendall(head.encode() + b"\r\n\r\n" + body)
    return connection


def test_a_client_that_goes_away_ends_its_recording(server: Server) -> None:
    with send(server, LONG):
        wait_until(lambda: bool(ask(server, "GET", "/status")[1]["recording"]))
        assert capture(server, LONG) == (
            409,
            {"error": "this process is already being captured. Try again when that is finished."},
        )
    wait_until(lambda: not ask(server, "GET", "/status")[1]["recording"])
    # The next request is answered.
    wait_until(lambda: capture(server, {"steps": 1, "duration_ms": 1, "collectors": []})[0] == 504)


def test_a_program_with_many_open_files_is_captured(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_recording, "STEP_PATIENCE_S", 0.01)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kept = [os.open(os.devnull, os.O_RDONLY) for _ in range(1024)]
    try:
        assert capture(server, {"duration_ms": 1, "collectors": []})[0] == 200
    finally:
        for descriptor in kept:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_server_that_stops_ends_the_recording() -> None:
    server = start(0)
    with send(server, LONG) as connection:
        wait_until(lambda: bool(status()["recording"]))
        server.stop()
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"the recording ended because the server was stopped." in answer
    assert process._process.profile is None
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))
    server.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_does_not_keep_the_port(tmp_path: Path) -> None:
    code = """
import os, socket, sys
import stepscope.profiler.server
server = stepscope.profiler.server.start(0)
begin, end = os.pipe()
child = os.fork()
if not child:
    os.close(end)
    os.read(begin, 1)
    os._exit(0)
server.stop()
socket.create_server(("127.0.0.1", server.port), reuse_port=False).close()
os.close(end)
os.waitpid(child, 0)
print("free")
"""
    # Python 3.12 warns about forking with threads, which is exactly what this tests.
    python = [sys.executable, "-W", "ignore::DeprecationWarning"]
    done = subprocess.run([*python, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("free\n", "")


# --- who is answered -----------------------------------------------------------------------------------------------

JSON = {"Content-Type": "application/json"}
QUICK = b'{"steps": 1, "duration_ms": 1, "collectors": []}'


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "code", "said"),
    [
        # A page on the internet can point its own name at 127.0.0.1, but its requests carry that name.
        ("GET", "/status", None, {"Host": "rebound.example"}, 403, "this server is not called 'rebound.example'. Exp"),
        ("POST", "/capture", QUICK, {**JSON, "Host": "rebound.example:80"}, 403, "not called 'rebound.example'."),
        ("POST", "/capture", QUICK, {**JSON, "Host": ""}, 403, "this server is not called ''."),
        (
            "POST",
            "/capture",
            QUICK,
            {**JSON, "Origin": "http://localhost:6006"},
            403,
            "requests of web pages are refused.",
        ),
        ("GET", "/status", None, {"Origin": "null"}, 403, "requests of web pages are refused"),
        # Requests that a form on a page can send without a preflight.
        ("POST", "/capture", QUICK, {"Content-Type": "text/plain"}, 415, "the body is text/plain. Expected Content-T"),
        ("POST", "/capture", QUICK, {}, 415, "the body has no Content-Type."),
        ("POST", "/capture", b"", JSON, 411, "the length of the body is not known."),
        ("POST", "/capture", b"x" * 65_537, JSON, 413, "the body is 65,537 bytes. Expected up to 65,536."),
        ("POST", "/capture", b"nonsense", JSON, 400, "the request cannot be used: JSON is malformed"),
        ("POST", "/capture", b"{}", JSON, 400, "the request has neither duration_ms nor steps. Expected JSON such"),
        ("POST", "/capture", b"[]", JSON, 400, "Expected `object`, got `array`"),
        ("GET", "/", None, {}, 404, "nothing answers at this path. Expected GET /status or POST /capture."),
        ("GET", "/capture", None, {}, 404, "nothing answers at this path. Expected GET /status or POST /capture."),
        ("GET", "/../../etc/passwd", None, {}, 404, "nothing answers at this path"),
        ("PUT", "/capture", QUICK, JSON, 501, "Unsupported method ('PUT')."),
        ("OPTIONS", "/capture", None, {}, 501, "Unsupported method ('OPTIONS')."),
    ],
)
def test_what_is_refused(
    server: Server, method: str, path: str, body: bytes | None, headers: dict[str, str], code: int, said: str
) -> None:
    found, answer = ask(server, method, path, body, headers)
    assert found == code
    assert said in answer["error"]
    assert list(answer) == ["error"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST:1", "[::1]:6009"])
def test_names_of_this_machine_are_answered(server: Server, host: str) -> None:
    assert ask(server, "GET", "/status", headers={"Host": host})[0] == 200


def test_only_those_who_know_the_token_are_answered() -> None:
    with start(0, token=TOKEN) as server:
        for given in (None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer \xe9"):
            headers = {} if given is None else {"Authorization": given}
            for method, path in (("GET", "/status"), ("POST", "/capture")):
                code, answer = ask(server, method, path, None, headers)
                assert (code, answer["error"][:30]) == (401, "the token is missing or wrong."), given
        assert ask(server, "GET", "/status", None, {"Authorization": f"bearer {TOKEN}"})[0] == 200


def test_other_machines_are_let_in_with_a_token_alone() -> None:
    with pytest.raises(UserError, match=r"other machines can reach 0\.0\.0\.0.* Expected a token of 16 or more"):
        start(0, host="0.0.0.0")
    for token in ("", "fifteen letters", "with a line\nbreak in it", "späte Zeichen, viele davon"):
        for host in ("0.0.0.0", "127.0.0.1"):
            with pytest.raises(UserError, match=r"(?s)the token is too short, .*one:\n.*secrets\.token_urlsafe"):
                start(0, host=host, token=token)
    with start(0, host="0.0.0.0", token=TOKEN) as server:
        headers = {"Host": "any.name.of.this.machine", "Authorization": f"Bearer {TOKEN}"}
        assert ask(server, "GET", "/status", None, headers)[0] == 200
        assert ask(server, "GET", "/status", None, {"Host": "localhost"})[0] == 401


def test_ports_and_hosts_that_cannot_be_listened_on() -> None:
    with start(0) as taken, pytest.raises(UserError, match=f"cannot listen on 127.0.0.1, port {taken.port}: Address"):
        start(taken.port)
    with pytest.raises(UserError, match="port 65536 is out of range"):
        start(65536)
    with pytest.raises(UserError, match=r"host 'nowhere\.invalid' cannot be resolved"):
        start(0, host="nowhere.invalid")
    with pytest.raises(UserError, match=r"cannot listen on 192\.0\.2\.1"):
        start(0, host="192.0.2.1", token=TOKEN)


def test_addresses_as_the_command_takes_them() -> None:
    with start(0) as server:
        assert server.address == f"127.0.0.1:{server.port}"
    with start(0, host="localhost") as server:
        assert server.address == f"127.0.0.1:{server.port}"
    if socket.has_ipv6:
        with start(0, host="::1") as server:
            assert server.address == f"[::1]:{server.port}"


def test_whatever_is_sent_the_server_goes_on(server: Server) -> None:
    for sent in (
        b"",
        b"\x00\xff\r\n\r\n",
        b"GET /status\r\n\r\n",
        b"GET /status HTTP/9.9\r\n\r\n",
        b"GET " + b"a" * 70_000,
        b"POST /capture HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /capture HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
        b"POST /capture HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /capture HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"POST /capture HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"".join(b"X-%d: 1\r\n" % n for n in range(200)),
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.makefile("rb").read()
        assert b" 200 " not in answer.partition(b"\r\n")[0] or sent.startswith(b"GET /status")
        assert ask(server, "GET", "/status")[0] == 200


def test_a_connection_for_which_there_is_no_thread_is_not_counted(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(socketserver.ThreadingMixIn, "process_request", refuse)
        for _ in range(capture_http._MOST_CONNECTIONS):
            with pytest.raises((ConnectionError, http.client.HTTPException)):
                ask(server, "GET", "/status")
    assert ask(server, "GET", "/status")[0] == 200


def test_no_more_connections_than_a_training_program_bears(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)
        for _ in range(capture_http._MOST_CONNECTIONS)
    ]
    wait_until(lambda: sum("process_request_thread" in thread.name for thread in threading.enumerate()) >= len(kept))
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        ask(server, "GET", "/status")
    for connection in kept:
        connection.close()

    def answers() -> bool:
        try:
            return ask(server, "GET", "/status")[0] == 200
        except (ConnectionError, http.client.HTTPException):
            return False

    wait_until(answers)


# --- requests and answers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"duration_ms": 0}', r"Expected `int` >= 1 - at `\$\.duration_ms`"),
        ('{"duration_ms": 600001}', r"Expected `int` <= 600000 - at `\$\.duration_ms`"),
        ('{"duration_ms": 1.5}', "Expected `int | null`, got `float`"),
        ('{"duration_ms": true}', "Expected `int | null`, got `bool`"),
        ('{"steps": 10001}', r"Expected `int` <= 10000 - at `\$\.steps`"),
        ('{"steps": 1, "stesp": 2}', "Object contains unknown field `stesp`"),
        (
            '{"steps": 1, "options": {"host_tracer_level": 4}}',
            r"Expected `int` <= 3 - at `\$\.options\.host_tracer",
        ),
        ('{"steps": 1, "options": {"delay_ms": -1}}', r"Expected `int` >= 0 - at `\$\.options\.delay_ms`"),
        (
            '{"steps": 1, "collectors": ["torch", "gpu"]}',
            "there is no collector 'gpu'. Expected one or more of: resources, ",
        ),
        ('{"steps": 1, "collectors": ["torch", "torch"]}', "a collector is named twice: torch, torch"),
        ('{"steps": 1, "collectors": "torch"}', "Expected `array | null`, got `str`"),
        ("\xff", "the request cannot be used"),
        ("[" * 5000, "the request cannot be used"),
    ],
)
def test_requests_that_say_nothing_useful(body: str, said: str) -> None:
    with pytest.raises(UserError, match=said.replace("|", r"\|")):
        parse_request(body.encode("latin-1"))


def test_an_answer_has_no_more_than_it_may(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def record(request: CaptureRequest, folder: Path, is_wanted: Callable[[], bool]) -> Recording:
        (folder / "host.trace.json.gz").write_bytes(b"x" * 100)
        return Recording(folder / "host.trace.json.gz", (1,), 2, 0)

    monkeypatch.setattr(capture_http, "record", record)
    code, content = capture(server, {"steps": 1})
    assert code == 200
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        assert packed.namelist() == ["recording.json", "host.trace.json.gz"]
        assert packed.read("host.trace.json.gz") == b"x" * 100
    monkeypatch.setattr(capture_http, "MOST_ANSWER_BYTES", 99)
    code, answer = capture(server, {"steps": 1})
    assert (code, answer["error"][:54]) == (507, "the recording is 100 bytes, and no more than 99 are se")


def test_a_recording_that_fails_is_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(error: Exception) -> Callable[..., Recording]:
        def record(request: CaptureRequest, folder: Path, is_wanted: Callable[[], bool]) -> Recording:
            raise error

        return record

    for error, code, said in (
        (OSError(28, "No space left on device"), 507, "the recording cannot be written here: No space left on device."),
        (ModuleNotFoundError("No module named 'x'"), 400, "a requested collector cannot be loaded here: No module"),
        (UserError("CUPTI is not there"), 400, "CUPTI is not there"),
        (NoStepsError("no step"), 504, "no step"),
        (ZeroDivisionError("oh"), 500, "the recording failed: ZeroDivisionError: oh."),
    ):
        monkeypatch.setattr(capture_http, "record", failing(error))
        found, answer = capture(server, {"steps": 1})
        assert (found, answer["error"][:54]) == (code, said[:54])


def test_a_program_that_imports_the_profiler_has_the_server_too() -> None:
    code = "from stepscope import profiler\nwith profiler.server.start(0) as server:\n    print(server.address)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("127.0.0.1:")


def test_importing_the_server_is_light() -> None:
    heavy = "{'numba', 'dash', 'plotly', 'torch', 'polars', 'fastapi', 'uvicorn', 'rich'}"
    code = f"import sys, stepscope.profiler.server, stepscope.profiler.client; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
