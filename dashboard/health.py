"""What was skipped, lost or hidden in the log directory, where the user sees it."""

from typing import Any

import dash_mantine_components as dmc
from dash import html

from dashboard.icons import icon
from dashboard.numbers import count, counted, file_size
from summary.snapshot import FileHealth, Snapshot

MOST_FILES = 50


def file_entry(file: FileHealth) -> html.Li:
    """One file: what is wrong with it, and where."""
    facts: list[Any] = []
    if file.error:
        facts.append(html.Div(f"cannot be opened: {file.error}", className="damage"))
    facts += [
        html.Div(
            [html.Span(f"at byte {count(damage.offset)}", className="offset"), html.Span(damage.reason)],
            className="damage",
        )
        for damage in file.damages
    ]
    unlisted = file.damage_count - len(file.damages)
    if unlisted > 0:
        facts.append(html.Div(f"and {count(unlisted)} more", className="damage"))
    size = f"{file_size(file.bytes_read)} of {file_size(file.size)} read, {counted(file.records, 'record')}"
    return html.Li([html.Div(file.path, className="path"), html.Div(size, className="facts"), *facts])


def health_badge(snapshot: Snapshot) -> Any:
    """The badge and its popover; nothing where all is well."""
    bad = [file for file in snapshot.health if file.damage_count or file.error]
    superseded = snapshot.superseded
    if not bad and not superseded:
        return None
    label = " · ".join(
        text
        for text in (
            counted(len(bad), "damaged file") if bad else "",
            f"{count(superseded)} superseded" if superseded else "",
        )
        if text
    )
    parts: list[Any] = []
    if bad:
        skipped = counted(snapshot.damage_count, "stretch", "stretches")
        parts += [
            html.H3("Damaged files"),
            html.P(f"Skipped because unreadable: {skipped}. Everything else is shown."),
            html.Ul([file_entry(file) for file in bad[:MOST_FILES]]),
        ]
        if len(bad) > MOST_FILES:
            parts.append(html.P(f"and {counted(len(bad) - MOST_FILES, 'more file', 'more files')}"))
    if superseded:
        parts += [
            html.H3("Superseded points"),
            html.P(
                f"{counted(superseded, 'point')} of a run that was started again at an earlier step: what came "
                "before that step is kept, what it wrote after is replaced. Start with --keep-superseded to see all."
            ),
            html.Ul(
                [
                    html.Li(f"{run.name}: {counted(hidden, 'point')}")
                    for run in snapshot.runs.values()
                    if (hidden := sum(series.superseded for series in run.series.values()))
                ][:MOST_FILES]
            ),
        ]
    severity = "bad" if bad else "note"
    target = html.Button([icon("alert", 15), label], id="health-badge", className=f"health {severity}")
    return dmc.Popover(
        [
            dmc.PopoverTarget(target, boxWrapperProps={"style": {"display": "flex"}}),
            dmc.PopoverDropdown(html.Div(parts, className="health-details")),
        ],
        width=460,
        position="bottom-end",
        shadow="md",
        withArrow=True,
        trapFocus=True,
        returnFocus=True,
    )
