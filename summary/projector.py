"""Reading embeddings: the entries of ``projector_config.pbtxt`` and the files that it names.

The configuration is in a run's folder, or in ``plugins/org_tensorflow_tensorboard_projector`` below it. Files outside
both the log directory and the configuration's own folder are never read, even if a path or a symbolic link leads to
them; for a remote log directory, no file outside it is read, whatever links its file system has.

An embedding without a file of its own is a tensor of a checkpoint: the one that the configuration names, or else those
next to it, as Keras writes them.
"""

import contextlib
import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BufferedReader, RawIOBase, TextIOWrapper
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, cast
from urllib.parse import unquote

import numpy as np
from google.protobuf import text_format
from numpy.typing import NDArray

from stepscope.summary.checkpoint_files import file_series, step_of
from stepscope.summary.checkpoints.base import Checkpoint, CheckpointError, TensorInfo
from stepscope.summary.checkpoints.dispatch import open_checkpoint
from stepscope.summary.checkpoints.elements import read_floats
from stepscope.summary.contents import Companion
from stepscope.summary.embedding import CONFIG_NAME
from stepscope.summary.logdir_source import source_of
from stepscope.summary.memory_budget import TooLargeError, claim
from stepscope.summary.proto.projector_pb2 import EmbeddingInfo, ProjectorConfig
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.source import read_up_to, readable
from stepscope.summary.storage import is_address

CONFIG_PATTERN: Final = CONFIG_NAME
"""The pattern to pass to `stepscope.summary.logdir.Logdir` as a companion pattern."""
LARGEST_CONFIG: Final = 4 << 20
LARGEST_ASSET: Final = 1 << 30
"""Maximum size in bytes; larger files are not read."""

_BUNDLES_AND_KERAS: Final = (".index", ".h5", ".keras")
"""Endings of the checkpoints to use if the configuration names none."""
_FLOAT_SIZE: Final = 4
_RAW: Final = ".bytes"
"""What writers call files of raw floats; any other name may be that of damaged text."""
_HEAD: Final = 4096
"""Bytes examined to distinguish text from raw numbers."""
_TEXT: Final = b"0123456789+-.eEnaifNAIF \t\r\n"
"""Characters that lines of numbers consist of."""
_KERAS_FOLDER: Final = "train"
"""Folder below the configuration to which Keras writes its checkpoints."""
_KERAS_NAME: Final = "keras_embedding.ckpt-*.weights.h5"
_KERAS_TENSOR: Final = re.compile(r"layer_with_weights-\d+/embeddings/\.ATTRIBUTES/VARIABLE_VALUE")
"""Name of every embedding in Keras' configuration, whatever its name in the file."""
_KERAS_EMBEDDING: Final = re.compile(r"(.*/)?embedding(_\d+)?/vars/0")
_OPTIMIZER: Final = re.compile(r"\.OPTIMIZER_SLOT|^optimizer/")
_PLUGIN_FOLDER: Final = ("plugins", "org_tensorflow_tensorboard_projector")


class ProjectorError(ValueError):
    """An embedding or file does not exist or cannot be read; the message is a user-readable sentence."""


@dataclass(frozen=True)
class ProjectorRun:
    """The embeddings of a run."""

    run: str
    config: ProjectorConfig
    """The configuration, with only the embeddings that have a file of their own or a checkpoint."""
    folder: str
    """Path or address of the configuration's folder, to which its paths are relative."""
    logdir: str
    """Path or address of the log directory; empty if unknown."""
    problem: str = ""
    """Reason the configuration cannot be read; empty if it can."""
    checkpoints: tuple["CheckpointFile", ...] = ()
    """Checkpoints that hold the embeddings without files: those of one model, by step."""
    version: tuple[int, ...] = ()
    """Equal for the same configuration."""


@dataclass(frozen=True)
class CheckpointFile:
    """One checkpoint to which a configuration refers."""

    path: str
    """The path, as `open_asset` expects it."""
    step: int | None = None
    version: tuple[int, ...] = ()
    """Equal for the same file, if known."""


