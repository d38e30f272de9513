"""``stepscope analyze`` of many ranks: a first answer from some, then from all, and reports of lost ones."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.dashboard.cli.main import main
from stepscope.dashboard.cli.rank_map_text import map_lines
from stepscope.profiler.analysis.rank_map import rank_map
from stepscope.profiler.analysis.report import DIGEST_OF_RANKS
from tests.profiler.analysis.test_rank_outliers import rank
from tests.profiler.ranks.jobs import STRAGGLER, write_job

RANKS = 70


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    write_job(folder, RANKS)
    return folder


def arguments(job: Path, facts: Path, *more: str) -> list[str]:
    return ["analyze", str(job), "--facts", str(facts), "--engine", "threads", *more]


def test_a_first_answer_is_of_some_ranks_and_the_last_of_all(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(job, tmp_path)) == 0
    told = capsys.readouterr()
    first = told.err.splitlines()
    assert first[0] == "70 traces: showing combined results. Name one of them to see its own tables."
    assert first[1] == "16 of 70 ranks"
    assert any(line.startswith("16 of 70 ranks read, ") for line in first)
    assert told.err.splitlines()[-1] == f"{job}: 70 traces, taken as the ranks of one job."
    lines = [" ".join(line.split()) for line in told.out.splitlines()]
    assert lines[0] == "70 ranks"
    assert [line.split(" ")[0] for line in lines if line.split(" ")[0] in DIGEST_OF_RANKS] == list(DIGEST_OF_RANKS)
    assert any(line.startswith(f"{STRAGGLER} computation 4.32 ms ") for line in lines)
    assert "2-3 ▓▓▓" in lines


def test_the_second_question_says_nothing_of_reading(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question = arguments(job, tmp_path, "--json", "--table", "rank_outliers")
    assert main(question) == 0
    before = capsys.readouterr().out
    assert main(question) == 0
    told = capsys.readouterr()
    assert told.out == before
    assert told.err == f"{job}: 70 traces, taken as the ranks of one job.\n"
    found = json.loads(told.out)
    assert found["ranks"] == {"found": RANKS, "read": RANKS, "failures": {}, "left_out": {}}
    assert {row["rank"] for row in found["tables"]["rank_outliers"]} == {STRAGGLER}


def test_a_trace_that_cannot_be_read_is_named_and_the_exit_code_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "job"
    paths = write_job(job, 6)
    Path(paths[4]).write_bytes(b"{")
    assert main(arguments(job, tmp_path / "facts", "--table", "ranks", "--json")) == 2
    told = capsys.readouterr()
    assert paths[4] in told.err
    found = json.loads(told.out)
    assert (found["ranks"]["found"], found["ranks"]["read"]) == (6, 5)
    assert list(found["ranks"]["failures"]) == [paths[4]]
    assert [row["rank"] for row in found["tables"]["ranks"]] == [0, 1, 2, 3, 5]


def test_the_condition_is_of_all_ranks(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = arguments(job, tmp_path, "--table", "ranks", "--fail-if")
    assert main([*question, "straggler > 90%"]) == 1
    assert "straggler > 90%: straggler is 100.00%" in capsys.readouterr().err
    assert main([*question, "rank_step_spread > 10%"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "sparks"], "--engine sparks: there is no such engine. Expected threads, processes, dask, "),
        (["--facts", "nothing://x"], "--facts nothing://x: "),
        (["--table", "rank_maps"], "--table rank_maps is not available; expected one of overview"),
    ],
)
def test_what_cannot_be_done_is_said(
    job: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["analyze", str(job), *options]) == 2
    assert message in capsys.readouterr().err


def test_where_facts_cannot_be_kept_the_answer_is_whole(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "facts").write_text("no folder")
    assert main(arguments(job, tmp_path / "facts", "--table", "rank_steps")) == 0
    told = capsys.readouterr()
    assert f"Results are not cached for the next run: {tmp_path / 'facts'} cannot be written: " in told.err
    assert "70 ranks" in told.out


def test_an_interrupt_ends_it_with_what_is_known_and_keeps_that(tmp_path: Path) -> None:
    job = tmp_path / "job"
    # Enough for several seconds, one of which the first answer takes.
    paths = write_job(job, 300, steps=40)
    facts = str(tmp_path / "facts")
    command = [
        sys.executable,
        "-m",
        "stepscope",
        "analyze",
        str(job),
        "--facts",
        facts,
        "--engine",
        "threads",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        next(line for line in process.stderr if b" ranks read, " in line)
        process.send_signal(signal.SIGINT)
        found = json.loads(process.stdout.read())
        assert process.wait() == 130
    assert found["ranks"]["found"] == len(paths)
    assert 16 <= found["ranks"]["read"] < len(paths)
    assert len(found["tables"]["ranks"]) == found["ranks"]["read"]


def test_the_map_has_a_letter_a_step_and_nothing_where_a_rank_lacks_it() -> None:
    traces = {0: rank(0, 80), 1: rank(1, 80, steps=1), 2: rank(2, 83), 10: rank(10, 200)}
    assert list(map_lines(rank_map(traces))) == [
        "  rank  steps 1 to 2",
        "     0  ··",
        "     1  · ",
        "     2  ░·",
        "    10  ██",
        "  over the median rank: · < 1%, ░ < 5%, ▒ < 10%, ▓ < 25%, █ more",
    ]
