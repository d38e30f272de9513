"""The collectors by name, imported on request: most of them need a library of their own."""

from dataclasses import dataclass
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Final

from stepscope.plugins import Extensions
from stepscope.profiler.collectors.base import Collector
from stepscope.summary.errors import UserError


@dataclass(frozen=True)
class ListedCollector:
    """A collector as it is listed. Its module is imported once a recording uses it."""

    name: str
    """Its name in ``profiler.start(collectors=["name"])`` and captures: lowercase letters, digits and underscores."""
    about: str
    """What it records, in one line without a final period."""
    path: str
    """Its class, a `Collector`, in the form of `pkgutil.resolve_name`: ``package.module:Class``. It is created without
    arguments, so a name stands for the collector with its defaults."""
    needs: str = ""
    """The module of the library that it needs, such as "pynvml"; empty if none. If there is no such module, the
    collector is not offered."""

    def usable(self) -> bool:
        """Return whether it can record here, as far as can be told without importing what it needs."""
        modules = [self.path.partition(":")[0], *([self.needs] if self.needs else [])]
        return all(map(_is_there, modules))

    def make(self) -> Collector:
        """Create the collector itself, with its defaults."""
        collector: Collector = resolve_name(self.path)()
        return collector


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    # A parent package of the module is missing, or cannot be imported.
    except (ImportError, ValueError):
        return False


_HERE: Final = "stepscope.profiler.collectors"
COLLECTORS: Final = (
    ListedCollector(
        "resources", "memory, processors, threads, open files and storage", f"{_HERE}.resources:ResourceCollector"
    ),
    ListedCollector(
        "tracemalloc", "memory that Python allocates, by line", f"{_HERE}.tracemalloc:TracemallocCollector"
    ),
    ListedCollector("python", "every call of a Python function", f"{_HERE}.python_calls:PythonCallCollector"),
    ListedCollector("asyncio", "tasks of asyncio", f"{_HERE}.asyncio_tasks:AsyncioTaskCollector"),
    ListedCollector(
        "subprocesses",
        "child processes, and the resources they use",
        f"{_HERE}.subprocesses:SubprocessCollector",
    ),
    ListedCollector(
        "data_loading",
        "the time that the program waits for its next batch",
        f"{_HERE}.data_loading:DataLoadingCollector",
    ),
    ListedCollector("torch", "operators and devices, by PyTorch's profiler", f"{_HERE}.torch:TorchCollector", "torch"),
    ListedCollector("cupti", "kernels and copies of NVIDIA's devices", f"{_HERE}.cupti:CuptiCollector", "cupti"),
    ListedCollector("nvml", "counters of NVIDIA's devices", f"{_HERE}.nvml:NvmlCollector", "pynvml"),
)
"""Stepscope's own collectors. Each is one module of this folder and one entry here."""
OTHERS: Final = Extensions(
    "collectors",
    ListedCollector,
    lambda listed: listed.name,
    taken=lambda: [listed.name for listed in COLLECTORS],
    about_of=lambda listed: listed.about,
)
"""Collectors of other distributions."""


def all_collectors() -> dict[str, ListedCollector]:
    """Return Stepscope's own collectors and those of others, by name; the records of the latter are imported now."""
    return {listed.name: listed for listed in (*COLLECTORS, *OTHERS.records())}


def make_collector(collector: Collector | str) -> Collector:
    """Return a collector by its name, with its defaults; return a collector object as it is.

    Raises:
        UserError: there is no collector with this name, or it is another distribution's and cannot be created.
    """
    if not isinstance(collector, str):
        return collector
    own = {listed.name: listed for listed in COLLECTORS}
    if collector in own:
        # Do not search for collectors of other distributions in vain.
        return own[collector].make()
    known = all_collectors()
    if collector not in known:
        raise UserError(f"there is no collector {collector!r}. Expected one of: {', '.join(known)}.")
    try:
        return known[collector].make()
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(str(OTHERS.fail(known[collector], error))) from error
