"""Plug-ins from other distributions: records behind entry points, loaded when they are first needed.

A distribution declares its records in its metadata, one entry point each, in a group per sort of record::

    [project.entry-points."stepscope.kinds"]
    spectrum = "my_package.spectrum:KIND"

Stepscope's own records have the same types, and are in plain lists beside the code that uses them. A plug-in that
cannot be loaded is recorded as a `PluginFailure`, reported in one warning, and left out: nothing else fails with it.
"""

import logging
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from stepscope.record_fields import check_fields

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Record = TypeVar("Record")

GROUPS: Final = ("kinds", "trace_readers", "analyses", "collectors", "verbs", "panels")
"""The sorts of records; the prefix ``stepscope.`` makes each the name of its group of entry points."""
REGISTRIES: Final[Mapping[str, str]] = {
    "kinds": "stepscope.summary.kinds.registry:OTHERS",
    "trace_readers": "stepscope.profiler.traces.registry:OTHERS",
    "analyses": "stepscope.profiler.analysis.report:OTHERS",
    "collectors": "stepscope.profiler.collectors.registry:OTHERS",
    "verbs": "stepscope.dashboard.cli.verbs:OTHERS",
    "panels": "stepscope.dashboard.panels.registry:OTHERS",
}
"""Location of the `Extensions` of each group, which are imported only when all groups are requested."""
SWITCH: Final = "STEPSCOPE_PLUGINS"
"""Environment variable; the value 0 disables the search for plug-ins."""
ERRORS_OF_OTHERS: Final = (Exception, SystemExit)
"""What code of other distributions is expected to raise when it fails: it may do anything, including sys.exit()."""
_MOST_FAILURES: Final = 100
"""Maximum number of failures recorded per group, in case a plug-in fails with a different message each time."""
_LOG: Final = logging.getLogger("stepscope")


@dataclass(frozen=True)
class Plugin:
    """One entry point of a distribution."""

    group: str
    """One of `GROUPS`."""
    name: str
    """Name of the entry point."""
    distribution: str
    """Name and version of the distribution, such as "stepscope-spectrum 1.2"."""
    entry: "EntryPoint"
    """The entry point in the metadata, with the location of the record."""


@dataclass(frozen=True)
class PluginFailure:
    """A plug-in that is left out."""

    plugin: Plugin
    """The plug-in that is left out."""
    reason: str
    """The reason, as one sentence."""

    def __str__(self) -> str:
        """Return a sentence that names the plug-in."""
        plugin = self.plugin
        return f"The plug-in {plugin.name!r} of {plugin.distribution} (stepscope.{plugin.group}) failed: {self.reason}"


