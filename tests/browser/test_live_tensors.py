"""Arrays of a running program in a real browser."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.debug import showing
from stepscope.debug.live import LiveTensors
from stepscope.profiler import server as profiler_server
from stepscope.profiler.capture_routes import OTHER_ROUTES
from tests.browser.conftest import Dashboard, Held, wait_until

pytestmark = pytest.mark.browser

TOKEN = "sixteen letters or more"


@contextmanager
def running(monkeypatch: pytest.MonkeyPatch, show: Callable[[int], None]) -> Iterator[str]:
    """Run a program that shows arrays in every step; the value is its address."""
    live = LiveTensors()
    monkeypatch.setattr(showing, "LIVE", live)
    monkeypatch.setitem(OTHER_ROUTES, "/live", live.answer)
    stop = threading.Event()

    def train() -> None:
        step = 0
        while not stop.wait(0.005):
            show(step)
            showing.end_step(step)
            step += 1

    thread = threading.Thread(target=train)
    thread.start()
    with profiler_server.start(0, token=TOKEN) as server:
        yield server.address
    stop.set()
    thread.join()


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A program that shows three arrays until the test ends, and its address."""

    def show(step: int) -> None:
        kernels = np.random.default_rng(step).normal(size=(8, 1, 5, 5))
        showing.show("encoder/kernels", kernels)
        showing.show("decoder/weight", np.linspace(-1, 1, 24 * 16).reshape(24, 16))
        showing.show("decoder/bias", np.array([-1.0, 0.5, np.nan, 1.0]))

    with running(monkeypatch, show) as address:
        yield address


@pytest.fixture
def panel(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> Page:
    page.goto(f"{serve(logdir).url}?tab=live_tensors")
    expect(page.get_by_role("button", name="Connect", exact=True)).to_be_visible()
    return page


def look(page: Page, address: str, token: str = TOKEN) -> None:
    page.get_by_role("textbox", name="Address of the program").fill(address)
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Connect", exact=True).click()


def step(page: Page) -> int:
    status = page.locator(".live-status")
    expect(status).to_contain_text("3 arrays")
    return int(status.inner_text().split(" ")[1].replace(",", ""))


def picture(page: Page, name: str) -> Locator:
    return page.get_by_role("img", name=name)


def test_pictures_change_while_the_page_looks(panel: Page, program: str) -> None:
    look(panel, program)
    first = step(panel)
    panel.wait_for_function(
        "first => Number(document.querySelector('.live-status').innerText.split(' ')[1].replaceAll(',', '')) > first",
        arg=first,
    )
    # Arrays that change come first.
    assert panel.locator(".live-section h3").evaluate_all("all => all.map(e => e.firstChild.data)") == [
        "encoder",
        "decoder",
    ]
    expect(picture(panel, "decoder/bias")).to_have_attribute(
        "aria-label", "decoder/bias, 4 float64 · −1 to 1 · 1 not finite"
    )
    expect(picture(panel, "encoder/kernels")).to_be_visible()
    panel.keyboard.press("Escape")
    panel.locator("body").click(position={"x": 2, "y": 2})
    panel.keyboard.press("l")
    expect(panel.get_by_role("button", name="Connect", exact=True)).to_be_visible()


def test_a_value_is_read_with_the_pointer(panel: Page, program: str) -> None:
    look(panel, program)
    step(panel)
    # A frame that arrives while the pointer rests removes the value; while frames are paused, none arrives.
    panel.get_by_label("Maximum frames per second").select_option("0")
    weight = picture(panel, "decoder/weight")
    box = weight.bounding_box()
    assert box is not None
    weight.hover(position={"x": 1, "y": box["height"] - 1})
    caption = panel.locator(".live-picture", has=weight).locator(".live-caption")
    expect(caption).to_have_text("row 23, column 0: about 0.9209")
    kernels = picture(panel, "encoder/kernels")
    box = kernels.bounding_box()
    assert box is not None
    # Four tiles of 5 x 5 with a line between them: the second one of the second row.
    kernels.hover(position={"x": box["width"] * 8.5 / 23, "y": box["height"] * 7.5 / 11})
    caption = panel.locator(".live-picture", has=kernels).locator(".live-caption")
    expect(caption).to_have_text(re.compile(r"^\[5, 0, 1, 2\]: about "))


def test_a_button_keeps_the_focus_while_frames_arrive(panel: Page, program: str) -> None:
    look(panel, program)
    first = step(panel)
    save = panel.get_by_role("button", name="Download the image of encoder/kernels")
    save.focus()
    wait_until(panel, lambda: step(panel) > first, "no other frame arrived")
    expect(save).to_be_focused()


def test_a_button_keeps_the_focus_while_its_section_rises(panel: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    changing = "first"

    def show(step: int) -> None:
        for name in ("first", "second"):
            showing.show(f"{name}/weight", np.arange(4.0) * (step % 7 if name == changing else 1))

    sections = panel.locator(".live-section h3")
    with running(monkeypatch, show) as address:
        look(panel, address)
        expect(sections).to_have_text([re.compile("^first"), re.compile("^second")])
        save = panel.get_by_role("button", name="Download the image of second/weight")
        save.focus()
        changing = "second"
        expect(sections).to_have_text([re.compile("^second"), re.compile("^first")])
        expect(save).to_be_focused()


def test_names_choose_and_stay_in_the_address(panel: Page, program: str) -> None:
    look(panel, program)
    step(panel)
    names = panel.get_by_label("Names of the arrays")
    names.fill("decoder/*")
    names.press("Enter")
    expect(panel.locator(".live-status")).to_contain_text("2 arrays")
    expect(picture(panel, "encoder/kernels")).to_have_count(0)
    assert "live_tensors.names=decoder" in panel.url


def test_two_pages_watch_a_program_with_settings_of_their_own(panel: Page, program: str) -> None:
    other = panel.context.new_page()
    other.goto(panel.url)
    for page, names in ((panel, "decoder/*"), (other, "encoder/*")):
        page.get_by_label("Names of the arrays").fill(names)
        look(page, program)
    for page, count in 3 * ((panel, "2 arrays"), (other, "1 array")):
        status = page.locator(".live-status")
        expect(status).to_contain_text(count)
        expect(status).not_to_have_text(status.inner_text())
        expect(status).to_contain_text(count)


def test_the_page_sets_the_rate_and_what_changes_are_measured_over(panel: Page, program: str) -> None:
    look(panel, program)
    step(panel)
    panel.get_by_label("Number of frames over which changes are measured").select_option("32")
    asked = re.compile(r'"rate":30,.*"window":32,')
    with panel.expect_request(lambda request: asked.search(request.post_data or "") is not None):
        panel.get_by_label("Maximum frames per second").select_option("30")


def test_a_wrong_token_is_said_and_ends_it(panel: Page, program: str) -> None:
    look(panel, program, "another token than that")
    expect(panel.locator(".live-status")).to_contain_text("token")
    expect(panel.get_by_role("button", name="Connect", exact=True)).to_be_visible()


def test_an_address_is_suggested_to_nobody_who_types(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    held = Held(page, "/api/capture")
    page.goto(f"{serve(logdir).url}?tab=live_tensors")
    address = page.get_by_role("textbox", name="Address of the program")
    address.focus()
    held.wait()
    held.release()
    expect(address).to_have_value("localhost:6009")
    page.keyboard.type("node3:6009")
    expect(address).to_have_value("node3:6009")


def test_ctrl_k_leads_there(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    page.goto(serve(logdir).url)
    expect(page.locator("#panel .empty")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("arrays of a running")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Connect", exact=True)).to_be_visible()
