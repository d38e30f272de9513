"""Images, histograms and text on the page: data, one point, none, growth, damage, and texts that mean harm."""

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from summary import SummaryWriter
from summary.proto.summary_pb2 import HistogramProto, Summary
from tests.browser.conftest import Dashboard

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]


def add_grey(writer: SummaryWriter, tag: str, step: int, shade: int) -> None:
    writer.add_image(tag, np.full((1, 4, 6), shade, np.uint8), step, walltime=1000.0 + step)


def damaged_png() -> Summary:
    stream = BytesIO()
    Image.new("L", (64, 64)).save(stream, format="PNG")
    broken = stream.getvalue()[:20] + b"\xff" * 40
    image = Summary.Image(width=64, height=64, encoded_image_string=broken)
    return Summary(value=[Summary.Value(tag="digit", image=image)])


def shades(page: Page) -> list[int]:
    """The grey of each picture on the page, in order."""
    found: list[int] = page.locator(".picture img").evaluate_all(
        """(images) => images.map((image) => {
          const canvas = document.createElement("canvas");
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          return context.getImageData(0, 0, 1, 1).data[0];
        })"""
    )
    return found


def wait_for_shades(page: Page, wanted: list[int]) -> None:
    page.wait_for_function(
        """(wanted) => {
          const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
          const found = [...document.querySelectorAll(".picture img")].map((image) => {
            context.drawImage(image, 0, 0);
            return context.getImageData(0, 0, 1, 1).data[0];
          });
          return JSON.stringify(found) === JSON.stringify(wanted);
        }""",
        arg=wanted,
    )


def slide(slider: Locator, position: int) -> None:
    """Moves a slider as a hand does: it moves, then it is let go."""
    slider.evaluate(
        """(input, position) => {
          input.value = position;
          input.dispatchEvent(new Event("input", { bubbles: true }));
          input.dispatchEvent(new Event("change", { bubbles: true }));
        }""",
        position,
    )


def test_every_run_has_its_picture_at_the_chosen_step(serve: Serve, page: Page, logdir: Path) -> None:
    for run, base in (("a", 10), ("b", 100)):
        with SummaryWriter(str(logdir / run)) as writer:
            for step in (0, 5, 10):
                add_grey(writer, "digit", step, base + step)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [20, 110])
    slide(page.locator(".steps"), 1)
    wait_for_shades(page, [15, 105])
    expect(page.locator(".controls .at")).to_contain_text("step 5")
    expect(page).to_have_url(re.compile(r"images\.step=digit:5"))
    page.reload()
    wait_for_shades(page, [15, 105])