class Extensions(Generic[Record]):
    """The records that other distributions add to one group; they are imported when `records` is first called."""

    def __init__(
        self,
        group: str,
        type_: type[Record],
        name_of: Callable[[Record], str],
        taken: Callable[[], Collection[str]],
        check: Callable[[Record], None] = lambda record: None,
        about_of: Callable[[Record], str] = lambda record: "",
        alone_in: Callable[[Record], Collection[str]] = lambda record: (),
    ) -> None:
        """Keep the arguments; the search for plug-ins comes later.

        Args:
            group: one of `GROUPS`.
            type_: the type of object that each entry point must hold.
            name_of: returns the name of a record, which must be unique in the group.
            taken: returns the names of Stepscope's own records.
            check: raises an exception, with a sentence as its message, if a record is invalid.
            about_of: returns a description of a record, in one line.
            alone_in: returns what a record has besides its name that no other plug-in may have too, in words.
        """
        self.group = group
        self._type = type_
        self._name_of = name_of
        self._taken = taken
        self._check = check
        self._about_of = about_of
        self._alone_in = alone_in
        self._lock = Lock()
        self._loaded: tuple[tuple[Plugin, Record], ...] | None = None
        self._failures: tuple[PluginFailure, ...] = ()
        _GROUPS_IN_USE[group] = self

    def own_names(self) -> tuple[str, ...]:
        """Return the names of Stepscope's own records."""
        return tuple(self._taken())

    def described(self, record: Record) -> tuple[str, str]:
        """Return the name of a record and its description in one line."""
        return self._name_of(record), self._about_of(record)

    def loaded(self) -> tuple[tuple[Plugin, Record], ...]:
        """Return each record with its plug-in, by distribution and name."""
        with self._lock:
            if self._loaded is None:
                self._load()
            assert self._loaded is not None
            return self._loaded

    def records(self) -> tuple[Record, ...]:
        """Return the records without their plug-ins."""
        return tuple(record for _, record in self.loaded())

    def failures(self) -> tuple[PluginFailure, ...]:
        """Return the plug-ins that could not be loaded, or failed later, and why."""
        self.loaded()
        return self._failures

    def known_failures(self) -> tuple[PluginFailure, ...]:
        """Return the failures known so far, without loading anything."""
        return self._failures

    def fail(self, of: Plugin | Record, error: BaseException, doing: str = "") -> PluginFailure:
        """Record a failure of a loaded plug-in, and warn of it once however often it happens; return the failure.

        Args:
            of: the plug-in, or its record.
            error: the exception that it raised.
            doing: what it was called for, such as "layout"; precedes the error in the message.

        Raises:
            LookupError: the record is not from another distribution.
        """
        plugin = of if isinstance(of, Plugin) else self._plugin_of(of)
        sentence = _sentence(error, plugin)
        failure = PluginFailure(plugin, f"{doing}: {sentence}" if doing else sentence)
        _LOG.debug("the plug-in %r", plugin.name, exc_info=error)
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
        owners = {_named(name): "Stepscope" for name in self._taken()}
        good, bad = [], []
        for plugin in found(self.group):
            try:
                record = self._record(plugin, owners)
            except ERRORS_OF_OTHERS as error:
                failure = PluginFailure(plugin, _sentence(error, plugin))
                _LOG.debug("the plug-in %r", plugin.name, exc_info=error)
                _LOG.warning("%s", failure)
                bad.append(failure)
            else:
                owners |= dict.fromkeys(self._owned(record), plugin.distribution)
                good.append((plugin, record))
        self._loaded, self._failures = tuple(good), tuple(bad)

    def _record(self, plugin: Plugin, owners: Mapping[str, str]) -> Record:
        if plugin.entry.pattern.match(plugin.entry.value) is None:
            raise ValueError(f"the entry point is {plugin.entry.value!r}, expected 'package.module:RECORD'")
        record = plugin.entry.load()
        place, type_name = plugin.entry.value, self._type.__name__
        if isinstance(record, type) and issubclass(record, self._type):
            raise TypeError(f"{place} is a class, expected an instance of it: {record.__name__}()")
        if not isinstance(record, self._type):
            raise TypeError(f"{place} is of the type {type(record).__name__}, not {type_name}")
        check_fields(record, self._type)
        self._check(record)
        for owned in self._owned(record):
            if owned in owners:
                raise ValueError(f"{owned} is taken by {owners[owned]}: choose another")
        return record

    def _owned(self, record: Record) -> tuple[str, ...]:
        return (_named(self._name_of(record)), *self._alone_in(record))


_GROUPS_IN_USE: Final[dict[str, Extensions[Any]]] = {}
"""Extensions by group, for groups whose module was imported."""


def plugin_failures() -> tuple[PluginFailure, ...]:
    """Return the failures so far, for every group whose records have been requested."""
    return tuple(
        failure for group in GROUPS if group in _GROUPS_IN_USE for failure in _GROUPS_IN_USE[group].known_failures()
    )


def registries() -> Mapping[str, Extensions[Any]]:
    """Return the `Extensions` of each group whose part of Stepscope is installed; imports the modules with them."""
    from pkgutil import resolve_name

    found = {}
    for group, place in REGISTRIES.items():
        # Without the dashboard, its plug-ins have nothing to join.
        if find_spec(".".join(place.split(".")[:2])) is not None:
            extensions: Extensions[Any] = resolve_name(place)
            found[group] = extensions
    return found


def found(group: str) -> tuple[Plugin, ...]:
    """Return the entry points of a group, by distribution and name; none if `SWITCH` is 0. Imports nothing."""
    if os.environ.get(SWITCH) == "0":
        return ()
    # Most programs that import Stepscope request no plug-in, and this import takes longer than all others here.
    from importlib.metadata import entry_points

    plugins = [
        Plugin(
            group, entry.name, f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package", entry
        )
        for entry in entry_points(group=f"stepscope.{group}")
    ]
    return tuple(sorted(plugins, key=lambda plugin: (plugin.distribution, plugin.name)))


def is_any_installed() -> bool:
    """Return whether any of the groups has an entry point, with a single pass over what is installed."""
    return os.environ.get(SWITCH) != "0" and _is_any_in(tuple(sys.path))


@lru_cache(maxsize=16)
def _is_any_in(_path: tuple[str, ...]) -> bool:
    # Cached: a start asks three times, and each look reads a file of every distribution.
    from importlib.metadata import entry_points

    return not entry_points().groups.isdisjoint(f"stepscope.{group}" for group in GROUPS)


def _named(name: str) -> str:
    return f"the name {name!r}"


def _sentence(error: BaseException, plugin: Plugin) -> str:
    """Return what an exception says, and where in the plug-in's own modules it was raised."""
    text = " ".join(str(error).split())[:500] or "no reason given"
    # Not `EntryPoint.module`, which fails for what is no place at all.
    package = plugin.entry.value.partition(":")[0].partition(".")[0].strip()
    places = [
        f"{frame.f_globals['__name__']}, line {line}"
        for frame, line in walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package
    ]
    return f"{type(error).__name__}: {text}" + (f" ({places[-1]})" if places else "")
