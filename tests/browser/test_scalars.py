import csv
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import FloatRect, Page, expect

from stepscope.dashboard.curves.smoothing import smooth
from stepscope.summary import SummaryWriter
from tests.browser.conftest import Dashboard

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]


def write(folder: Path, **scalars: list[float]) -> None:
    """Writes a run with scalars at steps 0, 1, ..."""
    with SummaryWriter(str(folder)) as writer:
        for tag, values in scalars.items():
            for step, value in enumerate(values):
                writer.add_scalar(tag, value, step)


def card(page: Page, tag: str) -> Any:
    return page.locator(f".scalars-card[data-key={json.dumps(tag)}]")


def drawn(page: Page, tag: str) -> list[dict[str, Any]]:
    """The lines of a card as drawn; None for values that are not finite."""
    lines: list[dict[str, Any]] = page.evaluate(
        """(tag) => {
          const plain = (array) => array && [...array].map((y) => (isFinite(y) ? y : null));
          const { model } = window.stepscope.curveCards.find(tag);
          return model.lines.map(({ label, axis, x, y, raw, low, high }) =>
            ({ label, axis, x: plain(x), y: plain(y), raw: plain(raw), low: plain(low), high: plain(high) }));
        }""",
        tag,
    )
    return lines


def wait_until_drawn(page: Page, tag: str, points: int, lines: int = 1) -> None:
    page.wait_for_function(
        """([tag, points, lines]) => {
          const card = window.stepscope && stepscope.curveCards.find(tag);
          const model = card && card.element.isConnected && card.model;
          const isDrawn = model && card.plot.scene?.model === card.plot.model;
          return isDrawn && model.lines.length === lines && model.lines.every((line) => line.x.length === points);
        }""",
        arg=[tag, points, lines],
    )


def place(page: Page, tag: str) -> FloatRect:
    box: FloatRect | None = card(page, tag).locator(".curve").bounding_box()
    assert box is not None
    return box


def at(page: Page, tag: str, x: float, y: float) -> tuple[float, float]:
    """A position on the page, given as fractions of a chart."""
    box = place(page, tag)
    return box["x"] + box["width"] * x, box["y"] + box["height"] * y


def drag(page: Page, tag: str, begin: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*at(page, tag, *begin))
    page.mouse.down()
    page.mouse.move(*at(page, tag, *end), steps=4)
    page.mouse.up()


def ink(page: Page, tag: str) -> int:
    """How many different colors the chart's pixels have."""
    count: int = card(page, tag).evaluate(
        """(card) => {
          const seen = new Set();
          for (const canvas of card.querySelectorAll('canvas')) {
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            for (let i = 0; i < data.length; i += 4)
              if (data[i + 3]) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
          }
          return seen.size;
        }"""
    )
    return count


