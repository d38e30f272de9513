"""Panels of other distributions: they join the rest, and their failures stay contained and are named."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dash import Dash, Input, Output, html
from fastapi import APIRouter
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from stepscope.dashboard.page.plugin_files import MOST_FILES, PluginFiles
from stepscope.dashboard.page.state import View, text
from stepscope.dashboard.panels import registry
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.plugin_panel import PluginPanel
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import LightRoute
from stepscope.plugins import Extensions, PluginFailure, plugin_failures
from stepscope.summary.logdir import Logdir
from stepscope.summary.recognition import Recognizer
from stepscope.summary.snapshot import EMPTY_SNAPSHOT, Snapshot
from tests.dashboard.media import NoFollower
from tests.plugin_distributions import write_distribution

GOOD = """
from pathlib import Path
from fastapi import APIRouter
from stepscope.dashboard.page.state import flag
from stepscope.dashboard.panels.base import Panel

class Weather(Panel):
    name = "weather"
    title = "Weather"
    kinds = ("weather",)
    companions = ("*.weather",)
    settings = (flag("weather.rain", False),)
    web = Path(__file__).parent / "web"

    def router(self, live):
        routes = APIRouter()
        routes.add_api_route("/today", lambda: {"sun": True})
        routes.add_api_route("/tomorrow", lambda: 1 / 0)
        routes.add_api_route("/never", lambda: exit("no license"))
        return routes

