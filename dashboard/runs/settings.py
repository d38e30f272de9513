"""What the user says of runs, as URL parameters: which columns, groups, colors and names they have."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args
from urllib.parse import quote, unquote

from stepscope.dashboard.page.state import Setting, choice, flag, names

LineStatistic = Literal["mean", "median", "min", "max"]
BandStatistic = Literal["none", "minmax", "std", "stderr", "ci95"]
Alignment = Literal["interpolate", "bucket"]

GROUP: Final = names("runs.group")
"""What runs are grouped by, together: see `stepscope.dashboard.runs.grouping.group_runs`."""
LINE: Final = choice("runs.line", "mean", get_args(LineStatistic))
BAND: Final = choice("runs.band", "std", get_args(BandStatistic))
MEMBERS: Final = flag("runs.members", False)
ALIGN: Final = choice("runs.align", "interpolate", get_args(Alignment))
COLOR: Final = Setting[str]("runs.color", "auto", lambda raw: raw[-1], lambda value: (value,))
"""What colors tell: "auto" (the group where runs are grouped, else the run), "run", "group", or a field."""
COLUMNS: Final = names("runs.columns")
"""Fields that are columns of the run table; without any, the hyperparameters that differ."""
SORT: Final = names("runs.sort")
"""Columns that the table is sorted by, the first before the others: "run:asc", "hparam:lr:desc"."""
PINNED: Final = names("runs.pin")
SELECTED: Final = names("runs.select")
"""Runs that stand out in every panel."""
FOLDED: Final = names("runs.fold")
"""Labels of groups whose runs the table does not list, or lists although all others are folded (`ALL_FOLDED`)."""
ALL_FOLDED: Final = flag("runs.folded", False)
OPENED: Final = names("runs.open")
"""Runs below which the table lists those that belong to them."""
RENAMED: Final = names("runs.name")
PAINTED: Final = names("runs.paint")

RUN_SETTINGS: Final[tuple[Setting[Any], ...]] = (
    GROUP, LINE, BAND, MEMBERS, ALIGN, COLOR, COLUMNS, SORT, PINNED, SELECTED, FOLDED, ALL_FOLDED, OPENED,
    RENAMED, PAINTED,
)  # fmt: skip


def parse_pairs(raw: Sequence[str]) -> Mapping[str, str]:
    """Read entries of the form "run:text", where the run's name is percent-encoded; others are left out."""
    pairs = (entry.partition(":") for entry in raw)
    return {unquote(run): text for run, colon, text in pairs if colon and text}


def format_pair(run: str, text: str) -> str:
    """Write an entry that `parse_pairs` reads; ``runs/web/state.ts`` writes the same."""
    return f"{quote(run, safe='')}:{text}"