def test_curves_have_the_values_that_were_written(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step, value in enumerate([4.0, 2.0, 1.0]):
            writer.add_scalar("train/loss", value, step * 10)
    page.goto(serve(logdir).url + "?scalars.smoothing=0.5")
    wait_until_drawn(page, "train/loss", 3)
    (line,) = drawn(page, "train/loss")
    assert (line["label"], line["x"], line["raw"]) == ("a", [0, 10, 20], [4.0, 2.0, 1.0])
    assert line["y"] == pytest.approx([4.0, (0.5 * 2 + 0.5 * 2) / 0.75, (0.5 * 2 + 0.5 * 1) / 0.875])
    assert ink(page, "train/loss") > 5


def test_the_page_smooths_as_the_server_does(serve: Serve, page: Page, logdir: Path) -> None:
    values = [math.sin(step / 9) + step % 7 for step in range(3000)]
    values[100] = math.nan
    write(logdir / "a", loss=values)
    page.goto(serve(logdir).url + "?scalars.smoothing=0.3")
    page.wait_for_function("() => window.stepscope && stepscope.curveCards.find('loss')?.chart?.smoothing === 0.3")
    # Read all at once: a sharper answer may replace this one at any time.
    x, shown, guessed = page.evaluate(
        """() => {
          const plain = (array) => [...array].map((v) => (isFinite(v) ? v : null));
          const { chart, model } = stepscope.curveCards.find('loss');
          const { y, mean, count } = chart.lines[0];
          const { x, y: shown } = model.lines[0];
          return [plain(x), plain(shown), plain(stepscope.curveModel.smooth(y, 0.9, mean, count))];
        }"""
    )
    chosen = np.array(x, np.int64)
    exact = smooth(np.array(values), 0.3)[chosen]
    assert shown == pytest.approx([None if math.isnan(y) else y for y in exact], abs=1e-5)
    # Until the server has answered, points that are not on the page count as their means.
    later = smooth(np.array(values), 0.9)[chosen]
    off = [abs(g - e) for g, e in zip(guessed, later.tolist(), strict=True) if g is not None]
    assert max(off) < 0.5
    assert (len(off), guessed.count(None)) == (len(chosen) - 1, 1)


def test_hover_tells_every_run_sorted_by_value_on_all_cards(serve: Serve, page: Page, logdir: Path) -> None:
    for run, value in (("low", 1.0), ("high", 3.0), ("middle", 2.0)):
        write(logdir / run, loss=[value + step / 4 for step in range(3)], other=[value] * 3)
    page.goto(serve(logdir).url + "?scalars.smoothing=0")
    wait_until_drawn(page, "loss", 3, 3)
    wait_until_drawn(page, "other", 3, 3)
    page.mouse.move(*at(page, "loss", 0.5, 0.5))
    rows = page.locator("#hover tbody tr")
    expect(rows).to_have_count(3)
    cells = [row.locator("td").all_inner_texts()[1:4] for row in rows.all()]
    assert cells == [["high", "3.25", "1"], ["middle", "2.25", "1"], ["low", "1.25", "1"]]
    page.mouse.move(5, 400)
    expect(page.locator("#hover")).to_be_hidden()


def test_one_point_is_visible(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_scalar("final/accuracy", 0.75, 7)
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "final/accuracy", 1)
    assert [(line["x"], line["y"]) for line in drawn(page, "final/accuracy")] == [([7], [0.75])]
    page.wait_for_function(
        """() => {
          const color = stepscope.curveCards.find('final/accuracy').model.lines[0].color;
          const [r, g, b] = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
          return [...document.querySelectorAll('.scalars-card canvas')].some((canvas) => {
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            let found = 0;
            for (let i = 0; i < data.length; i += 4)
              if (data[i] === r && data[i + 1] === g && data[i + 2] === b) found++;
            return found > 8;
          });
        }"""
    )


def test_nan_and_infinities_are_marked_where_they_happen(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[1.0, math.nan, 2.0, math.inf, 3.0, -math.inf, 4.0])
    page.goto(serve(logdir).url + "?scalars.smoothing=0")
    wait_until_drawn(page, "loss", 7)
    assert drawn(page, "loss")[0]["y"] == [1.0, None, 2.0, None, 3.0, None, 4.0]
    marks = page.evaluate("stepscope.curveCards.find('loss').model.marks.map((m) => [m.x, m.shape, m.title])")
    assert marks == [
        [1, "triangle-open", "NaN in a"],
        [3, "triangle-up", "+Inf in a"],
        [5, "triangle-down", "-Inf in a"],
    ]
    expect(card(page, "loss").locator(".note")).to_have_text("1 NaN · 2 infinite")
    page.mouse.move(*at(page, "loss", 0.53, 0.5))
    expect(page.locator("#hover td.value")).to_have_text("∞")


def test_growing_file_reaches_the_open_page_and_leaves_it_as_it_is(serve: Serve, page: Page, logdir: Path) -> None:
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


def test_zoom_fetches_the_points_in_between_and_double_click_resets(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[math.sin(step) for step in range(4000)])
    page.goto(serve(logdir).url)
    note = card(page, "loss").locator(".note")
    expect(note).to_have_text(re.compile(r"^Showing [\d,]+ of 4,000 points per line$"))
    drag(page, "loss", (0.4, 0.5), (0.5, 0.51))
    expect(note).to_have_text("")
    expect(page).to_have_url(re.compile("scalars.range=loss:"))
    low, high = page.evaluate("stepscope.curveCards.find('loss').plot.visibleRange().x")
    page.wait_for_function("() => stepscope.curveCards.find('loss').model.lines[0].x.length < 1000")
    assert drawn(page, "loss")[0]["x"] == list(range(math.ceil(low) - 1, math.floor(high) + 2))
    card(page, "loss").hover()
    expect(card(page, "loss").locator(".act-reset")).to_be_visible()
    page.mouse.dblclick(*at(page, "loss", 0.5, 0.5))
    expect(note).to_have_text(re.compile("of 4,000 points per line"))
    expect(card(page, "loss").locator(".act-reset")).to_be_hidden()
    assert "range" not in page.url


def test_opened_address_restores_everything(serve: Serve, page: Page, logdir: Path) -> None:
    for run in ("a", "b", "c"):
        write(
            logdir / run,
            **{
                "train/loss": [1.0, 2.0, 3.0],
                "train/accuracy": [1.0, 2.0, 3.0],
                "val/loss_a": [1.0],
                "val/loss_b": [1.0],
            },
        )
    address = (
        serve(logdir).url + "/?hide=b&run_filter=a%7Cb&tag_filter=loss&scalars.smoothing=0.9&scalars.axis=relative"
        "&scalars.y=log&scalars.x=log&scalars.ignore_outliers=on&scalars.closed=val&scalars.wide=train/loss"
        "&scalars.range=train/loss:,,1,2,,"
    )
    page.goto(address)
    wait_until_drawn(page, "train/loss", 3)
    expect(page.locator(".scalars-card")).to_have_count(1)
    expect(card(page, "train/loss")).to_have_class(re.compile(r"\bwide\b"))
    expect(page.locator("#run-count")).to_have_text("1 of 3 shown")
    expect(page.get_by_label("Filter tags by regular expression")).to_have_value("loss")
    expect(page.get_by_label("Smoothing, as a number")).to_have_value("0.9")
    assert [line["label"] for line in drawn(page, "train/loss")] == ["a"]
    axes = page.evaluate(
        """() => {
          const { x, y } = stepscope.curveCards.find('train/loss').model;
          return [x.suffix, x.scale, y.range, y.scale];
        }"""
    )
    assert axes == [" s", "log", [1, 2], "log"]
    assert page.url == address.replace("%7C", "|") or page.url == address


def test_tags_with_dots_and_slashes(serve: Serve, page: Page, logdir: Path) -> None:
    tag = 'layer.0.weight/mean "x" {y}'
    write(logdir / "run.with.dots", **{tag: [0.0, 1.0, 2.0]})
    page.goto(serve(logdir).url)
    wait_until_drawn(page, tag, 3)
    expect(page.locator(".scalars-card h3")).to_have_text(tag)


def test_large_groups_are_paged(serve: Serve, page: Page, logdir: Path) -> None:
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


def open_menu(page: Page, tag: str, name: str) -> None:
    card(page, tag).hover()
    card(page, tag).locator(f".act-{name}").click()


def test_downloads_have_all_points_unsmoothed(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[float(step) for step in range(1500)], other=[1.0])
    write(logdir / "b", loss=[7.0])
    page.goto(serve(logdir).url + "?scalars.smoothing=0.9")
    expect(card(page, "loss").locator(".note")).not_to_have_text("")

    def saved(name: str) -> Path:
        with page.expect_download() as started:
            page.locator(".menu").get_by_text(name, exact=True).click()
        path = Path(started.value.path())
        return path.rename(path.with_name(started.value.suggested_filename))

    open_menu(page, "loss", "menu")
    with saved("CSV").open() as file:
        rows = list(csv.reader(file))
    assert (rows[0], len(rows)) == (["run", "tag", "step", "wall_time", "value"], 1502)
    assert [rows[3][column] for column in (0, 1, 2, 4)] == ["a", "loss", "2", "2.0"]
    open_menu(page, "loss", "menu")
    assert len(pl.read_parquet(saved("Parquet"))) == 1501
    page.locator(".act-all").click()
    assert {row["tag"] for row in json.loads(saved("JSON").read_text())} == {"loss", "other"}
    open_menu(page, "other", "menu")
    assert saved("PNG").read_bytes().startswith(b"\x89PNG")
    page.locator(".act-all").click()
    sheet = saved("SVG").read_text()
    assert [title in sheet for title in ("loss", "other")] == [True, True]
    clips = re.findall(r'<clipPath id="(.*?)"', sheet)
    assert len(clips) == len(set(clips)) > 1
    page.get_by_role("button", name="Collapse all sections").click()
    page.locator(".act-all").click()
    page.locator(".menu").get_by_text("PNG", exact=True).click()
    expect(page.locator("#said")).to_have_text("There is no chart on this page.")


def test_smoothing_slider_redraws_and_is_remembered(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[4.0, 2.0, 1.0])
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 3)
    page.locator(".smoothing").get_by_role("slider").press("Home")
    expect(page.get_by_label("Smoothing, as a number")).to_have_value("0")
    expect(page).to_have_url(re.compile("scalars.smoothing=0(&|$)"))
    page.wait_for_function("() => stepscope.curveCards.find('loss').model.lines[0].raw === null")
    assert drawn(page, "loss")[0]["y"] == [4.0, 2.0, 1.0]