PANEL = Weather()
"""
POINTS = {"panels": {"weather": "weather.panel:PANEL"}}
FILES = {
    "weather/__init__.py": "",
    "weather/panel.py": GOOD,
    "weather/web/index.js": "export const api = 1;" + " " * 2000,
    "weather/web/index.css": "p { margin: 0 }",
    "weather/web/notes.py": "secret",
}


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for packages, seen by this process; plug-ins are looked for again."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    old = registry.OTHERS
    fresh = Extensions("panels", Panel, old._name_of, old._taken, registry.check_panel)
    monkeypatch.setattr(registry, "OTHERS", fresh)
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    # Those were made for the test; this gives the group its own again.
    Extensions("panels", Panel, old._name_of, old._taken, registry.check_panel)


def served() -> TestClient:
    live = Live("/logs", lambda publish: NoFollower())
    return TestClient(build_app(live), base_url="http://localhost:6006", raise_server_exceptions=False)


def install_weather(folder: Path, **files: str) -> None:
    changed = {f"weather/{path.replace('__', '/').replace('_js', '.js')}": text for path, text in files.items()}
    write_distribution(folder, FILES | changed, POINTS, "weather")


def test_a_panel_of_another_distribution_joins_the_others_and_all_that_follows_from_them(plugins: Path) -> None:
    install_weather(plugins)
    assert [panel.name for panel in registry.all_panels()] == [*(panel.name for panel in registry.PANELS), "weather"]
    assert "*.weather" in registry.companion_patterns()
    client = served()
    declared = client.get("/_dash-layout").json()["props"]["children"][1]["props"]["data"]
    assert declared["panels"][-1]["name"] == "weather"
    assert declared["values"]["weather.rain"] == ["off"]
    [told] = declared["plugins"]
    assert told["distribution"] == "weather 1.2"
    assert told["settings"][0]["kind"] == "flag"
    assert client.get("/api/weather/today").json() == {"sun": True}


def test_its_files_are_addressed_by_content_compressed_and_kept_forever(plugins: Path) -> None:
    install_weather(plugins)
    client = served()
    [told] = client.get("/_dash-layout").json()["props"]["children"][1]["props"]["data"]["plugins"]
    answer = client.get(f"/{told['script']}", headers={"accept-encoding": "br"})
    assert answer.text.startswith("export const api = 1;")
    assert answer.headers["content-encoding"] == "br"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "immutable" in answer.headers["cache-control"]
    assert client.get(f"/{told['script']}", headers={"accept-encoding": "gzip"}).headers["content-encoding"] == "gzip"
    assert client.get(f"/{told['style']}").headers["content-type"] == "text/css; charset=utf-8"
    page = client.get("/").text
    sheet = page[page.index("plugins/") : page.index(".css", page.index("plugins/")) + 4]
    assert client.get(f"/{sheet}").text == ":root {--icon-weather: var(--icon-plugin);}"


@pytest.mark.parametrize(
    "path", ["../panel.py", "..%2fpanel.py", "notes.py", "missing.js", "%2e%2e/panel.py", "/etc/passwd", ""]
)
def test_nothing_but_the_files_for_the_browser_is_given_away(plugins: Path, path: str) -> None:
    install_weather(plugins)
    client = served()
    [told] = client.get("/_dash-layout").json()["props"]["children"][1]["props"]["data"]["plugins"]
    folder = told["script"].removesuffix("index.js")
    assert client.get(f"/{folder}{path}").status_code == 404
    assert client.get(f"/{folder.replace(folder.split('/')[2], '0' * 16)}index.js").status_code == 404


def test_links_that_lead_out_of_the_folder_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/index.js").write_text("1")
    (tmp_path / "secret.js").write_text("2")
    (tmp_path / "web/out.js").symlink_to(tmp_path / "secret.js")
    files = PluginFiles("a", tmp_path / "web")
    assert (files.has("index.js"), files.has("out.js")) == (True, False)


def test_a_folder_with_too_much_is_refused_and_an_icon_with_scripts(tmp_path: Path) -> None:
    for at in range(MOST_FILES + 1):
        (tmp_path / f"{at}.txt").touch()
    with pytest.raises(ValueError, match="more than 500 files"):
        PluginFiles("a", tmp_path)
    (tmp_path / "small").mkdir()
    (tmp_path / "small/icon.svg").write_text("<svg onload='alert(1)'/>")
    with pytest.raises(ValueError, match="without scripts"):
        PluginFiles("a", tmp_path / "small")


def test_a_route_that_fails_answers_with_the_plug_ins_name_and_the_page_hears_of_it(plugins: Path) -> None:
    install_weather(plugins)
    client = served()
    answer = client.get("/api/weather/tomorrow")
    sentence = (
        "The plug-in 'weather' of weather 1.2 (stepscope.panels) failed: the route /api/weather/tomorrow: "
        "ZeroDivisionError: division by zero (weather.panel, line 18)"
    )
    assert (answer.status_code, answer.json()) == (500, {"detail": sentence})
    listed = client.get("/api/plugins").json()
    assert listed["failures"] == [sentence]
    assert {"group": "panels", "name": "weather", "distribution": "weather 1.2"} in listed["plugins"]
    answer = client.get("/api/weather/never")
    assert (answer.status_code, answer.json()["detail"]) == (
        500,
        "The plug-in 'weather' of weather 1.2 (stepscope.panels) failed: the route /api/weather/never: "
        "SystemExit: no license (weather.panel, line 19)",
    )
    assert client.get("/api/weather/today").json() == {"sun": True}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('no sun')", "RuntimeError: no sun"),
        (
            GOOD.replace("PANEL = Weather()", "PANEL = Weather"),
            "TypeError: weather.panel:PANEL is a class, expected an instance of it: Weather()",
        ),
        (GOOD.replace('"weather"\n', '"Weather!"\n'), "the name 'Weather!' is not valid"),
        (
            GOOD.replace('"weather"\n', '"scalars"\n').replace("weather.rain", "scalars.rain"),
            "the name 'scalars' is taken by Stepscope: choose another",
        ),
        (
            GOOD.replace('"weather"\n', '"runs"\n').replace("weather.rain", "runs.rain"),
            "the name 'runs' is reserved for /api/runs; choose another",
        ),
        (GOOD.replace("weather.rain", "rain.weather"), "the setting 'rain.weather' does not begin with 'weather.'"),
        (
            "from stepscope.summary.recognition import Recognizer\n"
            + GOOD.replace("    web = ", "    recognizers = (Recognizer('hail', ('.Hail',), bool),)\n    web = "),
            "the ending of file names '.Hail' is not valid: use lower case, such as '.txt'",
        ),
        (
            GOOD.replace("False),", 'False), flag("weather.rain", True)'),
            "ValueError: two settings are named 'weather.rain'",
        ),
        (
            GOOD.replace("flag", "choice").replace("False", "'much', ['none', 'little']"),
            "the default of 'weather.rain' cannot be used: weather.rain is 'much', expected one of none, little",
        ),
        (
            GOOD.replace("flag", "text").replace("False", "3"),
            "the default of 'weather.rain' cannot be used: it is written as (3,), which is not text",
        ),
        (GOOD.replace('("weather",)', '"weather"'), "kinds is 'weather', expected a tuple of str"),
        (GOOD.replace('/ "web"', '/ "www"'), "the web folder 'www' has no index.js"),
        (GOOD.replace("    web = ", "    # "), "it has neither web, a folder with index.js, nor a layout of its own"),
        (
            GOOD.replace("    web = ", "    tag_ending = '('\n    web = "),
            "tag_ending is '(', expected a regular expression: missing ), unterminated subpattern at position 0",
        ),
    ],
)
def test_a_panel_that_cannot_be_taken_is_left_out_and_named(plugins: Path, source: str, reason: str) -> None:
    write_distribution(plugins, FILES | {"weather/panel.py": source}, POINTS, "weather")
    assert registry.all_panels() == registry.PANELS
    [failure] = plugin_failures()
    assert reason in str(failure)
    assert str(failure).startswith("The plug-in 'weather' of weather 1.2 (stepscope.panels) failed: ")
    declared = served().get("/_dash-layout").json()["props"]["children"][1]["props"]["data"]
    assert declared["plugins"] == []


@pytest.mark.parametrize(("setting", "expected"), [("weather.tag", "weather.tag"), ("weather.rain", "")])
def test_a_tag_chosen_in_the_palette_goes_to_the_setting_for_it(plugins: Path, setting: str, expected: str) -> None:
    source = GOOD.replace("flag", "text").replace('"weather.rain", False', f'"{setting}", ""')
    write_distribution(plugins, FILES | {"weather/panel.py": source}, POINTS, "weather")
    declared = served().get("/_dash-layout").json()["props"]["children"][1]["props"]["data"]
    settings = {panel["name"]: panel["tag_setting"] for panel in declared["panels"]}
    assert settings["weather"] == expected
    assert {settings[name] for name in settings if name != "weather"} == {"tag_filter"}


class Storm(Panel):
    """Fails at everything asked of it."""

    name = "storm"
    title = "Storm"

    def has_data(self, snapshot: Snapshot) -> bool:
        raise KeyError("wind")

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        return html.Div(object())

    def router(self, live: Live) -> APIRouter:
        raise OSError("wet")

    def register(self, app: Dash, live: Live) -> None:
        app.callback(Output("a", "children"), Input("b", "children"))(str)
        raise ValueError("late")


def guarded(panel: Panel, make: Callable[[Panel], Extensions[Panel]]) -> tuple[PluginPanel, Extensions[Panel]]:
    extensions = make(panel)
    [(plugin, found)] = extensions.loaded()
    return PluginPanel(found, plugin, extensions), extensions


@pytest.fixture
def loaded(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Panel], Extensions[Panel]]:
    """A function that offers a panel of this module through an entry point."""

    def make(panel: Panel) -> Extensions[Panel]:
        monkeypatch.setitem(globals(), "OFFERED", panel)
        write_distribution(plugins, {}, {"panels": {"storm": f"{__name__}:OFFERED"}}, "storm")
        return registry.OTHERS

    return make


def reasons(failures: tuple[PluginFailure, ...]) -> list[str]:
    """Return what failed, without the lines of this module."""
    return [re.sub(rf" \({re.escape(__name__)}, line \d+\)$", "", failure.reason) for failure in failures]


def test_each_method_of_a_panel_may_fail_alone(loaded: Callable[[Panel], Extensions[Panel]]) -> None:
    panel, extensions = guarded(Storm(), loaded)
    app = Dash("test")
    assert not panel.has_data(EMPTY_SNAPSHOT)
    assert "of storm 1.2" in panel.layout(EMPTY_SNAPSHOT, View()).children
    assert panel.router(Live("/logs", lambda publish: NoFollower())) is None
    panel.register(app, Live("/logs", lambda publish: NoFollower()))
    assert (app.callback_map, app._callback_list) == ({}, [])
    assert reasons(extensions.failures()) == [
        "has_data: KeyError: 'wind'",
        "layout: TypeError: layout has an object of the type object, which is not a component",
        "router: OSError: wet",
        "register: ValueError: late",
    ]


@pytest.mark.parametrize(
    ("path", "endpoint", "reason"),
    [
        ("today", lambda: 1, "ValueError: the path of a route is 'today', which does not begin with '/'"),
        ("/today", lambda: 1, ""),
        ("", lambda: 1, ""),
        ("/{of}/{of}", lambda of: 1, "ValueError: Duplicated param name of at path /{of}/{of}"),
    ],
)
@pytest.mark.parametrize("route_class", [APIRoute, LightRoute])
def test_routes_are_below_the_panels_own_address_and_leave_the_description_of_all_routes(
    loaded: Callable[[Panel], Extensions[Panel]],
    route_class: type[APIRoute],
    path: str,
    endpoint: Callable[..., int],
    reason: str,
) -> None:
    class Routed(Thief):
        def router(self, live: Live) -> APIRouter:
            routes = APIRouter(route_class=route_class)
            routes.add_api_route(path, endpoint)
            return routes

    extensions = loaded(Routed())
    client = served()
    assert reasons(extensions.failures()) == [f"router: {each}" for each in filter(None, [reason])]
    described = [each for each in client.get("/api/openapi.json").json()["paths"] if each.startswith("/api/thief")]
    assert described == ([] if reason else [f"/api/thief{path}"])
    assert client.get("/api/thieftoday").status_code == 404


def test_a_route_that_fastapi_cannot_make_is_named_at_once(loaded: Callable[[Panel], Extensions[Panel]]) -> None:
    class Routed(Thief):
        def router(self, live: Live) -> APIRouter:
            def of(app: Dash) -> int:
                return 1

            routes = APIRouter(route_class=LightRoute)
            routes.add_api_route("/of", of)
            return routes

    extensions = loaded(Routed())
    assert served().get("/api/openapi.json").status_code == 200
    [reason] = reasons(extensions.failures())
    assert reason.startswith("router: FastAPIError: Invalid args for response field!")


def test_the_route_of_a_panels_own_address_fails_by_name(loaded: Callable[[Panel], Extensions[Panel]]) -> None:
    class Routed(Thief):
        def router(self, live: Live) -> APIRouter:
            routes = APIRouter()
            routes.add_api_route("", lambda: 1 // 0)
            return routes

    loaded(Routed())
    answer = served().get("/api/thief")
    assert answer.status_code == 500
    assert "failed: the route /api/thief: ZeroDivisionError" in answer.json()["detail"]


def test_a_failure_is_remembered_once(loaded: Callable[[Panel], Extensions[Panel]]) -> None:
    panel, extensions = guarded(Storm(), loaded)
    for _ in range(3):
        panel.has_data(EMPTY_SNAPSHOT)
    assert len(extensions.failures()) == 1


class Thief(Panel):
    """Takes the place of another's callback."""

    name = "thief"
    title = "Thief"

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        return html.Div()

    def register(self, app: Dash, live: Live) -> None:
        app.callback(Output("a", "children"), Input("c", "children"))(str)


