"""Lines of code, marked with the state of the tensors that were made there."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stepscope.dashboard.debugger.index import Index
from stepscope.summary.debugger.model import DebugData, Frame, SourceFile
from stepscope.summary.names import in_order


@dataclass
class MarkedLine:
    """The tensors that a line of code was involved in making."""

    tensors: list[int] = field(default_factory=list)
    """Tensors with this line in their stack."""
    observed: int = 0
    bad: int = 0
    first_bad: int | None = None
    """The first observation of these tensors that is not finite."""


def code_of(frame: Frame, sources: Sequence[SourceFile]) -> str:
    """Return the text of a line, if it was kept."""
    if frame.code:
        return in_order(frame.code.strip())
    found = source_of(frame, sources)
    if found is None or not 0 < frame.line <= len(found.lines):
        return ""
    return in_order(found.lines[frame.line - 1].strip())


def source_of(frame: Frame, sources: Sequence[SourceFile]) -> SourceFile | None:
    """Return the file of a line, as it was when the program ran."""
    same = [source for source in sources if source.path == frame.path]
    return next((source for source in same if source.host == frame.host), same[0] if same else None)


def marked_lines(data: DebugData, index: Index) -> dict[str, dict[int, MarkedLine]]:
    """Return every line in the stack of a tensor, by file and by line."""
    found: dict[str, dict[int, MarkedLine]] = {}
    for number, tensor in enumerate(data.tensors):
        if tensor.stack is None:
            continue
        for path, line in dict.fromkeys((frame.path, frame.line) for frame in data.stack(tensor.stack)):
            mark = found.setdefault(path, {}).setdefault(line, MarkedLine())
            mark.tensors.append(number)
            mark.observed += int(index.counts[number])
            mark.bad += int(index.bad[number])
            first = int(index.first_bad[number])
            if first >= 0 and (mark.first_bad is None or first < mark.first_bad):
                mark.first_bad = first
    return found
