"""Colors of runs: one per run, one per group, or by the value of a hyperparameter or a metric."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stepscope.dashboard.page.colors import PALETTE, RunColor, assign_colors, color_at
from stepscope.dashboard.runs.facts import FactValue
from stepscope.dashboard.runs.grouping import shown_values

# Stops of a colormap whose lightness grows evenly, so that it also reads without color vision; cut at both ends so
# that no line vanishes against its background.
_LIGHT: Final = ("#440f6b", "#46408c", "#33658d", "#23868c", "#1fa283", "#4fb45c", "#9cb726")
_DARK: Final = ("#7a5bc7", "#5f86d6", "#3fa9cf", "#33c3ae", "#5fd68a", "#a5e356", "#fbe94a")
MISSING: Final = RunColor("#9aa3ae", "#6b7480")


@dataclass(frozen=True)
class ColorScale:
    """The scale of colors that show a number."""

    low: float
    high: float
    logarithmic: bool
    """Whether the scale is logarithmic: the values are positive and span more than two powers of ten."""

    def at(self, value: float) -> RunColor:
        """Return the color of a value; `MISSING` for one that is not finite."""
        if not math.isfinite(value):
            return MISSING
        # Halved, because the span of two finite numbers may be infinite; the span of the smallest then becomes 0.
        half = self.high / 2 - self.low / 2
        if half == 0:
            return _between(0.5)
        if self.logarithmic:
            return _between((math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low)))
        return _between((value / 2 - self.low / 2) / half)


def scale_of(values: Sequence[float]) -> ColorScale | None:
    """Return the scale from the minimum to the maximum of the finite values; None if there are none."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return None
    low, high = min(finite), max(finite)
    return ColorScale(low, high, low > 0 and math.log10(high) - math.log10(low) > 2)


def colors_by_value(values: Mapping[str, FactValue]) -> tuple[Mapping[str, RunColor], ColorScale | None]:
    """Return colors of runs by one of their values: along a scale for numbers, one color per value otherwise.

    Returns:
        The colors by run, and the scale if there is one.
    """
    numbers = {run: float(v) for run, v in values.items() if isinstance(v, float | int) and not isinstance(v, bool)}
    if len(numbers) == sum(value is not None for value in values.values()):
        scale = scale_of(list(numbers.values()))
        if scale is None:
            return dict.fromkeys(values, MISSING), None
        return {run: scale.at(numbers[run]) if run in numbers else MISSING for run in values}, scale
    shown = shown_values(values)
    by_value = assign_colors(dict.fromkeys(shown[run] for run, value in values.items() if value is not None))
    return {run: MISSING if values[run] is None else by_value[shown[run]] for run in values}, None


def colors_of_groups(
    runs: Iterable[str], group_of: Mapping[str, str], least_members: int, first: int = 0
) -> Mapping[str, RunColor]:
    """Return colors of groups, none of which belongs to a run outside all groups while the palette lasts.

    Each group takes the first place in the palette that is free when the group forms, so that later runs change none.

    Args:
        runs: runs in order of first appearance, which determines the palette places of those in no group.
        group_of: the group labels by run.
        least_members: minimum number of runs in a group.
        first: the first palette place that may be taken.
    """
    held: dict[str, int] = {}
    members: Counter[str] = Counter()
    taken: Counter[int] = Counter()
    for place, run in enumerate(runs, first):
        group = group_of.get(run)
        if group is None:
            taken[place] += 1
            continue
        members[group] += 1
        if members[group] < least_members:
            # Until another member appears, this one stands alone, in its own color.
            held[group] = place
            taken[place] += 1
        elif members[group] == least_members:
            if group in held:
                taken[held[group]] -= 1
            held[group] = next((free for free in range(first, len(PALETTE)) if not taken[free]), len(PALETTE))
            taken[held[group]] += 1
    return {group: color_at(place, group) for group, place in held.items()}


def _between(share: float) -> RunColor:
    return RunColor(_interpolated(_LIGHT, share), _interpolated(_DARK, share))


def _interpolated(stops: Sequence[str], share: float) -> str:
    place = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    index = min(int(place), len(stops) - 2)
    mix = place - index
    channels = (
        round(int(stops[index][at : at + 2], 16) * (1 - mix) + int(stops[index + 1][at : at + 2], 16) * mix)
        for at in (1, 3, 5)
    )
    return "#" + "".join(f"{channel:02x}" for channel in channels)
