import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from sample_logs.make import FOLDER
from stepscope.dashboard.page.state import View, encode
from stepscope.summary import SummaryWriter
from tests.browser.conftest import Dashboard, Held, held_frames, hold_callbacks

pytestmark = pytest.mark.browser


def write_runs(logdir: Path, *names: str, points: int = 5) -> None:
    for offset, name in enumerate(names):
        with SummaryWriter(str(logdir / name)) as writer:
            for step in range(points):
                writer.add_scalar("train/loss", 1 / (step + 1 + offset), step)


def expect_curves(page: Page) -> None:
    page.wait_for_function(
        """() => {
          const card = window.stepscope && stepscope.curveCards && stepscope.curveCards.find("train/loss");
          return card && card.element.isConnected && card.model && card.model.lines.length > 0;
        }"""
    )


def choose_theme(page: Page, name: str) -> None:
    page.locator("#theme-button").click()
    page.get_by_role("menuitemradio", name=name).click()


def run_names(page: Page) -> list[str]:
    return page.locator(".run-grid .run-name .leaf").all_inner_texts()


def test_empty_directory_says_what_to_do_and_wakes_up_by_itself(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    dashboard = serve(logdir)
    page.goto(dashboard.url)
    expect(page.get_by_role("heading", name="Waiting for the first event file or trace")).to_be_visible()
    expect(page.locator(".empty")).to_contain_text(str(logdir))
    expect(page.locator(".example")).to_contain_text("add_scalar")
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    expect(page.locator("#sidebar")).to_be_hidden()
    write_runs(logdir, "first")
    expect_curves(page)
    expect(page.locator("#sidebar")).to_be_visible()
    assert run_names(page) == ["first"]


def test_missing_directory_is_waited_for(serve: Callable[..., Dashboard], page: Page, tmp_path: Path) -> None:
    dashboard = serve(tmp_path / "later")
    page.goto(dashboard.url)
    expect(page.locator(".empty")).to_contain_text("later, which does not exist yet")
    write_runs(tmp_path / "later", "a")
    expect_curves(page)


def test_only_tabs_that_have_data(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect(page.get_by_role("tab")).to_have_text(["Scalars", "Health"])


def test_filter_narrows_list_and_charts_and_shows_a_bad_pattern(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_runs(logdir, "lr_0.1/seed_0", "lr_0.1/seed_1", "lr_0.2/seed_0")
    page.goto(serve(logdir).url)
    count = page.locator("#run-count")
    expect(count).to_have_text("3 of 3 shown")
    pattern = page.get_by_label("Search runs by regular expression or condition")
    pattern.fill("SEED_0$")
    expect(count).to_have_text("2 of 3 shown")
    assert run_names(page) == ["seed_0", "seed_0"]
    expect(page).to_have_url(re.compile("run_filter=SEED_0"))
    pattern.fill("seed_[")
    expect(page.locator("#sidebar")).to_contain_text("Not a valid regular expression")
    expect(count).to_have_text("3 of 3 shown")
    pattern.fill("")
    expect(page.locator("#sidebar")).not_to_contain_text("Not a valid regular expression")


def test_switching_runs(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a", "b", "c")
    page.goto(serve(logdir).url)
    count = page.locator("#run-count")
    page.get_by_label("Show b").click()
    expect(count).to_have_text("2 of 3 shown")
    expect(page).to_have_url(re.compile(r"\?hide=b$"))
    page.get_by_role("button", name="None", exact=True).click()
    expect(count).to_have_text("0 of 3 shown")
    expect(page.locator("#panel")).to_contain_text("No scalars in the visible runs")
    page.locator(".run-name", has_text="c").dblclick()
    expect(count).to_have_text("1 of 3 shown")
    expect(page.get_by_label("Show c")).to_have_attribute("aria-checked", "true")
    page.locator("#runs-all").click()
    expect(count).to_have_text("3 of 3 shown")


def test_first_twenty_runs_are_shown(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, *(f"run_{number:02}" for number in range(25)), points=2)
    page.goto(serve(logdir).url)
    expect(page.locator("#run-count")).to_have_text("20 of 25 shown")


def test_new_run_keeps_what_the_user_looks_at(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a", "b")
    page.goto(serve(logdir).url)
    page.get_by_label("Show b").click()
    expect(page.locator("#run-count")).to_have_text("1 of 2 shown")
    color = page.get_by_label("Show a").evaluate("e => getComputedStyle(e).borderColor")
    write_runs(logdir, "later")
    expect(page.locator("#run-count")).to_have_text("2 of 3 shown")
    expect(page.get_by_label("Show b")).to_have_attribute("aria-checked", "false")
    assert page.get_by_label("Show a").evaluate("e => getComputedStyle(e).borderColor") == color


def test_damaged_file_is_told_with_its_place_and_the_rest_is_shown(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_runs(logdir, "a", points=20)
    (path,) = (logdir / "a").iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    page.goto(serve(logdir).url)
    expect_curves(page)
    page.get_by_role("button", name="1 damaged file").click()
    details = page.locator(".health-details")
    expect(details).to_contain_text(path.name)
    expect(details).to_contain_text("at byte")


def test_theme_is_remembered(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect_curves(page)
    root = page.locator("html")
    expect(root).to_have_attribute("data-mantine-color-scheme", "light")
    light = page.locator(".scalars-card").first.evaluate("e => getComputedStyle(e).backgroundColor")
    choose_theme(page, "Dark")
    expect(root).to_have_attribute("data-mantine-color-scheme", "dark")
    expect(page.get_by_role("button", name="Theme: Dark")).to_be_visible()
    assert page.locator(".scalars-card").first.evaluate("e => getComputedStyle(e).backgroundColor") != light
    page.reload()
    expect_curves(page)
    expect(root).to_have_attribute("data-mantine-color-scheme", "dark")
    choose_theme(page, "System")
    expect(root).to_have_attribute("data-mantine-color-scheme", "light")
    page.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-mantine-color-scheme", "dark")


def test_pause_holds_new_data_back(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a")
    dashboard = serve(logdir)
    page.goto(dashboard.url)
    live = page.locator("#live")
    expect(live).to_have_attribute("data-state", "live")
    live.click()
    expect(live).to_have_attribute("data-state", "paused")
    write_runs(logdir, "b")
    page.wait_for_function("() => fetch('/data/runs').then(r => r.json()).then(r => r.length === 2)")
    expect(page.locator("#run-count")).to_have_text("1 of 1 shown")
    live.click()
    expect(page.locator("#run-count")).to_have_text("2 of 2 shown")


def test_sidebar_hides_and_comes_back(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect(page.locator("#sidebar")).to_be_visible()
    page.locator("#sidebar-toggle").click()
    expect(page.locator("#sidebar")).to_be_hidden()
    page.locator("#sidebar-toggle").click()
    expect(page.locator("#sidebar")).to_be_visible()


def test_every_tab_opens_and_takes_part_in_the_frame(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a", "b")
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("notes", "hello", 0)
        writer.add_histogram("weights", [1.0, 2.0, 3.0], 0)
    page.goto(serve(logdir).url)
    expect_curves(page)
    # Callbacks of a panel that is not open must stay silent: the page fixture fails on Dash's complaints.
    for tab in ("Histograms", "Text", "Scalars"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
        page.get_by_label("Show b").click()
        choose_theme(page, "Dark" if tab == "Text" else "Light")
    expect(page.locator("#run-count")).to_have_text("1 of 2 shown")
    expect_curves(page)


def test_page_and_server_write_the_same_address(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect_curves(page)
    pattern = "a|(b/c:d,e)*~ +!'\"%&ü"
    page.evaluate("(value) => stepscope.view.update((_, set) => set('tag_filter', [value]))", pattern)
    assert page.url.partition("?")[2] == encode(View(tag_filter=pattern))


def write_many_kinds(logdir: Path) -> None:
    write_runs(logdir, "a")
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_image("picture", np.zeros((1, 4, 4)), 0)
        writer.add_histogram("weights", np.arange(3.0), 0)
        writer.add_text("note", "x", 0)


def right_edge(page: Page, selector: str) -> float:
    return float(page.locator(selector).evaluate("e => e.getBoundingClientRect().right"))


def test_tabs_that_find_no_room_are_in_a_menu(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_many_kinds(logdir)
    for name in ("custom", "other"):
        with SummaryWriter(str(logdir / "a")) as writer:
            writer.add_hparams({"lr": 0.1}, {name: 1.0}, run_name=".")
            writer.add_pr_curve("curve", np.array([0, 1]), np.array([0.2, 0.8]), 0)
    page.set_viewport_size({"width": 620, "height": 700})
    page.goto(serve(logdir).url)
    more = page.locator("#tabs-more")
    expect(more).to_contain_text(re.compile(r"More.*[1-9]$"))
    expect(page.get_by_role("tab", name="Scalars")).to_be_visible()
    expect(page.get_by_role("tab", name="Health")).to_be_hidden()
    assert right_edge(page, "#theme-button") <= 620
    before = places_of_tabs(page)
    more.click()
    page.get_by_role("menuitemradio", name="Health").click()
    expect(page.locator(".health-panel")).to_be_visible()
    # The menu shows the open tab, and no tab has moved.
    expect(more.locator(".on")).to_have_text("Health")
    assert places_of_tabs(page) == before
    assert right_edge(page, "#theme-button") <= 620
    page.set_viewport_size({"width": 1280, "height": 700})
    expect(more).to_be_hidden()
    expect(page.get_by_role("tab", name="Text")).to_be_visible()


def test_the_tab_of_a_group_names_its_members_and_no_two_tabs_have_one_key(
    serve: Callable[..., Dashboard], page: Page
) -> None:
    page.set_viewport_size({"width": 1600, "height": 700})
    page.goto(serve(FOLDER).url)
    expect(page.get_by_role("tab", name="Scalars", exact=True)).to_have_attribute("title", "Key 1")
    page.set_viewport_size({"width": 620, "height": 700})
    media = page.locator(".tab-group", has_text="Media")
    expect(media).to_have_attribute("title", re.compile(r"^Media: Images, .*\([2-9]\)$"))
    titles = page.locator(".tabs [role=tab]").evaluate_all("tabs => tabs.map((tab) => tab.title)")
    keys = [key for title in titles for key in re.findall(r"Key (\d)|\((\d)\)", title)]
    assert sorted(map("".join, keys)) == list("123456789")
    media.click()
    expect(page.get_by_role("menu", name="Media")).to_be_visible()


def places_of_tabs(page: Page) -> dict[str, tuple[float, float]]:
    """Where each visible tab begins, and how wide it is."""
    found: dict[str, tuple[float, float]] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".tabs [role=tab]")]
          .filter((tab) => tab.offsetWidth).map((tab) => {
            const { x, width } = tab.getBoundingClientRect();
            return [tab.title, [x, width]];
          }))"""
    )
    return found


def test_back_leads_to_the_tab_before_with_its_controls(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_many_kinds(logdir)
    page.goto(serve(logdir).url + "/?tag_filter=lo&run_filter=a")
    tags = page.get_by_label("Filter tags by regular expression")
    expect_curves(page)
    page.get_by_role("tab", name="Histograms").click()
    expect(page).to_have_url(re.compile("tab=histograms"))
    expect(page.locator(".toolbar", has_text="Offset")).to_be_visible()
    tags.fill("weights")
    expect(page).to_have_url(re.compile("tag_filter=weights"))
    page.go_back()
    expect(page.get_by_role("tab", name="Scalars")).to_have_attribute("aria-selected", "true")
    expect(tags).to_have_value("lo")
    expect_curves(page)
    page.go_forward()
    expect(page.get_by_role("tab", name="Histograms")).to_have_attribute("aria-selected", "true")
    expect(tags).to_have_value("weights")


def click_and_wait_for_request(page: Page, tab: str, words: str) -> None:
    with page.expect_request(lambda request: words in (request.post_data or "")):
        page.get_by_role("tab", name=tab).click()


def test_a_tab_is_not_taken_back_by_the_answer_for_the_one_before(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_many_kinds(logdir)
    page.goto(serve(logdir).url)
    expect_curves(page)
    held = hold_callbacks(page, "tab=histograms")
    click_and_wait_for_request(page, "Histograms", "tab=histograms")
    page.get_by_role("tab", name="Text").click()
    held.release()
    expect(page).to_have_url(re.compile("tab=text"))
    expect(page.get_by_role("tab", name="Text")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".panel.text")).to_be_visible()


def test_what_was_left_rests_until_the_chosen_tab_is_here(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_many_kinds(logdir)
    page.goto(serve(logdir).url)
    expect_curves(page)
    panel = page.locator("#panel")
    tags = page.get_by_label("Filter tags by regular expression")
    tags.focus()
    held = hold_callbacks(page, "tab=histograms")
    # Immediately: the user's next action finds this state.
    assert page.evaluate(
        """() => {
          [...document.querySelectorAll(".tabs [role=tab]")].find((tab) => tab.textContent === "Histograms").click();
          return [document.getElementById("panel").inert, document.activeElement === document.body];
        }"""
    ) == [True, True]
    expect(page).to_have_url(re.compile("tab=histograms"))
    page.keyboard.type("x")
    expect(tags).to_have_value("")
    # Back to the panel that is still here, which shows at once, and on again with a key.
    page.get_by_role("tab", name="Scalars").click()
    expect(panel).not_to_have_attribute("inert", "")
    expect(page).to_have_url(re.compile("tab=scalars"))
    page.wait_for_function("stepscope.view.tabs().find((tab) => tab.open).name === 'scalars'")
    held_text = hold_callbacks(page, "tab=text")
    page.keyboard.press("3")
    expect(panel).to_have_attribute("data-waits", "Opening Text…")
    expect(panel).to_have_attribute("inert", "")
    held.release()
    held_text.release()
    expect(page.locator(".panel.text")).to_be_visible()
    expect(panel).not_to_have_attribute("inert", "")
    expect(panel).not_to_have_attribute("data-waits", re.compile("."))


def test_of_two_tabs_that_are_opened_in_a_row_the_second_stays(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_many_kinds(logdir)
    page.goto(serve(logdir).url)
    expect_curves(page)
    held = hold_callbacks(page, "tab=histograms")
    page.get_by_role("tab", name="Histograms").click()
    held.wait()
    # Before the next frame, so that the server is not asked for the first.
    with held_frames(page):
        page.evaluate(
            """() => {
              [...document.querySelectorAll(".tabs [role=tab]")].find((tab) => tab.textContent === "Scalars").click();
              stepscope.view.open("text");
            }"""
        )
        held.release()
        expect(page.locator("#panel > .mounted[data-panel=histograms]")).to_be_attached()
    expect(page.locator(".panel.text")).to_be_visible()
    expect(page).to_have_url(re.compile("tab=text"))


def test_a_tab_that_is_left_for_a_moment_has_its_cards_again(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_many_kinds(logdir)
    page.goto(f"{serve(logdir).url}?tab=text")
    text = page.locator(".text-card .entry")
    expect(text).to_have_count(1)
    # Cards are reported 30 ms after they are seen (web/cards/grid.ts): on a busy machine, two tabs may open by then.
    page.evaluate("""() => {
        window.held = [];
        window.delay = window.setTimeout;
        window.setTimeout = (act, ms) => ms === 30 ? window.held.push(act) : window.delay(act, ms);
    }""")
    for name in ("images", "text"):
        page.evaluate("name => stepscope.view.open(name)", name)
        expect(page.locator(f"#panel > .mounted[data-panel={name}]")).to_be_attached()
        page.evaluate("""async () => {
            await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
            await new Promise((seen) => new IntersectionObserver(seen).observe(document.body));
        }""")
    reports = page.evaluate("""() => {
        window.setTimeout = window.delay;
        window.held.forEach((act) => act());
        return window.held.length;
    }""")
    assert reports > 0
    expect(text).to_have_count(1)


def test_a_setting_is_in_the_address_before_the_list_of_runs_is_here(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect_curves(page)
    held = hold_callbacks(page, "runs-listing.data")
    write_runs(logdir, "b")
    held.wait()
    page.get_by_role("switch", name="Ignore outliers").click()
    expect(page).to_have_url(re.compile("scalars.ignore_outliers=on"))
    held.release()
    expect(page.get_by_label("Show b", exact=True)).to_be_visible()


def test_back_before_the_tab_has_opened(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_many_kinds(logdir)
    page.goto(serve(logdir).url)
    expect_curves(page)
    # Nothing of this is answered: a request that comes before an answer replaces the earlier one and asks for less.
    held = hold_callbacks(page, "frame-key")
    click_and_wait_for_request(page, "Histograms", "tab=histograms")
    page.go_back()
    expect(page.get_by_role("tab", name="Scalars")).to_have_attribute("aria-selected", "true")
    held.release()
    expect(page).to_have_url(re.compile(r"/$"))
    page.get_by_role("tab", name="Text").click()
    expect(page.locator(".panel.text")).to_be_visible()
    page.go_back()
    expect_curves(page)
    expect(page).to_have_url(re.compile(r"/$"))


def test_settings_are_remembered_for_a_visit_without_a_query(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_many_kinds(logdir)
    url = serve(logdir).url
    page.goto(url + "/?tab=histograms")
    page.locator(".toolbar").get_by_text("Overlay", exact=True).click()
    expect(page).to_have_url(re.compile("histograms.mode=overlay"))
    page.get_by_label("Show a").click()
    expect(page).to_have_url(re.compile("hide=a"))
    page.goto(url)
    expect_curves(page)
    assert page.url == url + "/?histograms.mode=overlay"
    # Settings in a link apply, and settings that are not in it have their defaults.
    page.goto(url + "/?tab=histograms")
    expect(page.locator("input[value=offset]")).to_be_checked()
    page.goto(url)
    expect_curves(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("reset settings")
    page.get_by_role("option", name="Reset settings").click()
    expect(page).to_have_url(url + "/")
    page.goto(url)
    expect_curves(page)
    assert page.url == url + "/"


def test_settings_are_reset_where_the_browser_stores_nothing(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_runs(logdir, "a")
    url = serve(logdir).url
    page.goto(url + "/?scalars.legend=off")
    expect_curves(page)
    page.evaluate("() => { Storage.prototype.removeItem = () => { throw new DOMException('Refused'); }; }")
    page.keyboard.press("Control+k")
    page.keyboard.type("reset settings")
    page.get_by_role("option", name="Reset settings").click()
    expect(page).to_have_url(url + "/")


def test_controls_of_a_panel_that_was_on_its_way_do_not_undo_what_was_chosen_meanwhile(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_runs(logdir, "a")
    url = serve(logdir).url
    page.goto(url + "/?tab=health&scalars.legend=off")
    expect(page.get_by_role("tab", name="Health")).to_have_attribute("aria-selected", "true")
    # What a panel's controls report may come after what is done when Dash hears of the view.
    page.evaluate("""() => {
        const functions = window.dash_clientside.stepscope;
        const { collect, tellPanel } = functions;
        const heard = Promise.withResolvers();
        window.reported = 0;
        functions.tellPanel = (...values) => {
            const answer = tellPanel(...values);
            if (values[0] === "tab=scalars") heard.resolve();
            return answer;
        };
        functions.collect = async (...values) => {
            const context = window.dash_clientside.callback_context;
            const of_panel = context.triggered.some(({ prop_id }) => prop_id.includes("scalars:legend"));
            if (of_panel) await heard.promise;
            window.dash_clientside.callback_context = context;
            if (of_panel) window.reported += 1;
            return collect(...values);
        };
    }""")
    held = hold_callbacks(page, "tab=scalars")
    page.get_by_role("tab", name="Scalars").click()
    held.wait()
    # Dash learns of a view only after the next frame, and the answer to its earlier request comes before that.
    with held_frames(page):
        page.evaluate("""stepscope.view.update((params) => params.delete("scalars.legend"))""")
        held.release()
        expect(page.get_by_role("switch", name="Legend")).not_to_be_checked()
    page.wait_for_function("() => window.reported > 1")
    expect(page).to_have_url(url + "/?tab=scalars")
    expect(page.get_by_role("switch", name="Legend")).to_be_checked()


def test_a_link_leads_to_exactly_this_view(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_runs(logdir, "a", "b")
    url = serve(logdir).url
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(url + "/?hide=b")
    expect_curves(page)
    page.get_by_role("button", name="Copy a link to exactly this view").click()
    expect(page.get_by_text("Link copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == url + "/?hide=b&tab=scalars"


def test_a_link_is_copied_where_the_clipboard_is_refused_as_in_a_notebook(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_runs(logdir, "a", "b")
    url = serve(logdir).url
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(url + "/?hide=a")
    expect_curves(page)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed')); }")
    button = page.get_by_role("button", name="Copy a link to exactly this view")
    button.click()
    expect(page.get_by_text("Link copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == url + "/?hide=a&tab=scalars"
    expect(button).to_be_focused()
    page.evaluate("() => { document.execCommand = () => false; }")
    button.click()
    expect(page.get_by_text("The browser does not allow this page to copy")).to_be_visible()


def test_keys_of_the_frame(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    write_many_kinds(logdir)
    page.goto(serve(logdir).url)
    expect_curves(page)
    page.keyboard.press("3")
    expect(page.get_by_role("tab", name="Text")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard and mouse shortcuts")
    expect(sheet).to_contain_text("Next or previous match")
    expect(sheet.locator("h3")).to_have_text(["Text", "Tabs of cards", "Everywhere", "Runs"])
    page.keyboard.press("?")
    row = {"id": "text.try", "title": "Does something", "keys": ["g"]}
    page.evaluate("row => stepscope.commands.register({panel: 'text', title: 'Text', commands: [row]})", row)
    page.keyboard.press("?")
    expect(sheet).to_contain_text("Does something")
    page.keyboard.press("?")
    expect(sheet).to_be_hidden()
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    page.keyboard.press("[")
    expect(page.locator("#sidebar")).to_be_hidden()
    page.keyboard.press("[")
    page.keyboard.press("/")
    tags = page.get_by_label("Filter tags by regular expression")
    expect(tags).to_be_focused()
    # In a field, keys are letters.
    page.keyboard.type("t[1?")
    expect(tags).to_have_value("t[1?")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    expect(page.locator("#sidebar")).to_be_visible()
    expect(sheet).to_be_hidden()


def test_the_sheet_of_keys_opens_again_as_soon_as_it_is_closed(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect_curves(page)
    # Both within one task: the closing of the first sheet is reported afterward.
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard and mouse shortcuts")).to_be_visible()
    page.evaluate("""() => {
        for (let time = 0; time < 2; time++)
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
    }""")
    expect(page.locator("dialog.shortcuts")).to_have_count(1)
    expect(page.get_by_role("dialog", name="Keyboard and mouse shortcuts")).to_be_visible()


def test_the_palette_finds_runs_tags_tabs_and_commands(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_many_kinds(logdir)
    write_runs(logdir, "adam/0", "sgd/0")
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_mesh("cloud", np.eye(3)[None], colors=np.zeros((1, 3, 3), np.uint8), global_step=0)
    page.goto(serve(logdir).url)
    expect_curves(page)
    found = page.get_by_role("listbox", name="Found").get_by_role("option")

    page.keyboard.press("Control+k")
    page.keyboard.type("sg0")
    expect(found.first).to_have_text("sgd/0run")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("runs.select=sgd/0$"))

    # A tag whose card is elsewhere, and one whose card is on the page.
    page.keyboard.press("Control+k")
    page.keyboard.type("weig")
    expect(found.first).to_have_text("weightsHistograms")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Histograms")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_label("Filter tags by regular expression")).to_have_value("^weights$")
    page.keyboard.press("Control+k")
    page.keyboard.type("weig")
    expect(found.first).to_have_text("weightsHistograms")
    page.keyboard.press("Enter")
    expect(page.locator(".card.found")).to_be_visible()

    # The parts of a mesh form one entry, which leads to its card.
    page.keyboard.press("Control+k")
    page.keyboard.type("cloud")
    expect(found).to_have_text(["cloudMesh"])
    page.keyboard.press("Enter")
    expect(page.locator(".mesh-card h3")).to_have_text(["cloud"])

    # A search that is closed before its answer comes does nothing.
    held = Held(page, "api/search")
    page.keyboard.press("Control+k")
    page.keyboard.type("weig")
    page.keyboard.press("Enter")
    held.wait(2)
    page.keyboard.press("Escape")
    expect(page.locator("dialog.palette")).to_have_count(0)
    with page.expect_response(held.requests[1].url):
        held.release()
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    expect(page.get_by_role("tab", name="Mesh")).to_have_attribute("aria-selected", "true")

    # Enter applies to what was typed, even if that is not found yet; until then, the first entry is a tab.
    page.keyboard.press("Control+k")
    page.evaluate(
        """() => {
          const field = document.querySelector("dialog.palette input");
          field.value = "sg0";
          field.dispatchEvent(new Event("input", { bubbles: true }));
          field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
        }"""
    )
    expect(page.locator("dialog.palette")).to_have_count(0)
    expect(page).to_have_url(re.compile("runs.select=sgd/0"))
    expect(page.get_by_role("tab", name="Mesh")).to_have_attribute("aria-selected", "true")

    page.keyboard.press("Control+k")
    page.keyboard.type("hide all")
    expect(found.first).to_have_text("Hide all runscommand")
    page.keyboard.press("Enter")
    expect(page.locator("#run-count")).to_have_text("0 of 3 shown")
    page.keyboard.press("Control+k")
    page.keyboard.type("zzz")
    palette = page.get_by_role("dialog", name="Find")
    expect(palette).to_contain_text("Nothing found")
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()

    # Selecting its text with the mouse and releasing the button outside it does not count as a click outside.
    page.keyboard.press("Control+k")
    palette.locator("input").hover()
    page.mouse.down()
    page.mouse.move(5, 895, steps=3)
    page.mouse.up()
    page.keyboard.type("zzz")
    expect(palette).to_contain_text("Nothing found")
    page.mouse.click(5, 895)
    expect(palette).to_be_hidden()


def test_a_click_in_the_palette_counts_though_results_come_meanwhile(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_runs(logdir, "a")
    page.goto(serve(logdir).url)
    expect_curves(page)
    held = Held(page, "/search[?]")
    page.keyboard.press("Control+k")
    page.get_by_role("listbox", name="Found").get_by_role("option").filter(has_text="Hide all runs").hover()
    held.wait()
    page.mouse.down()
    with page.expect_response(re.compile("/search[?]")) as answer:
        held.release()
    answer.value.finished()
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    page.mouse.up()
    expect(page.locator("#run-count")).to_have_text("0 of 1 shown")
