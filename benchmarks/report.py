"""Writes docs/benchmarks.md, and the rows of README.md, from results.json: ``python -m benchmarks.report``.

Neither is edited by hand. Each benchmark tells what it measures in the docstring of its module.
"""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks._curves import Curve, curves, draw
from benchmarks._report import Figure
from benchmarks._results import REPOSITORY, Conditions, Result, load_results

PAGE: Final = REPOSITORY / "docs" / "benchmarks.md"
README: Final = REPOSITORY / "README.md"
PICTURES: Final = REPOSITORY / "docs" / "growth"
BEGIN: Final = "<!-- benchmarks: made by `python -m benchmarks.report` -->"
END: Final = "<!-- benchmarks end -->"
MARKS: Final = ("the mark", "mark", "the mark of the line")
"""What stands for a peer where a figure is measured against a limit of our own."""
HEAD: Final = """# Benchmarks

This page is made by `make benchmarks` from `benchmarks/results.json`, and is not edited by hand. Each section is one
benchmark: what it measures, its figures beside the same measurement of another tool in the same run, and when and where
that was. A ratio above 1 is in favor of Stepscope, whichever way the unit counts. *The mark* is a limit of our own,
where no other tool has such a figure. A commit with `+` had changes that were not committed. The load is the
machine's load average over the minute before: above 0.5, the figures are worse than they should be.
[A million runs, ten thousand ranks](scale.md) estimates from them what larger logs need.

```sh
make benchmarks                      # all of them: takes long, and needs an idle machine
python -m benchmarks reading start   # these two; the figures of the others stay
python -m benchmarks.report          # only the pages, from the figures that are kept
```
"""


@dataclass(frozen=True)
class Row:
    """A row of README's table: the first figure of a benchmark whose name and peer begin so."""

    what: str
    benchmark: str
    figure: str
    peer: str

    def find(self, result: Result) -> Figure:
        """Return the figure.

        Raises:
            ValueError: the benchmark has none of that name, so this row is out of date.
        """
        for figure in result.figures:
            if figure.name.startswith(self.figure) and figure.peer_name.startswith(self.peer):
                return figure
        raise ValueError(f"{self.benchmark} has no figure {self.figure!r} beside {self.peer!r}")


ROWS: Final = (
    Row(
        "read 2 million scalars: all points, all CRCs",
        "reading",
        "read 2 M scalars",
        "TensorBoard data server (all points, CRC)",
    ),
    Row(
        "open 1,000 runs x 20 tags x 1,000 steps (1 GB)",
        "many_runs",
        "1,000 runs x 20 tags x 1,000 steps, cold",
        "TensorBoard",
    ),
    Row("`add_scalar`, until all is on disk", "writing", "add_scalar, all on disk", "torch"),
    Row("`profiler.annotate`, a scope while recording", "annotating", "annotate while recording", "torch"),
    Row("read a trace of a million slices", "traces", "read a million slices", "json.loads"),
    Row("all analyses of an A100 trace", "analysis", "all analyses", "HolisticTraceAnalysis"),
    Row("first charts, 20 runs x 10 tags x 10,000 steps", "browser", "first ", "TensorBoard"),
    Row("move the smoothing slider, 20 runs on 8 charts", "browser", "move of the smoothing slider", "TensorBoard"),
    Row("open a trace of a million events, drawn", "timeline", "open to first paint, ", "Perfetto"),
    Row("open a graph of 10,000 nodes", "graph", "open to first graph, ", "TensorBoard"),
    Row("t-SNE of 10,000 x 64, as good", "projector_tsne", "t-SNE of 10,000 x 64", "scikit-learn"),
    Row("start the server, to the page", "start", "start of the server, to the page", "TensorBoard"),
)
"""The dozen rows of README."""


def page(results: Mapping[str, Result]) -> str:
    """Return docs/benchmarks.md."""
    return "\n".join([HEAD, *(line for name, result in results.items() for line in _section(name, result))])


def readme_rows(results: Mapping[str, Result]) -> str:
    """Return what stands between the markers of README.md; rows of benchmarks without results are left out.

    Raises:
        ValueError: a row is out of date.
    """
    shown = [(row, results[row.benchmark]) for row in ROWS if row.benchmark in results]
    lines = ["| What | Stepscope | Peer | Ratio |", "|---|---:|---:|---:|"]
    for row, result in shown:
        figure = row.find(result)
        ours, peer, ratio = figure.texts
        lines.append(f"| {row.what} | {ours} | {_peer(figure)}: {peer} | {ratio} |")
    # On one line, as there may be as many of these as rows.
    about = dict.fromkeys(_about(result.conditions) for _, result in shown)
    return "\n".join([*lines, "", " ".join(f"{text[0].upper()}{text[1:]}." for text in about)])


def with_rows(readme: str, rows: str) -> str:
    """Return a README with other rows between its markers."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{rows}\n\n{END}{after}"


def write_pages() -> None:
    """Write both, and the pictures of what was measured at several sizes."""
    results = load_results()
    for name, result in results.items():
        if over_sizes := curves(result.figures):
            PICTURES.mkdir(exist_ok=True)
            draw(over_sizes, _picture(name))
    PAGE.write_text(page(results))
    README.write_text(with_rows(README.read_text(), readme_rows(results)))


def _section(name: str, result: Result) -> Iterator[str]:
    about = ast.get_docstring(ast.parse((Path(__file__).parent / f"{name}.py").read_text())) or ""
    title, _, rest = about.partition("\n\n")
    yield f"## {name.replace('_', ' ').capitalize()}"
    yield ""
    yield from title.replace("``", "`").splitlines()
    yield ""
    yield "| Figure | Stepscope | Peer | | Ratio |"
    yield "|---|---:|---:|---|---:|"
    for figure in result.figures:
        ours, peer, ratio = figure.texts
        yield f"| {figure.name} | {ours} | {peer} | {_peer(figure)} | {ratio} |"
    if over_sizes := curves(result.figures):
        yield ""
        yield f"![{_in_words(over_sizes)}]({_picture(name).relative_to(PAGE.parent).as_posix()})"
    yield ""
    yield f"{_about(result.conditions)}, load {result.conditions.load:g}; it took {result.seconds:.0f} s."
    yield f"Beside {result.conditions.peers}."
    yield ""
    if rest:
        yield from rest.replace("``", "`").splitlines()
        yield ""


def _picture(name: str) -> Path:
    return PICTURES / f"{name}.svg"


def _in_words(over_sizes: Sequence[Curve]) -> str:
    first = over_sizes[0]
    names = ", ".join(curve.what for curve in over_sizes)
    return f"{first.noun.capitalize()} from {min(first.sizes):,} to {max(first.sizes):,}: {names}"


def _about(conditions: Conditions) -> str:
    return f"{conditions.date}, commit `{conditions.commit}`, {conditions.machine}"


def _peer(figure: Figure) -> str:
    return "the mark" if figure.peer_name in MARKS else figure.peer_name


def main() -> int:
    """Write the pages."""
    write_pages()
    return 0


if __name__ == "__main__":
    sys.exit(main())
