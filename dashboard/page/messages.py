"""What the page begins with, as JSON; its types of it are made from these."""

from collections.abc import Sequence
from typing import Final, TypedDict


class PanelFacts(TypedDict):
    """A panel: the kinds of data whose tags it shows, an expression for the end of tags that no card shows, and whether
    the list of runs chooses what is in it.
    """

    name: str
    kinds: Sequence[str]
    ending: str
    follows_runs: bool


class Declared(TypedDict):
    """All panels, the defaults of all settings, which of these are remembered for the next visit, and former names."""

    panels: list[PanelFacts]
    values: dict[str, list[str]]
    personal: list[str]
    former_names: dict[str, str]
    """What a setting of an earlier version is called now."""
    former_values: dict[str, dict[str, str]]
    """By the setting's name, what its values of earlier versions are called now."""


MESSAGES: Final = (Declared,)