def run_of_config(path: PurePosixPath) -> str:
    """Return the run that a configuration belongs to, given its path in the log directory."""
    folder = path.parent
    if folder.parts[-2:] == _PLUGIN_FOLDER:
        folder = PurePosixPath(*folder.parts[:-2])
    return readable(folder)


def projector_runs(snapshot: Snapshot) -> dict[str, ProjectorRun]:
    """Return the runs, by name, that have embeddings or a configuration that cannot be read.

    If both a run's folder and the plugin's folder below it have a configuration with embeddings, the plugin's is used.

    Args:
        snapshot: a snapshot of a log directory that lists companions named `CONFIG_PATTERN`.
    """
    found: dict[str, ProjectorRun] = {}
    configs = [c for c in snapshot.companions if c.relative_path.name == CONFIG_NAME]
    for companion in sorted(configs, key=lambda c: (len(c.relative_path.parts), str(c.relative_path))):
        read = _read_config(companion, snapshot.companions)
        if read.config.embeddings or (read.problem and read.run not in found):
            found[read.run] = read
    return dict(sorted(found.items()))


def find_embedding(run: ProjectorRun, name: str) -> EmbeddingInfo:
    """Return the embedding of that name; the name may end in ":0".

    Raises:
        ProjectorError: the run has no such embedding.
    """
    for info in run.config.embeddings:
        if info.tensor_name == name.removesuffix(":0"):
            return info
    known = ", ".join(info.tensor_name for info in run.config.embeddings)
    raise ProjectorError(f"{run.run!r} has no embedding {name!r}; it has {known[:500] or 'none'}.")


def open_asset(run: ProjectorRun, path: str, *, largest: int = LARGEST_ASSET) -> BinaryIO:
    """Open a file that a configuration names, at its beginning; the caller must close it.

    Args:
        run: the run to which the configuration belongs.
        path: the path as the configuration gives it.
        largest: size in bytes of the largest file to open.

    Raises:
        ProjectorError: the file does not exist, is too large, or is outside the permitted folders.
    """
    try:
        stream = _open_remote(run, path) if is_address(run.folder) else _open_local(run, path)
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
    except FileNotFoundError as error:
        raise ProjectorError(f"There is no file {path[:200]!r} in the log directory.") from error
    except (OSError, RuntimeError, ImportError) as error:
        raise ProjectorError(f"The file {path[:200]!r} cannot be read: {error}.") from error
    if size > largest:
        stream.close()
        raise ProjectorError(f"The file {path!r} is {size:,} bytes; the limit is {largest:,}.")
    return stream


def read_asset(run: ProjectorRun, path: str) -> bytes:
    """Return the content of a file that a configuration names.

    Raises:
        ProjectorError: as for `open_asset`.
    """
    with open_asset(run, path) as stream, _told(path):
        return _whole(stream)


def read_metadata(run: ProjectorRun, info: EmbeddingInfo, rows: int | None = None) -> bytes:
    """Return the labels of the points, one line each; if lines have tab-separated columns, the first line names them.

    Args:
        run: the run to which the embedding belongs.
        info: the embedding.
        rows: number of points whose labels to read; None for all.

    Raises:
        ProjectorError: the embedding has no labels, or they cannot be read.
    """
    if not info.metadata_path:
        raise ProjectorError(f"The embedding {info.tensor_name!r} has no metadata.")
    with open_asset(run, info.metadata_path) as stream, _told(info.metadata_path):
        if rows is None:
            return _whole(stream)
        first = stream.readline()
        return first + b"".join(islice(stream, rows if b"\t" in first else rows - 1))


def read_tensor(run: ProjectorRun, info: EmbeddingInfo, rows: int | None = None) -> NDArray[np.float32]:
    """Return the points of an embedding, float32 [points, dimensions].

    The file has lines of tab-separated numbers, or raw float32 of the shape given by ``info``. For an embedding without
    a file of its own, read a tensor of the last checkpoint.

    Args:
        run: the run to which the embedding belongs.
        info: the embedding.
        rows: number of points to read; None for all.

    Raises:
        ProjectorError: the file cannot be read, or holds no such numbers.
    """
    if not info.tensor_path:
        return read_from_checkpoint(run, info, None, rows)
    raw = raw_points(run, info, rows)
    if raw is not None:
        return raw
    with _told(info.tensor_path):
        try:
            with open_asset(run, info.tensor_path) as stream:
                return _read_text(stream, rows)
        except (ProjectorError, TooLargeError):
            raise
        except ValueError as error:
            raise ProjectorError(
                f"The file {info.tensor_path!r} has neither lines of numbers ({error})"
                f" nor raw float32 of shape {list(info.tensor_shape)}."
            ) from error


