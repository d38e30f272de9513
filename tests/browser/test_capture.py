"""The Capture dialog in a real browser, recording a real program."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.dashboard.server.numbers import file_size
from stepscope.dashboard.traces import capture
from stepscope.profiler.client import Client
from stepscope.summary import SummaryWriter
from tests.browser.conftest import Dashboard
from tests.profiler.training import Training, training

pytestmark = pytest.mark.browser

TOKEN = "sixteen letters or more"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Training]:
    with training(tmp_path / "temporary", TOKEN) as running:
        yield running


@pytest.fixture
def timeline(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> Page:
    """The Timeline tab, over a run with one small trace."""
    write_run(logdir)
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 5, "name": "old"}
    (logdir / "first" / "old.trace.json").write_text(json.dumps([event]))
    page.goto(f"{serve(logdir).url}?tab=timeline")
    expect(page.locator("#timeline-capture")).to_be_enabled()
    return page


def write_run(logdir: Path) -> None:
    with SummaryWriter(str(logdir / "first")) as writer:
        writer.add_scalar("loss", 1.0, 0)


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Capture a running program")


def fill(page: Page, program: Training, *, amount: str = "2", unit: str = "steps", token: str = TOKEN) -> Locator:
    box = dialog(page)
    box.get_by_label("Address of the program").fill(str(program.address))
    box.get_by_label("Seconds or steps").select_option(unit)
    box.get_by_label("How long").fill(amount)
    box.get_by_label("Token").fill(token)
    return box


def shown_names(page: Page) -> set[str]:
    """The names of the open trace's slices."""
    page.wait_for_function(
        "() => { const d = window.stepscope.timeline.debug(); return d && d.slices > 1 && !d.loading; }"
    )
    trace = page.evaluate("new URLSearchParams(location.search).get('timeline.trace')")
    found: Any = page.evaluate(
        "async (id) => (await fetch('/api/timeline/search?q=o&id=' + encodeURIComponent(id))).json()", trace
    )
    return {name for name in ("forward", "old") if name in json.dumps(found)}


def is_recording(program: Training) -> bool:
    return bool(Client(program.address, TOKEN).status()["recording"])


def test_a_program_is_captured_and_its_trace_opened(timeline: Page, program: Training, logdir: Path) -> None:
    page = timeline
    page.locator("#timeline-capture").click()
    box = fill(page, program)
    # The only run that exists.
    expect(box.get_by_label("Run that the trace belongs to")).to_have_value("first")
    box.get_by_role("button", name="Capture").click()
    note = page.locator("#capture-note")
    expect(note).to_contain_text(f"of process {program.pid} on ")
    expect(note).to_contain_text("Recorded 2 steps, ")
    expect(dialog(page)).to_have_count(0)
    (path,) = logdir.rglob("*.trace.json.gz")
    assert path.is_relative_to(logdir / "first" / "plugins" / "profile")
    trace = f"first|file|{path.relative_to(logdir)}"
    page.wait_for_function("id => new URLSearchParams(location.search).get('timeline.trace') === id", arg=trace)
    page.wait_for_function("id => window.stepscope.timeline.debug().trace === id", arg=trace)
    assert shown_names(page) == {"forward"}
    expect(page.get_by_role("textbox", name="Trace")).to_have_value(
        f"first · {date_of(path)} · {path.name} · {size_of(path)}"
    )
    # The token is kept only in the page's memory.
    kept = page.evaluate("JSON.stringify({...localStorage, ...sessionStorage}) + location.href + document.cookie")
    assert TOKEN not in kept
    assert TOKEN.replace(" ", "%20") not in kept
    assert str(program.address) in kept


def date_of(path: Path) -> str:
    parts = path.parent.name.split("_")
    return f"{'-'.join(parts[:3])} {':'.join(parts[3:])}"


def size_of(path: Path) -> str:
    return file_size(path.stat().st_size)


def test_what_goes_wrong_is_said_in_the_dialog(timeline: Page, program: Training) -> None:
    page = timeline
    page.locator("#timeline-capture").click()
    box = fill(page, program, token="wrong")
    box.get_by_role("button", name="Capture").click()
    problem = box.get_by_role("alert")
    expect(problem).to_contain_text(f"{program.address} refused: the token is missing or wrong. Expected the one that")
    box.get_by_label("Address of the program").fill("localhost:1")
    # Enter does what the button does.
    box.get_by_label("Address of the program").press("Enter")
    expect(problem).to_have_text(
        "Nothing listens on localhost:1. Expected a program that has called stepscope.profiler.server.start(1)."
    )
    box.get_by_label("Address of the program").fill(str(program.address))
    box.get_by_label("Token").fill(TOKEN)
    box.get_by_label("Token").press("Enter")
    expect(page.locator("#capture-note")).to_contain_text("Recorded 2 steps")


