"""What every benchmark reports, and how it is shown."""

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
    def texts(self) -> tuple[str, str]:
        """Ours and the peer's as they are shown."""
        if min(self.ours, self.peer) >= 1000:
            return f"{self.ours:,.0f}", f"{self.peer:,.0f}"
        return f"{self.ours:,.4g}", f"{self.peer:,.4g}"


def print_figures(figures: Iterable[Figure], console: Console | None = None) -> None:
    """Prints a table with a line per figure."""
    table = Table("figure", "Stepscope", "peer", "unit", "ratio", "peer's name")
    for column in (1, 2, 4):
        table.columns[column].justify = "right"
    for figure in figures:
        table.add_row(figure.name, *figure.texts, figure.unit, f"{figure.ratio:.1f}x", figure.peer_name)
    (console or Console()).print(table)
