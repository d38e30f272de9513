"""The table of runs shared by all panels: which runs are shown, with their colors, groups and names."""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from stepscope.dashboard.page.colors import RING, RunColor, assign_colors
from stepscope.dashboard.page.state import View
from stepscope.dashboard.runs import settings
from stepscope.dashboard.runs.coloring import ColorScale, colors_by_value, colors_of_groups
from stepscope.dashboard.runs.expression import looks_like_expression, parse, runs_where
from stepscope.dashboard.runs.facts import Facts, Field, HParamField, each_description, parse_field
from stepscope.dashboard.runs.grouping import RunGroup, group_runs, least_members
from stepscope.summary.errors import UserError
from stepscope.summary.safe_regex import Pattern, PatternError
from stepscope.summary.snapshot import Snapshot

MOST_DEFAULT_COLUMNS: Final = 8
MOST_COLUMNS: Final = 100
_CSS_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True)
class _Coloring:
    by_run: Mapping[str, RunColor]
    field: Field | None = None
    scale: ColorScale | None = None


class RunTable:
    """The runs of a snapshot as a view shows them; each property is computed on demand."""

    def __init__(self, snapshot: Snapshot, view: View) -> None:
        self.snapshot: Final = snapshot
        self.view: Final = view
        self.facts: Final = Facts.of(snapshot)

    @cached_property
    def checked(self) -> frozenset[str]:
        """Runs that are switched on, whether or not they pass the filter; helpers go with the run they belong to."""
        trainings = self.view.checked_runs(self.facts.trainings, self.found)
        shown = frozenset(self.view.show) | trainings
        helpers = (run for run, helper in self.facts.helpers.items() if run in shown or helper.parent in trainings)
        return trainings | (frozenset(helpers) - frozenset(self.view.hide))

    @property
    def listed(self) -> list[str]:
        """Runs that pass the filter, in order of their first event."""
        return self._filtered[0]

    @cached_property
    def listed_set(self) -> frozenset[str]:
        """Runs that pass the filter."""
        return frozenset(self.listed)

    @property
    def filter_error(self) -> str:
        """The error in the filter, or empty if there is none. With an invalid filter, every run passes."""
        return self._filtered[1]

    @cached_property
    def found(self) -> list[str] | None:
        """Runs that belong to no other and pass the filter, themselves or through a run that belongs to them.

        In order of their first event; None if nothing is searched for, or the filter is invalid.
        """
        if not self.view.run_filter.strip() or self.filter_error:
            return None
        helpers = self.facts.helpers
        owners = {helpers[run].parent if run in helpers else run for run in self.listed}
        return [run for run in self.facts.trainings if run in owners]

    @cached_property
    def shown(self) -> list[str]:
        """Runs that are switched on and pass the filter; panels draw these."""
        return [run for run in self.listed if run in self.checked]

    def shown_tags(self, kind: str) -> list[str]:
        """Return the tags of one kind in the shown runs, in order of first appearance."""
        shown = {run: self.snapshot.runs[run] for run in self.shown}
        return list(dict.fromkeys(tag for run in each_description(shown) for tag in run.tags_of_kind(kind)))

    @property
    def groups(self) -> tuple[RunGroup, ...]:
        """All runs in groups, whether or not they are shown; empty if the view does not group."""
        return self._grouped[0]

    @property
    def group_error(self) -> str:
        """The reason why runs cannot be grouped as the view requests; empty if they can."""
        return self._grouped[1]

    @cached_property
    def group_of(self) -> Mapping[str, str]:
        """Label of each run's group; empty if the view does not group."""
        return {run: group.label for group in self.groups for run in group.runs}

    @cached_property
    def listed_groups(self) -> tuple[RunGroup, ...]:
        """The groups that the list of runs shows; it shows lines of ``add_scalars`` below their runs instead."""
        return tuple(group for group in self.groups if not group.lines)

    @property
    def colors(self) -> Mapping[str, RunColor]:
        """The color of every run."""
        return self._coloring.by_run

    @property
    def unpainted(self) -> Mapping[str, RunColor]:
        """The color that every run would have without colors chosen by hand."""
        return self._unpainted.by_run

    @property
    def color_field(self) -> Field | None:
        """The field that colors show, if any."""
        return self._coloring.field

    @property
    def color_scale(self) -> ColorScale | None:
        """The scale of the colors, if they show a number."""
        return self._coloring.scale

    @cached_property
    def group_colors(self) -> Mapping[str, RunColor]:
        """The color of every group, by label: that of its first run if colors show a value, else its own."""
        if self.color_field is not None or settings.COLOR.of(self.view) == "run":
            return {group.label: self.colors[group.runs[0]] for group in self.groups}
        return self._own_group_colors

    @cached_property
    def _own_group_colors(self) -> Mapping[str, RunColor]:
        """Colors of groups that get none otherwise."""
        least = least_members(settings.GROUP.of(self.view))
        return {
            **colors_of_groups(self.facts.trainings, self.group_of, least),
            **colors_of_groups(self.facts.helpers, self.group_of, 1, RING),
        }

    @cached_property
    def selected(self) -> frozenset[str]:
        """Runs that are highlighted."""
        return frozenset(settings.SELECTED.of(self.view)) & frozenset(self.snapshot.runs)

    @cached_property
    def pinned(self) -> tuple[str, ...]:
        """Runs that are pinned to the top of the table."""
        return tuple(run for run in settings.PINNED.of(self.view) if run in self.snapshot.runs)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Display names of runs that the user has renamed."""
        return settings.parse_pairs(settings.RENAMED.of(self.view))

    def label(self, run: str) -> str:
        """Return the display name of a run."""
        return self.names.get(run) or self.snapshot.run_title(run)

    @cached_property
    def columns(self) -> tuple[Field, ...]:
        """Hyperparameters and metrics that the table shows, all of which exist: facts about them are remembered."""
        chosen = settings.COLUMNS.of(self.view)
        if not chosen:
            return tuple(HParamField(name) for name in self.facts.differing_hparams[:MOST_DEFAULT_COLUMNS])
        fields = (field for field in map(parse_field, chosen) if field is not None)
        return tuple(dict.fromkeys(filter(self.facts.has, fields)))[:MOST_COLUMNS]

    @cached_property
    def _filtered(self) -> tuple[list[str], str]:
        if not self.view.run_filter.strip():
            return list(self.snapshot.runs), ""
        # Every chart on a page asks for these runs.
        renamed, group = settings.RENAMED.of(self.view), settings.GROUP.of(self.view)
        return self.facts.lately(("found", self.view.run_filter, renamed, group), self._search)

    def _search(self) -> tuple[list[str], str]:
        runs = list(self.snapshot.runs)
        text = self.view.run_filter.strip()
        try:
            if looks_like_expression(text):
                found = set(runs_where(parse(text), self.facts, lambda run: self.group_of.get(run, run)))
                return self._with_helpers(found), ""
            # A run is found by its name and by its label here.
            by_name = Pattern(text).matches(runs)
            labels = [self.label(run) for run in runs]
            by_label = by_name if labels == runs else Pattern(text).matches(labels)
        except PatternError as error:
            return runs, f"Not a valid regular expression: {error}"
        except UserError as error:
            said = str(error)
            return runs, f"I{said[1:]}" if said.startswith("incomplete") else f"Not understood: {said}"
        found = {run for run, name, label in zip(runs, by_name, by_label, strict=True) if name or label}
        return self._with_helpers(found), ""

    def _with_helpers(self, found: Set[str]) -> list[str]:
        """Return the found runs and those that belong to them, in order of their first event."""
        helpers = self.facts.helpers
        return [run for run in self.snapshot.runs if run in found or (run in helpers and helpers[run].parent in found)]

    @cached_property
    def _grouped(self) -> tuple[tuple[RunGroup, ...], str]:
        group = settings.GROUP.of(self.view)
        return self.facts.lately(("groups", group), lambda: group_runs(self.facts, group)) if group else ((), "")

    @cached_property
    def _coloring(self) -> _Coloring:
        found = self._unpainted
        painted = settings.parse_pairs(settings.PAINTED.of(self.view))
        own = {run: RunColor(c, c) for run, c in painted.items() if run in found.by_run and _CSS_COLOR.fullmatch(c)}
        if not own:
            return found
        return _Coloring({**found.by_run, **own}, found.field, found.scale)

    @cached_property
    def _unpainted(self) -> _Coloring:
        by = settings.COLOR.of(self.view)
        field = parse_field(by)
        if field is not None and self.facts.has(field):
            by_value, scale = self.facts.lately(("colors", field), lambda: colors_by_value(self.facts.column(field)))
            return _Coloring(by_value, field, scale)
        if by in ("auto", "group") and self.groups:
            grouped = {run: self._own_group_colors[label] for run, label in self.group_of.items()}
            return _Coloring({**self._own_colors, **grouped})
        return _Coloring(self._own_colors)

    @property
    def _own_colors(self) -> Mapping[str, RunColor]:
        """Colors of runs that get none otherwise. Helpers leave the first colors to the runs that they belong to."""

        def colors() -> Mapping[str, RunColor]:
            return {**assign_colors(self.facts.trainings), **assign_colors(self.facts.helpers, RING)}

        return self.facts.once("colors", colors)