def test_the_same_cards_are_drawn_again_after_there_were_none(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[0.0, 1.0, 2.0])
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 3)
    tags = page.get_by_label("Filter tags by regular expression")
    tags.fill("nothing")
    expect(page.locator(".scalars-card")).to_have_count(0)
    tags.fill("")
    wait_until_drawn(page, "loss", 3)


def test_a_zoomed_card_that_is_mounted_anew_can_still_be_reset(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(100):
            writer.add_scalar("loss", step, step)
        writer.flush()
        page.goto(serve(logdir).url)
        wait_until_drawn(page, "loss", 100)
        drag(page, "loss", (0.4, 0.2), (0.8, 0.8))
        reset = card(page, "loss").locator(".act-reset")
        expect(reset).to_be_visible()
        writer.add_scalar("accuracy", 1, 0)
        writer.flush()
        expect(page.locator(".scalars-card")).to_have_count(2)
        expect(reset).to_be_visible()
        card(page, "loss").hover()
        reset.click()
        wait_until_drawn(page, "loss", 100)
        expect(reset).to_be_hidden()


def test_a_hover_box_holds_its_table_in_a_narrow_window(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / ("long_" * 20) / "seed_0", loss=[0.123456, 1.123456, 2.123456])
    page.set_viewport_size({"width": 900, "height": 700})
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 3)
    page.mouse.move(*at(page, "loss", 0.5, 0.5))
    expect(page.locator("#hover")).to_be_visible()
    right = "e => e.getBoundingClientRect().right"
    box, table = (page.locator(part).evaluate(right) for part in ("#hover", "#hover table"))
    assert table <= box <= 900


