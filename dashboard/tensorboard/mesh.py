"""``/data/plugin/mesh``: TensorBoard's routes."""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

import numpy as np
from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.parameters import Index, RunName, TagName
from stepscope.dashboard.server.pieces import json_answer, listed
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.summary.bounded_messages import parse
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.mesh import PLUGIN_NAME
from stepscope.summary.proto.plugin_data_pb2 import MeshPluginData
from stepscope.summary.series import Run, Series
from stepscope.summary.snapshot import Snapshot

Part = Literal["VERTEX", "FACE", "COLOR"]

_DTYPES: Final[dict[Part, np.dtype[Any]]] = {
    "VERTEX": np.dtype("<f4"),
    "FACE": np.dtype("<i4"),
    "COLOR": np.dtype("u1"),
}
_EVERY_PART: Final = sum(1 << number for number in MeshPluginData.ContentType.values() if number)


def plugin_data(series: Series) -> MeshPluginData | None:
    """Return a series' metadata; None if it cannot be read or names no part of a mesh."""
    try:
        found = parse(MeshPluginData, series.plugin_content)
    except DecodeError:
        return None
    return found if found.content_type in MeshPluginData.ContentType.values() and found.content_type else None


def parts_of(run: Run) -> dict[str, list[tuple[Series, MeshPluginData]]]:
    """Return the series of each mesh, by mesh name."""
    meshes: dict[str, list[tuple[Series, MeshPluginData]]] = {}
    for series in run.of_kind(PLUGIN_NAME):
        data = plugin_data(series)
        if data is not None:
            meshes.setdefault(data.name, []).append((series, data))
    return meshes


def find_parts(snapshot: Snapshot, run: str, tag: str) -> list[tuple[Series, MeshPluginData]]:
    """Return the series of one mesh of one run.

    Raises:
        HTTPException: 404 if the run has no such mesh.
    """
    found = parts_of(snapshot.runs[run]).get(tag, []) if run in snapshot.runs else []
    if not found:
        known = "unknown run" if run not in snapshot.runs else "this run has no mesh with that tag"
        raise HTTPException(404, f"No mesh for run {run!r}, tag {tag!r}: {known}. See /data/plugin/mesh/tags.")
    return found


def batch_size(series: Series, data: MeshPluginData) -> int:
    """Return the number of meshes in a step: from the metadata, or else from the first point."""
    if data.shape:
        return int(data.shape[0])
    try:
        return len(series.read(0).rows)
    except (PayloadError, IndexError):
        return 0


def moments(parts: list[tuple[Series, MeshPluginData]]) -> Iterator[dict[str, Any]]:
    """Yield every point of every part, in order of step: its time and its metadata."""
    steps = np.concatenate([series.steps for series, _ in parts])
    wall_times = np.concatenate([series.wall_times for series, _ in parts])
    part_of = np.repeat(np.arange(len(parts)), [len(series.steps) for series, _ in parts])
    known = [
        {
            "content_type": data.content_type,
            # Older writers do not record which parts exist.
            "components": data.components or _EVERY_PART,
            "config": data.json_config,
            "data_shape": list(data.shape),
        }
        for _, data in parts
    ]
    for at in np.argsort(steps, kind="stable"):
        yield {"wall_time": json_number(float(wall_times[at])), "step": int(steps[at]), **known[part_of[at]]}


def sample_bytes(series: Series, step: float, sample: int, part: Part) -> list[bytes]:
    """Return the rows of one mesh of the batch, for each point at the step, in the part's own dtype.

    Raises:
        HTTPException: 404 if the batch is smaller, 422 if a point cannot be read.
    """
    found: list[bytes] = []
    for index in np.flatnonzero(series.steps == step).tolist():
        try:
            rows = series.read(index).rows
        except PayloadError as error:
            raise HTTPException(422, f"No mesh: {error}.") from error
        if sample >= len(rows):
            raise HTTPException(404, f"There is no mesh {sample} at step {step:g}: there are {len(rows)}.")
        found.append(_converted(rows[sample], _DTYPES[part]).tobytes())
    return found


def _converted(rows: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return floats as whole numbers cut off, as TensorBoard does, where those have them; what processors do not agree
    on becomes the nearest whole number of the dtype, and NaN 0.
    """
    if rows.dtype.kind == "f" and dtype.kind in "iu":
        whole = np.iinfo(dtype)
        rows = np.nan_to_num(rows.astype(np.float64), nan=0.0).clip(whole.min, whole.max)
    with np.errstate(over="ignore"):
        return rows.astype(dtype)


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["mesh"], route_class=LightRoute)

    @routes.get("/data/plugin/mesh/tags")
    def tags() -> dict[str, dict[str, dict[str, int]]]:
        """Run -> mesh -> how many meshes a step has."""
        return {
            name: {tag: {"samples": batch_size(*parts[-1])} for tag, parts in found.items()}
            for name, run in live.snapshot().runs.items()
            if (found := parts_of(run))
        }

    @routes.get("/data/plugin/mesh/meshes")
    def meshes(run: RunName, tag: TagName) -> Response:
        """Return every step of every part of a mesh: its shape, existing parts (1 << content type), and the scene."""
        return json_answer(listed(moments(find_parts(live.snapshot(), run, tag))))

    @routes.get("/data/plugin/mesh/data", response_class=Response)
    def data(
        run: RunName,
        tag: TagName,
        content_type: Part,
        step: Annotated[float, Query(allow_inf_nan=False)] = 0.0,
        sample: Index = 0,
    ) -> Response:
        """Return the numbers of one part at one step, row by row: float32 vertices, int32 faces, or uint8 colors."""
        wanted = MeshPluginData.ContentType.Value(content_type)
        parts = [series for series, about in find_parts(live.snapshot(), run, tag) if about.content_type == wanted]
        content = [piece for series in parts for piece in sample_bytes(series, step, sample, content_type)]
        return Response(b"".join(content), media_type="application/octet-stream")

    return routes


PLUGIN: Final = TensorboardPlugin(name="mesh", tab="mesh", kinds=(PLUGIN_NAME,), router=router)
