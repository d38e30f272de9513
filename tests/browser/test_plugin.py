"""Panels of other distributions in the browser: the example of the repository, and one that fails."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from stepscope.summary import SummaryWriter
from tests.browser.chromium import prepared
from tests.extending_chapters import files_of, install
from tests.plugin_distributions import points_of, write_distribution

pytestmark = pytest.mark.browser

BROKEN = """
from pathlib import Path
from dash import html
from stepscope.dashboard.panels.base import Panel

class Broken(Panel):
    def __init__(self, name):
        self.name, self.title = name, name.title()
        self.web = Path(__file__).parent / name

    def has_data(self, snapshot):
        return True

class Bare(Broken):
    def __init__(self):
        self.name, self.title, self.web = "bare", "Bare", None

    def layout(self, snapshot, view):
        raise LookupError("no layout today")

class Red(Broken):
    def __init__(self):
        self.name, self.title, self.web = "red", "Red", None

    def layout(self, snapshot, view):
        return html.Div("red", style="color: red")

class Plain(Red):
    def __init__(self):
        self.name, self.title, self.web = "plain", "Plain", None

    def layout(self, snapshot, view):
        return [{"a": 1}]

RED, PLAIN = Red(), Plain()
MOUNT, LISTEN, OLD, BARE = Broken("mount"), Broken("listen"), Broken("old"), Bare()
NAMELESS, LOST = Broken("nameless"), Broken("lost")
"""
BROKEN_FILES = {
    "broken/__init__.py": "",
    "broken/panels.py": BROKEN,
    "broken/worse.py": "raise RuntimeError('not even imported')",
    "broken/mount/index.js": "export const api = 1;\nexport const mount = () => { throw new Error('no canvas'); };\n",
    "broken/old/index.js": "export const api = 99;\nexport const mount = () => {};\n",
    "broken/nameless/index.js": "export const mount = () => {};\n",
    "broken/lost/index.js": "import './gone.js';\nexport const api = 1;\nexport const mount = () => {};\n",
    "broken/listen/index.js": """
export const api = 1;
export function mount(element, context) {
  const button = document.createElement("button");
  button.textContent = "Press";
  button.addEventListener("click", () => { throw new Error("pressed in vain"); });
  const other = document.createElement("button");
  other.textContent = "Set";
  other.addEventListener("click", () => context.set("nosuch", 1));
  element.append(button, other);
  const act = () => { throw new Error("as asked"); };
  context.commands([{ id: "fail", title: "Fail on purpose", keys: ["q", "t", "Strg+q"], act }]);
  context.onChange((what) => { throw new Error("cannot hear " + what); });
}
""",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed_example: Path) -> Path:
    """A folder with the example installed, visible to this process and to those that it starts."""
    folder = tmp_path / "site"
    shutil.copytree(installed_example, folder)
    monkeypatch.syspath_prepend(str(folder))
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    return folder


@pytest.fixture
def serving(site: Path) -> Iterator[Callable[[Path], str]]:
    """A function that serves a directory in a separate process until the test ends."""
    with ExitStack() as stack:

        def start(logdir: Path) -> str:
            command = [sys.executable, "-m", "stepscope", "--logdir", str(logdir), "--port", "0"]
            command += ["--no-cache", "--reload-interval", "0.2"]
            server = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(server.kill)
            assert server.stdout is not None
            for line in server.stdout:
                if found := re.search(r"http://\S+/", line):
                    return found[0]
            raise AssertionError("the server has ended")

        yield start


@pytest.fixture
def log(logdir: Path, site: Path) -> Callable[..., None]:
    """A function that logs a spectrum and a scalar at some steps of a run."""
    add_spectrum: Any = import_module("stepscope_example").add_spectrum

    def write(run: str, steps: range) -> None:
        random = np.random.default_rng(1)
        with SummaryWriter(logdir / run) as writer:
            for step in steps:
                add_spectrum(
                    writer, "encoder/weight", random.normal(size=(8, 20)) @ np.diag(np.linspace(2, 0.1, 20)), step
                )
                writer.add_scalar("loss", 1 / (step + 1), step)

    return write


@pytest.fixture
def page(browser: Browser, serving: Callable[[Path], str]) -> Iterator[Page]:
    """A page without errors; failures of plug-ins are warnings in its console."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = prepared(context.new_page())
    errors: list[str] = []
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
    assert errors == []


