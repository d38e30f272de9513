"""Runs that a writer creates below its own: for each line of ``add_scalars``, and for a session of ``add_hparams``."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from stepscope.summary.kinds.hparams import EXPERIMENT_TAG, PLUGIN_NAME, SESSION_END_TAG, SESSION_START_TAG
from stepscope.summary.series import SCALARS, Run

_TIME_STAMP: Final = re.compile(r"\d{9,11}(\.\d+)?")
_FINISHED_SESSION: Final = frozenset({EXPERIMENT_TAG, SESSION_START_TAG, SESSION_END_TAG})


@dataclass(frozen=True)
class Helper:
    """A run that belongs to another."""

    parent: str
    line: str
    """Its name below the parent if it is a line of ``add_scalars``; empty if it is a session."""


def helper_runs(runs: Mapping[str, Run]) -> Mapping[str, Helper]:
    """Return, by name, the runs that writers of other runs created.

    A line of ``add_scalars`` has one scalar tag and nothing else, and its name below the other run begins with that
    tag, with "/" as "_". A session of ``add_hparams`` is named by its time; or it is the only session directly below a
    run that has scalars and is not a session, and was written at once.
    """
    below = Counter(_directory(name) for name, run in runs.items() if name != "." and SESSION_START_TAG in run.series)
    helpers: dict[str, Helper] = {}
    for name, run in runs.items():
        parent = next((above for above in _above(name) if above in runs), None)
        if parent is None:
            continue
        line = name if parent == "." else name.removeprefix(parent + "/")
        if _is_line(run, line):
            helpers[name] = Helper(parent, line)
        elif _directory(name) == parent and _is_session(run, line, runs[parent], below[parent]):
            helpers[name] = Helper(parent, "")
    return {name: helper for name, helper in helpers.items() if helper.parent not in helpers}


def _is_line(run: Run, line: str) -> bool:
    if len(run.series) != 1:
        return False
    (series,) = run.series.values()
    return series.kind == SCALARS and line.startswith(series.tag.replace("/", "_") + "_")


def _is_session(run: Run, leaf: str, parent: Run, sessions: int) -> bool:
    if SESSION_START_TAG not in run.series or parent.kinds <= {PLUGIN_NAME}:
        return False
    if _TIME_STAMP.fullmatch(leaf):
        return True
    written_at_once = run.series.keys() >= _FINISHED_SESSION and all(len(s) <= 1 for s in run.of_kind(SCALARS))
    return sessions == 1 and written_at_once and SESSION_START_TAG not in parent.series and SCALARS in parent.kinds


def _directory(name: str) -> str:
    return posixpath.dirname(name) or "."


def _above(name: str) -> Iterator[str]:
    while name != ".":
        name = _directory(name)
        yield name
