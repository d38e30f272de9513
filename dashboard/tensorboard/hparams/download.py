"""The table of session groups as a file: JSON, CSV or LaTeX."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Final, Literal, TypeAlias, assert_never

import orjson

from stepscope.dashboard.export.tables import csv_lines
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.pieces import listed, named
from stepscope.dashboard.tensorboard.hparams.sessions import python_value
from stepscope.summary.proto.hparams_pb2 import Experiment, SessionGroup

Format = Literal["json", "csv", "latex"]
Cell: TypeAlias = bool | float | str | None
"""A hyperparameter that a group has not is "", and a metric None."""

MEDIA_TYPES: Final = {"json": "application/json", "csv": "text/csv", "latex": "application/x-latex"}


def table(
    experiment: Experiment, groups: Iterable[SessionGroup], visible: Sequence[bool]
) -> tuple[list[str], Iterator[list[Cell]]]:
    """Return the names of the columns and the rows, made one by one; hyperparameters first, then metrics.

    Args:
        experiment: the columns.
        groups: the rows.
        visible: whether each column is in the table; further columns are not.
    """
    hparams, metrics = experiment.hparam_infos, experiment.metric_infos
    header = [info.display_name or info.name for info in hparams]
    header += [info.display_name or info.name.tag for info in metrics]

    def row_of(group: SessionGroup) -> list[Cell]:
        cells: list[Cell] = []
        for info in hparams:
            value = python_value(group.hparams[info.name]) if info.name in group.hparams else None
            cells.append("" if value is None else value)
        values = {(value.name.group, value.name.tag): value.value for value in group.metric_values}
        cells += [values.get((info.name.group, info.name.tag)) for info in metrics]
        return list(compress(cells, visible))

    return list(compress(header, visible)), map(row_of, groups)


def encoded(header: Sequence[str], rows: Iterable[Sequence[Cell]], file_format: Format) -> Iterator[str | bytes]:
    """Return the table in one of the formats, made while it is sent."""
    match file_format:
        case "json":
            cells = ([json_number(cell) if isinstance(cell, float) else cell for cell in row] for row in rows)
            return named([("header", [orjson.dumps(header)]), ("rows", listed(cells))])
        case "csv":
            return csv_lines(header, rows)
        case "latex":
            return _latex(header, rows)
        case _:
            assert_never(file_format)


def _latex(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    yield "\n".join([r"\begin{table}[tbp]", rf"\begin{{tabular}}{{{'l' * len(header)}}}", ""])
    yield rf"{_latex_row(header)} \\ \hline" + "\n"
    for row in rows:
        yield rf"{_latex_row(row)} \\" + "\n"
    yield "\n".join([r"\hline", r"\end{tabular}", r"\end{table}", ""])


def _latex_row(cells: Iterable[Cell]) -> str:
    return " & ".join(map(_latex_cell, cells))


def _latex_cell(cell: Cell) -> str:
    """Return three significant digits, as a power of ten where they need one."""
    match cell:
        case None:
            return "-"
        case str():
            return cell.replace("_", r"\_").replace("%", r"\%")
        case bool():
            return f"${int(cell)}$"
        case _ if math.isnan(cell):
            return r"$\mathrm{NaN}$"
        case _ if math.isinf(cell):
            return rf"${'-' if cell < 0 else '+'}\infty$"
    digits, power, exponent = f"{cell:.3g}".partition("e")
    return rf"${digits}\cdot 10^{{{int(exponent)}}}$" if power else f"${digits}$"
