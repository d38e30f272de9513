"""The frame in little space: on phones, in narrow windows, and with many tabs."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from docs.screenshots.make import READY, open_tab
from sample_logs.make import FOLDER
from stepscope.dashboard.panels.registry import PANELS
from stepscope.summary import SummaryWriter
from tests.browser.conftest import Dashboard, expect_uncut
from tests.browser.test_frame import expect_curves, places_of_tabs, write_runs
from tests.browser.test_health import flip, write_run

pytestmark = pytest.mark.browser


def open_samples(page: Page, serve: Callable[..., Dashboard]) -> None:
    page.goto(serve(FOLDER).url)
    page.locator(READY["scalars"]).first.wait_for()


def is_inside(page: Page, selector: str) -> bool:
    found: bool = page.locator(selector).evaluate("e => e.getBoundingClientRect().right <= innerWidth")
    return found


def test_no_panel_is_wider_than_a_phone(phone: Page, serve: Callable[..., Dashboard]) -> None:
    open_samples(phone, serve)
    for panel in PANELS:
        open_tab(phone, panel.name)
        drawn = ".health-table .ag-row" if panel.name == "health" else READY[panel.name]
        phone.locator(drawn).first.wait_for(state="attached")
        for scroller in ("document.documentElement", "document.getElementById('panel')"):
            phone.wait_for_function(f"() => {scroller}.scrollWidth <= {scroller}.clientWidth")
        assert is_inside(phone, "#theme-button"), panel.name
        expect(phone.locator("#tabs-more .on")).to_have_text(panel.title)
        expect(phone.locator("#sidebar")).to_be_hidden()


@pytest.mark.parametrize("width", [390, 360, 320])
def test_the_header_of_a_phone_has_room_for_the_sign_of_damage(
    phone: Page, serve: Callable[..., Dashboard], logdir: Path, width: int
) -> None:
    flip(write_run(logdir, "a", 40), 500)
    with SummaryWriter(str(logdir / "b")) as writer:
        writer.add_custom_scalars({"all": {"losses": ["Multiline", ["loss"]]}})
    phone.set_viewport_size({"width": width, "height": 800})
    phone.goto(f"{serve(logdir).url}?tab=health")
    expect(phone.locator("#health-badge")).to_be_visible()
    expect(phone.locator("#tabs-more .on")).to_have_text("Health")
    expect(phone.locator("#tabs-more .tab-names > *", has_text="Custom scalars")).to_have_count(1)  # the widest name
    shown = phone.locator("#frame > header > :not(:empty)").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).filter((e) => e.width).map((e) => [e.left, e.right])"
    )
    assert len(shown) == 7
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(shown)), "some lie over others"
    assert shown[-1][1] <= width - 8


def test_what_the_projector_says_without_embeddings_is_no_wider_than_a_phone(
    phone: Page, serve: Callable[..., Dashboard], logdir: Path
) -> None:
    phone.goto(f"{serve(logdir).url}?tab=projector")
    expect(phone.locator(".pj-empty h1")).to_be_visible()
    assert phone.locator("#panel").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_an_enlarged_image_is_closed_by_a_tap(phone: Page, serve: Callable[..., Dashboard]) -> None:
    large = "&images.large=".join(("", "digits/lr_0.1/seed_0", "digits/hardest", "", "0"))
    phone.goto(f"{serve(FOLDER).url}?tab=images{large}")
    expect(phone.locator("#large .what")).to_contain_text("step 660")
    assert is_inside(phone, "#large .zooming")
    assert is_inside(phone, "#large .source")
    close = phone.get_by_role("button", name="Close (Escape)")
    assert is_inside(phone, "#large header > :last-child")
    close.tap()
    expect(phone.locator("#large")).to_have_count(0)


def test_the_list_of_runs_lies_over_the_panel(phone: Page, serve: Callable[..., Dashboard], logdir: Path) -> None:
    write_runs(logdir, "a", "b")
    phone.goto(serve(logdir).url)
    expect_curves(phone)
    width = phone.locator("#panel").evaluate("e => e.clientWidth")
    sidebar, opener = phone.locator("#sidebar"), phone.locator("#sidebar-toggle")
    expect(sidebar).to_be_hidden()
    expect(opener).to_have_attribute("aria-expanded", "false")
    opener.tap()
    expect(sidebar).to_be_visible()
    expect(sidebar).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "true")
    expect(phone.locator("#panel")).to_have_attribute("inert", "")
    assert phone.locator("#panel").evaluate("e => e.clientWidth") == width
    phone.get_by_label("Show b").tap()
    expect(phone.locator("#run-count")).to_have_text("1 of 2 shown")
    phone.keyboard.press("Escape")
    expect(sidebar).to_be_hidden()
    expect(opener).to_be_focused()
    opener.tap()
    phone.touchscreen.tap(380, 500)
    expect(sidebar).to_be_hidden()
    expect(phone.locator("#panel")).not_to_have_attribute("inert", "")
    # The state in a wide window is not affected by this.
    phone.set_viewport_size({"width": 1280, "height": 800})
    expect(sidebar).to_be_visible()


def test_toolbars_fold_behind_one_button(phone: Page, serve: Callable[..., Dashboard], logdir: Path) -> None:
    write_runs(logdir, "a")
    phone.goto(serve(logdir).url)
    expect_curves(phone)
    options = phone.locator(".toolbar .options")
    outliers = phone.get_by_text("Ignore outliers")
    expect(options).to_have_attribute("aria-expanded", "false")
    expect(phone.get_by_label("Filter tags by regular expression")).to_be_visible()
    expect(outliers).to_be_hidden()
    options.tap()
    expect(outliers).to_be_visible()
    expect(options).to_be_focused()
    options.tap()
    expect(outliers).to_be_hidden()
    phone.set_viewport_size({"width": 1280, "height": 800})
    expect(outliers).to_be_visible()
    expect(options).to_have_count(0)


def test_a_tap_shows_the_values_and_sets_no_mark(phone: Page, serve: Callable[..., Dashboard], logdir: Path) -> None:
    write_runs(logdir, "a", points=20)
    phone.goto(serve(logdir).url)
    expect_curves(phone)
    values, dock = phone.locator("#hover"), phone.locator("#curve-dock .dock")
    chart = phone.locator(".scalars-card .curves").first
    chart.tap(position={"x": 180, "y": 100})
    expect(values).to_be_visible()
    expect(values).to_contain_text("Value")
    expect(dock).to_have_count(0)
    phone.locator(".toolbar").tap(position={"x": 3, "y": 3})
    expect(values).to_be_hidden()
    chart.click(position={"x": 180, "y": 100})
    expect(dock).to_be_visible()


def strip_of(page: Page) -> Locator:
    return page.locator(".profile-views")


def test_pages_of_the_profile_that_find_no_room_are_within_reach(phone: Page, serve: Callable[..., Dashboard]) -> None:
    # Of all traces, that of PyTorch has the most pages; without the setting, the file that was written last is shown.
    (trace,) = FOLDER.glob("digits/torch/plugins/profile/*/sample.trace.json.gz")
    phone.goto(f"{serve(FOLDER).url}?tab=profile&profile.trace=digits/torch|file|{trace.relative_to(FOLDER)}")
    strip = strip_of(phone)
    expect(strip).to_have_class(re.compile("more-after"))
    last = strip.locator("label").last
    row = strip.locator(".side-scroll-row")
    for _ in range(9):
        # Get the position first: the row may still be gliding to its end, where no arrow moves it.
        before = row.evaluate("e => e.scrollLeft")
        if row.evaluate("e => e.scrollWidth - e.clientWidth - e.scrollLeft <= 1"):
            break
        # Dispatch the event: while the row is gliding to its end, the arrow disappears.
        strip.locator(".side-scroll-arrow.after").dispatch_event("click")
        # The row may also be back at its beginning if its pages arrived in the meantime.
        phone.wait_for_function(
            "before => document.querySelector('.side-scroll-row').scrollLeft !== before", arg=before
        )
    expect(strip).to_have_class(re.compile("more-before"))
    expect(last).to_be_in_viewport()


def test_the_page_of_the_profile_that_is_open_is_in_sight_and_heads_of_tables_fit(
    phone: Page, serve: Callable[..., Dashboard]
) -> None:
    phone.goto(serve(FOLDER).url + "?tab=profile&profile.view=slices")
    expect(strip_of(phone).locator("label[data-active]")).to_be_in_viewport(ratio=1)
    card = phone.locator(".profile-card.table")
    expect(card.get_by_role("button", name="CSV")).to_be_in_viewport(ratio=1)
    right = card.evaluate("e => e.getBoundingClientRect().right")
    for control in card.locator("> header > *").all():
        assert control.evaluate("e => e.getBoundingClientRect().right") <= right


def test_names_of_clips_are_whole_on_a_phone(phone: Page, serve: Callable[..., Dashboard]) -> None:
    phone.goto(serve(FOLDER).url + "?tab=audio")
    phone.locator(READY["audio"]).first.wait_for()
    names = phone.locator(".clip > header .run-label")
    expect(names.first).to_have_text("digits/lr_0.3/seed_0")
    expect_uncut(names.first)


def test_the_legend_leaves_the_points_of_a_phone_alone_until_it_is_unfolded(
    phone: Page, serve: Callable[..., Dashboard]
) -> None:
    phone.goto(serve(FOLDER).url + "?tab=projector")
    entries = phone.locator(".pj-legend-entry")
    unfold = phone.get_by_role("button", name="Expand the legend")
    expect(unfold).to_be_visible()
    expect(entries.first).to_be_hidden()
    unfold.tap()
    expect(entries.first).to_be_visible()
    phone.reload()
    expect(entries.first).to_be_visible()


def test_every_tab_is_at_a_glance_in_a_usual_window(page: Page, serve: Callable[..., Dashboard]) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    open_samples(page, serve)
    for title in ("Scalars", "Histograms", "HParams", "Graph", "Projector", "Timeline", "Profile", "Health"):
        expect(page.get_by_role("tab", name=title, exact=True)).to_be_visible()
    expect(page.locator("#tabs-more")).to_be_hidden()
    before = places_of_tabs(page)
    media = page.get_by_role("tab", name="Media")
    media.click()
    expect(page.get_by_role("menuitemradio")).to_have_text(["Images", "Audio", "Mesh", "Text"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("tab=audio"))
    expect(page.get_by_role("tab", name="Audio", selected=True)).to_be_visible()
    expect(page.locator(".panel.audio")).to_be_visible()
    assert places_of_tabs(page) == before
    # The keys follow what is visible: the third opens the menu, the ninth the Timeline.
    page.keyboard.press("9")
    expect(page.locator(".timeline-panel")).to_be_visible()
    assert places_of_tabs(page) == before
    page.keyboard.press("3")
    expect(page.get_by_role("menuitemradio", name="Images")).to_be_focused()
    page.keyboard.press("Escape")
    # In a wider window, each panel has its own tab.
    page.set_viewport_size({"width": 1920, "height": 800})
    expect(page.get_by_role("tab", name="Mesh")).to_be_visible()
    expect(media).to_be_hidden()


def test_arrows_go_along_the_tabs_that_are_seen(page: Page, serve: Callable[..., Dashboard]) -> None:
    open_samples(page, serve)
    page.get_by_role("tab", name="Scalars", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Media")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Histograms")).to_be_focused()
    expect(page.get_by_role("tab", name="Scalars", exact=True, selected=True)).to_be_visible()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator(".health-panel")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Scalars", exact=True)).to_be_focused()


def test_the_list_of_runs_is_away_where_it_chooses_nothing(page: Page, serve: Callable[..., Dashboard]) -> None:
    open_samples(page, serve)
    sidebar = page.locator("#sidebar")
    for panel in PANELS:
        page.evaluate("name => stepscope.view.open(name)", panel.name)
        expect(page.locator(f"#panel > .mounted[data-panel={panel.name}]")).to_be_attached()
        expect(sidebar).to_be_visible(visible=panel.follows_runs)
    width = page.locator("#panel").evaluate("e => e.getBoundingClientRect().width")
    assert width == 1280
    page.keyboard.press("[")
    expect(page.get_by_text("This tab does not depend on which runs are shown")).to_be_visible()
    # The user's choice for the other tabs still applies.
    page.get_by_role("tab", name="Scalars", exact=True).click()
    expect(sidebar).to_be_visible()
    page.keyboard.press("[")
    expect(sidebar).to_be_hidden()
    page.get_by_role("tab", name="Graph").click()
    expect(page.locator(".graph-panel")).to_be_visible()
    page.get_by_role("tab", name="Scalars", exact=True).click()
    page.locator(READY["scalars"]).first.wait_for()
    expect(sidebar).to_be_hidden()
    # A run that is searched for from a tab without the list is shown in a tab that has it.
    page.get_by_role("tab", name="Graph").click()
    expect(page.locator(".graph-panel")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("digits/torch")
    page.get_by_role("option", name=re.compile("digits.torch.*run")).click()
    expect(page.get_by_role("tab", name="Scalars", exact=True, selected=True)).to_be_visible()
    expect(page).to_have_url(re.compile("runs.select=digits/torch"))


def test_what_is_said_instead_of_cards_follows_the_filters(
    page: Page, serve: Callable[..., Dashboard], logdir: Path
) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect_curves(page)
    page.get_by_label("Filter tags by regular expression").fill("zzz")
    notice = page.locator(".notice.none")
    expect(notice).to_contain_text("No tag matches the filter")
    page.evaluate(
        "stepscope.view.update((_, set) => { set('tag_filter', ['']); set('runs', ['none']); set('show', []); })"
    )
    expect(notice).to_contain_text("No scalars in the visible runs")


def test_a_toolbar_that_stays_hides_what_scrolls_below_it(page: Page, serve: Callable[..., Dashboard]) -> None:
    open_samples(page, serve)
    toolbar = page.locator("#panel .toolbar")
    opaque = "e => getComputedStyle(e).backgroundColor === getComputedStyle(document.body).backgroundColor"
    assert toolbar.evaluate(opaque)
    height = toolbar.evaluate("e => e.offsetHeight")
    # The line below the toolbar continues into the strip that is reserved for a scrollbar.
    expect(page.locator("#panel")).to_have_attribute("style", re.compile(rf"--toolbar: {height}px"))


def test_the_page_of_an_empty_folder_fits_a_phone(phone: Page, serve: Callable[..., Dashboard], logdir: Path) -> None:
    phone.goto(serve(logdir).url)
    expect(phone.get_by_text("Waiting for the first event file or trace")).to_be_visible()
    outside = phone.evaluate(
        """() => [...document.querySelectorAll("#panel *")].filter((element) => {
          const { left, right } = element.getBoundingClientRect();
          return !element.closest("pre *") && (left < 0 || right > innerWidth);
        }).map((element) => element.tagName)"""
    )
    assert outside == []
    button = phone.get_by_role("button", name="Copy", exact=True).bounding_box()
    code = phone.locator(".example code").bounding_box()
    assert button is not None
    assert code is not None
    assert button["y"] + button["height"] <= code["y"]


def test_long_titles_of_cards_have_two_lines_on_a_phone(
    phone: Page, serve: Callable[..., Dashboard], logdir: Path
) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for way in ("with", "without"):
            writer.add_scalar(f"train/loss_of_the_language_model_head_{way}_smoothing", 1.0, 0)
    phone.goto(serve(logdir).url)
    titles = phone.locator(".scalars-card h3")
    expect(titles).to_have_count(2)
    expect_uncut(titles)
    assert titles.evaluate_all("all => all.every((e) => e.scrollHeight <= e.clientHeight)")


def test_on_a_wide_screen_every_toolbar_is_one_row(page: Page, serve: Callable[..., Dashboard]) -> None:
    page.set_viewport_size({"width": 1920, "height": 1000})
    url = serve(FOLDER).url
    for panel in ("scalars", "custom_scalars", "audio", "histograms"):
        page.goto(f"{url}?tab={panel}")
        page.locator(READY[panel]).first.wait_for()
        rows = page.locator("#panel .toolbar").evaluate(
            "bar => new Set([...bar.children].filter(e => e.offsetHeight)"
            ".map(e => Math.round((e.offsetTop + e.offsetHeight / 2) / 8))).size"
        )
        assert rows == 1, panel
