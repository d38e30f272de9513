"""What the page begins with, as JSON; its types of it are made from these."""

from collections.abc import Sequence
from typing import Final, Literal, TypedDict


class PanelFacts(TypedDict):
    """A panel: the kinds of data whose tags it shows, an expression for the end of tags that no card shows, and whether
    the list of runs chooses what is in it.
    """

    name: str
    kinds: Sequence[str]
    ending: str
    follows_runs: bool


class SettingFacts(TypedDict):
    """A setting of a plug-in's panel, with its default as it stands in the URL."""

    name: str
    kind: Literal["text", "names", "flag", "choice", "number"]
    values: list[str]
    options: list[str]
    limits: tuple[float, float] | None


class PluginPage(TypedDict):
    """A panel of another distribution: where its module and its style are, and when they are loaded."""

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
    """What other distributions add, and a sentence for each failure of it."""

    plugins: list[PluginNamed]
    failures: list[str]


class Declared(TypedDict):
    """All panels, the defaults of all settings, which of these are remembered for the next visit, and the panels of
    other distributions; null for the last where none has anything of any group.
    """

    panels: list[PanelFacts]
    values: dict[str, list[str]]
    personal: list[str]
    plugins: list[PluginPage] | None


MESSAGES: Final = (Declared, PluginsListed)
