"""The badge that shows users what was skipped, lost or hidden in the log directory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dash
import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html

from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import count, file_size
from stepscope.dashboard.server.work import light
from stepscope.summary.contents import FileHealth
from stepscope.summary.counts import counted
from stepscope.summary.snapshot import Snapshot

MOST_FILES = 50
MOST_DAMAGES = 5
"""Maximum number of damaged stretches per file that the badge lists; the Health tab has all."""
READING_ID = "reading"
"""The id of the header's element that shows the progress of the first pass."""


def is_bad(file: FileHealth) -> bool:
    """Return whether some of the file was lost, or none of it can be read."""
    return bool(file.damage_count or file.error)


def is_read(file: FileHealth) -> bool:
    """Return whether the file was processed to its end."""
    return file.bytes_read >= file.size or file.waiting or is_bad(file)


@dataclass(frozen=True)
class Progress:
    """The progress of a pass over many files."""

    files_read: int
    files: int
    bytes_read: int
    bytes: int

    @property
    def percent(self) -> float:
        """The progress by bytes, or by files if none has any; from 0 to 100."""
        done, total = (self.bytes_read, self.bytes) if self.bytes else (self.files_read, self.files)
        return 100 * done / total if total else 0.0


def progress(snapshot: Snapshot) -> Progress | None:
    """Return the progress of the first pass; None if it has ended."""
    if not snapshot.loading:
        return None
    files = [file for file in snapshot.health if not file.is_folder]
    done = [is_read(file) for file in files]
    sizes = [max(file.size, file.bytes_read) for file in files]
    # A file read to its end counts in full: data that was skipped, or that waits for its rest, delays nothing.
    read = sum(size if end else file.bytes_read for file, size, end in zip(files, sizes, done, strict=True))
    return Progress(sum(done), len(done), read, sum(sizes))


def reading_texts(at: Progress) -> tuple[str, ...]:
    """Return the progress in words: files, and bytes."""
    if not at.files:
        # The content shown comes from the index of an earlier start, or nothing was found yet.
        return ("looking at the log directory",)
    return (
        f"reading: {count(at.files_read)} of {counted(at.files, 'file')}",
        f"{file_size(at.bytes_read)} of {file_size(at.bytes)}",
    )


def reading_bar(at: Progress) -> list[Any]:
    """Return the progress in the header: a bar along its lower edge, and text if there is room."""
    texts = reading_texts(at)
    return [
        html.Div(
            className="reading-bar",
            style={"--done": f"{at.percent:.1f}%"},
            role="progressbar",
            title=", ".join(texts),
            **{
                "aria-label": "Reading the log directory",
                "aria-valuemin": "0",
                "aria-valuemax": "100",
                "aria-valuenow": f"{at.percent:.0f}",
                "aria-valuetext": ", ".join(texts),
            },
        ),
        *[html.Span(text if text is texts[-1] else f"{text}, ") for text in texts],
    ]


def register_progress(app: Dash, live: Live) -> None:
    """Add the callback that updates the header's progress bar, which exists whichever panel is open."""

    @app.callback(
        Output(READING_ID, "children"),
        Input("revision", "data"),
        State(READING_ID, "children"),
        prevent_initial_call=True,
    )
    @light
    def update_progress(_revision: int | None, shown: list[Any] | None) -> Any:
        at = progress(live.snapshot())
        if at is None:
            if not shown:
                raise dash.exceptions.PreventUpdate
            return []
        return reading_bar(at)


def writers_text(at_once: Mapping[str, int]) -> str:
    """Return in words which runs several writers wrote to at once, and how many; there must be at least one."""
    up_to = "up to " if len(set(at_once.values())) > 1 else ""
    return f"{up_to}{count(max(at_once.values()))} writers at once in {counted(len(at_once), 'run')}"