def test_seeds_are_one_line_with_a_band(serve: Serve, page: Page, logdir: Path) -> None:
    for lr in (1, 2):
        for seed in (0, 1):
            write(logdir / f"lr_{lr}" / f"seed_{seed}", loss=[lr + seed, lr - seed])
    page.goto(serve(logdir).url + "?runs.group=seeds&runs.band=minmax&scalars.smoothing=0")
    wait_until_drawn(page, "loss", 2, 2)
    first, second = drawn(page, "loss")
    assert (first["label"], first["low"], first["y"], first["high"]) == ("lr_1/seed_*", [1, 0], [1.5, 0.5], [2, 1])
    assert (second["label"], second["y"]) == ("lr_2/seed_*", [2.5, 1.5])
    page.mouse.move(*at(page, "loss", 0.1, 0.5))
    rows = page.locator("#hover tbody tr")
    expect(rows).to_have_count(2)
    assert rows.first.locator("td").all_inner_texts()[1:] == ["lr_2/seed_*", "2.5", "2 – 3", "2", "0"]


def test_a_smoothed_group_tells_what_is_drawn_and_in_its_order(serve: Serve, page: Page, logdir: Path) -> None:
    for seed in (0, 1):
        write(logdir / "falls" / f"seed_{seed}", loss=[4.0 + seed, 0.0 + seed])
    write(logdir / "alone" / "seed_0", loss=[1.0, 1.5])
    page.goto(serve(logdir).url + "?runs.group=seeds&runs.band=minmax&scalars.smoothing=0.5")
    wait_until_drawn(page, "loss", 2, 2)
    page.mouse.move(*at(page, "loss", 0.9, 0.5))
    expect(page.locator("#hover th")).to_have_text(["", "Group", "Smoothed", "Value", "Band", "Runs", "Step"])
    cells = [row.locator("td").all_inner_texts()[1:] for row in page.locator("#hover tbody tr").all()]
    # Ordered by what is drawn, although the other group's value is greater; a single run has no band.
    assert cells == [
        ["falls/seed_*", "1.83333", "0.5", "1.33333 – 2.33333", "2", "1"],
        ["alone/seed_0", "1.33333", "1.5", "", "", "1"],
    ]