def test_a_slider_at_the_end_follows_and_another_stays(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    for step in range(3):
        add_grey(writer, "follows", step, step)
        add_grey(writer, "stays", step, step)
    writer.flush()
    page.goto(serve(logdir).url)
    wait_for_shades(page, [2, 2])
    sliders = page.locator(".steps")
    slide(sliders.nth(1), 1)
    wait_for_shades(page, [2, 1])
    for tag in ("follows", "stays"):
        add_grey(writer, tag, 3, 3)
    writer.close()
    wait_for_shades(page, [3, 1])
    assert [sliders.nth(i).get_attribute("max") for i in (0, 1)] == ["3", "3"]
    assert [sliders.nth(i).input_value() for i in (0, 1)] == ["3", "1"]


def test_linked_cards_move_together_to_the_nearest_step(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in (0, 10, 20):
            add_grey(writer, "one", step, step)
        for step in (0, 9, 19):
            add_grey(writer, "two", step, step)
    page.goto(serve(logdir).url + "?images.link=on")
    wait_for_shades(page, [20, 19])
    slide(page.locator(".steps").first, 1)
    wait_for_shades(page, [10, 9])


def test_one_picture_has_no_slider_to_move(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        add_grey(writer, "digit", 7, 77)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [77])
    expect(page.locator(".steps")).to_be_disabled()
    expect(page.locator(".act-play")).to_be_hidden()
    expect(page.locator(".picture img")).to_have_class("crisp")


def test_samples_are_turned_through(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        pixels = np.stack([np.full((1, 4, 4), shade, np.uint8) for shade in (1, 2, 3)])
        writer.add_images("digit", pixels, 0)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [1])
    expect(page.locator(".which")).to_have_text("sample 1 of 3")
    page.get_by_title("Previous sample").click()
    wait_for_shades(page, [3])


def test_large_view_goes_by_the_arrow_keys(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            add_grey(writer, "digit", step, step)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [2])
    page.locator(".picture").click()
    label = page.locator("#large footer .at")
    expect(label).to_contain_text("3 of 3")
    page.keyboard.press("ArrowLeft")
    expect(label).to_contain_text("2 of 3")
    with page.expect_download() as download:
        page.get_by_title("Download").click()
    assert download.value.suggested_filename == "a_digit_step1_0.png"
    page.keyboard.press("Escape")
    expect(page.locator("#large")).to_have_count(0)
    wait_for_shades(page, [1])


def test_brightness_and_contrast_are_filters_of_the_page(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        add_grey(writer, "digit", 0, 50)
    page.goto(serve(logdir).url + "?images.brightness=1.5&images.contrast=2")
    expect(page.locator(".picture img")).to_have_css("filter", "brightness(1.5) contrast(2)")
    page.locator("#images-reset").click()
    expect(page.locator(".picture img")).to_have_css("filter", "brightness(1) contrast(1)")
    assert "images.brightness" not in page.url


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (damaged_png(), "The browser cannot decode this PNG"),
        (
            Summary(value=[Summary.Value(tag="digit", image=Summary.Image(encoded_image_string=b"<svg onload=a>"))]),
            "no PNG, JPEG, GIF, WebP or BMP",
        ),
    ],
)
def test_a_picture_that_is_none_says_why(serve: Serve, page: Page, logdir: Path, content: Summary, why: str) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        add_grey(writer, "digit", 0, 9)
        writer.add_summary(content, 1)
    page.goto(serve(logdir).url)
    expect(page.locator(".no-picture")).to_contain_text(why)
    slide(page.locator(".steps"), 0)
    wait_for_shades(page, [9])


def ridges(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.locator(".histograms-card .js-plotly-plot").first.evaluate(
        "(plot) => (plot._fullData || []).map((trace) => ({step: trace.meta.step, total: trace.meta.total}))"
    )
    return found


def wait_for_ridges(page: Page, number: int) -> None:
    page.wait_for_function(
        """(number) => {
          const plot = document.querySelector(".histograms-card .js-plotly-plot");
          return plot && plot._fullData && plot._fullData.length === number;
        }""",
        arg=number,
    )


def test_histograms_are_ridges_that_name_the_bucket_under_the_pointer(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in (0, 10):
            writer.add_histogram("w", [0.0, 0.1, 0.9, 2.0], step, bins=[0.0, 1.0, 2.0])
    page.goto(serve(logdir).url)
    wait_for_ridges(page, 2)
    assert ridges(page) == [{"step": 0, "total": 4}, {"step": 10, "total": 4}]
    expect(page.locator(".histograms-card .note")).to_have_text("2 bins")
    area = page.locator(".histograms-card .nsewdrag").bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + area["width"] / 4, area["y"] + area["height"] * 0.93)
    cells = page.locator("#bucket dd")
    expect(cells).to_have_count(6)
    assert cells.all_inner_texts()[:5] == ["10", "0", "1", "3 (75 %)", "4"]


@pytest.mark.parametrize("mode", ["overlay", "heatmap"])
def test_other_modes_draw_too(serve: Serve, page: Page, logdir: Path, mode: str) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            writer.add_histogram("w", np.arange(20.0), step)
    page.goto(serve(logdir).url + f"?histograms.mode={mode}&histograms.axis=relative")
    wait_for_ridges(page, 1 if mode == "heatmap" else 3)


def test_of_many_histograms_fifty_are_drawn_and_growth_adds_the_last(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    for step in range(60):
        writer.add_histogram("w", [1.0, 2.0], step)
    writer.flush()
    page.goto(serve(logdir).url)
    wait_for_ridges(page, 50)
    note = page.locator(".histograms-card .note")
    expect(note).to_contain_text("50 of 60 steps shown")
    writer.add_histogram("w", [1.0, 2.0], 99)
    writer.close()
    expect(note).to_contain_text("50 of 61 steps shown")
    assert ridges(page)[-1] == {"step": 99, "total": 2}


def test_empty_single_and_infinite_histograms_are_shown(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_histogram("w", [3.0], 0)
        empty = HistogramProto(bucket=[0.0], bucket_limit=[0.0])
        writer.add_summary(Summary(value=[Summary.Value(tag="w", histo=empty)]), 1)
        infinite = HistogramProto(min=0, max=float("inf"), bucket=[1, 1], bucket_limit=[1.0, float("inf")])
        writer.add_summary(Summary(value=[Summary.Value(tag="w", histo=infinite)]), 2)
    page.goto(serve(logdir).url)
    wait_for_ridges(page, 3)
    expect(page.locator(".histograms-card .note")).to_have_text("1 bin · empty at 1 step · 1 bin not finite, not drawn")


def test_texts_are_newest_first_and_growth_comes_on_top(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    for step in range(5):
        writer.add_text("note", f"text **{step}**", step)
    writer.flush()
    page.goto(serve(logdir).url)
    steps = page.locator(".entry > header strong")
    expect(steps).to_have_text(["step 4", "step 3", "step 2"])
    expect(page.locator(".prose strong")).to_have_text(["4", "3", "2"])
    writer.add_text("note", "text 5", 5)
    writer.close()
    expect(steps).to_have_text(["step 5", "step 4", "step 3", "step 2"])
    page.get_by_text("Show 2 older").click()
    expect(steps).to_have_text(["step 5", "step 4", "step 3", "step 2", "step 1", "step 0"])
    page.get_by_text("As written").click()
    expect(page.locator(".prose pre").nth(1)).to_have_text("text **4**")


def test_texts_cannot_do_harm(serve: Serve, page: Page, logdir: Path) -> None:
    attack = (
        "<script>window.harmed = 1</script> <img src=x onerror='window.harmed = 1'> "
        "[link](javascript:window.harmed=1) ![picture](https://example.org/a.png) "
        "<iframe src='https://example.org'></iframe>"
    )
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("table", ["cell", attack], 0)
        writer.add_text("note", attack, 0)
    page.goto(serve(logdir).url)
    expect(page.locator(".prose")).to_have_count(2)
    assert page.evaluate("window.harmed") is None
    assert page.locator(".prose :is(script, img, iframe, [onerror])").count() == 0
    links = page.locator(".prose a").evaluate_all("(all) => all.map((a) => [a.href, a.rel, a.target])")
    assert links == [["https://example.org/a.png", "noopener noreferrer", "_blank"]] * 2


def test_without_such_data_there_is_no_tab(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    page.goto(serve(logdir).url)
    expect(page.get_by_role("tab")).to_have_text(["Scalars", "Health"])


def test_hidden_runs_leave_a_hint(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("note", "x", 0)
    page.goto(serve(logdir).url)
    expect(page.locator(".entry")).to_have_count(1)
    page.get_by_role("button", name="None").click()
    expect(page.locator(".notice.none")).to_contain_text("No shown run has text")
