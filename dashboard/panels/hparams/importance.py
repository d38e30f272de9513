"""The view of importance and correlation: bars, warnings and the method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dash import html

from stepscope.dashboard.panels.hparams.analysis import (
    FEWEST_SESSIONS,
    MOST_GROWN,
    POOR_FIT,
    TREES,
    Analysis,
    Correlation,
    analyze,
)
from stepscope.dashboard.panels.hparams.table import Table
from stepscope.dashboard.server.numbers import count
from stepscope.summary.counts import counted


@dataclass(frozen=True)
class Bar:
    """One hyperparameter."""

    name: str
    importance: float | None
    correlation: Correlation | None


def analysis_of(table: Table) -> Analysis | None:
    """Return the analysis of the individual sessions that pass the filters; None without a target or columns."""
    passing = table.passing
    return None if table.target is None or not passing.hparams else analyze(passing.hparams, passing.metric)


def bars(found: Analysis, by: str, labels: Mapping[str, str]) -> list[Bar]:
    """Return one bar per hyperparameter, the one with the most importance or correlation first."""
    importance = found.forest.importance if found.forest is not None else {}
    names = dict.fromkeys([*importance, *found.correlations])
    all_bars = [Bar(labels.get(name, name), importance.get(name), found.correlations.get(name)) for name in names]

    def size(bar: Bar) -> tuple[float, float]:
        correlated = abs(bar.correlation.value) if bar.correlation is not None else -1.0
        important = bar.importance if bar.importance is not None else -1.0
        return (correlated, important) if by == "correlation" else (important, correlated)

    return sorted(all_bars, key=size, reverse=True)


def warnings(found: Analysis) -> list[str]:
    """Return warnings about reasons not to trust the numbers."""
    said: list[str] = []
    if found.sessions < FEWEST_SESSIONS:
        said.append(
            f"Too few sessions: {counted(found.sessions, 'session')} with a value; importance needs at least "
            f"{FEWEST_SESSIONS}, and correlations of so few are mostly noise."
        )
    elif found.missing is not None:
        said.append(found.missing)
    elif found.forest is None:
        said.append("Nothing to explain: the metric is the same in all sessions, or no hyperparameter differs.")
    elif found.forest.r2 < POOR_FIT:
        said.append(
            f"The forest explains little (out-of-bag R\u00b2 {found.forest.r2:.2f}): do not trust the importances. "
            "More sessions may help, or the metric depends on more than hyperparameters, such as chance."
        )
    if found.left_out:
        said.append(f"Left out: {counted(found.left_out, 'session')} without a finite value.")
    return said


def method(found: Analysis) -> str:
    """Return a description of how the numbers were computed."""
    correlation = "Correlation: Spearman's \u03c1 for numbers, correlation ratio \u03b7 for categories."
    if found.forest is None:
        sessions = f"{counted(found.sessions, 'session')}."
        return f"{sessions} {correlation}" if found.correlations else sessions
    return (
        f"{counted(found.sessions, 'session')}; random forest of {count(TREES)} trees (scikit-learn) on the ranks of "
        f"the metric{_drawn(found)}, out-of-bag R\u00b2 {found.forest.r2:.2f}. Importance: share of the variance that "
        f"is lost when the hyperparameter is shuffled. {correlation}"
    )


def _drawn(found: Analysis) -> str:
    if found.sessions <= MOST_GROWN:
        return ""
    grown = f"each grown from {count(MOST_GROWN)} sessions drawn at random from all"
    return f", {grown} and evaluated on {count(MOST_GROWN)} evenly spaced sessions"


def importance_view(table: Table, found: Analysis | None, by: str, switch: Any) -> html.Div:
    """Return the bars, or a message that explains why there are none.

    Args:
        table: the table that the panel shows.
        found: the result of `analysis_of` for it.
        by: "importance" or "correlation": what the bars are sorted by.
        switch: the control for ``by``.
    """
    if found is None or table.target is None:
        why = "Choose a target metric and at least one hyperparameter on the left."
        return html.Div([html.Strong("Nothing to explain"), html.Span(why)], className="notice none")
    listed = bars(found, by, {column.key: column.label for column in table.columns})
    better = "lower is better" if table.lower_is_better else "higher is better"
    head = html.Div(
        [
            html.H3(["What ", html.B(table.target.label), " depends on"]),
            html.Span(better, className="count"),
            html.Span(className="spacer"),
            html.Span("Sorted by", className="count"),
            switch,
        ],
        className="hparams-importance-head",
    )
    return html.Div(
        [
            head,
            *(html.P(text, className="hparams-warning", role="status") for text in warnings(found)),
            _bar_table(listed, max((bar.importance or 0 for bar in listed), default=0)) if listed else html.Div(),
            html.P(method(found), className="hparams-method"),
        ],
        className="hparams-importance",
    )


def _bar_table(listed: Sequence[Bar], largest: float) -> html.Table:
    header = html.Thead(html.Tr([html.Th("Hyperparameter"), html.Th("Importance"), html.Th("Correlation")]))
    return html.Table([header, html.Tbody([_line(bar, largest) for bar in listed])], className="hparams-bars")


def _line(bar: Bar, largest: float) -> html.Tr:
    width = 0 if bar.importance is None or not largest else 100 * bar.importance / largest
    importance = html.Td(
        html.Div(
            [
                html.Div(html.I(style={"width": f"{width:.1f}%"}), className="hparams-bar"),
                html.Span("\u2013" if bar.importance is None else f"{bar.importance:.3f}"),
            ]
        )
    )
    return html.Tr([html.Th(bar.name, scope="row", title=bar.name), importance, _correlation(bar.correlation)])


def _correlation(found: Correlation | None) -> html.Td:
    if found is None:
        return html.Td(html.Div([html.Div(className="hparams-bar signed"), html.Span("\u2013")]))
    sign = "unsigned" if found.measure == "eta" else "negative" if found.value < 0 else "positive"
    measure = "\u03c1" if found.measure == "spearman" else "\u03b7"
    title = "Spearman's rank correlation" if found.measure == "spearman" else "Correlation ratio of the categories"
    style = {"width": f"{50 * abs(found.value):.1f}%"}
    return html.Td(
        html.Div(
            [
                html.Div(html.I(style=style, className=sign), className="hparams-bar signed"),
                html.Span(
                    f"{measure} {found.value:+.2f}" if found.measure == "spearman" else f"{measure} {found.value:.2f}"
                ),
            ]
        ),
        title=f"{title}, {counted(found.sessions, 'session')}",
    )
