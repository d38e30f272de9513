"""Session groups: sessions of one name or of the same hyperparameters, with their metrics joined.

There may be a hundred thousand: messages are made of those that are sent alone, each when it is its turn.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from stepscope.dashboard.server.numbers import mean_of
from stepscope.dashboard.tensorboard.hparams.columns import (
    HParamsRequestError,
    filtered,
    is_included,
    metric_value,
    ordered,
)
from stepscope.dashboard.tensorboard.hparams.experiment import experiment
from stepscope.dashboard.tensorboard.hparams.sessions import (
    FoundSession,
    hparams_of,
    metric_values,
    python_value,
    session_message,
    session_of,
    session_start_of,
    sessions,
    status_of,
)
from stepscope.summary.kinds.hparams import HParamValue
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.hparams_pb2 import (
    ColParams,
    ListSessionGroupsRequest,
    MetricInfo,
    MetricName,
    MetricValue,
    SessionGroup,
)
from stepscope.summary.snapshot import Snapshot


@dataclass(frozen=True)
class GroupsPage:
    """Groups of a request."""

    groups: Iterator[SessionGroup]
    """Those of its page, each made when it is asked for."""
    total: int
    """How many pass its filters."""


def session_groups(snapshot: Snapshot, request: ListSessionGroupsRequest) -> GroupsPage:
    """Return a page of the groups that pass the request's filters, in its order, and how many there are in all.

    As in TensorBoard, a request that allows no status gets no sessions, and one without a ``slice_size`` no groups.

    Raises:
        HParamsRequestError: a filter, an order or an aggregation cannot be had.
    """
    if request.start_index < 0 or request.slice_size < 0:
        raise HParamsRequestError(
            f"Expected startIndex and sliceSize of at least 0, got {request.start_index} and {request.slice_size}."
        )
    groups = _Groups(snapshot, request)
    columns = request.col_params
    passing = filtered(range(len(groups.names)), columns, groups.values)
    in_order = ordered(passing, columns, groups.names, groups.values)
    page = islice(in_order, request.start_index, request.start_index + request.slice_size)
    return GroupsPage(map(groups.message, page), len(in_order))


class _Groups:
    """The groups of a request before its filters, in order of their first sessions."""

    def __init__(self, snapshot: Snapshot, request: ListSessionGroupsRequest) -> None:
        self._snapshot = snapshot
        include_metrics = request.include_metrics or not request.HasField("include_metrics")
        self._metrics: Sequence[MetricInfo] = experiment(snapshot).metric_infos if include_metrics else ()
        self._join = _joining(request)
        self._aggregated = request.aggregation_metric
        self._is_included = is_included(request.col_params)
        members: dict[str, list[str]] = {}
        for found in sessions(snapshot.runs):
            if status_of(found) in request.allowed_statuses:
                members.setdefault(found.start.group_name or found.run, []).append(found.run)
        self.names = list(members)
        self._members = list(members.values())

    def values(self, column: ColParams) -> Sequence[HParamValue | None]:
        """Return what each group has in a column.

        Raises:
            HParamsRequestError: the column is neither a hyperparameter nor a metric.
        """
        match column.WhichOneof("name"):
            case "metric":
                wanted = [info for info in self._metrics if info.name in (column.metric, self._aggregated)]
                return [self._metric(runs, column.metric, wanted) for runs in self._members]
            case "hparam":
                return [self._hparam(runs[0], column.hparam) for runs in self._members]
            case _ if self._members:
                raise HParamsRequestError("Each of colParams must name a metric or an hparam; one names neither.")
            case _:
                return ()

    def _metric(self, runs: Sequence[str], name: MetricName, wanted: Sequence[MetricInfo]) -> float | None:
        found = metric_value(self._join([metric_values(self._snapshot, run, wanted) for run in runs]), name)
        return None if found is None else found.value

    def _hparam(self, run: str, name: str) -> HParamValue | None:
        start = session_start_of(self._snapshot.runs[run])
        value = None if start is None else hparams_of(start).get(name)
        return None if value is None else python_value(value)

    def message(self, place: int) -> SessionGroup:
        """Return a group as it is sent, with the hyperparameters of its first session."""
        found = [one for run in self._members[place] if (one := session_of(self._snapshot.runs[run])) is not None]
        group = _new_group(self.names[place], found[0], self._is_included)
        group.sessions.extend(session_message(self._snapshot, one, self._metrics) for one in found)
        group.metric_values.extend(self._join([session.metric_values for session in group.sessions]))
        return group


def _new_group(name: str, first: FoundSession, included: Callable[[str], bool]) -> SessionGroup:
    group = SessionGroup(name=name, monitor_url=first.start.monitor_url)
    for hparam, value in hparams_of(first.start).items():
        if included(hparam):
            group.hparams[hparam].CopyFrom(value)
    return group


def _joining(request: ListSessionGroupsRequest) -> "_Join":
    """Return how the metrics of a group's sessions become those of the group."""
    metric = request.aggregation_metric
    match request.aggregation_type:
        case hparams_pb2.AGGREGATION_UNSET | hparams_pb2.AGGREGATION_AVG:
            return _averages
        case hparams_pb2.AGGREGATION_MEDIAN:
            return lambda members: _of_one(members, metric, lambda values: sorted(values)[(len(values) - 1) // 2])
        case hparams_pb2.AGGREGATION_MIN:
            return lambda members: _of_one(members, metric, min)
        case hparams_pb2.AGGREGATION_MAX:
            return lambda members: _of_one(members, metric, max)
        case unknown:
            raise HParamsRequestError(f"Expected an aggregation such as AGGREGATION_AVG, got number {unknown}.")


_Join = Callable[[Sequence[Sequence[MetricValue]]], Iterable[MetricValue]]


def _averages(members: Iterable[Iterable[MetricValue]]) -> list[MetricValue]:
    """Return the mean of each metric, its step (cut to a whole number) and its time over the sessions that have it."""
    values: dict[tuple[str, str], list[MetricValue]] = {}
    for session in members:
        for value in session:
            values.setdefault((value.name.group, value.name.tag), []).append(value)
    return [
        MetricValue(
            name=MetricName(group=group, tag=tag),
            value=mean_of([value.value for value in found]),
            training_step=sum(value.training_step for value in found) // len(found),
            wall_time_secs=mean_of([value.wall_time_secs for value in found]),
        )
        for (group, tag), found in values.items()
    ]


def _of_one(
    members: Iterable[Sequence[MetricValue]], metric: MetricName, choose: Callable[[list[float]], float]
) -> Iterable[MetricValue]:
    """Return all metrics of the first session whose value of ``metric`` is the chosen one.

    None where no session has it.
    """
    having = [(found.value, session) for session in members if (found := metric_value(session, metric))]
    numbers = [value for value, _ in having if value == value]
    if not numbers:
        return having[0][1] if having else ()
    chosen = choose(numbers)
    return next(session for value, session in having if value == chosen)
