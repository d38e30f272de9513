"""Mesh geometry over HTTP, for the page and as files."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response
from numpy.typing import NDArray

from stepscope.dashboard.panels.mesh.files import describe, pack, ply
from stepscope.dashboard.panels.mesh.geometry import Rows, make_geometry, sample_of
from stepscope.dashboard.panels.mesh.messages import MeshHeader
from stepscope.dashboard.panels.mesh.series import NO_POINT, MeshSeries, meshes_of
from stepscope.dashboard.server.headers import LOOK_AGAIN, UNCHANGING, attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import MAX_NAME, Index, RunName, Step, TagName
from stepscope.dashboard.server.work import HeavyRoute
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.mesh import Mesh
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot

OtherIndex = Annotated[int, Query(ge=NO_POINT, lt=1 << 63, description="Place of a point in its series; -1 for none.")]


def find_mesh(snapshot: Snapshot, run: str, tag: str) -> MeshSeries:
    """Return a mesh of a run.

    Raises:
        HTTPException: 404 if the run does not have the mesh.
    """
    found = snapshot.runs.get(run)
    mesh = None if found is None else meshes_of(found).get(tag)
    if mesh is None:
        known = "unknown run" if found is None else "this run has no mesh of that name"
        raise HTTPException(404, f"No mesh for run {run!r}, tag {tag!r}: {known}. See /data/plugin/mesh/tags.")
    return mesh


def rows_of(series: Series, index: int) -> NDArray[Any]:
    """Return the whole batch at a point, shape [batch, n, 3].

    Raises:
        HTTPException: 404 if the point does not exist.
        PayloadError: if it cannot be read.
    """
    try:
        found: Mesh = series.read(index)
    except IndexError as error:
        raise HTTPException(404, f"{error}.") from error
    return found.rows


def extra_rows(
    series: Series | None, index: int, sample: int, vertices: Series, at: int, notes: list[str], what: str
) -> Rows | None:
    """Return faces or colors; None if there are none. Add a note if there should be some, or if they are older."""
    if series is None:
        return None
    if index == NO_POINT:
        notes.append(f"No {what} at this step or before")
        return None
    try:
        rows = sample_of(rows_of(series, index), sample)
    except PayloadError as error:
        notes.append(f"The {what} cannot be read: {error}")
        return None
    if index < len(series) and series.steps[index] != vertices.steps[at]:
        notes.append(f"Using the {what} of step {int(series.steps[index]):,}: this step has none")
    return rows


def check_moment(series: Series, index: int, step: int | None, wall_time: float | None) -> dict[str, str]:
    """Return headers that say how long a response is valid: forever, if the client also named the point's moment.

    Raises:
        HTTPException: 404 if the point has another moment, because the run was restarted.
    """
    if step is None or wall_time is None:
        return {"Cache-Control": LOOK_AGAIN}
    if index < len(series) and (int(series.steps[index]), float(series.wall_times[index])) == (step, wall_time):
        return {"Cache-Control": UNCHANGING}
    raise HTTPException(404, f"Point {index} of {series.run!r}, {series.tag!r} has changed; request it without step.")


def geometry_bytes(
    mesh: MeshSeries, vertices: Series, places: tuple[int, int, int], sample: int, other: tuple[Series, int] | None
) -> bytes:
    """Return the answer for the page; problems with the data are in its header, under "error" and "notes"."""
    index, face, color = places
    notes: list[str] = []
    header: MeshHeader = {"samples": 0, "error": "", "notes": notes}
    try:
        batch = rows_of(vertices, index)
        header["samples"], header["vertices"] = len(batch), batch.shape[1]
        faces = extra_rows(mesh.faces, face, sample, vertices, index, notes, "faces")
        header["faces"] = 0 if faces is None else len(faces)
        colors = extra_rows(mesh.colors, color, sample, vertices, index, notes, "colors")
        reference = _reference(other, sample, notes)
        geometry = make_geometry(sample_of(batch, sample), faces, colors, reference)
    except PayloadError as error:
        return pack({**header, "error": str(error)}, None)
    return pack({**header, **describe(geometry), "notes": [*notes, *geometry.notes]}, geometry)


def _reference(other: tuple[Series, int] | None, sample: int, notes: list[str]) -> Rows | None:
    if other is None:
        return None
    try:
        return sample_of(rows_of(*other), sample)
    except PayloadError as error:
        notes.append(f"Not compared: {error}")
        return None


def make_router(live: Live) -> APIRouter:
    """Return the panel's routes for the latest snapshot."""
    routes = APIRouter(route_class=HeavyRoute)

    def vertices_of(mesh: MeshSeries) -> Series:
        if mesh.vertices is None:
            raise HTTPException(404, mesh.problems[0])
        return mesh.vertices

    @routes.get("/geometry", response_class=Response)
    def geometry(
        run: RunName,
        tag: TagName,
        index: Index,
        sample: Index = 0,
        face: OtherIndex = NO_POINT,
        color: OtherIndex = NO_POINT,
        against_run: Annotated[str, Query(max_length=MAX_NAME)] = "",
        against: OtherIndex = NO_POINT,
        step: Step | None = None,
        wall_time: float | None = None,
    ) -> Response:
        """Return a mesh at one point of its vertices, with the faces and colors at the given points, as columns.

        ``against`` is the point, in ``against_run``, of the vertices that distances are measured from. For the layout
        of the answer, see `stepscope.dashboard.panels.mesh.files.pack`.
        """
        snapshot = live.snapshot()
        mesh = find_mesh(snapshot, run, tag)
        vertices = vertices_of(mesh)
        headers = check_moment(vertices, index, step, wall_time)
        other = None
        if against != NO_POINT:
            other = (vertices_of(find_mesh(snapshot, against_run, tag)), against)
            headers = {"Cache-Control": LOOK_AGAIN}
        content = geometry_bytes(mesh, vertices, (index, face, color), sample, other)
        return Response(content, media_type="application/octet-stream", headers=headers)

    @routes.get("/ply", response_class=Response)
    def ply_file(
        run: RunName,
        tag: TagName,
        index: Index,
        sample: Index = 0,
        face: OtherIndex = NO_POINT,
        color: OtherIndex = NO_POINT,
    ) -> Response:
        """Return the whole mesh as a binary PLY file."""
        mesh = find_mesh(live.snapshot(), run, tag)
        vertices = vertices_of(mesh)
        try:
            parts = [
                None if series is None or place == NO_POINT else sample_of(rows_of(series, place), sample)
                for series, place in ((vertices, index), (mesh.faces, face), (mesh.colors, color))
            ]
        except PayloadError as error:
            raise HTTPException(422, f"No PLY file: {error}.") from error
        points = parts[0] if parts[0] is not None else np.empty((0, 3), np.float32)
        name = f"{run}_{tag}_step{int(vertices.steps[index])}_{sample}"
        return Response(
            ply(points, parts[1], parts[2]), media_type="application/octet-stream", headers=attachment(name, "ply")
        )

    return routes
