"""Embeddings as they are read: what ``projector_config.pbtxt`` names, and the files that it names.

The configuration lies in a run's folder, or in ``plugins/org_tensorflow_tensorboard_projector`` below it. No file is
read that lies neither in the log directory nor below the configuration's own folder, whichever way a path or a
symbolic link leads there.
"""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np
from google.protobuf import text_format
from numpy.typing import NDArray

from summary.embedding import CONFIG_NAME
from summary.proto.projector_pb2 import EmbeddingInfo, ProjectorConfig
from summary.snapshot import Companion, Snapshot
from summary.source import readable

CONFIG_PATTERN: Final = CONFIG_NAME
"""What `summary.logdir.Logdir` must be asked to list as companions."""
LARGEST_CONFIG: Final = 4 << 20
LARGEST_ASSET: Final = 1 << 30
"""Bytes; larger files are not read."""

_PLUGIN_FOLDER: Final = ("plugins", "org_tensorflow_tensorboard_projector")


class ProjectorError(ValueError):
    """There is no such embedding or file, or it cannot be read; the message is a sentence for a person."""


@dataclass(frozen=True)
class ProjectorRun:
    """The embeddings of a run."""

    run: str
    config: ProjectorConfig
    """With those embeddings only that have a file of their own; checkpoints are not read."""
    folder: Path
    """Where the configuration lies, and what its paths are relative to."""
    logdir: Path
    problem: str = ""
    """Why the configuration cannot be read; empty if it can."""


def run_of_config(path: PurePosixPath) -> str:
    """The run that a configuration belongs to, given its path in the log directory."""
    folder = path.parent
    if folder.parts[-2:] == _PLUGIN_FOLDER:
        folder = PurePosixPath(*folder.parts[:-2])
    return readable(folder)


def projector_runs(snapshot: Snapshot) -> dict[str, ProjectorRun]:
    """By name, the runs that have embeddings, or a configuration that cannot be read.

    Where both a run's folder and the plugin's below it have a configuration with embeddings, the plugin's counts.

    Args:
        snapshot: of a log directory that lists companions of the name `CONFIG_PATTERN`.
    """
    found: dict[str, ProjectorRun] = {}
    configs = [c for c in snapshot.companions if c.relative_path.name == CONFIG_NAME]
    for companion in sorted(configs, key=lambda c: (len(c.relative_path.parts), str(c.relative_path))):
        read = _read_config(companion)
        if read.config.embeddings or (read.problem and read.run not in found):
            found[read.run] = read
    return dict(sorted(found.items()))


def find_embedding(run: ProjectorRun, name: str) -> EmbeddingInfo:
    """The embedding of that name, to which ":0" may be added.

    Raises:
        ProjectorError: the run has none.
    """
    for info in run.config.embeddings:
        if info.tensor_name == name.removesuffix(":0"):
            return info
    known = ", ".join(info.tensor_name for info in run.config.embeddings)
    raise ProjectorError(f"{run.run!r} has no embedding {name!r}; it has {known[:500] or 'none'}.")


def asset_path(run: ProjectorRun, path: str) -> Path:
    """The file that a configuration names.

    Raises:
        ProjectorError: there is no such file, it is too large, or it lies outside.
    """
    try:
        resolved = (run.folder / path).resolve()
        roots = (run.folder.resolve(), run.logdir.resolve())
        size = resolved.stat().st_size if resolved.is_file() else None
    except (OSError, RuntimeError) as error:
        raise ProjectorError(f"The file {path[:200]!r} cannot be read: {error}.") from error
    except ValueError as error:
        raise ProjectorError(f"{path[:200]!r} is no path: {error}.") from error
    if not any(resolved.is_relative_to(root) for root in roots):
        raise ProjectorError(f"The file {path!r} lies outside the log directory, so it is not read.")
    if size is None:
        raise ProjectorError(f"There is no file {path!r} in the log directory.")
    if size > LARGEST_ASSET:
        raise ProjectorError(f"The file {path!r} has {size:,} bytes; the largest that are read have {LARGEST_ASSET:,}.")
    return resolved


