import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from dashboard.state import View, encode
from summary import SummaryWriter
from tests.browser.conftest import Dashboard

pytestmark = pytest.mark.browser

FIRST_LINE = ".scalars-card .scatterlayer .trace"


def write_runs(logdir: Path, *names: str, points: int = 5) -> None:
    for offset, name in enumerate(names):
        with SummaryWriter(str(logdir / name)) as writer:
            for step in range(points):
                writer.add_scalar("train/loss", 1 / (step + 1 + offset), step)


def run_names(page: Page) -> list[str]:
    return page.locator(".run-grid .ag-center-cols-container .run-name .leaf").all_inner_texts()


def test_empty_directory_says_what_to_do_and_wakes_up_by_itself(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    dashboard = serve(logdir)
    page.goto(dashboard.url)
    expect(page.get_by_role("heading", name="Waiting for the first event file")).to_be_visible()
    expect(page.locator(".empty")).to_contain_text(str(logdir))
    expect(page.locator(".example")).to_contain_text("add_scalar")
    write_runs(logdir, "first")
    expect(page.locator(FIRST_LINE).first).to_be_visible()
    assert run_names(page) == ["first"]


def test_missing_directory_is_waited_for(serve: Callable[..., Dashboard], page: Page, tmp_path: Path) -> None:
    dashboard = serve(tmp_path / "later")
    page.goto(dashboard.url)
    expect(page.locator(".empty")).to_contain_text("later")
    write_runs(tmp_path / "later", "a")
    expect(page.locator(FIRST_LINE).first).to_be_visible()


def test_only_tabs_that_have_data(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect(page.get_by_role("tab")).to_have_text(["Scalars", "Health"])


def test_filter_narrows_list_and_charts_and_shows_a_bad_pattern(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_runs(logdir, "lr_0.1/seed_0", "lr_0.1/seed_1", "lr_0.2/seed_0")
    page.goto(serve(logdir).url)
    count = page.locator("#run-count")
    expect(count).to_have_text("3 of 3 shown")
    pattern = page.get_by_label("Filter runs by regular expression")
    pattern.fill("SEED_0$")
    expect(count).to_have_text("2 of 3 shown")
    assert run_names(page) == ["seed_0", "seed_0"]
    expect(page).to_have_url(re.compile("run_filter=SEED_0"))
    pattern.fill("seed_[")
    expect(page.locator("#sidebar")).to_contain_text("No regular expression")
    expect(count).to_have_text("3 of 3 shown")
    pattern.fill("")
    expect(page.locator("#sidebar")).not_to_contain_text("No regular expression")


def test_switching_runs(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a", "b", "c")
    page.goto(serve(logdir).url)
    count = page.locator("#run-count")
    page.get_by_label("Show b").click()
    expect(count).to_have_text("2 of 3 shown")
    expect(page).to_have_url(re.compile(r"\?hide=b$"))
    page.get_by_role("button", name="None").click()
    expect(count).to_have_text("0 of 3 shown")
    expect(page.locator("#panel")).to_contain_text("No shown run has scalars")
    page.locator(".run-name", has_text="c").dblclick()
    expect(count).to_have_text("1 of 3 shown")
    expect(page.get_by_label("Show c")).to_have_attribute("aria-checked", "true")
    page.get_by_role("button", name="All").click()
    expect(count).to_have_text("3 of 3 shown")


def test_first_twenty_runs_are_shown(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, *(f"run_{number:02}" for number in range(25)), points=2)
    page.goto(serve(logdir).url)
    expect(page.locator("#run-count")).to_have_text("20 of 25 shown")


def test_new_run_keeps_what_the_user_looks_at(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a", "b")
    page.goto(serve(logdir).url)
    page.get_by_label("Show b").click()
    expect(page.locator("#run-count")).to_have_text("1 of 2 shown")
    color = page.get_by_label("Show a").evaluate("e => getComputedStyle(e).borderColor")
    write_runs(logdir, "later")
    expect(page.locator("#run-count")).to_have_text("2 of 3 shown")
    expect(page.get_by_label("Show b")).to_have_attribute("aria-checked", "false")
    assert page.get_by_label("Show a").evaluate("e => getComputedStyle(e).borderColor") == color


def test_damaged_file_is_told_with_its_place_and_the_rest_is_shown(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_runs(logdir, "a", points=20)
    (path,) = (logdir / "a").iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    page.goto(serve(logdir).url)
    expect(page.locator(FIRST_LINE).first).to_be_visible()
    page.get_by_role("button", name="1 damaged file").click()
    details = page.locator(".health-details")
    expect(details).to_contain_text(path.name)
    expect(details).to_contain_text("at byte")


def test_theme_is_remembered(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect(page.locator(FIRST_LINE).first).to_be_visible()
    root = page.locator("html")
    expect(root).to_have_attribute("data-mantine-color-scheme", "light")
    light = page.locator(".scalars-card").first.evaluate("e => getComputedStyle(e).backgroundColor")
    page.locator("#theme label").nth(2).click()
    expect(root).to_have_attribute("data-mantine-color-scheme", "dark")
    assert page.locator(".scalars-card").first.evaluate("e => getComputedStyle(e).backgroundColor") != light
    page.reload()
    expect(page.locator(FIRST_LINE).first).to_be_visible()
    expect(root).to_have_attribute("data-mantine-color-scheme", "dark")
    page.locator("#theme label").nth(1).click()
    expect(root).to_have_attribute("data-mantine-color-scheme", "light")
    page.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-mantine-color-scheme", "dark")


def test_pause_holds_new_data_back(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a")
    dashboard = serve(logdir)
    page.goto(dashboard.url)
    live = page.locator("#live")
    expect(live).to_have_attribute("data-state", "live")
    live.click()
    expect(live).to_have_attribute("data-state", "paused")
    write_runs(logdir, "b")
    page.wait_for_function("fetch('/data/runs').then(r => r.json()).then(r => r.length === 2)")
    expect(page.locator("#run-count")).to_have_text("1 of 1 shown")
    live.click()
    expect(page.locator("#run-count")).to_have_text("2 of 2 shown")


def test_sidebar_hides_and_comes_back(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect(page.locator("#sidebar")).to_be_visible()
    page.locator("#sidebar-toggle").click()
    expect(page.locator("#sidebar")).to_be_hidden()
    page.locator("#sidebar-toggle").click()
    expect(page.locator("#sidebar")).to_be_visible()


def test_every_tab_opens_and_takes_part_in_the_frame(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a", "b")
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("notes", "hello", 0)
        writer.add_histogram("weights", [1.0, 2.0, 3.0], 0)
    page.goto(serve(logdir).url)
    expect(page.locator(FIRST_LINE).first).to_be_visible()
    # Callbacks of a panel that is not open must stay silent: the page fixture fails on Dash's complaints.
    for tab in ("Histograms", "Text", "Scalars"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
        page.get_by_label("Show b").click()
        page.locator("#theme label").nth(2 if tab == "Text" else 0).click()
    expect(page.locator("#run-count")).to_have_text("1 of 2 shown")
    expect(page.locator(FIRST_LINE).first).to_be_visible()


def test_page_and_server_write_the_same_address(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect(page.locator(FIRST_LINE).first).to_be_visible()
    pattern = "a|(b/c:d,e)*~ +!'\"%&ü"
    page.evaluate("(value) => stepscope.view.update((_, set) => set('tag_filter', [value]))", pattern)
    assert page.url.partition("?")[2] == encode(View(tag_filter=pattern))


def test_runs_are_switched_from_the_keyboard(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a", "b")
    page.goto(serve(logdir).url)
    expect(page.locator("#run-count")).to_have_text("2 of 2 shown")
    cell = page.locator(".run-grid .swatch-cell").first
    cell.focus()
    page.keyboard.press("Space")
    expect(page.locator("#run-count")).to_have_text("1 of 2 shown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("runs=none&show=a$"))


def test_a_narrow_header_keeps_its_last_control(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_scalar("loss", 1, 0)
        writer.add_image("picture", np.zeros((1, 4, 4)), 0)
        writer.add_histogram("weights", np.arange(3.0), 0)
        writer.add_text("note", "x", 0)
    page.set_viewport_size({"width": 700, "height": 700})
    page.goto(serve(logdir).url)
    expect(page.get_by_role("tab", name="Histograms")).to_be_visible()
    assert page.locator("#theme").evaluate("e => e.getBoundingClientRect().right") <= 700
