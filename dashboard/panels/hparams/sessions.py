"""The sessions of a snapshot, and every column that they can have."""

import math
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeVar, cast

from stepscope.dashboard.panels.hparams.settings import Status, ValueOf
from stepscope.dashboard.runs.facts import Facts, RunFact
from stepscope.dashboard.runs.grouping import names_without_seed
from stepscope.dashboard.tensorboard.hparams.experiment import joined
from stepscope.dashboard.tensorboard.hparams.sessions import (
    FoundSession,
    experiments,
    metric_names,
    python_value,
    run_of_metric,
    scalar_summary,
    sessions,
)
from stepscope.summary.collections_off import putting_aside
from stepscope.summary.kinds.hparams import SESSION_START_TAG, HParamValue
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.hparams_pb2 import Experiment
from stepscope.summary.series import SCALARS, Run
from stepscope.summary.snapshot import EMPTY_SNAPSHOT, Snapshot

T = TypeVar("T")

Kind = Literal["hparam", "metric"]
ColumnType = Literal["number", "text"]
FIRST_METRICS: Final = 4
"""Number of metrics shown if no experiment declares any: often more are logged than a table can show."""

_STATUSES: Final[Mapping[int, Status]] = {
    hparams_pb2.STATUS_SUCCESS: "success",
    hparams_pb2.STATUS_FAILURE: "failure",
    hparams_pb2.STATUS_RUNNING: "running",
}


@dataclass(frozen=True)
class Column:
    """A hyperparameter or a metric."""

    key: str
    """Unique among all columns, and stable: its name in the URL."""
    label: str
    description: str
    kind: Kind
    type: ColumnType
    default: bool
    """Whether it is shown by default."""
    values: tuple[str, ...] = ()
    """For a hyperparameter, the texts of its values: in the declared order, else sorted by size or alphabetically."""
    group: str = ""
    """For a metric, the folder below the session's run."""
    tag: str = ""


@dataclass(frozen=True)
class Session:
    """One session: its hyperparameters, and where its metrics are."""

    run: str
    runs: tuple[str, ...]
    """The session's run and all that belong to it."""
    group: str
    """As declared by the session; else shared with the sessions that differ only in their seed; else its run."""
    status: Status
    start: float
    """Seconds since the epoch, as declared by the session; else the time of its run's first event."""
    end: float | None
    """As declared by the session; None if not declared."""
    hparams: Mapping[str, HParamValue]


@dataclass(frozen=True)
class Sessions:
    """All sessions of a snapshot, and the columns of any of them or of any experiment."""

    snapshot: Snapshot
    sessions: tuple[Session, ...]
    columns: tuple[Column, ...]
    """Hyperparameters, differing ones first; then metrics, declared ones first."""
    folder: str = ""
    """The folder that the sessions are limited to; empty for all."""
    _known: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return the result of ``make`` from sessions and columns, without any points; computed on first use."""
        if key not in self._known:
            self._known[key] = make()
        return cast(T, self._known[key])


def has_sessions(snapshot: Snapshot) -> bool:
    """Return whether any run has started a session."""
    return any(SESSION_START_TAG in run.series for run in snapshot.runs.values())


def read_sessions(snapshot: Snapshot, folder: str = "") -> Sessions:
    """Return the sessions of a snapshot.

    Hyperparameters are read once, as long as no run, tag or hyperparameter is added or removed.

    Args:
        snapshot: the log directory.
        folder: use only the runs below this folder; empty for all.
    """
    if folder and folder not in folders(snapshot):
        return _read_sessions(snapshot, folder)

    # Without the snapshot, which holds the facts about it: a reference cycle would stay for long.
    def read() -> Sessions:
        with putting_aside():
            return replace(_read_sessions(snapshot, folder), snapshot=EMPTY_SNAPSHOT)

    found = Facts.of(snapshot).once(("sessions", folder), read)
    return replace(found, snapshot=snapshot)


def _read_sessions(snapshot: Snapshot, folder: str) -> Sessions:
    found = [session for session in sessions(snapshot.runs) if not folder or first_folder(session.run) == folder]
    belonging = runs_of_sessions(snapshot, [session.run for session in found])
    read = _seeds_as_groups([_session(snapshot, one, belonging[one.run]) for one in found])
    said = joined(experiments(snapshot.runs))
    hparams = _hparam_columns(said, read)
    metrics = _metric_columns(snapshot, said, read, frozenset(column.key for column in hparams))
    return Sessions(snapshot, read, (*hparams, *metrics), folder)


def first_folder(run: str) -> str:
    """Return the first part of a run's name if it has several; else an empty string."""
    first, slash, _ = run.partition("/")
    return first if slash else ""


