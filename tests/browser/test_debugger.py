"""The Debugger in a real browser: from the alert to the operation and the line, map, executions, code, comparison."""

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from playwright.sync_api import Page, Position, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.debugger.model import COLUMN
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from tests.browser.axe import violations
from tests.browser.conftest import Busy, Dashboard, Held
from tests.dashboard.debugger.recorded import going_bad, many, write, write_steps
from tests.summary.debugger.dumps import write_dump, write_eager

pytestmark = pytest.mark.browser

PAGES: Final = ("alerts", "map", "execution", "source", "compare")


@pytest.fixture
def debugged(serve: Callable[..., Dashboard], logdir: Path) -> str:
    """The address of the panel for a training run that goes bad."""
    bad = going_bad()
    write(logdir / "bad", bad)
    figures = bad.observed.figures.copy()
    figures[32:, COLUMN["l2"]] *= 1.5
    write(logdir / "other", replace(bad, observed=replace(bad.observed, figures=figures)))
    with SummaryWriter(str(logdir / "bad")) as writer:
        for step in range(0, 120, 10):
            writer.add_scalar("loss", 1 / (1 + step), step)
    return f"{serve(logdir).url}?tab=debugger&debugger.id=bad|recording"


@pytest.fixture
def open_debugger(debugged: str, page: Page) -> Callable[[str], Page]:
    """A function that opens the panel with a query."""

    def go(query: str) -> Page:
        page.goto(f"{debugged}&{query}")
        return page

    return go


