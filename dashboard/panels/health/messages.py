"""What the page is told of event files, as JSON; its types of it are made from these."""

from typing import Final, Literal, TypedDict

Severity = Literal["bad", "open", "good"]
"""What was lost for good or cannot be read; what is still to come; nothing to say."""


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
    """When it was last written to, in seconds since 1970."""
    state: str
    severity: Severity


MESSAGES: Final = (FileRow,)
