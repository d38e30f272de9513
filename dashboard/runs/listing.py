"""What the page's table of runs is told: rows, columns, groups and the legend, and only what changed of the rows."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stepscope.dashboard.page.state import DEFAULT_RUNS
from stepscope.dashboard.runs import settings
from stepscope.dashboard.runs.examples import condition_example, name_example
from stepscope.dashboard.runs.facts import Facts, FactValue, Field, HParamField
from stepscope.dashboard.runs.grouping import seeds_found, shown_value
from stepscope.dashboard.runs.messages import (
    ChangedRows,
    Listing,
    PaintedValue,
    RunColumn,
    RunRow,
    ScaleLegend,
    Surroundings,
    ValuesLegend,
)
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.numbers import json_number

MOST_VALUES: Final = 12
"""Values that the legend lists where colors tell no number."""
REMEMBERED: Final = 8
_DEPENDS: Final = (settings.GROUP, settings.COLOR, settings.COLUMNS, settings.RENAMED, settings.PAINTED)


def listing_key(table: RunTable) -> str:
    """Return equal keys have equal rows: what is switched on or stands out changes none of them."""
    view = table.view
    chosen = [view.settings.get(setting.name) for setting in _DEPENDS]
    return fingerprint((table.snapshot.revision, view.run_filter, chosen))


def rows_of(table: RunTable) -> dict[str, RunRow]:
    """By run, the rows of those that pass the filter, in order of their first event."""
    places = {group.label: place for place, group in enumerate(table.listed_groups)}
    helpers = table.facts.helpers
    orders = {run: order for order, run in enumerate(table.facts.trainings)}
    listed = {run: helpers[run].parent if run in helpers else run for run in table.listed}
    columns = [table.facts.column(field) for field in table.columns]
    return {
        run: {
            "run": run,
            "label": table.label(run),
            "parent": None if owner == run else owner,
            "order": orders[owner],
            "light": table.colors[run].light,
            "dark": table.colors[run].dark,
            "started": table.snapshot.runs[run].first_wall_time,
            "group": places[table.group_of[owner]] if owner in table.group_of else None,
            "values": [_plain(column[run]) for column in columns],
        }
        for run, owner in listed.items()
    }


def surroundings(table: RunTable) -> Surroundings:
    """Return what the table shows besides its rows."""
    found = seeds_found(table.facts)
    return {
        "columns": [column_of(field, table.facts) for field in table.columns],
        "groups": [
            {
                "label": group.label,
                "light": table.group_colors[group.label].light,
                "dark": table.group_colors[group.label].dark,
                "count": sum(run not in table.facts.helpers for run in group.runs),
            }
            for group in table.listed_groups
        ],
        "group_error": table.group_error,
        "legend": legend(table),
        "seeds": {"settings": found.settings, "runs": found.runs},
        "placeholder": _placeholder(table.facts),
        "total": len(table.facts.trainings),
        "loading": table.snapshot.loading or not table.snapshot.revision,
        "searched": table.found is not None,
        "last_default": _last_default(table),
    }


def _last_default(table: RunTable) -> int:
    trainings = table.facts.trainings
    found = trainings if table.found is None else table.found
    return trainings.index(found[DEFAULT_RUNS - 1]) if len(found) >= DEFAULT_RUNS else len(trainings) - 1


def _placeholder(facts: Facts) -> str:
    condition = condition_example(facts)
    return f"Name or {condition}" if condition else f"Name, such as {name}" if (name := name_example(facts)) else "Name"


def column_of(field: Field, facts: Facts) -> RunColumn:
    """Return a field as the page knows it."""
    return {
        "spec": field.spec,
        "label": facts.title(field),
        "kind": "hparam" if isinstance(field, HParamField) else "metric",
    }


def legend(table: RunTable) -> ScaleLegend | ValuesLegend | None:
    """Return what the colors tell where they tell a field: a scale, or the values with their colors."""
    field = table.color_field
    if field is None:
        return None
    scale = table.color_scale
    if scale is not None:
        shares = [share / 12 for share in range(13)]
        steps = [scale.at(_at_share(scale.low, scale.high, share, scale.logarithmic)) for share in shares]
        return {
            "label": table.facts.title(field), "low": scale.low, "high": scale.high, "logarithmic": scale.logarithmic,
            "light": [color.light for color in steps], "dark": [color.dark for color in steps],
        }  # fmt: skip
    # Not the runs' colors, which may be painted by hand.
    by_value = {shown_value(value): table.unpainted[run] for run, value in table.facts.column(field).items()}
    entries: list[PaintedValue] = [
        {"value": value, "light": color.light, "dark": color.dark} for value, color in by_value.items()
    ]
    more = max(0, len(entries) - MOST_VALUES)
    return {"label": table.facts.title(field), "entries": entries[:MOST_VALUES], "more": more}


def _at_share(low: float, high: float, share: float, logarithmic: bool) -> float:
    if logarithmic:
        return float(low ** (1 - share) * high**share)
    return low * (1 - share) + high * share


def _plain(value: FactValue) -> float | str | bool | None:
    return json_number(value) if isinstance(value, float) else value


@dataclass(frozen=True)
class _Told:
    version: str
    rows: Mapping[str, RunRow]
    around: str


class Listings:
    """What pages were told lately, so that they are told only what has changed since.

    Pages bring the key of what they have; one that is remembered no longer is told everything.
    """

    def __init__(self) -> None:
        self._told: Final[OrderedDict[str, _Told]] = OrderedDict()
        self._lock: Final = threading.Lock()

    def news(self, table: RunTable, known: str) -> tuple[Listing | None, str]:
        """Return what a page has to be told.

        Args:
            table: what it has to show.
            known: key of what it shows, "" for nothing yet.

        Returns:
            The message of `message`, None where nothing changed; and the key that the page brings the next time.
        """
        key = listing_key(table)
        if key == known:
            return None, key
        with self._lock:
            before = self._told.get(known)
        rows = rows_of(table)
        around = surroundings(table)
        reported = message(before.rows if before is not None else None, rows)
        now = fingerprint(around)
        same = before is not None and not reported["rows"] and not reported["gone"] and before.around == now
        version = before.version if before is not None and same else key
        with self._lock:
            self._told[key] = _Told(version, rows, now)
            self._told.move_to_end(key)
            while len(self._told) > REMEMBERED:
                self._told.popitem(last=False)
        if same:
            return None, key
        base = "" if reported["whole"] or before is None else before.version
        return {**reported, **around, "base": base, "version": version}, key


def message(before: Mapping[str, RunRow] | None, now: Mapping[str, RunRow]) -> ChangedRows:
    """Return what turns the rows of before into those of now: all, or those that changed and the runs that are gone."""
    if before is None:
        return {"whole": True, "rows": list(now.values()), "gone": []}
    changed = [row for run, row in now.items() if before.get(run) != row]
    gone = [run for run in before if run not in now]
    return {"whole": False, "rows": changed, "gone": gone}
