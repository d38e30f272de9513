"""Findings in a recording: what went bad first, and all alerts in order."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.dashboard.debugger.index import CHUNK
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.debug.rules import judge
from stepscope.debug.verdict import Verdict, first_bad, knows_steps
from stepscope.summary.counts import counted
from stepscope.summary.debugger.model import Alert
from stepscope.summary.series import SCALARS, Series
from stepscope.summary.snapshot import Snapshot

TITLES: Final[Mapping[str, str]] = {"not_finite": "Not finite", "all_zero": "All zero"}


@dataclass(frozen=True)
class Findings:
    """What went wrong in a recording."""

    verdict: Verdict | None
    """The first value that was not finite; None if none is known."""
    sentence: str
    """The verdict in words."""
    alerts: Sequence[Alert]


def title_of(rule: str) -> str:
    """Return the readable title of a rule."""
    words = rule.replace("_", " ")
    return TITLES.get(rule, words[:1].upper() + words[1:])


def scalars_of(snapshot: Snapshot, run: str) -> dict[str, Series]:
    """Return the scalars of a run by tag; rules look for the loss among them."""
    found = snapshot.runs.get(run)
    return {series.tag: series for series in found.of_kind(SCALARS)} if found is not None else {}


def findings(opened: OpenedDebug, scalars: Mapping[str, Series]) -> Findings:
    """Return what went wrong: the recorder's alerts and those that the rules find now, each once, in step order."""

    def make() -> Findings:
        noted = list(opened.data.alerts)
        known = {(alert.rule, alert.tensor, alert.step) for alert in noted}
        found = [a for a in judge(opened.data, scalars) if (a.rule, a.tensor, a.step) not in known]
        order = sorted([*noted, *found], key=_when if _knows_steps(opened) else _place)
        # If the index has nothing bad, there is no need to read everything again.
        verdict = first_bad(opened.data) if opened.index.bad.any() else None
        return Findings(verdict, _all_finite(opened) if verdict is None else verdict.sentence, order)

    lengths = tuple(sorted((tag, len(series)) for tag, series in scalars.items()))
    return opened.kept(("findings", lengths), make)


def _when(alert: Alert) -> tuple[int, float]:
    """Return the sort key of an alert; alerts about no single value come last in their step."""
    return alert.step, _place(alert)


def _place(alert: Alert) -> float:
    return math.inf if alert.observation is None else alert.observation


def _knows_steps(opened: OpenedDebug) -> bool:
    return not opened.data.observation_count or knows_steps(opened.data.tensors, opened.one(0))


def _all_finite(opened: OpenedDebug) -> str:
    """Return the sentence for recordings where nothing is known to be bad; some dumps have no figures of values."""
    count = opened.data.observation_count
    if not count:
        return "Nothing has been recorded yet."
    values = counted(count, "value")
    first, last = opened.read(0, min(CHUNK, count)), opened.read((count - 1) // CHUNK * CHUNK, count)
    if all(np.isnan(part.figure("nan")).all() for part in (first, last)):
        return f"None of the {values} is marked as not finite; their elements were not counted."
    return f"Everything is finite: none of the {values} that were recorded has a NaN or an infinite element."