def raw_points(
    run: ProjectorRun, info: EmbeddingInfo, rows: int | None = None, *, of_cut_file: bool = False
) -> NDArray[np.float32] | None:
    """Return the points of a file of raw float32 whose size matches the shape, read in pieces; None if it is text.

    Args:
        run: the run to which the embedding belongs.
        info: the embedding, with the shape.
        rows: number of points to read; None for all.
        of_cut_file: whether to return the remaining points, at least one, of a shorter file called ``*.bytes``.

    Raises:
        ProjectorError: the file cannot be read, or is too large.
    """
    shape = tuple(info.tensor_shape)
    if len(shape) != 2 or min(shape) <= 0:
        return None
    with _told(info.tensor_path), open_asset(run, info.tensor_path) as stream:
        stored, row_size = stream.seek(0, os.SEEK_END), shape[1] * _FLOAT_SIZE
        cut = of_cut_file and info.tensor_path.endswith(_RAW) and row_size <= stored < shape[0] * row_size
        if stored != shape[0] * row_size and not cut:
            return None
        stream.seek(0)
        if not read_up_to(stream, _HEAD).translate(None, _TEXT):
            return None
        stream.seek(0)
        count = stored // row_size if rows is None else min(rows, stored // row_size)
        try:
            return read_floats(stream, count * shape[1], "float32").reshape(count, shape[1])
        except CheckpointError as error:
            raise ProjectorError(f"The file {info.tensor_path!r} cannot be read: {error}") from error


def read_from_checkpoint(
    run: ProjectorRun, info: EmbeddingInfo, step: int | None, rows: int | None = None, place: int = 0
) -> NDArray[np.float32]:
    """Return the points of an embedding that is a tensor of a checkpoint, float32 [points, dimensions].

    Args:
        run: the run to which the embedding belongs.
        info: the embedding.
        step: step of the checkpoint; None for the last checkpoint.
        rows: number of points to read; None for all.
        place: as for `tensor_of_checkpoint`.

    Raises:
        ProjectorError: there is no such checkpoint or tensor, or it cannot be read.
    """
    file = next((f for f in reversed(run.checkpoints) if step is None or f.step == step), None)
    if file is None:
        raise ProjectorError(f"The embedding {info.tensor_name!r} has neither a file nor a checkpoint.")
    try:
        checkpoint = open_checkpoint_of(run, file)
        return checkpoint.read(tensor_of_checkpoint(info, checkpoint, place).name, rows)
    except CheckpointError as error:
        raise ProjectorError(str(error)) from error


def tensor_of_checkpoint(info: EmbeddingInfo, checkpoint: Checkpoint, place: int = 0) -> TensorInfo:
    """Return the matrix to which an embedding's name refers: the matrix of that name, or the layer meant by Keras.

    Args:
        info: the embedding.
        checkpoint: the checkpoint that holds it.
        place: index of the embedding among those of the same name. Keras gives all the same name and writes them in
            the order of the layers, which is also their order in the file.

    Raises:
        ProjectorError: the checkpoint has no such matrix.
    """
    matrices = {tensor.name: tensor for tensor in checkpoint.tensors if tensor.is_matrix}
    name = info.tensor_name
    for candidate in (name, f"{name}:0", f"{name}/.ATTRIBUTES/VARIABLE_VALUE"):
        if candidate in matrices:
            return matrices[candidate]
    if _KERAS_TENSOR.fullmatch(name):
        layers = [tensor for tensor in matrices.values() if _KERAS_EMBEDDING.fullmatch(tensor.name)]
        if place < len(layers):
            return layers[place]
    known = ", ".join(matrices)
    raise ProjectorError(f"The checkpoint has no matrix {name!r}; it has {known[:500] or 'none'}.")


