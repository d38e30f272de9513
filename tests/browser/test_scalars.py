import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from summary import SummaryWriter
from tests.browser.conftest import Dashboard

pytestmark = pytest.mark.browser

LINE = ".scalars-card .scatterlayer .trace"


def card(page: Page, tag: str) -> Any:
    return page.locator(f'.scalars-card[data-key="{tag}"]')


def drawn(page: Page, tag: str, role: str) -> list[dict[str, Any]]:
    """The traces of one role as Plotly has them, numbers as a list; None for what is not drawn."""
    result: list[dict[str, Any]] = card(page, tag).evaluate(
        """(card, role) => card.querySelector('.js-plotly-plot')._fullData
          .filter((trace) => trace.meta && trace.meta.role === role)
          .map((trace) => ({run: trace.meta.run, x: [...trace.x], y: [...trace.y]}))
          .map((trace) => ({...trace, y: trace.y.map((y) => isFinite(y) ? y : null)}))""",
        role,
    )
    return result


def wait_until_drawn(page: Page, tag: str, points: int) -> None:
    page.wait_for_function(
        """([tag, points]) => {
          const plot = document.querySelector(`.scalars-card[data-key="${tag}"] .js-plotly-plot`);
          const line = plot && plot._fullData && plot._fullData.find((t) => t.meta && t.meta.role === 'line');
          return line && line.x.length === points;
        }""",
        arg=[tag, points],
    )


