import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.hparams import checked_hparams, session_start, start_info
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame
from tests.browser.conftest import Dashboard, Held, expect_uncut, wait_until

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]
SEARCH = "Search runs by regular expression or condition"


def write_run(folder: Path, hparams: dict[str, Any], *values: float, at: float = 1000.0) -> None:
    with SummaryWriter(str(folder)) as writer:
        if hparams:
            start = session_start(start_info(checked_hparams(hparams)))
            writer.add_summary(Summary(value=[start]), 0, walltime=at)
        for step, value in enumerate(values):
            writer.add_scalar("loss", value, step, walltime=at + step)


def write_seeds(logdir: Path) -> None:
    """Two seeds of two trainings: a (lr 0.1) and b (lr 0.0012345)."""
    for place, (name, rate, seed) in enumerate(
        (("a", 0.1, 0), ("b", 0.0012345, 0), ("a", 0.1, 1), ("b", 0.0012345, 1))
    ):
        hparams = {"lr": rate, "seed": seed, "layers": 2}
        write_run(logdir / name / f"seed_{seed}", hparams, 3.0 + place, 1.0 + place, at=1000.0 + place)


def opened(serve: Serve, page: Page, logdir: Path, query: str = "") -> None:
    page.goto(f"{serve(logdir).url}/{query}")
    expect(page.locator(".run-grid .run-name").first).to_be_visible()


def expect_names(page: Page, *expected: str) -> None:
    """Waits for the rows to be these, from the top: labels of runs, and of groups with their numbers of runs."""
    expect(page.locator(".run-grid .run-name")).to_have_count(len(expected))
    page.wait_for_function(
        """(expected) => {
          const text = (name, part) => (name.querySelector(part) || { textContent: "" }).textContent;
          const label = (name) => (text(name, ".dim") + text(name, ".leaf") + " " + text(name, ".count")).trim();
          const found = [...document.querySelectorAll(".run-grid .run-name")]
            .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
          return JSON.stringify(found.map(label)) === JSON.stringify(expected);
        }""",
        arg=list(expected),
    )


def row(page: Page, name: str) -> Locator:
    return page.locator(".run-grid .run-name", has_text=name)


def cells(page: Page, column: str) -> list[str]:
    """The texts of a column, from the top."""
    found: list[str] = page.evaluate(
        """(column) => [...document.querySelectorAll(`.run-grid .ag-cell[col-id="${column}"]`)]
          .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
          .map((cell) => cell.innerText.trim())""",
        column,
    )
    return found


def expect_cells(page: Page, column: str, *expected: str) -> None:
    """Wait for a column's texts, from the top: its head comes before its cells."""
    wait_until(page, lambda: cells(page, column) == list(expected), f"{column} is not {expected}")


