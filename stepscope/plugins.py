"""What other distributions add to Stepscope: records behind entry points, loaded when they are first needed.

A distribution names its records in its metadata, one entry point each, in a group per sort of record::

    [project.entry-points."stepscope.kinds"]
    spectrum = "my_package.spectrum:KIND"

Stepscope's own records stand in plain lists beside the code that uses them, and are of the same types. A plug-in that
cannot be loaded is remembered as a `PluginFailure`, warned of once, and left out: nothing else fails with it.
"""

import logging
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Record = TypeVar("Record")

GROUPS: Final = ("kinds", "trace_readers", "analyses", "collectors", "verbs", "panels")
"""The sorts of records; ``stepscope.`` before one is the name of its group of entry points."""
REGISTRIES: Final[Mapping[str, str]] = {
    "kinds": "stepscope.summary.kinds.registry:OTHERS",
    "trace_readers": "stepscope.profiler.traces.registry:OTHERS",
    "analyses": "stepscope.profiler.analysis.report:OTHERS",
    "collectors": "stepscope.profiler.collectors.registry:OTHERS",
    "verbs": "stepscope.dashboard.cli.verbs:OTHERS",
    "panels": "stepscope.dashboard.panels.registry:OTHERS",
}
"""Where the `Extensions` of each group are; they are imported when somebody asks for all of them, and no sooner."""
SWITCH: Final = "STEPSCOPE_PLUGINS"
"""Environment variable; with the value 0 no plug-in is looked for."""
_MOST_FAILURES: Final = 100
"""Of a group that are remembered: what fails with another sentence each time ends there."""
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
        check: Callable[[Record], None] = lambda record: None,
        about_of: Callable[[Record], str] = lambda record: "",
    ) -> None:
        """Look for nothing yet.

        Args:
            group: one of `GROUPS`.
            type_: what each entry point must hold.
            name_of: the name of a record, which nothing else of the group may have.
            taken: the names of Stepscope's own records.
            check: raises an exception with a sentence where a record says what it must not.
            about_of: what a record is, in one line.
        """
        self.group = group
        self._type = type_
        self._name_of = name_of
        self._taken = taken
        self._check = check
        self._about_of = about_of
        self._lock = Lock()
        self._loaded: tuple[tuple[Plugin, Record], ...] | None = None
        self._failures: tuple[PluginFailure, ...] = ()
        _GROUPS_IN_USE[group] = self

    def own_names(self) -> tuple[str, ...]:
        """Return the names of Stepscope's own records."""
        return tuple(self._taken())

    def described(self, record: Record) -> tuple[str, str]:
        """Return the name of a record, and in one line what it is."""
        return self._name_of(record), self._about_of(record)

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
        """Return what could not be loaded, or failed later, and why."""
        self.loaded()
        return self._failures

    def known_failures(self) -> tuple[PluginFailure, ...]:
        """Return the same as far as it is known by now; loads nothing."""
        return self._failures

    def fail(self, of: Plugin | Record, error: BaseException, doing: str = "") -> PluginFailure:
        """Remember and warn of what a loaded plug-in failed at, once however often it happens; return it in words.

        Args:
            of: the plug-in, or its record.
            error: what it raised.
            doing: what was asked of it, such as "layout"; goes before the error.

        Raises:
            LookupError: no other distribution's record is this one.
        """
        plugin = of if isinstance(of, Plugin) else self._plugin_of(of)
        failure = PluginFailure(plugin, f"{doing}: {_sentence(error)}" if doing else _sentence(error))
        with self._lock:
            if failure in self._failures or len(self._failures) >= _MOST_FAILURES:
                return failure
            self._failures = (*self._failures, failure)
        _LOG.warning("%s", failure)
        return failure

    def _plugin_of(self, record: Record) -> Plugin:
        found = next((plugin for plugin, each in self.loaded() if each is record), None)
        if found is None:
            raise LookupError(f"{self._name_of(record)!r} of stepscope.{self.group} is of no other distribution")
        return found

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
                names.add(self._name_of(record))
                good.append((plugin, record))
        self._loaded, self._failures = tuple(good), tuple(bad)

    def _record(self, plugin: Plugin, names: Collection[str]) -> Record:
        record = plugin.entry.load()
        if not isinstance(record, self._type):
            raise TypeError(f"{plugin.entry.value} is of the type {type(record).__name__}, not {self._type.__name__}")
        self._check(record)
        name = self._name_of(record)
        if name in names:
            raise ValueError(f"another {self._type.__name__} is called {name!r} already")
        return record


_GROUPS_IN_USE: Final[dict[str, Extensions[Any]]] = {}
"""By group; those whose module was imported."""


def plugin_failures() -> tuple[PluginFailure, ...]:
    """Return what has failed so far, of every group whose records somebody has asked for."""
    return tuple(
        failure for group in GROUPS if group in _GROUPS_IN_USE for failure in _GROUPS_IN_USE[group].known_failures()
    )


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


def is_any_installed() -> bool:
    """Return whether there is an entry point in any of the groups; one look through what is installed answers it."""
    return os.environ.get(SWITCH) != "0" and _is_any_in(tuple(sys.path))


@lru_cache(maxsize=16)
def _is_any_in(_path: tuple[str, ...]) -> bool:
    # Remembered: a start asks three times, and each look reads a file of every distribution.
    from importlib.metadata import entry_points

    return not entry_points().groups.isdisjoint(f"stepscope.{group}" for group in GROUPS)


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split()) or "no reason given"
    return f"{type(error).__name__}: {text[:500]}"