def folders(snapshot: Snapshot) -> list[str]:
    """Return the first folders of the runs that sessions started in, if there is more than one."""

    def found() -> list[str]:
        own = sorted({first_folder(run.name) for run in snapshot.runs.values() if SESSION_START_TAG in run.series})
        return own if len(own) > 1 and "" not in own else []

    return Facts.of(snapshot).once("folders", found)


def runs_of_sessions(snapshot: Snapshot, session_runs: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return, by session, the runs that belong to it.

    These are its own run and the runs below it that belong to no session further down, such as "validation". PyTorch's
    ``add_hparams`` creates a run for the session below the one that has the curves: if that parent run is not a session
    and has only one session below it, it belongs to the session too.
    """
    known = frozenset(session_runs)
    found: dict[str, list[str]] = {run: [run] for run in session_runs}
    below: dict[str, list[str]] = {}
    for run in session_runs:
        below.setdefault(posixpath.dirname(run) or ".", []).append(run)
    for run in snapshot.runs:
        if run in known:
            continue
        above = _session_above(run, known)
        if above is not None:
            found[above].append(run)
        elif len(below.get(run, ())) == 1:
            found[below[run][0]].append(run)
    return {session: tuple(runs) for session, runs in found.items()}


def metric_value(snapshot: Snapshot, session: Session, metric: Column, which: ValueOf) -> tuple[float, int] | None:
    """Return the value of a metric and its step; None if the session has none.

    Non-finite values are never the minimum or maximum; if there are no others, the last value is returned.
    """
    run = snapshot.runs.get(run_of_metric(session.run, metric.group))
    return None if run is None else Reached(metric.tag, which).of_run(run)


@dataclass(frozen=True)
class Reached(RunFact):
    """The value that a scalar of a run reached, and at which step."""

    tag: str
    which: ValueOf

    def of_run(self, run: Run) -> tuple[float, int] | None:
        """Return the value and its step; None if there is none, or its points are gone."""
        summary = scalar_summary(run, self.tag)
        if summary is None:
            return None
        match self.which:
            case "min" if not math.isnan(summary.least):
                return summary.least, summary.least_step
            case "max" if not math.isnan(summary.greatest):
                return summary.greatest, summary.greatest_step
            case _:
                return summary.last, summary.last_step


def last_time(snapshot: Snapshot, session: Session) -> float | None:
    """Return the wall time of the last scalar of a session's runs; None if there is none that can be read."""
    times = [
        summary.last_time
        for run in session.runs
        for tag in snapshot.runs[run].tags_of_kind(SCALARS)
        if (summary := scalar_summary(snapshot.runs[run], tag)) is not None
    ]
    return max(times, default=None)


def text_of(value: HParamValue | None) -> str:
    """Return a value as written in the table and the URL: "true", "0.001", "64", "adam", or "" for none."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _ if math.isfinite(value) and value == int(value) and abs(value) < 1e15:
            return str(int(value))
        case _:
            return repr(float(value))


def _session(snapshot: Snapshot, found: FoundSession, runs: tuple[str, ...]) -> Session:
    values = {name: python_value(value) for name, value in found.start.hparams.items()}
    return Session(
        run=found.run,
        runs=runs,
        group=found.start.group_name,
        status="running" if found.end is None else _STATUSES.get(found.end.status, "unknown"),
        start=found.start.start_time_secs or snapshot.runs[found.run].first_wall_time,
        end=(found.end.end_time_secs or None) if found.end is not None else None,
        hparams={name: value for name, value in values.items() if value is not None},
    )


def _seeds_as_groups(found: Sequence[Session]) -> tuple[Session, ...]:
    """Return the sessions, where those that name no group get the group that they share with other seeds.

    PyTorch's ``add_hparams`` puts a session below the run that has the name, so that is the shortest one.
    """
    ungrouped = {session.run: min(session.runs, key=len) for session in found if not session.group}
    hparams = {ungrouped[session.run]: session.hparams for session in found if session.run in ungrouped}
    labels = names_without_seed(hparams)
    members = Counter(labels[name] for name in ungrouped.values())
    return tuple(
        replace(session, group=labels[name] if members[labels[name]] > 1 else session.run)
        if (name := ungrouped.get(session.run)) is not None
        else session
        for session in found
    )


def _hparam_columns(said: Experiment, read: Iterable[Session]) -> list[Column]:
    infos = {info.name: info for info in said.hparam_infos}
    values: dict[str, list[HParamValue | None]] = {name: [] for name in infos}
    count = 0
    for session in read:
        for name, value in session.hparams.items():
            values.setdefault(name, []).append(value)
        count += 1
    columns: list[Column] = []
    for name, have in values.items():
        if len(have) < count:
            have.append(None)
        info = infos.get(name)
        order = [python_value(value) for value in info.domain_discrete.values] if info is not None else []
        # Distinct by text, as Python's sets treat True as 1.0.
        distinct = {text_of(value): value for value in have}
        columns.append(
            Column(
                key=name,
                label=(info.display_name if info is not None else "") or name,
                description=info.description if info is not None else "",
                kind="hparam",
                type="number" if all(type(value) is float for value in have if value is not None) else "text",
                default=len(distinct) > 1,
                values=_in_order(distinct.values(), order),
            )
        )
    return sorted(columns, key=lambda column: (not column.default, column.key))


def _in_order(values: Iterable[HParamValue | None], declared: Sequence[HParamValue | None]) -> tuple[str, ...]:
    place = {text_of(value): at for at, value in enumerate(declared)}

    def key(value: HParamValue | None) -> tuple[int, bool, float, str]:
        number = isinstance(value, float) and not math.isnan(value)
        at = place.get(text_of(value), len(place)) if value is not None else len(place) + 1
        return at, not number, float(value) if number and value is not None else 0.0, text_of(value)

    return tuple(dict.fromkeys(text_of(value) for value in sorted(values, key=key)))


def _metric_columns(
    snapshot: Snapshot, said: Experiment, read: Sequence[Session], taken: frozenset[str]
) -> list[Column]:
    declared = {(info.name.group, info.name.tag): info for info in said.metric_infos}
    logged = [(name.group, name.tag) for name in metric_names(snapshot, [session.run for session in read])]
    known = frozenset(logged)
    first = [name for name in declared if name in known] or logged[:FIRST_METRICS]
    used = set(taken)
    columns: list[Column] = []
    for group, tag in dict.fromkeys([*first, *declared, *logged]):
        key = f"{group}/{tag}" if group else tag
        while key in used:
            key += " (metric)"
        used.add(key)
        info = declared.get((group, tag))
        columns.append(
            Column(
                key=key,
                label=(info.display_name if info is not None else "") or key,
                description=info.description if info is not None else "",
                kind="metric",
                type="number",
                default=(group, tag) in first,
                group=group,
                tag=tag,
            )
        )
    return columns


def _session_above(run: str, known: frozenset[str]) -> str | None:
    at = run
    while at and at not in known:
        at = posixpath.dirname(at)
    return at or ("." if "." in known else None)
