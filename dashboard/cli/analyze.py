"""``stepscope analyze``: where the time of a trace went, as tables, as JSON, and as a check for CI."""

import math
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, assert_never

import orjson
from rich.console import Console
from rich.markup import escape

from stepscope.dashboard.cli.reading import printable, standard_output
from stepscope.dashboard.cli.text_tables import TextColumn, table_parts
from stepscope.dashboard.traces.folders import traces_at
from stepscope.dashboard.traces.headings import MOMENTS, headings
from stepscope.dashboard.traces.peaks import peaks_words
from stepscope.dashboard.traces.sources import extent
from stepscope.summary.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    from stepscope.profiler.analysis.compare import Basis, Per
    from stepscope.profiler.analysis.facts import Facts
    from stepscope.profiler.analysis.records import Analysis, Format

DEFAULT_TOP: Final = 10
_ROWS_OF_DEVICES: Final = frozenset(
    [
        *("kernel", "memcpy", "memset", "kernels", "kernel_time", "copied_bytes", "copy_time", "pageable_bytes"),
        *("queue_full", "critical_path_device"),
    ]
)
"""Figures, and categories of steps, that are 0 there."""
_WITH_DEVICES: Final = frozenset({"overview", "mean_step", "changed_steps"})
"""Tables whose rows they are."""
_RANK: Final = re.compile(r"(?i)rank[-_.]?(\d+)")
"""How names of files tell ranks."""
CONDITION_HELD: Final = 1
"""Exit code when the condition of ``--fail-if`` holds; errors end with 2."""


@dataclass(frozen=True)
class _About:
    """What the tables of a trace, or of several, need to be shown."""

    start_ns: int = 0
    """The trace's beginning: moments are shown since then, as on the Timeline."""
    device: bool = True
    """Whether anything ran on a device."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """By table what its title says beside its name; of the others their analyses say it."""


class AnalyzeVerb:
    """Prints analyses of traces, and fails if a condition on their figures holds."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the traces, which tables to print, and the condition to fail on."""
        parser.add_argument(
            "trace",
            nargs="+",
            metavar="TRACE",
            help="the trace; several are the ranks of one job, in order; for a folder, those in or below it, which "
            "are ranks of one job if they say so or were recorded at the same time",
        )
        parser.add_argument("--json", action="store_true", help="print the complete tables as JSON")
        parser.add_argument(
            "--fail-if",
            metavar="CONDITION",
            help='end with exit code 1 if it holds for any trace, such as "gpu_idle > 20%% or step_time > 1.5 s"; '
            'with --before also "step_time_change > 5%%", with several ranks "rank_step_spread > 10%%"',
        )
        parser.add_argument(
            "--table",
            action="append",
            default=[],
            metavar="NAME",
            help='print this table instead of the digest; may be given several times, "all" is every one',
        )
        parser.add_argument(
            "--top",
            type=int,
            default=DEFAULT_TOP,
            metavar="N",
            help=f"rows of each table (default {DEFAULT_TOP}; 0: all)",
        )
        parser.add_argument("--before", metavar="TRACE", help="also report what changed since this trace")
        parser.add_argument(
            "--per",
            choices=("step", "call", "total"),
            default="step",
            help="with --before: compare a mean step, a mean call, or totals (default %(default)s)",
        )

        parser.add_argument(
            "--peak-tflops",
            type=_peak,
            metavar="N",
            help="what a device computes at most, in TFLOP/s, for mfu and the roofline; "
            "by default that of its data sheet, where the device is known",
        )
        parser.add_argument(
            "--peak-gbps", type=_peak, metavar="N", help="the bandwidth of a device's memory in GB/s, for the roofline"
        )

    def run(self, arguments: Namespace) -> int:
        """Print the tables, and on standard error whether the condition holds.

        Raises:
            UserError: a trace cannot be read, or a table, metric or condition is none.
        """
        from stepscope.profiler.analysis.compare import basis_of
        from stepscope.profiler.analysis.condition import parse
        from stepscope.profiler.analysis.device_peaks import StatedPeaks
        from stepscope.profiler.analysis.facts import Facts
        from stepscope.profiler.analysis.report import by_rank
        from stepscope.profiler.traces import load_trace

        condition = parse(arguments.fail_if) if arguments.fail_if is not None else None
        paths = [path for given in arguments.trace for path in traces_at(given)]
        stated = StatedPeaks(arguments.peak_tflops, arguments.peak_gbps)
        traces = [Facts(load_trace(path), stated) for path in paths]
        together = len(paths) > 1 and _are_ranks(arguments.trace, paths, traces)
        named = any(map(_is_shared, arguments.table))
        names = _chosen(
            arguments.table, ranks=together or (named and len(paths) > 1), before=arguments.before is not None
        )
        before = Facts(load_trace(_only(arguments.before)), stated) if arguments.before is not None else None
        ranks = by_rank(traces, lambda facts: facts)
        own, shared_names = [name for name in names if not _is_shared(name)], list(filter(_is_shared, names))
        asked = frozenset(arguments.table)
        tables = [_tables(own, asked, facts, before, ranks, arguments.per) for facts in traces]
        shared = _tables(shared_names, asked, None, before, ranks, arguments.per)
        failed = [_failed(condition, facts, before, ranks) if condition else "" for facts in traces]
        bases = [None if before is None else basis_of(before, facts, arguments.per) for facts in traces]
        if arguments.json:
            _print_json(paths, traces, tables, shared, bases, arguments.fail_if, failed)
        else:
            roofs = "roofline" in own
            abouts = [_about(facts, basis, before, roofs=roofs) for facts, basis in zip(traces, bases, strict=True)]
            if not arguments.table:
                tables = [_without_devices(found, about) for found, about in zip(tables, abouts, strict=True)]
            _print_text(paths, traces, tables, abouts, shared, arguments.top)
        for path, holds in zip(paths, failed, strict=True):
            if holds:
                print(printable(f"{path}: {arguments.fail_if}: {holds}"), file=sys.stderr)
        return CONDITION_HELD if any(failed) else 0