def test_runs_that_ended_before_the_pointer_stand_last(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "short", loss=[9.0, 9.0, 9.0])
    write(logdir / "long", loss=[1.0] * 21)
    page.goto(serve(logdir).url + "?scalars.smoothing=0")
    page.wait_for_function("() => window.stepscope && stepscope.curveCards.find('loss')?.model?.lines.length === 2")
    page.mouse.move(*at(page, "loss", 0.8, 0.3))
    rows = page.locator("#hover tbody tr")
    expect(rows).to_have_count(2)
    assert [row.locator("td").all_inner_texts()[1] for row in rows.all()] == ["long", "short"]
    expect(rows.first).to_have_class("nearest")
    expect(rows.last).to_have_class("beyond")


def test_thinned_runs_are_read_at_the_same_step(serve: Serve, page: Page, logdir: Path) -> None:
    for run, factor in (("a", 0.7), ("b", 1.3)):
        write(logdir / run, loss=[math.sin(step * factor) for step in range(20_000)])
    page.goto(serve(logdir).url + "?scalars.smoothing=0")
    page.wait_for_function(
        "() => window.stepscope && stepscope.curveCards.find('loss')?.chart?.lines.every((line) => line.mean)"
    )
    # A place at which one run has a drawn point and the other has none.
    step = page.evaluate(
        """() => {
          const [a, b] = stepscope.curveCards.find("loss").model.lines.map((line) => [...line.x]);
          return a.find((x) => x > 5000 && !b.includes(x));
        }"""
    )
    x, y = page.evaluate(
        """(step) => { const place = stepscope.curveCards.find("loss").plot.toClient(step, 0);
          return [place.clientX, place.clientY]; }""",
        step,
    )
    page.mouse.move(x, y)
    rows = page.locator("#hover tbody tr")
    page.wait_for_function(
        "() => new Set([...document.querySelectorAll('#hover td.step')].map((cell) => cell.textContent)).size === 1"
    )
    for run, factor in (("a", 0.7), ("b", 1.3)):
        cells = rows.filter(has_text=re.compile(rf"^{run}")).locator("td").all_inner_texts()
        read = int(cells[3].replace(",", ""))
        assert float(cells[2].replace("−", "-")) == pytest.approx(math.sin(read * factor), rel=1e-4)


def test_marks_measure_between_two_places(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[8.0, 4.0, 2.0], other=[1.0, 1.0, 1.0])
    write(logdir / "b", loss=[1.0, 1.0, 4.0])
    page.goto(serve(logdir).url + "?scalars.smoothing=0")
    wait_until_drawn(page, "loss", 3, 2)
    page.mouse.click(*at(page, "loss", 0.12, 0.5))
    page.mouse.click(*at(page, "loss", 0.95, 0.5))
    rows = page.locator(".dock tbody tr")
    expect(rows).to_have_count(2)
    expect(page.locator(".dock th")).to_have_text(
        ["", "Run", re.compile("A ↓"), "Step A", "B", "Step B", "B − A", "Change", "Slope", "Time"]
    )
    assert [row.locator("td").all_inner_texts()[1:9] for row in rows.all()] == [
        ["a", "8", "0", "2", "2", "−6", "−75%", "−3.0"],
        ["b", "1", "0", "4", "2", "+3", "+300%", "+1.5"],
    ]
    page.locator(".dock th", has_text="B − A").get_by_role("button").click()
    expect(rows.first.locator("td").nth(1)).to_have_text("b")
    expect(page).to_have_url(re.compile("scalars.marks=card:loss&scalars.marks=a:.*&scalars.marks=b:"))
    page.reload()
    expect(rows).to_have_count(2)
    page.keyboard.press("Escape")
    expect(rows).to_have_count(0)


