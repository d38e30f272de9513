"""``stepscope analyze``: what it prints, what it fails on, and what it reports about bad input."""

import json
from pathlib import Path
from typing import Any

import pytest

from stepscope.dashboard.cli.main import main
from stepscope.profiler.analysis.report import DIGEST, analyses
from tests.profiler.analysis.kineto import Event, operator, step
from tests.profiler.analysis.test_device import GEMM, events
from tests.profiler.analysis.test_peaks import product


@pytest.fixture
def path(tmp_path: Path) -> str:
    return write(tmp_path / "small.pt.trace.json", events())


def write(path: Path, found: list[Event]) -> str:
    path.write_text(json.dumps({"traceEvents": found}))
    return str(path)


def test_the_digest(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", path]) == 0
    text = capsys.readouterr().out
    assert f"{path}: 17 slices, 2 steps" in text
    assert "problem Steps wait for input" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "step_time 100 us mean duration of a step" in lines
    assert "kernel 37 us 37.00%" in lines
    assert f"{GEMM} kernel yes 2 60 us 30 us 30 us 30 us 0 ns 77.92% 1.25 60.00%" in lines
    for name in DIGEST:
        assert name == "findings" or f"\n{name}\n" in text


def test_the_help_lists_the_tables(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10000")
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["analyze", "--help"])
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"Tables: {', '.join(analyses('trace'))}. Tables of several traces: {', '.join(analyses('ranks'))}. "
        f"Tables with --before: {', '.join(analyses('changes'))}."
    )


