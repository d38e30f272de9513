"""Session groups: sessions of one name or of the same hyperparameters, with their metrics joined."""

from collections.abc import Callable, Iterable
from statistics import fmean

from stepscope.dashboard.tensorboard.hparams.columns import (
    HParamsRequestError,
    filtered,
    keep_included,
    metric_value,
    ordered,
)
from stepscope.dashboard.tensorboard.hparams.experiment import experiment
from stepscope.dashboard.tensorboard.hparams.sessions import FoundSession, hparams_of, session_message, sessions
from stepscope.summary.listed import let_go
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.hparams_pb2 import (
    ListSessionGroupsRequest,
    ListSessionGroupsResponse,
    MetricName,
    MetricValue,
    Session,
    SessionGroup,
)
from stepscope.summary.snapshot import Snapshot


def session_groups(snapshot: Snapshot, request: ListSessionGroupsRequest) -> ListSessionGroupsResponse:
    """Return a page of the groups that pass the request's filters, in its order, and how many there are in all.

    As in TensorBoard, a request that allows no status gets no sessions, and one without a ``slice_size`` no groups.

    Raises:
        HParamsRequestError: a filter, an order or an aggregation cannot be had.
    """
    if request.start_index < 0 or request.slice_size < 0:
        raise HParamsRequestError(
            f"Expected startIndex and sliceSize of at least 0, got {request.start_index} and {request.slice_size}."
        )
    groups = _grouped(snapshot, request)
    for group in groups:
        group.metric_values.extend(_joined_metrics(list(group.sessions), request))
    groups = ordered(filtered(groups, request.col_params), request.col_params)
    keep_included(groups, request.col_params)
    page = groups[request.start_index : request.start_index + request.slice_size]
    answer = ListSessionGroupsResponse(session_groups=page, total_size=len(groups))
    del page
    let_go(groups)
    return answer


def _grouped(snapshot: Snapshot, request: ListSessionGroupsRequest) -> list[SessionGroup]:
    include_metrics = request.include_metrics or not request.HasField("include_metrics")
    metrics = experiment(snapshot).metric_infos if include_metrics else ()
    groups: dict[str, SessionGroup] = {}
    for found in sessions(snapshot.runs):
        session = session_message(snapshot, found, metrics)
        if session.status in request.allowed_statuses:
            name = found.start.group_name or session.name
            if name not in groups:
                groups[name] = _new_group(name, found)
            groups[name].sessions.append(session)
    return list(groups.values())


def _new_group(name: str, first: FoundSession) -> SessionGroup:
    group = SessionGroup(name=name, monitor_url=first.start.monitor_url)
    for hparam, value in hparams_of(first.start).items():
        group.hparams[hparam].CopyFrom(value)
    return group


def _joined_metrics(members: list[Session], request: ListSessionGroupsRequest) -> Iterable[MetricValue]:
    metric = request.aggregation_metric
    match request.aggregation_type:
        case hparams_pb2.AGGREGATION_UNSET | hparams_pb2.AGGREGATION_AVG:
            return _averages(members)
        case hparams_pb2.AGGREGATION_MEDIAN:
            return _of_one(members, metric, lambda values: sorted(values)[(len(values) - 1) // 2])
        case hparams_pb2.AGGREGATION_MIN:
            return _of_one(members, metric, min)
        case hparams_pb2.AGGREGATION_MAX:
            return _of_one(members, metric, max)
        case unknown:
            raise HParamsRequestError(f"Expected an aggregation such as AGGREGATION_AVG, got number {unknown}.")


def _averages(members: Iterable[Session]) -> list[MetricValue]:
    """Return the mean of each metric, its step (cut to a whole number) and its time over the sessions that have it."""
    values: dict[tuple[str, str], list[MetricValue]] = {}
    for session in members:
        for value in session.metric_values:
            values.setdefault((value.name.group, value.name.tag), []).append(value)
    return [
        MetricValue(
            name=MetricName(group=group, tag=tag),
            value=fmean(value.value for value in found),
            training_step=sum(value.training_step for value in found) // len(found),
            wall_time_secs=fmean(value.wall_time_secs for value in found),
        )
        for (group, tag), found in values.items()
    ]


def _of_one(
    members: Iterable[Session], metric: MetricName, choose: Callable[[list[float]], float]
) -> Iterable[MetricValue]:
    """Return all metrics of the first session whose value of ``metric`` is the chosen one.

    None where no session has it.
    """
    having = [(found.value, session) for session in members if (found := metric_value(session.metric_values, metric))]
    numbers = [value for value, _ in having if value == value]
    if not numbers:
        return having[0][1].metric_values if having else ()
    chosen = choose(numbers)
    return next(session for value, session in having if value == chosen).metric_values
