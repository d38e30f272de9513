import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Response, Route, expect

from stepscope.dashboard.panels.hparams import panel
from stepscope.dashboard.panels.hparams.table import build_table
from stepscope.dashboard.server.binary import unpack
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.hparams import checked_hparams, session_start, start_info
from stepscope.summary.proto.summary_pb2 import Summary
from tests.browser.conftest import Dashboard, hold_callbacks
from tests.dashboard.hparams_logs import write_sessions

pytestmark = pytest.mark.browser

ROWS = ".hparams-grid .ag-center-cols-container .ag-row"
NAMES = ".hparams-grid .ag-pinned-left-cols-container .ag-row [col-id='@run']"


def write_session(logdir: Path, run: str, hparams: Mapping[str, object], *losses: float) -> None:
    with SummaryWriter(str(logdir / run)) as writer:
        start = start_info(checked_hparams(hparams))
        writer.add_summary(Summary(value=[session_start(start)]), 0)
        for step, loss in enumerate(losses):
            writer.add_scalar("loss", loss, step)


def write_sweep(logdir: Path) -> None:
    """Ten sessions with two optimizers; the loss is a tenth of the learning rate."""
    for at in range(10):
        hparams = {"lr": float(at), "optimizer": "adam" if at % 2 else "sgd", "seed": 0}
        write_session(logdir, f"run_{at}", hparams, 1.0, at / 10)


def in_order(page: Page) -> list[str]:
    """The names of the table's rows from top to bottom."""
    cells = page.locator(NAMES)
    rows = cells.evaluate_all(
        "all => all.map(cell => [Number(cell.closest('[row-index]').getAttribute('row-index')), cell.innerText])"
    )
    return [str(name).replace("\n", "") for _, name in sorted(rows)]


def selection(page: Page) -> Locator:
    return page.locator("#hparams-selection")


def ticked(page: Page) -> Locator:
    return page.locator(f"{ROWS}.ag-row-selected")


def steady(page: Page, selector: str) -> dict[str, float]:
    """Where an element is, once it has been there for ten frames: charts are redrawn as data arrive."""
    place: dict[str, float] = page.evaluate(
        """(selector) => new Promise((done) => {
          let [known, before, frames] = [null, "", 0];
          const look = () => {
            const element = document.querySelector(selector);
            const { x = 0, y = 0, width = 0, height = 0 } = element ? element.getBoundingClientRect() : {};
            const now = JSON.stringify({ x, y, width, height });
            frames = element && width && element === known && now === before ? frames + 1 : 0;
            [known, before] = [element, now];
            if (frames === 10) done({ x, y, width, height });
            else requestAnimationFrame(look);
          };
          look();
        })""",
        selector,
    )
    return place


def brush(page: Page, column: str, low: float, high: float) -> None:
    """Drags along an axis between two fractions of its height."""
    # As in panels/hparams/web/parallel.js: the axes reach from 66 to 288 pixels below the top.
    x = steady(page, f".hparams-axis[data-key='{column}']")["x"] + 8
    bottom = steady(page, ".hparams-parallel")["y"] + 288
    page.mouse.move(x, bottom - 222 * low)
    page.mouse.down()
    page.mouse.move(x, bottom - 222 * (low + high) / 2)
    page.mouse.move(x, bottom - 222 * high)
    page.mouse.up()


def test_sessions_are_a_table_sorted_by_the_target(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.locator(ROWS)).to_have_count(10)
    expect(page.locator(f"{ROWS}[row-index='0'] [col-id='loss']")).to_have_text("0")
    assert in_order(page) == [f"run_{at}" for at in range(10)]
    expect(page.locator("#hparams-facts")).to_contain_text("10 sessions")
    expect(page.locator("#hparams-facts")).to_contain_text("constant: seed = 0")
    expect(page.locator(".hparams-axis")).to_have_count(3)
    page.locator(".hparams-grid .ag-header-cell[col-id=lr]").click()
    page.locator(".hparams-grid .ag-header-cell[col-id=lr]").click()
    expect(page).to_have_url(re.compile("hparams.sort=lr:desc"))
    page.reload()
    expect(page.locator(f"{ROWS}[row-index='0'] [col-id='lr']")).to_have_text("9")