def test_tables_as_json(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["analyze", path, "--json", "--table", "memcpys", "--table", "steps", "--fail-if", "gpu_idle > 50%"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    (only,) = found["traces"]
    assert (only["path"], only["slices"], only["losses"]) == (path, 17, {"counts": {}, "notes": []})
    assert only["tables"]["memcpys"] == [
        {
            "direction": "DtoH",
            "memory": "pageable",
            "count": 1,
            "bytes": 1000,
            "total_ns": 10000,
            "mean_ns": 10000.0,
            "max_ns": 10000,
            "gb_per_s": 0.1,
        }
    ]
    assert [row["kernel_ns"] for row in only["tables"]["steps"]] == [37000]
    assert found["fail_if"] == {"condition": "gpu_idle > 50%", "failed": []}


def test_every_table_is_printed(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", path, path, "--before", path, "--table", "all", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [list(each["tables"]) for each in found["traces"]] == [[*analyses("trace"), *analyses("changes")]] * 2
    assert list(found["tables"]) == list(analyses("ranks"))
    assert main(["analyze", path, "--table", "all", "--top", "0"]) == 0
    assert "critical_path_parts" in capsys.readouterr().out


def test_the_condition_decides_the_exit_code(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", path, "--table", "steps", "--fail-if", "dataloader >= 20% and step_time < 1 s"]) == 1
    assert "dataloader is 20.00%, step_time is 100 us" in capsys.readouterr().err
    assert main(["analyze", path, "--table", "steps", "--fail-if", "dataloader > 20%"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fail-if", "gpu_idel > 1"], "no metric 'gpu_idel'"),
        (["--fail-if", "memory_peak > 1 GB"], "no data for memory_peak"),
        (["--table", "kernel"], "--table kernel is not available; expected one of overview, "),
        (["--table", "ranks"], "it needs several traces"),
        (["--table", "changed_steps"], "it needs --before"),
        (
            ["--engine", "foo"],
            "stepscope: --engine foo: there is no such engine. Expected threads, processes, dask, ray, "
            "dask://HOST:8786 or ray://HOST:10001.\n",
        ),
        (["--top", "-3"], "stepscope: --top is -3; expected a number of rows, such as 10, or 0 for all\n"),
        (["--per", "call"], "stepscope: --per call needs --before TRACE, the trace to compare with\n"),
        (["--before", "/nowhere/x"], "/nowhere/x cannot be read"),
        (["--before", "{folder}"], "{folder} has 2 traces. Expected one: name its file."),
    ],
)
def test_what_cannot_be_done_is_said(
    path: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    folder = str(Path(path).parent)
    write(Path(path).with_name("other.trace.json"), [])
    assert main(["analyze", path, *(each.format(folder=folder) for each in arguments)]) == 2
    assert message.format(folder=folder) in capsys.readouterr().err


def test_what_is_no_trace_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert main(["analyze", str(tmp_path / "notes.txt")]) == 2
    assert "notes.txt is not a trace" in capsys.readouterr().err


def test_names_from_traces_cannot_command_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "x.json", [operator("\x1b[31m[bold]evil", 0, 10)])
    assert main(["analyze", path]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\\x1b[31m[bold]evil" in text


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The printed lines, with single spaces."""
    assert main(["analyze", *arguments]) == 0
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_what_changed_says_what_it_is_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """5 steps of 20 us before, 3 of 21 us after: less in total, more per step."""
    paths = [
        write(
            tmp_path / f"{count}.trace.json",
            [
                each
                for index in range(count)
                for each in (step(index, index * 100, 90), operator("mm", index * 100, took))
            ],
        )
        for count, took in ((5, 20), (3, 21))
    ]
    arguments = (paths[1], "--before", paths[0], "--table", "changed_operators")
    lines = printed(capsys, *arguments)
    assert "changed_operators (per step, of 5 steps before and 3 steps after)" in lines
    assert "mm 1 1 20 us 21 us 1 us 5.00% longer" in lines
    lines = printed(capsys, *arguments, "--per", "total")
    assert "changed_operators (total, of 5 steps before and 3 steps after)" in lines
    assert "mm 5 3 100 us 63 us -37 us -37.00% shorter" in lines
    assert main(["analyze", *arguments, "--json", "--per", "call"]) == 0
    (only,) = json.loads(capsys.readouterr().out)["traces"]
    assert only["compared"] == {"per": "call", "steps_before": 5, "steps_after": 3}
    assert [row["basis"] for row in only["tables"]["changed_operators"]] == ["per call"]


def test_a_trace_without_devices_has_no_rows_and_columns_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "cpu.trace.json", [operator("mm", 0, 10), operator("memcpy", 10, 30)])
    text = "\n".join(printed(capsys, path))
    assert "2 slices, no step markers, so the whole trace counts as one step" in text
    assert "mean_step (the whole trace, because it has no step markers)" in text
    assert "cpu_exec 40 us 100.00%" in text
    assert "Name Calls self total\nmemcpy 1 30 us 30 us\nmm 1 10 us 10 us" in text
    for gone in ("kernel", "copied_bytes", "Device", "Tensor"):
        assert gone not in text
    # A requested table is printed all the same, and tells why it is empty.
    assert "nothing: the trace has no such data, and no device activity" in printed(capsys, path, "--table", "kernels")
    whole = json.loads(_json(capsys, path))
    assert whole["traces"][0]["tables"]["mean_step"][0] == {"category": "kernel", "mean_ns": 0.0, "percent": 0.0}


def _json(capsys: pytest.CaptureFixture[str], path: str) -> str:
    assert main(["analyze", path, "--json"]) == 0
    return capsys.readouterr().out


def test_moments_are_since_the_beginning_of_the_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    epoch = 1_695_835_543_008_415
    path = write(tmp_path / "late.trace.json", [step(1, epoch, 50), step(2, epoch + 50, 40), operator("mm", epoch, 30)])
    lines = printed(capsys, path, "--table", "steps")
    assert [line.split()[:5] for line in lines[-2:]] == [["1", "0", "ns", "50", "us"], ["2", "50", "us", "40", "us"]]


def test_a_folder_is_the_ranks_of_one_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [write(tmp_path / f"rank{rank}.pt.trace.json", events()) for rank in (0, 1)]
    lines = printed(capsys, str(tmp_path))
    assert [f"{path}: 17 slices, 2 steps" in lines for path in paths] == [True, True]
    assert {"ranks (means per step)", "stragglers (sums over all steps)"} <= set(lines)


def test_a_folder_says_how_its_traces_are_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*contents: dict[str, Any]) -> tuple[str, bool]:
        for number, content in enumerate(contents):
            (tmp_path / f"{number}.json").write_text(json.dumps({**content, "traceEvents": events()}))
        assert main(["analyze", str(tmp_path)]) == 0
        captured = capsys.readouterr()
        return captured.err, "\nranks (means per step)\n" in captured.out

    alone = f"{tmp_path}: 2 traces, each on its own, because they are not ranks of one job.\n"
    together = f"{tmp_path}: 2 traces, taken as the ranks of one job.\n"
    assert said({}, {}) == (alone, False)
    assert said({"distributedInfo": {"rank": 1}}, {"distributedInfo": {"rank": 0}}) == (together, True)
    assert said({"distributedInfo": {"rank": 1}}, {"distributedInfo": {"rank": 1}}) == (alone, False)
    day = 86_400 * 10**9
    first = {"baseTimeNanoseconds": 1_700_000_000 * 10**9}
    assert said(first, first) == (together, True)
    assert said(first, {"baseTimeNanoseconds": first["baseTimeNanoseconds"] + day}) == (alone, False)


def test_the_peaks_of_a_device_can_be_stated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "products.pt.trace.json", [step(1, 0, 200), *product(10, 1)])
    assert main(["analyze", path, "--fail-if", "mfu < 50%"]) == 2
    stated = ["--peak-tflops", "1", "--peak-gbps", "100"]
    assert main(["analyze", path, "--fail-if", "mfu < 50%", *stated]) == 1
    assert "mfu is 1.00%" in capsys.readouterr().err
    assert main(["analyze", path, "--table", "roofline", *stated]) == 0
    text = capsys.readouterr().out
    assert "roofline (Peaks of the device: 1 TFLOP/s (FP32), 100 GB/s. Source: as stated)" in text
    with pytest.raises(SystemExit):
        main(["analyze", path, "--peak-gbps", "-1"])
    assert "expected a number above 0, got '-1'" in capsys.readouterr().err
