"""Texts of traces within bounds, so that one text of a gigabyte does not become gigabytes in every response."""

from dataclasses import replace
from typing import Final

from stepscope.profiler.trace import Counter, Lane, Losses, Step
from stepscope.profiler.traces.losses import TEXT, LossTally
from stepscope.summary.records import crc32c

MOST_CHARACTERS: Final = 16_384
"""Maximum number of characters of a name; names of kernels, with their template arguments, have a few thousand."""
_MARK: Final = 64
"""Maximum number of characters of the mark of a cut text."""


def shortened(text: str) -> str:
    """Return the text; if too long, its beginning with its length and checksum, which tell it from others."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return marked(text, len(text), crc32c(text.encode("utf-8", "surrogatepass")))


def marked(beginning: str, length: int, checksum: int) -> str:
    """Return the text that replaces a longer one with this beginning, length and checksum."""
    return f"{beginning[: MOST_CHARACTERS - _MARK]}… ({length:,} in all, checksum {checksum:08x})"


class BoundedTexts:
    """Cuts the texts of a trace, and counts those that are cut, here or where they were read."""

    def __init__(self) -> None:
        self._tally = LossTally()

    def text(self, text: str) -> str:
        """Return the text, cut by `shortened` and counted if it is too long."""
        if len(text) <= MOST_CHARACTERS:
            return text
        self._tally.add(TEXT, 1, text)
        return shortened(text)

    def all_of(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Return all texts, cut where necessary; the same tuple if none is too long."""
        if max(map(len, texts), default=0) <= MOST_CHARACTERS:
            return texts
        return tuple(map(self.text, texts))

    def lane(self, lane: Lane) -> Lane:
        """Return a lane with its texts cut."""
        texts = (lane.process, lane.name, lane.pid, lane.tid)
        if all(not isinstance(text, str) or len(text) <= MOST_CHARACTERS for text in texts):
            return lane
        pid, tid = (self.text(each) if isinstance(each, str) else each for each in (lane.pid, lane.tid))
        return replace(lane, process=self.text(lane.process), name=self.text(lane.name), pid=pid, tid=tid)

    def counter(self, counter: Counter) -> Counter:
        """Return a counter with its texts cut."""
        texts = (counter.process, counter.name, counter.series)
        process, name, series = self.all_of(texts)
        return replace(counter, process=process, name=name, series=series)

    def step(self, step: Step) -> Step:
        """Return a step with its name cut; the cut is counted with the slice that has the name."""
        return replace(step, name=shortened(step.name)) if len(step.name) > MOST_CHARACTERS else step

    def losses(self) -> Losses:
        """Return how many texts were cut."""
        return self._tally.losses()
