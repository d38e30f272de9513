"""The summary of a recording, its alerts, and its source files."""

from collections import Counter
from typing import Final

import numpy as np

from stepscope.dashboard.debugger.findings import Findings, title_of
from stepscope.dashboard.debugger.index import CHUNK
from stepscope.dashboard.debugger.lines import MarkedLine, marked_lines
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.panels.debugger.facts import own_line, sent, tensor_facts
from stepscope.dashboard.panels.debugger.messages import (
    AlertRow,
    Alerts,
    LineMark,
    Overview,
    SourceAnswer,
    SourceList,
    Verdict,
)
from stepscope.summary.debugger.model import FIGURES, Alert, Figure
from stepscope.summary.debugger.own_frames import is_library
from stepscope.summary.names import in_order

MOST_OPERATIONS: Final = 500
MOST_MODULES: Final = 2_000
MOST_DEVICES: Final = 500
MOST_ALERTS: Final = 1_000
MOST_CODE: Final = 20_000
"""Maximum number of lines of one file in a response."""
MOST_NAMES: Final = 20
_TELLING: Final[tuple[Figure, ...]] = ("l2", "absolute_mean", "maximum", "nan", "zeros", "size")
"""Statistics that are informative at a glance, best first."""


def overview_of(opened: OpenedDebug, recording: str, version: str) -> Overview:
    """Return a summary of a recording."""
    data, index = opened.data, opened.index
    operations = Counter(tensor.op_type for tensor in data.tensors if tensor.op_type)
    figures = measured(opened)
    steps = index.steps
    return {
        "id": recording,
        "problem": "",
        "source": data.source,
        "version": version,
        "tensors": len(data.tensors),
        "observations": data.observation_count,
        "bad": int(index.bad.sum()),
        "steps": len(steps),
        "first_step": int(steps[0]) if len(steps) else 0,
        "last_step": int(steps[-1]) if len(steps) else 0,
        "phases": list(dict.fromkeys(tensor.phase for tensor in data.tensors)),
        "operations": [{"name": name, "tensors": n} for name, n in operations.most_common(MOST_OPERATIONS)],
        "modules": sorted({tensor.module for tensor in data.tensors if tensor.module})[:MOST_MODULES],
        "devices": sorted(filter(None, opened.devices))[:MOST_DEVICES],
        "figures": figures,
        "figure": telling(figures),
        "problems": list(data.problems),
        "files": len(data.sources),
    }


def unavailable(recording: str, problem: str) -> Overview:
    """Return why a recording cannot be shown."""
    return {
        "id": recording,
        "problem": problem,
        "source": "",
        "version": "",
        "tensors": 0,
        "observations": 0,
        "bad": 0,
        "steps": 0,
        "first_step": 0,
        "last_step": 0,
        "phases": [],
        "operations": [],
        "modules": [],
        "devices": [],
        "figures": [],
        "figure": "l2",
        "problems": [],
        "files": 0,
    }


def measured(opened: OpenedDebug) -> list[Figure]:
    """Return the statistics that were measured: those that the first or the last observations have."""

    def look() -> list[Figure]:
        count = opened.data.observation_count
        if not count:
            return []
        last = (count - 1) // CHUNK * CHUNK
        parts = [opened.read(0, min(CHUNK, count)), opened.read(last, count)]
        there = np.any([~np.isnan(part.figures).all(axis=0) for part in parts], axis=0)
        return [figure for figure, known in zip(FIGURES, there, strict=True) if known]

    return opened.kept("measured", look)


def telling(figures: list[Figure]) -> Figure:
    """Return the statistic that is most informative at a glance."""
    return next((figure for figure in _TELLING if figure in figures), "nan")


def alerts_of(opened: OpenedDebug, found: Findings) -> Alerts:
    """Return the alerts, first to last."""
    rules = Counter(alert.rule for alert in found.alerts)
    return {
        "verdict": _verdict(opened, found),
        "alerts": [_alert(opened, alert) for alert in found.alerts[:MOST_ALERTS]],
        "total": len(found.alerts),
        "rules": [{"rule": rule, "title": title_of(rule), "alerts": count} for rule, count in rules.most_common()],
    }


def _verdict(opened: OpenedDebug, found: Findings) -> Verdict:
    data, verdict = opened.data, found.verdict
    if verdict is None:
        return {"sentence": found.sentence, "good": True, "tensor": None, "observation": None, "step": 0, "line": None}
    return {
        "sentence": verdict.sentence,
        "good": False,
        "tensor": tensor_facts(data.tensors, verdict.tensor),
        "observation": verdict.observation,
        "step": verdict.step,
        "line": own_line(data.tensors[verdict.tensor], data),
    }


def _alert(opened: OpenedDebug, alert: Alert) -> AlertRow:
    data = opened.data
    return {
        "rule": alert.rule,
        "title": title_of(alert.rule),
        "step": alert.step,
        "wall": sent(alert.wall_time),
        "message": alert.message,
        "tensor": None if alert.tensor is None else tensor_facts(data.tensors, alert.tensor),
        "observation": alert.observation,
        "line": None if alert.tensor is None else own_line(data.tensors[alert.tensor], data),
    }


def _marks(opened: OpenedDebug) -> dict[str, dict[int, MarkedLine]]:
    return opened.kept("lines", lambda: marked_lines(opened.data, opened.index))


def source_list(opened: OpenedDebug) -> SourceList:
    """Return the source files that were kept."""
    marks = _marks(opened)
    return {
        "files": [
            {
                "index": index,
                "path": source.path,
                "host": source.host,
                "lines": len(source.lines),
                "marked": len(own := marks.get(source.path, {})),
                "bad": max((mark.bad for mark in own.values()), default=0),
                "library": is_library(source.path),
            }
            for index, source in enumerate(opened.data.sources)
        ]
    }


def source_answer(opened: OpenedDebug, index: int) -> SourceAnswer:
    """Return a source file with its marked lines."""
    source = opened.data.sources[index]
    names = [tensor.name for tensor in opened.data.tensors]
    marks = sorted(_marks(opened).get(source.path, {}).items())
    return {
        "path": source.path,
        "host": source.host,
        "lines": [in_order(line[:2_000]) for line in source.lines[:MOST_CODE]],
        "marks": [_mark(line, mark, opened, names) for line, mark in marks if 0 < line <= MOST_CODE],
        "left_out": max(len(source.lines) - MOST_CODE, 0),
    }


def _mark(line: int, mark: MarkedLine, opened: OpenedDebug, names: list[str]) -> LineMark:
    # Bad tensors first.
    ordered = sorted(mark.tensors, key=lambda tensor: -int(opened.index.bad[tensor] > 0))
    return {
        "line": line,
        "tensors": len(mark.tensors),
        "observed": mark.observed,
        "bad": mark.bad,
        "first_bad": mark.first_bad,
        "first_tensor": ordered[0],
        "names": [names[tensor] for tensor in ordered[:MOST_NAMES]],
    }
