"""JSON responses of the Projector panel's routes; the page's types are generated from these classes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NotRequired, TypedDict

from stepscope.dashboard.embeddings.job import JobState, JobTold
from stepscope.dashboard.projections.neighbors import Metric


class EmbeddingRow(TypedDict):
    """An embedding of the log directory, or a dropped file."""

    id: str
    run: str
    label: str
    kind: str
    steps: Sequence[int]
    shape: Sequence[int] | None
    problem: str | None


class EmbeddingsAnswer(TypedDict):
    """The embeddings, and the number of series of checkpoints left out because there are too many."""

    embeddings: list[EmbeddingRow]
    unlisted: int


class DatasetProblem(TypedDict):
    """Something that was wrong with the files, and was worked around."""

    kind: str
    message: str
    count: int


class ColumnInfo(TypedDict):
    """A column: its number of categories, if it has any, and whether it comes from clustering."""

    name: str
    kind: Literal["text", "number"]
    categories: int | None
    minimum: float | None
    maximum: float | None
    missing: int
    derived: bool


class Sprite(TypedDict):
    """Pictures of the points in one image, row by row: the size of one, the number per row, and the image's URL."""

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
    """Numbers of the file's rows that are not points."""
    problems: list[DatasetProblem]
    columns: list[ColumnInfo]
    sprite: Sprite | None
    bookmarks: Sequence[Any]
    """As in TensorBoard's JSON."""
    limits: Mapping[str, int]


class ColumnHeader(TypedDict):
    """Header of a column, before its values: numbers, or the category of each point, -1 for none."""

    name: str
    kind: Literal["text", "number"]
    categories: Sequence[str] | None


class LabelsAnswer(TypedDict):
    """Values of a column at some points, as text."""

    texts: list[str]


class TableAnswer(TypedDict):
    """Number of rows of a table, and some of them: "#" is the position, the other keys are columns."""

    count: int
    rows: list[dict[str, str | float | None]]


class RowsKept(TypedDict):
    """Points kept under a key."""

    key: str
    count: int


class RowAnswer(TypedDict):
    """Everything known about one point; ``file_row`` may differ from ``row`` because rows of the file were left out."""

    row: int
    file_row: int
    values: dict[str, str]
    norm: float | None


class NeighborsAnswer(TypedDict):
    """The nearest neighbors of a point; null for distances that are not finite."""

    rows: list[int]
    distances: list[float | None]
    metric: Metric
    exact: bool
    milliseconds: float


class SearchHeader(TypedDict):
    """Header before the rows that a search found: their number, any error in the pattern, and the key of the rows."""

    count: int
    shown: int
    error: str | None
    key: str


class BegunJob(TypedDict):
    """A computation that was started or found; null if it was only looked up and is not known."""

    job: str | None
    state: NotRequired[JobState]
    cached: NotRequired[bool]
    notes: NotRequired[list[str]]


class ChangedJob(TypedDict):
    """State of a computation after an action."""

    state: JobState


class ComponentsFound(TypedDict):
    """Variance that each component of a principal component analysis explains."""

    variances: list[float]
    ratios: list[float]
    exact: bool


class FrameHeader(JobTold):
    """Progress of a computation; precedes the coordinates and the points they are of, if the coordinates changed."""

    dimensions: NotRequired[int]
    components: NotRequired[ComponentsFound | None]
    seed: NotRequired[int | None]
    settings: NotRequired[dict[str, float | str]]
    column: NotRequired[str]
    """The column that a clustering made."""


class QualityHeader(JobTold):
    """How well a picture preserves neighbors, once known; precedes arrays over all points, named by ``arrays_of``."""

    trustworthiness: NotRequired[float]
    continuity: NotRequired[float]
    hit: NotRequired[float | None]
    neighbors_kept: NotRequired[float]
    count: NotRequired[int]
    sampled: NotRequired[int | None]
    arrays_of: list[str]


class Dropped(TypedDict):
    """The first embedding of an accepted file, and all of its embeddings."""

    id: str
    ids: list[str]


MESSAGES: Final = (
    EmbeddingsAnswer, DatasetInfo, ColumnHeader, LabelsAnswer, TableAnswer, RowsKept, RowAnswer, NeighborsAnswer,
    SearchHeader, BegunJob, ChangedJob, FrameHeader, QualityHeader, Dropped,
)  # fmt: skip
