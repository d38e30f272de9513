"""URL parameters of the text panel."""

from typing import Any, Final

from stepscope.dashboard.page.state import Setting, choice, flag, names, text

FORMAT: Final = choice("text.format", "markdown", ("markdown", "raw"))
SHOWN: Final = choice("text.shown", "list", ("list", "one"))
LINK: Final = flag("text.link", False)
WRAP: Final = flag("text.wrap", True)
MONOSPACE: Final = flag("text.mono", False)
FIND: Final = text("text.find", "")
"""What to search for in all texts."""
REGEX: Final = flag("text.regex", False)
STEPS: Final = names("text.step")
"""``KEY:STEP`` for every card that does not show its newest text; the key is empty if all cards are linked."""
COMPARED: Final = names("text.diff")
"""Two texts to compare: tag, run and step of the old one, then run and step of the new one."""
LAYOUT: Final = choice("text.layout", "side", ("side", "unified"))
UNCHANGED: Final = choice("text.unchanged", "near", ("near", "all"))

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    FORMAT, SHOWN, LINK, WRAP, MONOSPACE, FIND, REGEX, STEPS, COMPARED, LAYOUT, UNCHANGED,
)  # fmt: skip
