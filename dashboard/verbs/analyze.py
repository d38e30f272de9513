"""``stepscope analyze``: where the time of a trace went, as tables, as JSON, and as a check for CI."""

import math
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dashboard.verbs.reading import printable, standard_output
from summary.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    from profiler.analysis.facts import Facts

DEFAULT_TOP: Final = 10
_ALWAYS_WHOLE: Final = ("overview", "mean_step", "input")
CONDITION_HELD: Final = 1
"""Exit code when the condition of ``--fail-if`` holds; errors end with 2."""


class AnalyzeVerb:
    """Prints analyses of traces, and fails if a condition on their figures holds."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declares the traces, which tables to print, and the condition to fail on."""
        parser.add_argument(
            "trace", nargs="+", metavar="TRACE", help="the trace; several are the ranks of one job, in order"
        )
        parser.add_argument("--json", action="store_true", help="print the tables as JSON, whole")
        parser.add_argument(
            "--fail-if",
            metavar="CONDITION",
            help='end with exit code 1 if it holds for any trace, such as "gpu_idle > 20%% or step_time > 1.5 s"',
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
        parser.add_argument("--before", metavar="TRACE", help="also say what changed since this trace")

    def run(self, arguments: Namespace) -> int:
        """Prints the tables, and on standard error whether the condition holds.

        Raises:
            UserError: a trace cannot be read, or a table, metric or condition is none.
        """
        from profiler.analysis.condition import parse
        from profiler.analysis.facts import Facts
        from profiler.analysis.report import by_rank
        from profiler.traces import load_trace

        condition = parse(arguments.fail_if) if arguments.fail_if is not None else None
        names = _chosen(arguments.table, ranks=len(arguments.trace) > 1, before=arguments.before is not None)
        paths: list[str] = arguments.trace
        traces = [Facts(load_trace(path)) for path in paths]
        before = Facts(load_trace(arguments.before)) if arguments.before is not None else None
        ranks = by_rank(traces, lambda facts: facts)
        tables = [
            {name: _table(facts, name, before, ranks) for name in names if not _is_shared(name)} for facts in traces
        ]
        shared = {name: _table(None, name, before, ranks) for name in names if _is_shared(name)}
        failed = [_failed(condition, facts) if condition else "" for facts in traces]
        if arguments.json:
            _print_json(paths, traces, tables, shared, arguments.fail_if, failed)
        else:
            _print_text(paths, traces, tables, shared, arguments.top)
        for path, holds in zip(paths, failed, strict=True):
            if holds:
                print(printable(f"{path}: {arguments.fail_if}: {holds}"), file=sys.stderr)
        return CONDITION_HELD if any(failed) else 0


def _is_shared(name: str) -> bool:
    """Whether a table is of all traces together."""
    from profiler.analysis.report import RANK_TABLES

    return name in RANK_TABLES


def _chosen(given: Sequence[str], *, ranks: bool, before: bool) -> list[str]:
    """The tables to print.

    Raises:
        UserError: one is no table, or needs traces that are not there.
    """
    from profiler.analysis.report import CHANGES, DIGEST, RANK_TABLES, TABLES

    changes = [f"changed_{what}" for what in CHANGES]
    available = [*TABLES, *(RANK_TABLES if ranks else ()), *(changes if before else ())]
    if not given:
        extra = [*(("ranks", "stragglers") if ranks else ()), *(changes if before else ())]
        return [*DIGEST, *extra]
    chosen = available if "all" in given else list(dict.fromkeys(given))
    for name in chosen:
        if name not in available:
            needs = {**dict.fromkeys(RANK_TABLES, "several traces"), **dict.fromkeys(changes, "--before")}
            reason = f"it needs {needs[name]}" if name in needs else f"expected one of {', '.join(available)}"
            raise UserError(f"--table {name}: there is no such table; {reason}.")
    return chosen


def _table(facts: "Facts | None", name: str, before: "Facts | None", ranks: "Mapping[int, Facts]") -> "pl.DataFrame":
    from profiler.analysis.report import RANK_TABLES, change, table

    if name in RANK_TABLES or facts is None:
        return RANK_TABLES[name][1](ranks)
    if name.startswith("changed_") and before is not None:
        return change(before, facts, name)
    return table(facts, name)


def _failed(condition: Any, facts: "Facts") -> str:
    """The figures for which the condition holds, as text; empty if it does not hold."""
    from profiler.analysis.condition import holds, named
    from profiler.analysis.metrics import metrics

    known = metrics(facts, named(condition))
    if not holds(condition, known):
        return ""
    return ", ".join(f"{name} is {_shown(metric.value, metric.unit)}" for name, metric in known.items())


def _print_json(
    paths: Sequence[str],
    traces: "Sequence[Facts]",
    tables: "Sequence[Mapping[str, pl.DataFrame]]",
    shared: "Mapping[str, pl.DataFrame]",
    condition: str | None,
    failed: Sequence[str],
) -> None:
    from profiler.analysis.report import plain

    content: dict[str, Any] = {
        "traces": [
            {
                "path": path,
                "slices": len(facts.trace),
                "losses": {"counts": dict(facts.trace.losses.counts), "notes": list(facts.trace.losses.notes)},
                "tables": {name: plain(frame) for name, frame in found.items()},
            }
            for path, facts, found in zip(paths, traces, tables, strict=True)
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
    shared: "Mapping[str, pl.DataFrame]",
    top: int,
) -> None:
    with standard_output() as stream:
        # Written as bytes, so that a terminal's or a pipe's encoding does not matter.
        console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
        with console.capture() as captured:
            for path, facts, found in zip(paths, traces, tables, strict=True):
                _print_trace(console, path, facts, found, top)
            for name, frame in shared.items():
                _print_table(console, name, frame, top)
        stream.write(captured.get().encode())


def _print_trace(console: Console, path: str, facts: "Facts", tables: "Mapping[str, pl.DataFrame]", top: int) -> None:
    console.print(
        f"[bold]{escape(printable(path))}[/bold]: {len(facts.trace):,} slices, {len(facts.trace.steps)} steps"
    )
    for note in facts.trace.losses.notes:
        console.print(escape(printable(f"  {note}")), style="yellow")
    for name, frame in tables.items():
        if name == "findings":
            _print_findings(console, frame)
        else:
            _print_table(console, name, frame, top)


def _print_findings(console: Console, frame: "pl.DataFrame") -> None:
    if frame.is_empty():
        console.print("\nNothing stands out.")
    for row in frame.to_dicts():
        style = "red" if row["severity"] == "problem" else "yellow"
        console.print(f"\n[{style}]{row['severity']}[/{style}] [bold]{escape(row['title'])}[/bold]")
        console.print(escape(printable(f"  {row['evidence']}. {row['advice']}")))


def _print_table(console: Console, name: str, frame: "pl.DataFrame", top: int) -> None:
    rows = frame.head(top) if top > 0 and name not in _ALWAYS_WHOLE else frame
    left = len(frame) - len(rows)
    title = f"{name}" + (f" (first {len(rows)} of {len(frame):,})" if left else "")
    console.print(f"\n[bold]{escape(title)}[/bold]")
    if frame.is_empty():
        console.print("  nothing: the trace does not tell")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    shown = [column for column in rows.columns if column != "unit"]
    for column in shown:
        justify: Literal["left", "right"] = "right" if frame.schema[column].is_numeric() else "left"
        table.add_column(_heading(column), justify=justify, no_wrap=True, overflow="ellipsis", max_width=70)
    units = rows["unit"].to_list() if "unit" in rows.columns else [""] * len(rows)
    for row, unit in zip(rows.to_dicts(), units, strict=True):
        cells = [_shown(row[key], unit if key == "value" else _unit(key)) for key in shown]
        table.add_row(*(escape(printable(cell)) for cell in cells))
    console.print(table)


def _unit(column: str) -> str:
    for end, unit in (("_ns", "ns"), ("_percent", "percent"), ("bytes", "bytes")):
        if column.endswith(end):
            return unit
    return "percent" if column == "percent" else ""


def _heading(column: str) -> str:
    for end in ("_ns", "_percent"):
        column = column.removesuffix(end)
    return column.replace("_", " ")


def _shown(value: Any, unit: str) -> str:
    """A cell for people: times, bytes and shares with units that fit their size."""
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
