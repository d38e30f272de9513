import json
from pathlib import Path

import pytest

from stepscope.dashboard.cli.main import main
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame
from tests.dashboard.debugger.recorded import going_bad, write
from tests.summary.debugger.dumps import write_dump


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    events = [
        Event(step=step, summary=Summary(value=[Summary.Value(tag="loss", simple_value=1.0)])) for step in (1, 3, 2)
    ]
    content = b"".join(frame(event.SerializeToString()) for event in events)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "events.out.tfevents.1").write_bytes(content + content[:5])
    return tmp_path


def test_the_text(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--logdir", str(logdir), "--tag", "loss"]) == 0
    rule = "=" * 70
    assert capsys.readouterr().out == (
        f"{rule}\nProcessing event files... (this can take a few minutes)\n{rule}\n\n"
        f"Found event files in:\n{logdir}/run\n\n"
        f"Event statistics for tag loss in {logdir}/run:\n"
        "scalars\n"
        "   first_step           1\n"
        "   last_step            2\n"
        "   max_step             3\n"
        "   min_step             1\n"
        "   num_steps            3\n"
        "   outoforder_steps     [(3, 2)]\n"
        f"{rule}\n\n"
        f"Event files in {logdir}/run:\n"
        "run/events.out.tfevents.1\n"
        "   bytes_read           99 of 104\n"
        "   records              3\n"
        "   skipped              0\n"
        "   superseded           1\n"
        "   truncated_tail       at byte 99, 5 bytes: the file ends inside a record\n"
        "Superseded points of tag loss: 1\n"
        f"{rule}\n\n"
    )


def test_everything_as_json(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--event_file", str(logdir / "run" / "events.out.tfevents.1"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    file = str(logdir / "run" / "events.out.tfevents.1")
    nothing = dict.fromkeys(
        (
            "audio",
            "graph",
            "histograms",
            "images",
            "sessionlog:checkpoint",
            "sessionlog:start",
            "sessionlog:stop",
            "tensor",
        )
    )
    assert shown == {
        "inspected": file,
        "tag": None,
        "directories": [
            {
                "name": file,
                "tags": {"audio": [], "histograms": [], "images": [], "scalars": ["loss"], "tensor": []},
                "statistics": {
                    **nothing,
                    "scalars": {
                        "first_step": 1,
                        "last_step": 2,
                        "max_step": 3,
                        "min_step": 1,
                        "num_steps": 3,
                        "outoforder_steps": [[3, 2]],
                    },
                },
                "superseded": 1,
                "files": [
                    {
                        "path": file,
                        "run": ".",
                        "bytes_read": 99,
                        "size": 104,
                        "records": 3,
                        "damages": [],
                        "damage_count": 0,
                        "waiting": True,
                        "error": "",
                        "superseded": 1,
                        "skipped_bytes": 0,
                        "writers": 1,
                        "growing": False,
                        "is_folder": False,
                        "modified": None,
                    }
                ],
            }
        ],
    }


def test_several_log_directories_by_names_and_patterns(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "sweeps" / "lr_1" / "events.out.tfevents.2"
    other.parent.mkdir(parents=True)
    other.write_bytes((logdir / "run" / "events.out.tfevents.1").read_bytes())
    given = ["--logdir", f"first:{logdir / 'run'}", "--logdir", f"second:{tmp_path / 'sweeps' / 'lr_*'}"]
    assert main(["inspect", *given, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["inspected"] == f"{logdir}/run, {tmp_path}/sweeps/lr_*"
    assert [(found["name"], [file["path"] for file in found["files"]]) for found in shown["directories"]] == [
        (f"{logdir}/run", ["first/events.out.tfevents.1"]),
        (f"{tmp_path}/sweeps/lr_1", ["second/lr_1/events.out.tfevents.2"]),
    ]
    assert main(["inspect", *given]) == 0
    assert f"Found event files in:\n{logdir}/run\n{tmp_path}/sweeps/lr_1\n\n" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    assert main(["inspect", "--logdir", f"a:{tmp_path / 'empty'}", "--logdir", f"b:{tmp_path / 'empty'}"]) == 0
    expected = f"No event files found within logdir a:{tmp_path}/empty, b:{tmp_path}/empty\n"
    assert expected in capsys.readouterr().out
    assert main(["inspect", "--logdir", f"a:{logdir}", "--logdir", f"a:{tmp_path}"]) == 2
    assert "two log directories are called 'a'" in capsys.readouterr().err


def test_names_that_would_command_a_terminal_are_shown_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = Summary.Value(tag="\x1b[2Jloss", simple_value=1.0)
    file = tmp_path / "events.out.tfevents.1"
    file.write_bytes(frame(Event(summary=Summary(value=[value])).SerializeToString()))
    main(["inspect", "--logdir", str(tmp_path)])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "   \\x1b[2Jloss\n" in out


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--logdir", "absent", "cannot be read: No such file or directory; expected a directory that holds runs"),
        ("--logdir", "file", "is a file, but neither an event file, whose name contains tfevents, nor a trace"),
        ("--event_file", "absent", "cannot be read: No such file or directory. Expected an event file"),
    ],
)
def test_what_is_not_there(
    tmp_path: Path, option: str, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert main(["inspect", option, str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err


def test_a_file_without_events_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    assert main(["inspect", "--event_file", str(path)]) == 0
    assert capsys.readouterr().err == f"{path} has no readable event: is it an event file?\n"


def test_a_tag_that_does_not_exist_is_told(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(logdir / "run" / "events.out.tfevents.1")
    for place in (["--logdir", str(logdir)], ["--event_file", file]):
        assert main(["inspect", *place, "--tag", "nope", "--json"]) == 0
        captured = capsys.readouterr()
        assert captured.err == "There is no tag 'nope'; expected one of 'loss'.\n"
        assert json.loads(captured.out)["tag"] == "nope"
        assert main(["inspect", *place, "--tag", "loss"]) == 0
        assert capsys.readouterr().err == ""


def test_a_log_directory_and_a_file_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["inspect", "--logdir", "a", "--event_file", "b"])
    assert "not allowed with" in capsys.readouterr().err
    assert main(["inspect", "a", "--event_file", "b"]) == 2
    assert capsys.readouterr().err == "stepscope: LOGDIR and --event_file contradict each other; give one of them\n"


def test_recordings_and_dumps_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a", going_bad())
    write_dump(tmp_path / "b")
    (cut,) = (tmp_path / "b").glob("*.graph_execution_traces")
    cut.write_bytes(cut.read_bytes()[:-3])
    assert main(["inspect", "--logdir", str(tmp_path)]) == 0
    _, _, told = capsys.readouterr().out.partition("Recording of tensors in ")
    assert told == (
        "a:\n"
        "   source               stepscope.debug, a test\n"
        "   steps                12\n"
        "   tensors              5\n"
        "   values               60\n"
        "   source_files         1\n"
        "   alerts               0\n"
        "   problems             -\n"
        "Dump of TensorFlow's debugger in b:\n"
        "   source               TensorFlow 2.21.0 debugger, FULL_HEALTH\n"
        "   files                6\n"
        "   executions           2\n"
        "   traces               3\n"
        "   tensors              3\n"
        "   values               5\n"
        "   not_finite           1\n"
        "   graphs               2\n"
        "   source_files         2\n"
        "   problems             1\n"
        f"      {cut.name} ends inside a record: its last 154 bytes wait for the rest.\n" + "=" * 70 + "\n\n"
    )
    assert main(["inspect", "--logdir", str(tmp_path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["debugger"]
    assert [(each["run"], each["kind"], each["counts"]["values"]) for each in shown] == [
        ("a", "recording", 60),
        ("b", "tfdbg", 5),
    ]


def test_what_is_missing_of_a_dump_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_dump(tmp_path / "b")
    for path in (tmp_path / "b").glob("*.metadata"):
        path.unlink()
    assert main(["inspect", "--logdir", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(
        "   problems             1\n"
        "      tfdbg_events.1700000000.worker.metadata is missing: the version and the run are not known.\n"
        + "=" * 70
        + "\n\n"
    )
