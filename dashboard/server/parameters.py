"""Query parameters that several routes share."""

from typing import Annotated, Final

from fastapi import Query

from stepscope.summary.names import LONGEST_NAME

MAX_NAME: Final = LONGEST_NAME
MOST_RUNS: Final = 2_000
"""Runs that one request may name."""

RunName = Annotated[str, Query(max_length=MAX_NAME)]
TagName = Annotated[str, Query(max_length=MAX_NAME)]
Index = Annotated[int, Query(ge=0)]
"""Place of a point in its series, or of a sample in a point."""