def read_asset(run: ProjectorRun, path: str) -> bytes:
    """The content of a file that a configuration names.

    Raises:
        ProjectorError: as `asset_path` does.
    """
    try:
        return asset_path(run, path).read_bytes()
    except OSError as error:
        raise ProjectorError(f"The file {path!r} cannot be read: {error}.") from error


def read_metadata(run: ProjectorRun, info: EmbeddingInfo, rows: int | None = None) -> bytes:
    """The labels of the points: lines of columns with tabs between them, in which case the first line has their names.

    Args:
        run: whose embedding it is.
        info: the embedding.
        rows: how many points to read the labels of; None for all.

    Raises:
        ProjectorError: it has no labels, or they cannot be read.
    """
    if not info.metadata_path:
        raise ProjectorError(f"The embedding {info.tensor_name!r} has no metadata.")
    path = asset_path(run, info.metadata_path)
    try:
        with path.open("rb") as stream:
            if rows is None:
                return stream.read(LARGEST_ASSET)
            first = stream.readline()
            return first + b"".join(islice(stream, rows if b"\t" in first else rows - 1))
    except OSError as error:
        raise ProjectorError(f"The file {info.metadata_path!r} cannot be read: {error}.") from error


def read_tensor(run: ProjectorRun, info: EmbeddingInfo, rows: int | None = None) -> NDArray[np.float32]:
    """The points of an embedding, float32 [points, dimensions].

    Lines of numbers with tabs between them; what is no such text is raw float32 of the shape that ``info`` says.

    Args:
        run: whose embedding it is.
        info: the embedding.
        rows: how many points to read; None for all.

    Raises:
        ProjectorError: the file cannot be read, or holds no such numbers.
    """
    path = asset_path(run, info.tensor_path)
    try:
        return _read_text(path, rows)
    except OSError as error:
        raise ProjectorError(f"The file {info.tensor_path!r} cannot be read: {error}.") from error
    except ValueError as error:
        shape = tuple(info.tensor_shape)
        if len(shape) == 2 and shape[0] * shape[1] * 4 == path.stat().st_size:
            count = -1 if rows is None else min(rows, shape[0]) * shape[1]
            return np.fromfile(path, "<f4", count).reshape(-1, shape[1])
        raise ProjectorError(
            f"The file {info.tensor_path!r} holds neither lines of numbers ({error})"
            f" nor the raw float32 of the shape {list(shape)}."
        ) from error


def _read_text(path: Path, rows: int | None) -> NDArray[np.float32]:
    with path.open(encoding="utf-8") as stream:
        if not any(line.strip() for line in stream):
            return np.zeros((0, 0), np.float32)
        stream.seek(0)
        return np.loadtxt(stream, np.float32, comments=None, delimiter="\t", max_rows=rows, ndmin=2)


def _read_config(companion: Companion) -> ProjectorRun:
    path = Path(companion.path)
    logdir = path.parents[len(companion.relative_path.parts) - 1]
    run = run_of_config(companion.relative_path)
    config = ProjectorConfig()
    try:
        if companion.size > LARGEST_CONFIG:
            raise ValueError(f"it has {companion.size:,} bytes; at most {LARGEST_CONFIG:,} are read")
        text_format.Parse(path.read_bytes().decode(), config, allow_unknown_field=True)
    except (OSError, ValueError, RecursionError, text_format.ParseError) as error:
        problem = f"{companion.relative_path} is no readable projector configuration: {error}."
        return ProjectorRun(run, ProjectorConfig(), path.parent, logdir, problem)
    with_file = [info for info in config.embeddings if info.tensor_path]
    for info in with_file:
        info.tensor_name = info.tensor_name.removesuffix(":0") or PurePosixPath(info.tensor_path).name
    del config.embeddings[:]
    config.embeddings.extend(with_file)
    return ProjectorRun(run, config, path.parent, logdir)
