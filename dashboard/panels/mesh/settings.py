"""URL parameters of the mesh panel."""

from dataclasses import replace
from typing import Any, Final

from stepscope.dashboard.page.state import Setting, choice, flag, names, number
from stepscope.dashboard.panels.mesh.series import parse_compare

SHOW: Final = choice("mesh.show", "logged", ("logged", "surface", "edges", "wireframe", "points"))
SHADING: Final = choice("mesh.shading", "logged", ("logged", "smooth", "flat"))
COLOR: Final = choice("mesh.color", "logged", ("logged", "one", "x", "y", "z"))
SIZE: Final = number("mesh.size", 0.0, 0.0, 12.0)
"""Size of a point in pixels; 0 for the logged size or, without one, a size based on the number of points."""
BACKGROUND: Final = replace(
    choice("mesh.background", "page", ("page", "white", "gray", "black")), former_values={"grey": "gray"}
)
BOX: Final = flag("mesh.box", True)
UP: Final = choice("mesh.up", "y", ("y", "z"))
CAMERAS: Final = choice("mesh.cameras", "tag", ("all", "tag", "each"))
LINK: Final = flag("mesh.link", False)
STEPS: Final = names("mesh.step")
"""``KEY:STEP`` for every card whose slider is not at the end."""
SAMPLES: Final = names("mesh.sample")
"""``KEY:SAMPLE`` for every card that does not show the first."""
CAMERA: Final = names("mesh.camera")
"""Cameras that the user added to the link, as ``mesh/web/cameras.ts`` writes them."""
COMPARE: Final = Setting[str](
    "mesh.compare", "off", lambda raw: parse_compare(raw[-1]).text, lambda value: (value,), kind="text"
)

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    SHOW, SHADING, COLOR, SIZE, BACKGROUND, BOX, UP, CAMERAS, LINK, STEPS, SAMPLES, CAMERA, COMPARE,
)  # fmt: skip
