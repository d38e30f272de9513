"""``stepscope analyze``: where the time of a trace went, as tables, as JSON, and as a check for CI."""

import math
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson
from rich.console import Console

from stepscope.dashboard.cli.analyze_text import Answer, print_answer, print_shared, shown
from stepscope.dashboard.cli.engines import INTERRUPTED, UNREADABLE, add_engine
from stepscope.dashboard.cli.reading import printable, standard_output
from stepscope.dashboard.traces.folders import remote_traces, traces_at
from stepscope.summary.engine import engine_at
from stepscope.summary.errors import UserError
from stepscope.summary.storage import is_address

if TYPE_CHECKING:
    import polars as pl

    from stepscope.profiler.analysis.metrics import Metric
    from stepscope.profiler.ranks.collection import CollectedRanks

DEFAULT_TOP: Final = 10
DEFAULT_PER: Final = "step"
_RANK: Final = re.compile(r"(?i)rank[-_.]?(\d+)")
"""How file names indicate ranks."""
CONDITION_HELD: Final = 1
"""Exit code when the condition of ``--fail-if`` holds; errors end with 2."""
MOST_DIGESTS: Final = 64
"""Maximum number of traces for which the tables of each trace are printed by default."""
MOST_RANKS: Final = 20_000
"""Maximum number of traces below a folder that are analyzed together."""


class AnalyzeVerb:
    """Prints analyses of traces, and fails if a condition on their figures holds."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the traces, which tables to print, and the condition to fail on."""
        parser.add_argument(
            "trace",
            nargs="+",
            metavar="TRACE",
            help="a trace file, or a folder of traces; several files are taken as the ranks of one job, in the given "
            "order; so are the traces of a folder, if they state their ranks or were recorded at the same time",
        )
        parser.add_argument("--json", action="store_true", help="print the complete tables as JSON")
        parser.add_argument(
            "--fail-if",
            metavar="CONDITION",
            help="exit with code 1 if CONDITION holds for any trace; for example "
            '"gpu_idle > 20%% or step_time > 1.5 s"; with --before also "step_time_change > 5%%", with several ranks '
            '"rank_step_spread > 10%%"',
        )
        parser.add_argument(
            "--table",
            action="append",
            default=[],
            metavar="NAME",
            help='print this table instead of the summary; may be given several times, "all" prints every table',
        )
        parser.add_argument(
            "--top",
            type=int,
            default=DEFAULT_TOP,
            metavar="N",
            help=f"rows of each table (default: {DEFAULT_TOP}; 0: all)",
        )
        parser.add_argument("--before", metavar="TRACE", help="also report what changed since this trace")
        parser.add_argument(
            "--per",
            choices=("step", "call", "total"),
            help=f"with --before: compare a mean step, a mean call, or totals (default: {DEFAULT_PER})",
        )
        parser.add_argument(
            "--peak-tflops",
            type=_peak,
            metavar="N",
            help="the peak compute throughput of a device in TFLOP/s, for mfu and the roofline; "
            "by default the data sheet value, where the device is known",
        )
        parser.add_argument(
            "--peak-gbps", type=_peak, metavar="N", help="the bandwidth of a device's memory in GB/s, for the roofline"
        )
        add_engine(parser, "read the traces of many ranks", default="threads; processes for many traces")
        parser.add_argument(
            "--facts",
            metavar="PLACE",
            help="the folder, or address such as s3://bucket/facts, that caches the results of each of several "
            "traces for the next run (default: the user's cache)",
        )
        parser.epilog = _names_of_tables()

    def run(self, arguments: Namespace) -> int:
        """Print the tables, and report on standard error whether the condition holds.

        Raises:
            UserError: a trace cannot be read, or a table, metric or condition is invalid.
        """
        from stepscope.dashboard.cli.analyze_ranks import (
            Question,
            answers_from_facts,
            answers_of,
            fact_store,
            failed_tables,
            gathered,
            tables_of,
        )
        from stepscope.profiler.analysis.condition import named, parse
        from stepscope.profiler.analysis.device_peaks import StatedPeaks
        from stepscope.profiler.analysis.facts import Facts
        from stepscope.profiler.analysis.metric_sources import metrics_of_ranks
        from stepscope.profiler.traces import load_trace

        _check(arguments)
        condition = parse(arguments.fail_if) if arguments.fail_if is not None else None
        paths = [path for given in arguments.trace for path in _places(given)]
        several = len(paths) > 1
        names = _chosen(arguments.table, ranks=several, before=arguments.before is not None)
        metric_names = named(condition) if condition is not None else ()
        if not arguments.table and len(paths) > MOST_DIGESTS:
            names = [name for name in names if _is_shared(name)]
            words = f"{len(paths):,} traces: showing combined results. Name one of them to see its own tables."
            print(words, file=sys.stderr)
        stated = StatedPeaks(arguments.peak_tflops, arguments.peak_gbps)
        question = Question(
            own=tuple(name for name in names if not _is_shared(name)),
            shared=tuple(filter(_is_shared, names)),
            asked=frozenset(arguments.table),
            before=Facts(load_trace(_only(arguments.before)), stated) if arguments.before is not None else None,
            per=arguments.per or DEFAULT_PER,
            peaks=stated,
            metrics=metric_names,
        )
        store = fact_store(arguments.facts)
        ranks: CollectedRanks | None = None
        failures: Mapping[str, str] = {}
        stopped = False
        if question.needs_each or not several:
            answers, ranks, failures = answers_of(paths, question, store if several else None)
        else:
            ranks, stopped = gathered(paths, question, store, arguments.engine, arguments.top)
            answers = answers_from_facts(ranks)
            failures = ranks.failures
        for reason in failures.values():
            print(printable(reason), file=sys.stderr)
        together = ranks is not None and len(ranks.ranks) > 1 and _are_ranks(arguments.trace, paths, ranks)
        shared_names = question.shared if together or arguments.table else ()
        shared = tables_of(shared_names, question, None, ranks) if ranks is not None else {}
        missing = failed_tables(question, answers, shared if shared_names and ranks is not None else None)
        failed = [""] * len(answers)
        if condition is not None:
            of_ranks = metrics_of_ranks(metric_names, ranks)
            failed = [_failed(condition, {**answer.metrics, **of_ranks}) for answer in answers]
        if arguments.json:
            _print_json(answers, shared, ranks, failures, arguments.fail_if, failed)
        else:
            if not arguments.table:
                answers = [replace(answer, tables=_without_devices(answer)) for answer in answers]
            _print_text(answers if question.needs_each or not several else (), shared, ranks, arguments.top)
        for answer, holds in zip(answers, failed, strict=True):
            if holds:
                print(printable(f"{answer.path}: {arguments.fail_if}: {holds}"), file=sys.stderr)
        if stopped:
            return INTERRUPTED
        if missing:
            verb = "because its plug-in failed" if len(missing) == 1 else "because their plug-ins failed"
            raise UserError(f"{' and '.join(f'--table {name}' for name in missing)} cannot be made, {verb}.")
        if failures:
            return UNREADABLE
        return CONDITION_HELD if any(failed) else 0


