"""Query parameters shared by several routes."""

from typing import Annotated, Final

from fastapi import Query

from stepscope.summary.names import LONGEST_NAME

MAX_NAME: Final = LONGEST_NAME
MOST_RUNS: Final = 2_000
"""Maximum number of runs that one request may name."""

RunName = Annotated[str, Query(max_length=MAX_NAME)]
TagName = Annotated[str, Query(max_length=MAX_NAME)]
Index = Annotated[int, Query(ge=0, lt=1 << 63)]
"""Position of a point in its series, or of a sample in a point."""
Step = Annotated[int, Query(ge=-(1 << 63), lt=1 << 63)]
