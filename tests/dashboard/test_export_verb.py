import base64
import csv
import io
import json
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from stepscope.dashboard.cli.main import main
from stepscope.dashboard.export.media_files import safe_name
from stepscope.dashboard.export.tables import csv_pieces, json_pieces
from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    with SummaryWriter(folder / "a") as writer:
        for step, value in enumerate([0.5, math.nan, math.inf, -math.inf]):
            writer.add_scalar("loss", value, step, walltime=100.0 + step)
    with SummaryWriter(folder / "b") as writer:
        writer.add_scalar("acc", 0.25, 7, walltime=0.1)
        writer.add_histogram("w", np.array([1.0, 2.0]), 0, bins=[1.0, 2.0], walltime=5.0)
        writer.add_text("note", 'a "b"', 0)
        writer.add_hparams({"lr": 0.1}, {"m": 1.0}, run_name="hp")
    return folder


def export(logdir: Path, *arguments: str | Path) -> int:
    return main(["export", "--logdir", str(logdir), *map(str, arguments)])


def test_scalars_as_csv_to_standard_output(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(logdir, "--run", "^[ab]$", "--tag", "loss|acc") == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["run", "tag", "step", "wall_time", "value"]
    assert sorted(rows[1:]) == [
        ["a", "loss", "0", "100.0", "0.5"],
        ["a", "loss", "1", "101.0", "NaN"],
        ["a", "loss", "2", "102.0", "inf"],
        ["a", "loss", "3", "103.0", "-inf"],
        ["b", "acc", "7", "0.1", "0.25"],
    ]


def test_scalars_as_json(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(logdir, "--run", "^a$", "--format", "json")
    assert capsys.readouterr().out == (
        "[\n"
        '{"run":"a","tag":"loss","step":0,"wall_time":100.0,"value":0.5},\n'
        '{"run":"a","tag":"loss","step":1,"wall_time":101.0,"value":"NaN"},\n'
        '{"run":"a","tag":"loss","step":2,"wall_time":102.0,"value":"Infinity"},\n'
        '{"run":"a","tag":"loss","step":3,"wall_time":103.0,"value":"-Infinity"}\n'
        "]\n"
    )


def test_scalars_as_parquet_are_the_table_itself(logdir: Path, tmp_path: Path) -> None:
    output = tmp_path / "scalars.parquet"
    assert export(logdir, "-o", output) == 0
    assert pl.read_parquet(output).equals(open_logdir(logdir).scalars())


def test_the_pivot_form(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(logdir, "--run", "^[ab]$", "--tag", "loss|acc", "--pivot")
    assert set(capsys.readouterr().out.splitlines()) == {
        "run,step,loss,acc",
        "a,0,0.5,",
        "a,1,NaN,",
        "a,2,inf,",
        "a,3,-inf,",
        "b,7,,0.25",
    }


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("histograms", {"tag": "w", "left": "[1.0]", "right": "[2.0]", "count": "[2.0]", "nan": "0", "error": ""}),
        ("text", {"tag": "note/text_summary", "shape": "[]", "text": '["a \\"b\\""]'}),
        ("hparams", {"run": "b/hp", "lr": "0.1", "m": "1.0", "status": "success"}),
        ("summaries", {"tag": "acc", "kind": "scalars", "points": "1", "last_step": "7"}),
        ("runs", {"run": "a", "points": "4", "last_step": "3"}),
        ("files", {"run": "a", "damage_count": "0", "damages": "[]", "waiting": "false"}),
    ],
)
def test_kinds(logdir: Path, kind: str, row: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert export(logdir, "--kind", kind) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert row in [{column: found[column] for column in row} for found in rows]


def test_bytes_are_base64_and_numbers_in_lists_survive(tmp_path: Path) -> None:
    table = pl.DataFrame({"content": [b"\x00\xff", None], "left": [[1.5, math.nan], None], "x": [2**63 - 1, None]})
    encoded = base64.b64encode(b"\x00\xff").decode()
    assert json.loads(b"".join(json_pieces(table))) == [
        {"content": encoded, "left": [1.5, "NaN"], "x": 2**63 - 1},
        {"content": None, "left": None, "x": None},
    ]
    assert list(csv.reader(io.StringIO(b"".join(csv_pieces(table)).decode()))) == [
        ["content", "left", "x"],
        [encoded, '[1.5,"NaN"]', str(2**63 - 1)],
        ["", "", ""],
    ]


@pytest.mark.parametrize("rows", [0, 1, 1 << 16, (1 << 16) + 1])
def test_tables_are_whole_whatever_the_pieces(rows: int) -> None:
    table = pl.DataFrame({"tag": ['a\n,"é'] * rows, "value": np.arange(rows) / 7})
    if rows:
        table[rows - 1, "value"] = math.inf
    expected = [["tag", "value"], *([tag, value] for tag, value in table.rows())]
    found = list(csv.reader(io.StringIO(b"".join(csv_pieces(table)).decode(), newline="")))
    assert [found[0], *([tag, float(value)] for tag, value in found[1:])] == expected
    objects = json.loads(b"".join(json_pieces(table)))
    assert [[row["tag"], float(row["value"])] for row in objects] == expected[1:]


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e22, 5e-324, -0.0, 1.7976931348623157e308, 1795225609.1234567])
def test_numbers_come_back_as_they_were(value: float) -> None:
    table = pl.DataFrame({"value": [value]})
    from_csv = float(b"".join(csv_pieces(table)).decode().splitlines()[1])
    from_json = json.loads(b"".join(json_pieces(table)))[0]["value"]
    assert [struct.pack("d", found) for found in (from_csv, from_json)] == [struct.pack("d", value)] * 2


