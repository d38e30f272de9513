"""What the Mesh panel sends its page: cards and the headers of packed meshes; the page's types are made from these.

Points are named by their places in a series, -1 for none; colors are shares of 1.
"""

from typing import Final, Literal, NotRequired, TypeAlias, TypedDict

from stepscope.dashboard.server.arrays import TypedArray

Vector: TypeAlias = tuple[float, float, float]


class CameraLooks(TypedDict):
    """The camera of a logged configuration; what is not given is None."""

    kind: Literal["perspective", "orthographic"]
    fov: float | None
    position: Vector | None
    target: Vector | None


class MaterialLooks(TypedDict):
    """The material of a logged configuration; what is not given is None."""

    unlit: bool
    color: Vector | None
    wireframe: bool | None
    flat: bool | None
    vertexColors: bool | None
    size: float | None


class Light(TypedDict):
    """A light of a logged configuration; one without a position shines from everywhere."""

    color: Vector
    intensity: float
    position: NotRequired[Vector]


class Looks(TypedDict):
    """What is honored of a logged configuration, and the entries that are not."""

    camera: CameraLooks
    material: MaterialLooks
    lights: list[Light]
    ignored: list[str]


class MeshPoints(TypedDict):
    """By point of the vertices: when it was, and the points of faces and colors that belong to it."""

    steps: TypedArray
    walls: TypedArray
    faces: TypedArray
    colors: TypedArray


class Reference(TypedDict):
    """What a mesh is compared with: for each of its points another."""

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
    """How far vertices moved."""

    mean: float | str
    most: float | str


class MeshFacts(TypedDict):
    """What is told of a mesh that is drawn."""

    vertices: int
    """As many as were written."""
    faces: int
    every: int
    """Of the points only each ``every``-th is sent."""
    origin: Vector
    low: Vector
    high: Vector
    moved: MovedFacts | None


class MeshHeader(TypedDict):
    """What is told of a mesh beside its columns: as much as is known, and why there is nothing to draw."""

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
    """Places of the columns that there are."""

    positions: int
    """Of float32 ``[3 n]``, relative to the header's origin."""
    faces: int
    """Of uint32 ``[3 m]``."""
    colors: int
    """Of uint8 ``[4 n]``."""
    moved: int
    """Of float32 ``[n]``."""


class PackedMesh(MeshHeader):
    """A mesh at one step."""

    columns: ColumnPlaces


MESSAGES: Final = (MeshCard, Reference, MeshHeader, PackedMesh)
