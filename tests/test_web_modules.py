"""The page's modules: no import circles, layers that run one way, nothing written to ``window``, few ``any``."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from stepscope.dashboard.page import bundle
from stepscope.dashboard.server.dropped_files import LARGEST_UPLOAD
from tools.generate_page import generated

WEB = bundle.ROOT
MODULES = bundle.modules()
NAMES = {path: path.relative_to(WEB).as_posix() for path in MODULES}
_IMPORT = re.compile(
    r"""^(?:import|export)\s+(?:(?P<type>type\s)?(?:[\w*{][^;"'()=]*?)\sfrom\s+)?["'](?P<path>\.[^"']+)["']""",
    re.MULTILINE,
)
_LATER = re.compile(r"""import\(\s*["'](?P<path>\.[^"']+)["']""")
_COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)
WRITERS_TO_WINDOW = {"web/core/dash.ts", "web/debug.ts"}
"""What Dash and AG Grid look up by name has to be there; the other is the handle that users' bundle is without."""


def imports(path: Path, *, types: bool = False, later: bool = False) -> Iterator[Path]:
    """The modules that a module imports for their code and, on request, those that it imports for types or later on."""
    text = _COMMENT.sub("", path.read_text("utf-8"))
    for found in _IMPORT.finditer(text):
        if types or not found["type"]:
            yield (path.parent / found["path"]).resolve()
    if later:
        yield from ((path.parent / found["path"]).resolve() for found in _LATER.finditer(text))


def test_every_import_names_a_module() -> None:
    missing = {
        f"{NAMES[path]} imports {imported}"
        for path in MODULES
        for imported in imports(path, types=True, later=True)
        if imported not in NAMES
    }
    assert not missing


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter({NAMES[path]: [NAMES[one] for one in imports(path)] for path in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_every_module_is_part_of_the_page() -> None:
    starts = [path for path in MODULES if NAMES[path] in ("web/page/start.ts", "web/debug.ts")]
    waiting = [*starts, *(path for path in MODULES if re.fullmatch(r"panels/\w+/web/(index|handles)\.ts", NAMES[path]))]
    reached: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += imports(path, types=True, later=True)
    settings = {path for path in MODULES if path.name == "settings.generated.ts"}
    assert {NAMES[path] for path in MODULES if path not in reached | settings} == set()


LAYERS = ("web/core/", "web/lines/", "web/page/", "web/cards/", "runs/web/", "curves/web/", "panels/")


def test_panels_import_no_other_panel_and_nothing_but_the_start_imports_one() -> None:
    def panel(name: str) -> str | None:
        found = re.match(r"panels/(\w+)/", name)
        return found[1] if found else None

    wrong = {
        f"{NAMES[path]} imports {NAMES[imported]}"
        for path in MODULES
        for imported in imports(path, types=True, later=True)
        if panel(NAMES[imported]) not in (None, panel(NAMES[path]))
    }
    assert not wrong


def test_the_core_imports_nothing_but_itself_and_drawing_of_lines_only_the_core() -> None:
    allowed = {"web/core/": ("web/core/",), "web/lines/": ("web/lines/", "web/core/")}
    wrong = {
        f"{NAMES[path]} imports {NAMES[imported]}"
        for path in MODULES
        for layer, below in allowed.items()
        if NAMES[path].startswith(layer)
        for imported in imports(path, types=True, later=True)
        if not NAMES[imported].startswith(below)
    }
    assert not wrong


def test_modules_write_nothing_to_the_window() -> None:
    writes = re.compile(
        r"\b(?:window|globalThis)(?:\.\w+|\[[^\]]+\])+\s*(?:\?\?=|\|\|=|=(?![=>]))|Object\.assign\(window"
    )
    writers = {
        NAMES[path]
        for path in MODULES
        if any(
            not re.match(r"window\.(?:location|onpopstate)\b", found[0])
            for found in writes.finditer(_COMMENT.sub("", path.read_text("utf-8")))
        )
    }
    assert writers <= WRITERS_TO_WINDOW


def test_any_stands_only_where_a_foreign_library_gives_it() -> None:
    found = {
        NAMES[path]: len(
            re.findall(r"(?::|<|\bas|\|\s)\s*any\b(?!\w)|\bany\[\]", _COMMENT.sub("", path.read_text("utf-8")))
        )
        for path in MODULES
    }
    assert sum(found.values()) < 50, {name: count for name, count in found.items() if count}
    assert not [NAMES[path] for path in MODULES if "@ts-nocheck" in path.read_text("utf-8")]


def test_one_module_listens_to_keys() -> None:
    listeners = {
        NAMES[path]
        for path in MODULES
        if re.search(r"""addEventListener\(\s*["']keydown["']|onkeydown""", path.read_text("utf-8"))
    }
    assert listeners == {"web/core/commands.ts"}


def test_generated_settings_are_those_of_python() -> None:
    stale = [str(path.relative_to(WEB)) for path, content in generated().items() if path.read_text("utf-8") != content]
    assert stale == [], "run `python -m tools.generate_page`"


def test_the_page_refuses_the_files_that_the_server_would() -> None:
    (power,) = re.findall(
        r"export const LARGEST = 2 \*\* (\d+);", (WEB / "web" / "core" / "upload.ts").read_text("utf-8")
    )
    assert 1 << int(power) == LARGEST_UPLOAD