def test_a_view_of_before_takes_no_mark_away(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[8.0, 4.0, 2.0])
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 3)
    page.mouse.click(*at(page, "loss", 0.12, 0.5))
    header = page.locator(".dock header")
    expect(header).to_contain_text("at step 0")
    page.evaluate("""() => new Promise((done) => {
        const functions = dash_clientside.stepscope, follow = functions.curveNews;
        functions.curveNews = (...given) => [follow(...given), done()][0];
        dash_clientside.set_props("view", { data: "scalars.smoothing=0.9" });
    })""")
    expect(header).to_contain_text("at step 0")


def test_a_double_click_ends_a_zoom_and_sets_no_mark(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[8.0, 4.0, 2.0])
    page.goto(serve(logdir).url + "?scalars.range=loss:0,1,,,,")
    wait_until_drawn(page, "loss", 3)
    page.mouse.dblclick(*at(page, "loss", 0.5, 0.5))
    expect(page).not_to_have_url(re.compile("scalars.range"))
    page.mouse.click(*at(page, "loss", 0.12, 0.5))
    expect(page.locator(".dock header")).to_contain_text("at step 0")


def test_tags_are_combined_on_two_axes_and_taken_apart(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[1.0, 2.0], lr=[0.1, 0.01], other=[5.0, 6.0])
    page.goto(serve(logdir).url + "?scalars.smoothing=0")
    wait_until_drawn(page, "loss", 2)
    open_menu(page, "loss", "combine")
    page.get_by_placeholder("Find a tag").fill("lr")
    row = page.locator(".combine li:not([hidden])")
    expect(row).to_have_count(1)
    row.get_by_role("button", name="right").click()
    page.get_by_role("button", name="Show", exact=True).click()
    key = '[["loss"],["lr"]]'
    wait_until_drawn(page, key, 2, 2)
    assert [(line["axis"], line["y"]) for line in drawn(page, key)] == [
        ("y", [1.0, 2.0]),
        ("y2", pytest.approx([0.1, 0.01])),
    ]
    expect(page.locator(".group-name").first).to_have_text("Combined")
    open_menu(page, key, "menu")
    page.get_by_text("Split").click()
    expect(card(page, key)).to_have_count(0)


def test_cards_are_pinned_ordered_and_filled_out(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", **{f"x/{name}": [1.0, 2.0] for name in ("one", "two", "three")})
    page.goto(serve(logdir).url)
    for name in ("one", "two", "three"):
        wait_until_drawn(page, f"x/{name}", 2)
    titles = page.locator(".scalars-card h3")
    # A busy browser may not recognize a single move as a drag.
    card(page, "x/three").locator("header").drag_to(
        card(page, "x/one").locator("header"), target_position={"x": 3, "y": 10}, steps=5
    )
    expect(titles).to_have_text(["x/three", "x/one", "x/two"])
    open_menu(page, "x/two", "pin")
    expect(titles).to_have_text(["x/two", "x/three", "x/one"])
    expect(page.locator(".group-name")).to_have_text(["Pinned", "x"])
    open_menu(page, "x/one", "full")
    expect(card(page, "x/one")).to_have_class(re.compile(r"\bfull\b"))
    assert place(page, "x/one")["height"] > 700
    page.keyboard.press("Escape")
    expect(card(page, "x/one")).not_to_have_class(re.compile(r"\bfull\b"))


def test_a_card_that_is_moved_stays_on_its_page(serve: Serve, page: Page, logdir: Path) -> None:
    tags = [f"x/{number:02}" for number in range(15)]
    write(logdir / "a", **{tag: [1.0, 2.0] for tag in tags})
    page.goto(f"{serve(logdir).url}?scalars.page=x:2")
    titles = page.locator(".scalars-card h3")
    expect(titles).to_have_text(["x/12", "x/13", "x/14"])
    card(page, "x/14").locator("header").drag_to(
        card(page, "x/13").locator("header"), target_position={"x": 3, "y": 10}, steps=5
    )
    expect(titles).to_have_text(["x/12", "x/14", "x/13"])
    page.get_by_role("button", name="Previous page").click()
    expect(titles).to_have_text(tags[:12])


def test_a_card_whose_data_come_before_its_buttons_can_be_moved_and_unpinned(
    serve: Serve, page: Page, logdir: Path
) -> None:
    write(logdir / "a", **{"x/one": [1.0, 2.0], "x/two": [1.0, 2.0]})
    # The buttons are made in a frame, which a busy page draws late.
    page.add_init_script(
        """{
          const frames = window.requestAnimationFrame;
          window.requestAnimationFrame = (tell) => setTimeout(() => frames(tell), 500);
        }"""
    )
    page.goto(f"{serve(logdir).url}?scalars.pin=x/two")
    expect(card(page, "x/two").get_by_role("button", name="Unpin")).to_be_visible()
    expect(card(page, "x/one").locator("header")).to_have_attribute("draggable", "true")


def test_cards_are_pinned_faster_than_the_page_follows(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", **{f"x/{name}": [1.0, 2.0] for name in ("one", "two", "three")})
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "x/one", 2)
    page.evaluate(
        """() => {
          for (const tag of ["x/one", "x/two"])
            stepscope.curveCards.find(tag).element.querySelector(".act-pin").click();
        }"""
    )
    expect(page.locator(".scalars-card h3")).to_have_text(["x/one", "x/two", "x/three"])
    expect(page.locator(".group-name")).to_have_text(["Pinned", "Other"])


def test_a_late_drawing_leaves_a_zoom_under_the_hand(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[float(step) for step in range(101)])
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 101)
    page.locator(".scalars-card .curves").focus()
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("scalars.range=loss:15,85"))
    page.evaluate(
        """() => {
          document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
          stepscope.curveCards.redraw();
        }"""
    )
    expect(page).to_have_url(re.compile("scalars.range=loss:25.5,74.5"))


