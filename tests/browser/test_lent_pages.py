"""What one test leaves in the browser that the next one uses."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

from stepscope.summary import SummaryWriter
from tests.browser.chromium import CHROMIUM
from tests.browser.conftest import Dashboard, wait_until
from tests.browser.servers import FORGETTING, SERVERS

pytestmark = pytest.mark.browser

IS_KEPT = """(addresses) => Promise.all(addresses.map((address) =>
  fetch(address, { cache: "only-if-cached", mode: "same-origin" }).then(({ ok }) => ok, () => false)
))"""


def test_data_are_not_kept_and_scripts_are(serve: Callable[..., Dashboard], refused_page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir)) as writer:
        writer.add_image("noise", np.zeros((3, 8, 8), np.uint8), 1)
    page = refused_page
    url = serve(logdir).url
    page.goto(url + "?tab=images")
    wait_until(page, lambda: bool(SERVERS.kept()), "a picture")
    scripts = page.evaluate("[...document.scripts].map(({ src }) => src).filter(Boolean)")
    (addresses,) = SERVERS.kept().values()
    assert set(page.evaluate(IS_KEPT, addresses)) == {True}
    CHROMIUM.desktop.forget(SERVERS.kept())
    page.goto(url + FORGETTING)
    assert set(page.evaluate(IS_KEPT, addresses)) == {False}
    assert set(page.evaluate(IS_KEPT, scripts)) == {True}


@pytest.mark.parametrize("host", ["stepscope.invalid", "192.0.2.1"])
def test_no_other_host_is_found(refused_page: Page, host: str) -> None:
    messages: list[str] = []
    refused_page.on("console", lambda message: messages.append(message.text))
    refused_page.evaluate("(host) => fetch(`http://${host}/`).catch(() => null)", host)
    assert messages == ["Failed to load resource: net::ERR_NAME_NOT_RESOLVED"]
