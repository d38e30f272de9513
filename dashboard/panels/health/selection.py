"""Selection of the files that the health panel lists."""

from stepscope.dashboard.page.health_badge import is_bad
from stepscope.dashboard.page.state import View, matching
from stepscope.dashboard.panels.health.settings import FILTER, SHOW
from stepscope.summary.contents import FileHealth
from stepscope.summary.snapshot import Snapshot


def chosen_files(snapshot: Snapshot, show: str, pattern: str) -> list[FileHealth]:
    """Return the files that pass, regardless of which runs are shown, in the snapshot's order.

    Args:
        snapshot: the log directory.
        show: "all", or "bad" for files with losses or that cannot be opened.
        pattern: a regular expression; an invalid one lets all files pass.
    """
    passing = set(matching(pattern, [file.path for file in snapshot.health]))
    return [file for file in snapshot.health if file.path in passing and (show == "all" or is_bad(file))]


def files_of(snapshot: Snapshot, view: View) -> list[FileHealth]:
    """Return the files that the view selects."""
    return chosen_files(snapshot, SHOW.of(view), FILTER.of(view))
