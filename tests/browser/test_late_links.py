"""Links to what is not in the log directory yet: it is shown once it is there."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sample_logs.make import FOLDER
from tests.browser.conftest import Dashboard

pytestmark = pytest.mark.browser

GRAPH = "digits/torch|graph|__run_graph__"
EMBEDDING = "digits/lr_0.1/seed_0|config|digits/images"


@pytest.mark.parametrize(
    ("query", "run", "missed", "shown"),
    [
        (f"tab=graph&graph.id={GRAPH}", "digits/torch", "There is no graph", "41 nodes"),
        (f"tab=projector&projector.id={EMBEDDING}", "digits/lr_0.1/seed_0", "There is no embedding", "1,797 points"),
    ],
)
def test_what_a_link_names_is_shown_when_it_comes(
    serve: Callable[..., Dashboard], refused_page: Page, logdir: Path, query: str, run: str, missed: str, shown: str
) -> None:
    # The panel has something to show, but not that.
    shutil.copytree(FOLDER / run, logdir / "other")
    refused_page.goto(f"{serve(logdir).url}?{query}")
    panel = refused_page.locator("#panel")
    expect(panel).to_contain_text(missed)
    shutil.copytree(FOLDER / run, logdir / run)
    expect(panel).to_contain_text(shown)
    expect(panel).not_to_contain_text(missed)
