"""JSON messages that the page needs at startup; its types are generated from these classes."""

from collections.abc import Sequence
from typing import Final, Literal, TypedDict


class PanelFacts(TypedDict):
    """A panel: the kinds of data whose tags it shows, a regular expression for the tag ending that cards leave out, the
    setting that a tag chosen in the palette is written to ("" for none), and whether the list of runs selects its
    content.
    """

    name: str
    kinds: Sequence[str]
    ending: str
    tag_setting: str
    follows_runs: bool


class SettingFacts(TypedDict):
    """A setting of a plug-in's panel, with its default as written in the URL."""

    name: str
    kind: Literal["text", "names", "flag", "choice", "number"]
    values: list[str]
    options: list[str]
    limits: tuple[float, float] | None


class PluginPage(TypedDict):
    """A panel of another distribution: the locations of its module and style, and when they are loaded."""

    name: str
    title: str
    distribution: str
    script: str | None
    style: str | None
    at_start: bool
    settings: list[SettingFacts]


class PluginNamed(TypedDict):
    """An entry point of another distribution."""

    group: str
    name: str
    distribution: str


class PluginsListed(TypedDict):
    """Additions by other distributions, and a sentence for each failure."""

    plugins: list[PluginNamed]
    failures: list[str]


class Declared(TypedDict):
    """Content of the page: all panels, settings with their defaults, and additions by other distributions.

    ``personal`` names the settings that are remembered; ``plugins`` is null if no distribution adds to any group.
    """

    panels: list[PanelFacts]
    values: dict[str, list[str]]
    personal: list[str]
    plugins: list[PluginPage] | None
    former_names: dict[str, str]
    """Current names of settings from earlier versions, by their former names."""
    former_values: dict[str, dict[str, str]]
    """By setting name, the current names of values from earlier versions."""


MESSAGES: Final = (Declared, PluginsListed)
