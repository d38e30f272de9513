"""Imports run one way: dashboard -> debug -> profiler -> summary, and never in a circle."""

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from stepscope.dashboard.page import bundle

REPOSITORY = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "summary": {"summary", "plugins", "record_fields"},
    "profiler": {"profiler", "summary", "plugins", "record_fields"},
    "debug": {"debug", "profiler", "summary", "plugins", "record_fields"},
    "dashboard": {"dashboard", "debug", "profiler", "summary", "plugins", "record_fields"},
}
ROOMS = set(MAY_IMPORT)
FOR_PANELS = {
    "dashboard.server",
    "dashboard.page",
    "dashboard.export",
    "dashboard.tensorboard",
    "dashboard.traces",
    "dashboard.runs",
    "dashboard.graphs",
    "dashboard.debugger",
    "dashboard.projections",
    "dashboard.embeddings",
    "dashboard.panels",
    "dashboard.curves",
}
PANELS = sorted(path.parent.name for path in (REPOSITORY / "dashboard/panels").glob("*/panel.py"))
LAYERS: dict[str, set[str]] = {
    "dashboard.server": set(),
    "dashboard.projections": set(),
    "dashboard.page": {"dashboard.server"},
    "dashboard.export": {"dashboard.server"},
    "dashboard.traces": {"dashboard.server", "dashboard.page"},
    "dashboard.tensorboard": {"dashboard.server", "dashboard.page", "dashboard.export"},
    "dashboard.graphs": {"dashboard.server", "dashboard.tensorboard"},
    "dashboard.debugger": {"dashboard.server", "dashboard.tensorboard"},
    "dashboard.embeddings": {"dashboard.server", "dashboard.export", "dashboard.projections"},
    "dashboard.runs": {"dashboard.server", "dashboard.page", "dashboard.tensorboard"},
    # The parts that panels are made of: the contract, cards, groups, steps.
    "dashboard.panels": {"dashboard.server", "dashboard.page", "dashboard.runs"},
    "dashboard.curves": {
        "dashboard.server",
        "dashboard.page",
        "dashboard.export",
        "dashboard.tensorboard",
        "dashboard.traces",
        "dashboard.runs",
        "dashboard.panels",
    },
    # A panel knows no other panel: code that two of them need is in a room below.
    **{f"dashboard.panels.{panel}": FOR_PANELS for panel in PANELS},
    "dashboard.panels.registry": {
        "dashboard.panels",
        "dashboard.embeddings",
        *(f"dashboard.panels.{panel}" for panel in PANELS),
    },
    # These know everything that a server offers; nothing else in their room does.
    "dashboard.server.app": {
        "dashboard.server",
        "dashboard.page",
        "dashboard.tensorboard",
        "dashboard.traces",
        "dashboard.runs",
        "dashboard.panels",
        "dashboard.panels.registry",
    },
    "dashboard.server.warm_up": {"dashboard.curves", "dashboard.embeddings"},
    "dashboard.server.compiler_process": {"dashboard.server.warm_up"},
    "dashboard.cli": {
        "dashboard.server",
        "dashboard.page",
        "dashboard.export",
        "dashboard.traces",
        "dashboard.embeddings",
        "dashboard.debugger",
        "dashboard.panels.registry",
        "dashboard.server.app",
        "dashboard.server.compiler_process",
        "dashboard.server.warm_up",
    },
    "dashboard.notebook": {"dashboard.cli"},
    "dashboard": set(),
}
"""Of the parts of the dashboard, by the beginnings of their modules' names, which others each may import, besides
`summary` and `profiler`. The longest beginning counts."""


