"""Histograms on the page: data, one point, none, growth and damage."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.proto.summary_pb2 import HistogramProto, Summary
from tests.browser.conftest import Dashboard

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]


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
    page.goto(serve(logdir).url + "?histograms.bins=written")
    wait_for_ridges(page, 2)
    assert ridges(page) == [{"step": 0, "total": 4}, {"step": 10, "total": 4}]
    expect(page.locator(".histograms-card .note")).to_be_empty()
    area = page.locator(".histograms-card .nsewdrag").bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + area["width"] / 4, area["y"] + area["height"] * 0.93)
    cells = page.locator("#bucket dd")
    expect(cells).to_have_count(6)
    assert cells.all_inner_texts()[:5] == ["10", "0", "1", "3 (75%)", "4"]


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
    expect(page.locator(".histograms-card .note")).to_have_text("empty at 1 step · 1 bin not finite, not drawn")


def test_without_such_data_there_is_no_tab(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    page.goto(serve(logdir).url)
    expect(page.get_by_role("tab")).to_have_text(["Scalars", "Health"])
