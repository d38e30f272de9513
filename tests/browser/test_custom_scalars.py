import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.custom_scalars import TAG
from stepscope.summary.logdir import Logdir
from stepscope.summary.logdir_source import source_of
from tests.browser.conftest import Busy, Dashboard
from tests.browser.test_scalars import drawn, wait_until_drawn

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]


def write(folder: Path, layout: bool = True) -> None:
    with SummaryWriter(str(folder)) as writer:
        for step in range(3):
            writer.add_scalars("loss", {"train": step, "test": step + 0.5}, step)
            for tag, value in (("mean", 2.0), ("low", 1.0), ("high", 4.0), ("x/one", 1.0), ("x/two", 2.0)):
                writer.add_scalar(tag, value + step, step)
        if layout:
            charts = {"both": ["Multiline", [r"x/.*"]], "margin": ["Margin", ["mean", "low", "high"]]}
            writer.add_custom_scalars({"Losses": charts})


def test_lines_and_margins_are_drawn_as_laid_out(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a")
    page.goto(serve(logdir).url + "?tab=custom_scalars&custom_scalars.smoothing=0&hide=a/loss_train&hide=a/loss_test")
    both, margin = '["Losses", "both"]', '["Losses", "margin"]'
    wait_until_drawn(page, both, 3, 2)
    assert [line["y"] for line in drawn(page, both)] == [[1, 2, 3], [2, 3, 4]]
    wait_until_drawn(page, margin, 3)
    assert [(line["low"], line["y"], line["high"]) for line in drawn(page, margin)] == [
        ([1, 2, 3], [2, 3, 4], [4, 5, 6])
    ]
    colors = page.evaluate(f"stepscope.curveCards.find({both!r}).model.lines.map((line) => line.color)")
    assert len(set(colors)) == 2
    expect(page.locator(".custom_scalars-card h3")).to_have_text(["both", "margin"])


def layouts(logdir: Path) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    series = Logdir(source_of(logdir)).update().series(".", TAG)
    assert series is not None
    saved = series.read(len(series) - 1)
    return [(c.title, [(chart.title, list(chart.multiline.tag)) for chart in c.chart]) for c in saved.category]


def test_the_editor_saves_a_layout_that_shows_at_once(serve: Serve, page: Page, logdir: Path, tmp_path: Path) -> None:
    write(logdir / "a", layout=False)
    page.goto(serve(logdir).url)
    page.get_by_role("button", name="Edit charts").click()
    page.get_by_label("Category").fill("Mine")
    page.get_by_label("Chart", exact=True).fill("two")
    page.get_by_label("Regular expression for tags").fill("x/.*")
    expect(page.locator(".layout .matches")).to_have_text("2 tags")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download Python code").click()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run([sys.executable, download.value.path()], cwd=elsewhere, check=True)
    assert layouts(elsewhere / "logs") == [("Mine", [("two", ["x/.*"])])]
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".custom_scalars-card h3")).to_have_text(["two"])
    expect(page).to_have_url(re.compile("tab=custom_scalars"))
    assert layouts(logdir) == [("Mine", [("two", ["x/.*"])])]


def test_two_people_who_edit_charts_hear_of_each_other(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a")
    other = page.context.new_page()
    url = serve(logdir).url
    for each, category in ((page, "Ann's"), (other, "Bob's")):
        each.goto(url)
        each.get_by_role("button", name="Edit charts").click()
        each.get_by_title("Remove").first.click()
        each.get_by_role("button", name="Add a category").click()
        each.get_by_label("Category").last.fill(category)
        each.get_by_label("Chart", exact=True).fill("two")
        each.get_by_label("Regular expression for tags").fill("x/.*")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#said")).to_have_text("Saved. Charts defined by the runs themselves are kept: both, margin")
    other.get_by_role("button", name="Save").click()
    expect(other.get_by_role("alert")).to_have_text(
        "Another layout was saved after you opened this editor. Save again to replace it, or cancel to see it."
    )
    assert "Bob's" not in [title for title, _ in layouts(logdir)]
    other.get_by_role("button", name="Save").click()
    expect(other.get_by_role("dialog")).to_have_count(0)
    assert "Bob's" in [title for title, _ in layouts(logdir)]


def test_a_layout_that_cannot_be_fetched_is_reported(serve: Serve, refused_page: Page, logdir: Path) -> None:
    write(logdir / "a")
    page = refused_page
    Busy(page, "/api/custom_scalars/layout", status=None)
    page.goto(serve(logdir).url)
    page.get_by_role("button", name="Edit charts").click()
    expect(page.get_by_text("The server does not respond. Is it still running?")).to_be_visible()


def test_a_layout_is_written_for_pages_of_this_server_only(serve: Serve, logdir: Path) -> None:
    write(logdir / "a", layout=False)
    url = serve(logdir).url + "/api/custom_scalars/layout"
    before = sorted(logdir.rglob("*"))
    assert httpx.post(url, content='{"category": []}', headers={"content-type": "text/plain"}).status_code == 415
    broken = httpx.post(url, content='{"category": 3}', headers={"content-type": "application/json"})
    assert (broken.status_code, broken.json()["detail"].partition(":")[0]) == (400, "Expected a Layout as JSON")
    assert sorted(logdir.rglob("*")) == before
