"""Text on the page: steps, search, differences, tables, JSON, damage, growth, and malicious texts."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.proto.summary_pb2 import Summary
from tests.browser.conftest import Dashboard, Held

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]
STEPS = ".entry > header strong"


def slide(page: Page, position: int) -> None:
    """Moves the first slider as a hand does: it moves, then it is released."""
    page.locator(".track-slider").first.evaluate(
        """(input, position) => {
          input.value = position;
          input.dispatchEvent(new Event("input", { bubbles: true }));
          input.dispatchEvent(new Event("change", { bubbles: true }));
        }""",
        position,
    )


def type_step(page: Page, step: str) -> None:
    field = page.locator(".track-field").first
    field.fill(step)
    field.press("Enter")


def wait_for_highlights(page: Page, others: int, now: int) -> None:
    page.wait_for_function(
        """([others, now]) => CSS.highlights.get("text-found")?.size === others
          && CSS.highlights.get("text-found-now")?.size === now""",
        arg=[others, now],
    )


def test_texts_are_newest_first_and_growth_comes_on_top(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    for step in range(5):
        writer.add_text("note", f"text **{step}**", step)
    writer.flush()
    page.goto(serve(logdir).url)
    steps = page.locator(STEPS)
    expect(steps).to_have_text(["step 4", "step 3", "step 2"])
    expect(page.locator(".prose strong")).to_have_text(["4", "3", "2"])
    writer.add_text("note", "text 5", 5)
    writer.close()
    expect(steps).to_have_text(["step 5", "step 4", "step 3", "step 2"])
    page.get_by_text("Show 2 older").click()
    expect(steps).to_have_text(["step 5", "step 4", "step 3", "step 2", "step 1", "step 0"])
    page.get_by_text("As written").click()
    expect(page.locator(".prose pre").nth(1)).to_have_text("text **4**")


def test_any_of_ten_thousand_steps_is_reached(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    for step in range(10_000):
        writer.add_text("note", f"text {step}", 3 * step)
    writer.flush()
    page.goto(serve(logdir).url)
    steps = page.locator(STEPS)
    expect(steps).to_have_text(["step 29,997", "step 29,994", "step 29,991"])
    type_step(page, "1,000")
    expect(steps).to_have_text(["step 999", "step 996", "step 993"])
    expect(page).to_have_url(re.compile(r"text\.step=.*:999"))
    expect(page.get_by_text("Show 20 of 9,666 newer")).to_be_visible()
    page.reload()
    expect(steps).to_have_text(["step 999", "step 996", "step 993"])
    writer.add_text("note", "text 10000", 30_000)
    writer.close()
    expect(page.get_by_text("Show 20 of 9,667 newer")).to_be_visible()
    expect(steps.first).to_have_text("step 999")
    slide(page, 10_000)
    expect(steps.first).to_have_text("step 30,000")
    expect(page).not_to_have_url(re.compile(r"text\.step="))


def test_steps_that_follow_each_other_quickly_end_at_the_last(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(5):
            writer.add_text("note", f"text {step}", step)
    page.goto(serve(logdir).url)
    steps = page.locator(STEPS)
    expect(steps.first).to_have_text("step 4")
    held = Held(page, r"/entries\?")
    previous = page.get_by_role("button", name="Previous step")
    previous.click()
    previous.click()
    held.wait(2)
    with page.expect_response(held.requests[0].url):
        held.requests.pop(0).pass_on()
    expect(page.locator(".track-field")).to_have_value("4")
    held.release()
    expect(steps.first).to_have_text("step 2")
    expect(page).to_have_url(re.compile(r"text\.step=.*:2"))


def test_linked_cards_show_one_step(serve: Serve, page: Page, logdir: Path) -> None:
    for run, every in (("a", 1), ("b", 2)):
        with SummaryWriter(str(logdir / run)) as writer:
            for step in range(0, 10, every):
                writer.add_text("note", f"{run} {step}", step)
    page.goto(serve(logdir).url + "?text.link=on&text.shown=one")
    steps = page.locator(STEPS)
    expect(steps).to_have_text(["step 9", "step 8"])
    type_step(page, "3")
    expect(steps).to_have_text(["step 3", "step 4"])
    expect(page).to_have_url(re.compile(r"text\.step=:3"))


def test_one_text_has_no_slider_and_is_copied_as_written(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("note", "**alone**", 7)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(serve(logdir).url)
    expect(page.locator(STEPS)).to_have_text(["step 7"])
    expect(page.locator(".text-steps")).to_be_hidden()
    page.get_by_role("button", name="Copy as written").click()
    expect(page.get_by_text("Text copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "**alone**"


def test_a_search_steps_through_texts_that_are_not_on_the_page(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(500):
            writer.add_text("note", "a **needle**, a needle" if step in (10, 480) else f"hay {step}", step)
    page.goto(serve(logdir).url)
    expect(page.locator(STEPS).first).to_have_text("step 499")
    field = page.get_by_label("Search all text")
    field.fill("needle")
    head = page.locator(".results-head output")
    expect(head).to_have_text("4 matches in 2 entries · all 500 entries searched")
    expect(page.locator(".result .snippet")).to_have_text(["a **needle**, a needle"] * 2)
    field.press("Enter")
    expect(page.locator(STEPS).first).to_have_text("step 480")
    wait_for_highlights(page, 0, 2)
    field.press("Enter")
    expect(page.locator(STEPS).first).to_have_text("step 10")
    expect(head).to_have_text("2 of 2 · 4 matches in 2 entries · all 500 entries searched")
    page.locator(".find label", has_text="Regex").click()
    field.fill("nee(dle")
    expect(head).to_contain_text("This expression cannot be searched for")
    field.fill("need[l]e")
    expect(head).to_contain_text("4 matches in 2 entries")


def test_a_search_leaves_out_runs_that_are_hidden_since(serve: Serve, page: Page, logdir: Path) -> None:
    for run in ("a", "b"):
        with SummaryWriter(str(logdir / run)) as writer:
            writer.add_text("note", "needle", 0)
            writer.add_text("note", "hay", 1)
    page.goto(serve(logdir).url + "?text.find=needle")
    head = page.locator(".results-head output")
    expect(head).to_have_text("2 matches in 2 entries · all 4 entries searched")
    page.get_by_label("Show b").click()
    expect(head).to_have_text("1 match in 1 entry · all 2 entries searched")


def test_a_search_of_many_hits_continues_until_all_are_listed(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(502):
            writer.add_text("note", "needle", step)
    page.goto(serve(logdir).url + "?text.find=needle")
    # Five requests find at most 500 texts; on a busy machine, their time is over earlier.
    resume = page.get_by_role("button", name="Continue")
    resume.click()
    found_all = page.get_by_text("502 matches in 502 entries · all 502 entries searched", exact=True)
    while not found_all.is_visible():
        expect(resume.or_(found_all)).to_be_visible()
        if resume.is_visible():
            resume.click()
    expect(page.locator(".result")).to_have_count(502)


def test_a_hit_in_a_closed_group_opens_it(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("first/note", "hay", 0)
        writer.add_text("first/other", "hay", 0)
        writer.add_text("second/note", "needle", 0)
        writer.add_text("second/other", "hay", 0)
    page.goto(serve(logdir).url + "?text.closed=second&text.find=needle")
    expect(page.locator(".entry")).to_have_count(2)
    page.locator(".result").click()
    expect(page.locator(".entry")).to_have_count(4)
    wait_for_highlights(page, 0, 1)


def test_a_diff_shows_words_and_counts(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("config", "lr: 0.1\nseed: 1\n<b>x</b>", 0)
        writer.add_text("config", "lr: 0.3\nseed: 1\n<b>x</b>\nmore", 5)
    with SummaryWriter(str(logdir / "b")) as writer:
        writer.add_text("config", "lr: 0.1\nseed: 2", 0)
    page.goto(serve(logdir).url)
    # The texts of each card arrive in turn.
    expect(page.locator(".entry")).to_have_count(3)
    page.get_by_title("Compare with another step or run").first.click()
    expect(page.locator("#text-diff .counts")).to_have_text("+2 −1 lines")
    expect(page.locator("#text-diff del")).to_have_text(["1"])
    expect(page.locator("#text-diff ins")).to_have_text(["3"])
    lines = page.locator("#text-diff .line")
    expect(lines).to_have_text(["−lr: 0.1", "+lr: 0.3", "seed: 1", "seed: 1", "<b>x</b>", "<b>x</b>", "", "+more"])
    page.get_by_role("button", name="Unified").click()
    expect(lines).to_have_text(["−lr: 0.1", "+lr: 0.3", "seed: 1", "<b>x</b>", "+more"])
    page.get_by_label("New run").select_option("b")
    expect(page.locator("#text-diff .counts")).to_have_text("+1 −2 lines")
    expect(page).to_have_url(
        re.compile(r"text\.diff=config/text_summary&text\.diff=a&text\.diff=0&text\.diff=b&text\.diff=0")
    )
    page.reload()
    expect(page.locator("#text-diff .counts")).to_have_text("+1 −2 lines")
    page.keyboard.press("Escape")
    expect(page.locator("#text-diff")).to_have_count(0)
    expect(page).not_to_have_url(re.compile(r"text\.diff"))


def test_the_controls_of_a_diff_show_what_they_chose(serve: Serve, page: Page, logdir: Path) -> None:
    for run, steps in (("a", (0, 10, 20)), ("b", (5, 15))):
        with SummaryWriter(str(logdir / run)) as writer:
            for step in steps:
                writer.add_text("config", f"{run} {step}", step)
    page.goto(serve(logdir).url)
    expect(page.locator(".entry")).to_have_count(5)
    page.get_by_title("Compare with another step or run").first.click()
    new = page.locator(".diff-side").nth(1)
    runs, slider, field = new.get_by_label("New run"), new.locator(".track-slider"), new.locator(".track-field")

    def expect_side(name: str, place: str, step: str) -> None:
        expect(runs).to_have_value(name)
        expect(slider).to_have_attribute("title", f"{place} · {name}")
        expect(field).to_have_value(step)

    expect_side("a", "3 of 3", "20")
    new.get_by_role("button", name="Previous step").click()
    expect_side("a", "2 of 3", "10")
    field.fill("1")
    field.press("Enter")
    expect_side("a", "1 of 3", "0")
    field.press("ArrowUp")
    expect_side("a", "2 of 3", "10")
    runs.select_option("b")
    expect_side("b", "2 of 2", "15")
    held = Held(page, r"text/diff\?")
    new.get_by_role("button", name="Previous step").click()
    held.wait()
    field.fill("1")
    held.release()
    expect_side("b", "1 of 2", "1")
    field.fill("14")
    field.press("Enter")
    expect_side("b", "2 of 2", "15")
    held = Held(page, r"text/diff\?")
    new.get_by_role("button", name="Previous step").click()
    held.wait()
    drag = "(input, at) => { input.value = at; input.dispatchEvent(new Event('input', { bubbles: true })); }"
    slider.evaluate(drag, 1)
    slider.evaluate(drag, 0)
    held.release()
    expect_side("b", "1 of 2", "5")
    field.press("ArrowUp")
    expect_side("b", "2 of 2", "15")
    held = Held(page, r"text/diff\?")
    new.get_by_role("button", name="Previous step").click()
    held.wait()
    slider.evaluate(drag, 1)
    held.release()
    expect(page.locator(".diff-body")).to_contain_text("b 5")
    expect(slider).to_have_value("1")
    slider.dispatch_event("change")
    expect(page.locator(".diff-body")).to_contain_text("b 15")
    expect_side("b", "2 of 2", "15")


def test_a_diff_that_was_closed_stays_closed_when_late_answers_come(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("config", "lr: 0.1", 0)
        writer.add_text("config", "lr: 0.3", 5)
    # Each change of the view opens the dialog that the URL names: here, two changes wait to learn where its texts are.
    held = Held(page, r"text/at\?")
    compared = "".join(f"&text.diff={part}" for part in ("config/text_summary", "a", "0", "a", "5"))
    page.goto(serve(logdir).url + "?tab=text" + compared)
    held.wait(2)
    page.get_by_role("switch", name="Wrap").click()
    held.wait(4)
    first, late = held.requests[:2], held.requests[2:]
    for request in first:
        request.pass_on()
    expect(page.locator("#text-diff .counts")).to_have_text("+1 \u22121 lines")
    page.keyboard.press("Escape")
    expect(page.locator("#text-diff")).to_have_count(0)
    with page.expect_response(re.compile(r"text/at\?")), page.expect_response(re.compile(r"text/at\?")):
        for request in late:
            request.pass_on()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.locator("#text-diff")).to_have_count(0)
    expect(page).not_to_have_url(re.compile(r"text\.diff="))


def test_tables_sort_by_a_click_and_json_folds(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("table", "| word | n |\n|---|---|\n| b | 10 |\n| a | 9 |\n| c | 100 |", 0)
        writer.add_text("array", [["x", "2"], ["y", "1"]], 0)
        writer.add_text("json", '{"lr": 1e-3, "layers": [{"n": 1}]}', 0)
    page.goto(serve(logdir).url)
    table = page.locator(".text-card", has_text="word")
    table.get_by_role("columnheader", name="n").click()
    expect(table.locator("tbody td:nth-child(2)")).to_have_text(["9", "10", "100"])
    table.get_by_role("columnheader", name="n").press("Enter")
    expect(table.locator("tbody td:nth-child(2)")).to_have_text(["100", "10", "9"])
    table.get_by_role("columnheader", name="n").click()
    expect(table.locator("tbody td:nth-child(2)")).to_have_text(["10", "9", "100"])
    array = page.locator(".text-card", has_text="array")
    array.get_by_role("columnheader", name="1").click()
    expect(array.locator("tbody td:first-child")).to_have_text(["y", "x"])
    expect(page.locator(".json-number").first).to_have_text("1e-3")
    assert page.locator(".json details").evaluate_all("(all) => all.map((one) => one.open)") == [True, True, False]


def test_long_texts_are_folded_and_switches_change_the_look(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("note", "\n\n".join(f"paragraph {i}" for i in range(60)), 0)
    page.goto(serve(logdir).url)
    prose = page.locator(".prose")
    expect(prose).to_have_class(re.compile("folded"))
    page.get_by_text("Show all").click()
    expect(prose).not_to_have_class(re.compile("folded"))
    page.locator("label", has_text="Monospace").click()
    expect(page.locator(".panel.text")).to_have_class(re.compile("mono"))
    page.locator("label", has_text="Wrap").click()
    expect(page.locator(".prose p").first).to_have_css("white-space-collapse", "preserve")
    expect(page).to_have_url(re.compile(r"text\.mono=on.*text\.wrap=off|text\.wrap=off.*text\.mono=on"))


def test_downloads(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("note", "x", 3)
    page.goto(serve(logdir).url)
    expect(page.locator(".entry")).to_have_count(1)
    names = []
    for title in (
        "Download this text",
        "Download all entries of this card",
        "Download all texts of the visible runs and tags",
    ):
        with page.expect_download() as download:
            page.get_by_title(title).click()
        names.append(download.value.suggested_filename)
    assert names == ["a_note_text_summary_step3.txt", "a_note_text_summary.txt", "texts.txt"]


def test_a_damaged_text_says_so_among_others(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("note", "good", 0)
        writer.add_summary(Summary(value=[Summary.Value(tag="note/text_summary", simple_value=1.0)]), 1)
    page.goto(serve(logdir).url + "?text.find=good")
    expect(page.locator(".entry .no-picture")).to_contain_text("Damaged: ")
    expect(page.locator(".results-head output")).to_have_text(
        "1 match in 1 entry · all 2 entries searched · 1 could not be read"
    )


def test_texts_cannot_do_harm(serve: Serve, page: Page, logdir: Path) -> None:
    attack = (
        "<script>window.harmed = 1</script> <img src=x onerror='window.harmed = 1'> "
        "[link](javascript:window.harmed=1) ![picture](https://example.org/a.png) "
        "<iframe src='https://example.org'></iframe>"
    )
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("table", ["cell", attack], 0)
        writer.add_text("note", attack, 0)
        writer.add_text("note", attack + " changed", 1)
        writer.add_text("json", '{"<img src=x onerror=window.harmed=1>": "<script>window.harmed = 1</script>"}', 0)
    page.goto(serve(logdir).url + "?text.find=script")
    expect(page.locator(".prose")).to_have_count(4)
    expect(page.locator(".result")).to_have_count(4)
    page.get_by_title("Compare with another step or run").nth(1).click()
    expect(page.locator("#text-diff .counts")).to_have_text("+1 −1 lines")
    assert page.evaluate("window.harmed") is None
    places = (
        ".prose :is(script, img, iframe, [onerror]), .results :is(script, img), #text-diff :is(script, img, iframe)"
    )
    assert page.locator(places).count() == 0
    links = page.locator(".prose a").evaluate_all("(all) => all.map((a) => [a.href, a.rel, a.target])")
    assert links == [["https://example.org/a.png", "noopener noreferrer", "_blank"]] * 3


def test_hidden_runs_leave_a_hint(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("note", "x", 0)
    page.goto(serve(logdir).url)
    expect(page.locator(".entry")).to_have_count(1)
    page.get_by_role("button", name="None").click()
    expect(page.locator(".notice.none")).to_contain_text("No text in the visible runs")


def test_no_card_moves_while_texts_of_any_height_come(serve: Serve, page: Page, logdir: Path) -> None:
    for number in range(6):
        with SummaryWriter(str(logdir / f"run{number}")) as writer:
            writer.add_text("t", "\n\n".join(["line"] * (number % 3 * 4 + 1)), 0)
    page.add_init_script(
        """window.places = {};
        const look = () => {
          for (const card of document.querySelectorAll(".text-card")) {
            if (!card.checkVisibility({ visibilityProperty: true })) continue;
            const { top, height } = card.getBoundingClientRect();
            if (top < innerHeight) (window.places[card.dataset.key] ??= new Set()).add(`${top} ${height}`);
          }
          requestAnimationFrame(look);
        };
        requestAnimationFrame(look);"""
    )
    page.goto(serve(logdir).url)
    expect(page.locator(".text-card .entry")).to_have_count(6)
    page.wait_for_function("() => Object.keys(window.places).length === 6")
    places = page.evaluate("Object.values(window.places).map((places) => places.size)")
    assert places == [1] * 6
