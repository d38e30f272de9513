"""Bookmarks: saved views of an embedding, in TensorBoard's JSON.

A list of objects with "label", "selectedProjection", "projections" (a list of coordinates), "cameraDef",
"selectedPoints" and so on (tensorboard/plugins/projector/vz_projector/data.ts, ``State``).
"""

from typing import Any, Final

import orjson

from stepscope.dashboard.embeddings.dataset import Problem
from stepscope.dashboard.server.numbers import file_size
from stepscope.summary.counts import counted
from stepscope.summary.memory_budget import TooLargeError, claim

LARGEST: Final = 64 << 20
"""Maximum size of a file in bytes."""
MOST: Final = 200
_MEMORY: Final = 16
"""Approximate maximum bytes of memory per byte of JSON."""


def read_bookmarks(content: bytes) -> tuple[tuple[dict[str, Any], ...], list[Problem]]:
    """Return the bookmarks in a file, and the problems with it."""
    if len(content) > LARGEST:
        message = f"The bookmarks are {file_size(len(content))}; the limit is {file_size(LARGEST)}."
        return (), [Problem("bookmarks", message, 1)]
    try:
        claim(_MEMORY * len(content))
        found = orjson.loads(content)
    except TooLargeError as error:
        return (), [Problem("bookmarks", f"The bookmarks cannot be read. {error}", 1)]
    except (orjson.JSONDecodeError, RecursionError) as error:
        return (), [Problem("bookmarks", f"The bookmarks are not JSON: {error}.", 1)]
    if isinstance(found, dict):
        found = [found]
    if not isinstance(found, list):
        return (), [Problem("bookmarks", "The bookmarks are not a list of views, as TensorBoard writes them.", 1)]
    views = [view for view in found if isinstance(view, dict)]
    problems: list[Problem] = []
    if len(views) < len(found):
        wrong = len(found) - len(views)
        are, were = ("is not a valid view", "was") if wrong == 1 else ("are not valid views", "were")
        message = f"{counted(wrong, 'bookmark')} {are} and {were} left out."
        problems.append(Problem("bookmarks", message, wrong))
    if len(views) > MOST:
        message = f"Only the first {MOST:,} of {len(views):,} bookmarks are shown."
        problems.append(Problem("bookmarks", message, len(views) - MOST))
    return tuple(views[:MOST]), problems
