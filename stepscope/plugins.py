"""What other distributions add to Stepscope: records behind entry points, loaded when they are first needed.

A distribution names its records in its metadata, one entry point each, in a group per sort of record::

    [project.entry-points."stepscope.kinds"]
    spectrum = "my_package.spectrum:KIND"

Stepscope's own records stand in plain lists beside the code that uses them, and are of the same types. A plug-in that
cannot be loaded is remembered as a `PluginFailure`, warned of once, and left out: nothing else fails with it.
"""

import logging
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Record = TypeVar("Record")

GROUPS: Final = ("kinds", "trace_readers", "analyses", "collectors", "verbs", "panels")
"""The sorts of records; ``stepscope.`` before one is the name of its group of entry points."""
REGISTRIES: Final[Mapping[str, str]] = {
    "collectors": "stepscope.profiler.collectors.registry:OTHERS",
    "verbs": "stepscope.dashboard.cli.verbs:OTHERS",
}
"""Where the `Extensions` of each group are. They are imported when somebody asks for all of them, and no sooner."""
SWITCH: Final = "STEPSCOPE_PLUGINS"
"""Environment variable; with the value 0 no plug-in is looked for."""
_LOG: Final = logging.getLogger("stepscope")


@dataclass(frozen=True)
class Plugin:
    """One entry point of a distribution."""

    group: str
    """One of `GROUPS`."""
    name: str
    """Of the entry point."""
    distribution: str
    """Name and version of what was installed, such as "stepscope-spectrum 1.2"."""
    entry: "EntryPoint"
    """What the metadata says, with the place of the record."""


@dataclass(frozen=True)
class PluginFailure:
    """A plug-in that is left out."""

    plugin: Plugin
    """What is left out."""
    reason: str
    """One sentence."""

    def __str__(self) -> str:
        """Return a sentence that names the plug-in."""
        plugin = self.plugin
        return f"The plug-in {plugin.name!r} of {plugin.distribution} (stepscope.{plugin.group}) failed: {self.reason}"


class Extensions(Generic[Record]):
    """The records of one group that other distributions add; they are imported when `records` is first asked for."""

    def __init__(
        self,
        group: str,
        type_: type[Record],
        name_of: Callable[[Record], str],
        taken: Callable[[], Collection[str]],
        about_of: Callable[[Record], str] = lambda record: "",
    ) -> None:
        """Look for nothing yet.

        Args:
            group: one of `GROUPS`.
            type_: what each entry point must hold.
            name_of: the name of a record, which nothing else of the group may have.
            taken: the names of Stepscope's own records.
            about_of: what a record is, in one line.
        """
        self.group = group
        self.about_of = about_of
        self._type = type_
        self.name_of = name_of
        self._taken = taken
        self._lock = Lock()
        self._loaded: tuple[tuple[Plugin, Record], ...] | None = None
        self._failures: tuple[PluginFailure, ...] = ()

    def own_names(self) -> tuple[str, ...]:
        """Return the names of Stepscope's own records."""
        return tuple(self._taken())

    def loaded(self) -> tuple[tuple[Plugin, Record], ...]:
        """Return each record with where it is from, by distribution and name."""
        with self._lock:
            if self._loaded is None:
                self._load()
            assert self._loaded is not None
            return self._loaded

    def records(self) -> tuple[Record, ...]:
        """Return the records alone."""
        return tuple(record for _, record in self.loaded())

    def failures(self) -> tuple[PluginFailure, ...]:
        """Return what could not be loaded, and why."""
        self.loaded()
        return self._failures

    def fail(self, record: Record, error: BaseException) -> PluginFailure:
        """Remember that a record which was loaded failed at its work, and return the failure, for the caller to say.

        Raises:
            LookupError: no other distribution's record is this one.
        """
        plugin = next((plugin for plugin, each in self.loaded() if each is record), None)
        if plugin is None:
            raise LookupError(f"{self.name_of(record)!r} of stepscope.{self.group} is of no other distribution")
        failure = PluginFailure(plugin, _sentence(error))
        with self._lock:
            if failure not in self._failures:
                self._failures = (*self._failures, failure)
        return failure

    def _load(self) -> None:
        names = set(self._taken())
        good, bad = [], []
        for plugin in found(self.group):
            try:
                record = self._record(plugin, names)
            # Whatever a module of others does while it is imported, sys.exit() included.
            except (Exception, SystemExit) as error:
                failure = PluginFailure(plugin, _sentence(error))
                _LOG.warning("%s", failure)
                bad.append(failure)
            else:
                names.add(self.name_of(record))
                good.append((plugin, record))
        self._loaded, self._failures = tuple(good), tuple(bad)

    def _record(self, plugin: Plugin, names: Collection[str]) -> Record:
        record = plugin.entry.load()
        if not isinstance(record, self._type):
            raise TypeError(f"{plugin.entry.value} is of the type {type(record).__name__}, not {self._type.__name__}")
        name = self.name_of(record)
        if name in names:
            raise ValueError(f"another {self._type.__name__} is called {name!r} already")
        return record


def registries() -> Mapping[str, Extensions[Any]]:
    """Return the `Extensions` of each group whose part of Stepscope is installed, importing what holds them."""
    from pkgutil import resolve_name

    found = {}
    for group, place in REGISTRIES.items():
        # Without the dashboard there is nothing that its plug-ins could join.
        if find_spec(".".join(place.split(".")[:2])) is not None:
            extensions: Extensions[Any] = resolve_name(place)
            found[group] = extensions
    return found


def plugin_failures() -> tuple[PluginFailure, ...]:
    """Return every plug-in that could not be loaded, or failed at its work, and why; loads those that are not yet."""
    return tuple(failure for extensions in registries().values() for failure in extensions.failures())


def found(group: str) -> tuple[Plugin, ...]:
    """Return the entry points of a group, by distribution and name; none where `SWITCH` is 0. Imports nothing."""
    if os.environ.get(SWITCH) == "0":
        return ()
    # Most programs that import Stepscope ask for no plug-in, and this takes longer to import than all else here.
    from importlib.metadata import entry_points

    plugins = [
        Plugin(
            group, entry.name, f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package", entry
        )
        for entry in entry_points(group=f"stepscope.{group}")
    ]
    return tuple(sorted(plugins, key=lambda plugin: (plugin.distribution, plugin.name)))


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split()) or "no reason given"
    return f"{type(error).__name__}: {text[:500]}"
