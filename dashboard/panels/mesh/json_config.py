"""The supported parts of a mesh's ``json_config``.

The terms are those of three.js, to which TensorBoard passes them: ``camera``, ``lights`` and ``material``, each with
the name of a class under ``cls`` and the properties of that class.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, Literal

from PIL import ImageColor

from stepscope.dashboard.panels.mesh.messages import CameraLooks, Light, Looks, MaterialLooks, Vector

_CAMERAS: Final[dict[str, Literal["perspective", "orthographic"]]] = {
    "PerspectiveCamera": "perspective",
    "OrthographicCamera": "orthographic",
}
_MATERIALS: Final = (
    "MeshBasicMaterial", "MeshLambertMaterial", "MeshPhongMaterial", "MeshStandardMaterial", "MeshPhysicalMaterial",
    "PointsMaterial",
)  # fmt: skip
_MOST_LIGHTS: Final = 3
"""Maximum number of directional lights; all others are summed into one ambient light."""


class _Section:
    """One part of the configuration: entries taken from it are honored, the rest is reported."""

    def __init__(self, name: str, content: Mapping[str, Any], ignored: list[str]) -> None:
        self._name = name
        self._rest = {str(key): value for key, value in content.items()}
        self._ignored = ignored

    def take(self, key: str) -> Any:
        return self._rest.pop(key, None)

    def refuse(self, key: str, value: Any) -> None:
        self._ignored.append(f"{self._name}.{key} = {str(value)[:60]}")

    def number(self, key: str, low: float, high: float) -> float | None:
        value = self.take(key)
        if value is None:
            return None
        number = _finite(value)
        if number is not None and low <= number <= high:
            return number
        self.refuse(key, value)
        return None

    def flag(self, key: str) -> bool | None:
        value = self.take(key)
        if value is None or isinstance(value, bool):
            return value
        self.refuse(key, value)
        return None

    def vector(self, key: str) -> Vector | None:
        value = self.take(key)
        if isinstance(value, dict):
            value = [value.get(axis) for axis in "xyz"]
        if value is None:
            return None
        if isinstance(value, list) and len(value) == 3:
            x, y, z = map(_finite, value)
            if x is not None and y is not None and z is not None:
                return x, y, z
        self.refuse(key, value)
        return None

    def color(self, key: str) -> Vector | None:
        value = self.take(key)
        if value is None:
            return None
        try:
            text = f"#{value & 0xFFFFFF:06x}" if isinstance(value, int) else str(value)[:40]
            red, green, blue = ImageColor.getrgb(text)[:3]
        except ValueError:
            self.refuse(key, value)
            return None
        return red / 255, green / 255, blue / 255

    def close(self) -> None:
        """Report the entries that were not taken."""
        for key, value in self._rest.items():
            self.refuse(key, value)


def _finite(value: Any) -> float | None:
    """Return a finite number; None for anything else, such as an integer beyond float64."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def looks_of(config: Mapping[str, Any]) -> Looks:
    """Return the honored parts of a configuration for the page, with the other entries as ``ignored``.

    Colors are red, green and blue in 0..1; missing entries are None.
    """
    ignored: list[str] = []
    rest = dict(config)
    camera, material, lights = (rest.pop(key, None) for key in ("camera", "material", "lights"))
    looks: Looks = {
        "camera": _camera(_section("camera", camera, ignored)),
        "material": _material(_section("material", material, ignored)),
        "lights": _lights(lights, ignored),
        "ignored": ignored,
    }
    ignored += [f"{key} = {str(value)[:60]}" for key, value in rest.items()]
    return looks


def _section(name: str, content: Any, ignored: list[str]) -> _Section:
    if content is not None and not isinstance(content, dict):
        ignored.append(f"{name} = {str(content)[:60]}")
    return _Section(name, content if isinstance(content, dict) else {}, ignored)


def _class(section: _Section, known: tuple[str, ...]) -> str:
    name = section.take("cls")
    if name is None or name in known:
        return name or ""
    section.refuse("cls", name)
    return ""


def _camera(section: _Section) -> CameraLooks:
    kind = _class(section, tuple(_CAMERAS))
    found: CameraLooks = {
        "kind": _CAMERAS.get(kind, "perspective"),
        "fov": section.number("fov", 1, 170),
        "position": section.vector("position"),
        "target": section.vector("target") or section.vector("lookAt"),
    }
    section.close()
    return found


def _material(section: _Section) -> MaterialLooks:
    kind = _class(section, _MATERIALS)
    found: MaterialLooks = {
        "unlit": kind == "MeshBasicMaterial",
        "color": section.color("color"),
        "wireframe": section.flag("wireframe"),
        "flat": section.flag("flatShading"),
        "vertexColors": section.flag("vertexColors"),
        "size": section.number("size", 1e-9, 1e9),
    }
    section.close()
    return found


def _lights(content: Any, ignored: list[str]) -> list[Light]:
    if content is not None and not isinstance(content, list):
        ignored.append(f"lights = {str(content)[:60]}")
    found: list[Light] = []
    for number, entry in enumerate(content if isinstance(content, list) else []):
        section = _section(f"lights[{number}]", entry, ignored)
        kind = _class(section, ("AmbientLight", "DirectionalLight"))
        directional = sum("position" in light for light in found)
        if not kind or (kind == "DirectionalLight" and directional == _MOST_LIGHTS):
            if kind:
                section.refuse("cls", kind)
            continue
        intensity = section.number("intensity", 0, 1000)
        light: Light = {
            "color": section.color("color") or (1.0, 1.0, 1.0),
            "intensity": 1.0 if intensity is None else intensity,
        }
        if kind == "DirectionalLight":
            light["position"] = section.vector("position") or (0.0, 1.0, 0.0)
        found.append(light)
        section.close()
    return found