def open_checkpoint_of(run: ProjectorRun, file: CheckpointFile) -> Checkpoint:
    """Open a checkpoint and return its tensors; raises CheckpointError."""
    # Only the requested parts are read, however large the file is.
    return open_checkpoint(lambda path: open_asset(run, path, largest=1 << 62), file.path)


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, TooLargeError) as error:
        raise ProjectorError(f"The file {path!r} cannot be read: {str(error).rstrip('.')}.") from error


def _whole(stream: BinaryIO) -> bytes:
    claim(stream.seek(0, os.SEEK_END))
    stream.seek(0)
    return stream.read(LARGEST_ASSET)


def _read_text(stream: BinaryIO, rows: int | None) -> NDArray[np.float32]:
    # One-digit numbers, each followed by a tab, while NumPy's array of them grows.
    claim(4 * stream.seek(0, os.SEEK_END))
    stream.seek(0)
    text = TextIOWrapper(stream, encoding="utf-8")
    if not any(line.strip() for line in text):
        return np.zeros((0, 0), np.float32)
    text.seek(0)
    return np.loadtxt(text, np.float32, comments=None, delimiter="\t", max_rows=rows, ndmin=2)


def _outside(path: str) -> ProjectorError:
    return ProjectorError(f"The file {path[:200]!r} lies outside the log directory, so it is not read.")


def _open_local(run: ProjectorRun, path: str) -> BinaryIO:
    try:
        resolved = Path(run.folder, path).resolve()
        roots = [Path(root).resolve() for root in (run.folder, run.logdir) if root]
        is_file = resolved.is_file()
    except ValueError as error:
        raise ProjectorError(f"{path[:200]!r} is not a path: {error}.") from error
    if not any(resolved.is_relative_to(root) for root in roots):
        raise _outside(path)
    if not is_file:
        raise FileNotFoundError(path)
    return resolved.open("rb")


def _open_remote(run: ProjectorRun, path: str) -> BinaryIO:
    """Open a file below the log directory's address; reject any path that might lead elsewhere."""
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    file_system, folder = url_to_fs(run.folder)
    if isinstance(file_system, LocalFileSystem):
        root = url_to_fs(run.logdir)[1] if run.logdir else ""
        return _open_local(replace(run, folder=folder, logdir=root), path)
    root = run.logdir or run.folder
    below = PurePosixPath(run.folder.removeprefix(root).strip("/"))
    decoded = path
    # A web server takes "%2e" for a dot: detect ".." however it is written.
    while (further := unquote(decoded)) != decoded:
        decoded = further
    for written in (path, decoded.replace("\\", "/")):
        inside = posixpath.normpath(below / written)
        if is_address(written) or inside.startswith("/") or inside.split("/")[0] == "..":
            raise _outside(path)
    if any(c in path for c in "\0?#"):
        raise ProjectorError(f"{path[:200]!r} is not a path: it has a character that no path may have.")
    relative = PurePosixPath(posixpath.normpath(below / path))
    address = url_to_fs(root)[1].rstrip("/")
    for length in range(1, len(relative.parts) + 1):
        if _is_link(file_system, f"{address}/{PurePosixPath(*relative.parts[:length])}"):
            raise _outside(path)
    return cast(BinaryIO, BufferedReader(cast(RawIOBase, source_of(root).open(relative, 0)), 1 << 20))


def _is_link(file_system: Any, path: str) -> bool:
    """Return whether the path is a link, according to a file system that supports links."""
    try:
        found = file_system.info(path)
    except Exception:
        # Object stores have no folders; anything wrong with the file itself is reported when it is opened.
        return False
    return bool(found.get("islink") or found.get("type") == "link")


