"""Words that the repository does not use, why, and what to use instead: ``python -m tools.refused_words``.

Spelling is left to codespell (``[tool.codespell]`` in pyproject.toml), which checks whole words; this list adds British
stems, also within names, and turns of phrase that make a reader stop.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

REFUSED: Final = {
    "British spelling": {
        "*colour*": "color",
        "*neighbour*": "neighbor",
        "*behaviour*": "behavior",
        "*favourite*": "favorite",
        "*honour*": "honor",
        "*centre*": "center",
        "centred": "centered",
        "*grey*": "gray",
        "*isation*": "ization",
        "*initialis*": "initialize",
        "*normalise*": "normalize",
        "*normalising": "normalizing",
        "*serialise*": "serialize",
        "*serialising": "serializing",
        "*optimise*": "optimize",
        "*visualise*": "visualize",
        "*organise*": "organize",
        "*summarise*": "summarize",
        "*synchronise*": "synchronize",
        "*recognise*": "recognize",
        "*minimise*": "minimize",
        "*maximise*": "maximize",
        "analyse": "analyze",
        "analysed": "analyzed",
        "analysing": "analyzing",
        "*catalogue*": "catalog",
        "*artefact*": "artifact",
        "judgement*": "judgment",
        "learnt": "learned",
    },
    "an old word": {
        "whilst": "while",
        "amongst": "among",
        "anew": "again",
        "seldom": "rarely",
        "dear to": "expensive to",
        "manners": "style",
        "come into being": "be created",
        "being looked for": "searching",
        "nothing of that name": "no matches",
        "do not say this again": "don't show again",
    },
    "a turn of phrase that readers have to guess": {
        "news come": "updates arrive",
        "by the book": "exact",
        "broke off": "the connection was lost",
        "what stands in words": "details",
        "take off the": "unpin, or remove",
        "so many as": "as many as",
        "as are asked for": "as requested",
        "as were asked for": "as requested",
        "go on with live": "resume live updates",
        "head of a column": "column header",
        "the one before (": "previous (",
        "expected such as": "expected one such as",
        "could not be had": "could not be loaded",
        "its checksum is another": "its checksum does not match",
    },
    "'no' before what something is": {
        "no regular expression;": "not a valid regular expression",
        "is no whole": "is not a whole",
        "are no whole": "are not a whole",
        "is no single": "is not a single",
        "is no valid": "is not a valid",
        "that is no folder": "that is not a folder",
    },
    "the field writes 'per second'": {
        "bytes a second": "bytes per second",
        "changes a second": "changes per second",
        "frames a second": "frames per second",
        "iterations a second": "iterations per second",
        "mb a second": "MB per second",
        "points a second": "points per second",
        "requests a second": "requests per second",
        "steps a second": "steps per second",
        "updates a second": "updates per second",
    },
    "everything is imported from stepscope": {
        f"from {package} import": f"from stepscope.{package} import"
        for package in ("dashboard", "debug", "profiler", "summary")
    },
}
"""By reason, words in lower case and their replacements; a star stands for letters before or after."""
INSTEAD: Final = {words: (reason, instead) for reason, group in REFUSED.items() for words, instead in group.items()}
ALLOWED: Final = re.compile(
    # Former names of settings, which old addresses have; and lines that codespell is told to ignore, too.
    r"former_(names|values)|codespell:ignore"
)
KINDS: Final = frozenset({".py", ".pyi", ".ts", ".js", ".css", ".md", ".toml", ".yml", ".yaml", ".sh"})


class Found(NamedTuple):
    """A refused word and its location."""

    path: Path
    line: int
    words: str
    reason: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words!r}: {self.reason}; say: {self.instead}"


def refused(path: Path, text: str) -> Iterator[Found]:
    """Yield the refused words of a text, line by line."""
    small = text.lower()
    # Finding fixed text is hundreds of times faster than trying expressions.
    looked_for = [words for words in INSTEAD if words.strip("*") in small]
    if not looked_for:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if ALLOWED.search(line):
            continue
        for words in looked_for:
            before = "" if words.startswith("*") else r"\b"
            after = "" if words.endswith(("*", "(", ";")) else r"\b"
            for match in re.finditer(before + re.escape(words.strip("*")) + after, line, re.IGNORECASE):
                yield Found(path, number, match.group(), *INSTEAD[words])


def written_files(folder: Path) -> Iterator[Path]:
    """Yield files that are written by hand: none that are hidden, generated, or reached through a link."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            if path.name not in ("site", "debug_bundle", "main_bundle", "__pycache__", "node_modules"):
                yield from written_files(path)
        elif path.suffix in KINDS and not path.stem.endswith("_pb2"):
            yield path


def found_in(folder: Path) -> list[Found]:
    """Return the refused words of a folder, in all files except this one and its test."""
    own = Path(__file__).resolve()
    own_files = {own, own.parents[1] / "tests" / f"test_{own.name}"}
    return [
        found
        for path in written_files(folder)
        if path.resolve() not in own_files
        for found in refused(path.relative_to(folder), path.read_text(encoding="utf-8"))
    ]


def main(folder: str | None = None) -> int:
    """Print the refused words of a folder, or of the repository; return 1 if there are any."""
    found = found_in(Path(folder) if folder else Path(__file__).resolve().parents[1])
    for each in found:
        print(each)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
