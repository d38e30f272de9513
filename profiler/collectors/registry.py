"""The collectors by name, imported on request: most of them need a library of their own."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Final

from stepscope.plugins import ERRORS_OF_OTHERS, Extensions
from stepscope.profiler.collectors.base import Collected, Collector, RecordingClock
from stepscope.profiler.collectors.checks import check_collected
from stepscope.record_fields import check_methods, check_place
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


class _Guarded:
    """A collector of somebody else, whose errors name it, and which returns nothing of another type.

    Args:
        name: what it is called.
        make: returns the collector as it was provided; called at the start, so that a recording can do without it.
        report: records an error, given what the collector was called for, and returns it as a sentence.
    """

    def __init__(
        self, name: str, make: Callable[[], Collector], report: Callable[[BaseException, str], object]
    ) -> None:
        self._name: Final = name
        self._make: Final = make
        self._report: Final = report

    def start(self, clock: RecordingClock) -> None:
        doing = ""
        self._clock = clock
        try:
            self._collector = self._make()
            check_methods(self._collector, Collector)
            doing = "start"
            self._collector.start(clock)
        except UserError as error:
            raise UserError(f"the collector {self._name!r} cannot record: {error}") from error
        except ERRORS_OF_OTHERS as error:
            raise UserError(str(self._report(error, doing))) from error

    def stop(self) -> Collected:
        try:
            return check_collected(self._collector.stop(), self._clock.now() + self._clock.wall_offset_ns)
        except ERRORS_OF_OTHERS as error:
            raise UserError(str(self._report(error, "stop"))) from error


def _check(listed: ListedCollector) -> None:
    if not re.fullmatch(r"[a-z0-9_]+", listed.name):
        raise ValueError(f"its name is {listed.name!r}, expected lowercase letters, digits and underscores")
    check_place(listed.path)


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
    check=_check,
    about_of=lambda listed: listed.about,
)
"""Collectors of other distributions."""


def all_collectors() -> dict[str, ListedCollector]:
    """Return Stepscope's own collectors and those of others, by name; the records of the latter are imported now."""
    return {listed.name: listed for listed in (*COLLECTORS, *OTHERS.records())}


def checked_collectors(given: Sequence[Collector | str] | None) -> Sequence[Collector | str] | None:
    """Return what a user gave as ``collectors``; raise ValueError for a string, whose letters would count as names."""
    if isinstance(given, str):
        raise ValueError(f"collectors must be a list, such as [{given!r}], got {given!r}")
    return given


def make_collector(collector: Collector | str) -> Collector:
    """Return a collector by its name, with its defaults, or a given collector object; others' errors name them.

    Raises:
        UserError: there is no collector with this name.
    """
    if not isinstance(collector, str):
        if type(collector).__module__.startswith(f"{_HERE}."):
            return collector
        name = type(collector).__name__
        return _Guarded(name, lambda: collector, partial(_sentence_of, name))
    own = {listed.name: listed for listed in COLLECTORS}
    if collector in own:
        # Do not search for collectors of other distributions in vain.
        return own[collector].make()
    known = all_collectors()
    if collector not in known:
        raise UserError(f"there is no collector {collector!r}. Expected one of: {', '.join(known)}.")
    listed = known[collector]
    return _Guarded(collector, partial(_made, listed), partial(OTHERS.fail, listed))


def _made(listed: ListedCollector) -> Collector:
    if listed.needs and not _is_there(listed.needs):
        raise ModuleNotFoundError(f"it needs the module {listed.needs!r}, which is not installed")
    return listed.make()


def _sentence_of(name: str, error: BaseException, doing: str) -> str:
    words = f"{type(error).__name__}: {error}"
    return f"the collector {name} failed: {doing}: {words}" if doing else f"the collector {name} failed: {words}"