def _read_config(companion: Companion, companions: Sequence[Companion]) -> ProjectorRun:
    folder = companion.path[: -len(companion.relative_path.name)].rstrip("/\\") or "/"
    run = run_of_config(companion.relative_path)
    config = ProjectorConfig()
    try:
        if companion.size > LARGEST_CONFIG:
            raise ValueError(f"it is {companion.size:,} bytes; the limit is {LARGEST_CONFIG:,}")
        text_format.Parse(companion.read().decode(), config, allow_unknown_field=True)
    except (OSError, ValueError, RecursionError, text_format.ParseError) as error:
        problem = f"{companion.relative_path} is not a readable projector configuration: {error}."
        return ProjectorRun(run, ProjectorConfig(), folder, companion.root, problem)
    checkpoints = _checkpoints(config, companion, companions)
    kept = [info for info in config.embeddings if info.tensor_path or (checkpoints and info.tensor_name)]
    for info in kept:
        info.tensor_name = info.tensor_name.removesuffix(":0") or PurePosixPath(info.tensor_path).name
    del config.embeddings[:]
    config.embeddings.extend(kept)
    version = (companion.modified_ns, companion.size)
    found = ProjectorRun(run, config, folder, companion.root, "", checkpoints, version)
    return found if kept or not checkpoints else with_other_matrices(found)


def with_other_matrices(run: ProjectorRun) -> ProjectorRun:
    """Return a run with all matrices of the checkpoint that its configuration names, as in TensorBoard.

    Matrices with entries in the configuration come first; optimizer state is omitted. If the checkpoint cannot be read,
    return the run unchanged.
    """
    if not run.config.model_checkpoint_path and not run.config.model_checkpoint_dir:
        return run
    try:
        checkpoint = open_checkpoint_of(run, run.checkpoints[-1])
    except (CheckpointError, ProjectorError, IndexError):
        return run
    named = {info.tensor_name for info in run.config.embeddings}
    for info in run.config.embeddings:
        with contextlib.suppress(ProjectorError):
            named.add(tensor_of_checkpoint(info, checkpoint).name)
    config = ProjectorConfig()
    config.CopyFrom(run.config)
    for tensor in checkpoint.tensors:
        if tensor.is_matrix and tensor.name not in named and not _OPTIMIZER.search(tensor.name):
            config.embeddings.add(tensor_name=tensor.name, tensor_shape=tensor.shape)
    return replace(run, config=config)


def has_points(run: ProjectorRun) -> bool:
    """Return whether an embedding of the run has a file of its own, or a checkpoint that can be read."""
    if any(info.tensor_path for info in run.config.embeddings):
        return True
    try:
        return bool(run.checkpoints and open_checkpoint_of(run, run.checkpoints[-1]).tensors)
    except (CheckpointError, ProjectorError):
        return False


def _checkpoints(
    config: ProjectorConfig, companion: Companion, companions: Sequence[Companion]
) -> tuple[CheckpointFile, ...]:
    """Return the checkpoints to which a configuration refers: by its path, in its folder, or next to it.

    They belong to one model and are ordered by step.
    """
    if config.model_checkpoint_path:
        path = config.model_checkpoint_path
        return (CheckpointFile(path, step_of(PurePosixPath(path))[1]),)
    own = companion.relative_path.parent
    if config.model_checkpoint_dir:
        given = config.model_checkpoint_dir
        if companion.root and given.startswith(companion.root.rstrip("/") + "/"):
            given = posixpath.relpath(given, posixpath.dirname(companion.path))
        folders = [PurePosixPath(posixpath.normpath(own / given))]
    else:
        folders = [own / _KERAS_FOLDER, own]
        if own.parts[-2:] == _PLUGIN_FOLDER:
            folders.append(PurePosixPath(*own.parts[:-2]))
    for folder in folders:
        beside = [
            c
            for c in companions
            if c.relative_path.parent == folder and c.relative_path.name.endswith(_BUNDLES_AND_KERAS)
        ]
        series = file_series(beside)
        if series:
            # Prefer Keras' own, then the one written last.
            chosen = max(
                series,
                key=lambda s: (
                    PurePosixPath(s.pattern).name == _KERAS_NAME,
                    max(f.companion.modified_ns for f in s.files),
                ),
            )
            relative = posixpath.relpath(folder, own)
            return tuple(
                CheckpointFile(
                    posixpath.normpath(posixpath.join(relative, file.companion.relative_path.name)),
                    file.step,
                    (file.companion.modified_ns, file.companion.size),
                )
                for file in chosen.files
            )
    return ()
