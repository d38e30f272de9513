"""Histograms on the page: every mode, ranges of steps, runs over each other, one histogram large; growth and damage."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.proto.summary_pb2 import HistogramProto, Summary
from tests.browser.conftest import Dashboard

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]


def add(writer: SummaryWriter, step: int, values: list[float], tag: str = "w") -> None:
    writer.add_histogram(tag, values, step, bins=[0.0, 1.0, 2.0], walltime=1000.0 + 60 * step)


def two_runs(logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in (0, 10, 20):
            add(writer, step, [0.0, 0.5, 2.0] if step else [0.0, 1.5, 2.0, float("nan")])
    with SummaryWriter(str(logdir / "b")) as writer:
        add(writer, 5, [0.0, 2.0])


def drawn_becomes(page: Page, wanted: list[int | None]) -> None:
    """Waits until the traces of the first card show these steps."""
    page.wait_for_function(
        """(wanted) => {
          const plot = document.querySelector(".histograms-card .js-plotly-plot");
          return JSON.stringify((plot?._fullData || []).map((trace) => trace.meta?.step ?? null)) === wanted;
        }""",
        arg=json.dumps(wanted, separators=(",", ":")),
    )


def columns_become(page: Page, steps: int) -> None:
    """Waits until the chart of the first card has this many columns."""
    page.wait_for_function(
        """(steps) => {
          const plot = document.querySelector(".histograms-card .js-plotly-plot");
          const meta = plot?._fullData?.at(-1)?.meta;
          return meta?.steps && stepscope.elements.numbers(meta.steps).length === steps;
        }""",
        arg=steps,
    )


def slide(slider: Locator, position: int) -> None:
    slider.evaluate(
        """(input, position) => {
          input.value = position;
          input.dispatchEvent(new Event("input", { bubbles: true }));
          input.dispatchEvent(new Event("change", { bubbles: true }));
        }""",
        position,
    )


def point_at(page: Page, x: float, y: float) -> None:
    """Moves the pointer to a position in the first chart, given as fractions of its width and height."""
    area = page.locator(".histograms-card .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + area["width"] * x, area["y"] + area["height"] * y)


def test_runs_lie_over_each_other_at_one_step(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url)
    page.locator(".toolbar").get_by_text("Runs").click()
    drawn_becomes(page, [20, 5])
    expect(page.locator(".histograms-card")).to_have_count(1)
    expect(page.locator(".legend li")).to_have_text(["a", "bstep 5"])
    slide(page.locator(".step-slider input"), 0)
    drawn_becomes(page, [0])
    expect(page).to_have_url(re.compile(r"histograms\.step=w:0"))
    expect(page.locator(".legend li")).to_have_text(["a1 NaN", "bbegins at step 5"])
    page.reload()
    drawn_becomes(page, [0])
    expect(page.locator(".step-slider .slider-at")).to_have_text("step 0")


def test_a_step_slider_at_the_end_follows(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    add(writer, 0, [0.0, 2.0])
    writer.flush()
    page.goto(serve(logdir).url + "?histograms.mode=runs")
    drawn_becomes(page, [0])
    expect(page.locator(".step-slider input")).to_be_disabled()
    add(writer, 7, [0.0, 2.0])
    writer.close()
    drawn_becomes(page, [7])
    expect(page.locator(".step-slider .slider-at")).to_have_text("step 7")


def test_percentiles_are_bands_that_tell_their_numbers(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url)
    page.get_by_text("Percentiles").click()
    columns_become(page, 3)
    point_at(page, 0.98, 0.5)
    expect(page.locator("#bucket dd").first).to_have_text("20")
    names = page.locator("#bucket dt").all_inner_texts()
    assert names[1:10] == ["Max", "93.32%", "84.13%", "69.15%", "Median", "30.85%", "15.87%", "6.68%", "Min"]
    assert page.locator("#bucket dd").all_inner_texts()[1] == "2"
    # Scrolling beside the card leaves the card where it is.
    page.locator("#runs-grid .ag-body-viewport").dispatch_event("scroll")
    expect(page.locator("#bucket")).to_be_visible()
    page.locator("#panel").dispatch_event("scroll")
    expect(page.locator("#bucket")).to_be_hidden()


def test_wall_times_are_in_the_browsers_time_zone(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    zone = {"timezoneId": "Asia/Tokyo"}
    page.context.new_cdp_session(page).send("Emulation.setTimezoneOverride", zone)
    page.goto(serve(logdir).url + "?histograms.axis=wall")
    drawn_becomes(page, [0, 10, 20])
    ticks = page.locator(".histograms-card").first.locator(".ytick text")
    expect(ticks).to_have_text(["09:16:40", "09:26:40", "09:36:40"])
    # The ridge of the last step ends above the others.
    point_at(page, 0.25, 0.93)
    expect(page.locator("#bucket")).to_contain_text("1970-01-01 09:36:40")
    page.get_by_text("Heat map").click()
    columns_become(page, 3)
    point_at(page, 0.05, 0.25)
    expect(page.locator("#bucket")).to_contain_text("1970-01-01 09:16:40")


def test_a_range_of_steps_is_typed_and_kept(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    dashboard = serve(logdir)
    page.goto(dashboard.url)
    drawn_becomes(page, [0, 10, 20])
    page.get_by_label("First step that is shown").fill("5")
    drawn_becomes(page, [10, 20])
    page.get_by_label("Last step that is shown").fill("15")
    drawn_becomes(page, [10])
    expect(page).to_have_url(re.compile(r"histograms\.first=5&histograms\.last=15"))
    page.get_by_text("Heat map").click()
    columns_become(page, 1)
    page.get_by_label("First step that is shown").fill("")
    columns_become(page, 2)


def test_log_and_density_and_even_bins(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url + "?histograms.mode=overlay")
    drawn_becomes(page, [0, 10, 20])
    page.get_by_text("Density").click()
    title = page.locator(".histograms-card .ytitle").first
    expect(title).to_have_text("share per unit")
    bins_are = """(wanted) => {
      const plot = document.querySelector(".histograms-card .js-plotly-plot");
      return stepscope.elements.numbers(plot._fullData.at(-1).meta.counts).length === wanted;
    }"""
    page.wait_for_function(bins_are, arg=30)
    page.get_by_label("Number of equal bins").fill("4")
    page.wait_for_function(bins_are, arg=4)
    page.get_by_text("Bins as logged").click()
    page.wait_for_function(bins_are, arg=2)
    expect(page.get_by_label("Number of equal bins")).to_be_hidden()
    page.get_by_role("switch", name="Log heights").press("Space")
    expect(page).to_have_url(re.compile(r"histograms\.log=on"))


def test_runs_of_a_tag_have_one_range_of_values_unless_each_is_to_have_its_own(
    serve: Serve, page: Page, logdir: Path
) -> None:
    for run, values in {"narrow": [0.0, 1.0], "wide": [-4.0, 8.0]}.items():
        with SummaryWriter(str(logdir / run)) as writer:
            writer.add_histogram("w", values, 0, bins=values)
    page.goto(serve(logdir).url)
    ranges = """(wanted) => {
      const plots = [...document.querySelectorAll(".histograms-card .js-plotly-plot")];
      return JSON.stringify(plots.map((plot) => plot._fullLayout?.xaxis.range)) === JSON.stringify(wanted);
    }"""
    page.wait_for_function(ranges, arg=[[-4, 8], [-4, 8]])
    one_scale = page.get_by_role("switch", name="Same range for every run")
    one_scale.press("Space")
    page.wait_for_function(ranges, arg=[[0, 1], [-4, 8]])
    page.get_by_text("Percentiles").click()
    expect(one_scale).to_be_hidden()
    expect(page.get_by_text("Equal bins")).to_be_hidden()


def test_the_histogram_under_the_pointer_is_shown_with_its_statistics(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        add(writer, 0, [0.0, 0.5, 2.0])
        add(writer, 1, [0.0, 1.0, 2.0])
        add(writer, 3, [0.0, 0.5, 1.5, 2.0, float("nan"), float("inf")])
    page.goto(serve(logdir).url)
    drawn_becomes(page, [0, 1, 3])
    point_at(page, 0.25, 0.93)
    facts = page.locator("#bucket .facts tr")
    expect(facts).to_have_text(
        ["Values in bins4", "Min0", "Max2", "Mean, estimated1", "Bins2", "NaN1", "+inf1"], use_inner_text=False
    )
    expect(page.locator("#bucket .outline polygon")).to_have_count(1)
    page.mouse.down()
    page.mouse.up()
    large = page.locator("#histogram-large")
    expect(large.locator(".where")).to_have_text("3 of 3")
    # Twice, before the first press is answered.
    large.evaluate(
        """(dialog) => {
          const press = () => dialog.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
          press();
          press();
        }"""
    )
    expect(large.locator(".where")).to_have_text("1 of 3")
    expect(large.locator(".what")).to_contain_text("step 0")
    expect(large.locator(".facts td").first).to_have_text("3")
    page.keyboard.press("Escape")
    expect(large).to_be_hidden()


def test_a_card_is_downloaded(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url + "?histograms.mode=runs&histograms.first=5")
    drawn_becomes(page, [20, 5])
    page.locator(".histograms-card").hover()
    page.get_by_title("Download").click()
    with page.expect_download() as download:
        page.get_by_text("Histograms of the range as CSV").click()
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert [(row["run"], row["step"]) for row in rows] == [("a", "10")] * 2 + [("a", "20")] * 2 + [("b", "5")] * 2


def test_of_many_steps_a_heat_map_has_as_many_columns_as_pixels(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(450):
            add(writer, step, [0.0, 2.0])
    page.goto(serve(logdir).url + "?histograms.mode=heatmap")
    columns_become(page, 400)
    note = page.locator(".histograms-card .note")
    expect(note).to_contain_text("400 of 450 steps shown, evenly spaced, including the first and last")
    page.locator(".histograms-card").hover()
    page.get_by_title("Full width").click()
    columns_become(page, 450)


@pytest.mark.parametrize("mode", ["offset", "overlay", "heatmap", "bands", "runs"])
def test_one_histogram_nan_and_damage_are_shown_in_every_mode(
    serve: Serve, page: Page, logdir: Path, mode: str
) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        broken = HistogramProto(bucket=[1.0, 2.0], bucket_limit=[1.0])
        writer.add_summary(Summary(value=[Summary.Value(tag="w", histo=broken)]), 0)
        writer.add_histogram("w", [np.nan, 1.0], 1)
        writer.add_histogram("only", [3.0], 1)
    page.goto(serve(logdir).url + f"?histograms.mode={mode}&tag_filter=w")
    note = page.locator(".histograms-card .note")
    if mode == "runs":
        expect(page.locator(".legend li")).to_have_text("a1 NaN")
        slide(page.locator(".step-slider input"), 0)
        expect(page.locator(".legend li")).to_have_text("adamaged at step 0")
        expect(note).to_have_text("1 of 1 runs not drawn, see below")
    else:
        expect(note).to_contain_text("step 1: 1 NaN of 2 values")
        expect(note).to_contain_text("1 damaged step left out")


def test_a_damaged_file_shows_what_is_left(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    file = next((logdir / "a").iterdir())
    content = bytearray(file.read_bytes())
    content[-20] ^= 0x10
    file.write_bytes(content)
    page.goto(serve(logdir).url)
    drawn_becomes(page, [0, 10])
    expect(page.locator(".health.bad")).to_be_visible()


def test_without_shown_runs_the_panel_says_so(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url + "?tab=histograms&histograms.mode=runs&runs=none")
    expect(page.locator(".notice")).to_contain_text("No histograms in the visible runs")


def test_an_empty_range_says_so(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url + "?histograms.mode=runs&histograms.first=90")
    expect(page.locator(".legend li")).to_have_text([f"{run}no histogram in the range of steps" for run in "ab"])
    expect(page.locator(".step-slider")).to_be_hidden()
