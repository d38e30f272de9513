"""The answers that a browser gets for pages of other sites, and how it learns the token."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from stepscope.dashboard.server.access import Access
from tests.browser.chromium import prepared
from tests.browser.conftest import Dashboard

TOKEN = "a-token-of-enough-letters"
POST = """async (address) => {
  const body = new URLSearchParams({ requests: "[]" });
  await fetch(`${address}/data/plugin/timeseries/timeSeries`, { method: "POST", mode: "no-cors", body });
}"""


@pytest.fixture
def visitor(browser: Browser, serve: Callable[..., Dashboard]) -> Iterator[Page]:
    """A page whose requests may be refused."""
    context = browser.new_context()
    yield prepared(context.new_page())
    context.close()


def elsewhere(dashboard: Dashboard) -> str:
    """An address of another site: for a browser, 127.0.0.1 is not localhost."""
    return dashboard.url.replace("localhost", "127.0.0.1") + "/healthz"


def test_another_site_may_lead_to_the_page_and_ask_for_nothing(
    visitor: Page, serve: Callable[..., Dashboard], logdir: Path
) -> None:
    served = serve(logdir)
    visitor.goto(elsewhere(served))
    with visitor.expect_response("**/timeSeries") as answer:
        visitor.evaluate(POST, served.url)
    assert answer.value.status == 403
    visitor.evaluate("address => { location.href = `${address}/?tab=health`; }", served.url)
    expect(visitor).to_have_title("logs · Stepscope")
    with visitor.expect_response("**/timeSeries") as answer:
        visitor.evaluate(POST, "")
    assert answer.value.status == 200


def test_a_link_with_the_token_opens_the_page_from_anywhere(
    visitor: Page, serve: Callable[..., Dashboard], logdir: Path
) -> None:
    served = serve(logdir, access=Access(token=TOKEN))
    visitor.goto(elsewhere(served))
    # A strict cookie is not sent with a link from another site; the page automatically asks once more.
    visitor.evaluate("([address, token]) => { location.href = `${address}/?token=${token}`; }", [served.url, TOKEN])
    expect(visitor).to_have_title("logs · Stepscope")
    expect(visitor.get_by_text("live", exact=True)).to_be_visible()
    assert "token" not in visitor.url


def test_the_token_can_be_typed(visitor: Page, serve: Callable[..., Dashboard], logdir: Path) -> None:
    served = serve(logdir, access=Access(token=TOKEN))
    visitor.goto(f"{served.url}/?tab=health")
    visitor.get_by_label("Token").fill("something else")
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_text("The token is wrong.")).to_be_visible()
    visitor.get_by_label("Token").fill(TOKEN)
    visitor.keyboard.press("Enter")
    expect(visitor).to_have_title("logs · Stepscope")
    assert "token" not in visitor.url
