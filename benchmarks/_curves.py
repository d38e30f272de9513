"""Figures of a benchmark at several sizes, drawn as curves over the size."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks._report import Figure

FEWEST_SIZES: Final = 3
"""Two points are no curve."""
COLUMNS: Final = 3
_SIZED: Final = re.compile(r"(?P<size>[\d,]+) (?P<noun>runs|ranks)(?: x [\d,]+ \w+)*, (?P<what>.+)")
OURS, PEER = "#3b5bdb", "#868e96"


@dataclass(frozen=True)
class Curve:
    """One figure over sizes that grow."""

    what: str
    noun: str
    """What sizes are counted in: runs or ranks."""
    sizes: Sequence[int]
    figures: Sequence[Figure]
    """One for each size."""


def curves(figures: Iterable[Figure]) -> list[Curve]:
    """Return what was measured at three sizes or more, from names such as ``8 ranks x 27,000 slices, all``."""
    by_name: dict[tuple[str, str, str], dict[int, Figure]] = {}
    for figure in figures:
        if (match := _SIZED.fullmatch(figure.name)) is not None:
            of_sizes = by_name.setdefault((match["what"].replace("`", ""), match["noun"], figure.peer_name), {})
            of_sizes[int(match["size"].replace(",", ""))] = figure
    return [
        Curve(what, noun, sorted(of_sizes), [of_sizes[size] for size in sorted(of_sizes)])
        for (what, noun, _), of_sizes in by_name.items()
        if len(of_sizes) >= FEWEST_SIZES
    ]


def draw(chosen: Sequence[Curve], path: Path) -> None:
    """Write curves as a picture, each in a small chart of its own with both axes logarithmic."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Picture
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, StrMethodFormatter

    rows = -(-len(chosen) // COLUMNS)
    # The same figures produce the same file.
    with mpl.rc_context({"svg.hashsalt": "stepscope", "svg.fonttype": "none", "font.size": 9}):
        picture = Picture(figsize=(10, 2.6 * rows), layout="constrained")
        for axes, curve in zip(picture.subplots(rows, COLUMNS, squeeze=False).flat, chosen, strict=False):
            ours, peers = ([figure.ours for figure in curve.figures], [figure.peer for figure in curve.figures])
            axes.loglog(curve.sizes, ours, "o-", color=OURS, label="Stepscope")
            axes.loglog(curve.sizes, peers, "--", color=PEER, label=curve.figures[0].peer_name)
            axes.set_title(curve.what, fontsize=10)
            axes.set_xlabel(curve.noun)
            axes.set_ylabel(curve.figures[0].unit)
            axes.xaxis.set_major_locator(FixedLocator(list(curve.sizes)))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.set_ylim(
                10 ** math.floor(math.log10(min(*ours, *peers))), 10 ** math.ceil(math.log10(max(*ours, *peers)))
            )
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8, frameon=False)
        for axes in picture.axes[len(chosen) :]:
            axes.set_visible(False)
        picture.savefig(path, format="svg", metadata={"Date": None})
