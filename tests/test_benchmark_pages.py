"""docs/benchmarks.md and README's rows are what is made of the figures that are kept."""

from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.__main__ import BENCHMARKS
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
