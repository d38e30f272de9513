"""The scalars of event files as plain lists."""

from collections.abc import Iterable
from io import BytesIO
from pathlib import PurePosixPath

from stepscope.summary.event_file import EventFile
from stepscope.summary.series import SCALARS
from stepscope.summary.storage import Folder


def scalars_of(folder: Folder, file_names: Iterable[str]) -> dict[str, list[list[float]]]:
    """Return all scalars of the files by tag, each point as ``[wall time, step, value]``.

    Raises:
        OSError: a file cannot be read.
    """
    scalars: dict[str, list[list[float]]] = {}
    for name in file_names:
        content = folder.read(name)

        def open_at(offset: int, content: bytes = content) -> BytesIO:
            stream = BytesIO(content)
            stream.seek(offset)
            return stream

        file = EventFile(PurePosixPath(name), open_at)
        file.read_new(len(content))
        for tag, points in file.points.items():
            if points.kind == SCALARS:
                part = points.part(file.path)
                columns = (part.wall_times, part.steps, part.values)
                rows = zip(*(column.tolist() for column in columns), strict=True)
                scalars.setdefault(tag, []).extend(map(list, rows))
    return scalars
