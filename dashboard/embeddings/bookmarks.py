"""Bookmarks: saved views of an embedding, in TensorBoard's JSON.

A list of objects with "label", "selectedProjection", "projections" (a list of coordinates), "cameraDef",
"selectedPoints" and so on (tensorboard/plugins/projector/vz_projector/data.ts, ``State``).
"""

from typing import Any, Final

import orjson

from stepscope.dashboard.embeddings.dataset import Problem
from stepscope.summary.memory_budget import TooLargeError, claim

LARGEST: Final = 64 << 20
"""Maximum size of a file in bytes."""
MOST: Final = 200
_MEMORY: Final = 16
"""Approximate maximum bytes of memory per byte of JSON."""


def read_bookmarks(content: bytes) -> tuple[tuple[dict[str, Any], ...], list[Problem]]:
    """Return the bookmarks in a file, and the problems with it."""
    if len(content) > LARGEST:
        return (), [Problem("bookmarks", f"The bookmarks have {len(content):,} bytes, which is too much.", 1)]
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
        problems.append(Problem("bookmarks", f"Of the bookmarks {wrong:,} are not views and left out.", wrong))
    if len(views) > MOST:
        message = f"Only the first {MOST:,} of {len(views):,} bookmarks are shown."
        problems.append(Problem("bookmarks", message, len(views) - MOST))
    return tuple(views[:MOST]), problems
