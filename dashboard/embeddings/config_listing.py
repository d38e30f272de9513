"""The embeddings named in projector configurations."""

import os
import posixpath
import re
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Final

from stepscope.dashboard.embeddings.source import ConfigOrigin, EmbeddingSource, Learned
from stepscope.summary.checkpoints.base import CheckpointError, TensorInfo
from stepscope.summary.projector import (
    CONFIG_PATTERN,
    ProjectorError,
    ProjectorRun,
    open_asset,
    open_checkpoint_of,
    projector_runs,
    tensor_of_checkpoint,
    with_other_matrices,
)
from stepscope.summary.proto.projector_pb2 import EmbeddingInfo
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.storage import is_address

_STEP_IN_NAME: Final = re.compile(r"(.+):(\d{5,18})")
"""How PyTorch and `stepscope.summary.embedding` put the step into the name: with at least five digits."""


def config_sources(snapshot: Snapshot, learned: Learned) -> Iterator[EmbeddingSource]:
    """Yield the embeddings of each run in turn, or a source with the problem if a configuration cannot be read."""
    for run in projector_runs(snapshot).values():
        if run.problem:
            yield EmbeddingSource(
                f"{run.run}|config|", run.run, CONFIG_PATTERN, "config", (), None, run.version, ConfigOrigin(run, ()),
                run.problem,
            )  # fmt: skip
            continue
        if not _is_listed(run, snapshot):
            run = learned.get(("matrices", run.folder, run.version, run.checkpoints), partial(with_other_matrices, run))
        for label, origin in _entries(run):
            yield _of_entries(run, label, origin, learned)


def _is_listed(run: ProjectorRun, snapshot: Snapshot) -> bool:
    """Return whether the matrices of the run's checkpoint are already listed under its file name."""
    places = {posixpath.normpath(posixpath.join(run.folder, file.path)) for file in run.checkpoints}
    return any(c.path in places or c.path.removesuffix(".index") in places for c in snapshot.companions)


def _entries(run: ProjectorRun) -> Iterator[tuple[str, ConfigOrigin]]:
    """Yield the embeddings of a configuration; names that differ only in the step are one embedding."""
    names = {info.tensor_name for info in run.config.embeddings}
    groups: dict[str, list[tuple[int | None, EmbeddingInfo]]] = {}
    for info in run.config.embeddings:
        match = _STEP_IN_NAME.fullmatch(info.tensor_name) if info.tensor_path else None
        if match is not None and match[1] not in names:
            groups.setdefault(match[1], []).append((int(match[2]), info))
        else:
            groups.setdefault(info.tensor_name, []).append((None, info))
    for name, entries in groups.items():
        if entries[0][0] is not None:
            yield name, ConfigOrigin(run, tuple(sorted(entries, key=lambda entry: entry[0] or 0)))
        else:
            for place, entry in enumerate(entries):
                yield name if place == 0 else f"{name} ({place + 1})", ConfigOrigin(run, (entry,), place)


def _of_entries(run: ProjectorRun, label: str, origin: ConfigOrigin, learned: Learned) -> EmbeddingSource:
    info = origin.entries[-1][1]
    shape = (info.tensor_shape[0], info.tensor_shape[1]) if len(info.tensor_shape) == 2 else None
    steps = [step for step, _ in origin.entries if step is not None]
    version: tuple[Hashable, ...] = (run.version, len(origin.entries))
    shown, problem = label, ""
    if not info.tensor_path:
        steps = [file.step for file in run.checkpoints if file.step is not None]
        last = run.checkpoints[-1]
        version = (*version, run.checkpoints)
        found = learned.get(
            ("config", run.folder, run.run, run.version, last, info.tensor_name, origin.place),
            lambda: _in_checkpoint(run, origin),
        )
        if isinstance(found, TensorInfo):
            shape, shown = (found.shape[0], found.shape[1]), found.label or label
        else:
            problem = str(found)
    return EmbeddingSource(
        id=f"{run.run}|config|{label}",
        run=run.run,
        label=shown,
        kind="config",
        steps=tuple(sorted(set(steps))),
        shape=shape,
        version=version,
        origin=origin,
        problem=problem,
    )


def entry_at(origin: ConfigOrigin, step: int | None) -> EmbeddingInfo:
    """Return the entry of a step, or the last entry if the steps are those of checkpoints."""
    return next((info for s, info in reversed(origin.entries) if s == step), origin.entries[-1][1])


def _in_checkpoint(run: ProjectorRun, origin: ConfigOrigin) -> TensorInfo | str:
    try:
        checkpoint = open_checkpoint_of(run, run.checkpoints[-1])
        return tensor_of_checkpoint(origin.entries[-1][1], checkpoint, origin.place)
    except (CheckpointError, ProjectorError) as error:
        return str(error)


def local_version(origin: ConfigOrigin, step: int | None) -> Hashable:
    """Return a version that changes with the embedding's local files; others are replaced with their configuration."""
    run, info = origin.run, entry_at(origin, step)
    if is_address(run.folder):
        return None
    found: list[tuple[int, int]] = []
    for path in (info.tensor_path, info.metadata_path, info.sprite.image_path, info.bookmarks_path):
        if path:
            try:
                with open_asset(run, path, largest=1 << 62) as stream:
                    status = os.fstat(stream.fileno())
                found.append((status.st_mtime_ns, status.st_size))
            except (ProjectorError, OSError, ValueError):
                found.append((0, 0))
    return tuple(found)
