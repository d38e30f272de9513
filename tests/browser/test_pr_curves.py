"""PR curves on the page: data, one threshold, impossible numbers, growth, damage, none; steps and thresholds."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.pr_curve import pr_curve
from stepscope.summary.kinds.tensor_proto import numbers_tensor
from stepscope.summary.proto.summary_pb2 import Summary
from tests.browser.conftest import Dashboard

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]

LABELS = [1, 1, 1, 0, 0, 0, 0, 0]
GOOD = [0.9, 0.8, 0.7, 0.6, 0.3, 0.2, 0.2, 0.1]
POOR = [0.9, 0.3, 0.2, 0.8, 0.7, 0.2, 0.2, 0.1]


def add(writer: SummaryWriter, predictions: list[float], step: int, tag: str = "c") -> None:
    writer.add_pr_curve(tag, LABELS, predictions, step, num_thresholds=11, walltime=1000.0 + 60 * step)


def two_runs(logdir: Path) -> None:
    with SummaryWriter(str(logdir / "good")) as writer:
        for step in (0, 10, 20):
            add(writer, POOR if step == 0 else GOOD, step)
    with SummaryWriter(str(logdir / "poor")) as writer:
        for step in (0, 5):
            add(writer, POOR, step)


def drag(slider: Locator, value: float) -> None:
    """Moves a slider as a hand does: it moves, then it is released."""
    slider.evaluate(
        """(input, value) => {
          input.value = value;
          input.dispatchEvent(new Event("input", { bubbles: true }));
          input.dispatchEvent(new Event("change", { bubbles: true }));
        }""",
        value,
    )


def curves_become(page: Page, number: int) -> None:
    page.wait_for_function(
        """(number) => {
          const plot = document.querySelector(".pr_curves-card .js-plotly-plot");
          return (plot?._fullData || []).filter((trace) => trace.meta?.role === "curve").length === number;
        }""",
        arg=number,
    )


def test_runs_are_ranked_by_average_precision_and_say_their_other_steps(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url)
    curves_become(page, 2)
    rows = page.locator(".pr-table tbody tr")
    expect(rows).to_have_count(2)
    assert [row.locator("th, td").all_inner_texts() for row in rows.all()] == [
        ["good", "1.0000", "1.000 at 0.7", "0.750", "1.000", "0.857", "0.875", "0.775"],
        ["poor\nstep 5", "0.6429", "0.600 at 0.2", "0.333", "0.333", "0.333", "0.500", "−0.067"],
    ]
    # At 0.5, with three positives and five negatives.
    matrix = page.locator(".pr-matrix").first.locator("td b")
    assert matrix.all_inner_texts() == ["3", "0", "1", "4"]
    assert page.locator(".pr-matrix").first.locator("td.right span").all_inner_texts() == ["37.5%", "50.0%"]
    expect(page.locator(".pr-dots i")).to_have_count(2)


def test_the_threshold_moves_dots_matrices_and_the_address(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url)
    expect(page.locator(".pr-dots i")).to_have_count(2)
    slider = page.get_by_label("Threshold")
    drag(slider, 0.1)
    expect(page).to_have_url(re.compile(r"pr_curves\.threshold=c:0\.1$"))
    matrix = page.locator(".pr-matrix").first.locator("td b")
    expect(matrix).to_have_text(["3", "0", "5", "0"])
    page.reload()
    expect(matrix).to_have_text(["3", "0", "5", "0"])
    # Nothing is positive at 1: no precision, and no point on the curve.
    drag(slider, 1)
    expect(page.locator(".pr-dots i")).to_have_count(0)
    expect(page.locator("td[data-column=precision]").first).to_have_text("–")
    page.locator(".pr-best").first.click()
    expect(page).to_have_url(re.compile(r"pr_curves\.threshold=c:0\.7$"))
    expect(matrix).to_have_text(["3", "0", "0", "5"])


def test_a_click_on_the_best_threshold_counts_though_new_data_comes_meanwhile(
    serve: Serve, page: Page, logdir: Path
) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url)
    page.get_by_role("button", name="1.000 at 0.7").hover()
    page.mouse.down()
    with SummaryWriter(str(logdir / "good")) as writer:
        add(writer, GOOD, 30)
    expect(page.locator(".pr-slider .slider-at")).to_have_text("step 30")
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"pr_curves\.threshold=c:0\.7$"))


def test_one_slider_moves_all_runs_and_one_per_run_only_its_own(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url)
    expect(page.locator(".pr-slider .slider-at")).to_have_text("step 20")
    drag(page.locator(".pr-slider input"), 0)
    expect(page).to_have_url(re.compile(r"pr_curves\.step=c:0"))
    expect(page.locator(".pr-table td.main")).to_have_text(["0.6429", "0.6429"])
    page.get_by_text("One per run").click()
    expect(page.locator(".pr-slider .slider-at")).to_have_text(["step 20", "step 5"])
    expect(page.locator(".pr-table td.main")).to_have_text(["1.0000", "0.6429"])
    drag(page.get_by_label("Step of good"), 0)
    expect(page.locator(".pr-table td.main")).to_have_text(["0.6429", "0.6429"])
    page.reload()
    expect(page.locator(".pr-slider .slider-at")).to_have_text(["step 0", "step 5"])
    page.get_by_text("Relative").click()
    expect(page.locator(".pr-slider .slider-at")).to_have_text(["0 s", "5 min 0 s"])


def test_a_run_that_begins_later_is_not_drawn_and_says_so(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "early")) as writer:
        add(writer, GOOD, 0)
    with SummaryWriter(str(logdir / "late")) as writer:
        add(writer, GOOD, 1500)
    page.goto(serve(logdir).url + "?pr_curves.step=c:0")
    curves_become(page, 1)
    expect(page.locator(".pr-table .said")).to_have_text("begins at step 1,500")
    expect(page.locator(".pr_curves-card .note")).to_have_text("1 run without a curve, see below")


def test_hover_gives_every_runs_nearest_point(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url)
    curves_become(page, 2)
    area = page.locator(".pr_curves-card .nsewdrag").bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + area["width"] * 0.97, area["y"] + 10)
    rows = page.locator("#pr-hover tbody tr")
    expect(rows).to_have_count(2)
    assert rows.first.locator("td").all_inner_texts()[1:] == ["good", "0.600", "0.7500", "1.0000", *"3140", "20"] or (
        rows.first.locator("td").all_inner_texts()[1:] == ["good", "0.700", "1.0000", "1.0000", *"3050", "20"]
    )
    expect(page.locator("#pr-hover tr.nearest td").nth(1)).to_have_text("good")
    page.mouse.move(5, 5)
    expect(page.locator("#pr-hover")).to_be_hidden()


def test_roc_ranks_by_area(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url + "?pr_curves.view=roc")
    curves_become(page, 2)
    expect(page.locator(".pr-table thead th").nth(1)).to_have_text("AUC")
    expect(page.locator(".pr-table td.main")).to_have_text(["1.0000", "0.6667"])


def test_over_steps_there_is_a_line_per_run(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url)
    page.get_by_text("Over steps").click()
    page.wait_for_function(
        """() => {
          const plot = document.querySelector(".pr_curves-card .js-plotly-plot");
          return (plot?._fullData || []).map((trace) => trace.x?.length).join() === "3,2";
        }"""
    )
    expect(page.locator(".pr_curves-card .fill")).to_be_hidden()
    page.locator(".toolbar").get_by_text("Best F1").click()
    expect(page).to_have_url(re.compile(r"pr_curves\.metric=f1"))


def test_a_slider_at_the_end_follows_new_steps(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    add(writer, POOR, 0)
    writer.flush()
    page.goto(serve(logdir).url)
    expect(page.locator(".pr-table td.main")).to_have_text("0.6429")
    expect(page.locator(".pr-slider input")).to_be_disabled()
    add(writer, GOOD, 1)
    writer.close()
    expect(page.locator(".pr-slider .slider-at")).to_have_text("step 1")
    expect(page.locator(".pr-table td.main")).to_have_text("1.0000")


def test_a_slider_that_was_moved_stays(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    add(writer, POOR, 0)
    add(writer, GOOD, 1)
    writer.flush()
    page.goto(serve(logdir).url)
    expect(page.locator(".pr-slider .slider-at")).to_have_text("step 1")
    drag(page.locator(".pr-slider input"), 0)
    expect(page.locator(".pr-table td.main")).to_have_text("0.6429")
    add(writer, GOOD, 2)
    writer.close()
    expect(page.locator(".pr-slider input")).to_have_attribute("max", "2")
    expect(page.locator(".pr-slider .slider-at")).to_have_text("step 0")
    expect(page.locator(".pr-table td.main")).to_have_text("0.6429")


def test_a_threshold_in_the_hand_stays_while_new_steps_are_drawn(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    add(writer, POOR, 0)
    writer.flush()
    page.goto(serve(logdir).url)
    expect(page.locator(".pr-table td.main")).to_have_text("0.6429")
    # The hand keeps moving: the address does not know where it is.
    page.get_by_label("Threshold").evaluate(
        """slider => {
          const move = () => {
            slider.value = 0.9;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
          };
          move();
          window.said = [];
          window.hand = setInterval(move, 20);
          const output = slider.closest(".pr-threshold").querySelector("output");
          new MutationObserver(() => window.said.push(output.textContent)).observe(output, { childList: true });
        }"""
    )
    add(writer, GOOD, 1)
    writer.close()
    expect(page.locator(".pr-table td.main")).to_have_text("1.0000")
    assert page.evaluate("() => { clearInterval(window.hand); return [...new Set(window.said)]; }") == ["0.9"]
    expect(page).to_have_url(re.compile(r"pr_curves\.threshold=c:0\.9$"))


def test_zoom_is_reset_to_axes_from_0_to_1(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url)
    curves_become(page, 2)
    expect(page.locator(".pr-dots i")).to_have_count(2)
    area = page.locator(".pr_curves-card .nsewdrag").bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 40, area["y"] + 40)
    page.mouse.down()
    page.mouse.move(area["x"] + 160, area["y"] + 160, steps=4)
    page.mouse.up()
    reset = page.get_by_title("Axes from 0 to 1")
    expect(reset).to_be_visible()
    reset.click()
    expect(reset).to_be_hidden()
    plot = page.locator(".pr_curves-card .js-plotly-plot")
    assert plot.evaluate("(plot) => plot._fullLayout.xaxis.range") == pytest.approx([-0.012, 1.012])


def test_shown_curves_are_downloaded(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    page.goto(serve(logdir).url + "?pr_curves.step=c:5")
    curves_become(page, 2)
    page.locator(".pr_curves-card").hover()
    page.get_by_title("Download").click()
    with page.expect_download() as download:
        page.get_by_text("Visible curves as CSV").click()
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert [(row["run"], row["step"]) for row in rows] == [("good", "0")] * 11 + [("poor", "5")] * 11


def test_bad_curves_are_said_and_good_ones_drawn(serve: Serve, page: Page, logdir: Path) -> None:
    """Missing rows, NaN, negative counts, one threshold: each is reported as what it is."""
    ones = np.ones(1)
    with SummaryWriter(str(logdir / "good")) as writer:
        add(writer, GOOD, 0)
    with SummaryWriter(str(logdir / "five_rows")) as writer:
        value = pr_curve("c", [1, 0], [0.9, 0.1], 3)
        value.tensor.CopyFrom(numbers_tensor(np.zeros((5, 3), np.float32)))
        writer.add_summary(Summary(value=[value]), 0)
    with SummaryWriter(str(logdir / "odd")) as writer:
        rows = np.array([[4, 3, 1], [4, 2, -1], [0, 2, 4], [0, 1, 3], [0.5, np.nan, 1], [1, 0.75, 0.25]])
        writer.add_pr_curve_raw("c", rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], 0)
    with SummaryWriter(str(logdir / "single")) as writer:
        writer.add_pr_curve_raw("c", ones, ones, ones, ones, ones / 2, ones / 2, 0)
    page.goto(serve(logdir).url)
    curves_become(page, 3)
    said = page.locator(".pr-table .said")
    expect(said).to_have_count(3)
    texts = sorted(said.all_inner_texts())
    assert texts[0].endswith("expected a PR curve of shape [6, n], got shape [5, 3]")
    assert texts[1:] == ["one threshold: a point, no curve", "one threshold: a point, no curve · 2 thresholds left out"]
    expect(page.locator(".pr_curves-card .note")).to_have_text(
        "1 run without a curve, see below · 2 thresholds with NaN or impossible numbers left out"
    )


def test_a_damaged_file_shows_what_is_left(serve: Serve, page: Page, logdir: Path) -> None:
    two_runs(logdir)
    file = next((logdir / "good").iterdir())
    content = bytearray(file.read_bytes())
    content[-40] ^= 0x10
    file.write_bytes(content)
    page.goto(serve(logdir).url)
    expect(page.locator(".pr-slider .slider-at")).to_have_text("step 10")
    expect(page.locator(".pr-table td.main")).to_have_text(["1.0000", "0.6429"])
    expect(page.locator(".health.bad")).to_be_visible()


def test_without_pr_curves_there_is_no_tab_and_hidden_runs_say_so(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "curves")) as writer:
        add(writer, GOOD, 0)
    dashboard = serve(logdir)
    page.goto(dashboard.url + "?tab=pr_curves&runs=none")
    expect(page.locator(".notice")).to_contain_text("No PR curves in the visible runs")
    for file in (logdir / "curves").iterdir():
        file.unlink()
    with SummaryWriter(str(logdir / "other")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    page.goto(dashboard.url)
    expect(page.get_by_role("tab", name="Scalars")).to_be_visible()
    expect(page.get_by_role("tab", name="PR curves")).to_have_count(0)


def test_names_that_mean_harm_are_text(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "<img src=x onerror='window.harmed = 1'>")) as writer:
        add(writer, GOOD, 0, "<b onclick='window.harmed = 1'>c")
    page.goto(serve(logdir).url)
    curves_become(page, 1)
    area = page.locator(".pr_curves-card .nsewdrag").bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 90, area["y"] + 20)
    expect(page.locator("#pr-hover tbody tr")).to_have_count(1)
    expect(page.locator(".pr-table .run-label")).to_have_attribute("title", "<img src=x onerror='window.harmed = 1'>")
    assert page.evaluate("window.harmed") is None