def _peak(given: str) -> float:
    """Return a peak: a number above 0."""
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"expected a number above 0, got {given!r}")
    return value


def _are_ranks(given: Sequence[str], paths: Sequence[str], traces: "Sequence[Facts]") -> bool:
    """Return whether several traces are taken as ranks of one job; of a folder, says so on standard error."""
    from stepscope.profiler.analysis.report import are_ranks

    if len(given) > 1:
        # Named one by one, they are meant so.
        return True
    named = [_RANK.search(path.rpartition("/")[2]) for path in paths]
    by_name = None not in named and len({match[1] for match in named if match}) == len(paths)
    ranks = by_name or are_ranks(traces)
    how = "taken as the ranks of one job" if ranks else "each on its own, as they are not ranks of one job"
    print(printable(f"{given[0]}: {len(paths)} traces, {how}."), file=sys.stderr)
    return ranks


def _about(facts: "Facts", basis: "Basis | None", before: "Facts | None", *, roofs: bool) -> _About:
    """Return what the tables of one trace need to be shown; ``roofs`` is whether the roofline is one of them."""
    from stepscope.profiler.analysis.report import analyses

    notes = (
        {} if facts.trace.steps else dict.fromkeys(("mean_step", "steps"), "the whole trace, as it has no step markers")
    )
    if basis is not None:
        notes |= dict.fromkeys(analyses("changes"), basis.words)
    if roofs and (words := peaks_words(facts)):
        notes["roofline"] = words
    device = any(len(each.every_device_activity.slice) for each in (facts, before) if each is not None)
    return _About(extent(facts.trace)[0], device, notes)


def _without_devices(tables: "Mapping[str, pl.DataFrame]", about: _About) -> "dict[str, pl.DataFrame]":
    """Return the digest without the tables that have nothing to say of a trace without devices."""
    from stepscope.profiler.analysis.report import analyses

    known = analyses()
    return {name: frame for name, frame in tables.items() if about.device or not known[name].of_devices}


def _only(given: str) -> str:
    """Return the one trace at a place.

    Raises:
        UserError: there are several.
    """
    found = traces_at(given)
    if len(found) > 1:
        raise UserError(f"{given} has {len(found)} traces. Expected one: name its file.")
    return found[0]


