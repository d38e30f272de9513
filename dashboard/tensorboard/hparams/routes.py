"""``/data/plugin/hparams``: TensorBoard's routes."""

from collections.abc import Callable
from typing import Annotated, Final, TypeVar

import orjson
from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from stepscope.dashboard.server.bodies import Body, parsed_message
from stepscope.dashboard.server.bounded_bodies import LARGEST_BODY
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import MAX_NAME
from stepscope.dashboard.server.pieces import json_answer, point_list
from stepscope.dashboard.server.work import LightRoute, Pieces, heavy
from stepscope.dashboard.tensorboard.hparams.columns import HParamsRequestError
from stepscope.dashboard.tensorboard.hparams.download import MEDIA_TYPES, Format, encoded, table
from stepscope.dashboard.tensorboard.hparams.experiment import experiment, readable_json
from stepscope.dashboard.tensorboard.hparams.groups import GroupsPage, session_groups
from stepscope.dashboard.tensorboard.hparams.sessions import run_of_metric
from stepscope.dashboard.tensorboard.messages import message_answer, messages_answer
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.summary.kinds.hparams import PLUGIN_NAME
from stepscope.summary.proto.hparams_pb2 import (
    Experiment,
    GetExperimentRequest,
    ListMetricEvalsRequest,
    ListSessionGroupsRequest,
)
from stepscope.summary.series import SCALARS
from stepscope.summary.snapshot import Snapshot

T = TypeVar("T")

MOST_COLUMNS: Final = 5_000

RequestJson = Annotated[
    str, Query(alias="request", max_length=LARGEST_BODY, description="The request message as JSON.")
]


def asking(answer: Callable[[], T]) -> T:
    """Return what ``answer`` gives.

    Raises:
        HTTPException: 400 where the request cannot be met.
    """
    try:
        return answer()
    except HParamsRequestError as error:
        raise HTTPException(400, str(error)) from error


def experiment_asked_for(snapshot: Snapshot, request: GetExperimentRequest) -> Experiment:
    """Return the experiment with what the request includes."""
    include = request.include_metrics or not request.HasField("include_metrics")
    return readable_json(experiment(snapshot, include_metrics=include, limit=request.hparams_limit))


def metric_points(snapshot: Snapshot, request: ListMetricEvalsRequest) -> Response:
    """Return every point of a metric of a session.

    Raises:
        HTTPException: 404 where the session has no such metric.
    """
    run = run_of_metric(request.session_name, request.metric_name.group)
    return json_answer(point_list(find_series(snapshot, run, request.metric_name.tag, SCALARS)))


def groups_asked_for(snapshot: Snapshot, request: ListSessionGroupsRequest) -> GroupsPage:
    """Return the groups, or why there cannot be any."""
    return asking(lambda: session_groups(snapshot, request))


def groups_answer(snapshot: Snapshot, request: ListSessionGroupsRequest) -> Response:
    """Return the groups as they are asked for, each made JSON when it is sent."""
    found = groups_asked_for(snapshot, request)
    return messages_answer("sessionGroups", found.groups, totalSize=found.total)


def visible_columns(text: str) -> list[bool]:
    """Return which columns a table has.

    Raises:
        HTTPException: 400 where the text is not a JSON list of true and false.
    """
    try:
        visible = orjson.loads(text)
    except ValueError as error:
        raise HTTPException(400, f"Expected columnsVisibility as JSON: {error}.") from error
    if (
        not isinstance(visible, list)
        or not all(isinstance(one, bool) for one in visible)
        or len(visible) > MOST_COLUMNS
    ):
        raise HTTPException(400, f"Expected columnsVisibility as a list of at most {MOST_COLUMNS} true and false.")
    return visible


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["hparams"], route_class=LightRoute)

    @routes.get("/data/plugin/hparams/experiment")
    def get_experiment(request: RequestJson) -> Response:
        """Return the hyperparameters and metrics there are; ``request`` is a GetExperimentRequest."""
        return message_answer(experiment_asked_for(live.snapshot(), parsed_message(request, GetExperimentRequest())))

    @routes.post("/data/plugin/hparams/experiment")
    def post_experiment(body: Body) -> Response:
        """Return the same, with the request as the body."""
        return message_answer(experiment_asked_for(live.snapshot(), parsed_message(body, GetExperimentRequest())))

    @routes.get("/data/plugin/hparams/session_groups")
    @heavy
    def get_session_groups(request: RequestJson) -> Response:
        """Return a page of session groups, filtered and sorted; ``request`` is a ListSessionGroupsRequest."""
        return groups_answer(live.snapshot(), parsed_message(request, ListSessionGroupsRequest()))

    @routes.post("/data/plugin/hparams/session_groups")
    @heavy
    def post_session_groups(body: Body) -> Response:
        """Return the same, with the request as the body."""
        return groups_answer(live.snapshot(), parsed_message(body, ListSessionGroupsRequest()))

    @routes.get("/data/plugin/hparams/metric_evals")
    def get_metric_evals(request: RequestJson) -> Response:
        """Return every point of one metric of one session; ``request`` is a ListMetricEvalsRequest."""
        return metric_points(live.snapshot(), parsed_message(request, ListMetricEvalsRequest()))

    @routes.post("/data/plugin/hparams/metric_evals")
    def post_metric_evals(body: Body) -> Response:
        """Return the same, with the request as the body."""
        return metric_points(live.snapshot(), parsed_message(body, ListMetricEvalsRequest()))

    @routes.get("/data/plugin/hparams/download_data")
    @heavy
    def download_data(
        request: RequestJson,
        columnsVisibility: Annotated[str, Query(max_length=16 * MAX_NAME)],  # noqa: N803 - TensorBoard's name
        format: Format = "csv",
    ) -> Response:
        """Return the table of session groups as a file; ``columnsVisibility`` is a JSON list of true and false."""
        snapshot = live.snapshot()
        requested = parsed_message(request, ListSessionGroupsRequest())
        visible = visible_columns(columnsVisibility)
        include = requested.include_metrics or not requested.HasField("include_metrics")
        columns = experiment(snapshot, include_metrics=include)
        content = encoded(*table(columns, groups_asked_for(snapshot, requested).groups, visible), format)
        extension = "tex" if format == "latex" else format
        return Pieces(content, media_type=MEDIA_TYPES[format], headers=attachment("hparams", extension))

    return routes


PLUGIN: Final = TensorboardPlugin(name="hparams", tab="hparams", kinds=(PLUGIN_NAME,), router=router)
