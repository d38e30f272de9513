"""Print every string that a user can read, with its place: ``python -m tools.ui_strings``.

These are the texts in the sources of the page and of the packages, except docstrings: labels, tooltips, error messages,
and help of commands. Strings that only programs read (names, selectors, SQL, formats) are left out if their form
identifies them; a few are printed anyway, so that no sentence is missed. ``{}`` stands for a value that is filled in.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGES = ("dashboard", "debug", "profiler", "summary", "stepscope")
_BEFORE_A_VALUE: Final = frozenset(("return", "typeof", "case", "in", "of", "throw", "else", "do", "await", "yield"))
_TEMPLATE: Final = re.compile(r"(?:[^\\`$]|\\.|\$(?!\{))*(?P<end>`|\$\{)", re.DOTALL)
_TOKEN: Final = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<word>[\w$]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_REGEX: Final = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")


class Text(NamedTuple):
    """A text in a source file."""

    path: Path
    line: int
    text: str


def python_texts(path: Path) -> Iterator[Text]:
    """Yield the texts of a Python file, without docstrings; formatted strings are whole."""
    yield from _in_tree(path, ast.parse(path.read_text("utf-8")))


def _in_tree(path: Path, node: ast.AST) -> Iterator[Text]:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return
        case ast.Constant(value=str(text)):
            yield Text(path, node.lineno, text)
        case ast.JoinedStr(values=values):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in values)
            yield Text(path, node.lineno, "".join(parts))
            for part in values:
                if isinstance(part, ast.FormattedValue):
                    yield from _in_tree(path, part.value)
        case ast.arg() | ast.AnnAssign(value=None):
            return
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _in_tree(path, child)


def typescript_texts(path: Path) -> Iterator[Text]:
    """Yield the string and template literals of a TypeScript file."""
    for at, text in _literals(source := path.read_text("utf-8")):
        yield Text(path, source.count("\n", 0, at) + 1, text)


def _literals(source: str) -> Iterator[tuple[int, str]]:
    """Yield the start and the text of each literal.

    Brackets are counted only to find where a template's ``${...}`` ends; a slash begins a regular expression where a
    value may begin.
    """
    at = 0
    templates: list[tuple[int, str, int]] = []
    depth = 0
    previous: tuple[Literal["value", "operator"], str] = ("operator", "")
    while at < len(source):
        begins = source[at]
        if begins == "`" or (begins == "}" and templates and templates[-1][2] == depth):
            started, text, outer = (at, "", depth) if begins == "`" else templates.pop()
            end = _TEMPLATE.match(source, at + 1)
            assert end is not None, f"A template literal does not end: {source[at : at + 60]!r}"
            text += source[at + 1 : end.start("end")]
            at = end.end()
            if end["end"] == "`":
                yield started, text
                previous = ("value", "`")
            else:
                templates.append((started, text + "{}", outer))
                previous = ("operator", "{")
            continue
        if begins == "/" and previous[0] == "operator" and (found := _REGEX.match(source, at)):
            at, previous = found.end(), ("value", "/")
            continue
        token = _TOKEN.match(source, at)
        assert token is not None
        text, at = token[0], token.end()
        match token.lastgroup:
            case "string":
                yield token.start(), text[1:-1]
                previous = ("value", text)
            case "word":
                previous = ("operator" if text in _BEFORE_A_VALUE else "value", text)
            case "other":
                depth += (text == "{") - (text == "}")
                previous = ("value" if text in ")]}" else "operator", text)
            case _:
                pass


_SENTENCE: Final = re.compile(r"[A-Za-z]{2,}[,:;.]? +(?:\{\}|[a-zA-Z(]+)|\{\} [a-z]{2,}|^[A-Z][a-z]+(?:[ .:]|$)")
_CODE: Final = re.compile(
    r"^\s*(?:[.#\[][\w-]|[a-z-]+\[|M ?-?\d|<(?!.*>[^<>]*[A-Za-z]{2,}[,:;.]? [^<>]*<)|--\S*$|SELECT|var\(|rgba?\("
    r"|translate|calc|https?:|\(\?|\^|[\w-]+: ?[\w{}-]+;)"
    r"|[{}] ?[:;]|=>|^(?:stepscope|\.\.?)[./]|^[A-Z]\w*\.\w+$|\\[bdsw]|^[a-z-]+(?: [a-z]+-[a-z-]+)+$",
    re.DOTALL,
)


def read_by_people(text: str) -> bool:
    """Return whether a text looks like words for people: a capitalized word, or words in a row."""
    return bool(_SENTENCE.search(text)) and not _CODE.search(text)


def ui_strings() -> Iterator[Text]:
    """Yield every string that a user can read, by file."""
    for package in PACKAGES:
        for path in sorted((REPOSITORY / package).rglob("*.py")):
            if not path.name.endswith("_pb2.py"):
                yield from (text for text in python_texts(path) if read_by_people(text.text))
        for path in sorted((REPOSITORY / package).rglob("*.ts")):
            if not path.name.endswith((".test.ts", "debug.ts", ".generated.ts")) and "_bundle" not in str(path.parent):
                yield from (text for text in typescript_texts(path) if read_by_people(text.text))


def main() -> int:
    """Print the strings."""
    for path, line, text in ui_strings():
        print(f"{path.relative_to(REPOSITORY)}:{line}: {' '.join(text.split())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
