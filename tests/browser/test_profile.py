import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.dashboard.panels.profile import texts
from stepscope.profiler.analysis import report
from stepscope.profiler.traces import load_trace
from stepscope.summary import SummaryWriter
from tests.browser.conftest import Dashboard
from tests.dashboard.test_profile_panel import EVENTS
from tests.profiler.analysis.kineto import activity, launch, operator, step

pytestmark = pytest.mark.browser

GPU = {"id": 0, "name": "A GPU", "totalGlobalMem": 8 * 10**9}


def write(logdir: Path, run: str, *events: dict[str, Any], name: str = "a.trace.json", **top: Any) -> Path:
    path = logdir / run / "plugins" / "profile" / "x" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"schemaVersion": 1, "deviceProperties": [GPU], "traceEvents": events, **top}
    # All at once, so that nobody reads half of it.
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content))
    part.rename(path)
    return path


def trace_id(run: str, name: str = "a.trace.json") -> str:
    return f"{run}|file|{run}/plugins/profile/x/{name}"


def open_page(page: Page, dashboard: Dashboard, view: str = "overview", **settings: str) -> None:
    query = {"tab": "profile", "profile.view": view} | {f"profile.{name}": value for name, value in settings.items()}
    page.goto(f"{dashboard.url}?{urlencode(query)}")


def table(page: Page, name: str) -> Locator:
    return page.locator(f".profile-card[data-table={name}]")


def column(page: Page, name: str, field: str) -> Locator:
    return table(page, name).locator(f".ag-center-cols-container [col-id={field}]")


def shown_tab(page: Page, name: str) -> Locator:
    return page.get_by_role("tab", name=name, selected=True)


