"""The rows of the table of runs that are sent to a page: the first ones in the user's order, and those the page names.

A page that scrolls to the end of its rows requests more. If all rows are sent, the page itself sorts and collapses.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from stepscope.dashboard.page.state import DEFAULT_RUNS
from stepscope.dashboard.runs import settings
from stepscope.dashboard.runs.facts import FactValue, Field, MetricField
from stepscope.dashboard.runs.grouping import RunGroup
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.server.numbers import Natural, mean_of, natural

FIRST_ROWS: Final = 1_000
"""Number of rows sent to a page before it requests more."""
MOST_ROWS: Final = 20_000
"""Maximum number of rows ever sent to a page: to see others, users sort or search."""
_DEPENDS: Final = (settings.SORT, settings.FOLDED, settings.ALL_FOLDED, settings.PINNED, settings.SELECTED)

_Key: TypeAlias = float | Natural
Item = TypeVar("Item")


@dataclass(frozen=True)
class ListedGroup:
    """A group, and those of its runs that pass the search."""

    group: RunGroup
    runs: tuple[str, ...]
    """The runs in order of their first event, including runs whose owner does not pass."""


@dataclass(frozen=True)
class Window:
    """The rows that are sent to a page."""

    runs: tuple[str, ...]
    """The runs in order of their first event."""
    unlisted: tuple[str, ...]
    """Those runs that the page needs although they are not among the first rows of the table."""
    groups: tuple[ListedGroup, ...]
    """Groups whose head row the table lists."""
    whole: bool
    """Whether these are all rows that pass the search."""


def window_of(table: RunTable, most: int) -> Window:
    """Return the rows to send to a page that wants ``most`` of them; there are more if runs belong to the last one."""
    groups = _listed_groups(table)
    if len(table.listed) <= most:
        return Window(tuple(table.listed), (), groups, whole=True)
    passing = table.listed_set
    belonging = _belonging(table)
    first: set[str] = set()
    heads: list[ListedGroup] = []
    for line in _lines(table, groups):
        if len(first) + len(heads) >= most:
            break
        if isinstance(line, ListedGroup):
            heads.append(line)
        else:
            first |= {line, *belonging.get(line, ())}
    named = {run for run in _named(table) if run in passing} - first
    places = table.facts.places
    sent = tuple(sorted(first | named, key=places.__getitem__))
    order_of_groups = {group.group.label: place for place, group in enumerate(groups)}
    heads.sort(key=lambda head: order_of_groups[head.group.label])
    return Window(sent, tuple(run for run in sent if run in named), tuple(heads), whole=False)


def window_key(table: RunTable, most: int) -> object:
    """Return the key that the sent rows depend on besides the search and the groups."""
    view = table.view
    if len(table.listed) <= most:
        return None
    return most, view.show, view.hide, [view.settings.get(setting.name) for setting in _DEPENDS]


def shared_value(values: Sequence[FactValue], field: Field) -> tuple[FactValue, bool]:
    """Return the value shown in the row of a group: the value that its runs share, or the mean of a metric.

    Returns:
        The value, and whether the runs differ.
    """
    first = values[0]
    if all(_is_same(value, first) for value in values):
        return first, False
    present = [value for value in values if value is not None]
    if not isinstance(field, MetricField) or not all(isinstance(value, float) for value in present):
        return None, True
    mean = mean_of([float(value) for value in present])
    return (mean if math.isfinite(mean) else None), True


def _is_same(one: FactValue, other: FactValue) -> bool:
    # Types are compared too: true is not 1. All NaNs are written alike.
    return type(one) is type(other) and (one == other or (one != one and other != other))


def _named(table: RunTable) -> Iterator[str]:
    """Yield runs that the view names, or that are on by default."""
    view = table.view
    yield from table.facts.trainings[:DEFAULT_RUNS] if table.found is None else table.found[:DEFAULT_RUNS]
    for names in (view.show, view.hide, table.pinned, settings.SELECTED.of(view), table.names):
        yield from names
    belonging = _belonging(table)
    for run in table.pinned:
        yield from belonging.get(run, ())


def _belonging(table: RunTable) -> Mapping[str, Sequence[str]]:
    """Return, by run, the runs that belong to it and pass."""
    found: dict[str, list[str]] = {}
    passing = table.listed_set
    for run, helper in table.facts.helpers.items():
        if run in passing:
            found.setdefault(helper.parent, []).append(run)
    return found


def _owners(table: RunTable) -> list[str]:
    """Return runs that pass and are listed below no other."""
    helpers, passing = table.facts.helpers, table.listed_set
    if not helpers:
        return table.listed
    return [run for run in table.listed if run not in helpers or helpers[run].parent not in passing]


def _listed_groups(table: RunTable) -> tuple[ListedGroup, ...]:
    if not table.groups:
        return ()
    helpers = table.facts.helpers
    members: dict[str, list[str]] = {}
    for run in _owners(table):
        label = table.group_of.get(helpers[run].parent if run in helpers else run)
        if label is not None:
            members.setdefault(label, []).append(run)
    return tuple(
        ListedGroup(group, tuple(members[group.label])) for group in table.listed_groups if group.label in members
    )


def _lines(table: RunTable, groups: Sequence[ListedGroup]) -> Iterator[ListedGroup | str]:
    """Yield rows from the top: members below their group, unless it is collapsed; runs of no group at the end."""
    sorts = _sorts(table)
    folded, all_folded = set(settings.FOLDED.of(table.view)), settings.ALL_FOLDED.of(table.view)
    grouped: set[str] = set()
    for group in _sorted(groups, [(_group_keys(table, column, groups), descending) for column, descending in sorts]):
        yield group
        grouped.update(group.runs)
        if (group.group.label in folded) == all_folded:
            yield from _sorted(group.runs, [(_run_keys(table, column), descending) for column, descending in sorts])
    rest = [run for run in _owners(table) if run not in grouped] if grouped else _owners(table)
    yield from _sorted(rest, [(_run_keys(table, column), descending) for column, descending in sorts])


def _sorts(table: RunTable) -> list[tuple[str, bool]]:
    """Return the columns that the table is sorted by, and whether descending, in order of priority."""
    known = {"run", "started", *(field.spec for field in table.columns)}
    split = (entry.rpartition(":") for entry in settings.SORT.of(table.view))
    return [(column, order == "desc") for column, _, order in split if column in known]


def _sorted(items: Sequence[Item], sorts: Sequence[tuple[Callable[[Item], _Key | None], bool]]) -> list[Item]:
    """Return items in order; missing values are last in either direction, preceded by NaN."""
    found = list(items)
    for key_of, descending in reversed(sorts):
        keys = [key_of(item) for item in found]
        ranks = [2 if key is None else int(key != key) for key in keys]
        present = [place for place, rank in enumerate(ranks) if not rank]
        present.sort(key=keys.__getitem__, reverse=descending)  # type: ignore[arg-type]
        last = [place for rank in (1, 2) for place, own in enumerate(ranks) if own == rank]
        found = [found[place] for place in (*present, *last)]
    return found


def _run_keys(table: RunTable, column: str) -> Callable[[str], _Key | None]:
    match column:
        case "run":
            title = table.snapshot.run_title
            own = table.facts.once("sorted names", lambda: {run: natural(title(run)) for run in table.snapshot.runs})
            given = {run: natural(name) for run, name in table.names.items()}
            return lambda run: given.get(run, own[run])
        case "started":
            return lambda run: table.snapshot.runs[run].first_wall_time
        case _:
            field = _field(table, column)
            return table.facts.once(("keys", field), lambda: _keys(table.facts.column(field))).__getitem__


def _group_keys(table: RunTable, column: str, groups: Sequence[ListedGroup]) -> Callable[[ListedGroup], _Key | None]:
    match column:
        case "run":
            return lambda group: natural(group.group.label)
        case "started":
            return lambda group: table.snapshot.runs[group.runs[0]].first_wall_time
        case _:
            field = _field(table, column)
            values = table.facts.column(field)
            shared = {
                group.group.label: shared_value([values[run] for run in group.runs], field)[0] for group in groups
            }
            keys = _keys(shared)
            return lambda group: keys[group.group.label]


def _field(table: RunTable, column: str) -> Field:
    return next(field for field in table.columns if field.spec == column)


def _keys(values: Mapping[str, FactValue]) -> Mapping[str, _Key | None]:
    """Return sort keys: numbers are sorted by size, and texts alphabetically, with numbers in them by size."""
    if not any(isinstance(value, str | bool) for value in values.values()):
        return {name: None if value is None else float(value) for name, value in values.items()}
    return {
        name: None if value is None else natural(str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in values.items()
    }
