"""The selected file: its details, and every listed part that was skipped."""

from typing import Any

from dash import html

from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.panels.health.report import advice, condition
from stepscope.dashboard.server.numbers import count
from stepscope.summary.contents import FileHealth
from stepscope.summary.counts import counted


def details(file: FileHealth | None, path: str) -> html.Section:
    """Return the details shown below the table.

    Args:
        file: the selected file; None if it is gone.
        path: its path.
    """
    if file is None:
        gone = html.P("This file is no longer in the log directory.", className="advice")
        return html.Section([_head(path, []), gone], **{"aria-label": "Selected file"})
    state = condition(file)
    buttons = (
        [_button("copy", "Copy", "health-copy"), _button("download", "CSV", "health-save")] if file.damages else []
    )
    return html.Section(
        [
            _head(path, buttons),
            html.Div(
                [
                    html.Strong(state.words, className=f"state {state.severity}"),
                    *([] if file.is_folder else [_facts(file)]),
                ],
                className="facts",
            ),
            *(html.P(sentence, className="advice") for sentence in advice(file)),
            *_damages(file),
        ],
        **{"aria-label": "Selected file"},
    )


def _head(path: str, buttons: list[html.Button]) -> html.Header:
    close = html.Button(
        icon("close", 14), id="health-close", className="icon-button", title="Close", **{"aria-label": "Close"}
    )
    return html.Header([html.H3(path, title=path), *buttons, close])


def _button(sign: str, label: str, action: str) -> html.Button:
    return html.Button(
        [icon(sign, 14), html.Span(label)],
        className=f"quiet with-icon {action}",
        title=f"{'Copy' if action == 'health-copy' else 'Download'} the skipped stretches of this file as CSV",
        **{"data-table": "damages", "data-selected": "1"},
    )


def _facts(file: FileHealth) -> html.Span:
    size = max(file.size, file.bytes_read)
    read = f"all {count(size)} bytes read" if file.bytes_read == size else (
        f"read up to byte {count(file.bytes_read)} of {count(size)}"
    )  # fmt: skip
    return html.Span(f"{read}, {counted(file.records, 'record')}")


def _damages(file: FileHealth) -> list[Any]:
    if not file.damages:
        return []
    table = html.Table(
        [
            html.Thead(html.Tr([html.Th("Offset"), html.Th("Length"), html.Th("Reason")])),
            html.Tbody(
                [
                    html.Tr(
                        [html.Td(count(damage.offset)), html.Td(counted(damage.length, "byte")), html.Td(damage.reason)]
                    )
                    for damage in file.damages
                ]
            ),
        ],
        className="damages",
    )
    unlisted = file.damage_count - len(file.damages)
    more = [html.P(f"and {count(unlisted)} more, which are counted but not listed", className="advice")]
    return [table, *(more if unlisted > 0 else [])]
