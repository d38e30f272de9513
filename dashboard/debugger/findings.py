"""What went wrong in a recording: what went bad first, and all alerts, first to last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.debug.rules import judge
from stepscope.debug.verdict import Verdict, first_bad
from stepscope.summary.debugger.model import Alert
from stepscope.summary.series import SCALARS, Series
from stepscope.summary.snapshot import Snapshot

TITLES: Final[Mapping[str, str]] = {"not_finite": "Not finite", "all_zero": "All zero"}


@dataclass(frozen=True)
class Findings:
    """What went wrong."""

    verdict: Verdict | None
    """What was not finite first; None where all is."""
    alerts: Sequence[Alert]


def title_of(rule: str) -> str:
    """Return what a rule is called among people."""
    words = rule.replace("_", " ")
    return TITLES.get(rule, words[:1].upper() + words[1:])


def scalars_of(snapshot: Snapshot, run: str) -> dict[str, Series]:
    """Return the scalars of a run, by tag: rules look at the loss among them."""
    found = snapshot.runs.get(run)
    return {series.tag: series for series in found.of_kind(SCALARS)} if found is not None else {}


def findings(opened: OpenedDebug, scalars: Mapping[str, Series]) -> Findings:
    """Return what went wrong: what the recorder noted and what the rules find now, each once, in order of steps."""

    def make() -> Findings:
        noted = list(opened.data.alerts)
        known = {(alert.rule, alert.tensor, alert.step) for alert in noted}
        found = [a for a in judge(opened.data, scalars) if (a.rule, a.tensor, a.step) not in known]
        order = sorted([*noted, *found], key=lambda alert: (alert.step, alert.observation or 0))
        return Findings(first_bad(opened.data), order)

    lengths = tuple(sorted((tag, len(series)) for tag, series in scalars.items()))
    return opened.kept(("findings", lengths), make)
