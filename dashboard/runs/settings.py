"""URL parameters for the user's settings of runs: columns, groups, colors and names."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args
from urllib.parse import quote, unquote

from stepscope.dashboard.page.state import Setting, choice, flag, names

LineStatistic = Literal["mean", "median", "min", "max"]
BandStatistic = Literal["none", "minmax", "std", "stderr", "ci95"]
Alignment = Literal["interpolate", "bucket"]

GROUP: Final = names("runs.group")
"""Fields that runs are grouped by, in combination: see `stepscope.dashboard.runs.grouping.group_runs`."""
LINE: Final = choice("runs.line", "mean", get_args(LineStatistic))
BAND: Final = choice("runs.band", "std", get_args(BandStatistic))
MEMBERS: Final = flag("runs.members", False)
ALIGN: Final = choice("runs.align", "interpolate", get_args(Alignment))
COLOR: Final = Setting[str]("runs.color", "auto", lambda raw: raw[-1], lambda value: (value,))
"""What the colors represent: "auto" (the group if runs are grouped, else the run), "run", "group", or a field."""
COLUMNS: Final = names("runs.columns")
"""Fields shown as columns of the run table; if empty, the hyperparameters that differ."""
SORT: Final = names("runs.sort")
"""Columns that the table is sorted by, in order of priority: "run:asc", "hparam:lr:desc"."""
PINNED: Final = names("runs.pin")
SELECTED: Final = names("runs.select")
"""Runs that are highlighted in every panel."""
FOLDED: Final = names("runs.fold")
"""Labels of groups that are collapsed in the table, or expanded while all others are collapsed (`ALL_FOLDED`)."""
ALL_FOLDED: Final = flag("runs.folded", False)
OPENED: Final = names("runs.open")
"""Expanded runs: the table lists the runs that belong to them below."""
RENAMED: Final = names("runs.name")
PAINTED: Final = names("runs.paint")

RUN_SETTINGS: Final[tuple[Setting[Any], ...]] = (
    GROUP, LINE, BAND, MEMBERS, ALIGN, COLOR, COLUMNS, SORT, PINNED, SELECTED, FOLDED, ALL_FOLDED, OPENED,
    RENAMED, PAINTED,
)  # fmt: skip


def parse_pairs(raw: Sequence[str]) -> Mapping[str, str]:
    """Parse entries of the form "run:text", with a percent-encoded run name; other entries are left out."""
    pairs = (entry.partition(":") for entry in raw)
    return {unquote(run): text for run, colon, text in pairs if colon and text}


def format_pair(run: str, text: str) -> str:
    """Return an entry in the format of `parse_pairs`; ``runs/web/state.ts`` writes the same format."""
    return f"{quote(run, safe='')}:{text}"