def test_an_existing_file_is_kept_unless_forced(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "scalars.csv"
    output.write_text("precious")
    assert export(logdir, "-o", output) == 2
    assert capsys.readouterr().err == (
        f"stepscope: -o {output} exists already; choose another name, or overwrite it with --force\n"
    )
    assert output.read_text() == "precious"
    assert export(logdir, "-o", output, "--force") == 0
    assert output.read_text().startswith("run,tag,step")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "scalars.csv"]


@pytest.mark.parametrize("arguments", [[], ["--kind", "images"], ["--engine", "threads"]])
def test_an_output_that_cannot_even_be_looked_at_is_said(
    arguments: list[str], logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Like a folder that may not be searched, such a name fails in every look at it.
    output = Path("x" * 300) / "scalars.csv"
    assert export(logdir, "-o", output, *arguments) == 2
    assert capsys.readouterr().err == (
        f"stepscope: {output} cannot be written: File name too long. Expected a file in a directory that exists and "
        "may be written to.\n"
    )


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--tag", "no tag matches 'nope'; there are 'loss/train', 'loss/test'."),
        ("--run", "no run matches 'nope'; there are 'a'."),
    ],
)
def test_a_filter_that_matches_nothing(
    option: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SummaryWriter(tmp_path / "logs" / "a") as writer:
        writer.add_scalar("loss/train", 1.0, 0)
        writer.add_scalar("loss/test", 1.0, 0)
    message = (
        f"stepscope: {reason}\nTo list the runs and their tags: stepscope ls --logdir {tmp_path / 'logs'} --tags\n"
    )
    for kind in ("scalars", "images"):
        assert export(tmp_path / "logs", option, "nope", "--kind", kind, "-o", tmp_path / "out") == 2
        assert capsys.readouterr() == ("", message)
    assert not (tmp_path / "out").exists()


def test_nothing_to_export_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = f"To list the runs and their tags: stepscope ls --logdir {tmp_path} --tags\n"
    assert export(tmp_path) == 0
    assert capsys.readouterr() == ("run,tag,step,wall_time,value\n", f"{tmp_path} has no scalars.\n{how}")
    with SummaryWriter(tmp_path / "a") as writer:
        writer.add_text("note", "x", 0)
    said = f"{tmp_path} has no scalars in the runs and tags that were chosen.\n{how}"
    assert export(tmp_path, "--tag", "note") == 0
    assert capsys.readouterr() == ("run,tag,step,wall_time,value\n", said)
    out = tmp_path / "out"
    assert export(tmp_path, "--kind", "images", "-o", out) == 0
    assert capsys.readouterr() == ("", f"Wrote 0 files of images to {out}.\n{tmp_path} has no images.\n{how}")


@pytest.mark.parametrize("given", [["-o", "table"], ["-o", "table.txt", "--format", "csv"], ["-o", "TABLE.CSV"]])
def test_the_format_is_named_or_csv(
    given: list[str], logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert export(logdir, "--run", "^b$", *given) == 0
    assert (tmp_path / given[1]).read_text() == "run,tag,step,wall_time,value\nb,acc,7,0.1,0.25\n"


def test_an_event_file_is_not_overwritten_even_by_force(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = (logdir / "a").iterdir()
    content = file.read_bytes()
    link = logdir / "link.csv"
    link.symlink_to(file)
    for output in (file, link):
        assert export(logdir, "-o", output, "--force") == 2
        assert capsys.readouterr().err == (
            f"stepscope: {file} has the name of an event file; expected another name, such as scalars.csv\n"
        )
    assert file.read_bytes() == content


def test_what_was_written_and_what_was_left_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logdir, output = tmp_path / "logs", tmp_path / "x.csv"
    logdir.mkdir()
    events = [
        Event(step=step, summary=Summary(value=[Summary.Value(tag="x", simple_value=1.0)])) for step in (1, 2, 3, 2)
    ]
    content = bytearray(b"".join(frame(event.SerializeToString()) for event in events))
    content[20] ^= 1
    (logdir / "events.out.tfevents.1").write_bytes(content)
    export(logdir, "-o", output)
    assert capsys.readouterr().err == (
        f"Wrote {output}: 1 row of scalars.\n"
        "Not included: 1 damaged stretch, 2 points superseded by a restart. "
        "For details, run: stepscope inspect\n"
    )
    export(logdir, "-o", output, "--force", "--keep-superseded")
    assert "3 rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "parquet"], "--format parquet needs a file to write to"),
        (["--kind", "images"], "--kind images needs a folder to write to, as in -o FOLDER, or a --format"),
        (["--kind", "summaries", "--pivot"], "--pivot goes with --kind scalars; it is summaries"),
        (["--kind", "hparams", "--tag", "x"], "--tag goes with --kind audio, debug_alerts"),
        (["--last", "1"], "images, tensors, text; it is scalars"),
        (["--kind", "text", "--last", "-1"], "--last is -1; expected a number above 0"),
        (["--run", "("], "runs must be a regular expression or a collection of names, got '(': missing )"),
        (["--kind", "histograms", "--max-bytes", "3"], "the payloads of histograms need more than 3 bytes"),
        (["-o", "."], "is a directory; expected a file"),
        (["-o", "out.xlsx"], "-o out.xlsx ends in .xlsx; expected .csv, .json, .parquet, or --format, such as --form"),
        (["-o", "absent/x.csv"], "absent/x.csv cannot be written: No such file or directory"),
    ],
)
def test_options_that_cannot_be_followed(
    logdir: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(logdir)
    assert export(logdir, *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def pictures(logdir: Path, run: str, tag: str, *steps: int) -> None:
    with SummaryWriter(logdir / run) as writer:
        for step in steps:
            writer.add_images(tag, np.zeros((2, 3, 4, 5)), step)


def test_images_become_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path / "logs", "a/b", "in/put", 1, 10, 10)
    with SummaryWriter(tmp_path / "logs" / "c") as writer:
        writer.add_audio("a:b", np.zeros(10, np.float32), 3, sample_rate=100)
    out = tmp_path / "out"
    assert export(tmp_path / "logs", "--kind", "images", "-o", out) == 0
    assert capsys.readouterr().err == f"Wrote 6 files of images to {out}.\n"
    assert export(tmp_path / "logs", "--kind", "audio", "-o", out, "--force") == 0
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()) == [
        "a/b/in%2Fput/10_again1_sample0.png",
        "a/b/in%2Fput/10_again1_sample1.png",
        "a/b/in%2Fput/10_sample0.png",
        "a/b/in%2Fput/10_sample1.png",
        "a/b/in%2Fput/1_sample0.png",
        "a/b/in%2Fput/1_sample1.png",
        "c/a%3Ab/3.wav",
    ]


def test_the_last_images_only(tmp_path: Path) -> None:
    pictures(tmp_path / "logs", ".", "i", 1, 2, 3)
    export(tmp_path / "logs", "--kind", "images", "-o", tmp_path / "out", "--last", "1")
    assert {path.name for path in (tmp_path / "out" / "i").iterdir()} == {"3_sample0.png", "3_sample1.png"}


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path / "logs", "a", "i", 1)
    assert export(tmp_path / "logs", "--kind", "images", "-o", tmp_path) == 2
    assert "exists already; expected a new or an empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_tags_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    pictures(tmp_path / "logs", "a", "../../x", 1)
    export(tmp_path / "logs", "--kind", "images", "-o", tmp_path / "out")
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.png")} == {
        "out/a/..%2F..%2Fx/1_sample0.png",
        "out/a/..%2F..%2Fx/1_sample1.png",
    }


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("plain-name_1.2", "plain-name_1.2"),
        ("größe", "größe"),
        ("a/b\\c", "a%2Fb%5Cc"),
        ("..", "%2E%2E"),
        ("", "%"),
        ("a%2Fb", "a%252Fb"),
        ("line\nfeed\x00", "line%0Afeed%00"),
        ("dot.", "dot%2E"),
        ("x" * 300, "x" * 100 + "%1b432d13"),
    ],
)
def test_names_that_every_system_takes(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_a_reader_that_has_enough_ends_the_output_quietly(tmp_path: Path) -> None:
    events = [
        Event(step=step, summary=Summary(value=[Summary.Value(tag="x", simple_value=1.0)])) for step in range(20_000)
    ]
    (tmp_path / "events.out.tfevents.1").write_bytes(b"".join(frame(e.SerializeToString()) for e in events))
    command = [sys.executable, "-m", "stepscope", "export", "--logdir", str(tmp_path)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"run,tag,step,wall_time,value\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_workers_write_the_same_table_in_parts(
    logdir: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
) -> None:
    monkeypatch.setattr("stepscope.summary.log_parts.PART_FILES", 1)
    folder = tmp_path / "parts"
    assert export(logdir, "--engine", engine, "-o", folder, "--format", "parquet") == 0
    # Runs in the order of their names; the one with only hyperparameters has no scalars but a metric.
    assert [path.name for path in sorted(folder.iterdir())] == [f"part-0000{number}.parquet" for number in range(3)]
    whole = open_logdir(logdir).scalars()
    assert capsys.readouterr().err == f"Wrote {len(whole)} rows of scalars to {folder}.\n"
    parts = pl.concat(
        [pl.read_parquet(path).with_columns(pl.col("run", "tag").cast(str)) for path in sorted(folder.iterdir())]
    )
    assert parts.equals(whole.with_columns(pl.col("run", "tag").cast(str)).sort("run", maintain_order=True))


def test_workers_write_chosen_runs_alone_and_no_empty_part(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.summary.log_parts.PART_FILES", 1)
    folder = tmp_path / "parts"
    given = ("--engine", "threads", "--run", "^[ab]$", "--tag", "^loss$", "--format", "csv")
    assert export(logdir, *given, "-o", folder) == 0
    (part,) = folder.iterdir()
    assert part.read_text().splitlines()[:2] == ["run,tag,step,wall_time,value", "a,loss,0,100.0,0.5"]


def test_workers_that_find_no_chosen_tag_say_so(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "parts"
    assert export(logdir, "--engine", "threads", "--tag", "nope", "-o", folder) == 0
    assert capsys.readouterr().err == (
        f"Wrote 0 rows of scalars to {folder}.\n"
        f"{logdir} has no scalars in the runs and tags that were chosen.\n"
        f"To list the runs and their tags: stepscope ls --logdir {logdir} --tags\n"
    )


def test_a_part_that_would_hold_too_much_is_divided_down_to_the_run_at_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run, words in (("a", 10), ("b", 10), ("large", 9_000)):
        with SummaryWriter(tmp_path / "logs" / run) as writer:
            writer.add_text("note", "word " * words, 0)
    folder = tmp_path / "parts"
    given = ("--engine", "threads", "--kind", "text", "--max-bytes", "1000", "--format", "json")
    assert export(tmp_path / "logs", *given, "-o", folder) == 2
    assert [(path.name, len(json.loads(path.read_bytes()))) for path in sorted(folder.iterdir())] == [
        ("part-00000a.json", 1),
        ("part-00000ba.json", 1),
    ]
    failed, wrote, missing = capsys.readouterr().err.splitlines()
    assert failed.startswith("large/events.out.tfevents.")
    assert [wrote, missing] == [f"Wrote 2 rows of text to {folder}.", "Not exported: 1 event file of 3."]


def test_workers_write_pictures_as_they_are_written_in_one_go(tmp_path: Path) -> None:
    for run in ("a", "b"):
        with SummaryWriter(tmp_path / "logs" / run) as writer:
            writer.add_image("in/put", np.zeros((3, 2, 2), np.uint8), 3)
    assert export(tmp_path / "logs", "--kind", "images", "-o", tmp_path / "whole") == 0
    assert export(tmp_path / "logs", "--kind", "images", "-o", tmp_path / "parts", "--engine", "threads") == 0

    def files(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.png")}

    assert files(tmp_path / "parts") == files(tmp_path / "whole")
    assert len(files(tmp_path / "whole")) == 2


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["-o", "parts", "--pivot"], "--engine cannot be combined with --pivot, because the columns of a part"),
        (
            ["-o", "parts", "--kind", "hparams"],
            "--engine cannot be combined with --kind hparams, whose columns depend on",
        ),
        (["-o", "parts", "--force"], "--engine cannot be combined with --force; name a folder that is new or empty"),
        ([], "--engine needs a folder or an address to write parts to, as in -o FOLDER"),
        (["-o", "full"], "-o full exists already; expected a new or empty folder, because --engine writes parts"),
        (["-o", "parts", "--run", "("], "runs must be a regular expression"),
        (["-o", "parts", "--run", "nope"], "no run matches 'nope'; there are 'a', 'b', 'b/hp'.\nTo list"),
    ],
)
def test_what_cannot_be_written_in_parts_is_refused(
    logdir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    assert export(logdir, "--engine", "threads", *given) == 2
    assert capsys.readouterr().err.startswith(f"stepscope: {reason}")
    assert not (tmp_path / "parts").exists()


def test_a_folder_that_workers_may_not_write_to_is_said(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    output = tmp_path / "file" / "parts"
    assert export(logdir, "--engine", "threads", "-o", output) == 2
    assert capsys.readouterr().err.splitlines()[0] == (
        f"stepscope: {output} cannot be written: Not a directory. Expected a folder that workers may write to."
    )
