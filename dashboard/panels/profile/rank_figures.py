"""Charts of the activity of a job's ranks: pure functions from tables of analyses to figure dicts.

If a chart does not have room for all ranks, several share a bar or a row, as its `Rows` define.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stepscope.dashboard.page.colors import PALETTE, Scheme
from stepscope.dashboard.page.theme import axis, chart_layout, ink
from stepscope.dashboard.panels.profile import texts
from stepscope.dashboard.panels.profile.figures import axis_title, category_color, escaped, hover_label, unit_of
from stepscope.dashboard.panels.profile.table import Place
from stepscope.dashboard.server.numbers import count
from stepscope.profiler.analysis.rank_groups import ranges_in_words
from stepscope.profiler.analysis.rank_map import HeatMap

if TYPE_CHECKING:
    import polars as pl

Rows = Sequence[tuple[str, Sequence[int]]]
"""Names of rows with the ranks that each represents: `stepscope.profiler.analysis.rank_map.rows_of_ranks`."""
MOST_BARS: Final = 96
MOST_MAP_ROWS: Final = 48
MOST_MAP_COLUMNS: Final = 96
_LONG: Final = 32
"""Maximum number of characters of a name beside a chart."""
_LEAST_REACH_PERCENT: Final = 5.0
"""Minimum range of the map's colors, so that no rank looks slow if all are alike."""
RANK_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "computation": ("Computing", "kernel"),
    "overlap": ("Both at once", "dataloader"),
    "exposed": ("Communicating", "communication"),
    "other": ("Neither", "other"),
}
"""Parts of a rank's mean step, which add up to it, with the category that gives each its color."""


def rank_chart(ranks: "pl.DataFrame", rows: Rows, scheme: Scheme, axis_name: str = "rank") -> dict[str, Any] | None:
    """Return the mean step of each row of ranks in `RANK_PARTS`, stacked; None without ranks.

    ``ranks`` is `stepscope.profiler.analysis.ranks.rank_summary`.
    """
    found = _means(ranks, rows)
    if found.is_empty():
        return None
    scale, unit = unit_of(found["step_ns"].max())
    parts = {
        "computation": found["computation_ns"] - found["overlap_ns"],
        "overlap": found["overlap_ns"],
        "exposed": found["communication_ns"] - found["overlap_ns"],
        "other": found["other_ns"],
    }
    steps = found["step_ns"].to_list()
    names, notes = _labels(found, rows)
    bars = [
        _bar(title, names, notes, parts[part].to_list(), steps, scale, category_color(category, scheme))
        for part, (title, category) in RANK_PARTS.items()
        if parts[part].sum()
    ]
    return {"data": bars, "layout": _rank_layout(scheme, unit, "stack", len(names), axis_name)}


def straggler_chart(
    stragglers: "pl.DataFrame", rows: Rows, scheme: Scheme, axis_name: str = "rank"
) -> dict[str, Any] | None:
    """Return how long each row of ranks waited for others, and others for it; None if none waited.

    ``stragglers`` is `stepscope.profiler.analysis.ranks.stragglers`.
    """
    found = _means(stragglers, rows)
    if found.is_empty():
        return None
    caused, own = found["caused_waiting_ns"].to_list(), found["own_waiting_ns"].to_list()
    if not any(caused) and not any(own):
        return None
    scale, unit = unit_of(max(*caused, *own))
    names, notes = _labels(found, rows)
    bars = [
        _bar("Others waited", names, notes, caused, None, scale, PALETTE[3].on(scheme)),
        _bar("Waited for others", names, notes, own, None, scale, PALETTE[0].on(scheme)),
    ]
    return {"data": bars, "layout": _rank_layout(scheme, unit, "group", len(names), axis_name)}