def facts(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("window.stepscope.debugger.debug()")
    return found


def wait_for_fact(page: Page, name: str, value: Any) -> None:
    page.wait_for_function(
        "([name, value]) => JSON.stringify(window.stepscope.debugger?.debug()?.[name]) === JSON.stringify(value)",
        arg=[name, value],
    )


def map_cell(page: Page, row: float, step: float) -> Position:
    """Where a position on the map is on its canvas."""
    page.locator(".debugger-canvas[data-drawn]").wait_for()
    page.wait_for_function("() => window.stepscope.debugger.debug().pending === false")
    found = facts(page)
    layout, (top, bottom), (first, last) = found["layout"], found["rows"], found["steps"]
    return {
        "x": layout["left"] + (step - first) / (last - first) * layout["plotWidth"],
        "y": layout["top"] + (row - top) / (bottom - top) * layout["plotHeight"],
    }


def test_an_alert_leads_to_the_operation_and_its_line_in_two_clicks(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("")
    expect(page.locator(".debugger-verdict h2")).to_have_text(
        "Step 80: log (float32) is the first with 8 NaN of 32 elements, at model.py:5 in forward. "
        "It produced them: its inputs were finite (layer from -1 to 82)."
    )
    page.get_by_role("button", name="head has 4 NaN").click()
    details = page.locator(".debugger-details")
    expect(details.get_by_role("heading", name="head", exact=True)).to_be_visible()
    expect(details.locator(".debugger-said")).to_have_text("Its inputs were already non-finite: log.")
    page.get_by_role("button", name="log has 8 NaN").click()
    expect(details.locator(".debugger-kind")).to_have_text("aten.log · float32 [4, 8] · forward · in net")
    expect(details.locator(".debugger-excerpt .here code")).to_have_text("    x = torch.log(x)")
    expect(details.locator(".debugger-stack > li").nth(1)).to_contain_text("model.py:5 forward")
    details.get_by_role("button", name="model.py:5").first.click()
    expect(page.locator(".debugger-code [aria-current]")).to_contain_text("x = torch.log(x)")
    assert "debugger.view=source" in page.url


def train_to_infinity(folder: Path) -> None:
    """Train a PyTorch model that takes the logarithm of zero at step 4; with curves, a graph and a trace alongside."""
    torch = pytest.importorskip("torch")
    from stepscope import debug, profiler

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            return torch.log(self.layer(x).abs() * self.scale).sum()

        scale = 1.0

    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    with SummaryWriter(str(folder)) as writer:
        writer.add_graph(net, torch.ones(2, 4))
        profiler.start(folder)
        with debug.watch(net, folder, every=1, operations=True, on_alert=[]):
            for step in range(6):
                net.scale = 0.0 if step == 4 else 1.0
                optimizer.zero_grad()
                loss = net(torch.ones(2, 4))
                loss.backward()
                optimizer.step()
                writer.add_scalar("loss", loss.item(), step)
                profiler.step()
        profiler.stop()


def test_a_training_of_pytorch_leads_to_its_operation_and_line(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    train_to_infinity(logdir / "torch")
    page.goto(f"{serve(logdir).url}?tab=debugger")
    expect(page.locator(".debugger-verdict h2")).to_have_text(
        re.compile(
            r"^Step 4: aten\.log \(float32\) is the first with 6 -Inf of 6 elements, at .*test_debugger\.py:\d+ "
        )
    )
    details = page.locator(".debugger-details")
    expect(details.locator(".debugger-kind")).to_contain_text("aten.log")
    details.get_by_role("button", name="Timeline").click()
    expect(page.get_by_role("tab", name="Timeline", selected=True)).to_be_visible()
    # Once the steps of the recording's file are known, it is shown rather than that of the step alone.
    page.wait_for_url(re.compile(r"timeline\.trace=[^&]*(step_4|trace\.json)"))
    page.go_back()
    details.get_by_role("button", name="Graph").click()
    page.wait_for_function("() => stepscope.graph?.debug?.()?.selected === 'Net/log'")
    page.go_back()
    details.get_by_role("button", name="Scalars").click()
    expect(page.locator(".card.drawn canvas").first).to_be_visible()
    page.go_back()
    details.get_by_role("button", name="Health map").click()
    expect(page.locator(".debugger-curve h2")).to_contain_text("aten.log")
    page.go_back()
    page.get_by_role("button", name=re.compile(r"^Line \d+$")).click()
    expect(page.locator(".debugger-code [aria-current] code")).to_have_text(
        "            return torch.log(self.layer(x).abs() * self.scale).sum()"
    )


def test_an_alert_leads_to_its_step_on_the_curves(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("")
    page.locator(".debugger-details").get_by_role("button", name="Scalars").click()
    expect(page.locator(".card.drawn canvas").first).to_be_visible()
    assert "tab=scalars" in page.url or "tab=" not in page.url


def test_the_map_marks_the_first_bad_cell_and_shows_the_curve_of_a_row(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("debugger.view=map")
    canvas = page.get_by_role("img", name="Health map: L2 norm of 5 tensors over 12 steps")
    assert "The first value that is not finite is at step 80." in (canvas.get_attribute("aria-label") or "")
    canvas.hover(position=map_cell(page, 1.5, 9.5))
    expect(page.locator(".debugger-tip")).to_have_text("logaten.log · in netstep 90 · NaN · L2 norm 1,024")
    canvas.click(position=map_cell(page, 2.5, 3.5))
    curve = page.locator(".debugger-curve")
    expect(curve.get_by_role("heading", name="head", exact=True)).to_be_visible()
    expect(curve.locator(".debugger-when")).to_have_text("L2 norm of 12 values, 4 of them not finite")
    wait_for_fact(page, "curve", {"tensor": 2, "points": 12})
    spread = page.get_by_role("region", name="Histogram")
    expect(spread).to_contain_text('debug.watch(..., tensors="histogram")')
    page.get_by_role("button", name="First non-finite", exact=True).first.click()
    wait_for_fact(page, "selected", {"row": 1, "step": 8})
    page.keyboard.press("Enter")
    expect(page.locator(".debugger-details h2")).to_have_text("log")
    wait_for_fact(page, "details", 41)


def test_a_curve_that_did_not_come_is_asked_for_by_a_button_and_no_other_is_in_its_place(
    debugged: str, refused_page: Page
) -> None:
    page = refused_page
    page.goto(f"{debugged}&debugger.view=map&debugger.tensor=2")
    curve, plot = page.locator(".debugger-curve"), page.locator(".debugger-plot canvas").first
    expect(plot).to_be_visible()
    server = Busy(page, "/api/debugger/curve?")
    page.locator(".debugger-canvas").click(position=map_cell(page, 1.5, 3.5))
    expect(curve).to_contain_text("status 503")
    expect(plot).to_be_hidden()
    server.free()
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    curve.get_by_role("button", name="Retry").click()
    wait_for_fact(page, "curve", {"tensor": 1, "points": 12})
    expect(plot).to_be_visible()


def test_the_map_is_zoomed_searched_and_sorted(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("debugger.view=map")
    start, end = map_cell(page, 1.02, 4.02), map_cell(page, 2.98, 7.98)
    box = page.locator(".debugger-canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + start["x"], box["y"] + start["y"])
    page.mouse.down()
    page.mouse.move(box["x"] + end["x"], box["y"] + end["y"], steps=4)
    page.mouse.up()
    wait_for_fact(page, "steps", [4, 8])
    wait_for_fact(page, "rows", [1, 4])
    page.wait_for_url(re.compile("debugger.steps=40(:|%3A)7"))
    page.keyboard.press("0")
    wait_for_fact(page, "steps", [0, 12])
    total = facts(page)["total"]
    page.get_by_role("searchbox", name="Search tensors").fill("weight")
    wait_for_fact(page, "total", 2)
    page.get_by_role("searchbox", name="Search tensors").fill("")
    wait_for_fact(page, "total", total)
    page.get_by_role("combobox", name="Statistic").select_option("maximum")
    wait_for_fact(page, "figure", "maximum")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    rows = list(csv.reader(download.value.path().open()))
    assert rows[0] == ["tensor", "phase", *map(str, range(0, 120, 10))]
    assert rows[2] == ["log", "forward", *(str(2 + step) for step in range(0, 80, 10)), *["NaN"] * 4]


def test_a_tensor_that_a_search_leaves_out_has_no_row_on_the_map(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("debugger.view=map")
    page.locator(".debugger-canvas").click(position=map_cell(page, 2.5, 3.5))
    wait_for_fact(page, "selected", {"row": 2, "step": 3})
    search = page.get_by_role("searchbox", name="Search tensors")
    search.fill("weight")
    wait_for_fact(page, "total", 2)
    wait_for_fact(page, "selected", {"row": -1, "step": 3})
    search.fill("")
    wait_for_fact(page, "selected", {"row": 2, "step": 3})


def test_a_map_of_many_tensors_and_steps_is_drawn_in_the_detail_of_the_screen(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write(logdir / "many", many(2_000, 40))
    page.goto(f"{serve(logdir).url}?tab=debugger&debugger.view=map")
    map_cell(page, 0, 0)
    found = facts(page)
    assert found["total"] == 2_000
    assert found["lines"] <= found["layout"]["plotHeight"] + 1
    page.locator(".debugger-canvas").focus()
    for _ in range(6):
        page.keyboard.press("Shift+ArrowUp")
    page.wait_for_function("() => window.stepscope.debugger.debug().lines < 200")


def test_a_row_is_not_outlined_where_another_statistic_puts_another_tensor(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write(logdir / "many", many(2_000, 40))
    page.goto(f"{serve(logdir).url}?tab=debugger&debugger.view=map&debugger.order=worst&debugger.figure=l2")
    page.locator(".debugger-canvas").click(position=map_cell(page, 1_002.5, 3.5))
    wait_for_fact(page, "selected", {"row": 1_002, "step": 3})
    expect(page).to_have_url(re.compile(r"debugger\.tensor=997"))
    page.get_by_role("combobox", name="Statistic").select_option("nan")
    # Each line of the map is several rows, and the page knows only the first one of each.
    page.wait_for_function("() => [-1, 997].includes(window.stepscope.debugger.debug().selected.row)")


@pytest.mark.parametrize("order", ["run", "name"])
def test_a_selected_row_stays_selected_when_steps_come(
    serve: Callable[..., Dashboard], page: Page, logdir: Path, order: str
) -> None:
    whole = many(2_000, 41)
    write(logdir / "many", replace(whole, observed=whole.observations(0, 2_000 * 40)))
    page.goto(f"{serve(logdir).url}?tab=debugger&debugger.view=map&debugger.order={order}")
    page.locator(".debugger-canvas").click(position=map_cell(page, 1_002.5, 3.5))
    # Each line of the map is several rows, of which this is not the first.
    wait_for_fact(page, "selected", {"row": 1_002, "step": 3})
    expect(page).to_have_url(re.compile(r"debugger\.tensor=\d+"))
    write_steps(EventFileWriter(logdir / "many"), replace(whole, observed=whole.observations(2_000 * 40, 2_000 * 41)))
    page.wait_for_function("() => /41 steps$/.test(document.querySelector('.debugger-map-foot').textContent)")
    wait_for_fact(page, "pending", False)
    assert facts(page)["selected"] == {"row": 1_002, "step": 3}


def test_executions_are_filtered_and_walked_up_with_one_key(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("debugger.view=execution")
    rows = page.get_by_role("listbox", name="Executions").get_by_role("option")
    expect(rows.first).to_contain_text("layer")
    wait_for_fact(page, "total", 60)
    page.get_by_role("searchbox", name="Filter").fill("aten.linear")
    wait_for_fact(page, "total", 24)
    page.get_by_role("checkbox", name="Only non-finite").check()
    wait_for_fact(page, "total", 4)
    rows.first.click()
    wait_for_fact(page, "details", 42)
    # Keys move through the list while its rows are still loading.
    held = Held(page, r"/observations\?")
    page.keyboard.press("u")
    wait_for_fact(page, "details", 41)
    expect(page.locator(".debugger-details h2")).to_have_text("log")
    expect(page.locator(".debugger-said")).to_have_text(
        "This operation produced the non-finite values: all its inputs are finite."
    )
    wait_for_fact(page, "total", 60)
    page.locator(".debugger-list").focus()
    page.keyboard.press("End")
    wait_for_fact(page, "selected", 59)
    page.keyboard.press("ArrowUp")
    wait_for_fact(page, "selected", 58)
    held.release()
    wait_for_fact(page, "details", 58)
    # Each key continues from where the previous one leads, whether that is known yet or not.
    for _ in range(3):
        page.keyboard.press(",")
    wait_for_fact(page, "details", 43)


def test_a_search_that_is_not_a_valid_regular_expression_says_so_at_the_box(
    open_debugger: Callable[[str], Page],
) -> None:
    errors: list[str] = []
    for name, label in (("execution", "Filter"), ("map", "Search tensors")):
        page = open_debugger(f"debugger.view={name}")
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        field = page.get_by_role("searchbox", name=label)
        alert = page.locator(".debugger-search-problem")
        field.fill("log(")
        expect(alert).to_have_text("Not a regular expression: missing ) at position 4.")
        expect(field).to_have_attribute("aria-invalid", "true")
        field.fill("log")
        expect(alert).to_be_hidden()
        wait_for_fact(page, "total", 12 if name == "execution" else 1)
    assert errors == []


def test_executions_of_python_are_filtered_and_walked_up_with_one_key(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_eager(logdir / "dump")
    page.goto(f"{serve(logdir).url}?tab=debugger&debugger.view=execution")
    wait_for_fact(page, "total", 11)
    page.get_by_role("combobox", name="Device").select_option(label="GPU:1")
    wait_for_fact(page, "total", 3)
    page.get_by_role("combobox", name="Operation").select_option(label="AddV2")
    wait_for_fact(page, "total", 1)
    page.get_by_role("combobox", name="Device").select_option(label="Device")
    wait_for_fact(page, "total", 3)
    page.locator(".debugger-list").focus()
    page.keyboard.press("End")
    wait_for_fact(page, "details", 10)
    expect(page.locator(".debugger-when")).to_contain_text("on CPU:0")
    for number in (9, 8):
        page.keyboard.press("u")
        wait_for_fact(page, "details", number)
    expect(page.locator(".debugger-said")).to_have_text(
        "This operation produced the non-finite values: all its inputs are finite."
    )
    wait_for_fact(page, "total", 11)
    expect(page.locator(".debugger-related").first).to_contain_text("Neg at eager.py:1")


def test_a_list_of_very_many_executions_is_read_where_it_is_looked_at(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write(logdir / "many", many(500, 800))
    page.goto(f"{serve(logdir).url}?tab=debugger&debugger.view=execution")
    wait_for_fact(page, "total", 400_000)
    page.locator(".debugger-list").focus()
    # A finger on a trackpad moves by less than a row at a time.
    page.locator(".debugger-list").evaluate(
        """(list) => {
          for (let turn = 0; turn < 4; turn += 1) list.dispatchEvent(new WheelEvent("wheel", { deltaY: 8 }));
        }"""
    )
    expect(page.locator(".debugger-list [data-place]").first).to_have_attribute("data-place", "1")
    page.keyboard.press("End")
    wait_for_fact(page, "details", 399_999)
    expect(page.locator(".debugger-row[aria-selected=true]")).to_contain_text("layer.499")
    assert page.get_by_role("listbox", name="Executions").get_by_role("option").count() < 60


def test_a_panel_that_was_left_keeps_no_chart(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("debugger.view=map&debugger.tensor=1")
    plot = page.locator(".debugger-plot canvas").first
    expect(plot).to_be_visible()
    page.get_by_role("tab", name="Scalars").click()
    expect(page.locator(".scalars-card canvas").first).to_be_visible()
    page.get_by_role("tab", name="Debugger").click()
    expect(plot).to_be_visible()
    plots = "() => [...stepscope.curves.loop.charts.keys()].filter((plot) => plot.matches('.debugger-plot')).length"
    assert page.evaluate(plots) == 1


def test_a_kept_value_is_shown_as_numbers_and_as_a_histogram(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_dump(logdir / "dump", tfdbg.FULL_TENSOR)
    page.goto(f"{serve(logdir).url}?tab=debugger")
    expect(page.locator(".debugger-verdict h2")).to_contain_text("Log:0 (float32) is the first with 1 NaN and 1 -Inf")
    value = page.get_by_role("region", name="Value")
    expect(value.locator("td")).to_have_text(["0", "−∞", "NaN"])
    expect(value.locator(".debugger-bars")).to_have_attribute("aria-label", re.compile("1 NaN, 1 infinite$"))
    with page.expect_download() as download:
        value.get_by_role("button", name=".npy").click()
    np.testing.assert_array_equal(np.load(download.value.path()), np.array([0, -np.inf, np.nan], np.float32))
    page.locator(".debugger-details").get_by_role("button", name="Health map").click()
    spread = page.get_by_role("region", name="Histogram")
    expect(spread.get_by_role("heading")).to_have_text("Histogram at step 1")
    page.locator(".debugger-canvas").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    expect(spread.get_by_role("heading")).to_have_text("Histogram at step 0")
    expect(spread.get_by_role("img")).to_have_attribute("aria-label", "Histogram: 0 to 1.386")


def test_lines_of_code_are_marked_by_what_they_made(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("debugger.view=source")
    expect(page.locator(".debugger-code .marked")).to_have_count(3)
    expect(page.locator(".debugger-code .bad .debugger-mark")).to_have_text(
        ["4 of 12 non-finite", "4 of 12 non-finite"]
    )
    expect(page.locator(".debugger-code [aria-current] .number")).to_have_text("5")
    page.keyboard.press("b")
    expect(page.locator(".debugger-code [aria-current] .number")).to_have_text("5")
    page.keyboard.press("b")
    expect(page.locator(".debugger-code [aria-current] .number")).to_have_text("6")
    page.locator(".debugger-mark.bad").first.click()
    wait_for_fact(page, "details", 41)


def test_two_recordings_are_compared(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("debugger.view=compare")
    # There is only one other recording, so it need not be chosen.
    expect(page.get_by_role("combobox", name="Compare with").locator("option:checked")).to_have_text("other")
    expect(page.locator(".debugger-compare h2")).to_have_text(
        "Step 60: head is the first that differs: L2 norm 192 against 288, by 33.33%."
    )
    expect(page.locator(".debugger-compare tbody tr")).to_have_count(5)
    page.get_by_role("button", name="head", exact=True).click()
    wait_for_fact(page, "details", 32)


def test_a_recording_is_not_compared_with_itself(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("debugger.view=compare&debugger.other=bad|recording")
    expect(page.get_by_role("combobox", name="Compare with").locator("option:checked")).to_have_text("other")
    expect(page.locator(".debugger-compare h2")).to_contain_text("head is the first that differs")


def test_keys_turn_from_page_to_page(open_debugger: Callable[[str], Page]) -> None:
    page = open_debugger("")
    expect(page.locator(".debugger-verdict")).to_be_visible()
    for key, name in (("M", "map"), ("E", "execution"), ("S", "source"), ("C", "compare"), ("A", "alerts")):
        page.keyboard.press(f"Shift+{key}")
        wait_for_fact(page, "page", name)
    page.go_back()
    wait_for_fact(page, "page", "compare")


def test_axe_finds_nothing(open_debugger: Callable[[str], Page]) -> None:
    for name in PAGES:
        page = open_debugger(f"debugger.view={name}&debugger.tensor=1&debugger.at=41&debugger.other=other|recording")
        wait_for_fact(page, "page", name)
        wait_for_fact(page, "pending", 0 if name != "map" else False)
        found = violations(page)
        assert not found, "\n".join((name, *found))


def test_nothing_is_wider_than_a_phone(open_debugger: Callable[[str], Page]) -> None:
    for name in PAGES:
        page = open_debugger(f"debugger.view={name}&debugger.tensor=1&debugger.at=41&debugger.other=other|recording")
        page.set_viewport_size({"width": 390, "height": 844})
        wait_for_fact(page, "page", name)
        page.wait_for_function(
            "() => (({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.getElementById('panel'))"
        )
    page.set_viewport_size({"width": 1280, "height": 900})


def test_without_a_recording_it_says_how_to_make_one(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "run")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    page.goto(f"{serve(logdir).url}?tab=debugger")
    expect(page.locator(".card.drawn")).to_be_visible()
    assert page.get_by_role("tab", name="Debugger").count() == 0
