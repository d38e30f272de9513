"""Content of the page's table of runs: columns, groups, the legend, and rows, of which only changed ones are sent."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from stepscope.dashboard.page.state import DEFAULT_RUNS
from stepscope.dashboard.runs import settings
from stepscope.dashboard.runs.examples import condition_example, name_example
from stepscope.dashboard.runs.facts import Facts, FactValue, Field, HParamField
from stepscope.dashboard.runs.grouping import seeds_found, shown_values
from stepscope.dashboard.runs.messages import (
    ChangedRows,
    Listing,
    PaintedValue,
    RunColumn,
    RunGroup,
    RunRow,
    ScaleLegend,
    Surroundings,
    ValuesLegend,
)
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.runs.window import (
    FIRST_ROWS,
    MOST_ROWS,
    ListedGroup,
    Window,
    shared_value,
    window_key,
    window_of,
)
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.numbers import json_number

MOST_VALUES: Final = 12
"""Maximum number of values that the legend lists if colors do not show a number."""
REMEMBERED: Final = 8
_DEPENDS: Final = (settings.GROUP, settings.COLOR, settings.COLUMNS, settings.RENAMED, settings.PAINTED)


def listing_key(table: RunTable, most: int = FIRST_ROWS) -> str:
    """Return the key of a table's rows: equal keys mean equal rows; switching on or selecting runs changes no row."""
    view = table.view
    chosen = [view.settings.get(setting.name) for setting in _DEPENDS]
    return fingerprint((table.snapshot.revision, view.run_filter, chosen, window_key(table, most)))


def rows_of(table: RunTable, window: Window) -> dict[str, RunRow]:
    """Return, by run, the rows that are sent to a page, in order of their first event."""
    places = {head.group.label: place for place, head in enumerate(window.groups)}
    helpers = table.facts.helpers
    orders = table.facts.orders
    listed = {run: helpers[run].parent if run in helpers else run for run in window.runs}
    values = zip(*(table.facts.values(listed, field) for field in table.columns), strict=True)
    return {
        run: {
            "run": run,
            "label": table.label(run),
            "parent": None if owner == run else owner,
            "order": orders[owner],
            "light": table.colors[run].light,
            "dark": table.colors[run].dark,
            "started": table.snapshot.runs[run].first_wall_time,
            "group": places.get(table.group_of.get(owner, "")),
            "values": [_plain(value) for value in own],
        }
        for (run, owner), own in zip(listed.items(), values if table.columns else repeat(()), strict=False)
    }


def surroundings(table: RunTable, window: Window) -> Surroundings:
    """Return the content of the table besides the rows of runs."""
    found = seeds_found(table.facts)
    trainings = table.facts.trainings if table.found is None else table.found
    return {
        "columns": [column_of(field, table.facts) for field in table.columns],
        "groups": [_group(table, head) for head in window.groups],
        "group_error": table.group_error,
        "legend": legend(table),
        "seeds": {"settings": found.settings, "runs": found.runs},
        "placeholder": _placeholder(table.facts),
        "total": len(table.facts.trainings),
        "loading": table.snapshot.loading or not table.snapshot.revision,
        "found": len(trainings),
        "whole_table": window.whole,
        "unlisted": list(window.unlisted),
        "searched": table.found is not None,
        "last_default": (
            table.facts.orders[trainings[DEFAULT_RUNS - 1]]
            if len(trainings) >= DEFAULT_RUNS
            else len(table.facts.trainings) - 1
        ),
    }


def _group(table: RunTable, head: ListedGroup) -> RunGroup:
    shared = [shared_value(table.facts.values(head.runs, field), field) for field in table.columns]
    color = table.group_colors[head.group.label]
    first = head.runs[0]
    helper = table.facts.helpers.get(first)
    return {
        "label": head.group.label,
        "light": color.light,
        "dark": color.dark,
        "count": sum(run not in table.facts.helpers for run in head.group.runs),
        "found": len(head.runs),
        "order": table.facts.orders[first if helper is None else helper.parent],
        "started": table.snapshot.runs[first].first_wall_time,
        "values": [_plain(value) for value, _ in shared],
        "means": [differs for _, differs in shared],
    }


def _placeholder(facts: Facts) -> str:
    return facts.once("placeholder", lambda: _search_that_finds(facts))


def _search_that_finds(facts: Facts) -> str:
    condition = condition_example(facts)
    return f"Name or {condition}" if condition else f"Name, such as {name}" if (name := name_example(facts)) else "Name"


def column_of(field: Field, facts: Facts) -> RunColumn:
    """Return a field in the form that the page uses."""
    return {
        "spec": field.spec,
        "label": facts.title(field),
        "kind": "hparam" if isinstance(field, HParamField) else "metric",
    }


def legend(table: RunTable) -> ScaleLegend | ValuesLegend | None:
    """Return the legend if colors show a field: a scale, or the values with their colors."""
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
    # Not the runs' colors, which may have been set by hand.
    by_value = {text: table.unpainted[run] for run, text in shown_values(table.facts.column(field)).items()}
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
    """Recently sent listings, so that pages get only what has changed since.

    A page sends the key of the listing it has; if that is no longer remembered, it gets everything.
    """

    def __init__(self) -> None:
        self._told: Final[OrderedDict[str, _Told]] = OrderedDict()
        self._lock: Final = threading.Lock()

    def news(self, table: RunTable, known: str, most: int = FIRST_ROWS) -> tuple[Listing | None, str]:
        """Return the message that brings a page up to date.

        Args:
            table: the table that the page should show.
            known: key of the listing that the page shows, "" for none yet.
            most: maximum number of rows that it wants.

        Returns:
            The result of `message`, None if nothing changed; and the key that the page sends the next time.
        """
        most = min(max(most, FIRST_ROWS), MOST_ROWS)
        key = listing_key(table, most)
        if key == known:
            return None, key
        with self._lock:
            before = self._told.get(known)
        window = window_of(table, most)
        rows = rows_of(table, window)
        around = surroundings(table, window)
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
    """Return the change from earlier rows to current ones: all rows, or changed rows and the runs that are gone."""
    if before is None:
        return {"whole": True, "rows": list(now.values()), "gone": []}
    changed = [row for run, row in now.items() if before.get(run) != row]
    gone = [run for run in before if run not in now]
    return {"whole": False, "rows": changed, "gone": gone}
