"""What distinguishes one card of curves: its own legends, settings and zooms, and the run that is pointed at."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir
from tests.browser.conftest import Busy, Dashboard, Held
from tests.browser.test_scalars import at, card, drag, drawn, open_menu, wait_until_drawn, write

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]
PLAIN = "?scalars.smoothing=0"


def model(page: Page, tag: str, expression: str) -> Any:
    """Part of what is drawn for a card."""
    return page.evaluate(
        f"(tag) => {{ const {{ plot, model }} = stepscope.curveCards.find(tag); return {expression}; }}", tag
    )


def chart_of(*sides: list[str]) -> str:
    """The key of a chart of several tags."""
    return json.dumps(sides, separators=(",", ":"))


def test_the_axis_stays_until_a_metric_is_chosen(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[3.0, 2.0, 1.0], **{"train/epoch": [0.0, 0.5, 1.0]})
    page.goto(serve(logdir).url + PLAIN)
    wait_until_drawn(page, "loss", 3)
    page.get_by_text("Metric", exact=True).click()
    field = page.get_by_role("textbox", name="Metric of the horizontal axis")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("placeholder", "Metric, such as train/epoch")
    expect(page.get_by_role("option")).to_have_text(["loss", "train/epoch"])
    expect(page).to_have_url(re.compile("scalars.axis=metric"))
    assert drawn(page, "loss")[0]["x"] == [0, 1, 2]
    expect(card(page, "loss").locator(".note")).to_have_text("")
    page.get_by_role("option", name="train/epoch").click()
    page.wait_for_function("() => stepscope.curveCards.find('loss').model.lines[0]?.x[2] === 1")


def test_a_card_that_fills_the_window_hides_all_else(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[1.0, 5.0])
    page.goto(serve(logdir).url + "?scalars.full=loss")
    wait_until_drawn(page, "loss", 2)
    page.wait_for_function("() => stepscope.curveCards.find('loss').plot.scene?.height > 800")
    corners = page.evaluate(
        """() => [[1, 1], [innerWidth - 2, 1], [1, innerHeight - 2], [innerWidth - 2, innerHeight - 2]]
          .map(([x, y]) => document.elementFromPoint(x, y)?.closest(".card")?.dataset.key)"""
    )
    assert corners == ["loss"] * 4
    assert model(page, "loss", "plot.scene.yTicks.values.length") <= 15


def test_a_combined_chart_names_its_tags_and_axes(serve: Serve, page: Page, logdir: Path) -> None:
    for run in ("sweep/a", "sweep/b"):
        write(logdir / run, **{"loss/train": [1.0, 2.0], "lr": [0.1, 0.2]})
    both, right = chart_of(["loss/train"], ["lr"]), chart_of([], ["lr"])
    page.goto(serve(logdir).url + f"{PLAIN}&scalars.chart={quote(both)}&scalars.chart={quote(right)}")
    wait_until_drawn(page, both, 2, 4)
    wait_until_drawn(page, right, 2, 2)
    expect(card(page, both).locator("h3")).to_have_text("loss/train + lr")
    expect(card(page, both).locator("h3 .dim")).to_have_text("loss/")
    assert model(page, both, "plot.scene.legend.map(({ text }) => text)") == [
        *("loss/train (left axis)", "lr (right axis)", "a", "b")
    ]
    assert model(page, right, "[plot.scene.yTicks.labels, plot.scene.legend.map(({ text }) => text)]") == [
        [],
        ["a", "b"],
    ]


def test_few_lines_have_a_legend_that_can_be_switched_off(serve: Serve, page: Page, logdir: Path) -> None:
    for run in ("a", "b"):
        write(logdir / run, loss=[1.0, 2.0])
    page.goto(serve(logdir).url + PLAIN + "&scalars.columns=1")
    wait_until_drawn(page, "loss", 2, 2)
    # One wide card: names appear at the ends of the lines.
    page.wait_for_function("() => stepscope.curveCards.find('loss').plot.scene?.ends.length === 2")
    open_menu(page, "loss", "menu")
    with page.expect_download() as started:
        page.locator(".menu").get_by_text("SVG", exact=True).click()
    assert all(f">{run}</text>" in Path(started.value.path()).read_text() for run in ("a", "b"))
    page.get_by_label("Legend").locator("xpath=..").click()
    expect(page).to_have_url(re.compile("scalars.legend=off"))
    page.wait_for_function("() => stepscope.curveCards.find('loss').plot.scene?.ends.length === 0")


def test_a_picture_of_all_charts_has_those_that_were_never_on_the_screen(
    serve: Serve, refused_page: Page, logdir: Path
) -> None:
    page = refused_page
    tags = [f"tag_{at:02}" for at in range(12)]
    write(logdir / "a", **{tag: [1.0, 2.0] for tag in tags})
    page.goto(serve(logdir).url + f"{PLAIN}&scalars.columns=1")
    wait_until_drawn(page, tags[0], 2)
    assert model(page, tags[-1], "model") is None

    def download() -> set[str]:
        page.get_by_role("button", name="Download", exact=True).click()
        with page.expect_download() as started:
            page.locator(".menu").get_by_text("SVG", exact=True).click()
        return set(re.findall(r">(tag_\d\d)</text>", Path(started.value.path()).read_text()))

    server = Busy(page, "/curves?", status=500)
    found = download()
    assert tags[0] in found
    missing = len(tags) - len(found)
    expect(page.locator("#said")).to_have_text(
        f"{missing} of 12 charts are missing: The server responded with status 500."
    )
    server.free()
    assert download() == set(tags)


def test_a_run_in_the_list_lights_its_curves_and_a_curve_marks_its_run(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "high", loss=[3.0] * 3, other=[1.0])
    write(logdir / "low", loss=[1.0] * 3)
    page.goto(serve(logdir).url + PLAIN)
    wait_until_drawn(page, "loss", 3, 2)
    page.locator(".run-grid .run-name", has_text="low").hover()
    page.wait_for_function("() => stepscope.curveCards.find('loss').plot.lit?.has('0:run:low')")
    # A card without the run stays as it is.
    assert model(page, "other", "plot.lit") is None
    x, y = page.evaluate(
        "() => { const p = stepscope.curveCards.find('loss').plot.toClient(1, 3); return [p.clientX, p.clientY]; }"
    )
    page.mouse.move(x, y + 3)
    page.wait_for_function("() => stepscope.curveCards.find('loss').plot.lit === null")
    expect(page.locator(".run-grid .pointed-cell .run-name")).to_have_text("high")
    page.mouse.move(5, 500)
    expect(page.locator(".run-grid .pointed-cell")).to_have_count(0)


def test_a_click_on_a_curve_brings_its_run_into_sight(serve: Serve, page: Page, logdir: Path) -> None:
    for run in range(60):
        write(logdir / f"run_{run:02}", loss=[float(run)] * 2)
    page.goto(serve(logdir).url + PLAIN + "&runs=all")
    wait_until_drawn(page, "loss", 2, 60)
    expect(page.locator(".run-grid .run-name", has_text="run_00")).to_be_visible()
    expect(page.locator(".run-grid .run-name", has_text="run_59")).to_have_count(0)
    x, y = page.evaluate(
        "() => { const p = stepscope.curveCards.find('loss').plot.toClient(0.5, 59); return [p.clientX, p.clientY]; }"
    )
    page.mouse.move(x, y)
    expect(page.locator("#hover")).to_be_visible()
    page.mouse.click(x, y)
    expect(page.locator(".run-grid .run-name", has_text="run_59")).to_be_visible()
    expect(page.locator(".run-grid .pointed-cell .run-name")).to_have_text("run_59")


def test_a_card_has_settings_of_its_own(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[4.0, 2.0, 1.0], other=[4.0, 2.0, 1.0])
    page.goto(serve(logdir).url + PLAIN)
    wait_until_drawn(page, "loss", 3)
    open_menu(page, "loss", "menu")
    page.get_by_label("Vertical axis", exact=True).select_option("Logarithmic")
    page.get_by_label("Smoothing of this card").fill("0.5")
    page.get_by_label("Smoothing of this card").press("Enter")
    page.get_by_label("Outliers", exact=True).select_option("Ignore")
    expect(page).to_have_url(re.compile(r"scalars.card=loss:log,0\.5,inliers(&|$)"))
    note = card(page, "loss").locator(".note")
    expect(note).to_contain_text("y: log · smoothing 0.5 · outliers ignored")
    page.wait_for_function("() => stepscope.curveCards.find('loss').model.lines[0].raw !== null")
    assert [model(page, tag, "model.y.scale") for tag in ("loss", "other")] == ["log", "linear"]
    assert drawn(page, "loss")[0]["y"] == pytest.approx([4.0, 2.0 / 0.75, 1.5 / 0.875])
    assert drawn(page, "other")[0]["y"] == [4.0, 2.0, 1.0]
    page.reload()
    expect(note).to_contain_text("y: log")
    # The slider for all cards leaves this card alone.
    page.get_by_label("Smoothing, as a number").fill("0.9")
    page.get_by_label("Smoothing, as a number").press("Enter")
    page.wait_for_function("() => stepscope.curveCards.find('other').model.lines[0].raw !== null")
    assert drawn(page, "loss")[0]["y"] == pytest.approx([4.0, 2.0 / 0.75, 1.5 / 0.875])
    open_menu(page, "loss", "menu")
    page.get_by_text("Reset this card").click()
    expect(page).not_to_have_url(re.compile("scalars.card"))
    expect(note).to_have_text("")


def test_smoothing_is_typed_and_moved_by_keys(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[4.0, 2.0, 1.0])
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 3)
    field = page.get_by_label("Smoothing, as a number")
    slider = page.locator(".smoothing").get_by_role("slider")
    for key, value in (("ArrowUp", "0.61"), ("PageUp", "0.71"), ("ArrowDown", "0.7"), ("PageDown", "0.6")):
        field.press(key)
        expect(field).to_have_value(value)
    expect(slider).to_have_attribute("aria-valuenow", "0.6")
    field.fill("0.25")
    field.press("Enter")
    expect(slider).to_have_attribute("aria-valuenow", "0.25")
    expect(page).to_have_url(re.compile(r"scalars.smoothing=0\.25(&|$)"))
    field.fill("7")
    field.press("Enter")
    expect(field).to_have_value("0.999")
    expect(slider).to_have_attribute("aria-valuenow", "0.999")
    slider.press("ArrowLeft")
    expect(field).to_have_value("0.989")


def test_a_zoom_is_applied_to_all_cards(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[float(step) for step in range(101)], other=[float(step) for step in range(101)])
    page.goto(serve(logdir).url + PLAIN)
    wait_until_drawn(page, "loss", 101)
    card(page, "loss").hover()
    share = card(page, "loss").locator(".act-zoom_all")
    expect(share).to_be_hidden()
    drag(page, "loss", (0.4, 0.5), (0.6, 0.51))
    card(page, "loss").hover()
    share.click()
    same = """() => {
      const shown = (tag) => stepscope.curveCards.find(tag).plot.visibleRange().x.map(Math.round);
      const [one, other] = ["loss", "other"].map(shown);
      return one[0] > 20 && String(one) === String(other);
    }"""
    page.wait_for_function(same)
    expect(page).to_have_url(re.compile(r"scalars.zoom=[\d.]+,[\d.]+(&|$)"))
    expect(share).to_be_hidden()
    page.reload()
    page.wait_for_function("() => window.stepscope && stepscope.curveCards.find('other')?.model")
    page.wait_for_function(same)
    page.mouse.dblclick(*at(page, "other", 0.5, 0.5))
    expect(page).not_to_have_url(re.compile("scalars.(range|zoom)"))
    wait_until_drawn(page, "loss", 101)
    # With keys: the chart that has the focus is zoomed, then all charts are.
    card(page, "other").locator(".curves").focus()
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("scalars.range=other:"))
    page.keyboard.press("z")
    page.wait_for_function(same.replace("one[0] > 20", "one[0] > 10"))
    page.keyboard.press("Shift+Z")
    expect(page).not_to_have_url(re.compile("scalars.(range|zoom)"))


def test_the_table_under_the_cursor_has_the_nearest_runs(serve: Serve, page: Page, logdir: Path) -> None:
    for run in range(12):
        write(logdir / f"run_{run:02}", loss=[float(run)] * 3)
    write(logdir / "ended", loss=[5.0, 5.0])
    page.goto(serve(logdir).url + PLAIN)
    page.wait_for_function("() => window.stepscope && stepscope.curveCards.find('loss')?.model?.lines.length === 13")
    x, y = page.evaluate(
        "() => { const p = stepscope.curveCards.find('loss').plot.toClient(2, 11); return [p.clientX, p.clientY]; }"
    )
    page.mouse.move(x - 3, y)
    rows = page.locator("#hover tbody tr")
    expect(rows).to_have_count(8)
    assert [row.locator("td").all_inner_texts()[1:] for row in rows.all()][:2] == [
        ["run_11", "11", "2"],
        ["run_10", "10", "2"],
    ]
    expect(page.locator("#hover .more")).to_have_text("and 5 more · A: all")
    page.keyboard.press("a")
    expect(rows).to_have_count(13)
    expect(page.locator("#hover th").last).to_have_text("Time")
    expect(rows.last).to_have_class("beyond")
    page.keyboard.press("a")
    expect(rows).to_have_count(8)
    # While a box is being drawn, nothing covers it.
    page.mouse.down()
    page.mouse.move(x - 200, y + 60, steps=4)
    expect(page.locator("#hover")).to_be_hidden()
    page.mouse.up()


def test_the_table_under_the_cursor_comes_with_lines_that_are_late(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[3.0, 2.0, 1.0])
    held = Held(page, "api/scalars/(curves|first)")
    page.goto(serve(logdir).url + PLAIN)
    page.wait_for_function("() => Boolean(window.stepscope && stepscope.curveCards.find('loss')?.plot.scene)")
    # Charts move when the list of runs takes its place.
    expect(page.locator(".run-grid .ag-row .run-name").first).to_be_visible()
    page.mouse.move(*at(page, "loss", 0.9, 0.5))
    page.wait_for_function("() => stepscope.curveCards.find('loss').plot.hand.resting !== null")
    expect(page.locator("#hover")).to_have_count(0)
    held.release()
    expect(page.locator("#hover tbody td")).to_have_text(["", "a", "1", "2"])


def test_the_table_under_the_cursor_leaves_that_of_the_marks_alone(serve: Serve, page: Page, logdir: Path) -> None:
    for run in range(12):
        write(logdir / f"run_{run:02}", loss=[float(run)] * 3)
    page.set_viewport_size({"width": 1000, "height": 640})
    page.goto(serve(logdir).url + PLAIN + "&scalars.marks=card:loss&scalars.marks=a:0&scalars.marks=b:2")
    wait_until_drawn(page, "loss", 3, 12)
    expect(page.locator(".dock tbody tr")).to_have_count(12)
    page.mouse.move(*at(page, "loss", 0.5, 0.6))
    expect(page.locator("#hover")).to_be_visible()
    bottom, top = (page.locator(part).bounding_box() for part in ("#hover", ".dock"))
    assert bottom is not None
    assert top is not None
    assert bottom["y"] + bottom["height"] <= top["y"]
    page.get_by_role("tab", name="Health").click()
    expect(page.locator("#hover")).to_be_hidden()


def test_a_long_curve_is_drawn_of_a_picture_until_all_points_are_there(
    serve: Serve, page: Page, logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.summary.index_lists._SETTLED_NS", 0)
    monkeypatch.setattr("stepscope.summary.packed_points.LARGEST_UNDIVIDED", 1 << 16)
    with SummaryWriter(logdir / "a") as writer:
        writer.add_scalar_batch("loss", np.arange(20_000.0), np.arange(20_000))
    first_start = Logdir(logdir, index=LogIndex(str(tmp_path / "index")))
    first_start.update()
    first_start.wait_until_stored()
    held = Held(page, "api/scalars/curves")
    page.goto(serve(logdir, index=LogIndex(str(tmp_path / "index"))).url + PLAIN)
    note = card(page, "loss").locator(".note")
    expect(note).to_have_text("Preview of 20,000 points per line")
    assert len(drawn(page, "loss")[0]["x"]) == 1024
    held.release()
    expect(note).to_have_text(re.compile(r"^Showing [\d,]+ of 20,000 points per line$"))
    assert drawn(page, "loss")[0]["x"][-1] == 19_999