def test_hyperparameters_that_differ_are_columns_and_others_can_be(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    header = page.locator(".run-grid .ag-header-cell-text")
    expect(header).to_have_text(["Shown", "Run", "lr", "seed", "Started"])
    expect_cells(page, "hparam:lr", "0.1", "0.001234", "0.1", "0.001234")
    page.locator(".run-grid .ag-cell[col-id='hparam:lr']").nth(1).hover()
    expect(page.locator(".ag-tooltip")).to_have_text("0.0012345")

    page.get_by_role("button", name="Columns").click()
    box = page.get_by_role("dialog", name="Columns")
    box.get_by_label("seed").uncheck()
    box.locator(".metric", has_text="loss").get_by_label("min").check()
    expect(header).to_have_text(["Shown", "Run", "lr", "loss min", "Started"])
    expect_cells(page, "metric:loss.min", "1", "2", "3", "4")
    expect(page).to_have_url(re.compile(r"runs.columns=hparam:lr&runs.columns=metric:loss.min$"))
    box.get_by_role("button", name="Reset").click()
    expect(header).to_have_text(["Shown", "Run", "lr", "seed", "Started"])

    page.get_by_role("button", name="Widen the table of runs").click()
    expect(page.get_by_role("button", name="Widen the table of runs")).to_have_attribute("aria-pressed", "true")
    page.wait_for_function("() => document.querySelector('#sidebar').clientWidth > innerWidth / 2")


def test_columns_sort_and_filter(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    write_run(logdir / "bare", {}, 2.0, at=2000.0)
    opened(serve, page, logdir, "?runs.columns=metric:loss.last&runs.columns=hparam:lr")
    expect_names(page, "a/seed_0", "b/seed_0", "a/seed_1", "b/seed_1", "bare")
    header = page.locator(".run-grid .ag-header-cell", has_text="lr")
    header.click()
    expect_names(page, "b/seed_0", "b/seed_1", "a/seed_0", "a/seed_1", "bare")
    header.click()
    expect_names(page, "a/seed_0", "a/seed_1", "b/seed_0", "b/seed_1", "bare")
    # Through Dash, which may give the grid all the properties that it knows again when another of them changes.
    page.evaluate(
        """() => dash_clientside.set_props("runs-grid", {
          filterModel: {"metric:loss.last": {filterType: "number", type: "lessThan", filter: 2.5}}
        })"""
    )
    expect(page.locator("#runs-notes")).to_contain_text("Column filters match 3 of 5 runs.")
    expect_names(page, "a/seed_0", "b/seed_0", "bare")
    page.get_by_role("button", name="Show only these").click()
    expect(page.locator("#run-count")).to_have_text("3 of 5 shown")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect_names(page, "a/seed_0", "a/seed_1", "b/seed_0", "b/seed_1", "bare")


def test_of_many_runs_the_first_are_listed_and_more_as_one_scrolls(serve: Serve, page: Page, logdir: Path) -> None:
    for number in range(1100):
        folder = logdir / f"r{number:04}"
        folder.mkdir()
        value = Summary.Value(tag="loss", simple_value=float(number))
        event = Event(wall_time=1000.0 + number, summary=Summary(value=[value]))
        (folder / "events.out.tfevents.1").write_bytes(frame(event.SerializeToString()))
    opened(serve, page, logdir)
    notes, first = page.locator("#runs-notes"), page.locator(".run-grid .ag-row[row-index='0'] .run-name")
    expect(notes).to_contain_text("The table lists the first 1,000 of 1,100 runs; scroll down for more.")
    expect(first).to_have_text("r0000")
    header = page.locator(".run-grid .ag-header-cell", has_text="Run")
    header.click()
    header.click()
    expect(first).to_have_text("r1099")
    assert "runs.sort=run:desc" in page.url
    page.evaluate("""() => {
      const grid = dash_ag_grid.getApi("runs-grid");
      grid.ensureIndexVisible(grid.getDisplayedRowCount() - 1);
    }""")
    expect(notes).not_to_contain_text("The table lists")
    page.evaluate('() => dash_ag_grid.getApi("runs-grid").ensureIndexVisible(1099)')
    expect(row(page, "r0000")).to_be_visible()
    page.get_by_label(SEARCH).fill("r10[4-9].")
    expect(notes).to_contain_text("Showing 20 of 60 runs found.")
    page.get_by_role("button", name="Show these").click()
    expect(page.locator("#run-count")).to_have_text("60 of 1,100 shown")


def test_runs_are_searched_by_conditions(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    field = page.get_by_label(SEARCH)
    field.fill("lr < 0.01 and loss.last < 3")
    expect_names(page, "b/seed_0")
    expect(page.locator("#run-count")).to_have_text("1 of 4 shown")
    field.fill("depth < 3")
    expect(page.locator("#sidebar")).to_contain_text("Not understood: no run has 'depth'")
    expect(page.locator("#run-count")).to_have_text("4 of 4 shown")
    page.get_by_role("button", name="Search syntax").click()
    page.get_by_role("button", name="lr <= 0.0012345", exact=True).click()
    expect(field).to_have_value("lr <= 0.0012345")
    expect(page.locator("#run-count")).to_have_text("2 of 4 shown")


def test_what_a_search_finds_is_shown_at_once_and_all_of_it_by_a_click(serve: Serve, page: Page, logdir: Path) -> None:
    for number in range(52):
        write_run(logdir / f"run_{number:02d}", {}, 1.0, at=1000.0 + number)
    opened(serve, page, logdir)
    shown = page.locator("#run-count")
    note = page.locator("#runs-notes")
    expect(shown).to_have_text("20 of 52 shown")
    expect(note).not_to_contain_text("found")
    page.get_by_label(SEARCH).fill("run_[345]")
    expect(note).to_contain_text("Showing 20 of 22 runs found.")
    expect(page.get_by_label("Show run_30")).to_have_attribute("aria-checked", "true")
    expect(page.get_by_label("Show run_50")).to_have_attribute("aria-checked", "false")
    expect(shown).to_have_text("20 of 52 shown")
    note.get_by_role("button", name="Show these").click()
    expect(page.get_by_label("Show run_50")).to_have_attribute("aria-checked", "true")
    expect(shown).to_have_text("22 of 52 shown")
    expect(note).not_to_contain_text("found")
    expect(page).to_have_url(re.compile(r"[?&]runs=found(&|$)"))
    page.get_by_label(SEARCH).fill("run_5")
    expect(shown).to_have_text("2 of 52 shown")
    page.get_by_label("Show run_50").click()
    page.get_by_label("Show run_51").click()
    expect(note).to_contain_text("Showing none of 2 runs found.")
    note.get_by_role("button", name="Show these").click()
    expect(shown).to_have_text("2 of 52 shown")
    expect(page.locator(".card").get_by_role("listitem").filter(has_text="run_51")).to_have_count(1)
    page.get_by_label(SEARCH).fill("")
    expect(shown).to_have_text("20 of 52 shown")


def test_names_are_completed_while_typing(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    field = page.get_by_label(SEARCH)
    field.click()
    page.keyboard.type("not lo")
    expect(page.get_by_role("listbox").get_by_role("option")).to_have_text(["loss.last", "loss.min", "loss.max"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field).to_have_value("not loss.min ")
    page.keyboard.type("< 2.5")
    expect_names(page, "a/seed_1", "b/seed_1")


@pytest.mark.parametrize("pause", [0, 400], ids=["at once", "after the text has been searched for"])
def test_a_name_is_taken_by_keys_that_the_field_has_uses_for(
    serve: Serve, page: Page, logdir: Path, pause: int
) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    field = page.get_by_label(SEARCH)
    field.click()
    page.keyboard.type("loss.mi")
    option = page.get_by_role("listbox").get_by_role("option")
    expect(option).to_have_text(["loss.min"])
    page.wait_for_timeout(pause)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(field).to_have_value("loss.min ")
    page.keyboard.type("> 2 and l")
    expect(option.first).to_be_visible()
    page.wait_for_timeout(pause)
    page.keyboard.press("Tab")
    expect(field).to_be_focused()
    expect(field).to_have_value("loss.min > 2 and lr ")
    page.keyboard.type("< 1 and x")
    page.keyboard.press("Backspace")
    page.keyboard.type("s")
    expect(option.first).to_be_visible()
    page.keyboard.press("Escape")
    expect(option).to_have_count(0)
    for _ in range(len(" and s")):
        page.keyboard.press("Backspace")
    expect_names(page, "a/seed_1", "b/seed_1")
    page.wait_for_timeout(pause)
    expect(field).to_have_value("loss.min > 2 and lr < 1")


# Timers without a delay run only when they are released.
HELD_TIMERS = """() => {
  const { setTimeout: begin, clearTimeout: end } = window;
  const held = new Map();
  window.setTimeout = (act, ...more) => more[0] ? begin(act, ...more) : -held.set(held.size + 1, act).size;
  window.clearTimeout = (timer) => held.delete(-timer) || end(timer);
  window.releaseTimers = () => {
    Object.assign(window, { setTimeout: begin, clearTimeout: end });
    held.forEach((act) => act());
  };
}"""


def test_escape_closes_the_names_that_were_still_to_be_offered(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    field = page.get_by_label(SEARCH)
    option = page.get_by_role("listbox").get_by_role("option")
    # Names that have not arrived yet.
    held = Held(page, "api/runs/fields")
    field.click()
    page.keyboard.type("los")
    page.keyboard.press("Escape")
    with page.expect_response("**/api/runs/fields*"):
        held.release()
    expect(field).to_be_focused()
    expect(option).to_have_count(0)
    page.keyboard.press("Backspace")
    expect(option).to_have_text(["loss.last", "loss.min", "loss.max"])
    # Names for the text that was typed just now.
    page.evaluate(HELD_TIMERS)
    page.keyboard.type("s")
    page.keyboard.press("Escape")
    page.evaluate("releaseTimers()")
    expect(option).to_have_count(0)
    expect(field).to_have_value("los")


def test_seeds_are_offered_as_groups(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir, "?runs.columns=hparam:lr&runs.columns=metric:loss.last")
    hint = page.locator("#runs-notes")
    expect(hint).to_contain_text("4 runs look like 2 configurations with different seeds. Group them?")
    hint.get_by_role("button", name="Group").click()
    expect(hint).to_be_hidden()
    expect_names(page, "a/seed_* 2", "a/seed_0", "a/seed_1", "b/seed_* 2", "b/seed_0", "b/seed_1")
    expect_cells(page, "metric:loss.last", "2", "1", "3", "3", "2", "4")
    assert cells(page, "hparam:lr")[:2] == ["0.1", "0.1"]
    colors = page.locator(".run-grid .swatch").evaluate_all("all => new Set(all.map((e) => e.style.cssText)).size")
    assert colors == 2

    # A group is sorted as a unit, with its members sorted inside it.
    page.locator(".run-grid .ag-header-cell", has_text="loss last").click()
    page.locator(".run-grid .ag-header-cell", has_text="loss last").click()
    expect_names(page, "b/seed_* 2", "b/seed_1", "b/seed_0", "a/seed_* 2", "a/seed_1", "a/seed_0")

    row(page, "a/seed_*").get_by_role("button", name="").click()
    expect_names(page, "b/seed_* 2", "b/seed_1", "b/seed_0", "a/seed_* 2")
    expect(page).to_have_url(re.compile("runs.fold=a/seed_\\*$"))
    group = page.get_by_label("Show all runs of a/seed_*")
    expect(group).to_have_attribute("aria-checked", "true")
    group.click()
    expect(group).to_have_attribute("aria-checked", "false")
    expect(page.locator("#run-count")).to_have_text("2 of 4 shown")
    page.get_by_label("Show b/seed_0").click()
    expect(page.get_by_label("Show all runs of b/seed_*")).to_have_attribute("aria-checked", "mixed")


def test_grouping_is_chosen(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    page.locator("#runs-group").click()
    box = page.get_by_role("dialog", name="Group runs")
    box.get_by_label("Folder", exact=True).check()
    expect_names(page, "a 2", "a/seed_0", "a/seed_1", "b 2", "b/seed_0", "b/seed_1")
    box.get_by_label("Folder depth").fill("2")
    box.get_by_label("Folder depth").press("Enter")
    expect(page).to_have_url(re.compile("runs.group=path:2"))
    box.get_by_label("Hyperparameters").first.check()
    box.get_by_label("seed", exact=True).check()
    expect(page).to_have_url(re.compile("runs.group=hparam:lr&runs.group=hparam:seed"))
    box.get_by_label("lr", exact=True).uncheck()
    expect_names(page, "seed=0 2", "a/seed_0", "b/seed_0", "seed=1 2", "a/seed_1", "b/seed_1")
    box.get_by_label("Line", exact=True).select_option("median")
    box.get_by_label("Band", exact=True).select_option("minmax")
    box.get_by_label("Runs of the group as thin lines").check()
    expect(page).to_have_url(re.compile("runs.line=median&runs.band=minmax&runs.members=on"))
    box.get_by_label("Regular expression").first.check()
    field = box.get_by_role("textbox", name="Regular expression")
    field.fill("(")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Cannot group by '(': missing )")
    box.get_by_label("No groups").check()
    expect_names(page, "a/seed_0", "b/seed_0", "a/seed_1", "b/seed_1")


def test_colors_tell_a_value_and_the_legend_what(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    legend = page.locator("#runs-legend")
    expect(legend).to_be_hidden()
    page.locator("#runs-color").click()
    box = page.get_by_role("dialog", name="Colors")
    box.locator(".metric", has_text="loss").get_by_label("last").check()
    expect(legend).to_have_text(re.compile(r"^loss last\s*1\s*4$"))
    page.wait_for_function(
        """() => getComputedStyle(document.querySelector('[aria-label="Show a/seed_0"]'))
          .backgroundColor === 'rgb(68, 15, 107)'"""
    )
    box.get_by_label("Run", exact=True).check()
    expect(legend).to_be_hidden()


def test_runs_are_selected(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    row(page, "a/seed_0").click()
    expect(page).to_have_url(re.compile(r"\?runs.select=a/seed_0$"))
    row(page, "a/seed_1").click(modifiers=["Shift"])
    expect(page).to_have_url(re.compile("runs.select=a/seed_0&runs.select=b/seed_0&runs.select=a/seed_1$"))
    row(page, "b/seed_0").click(modifiers=["Control"])
    expect(page).to_have_url(re.compile(r"\?runs.select=a/seed_0&runs.select=a/seed_1$"))
    expect(page.locator(".run-grid .name-cell.selected-cell")).to_have_count(2)
    page.get_by_role("button", name="Selected").click()
    expect(page.locator("#run-count")).to_have_text("2 of 4 shown")
    row(page, "b/seed_1").click()
    row(page, "b/seed_1").click()
    expect(page.locator(".run-grid .selected-cell")).to_have_count(0)
    row(page, "b/seed_1").click()
    page.keyboard.press("Escape")
    expect(page.locator(".run-grid .selected-cell")).to_have_count(0)
    # A double-click determines which run to show, not which to select.
    row(page, "b/seed_0").dblclick()
    expect(page).to_have_url(re.compile(r"\?runs=none&show=b/seed_0$"))


def test_the_menu_of_a_run(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    row(page, "a/seed_1").click(button="right")
    page.get_by_role("menuitem", name="Pin to the top").click()
    expect_names(page, "a/seed_1", "a/seed_0", "b/seed_0", "b/seed_1")
    row(page, "a/seed_1").hover()
    row(page, "a/seed_1").get_by_role("button").click()
    page.get_by_role("menuitem", name="Rename for display").click()
    page.get_by_role("textbox", name="Display name of a/seed_1").fill("Best: 100 %")
    page.keyboard.press("Enter")
    expect_names(page, "Best: 100 %", "a/seed_0", "b/seed_0", "b/seed_1")
    row(page, "Best").click(button="right")
    page.get_by_label("Color of Best").fill("#123456")
    expect(page).to_have_url(re.compile("runs.paint=a%252Fseed_1:%23123456"))
    page.keyboard.press("Escape")
    page.wait_for_function(
        "() => getComputedStyle(document.querySelector('[aria-label^=\"Show Best\"]')).backgroundColor"
        " === 'rgb(18, 52, 86)'"
    )
    row(page, "Best").click(button="right")
    page.get_by_role("button", name="Reset").click()
    expect(page).not_to_have_url(re.compile("runs.paint"))
    row(page, "Best").click(button="right")
    page.get_by_role("menuitem", name="Hide").click()
    expect(page.locator("#run-count")).to_have_text("3 of 4 shown")


def test_the_table_is_used_from_the_keyboard(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    page.locator(".run-grid .name-cell").first.focus()
    page.keyboard.press("Space")
    expect(page.locator("#run-count")).to_have_text("3 of 4 shown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("hide=a/seed_0&runs.select=a/seed_0$"))
    page.keyboard.press("F2")
    page.keyboard.type("first")
    page.keyboard.press("Enter")
    expect_names(page, "first", "b/seed_0", "a/seed_1", "b/seed_1")
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile("runs=none&show=a/seed_0$"))
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile("runs.pin=a/seed_0$"))
    expect(page.locator(".run-grid .ag-floating-top .name-cell")).to_be_focused()
    page.keyboard.press("F2")
    page.get_by_role("textbox", name="Display name of").fill("")
    page.keyboard.press("Enter")
    expect_names(page, "a/seed_0", "b/seed_0", "a/seed_1", "b/seed_1")
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("runs.select"))


def test_rows_follow_what_is_written(serve: Serve, page: Page, logdir: Path) -> None:
    write_run(logdir / "a", {"lr": 1}, 3.0)
    opened(serve, page, logdir, "?runs.columns=metric:loss.last")
    expect_names(page, "a")
    row(page, "a").click()
    write_run(logdir / "b", {"lr": 2}, float("nan"), at=2000.0)
    expect_names(page, "a", "b")
    write_run(logdir / "a", {}, 3.0, 0.25, at=3000.0)
    page.wait_for_function("() => document.querySelector('.run-grid .value-cell').innerText.trim() === '0.25'")
    expect_cells(page, "metric:loss.last", "0.25", "NaN")
    expect(page.locator(".run-grid .name-cell.selected-cell")).to_have_count(1)


def test_switching_a_run_sends_no_rows(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    with page.expect_response(
        lambda answer: "_dash-update-component" in answer.url and "run-count" in (answer.request.post_data or "")
    ) as answered:
        page.get_by_label("Show a/seed_0").click()
    expect(page.locator("#run-count")).to_have_text("3 of 4 shown")
    assert "runs-listing" not in answered.value.json()["response"]


def test_names_from_logs_are_text(serve: Serve, page: Page, logdir: Path) -> None:
    hostile = "<img src=x>"
    write_run(logdir / hostile, {"<b>": "<i>", "lr": 1}, 1.0)
    write_run(logdir / "b", {"<b>": "x", "lr": 2}, 1.0, at=2000.0)
    opened(serve, page, logdir, "?runs.color=hparam:%3Cb%3E&runs.group=path:1")
    expect_names(page, f"{hostile} 1", hostile, "b 1", "b")
    expect(page.locator("#runs-legend")).to_contain_text("<i>")
    for opener in ("#runs-group", "#runs-color", "#runs-columns", "#runs-help"):
        page.locator(opener).click()
        expect(page.locator(".beside-box")).to_be_visible()
        page.keyboard.press("Escape")
    assert page.locator("img[src=x], #sidebar b, #sidebar i:not(.run-dot)").count() == 0


def shown_names(page: Page, selector: str) -> list[str]:
    found: list[str] = page.locator(selector).all_inner_texts()
    return [name.replace("\n", "") for name in found]


LONG = [
    f"experiments/llama-7b_pretrain_bs1024_lr{rate}_optimizer-{optimizer}_warmup2000"
    for rate in ("1e-4", "3e-4")
    for optimizer in ("adamw", "lion")
]
LAYERS = [f"model.layers.{layer}.self_attn.{part}.weight/grad_norm" for layer in range(4) for part in ("q", "k", "v")]


def test_long_names_stay_different_wherever_they_are_cut(serve: Serve, page: Page, logdir: Path) -> None:
    for place, name in enumerate(LONG):
        with SummaryWriter(str(logdir / name)) as writer:
            for tag in LAYERS:
                for step in range(2):
                    writer.add_scalar(tag, place + step, step, walltime=1000 + place)
    opened(serve, page, logdir)
    expect(page.locator(".run-grid .run-name")).to_have_count(4)
    expect_uncut(page.locator(".run-grid .leaf"))
    names = shown_names(page, ".run-grid .run-name")
    assert len(set(names)) == 4
    assert [("4" in name, "lion" in name) for name in names] == [(True, "lion" in name) for name in LONG]
    row(page, names[0]).hover()
    expect(page.locator(".ag-tooltip")).to_have_text(LONG[0])

    for name in ("Columns", "Color"):
        page.get_by_role("button", name=name, exact=True).click()
        tags = page.locator(".run-settings .metric .tag")
        expect(tags).to_have_count(len(LAYERS))
        expect_uncut(tags)
        assert len(set(tags.all_inner_texts())) == len(LAYERS)
    page.keyboard.press("Escape")

    page.set_viewport_size({"width": 700, "height": 900})
    canvas = page.locator(".curves-over").first
    expect(canvas).to_be_visible()
    canvas.hover()
    expect(page.locator("#hover tbody tr")).to_have_count(4)
    assert len(set(page.locator("#hover td.run").all_inner_texts())) == 4


def test_what_is_logged_below_a_run_folds_under_it(serve: Serve, page: Page, logdir: Path) -> None:
    for place, name in enumerate(("a", "b")):
        with SummaryWriter(str(logdir / name)) as writer:
            for step in range(2):
                writer.add_scalar("loss", step, step, walltime=1000 + place)
                writer.add_scalars("all", {"train": step, "val": step + 1}, step, walltime=1000 + place)
            writer.add_hparams({"lr": 0.1 * (place + 1)}, {"accuracy": 1.0}, run_name="hp")
    opened(serve, page, logdir)
    expect_names(page, "a 3", "b 3")
    expect(page.locator("#run-count")).to_have_text("2 of 2 shown")
    expect(page.locator("#runs-notes")).to_be_hidden()
    expect_cells(page, "hparam:lr", "0.1", "0.2")

    row(page, "a").get_by_role("button", name="Expand the runs logged below this run").click()
    expect(page).to_have_url(re.compile("runs.open=a$"))
    expect_names(page, "a 3", "all_train", "all_val", "hp", "b 3")

    def lines_are(count: int) -> None:
        page.wait_for_function("(count) => stepscope.curveCards.find('all').model.lines.length === count", arg=count)

    lines_are(4)
    page.get_by_label("Show a/all_val").click()
    lines_are(3)
    expect(page).to_have_url(re.compile("hide=a/all_val"))
    page.get_by_label("Show a", exact=True).click()
    lines_are(2)
    expect(page.get_by_label("Show a/all_train")).to_have_attribute("aria-checked", "false")
    page.get_by_label("Show a", exact=True).click()
    lines_are(4)
    expect(page).not_to_have_url(re.compile("hide="))
    page.reload()
    expect_names(page, "a 3", "all_train", "all_val", "hp", "b 3")


def test_a_run_without_another_seed_stays_as_it_is(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    write_run(logdir / "sweep", {"lr": 1.0, "seed": 0, "layers": 2}, 2.0, 1.0, at=2000.0)
    opened(serve, page, logdir)
    expect_names(page, "a/seed_0", "b/seed_0", "a/seed_1", "b/seed_1", "sweep")
    color = page.get_by_label("Show sweep").get_attribute("style")
    page.locator("#runs-notes").get_by_role("button", name="Group").click()
    expect_names(page, "a/seed_* 2", "a/seed_0", "a/seed_1", "b/seed_* 2", "b/seed_0", "b/seed_1", "sweep")
    assert page.get_by_label("Show sweep").get_attribute("style") == color
    page.wait_for_function(
        """() => JSON.stringify(stepscope.curveCards.find('loss').chart.lines.map((line) => [line.kind, line.label]))
          === '[["group","a/seed_*"],["group","b/seed_*"],["run","sweep"]]'"""
    )


def test_the_search_shows_an_example_that_finds_something(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    opened(serve, page, logdir)
    field = page.get_by_label(SEARCH)
    expect(field).to_have_attribute("placeholder", "Name or lr <= 0.0012345")
    field.fill("lr <= 0.0012345")
    expect_names(page, "b/seed_0", "b/seed_1")
    field.fill("lr <=")
    expect(page.locator("#sidebar")).to_contain_text(
        'Incomplete: expected a name, a number or a quoted string after "<="'
    )


def test_columns_that_are_cut_off_have_a_sign_of_it(serve: Serve, page: Page, logdir: Path) -> None:
    write_run(logdir / "a", {}, 1.0)
    opened(serve, page, logdir)
    box = page.locator(".run-grid-box")
    expect(box).to_have_attribute("data-more", "")
    tags = "&".join(f"runs.columns=metric:loss.{statistic}" for statistic in ("last", "min", "max"))
    page.goto(page.url + "?" + tags)
    expect(box).to_have_attribute("data-more", "right")
    box.locator(".ag-center-cols-viewport").evaluate("viewport => viewport.scrollLeft = 10_000")
    expect(box).to_have_attribute("data-more", "left")


def test_the_run_of_the_log_directory_has_its_name(serve: Serve, page: Page, logdir: Path) -> None:
    write_run(logdir, {}, 1.0)
    opened(serve, page, logdir)
    expect_names(page, "logs")


def test_the_table_is_made_when_somebody_sees_it(serve: Serve, page: Page, logdir: Path) -> None:
    write_seeds(logdir)
    page.goto(f"{serve(logdir).url}/?tab=health")
    expect(page.locator("#health-grid .ag-row").first).to_be_visible()
    expect(page.locator("#run-count")).to_have_text("4 of 4 shown")
    expect(page.locator(".run-grid")).to_have_count(0)
    page.get_by_role("tab", name="Scalars").click()
    expect_names(page, "a/seed_0", "b/seed_0", "a/seed_1", "b/seed_1")


def test_a_run_that_the_palette_finds_comes_into_sight_with_the_table(serve: Serve, page: Page, logdir: Path) -> None:
    for number in range(60):
        write_run(logdir / f"run_{number}", {}, 1.0)
    page.goto(f"{serve(logdir).url}/?tab=health")
    expect(page.locator("#health-grid .ag-row").first).to_be_visible()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Find")
    palette.locator("input").fill("run_57")
    palette.get_by_role("option", name="run_57").first.click()
    expect(row(page, "run_57")).to_be_in_viewport()
    expect(row(page, "run_1")).to_have_count(0)


def test_the_table_says_that_no_run_matches_and_nothing_while_it_gets_its_rows(
    serve: Serve, page: Page, logdir: Path
) -> None:
    write_run(logdir / "a", {}, 1.0)
    page.add_init_script(
        """window.said = new Set();
        // The same words once more are told with an invisible character at their end.
        const textOf = (e) => e.textContent.replace("\u200b", "");
        const listen = () => document.querySelectorAll("#sidebar [aria-live]").forEach((e) => said.add(textOf(e)));
        new MutationObserver(listen).observe(document, { subtree: true, childList: true, characterData: true });"""
    )
    warnings: list[str] = []
    page.on("console", lambda message: warnings.append(message.text) if message.type == "warning" else None)
    page.goto(serve(logdir).url)
    expect(page.get_by_label("Show a", exact=True)).to_be_visible()
    page.get_by_label(SEARCH).fill("z")
    overlay = page.locator(".run-grid .ag-overlay")
    expect(overlay).to_have_text("No run matches the search")
    page.wait_for_function("() => said.has('No run matches the search')")
    assert page.evaluate("[...said].join('')") == "No run matches the search"
    expect(page).to_have_url(re.compile("run_filter=z"))
    page.reload()
    expect(overlay).to_have_text("No run matches the search")
    assert warnings == []