def rank_map_chart(found: HeatMap, places: Mapping[tuple[int, int], Place], scheme: Scheme) -> dict[str, Any] | None:
    """Return a map of how much longer each step took than on the median rank; None without steps.

    The ``customdata`` of a cell for one rank and one step has the trace and the range that show it on the Timeline;
    that of other cells has the ranks and steps that they represent.

    Args:
        found: rows of ranks by columns of steps.
        places: the places of the ranks' steps on their Timelines.
        scheme: light or dark.
    """
    if not found.percent.size:
        return None
    steps = [
        f"{first}" if first == last else f"{first}–{last}"
        for first, last in zip(found.first_step.tolist(), found.last_step.tolist(), strict=True)
    ]
    cells = found.percent.tolist()
    words, targets = [], []
    for row, (ranks, name) in enumerate(zip(found.rows, found.names, strict=True)):
        those = "" if len(ranks) == 1 else f" of {escaped(name)}, {count(len(ranks))} ranks"
        asked = ranges_in_words(tuple(sorted(ranks)))
        words.append(
            [
                "" if slowest < 0 else f"rank {slowest}{those}, step {step}: {percent:+.3g}%"
                for slowest, step, percent in zip(found.slowest[row].tolist(), steps, cells[row], strict=True)
            ]
        )
        targets.append([_target(ranks, asked, step, found, column, places) for column, step in enumerate(steps)])
    drawn = {
        "type": "heatmap",
        "x": steps,
        "y": list(map(escaped, _short(found.names))),
        "z": [[None if cell != cell else cell for cell in row] for row in cells],
        "text": words,
        "customdata": targets,
        "hovertemplate": "%{text}<extra></extra>",
        "hoverongaps": False,
        "zmin": 0,
        "zmax": max(_LEAST_REACH_PERCENT, *(cell for row in cells for cell in row if cell == cell)),
        "colorscale": [[0, ink(scheme)["grid"]], [1, PALETTE[3].on(scheme)]],
        "colorbar": {"ticksuffix": "%", "thickness": 10, "outlinewidth": 0},
        "xgap": 1,
        "ygap": 1,
    }
    layout = chart_layout(scheme) | {
        "hovermode": "closest",
        "hoverlabel": hover_label(scheme),
        "margin": {"l": 46, "r": 12, "t": 12, "b": 36},
        "xaxis": axis(scheme) | {"type": "category", "title": axis_title("step"), "nticks": 20, "fixedrange": True},
        "yaxis": axis(scheme)
        | {"type": "category", "automargin": "left", "title": axis_title("rank"), "nticks": 24}
        | {"autorange": "reversed", "fixedrange": True},
        "showlegend": False,
    }
    return {"data": [drawn], "layout": layout}


def _target(
    ranks: Sequence[int],
    asked: str,
    step: str,
    found: HeatMap,
    column: int,
    places: Mapping[tuple[int, int], Place],
) -> list[str]:
    """Return a trace and a range of it, or "", "", and the ranks and steps to zoom in on."""
    first = int(found.first_step[column])
    if len(ranks) == 1 and step == str(first):
        place = places.get((ranks[0], first))
        return [place.trace, place.range] if place is not None else ["", ""]
    return ["", "", asked, step.replace("–", "-")]


def _means(frame: "pl.DataFrame", rows: Rows) -> "pl.DataFrame":
    """Return the mean of each row's ranks, with the row's number; rows about which nothing is known are left out."""
    import polars as pl

    numbers = [(rank, row) for row, (_, ranks) in enumerate(rows) for rank in ranks]
    row_of = pl.DataFrame(numbers, schema={"rank": pl.Int64, "row": pl.Int64}, orient="row")
    return frame.join(row_of, on="rank").group_by("row").agg(pl.exclude("rank").mean()).sort("row")


def _labels(found: "pl.DataFrame", rows: Rows) -> tuple[list[str], list[str]]:
    """Return the name and the hover text of each row."""
    chosen = [rows[number] for number in found["row"].to_list()]
    return list(map(escaped, _short([name for name, _ in chosen]))), [
        f"rank {name}" if len(ranks) == 1 else f"{escaped(name)}, mean of {count(len(ranks))} ranks"
        for name, ranks in chosen
    ]


def _short(names: Sequence[str]) -> Sequence[str]:
    """Return names with long ones shortened in the middle, or in full if two would be the same."""
    cut = [name if len(name) <= _LONG else f"{name[: _LONG // 2]}…{name[1 - _LONG // 2 :]}" for name in names]
    return cut if len(set(cut)) == len(set(names)) else names


def _bar(
    title: str,
    names: list[str],
    notes: list[str],
    values: list[float],
    whole: list[float] | None,
    scale: float,
    color: str,
) -> dict[str, Any]:
    of = [f" of {texts.duration(each)}" for each in whole] if whole is not None else [""] * len(values)
    said = zip(notes, map(texts.duration, values), of, strict=True)
    return {
        "type": "bar",
        "name": title,
        "x": names,
        "y": [value / scale for value in values],
        "customdata": [["", "", *each] for each in said],
        "marker": {"color": color, "line": {"width": 0}},
        "hovertemplate": f"%{{customdata[2]}}: {title}, %{{customdata[3]}}%{{customdata[4]}}<extra></extra>",
    }


def _rank_layout(scheme: Scheme, unit: str, mode: str, bars: int, axis_name: str) -> dict[str, Any]:
    return chart_layout(scheme) | {
        "barmode": mode,
        "bargap": 0.25 if bars > 3 else 0.6,
        "hovermode": "closest",
        "hoverlabel": hover_label(scheme),
        "margin": {"l": 46, "r": 12, "t": 24, "b": 36},
        "xaxis": axis(scheme)
        | {
            "type": "category",
            "title": axis_title(escaped(axis_name)),
            "nticks": 20 if axis_name == "rank" else 8,
            "fixedrange": True,
            "automargin": True,
        },
        "yaxis": axis(scheme) | {"automargin": "left", "title": axis_title(unit), "rangemode": "tozero"},
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
    }
