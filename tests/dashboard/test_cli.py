import ast
import gzip
import os
import socket
import subprocess
import sys
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import TextIO, cast

import pytest
from rich.console import Console

from stepscope.dashboard.cli.main import main, with_verb
from stepscope.dashboard.cli.reading import check_logdirs
from stepscope.dashboard.cli.serve import announcement, listen, page_link, page_url, token_for
from stepscope.dashboard.cli.serving import follow, make_live, show_first_pass
from stepscope.dashboard.panels.registry import recognizers
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.steady_output import SteadyOutput
from stepscope.summary import SummaryWriter
from stepscope.summary.errors import UserError
from stepscope.summary.logdir import Logdir
from tests.dashboard.routes import client_with_companions


def console() -> tuple[Console, StringIO]:
    out = StringIO()
    return Console(file=out, width=200, highlight=False), out


def test_a_file_that_is_neither_an_event_file_nor_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.json"
    path.write_text('{"loss": 1}')
    assert main(["--logdir", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"stepscope: {path} is a file, but neither an event file, whose name contains tfevents, nor a trace.\n"
        f"A folder with runs: stepscope {tmp_path}\n"
        f"Vectors or weights: stepscope project {path}\n"
        f"A model's graph: stepscope graph {path}\n"
    )


def test_a_file_is_a_log_directory_with_it_alone(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 1.0, 0)
    (events,) = tmp_path.iterdir()
    trace, other = tmp_path / "mine.gz", tmp_path / "b.json"
    trace.write_bytes(gzip.compress(b'{"traceEvents": []}'))
    other.write_text('[{"ph": "X"}]')

    def seen(*given: Path) -> tuple[list[str], list[str]]:
        source = check_logdirs(list(map(str, given)))
        snapshot = Logdir(source, recognizers=recognizers()).update()
        return list(snapshot.runs), [str(each.relative_path) for each in snapshot.companions]

    assert seen(events) == (["."], [])
    assert seen(trace) == ([], ["mine.gz"])
    assert seen(trace, other) == ([], ["b.json", "mine.gz"])
    assert check_logdirs([str(trace)]).address == str(trace)


def test_what_stands_without_a_verb_is_opened(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    path = str(tmp_path / "runs")
    assert with_verb([path, "--port", "7"]) == ["serve", f"--logdir={path}", "--port", "7"]
    assert with_verb([f"a:{path}", "s3://bucket/x"]) == ["serve", f"--logdir=a:{path}", "--logdir=s3://bucket/x"]
    assert with_verb(["--logdir", "x"]) == ["serve", "--logdir", "x"]
    assert with_verb([]) == ["serve"]
    assert with_verb(["ls", "x"]) == ["ls", "x"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("runs", "Did you mean: stepscope ls "),
        ("inspekt", "Did you mean: stepscope inspect "),
        ("xyzzy", "To wait for a folder that does not exist yet: stepscope --logdir xyzzy\n"),
    ],
)
def test_a_word_that_is_no_verb(
    word: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([word]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"stepscope: {word} is not a command, and there is no file or folder of that name.\n")
    assert said in error


def test_the_link_has_path_token_and_tab() -> None:
    access = Access("0.0.0.0", "a&b", prefix="/notes")
    assert page_link(access, 6006, "timeline") == "http://localhost:6006/notes/?token=a%26b&tab=timeline"
    assert page_link(Access(), 6006) == "http://localhost:6006/"


def test_the_title_is_that_of_the_log_directory_or_what_is_wanted() -> None:
    source = check_logdirs(["/nowhere/runs"], console()[0])
    assert make_live(source, False, 2.0).title == "runs · Stepscope"
    assert make_live(source, False, 2.0, title="Ours").title == "Ours"


def test_a_log_directory_whose_name_is_not_utf8_is_shown_with_escapes(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"logs\xff")
    folder.mkdir()
    bytes_out = BytesIO()
    shown = Console(file=TextIOWrapper(bytes_out, "utf-8", write_through=True), soft_wrap=True)
    shown.print(announcement(str(folder), Access(), 6006))
    assert bytes_out.getvalue().decode().splitlines()[0] == f"Stepscope follows {tmp_path}/logs\\xff"
    client = client_with_companions(folder)
    assert client.get("/data/logdir").json() == {"logdir": f"{tmp_path}/logs\\xff"}
    environment = client.get("/data/environment").json()
    assert environment["data_location"] == f"{tmp_path}/logs\\xff"
    assert environment["window_title"] == "logs\\xff · Stepscope"
    assert "<title>logs\\xff · Stepscope</title>" in client.get("/").text


def test_output_that_lacks_characters_has_escapes_instead() -> None:
    stream = TextIOWrapper(BytesIO(), "ascii", newline="")
    Console(file=cast(TextIO, SteadyOutput(stream))).print("é\udcff")
    stream.seek(0)
    assert stream.read() == "\\xe9\\udcff\n"


def test_a_port_can_be_shared() -> None:
    first = listen("localhost", 0, console()[0], shared=True)
    port = first.getsockname()[1]
    second = listen("localhost", port, console()[0], shared=True)
    assert second.getsockname()[1] == port
    for one in (first, second):
        one.close()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '{"lr": 1}', "a.json is not a trace. Expected a Chrome trace"),
        ("none.json", None, "none.json cannot be read: No such file"),
    ],
)
def test_trace_of_what_is_no_trace(
    tmp_path: Path, name: str, content: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    assert main(["trace", str(tmp_path / name)]) == 2
    assert said in capsys.readouterr().err
    assert main(["trace", "s3://bucket/runs/a.json"]) == 2
    assert "stepscope --logdir s3://bucket/runs\n" in capsys.readouterr().err


def test_stepscope_is_a_module_that_can_be_run() -> None:
    reported = subprocess.run(
        [sys.executable, "-m", "stepscope", "--version"], capture_output=True, text=True, check=True
    )
    assert reported.stdout.startswith("stepscope ")


def test_missing_and_empty_directories_are_waited_for(tmp_path: Path) -> None:
    shown, out = console()
    assert check_logdirs([str(tmp_path / "later")], shown).address == str(tmp_path / "later")
    assert check_logdirs([str(tmp_path)], shown).address == str(tmp_path)
    check_logdirs([f"name:{tmp_path}/lr_*"], shown)
    assert out.getvalue() == (
        f"{tmp_path / 'later'} does not exist yet; waiting for it. Is the path right?\n"
        f"{tmp_path} is empty; waiting for event files.\n"
        f"nothing matches {tmp_path}/lr_* yet; waiting for it.\n"
    )


def test_log_directories_that_cannot_be_told_apart_or_opened() -> None:
    for given, message in (
        (["a:/x", "a:/y"], "two log directories are called 'a'"),
        (["nowhere://bucket"], "Protocol not known: nowhere"),
        (["hdfs://host/logs"], "pip install 'stepscope\\[remote\\]'"),
    ):
        with pytest.raises(UserError, match=message):
            check_logdirs(given, console()[0])


def test_names_with_brackets_are_shown_as_they_are(tmp_path: Path) -> None:
    # Rich took "[a]" for markup and dropped it, and failed with a traceback at "[/a]".
    shown, out = console()
    for name in ("lr[a]", "lr[/a]"):
        (tmp_path / name).mkdir(parents=True)
        check_logdirs([str(tmp_path / name)], shown)
    assert out.getvalue() == "".join(
        f"{tmp_path / name} is empty; waiting for event files.\n" for name in ("lr[a]", "lr[/a]")
    )


def test_log_directory_that_cannot_be_listed(tmp_path: Path) -> None:
    # Neither a file nor a directory, a name that is too long, a user that does not exist: each was a traceback.
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), str(tmp_path / ("x" * 5000)), "~nobody-of-that-name/logs"):
        with pytest.raises(UserError, match=r"cannot be read: .*; expected a directory that holds runs"):
            check_logdirs([path], console()[0])


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("::", "http://localhost:6006/"),
        ("box", "http://box:6006/"),
        ("fe80::1", "http://[fe80::1]:6006/"),
    ],
)
def test_the_page_has_an_address_that_a_browser_opens(host: str, url: str) -> None:
    assert page_url(host, 6006) == url


