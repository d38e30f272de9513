"""Asking other processes: how their untrusted answers are written, and what is reported if none come."""

import gzip
import io
import json
import os
import socket
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import parse_headers
from pathlib import Path
from typing import Any

import pytest

from stepscope.profiler import capture_files, client
from stepscope.profiler.capture_files import AnswerError, CapturedFiles, CapturedSteps, pack, unpack
from stepscope.profiler.capture_request import CaptureOptions, CaptureRequest
from stepscope.profiler.client import Address, Capture, CaptureError, Client, capture_all, check_writable, parse_address
from stepscope.profiler.server import start
from stepscope.profiler.session import Recording
from stepscope.summary import SummaryWriter
from stepscope.summary.errors import UserError
from stepscope.summary.logdir import Logdir
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.step_stats_pb2 import StepStats
from tests.profiler.training import training

BEGIN_NS = 1_700_000_000_000_000_000
TRACE = gzip.compress(b'{"traceEvents": []}')
ABOUT: dict[str, Any] = {
    "host": "node7",
    "pid": 12,
    "steps": {"count": 2, "first": 3, "last": 4},
    "records": 9,
    "unfinished": 1,
    "notes": ["a note"],
}
STEPS = CaptureRequest(steps=2, options=CaptureOptions(host_tracer_level=1, device_tracer_level=0))
QUICK = CaptureRequest(steps=1, duration_ms=1, collectors=[])


def archive(*entries: tuple[str, bytes], about: Any = ABOUT, compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as written:
        if about is not None:
            written.writestr("recording.json", about if isinstance(about, bytes) else json.dumps(about))
        for name, content in entries:
            written.writestr(name, content)
    return packed


def event_file(folder: Path, *tags: str) -> bytes:
    metadata = RunMetadata(step_stats=StepStats())
    metadata.step_stats.dev_stats.add(device="/device:CPU:0").node_stats.add(node_name="op", all_end_rel_micros=5)
    with SummaryWriter(str(folder)) as writer:
        for step, tag in enumerate(tags):
            writer.add_run_metadata(metadata, tag, step)
        writer.add_scalar("loss", 1.0, 0)
    (path,) = folder.iterdir()
    return path.read_bytes()


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def tags_in(logdir: Path) -> list[str]:
    return [tag for run in Logdir(logdir).update().runs.values() for tag in run.series]


# --- unpacking -----------------------------------------------------------------------------------------------------


def test_what_a_process_sends_goes_into_the_log_directory(tmp_path: Path) -> None:
    events = event_file(tmp_path / "source", "step_3", "step_-4")
    logdir = tmp_path / "logs"
    logdir.mkdir()
    packed = archive(("node7.trace.json.gz", TRACE), ("events.out.tfevents.1.node7", events))
    found = unpack(packed, logdir, BEGIN_NS, tag_suffix="/node7:6009")
    assert found == CapturedFiles(found.trace_path, "node7", 12, CapturedSteps(2, 3, 4), 9, 1, 2, ("a note",))
    (trace, event_path) = sorted(files_below(logdir), reverse=True)
    assert logdir / trace == found.trace_path
    assert trace.startswith("plugins/profile/2023_11_1")
    assert trace.endswith("/node7.trace.json.gz")
    assert gzip.decompress(found.trace_path.read_bytes()) == b'{"traceEvents": []}'
    assert event_path.startswith("events.out.tfevents.")
    assert event_path != "events.out.tfevents.1.node7"
    assert tags_in(logdir) == ["step_3/node7:6009", "step_-4/node7:6009"]


def test_a_recording_of_any_number_of_steps_is_taken(tmp_path: Path) -> None:
    sent = tmp_path / "a.trace.json.gz"
    sent.write_bytes(TRACE)
    recording = Recording(sent, tuple(range(1_000_000)), 9, 1, ("note " * 1000,) * 1000)
    packed = io.BytesIO()
    pack(recording, tmp_path, {"host": "node7", "pid": 12}, packed)
    found = unpack(packed, tmp_path / "logs", BEGIN_NS)
    notes = ("note " * 200,) * 100
    assert found == CapturedFiles(found.trace_path, "node7", 12, CapturedSteps(1_000_000, 0, 999_999), 9, 1, 0, notes)


@pytest.mark.parametrize(
    "name",
    [
        "../../evil.trace.json.gz",
        "/etc/cron.d/evil.trace.json.gz",
        "..\\..\\evil.trace.json.gz",
        "C:\\evil.trace.json.gz",
        "~/.ssh/evil.trace.json.gz",
        "a\nb\x1b[31m.trace.json.gz",
        "x" * 5000 + ".trace.json.gz",
    ],
)
def test_no_name_in_an_archive_becomes_the_name_of_a_file(tmp_path: Path, name: str) -> None:
    logdir = tmp_path / "a" / "b" / "logs"
    logdir.mkdir(parents=True)
    events = event_file(tmp_path / "source", "step_0")
    packed = archive((name, TRACE), ("../../../up.tfevents.1", events), ("../.bashrc", b"evil"))
    unpack(packed, logdir, BEGIN_NS)
    here, event_path = sorted(files_below(tmp_path / "a"), reverse=True)
    assert here.startswith("b/logs/plugins/profile/")
    assert here.endswith("/node7.trace.json.gz")
    assert event_path.startswith("b/logs/events.out.tfevents.")
    assert "up" not in event_path


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("../../../etc/passwd", "etc_passwd"),
        ("..", "host"),
        ("", "host"),
        (None, "host"),
        (7, "host"),
        (".hidden", "hidden"),
        ("node7.example-1_a", "node7.example-1_a"),
        ("rechner/ä\x00\n", "rechner_"),
        ("x" * 500, "x" * 64),
    ],
)
def test_no_host_leads_out_of_the_log_directory(tmp_path: Path, host: Any, name: str) -> None:
    found = unpack(archive(("t.trace.json.gz", TRACE), about={**ABOUT, "host": host}), tmp_path, BEGIN_NS)
    assert found.trace_path.name == f"{name}.trace.json.gz"
    assert found.trace_path.parent.parent == tmp_path / "plugins" / "profile"


