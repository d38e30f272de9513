"""The view of the user as readable URL parameters.

The page's store ``view`` holds the same query string that the address bar shows; controls on the page set parameters
by name, and the server reads them with `decode`. Default values are left out, so that URLs stay short.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from math import isfinite
from typing import Any, Final, Generic, Literal, TypeVar, assert_never, get_args
from urllib.parse import parse_qsl, quote, urlencode

from stepscope.summary.safe_regex import Pattern, PatternError

T = TypeVar("T")

RunBase = Literal["default", "found", "all", "none"]
DEFAULT_RUNS: Final = 20
"""Number of runs shown by default, among those that the search finds; more make the first charts slow and
unreadable."""
MAX_QUERY: Final = 65_536


@dataclass(frozen=True)
class Setting(Generic[T]):
    """One parameter that a panel declares; its name is the URL parameter and the control's id."""

    name: str
    """Dotted, panel first: "scalars.smoothing"."""
    default: T
    parse: Callable[[Sequence[str]], T]
    """Parses the parameter's values; raises ValueError for invalid ones."""
    format: Callable[[T], tuple[str, ...]]
    kind: Literal["text", "names", "flag", "choice", "number"] = "text"
    """How the page interprets its values: one text, any number of texts, or one text that is of another kind."""
    options: tuple[str, ...] = ()
    """The options of a choice."""
    limits: tuple[float, float] | None = None
    """The minimum and the maximum of a number."""
    personal: bool = False
    """Whether it is a preference independent of the data, which the browser remembers for the next visit."""
    former_names: tuple[str, ...] = ()
    """Names of the parameter in earlier versions: links with these names still work."""
    former_values: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Names of values in earlier versions, with the current name of each."""

    def of(self, view: "View") -> T:
        """Return the value in ``view``; the default if it is absent or invalid."""
        raw = next((view.settings[name] for name in (self.name, *self.former_names) if name in view.settings), None)
        if raw is None:
            return self.default
        try:
            return self.parse([self.former_values.get(value, value) for value in raw])
        except ValueError:
            return self.default


def number(name: str, default: float, low: float, high: float) -> Setting[float]:
    """Return a setting that is a number from ``low`` to ``high``."""

    def parse(raw: Sequence[str]) -> float:
        value = float(raw[-1])
        if not (isfinite(value) and low <= value <= high):
            raise ValueError(f"{name} is {value}, expected {low} to {high}")
        return value

    return Setting(
        name, default, parse, lambda value: (f"{value:g}",), kind="number", limits=(low, high), personal=True
    )


def choice(name: str, default: str, options: Sequence[str]) -> Setting[str]:
    """Return a setting that is one of ``options``."""

    def parse(raw: Sequence[str]) -> str:
        if raw[-1] not in options:
            raise ValueError(f"{name} is {raw[-1]!r}, expected one of {', '.join(options)}")
        return raw[-1]

    return Setting(name, default, parse, lambda value: (value,), kind="choice", options=tuple(options), personal=True)


def data_choice(name: str, options: Sequence[str]) -> Setting[str]:
    """Return a choice that depends on the data, so that the browser does not remember it.

    The default is the first option.
    """
    return replace(choice(name, options[0], options), personal=False)


def flag(name: str, default: bool) -> Setting[bool]:
    """Return a setting that is on or off."""

    def parse(raw: Sequence[str]) -> bool:
        if raw[-1] not in ("on", "off"):
            raise ValueError(f"{name} is {raw[-1]!r}, expected on or off")
        return raw[-1] == "on"

    return Setting(name, default, parse, lambda value: ("on" if value else "off",), kind="flag", personal=True)


def text(name: str, default: str) -> Setting[str]:
    """Return a setting that is any text."""
    return Setting(name, default, lambda raw: raw[-1], lambda value: (value,))


def names(name: str) -> Setting[tuple[str, ...]]:
    """Return a setting that is any number of names, none by default."""
    return Setting(name, (), tuple, tuple, kind="names")


@dataclass(frozen=True)
class View:
    """The view of the user: the tab, the runs, the filters and every panel's settings."""

    tab: str = ""
    """A panel's name; empty for the first that has data."""
    runs: RunBase = "default"
    """"found" means all runs that the search finds, or the same as "default" if nothing is searched for."""
    show: tuple[str, ...] = ()
    """Runs that are shown although ``runs`` would hide them."""
    hide: tuple[str, ...] = ()
    """Runs that are hidden although ``runs`` would show them."""
    run_filter: str = ""
    tag_filter: str = ""
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Values of the settings by name, as written in the URL."""

    def checked_runs(self, run_names: Iterable[str], found: Sequence[str] | None = None) -> frozenset[str]:
        """Return the runs that are switched on, whether or not they pass the filter.

        Args:
            run_names: all runs, in order of their first event.
            found: the runs that pass the filter, in the same order; None if there is no filter.
        """
        ordered = list(run_names)
        default = (ordered if found is None else found)[:DEFAULT_RUNS]
        match self.runs:
            case "all":
                base = set(ordered)
            case "none":
                base = set()
            case "default":
                base = set(default)
            case "found":
                base = set(default if found is None else found)
            case _:
                assert_never(self.runs)
        return frozenset((base | set(self.show)) - set(self.hide)) & frozenset(ordered)

    def shown_tags(self, tags: Iterable[str]) -> list[str]:
        """Return the tags that pass the tag filter, in the given order."""
        return matching(self.tag_filter, tags)


def pattern_error(pattern: str, candidates: Iterable[str] = ()) -> str:
    """Return why ``pattern`` is not a regular expression, or cannot be searched for in ``candidates``.

    Empty if it can be used.
    """
    try:
        Pattern(pattern).matches(candidates)
    except PatternError as error:
        return str(error)
    return ""


def matching(pattern: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates that contain the pattern, ignoring case.

    All of them if the pattern cannot be used.
    """
    ordered = list(candidates)
    if not pattern:
        return ordered
    try:
        return list(compress(ordered, Pattern(pattern).matches(ordered)))
    except PatternError:
        return ordered