def test_the_example_has_a_tab_draws_its_data_and_follows_what_is_new(
    page: Page, logdir: Path, serving: Callable[[Path], str], log: Callable[..., None]
) -> None:
    log("a", range(0, 30, 10))
    page.goto(serving(logdir))
    tab = page.get_by_role("tab", name="Spectrum")
    assert "data:image/svg" in str(tab.locator(".icon").evaluate("(icon) => getComputedStyle(icon).maskImage"))
    tab.click()
    card = page.locator(".spectrum-card")
    expect(card).to_have_count(1)
    expect(card).to_contain_text("encoder/weight")
    expect(card).to_contain_text("at step 20")
    expect(card.locator("path")).to_have_count(3)
    log("a", range(30, 50, 10))
    expect(card.locator("path")).to_have_count(5)
    expect(card).to_contain_text("at step 40")
    log("b", range(0, 20, 10))
    expect(card).to_have_count(2)
    page.locator("#runs-grid").get_by_text("b", exact=True).first.wait_for()
    page.get_by_role("button", name="None", exact=True).click()
    expect(page.locator(".spectrum-none")).to_have_text("None of the visible runs has spectra")


def test_settings_of_the_example_are_in_the_address_of_the_page_and_come_from_it(
    page: Page, logdir: Path, serving: Callable[[Path], str], log: Callable[..., None]
) -> None:
    log("a", range(0, 50, 10))
    url = serving(logdir)
    page.goto(f"{url}?tab=spectrum")
    card = page.locator(".spectrum-card")
    expect(card).to_contain_text("at step 40")
    page.get_by_label("Step", exact=True).press("ArrowLeft")
    expect(card).to_contain_text("at step 30")
    page.get_by_text("Linear", exact=True).click()
    expect(page).to_have_url(re.compile(r"spectrum\.step=30"))
    expect(page).to_have_url(re.compile(r"spectrum\.scale=linear"))
    expect(card.locator("svg text").first).to_have_text("0")
    page.goto(f"{url}?tab=spectrum&spectrum.step=10&spectrum.scale=linear")
    expect(card).to_contain_text("at step 10")
    expect(card.locator("svg text").first).to_have_text("0")


def test_commands_of_the_example_are_keys_and_in_the_palette_and_the_sheet_while_its_tab_is_open(
    page: Page, logdir: Path, serving: Callable[[Path], str], log: Callable[..., None]
) -> None:
    log("a", range(0, 50, 10))
    page.goto(f"{serving(logdir)}?tab=spectrum")
    card = page.locator(".spectrum-card")
    expect(card).to_contain_text("at step 40")
    page.keyboard.press(",")
    page.keyboard.press(",")
    expect(card).to_contain_text("at step 20")
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_contain_text("An earlier step")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("latest step of all")
    expect(page.get_by_role("option").first).to_contain_text("The latest step of all spectra")
    page.keyboard.press("Enter")
    expect(card).to_contain_text("at step 40")
    chart = page.get_by_role("slider", name="Singular values")
    chart.press("ArrowRight")
    expect(chart).to_be_focused()
    expect(card).to_contain_text("Singular value 2 of 8")
    page.get_by_role("tab", name="Scalars").click()
    page.locator(".card canvas").first.wait_for()
    page.keyboard.press("Control+k")
    page.keyboard.type("latest step of all")
    expect(page.get_by_role("option", name="The latest step of all spectra")).to_have_count(0)
    page.keyboard.press("Control+a")
    page.keyboard.type("encoder/weight")
    page.get_by_role("option", name="encoder/weight").click()
    # The panel has no setting for a tag, and no filter of tags either.
    expect(page).to_have_url(re.compile(r"\?tab=spectrum$"))
    expect(card).to_contain_text("encoder/weight")


def test_the_example_follows_the_theme_and_fits_a_telephone(
    page: Page, logdir: Path, serving: Callable[[Path], str], log: Callable[..., None]
) -> None:
    log("a", range(0, 50, 10))
    page.goto(f"{serving(logdir)}?tab=spectrum")
    line = page.locator(".spectrum-chosen")
    before = line.get_attribute("stroke")
    page.keyboard.press("t")
    expect(line).not_to_have_attribute("stroke", str(before))
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".spectrum-card svg")).to_be_in_viewport()
    assert page.locator("#panel").evaluate("(panel) => panel.scrollWidth - panel.clientWidth") == 0