def test_a_panel_cannot_take_the_place_of_anothers_callback(loaded: Callable[[Panel], Extensions[Panel]]) -> None:
    panel, extensions = guarded(Thief(), loaded)
    app = Dash("test")
    app.callback(Output("a", "children"), Input("b", "children"))(str)
    before = dict(app.callback_map)
    panel.register(app, Live("/logs", lambda publish: NoFollower()))
    assert app.callback_map == before
    assert len(app._callback_list) == 1
    assert reasons(extensions.failures()) == [
        "register: ValueError: the callback of 'a.children' belongs to another panel: begin ids with the panel's name"
    ]


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        (
            [Output("live-text", "children", allow_duplicate=True)],
            "'live-text.children', which a callback changes, is the page's own",
        ),
        ([Output("thief", "children"), Output("a", "children", allow_duplicate=True)], None),
        ([Output("thief", "children"), Output("a", "style")], ""),
        ([Output({"type": "setting", "name": "thief.x"}, "value")], ""),
        ([], ""),
    ],
)
def test_a_panel_cannot_change_what_is_the_pages_or_anothers(
    loaded: Callable[[Panel], Extensions[Panel]], outputs: list[Output], reason: str | None
) -> None:
    class Changes(Thief):
        def register(self, app: Dash, live: Live) -> None:
            app.callback(*outputs, Input("c", "children"), prevent_initial_call=True)(lambda value: None)

    panel, extensions = guarded(Changes(), loaded)
    app = Dash("test")
    app.callback(Output("a", "children"), Input("b", "children"))(str)
    panel.register(app, Live("/logs", lambda publish: NoFollower()))
    reason = "the callback of 'a.children' belongs to another panel" if reason is None else reason
    assert reasons(extensions.failures()) == [
        f"register: ValueError: {each}: begin ids with the panel's name" for each in filter(None, [reason])
    ]
    assert len(app.callback_map) == (1 if reason else 2)


