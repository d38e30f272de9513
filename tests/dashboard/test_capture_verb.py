"""``stepscope capture``: what it asks for, what it writes and reports, and what it refuses."""

import re
import socket
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

import pytest

from stepscope.dashboard.cli.capture import CaptureVerb, duration_ms, request_of, steps_text
from stepscope.dashboard.cli.main import main
from stepscope.profiler.capture_files import CapturedSteps
from stepscope.profiler.capture_request import CaptureOptions, CaptureRequest
from stepscope.profiler.server import start
from stepscope.profiler.traces import load_trace
from stepscope.summary.logdir import Logdir
from tests.profiler.training import training

TOKEN = "sixteen letters or more"
PLAIN = ["--host-tracer-level", "1", "--device-tracer-level", "0"]


def request(*arguments: str) -> CaptureRequest:
    parser = ArgumentParser()
    CaptureVerb().add_arguments(parser)
    return request_of(parser.parse_args(["localhost:6009", "--logdir", "runs", *arguments]))


def test_the_arguments_make_the_request() -> None:
    assert request() == CaptureRequest(duration_ms=2000)
    assert request("--steps", "5") == CaptureRequest(duration_ms=60_000, steps=5)
    assert request("--steps", "5", "--duration", "3s") == CaptureRequest(duration_ms=3000, steps=5)
    assert request(
        *("--duration", "1m", "--collector", "torch", "--collector", "nvml", "--host-tracer-level", "1"),
        *("--python-tracer-level", "1", "--device-tracer-level", "0", "--delay", "500ms"),
    ) == CaptureRequest(
        duration_ms=60_000,
        options=CaptureOptions(host_tracer_level=1, python_tracer_level=1, device_tracer_level=0, delay_ms=500),
        collectors=["torch", "nvml"],
    )


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("2s", 2000), ("500ms", 500), ("1m", 60_000), ("1.5s", 1500), ("0.1 s", 100), (" 10m ", 600_000)],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    "text", ["", "2", "s", "0s", "-1s", "1e3s", "2h", "11m", "601s", "0.0001ms", "nan s", "9" * 99]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(
        ArgumentTypeError, match="is not a duration; expected one such as 2s, 500ms or 1m, 600 s at most"
    ):
        duration_ms(text)


def test_a_training_program_is_captured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logdir = tmp_path / "logs"
    with training(tmp_path / "temporary") as program:
        arguments = ["capture", str(program.address), "--logdir", str(logdir), "--steps", "4", *PLAIN]
        assert main(arguments) == 0
    said = capsys.readouterr()
    assert said.err == ""
    (path,) = logdir.rglob("*.trace.json.gz")
    trace = load_trace(str(path))
    steps = sorted(int(name.partition("#")[2]) for name in trace.names if name.startswith("ProfilerStep#"))
    assert len(steps) == 4
    assert said.out.splitlines() == [
        f"{program.address} (process {program.pid} on {socket.gethostname()}): 4 steps, {steps[0]} to {steps[-1]}, "
        "12 records",
        f"  {path}",
        f"Open it with: stepscope --logdir {logdir}",
    ]
    (run,) = Logdir(logdir).update().runs.values()
    assert list(run.series) == [f"step_{step}" for step in steps]


def test_the_token_comes_from_the_environment_or_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with training(tmp_path / "temporary", TOKEN) as program:
        arguments = ["capture", str(program.address), "--logdir", str(tmp_path / "logs"), "--steps", "1", *PLAIN]
        assert main(arguments) == 2
        assert capsys.readouterr().err == (
            f"stepscope: {program.address} refused: the token is missing or wrong. Expected the one that "
            "stepscope.profiler.server.start(token=...) was given, as Authorization: Bearer TOKEN. Set it in the "
            "environment variable STEPSCOPE_TOKEN, or pass it with --token.\n"
        )
        assert main([*arguments, "--token", TOKEN]) == 0
        monkeypatch.setenv("STEPSCOPE_TOKEN", TOKEN)
        assert main(arguments) == 0
        assert main([*arguments, "--token", "wrong"]) == 2


def test_what_some_send_is_written_though_others_do_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logdir = tmp_path / "logs"
    with training(tmp_path / "one") as one, training(tmp_path / "two") as two:
        addresses = [str(one.address), "127.0.0.1:1", str(two.address)]
        assert main(["capture", *addresses, "--logdir", str(logdir), "--attempts", "1", "--steps", "1", *PLAIN]) == 2
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert [line.partition(" ")[0] for line in lines if not line.startswith(" ")] == [*addresses[::2], "Open"]
    assert len(list(logdir.glob("plugins/profile/*/*.trace.json.gz"))) == 2
    assert said.err == (
        "stepscope: nothing listens on 127.0.0.1:1. Expected a program that has called "
        "stepscope.profiler.server.start(1).\n"
    )


def test_a_program_that_is_recorded_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from stepscope import profiler

    with start(0) as server, profiler.Profile(tmp_path / "own", collectors=[]):
        assert main(["capture", server.address, "--logdir", str(tmp_path / "logs"), "--attempts", "1"]) == 2
    assert capsys.readouterr().err == (
        f"stepscope: {server.address} refused: a recording is already running in this process, which "
        "can have only one at a time. Try "
        "again when it has finished.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["localhost"], "'localhost' is not an address. Expected HOST:PORT, such as localhost:6009."),
        (["localhost:1", "localhost:1"], "an address is given twice, but a program has one recording at a time."),
        (["localhost:1", "--collector", "gpu"], "there is no collector 'gpu'. Expected one or more of: resources, "),
        (["localhost:1", "--logdir", "s3://bucket/logs"], "--logdir s3://bucket/logs is not a local directory."),
        (["localhost:1", "--logdir", "/dev/null"], "nothing can be written to /dev/null: File exists. Expected a dir"),
    ],
)
def test_what_is_refused_before_anybody_is_asked(
    tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["capture", "--logdir", str(tmp_path / "logs"), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--duration", "2"], "argument --duration: '2' is not a duration; expected one such as 2s, 500ms or 1m"),
        (["--steps", "0"], "argument --steps: '0' must be a whole number from 1 to 10000"),
        (["--host-tracer-level", "4"], "argument --host-tracer-level: '4' must be a whole number from 0 to 3"),
        (["--attempts", "x"], "argument --attempts: 'x' must be a whole number from 1 to 1000"),
        ([], "the following arguments are required: --logdir"),
    ],
)
def test_arguments_that_are_none(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--logdir", "runs", *arguments] if arguments else []
    with pytest.raises(SystemExit, match=re.escape("2")):
        main(["capture", "localhost:6009", *given])
    assert said in capsys.readouterr().err


def test_steps_in_words() -> None:
    steps = (CapturedSteps(0, None, None), CapturedSteps(1, 7, 7), CapturedSteps(3, 7, 9))
    assert [steps_text(each) for each in steps] == ["no steps", "step 7", "3 steps, 7 to 9"]
