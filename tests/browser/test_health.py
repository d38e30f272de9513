import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.summary import SummaryWriter
from tests.browser.conftest import Dashboard, expect_uncut

pytestmark = pytest.mark.browser

WHOLE = re.compile("^(growing|up to date)$")
"""By how long ago the files were written."""
ROWS = ".health-grid .ag-center-cols-container .ag-row"


def write_run(logdir: Path, name: str, points: int = 5, first: int = 0) -> Path:
    """Writes a run of scalars and returns its newest file."""
    with SummaryWriter(str(logdir / name)) as writer:
        for step in range(first, first + points):
            writer.add_scalar("loss", 1 / (step + 1), step)
    return sorted((logdir / name).iterdir())[-1]


def flip(file: Path, *places: int) -> None:
    content = bytearray(file.read_bytes())
    for place in places:
        content[place] ^= 0xFF
    file.write_bytes(content)


def verdict(page: Page) -> Locator:
    return page.locator(".health-verdict")


def cell(page: Page, run: str, column: str) -> Locator:
    row = page.locator(ROWS).filter(has=page.locator("[col-id=run]", has_text=re.compile(f"^{re.escape(run)}$")))
    return row.locator(f"[col-id={column}]")


def test_no_loss_is_good_news_and_the_tab_comes_last(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_run(logdir, "a")
    write_run(logdir, "b")
    page.goto(serve(logdir).url)
    expect(page.get_by_role("tab")).to_have_text(["Scalars", "Health"])
    page.get_by_role("tab", name="Health").click()
    expect(verdict(page)).to_contain_text("2 files read without errors")
    expect(verdict(page)).to_have_class(re.compile("good"))
    expect(cell(page, "a", "state")).to_have_text(WHOLE)
    expect(page.locator("#health-count")).to_have_text("2 files")
    page.get_by_text("With damage").click()
    expect(page.locator("#health-nothing")).to_contain_text("No damaged files")


def test_empty_directory_waits_and_the_panel_opens_by_itself(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    page.goto(serve(logdir).url + "?tab=health")
    expect(page.get_by_role("heading", name="Waiting for the first event file or trace")).to_be_visible()
    write_run(logdir, "a")
    expect(verdict(page)).to_contain_text("1 file read without errors")


def test_damaged_file_leads_the_table_and_lists_what_was_skipped(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_run(logdir, "a", 40)
    damaged = write_run(logdir, "b", 40)
    flip(damaged, 500, 900)
    dashboard = serve(logdir)
    page.goto(dashboard.url + "?tab=health")
    expect(verdict(page)).to_contain_text("1 of 2 files is damaged")
    expect(page.locator(ROWS).first.locator("[col-id=state]")).to_have_text("damaged")
    expect(cell(page, "b", "stretches")).to_have_text("2")
    cell(page, "b", "state").click()
    details = page.locator("#health-details")
    expect(details).to_contain_text(f"b/{damaged.name}")
    health = {file.run: file for file in dashboard.live.snapshot().health}["b"]
    assert [[damage.offset, damage.length] for damage in health.damages] == [
        [int(text.split()[0].replace(",", "")) for text in row.locator("td").all_inner_texts()[:2]]
        for row in details.locator("tbody tr").all()
    ]
    expect(page).to_have_url(re.compile("health.file=b/events"))
    page.reload()
    expect(details.locator("tbody tr")).to_have_count(2)
    page.locator("#health-close").click()
    expect(details).to_be_hidden()
    expect(page).not_to_have_url(re.compile("health.file"))


CLOSED_AT_ONCE = """(() => {
    new MutationObserver((_changes, observer) => {
        const button = document.getElementById("health-close");
        if (!button) return;
        observer.disconnect();
        button.click();
    }).observe(document, { subtree: true, childList: true });
    const replace = history.replaceState.bind(history);
    window.addresses = [];
    history.replaceState = (state, title, url) => {
        addresses.push(new URLSearchParams(url.split("?")[1]).get("health.file"));
        replace(state, title, url);
    };
})()"""


def test_a_file_that_is_closed_before_the_table_is_here_stays_closed(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    first, second = write_run(logdir, "a"), write_run(logdir, "b")
    page.add_init_script(CLOSED_AT_ONCE)
    page.goto(f"{serve(logdir).url}?tab=health&health.file=b/{second.name}")
    details = page.locator("#health-details")
    cell(page, "a", "state").click()
    expect(details).to_contain_text(f"a/{first.name}")
    expect(page.locator(".health-table .ag-row-selected [col-id=run]")).to_have_text("a")
    page.locator("#health-close").click()
    expect(details).to_be_hidden()
    assert page.evaluate("addresses") == [None, f"a/{first.name}", None]
    # Open once more, although the page began with it.
    cell(page, "b", "state").click()
    expect(details).to_contain_text(f"b/{second.name}")


def test_tables_leave_the_page_as_csv(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_run(logdir, "a", 40)
    flip(write_run(logdir, "b", 40), 500)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(serve(logdir).url + "?tab=health&health.show=bad")
    expect(page.locator("#health-count")).to_have_text("1 of 2 files")
    page.get_by_title("Copy the table of files").click()
    expect(page.get_by_text("Table copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert [line.split(",")[1] for line in copied] == ["Run", "b"]
    with page.expect_download() as download:
        page.get_by_role("button", name="Skipped CSV").click()
    assert download.value.suggested_filename == "event_damages.csv"
    lines = download.value.path().read_text().splitlines()
    assert [line.split(",")[1] for line in lines] == ["Run", "b"]


def test_truncated_tail_waits_calmly_and_is_read_when_the_rest_arrives(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    file = write_run(logdir, "a")
    content = file.read_bytes()
    file.write_bytes(content[:-7])
    page.goto(serve(logdir).url + "?tab=health")
    expect(cell(page, "a", "state")).to_have_text(re.compile(r"^waiting for the rest of a record at byte \d+$"))
    expect(verdict(page)).to_have_class(re.compile("good"))
    cell(page, "a", "state").click()
    expect(page.locator("#health-details")).to_contain_text("The last record appears once it is complete")
    with file.open("ab") as stream:
        stream.write(content[-7:])
    expect(cell(page, "a", "state")).to_have_text(WHOLE)
    expect(page.locator("#health-details .state")).to_have_text(WHOLE)


def test_growing_file_changes_its_row_and_keeps_order_and_selection(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_run(logdir, "a", 5)
    write_run(logdir, "b", 9)
    page.goto(serve(logdir).url + "?tab=health")
    page.locator(".health-grid .ag-header-cell[col-id=records]").click()
    cell(page, "a", "state").click()
    with SummaryWriter(str(logdir / "c")) as writer:
        writer.add_scalar("loss", 1, 0)
        writer.flush()
        expect(cell(page, "c", "records")).to_have_text("2")
        for step in range(1, 20):
            writer.add_scalar("loss", 1, step)
        writer.flush()
        expect(cell(page, "c", "records")).to_have_text("21")
    by_row = {int(row.get_attribute("row-index") or 0): row for row in page.locator(ROWS).all()}
    assert [by_row[index].locator("[col-id=run]").inner_text() for index in range(3)] == ["c", "b", "a"]
    expect(page.locator(f"{ROWS}.ag-row-selected [col-id=run]")).to_have_text("a")


def test_filter_finds_files_and_shows_a_bad_pattern(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_run(logdir, "lr_1/seed_0")
    write_run(logdir, "lr_2/seed_0")
    page.goto(serve(logdir).url + "?tab=health")
    pattern = page.get_by_label("Filter files by regular expression")
    pattern.fill("LR_1/")
    expect(page.locator("#health-count")).to_have_text("1 of 2 files")
    expect(page.locator(f"{ROWS} [col-id=run]")).to_have_text("lr_1/seed_0")
    pattern.fill("none")
    expect(page.locator("#health-nothing")).to_contain_text("No file matches the filter")
    pattern.fill("[")
    expect(page.locator(".health-panel")).to_contain_text("Not a valid regular expression")
    expect(page.locator("#health-count")).to_have_text("2 files")


def test_superseded_points_are_counted_by_file(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_run(logdir, "a", 10)
    write_run(logdir, "a", 10, first=6)
    page.goto(serve(logdir).url + "?tab=health")
    expect(verdict(page)).to_contain_text("4 points superseded by a restart")
    expect(page.locator(ROWS).first.locator("[col-id=superseded]")).to_have_text("4")


@pytest.mark.parametrize(("name", "selected"), [("Show all", 0), ("b/events", 1)])
def test_badge_leads_to_the_panel(
    serve: Callable[..., Dashboard], page: Page, logdir: Path, name: str, selected: int
) -> None:
    write_run(logdir, "a")
    flip(write_run(logdir, "b", 40), 500)
    page.goto(serve(logdir).url)
    page.get_by_role("button", name="1 damaged file").click()
    page.locator(".health-details").get_by_role("button", name=name).click()
    expect(page.get_by_role("tab", name="Health")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".health-details")).to_be_hidden()
    expect(cell(page, "b", "state")).to_have_text("damaged")
    expect(page.locator("#health-details section")).to_have_count(selected)


def test_first_pass_is_shown_in_the_header_and_moves_nothing(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_run(logdir, "a")
    write_run(logdir, "b")
    dashboard = serve(logdir)
    page.goto(dashboard.url)
    expect(page.locator(".scalars-card.drawn canvas").first).to_be_visible()
    places = "() => [...document.querySelectorAll('header > *')].map(e => JSON.stringify(e.getBoundingClientRect()))"
    before = page.evaluate(places)
    whole = dashboard.live.snapshot()
    read, unread = whole.health
    half = (read, replace(unread, bytes_read=0, records=0))
    dashboard.live.publish(replace(whole, revision=whole.revision + 1, health=half, loading=True))
    bar = page.get_by_role("progressbar", name="Reading the log directory")
    expect(bar).to_have_attribute("aria-valuenow", "50")
    expect(page.locator("#reading")).to_have_text(
        re.compile(rf"^reading: 1 of 2 files, {read.size} B of {2 * read.size} B$")
    )
    assert page.evaluate(places) == before
    page.get_by_role("tab", name="Health").click()
    expect(verdict(page)).to_contain_text("No damage so far; still reading")
    expect(cell(page, "b", "state")).to_have_text("not read yet")
    dashboard.live.publish(replace(whole, revision=whole.revision + 2))
    expect(bar).to_have_count(0)
    expect(page.locator("#reading")).to_be_empty()
    expect(verdict(page)).to_contain_text("2 files read without errors")


def test_a_file_says_how_long_nothing_was_written_to_it(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    file = write_run(logdir, "stalled")
    hours_ago = time.time() - 3.5 * 3600
    os.utime(file, (hours_ago, hours_ago))
    write_run(logdir, "running")
    page.goto(serve(logdir).url + "?tab=health")
    expect(cell(page, "stalled", "modified")).to_have_text("3 h ago")
    expect(cell(page, "stalled", "state")).to_have_text("up to date")
    expect(cell(page, "running", "state")).to_have_text("growing")
    expect(cell(page, "running", "modified")).to_have_text("now")


def test_long_names_of_runs_stay_different(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    def train(seed: int) -> None:
        name = f"{'a_name_that_is_much_too_long_for_its_column' * 3}_seed={seed}_end"
        with SummaryWriter(str(logdir / "sweep" / name)) as writer:
            writer.add_scalar("loss", 1.0, 0)

    train(0)
    page.goto(serve(logdir).url + "?tab=health")
    names = page.locator(".health-grid .run-label")
    expect(names).to_have_text([re.compile("….*…")])
    expect_uncut(names)
    # The first name, too, shows another part once there are other names that differ in that part.
    train(1)
    train(2)
    expect(names).to_have_text([re.compile(f"…?seed={seed}") for seed in range(3)])
    expect_uncut(names)