def modules() -> dict[str, Path]:
    """Every module of the rooms by its dotted name under ``stepscope``; a package's is its ``__init__.py``."""
    # Below all rooms: the module that finds records of other distributions.
    found = {name: REPOSITORY / "stepscope" / f"{name}.py" for name in ("plugins", "record_fields")}
    for room in ROOMS:
        for path in (REPOSITORY / room).rglob("*.py"):
            parts = path.relative_to(REPOSITORY).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports_of(path: Path) -> Iterator[str]:
    """The modules of the rooms that a module imports: at its top, inside functions, and under TYPE_CHECKING.

    ``from package import name`` imports the submodule if there is one of that name, else the package. A submodule is
    not its package: importing ``package.submodule`` does not import what ``package/__init__.py`` offers to those who
    import the package, so that the package may import from its submodules. Modules named in strings, as in registries
    that import on demand, do not count: that is what the strings are for.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                found = (alias.name.removeprefix("stepscope.") for alias in names)
                yield from (name for name in found if name in MODULES)
            case ast.ImportFrom(module="stepscope", names=names, level=0):
                yield from (alias.name for alias in names if alias.name in MODULES)
            case ast.ImportFrom(module=str(module), names=names, level=0) if module.startswith("stepscope."):
                package = module.removeprefix("stepscope.")
                for alias in names:
                    submodule = f"{package}.{alias.name}"
                    yield submodule if submodule in MODULES else package
            case ast.ImportFrom(level=level):
                assert level == 0, f"{path} has a relative import, which is not followed"


@cache
def imports() -> dict[str, frozenset[str]]:
    return {name: frozenset(imports_of(path)) - {name} for name, path in MODULES.items()}


def circles(graph: Mapping[str, Collection[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        open_nodes.append(node)
        for other in graph[node]:
            if other not in number:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in open_nodes:
                lowest[node] = min(lowest[node], number[other])
        if lowest[node] == number[node]:
            place = open_nodes.index(node)
            if len(open_nodes) - place > 1:
                found.append(sorted(open_nodes[place:]))
            del open_nodes[place:]

    for node in graph:
        if node not in number:
            visit(node)
    return found


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_imports_run_one_way(room: str) -> None:
    wrong = {
        f"{name} imports {other}"
        for name, others in imports().items()
        for other in others
        if name.split(".")[0] == room and other.split(".")[0] not in MAY_IMPORT[room]
    }
    assert not wrong


def test_circles_are_found() -> None:
    graph = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": ["e"], "e": ["d"], "f": ["a"]}
    assert sorted(circles(graph)) == [["a", "b", "c"], ["d", "e"]]


def test_no_module_imports_itself_by_way_of_others() -> None:
    """No import circles, lazy imports included: a circle that is hidden inside a function is still a circle."""
    assert circles(imports()) == []


def layer_of(module: str) -> str:
    while module not in LAYERS:
        module = module.rpartition(".")[0]
    return module


def test_layers_of_the_dashboard_lie_on_each_other() -> None:
    assert circles(LAYERS) == []
    assert {layer_of(name) for name in MODULES if name.split(".")[0] == "dashboard"} == set(LAYERS)


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_a_layer_of_the_dashboard_imports_only_what_is_below(layer: str) -> None:
    wrong = {
        f"{name} imports {other}"
        for name, others in imports().items()
        if name.split(".")[0] == "dashboard" and layer_of(name) == layer
        for other in others
        if other.split(".")[0] == "dashboard" and layer_of(other) not in LAYERS[layer] | {layer}
    }
    assert not wrong


def test_the_profiler_uses_of_summary_nothing_that_reads_log_directories() -> None:
    allowed = (
        "summary.proto",
        "summary.records",
        "summary.writer",
        "summary.conditions",
        "summary.counts",
        "summary.errors",
        "summary.safe_regex",
        "summary.storage",
        "summary.hooks",
        # What writers write, as their users make it.
        "summary.kinds.histogram",
        "summary.bounded_messages",
        "summary.cancellation",
        "summary.distinct",
        "summary.kernels",
        "summary.listed",
        "summary.full_install",
        "summary.cache_folder",
        # Traces of many ranks are parts of work, and the code that runs these parts knows nothing of their nature.
        "summary.engine",
    )
    for path in (REPOSITORY / "profiler").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("stepscope.summary"):
                assert node.module.removeprefix("stepscope.").startswith(allowed), f"{path.name} imports {node.module}"


def test_everything_is_imported_from_stepscope() -> None:
    """Imported by its bare name, a room would be a second copy of itself, with types that differ from the first's."""
    # Environments are in folders whose names begin with a dot, and hold thousands of modules.
    tops = [
        top for top in REPOSITORY.iterdir() if top.is_dir() and not top.name.startswith(".") and top.name != "stepscope"
    ]
    paths = [*REPOSITORY.glob("*.py"), *(path for top in tops for path in top.rglob("*.py"))]
    assert {Path(__file__), REPOSITORY / "summary" / "writer.py"} < set(paths)
    for path in paths:
        text = path.read_text()
        # Parsing all of them takes seconds.
        if not re.search(rf"import\s.*\b({'|'.join(ROOMS)})\b|from\s+({'|'.join(ROOMS)})\b", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                assert not {name.split(".")[0] for name in names} & ROOMS, f"{path.name} imports {names}"


@pytest.mark.parametrize("module", ["stepscope", "stepscope.summary", "stepscope.profiler"])
def test_training_code_pays_for_no_heavy_import(module: str) -> None:
    heavy = ("numba", "dash", "plotly", "torch", "tensorflow", "pandas", "sklearn", "polars")
    code = f"import sys, {module}; print(*sorted(set({heavy!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert done.stdout.split() == []


def test_no_source_of_others_and_no_address_off_the_host_is_in_the_pages_modules_and_styles() -> None:
    sources = [*bundle.modules(), *bundle.styles()]
    assert {".ts", ".css"} <= {path.suffix for path in sources}
    for path in sources:
        text = path.read_text()
        for address in ("http://", "https://", "//cdn", "@import"):
            assert address not in text.replace("http://www.w3.org/", ""), f"{path.name} has {address}"


def test_no_two_modules_beside_each_other_differ_by_an_s_alone() -> None:
    """Such names do not tell which module has what."""
    modules = {name for name, path in MODULES.items() if path.name != "__init__.py"}
    assert not {name for name in modules if name + "s" in modules}


def test_nothing_counts_values_while_it_holds_the_interpreters_lock() -> None:
    """No other request is answered while NumPy hashes millions of integers, compares their rows along an axis, or
    numbers them.
    """
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.unique":
                wanted = {each.arg for each in node.keywords}
                # With these arguments it sorts; to number values, it sums booleans.
                sorts = wanted & {"return_index", "return_counts"} and not wanted & {"axis", "return_inverse"}
                assert sorts, f"{path.name}: see summary/distinct.py"


def test_messages_of_others_are_parsed_within_bounds() -> None:
    """A message of a few megabytes may take gigabytes of memory."""
    of_the_caller = {"summary/foreign_protos.py", "summary/graphs/dispatch.py", "summary/graphs/from_onnx.py"}
    own = {"summary/bounded_messages.py", "summary/v2/hp.py"}
    found = {
        path.relative_to(REPOSITORY).as_posix()
        for path in MODULES.values()
        if re.search(r"\.(FromString|ParseFromString|MergeFromString)\(", path.read_text())
    }
    assert found == of_the_caller | own
