"""The Distributed page: many ranks, divided, searched, and examined more closely."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.dashboard.panels.profile import cards, chosen_rows, known_ranks, rank_page, rows, table
from stepscope.dashboard.traces import gathered_ranks
from stepscope.profiler.ranks import store
from tests.browser.conftest import Dashboard
from tests.profiler.ranks.jobs import STRAGGLER, write_job

Serve = Callable[..., Dashboard]
RANKS = 20


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log directory of a job."""
    folder = tmp_path_factory.mktemp("logs")
    write_job(folder / "job", RANKS)
    return folder


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for facts that the tests of this module share."""
    return tmp_path_factory.mktemp("facts")


@pytest.fixture(autouse=True)
def _facts(monkeypatch: pytest.MonkeyPatch, facts: Path) -> None:
    """No facts are known from earlier runs of the tests."""
    monkeypatch.setattr(store, "default_store", lambda: str(facts))


@pytest.fixture
def opened(serve: Serve, page: Page, logdir: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    """The page of a job whose map has room for a third of its ranks."""
    monkeypatch.setattr(rank_page, "MOST_MAP_ROWS", 7)
    page.goto(f"{serve(logdir).url}/?tab=profile&profile.view=ranks")
    expect(chart(page, "Mean step").locator(".bars .point").first).to_be_visible()
    expect(page.locator("[data-table=ranks] header .count")).to_have_text(f"{RANKS} rows")
    return page


def chart(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title)


def click_row(page: Page, row: int, rows: int) -> None:
    """Click the first cell of a row of the map."""
    plot = chart(page, "Step times by rank").locator(".nsewdrag")
    box = plot.bounding_box()
    assert box is not None
    plot.hover(position={"x": 5, "y": box["height"] * (row + 0.4) / rows})
    plot.click(position={"x": 6, "y": box["height"] * (row + 0.5) / rows})


@pytest.mark.parametrize("wait", [0, gathered_ranks.FIRST_SECONDS], ids=["nothing", "a_sample"])
def test_a_page_that_begins_with_less_gets_all_ranks(
    serve: Serve, page: Page, logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait: float
) -> None:
    monkeypatch.setattr(store, "default_store", lambda: str(tmp_path / "facts"))
    monkeypatch.setattr(known_ranks, "FIRST_SECONDS", wait)
    page.goto(f"{serve(logdir).url}/?tab=profile&profile.view=ranks")
    expect(page.locator("[data-table=ranks] header .count")).to_have_text(f"{RANKS} rows")
    expect(page.locator("#profile-ranks-line")).to_be_empty()


def test_ranks_that_are_asked_for_are_shown(opened: Page) -> None:
    opened.get_by_label("Ranks that are shown").fill("1-3, node-0002")
    expect(opened.locator("#profile-body")).to_contain_text("Showing 7 ranks; medians are of 20 ranks.")
    expect(opened.locator("[data-table=ranks] header .count")).to_have_text("7 rows")
    opened.get_by_label("Ranks that are shown").fill("nowhere")
    expect(opened.locator("#profile-body")).to_contain_text("No rank matches 'nowhere'.")


def test_ranks_are_divided_by_host(opened: Page) -> None:
    opened.get_by_role("textbox", name="How ranks are grouped").click()
    opened.get_by_role("option", name="Host").click()
    expect(chart(opened, "Mean step").locator(".xtick text")).to_have_text(["node-0000", "node-0001", "node-0002"])
    expect(opened.locator("[data-table=rank_groups] header .count")).to_have_text("14 rows")


def test_a_cell_of_several_ranks_is_looked_at_closer_and_one_of_one_is_on_the_timeline(opened: Page) -> None:
    expect(chart(opened, "Step times by rank").locator(".ytick text", has_text="0–2")).to_be_visible()
    click_row(opened, 0, 7)
    expect(opened.get_by_label("Ranks that are shown")).to_have_value("0-2")
    expect(chart(opened, "Step times by rank").locator(".ytick text")).to_have_text(["2", "1", "0"])
    expect(opened.locator("[data-table=ranks] header .count")).to_have_text("3 rows")
    click_row(opened, STRAGGLER, 3)
    expect(opened).to_have_url(re.compile(rf"tab=timeline.*rank0000{STRAGGLER}"))
    opened.go_back()
    opened.get_by_role("button", name="All ranks and steps").click()
    expect(opened.get_by_label("Ranks that are shown")).to_have_value("")


def test_a_rank_of_a_table_leads_to_its_timeline(opened: Page) -> None:
    row = opened.locator("[data-table=ranks] .ag-row[row-index='11']")
    row.scroll_into_view_if_needed()
    row.locator("a.profile-at").click()
    expect(opened).to_have_url(re.compile("tab=timeline.*rank00011"))


def test_tables_are_sent_again_only_when_their_ranks_change(opened: Page) -> None:
    answered: list[str] = []
    opened.on("response", lambda response: answered.append(response.text()) if "_dash-update" in response.url else None)
    opened.get_by_role("textbox", name="How ranks are grouped").click()
    opened.get_by_role("option", name="Host").click()
    expect(chart(opened, "Mean step").locator(".xtick text").first).to_have_text("node-0000")
    expect(opened.locator("[data-table=ranks] header .count")).to_have_text(f"{RANKS} rows")
    assert [
        ("profile-lead" in answer, "profile-tables" in answer) for answer in answered if "profile-keys" in answer
    ] == [(True, False)]


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page gets five rows of each table that has more than ten."""
    monkeypatch.setattr(table, "MOST_ROWS", 10)
    monkeypatch.setattr(cards, "SHORT", 4)
    for module in (rows, chosen_rows):
        monkeypatch.setattr(module, "FIRST_ROWS", 5)


@pytest.mark.usefixtures("cut")
def test_a_table_that_is_too_long_for_the_page_is_sorted_searched_and_filtered_whole(
    serve: Serve, page: Page, logdir: Path
) -> None:
    page.goto(f"{serve(logdir).url}/?tab=profile&profile.view=ranks")
    card = page.locator("[data-table=ranks]")
    expect(card.locator("header .count")).to_have_text(f"{RANKS} rows")
    named = card.locator(".ag-center-cols-container .ag-row .ag-cell[col-id=rank]")
    expect(named).to_have_text(["0", "1", "2", "3", "4"])
    expect(card.locator(".cut")).to_contain_text(f"The first 5 of {RANKS} rows")
    heading = card.locator(".ag-header-cell[col-id=rank]")
    heading.click()
    expect(named).to_have_text(["19", "18", "17", "16", "15"])
    # The page gets another table, which is requested in the same order as the previous one.
    page.get_by_label("Ranks that are shown").fill("0-17")
    expect(card.locator("header .count")).to_have_text("18 rows")
    expect(named).to_have_text(["17", "16", "15", "14", "13"])
    page.get_by_label("Ranks that are shown").fill("")
    expect(named).to_have_text(["19", "18", "17", "16", "15"])
    card.get_by_role("searchbox").fill("2")
    expect(named).to_have_text(["12", "2"])
    expect(card.locator(".cut")).to_contain_text(f"2 rows found among {RANKS}; ")
    named.first.locator("a.profile-at").click()
    expect(page).to_have_url(re.compile("tab=timeline.*rank00012"))
