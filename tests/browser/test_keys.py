"""The documentation's page of keys is what the page itself says."""

from playwright.sync_api import Browser

from docs.keys import PAGE, collect, written
from docs.screenshots.make import SAMPLE_LOGS, serving


def test_the_page_of_keys_is_made_of_the_panels_commands(browser: Browser) -> None:
    with serving(SAMPLE_LOGS) as url:
        page = browser.new_page()
        try:
            found = written(collect(page, url))
        finally:
            page.close()
    assert found == PAGE.read_text("utf-8"), "run `python -m docs.keys`"