def _names_of_tables() -> str:
    from stepscope.profiler.analysis.report import analyses

    kinds = (
        ("", analyses("trace")),
        (" of several traces", analyses("ranks")),
        (" with --before", analyses("changes")),
    )
    return " ".join(f"Tables{words}: {', '.join(names)}." for words, names in kinds)


def _check(arguments: Namespace) -> None:
    """Raise UserError for options that would be ignored or misread, before minutes of reading."""
    if arguments.top < 0:
        raise UserError(f"--top is {arguments.top}; expected a number of rows, such as {DEFAULT_TOP}, or 0 for all")
    if arguments.per is not None and arguments.before is None:
        raise UserError(f"--per {arguments.per} needs --before TRACE, the trace to compare with")
    # It is used only for the facts of several ranks.
    engine_at(arguments.engine)


def _peak(given: str) -> float:
    """Return a peak: a number above 0."""
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"expected a number above 0, got {given!r}")
    return value


def _places(given: str) -> list[str]:
    return remote_traces(given) if is_address(given) else traces_at(given, MOST_RANKS)


def _are_ranks(given: Sequence[str], paths: Sequence[str], found: "CollectedRanks") -> bool:
    """Return whether several traces are treated as ranks of one job; for a folder, report this on standard error."""
    if len(given) > 1:
        # Traces named one by one are meant as ranks.
        return True
    by_file = [_RANK.search(path.rpartition("/")[2]) for path in paths]
    by_name = None not in by_file and len({match[1] for match in by_file if match}) == len(paths)
    ranks = by_name or found.are_of_one_job()
    how = "taken as the ranks of one job" if ranks else "each on its own, because they are not ranks of one job"
    print(printable(f"{given[0]}: {len(paths):,} traces, {how}."), file=sys.stderr)
    return ranks


