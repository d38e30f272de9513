"""Write what Python and the page share as TypeScript, in ``web`` of each panel and room and in ``web/page``.

``settings.generated.ts`` holds the settings. ``messages.generated.ts`` holds the types in the ``messages.py`` beside
it, which the server's routes return, and its `CONSTANTS`, if it has any, which both sides use.
"""

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from stepscope.dashboard.curves.settings import ArrangementParameters, CurveParameters
from stepscope.dashboard.page.state import Setting
from stepscope.dashboard.panels.registry import PANELS
from stepscope.dashboard.runs.settings import RUN_SETTINGS
from tools.typescript import interfaces

DASHBOARD = Path(__file__).resolve().parents[1] / "dashboard"
_OF_THE_PAGE = (DASHBOARD / "page", DASHBOARD / "traces")
"""Rooms without a panel, whose messages are for the page itself."""
SETTINGS_FILE = "settings.generated.ts"
MESSAGES_FILE = "messages.generated.ts"
_CURVE_SETTINGS = (*CurveParameters("${panel}").settings, *ArrangementParameters("${panel}").settings)
_HOW = "by `python -m tools.generate_page`; change them there."


def generated() -> dict[Path, str]:
    """Return the content of every file, by its path."""
    return _settings() | _messages()


def _messages() -> dict[Path, str]:
    sources: dict[Path, list[ModuleType]] = {}
    for path in sorted(DASHBOARD.glob("**/messages.py")):
        module = import_module(".".join(("stepscope", *path.relative_to(DASHBOARD.parent).with_suffix("").parts)))
        web = DASHBOARD / "web/page" if path.parent in _OF_THE_PAGE else path.parent / "web"
        if web.is_dir():
            sources.setdefault(web / MESSAGES_FILE, []).append(module)
    return {
        path: f"// Made from {' and '.join(module.__name__ for module in modules)} {_HOW}\n\n{_told(modules)}"
        for path, modules in sources.items()
    }


def _told(modules: Sequence[ModuleType]) -> str:
    constants = {name: value for module in modules for name, value in getattr(module, "CONSTANTS", {}).items()}
    rows = "".join(f"export const {name} = {json.dumps(value)};\n" for name, value in constants.items())
    return "\n".join(filter(None, (rows, interfaces([message for module in modules for message in module.MESSAGES]))))


def _settings() -> dict[Path, str]:
    panels = {
        DASHBOARD / "panels" / panel.name / "web": _module(_fixed(panel.settings, panel.name), "../../../web")
        for panel in PANELS
    }
    rooms = {
        DASHBOARD / "runs/web": _module(_fixed(RUN_SETTINGS, "runs"), "../../web"),
        DASHBOARD / "curves/web": _module(_of_any_panel(_CURVE_SETTINGS), "../../web"),
    }
    return {folder / SETTINGS_FILE: content for folder, content in (panels | rooms).items()}


def _fixed(settings: Sequence[Setting[Any]], owner: str) -> str:
    rows = "".join(f"  {_key(setting, owner)}: {_typed(setting)},\n" for setting in settings)
    return f"export const settings = {{\n{rows}}};\n"


def _of_any_panel(settings: Sequence[Setting[Any]]) -> str:
    rows = "".join(f"  {_key(setting, '${panel}')}: {_typed(setting)},\n" for setting in settings)
    return f"export const settingsOf = (panel: string) => ({{\n{rows}}});\n"


def _key(setting: Setting[Any], owner: str) -> str:
    prefix, _, part = setting.name.partition(".")
    assert prefix == owner, f"{setting.name} does not begin with {owner!r}"
    first, *others = part.split("_")
    return first + "".join(other.capitalize() for other in others)


def _typed(setting: Setting[Any]) -> str:
    name = f"`{setting.name}`" if "${" in setting.name else json.dumps(setting.name)
    values = setting.format(setting.default)
    match setting.kind:
        case "number":
            assert setting.limits is not None
            low, high = setting.limits
            return f"number({name}, {setting.default:g}, {low:g}, {high:g})"
        case "flag":
            return f"flag({name}, {'true' if setting.default else 'false'})"
        case "choice":
            return f"choice({name}, {json.dumps(setting.default)}, {json.dumps(setting.options)})"
        case _ if len(values) == 1:
            return f"text({name}, {json.dumps(values[0])})"
        case _:
            return f"names({name})"


def _module(body: str, web: str) -> str:
    kinds = [kind for kind in ("choice", "flag", "names", "number", "text") if f": {kind}(" in body]
    return (
        f"// Made from the settings in Python {_HOW}\n"
        f'import {{ {", ".join(kinds)} }} from "{web}/core/setting.ts";\n\n{body}'
    )


def main() -> int:
    """Write the files."""
    for path, content in generated().items():
        path.write_text(content, "utf-8")
        print(path.relative_to(DASHBOARD.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
