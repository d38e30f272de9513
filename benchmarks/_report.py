"""What every benchmark reports, and how it is shown."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One measurement beside the same measurement of another tool, taken in the same run."""

    name: str
    ours: float
    peer: float
    peer_name: str
    unit: str
    higher_is_better: bool = True

    @property
    def ratio(self) -> float:
        """How many times as good as the peer; above 1 is better, whichever way the unit counts."""
        return self.ours / self.peer if self.higher_is_better else self.peer / self.ours

    @property
    def texts(self) -> tuple[str, str, str]:
        """Ours, the peer's and the ratio as they are shown; "never" is what did not come about."""
        form = ",.0f" if min(self.ours, self.peer) >= 1000 else ",.4g"
        ours, peer = (
            f"{value:{form}} {self.unit}".rstrip() if math.isfinite(value) else "never"
            for value in (self.ours, self.peer)
        )
        return ours, peer, f"{self.ratio:.1f}x" if math.isfinite(self.ratio) else ""


def print_figures(figures: Iterable[Figure], console: Console | None = None) -> None:
    """Prints a table with a line per figure."""
    table = Table("figure", "Stepscope", "peer", "ratio", "peer's name")
    for column in (1, 2, 3):
        table.columns[column].justify = "right"
    for figure in figures:
        table.add_row(figure.name, *figure.texts, figure.peer_name)
    (console or Console()).print(table)