def test_a_panels_elements_have_no_ids_of_the_page(loaded: Callable[[Panel], Extensions[Panel]]) -> None:
    class Called(Thief):
        def layout(self, snapshot: Snapshot, view: View) -> Any:
            return [html.Div(html.Table(id=view.tab))]

    panel, extensions = guarded(Called(), loaded)
    assert panel.layout(EMPTY_SNAPSHOT, View(tab="thief-table"))[0].children.id == "thief-table"
    assert panel.layout(EMPTY_SNAPSHOT, View(tab="tabs")).role == "alert"
    assert reasons(extensions.failures()) == [
        "layout: ValueError: the id 'tabs' is the page's own: begin ids with the panel's name"
    ]


class Hail(Panel):
    """Recognizes no file, and has an icon that is not allowed."""

    name = "hail"
    title = "Hail"
    recognizers = (Recognizer("stones", (".hail",), lambda beginning: 1 // 0 > 0),)


def test_a_recognizer_that_fails_is_named_and_all_other_files_are_listed(
    loaded: Callable[[Panel], Extensions[Panel]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index.js").touch()
    monkeypatch.setattr(Hail, "web", tmp_path)
    panel, extensions = guarded(Hail(), loaded)
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("a.hail", "b.hail", "c.snow"):
        (logs / name).write_text("cold")
    snow = Recognizer("snow", (".snow",), lambda beginning: True)
    snapshot = Logdir(str(logs), recognizers=(*panel.recognizers, snow)).update()
    assert [(each.relative_path.name, each.recognized) for each in snapshot.companions] == [("c.snow", "snow")]
    assert reasons(extensions.failures()) == [
        "recognizer 'stones': ZeroDivisionError: integer division or modulo by zero"
    ]


def test_a_panel_whose_files_cannot_be_served_says_so_in_its_tab(
    loaded: Callable[[Panel], Extensions[Panel]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index.js").touch()
    (tmp_path / "icon.svg").write_text("<svg onload='alert(1)'/>")
    monkeypatch.setattr(Hail, "web", tmp_path)
    panel, extensions = guarded(Hail(), loaded)
    assert panel.files() is None
    [failure] = extensions.failures()
    assert failure.reason == "web: ValueError: icon.svg must be an SVG image without scripts, of at most 16,384 bytes"
    assert panel.layout(EMPTY_SNAPSHOT, View()).children == str(failure)


class Fog(Panel):
    """Has one callback that works and one that does not, neither with types."""

    name = "fog"
    title = "Fog"
    settings = (text("fog.where", ""),)

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        return html.Div()

    def register(self, app: Dash, live: Live) -> None:
        @app.callback(Output("good", "children"), Input("b", "children"))
        def good(value):  # type: ignore[no-untyped-def]
            return value * 2

        @app.callback(Output("bad", "children"), Input("b", "children"))
        def bad(value):  # type: ignore[no-untyped-def]
            raise ArithmeticError("too thick")

        @app.callback(Output("over", "children"), Input("b", "children"))
        def over(value):  # type: ignore[no-untyped-def]
            sys.exit("no license")


def test_a_callback_that_fails_changes_nothing_but_what_the_page_says_of_it(
    loaded: Callable[[Panel], Extensions[Panel]],
) -> None:
    loaded(Fog())
    client = served()

    def ask(output: str) -> Any:
        body = {
            "output": f"{output}.children",
            "outputs": {"id": output, "property": "children"},
            "inputs": [{"id": "b", "property": "children", "value": "x"}],
            "changedPropIds": [],
        }
        return client.post("/_dash-update-component", json=body).json()

    assert ask("good")["response"] == {"good": {"children": "xx"}}
    for output, sentence in (("bad", "ArithmeticError: too thick"), ("over", "SystemExit: no license")):
        (said,) = ask(output)["sideUpdate"]["plugin-failures"]["data"]
        assert f"of storm 1.2 (stepscope.panels) failed: a callback: {sentence}" in said


def test_no_panel_may_be_called_what_an_address_of_the_server_is_called() -> None:
    own = {panel.name for panel in registry.PANELS}
    app = build_app(Live("/logs", lambda publish: NoFollower()), panels=())
    firsts = {path.split("/")[2].split(".")[0] for path in app.openapi()["paths"] if path.startswith("/api/")}
    assert firsts - own <= set(registry.ROUTES)
