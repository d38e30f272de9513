"""Takes the pictures of the documentation: every panel over the sample logs, in light and in dark.

``make screenshots`` writes them beside this script. Look at them after every change to what users see.
The health panel is shown over a copy of the logs in which a few bits were flipped, live tensors are those of a thread,
and the Debugger shows a training that is made to go bad.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlencode

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from stepscope import debug
from stepscope.dashboard.page import bundle
from stepscope.dashboard.page.assets import VARIANT
from stepscope.dashboard.panels.registry import PANELS
from stepscope.debug import showing
from stepscope.profiler import server as profiler_server
from tools.browser import FLAGS, browser_path

FOLDER: Final = Path(__file__).resolve().parent
SAMPLE_LOGS: Final = FOLDER.parent.parent / "sample_logs"
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
WIDTH, HEIGHT = 1280, 860
PATIENCE_MS: Final = 240_000
"""Long enough for a projection on a machine that has much else to do."""
RUN: Final = "digits/lr_0.02/seed_0"
READY: Final[Mapping[str, str]] = {
    "scalars": ".card.drawn canvas",
    "custom_scalars": ".card.drawn canvas",
    "images": ".picture img",
    "audio": ".audio-view[data-drawn]",
    "mesh": ".mesh-canvas[data-vertices]",
    "histograms": ".js-plotly-plot .scatterlayer path",
    "pr_curves": ".pr_curves-card .scatterlayer path.js-line",
    "hparams": ".hparams-parallel canvas",
    "text": ".entry",
    "graph": ".graph-canvas",
    "timeline": "canvas",
    "projector": ".pj-cloud canvas",
    "profile": ".profile-overview .barlayer path, .profile-grid .ag-row",
    "debugger": ".debugger-verdict, .debugger-canvas[data-drawn], .debugger-empty",
    "health": "#health-details tbody tr",
    "live_tensors": ".live-bar",
}
"""A selector that matches once a panel has drawn."""
OF_THEIR_OWN: Final = ("debugger", "health", "live_tensors")
"""Panels whose pictures need more than the sample logs."""
DIGITS: Final = {"projector.id": "digits/lr_0.1/seed_0|config|digits/images", "projector.label": "digit"}
SEEDS: Final = {"runs.group": "seeds", "run_filter": "seed_"}
VIEWS: Final[Mapping[str, Mapping[str, str | Sequence[str]]]] = {
    "scalars_groups": {**SEEDS, "scalars.smoothing": "0"},
    "scalars_colors": {"runs.color": "hparam:learning_rate", "run_filter": "sweep", "tag_filter": "accuracy"},
    "custom_scalars": SEEDS,
    "images": {"images.width": "140"},
    "images_steps": {"images.group": "step", "run_filter": "seed_0"},
    "pr_curves": {"tag_filter": "8|all"},
    "graph": {"graph.expanded": "Sequential"},
    "timeline_search": {"timeline.search": "aten::", "timeline.color": "category", "run_filter": "torch"},
    "projector": {**DIGITS, "projector.projection": "tsne", "projector.rows": "42", "projector.neighbors": "20"},
    "projector_pictures": {
        **DIGITS,
        "projector.projection": "tsne",
        "projector.sprites": "on",
        "projector.labels": "none",
    },
    "profile_slices": {"profile.view": "slices"},
    "text": {"run_filter": "seed_0", "tag_filter": "hardest|mistakes"},
    "text_diff": {"text.diff": ("mistakes/text_summary", RUN, "88", RUN, "660"), "run_filter": "seed_0"},
}
"""What pictures show beside the panel that their name begins with; without an entry, what is there at first."""
WITHOUT_RUNS: Final = frozenset(("projector", "projector_pictures"))
"""Pictures that take the room of the list of runs too."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a log directory and give the URL."""
    command = [sys.executable, "-m", "stepscope", "--logdir", str(folder), "--port", "0"]
    environment = {**os.environ, VARIANT: bundle.DEBUG}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        try:
            yield next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
        finally:
            server.terminate()


DRAWN: Final[Mapping[str, str]] = {
    "timeline": "timeline?.debug().slices > 0",
    "graph": "graph?.debug().visible > 0",
    "projector": "projector?.debug()?.quality?.state === 'done'",
}
"""What holds of the handles of panels once they have drawn, where a selector cannot tell."""


def open_tab(page: Page, panel: str) -> None:
    """Turn an open page to a tab, and wait until its panel is there, which may still have to draw."""
    if page.locator(f"[role=tab][id$='-tab-{panel}'][aria-selected=true]").count() == 0:
        page.evaluate("document.querySelector('#panel .panel').dataset.seen = ''")
        page.evaluate("name => stepscope.view.open(name)", panel)
    page.wait_for_selector("#panel .panel:not([data-seen])")


def wait_until_drawn(page: Page, panel: str) -> None:
    """Wait until the open panel has drawn."""
    page.wait_for_selector(READY[panel], state="attached", timeout=PATIENCE_MS)
    if panel in DRAWN:
        page.wait_for_function(f"() => window.stepscope.{DRAWN[panel]}", timeout=PATIENCE_MS)


