"""What the mesh panel keeps in the URL."""

from dashboard.page.state import Setting, choice, flag, names, number
from dashboard.panels.mesh.parts import parse_compare

SHOW = choice("mesh.show", "logged", ("logged", "surface", "edges", "wireframe", "points"))
SHADING = choice("mesh.shading", "logged", ("logged", "smooth", "flat"))
COLOR = choice("mesh.color", "logged", ("logged", "one", "x", "y", "z"))
SIZE = number("mesh.size", 0.0, 0.0, 12.0)
"""Pixels of a point; 0 as logged, or by their number."""
BACKGROUND = choice("mesh.background", "page", ("page", "white", "grey", "black"))
BOX = flag("mesh.box", True)
UP = choice("mesh.up", "y", ("y", "z"))
CAMERAS = choice("mesh.cameras", "tag", ("all", "tag", "each"))
LINK = flag("mesh.link", False)
STEPS = names("mesh.step")
"""``KEY:STEP`` for every card whose slider is not at the end."""
SAMPLES = names("mesh.sample")
"""``KEY:SAMPLE`` for every card that shows another than the first."""
CAMERA = names("mesh.camera")
"""Cameras that the user put into the link, as ``mesh/web/cameras.ts`` writes them."""
COMPARE: Setting[str] = Setting("mesh.compare", "off", lambda raw: parse_compare(raw[-1]).text, lambda value: (value,))