def test_a_click_is_not_undone_by_what_is_drawn_late(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.locator(ROWS)).to_have_count(10)
    # The second click of each pair is followed at once by the frames that were requested after the first.
    page.evaluate(
        """async () => {
          const frames = [];
          const real = window.requestAnimationFrame;
          const draw = () => frames.splice(0).forEach((frame) => frame(performance.now()));
          // A frame that what is waited for hangs on is drawn once it is late.
          const said = async (text) => {
            const began = performance.now();
            while (!decodeURIComponent(location.search).includes(text)) {
              const waited = performance.now() - began;
              if (waited > 60_000) throw new Error(`The address never said ${text}`);
              if (waited > 2_000) draw();
              await new Promise((done) => setTimeout(done));
            }
          };
          const twice = async (first, text, second) => {
            first();
            await said(text);
            second();
            draw();
          };
          const header = () =>
            document.querySelector(".hparams-grid .ag-header-cell[col-id=lr] .ag-header-cell-label").click();
          const rows = ".hparams-grid .ag-row";
          const box = (at) => document.querySelector(`${rows}[row-index="${at}"] .ag-selection-checkbox input`);
          window.requestAnimationFrame = (frame) => frames.push(frame);
          await twice(() => box(2).click(), "runs.select=run_2", () => box(4).click());
          await said("runs.select=run_4");
          await twice(header, "hparams.sort=lr:asc", header);
          window.requestAnimationFrame = real;
        }"""
    )
    expect(page).to_have_url(re.compile("hparams.sort=lr:desc"))
    expect(page.locator(f"{ROWS}[row-index='0'] [col-id='lr']")).to_have_text("9")
    expect(selection(page)).to_contain_text("2 of 10 selected")


def test_headers_and_lists_of_choices_stay_where_new_points_change_none(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.locator(ROWS)).to_have_count(10)
    legend = page.locator(".hparams-legend")
    expect(legend).to_contain_text("0.9")
    # A list that is removed and inserted again closes just as the user is about to choose.
    staying = [
        page.locator(".hparams-grid .ag-header-cell[col-id=lr] .ag-header-cell-label").element_handle(),
        page.get_by_role("combobox", name="Target metric").element_handle(),
        page.get_by_role("combobox", name="Color").element_handle(),
    ]
    page.evaluate("window.moved = []")
    page.evaluate(
        """(staying) => new MutationObserver((changes) => {
          for (const { removedNodes } of changes) {
            for (const node of removedNodes) if (staying.some((one) => node.contains(one))) moved.push(node.outerHTML);
          }
        }).observe(document.querySelector(".hparams-panel"), { childList: true, subtree: true })""",
        staying,
    )
    with SummaryWriter(str(logdir / "run_0")) as writer:
        writer.add_scalar("loss", 0.95, 2)
    expect(page.locator(f"{ROWS}[row-index='9'] [col-id='loss']")).to_have_text("0.95")
    expect(legend).to_contain_text("0.95")
    assert page.evaluate("moved") == []
    assert page.evaluate("(staying) => staying.every((one) => one.isConnected)", staying)


def test_columns_are_chosen_faster_than_the_table_follows(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.locator(ROWS)).to_have_count(10)
    page.evaluate(
        """() => {
          for (const name of ["lr", "optimizer", "seed"])
            document.querySelector(`#hparams-controls input[aria-label="${name}"]`).click();
        }"""
    )
    expect(page).to_have_url(re.compile(r"hparams\.hparams=seed(&|$)"))
    expect(page.locator(".hparams-grid .ag-header-cell[col-id=seed]")).to_be_visible()
    expect(page.locator(".hparams-grid .ag-header-cell[col-id=lr]")).to_have_count(0)


