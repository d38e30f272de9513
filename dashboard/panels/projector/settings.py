"""URL parameters of the Projector panel; ``projector/web/settings.ts`` reads and writes them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from stepscope.dashboard.page.state import Setting, data_choice, flag, names, number, text

PROJECTIONS: Final = ("pca", "tsne", "umap", "custom", "random")
LABELS: Final = ("some", "selected", "all", "none")
METRICS: Final = ("cosine", "euclidean", "inner")
ROWS_OF: Final = ("visible", "found", "selected", "all")
MOST_NEIGHBORS: Final = 1_000


def _whole(low: int, high: int) -> Callable[[Sequence[str]], str]:
    """Return a parser that accepts a whole number from ``low`` to ``high``, kept as text; empty for none."""

    def parse(raw: Sequence[str]) -> str:
        if raw[-1] and not low <= int(raw[-1]) <= high:
            raise ValueError(f"{raw[-1]!r}, expected {low} to {high}")
        return raw[-1]

    return parse


def _number(name: str, default: str, low: int, high: int) -> Setting[str]:
    return Setting(name, default, _whole(low, high), lambda value: (value,))


def _data_flag(name: str, default: bool = False) -> Setting[bool]:
    """Return a switch that depends on the data, so that the browser does not remember it."""
    return replace(flag(name, default), personal=False)


ID: Final = text("projector.id", "")
"""Id of the open embedding; empty for the first."""
STEP: Final = _number("projector.step", "", -(1 << 62), 1 << 62)
"""Step of the open embedding; empty for the newest."""
ALIGNED: Final = _data_flag("projector.aligned")
"""Whether all steps are projected together, so that points keep their places."""
PROJECTION: Final = data_choice("projector.projection", PROJECTIONS)
DIMENSIONS: Final = data_choice("projector.dims", ("2", "3"))
COMPONENTS: Final = text("projector.components", "1,2,3")
"""Principal components along X, Y and Z; the first is 1."""
SPHERE: Final = _data_flag("projector.sphere")
ONLY: Final = _data_flag("projector.only")
"""Whether only the isolated points are projected."""
TSNE: Final = text("projector.tsne", "")
"""Settings of t-SNE that are not at their defaults: ``perplexity:50,metric:cosine``."""
UMAP: Final = text("projector.umap", "")
RANDOM: Final = text("projector.random", "")
SUPERVISE: Final = text("projector.supervise", "")
"""The column used for supervision; empty for the one that points are colored by."""
LEFT: Final = text("projector.left", "")
"""Left end of a custom axis: ``text:king``, ``regex:^k`` or ``rows:1-3,7``."""
RIGHT: Final = text("projector.right", "")
DOWN: Final = text("projector.down", "")
UP: Final = text("projector.up", "")
AXES_IN: Final = text("projector.axes_in", "")
"""The column in which to search for the texts of custom axes; empty for all."""
COLOR: Final = text("projector.color", "")
"""A column, a measure of trust such as ``@trustworthiness``, or ``-`` for one color; empty to choose automatically."""
CATEGORICAL: Final = data_choice("projector.categorical", ("auto", "on", "off"))
OFF: Final = names("projector.off")
"""Categories that are switched off."""
SIZE: Final = text("projector.size", "")
LABEL: Final = text("projector.label", "")
"""A column, or ``-`` for none; empty to choose automatically."""
SHOWN_LABELS: Final = data_choice("projector.labels", LABELS)
SPRITES: Final = _data_flag("projector.sprites")
SEQUENCE: Final = text("projector.sequence", "")
"""The column that defines lines, or ``-`` for none; empty for ``__next__`` if that exists."""
SEARCH: Final = text("projector.search", "")
REGEX: Final = _data_flag("projector.regex")
SEARCH_IN: Final = text("projector.in", "")
"""The column that is searched; empty for all."""
ROWS: Final = text("projector.rows", "")
"""Selected points, as ``0-5,9``."""
FOCUS: Final = _number("projector.focus", "", 0, 1 << 32)
"""The point whose neighbors are shown if several are selected."""
METRIC: Final = data_choice("projector.metric", METRICS)
SPACE: Final = data_choice("projector.space", ("original", "picture"))
"""Where to search for neighbors."""
NEIGHBORS: Final = replace(
    _number("projector.neighbors", "100", 1, MOST_NEIGHBORS), former_names=("projector.neighbours",)
)
ISOLATE: Final = text("projector.isolate", "")
"""The only points to show, as ``0-5,9``."""
HIDDEN: Final = text("projector.hidden", "")
CAMERA: Final = text("projector.camera", "")
SPIN: Final = _data_flag("projector.spin")
POINTS: Final = number("projector.points", 1, 0.1, 10)
"""Size of points; 1 is the size that suits their number."""
GRID: Final = flag("projector.grid", False)
PERSPECTIVE: Final = flag("projector.perspective", True)
TABLE: Final = _data_flag("projector.table")
TABLE_OF: Final = data_choice("projector.table_of", ROWS_OF)
SORT: Final = text("projector.sort", "")
"""The column that the table is sorted by, with a leading ``-`` for descending order; empty for the rows' own order."""

SETTINGS: Final = (
    ID, STEP, ALIGNED, PROJECTION, DIMENSIONS, COMPONENTS, SPHERE, ONLY, TSNE, UMAP, RANDOM, SUPERVISE,
    LEFT, RIGHT, DOWN, UP, AXES_IN, COLOR, CATEGORICAL, OFF, SIZE, LABEL, SHOWN_LABELS, SPRITES, SEQUENCE,
    SEARCH, REGEX, SEARCH_IN, ROWS, FOCUS, METRIC, SPACE, NEIGHBORS, ISOLATE, HIDDEN, CAMERA, SPIN, POINTS,
    GRID, PERSPECTIVE, TABLE, TABLE_OF, SORT,
)  # fmt: skip
