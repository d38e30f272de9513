"""The documentation's page of keys matches the keys that the dashboard's page lists."""

from collections.abc import Callable

from playwright.sync_api import Page

from docs.keys import PAGE, collect, written
from docs.screenshots.make import SAMPLE_LOGS
from tests.browser.conftest import Dashboard


def test_the_page_of_keys_is_made_of_the_panels_commands(page: Page, serve: Callable[..., Dashboard]) -> None:
    found = written(collect(page, serve(SAMPLE_LOGS).url))
    assert found == PAGE.read_text("utf-8"), "run `python -m docs.keys`"