def overlapping() -> io.BytesIO:
    """Two entries over the same bytes, as in an archive that unpacks to far more than its own size."""
    packed = archive(("a.trace.json.gz", TRACE), ("b.tfevents.1", b""))
    content = bytearray(packed.getvalue())
    first = content.find(b"PK\x01\x02")
    second = content.find(b"PK\x01\x02", first + 1)
    third = content.find(b"PK\x01\x02", second + 1)
    content[third + 42 : third + 46] = content[second + 42 : second + 46]
    return io.BytesIO(bytes(content))


def flipped() -> io.BytesIO:
    packed = archive(("a.trace.json.gz", TRACE))
    content = bytearray(packed.getvalue())
    content[content.find(TRACE) + 12] ^= 1
    return io.BytesIO(bytes(content))


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        (io.BytesIO(b"nothing of that kind"), "it is damaged: File is not a zip file"),
        (io.BytesIO(b""), "it is damaged: File is not a zip file"),
        (io.BytesIO(archive(("a.trace.json.gz", TRACE)).getvalue()[:-30]), "it is damaged: File is not a zip file"),
        (flipped(), "it is damaged: "),
        (overlapping(), "it is damaged: "),
        (archive(), "it has 0 traces; expected one file that ends in .trace.json.gz"),
        (archive(("a.trace.json.gz", TRACE), ("b.trace.json.gz", TRACE)), "it has 2 traces; expected one file"),
        (archive(("a.trace.json.gz", TRACE), about=None), "it has no recording.json"),
        (archive(("a.trace.json.gz", TRACE), about=b"{"), "its recording.json is damaged: "),
        (archive(("a.trace.json.gz", TRACE), about=b"[" * 100_000), "its recording.json is damaged: "),
        (archive(("a.trace.json.gz", TRACE), about=[]), "its recording.json is not a JSON object"),
        (
            archive(("a.trace.json.gz", TRACE), about={"notes": "x" * (1 << 20)}),
            "its recording.json is 1,048,589 bytes;",
        ),
        (archive(*((f"{n}.tfevents.1", b"") for n in range(20))), "it has 21 files; expected no more than 16"),
        (
            archive(("a.trace.json.gz", TRACE), compression=zipfile.ZIP_DEFLATED),
            "its files are compressed or encrypted; expected them stored unchanged",
        ),
        (archive(("a.trace.json.gz", b"no gzip")), "it is damaged: Not a gzipped file"),
        (archive(("a.trace.json.gz", TRACE[:-9])), "it is damaged: Compressed file ended before the end"),
        (archive(("a.trace.json.gz", TRACE[:-1] + b"x")), "it is damaged: Incorrect length"),
    ],
)
def test_answers_that_are_none_leave_nothing_behind(tmp_path: Path, packed: io.BytesIO, said: str) -> None:
    with pytest.raises(AnswerError) as error:
        unpack(packed, tmp_path, BEGIN_NS)
    assert str(error.value).startswith(said)
    assert files_below(tmp_path) == []


