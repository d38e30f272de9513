"""What the command leaves out of what it imports is there when it is asked for."""

import json
import subprocess
import sys

_PROGRAM = """
import json, sys
from stepscope.dashboard.cli.imports import import_dash
import_dash()
import dash
import dash_mantine_components as dmc
from dash.development.base_component import ComponentRegistry
modules = lambda: sorted(name for name in sys.modules if name.startswith(("dash_mantine_components.", "IPython")))
at_first = modules()
from dash_mantine_components import Button
missing = [name for name in ("NoSuchThing", "__no_such_thing__") if hasattr(dmc, name)]
app = dash.Dash()
app.layout = dmc.MantineProvider(dmc.Button("Press", id="press"))
package = "dash_mantine_components"
print(json.dumps({
    "imported": [name for name in at_first if name.rpartition(".")[2][0].isupper()],
    "notebooks": "IPython" in sys.modules,
    "same": Button is dmc.Button,
    "missing": missing,
    "sent": package in ComponentRegistry.registry and Button._js_dist is dmc._js_dist,
    "made": dmc.Button("Press", id="press").to_plotly_json(),
}))
import IPython
import_dash()
"""


def test_components_come_when_they_are_used_and_notebooks_not_at_all() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {
        "imported": [],
        "notebooks": False,
        "same": True,
        "missing": [],
        "sent": True,
        "made": {
            "props": {"children": "Press", "id": "press"},
            "type": "Button",
            "namespace": "dash_mantine_components",
        },
    }
