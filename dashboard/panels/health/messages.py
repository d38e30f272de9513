"""JSON messages about event files; the page's types are generated from these classes."""

from typing import Final, Literal, TypedDict

Severity = Literal["bad", "open", "good"]
"""Data lost for good or unreadable; data still to come; nothing to report."""


class FileRow(TypedDict):
    """An event file, as a row of the table."""

    path: str
    file: str
    run: str
    records: int
    size: int
    read: int
    stretches: int
    skipped: int
    superseded: int
    modified: float | None
    """Time of the last write, in seconds since 1970."""
    state: str
    severity: Severity


MESSAGES: Final = (FileRow,)
