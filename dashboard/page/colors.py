"""Colours that stay with a run: the same name has the same colour in every chart, and later runs change none."""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Scheme = Literal["light", "dark"]


@dataclass(frozen=True)
class RunColor:
    """One colour in two shades, each readable on its scheme's background; CSS hexadecimal."""

    light: str
    dark: str

    def on(self, scheme: Scheme) -> str:
        """The shade for a scheme."""
        return self.light if scheme == "light" else self.dark


# Ten hues whose lightness was searched so that any two differ by a CIEDE2000 of about 10 to every kind of colour
# vision (`tests/dashboard/test_colors.py` simulates them). The second and third ring are similar hues darker and
# lighter, used when more than ten runs need a colour.
PALETTE: Final[tuple[RunColor, ...]] = (
    RunColor("#5d73f6", "#839ffa"),
    RunColor("#c9790b", "#ed9865"),
    RunColor("#11846e", "#35f4d6"),
    RunColor("#db377a", "#ff588c"),
    RunColor("#7645c2", "#957abe"),
    RunColor("#1a97ba", "#60c4db"),
    RunColor("#986402", "#ab9500"),
    RunColor("#6b7f49", "#d4e364"),
    RunColor("#b1137f", "#ca90b3"),
    RunColor("#754834", "#ebc2a2"),
    RunColor("#16449b", "#a9c7ff"),
    RunColor("#a84a00", "#ffc899"),
    RunColor("#086349", "#8ce8c8"),
    RunColor("#8a1038", "#ffadc6"),
    RunColor("#5326b0", "#d3c3ff"),
    RunColor("#065f78", "#9be6f7"),
    RunColor("#7d5a00", "#f5dd94"),
    RunColor("#455400", "#d7e59a"),
    RunColor("#96206c", "#fbc6e7"),
    RunColor("#5c3a2a", "#e6cabb"),
    RunColor("#6c9cf0", "#3f78dd"),
    RunColor("#f5a25c", "#cf6a14"),
    RunColor("#56c29f", "#1a9a72"),
    RunColor("#e5759b", "#cc3d6d"),
    RunColor("#a98af0", "#8257e0"),
    RunColor("#5bbdd8", "#1593b5"),
    RunColor("#d9b24a", "#a8831a"),
    RunColor("#a3b54e", "#75891c"),
    RunColor("#ea8fcb", "#c9509f"),
    RunColor("#bd9580", "#966a54"),
)
RING: Final = 10


def assign_colors(run_names: Iterable[str]) -> Mapping[str, RunColor]:
    """Gives every run a colour.

    A name prefers the slot of its hash, so that it has the same colour in another log directory too. Where that is
    taken, the run gets the next free slot of the same ring of ten, then of the next ring; when all are taken, the
    preferred slot again. Runs come in order of their first event, so later ones never change earlier ones.
    """
    taken: set[int] = set()
    colors: dict[str, RunColor] = {}
    for name in run_names:
        preferred = zlib.crc32(name.encode("utf-8", "surrogatepass")) % RING
        candidates = (
            ring + (preferred + offset) % RING for ring in range(0, len(PALETTE), RING) for offset in range(RING)
        )
        slot = next((candidate for candidate in candidates if candidate not in taken), None)
        if slot is None:
            slot = zlib.crc32(name.encode("utf-8", "surrogatepass")) % len(PALETTE)
        taken.add(slot)
        colors[name] = PALETTE[slot]
    return colors
