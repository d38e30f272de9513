"""Names for single pictures and clips, given out by one route and accepted by another."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Annotated, Final

import numpy as np
import orjson
from fastapi import HTTPException, Query

from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.parameters import MAX_NAME
from stepscope.summary.distinct import distinct_values
from stepscope.summary.kinds.base import Payload, PayloadError
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot

MOST_COUNTED: Final = 32
"""Maximum steps read to find the number of samples of a tag."""

BlobKey = Annotated[str, Query(max_length=4 * MAX_NAME, description="Names one blob, as the listing gave it.")]


def blob_key(series: Series, index: int, sample: int) -> str:
    """Return a name for a sample: opaque to clients, and stable until a run is restarted at an earlier step."""
    wall_time_bits = int(series.wall_times[index : index + 1].view(np.int64)[0])
    where = [series.run, series.tag, int(series.steps[index]), wall_time_bits, sample]
    return urlsafe_b64encode(orjson.dumps(where)).decode().rstrip("=")


def find_blob(snapshot: Snapshot, key: str, kind: str) -> tuple[Series, int, int]:
    """Return the series, index, and sample that a key names.

    Raises:
        HTTPException: 400 if the text is not a key, 404 if what it names is gone.
    """
    try:
        run, tag, step, wall_time_bits, sample = orjson.loads(urlsafe_b64decode(key + "=" * (-len(key) % 4)))
        series = find_series(snapshot, str(run), str(tag), kind)
        same_time = series.wall_times.view(np.int64) == int(wall_time_bits)
        at = np.flatnonzero((series.steps == int(step)) & same_time)
        number = int(sample)
    except (ValueError, TypeError, OverflowError) as error:
        raise HTTPException(400, f"{key[:80]!r} is not a blob_key of /data/plugin/{kind}/{kind}.") from error
    if len(at) == 0:
        raise HTTPException(404, f"What {run!r}, {tag!r} had at step {step} no longer exists: the run was restarted.")
    return series, int(at[-1]), number


def most_samples(series: Series, samples_in: Callable[[Payload], int]) -> int:
    """Return the largest number of samples at any of up to `MOST_COUNTED` evenly spaced steps."""
    chosen = distinct_values(np.linspace(0, len(series) - 1, min(len(series), MOST_COUNTED)).round().astype(np.int64))
    most = 0
    for index in chosen.tolist():
        try:
            most = max(most, samples_in(series.read(index)))
        except PayloadError:
            continue
    return most
