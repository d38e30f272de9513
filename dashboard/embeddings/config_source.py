"""An embedding named in a projector configuration, with its metadata, sprite, and bookmarks."""

import numpy as np

from stepscope.dashboard.embeddings.assembly import EmbeddingUnavailableError, ReadPoints, all_rows
from stepscope.dashboard.embeddings.bookmarks import read_bookmarks
from stepscope.dashboard.embeddings.columns import columns_of_table
from stepscope.dashboard.embeddings.dataset import Problem
from stepscope.dashboard.embeddings.metadata import read_metadata_file
from stepscope.dashboard.embeddings.sprites import read_sprite
from stepscope.summary.projector import ProjectorError, ProjectorRun, raw_points, read_asset, read_from_checkpoint
from stepscope.summary.proto.projector_pb2 import EmbeddingInfo
from stepscope.summary.vector_table_rules import VectorTableError
from stepscope.summary.vector_tables import vectors_of_text


def read_config_embedding(run: ProjectorRun, info: EmbeddingInfo, step: int | None, place: int) -> ReadPoints:
    """Return the points of an entry, with the contents of its other files.

    Args:
        run: the run with the configuration.
        info: the entry.
        step: step of the checkpoint, for an entry without a file.
        place: index of the entry among those of the same name.

    Raises:
        EmbeddingUnavailableError: the points cannot be read. Errors in the other files are reported as problems.
    """
    try:
        if not info.tensor_path:
            read = all_rows(read_from_checkpoint(run, info, step, place=place))
        else:
            read = _of_file(run, info)
    except (ProjectorError, OSError) as error:
        raise EmbeddingUnavailableError(str(error)) from error
    return _with_files(run, info, read)


def _of_file(run: ProjectorRun, info: EmbeddingInfo) -> ReadPoints:
    """Return the points of a text file, or of raw float32 in the shape given by the configuration."""
    path = info.tensor_path
    shape = tuple(info.tensor_shape)
    raw = raw_points(run, info, of_cut_file=True)
    if raw is not None:
        return all_rows(raw, _other_shape(shape, raw.shape))
    content = read_asset(run, path)
    try:
        table = vectors_of_text(content, path)
    except VectorTableError as error:
        said = f"neither lines of numbers nor raw float32 of shape {list(shape)}" if shape else "no lines of numbers"
        raise ProjectorError(f"The file {path!r} has {said}: {error}") from error
    problems = [Problem(remark.kind, remark.message, remark.count) for remark in table.remarks]
    problems += _other_shape(shape, (table.row_count, table.points.shape[1]))
    columns = tuple(columns_of_table(table.columns))
    return ReadPoints(table.points, table.rows, table.row_count, columns, tuple(problems))


def _other_shape(said: tuple[int, ...], found: tuple[int, ...]) -> list[Problem]:
    if len(said) != 2 or said == found:
        return []
    message = f"The configuration says that there are {said[0]:,} points of {said[1]:,} dimensions; the file has "
    return [Problem("shape", f"{message}{found[0]:,} of {found[1]:,}.", 1)]


def _with_files(run: ProjectorRun, info: EmbeddingInfo, read: ReadPoints) -> ReadPoints:
    problems = list(read.problems)
    columns = list(read.columns)
    sprite, bookmarks = read.sprite, read.bookmarks
    if info.metadata_path:
        content = _asset(run, info.metadata_path, "metadata", problems)
        if content is not None:
            found, said = read_metadata_file(content, info.metadata_path, read.row_count, read.rows)
            columns += found
            problems += said
    if info.sprite.image_path:
        content = _asset(run, info.sprite.image_path, "sprite", problems)
        if content is not None:
            sprite, said = read_sprite(content, info.sprite.single_image_dim, read.row_count)
            problems += said
    if info.bookmarks_path:
        content = _asset(run, info.bookmarks_path, "bookmarks", problems)
        if content is not None:
            bookmarks, said = read_bookmarks(content)
            problems += said
    rows = np.asarray(read.rows, np.int64)
    return ReadPoints(read.points, rows, read.row_count, tuple(columns), tuple(problems), sprite, bookmarks)


def _asset(run: ProjectorRun, path: str, kind: str, problems: list[Problem]) -> bytes | None:
    try:
        return read_asset(run, path)
    except (ProjectorError, OSError) as error:
        problems.append(Problem(kind, str(error), 1))
        return None
