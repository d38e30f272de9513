"""URL parameters of the images panel."""

from dataclasses import replace
from typing import Any, Final, Literal, get_args

from stepscope.dashboard.page.state import Setting, choice, flag, names, number

Group = Literal["tag", "run", "step"]
GROUP: Final = choice("images.group", "tag", get_args(Group))
"""Content of a card: a tag's runs, a run's tags, or a tag's steps as film strips."""
WIDTH: Final = number("images.width", 160, 32, 800)
"""Width of a thumbnail in CSS pixels."""
SIZE: Final = choice("images.size", "fit", ("fit", "actual"))
BRIGHTNESS: Final = number("images.brightness", 1.0, 0.0, 2.0)
CONTRAST: Final = number("images.contrast", 1.0, 0.0, 5.0)
LINK: Final = flag("images.link", False)
"""Whether all cards show the same step."""
AT: Final = names("images.at")
"""That step; if empty, the last one."""
STEPS: Final = names("images.step")
"""``CARD:STEP`` for every card whose slider is not at the end."""
SAMPLES: Final = names("images.sample")
"""``CARD:SAMPLE``, counted from 0, for every card that does not show the first."""
RATE: Final = choice("images.rate", "5", ("1", "2", "5", "10", "20", "30"))
"""Steps per second while playing."""
GAMMA: Final = number("images.gamma", 1.0, 0.1, 5.0)
INVERT: Final = flag("images.invert", False)
CHANNEL: Final = choice("images.channel", "all", ("all", "r", "g", "b", "a", "luminance"))
MAP: Final = replace(
    choice("images.map", "gray", ("gray", "viridis", "magma", "turbo")), former_values={"grey": "gray"}
)
LARGE: Final = names("images.large")
"""Run, tag, step ("" at the end) and sample of the enlarged picture."""
OTHER: Final = names("images.other")
"""The same for the picture that it is compared with."""
COMPARE: Final = choice("images.compare", "off", ("off", "side", "swipe", "blink", "difference"))
TOGETHER: Final = flag("images.together", False)
"""Whether the other picture follows the first to the nearest step."""
FITTED: Final = choice("images.sizes", "common", ("common", "scaled"))
"""How images of different sizes are compared."""
DIVIDER: Final = number("images.divider", 0.5, 0.0, 1.0)
BLINK: Final = number("images.blink", 2.0, 0.0, 10.0)
"""Blinks per second; 0 to switch only by hand."""
SIGNED: Final = choice("images.difference", "absolute", ("absolute", "signed"))
AMPLIFY: Final = choice("images.amplify", "1", ("1", "2", "4", "8", "16", "32"))
ZOOM: Final = names("images.zoom")
"""Screen pixels per image pixel, and the point of the picture in the middle, unless it is fitted."""
SPEED: Final = choice("images.speed", "1", ("0.25", "0.5", "1", "2", "4"))
"""Speed of animations."""

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    GROUP,
    WIDTH,
    SIZE,
    BRIGHTNESS,
    CONTRAST,
    LINK,
    AT,
    STEPS,
    SAMPLES,
    RATE,
    GAMMA,
    INVERT,
    CHANNEL,
    MAP,
    LARGE,
    OTHER,
    COMPARE,
    TOGETHER,
    FITTED,
    DIVIDER,
    BLINK,
    SIGNED,
    AMPLIFY,
    ZOOM,
    SPEED,
)
