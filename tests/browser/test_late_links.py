"""Links to data that are not in the log directory yet, or fail to load: the data are shown once they are available."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sample_logs.make import FOLDER
from stepscope.summary import SummaryWriter
from tests.browser.conftest import Busy, Dashboard, Held

pytestmark = pytest.mark.browser

GRAPH = "digits/torch|graph|__run_graph__"
EMBEDDING = "digits/lr_0.1/seed_0|config|digits/images"


@pytest.mark.parametrize(
    ("query", "run", "missed", "shown"),
    [
        (f"tab=graph&graph.id={GRAPH}", "digits/torch", "There is no graph", "41 nodes"),
        (f"tab=projector&projector.id={EMBEDDING}", "digits/lr_0.1/seed_0", "There is no embedding", "1,797 points"),
    ],
)
def test_what_a_link_names_is_shown_when_it_comes(
    serve: Callable[..., Dashboard], refused_page: Page, logdir: Path, query: str, run: str, missed: str, shown: str
) -> None:
    # The panel has something to show, but not what the link names.
    shutil.copytree(FOLDER / run, logdir / "other")
    refused_page.goto(f"{serve(logdir).url}?{query}")
    panel = refused_page.locator("#panel")
    expect(panel).to_contain_text(missed)
    shutil.copytree(FOLDER / run, logdir / run)
    expect(panel).to_contain_text(shown)
    expect(panel).not_to_contain_text(missed)


def write_trace(folder: Path) -> None:
    folder.mkdir()
    slices = [{"ph": "X", "pid": 1, "tid": 1, "ts": start, "dur": 5, "name": "matmul"} for start in (0, 10)]
    (folder / "a.trace.json").write_text(json.dumps(slices))


@pytest.mark.parametrize(
    ("query", "run", "address", "shown"),
    [
        (f"tab=graph&graph.id={GRAPH}", "digits/torch", "graph/graph", "41 nodes"),
        (f"tab=graph&graph.id={GRAPH}", "digits/torch", "graph/scene", "41 nodes"),
        (f"tab=projector&projector.id={EMBEDDING}", "digits/lr_0.1/seed_0", "projector/dataset", "1,797 points"),
        (
            f"tab=projector&projector.id={EMBEDDING}&projector.table=on",
            "digits/lr_0.1/seed_0",
            "projector/table",
            "1,797 rows",
        ),
        ("tab=timeline&timeline.slice=0", "digits/torch", "timeline/trace", "Duration"),
    ],
)
def test_what_a_busy_server_did_not_open_is_asked_for_by_a_button(
    serve: Callable[..., Dashboard], refused_page: Page, logdir: Path, query: str, run: str, address: str, shown: str
) -> None:
    shutil.copytree(FOLDER / run, logdir / run)
    server = Busy(refused_page, f"/api/{address}?")
    refused_page.goto(f"{serve(logdir).url}?{query}")
    retry = refused_page.get_by_role("button", name="Retry")
    retry.click()
    # The first button may still be visible while the page is busy.
    server.wait(2)
    expect(retry).to_be_visible()
    server.free()
    retry.click()
    expect(refused_page.locator("#panel")).to_contain_text(shown)
    expect(retry).to_have_count(0)


def test_related_slices_that_did_not_come_are_asked_for_by_a_button(
    serve: Callable[..., Dashboard], refused_page: Page, logdir: Path
) -> None:
    write_trace(logdir / "run")
    server = Busy(refused_page, "/api/timeline/relations?")
    refused_page.goto(f"{serve(logdir).url}?tab=timeline&timeline.slice=0")
    related = refused_page.locator(".timeline-flows")
    expect(related).to_contain_text("More could not be loaded.")
    server.free()
    related.get_by_role("button", name="Retry").click()
    expect(refused_page.get_by_text("No related launch, arrow, stack or slice.")).to_be_visible()


def test_a_search_in_texts_goes_on_after_a_request_without_an_answer(
    serve: Callable[..., Dashboard], refused_page: Page, logdir: Path
) -> None:
    with SummaryWriter(str(logdir / "run")) as writer:
        writer.add_text("note", "a needle in hay", 0)
    server = Busy(refused_page, "/api/text/search?")
    refused_page.goto(f"{serve(logdir).url}?tab=text&text.find=needle")
    results = refused_page.locator("#text-results")
    expect(results).to_contain_text("status 503")
    server.free()
    results.get_by_role("button", name="Retry").click()
    expect(results).to_contain_text("1 match in 1 entry")
    expect(results.get_by_role("button", name="Retry")).to_have_count(0)


def test_the_button_of_a_capture_can_be_pressed_after_a_request_without_an_answer(
    serve: Callable[..., Dashboard], refused_page: Page, logdir: Path
) -> None:
    write_trace(logdir / "run")
    server = Busy(refused_page, "/api/capture")
    refused_page.goto(f"{serve(logdir).url}?tab=timeline")
    button = refused_page.locator("#timeline-capture")
    expect(button).to_have_attribute("title", "Record a running program, and open its trace")
    button.click()
    expect(refused_page.get_by_text("The dashboard does not respond")).to_be_visible()
    server.free()
    button.click()
    expect(refused_page.get_by_role("dialog", name="Capture a running program")).to_be_visible()


def test_a_projection_is_paused_before_the_server_has_said_that_it_is_there(
    serve: Callable[..., Dashboard], refused_page: Page, logdir: Path
) -> None:
    shutil.copytree(FOLDER / "digits/lr_0.1/seed_0", logdir / "digits/lr_0.1/seed_0")
    starting: Held = Held(refused_page, "/api/projector/project")
    query = f"tab=projector&projector.id={EMBEDDING}&projector.projection=tsne&projector.tsne=iterations:100000"
    refused_page.goto(f"{serve(logdir).url}?{query}")
    starting.wait()
    refused_page.locator(".pj-run").get_by_role("button", name="Pause").click()
    starting.release()
    refused_page.wait_for_function("() => stepscope.projector.debug()?.job?.state === 'paused'")