def _is_shared(name: str) -> bool:
    """Return whether a table is of all traces together."""
    from stepscope.profiler.analysis.report import analyses

    return name in analyses("ranks")


def _chosen(given: Sequence[str], *, ranks: bool, before: bool) -> list[str]:
    """Return the tables to print.

    Raises:
        UserError: one is not a table, or needs traces that are not there.
    """
    from stepscope.profiler.analysis.compare import CHANGES
    from stepscope.profiler.analysis.report import DIGEST, analyses

    of_trace, of_ranks, changes = analyses("trace"), analyses("ranks"), analyses("changes")
    available = [*of_trace, *(of_ranks if ranks else ()), *(changes if before else ())]
    if not given:
        own_changes = [analysis.name for analysis in CHANGES.values()]
        extra = [*(("ranks", "stragglers") if ranks else ()), *(own_changes if before else ())]
        return [*DIGEST, *extra]
    chosen = available if "all" in given else list(dict.fromkeys(given))
    for name in chosen:
        if name not in available:
            needs = {**dict.fromkeys(of_ranks, "several traces"), **dict.fromkeys(changes, "--before")}
            reason = f"it needs {needs[name]}" if name in needs else f"expected one of {', '.join(available)}"
            raise UserError(f"--table {name}: there is no such table; {reason}.")
    return chosen


def _tables(
    names: Sequence[str],
    asked: frozenset[str],
    facts: "Facts | None",
    before: "Facts | None",
    ranks: "Mapping[int, Facts]",
    per: "Per",
) -> "dict[str, pl.DataFrame]":
    """Return tables by name; those of other distributions that fail are left out where nobody asked for them.

    Raises:
        UserError: one that was asked for by its name failed.
    """
    from stepscope.profiler.analysis.report import OTHERS, analyses, is_of_others

    known = analyses()
    found = {}
    for name in names:
        analysis = known[name]
        try:
            found[name] = _table(analysis, facts, before, ranks, per)
        except Exception as error:
            if not is_of_others(analysis):
                raise
            OTHERS.fail(analysis, error)
            if name in asked:
                raise UserError(f"--table {name} cannot be made, as its plug-in failed.") from error
    return found


def _table(
    analysis: "Analysis", facts: "Facts | None", before: "Facts | None", ranks: "Mapping[int, Facts]", per: "Per"
) -> "pl.DataFrame":
    match analysis.of:
        case "trace":
            return analysis.table(facts)
        case "ranks":
            return analysis.table(ranks)
        case "changes":
            return analysis.table(before, facts, per)
        case _:
            assert_never(analysis.of)


def _failed(condition: Any, facts: "Facts", before: "Facts | None", ranks: "Mapping[int, Facts]") -> str:
    """Return the figures for which the condition holds, as text; empty if it does not hold."""
    from stepscope.profiler.analysis.condition import holds, named
    from stepscope.profiler.analysis.metric_sources import metrics_of

    known = metrics_of(named(condition), facts, before, ranks)
    if not holds(condition, known):
        return ""
    return ", ".join(f"{name} is {_shown(metric.value, metric.unit)}" for name, metric in known.items())


def _print_json(
    paths: Sequence[str],
    traces: "Sequence[Facts]",
    tables: "Sequence[Mapping[str, pl.DataFrame]]",
    shared: "Mapping[str, pl.DataFrame]",
    bases: "Sequence[Basis | None]",
    condition: str | None,
    failed: Sequence[str],
) -> None:
    from stepscope.profiler.analysis.report import plain

    content: dict[str, Any] = {
        "traces": [
            {
                "path": path,
                "slices": len(facts.trace),
                "losses": {"counts": dict(facts.trace.losses.counts), "notes": list(facts.trace.losses.notes)},
                "tables": {name: plain(frame) for name, frame in found.items()},
                **(
                    {}
                    if basis is None
                    else {
                        "compared": {
                            "per": basis.per,
                            "steps_before": basis.steps_before,
                            "steps_after": basis.steps_after,
                        }
                    }
                ),
            }
            for path, facts, found, basis in zip(paths, traces, tables, bases, strict=True)
        ],
        "tables": {name: plain(frame) for name, frame in shared.items()},
    }
    if condition is not None:
        content["fail_if"] = {
            "condition": condition,
            "failed": [path for path, holds in zip(paths, failed, strict=True) if holds],
        }
    with standard_output() as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _print_text(
    paths: Sequence[str],
    traces: "Sequence[Facts]",
    tables: "Sequence[Mapping[str, pl.DataFrame]]",
    abouts: Sequence[_About],
    shared: "Mapping[str, pl.DataFrame]",
    top: int,
) -> None:
    with standard_output() as stream:
        # Written as bytes, so that a terminal's or a pipe's encoding does not matter.
        console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
        with console.capture() as captured:
            for path, facts, found, about in zip(paths, traces, tables, abouts, strict=True):
                _print_trace(console, path, facts, found, top, about)
            for name, frame in shared.items():
                _print_table(console, name, frame, top, _About())
        stream.write(captured.get().encode())


