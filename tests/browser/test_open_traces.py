"""Traces from the user's own files: dropped on the page, or chosen by its button; and the page under a path."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from stepscope.dashboard.server.access import Access
from tests.browser.conftest import Dashboard, Held, held_frames, hold_callbacks

EVENTS = [{"ph": "X", "pid": 1, "tid": 1, "ts": 10 * n, "dur": 8, "name": f"operator {n}"} for n in range(4)]
TRACE = json.dumps({"traceEvents": EVENTS})
DRAG = """([names, text]) => {
  const dragged = new DataTransfer();
  for (const name of names) dragged.items.add(new File([text], name));
  const tell = (kind) => document.body.dispatchEvent(
    new DragEvent(kind, { dataTransfer: dragged, bubbles: true, cancelable: true }));
  tell("dragover");
  const seen = document.getElementById("trace-zone").checkVisibility();
  tell("drop");
  return [seen, document.getElementById("trace-zone").checkVisibility()];
}"""


def test_traces_are_dropped_on_the_empty_page(
    serve: Callable[..., Dashboard], page: Page, logdir: Path, tmp_path: Path
) -> None:
    page.goto(serve(logdir).url)
    expect(page.get_by_role("heading", name="Waiting for the first event file or trace")).to_be_visible()
    expect(page.get_by_role("button", name="Open a trace")).to_be_visible()
    assert page.evaluate(DRAG, [["rank0.json", "rank1.json"], TRACE]) == [True, False]
    # With the first trace, the Timeline has something to show: it opens automatically, before the second arrives.
    expect(page).to_have_url(re.compile(r"timeline\.compare=\|dropped\|rank1\.json"))
    choice = page.get_by_role("textbox", name="Trace").or_(page.get_by_role("combobox", name="Trace")).first
    expect(choice).to_have_value(re.compile(r"^Dropped · rank0\.json · "))

    later = tmp_path / "later.json"
    later.write_text(TRACE)
    page.get_by_role("tab", name="Profile").click()
    expect(page.get_by_role("heading", name="Profile", exact=True)).to_be_attached()
    with page.expect_file_chooser() as requested:
        page.get_by_role("button", name="Open a trace from a file").click()
    requested.value.set_files(later)
    expect(page).to_have_url(re.compile(r"profile\.trace=\|dropped\|later\.json"))
    expect(page.locator("#profile-facts")).to_contain_text("4 slices")


def test_a_panel_that_was_on_its_way_shows_the_trace_that_was_opened_meanwhile(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    for name in ("first", "newest"):
        (logdir / f"{name}.trace.json").write_text(TRACE)
    page.goto(serve(logdir).url + "/?tab=profile")
    expect(page.locator("#profile-facts")).to_contain_text("4 slices")
    held = hold_callbacks(page, "tab=timeline")
    page.get_by_role("tab", name="Timeline").click()
    held.wait()
    # Dash learns of a view only after the next frame, and the answer to its earlier request comes before that.
    with held_frames(page):
        page.evaluate("""stepscope.view.open("timeline", { "timeline.trace": [".|file|first.trace.json"] })""")
        held.release()
        choice = page.get_by_role("textbox", name="Trace").or_(page.get_by_role("combobox", name="Trace")).first
        expect(choice).to_have_value(re.compile("newest"))
    expect(choice).to_have_value(re.compile("first"))
    expect(page.locator(".timeline-panel")).to_have_count(1)


def test_a_trace_that_was_being_sent_takes_nobody_away_from_another_tab(
    serve: Callable[..., Dashboard], page: Page, logdir: Path, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        (logdir / f"{name}.trace.json").write_text(TRACE)
    later = tmp_path / "later.json"
    later.write_text(TRACE)
    page.goto(serve(logdir).url + "/?tab=timeline")
    held = Held(page, "api/traces/drop")
    with page.expect_file_chooser() as requested, page.expect_request("**/api/traces/drop?*"):
        page.get_by_role("button", name="Open a trace from a file").click()
        requested.value.set_files(later)
    page.get_by_role("tab", name="Profile").click()
    expect(page.locator("#profile-facts")).to_contain_text("4 slices")
    held.release()
    box = page.locator("#trace-sending")
    expect(box.get_by_role("status")).to_have_text("later.json is ready.")
    expect(page).to_have_url(re.compile("tab=profile"))
    box.get_by_role("button", name="Open").click()
    expect(page).to_have_url(re.compile(r"tab=timeline.*timeline\.trace=\|dropped\|later\.json"))
    expect(box).to_be_hidden()


def test_the_page_is_served_under_a_path(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    (logdir / "result.json").write_text(TRACE)
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    url = serve(logdir, access=Access(prefix="/team/notes", token="a-token-of-enough-letters")).url
    page.goto(f"{url}/team/notes?token=a-token-of-enough-letters&tab=timeline")
    expect(page.locator(".timeline-panel canvas").first).to_be_visible()
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    expect(page).to_have_url(re.compile(r"/team/notes/\?tab=timeline"))
    assert [one for one in requested if not one.startswith((f"{url}/team/notes", "blob:", "data:"))] == []
    (cookie,) = page.context.cookies(f"{url}/team/notes/")
    assert cookie["path"] == "/team/notes/"
    # A proxy may strip the path.
    assert page.request.get(f"{url}/healthz").json() == {"status": "ok"}


def test_a_closed_list_of_traces_shows_what_tells_its_choice_from_the_others(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    job = "llama-7b-pretraining_bs1024_ctx4096_warmup2000_cosine_node00"
    for rank in range(2):
        (logdir / f"{job}_rank{rank}.pt.trace.json").write_text(TRACE)
    page.goto(f"{serve(logdir).url}?tab=timeline&timeline.trace=.|file|{job}_rank1.pt.trace.json")
    field = page.locator(".timeline-choice .mantine-Select-wrapper")
    expect(field).to_have_attribute("data-short", re.compile("rank1"))
    seen = field.get_attribute("data-short")
    assert seen is not None
    assert len(seen) < len(job)
    input_ = field.locator("input")
    whole = f"logs · {job}_rank1.pt.trace.json · {len(TRACE)} B"
    expect(input_).to_have_value(whole)
    expect(input_).to_have_attribute("title", whole)
    other = page.get_by_role("option", name=f"{job}_rank0")
    input_.click()
    # In the open list, names are shown in full.
    box = other.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 1280
    other.click()
    page.locator(".timeline-canvas").focus()
    expect(field).to_have_attribute("data-short", re.compile("rank0"))