def test_the_new_trace_is_named_though_the_page_is_paused(timeline: Page, program: Training, logdir: Path) -> None:
    page = timeline
    page.locator("#live").click()
    expect(page.locator("#live")).to_have_attribute("data-state", "paused")
    page.locator("#timeline-capture").click()
    fill(page, program).get_by_role("button", name="Capture").click()
    expect(page.locator("#capture-note")).to_contain_text("Recorded 2 steps")
    (path,) = logdir.rglob("*.trace.json.gz")
    expect(page.get_by_role("textbox", name="Trace")).to_have_value(
        f"first · {date_of(path)} · {path.name} · {size_of(path)}"
    )


def test_a_capture_can_be_cancelled(timeline: Page, program: Training, logdir: Path) -> None:
    page = timeline
    page.locator("#timeline-capture").click()
    box = fill(page, program, amount="600", unit="s")
    box.get_by_role("button", name="Capture").click()
    expect(box.get_by_role("status")).to_contain_text("of 600 s")
    expect(page.locator("#timeline-capture.running")).to_be_visible()
    while not is_recording(program):
        pass
    box.get_by_role("button", name="Cancel").click()
    expect(box.get_by_role("button", name="Capture")).to_be_visible()
    expect(box.get_by_role("alert")).to_be_hidden()
    expect(page.locator("#timeline-capture.running")).to_have_count(0)
    while is_recording(program):
        pass
    assert not list(logdir.rglob("*.trace.json.gz"))


def test_a_capture_goes_on_while_the_user_looks_at_something_else(timeline: Page, program: Training) -> None:
    page = timeline
    page.locator("#timeline-capture").click()
    box = fill(page, program, amount="1", unit="s")
    box.get_by_role("button", name="Capture").click()
    expect(box.get_by_role("status")).to_contain_text("of 1 s")
    page.keyboard.press("Escape")
    expect(dialog(page)).to_have_count(0)
    page.get_by_role("tab", name="Scalars", exact=True).click()
    # The recording is offered, and does not take users away from what they are looking at.
    note = page.locator("#capture-note")
    expect(note).to_contain_text("Recorded ")
    expect(page.get_by_role("tab", name="Scalars", exact=True)).to_have_attribute("aria-selected", "true")
    note.get_by_role("button", name="Open").click()
    expect(page.get_by_role("tab", name="Timeline")).to_have_attribute("aria-selected", "true")
    assert shown_names(page) == {"forward"}


def test_what_was_chosen_is_remembered_but_for_the_token(timeline: Page, program: Training) -> None:
    page = timeline
    page.locator("#timeline-capture").click()
    box = fill(page, program, amount="3", unit="steps")
    box.get_by_label("Run that the trace belongs to").select_option(".")
    box.get_by_text("What to record").click()
    box.get_by_label("Host").select_option("1")
    box.get_by_label("tracemalloc").check()
    # The choice above no longer counts.
    expect(box.get_by_label("Every Python function call")).to_be_disabled()
    box.get_by_label("tracemalloc").uncheck()
    expect(box.get_by_label("Every Python function call")).to_be_enabled()
    box.get_by_role("button", name="Capture").click()
    expect(page.locator("#capture-note")).to_contain_text("Recorded 3 steps")
    page.reload()
    expect(page.locator("#timeline-capture")).to_be_enabled()
    page.locator("#timeline-capture").click()
    box = dialog(page)
    values = {
        label: box.get_by_label(label).input_value()
        for label in (
            "Address of the program",
            "How long",
            "Seconds or steps",
            "Run that the trace belongs to",
            "Token",
            "Host",
        )
    }
    assert list(values.values()) == [str(program.address), "3", "steps", ".", "", "1"]


def test_numbers_that_are_none_are_not_sent(timeline: Page, program: Training) -> None:
    page = timeline
    page.locator("#timeline-capture").click()
    box = fill(page, program, amount="0", unit="s")
    box.get_by_role("button", name="Capture").click()
    assert box.get_by_label("How long").evaluate("field => field.validity.valid") is False
    expect(box.get_by_role("button", name="Cancel")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(dialog(page)).to_have_count(0)
    expect(page.locator("#timeline-capture")).to_be_focused()


def test_a_log_directory_that_cannot_be_written_disables_the_button(
    serve: Callable[..., Dashboard], page: Page, logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = "Recordings are written into the log directory, but it is not writable."
    monkeypatch.setattr(capture, "why_not", lambda live, rules: why)
    write_run(logdir)
    (logdir / "first" / "old.trace.json").write_text("[]")
    page.goto(f"{serve(logdir).url}?tab=timeline")
    expect(page.locator("#timeline-capture")).to_have_attribute("title", why)
    expect(page.locator("#timeline-capture")).to_be_disabled()


def test_the_first_trace_is_captured_where_there_is_no_timeline_yet(
    serve: Callable[..., Dashboard], page: Page, logdir: Path, program: Training
) -> None:
    write_run(logdir)
    page.goto(serve(logdir).url)
    expect(page.get_by_role("tab", name="Scalars", exact=True)).to_be_visible()
    expect(page.get_by_role("tab", name="Timeline")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("capture a running")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Capture a running program")
    page.keyboard.press("Enter")
    fill(page, program).get_by_role("button", name="Capture").click()
    expect(page.get_by_role("tab", name="Timeline")).to_have_attribute("aria-selected", "true")
    assert shown_names(page) == {"forward"}
