"""The examples of docs/extending.md, as files and metadata of a distribution."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Final

from tests.plugin_distributions import REPOSITORY, write_distribution

TEXT: Final = (REPOSITORY / "docs" / "extending.md").read_text("utf-8")
_BLOCK: Final = re.compile(
    r"(?:^`([^`\n]+)`(?: of the distribution)?\n\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def chapter(heading: str) -> str:
    """Return the text of a chapter."""
    return TEXT.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def named_files(text: str) -> dict[str, str]:
    """Return the contents of the files in a part of the page, by name."""
    return {name: block for name, _, block in _BLOCK.findall(text) if name}


def files_of(heading: str) -> dict[str, str]:
    """Return the contents of the files in a chapter, by name."""
    return named_files(chapter(heading))


def program_of(heading: str) -> str:
    """Return a chapter's Python code that does not belong to a file."""
    blocks = _BLOCK.findall(chapter(heading))
    return "".join(text for name, language, text in blocks if language == "python" and not name)


def commands_of(heading: str) -> list[list[str]]:
    """Return the arguments of each ``stepscope`` command of a chapter."""
    return [line.split()[1:] for line in chapter(heading).splitlines() if line.startswith("stepscope ")]


def install(heading: str, folder: Path, name: str) -> None:
    """Write the distribution of a chapter, and its other files, into a folder."""
    files = files_of(heading)
    points = tomllib.loads(files.pop("pyproject.toml"))["project"]["entry-points"]
    modules = {file.removesuffix(".py"): text for file, text in files.items() if file.endswith(".py")}
    write_distribution(folder, modules, {group.removeprefix("stepscope."): of for group, of in points.items()}, name)
    for file in files.keys() - {f"{module}.py" for module in modules}:
        (folder / file).write_text(files[file])


def undocumented_fields(module: str, record: str) -> list[str]:
    """Return the fields of a record that are not followed by a docstring or have no row in docs/extending.md.

    Args:
        module: path of the module in the repository.
        record: name of the class.
    """
    tree = ast.parse((REPOSITORY / module).read_text("utf-8"))
    [body] = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == record]
    wrong = []
    for field, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            name = field.target.id
            explained = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if not explained or f"| `{name}` |" not in TEXT:
                wrong.append(name)
    return wrong
