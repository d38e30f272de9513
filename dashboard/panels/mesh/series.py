"""The series that make up a mesh, and which of their points belong together."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, assert_never, get_args

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.mesh import PLUGIN_NAME, MeshPart, mesh_info
from stepscope.summary.series import Run, Series

Indices: TypeAlias = NDArray[np.int32]
NO_POINT: Final = -1

CompareKind = Literal["off", "first", "previous", "run", "at"]


@dataclass(frozen=True)
class MeshSeries:
    """The series of one mesh of one run."""

    name: str
    vertices: Series | None = None
    faces: Series | None = None
    colors: Series | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    """As logged; see `stepscope.dashboard.panels.mesh.json_config`."""
    problems: tuple[str, ...] = ()
    """Problems of the series themselves, regardless of the step."""

    @property
    def version(self) -> tuple[int, ...]:
        """Equal versions imply equal points."""
        return tuple(-1 if part is None else part.version for part in (self.vertices, self.faces, self.colors))


def mesh_name(series: Series) -> str:
    """Return the name of the mesh that a series belongs to: from its metadata, else its tag without the last part."""
    try:
        name = mesh_info(series.plugin_content).name
    except PayloadError:
        name = ""
    return name or _without_part(series.tag)


def meshes_of(run: Run) -> dict[str, MeshSeries]:
    """Return the meshes of a run by name, in order of first appearance."""
    found: dict[str, MeshSeries] = {}
    for series in run.of_kind(PLUGIN_NAME):
        name = mesh_name(series)
        found[name] = _with(found.get(name, MeshSeries(name)), series)
    return {name: _checked(mesh) for name, mesh in found.items()}


def belonging(vertices: Series, other: Series | None) -> Indices:
    """Return, for each point of the vertices, the matching point of another part.

    That is the point of the same step (of several, the one in the same position among them), else the last one of an
    earlier step, because faces that never change are often written once; `NO_POINT` if there is none.
    """
    if other is None or not len(other):
        return np.full(len(vertices), NO_POINT, np.int32)
    places = {moment: index for index, moment in enumerate(_moments(other.steps))}
    order = np.argsort(other.steps, kind="stable")
    before = np.searchsorted(other.steps[order], vertices.steps, side="right") - 1
    found = [
        places.get(moment, int(order[last]) if last >= 0 else NO_POINT)
        for moment, last in zip(_moments(vertices.steps), before.tolist(), strict=True)
    ]
    return np.array(found, np.int32)


@dataclass(frozen=True)
class Compare:
    """The reference that every mesh is compared with."""

    kind: CompareKind = "off"
    run: str = ""
    step: int = 0

    @property
    def text(self) -> str:
        """The comparison as it appears in the URL."""
        match self.kind:
            case "off" | "first" | "previous":
                return self.kind
            case "run":
                return f"run:{self.run}"
            case "at":
                return f"at:{self.step}:{self.run}"
            case _:
                assert_never(self.kind)


def parse_compare(text: str) -> Compare:
    """Parse `Compare.text`.

    Raises:
        ValueError: if ``text`` is not a valid comparison.
    """
    kind, _, rest = text.partition(":")
    step = "0"
    if kind == "at":
        step, _, rest = rest.partition(":")
    for known in get_args(CompareKind):
        if kind == known and bool(rest) == (kind in ("run", "at")):
            return Compare(known, rest, int(step))
    raise ValueError(f"the comparison is {text!r}, expected off, first, previous, run:RUN or at:STEP:RUN")


def compared_points(vertices: Series, reference: Series, compare: Compare) -> Indices:
    """Return, for each point of the vertices, the point of ``reference`` that it is compared with, or `NO_POINT`.

    ``reference`` is the same series for "first" and "previous".
    """
    order = np.argsort(reference.steps, kind="stable")
    if not len(order):
        return np.full(len(vertices), NO_POINT, np.int32)
    match compare.kind:
        case "off":
            return np.full(len(vertices), NO_POINT, np.int32)
        case "first":
            return np.full(len(vertices), order[0], np.int32)
        case "previous":
            found = np.full(len(vertices), NO_POINT, np.int32)
            found[order[1:]] = order[:-1]
            return found
        case "run":
            return _nearest(reference.steps, order, vertices.steps)
        case "at":
            return _nearest(reference.steps, order, np.full(len(vertices), compare.step))
        case _:
            assert_never(compare.kind)


def _nearest(steps: NDArray[np.int64], order: NDArray[np.intp], wanted: NDArray[np.int64]) -> Indices:
    ordered = steps[order]
    after = np.clip(np.searchsorted(ordered, wanted), 0, len(ordered) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.where(np.abs(ordered[before] - wanted) < np.abs(ordered[after] - wanted), before, after)
    return order[nearer].astype(np.int32)


def _moments(steps: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the step of each point, and the number of earlier points of that step."""
    seen: dict[int, int] = {}
    found: list[tuple[int, int]] = []
    for step in steps.tolist():
        found.append((step, seen.get(step, 0)))
        seen[step] = seen.get(step, 0) + 1
    return found


def _without_part(tag: str) -> str:
    for part in get_args(MeshPart):
        if tag.endswith(f"_{part}") and tag != f"_{part}":
            return tag.removesuffix(f"_{part}")
    return tag


def _with(mesh: MeshSeries, series: Series) -> MeshSeries:
    """Return the mesh with one more series."""
    try:
        info = mesh_info(series.plugin_content)
        part: str = info.part
        mesh = replace(mesh, config=mesh.config or info.config)
    except PayloadError as error:
        part = series.tag.rpartition("_")[2]
        if part not in get_args(MeshPart):
            return replace(mesh, problems=(*mesh.problems, f"{series.tag} does not name the part: {error}."))
        said = f"The metadata of {series.tag} cannot be read ({error}); the part is taken from its name."
        mesh = replace(mesh, problems=(*mesh.problems, said))
    place, other = {"VERTEX": ("vertices", mesh.vertices), "FACE": ("faces", mesh.faces)}.get(
        part, ("colors", mesh.colors)
    )
    if other is not None:
        said = f"{other.tag} and {series.tag} both say that they are its {place}; {other.tag} is shown."
        return replace(mesh, problems=(*mesh.problems, said))
    match place:
        case "vertices":
            return replace(mesh, vertices=series)
        case "faces":
            return replace(mesh, faces=series)
        case _:
            return replace(mesh, colors=series)


def _checked(mesh: MeshSeries) -> MeshSeries:
    if mesh.vertices is not None:
        return mesh
    said = f"There are no vertices: expected the tag {mesh.name}_VERTEX, without which nothing can be drawn."
    return replace(mesh, problems=(said, *mesh.problems))
