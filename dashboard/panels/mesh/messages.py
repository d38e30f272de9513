"""Messages of the Mesh panel: cards and headers of packed meshes; the page's types are generated from these classes.

Points are given by their indices in a series, -1 for none; colors range from 0 to 1.
"""

from typing import Final, Literal, NotRequired, TypeAlias, TypedDict

from stepscope.dashboard.server.arrays import TypedArray

Vector: TypeAlias = tuple[float, float, float]


class CameraLooks(TypedDict):
    """The camera of a logged configuration; values that are not given are None."""

    kind: Literal["perspective", "orthographic"]
    fov: float | None
    position: Vector | None
    target: Vector | None


class MaterialLooks(TypedDict):
    """The material of a logged configuration; values that are not given are None."""

    unlit: bool
    color: Vector | None
    wireframe: bool | None
    flat: bool | None
    vertexColors: bool | None
    size: float | None


class Light(TypedDict):
    """A light of a logged configuration; without a position, it shines from everywhere."""

    color: Vector
    intensity: float
    position: NotRequired[Vector]


class Looks(TypedDict):
    """The honored parts of a logged configuration, and the entries that are ignored."""

    camera: CameraLooks
    material: MaterialLooks
    lights: list[Light]
    ignored: list[str]


class MeshPoints(TypedDict):
    """For each point of the vertices: its step and wall time, and the matching points of faces and colors."""

    steps: TypedArray
    walls: TypedArray
    faces: TypedArray
    colors: TypedArray


class Reference(TypedDict):
    """The mesh that a mesh is compared with: for each point of the one, a point of the other."""

    run: str
    same_run: bool
    index: TypedArray
    steps: TypedArray
    walls: TypedArray


class Incomparable(TypedDict):
    """Why a mesh is not compared."""

    error: str


class MeshCard(TypedDict):
    """A card."""

    key: str
    tag: str
    run: str
    light: str
    dark: str
    problems: tuple[str, ...]
    looks: NotRequired[Looks]
    vertices: MeshPoints | None
    against: NotRequired[Reference | Incomparable | None]


class MovedFacts(TypedDict):
    """Distances that vertices moved."""

    mean: float | str
    most: float | str


class MeshFacts(TypedDict):
    """Facts about a drawn mesh."""

    vertices: int
    """Number of vertices as written."""
    faces: int
    every: int
    """Only every ``every``-th point is sent."""
    origin: Vector
    low: Vector
    high: Vector
    moved: MovedFacts | None


class MeshHeader(TypedDict):
    """Facts about a mesh besides its columns, as far as known, and why there is nothing to draw."""

    samples: int
    error: str
    notes: list[str]
    vertices: NotRequired[int]
    faces: NotRequired[int]
    every: NotRequired[int]
    origin: NotRequired[Vector]
    low: NotRequired[Vector]
    high: NotRequired[Vector]
    moved: NotRequired[MovedFacts | None]


class ColumnPlaces(TypedDict, total=False):
    """Places of the existing columns."""

    positions: int
    """float32 ``[3 n]``, relative to the header's origin."""
    faces: int
    """uint32 ``[3 m]``."""
    colors: int
    """uint8 ``[4 n]``."""
    moved: int
    """float32 ``[n]``."""


class PackedMesh(MeshHeader):
    """A mesh at one step."""

    columns: ColumnPlaces


MESSAGES: Final = (MeshCard, Reference, MeshHeader, PackedMesh)
