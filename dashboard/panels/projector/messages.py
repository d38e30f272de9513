"""What the routes of the Projector panel answer, as JSON; the page's types of it are made from these."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NotRequired, TypedDict

from stepscope.dashboard.embeddings.job import JobState, JobTold
from stepscope.dashboard.projections.neighbors import Metric


class EmbeddingRow(TypedDict):
    """An embedding of the log directory, or a file that was dropped."""

    id: str
    run: str
    label: str
    kind: str
    steps: Sequence[int]
    shape: Sequence[int] | None
    problem: str | None


class EmbeddingsAnswer(TypedDict):
    """The embeddings, and how many series of checkpoints are too many to be opened."""

    embeddings: list[EmbeddingRow]
    unlisted: int


class DatasetProblem(TypedDict):
    """Something that was wrong with the files, and was worked around."""

    kind: str
    message: str
    count: int


class ColumnInfo(TypedDict):
    """A column: how many categories it has, if it has any, and whether clusters made it."""

    name: str
    kind: Literal["text", "number"]
    categories: int | None
    minimum: float | None
    maximum: float | None
    missing: int
    derived: bool


class Sprite(TypedDict):
    """The pictures of points in one, line by line: the size of one, how many a line has, and where they are."""

    width: int
    height: int
    across: int
    url: str


class DatasetInfo(TypedDict):
    """One embedding at one step."""

    id: str
    label: str
    run: str
    step: int | None
    steps: Sequence[int]
    count: int
    dimensions: int
    digest: str
    left_out: list[int]
    """Numbers of rows of the file that are no points."""
    problems: list[DatasetProblem]
    columns: list[ColumnInfo]
    sprite: Sprite | None
    bookmarks: Sequence[Any]
    """As TensorBoard's JSON has them."""
    limits: Mapping[str, int]


class ColumnHeader(TypedDict):
    """A column before its values: numbers, or the category of each point, -1 for none."""

    name: str
    kind: Literal["text", "number"]
    categories: Sequence[str] | None


class LabelsAnswer(TypedDict):
    """What a column says of some points."""

    texts: list[str]


class TableAnswer(TypedDict):
    """How many rows a table has, and some of them: "#" is the place, the others are the columns."""

    count: int
    rows: list[dict[str, str | float | None]]


class RowsKept(TypedDict):
    """Points that are kept under a key."""

    key: str
    count: int


class RowAnswer(TypedDict):
    """All that is known of one point; rows of the file may have been left out."""

    row: int
    file_row: int
    values: dict[str, str]
    norm: float | None


class NeighborsAnswer(TypedDict):
    """The points nearest to one; null where a distance is not finite."""

    rows: list[int]
    distances: list[float | None]
    metric: Metric
    exact: bool
    milliseconds: float


class SearchHeader(TypedDict):
    """What a search found, before the rows; what is wrong with its pattern; the key of the rows."""

    count: int
    shown: int
    error: str | None
    key: str


class BegunJob(TypedDict):
    """A computation that was begun or found; null where it was only looked for."""

    job: str | None
    state: NotRequired[JobState]
    cached: NotRequired[bool]
    notes: NotRequired[list[str]]


class ChangedJob(TypedDict):
    """What a computation is after it was acted on."""

    state: JobState


class ComponentsFound(TypedDict):
    """Of a principal component analysis, what each component explains."""

    variances: list[float]
    ratios: list[float]
    exact: bool


class FrameHeader(JobTold):
    """How far a computation is; before the coordinates, and which points they are of, where they have changed."""

    dimensions: NotRequired[int]
    components: NotRequired[ComponentsFound | None]
    seed: NotRequired[int | None]
    settings: NotRequired[dict[str, float | str]]
    column: NotRequired[str]
    """That a clustering has made."""


class QualityHeader(JobTold):
    """How well a picture keeps neighbors, once that is done; before arrays of all points, named by ``arrays_of``."""

    trustworthiness: NotRequired[float]
    continuity: NotRequired[float]
    hit: NotRequired[float | None]
    neighbors_kept: NotRequired[float]
    count: NotRequired[int]
    sampled: NotRequired[int | None]
    arrays_of: list[str]


class Dropped(TypedDict):
    """The first embedding of a file that was taken, and all of them."""

    id: str
    ids: list[str]


MESSAGES: Final = (
    EmbeddingsAnswer, DatasetInfo, ColumnHeader, LabelsAnswer, TableAnswer, RowsKept, RowAnswer, NeighborsAnswer,
    SearchHeader, BegunJob, ChangedJob, FrameHeader, QualityHeader, Dropped,
)  # fmt: skip