def test_answers_that_are_too_large_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(b"\x00" * 5_000_000)
    monkeypatch.setattr(capture_files, "MOST_TRACE_BYTES", 1_000_000)
    with pytest.raises(AnswerError, match="its trace is more than 1,000,000 bytes when unpacked"):
        unpack(archive(("a.trace.json.gz", bomb)), tmp_path, BEGIN_NS)
    monkeypatch.setattr(capture_files, "MOST_ANSWER_BYTES", 1_000)
    with pytest.raises(AnswerError, match=r"its files are [0-9,]+ bytes; expected no more than 1,000"):
        unpack(archive(("a.trace.json.gz", bomb)), tmp_path, BEGIN_NS)
    assert files_below(tmp_path) == []


def test_of_an_event_file_step_stats_alone_are_taken(tmp_path: Path) -> None:
    events = event_file(tmp_path / "source", "step_0", "../evil", "step_x", "loss")
    logdir = tmp_path / "logs"
    logdir.mkdir()
    found = unpack(archive(("a.trace.json.gz", TRACE), ("a.tfevents.1", events)), logdir, BEGIN_NS)
    assert found.step_stats == 1
    assert found.notes == ("a note", "left out 3 events of the response that were not StepStats")
    assert tags_in(logdir) == ["step_0"]


def test_of_a_damaged_event_file_is_taken_what_stands_before_the_damage(tmp_path: Path) -> None:
    events = event_file(tmp_path / "source", "step_0", "step_1", "step_2")
    at = events.rfind(b"step_1")
    for place, damaged in enumerate(
        (
            events[:at] + b"x" + events[at + 1 :],
            events[: at - 2],
            events[: events.rfind(b"step_2") + 3],
            events[:20] + b"\xff" * 8 + events[28:],
        )
    ):
        logdir = tmp_path / f"logs{place}"
        logdir.mkdir()
        found = unpack(archive(("a.trace.json.gz", TRACE), ("a.tfevents.1", damaged)), logdir, BEGIN_NS)
        assert found.step_stats == (1, 1, 2, 0)[place]
        assert found.notes[1:] == (
            "the event file of the response is damaged; the StepStats that follow the damage are missing",
        )


def test_what_a_process_says_is_no_command_to_the_terminal(tmp_path: Path) -> None:
    about = {**ABOUT, "notes": ["a\x1b[31mb\nc", 7], "steps": "many", "pid": "x", "records": True}
    found = unpack(archive(("a.trace.json.gz", TRACE), about=about), tmp_path, BEGIN_NS)
    assert found.notes == ("a [31mb c", "7")
    assert (found.steps, found.pid, found.records) == (CapturedSteps(0, None, None), 0, 0)


# --- asking --------------------------------------------------------------------------------------------------------