def test_usual_port_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr("stepscope.dashboard.cli.serve.DEFAULT_PORT", port)
        shown, out = console()
        with listen("127.0.0.1", None, shown) as listener:
            assert listener.getsockname()[1] > port
            assert out.getvalue() == f"Port {port} is taken; using {listener.getsockname()[1]}.\n"


def test_chosen_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError) as error:
            listen("127.0.0.1", port, console()[0])
    assert str(error.value) == (f"Port {port} is taken; choose another, or leave out --port for the first free one")


def test_port_out_of_range() -> None:
    with pytest.raises(UserError, match="--port is 70000; expected a number from 0 to 65535"):
        listen("127.0.0.1", 70000, console()[0])


def test_host_that_is_not_here() -> None:
    with pytest.raises(UserError, match=r"--host 192\.0\.2\.1 is not an address of this machine"):
        listen("192.0.2.1", 0, console()[0])


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "1e300"])
def test_reload_interval_that_makes_no_sense(tmp_path: Path, seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--logdir", str(tmp_path), f"--reload-interval={seconds}"]) == 2
    assert "expected seconds above 0" in capsys.readouterr().err


def test_help_and_version_name_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, text in ((["--help"], "stepscope --logdir DIR"), (["--version"], "stepscope 0.1.0")):
        with pytest.raises(SystemExit, match=r"^0$"):
            main(arguments)
        assert text in capsys.readouterr().out


def test_without_arguments_it_says_what_is_most_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr() == (
        "",
        "Most used:\n"
        "  stepscope --logdir DIR               serve DIR at http://localhost:6006; also: stepscope DIR\n"
        "  stepscope FILE                       serve one trace or event file\n"
        "  stepscope --logdir DIR --port 7007   on another port\n"
        "  stepscope demo                       see it with sample logs\n"
        "  stepscope COMMAND --help             what a command can do\n"
        "  stepscope --help                     all commands\n",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--logdr", "runs"], "--logdr is not an option of serve. Did you mean --logdir?"),
        (["--logdir", "runs", "--portt=7"], "--portt is not an option of serve. Did you mean --port?"),
        (["-logdir", "runs"], "-logdir is not an option of serve. Did you mean --logdir?"),
        (["project", "--host", "0.0.0.0", "vectors.npy"], "--host is not an option of project."),
        (["export", "--out", "x", "-x"], "-x is not an option of export."),
    ],
)
def test_an_option_that_the_verb_does_not_have(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    verb = said.split(" of ")[1].split(".")[0]
    assert capsys.readouterr() == ("", f"stepscope: {said}\nAll of its options: stepscope {verb} --help\n")


@pytest.mark.parametrize("verb", ["ls", "inspect", "export"])
def test_log_directories_stand_alone_or_after_the_option(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step, name in enumerate("ab"):
        with SummaryWriter(tmp_path / name) as writer:
            writer.add_scalar("loss", 1.0, step)

    def said(*given: str) -> str:
        assert main([verb, *given]) == 0
        return capsys.readouterr().out

    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert said(a) == said("--logdir", a) != said(b)
    assert said(a, b) == said(a, "--logdir", b) == said("--logdir", a, "--logdir", b)
    assert main([verb]) == 2
    assert capsys.readouterr() == ("", f"stepscope: no log directory is given; expected: stepscope {verb} LOGDIR\n")


@pytest.mark.parametrize("verb", ["ls", "inspect", "export", "debug", "index"])
def test_a_log_directory_that_does_not_exist_is_named_as_it_was(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([verb, "nope"]) == 2
    assert capsys.readouterr() == (
        "",
        "stepscope: nope cannot be read: No such file or directory; expected a directory that holds runs.\n"
        "Check the path, and that you may read it.\n",
    )


def test_values_are_not_taken_for_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a -b", 1.0, 0)
    assert main(["export", f"--logd={tmp_path}", "--tag", "a -b", "--kind", "summaries", "-o-"]) == 0
    assert "a -b" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["ls", "--help", "--nope"])
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["warm-up", "nope"])
    assert capsys.readouterr().err.endswith("stepscope warm-up: error: unrecognized arguments: nope\n")


@pytest.mark.parametrize(
    ("module", "slow"),
    [
        ("stepscope.dashboard.cli.main", {"dash", "numba", "polars", "stepscope.dashboard.server.app"}),
        # What the page needs first is imported before what its panels need.
        (
            "stepscope.dashboard.page.front",
            {"numba", "polars", "scipy", "numpy", "google.protobuf", "stepscope.dashboard.panels.registry"},
        ),
        # Loops are called and tables are made after the first page.
        ("stepscope.dashboard.cli.serving", {"numba", "polars", "h5py"}),
        # Modules that only projections, clusters, graph layouts or sound need.
        (
            "stepscope.dashboard.cli.serve",
            {"sklearn", "igraph", "scipy.optimize", "scipy.linalg", "scipy.fft", "scipy.signal", "soundfile"},
        ),
    ],
)
def test_what_takes_long_to_import_is_imported_once_it_is_needed(module: str, slow: set[str]) -> None:
    code = f"import {module}, sys; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert slow & set(ast.literal_eval(done.stdout)) == set()


TOKEN = "of-sixteen-signs"


@pytest.mark.parametrize(
    ("host", "given", "variable", "without", "token"),
    [
        ("localhost", None, "", False, ""),
        ("127.0.0.1", None, "", False, ""),
        ("localhost", TOKEN, "", False, TOKEN),
        ("localhost", None, TOKEN, False, TOKEN),
        ("0.0.0.0", TOKEN, TOKEN * 2, False, TOKEN),
        ("0.0.0.0", None, TOKEN, True, ""),
    ],
)
def test_the_token_is_the_one_that_was_given(
    monkeypatch: pytest.MonkeyPatch, host: str, given: str | None, variable: str, without: bool, token: str
) -> None:
    monkeypatch.setenv("STEPSCOPE_TOKEN", variable)
    assert token_for(host, given, without=without) == token


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "box"])
def test_where_other_machines_connect_a_token_is_made(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.delenv("STEPSCOPE_TOKEN", raising=False)
    assert len({token_for(host, None, without=False) for _ in range(9)} - {""}) == 9


@pytest.mark.parametrize("token", ["", "short", "with spaces in between", "\u00e9" * 20])
def test_tokens_that_cannot_be_used(token: str) -> None:
    with pytest.raises(UserError) as caught:
        token_for("localhost", token, without=False)
    assert str(caught.value) == (
        "the token is too short, or has a space or a special character: it needs 16 or more ASCII letters, digits or "
        'symbols. To generate one:\n  python -c "import secrets; print(secrets.token_urlsafe())"'
    )
    with pytest.raises(UserError, match="contradict each other"):
        token_for("localhost", token, without=True)


@pytest.mark.parametrize(
    ("access", "said"),
    [
        (Access(), "  http://localhost:6006/  (Ctrl+C to stop)"),
        (Access(token="a&b"), "  http://localhost:6006/?token=a%26b  (Ctrl+C to stop)"),
        (
            Access("0.0.0.0", "abc"),
            "  http://localhost:6006/?token=abc  (Ctrl+C to stop)\n"
            "  http://box:6006/?token=abc\n"
            "Other machines can reach this dashboard, without encryption. Anyone who has the token can read what is "
            "below logs[1], save layouts in it, drop files and "
            "start projections.",
        ),
        (
            Access("192.0.2.1"),
            "  http://192.0.2.1:6006/  (Ctrl+C to stop)\n"
            "Other machines can reach this dashboard, without encryption. No token is required: anyone who reaches "
            "this port can read what is below logs[1], save layouts in it, drop files and "
            "start projections.",
        ),
    ],
)
def test_a_start_says_what_it_opens(monkeypatch: pytest.MonkeyPatch, access: Access, said: str) -> None:
    monkeypatch.setattr("stepscope.dashboard.cli.serve.machine_names", lambda: ("box", "box.local"))
    shown, out = console()
    shown.print(announcement("logs[1]", access, 6006), soft_wrap=True)
    assert out.getvalue() == f"Stepscope follows logs[1]\n{said}\n"


@pytest.mark.parametrize("address", ["memory://nowhere/runs", "memory://[red]/runs"])
def test_an_address_at_which_nothing_is_yet(address: str) -> None:
    shown, out = console()
    live = make_live(check_logdirs([address], shown), False, 2.0)
    follow(live, shown, look_later=False)
    try:
        show_first_pass(live, shown)
    finally:
        live.stop()
    assert out.getvalue().lstrip("\n") == (
        "  0 runs, 0 tags, 0 event files\n"
        f"  nothing is at {address} yet; waiting for event files. Is the address right?\n"
    )