def test_new_points_leave_alone_what_the_hand_is_on(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams&hparams.chart=scatter&runs.select=run_3")
    expect(page.locator(ROWS)).to_have_count(10)
    place = steady(page, ".hparams-scatter")
    # The corner of a rubber band that is being drawn while a session arrives.
    page.mouse.move(place["x"] + 80, place["y"] + 8)
    page.mouse.down()
    page.mouse.move(place["x"] + 300, place["y"] + 100)
    with SummaryWriter(str(logdir / "run_0")) as writer:
        writer.add_scalar("loss", 0.95, 2)
    expect(page.locator(f"{ROWS}[row-index='9'] [col-id='loss']")).to_have_text("0.95")
    page.mouse.move(place["x"] + place["width"] - 4, place["y"] + 200)
    page.mouse.up()
    expect(selection(page)).not_to_contain_text("1 of 10 selected")
    expect(selection(page)).to_contain_text("of 10 selected")
    page.get_by_role("combobox", name="Color").focus()
    with SummaryWriter(str(logdir / "run_0")) as writer:
        writer.add_scalar("loss", 0.97, 3)
    expect(page.locator(f"{ROWS}[row-index='9'] [col-id='loss']")).to_have_text("0.97")
    expect(page.get_by_role("combobox", name="Color")).to_be_focused()


def test_brushes_hold_together_and_select_runs(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.locator(ROWS)).to_have_count(10)
    brush(page, "lr", 0.3, 0.95)
    expect(selection(page)).to_contain_text("6 of 10 selected")
    brush(page, "optimizer", 0.05, 0.45)
    expect(selection(page)).to_contain_text("3 of 10 selected")
    assert set(re.findall(r"runs\.select=(run_\d)", page.url)) == {"run_3", "run_5", "run_7"}
    expect(ticked(page)).to_have_count(3)
    page.reload()
    expect(selection(page)).to_contain_text("3 of 10 selected")
    expect(page).to_have_url(re.compile("hparams.brush=lr:"))
    page.get_by_role("button", name="Show only these runs").click()
    expect(page.locator("#run-count")).to_have_text("3 of 10 shown")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(selection(page)).to_be_empty()
    expect(page).not_to_have_url(re.compile("hparams.brush|runs.select"))
    expect(ticked(page)).to_have_count(0)


def test_a_row_selects_its_runs_and_ctrl_adds(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sessions(logdir)
    page.goto(serve(logdir).url + "?tab=hparams&hparams.rows=sessions")
    expect(page.locator(ROWS)).to_have_count(6)
    page.locator(f"{ROWS}[row-id='a0'] [col-id='opt']").click()
    expect(selection(page)).to_contain_text("1 of 6 selected")
    assert re.findall(r"runs\.select=([^&]+)", page.url) == ["a0", "a0/val"]
    page.locator(f"{ROWS}[row-id='b1'] [col-id='opt']").click(modifiers=["ControlOrMeta"])
    expect(selection(page)).to_contain_text("2 of 6 selected")


def test_what_is_selected_elsewhere_is_ticked_in_the_table(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams&runs.select=run_3&runs.select=run_5")
    expect(selection(page)).to_contain_text("2 of 10 selected")
    expect(ticked(page)).to_have_count(2)
    # The mark once had the color of the background, which is transparent.
    mark = page.locator(".hparams-grid .ag-row-selected .ag-checked").first
    colors = mark.evaluate("e => [getComputedStyle(e, '::after').backgroundColor, getComputedStyle(e).backgroundColor]")
    assert "rgba(0, 0, 0, 0)" not in colors
    assert colors[0] != colors[1]
    page.locator(".hparams-grid .ag-row[row-id='run_7'] .ag-selection-checkbox input").check()
    expect(selection(page)).to_contain_text("3 of 10 selected")
    assert set(re.findall(r"runs\.select=(run_\d)", page.url)) == {"run_3", "run_5", "run_7"}
    write_session(logdir, "run_9b", {"lr": 9.5, "optimizer": "adam", "seed": 1}, 1.0, 0.95)
    expect(selection(page)).to_contain_text("3 of 11 selected")
    expect(page.locator(".hparams-grid .ag-header-cell[col-id=seed]")).to_be_visible()
    expect(page.locator(ROWS)).to_have_count(11)
    expect(ticked(page)).to_have_count(3)
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(ticked(page)).to_have_count(0)
    write_session(logdir, "run_9c", {"lr": 9.7, "optimizer": "adam", "seed": 1}, 1.0, 0.97)
    expect(page.locator(ROWS)).to_have_count(12)
    expect(ticked(page)).to_have_count(0)
    expect(page).not_to_have_url(re.compile("runs.select"))


def test_a_tick_leaves_runs_selected_that_have_no_row(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_sweep(logdir)
    with SummaryWriter(str(logdir / "without")) as writer:
        writer.add_scalar("loss", 0.5, 0)
    page.goto(serve(logdir).url + "?tab=hparams&runs.select=without")
    expect(selection(page)).to_contain_text("1 selected, not in the table")
    seven = page.locator(".hparams-grid .ag-row[row-id='run_7']")
    seven.locator(".ag-selection-checkbox input").check()
    expect(page).to_have_url(re.compile("runs.select=without&runs.select=run_7"))
    expect(selection(page)).to_contain_text("1 of 10 selected")
    seven.locator(".ag-selection-checkbox input").uncheck()
    expect(page).to_have_url(re.compile("runs.select=without(?!.*runs.select)"))
    seven.locator("[col-id='@run']").click(modifiers=["ControlOrMeta"])
    expect(page).to_have_url(re.compile("runs.select=without&runs.select=run_7"))
    page.locator(".hparams-grid .ag-row[row-id='run_5'] [col-id='@run']").click()
    expect(page).to_have_url(re.compile("runs.select=run_5(?!.*runs.select)"))


def test_a_table_that_comes_after_its_data_is_heard_too(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_sessions(logdir)
    held: list[Route] = []
    page.route("**/async-community*.js*", lambda route: held.append(route))
    page.goto(serve(logdir).url + "?tab=hparams&hparams.rows=sessions")
    expect(page.locator("#hparams-facts")).to_contain_text("6 sessions")
    expect(page.locator(".hparams-axis")).to_have_count(6)
    for route in held:
        route.continue_()
    page.locator(f"{ROWS}[row-id='a0'] [col-id='opt']").click()
    expect(selection(page)).to_contain_text("1 of 6 selected")


def test_a_table_whose_sessions_are_not_there_yet_says_so(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_sessions(logdir)
    held = hold_callbacks(page, "hparams-data.data")
    page.goto(serve(logdir).url + "?tab=hparams&hparams.rows=sessions")
    overlay = page.locator(".hparams-grid .ag-overlay")
    expect(overlay).to_have_text("Reading the sessions of 9 runs")
    held.release()
    expect(page.locator(ROWS)).to_have_count(6)
    expect(overlay).to_be_hidden()
    page.get_by_placeholder("Search the table").fill("nothing like it")
    expect(overlay).to_have_text("No session matches the search")


def test_seeds_are_one_row_with_mean_and_deviation(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    for rate, losses in {0.1: (0.5, 0.75), 0.2: (0.125, 0.25)}.items():
        for seed, loss in enumerate(losses):
            write_session(logdir, f"lr{rate}/seed_{seed}", {"lr": rate, "seed": seed}, loss)
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.locator("#hparams-facts")).to_contain_text("4 sessions in 2 groups")
    assert in_order(page) == ["lr0.2/seed_*", "lr0.1/seed_*"]
    expect(page.locator(f"{ROWS}[row-index='0'] [col-id='loss']")).to_have_text("0.1875 ± 0.088")
    page.get_by_label("Rows", exact=True).select_option("sessions")
    expect(page.locator(ROWS)).to_have_count(4)


def test_filters_narrow_and_are_removed(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams")
    page.get_by_role("button", name="Filter by optimizer").click()
    page.locator("#hparams-controls").get_by_label("sgd").uncheck()
    expect(page.locator("#hparams-facts")).to_contain_text("5 of 10 sessions")
    page.get_by_role("button", name="Filter by lr").click()
    page.get_by_label("min lr").fill("4")
    page.get_by_label("min lr").press("Enter")
    expect(page.locator("#hparams-facts")).to_contain_text("3 of 10 sessions")
    assert in_order(page) == ["run_5", "run_7", "run_9"]
    expect(page).to_have_url(re.compile("hparams.range=lr:4:"))
    page.get_by_role("button", name="Remove filters").click()
    expect(page.locator(ROWS)).to_have_count(10)


def test_chosen_columns_leave_the_page_as_files(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams&hparams.chart=none")
    expect(page.locator(ROWS)).to_have_count(10)
    page.get_by_role("checkbox", name="optimizer").uncheck()
    expect(page.locator(".hparams-grid .ag-header-cell[col-id=optimizer]")).to_have_count(0)
    page.get_by_label("Search the table").fill("run_7")
    expect(page.locator(ROWS)).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    header, row = download.value.path().read_text().splitlines()
    assert header == "run,lr,loss,status,start,duration"
    assert row.startswith("run_7,7,0.69999")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_text("Table copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").splitlines() == [header, row]


def test_axes_take_another_scale_and_another_place(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams")
    scale = page.locator(".hparams-axis[data-key=lr] .hparams-axis-scale")
    expect(scale).to_have_text("linear")
    scale.click()
    expect(scale).to_have_text("log")
    scale.click()
    expect(scale).to_have_text("quantile")
    expect(page).to_have_url(re.compile("hparams.scale=lr:quantile"))
    name = page.locator(".hparams-axis[data-key=lr] .hparams-axis-name")
    name.focus()
    name.press("Alt+ArrowRight")
    expect(page.locator(".hparams-axis-name")).to_have_text(["optimizer", "lr", "loss"])
    expect(name).to_be_focused()


def test_scatter_selects_the_point_under_the_pointer(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams&hparams.chart=scatter&hparams.x=lr&hparams.y=loss")
    chart = page.locator(".hparams-scatter")
    expect(chart).to_have_attribute("aria-label", "Scatter of 10 rows: lr against loss")
    box = steady(page, ".hparams-scatter")
    # The upper right corner of the only cell is the session of the highest rate and loss: see `within` there.
    page.mouse.move(box["x"] + box["width"] - 10 - 8, box["y"] + 4 + 8)
    expect(page.locator(".hparams-tip")).to_contain_text("run_9")
    page.mouse.down()
    page.mouse.up()
    expect(selection(page)).to_contain_text("1 of 10 selected")
    expect(page).to_have_url(re.compile("runs.select=run_9"))


def test_runs_that_are_too_many_for_the_address_are_not_selected(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    folder = Path(*["x" * 200] * 15)
    for at in range(15):
        write_session(logdir, str(folder / str(at)), {"lr": float(at)}, 1.0)
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.locator(ROWS)).to_have_count(15)
    page.locator(f"{ROWS} [col-id='lr']").first.click()
    expect(selection(page)).to_contain_text("1 of 15 selected")
    brush(page, "lr", -0.02, 1.02)
    expect(selection(page)).to_contain_text("15 runs are too many to select; choose fewer")
    expect(page).to_have_url(re.compile("hparams.brush=lr:"))
    expect(page).not_to_have_url(re.compile("runs.select"))
    page.keyboard.press("Control+k")
    page.keyboard.type("xxx")
    page.get_by_role("listbox", name="Found").get_by_role("option").filter(has_text=re.compile("run$")).first.click()
    page.get_by_role("tab", name="HParams").click()
    expect(selection(page)).to_contain_text("1 of 15 selected")


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are more than three rows, the page gets three, two of them for the table."""
    monkeypatch.setattr(panel, "MOST_ROWS", 3)
    monkeypatch.setattr(panel, "build_table", partial(build_table, most=3, listed=2))


PAINTED = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(one => one)"


@pytest.mark.usefixtures("few_rows")
def test_of_many_sessions_charts_shade_all_and_draw_the_first(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_sweep(logdir)
    for at in range(10):
        with SummaryWriter(str(logdir / f"run_{at}")) as writer:
            writer.add_scalar("other", 100.0 if at == 5 else 1.0 + at / 100, 1)

    def has_room(answer: Response) -> bool:
        """Whether the axis has room for a value that no row of the page has."""
        asked = answer.request.post_data_json if "/density" in answer.url else None
        return any(axis["key"] == "other" and max(axis["cuts"]) > 90 for axis in (asked or {"axes": []})["axes"])

    with page.expect_response(has_room) as shaded:
        page.goto(serve(logdir).url + "?tab=hparams&hparams.metrics=loss&hparams.metrics=other")
    header, counts = unpack(shaded.value.body())
    assert (header["sessions"], [int(of_pair.sum()) for of_pair in counts]) == (10, [10, 10, 10])
    expect(page.locator(ROWS)).to_have_count(2)
    expect(page.locator("#hparams-facts")).to_contain_text("charts draw these over a shaded density of all")
    shade = page.locator(".hparams-parallel canvas").first
    expect(shade).to_be_visible()
    page.wait_for_function(f"""() => ({PAINTED})(document.querySelector(".hparams-parallel canvas"))""")
    with page.expect_response(has_room) as shaded:
        page.locator(".hparams-panel").get_by_text("Scatter", exact=True).click()
    assert [int(of_pair.sum()) for of_pair in unpack(shaded.value.body())[1]] == [10] * 4


def test_importance_says_what_matters(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sweep(logdir)
    page.goto(serve(logdir).url + "?tab=hparams&hparams.chart=importance")
    lines = page.locator(".hparams-bars tbody th")
    expect(lines).to_have_text(["lr", "optimizer"])
    expect(page.locator(".hparams-method")).to_contain_text("10 sessions; random forest of 100 trees (scikit-learn)")
    expect(page.locator(".hparams-bars tbody tr").first).to_contain_text("\u03c1 +1.00")


def test_one_session_and_nan_are_shown_and_nothing_is_claimed(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_session(logdir, "only", {"lr": 0.1, "<b>name</b>": "<img src=x onerror=alert(1)>"}, float("nan"))
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.locator(f"{ROWS} [col-id='loss']")).to_have_text("NaN")
    page.get_by_role("checkbox", name="<b>name</b>").check()
    expect(page.locator(f"{ROWS} .ag-cell.hparam")).to_have_text("<img src=x onerror=alert(1)>")
    page.locator(".hparams-panel").get_by_text("Importance", exact=True).click()
    expect(page.locator("#hparams-importance")).to_contain_text("Too few sessions")


def test_new_sessions_and_new_points_appear(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_session(logdir, "a", {"lr": 0.1}, 0.5)
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator("#hparams-facts")).to_contain_text("constant: lr = 0.1")
    write_session(logdir, "b", {"lr": 0.2}, 0.25)
    expect(page.locator(ROWS)).to_have_count(2)
    expect(page.locator(".hparams-grid .ag-header-cell[col-id=lr]")).to_be_visible()
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_scalar("loss", 0.125, 7)
    expect(page.locator(f"{ROWS}[row-id=a] [col-id=loss]")).to_have_text("0.125")
    assert in_order(page) == ["a", "b"]


def test_a_damaged_file_leaves_the_other_sessions(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_sweep(logdir)
    damaged = next((logdir / "run_3").iterdir())
    content = bytearray(damaged.read_bytes())
    content[-60] ^= 0xFF
    damaged.write_bytes(content)
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.locator(ROWS)).to_have_count(10)


def test_no_session_no_tab(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "plain")) as writer:
        writer.add_scalar("loss", 1, 0)
    page.goto(serve(logdir).url + "?tab=hparams")
    expect(page.get_by_role("tab")).to_have_text(["Scalars", "Health"])


SEEN_PARTS = """label => {
  const below = label.getBoundingClientRect().bottom - 1;
  const state = (part) => {
    if (part.scrollWidth <= part.clientWidth) return "whole";
    return part.clientWidth < 1.5 * parseFloat(getComputedStyle(part).fontSize) ? "a shred" : "cut";
  };
  return [...label.children].filter((part) => part.getBoundingClientRect().top < below)
    .map((part) => [part.innerText, state(part)]);
}"""


@pytest.mark.parametrize(
    ("tag", "parts"),
    [
        ("a/loss", [["a/", "whole"], ["loss", "whole"]]),
        ("validation/accuracy", [["validation/", "cut"], ["accuracy", "whole"]]),
        ("validation/accuracy greatest", [["accuracy greatest", "whole"]]),
        ("validation/accuracy greatest of all", [["accuracy greatest of all", "cut"]]),
    ],
)
def test_of_a_long_name_its_end_stays_and_never_part_of_a_letter(
    serve: Callable[..., Dashboard], page: Page, logdir: Path, tag: str, parts: list[list[str]]
) -> None:
    with SummaryWriter(str(logdir / "run")) as writer:
        writer.add_summary(Summary(value=[session_start(start_info(checked_hparams({"lr": 1.0})))]), 0)
        writer.add_scalar(tag, 1.0, 0)
    page.set_viewport_size({"width": 900, "height": 700})
    page.goto(serve(logdir).url + "?tab=hparams")
    name = page.locator("#hparams-controls .cut-name", has_text=tag[-4:])
    assert name.evaluate(SEEN_PARTS) == parts
