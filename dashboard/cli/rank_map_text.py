"""The steps of ranks as a map of characters, for the terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

_SHADES: Final = ((1.0, "\u00b7"), (5.0, "\u2591"), (10.0, "\u2592"), (25.0, "\u2593"))
"""Percentage above the median, and the character for cells below it."""
_MOST: Final = "\u2588"
_NONE: Final = " "
LEGEND: Final = (
    "  over the median rank: " + ", ".join(f"{shade} < {least:g}%" for least, shade in _SHADES) + f", {_MOST} more"
)


def map_lines(frame: "pl.DataFrame") -> Iterator[str]:
    """Yield `stepscope.profiler.analysis.rank_map.rank_map` as lines: a line per row of ranks, a character per step."""
    steps = frame["step"].unique().sort().to_list()
    place = {step: number for number, step in enumerate(steps)}
    rows: dict[tuple[int, int], list[str]] = {}
    for first, last, step, percent, _ in frame.iter_rows():
        cells = rows.setdefault((first, last), [_NONE] * len(steps))
        cells[place[step]] = _shade(percent)
    names = [f"{first}" if first == last else f"{first}-{last}" for first, last in rows]
    width = max(map(len, ["rank", *names]))
    yield f"  {'rank':>{width}}  steps {steps[0]} to {steps[-1]}"
    for name, cells in zip(names, rows.values(), strict=True):
        yield f"  {name:>{width}}  {''.join(cells)}"
    yield LEGEND


def _shade(percent: float) -> str:
    return next((shade for least, shade in _SHADES if percent < least), _MOST)
