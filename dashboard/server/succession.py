"""Tells which runs of a snapshot are unchanged since the previous one, so that only the others are examined again."""

from collections.abc import Mapping
from typing import Final

from stepscope.summary.kinds.hparams import EXPERIMENT_TAG, PLUGIN_NAME, SESSION_END_TAG, SESSION_START_TAG
from stepscope.summary.series import SCALARS, LazySeries, Run
from stepscope.summary.snapshot import Snapshot

FACTS: Final = "_facts"
FACTS_BEFORE: Final = "_facts_before"
_SAID: Final = (EXPERIMENT_TAG, SESSION_START_TAG, SESSION_END_TAG)


def succeed(before: Snapshot, now: Snapshot) -> None:
    """Pass what was found out about one snapshot on to the next, whether or not it is used.

    The previous snapshot itself is not passed on: a chain of snapshots would grow while nobody asks.
    """
    known = vars(before).get(FACTS) or vars(before).get(FACTS_BEFORE)
    if known is not None and before is not now:
        vars(now).setdefault(FACTS_BEFORE, known)


def changed_runs(before: Mapping[str, Run], now: Mapping[str, Run]) -> list[str]:
    """Return the runs whose points have changed, of two snapshots with the same runs in the same order."""
    pairs = zip(before.values(), now.values(), strict=True)
    return [new.name for old, new in pairs if old is not new and not _has_same_points(old, new)]


def _has_same_points(old: Run, new: Run) -> bool:
    if not (isinstance(old.series, LazySeries) and isinstance(new.series, LazySeries)):
        return False
    same = old.series.version == new.series.version and old.series.described_by is new.series.described_by
    return same and new.series.described_by is not None


def alike(old: Run, new: Run) -> bool:
    """Return whether two runs of one name differ only in their points, and began at the same time."""
    return (
        old.first_wall_time == new.first_wall_time
        and list(old.series) == list(new.series)
        and old.tags_of_kind(SCALARS) == new.tags_of_kind(SCALARS)
        and all(old.plugin_content(tag, PLUGIN_NAME) == new.plugin_content(tag, PLUGIN_NAME) for tag in _SAID)
        and _is_short(old) == _is_short(new)
    )


def _is_short(run: Run) -> bool:
    """Return whether the scalars of a session are what is written at once, which tells whose session it is."""
    return SESSION_START_TAG in run.series and all(len(series) <= 1 for series in run.of_kind(SCALARS))
