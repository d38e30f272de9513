"""Finds, by their names, the weight files that hold one model at several steps."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from stepscope.summary.contents import Companion

_WORDS: Final = r"(?:checkpoint|ckpt|step|epoch|iter|iteration|global_step|model|weights|save)"
_NUMBERED_FOLDER: Final = re.compile(rf"(?i)({_WORDS}[-_=]?)(\d{{1,15}})$")
_SETTING: Final = re.compile(r"([A-Za-z_]+)=(\d{1,15}(?:\.\d{1,15})?)")
_SHARD: Final = re.compile(r"(?i)\d+-of-\d+")


@dataclass(frozen=True)
class StepFile:
    """One file of a series."""

    step: int | None
    """The number in its name; None if it has none."""
    companion: Companion


@dataclass(frozen=True)
class FileSeries:
    """Files whose paths differ only in a number, in order of that number."""

    pattern: str
    """Their path in the log directory, with "*" for the number."""
    run: str
    files: tuple[StepFile, ...]


def step_of(path: PurePosixPath) -> tuple[PurePosixPath, int | None]:
    """Return the path with "*" for its step, and the step; the path itself and None if it has no step.

    The step is the last stand-alone number in the file's name (``ckpt-20.index``, ``epoch=3.ckpt``), or the number in
    the name of a folder such as ``checkpoint-500``.
    """
    settings: dict[str, str] = dict(_SETTING.findall(path.name))
    step = settings.get("step", settings.get("epoch"))
    if step is not None:
        # Lightning: epoch=3-step=100.ckpt, epoch=3-val_loss=0.25.ckpt
        pattern = _SETTING.sub(r"\1=*", path.name)
        return path.with_name(pattern), int(step.partition(".")[0])
    if _SHARD.search(path.name) is None:
        match = _last_number(path.name)
        if match is not None:
            return path.with_name(f"{match[0]}*{match[2]}"), match[1]
    folder = _NUMBERED_FOLDER.fullmatch(path.parent.name)
    if folder is not None:
        return path.parent.with_name(f"{folder[1]}*") / path.name, int(folder[2])
    return path, None


def _last_number(name: str) -> tuple[str, int, str] | None:
    """Return the text before, the value of, and the text after the last number that no letter precedes or follows."""
    found = None
    for match in re.finditer(r"\d{1,15}", name):
        before, behind = name[: match.start()], name[match.end() :]
        alone = not before or before[-1] in "-_.=" or re.search(rf"(?i)(^|[-_.=]){_WORDS}$", before)
        if alone and (not behind or behind[0] in "-_.") and not re.match(r"\.\d", behind):
            found = before, int(match[0]), behind
    return found


def file_series(companions: Iterable[Companion]) -> list[FileSeries]:
    """Return the files grouped into series, in order of the first file of each; the files of a series are by step."""
    groups: dict[str, list[StepFile]] = {}
    runs: dict[str, str] = {}
    for companion in companions:
        pattern, step = step_of(companion.relative_path)
        key = str(pattern)
        groups.setdefault(key, []).append(StepFile(step, companion))
        of_folder = step is not None and pattern.name == companion.relative_path.name
        runs.setdefault(key, str(pattern.parent.parent) if of_folder else companion.run)
    return [
        FileSeries(key, runs[key], tuple(sorted(files, key=lambda file: (file.step or 0, file.companion.path))))
        for key, files in groups.items()
    ]
