"""The graph panel in a real browser, by the numbers that ``stepscope.graph.debug()`` gives."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from stepscope.dashboard.panels.registry import PANELS
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.kinds.graph import graph
from stepscope.summary.kinds.run_metadata import tagged_run_metadata
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.storage import folder_at
from tests.browser.conftest import Dashboard, Held, expect_uncut
from tests.dashboard.graphs.build import graph as graph_of_text

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(all(panel.name != "graph" for panel in PANELS), reason="the panel is not registered"),
]

Open = Callable[..., Page]

PLAIN = """
    x Placeholder: | FLOAT 8,4
    net/first/dense/MatMul MatMul: x x | FLOAT 8,4
    net/first/dense/Add AddV2: net/first/dense/MatMul | FLOAT 8,4
    net/first/act Relu: net/first/dense/Add | FLOAT 8,4
    net/second/MatMul MatMul: net/first/act | FLOAT 8,4
    net/second/act Relu: net/second/MatMul | FLOAT 8,4
    loss Mean: net/second/act
    other Abs: x
"""
WIDER = PLAIN.replace("net/second/act Relu", "net/second/act Tanh") + "    extra Neg: loss\n"
BROKEN = "a Relu: nowhere b\n b Relu: a\n"


def costs() -> RunMetadata:
    """A step in which one node ran for 40 µs."""
    made = RunMetadata()
    stats = made.step_stats.dev_stats.add(device="/device:CPU:0").node_stats
    stats.add(node_name="net/first/act", all_start_micros=10, all_end_rel_micros=40)
    return made


def write(logdir: Path, run: str, *events: Event) -> None:
    writer = EventFileWriter(folder_at(logdir / run))
    for event in events:
        writer.add_event(event)
    writer.close()


@pytest.fixture
def open_page(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> Open:
    """A function that opens a run's graph in the panel, with motion reduced so that every key acts at once.

    All scopes are closed except those that the query opens.
    """

    def opened(query: str = "", run: str = "plain", scheme: str = "light") -> Page:
        profiled = Event(step=3, tagged_run_metadata=tagged_run_metadata("step3", costs()))
        write(logdir, "plain", graph(graph_of_text(PLAIN)), profiled)
        write(logdir, "wider", graph(graph_of_text(WIDER)))
        write(logdir, "broken", graph(graph_of_text(BROKEN)))
        write(logdir, "nothing", graph(GraphDef()))
        write(logdir, "damaged", Event(graph_def=b"\xff\xff no graph"))
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        closed = "" if "graph.expanded=" in query else "&graph.expanded="
        page.goto(f"{serve(logdir).url}?tab=graph&graph.id={run}|graph|__run_graph__{closed}{query}")
        return page

    return opened


def debug(page: Page) -> dict[str, Any]:
    # Two frames, so that what was asked for has been drawn.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found: dict[str, Any] = page.evaluate("window.stepscope.graph.debug()")
    return found


def wait_for(page: Page, condition: str) -> dict[str, Any]:
    still = "d && !d.loading && !d.moving"
    page.wait_for_function(
        f"() => (() => {{ const d = window.stepscope?.graph?.debug?.(); return {still} && ({condition}); }})()"
    )
    return debug(page)


def settled(page: Page) -> dict[str, Any]:
    return wait_for(page, "d.nodes > 0")


def ids(state: dict[str, Any]) -> set[str]:
    return {box["id"] for box in state["boxes"]}


def box_of(state: dict[str, Any], node: str) -> dict[str, Any]:
    found: dict[str, Any] = next(box for box in state["boxes"] if box["id"] == node)
    return found


def middle(page: Page, state: dict[str, Any], node: str) -> tuple[float, float]:
    """Where a node is on the page; for an open group, where its head is."""
    stage = page.locator(".graph-canvas").bounding_box()
    box = box_of(state, node)
    assert stage is not None
    return stage["x"] + box["x"] + box["w"] / 2, stage["y"] + box["y"] + min(box["h"] / 2, 12)


def test_a_small_graph_begins_unfolded_and_stays_closed_when_it_was_closed(open_page: Open, page: Page) -> None:
    settled(open_page())
    page.goto(page.url.replace("&graph.expanded=", ""))
    opened = wait_for(page, "d.expanded.length === 4")
    assert set(opened["expanded"]) == {"net", "net/first", "net/first/dense", "net/second"}
    page.get_by_role("button", name="Collapse all").click()
    wait_for(page, "d.expanded.length === 0 && d.nodes === 4")
    page.reload()
    assert ids(settled(page)) == {"x", "net", "loss", "other"}


def test_closed_scopes_stand_for_what_is_in_them(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    assert ids(state) == {"x", "net", "loss", "other"}
    assert sorted(state["links"]) == [["net", "loss"], ["x", "net"], ["x", "other"]]
    assert state["total"]["nodes"] == 8
    expect(page.locator(".graph-totals")).to_contain_text("8 nodes")


def test_a_scope_opens_where_it_is_and_closes_again(open_page: Open) -> None:
    page = open_page()
    before = settled(page)
    page.mouse.dblclick(*middle(page, before, "net"))
    opened = wait_for(page, "d.expanded.length === 1")
    assert ids(opened) == {"x", "net", "net/first", "net/second", "loss", "other"}
    was, now = box_of(before, "net"), box_of(opened, "net")
    # The corner stays where it was on the screen, except for the distance that the view moves for the card.
    shift = box_of(opened, "net")["x"] - box_of(before, "net")["x"]
    assert now["y"] == pytest.approx(was["y"], abs=1)
    assert shift <= 0
    page.keyboard.press("Enter")
    assert wait_for(page, "d.expanded.length === 0")["nodes"] == 4


def test_each_press_expands_a_level_more(open_page: Open) -> None:
    page = open_page()
    settled(page)
    page.keyboard.press("e")
    assert wait_for(page, "d.expanded.length === 1")["expanded"] == ["net"]
    page.keyboard.press("e")
    assert wait_for(page, "d.expanded.length === 3")["expanded"] == ["net", "net/first", "net/second"]
    page.keyboard.press("e")
    assert wait_for(page, "d.expanded.length === 4")["expanded"][3] == "net/first/dense"
    page.keyboard.press("e")
    expect(page.get_by_text("There is nothing in it to expand.")).to_be_visible()


def test_an_expansion_is_undone_with_the_view(open_page: Open) -> None:
    page = open_page()
    before = settled(page)
    page.keyboard.press("e")
    assert wait_for(page, "d.expanded.length === 1")["expanded"] == ["net"]
    page.keyboard.press("Backspace")
    after = wait_for(page, "d.expanded.length === 0")
    assert after["view"] == before["view"]


def test_a_click_opens_the_card_of_a_node(open_page: Open) -> None:
    page = open_page("&graph.expanded=net&graph.expanded=net/second")
    state = settled(page)
    page.mouse.click(*middle(page, state, "net/second/act"))
    card = page.locator(".graph-card")
    expect(card.locator("h3")).to_have_text("net/second/act")
    expect(card).to_contain_text("Relu")
    expect(card).to_contain_text("float32 8×4")
    card.get_by_role("button", name="net/second/MatMul").click()
    assert wait_for(page, "d.selected === 'net/second/MatMul'")["selected"] == "net/second/MatMul"
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_arrows_follow_the_edges(open_page: Open) -> None:
    page = open_page("&graph.node=net")
    settled(page)
    page.keyboard.press("ArrowDown")
    wait_for(page, "d.selected === 'loss'")
    page.keyboard.press("ArrowUp")
    wait_for(page, "d.selected === 'net'")
    page.keyboard.press("ArrowUp")
    assert wait_for(page, "d.selected === 'x'")["selected"] == "x"


def test_a_search_opens_the_way_to_a_node(open_page: Open) -> None:
    page = open_page()
    settled(page)
    page.keyboard.press("/")
    page.keyboard.type("dense/add")
    expect(page.locator(".graph-result")).to_have_count(1)
    expect(page.locator(".graph-result")).to_contain_text("AddV2")
    assert wait_for(page, "d.matches === 1")["matched"] == ["net"]
    page.keyboard.press("Enter")
    found = wait_for(page, "d.selected === 'net/first/dense/Add'")
    assert set(found["expanded"]) == {"net", "net/first", "net/first/dense"}
    assert "net/first/dense/Add" in ids(found)


def test_inputs_outputs_and_paths_are_lit_up(open_page: Open) -> None:
    page = open_page("&graph.expanded=net&graph.node=net/second")
    settled(page)
    page.keyboard.press("i")
    assert set(wait_for(page, "d.traced.length")["traced"]) == {"net", "net/first", "net/second", "x"}
    page.keyboard.press("o")
    assert set(wait_for(page, "d.traced.includes('loss')")["traced"]) == {"net", "net/second", "loss"}
    page.keyboard.press("Escape")
    state = wait_for(page, "!d.traced.length")
    page.mouse.click(*middle(page, state, "x"))
    page.keyboard.down("Shift")
    page.mouse.click(*middle(page, debug(page), "net/first"))
    page.keyboard.up("Shift")
    page.keyboard.press("p")
    assert set(wait_for(page, "d.traced.length")["traced"]) == {"x", "net", "net/first"}


def test_a_node_is_set_aside_and_brought_back(open_page: Open) -> None:
    page = open_page("&graph.node=other")
    settled(page)
    page.keyboard.press("x")
    assert wait_for(page, "d.aside.length === 1")["aside"] == ["other"]
    page.get_by_role("button", name="Set aside: 1").click()
    page.get_by_role("button", name="restore", exact=True).click()
    assert "other" in ids(wait_for(page, "d.aside.length === 0"))


def test_the_address_brings_everything_back(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    page.mouse.dblclick(*middle(page, state, "net"))
    wait_for(page, "d.expanded.length === 1")
    page.mouse.move(700, 500)
    page.mouse.wheel(0, -120)
    page.get_by_role("button", name="Color: op type").click()
    page.get_by_role("menuitem", name="Structure").click()
    before = wait_for(page, "d.color === 'structure'")
    zoom = before["view"]["zoom"]
    reported = "Number((new URLSearchParams(location.search).get('graph.view') || '').split(',')[2])"
    page.wait_for_function(f"() => Math.abs({reported} - {zoom}) < 0.02")
    page.reload()
    after = settled(page)
    for key in ("expanded", "selected", "color", "links"):
        assert after[key] == before[key]
    assert after["view"]["zoom"] == pytest.approx(zoom, rel=0.01)
    assert after["view"]["x"] == pytest.approx(before["view"]["x"], abs=1)


def test_costs_stand_on_the_nodes_that_ran(open_page: Open) -> None:
    page = open_page("&graph.costs=plain|tag|step3|0&graph.expanded=net")
    state = wait_for(page, "d.costs")
    assert (state["color"], state["costs"]) == ("time", 3)
    expect(page.locator(".graph-legend")).to_have_text("040.0 µsdid not run")
    page.mouse.click(*middle(page, state, "net/first"))
    expect(page.locator(".graph-card")).to_contain_text("40.0 µs")
    page.get_by_role("button", name="Show slices").click()
    expect(page.locator("#timeline-host")).to_be_visible()
    assert "timeline.trace=plain|tag|step3|0" in page.url


def test_two_graphs_are_compared(open_page: Open) -> None:
    page = open_page(
        "&graph.compare=plain|graph|__run_graph__&graph.expanded=net&graph.expanded=net/second", run="wider"
    )
    state = wait_for(page, "Object.keys(d.verdicts).length")
    assert state["verdicts"] == {"extra": "added", "net/second/act": "changed"}
    page.get_by_role("button", name="1 added").click()
    expect(page.locator(".graph-change")).to_contain_text("Relu → Tanh")


def test_the_picture_is_well_formed(open_page: Open) -> None:
    page = open_page("&graph.expanded=net")
    settled(page)
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Whole graph as SVG").click()
    tree = ElementTree.parse(download.value.path())
    texts = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert {"x", "net", "first", "second", "loss", "other"} <= set(texts)


def test_the_graph_is_saved_as_text(open_page: Open) -> None:
    page = open_page()
    settled(page)
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="GraphDef").click()
    assert Path(download.value.path()).read_text().count("node {") == 8


def test_a_menu_has_all_that_can_be_done(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    page.mouse.click(*middle(page, state, "net"), button="right")
    expect(page.get_by_role("menuitem", name="Expand")).to_be_visible()
    page.get_by_role("menuitem", name="Highlight its inputs").click()
    assert set(wait_for(page, "d.traced.length")["traced"]) == {"net", "x"}


def test_the_hand_moves_and_zooms(open_page: Open) -> None:
    page = open_page()
    before = settled(page)
    page.mouse.move(420, 700)
    page.mouse.down()
    page.mouse.move(470, 680, steps=4)
    page.mouse.up()
    moved = debug(page)
    zoom = before["view"]["zoom"]
    assert moved["view"]["x"] == pytest.approx(before["view"]["x"] - 50 / zoom, abs=1)
    page.keyboard.press("+")
    assert wait_for(page, f"d.view.zoom > {zoom}")["selected"] is None
    page.keyboard.press("0")
    fitted = wait_for(page, f"Math.abs(d.view.zoom - {zoom}) < 0.01")
    assert fitted["view"] == before["view"]


def test_a_stage_without_a_size_is_drawn_once_it_has_one(open_page: Open) -> None:
    page = open_page()
    before = settled(page)
    stage = page.locator(".graph-stage")
    # What took long to draw is kept as a picture, which one without a size cannot be.
    page.evaluate("""() => {
        const frames = window.requestAnimationFrame.bind(window);
        window.requestAnimationFrame = (tell) => frames((at) => tell(at + 500));
    }""")
    for _ in range(2):
        stage.evaluate("e => e.style.display = 'none'")
        wait_for(page, "d.width === 1")
        stage.evaluate("e => e.style.display = ''")
        assert wait_for(page, f"d.width === {before['width']}")["visible"] == before["visible"]


def test_dark_is_dark(open_page: Open) -> None:
    page = open_page(scheme="dark")
    assert settled(page)["dark"]
    code = "[...document.querySelector('.graph-canvas').getContext('2d').getImageData(2, 2, 1, 1).data].slice(0, 3)"
    assert max(page.evaluate(code)) < 60


def test_a_broken_graph_is_shown_as_far_as_it_goes(open_page: Open) -> None:
    page = open_page(run="broken")
    state = settled(page)
    assert ids(state) == {"a", "b"}
    assert state["problems"] == 2
    page.get_by_role("button", name="2 problems").click()
    expect(page.get_by_role("dialog", name="Problems of this graph")).to_contain_text("nowhere")


def test_a_graph_without_nodes_says_so(open_page: Open) -> None:
    page = open_page(run="nothing")
    wait_for(page, "d.message")
    expect(page.locator(".graph-message")).to_contain_text("no nodes")


def test_a_damaged_graph_says_what_is_wrong(open_page: Open) -> None:
    page = open_page(run="damaged")
    wait_for(page, "d.message")
    expect(page.locator(".graph-message.bad")).to_contain_text("GraphDef")


def test_a_graph_that_arrives_can_be_chosen(open_page: Open, logdir: Path) -> None:
    page = open_page()
    settled(page)
    write(logdir, "later", graph(graph_of_text(WIDER)))
    page.get_by_role("textbox", name="Graph", exact=True).click()
    page.get_by_role("option", name="later").click()
    assert "extra" in ids(wait_for(page, "d.graph === 'later|graph|__run_graph__' && d.nodes"))


# ---- answers that come late

TRACE = "plain|tag|step3|0"


def hold(page: Page, *routes: str) -> Held:
    """Holds back the requests of routes until they are released."""
    return Held(page, f"/api/graph/({'|'.join(routes)})[?]")


def press_twice(page: Page, key: str) -> dict[str, Any]:
    """The state after a key was pressed a second time before the first press was answered."""
    page.evaluate(
        """(key) => {
          const canvas = document.querySelector(".graph-canvas");
          canvas.focus();
          for (let press = 0; press < 2; press += 1)
            canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        }""",
        key,
    )
    return wait_for(page, "true")


def choose(page: Page, *, costs: str = "", compare: str = "") -> None:
    """Chooses as the selectors do, without waiting for an answer."""
    page.evaluate(
        """(chosen) => {
          const panel = window.stepscope.graph.panel();
          const { id, function: called } = panel.state;
          void panel.open({ id, function: called, ...chosen });
        }""",
        {"costs": costs, "compare": compare},
    )


def test_a_second_press_knows_of_the_first(open_page: Open) -> None:
    page = open_page("&graph.node=net")
    settled(page)
    assert press_twice(page, "Enter")["expanded"] == []
    assert press_twice(page, "e")["expanded"] == ["net", "net/first", "net/second"]
    assert press_twice(page, "c")["expanded"] == []


def test_what_is_selected_meanwhile_stays_selected(open_page: Open) -> None:
    page = open_page("&graph.expanded=net&graph.node=net/second")
    settled(page)
    held = hold(page, "scene")
    page.keyboard.press("c")
    page.evaluate("window.stepscope.graph.panel().select(['other'])")
    held.release()
    assert wait_for(page, "!d.expanded.length")["selected"] == "other"


def test_the_button_of_the_card_follows_the_scene(open_page: Open) -> None:
    page = open_page("&graph.node=net")
    settled(page)
    card = page.locator(".graph-card")
    card.get_by_role("button", name="Expand").press("Enter")
    assert wait_for(page, "d.expanded.length")["expanded"] == ["net"]
    assert card.get_by_role("button").all_inner_texts()[2] == "Collapse"
    assert card.get_by_role("button", name="Collapse").evaluate("(button) => button === document.activeElement")


def test_enter_goes_to_what_the_field_says(open_page: Open) -> None:
    page = open_page()
    settled(page)
    field = page.get_by_label("Search nodes", exact=True)
    field.fill("loss")
    expect(page.locator(".graph-result")).to_have_count(1)
    field.evaluate(
        """(field) => {
          field.value = "dense/add";
          field.dispatchEvent(new Event("input"));
          field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
        }"""
    )
    assert wait_for(page, "d.selected")["selected"] == "net/first/dense/Add"


def test_a_result_may_be_chosen_before_the_graph_is_there(open_page: Open, page: Page) -> None:
    held = hold(page, "scene")
    open_page()
    page.get_by_label("Search nodes", exact=True).fill("dense/add")
    expect(page.locator(".graph-result")).to_have_count(1)
    page.get_by_label("Search nodes", exact=True).press("Enter")
    held.release()
    assert settled(page)["selected"] == "net/first/dense/Add"


def test_costs_and_a_comparison_that_were_taken_back_do_not_come(open_page: Open) -> None:
    page = open_page()
    settled(page)
    held = hold(page, "costs", "compare")
    choose(page, costs=TRACE)
    choose(page, compare="wider|graph|__run_graph__")
    choose(page)
    held.release()
    state = wait_for(page, "true")
    assert (state["costs"], state["color"], state["verdicts"]) == (None, "op", {})


def test_a_link_with_costs_keeps_its_color(open_page: Open) -> None:
    page = open_page(f"&graph.costs={TRACE}&graph.color=structure")
    assert wait_for(page, "d.costs")["color"] == "structure"


def test_costs_leave_the_card_where_it_is(open_page: Open) -> None:
    page = open_page("&graph.node=net/first/act")
    settled(page)
    card = page.locator(".graph-card")
    heading = card.get_by_role("heading", name="Attributes").element_handle()
    choose(page, costs=TRACE)
    expect(card).to_contain_text("40.0 µs")
    assert heading.evaluate("(element) => element.isConnected")


def test_what_was_ended_is_not_lit_up(open_page: Open) -> None:
    page = open_page("&graph.node=net")
    settled(page)
    wait_for(page, "d.selected === 'net'")
    held = hold(page, "trace")
    with page.expect_request("**/api/graph/trace?*"):
        page.locator(".graph-canvas").press("i")
    page.keyboard.press("Escape")
    held.release()
    state = wait_for(page, "true")
    assert (state["traced"], state["selected"]) == ([], None)


def test_results_with_long_names_are_told_apart(open_page: Open, logdir: Path) -> None:
    scope = "/".join(f"some_quite_long_scope_{n}" for n in range(4))
    nodes = [f"{scope}/layer_{n}/projection_of_the_attention/MatMul" for n in range(3)]
    lines = [f"{nodes[0]} Relu:", *(f"{node} Relu: {before}" for before, node in pairwise(nodes))]
    write(logdir, "long", graph(graph_of_text("\n".join(lines))))
    page = open_page(run="long")
    settled(page)
    page.get_by_label("Search nodes", exact=True).fill("matmul")
    results = page.locator(".graph-result")
    expect(results).to_have_count(3)
    names = results.locator("bdi")
    expect_uncut(names)
    assert all(f"layer_{n}" in text for n, text in enumerate(names.all_inner_texts()))
    assert [row.get_attribute("title") for row in results.all()] == nodes