def test_curves_have_the_values_that_were_written(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step, value in enumerate([4.0, 2.0, 1.0]):
            writer.add_scalar("train/loss", value, step * 10)
    page.goto(serve(logdir).url + "?scalars.smoothing=0.5")
    wait_until_drawn(page, "train/loss", 3)
    assert drawn(page, "train/loss", "raw") == [{"run": "a", "x": [0, 10, 20], "y": [4.0, 2.0, 1.0]}]
    smoothed = [4.0, (0.5 * 2 + 0.5 * 2) / 0.75, (0.5 * 2 + 0.5 * 1) / 0.875]
    assert drawn(page, "train/loss", "line")[0]["y"] == pytest.approx(smoothed)


def test_hover_tells_every_run_sorted_by_value(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    for run, value in (("low", 1.0), ("high", 3.0), ("middle", 2.0)):
        with SummaryWriter(str(logdir / run)) as writer:
            for step in range(3):
                writer.add_scalar("loss", value + step / 4, step)
    page.goto(serve(logdir).url + "?scalars.smoothing=0")
    wait_until_drawn(page, "loss", 3)
    place = card(page, "loss").locator(".nsewdrag").first.bounding_box()
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    rows = page.locator("#hover tbody tr")
    expect(rows).to_have_count(3)
    cells = [row.locator("td").all_inner_texts()[1:4] for row in rows.all()]
    assert cells == [["high", "3.25", "1"], ["middle", "2.25", "1"], ["low", "1.25", "1"]]


def test_one_point_is_visible(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_scalar("final/accuracy", 0.75, 7)
    page.goto(serve(logdir).url)
    marks = card(page, "final/accuracy").locator(".scatterlayer .points path")
    expect(marks).to_have_count(1)
    expect(marks).to_be_visible()
    assert drawn(page, "final/accuracy", "single")[0]["y"] == [0.75]


def test_nan_and_infinities_are_marked_where_they_happen(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step, value in enumerate([1.0, math.nan, 2.0, math.inf, 3.0, -math.inf, 4.0]):
            writer.add_scalar("loss", value, step)
    page.goto(serve(logdir).url + "?scalars.smoothing=0")
    wait_until_drawn(page, "loss", 7)
    assert drawn(page, "loss", "line")[0]["y"] == [1.0, None, 2.0, None, 3.0, None, 4.0]
    assert drawn(page, "loss", "non-finite")[0]["x"] == [1, 3, 5]
    expect(card(page, "loss").locator(".scatterlayer .points path")).to_have_count(3)


def test_growing_file_reaches_the_open_page_and_leaves_it_as_it_is(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            for tag in ("x/one", "x/two", "x/three", "y/one", "y/two", "y/three", "z/one", "z/two", "z/three"):
                writer.add_scalar(tag, step, step)
        writer.flush()
        page.goto(serve(logdir).url)
        wait_until_drawn(page, "x/one", 3)
        page.locator("#panel").evaluate("e => e.scrollTop = 120")
        page.evaluate("window.witness = document.querySelector('.scalars-card')")
        writer.add_scalar("x/one", 3, 3)
        writer.flush()
        wait_until_drawn(page, "x/one", 4)
        assert page.locator("#panel").evaluate("e => e.scrollTop") == 120
        assert page.evaluate("window.witness === document.querySelector('.scalars-card')")


def test_zoom_fetches_the_points_in_between_and_double_click_resets(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(4000):
            writer.add_scalar("loss", math.sin(step), step)
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 1000)
    note = card(page, "loss").locator(".note")
    expect(note).to_have_text("1,000 of 4,000 points a run shown")
    place = card(page, "loss").locator(".nsewdrag").first.bounding_box()
    middle = place["y"] + place["height"] / 2
    page.mouse.move(place["x"] + place["width"] * 0.4, middle)
    page.mouse.move(place["x"] + place["width"] * 0.41, middle)
    page.mouse.down()
    page.mouse.move(place["x"] + place["width"] * 0.5, middle, steps=4)
    page.mouse.up()
    expect(note).to_have_text("")
    expect(card(page, "loss").locator(".act-reset")).to_be_visible()
    low, high = card(page, "loss").evaluate("c => c.querySelector('.js-plotly-plot')._fullLayout.xaxis.range")
    steps = drawn(page, "loss", "line")[0]["x"]
    assert steps == list(range(math.ceil(low) - 1, math.floor(high) + 2))
    page.mouse.dblclick(place["x"] + place["width"] / 2, middle)
    expect(note).to_have_text("1,000 of 4,000 points a run shown")
    expect(card(page, "loss").locator(".act-reset")).to_be_hidden()


def test_opened_address_restores_everything(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    for run in ("a", "b", "c"):
        with SummaryWriter(str(logdir / run)) as writer:
            for step in range(3):
                for tag in ("train/loss", "train/accuracy", "val/loss"):
                    writer.add_scalar(tag, step + 1, step)
    address = (
        serve(logdir).url + "/?hide=b&run_filter=a%7Cb&tag_filter=loss&scalars.smoothing=0.9&scalars.axis=relative"
        "&scalars.y=log&scalars.ignore_outliers=on&scalars.closed=val&scalars.wide=train/loss"
    )
    page.goto(address)
    wait_until_drawn(page, "train/loss", 3)
    expect(page.locator(".scalars-card")).to_have_count(1)
    expect(card(page, "train/loss")).to_have_class("card scalars-card wide")
    expect(page.locator("#run-count")).to_have_text("1 of 3 shown")
    expect(page.get_by_label("Filter tags by regular expression")).to_have_value("loss")
    expect(page.get_by_label("Filter runs by regular expression")).to_have_value("a|b")
    expect(page.locator("#smoothing-value")).to_have_text("0.9")
    assert [entry["run"] for entry in drawn(page, "train/loss", "line")] == ["a"]
    axes = card(page, "train/loss").evaluate(
        "c => { const l = c.querySelector('.js-plotly-plot')._fullLayout; return [l.xaxis.ticksuffix, l.yaxis.type]; }"
    )
    assert axes == [" s", "log"]
    assert page.url == address.replace("%7C", "|") or page.url == address


def test_tags_with_dots_and_slashes(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    tag = 'layer.0.weight/mean "x" {y}'
    with SummaryWriter(str(logdir / "run.with.dots")) as writer:
        for step in range(3):
            writer.add_scalar(tag, step, step)
    page.goto(serve(logdir).url)
    expect(page.locator(LINE).first).to_be_visible()
    expect(page.locator(".scalars-card h3")).to_have_text(tag)


def test_large_groups_are_paged(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for tag in range(30):
            writer.add_scalar(f"layers/{tag:02}", tag, 0)
    page.goto(serve(logdir).url)
    expect(page.locator(".scalars-card")).to_have_count(12)
    page.locator(".group-head button", has_text="3").last.click()
    expect(page.locator(".scalars-card h3")).to_have_text([f"layers/{tag}" for tag in range(24, 30)])
    expect(page).to_have_url(re.compile("scalars.page=layers:3"))
    wait_until_drawn(page, "layers/29", 1)
    page.locator(".group-toggle").click()
    expect(card(page, "layers/29")).to_be_hidden()
    expect(page).to_have_url(re.compile("scalars.closed=layers"))
    page.locator(".group-toggle").click()
    expect(card(page, "layers/29")).to_be_visible()


def test_download_has_all_points(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(1500):
            writer.add_scalar("loss", step, step)
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 1000)
    card(page, "loss").hover()
    card(page, "loss").get_by_title("Download").click()
    with page.expect_download() as started:
        page.get_by_text("All points as CSV").click()
    assert started.value.suggested_filename == "loss.csv"
    lines = Path(started.value.path()).read_text().splitlines()
    assert lines[0] == "Run,Wall time,Step,Value"
    assert len(lines) == 1501


def test_no_chart_offers_to_upload(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_scalar("loss", 1, 0)
    page.goto(serve(logdir).url)
    expect(page.locator(".scalars-card .points path").first).to_be_visible()
    context = card(page, "loss").evaluate("c => c.querySelector('.js-plotly-plot')._context")
    assert (context["showSendToCloud"], context["displaylogo"]) == (False, False)


def test_smoothing_slider_redraws_and_is_remembered(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            writer.add_scalar("loss", [4.0, 2.0, 1.0][step], step)
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 3)
    page.locator(".smoothing").get_by_role("slider").press("Home")
    expect(page.locator("#smoothing-value")).to_have_text("0")
    expect(page).to_have_url(re.compile("scalars.smoothing=0$"))
    page.wait_for_function(
        "document.querySelector('.js-plotly-plot')._fullData.filter((t) => t.meta.role === 'raw').length === 0"
    )
    assert drawn(page, "loss", "line")[0]["y"] == [4.0, 2.0, 1.0]


def test_the_same_cards_are_drawn_again_after_there_were_none(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            writer.add_scalar("loss", step, step)
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 3)
    runs = page.get_by_label("Filter runs by regular expression")
    runs.fill("nothing")
    expect(page.locator(".scalars-card")).to_have_count(0)
    runs.fill("")
    wait_until_drawn(page, "loss", 3)


def test_a_zoomed_card_that_is_mounted_anew_can_still_be_reset(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(100):
            writer.add_scalar("loss", step, step)
        writer.flush()
        page.goto(serve(logdir).url)
        wait_until_drawn(page, "loss", 100)
        place = card(page, "loss").locator(".nsewdrag").first.bounding_box()
        page.mouse.move(place["x"] + place["width"] * 0.4, place["y"] + 20)
        page.mouse.move(place["x"] + place["width"] * 0.41, place["y"] + 20)
        page.mouse.down()
        page.mouse.move(place["x"] + place["width"] * 0.8, place["y"] + 150, steps=4)
        page.mouse.up()
        reset = card(page, "loss").locator(".act-reset")
        expect(reset).to_be_visible()
        writer.add_scalar("accuracy", 1, 0)
        writer.flush()
        expect(page.locator(".scalars-card")).to_have_count(2)
        expect(reset).to_be_visible()
        reset.click()
        wait_until_drawn(page, "loss", 100)
        expect(reset).to_be_hidden()


def test_a_hover_box_holds_its_table_in_a_narrow_window(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    with SummaryWriter(str(logdir / ("long_" * 20) / "seed_0")) as writer:
        for step in range(3):
            writer.add_scalar("loss", 0.123456 + step, step)
    page.set_viewport_size({"width": 900, "height": 700})
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 3)
    card(page, "loss").locator(".nsewdrag").first.hover()
    right = "e => e.getBoundingClientRect().right"
    box, table = (page.locator(part).evaluate(right) for part in ("#hover", "#hover table"))
    assert table <= box <= 900