def decode(query: str, settings: Iterable[Setting[Any]] = ()) -> View:
    """Parse a query string, with or without "?". Unknown and invalid parts are left out: a URL never fails.

    Args:
        query: the URL's query.
        settings: the settings that panels declare; empty keeps every dotted parameter.
    """
    known = {name for setting in settings for name in (setting.name, *setting.former_names)}
    values: dict[str, list[str]] = {}
    for key, value in parse_qsl(query[:MAX_QUERY].lstrip("?"), keep_blank_values=True):
        values.setdefault(key, []).append(value)
    last = {key: entries[-1] for key, entries in values.items()}
    base = last.get("runs", "default")
    return View(
        tab=last.get("tab", ""),
        runs=next((option for option in get_args(RunBase) if option == base), "default"),
        show=tuple(values.get("show", ())),
        hide=tuple(values.get("hide", ())),
        run_filter=last.get("run_filter", ""),
        tag_filter=last.get("tag_filter", ""),
        settings={key: tuple(entries) for key, entries in values.items() if "." in key and (not known or key in known)},
    )


def encode(view: View, settings: Iterable[Setting[Any]] = ()) -> str:
    """Return a view as a query string without "?"; default values are left out."""
    defaults = {setting.name: setting.format(setting.default) for setting in settings}
    pairs: list[tuple[str, str]] = []
    if view.tab:
        pairs.append(("tab", view.tab))
    if view.runs != "default":
        pairs.append(("runs", view.runs))
    pairs += [("show", name) for name in view.show]
    pairs += [("hide", name) for name in view.hide]
    if view.run_filter:
        pairs.append(("run_filter", view.run_filter))
    if view.tag_filter:
        pairs.append(("tag_filter", view.tag_filter))
    for name, raw in view.settings.items():
        if defaults.get(name) != raw:
            pairs += [(name, value) for value in raw]
    return urlencode(pairs, quote_via=quote, safe="/:,|()*")