def _without_devices(answer: Answer) -> "dict[str, pl.DataFrame]":
    """Return the digest without device tables if the trace has no devices."""
    from stepscope.profiler.analysis.report import analyses

    known = analyses()
    tables = answer.tables.items()
    return {name: frame for name, frame in tables if answer.about.device or not known[name].of_devices}


def _only(given: str) -> str:
    """Return the only trace at a place.

    Raises:
        UserError: there are several.
    """
    found = traces_at(given)
    if len(found) > 1:
        raise UserError(f"{given} has {len(found)} traces. Expected one: name its file.")
    return found[0]


def _is_shared(name: str) -> bool:
    """Return whether a table covers all traces together."""
    from stepscope.profiler.analysis.report import analyses

    return name in analyses("ranks")


def _chosen(given: Sequence[str], *, ranks: bool, before: bool) -> list[str]:
    """Return the tables to print.

    Raises:
        UserError: one is not a table, or needs traces that were not given.
    """
    from stepscope.profiler.analysis.compare import CHANGES
    from stepscope.profiler.analysis.report import DIGEST, DIGEST_OF_RANKS, analyses

    of_trace, of_ranks, changes = analyses("trace"), analyses("ranks"), analyses("changes")
    available = [*of_trace, *(of_ranks if ranks else ()), *(changes if before else ())]
    if not given:
        own_changes = [analysis.name for analysis in CHANGES.values()]
        extra = [*(DIGEST_OF_RANKS if ranks else ()), *(own_changes if before else ())]
        return [*DIGEST, *extra]
    chosen = available if "all" in given else list(dict.fromkeys(given))
    for name in chosen:
        if name not in available:
            needs = {**dict.fromkeys(of_ranks, "several traces"), **dict.fromkeys(changes, "--before")}
            reason = f"it needs {needs[name]}" if name in needs else f"expected one of {', '.join(available)}"
            raise UserError(f"--table {name} is not available; {reason}.")
    return chosen


def _failed(condition: Any, known: "Mapping[str, Metric]") -> str:
    """Return the figures for which the condition holds, as text; empty if it does not hold."""
    from stepscope.profiler.analysis.condition import holds, named

    if not holds(condition, known):
        return ""
    return ", ".join(f"{name} is {shown(known[name].value, known[name].unit)}" for name in named(condition))


def _print_json(
    answers: Sequence[Answer],
    shared: "Mapping[str, pl.DataFrame]",
    ranks: "CollectedRanks | None",
    failures: Mapping[str, str],
    condition: str | None,
    failed: Sequence[str],
) -> None:
    from stepscope.profiler.analysis.report import plain

    content: dict[str, Any] = {"traces": [_as_json(answer) for answer in answers]}
    content["tables"] = {name: plain(frame) for name, frame in shared.items()}
    if ranks is not None:
        content["ranks"] = {
            "found": len(ranks.files),
            "read": len(ranks.ranks),
            "failures": dict(failures),
            "left_out": dict(ranks.left_out),
        }
    if condition is not None:
        content["fail_if"] = {
            "condition": condition,
            "failed": [answer.path for answer, holds in zip(answers, failed, strict=True) if holds],
        }
    with standard_output() as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _as_json(answer: Answer) -> dict[str, Any]:
    from stepscope.profiler.analysis.report import plain

    found: dict[str, Any] = {
        "path": answer.path,
        "slices": answer.slices,
        "losses": {"counts": dict(answer.losses.counts), "notes": list(answer.losses.notes)},
        "tables": {name: plain(frame) for name, frame in answer.tables.items()},
    }
    if answer.basis is not None:
        basis = answer.basis
        found["compared"] = {
            "per": basis.per,
            "steps_before": basis.steps_before,
            "steps_after": basis.steps_after,
        }
    return found


def _print_text(
    answers: Sequence[Answer], shared: "Mapping[str, pl.DataFrame]", ranks: "CollectedRanks | None", top: int
) -> None:
    with standard_output() as stream:
        # Written as bytes, so that the encoding of a terminal or pipe does not matter.
        console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
        with console.capture() as captured:
            for answer in answers:
                print_answer(console, answer, top)
            print_shared(console, shared, ranks, top, alone=not answers)
        stream.write(captured.get().encode())
