"""The text output of ``stepscope analyze``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.markup import escape

from stepscope.dashboard.cli.rank_map_text import map_lines
from stepscope.dashboard.cli.reading import printable
from stepscope.dashboard.cli.text_tables import TextColumn, table_parts
from stepscope.dashboard.traces.headings import MOMENTS, headings
from stepscope.profiler.trace import Losses
from stepscope.summary.counts import counted

if TYPE_CHECKING:
    import polars as pl

    from stepscope.profiler.analysis.compare import Basis
    from stepscope.profiler.analysis.metrics import Metric
    from stepscope.profiler.analysis.records import Analysis, Format
    from stepscope.profiler.ranks.collection import CollectedRanks

_ROWS_OF_DEVICES: Final = frozenset(
    [
        *("kernel", "memcpy", "memset", "kernels", "kernel_time", "copied_bytes", "copy_time", "pageable_bytes"),
        *("queue_full", "critical_path_device"),
    ]
)
"""Figures and step categories that are 0 in a trace without devices."""
_WITH_DEVICES: Final = frozenset({"overview", "mean_step", "changed_steps"})
"""Tables that have these rows."""


@dataclass(frozen=True)
class About:
    """Details needed to show the tables of one or several traces."""

    start_ns: int = 0
    """The trace's beginning: moments are shown relative to it, as on the Timeline."""
    device: bool = True
    """Whether anything ran on a device."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """By table, the note that its title shows beside its name; other tables use the note of their analysis."""


@dataclass(frozen=True)
class Answer:
    """The results for one trace, which itself is not kept."""

    path: str
    slices: int
    steps: int
    """Number of steps that the trace marks."""
    losses: Losses
    tables: "Mapping[str, pl.DataFrame]"
    about: About = About()
    basis: "Basis | None" = None
    """The basis of the comparison with another trace."""
    metrics: "Mapping[str, Metric]" = field(default_factory=dict)
    """Metrics of the condition that concern a single trace."""


def print_answer(console: Console, answer: Answer, top: int) -> None:
    """Print the results for one trace."""
    steps = counted(answer.steps, "step") if answer.steps else "no step markers, so the whole trace counts as one step"
    console.print(f"[bold]{escape(printable(answer.path))}[/bold]: {counted(answer.slices, 'slice')}, {steps}")
    for note in answer.losses.notes:
        console.print(escape(printable(f"  {note}")), style="yellow")
    for name, frame in answer.tables.items():
        if name == "findings":
            _print_findings(console, frame)
        else:
            print_table(console, name, frame, top, answer.about)


def print_shared(
    console: Console,
    tables: "Mapping[str, pl.DataFrame]",
    ranks: "CollectedRanks | None",
    top: int,
    *,
    alone: bool,
) -> None:
    """Print tables of ranks, preceded by the number of ranks if some are missing or the tables stand ``alone``."""
    if ranks is not None and (alone or not ranks.complete):
        console.print(f"[bold]{ranks.words}[/bold]", style="" if ranks.complete else "yellow")
    for table, count in (ranks.left_out if ranks is not None else {}).items():
        console.print(f"  {counted(count, 'row')} of {table} left out, because a rank has too many", style="yellow")
    for name, frame in tables.items():
        print_table(console, name, frame, top, About())


def _print_findings(console: Console, frame: "pl.DataFrame") -> None:
    if frame.is_empty():
        console.print("\nNo findings.")
    for row in frame.to_dicts():
        style = "red" if row["severity"] == "problem" else "yellow"
        console.print(f"\n[{style}]{row['severity']}[/{style}] [bold]{escape(row['title'])}[/bold]")
        console.print(escape(printable(f"  {row['evidence']}. {row['advice']}")))


def print_table(console: Console, name: str, frame: "pl.DataFrame", top: int, about: About) -> None:
    """Print a table with its name."""
    from stepscope.profiler.analysis.rank_map import RANK_MAP
    from stepscope.profiler.analysis.report import analyses

    analysis = analyses()[name]
    if not about.device and name in _WITH_DEVICES:
        frame = frame.filter(~frame[frame.columns[0]].is_in(list(_ROWS_OF_DEVICES)))
    rows = frame.head(top) if top > 0 and not analysis.whole else frame
    left = len(frame) - len(rows)
    notes = [about.notes.get(name, analysis.note), f"first {len(rows)} of {len(frame):,}" if left else ""]
    note = "; ".join(filter(None, notes))
    console.print(f"\n[bold]{escape(name)}[/bold]" + (f" ({escape(note)})" if note else ""))
    if frame.is_empty():
        reason = "the trace has no such data" if about.device else "the trace has no such data, and no device activity"
        console.print(escape(f"  {analysis.empty}") if analysis.of == "ranks" else f"  nothing: {reason}")
        return
    if name == RANK_MAP.name:
        for line in map_lines(frame):
            console.print(escape(line), soft_wrap=True)
        return
    for part in table_parts(_columns(rows, analysis, about), console.width):
        for line in part.titles:
            console.print(escape(line), style="dim", soft_wrap=True)
        for line in part.rows:
            console.print(escape(line), soft_wrap=True)


def _columns(rows: "pl.DataFrame", analysis: "Analysis", about: About) -> list[TextColumn]:
    """Return the visible columns: without those only for JSON, and without those of devices where there are none."""
    known = analysis.by_name
    left_out = {each.name for each in analysis.columns if each.hidden or (each.of_devices and not about.device)}
    names = [name for name in rows.columns if name not in left_out]
    titles = headings(names, known)
    units = rows["unit"].to_list() if "unit" in rows.columns else [""] * len(rows)
    dicts = rows.to_dicts()
    found = []
    for name in names:
        values = [row[name] for row in dicts]
        form = known[name].format if name in known else None
        if form == "moment" or (form is None and name in MOMENTS):
            values = [None if value is None else value - about.start_ns for value in values]
        cells = [
            shown(value, unit if name == "value" else _unit(name, form))
            for value, unit in zip(values, units, strict=True)
        ]
        if name == "frame":
            cells = ["  " * row["depth"] + cell for row, cell in zip(dicts, cells, strict=True)]
        found.append(TextColumn(titles[name], [printable(cell) for cell in cells], rows.schema[name].is_numeric()))
    return found


def _unit(column: str, form: "Format | None") -> str:
    """Return the unit of a column, taken from its analysis, else from its name."""
    match form:
        case "duration" | "moment" | "change":
            return "ns"
        case "percent" | "change_percent":
            return "percent"
        case "bytes":
            return "bytes"
        case "identity":
            return "identity"
        case None:
            pass
        case _:
            return ""
    for end, unit in (("_ns", "ns"), ("_percent", "percent"), ("bytes", "bytes")):
        if column.endswith(end):
            return unit
    return "percent" if column == "percent" else ""


def shown(value: Any, unit: str) -> str:
    """Return a cell as text: times, bytes and shares with units that fit their size, and counts with commas."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)) or unit == "identity":
        return str(value)
    if unit == "percent":
        return f"{value:.2f}%"
    if unit == "ns":
        return _scaled(value, ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")))
    if unit == "bytes":
        return _scaled(value, ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _scaled(value: float, scales: Sequence[tuple[float, str]]) -> str:
    for size, unit in scales:
        if abs(value) >= size:
            return f"{value / size:,.4g} {unit}" if size > 1 else f"{value:,.0f} {unit}"
    return f"{value:,.0f} {scales[-1][1]}"
