"""The command leaves out only imports that no page uses."""

import json
import re
import subprocess
import sys
from pathlib import Path

from stepscope.dashboard.cli.imports import COMPONENTS

DASHBOARD = Path(__file__).resolve().parents[2] / "dashboard"
_PROGRAM = """
import json, sys
from stepscope.dashboard.cli.imports import import_dash
import_dash()
import dash_mantine_components as dmc
from dash.development.base_component import ComponentRegistry
parts = [name.rpartition(".")[2] for name in sys.modules if name.startswith("dash_mantine_components.")]
print(json.dumps({
    "imported": sorted(name for name in parts if name[0].isupper()),
    "notebooks": "IPython" in sys.modules,
    "told": ComponentRegistry.children_props["dash_mantine_components"],
    "sent": "dash_mantine_components" in ComponentRegistry.registry and dmc.Tabs._js_dist is dmc._js_dist,
    "made": dmc.Loader(id="waiting").to_plotly_json(),
}))
import IPython
import_dash()
"""
_WHOLE = """
import json
import dash_mantine_components
from dash.development.base_component import ComponentRegistry
print(json.dumps(ComponentRegistry.children_props["dash_mantine_components"]))
"""


def printed(program: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_all_components_that_pages_have_are_imported() -> None:
    code = "\n".join(path.read_text() for path in DASHBOARD.rglob("*.py"))
    assert sorted(set(re.findall(r"\bdmc\.([A-Z]\w+)", code))) == sorted(COMPONENTS)
    assert "from dash_mantine_components" not in code


def test_other_components_and_notebooks_are_not_imported_and_pages_are_told_the_same() -> None:
    everything = printed(_WHOLE)
    assert printed(_PROGRAM) == {
        "imported": sorted(COMPONENTS),
        "notebooks": False,
        "told": {name: everything[name] for name in COMPONENTS},
        "sent": True,
        "made": {
            "props": {"children": None, "id": "waiting"},
            "type": "Loader",
            "namespace": "dash_mantine_components",
        },
    }