def test_what_a_plug_in_fails_at_is_named_on_the_page_and_the_rest_works(
    refused_page: Page, logdir: Path, serving: Callable[[Path], str], log: Callable[..., None], site: Path
) -> None:
    page = refused_page
    names = {"mount": "MOUNT", "listen": "LISTEN", "old": "OLD", "bare": "BARE", "lost": "LOST"}
    names |= {"nameless": "NAMELESS", "red": "RED", "plain": "PLAIN"}
    entries = {name: f"broken.panels:{constant}" for name, constant in names.items()}
    points = {"panels": {**entries, "worse": "broken.worse:PANEL"}}
    write_distribution(site, BROKEN_FILES, points, "stepscope-broken")
    log("a", range(0, 30, 10))
    page.goto(serving(logdir))
    failed = page.locator("#plugins-failed")
    of = "of stepscope-broken 1.2 (stepscope.panels) failed"
    expect(failed).to_have_text(f"The plug-in 'worse' {of}: RuntimeError: not even imported (broken.worse, line 1)")
    failed.get_by_role("button", name="Close").click()
    expect(failed).to_have_count(0)

    note = page.locator("#panel .plugin-failed")
    page.get_by_role("tab", name="Mount").click()
    expect(note).to_have_text(f"The plug-in 'mount' {of}: mount: no canvas")
    page.get_by_role("tab", name="Old").click()
    expect(note).to_contain_text("index.js is for version 99 of the page's API; this page has version 1")
    page.get_by_role("tab", name="Nameless").click()
    expect(note).to_contain_text('mount: index.js does not export api: add "export const api = 1;"')
    page.get_by_role("tab", name="Lost").click()
    expect(note).to_contain_text("mount: index.js, or a module that it imports, cannot be loaded")
    page.get_by_role("tab", name="Bare").click()
    expect(note).to_have_text(f"The plug-in 'bare' {of}: layout: LookupError: no layout today (broken.panels, line 19)")

    page.get_by_role("tab", name="Plain").click()
    expect(note).to_have_text(
        f"The plug-in 'plain' {of}: layout: TypeError: it returned dict, expected a component, a string, a number, or "
        "a list of these"
    )
    page.get_by_role("tab", name="Red").click()
    expect(failed).to_contain_text(f"The plug-in 'red' {of}: a component cannot be drawn: Minified React error #62")
    expect(page.locator("#panel")).to_have_attribute("data-waits", "Red could not be drawn")

    page.get_by_role("tab", name="Listen").click()
    page.get_by_role("button", name="Press").click()
    page.keyboard.press("q")
    page.keyboard.press("t")
    for sentence in (
        "index.js: pressed in vain",
        "Fail on purpose: as asked",
        "its listener to scheme: cannot hear scheme",
        'Fail on purpose: the key "t" is taken on the whole page (',
        'Fail on purpose: the key "Strg+q" is not valid: write keys as "s", "Shift ArrowLeft" or "Ctrl k"',
    ):
        expect(failed.get_by_role("listitem").filter(has_text=f"The plug-in 'listen' {of}: {sentence}")).to_have_count(
            1
        )

    # The newest is on top, where it is seen.
    page.get_by_role("button", name="Set").click()
    expect(failed.get_by_role("listitem").first).to_contain_text("index.js: There is no setting listen.nosuch")

    page.get_by_role("tab", name="Spectrum").click()
    expect(page.locator(".spectrum-card")).to_contain_text("at step 20")
    page.get_by_role("tab", name="Scalars").click()
    page.locator(".card canvas").first.wait_for()


def test_the_first_plug_in_of_the_documentation_works_as_it_stands(
    page: Page, logdir: Path, serving: Callable[[Path], str], log: Callable[..., None], site: Path
) -> None:
    files = files_of("A panel")
    project = tomllib.loads(files.pop("pyproject.toml"))["project"]
    write_distribution(site, {"stepscope_latest/__init__.py": "", **files}, points_of(project), project["name"])
    log("a", range(0, 30, 10))
    page.goto(f"{serving(logdir)}?tab=latest")
    cells = page.locator("#panel table td")
    expect(cells).to_have_text(["a", "loss", "0.04762", "step 20"])
    log("a", range(30, 40, 10))
    expect(cells).to_have_text(["a", "loss", "0.03226", "step 30"])
    page.keyboard.press("s")
    expect(cells).to_have_text(["a", "loss", "0.03226"])
    expect(page).to_have_url(re.compile("latest.steps=off"))


def test_the_panel_in_python_alone_of_the_documentation_works_as_it_stands(
    page: Page, logdir: Path, serving: Callable[[Path], str], log: Callable[..., None], site: Path
) -> None:
    install("A panel in Python alone", site, "stepscope-points")
    log("a", range(0, 30, 10))
    log("b", range(0, 20, 10))
    page.goto(f"{serving(logdir)}?tab=points")
    rows = page.locator("#points-table tr")
    expect(rows).to_have_text(["a3", "b2"])
    slider = page.get_by_role("slider", name="Minimum number of points")
    box = slider.locator("xpath=../..").bounding_box()
    assert box is not None
    assert box["width"] > 60
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    expect(rows).to_have_text(["a3"])
    expect(page).to_have_url(re.compile(r"points\.least=3"))
    log("b", range(20, 60, 10))
    expect(rows).to_have_text(["a3", "b6"])
    assert page.locator("#panel").evaluate("(panel) => panel.scrollWidth - panel.clientWidth") == 0