def settle(page: Page, panel: str) -> None:
    """Wait until the panel has drawn and nothing has been fetched for a while."""
    wait_until_drawn(page, panel)
    page.wait_for_timeout(1_000)


def damaged_copy(folder: Path) -> str:
    """Copy the sample logs into a folder and damages one file of them; returns its path in the folder."""
    shutil.copytree(SAMPLE_LOGS, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    files = sorted(folder.rglob("*tfevents*"))
    damaged, cut = files[1], files[-1]
    content = bytearray(damaged.read_bytes())
    for place in (len(content) // 3, len(content) // 2, len(content) - 5):
        content[place] ^= 0x10
    damaged.write_bytes(content)
    cut.write_bytes(cut.read_bytes()[:-9])
    return damaged.relative_to(folder).as_posix()


def pictures() -> dict[str, tuple[str, str]]:
    """By name, the panel and the query of every picture over the sample logs."""
    names = {panel.name: panel.name for panel in PANELS if panel.name not in OF_THEIR_OWN}
    for name in VIEWS:
        names[name] = max((panel for panel in READY if name.startswith(panel)), key=len)
    return {
        name: (panel, urlencode({"tab": panel, **VIEWS.get(name, {})}, doseq=True)) for name, panel in names.items()
    }


def take(browser: Browser, url: str, panel: str, name: str, folder: Path) -> None:
    """Take the pictures of one view of a panel."""
    for scheme in SCHEMES:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
        if name in WITHOUT_RUNS:
            page.add_init_script("localStorage.setItem('stepscope-sidebar-hidden', '1')")
        page.goto(url)
        settle(page, panel)
        page.screenshot(path=folder / f"{name}_{scheme}.png")
        print(f"{name}_{scheme}.png")
        page.close()


def take_all(folder: Path) -> None:
    """Take all pictures into a folder."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
        with serving(SAMPLE_LOGS) as url:
            for name, (panel, query) in pictures().items():
                take(browser, f"{url}?{query}", panel, name, folder)
        damaged = damaged_copy(Path(scratch))
        with serving(Path(scratch)) as url:
            query = urlencode({"tab": "health", "health.file": damaged})
            take(browser, f"{url}?{query}", "health", "health", folder)
        take_debugger(browser, folder)
        with serving(SAMPLE_LOGS) as url, shown_arrays() as address:
            take_live_tensors(browser, f"{url}?tab=live_tensors", address, folder)
        browser.close()


def take_debugger(browser: Browser, folder: Path) -> None:
    """Take the pictures of a training whose rate becomes far too high: what the rules say, and the map."""
    with tempfile.TemporaryDirectory() as logs:
        record_bad_training(Path(logs) / "first")
        query = urlencode({"tab": "debugger", "debugger.view": "map", "debugger.tensor": "16"})
        with serving(Path(logs)) as url:
            take(browser, f"{url}?tab=debugger", "debugger", "debugger_alerts", folder)
            take(browser, f"{url}?{query}", "debugger", "debugger", folder)


def record_bad_training(run: Path) -> None:
    """Record a small network that learns, until its rate is raised and it overflows."""
    import torch

    torch.manual_seed(0)
    layers = [layer for _ in range(5) for layer in (torch.nn.Linear(24, 24), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with debug.watch(model, run, every=1, on_alert=[]):
        for step in range(120):
            optimizer.param_groups[0]["lr"] = 0.01 if step < 70 else 0.9
            rows = torch.randn(32, 24)
            optimizer.zero_grad()
            torch.square(model(rows)[:, 0] - rows.sum(1)).mean().backward()
            optimizer.step()


@contextmanager
def shown_arrays() -> Iterator[str]:
    """Show the arrays of a small network that learns, until the block ends; gives the address to look at."""
    random = np.random.default_rng(0)
    ended = threading.Event()
    parameters = {
        "embedding/table": random.normal(size=(32, 96)),
        "encoder/kernels": random.normal(size=(24, 1, 7, 7)),
        "encoder/bias": random.normal(size=24),
        "decoder/weight": random.normal(size=(48, 64)),
        "decoder/bias": random.normal(size=48),
    }

    def learn() -> None:
        for step in count():
            for rate, (name, values) in enumerate(parameters.items(), 1):
                values += random.normal(scale=0.02 * rate, size=values.shape)
                showing.show(name, values)
            showing.end_step(step)
            if ended.wait(0.01):
                return

    thread = threading.Thread(target=learn)
    thread.start()
    try:
        with profiler_server.start(0) as server:
            yield server.address
    finally:
        ended.set()
        thread.join()


def take_live_tensors(browser: Browser, url: str, address: str, folder: Path) -> None:
    """Take the pictures of a program that is looked at."""
    for scheme in SCHEMES:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
        page.goto(url)
        page.get_by_role("textbox", name="Address of the program").fill(address)
        page.get_by_role("button", name="Connect", exact=True).click()
        page.locator(".live-picture").nth(4).wait_for()
        page.wait_for_timeout(2_000)
        page.screenshot(path=folder / f"live_tensors_{scheme}.png")
        print(f"live_tensors_{scheme}.png")
        page.close()


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where they go (default: beside this script)")
    take_all(parser.parse_args().folder)


if __name__ == "__main__":
    main()