def file_entry(file: FileHealth) -> html.Li:
    """Return the entry of one file: what is wrong with it, and where."""
    facts: list[Any] = []
    if file.error:
        verb = "listed" if file.is_folder else "opened"
        facts.append(html.Div(f"cannot be {verb}: {file.error}", className="damage"))
    facts += [
        html.Div(
            [html.Span(f"at byte {count(damage.offset)}", className="offset"), html.Span(damage.reason)],
            className="damage",
        )
        for damage in file.damages[:MOST_DAMAGES]
    ]
    unlisted = file.damage_count - min(len(file.damages), MOST_DAMAGES)
    if unlisted > 0:
        facts.append(html.Div(f"and {count(unlisted)} more", className="damage"))
    read = f"{file_size(file.bytes_read)} of {file_size(file.size)} read, {counted(file.records, 'record')}"
    size = [] if file.is_folder else [html.Div(read, className="facts")]
    path = html.Button(
        file.path, className="path health-open", title="Show in the Health tab", **{"data-path": file.path}
    )
    return html.Li([path, *size, *facts])


def health_badge(snapshot: Snapshot) -> Any:
    """Return the badge and its popover; nothing if there are no problems."""
    every = [file for file in snapshot.health if is_bad(file)]
    bad, folders = [file for file in every if not file.is_folder], [file for file in every if file.is_folder]
    superseded, writers = snapshot.superseded, snapshot.written_at_once
    if not every and not superseded and not writers:
        return None
    label = " · ".join(
        text
        for text in (
            counted(len(bad), "damaged file") if bad else "",
            f"{counted(len(folders), 'folder')} not listed" if folders else "",
            f"{count(superseded)} superseded" if superseded else "",
            f"{count(max(writers.values()))} writers at once" if writers else "",
        )
        if text
    )
    parts: list[Any] = [html.Button("Show all", className="quiet health-open health-all", **{"data-path": ""})]
    if bad:
        skipped = counted(snapshot.damage_count, "stretch", "stretches")
        parts += [
            html.H3("Damaged files"),
            html.P(f"Skipped because unreadable: {skipped}. Everything else is shown."),
            html.Ul([file_entry(file) for file in bad[:MOST_FILES]]),
        ]
        if len(bad) > MOST_FILES:
            parts.append(html.P(f"and {counted(len(bad) - MOST_FILES, 'more file', 'more files')}"))
    if folders:
        parts += [
            html.H3("Folders that cannot be listed"),
            html.P("They may contain files that are not shown. Stepscope keeps retrying."),
            html.Ul([file_entry(folder) for folder in folders[:MOST_FILES]]),
        ]
    if superseded:
        parts += [
            html.H3("Superseded points"),
            html.P(
                f"{counted(superseded, 'point')} of a run that was restarted at an earlier step: earlier points are "
                "kept, later ones are replaced. Start with --keep-superseded to see all."
            ),
            html.Ul(
                [
                    html.Li(f"{run.name}: {counted(hidden, 'point')}")
                    for run in snapshot.runs.values()
                    if (hidden := run.superseded)
                ][:MOST_FILES]
            ),
        ]
    if writers:
        parts += [
            html.H3("Several writers at once"),
            html.P(
                "Files of one folder were written at the same time with the same tags, for example by every process of "
                "a distributed training job. Every point is shown. Log from one process only, or into a separate "
                "folder per process."
            ),
            html.Ul([html.Li(f"{run}: {count(number)} at once") for run, number in writers.items()][:MOST_FILES]),
        ]
    severity = "bad" if every else "note"
    target = html.Button(
        [icon("alert", 15), html.Span(label, className="health-label")],
        id="health-badge",
        className=f"health {severity}",
        title=label,
        **{"aria-label": label, "aria-haspopup": "dialog"},
    )
    return dmc.Popover(
        [
            dmc.PopoverTarget(target, boxWrapperProps={"style": {"display": "flex"}}),
            dmc.PopoverDropdown(html.Div(parts, className="health-details", role="dialog", **{"aria-label": "Health"})),
        ],
        width=460,
        position="bottom-end",
        shadow="md",
        withArrow=True,
        # Mantine gives the roles to a box around the button.
        withRoles=False,
        trapFocus=True,
        returnFocus=True,
    )
