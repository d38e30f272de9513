"""docs/benchmarks.md and README's rows match what is generated from the stored figures."""

import re
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.__main__ import BENCHMARKS
from benchmarks._curves import Curve, curves, draw
from benchmarks._report import Figure
from benchmarks._results import Conditions, Result, load_results, save_results

REMEDY = "run `python -m benchmarks.report` and commit what it wrote"
CONDITIONS = Conditions("2026-01-02", "abc", "a processor, 2 cores", 0.1, "torch 1")


def test_the_page_is_made_of_the_results() -> None:
    assert report.PAGE.read_text() == report.page(load_results()), REMEDY


def test_the_rows_of_the_readme_are_made_of_the_results() -> None:
    readme = report.README.read_text()
    assert readme == report.with_rows(readme, report.readme_rows(load_results())), REMEDY


def test_a_row_names_both_figures_and_what_they_are_of() -> None:
    figure = Figure("annotate while recording", 500.0, 5000.0, "torch record_function", "ns", False)
    assert report.readme_rows({"annotating": Result(CONDITIONS, 12.0, [figure])}).splitlines() == [
        "| What | Stepscope | Peer | Ratio |",
        "|---|---:|---:|---:|",
        "| `profiler.annotate`, a scope while recording | 500 ns | torch record_function: 5,000 ns | 10.0x |",
        "",
        "2026-01-02, commit `abc`, a processor, 2 cores.",
    ]


def test_a_row_whose_figure_is_gone_is_an_error() -> None:
    with pytest.raises(ValueError, match="annotating has no figure 'annotate while recording'"):
        report.readme_rows({"annotating": Result(CONDITIONS, 12.0, [])})


def test_there_are_a_dozen_rows_of_benchmarks_that_there_are() -> None:
    assert len(report.ROWS) == 12
    assert {row.benchmark for row in report.ROWS} <= set(BENCHMARKS)


def test_results_are_kept_as_they_are(tmp_path: Path) -> None:
    results = {"reading": Result(CONDITIONS, 1.0, [Figure("a", 1.5, 2.0, "b", "s", higher_is_better=False)])}
    save_results(results, tmp_path / "results.json")
    assert load_results(tmp_path / "results.json") == results


def _figure(name: str, peer_name: str = "the mark") -> Figure:
    return Figure(name, float(len(name)), 2.0, peer_name, "s", higher_is_better=False)


def test_what_is_measured_at_three_sizes_is_a_curve_over_the_sizes() -> None:
    few, more, most = (_figure(f"{size} ranks x 27,000 slices, peak memory") for size in ("8", "64", "1,024"))
    others = [
        _figure("8 ranks x 27,000 slices, peak memory", "another tool"),
        _figure("Dask, 2 workers over 1, 64 ranks"),
    ]
    two_sizes = [_figure("1,000 runs, `data/runs`"), _figure("10,000 runs, `data/runs`")]
    assert curves([most, few, *others, more, *two_sizes]) == [
        Curve("peak memory", "ranks", [8, 64, 1_024], [few, more, most])
    ]


def test_a_picture_of_curves_names_them_and_is_the_same_each_time(tmp_path: Path) -> None:
    drawn = curves([_figure(f"{size} runs, `data/runs`") for size in ("10", "100", "1,000")])
    for name in ("once.svg", "again.svg"):
        draw(drawn, tmp_path / name)
    picture = (tmp_path / "once.svg").read_text()
    assert (tmp_path / "again.svg").read_text() == picture
    assert {">data/runs<", ">runs<", ">1,000<", ">Stepscope<", ">the mark<"} <= set(re.findall(">[^<>\\n]+<", picture))


def test_each_picture_of_the_page_is_there() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\((.+?)\)", report.PAGE.read_text())
    assert pictures
    assert [picture for picture in pictures if not (report.PAGE.parent / picture).is_file()] == []