def _print_trace(
    console: Console, path: str, facts: "Facts", tables: "Mapping[str, pl.DataFrame]", top: int, about: _About
) -> None:
    steps = (
        f"{len(facts.trace.steps):,} steps"
        if facts.trace.steps
        else "no step markers, so the whole trace counts as one step"
    )
    console.print(f"[bold]{escape(printable(path))}[/bold]: {len(facts.trace):,} slices, {steps}")
    for note in facts.trace.losses.notes:
        console.print(escape(printable(f"  {note}")), style="yellow")
    for name, frame in tables.items():
        if name == "findings":
            _print_findings(console, frame)
        else:
            _print_table(console, name, frame, top, about)


def _print_findings(console: Console, frame: "pl.DataFrame") -> None:
    if frame.is_empty():
        console.print("\nNo findings.")
    for row in frame.to_dicts():
        style = "red" if row["severity"] == "problem" else "yellow"
        console.print(f"\n[{style}]{row['severity']}[/{style}] [bold]{escape(row['title'])}[/bold]")
        console.print(escape(printable(f"  {row['evidence']}. {row['advice']}")))


def _print_table(console: Console, name: str, frame: "pl.DataFrame", top: int, about: "_About") -> None:
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
        console.print(f"  nothing: {reason}")
        return
    for part in table_parts(_columns(rows, analysis, about), console.width):
        for line in part.titles:
            console.print(escape(line), style="dim", soft_wrap=True)
        for line in part.rows:
            console.print(escape(line), soft_wrap=True)


def _columns(rows: "pl.DataFrame", analysis: "Analysis", about: "_About") -> list[TextColumn]:
    """Return the columns that people see: without what only JSON needs, and without devices where there are none."""
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
            _shown(value, unit if name == "value" else _unit(name, form))
            for value, unit in zip(values, units, strict=True)
        ]
        if name == "frame":
            cells = ["  " * row["depth"] + cell for row, cell in zip(dicts, cells, strict=True)]
        found.append(TextColumn(titles[name], [printable(cell) for cell in cells], rows.schema[name].is_numeric()))
    return found


def _unit(column: str, form: "Format | None") -> str:
    """Return the unit of a column: as its analysis says, else as its name does."""
    match form:
        case "duration" | "moment" | "change":
            return "ns"
        case "percent" | "change_percent":
            return "percent"
        case "bytes":
            return "bytes"
        case None:
            pass
        case _:
            return ""
    for end, unit in (("_ns", "ns"), ("_percent", "percent"), ("bytes", "bytes")):
        if column.endswith(end):
            return unit
    return "percent" if column == "percent" else ""


def _shown(value: Any, unit: str) -> str:
    """Return a cell for people: times, bytes and shares with units that fit their size."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    if unit == "percent":
        return f"{value:.2f}%"
    if unit == "ns":
        return _scaled(value, ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")))
    if unit == "bytes":
        return _scaled(value, ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _scaled(value: float, scales: Sequence[tuple[float, str]]) -> str:
    for size, unit in scales:
        if abs(value) >= size:
            return f"{value / size:,.4g} {unit}" if size > 1 else f"{value:,.0f} {unit}"
    return f"{value:,.0f} {scales[-1][1]}"