def test_limits_are_typed(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[1.0, 2.0, 3.0])
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 3)
    open_menu(page, "loss", "menu")
    page.get_by_label("y from").fill("0")
    page.get_by_label("y to").fill("10")
    page.get_by_role("button", name="Set", exact=True).click()
    page.wait_for_function("() => String(stepscope.curveCards.find('loss').plot.visibleRange().y) === '0,10'")
    open_menu(page, "loss", "menu")
    page.get_by_role("button", name="Fit").click()
    page.wait_for_function("() => stepscope.curveCards.find('loss').plot.visibleRange().y[1] < 4")


def test_limits_of_one_axis_leave_the_times_of_the_other(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[1.0, 2.0, 3.0])
    page.goto(f"{serve(logdir).url}?scalars.axis=wall&scalars.range=loss:1700000100.25,1700000700,,,,")
    # All points are later than the limits: the chart is sent the first of them alone.
    wait_until_drawn(page, "loss", 1)
    open_menu(page, "loss", "menu")
    page.get_by_label("y from").fill("0")
    page.get_by_label("y to").fill("10")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page).to_have_url(re.compile(r"scalars.range=loss:1700000100.25,1700000700,0,10,,(&|$)"))


def test_another_metric_is_the_horizontal_axis(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[3.0, 2.0, 1.0], samples=[100.0, 200.0, 400.0])
    page.goto(serve(logdir).url + "?scalars.smoothing=0")
    wait_until_drawn(page, "loss", 3)
    page.get_by_text("Metric", exact=True).click()
    page.get_by_role("textbox", name="Metric of the horizontal axis").click()
    page.get_by_role("option", name="samples").click()
    page.wait_for_function("() => stepscope.curveCards.find('loss').model.lines[0]?.x[2] === 400")
    assert drawn(page, "loss")[0]["x"] == [100.0, 200.0, 400.0]


def test_a_run_that_is_switched_off_leaves_at_once(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[1.0, 2.0])
    write(logdir / "b", loss=[3.0, 4.0])
    page.goto(serve(logdir).url)
    wait_until_drawn(page, "loss", 2, 2)
    page.get_by_label("Show a", exact=True).click()
    wait_until_drawn(page, "loss", 2, 1)
    assert [line["label"] for line in drawn(page, "loss")] == ["b"]
    page.get_by_label("Show a", exact=True).click()
    wait_until_drawn(page, "loss", 2, 2)


def test_no_scalars_say_what_to_do(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", loss=[1.0])
    page.goto(serve(logdir).url + "?tag_filter=nothing")
    expect(page.locator(".notice.none")).to_contain_text("No tag matches the filter")