@contextmanager
def answering(*answers: bytes) -> Iterator[Address]:
    """Listens, reads a request, and answers each connection with the next bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as request:
                    # Read all of it: if anything is left unread, the client gets a connection reset.
                    request.readline()
                    headers = parse_headers(request)
                    request.read(int(headers.get("Content-Length", 0)))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield Address("127.0.0.1", listener.getsockname()[1])
        thread.join()


def http(code: int, content_type: str, body: bytes, length: int | None = None) -> bytes:
    head = f"HTTP/1.1 {code} Said\r\nContent-Type: {content_type}\r\nContent-Length: {length or len(body)}\r\n\r\n"
    return head.encode() + body


def problem(act: Callable[[], Any]) -> tuple[str, str]:
    with pytest.raises(CaptureError) as error:
        act()
    return error.value.problem, str(error.value)


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    address = Address("127.0.0.1", free)
    expected = f"Expected a program that has called stepscope.profiler.server.start({free})."
    assert problem(lambda: Client(address).capture(QUICK, tmp_path, 0)) == (
        "unreachable",
        f"nothing listens on 127.0.0.1:{free}. {expected}",
    )
    kind, said = problem(lambda: Client(Address("nowhere.invalid", 6009)).status())
    assert kind == "unreachable"
    assert said.startswith("nowhere.invalid:6009 cannot be reached: ")
    assert said.endswith("stepscope.profiler.server.start(6009).")


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (http(200, "text/html", b"<html>"), "answer", "is not a profiler's server. Expected a program that has called"),
        (http(404, "text/html", b"<html>"), "answer", "is not a profiler's server."),
        (http(500, "application/json", b"[]"), "answer", "is not a profiler's server."),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "answer", "is not a profiler's server."),
        (b"HTTP/1.1 200 " + b"x" * 100_000, "answer", "is not a profiler's server."),
        (b"", "answer", "ended early: Remote end closed connection without response. Has the program ended?"),
        (http(200, "application/zip", b"PK", 100), "answer", "ended early: "),
        (http(200, "application/zip", b"PK"), "answer", "cannot be used: it is damaged: File is not a zip file."),
        (http(409, "application/json", b'{"error": "busy.\\u001b[0m"}'), "busy", " refused: busy. [0m"),
        (http(401, "application/json", b'{"error": "no token."}'), "token", " refused: no token."),
        (http(400, "application/json", b'{"error": "no."}'), "refused", " refused: no."),
    ],
)
def test_answers_that_are_no_recording(tmp_path: Path, answer: bytes, kind: str, said: str) -> None:
    with answering(answer) as address:
        found, message = problem(lambda: Client(address).capture(QUICK, tmp_path, 0))
    assert found == kind
    assert said in message
    assert str(address) in message
    assert files_below(tmp_path) == []


def test_an_answer_that_does_not_end_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MOST_ANSWER_BYTES", 1000)
    with answering(http(200, "application/zip", b"x" * 2000)) as address:
        kind, said = problem(lambda: Client(address).capture(QUICK, tmp_path, 0))
    assert (kind, said) == ("answer", f"{address} sent more than 1,000 bytes.")


def test_a_process_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_PATIENCE_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address("127.0.0.1", listener.getsockname()[1])
        kind, said = problem(lambda: Client(address).capture(QUICK, tmp_path, 0))
    assert kind == "late"
    assert said == f"{address} did not answer within 0.051 s. Is the program stopped, or very busy?"


def test_a_busy_process_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PAUSE_S", 0.0)
    busy = http(409, "application/json", b'{"error": "busy"}')
    good = http(200, "application/zip", archive(("a.trace.json.gz", TRACE)).getvalue())
    with answering(busy, busy, good) as address:
        assert Client(address).capture(QUICK, tmp_path, 0, attempts=3).files.host == "node7"
    with answering(busy, busy) as address:
        assert problem(lambda: Client(address).capture(QUICK, tmp_path, 0, attempts=2))[0] == "busy"
    refused = http(401, "application/json", b'{"error": "no"}')
    with answering(refused) as address:
        assert problem(lambda: Client(address).capture(QUICK, tmp_path, 0, attempts=9))[0] == "token"


def test_the_token_is_sent_and_cannot_become_a_header(tmp_path: Path) -> None:
    token = "sixteen letters and more"
    with start(0, token=token) as server:
        address = parse_address(server.address)
        assert Client(address, token).status()["pid"] == os.getpid()
        assert problem(lambda: Client(address, "wrong").status())[0] == "token"
        assert problem(lambda: Client(address).capture(QUICK, tmp_path, 0))[0] == "token"
        for wrong in ("a\r\nX-Header: 1", "späte Zeichen"):
            assert problem(lambda token=wrong: Client(address, token).status()) == (  # type: ignore[misc]
                "token",
                "the token cannot be sent. Expected ASCII letters, digits and symbols.",
            )


def test_a_log_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "plugins").write_text("in the way")
    good = http(200, "application/zip", archive(("a.trace.json.gz", TRACE)).getvalue())
    with answering(good) as address:
        kind, said = problem(lambda: Client(address).capture(QUICK, tmp_path, 0))
    assert (kind, said) == ("files", f"nothing can be written to {tmp_path}: Not a directory.")
    with pytest.raises(UserError, match=r"plugins: File exists\. Expected a directory that may be written to"):
        check_writable(tmp_path / "plugins")
    check_writable(tmp_path / "new" / "one")
    assert list((tmp_path / "new" / "one").iterdir()) == []


def test_a_capture_that_is_cancelled_ends_the_recording(tmp_path: Path) -> None:
    with start(0) as server:
        address = parse_address(server.address)
        requested = Client(address)
        errors: list[CaptureError] = []

        def work() -> None:
            try:
                requested.capture(CaptureRequest(duration_ms=600_000, collectors=[]), tmp_path, 0)
            except CaptureError as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        while not Client(address).status()["recording"]:
            pass
        requested.cancel()
        thread.join()
        assert [error.problem for error in errors] == ["cancelled"]
        while Client(address).status()["recording"]:
            pass
    assert files_below(tmp_path) == []


def test_programs_are_captured_together(tmp_path: Path) -> None:
    with training(tmp_path / "one") as one, training(tmp_path / "two") as two:
        gone = Address("127.0.0.1", 1)
        events = list(capture_all([one.address, gone, two.address], STEPS, tmp_path / "logs"))
    ended = {event.address: event.what for event in events if isinstance(event.what, Capture | CaptureError)}
    phases = [event.what for event in events if event.address == two.address and isinstance(event.what, str)]
    assert phases == ["connecting", "recording", "receiving", "writing"]
    first, second = ended[one.address], ended[two.address]
    assert isinstance(first, Capture)
    assert isinstance(second, Capture)
    assert (first.files.pid, second.files.pid) == (one.pid, two.pid)
    # One folder, in which the traces of two processes on one host lie side by side.
    assert first.files.trace_path.parent == second.files.trace_path.parent
    names = {first.files.trace_path.name, second.files.trace_path.name}
    assert names == {f"{first.files.host}.trace.json.gz", f"{first.files.host}.2.trace.json.gz"}
    error = ended[gone]
    assert isinstance(error, CaptureError)
    assert error.problem == "unreachable"
    tags = tags_in(tmp_path / "logs")
    expected = [
        f"step_{step}/{address}"
        for address, done in ((one.address, first), (two.address, second))
        for step in (done.files.steps.first, done.files.steps.last)
    ]
    assert sorted(tags) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:6009", Address("localhost", 6009)),
        (" node-7.example:1 ", Address("node-7.example", 1)),
        ("[::1]:65535", Address("::1", 65535)),
        ("[fe80::1%eth0]:6009", None),
        ("::1:6009", None),
        ("localhost", None),
        (":6009", None),
        ("localhost:0", None),
        ("localhost:65536", None),
        ("http://localhost:6009", None),
        ("localhost:6009/capture", None),
        ("a b:6009", None),
        ("", None),
    ],
)
def test_addresses(text: str, address: Address | None) -> None:
    if address is None:
        with pytest.raises(UserError, match=r"is not an address\. Expected HOST:PORT, such as localhost:6009"):
            parse_address(text)
    else:
        assert parse_address(text) == address
        assert parse_address(str(address)) == address