def test_the_overview_has_the_figures_of_the_analyses(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    path = write(logdir, "run", *EVENTS)
    open_page(page, serve(logdir))
    known = {row["name"]: row["value"] for row in report.table(load_trace(str(path)), "overview").to_dicts()}
    for metric, write_as in (("step_time", texts.duration), ("gpu_utilization", texts.percent)):
        expect(page.locator(f".profile-tile[data-metric={metric}] strong")).to_have_text(write_as(known[metric]))
    shares = report.table(load_trace(str(path)), "mean_step").to_dicts()
    expect(page.locator(".profile-shares [data-category]")).to_have_count(sum(row["percent"] > 0 for row in shares))
    expect(page.locator(".profile-card .barlayer .trace")).to_have_count(sum(row["percent"] > 0 for row in shares))
    findings = report.table(load_trace(str(path)), "findings")["title"].to_list()
    expect(page.locator(".profile-findings strong")).to_have_text(findings)
    expect(page.locator(".profile-facts")).to_contain_text("A GPU, 8 GB memory")
    expect(page.locator("#profile-facts")).to_contain_text("14 slices · 2 steps")


def test_a_page_that_opens_asks_once_for_its_panel(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write(logdir, "run", *EVENTS)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    # The page learns of the revision while the panel is still loading, and the frame asks again.
    with page.expect_response(lambda response: '["revision.data"]' in (response.request.post_data or "")):
        open_page(page, serve(logdir))
    expect(page.locator(".profile-tile").first).to_be_visible()
    assert sum("profile-tables" in json.loads(each)["output"] for each in asked if each) == 1


def test_a_finding_leads_to_its_table_and_a_row_to_its_slices(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write(logdir, "run", *EVENTS)
    open_page(page, serve(logdir))
    page.locator(".profile-findings").get_by_text("See Kernels").click()
    expect(column(page, "kernels", "name")).to_have_text(["gemm<a & b>", "add"])
    expect(column(page, "kernels", "total_ns")).to_have_text(["48 µs", "7 µs"])
    expect(page.get_by_role("radio", name="Kernels")).to_be_checked()
    column(page, "kernels", "name").first.get_by_label("Show on the Timeline").click()
    expect(shown_tab(page, "Timeline")).to_be_visible()
    expect(page).to_have_url(
        re.compile(r"timeline.range=0:80000&timeline.slice=0&timeline.search=gemm%3Ca%20%26%20b%3E")
    )
    page.go_back()
    expect(column(page, "kernels", "name")).to_have_count(2)


def test_a_bar_leads_to_its_step(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write(logdir, "run", step(1, 0, 100), operator("a", 0, 100), step(2, 100, 100), operator("a", 100, 100))
    open_page(page, serve(logdir))
    expect(page.locator(".barlayer .point path")).to_have_count(2)
    page.locator(".barlayer .point path").last.scroll_into_view_if_needed()
    box = page.locator(".barlayer .point path").last.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".hoverlayer")).to_contain_text("step 2: 100 µs host operators of 100 µs")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(shown_tab(page, "Timeline")).to_be_visible()
    expect(page).to_have_url(re.compile(r"timeline.range=50000:250000"))


def test_tables_are_searched_sorted_narrowed_and_downloaded(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    many = [operator(f"op{number:02}", 10 * number, number + 1) for number in range(20)]
    path = write(logdir, "run", *many)
    open_page(page, serve(logdir), "operators")
    expect(table(page, "operators")).to_contain_text("20 rows")
    expect(column(page, "operators", "name").first).to_have_text("op19")
    table(page, "operators").get_by_placeholder("Search").fill("op1")
    expect(column(page, "operators", "name")).to_have_count(10)
    table(page, "operators").locator(".ag-header-cell[col-id=host_self_ns]").click()
    table(page, "operators").locator(".ag-header-cell[col-id=host_self_ns]").click()
    expect(table(page, "operators").locator(".ag-row[row-index='0'] [col-id=name]").first).to_have_text("op10")
    table(page, "operators").get_by_role("button", name="Columns").click()
    page.get_by_role("dialog", name="Columns").get_by_label("Host total").uncheck()
    page.keyboard.press("Escape")
    expect(table(page, "operators").locator("[col-id=host_total_ns]")).to_have_count(0)
    expect(table(page, "operators").locator(".ag-floating-bottom [col-id=host_self_ns]")).to_have_text("210 µs")
    with page.expect_download() as download:
        table(page, "operators").get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename == "run_operators.csv"
    assert download.value.path().read_text() == report.table(load_trace(str(path)), "operators").write_csv()


def test_operators_are_grouped_anew(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write(logdir, "run", *EVENTS)
    open_page(page, serve(logdir), "operators")
    expect(column(page, "operators", "name")).to_have_count(2)
    page.get_by_text("Stack", exact=True).click()
    expect(table(page, "operators")).to_contain_text("3 rows in 2 groups")
    table(page, "operators").get_by_label("Expand the group").click()
    expect(column(page, "operators", "stack")).to_have_text(["", "a.py(1): f", "a.py(2): g", ""])
    expect(page).to_have_url(re.compile("profile.by=name,stack"))
    page.reload()
    expect(table(page, "operators")).to_contain_text("3 rows in 2 groups")


def test_a_row_that_is_asked_for_is_selected_shown_and_focused(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    many = [operator(f"op{number:03}", 10 * number, number + 1) for number in range(300)]
    write(logdir, "run", *many)
    open_page(page, serve(logdir), "operators", row="op007")
    row = table(page, "operators").locator(".ag-row-selected")
    expect(row.locator("[col-id=name]")).to_have_text("op007")
    expect(row).to_be_in_viewport()
    expect(row.locator("[col-id=name]")).to_be_focused()
    # The row belongs to this view and is forgotten in another.
    page.locator(".profile-views").get_by_text("Slices", exact=True).click()
    expect(table(page, "slices")).to_be_visible()
    expect(page).not_to_have_url(re.compile("profile.row"))
    expect(page.locator(".profile-words.missing")).to_have_count(0)


def test_a_row_that_is_not_there_is_said_and_may_be_elsewhere(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write(logdir, "run", *EVENTS)
    open_page(page, serve(logdir), "kernels", row="aten::mm")
    expect(page.get_by_role("status").filter(has_text="has no row here")).to_contain_text("“aten::mm” has no row here")
    page.get_by_text("Find it in Slices").click()
    expect(table(page, "slices").locator(".ag-row-selected [col-id=name]")).to_have_text("aten::mm")


def names(page: Page, name: str) -> list[str]:
    """The names of the rows that a table shows, from the top; a group's name is followed by its number of rows."""
    found: list[str] = page.evaluate(
        """(table) => {
            const api = window.dash_ag_grid.getApi({ table, type: "profile-grid" });
            const found = [];
            api.forEachNodeAfterFilterAndSort((node) => found.push(node.data.name + (node.data["@size"] || "")));
            return found;
        }""",
        name,
    )
    return found


def test_groups_open_and_close_by_mouse_and_keys_and_sorting_keeps_them_together(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    kernels = [("void f<1>(int)", 4), ("void f<2>(int)", 8), ("g", 20), ("void f<3>(int)", 2)]
    write(logdir, "run", *(activity(name, 50 * at, long, at) for at, (name, long) in enumerate(kernels)))
    open_page(page, serve(logdir), "kernels", group="stem")
    cells = column(page, "kernels", "name")
    expect(cells).to_have_text(["g", re.compile("^f ?3$")])
    expect(column(page, "kernels", "total_ns")).to_have_text(["20 µs", "14 µs"])
    table(page, "kernels").get_by_label("Expand the group").click()
    expect(cells).to_have_count(5)
    assert names(page, "kernels") == ["g", "f3", "void f<2>(int)", "void f<1>(int)", "void f<3>(int)"]
    head = table(page, "kernels").locator(".ag-header-cell[col-id=total_ns]")
    head.click()
    head.click()
    expect(cells.first).to_have_text(re.compile("^f"))
    assert names(page, "kernels") == ["f3", "void f<3>(int)", "void f<1>(int)", "void f<2>(int)", "g"]
    # The arrow leads from a row to its group, and then closes the group.
    table(page, "kernels").locator(".ag-row[row-index='2'] [col-id=name]").click()
    page.keyboard.press("ArrowLeft")
    expect(table(page, "kernels").locator(".ag-row[row-index='0'] [col-id=name]")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(cells).to_have_count(2)
    page.keyboard.press("Enter")
    expect(cells).to_have_count(5)
    page.keyboard.press("Enter")
    expect(cells).to_have_count(2)
    page.keyboard.press("ArrowRight")
    expect(cells).to_have_count(5)
    button = table(page, "kernels").locator(".profile-expand")
    button.click()
    button.click()
    expect(cells).to_have_count(2)


def test_a_search_finds_what_is_in_closed_groups(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write(logdir, "run", *(activity(f"void f{at % 20}<{at}>(int)", 50 * at, at + 1, at) for at in range(40)))
    open_page(page, serve(logdir), "kernels", group="stem")
    expect(table(page, "kernels")).to_contain_text("40 rows in 20 groups")
    table(page, "kernels").get_by_placeholder("Search").fill("<25>")
    expect(column(page, "kernels", "name")).to_have_count(2)
    assert names(page, "kernels") == ["f52", "void f5<25>(int)"]
    table(page, "kernels").get_by_placeholder("Search").fill("")
    expect(page.locator(".profile-chevron[aria-expanded=true]")).to_have_count(0)
    assert len(names(page, "kernels")) == 20


def test_distributions_are_bars_that_say_what_they_count(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    long = [1, 1, 1, 16]
    write(logdir, "run", *(operator("a", 100 * at, each) for at, each in enumerate(long)), operator("b", 900, 5))
    open_page(page, serve(logdir), "operators")
    expect(column(page, "operators", "name")).to_have_text(["a", "b"])
    pictures = table(page, "operators").locator(".profile-spread")
    expect(pictures).to_have_count(1)
    bars = pictures.locator(".bar")
    expect(bars).to_have_count(2)
    heights = [float(bar.get_attribute("height") or 0) for bar in bars.all()]
    assert heights == [16, pytest.approx(16 / 3)]
    titles = pictures.locator("g:has(.bar) title").all_text_contents()
    assert titles == ["1 µs to 1.122 µs: 3 of 4", "14.25 µs to 16 µs: 1 of 4"]


def test_a_point_leads_to_its_copy(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    copies = [activity("Memcpy HtoD (Pinned -> Device)", 100, 4, 1, category="gpu_memcpy", bytes=4_000)]
    write(logdir, "run", operator("a", 0, 10), *copies)
    open_page(page, serve(logdir), "copies")
    point = page.locator(".scatterlayer .point")
    expect(point).to_have_count(1)
    box = point.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(shown_tab(page, "Timeline")).to_be_visible()
    expect(page).to_have_url(re.compile(r"timeline.range=98000:106000&timeline.slice=0"))


def test_what_was_lost_is_a_line_that_opens(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    end = {"ph": "f", "id": 3, "name": "x", "cat": "y", "pid": 100, "tid": 1, "ts": 5}
    write(logdir, "run", operator("a", 0, 10), operator("b", 20, -1), end)
    open_page(page, serve(logdir))
    lost = page.locator(".profile-card.lost")
    expect(lost.locator("summary")).to_contain_text("1 event skipped or altered · 1 arrow has only one end")
    expect(lost.locator(".profile-lost-table")).to_be_hidden()
    page.get_by_text("Show the events").click()
    expect(lost.locator("td")).to_have_text(
        [
            *("negative duration", "1", re.compile("It ends before it begins"), re.compile("b")),
            *("flow end without a start", "1", re.compile("An arrow ends here"), re.compile("x")),
        ]
    )
    with page.expect_download() as download:
        lost.get_by_role("button", name="CSV").click()
    assert download.value.path().read_text().startswith("reason,count,meaning,example\nnegative duration,1,")


def test_ranks_of_one_folder_and_changes_between_two(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    for rank in (0, 1):
        kernel = activity("ncclDevKernel_AllReduce", 10, 20 + 10 * rank, 1)
        name = f"{rank}.trace.json"
        write(logdir, "run", step(1, 0, 100), launch(5, 2, 1), kernel, name=name, distributedInfo={"rank": rank})
    dashboard = serve(logdir)
    open_page(page, dashboard, "ranks", trace=trace_id("run", "0.trace.json"))
    expect(column(page, "ranks", "rank")).to_have_text(["0", "1"])
    expect(column(page, "collectives", "waiting_ns")).to_have_text(["0 ns", "10 µs"])
    open_page(page, dashboard, "diff", trace=trace_id("run", "1.trace.json"), changed="kernels")
    expect(page.locator(".profile-notice")).to_contain_text("Choose the earlier trace above")
    page.get_by_label("Before").first.click()
    page.get_by_role("option", name=re.compile("0.trace.json")).click()
    expect(column(page, "changed_kernels", "state")).to_have_text(["longer"])
    expect(column(page, "changed_kernels", "change_ns")).to_have_text(["+10 µs"])
    expect(column(page, "changed_kernels", "change_percent")).to_have_text(["+50.0%"])


def test_the_list_of_many_ranks_leaves_room_for_what_they_tell(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    ids = [trace_id("run", f"{rank}.trace.json") for rank in range(24)]
    for rank in range(24):
        kernel = activity("ncclDevKernel_AllReduce", 10, 20 + rank, 1)
        write(logdir, "run", step(1, 0, 100), kernel, name=f"{rank}.trace.json", distributedInfo={"rank": rank})
    open_page(page, serve(logdir), "ranks", trace=ids[0], ranks=",".join(ids))
    expect(page.locator(".profile-ranks .mantine-Pill-root")).to_have_count(24)
    expect(page.locator(".profile-card").first).to_be_in_viewport()
    box = page.locator(".profile-ranks").bounding_box()
    assert box is not None
    assert box["height"] < 120


def test_code_is_a_flame_graph_above_a_table_that_folds(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write(logdir, "run", *EVENTS)
    open_page(page, serve(logdir), "code")
    frames = page.locator("#profile-flame .slice")
    expect(frames.filter(has_text="a.py(1): f")).to_have_count(1)
    rows = table(page, "code").locator(".ag-center-cols-container .ag-row")
    expect(rows.first).to_be_visible()
    table(page, "code").locator("summary").click()
    expect(rows.first).to_be_hidden()


def test_long_names_of_kernels_are_short_and_copied_whole(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    inside = "at::native::Add<float>"
    name = f"void at::native::vectorized<4, {inside}, at::detail::Array<char*, 3> >(int, {inside})"
    write(logdir, "run", launch(0, 2, 1), activity(name, 5, 10, 1))
    open_page(page, serve(logdir), "kernels")
    cell = column(page, "kernels", "name").locator("[data-name]")
    expect(cell).to_have_text("vectorized<4, Add<float>, Array<char*, 3> >")
    expect(cell).to_have_attribute("data-name", name)
    copied = cell.evaluate(
        """cell => {
          getSelection().selectAllChildren(cell);
          const clipboardData = new DataTransfer();
          cell.dispatchEvent(new ClipboardEvent("copy", { clipboardData, bubbles: true, cancelable: true }));
          return clipboardData.getData("text/plain");
        }"""
    )
    assert copied == name


def test_one_slice_no_slice_and_no_trace(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write(logdir, "one", operator("a", 0, 5))
    write(logdir, "none")
    write(logdir, "broken").write_text("no trace")
    dashboard = serve(logdir)
    open_page(page, dashboard, trace=trace_id("one"))
    expect(page.locator(".profile-tile[data-metric=step_time]")).to_have_text("Whole trace5 µsit has no step markers")
    expect(page.locator(".profile-views label")).to_have_text(
        ["Overview", "Operators", "Critical path", "Slices", "Diff"]
    )
    for view in ("Kernels", "Memory", "Copies", "Code", "Roofline", "tfprof"):
        page.locator("summary", has_text="Views without data (9)").click()
        page.locator(".profile-absent-page", has_text=re.compile(f"^{view}")).click()
        expect(page.locator(".profile-views").get_by_role("radio", name=view)).to_be_checked()
        expect(page.locator(".profile-none").first).to_be_visible()
        expect(page.locator(".profile-none").first).to_contain_text(re.compile("Record|Choose"))
    open_page(page, dashboard, trace=trace_id("none"))
    expect(page.locator(".profile-words")).to_contain_text("The trace has no slices")
    open_page(page, dashboard, trace=trace_id("broken"))
    expect(page.locator(".profile-notice")).to_contain_text("a.trace.json is not a trace")
    open_page(page, dashboard, trace="gone")
    expect(page.locator(".profile-notice")).to_contain_text("There is no trace 'gone' in the log directory")


def test_new_traces_are_listed_and_what_is_open_stays(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write(logdir, "first", operator("a", 0, 5))
    dashboard = serve(logdir)
    open_page(page, dashboard, "operators")
    expect(column(page, "operators", "name")).to_have_text(["a"])
    write(logdir, "second", operator("b", 0, 5))
    page.get_by_label("Trace", exact=True).first.click()
    page.get_by_role("option", name=re.compile("second")).click()
    expect(column(page, "operators", "name")).to_have_text(["b"])
    expect(page).to_have_url(re.compile(r"profile.trace=second\|file"))
    write(logdir, "second", operator("c", 0, 5), operator("c", 7, 5))
    expect(column(page, "operators", "name")).to_have_text(["c"])
    expect(column(page, "operators", "calls")).to_have_text(["2"])


def test_the_page_writes_numbers_as_the_server_does(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write(logdir, "run", *EVENTS)
    open_page(page, serve(logdir), "kernels")
    expect(column(page, "kernels", "name")).to_have_count(2)
    numbers = [0, 0.00001234, 1, 12.345, 999, 999.96, 1_000, 12_345, 999_999, 1_234_567, 5e9, 61e9, 4.321e12, -1500]
    written = page.evaluate("(all) => all.map((one) => window.dashAgGridFunctions.stepscopeProfileTime(one))", numbers)
    assert written == [texts.duration(number) for number in numbers]
    written = page.evaluate(
        "(all) => all.map((one) => window.dashAgGridFunctions.stepscopeProfileNumber(one))", numbers
    )
    assert written == [texts.digits(number) for number in numbers]


def test_the_scheme_changes_the_charts(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write(logdir, "run", *EVENTS)
    open_page(page, serve(logdir))
    bar = page.locator(".barlayer .point path").first
    light = bar.evaluate("(path) => getComputedStyle(path).fill")
    page.keyboard.press("t")
    expect(bar).not_to_have_css("fill", light)


def test_without_traces_there_is_no_tab(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "run")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    page.goto(serve(logdir).url + "?tab=profile")
    expect(page.get_by_role("tab")).to_have_text(["Scalars", "Health"])
