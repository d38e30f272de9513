"""The Projector panel in a real browser, by the numbers that ``stepscope.projector.debug()`` gives."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors

from stepscope.dashboard.cli.serving import make_live, make_server
from stepscope.dashboard.embeddings.file_listing import MOST_SERIES
from stepscope.dashboard.panels.registry import PANELS
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir_source import source_of
from tests.browser.conftest import Dashboard, Held, wait_until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(all(panel.name != "projector" for panel in PANELS), reason="the panel is not registered"),
]

Open = Callable[..., Page]

CLOUD = "run|config|cloud"
HEADER = ["name", "kind"]
KINDS = {"ant": 150, "bee": 100, "cat": 50}
COUNT = sum(KINDS.values())
MANY = 20_001
"""Points of which nothing long begins by itself."""
NEIGHBORS_OF_TRUST = 12
ENDLESS = 100_000


def cloud() -> NDArray[np.float32]:
    """Three round clusters of points with 16 numbers each, far apart."""
    random = np.random.default_rng(3)
    middles = random.normal(size=(3, 16)) * 4
    return np.repeat(middles, list(KINDS.values()), axis=0).astype(np.float32) + random.normal(size=(COUNT, 16)).astype(
        np.float32
    )


def later(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same points after training: the first cluster has moved, and with it the directions that vary most."""
    moved = points.copy()
    moved[: KINDS["ant"]] += 20 * np.eye(16, dtype=np.float32)[2]
    return moved


def metadata() -> list[list[str]]:
    kinds = [kind for kind, count in KINDS.items() for _ in range(count)]
    return [[f"{kind} {row:03}", kind] for row, kind in enumerate(kinds)]


def pictures() -> NDArray[np.float32]:
    """A gray picture of 4 x 4 pixels for each point."""
    shades = np.linspace(0, 1, COUNT, dtype=np.float32)
    return np.broadcast_to(shades[:, None, None, None], (COUNT, 3, 4, 4)).copy()


def log_cloud(folder: Path, *steps: int) -> None:
    with SummaryWriter(str(folder)) as writer:
        for step in steps:
            points = cloud() if step == 0 else later(cloud())
            images = pictures() if step == 0 else None
            writer.add_embedding(points, metadata(), images, step, "cloud", HEADER)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """One server for two steps of the cloud, a single point, rows with holes, and many points, for read-only tests."""
    logdir = tmp_path_factory.mktemp("projector")
    log_cloud(logdir / "run", 0, 10)
    holes = cloud()[:20]
    holes[3, 5] = np.nan
    holes[7, 0] = np.inf
    with SummaryWriter(str(logdir / "odd")) as writer:
        writer.add_embedding(np.ones((1, 4), np.float32), ["only"], tag="alone")
        writer.add_embedding(holes, [f"row {row}" for row in range(20)], tag="holes")
        writer.add_embedding(np.random.default_rng(5).normal(size=(MANY, 2)).astype(np.float32), tag="many")
    with pytest.MonkeyPatch.context() as patch:
        # Results of earlier runs must not be found.
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        listener = socket.create_server(("127.0.0.1", 0))
        live = make_live(source_of(logdir), False, 0.2)
        server = make_server(live)
        live.start()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield Dashboard(f"http://localhost:{listener.getsockname()[1]}", logdir, live)
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture
def open_page(shared: Dashboard, page: Page) -> Open:
    """A function that opens an embedding of the shared log, with motion reduced so that everything acts at once."""

    def opened(query: str = "", of: str = CLOUD, step: int | None = 0) -> Page:
        page.emulate_media(reduced_motion="reduce")
        at = f"&projector.step={step}" if step is not None else ""
        page.goto(f"{shared.url}?tab=projector&projector.id={of}{at}{query}")
        return page

    return opened


# ---- what the page reports


def debug(page: Page) -> dict[str, Any]:
    # Two frames, so that what was asked for has been drawn.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found: dict[str, Any] = page.evaluate("window.stepscope.projector.debug()")
    return found


def wait_for(page: Page, condition: str, *, ready: bool = True) -> dict[str, Any]:
    """The state once a condition on it, ``d``, is met and, by default, nothing is loading any more."""
    still = "!d.loading" if ready else "true"
    page.wait_for_function(
        f"() => (() => {{ const d = window.stepscope?.projector?.debug?.(); return d && {still} && ({condition}); }})()"
    )
    return debug(page)


def settled(page: Page) -> dict[str, Any]:
    return wait_for(page, "d.shown && d.job?.state === 'done' && d.quality?.state === 'done'")


def places(page: Page) -> NDArray[np.float32]:
    """The coordinates from which the picture is drawn."""
    values, dimensions = page.evaluate("""(() => {
      const { values, dimensions } = window.stepscope.projector.panel().picture;
      return [Array.from(values), dimensions];
    })()""")
    return np.asarray(values, np.float32).reshape(-1, dimensions)


def on_screen(page: Page) -> NDArray[np.float64]:
    """Where all points are on the page, in pixels."""
    found = page.evaluate("""(() => {
      const { view } = window.stepscope.projector.panel();
      const box = view.host.getBoundingClientRect();
      return Array.from({ length: view.cloud.count }, (_, row) => {
        const { x, y } = view.screenOf(row);
        return [x + box.left, y + box.top];
      });
    })()""")
    return np.asarray(found, np.float64)


def lonely(screen: NDArray[np.float64], page: Page) -> int:
    """The row that is farthest from every other row and is covered only by the canvas."""
    apart = np.hypot(*(screen[:, None] - screen[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    for row in np.argsort(-apart.min(axis=1)):
        x, y = screen[row]
        if page.evaluate("([x, y]) => document.elementFromPoint(x, y)?.className", [x, y]) == "pj-overlay":
            return int(row)
    raise AssertionError("every point is under something")


def click_point(page: Page, row: int) -> None:
    page.mouse.click(*on_screen(page)[row])


def true_neighbors(row: int, count: int, metric: str) -> tuple[list[int], list[float]]:
    found = NearestNeighbors(n_neighbors=count + 1, metric=metric).fit(cloud().astype(np.float64))
    distances, rows = found.kneighbors(cloud()[row : row + 1].astype(np.float64))
    kept = [(int(one), float(distance)) for one, distance in zip(rows[0], distances[0], strict=True) if one != row]
    return [one for one, _ in kept], [distance for _, distance in kept]


def rows_of(kind: str) -> list[int]:
    return [row for row, (_, one) in enumerate(metadata()) if one == kind]


def line(page: Page, at: int) -> Locator:
    """A line of the table."""
    return page.locator(f'#projector-table .ag-row[row-index="{at}"]')


# ---- opening


def test_an_embedding_opens_as_its_principal_components(open_page: Open) -> None:
    page = open_page("&projector.dims=3")
    state = settled(page)
    expected = PCA(10).fit(cloud())
    assert (state["count"], state["dimensions"], state["columns"]) == (COUNT, 16, HEADER)
    assert (state["projection"], state["steps"], state["problems"]) == ("pca", [0, 10], [])
    ratios = page.evaluate("window.stepscope.projector.panel().frame10.components.ratios")
    np.testing.assert_allclose(ratios, expected.explained_variance_ratio_, rtol=1e-4)
    drawn, true = places(page), expected.transform(cloud())[:, :3]
    assert drawn.shape == (COUNT, 3)
    # A component may point either way.
    np.testing.assert_allclose(np.abs(drawn), np.abs(true), atol=2e-3)
    expect(page.locator(".pj-shape")).to_have_text("300 points of 16 dimensions")
    share = expected.explained_variance_ratio_[:3].sum() * 100
    expect(page.locator(".pj-method b").first).to_have_text(f"{share:.1f}%")
    expect(page.get_by_role("button", name=re.compile("^Component 1, "))).to_have_count(1)
    quality, near = state["quality"], cloud()
    there, back = ((near, drawn), (drawn, near))
    assert quality["trustworthiness"] == pytest.approx(
        trustworthiness(*there, n_neighbors=NEIGHBORS_OF_TRUST), abs=1e-4
    )
    assert quality["continuity"] == pytest.approx(trustworthiness(*back, n_neighbors=NEIGHBORS_OF_TRUST), abs=1e-4)
    # The clusters are far apart, so every neighbor in the picture is of the same kind.
    assert quality["hit"] == pytest.approx(1)
    expect(page.locator(".pj-measure").first).to_contain_text(f"{quality['trustworthiness']:.3f}")


# ---- selection and neighbors


def test_a_click_shows_a_point_and_its_neighbors(open_page: Open) -> None:
    page = open_page("&projector.neighbors=20")
    settled(page)
    row = lonely(on_screen(page), page)
    click_point(page, row)
    for metric in ("cosine", "euclidean"):
        page.get_by_label("Distance", exact=True).first.select_option(metric)
        state = wait_for(page, f"d.neighbors?.metric === '{metric}' && d.neighbors.rows.length === 20")
        rows, distances = true_neighbors(row, 20, metric)
        assert (state["selection"], state["focus"]) == ([row], row)
        assert state["neighbors"]["rows"] == rows
        np.testing.assert_allclose(state["neighbors"]["distances"], distances, rtol=1e-3, atol=1e-6)
    body = page.locator(".pj-inspector-body")
    expect(body).to_contain_text(metadata()[row][0])
    expect(body.get_by_role("img", name=f"Image of point {row}")).to_be_visible()
    nearest = page.locator(".pj-neighbors .pj-result").first
    expect(nearest).to_contain_text(metadata()[rows[0]][0])
    nearest.click()
    state = wait_for(page, f"d.focus === {rows[0]} && d.neighbors")
    assert state["selection"] == [rows[0]]
    assert state["neighbors"]["rows"] == true_neighbors(rows[0], 20, "euclidean")[0]


def test_neighbors_may_be_those_of_the_picture(open_page: Open) -> None:
    page = open_page("&projector.neighbors=10&projector.rows=4&projector.space=picture")
    settled(page)
    state = wait_for(page, "d.neighbors?.space === 'picture'")
    drawn = places(page)
    expected = np.argsort(np.hypot(*(drawn - drawn[4]).T), kind="stable")[1:11]
    assert set(state["neighbors"]["rows"]) == set(expected.tolist())


def test_a_box_and_a_lasso_select_what_lies_in_them(open_page: Open) -> None:
    page = open_page()
    settled(page)
    screen = on_screen(page)
    heap = screen[rows_of("cat")]
    (left, top), (right, bottom) = heap.min(axis=0) - 4, heap.max(axis=0) + 4
    page.keyboard.press("b")
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(right, bottom, steps=4)
    page.mouse.up()
    inside = (screen >= (left, top)).all(axis=1) & (screen <= (right, bottom)).all(axis=1)
    state = wait_for(page, "d.selection.length > 0")
    assert state["selection"] == np.flatnonzero(inside).tolist()
    assert set(rows_of("cat")) <= set(state["selection"])

    page.keyboard.press("Escape")
    wait_for(page, "!d.selection.length")
    (left, top), (right, bottom) = screen.min(axis=0) - 6, screen.max(axis=0) + 6
    # A triangle: above the falling diagonal of all points.
    corners = [(left, top), (right, top), (right, bottom)]
    page.keyboard.press("l")
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in (*corners[1:], corners[0]):
        page.mouse.move(*corner, steps=12)
    page.mouse.up()
    state = wait_for(page, "d.selection.length > 0")
    # How far points are above the diagonal; those within two pixels of it may fall either way.
    slope = (bottom - top) / (right - left)
    above = (screen[:, 0] - left) * slope - (screen[:, 1] - top)
    selected = set(state["selection"])
    assert set(np.flatnonzero(above > 2).tolist()) <= selected <= set(np.flatnonzero(above > -2).tolist())
    assert 0 < len(selected) < COUNT


def test_points_are_isolated_hidden_and_shown_again(open_page: Open) -> None:
    page = open_page("&projector.rows=10-29")
    settled(page)
    page.keyboard.press("i")
    state = wait_for(page, "d.isolated")
    assert (state["isolated"], state["visible"]) == (list(range(10, 30)), 20)
    page.keyboard.press("Escape")
    wait_for(page, "!d.selection.length")
    row = lonely(on_screen(page)[10:30], page) + 10
    click_point(page, row)
    wait_for(page, f"d.focus === {row}")
    page.keyboard.press("h")
    state = wait_for(page, "d.hidden.length")
    assert (state["hidden"], state["visible"], state["selection"]) == ([row], 19, [])
    page.keyboard.press("a")
    state = wait_for(page, "!d.isolated && !d.hidden.length")
    assert state["visible"] == COUNT


def test_isolated_points_may_be_projected_alone(open_page: Open) -> None:
    page = open_page("&projector.isolate=150-249")
    settled(page)
    page.get_by_label("Only isolated points").check()
    state = wait_for(page, "d.job?.state === 'done' && d.quality?.state === 'done' && d.shown.points === 300")
    expected = PCA(2, svd_solver="full").fit_transform(cloud()[150:250].astype(np.float64))
    np.testing.assert_allclose(np.abs(places(page)[150:250]), np.abs(expected), atol=2e-3)
    assert state["visible"] == 100
    assert state["quality"]["trustworthiness"] == pytest.approx(
        trustworthiness(cloud()[150:250], expected, n_neighbors=NEIGHBORS_OF_TRUST), abs=1e-3
    )


# ---- search, colors, table


def test_a_search_finds_texts_and_patterns(open_page: Open) -> None:
    page = open_page()
    settled(page)
    page.keyboard.press("/")
    page.keyboard.type("ANT 00")
    state = wait_for(page, "d.found === 10")
    count = page.locator(".pj-search-bar .pj-count")
    expect(count).to_have_text("10 found")
    page.get_by_title("Regular expression").first.click()
    page.get_by_label("Search points").fill("^(bee|cat) ..[05]$")
    expected = [row for row, (name, _) in enumerate(metadata()) if re.search(r"^(bee|cat) ..[05]$", name)]
    wait_for(page, f"d.found === {len(expected)}")
    page.get_by_role("button", name="Select all").click()
    state = wait_for(page, "d.selection.length > 0")
    assert state["selection"] == expected
    page.get_by_label("Search points").press("Enter")
    wait_for(page, f"d.focus === {expected[0]}")
    expect(count).to_have_text(f"1 of {len(expected)}")
    page.get_by_label("Search points").fill("(")
    expect(page.get_by_label("Search points")).to_have_class(re.compile("wrong"))
    assert page.locator(".pj-search-bar .pj-count.bad").text_content()


def test_the_legend_counts_and_switches_categories_off(open_page: Open) -> None:
    page = open_page("&projector.color=kind")
    state = settled(page)
    assert (state["color"]["by"], state["color"]["categories"]) == ("kind", 3)
    entries = page.locator(".pj-legend-entry")
    assert entries.all_inner_texts() == [f"{kind}\n{count}" for kind, count in KINDS.items()]
    entries.nth(1).click()
    state = wait_for(page, "d.color.off.length")
    assert (state["color"]["off"], state["visible"]) == (["bee"], COUNT - KINDS["bee"])
    expect(entries.nth(1)).to_have_attribute("aria-pressed", "false")
    mask = page.evaluate("Array.from(window.stepscope.projector.panel().view.cloud.visible)")
    assert [row for row, shown in enumerate(mask) if not shown] == rows_of("bee")
    entries.nth(1).click()
    assert wait_for(page, "!d.color.off.length")["visible"] == COUNT


def test_the_shares_of_a_selection_have_the_colors_of_the_legend(open_page: Open) -> None:
    page = open_page("&projector.color=kind&projector.rows=140-159")
    settled(page)
    shares = page.locator(".pj-share")
    expect(shares).to_have_text(["ant50.0%", "bee50.0%"])
    colors = "dots => dots.slice(0, 2).map(dot => dot.style.background)"

    def shown(entries: str) -> list[str]:
        found: list[str] = page.locator(f"{entries} .pj-dot").evaluate_all(colors)
        return found

    light = shown(".pj-share")
    page.emulate_media(color_scheme="dark")
    wait_until(page, lambda: shown(".pj-legend-entry") != light, "the legend kept its colors")
    wait_until(page, lambda: shown(".pj-share") == shown(".pj-legend-entry"), "the shares have other colors")


def test_the_table_and_the_cloud_are_linked(open_page: Open) -> None:
    page = open_page()
    settled(page)
    page.keyboard.press("m")
    state = wait_for(page, "d.table.rows === 300")
    first = line(page, 0)
    expect(first).to_contain_text("ant 000")
    line(page, 2).click()
    state = wait_for(page, "d.focus === 2")
    assert state["selection"] == [2]
    expect(line(page, 2)).to_have_attribute("aria-selected", "true")
    # Keys continue from where the mouse was, and a range and single lines are added to the selection.
    page.keyboard.press("ArrowDown")
    assert wait_for(page, "d.focus === 3")["selection"] == [3]
    line(page, 5).click(modifiers=["Shift"])
    assert wait_for(page, "d.selection.length === 3")["selection"] == [3, 4, 5]
    line(page, 4).click(modifiers=["ControlOrMeta"])
    assert wait_for(page, "d.selection.length === 2")["selection"] == [3, 5]
    page.keyboard.press("Space")
    assert wait_for(page, "d.selection.length === 3")["selection"] == [3, 4, 5]
    expect(page.locator("#projector-table [role=row][aria-selected=true]")).to_have_count(3)
    row = lonely(on_screen(page), page)
    click_point(page, row)
    wait_for(page, f"d.focus === {row}")
    expect(page.locator("#projector-table .pj-focus")).to_have_text(str(row))
    page.get_by_role("columnheader", name="name").click()
    page.get_by_role("columnheader", name="name").click()
    expect(first).to_contain_text("cat 299")
    assert debug(page)["table"]["sort"] == "-name"


def test_a_table_of_very_many_rows_asks_for_those_in_sight_alone(open_page: Open) -> None:
    page = open_page("&projector.table=on", of="odd|config|many", step=None)
    wait_for(page, f"d.table.rows === {MANY}")
    expect(line(page, 0)).to_contain_text("0")
    with page.expect_request("**/api/projector/table?*offset=20000&*"):
        page.locator("#projector-table .ag-body-viewport").evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    expect(page.locator(f'#projector-table [row-id="{MANY - 1}"]')).to_contain_text(str(MANY - 1))
    assert page.locator("#projector-table [row-id]").count() < 100


def test_the_table_follows_the_points_that_are_shown(open_page: Open, page: Page) -> None:
    held = hold(page, "column[?]")
    open_page("&projector.color=kind&projector.off=bee&projector.table=on&projector.search=ant")
    wait_for(page, "d.found === 150 && d.table.rows === 300", ready=False)
    held.release()
    without_bees = COUNT - KINDS["bee"]
    assert wait_for(page, f"d.table.rows === {without_bees}")["visible"] == without_bees
    page.get_by_label("What points are colored by").select_option("name")
    assert wait_for(page, f"d.table.rows === {COUNT}")["visible"] == COUNT


def test_k_means_makes_a_column(open_page: Open) -> None:
    page = open_page()
    settled(page)
    page.locator(".pj-right summary", has_text="Clusters").click()
    page.get_by_label("How many clusters").fill("3")
    page.get_by_role("button", name="Find clusters").click()
    state = wait_for(page, "d.columns.length === 3 && d.color.categories === 3")
    assert state["columns"] == [*HEADER, "k-means (3)"]
    assert state["color"]["by"] == "k-means (3)"
    expected = np.bincount(KMeans(3, n_init=5, random_state=0).fit_predict(cloud()))
    counts = page.locator(".pj-legend-entry .pj-count").all_inner_texts()
    assert sorted(map(int, counts)) == sorted(expected.tolist()) == sorted(KINDS.values())


# ---- projections that take a while


def test_a_t_sne_streams_pauses_and_goes_on(open_page: Open) -> None:
    page = open_page(f"&projector.projection=tsne&projector.tsne=iterations:{ENDLESS}")
    seen = [wait_for(page, "d.job?.iteration > 0 && d.shown.projection === 'tsne'", ready=False)]
    for _ in range(3):
        last = seen[-1]["job"]
        seen.append(wait_for(page, f"d.job.iteration > {last['iteration']}", ready=False))
        assert seen[-1]["shown"]["first"] != seen[-2]["shown"]["first"]
    assert all(one["job"]["state"] == "running" for one in seen)
    page.get_by_role("button", name="Pause", exact=True).click()
    paused = wait_for(page, "d.job.state === 'paused'", ready=False)
    # The server waits a second for something newer: once the work under way is done, there is nothing.
    rested = page.evaluate("""(async () => {
      const { api, job } = window.stepscope.projector.panel();
      let version = job.frame.version;
      for (let turn = 0; turn < 5; turn += 1) {
        const pack = await api.ask("frame", { job: job.key, after: version, wait: 1 });
        if (pack.version === version) return [pack.state, pack.iteration];
        version = pack.version;
      }
      return ["running", -1];
    })()""")
    assert rested[0] == "paused"
    paused = wait_for(page, f"d.job.state === 'paused' && d.job.iteration === {rested[1]}", ready=False)
    page.get_by_role("button", name="Resume", exact=True).click()
    on = wait_for(page, f"d.job.state === 'running' && d.job.iteration > {paused['job']['iteration']}", ready=False)
    assert on["job"]["key"] == paused["job"]["key"]
    page.get_by_role("button", name="Stop", exact=True).click()
    stopped = wait_for(page, "d.job.state === 'cancelled'", ready=False)
    assert stopped["shown"]["points"] == COUNT


def test_a_finished_t_sne_says_how_far_it_can_be_trusted(open_page: Open) -> None:
    page = open_page("&projector.tsne=iterations:300,perplexity:20")
    settled(page)
    page.keyboard.press("2")
    state = wait_for(page, "d.shown.projection === 'tsne' && d.job?.state === 'done' && d.quality?.state === 'done'")
    assert (state["job"]["iteration"], state["job"]["total"]) == (300, 300)
    assert state["job"]["settings"]["perplexity"] == 20
    facts = page.locator(".pj-run .pj-facts")
    expect(facts).to_contain_text("300 of 300")
    expect(facts).to_contain_text(f"KL divergence{state['job']['loss']:.4g}")
    expected = trustworthiness(cloud(), places(page), n_neighbors=NEIGHBORS_OF_TRUST)
    assert state["quality"]["trustworthiness"] == pytest.approx(expected, abs=1e-4)
    assert expected > 0.9


def test_a_picture_is_measured_again_after_more_iterations(open_page: Open) -> None:
    page = open_page("&projector.projection=tsne&projector.tsne=iterations:250,perplexity:5")
    done = "d.job?.state === 'done' && d.quality?.state === 'done'"
    before = wait_for(page, f"d.shown?.projection === 'tsne' && {done}")["quality"]
    page.get_by_role("button", name="+500", exact=True).click()
    after = wait_for(page, f"d.job.iteration === 750 && {done}")["quality"]
    assert after != before
    expected = trustworthiness(cloud(), places(page), n_neighbors=NEIGHBORS_OF_TRUST)
    assert after["trustworthiness"] == pytest.approx(expected, abs=1e-4)


def test_a_picture_is_measured_on_request_only_while_it_rests(open_page: Open) -> None:
    page = open_page(f"&projector.projection=tsne&projector.tsne=iterations:{ENDLESS},perplexity:8")
    trust = page.locator(".pj-trust")
    wait_for(page, "d.job?.iteration > 0", ready=False)
    expect(trust).to_have_text("Measured when the projection is done.")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(trust).to_contain_text("Not measured yet.")
    trust.get_by_role("button", name="Measure now").click()
    wait_for(page, "d.quality?.state === 'done'")


def test_of_many_points_nothing_long_begins_by_itself_but_what_is_known_is_shown(open_page: Open) -> None:
    long = "&projector.projection=tsne&projector.tsne=iterations:10,perplexity:5"
    page = open_page(long, of="odd|config|many", step=None)
    assert wait_for(page, "d.waiting === 'run' && d.shown")["shown"]["projection"] == "pca"
    page.locator(".pj-run").get_by_role("button", name="Run").click()
    wait_for(page, "d.shown?.projection === 'tsne' && d.job?.state === 'done'")
    drawn = places(page)
    page.reload()
    state = wait_for(page, "d.shown?.projection === 'tsne' && d.job?.state === 'done'")
    assert (state["waiting"], state["job"]["iteration"]) == ("", 10)
    assert np.array_equal(places(page), drawn)


def test_umap_runs(open_page: Open) -> None:
    page = open_page("&projector.projection=umap&projector.umap=epochs:60")
    state = wait_for(page, "d.shown?.projection === 'umap' && d.job?.state === 'done' && d.quality?.state === 'done'")
    assert (state["shown"]["points"], state["job"]["iteration"]) == (COUNT, 60)
    expected = trustworthiness(cloud(), places(page), n_neighbors=NEIGHBORS_OF_TRUST)
    assert state["quality"]["trustworthiness"] == pytest.approx(expected, abs=1e-4)
    assert state["quality"]["hit"] == pytest.approx(1)


def test_own_axes_lead_from_one_search_to_another(open_page: Open) -> None:
    page = open_page("&projector.projection=custom&projector.left=text:ant&projector.right=text:bee")
    settled(page)
    points = cloud().astype(np.float64)
    way = points[rows_of("bee")].mean(axis=0) - points[rows_of("ant")].mean(axis=0)
    along = points @ (way / np.linalg.norm(way))
    drawn = places(page)[:, 0]
    np.testing.assert_allclose(drawn - drawn.mean(), along - along.mean(), atol=2e-3)


def test_a_single_axis_is_named_and_joined_by_what_varies_most_besides(open_page: Open) -> None:
    page = open_page("&projector.projection=custom&projector.left=rows:0-149&projector.right=rows:150-249")
    settled(page)
    names = page.evaluate("window.stepscope.projector.panel().view.axes.map((axis) => axis.name)")
    assert names == ["150 points → 100 points", "greatest remaining variance"]
    assert np.ptp(places(page)[:, 1]) > 1


# ---- steps


def to_last_step(page: Page) -> dict[str, Any]:
    page.get_by_label("Step", exact=True).press("End")
    return wait_for(page, "d.step === 10 && d.quality?.state === 'done' && d.job?.state === 'done'")


def test_steps_play_with_points_in_their_places(open_page: Open) -> None:
    page = open_page("&projector.aligned=on")
    settled(page)
    before = places(page)
    page.get_by_role("button", name="Play the steps (Space)").click()
    state = wait_for(page, "d.step === 10 && d.job?.state === 'done' && d.quality?.state === 'done'")
    after = places(page)
    assert state["job"]["frames"] == [0, 10]
    # The components are those of both steps together, so that only points that moved in the data move here.
    together = PCA(2, svd_solver="full").fit(np.concatenate([cloud(), later(cloud())]).astype(np.float64))
    for drawn, points in ((before, cloud()), (after, later(cloud()))):
        np.testing.assert_allclose(np.abs(drawn), np.abs(together.transform(points)), atol=5e-3)
    np.testing.assert_allclose(before[KINDS["ant"] :], after[KINDS["ant"] :], atol=1e-4)
    expect(page.get_by_role("button", name="Play the steps (Space)")).to_be_visible()


def test_steps_apart_have_components_of_their_own(open_page: Open) -> None:
    page = open_page()
    settled(page)
    to_last_step(page)
    expected = PCA(2, svd_solver="full").fit_transform(later(cloud()).astype(np.float64))
    np.testing.assert_allclose(np.abs(places(page)), np.abs(expected), atol=5e-3)


def test_a_step_of_an_aligned_t_sne_is_no_other_setting(open_page: Open) -> None:
    page = open_page("&projector.aligned=on&projector.projection=tsne&projector.tsne=iterations:50")
    key = settled(page)["job"]["key"]
    state = to_last_step(page)
    assert (state["job"]["key"], state["step"]) == (key, 10)
    expect(page.locator(".pj-run .pj-button.main")).to_be_hidden()


# ---- links and bookmarks

KEPT = (
    "id", "step", "projection", "shown", "color", "label", "selection", "focus", "neighbors", "isolated", "hidden",
    "visible", "found", "table", "camera",
)  # fmt: skip


def kept(state: dict[str, Any]) -> dict[str, Any]:
    return {name: state[name] for name in KEPT}


def test_a_link_opens_the_same_view(open_page: Open) -> None:
    page = open_page("&projector.dims=3", step=None)
    settled(page)
    page.get_by_label("What points are colored by").select_option("kind")
    page.locator(".pj-legend-entry").nth(2).click()
    page.keyboard.press("m")
    line(page, 1).click()
    wait_for(page, "d.focus === 1 && d.neighbors")
    page.get_by_label("Search points").fill("bee 15")
    wait_for(page, "d.found === 10")
    page.get_by_label("Search points").evaluate("(input) => input.blur()")
    canvas = page.locator(".pj-overlay")
    canvas.focus()
    canvas.press("ArrowLeft")
    canvas.press("+")
    page.wait_for_function("() => new URLSearchParams(location.search).get('projector.camera')")
    before = wait_for(page, "d.table.rows === 250")
    page.wait_for_function(
        """([camera]) => {
          const kept = new URLSearchParams(location.search);
          return kept.get("projector.camera") === camera
            && ["search", "table", "off"].every((name) => kept.has(`projector.${name}`));
        }""",
        arg=[before["camera"]],
    )
    page.reload()
    settled(page)
    after = wait_for(page, "d.focus === 1 && d.neighbors && d.found === 10 && d.table.rows === 250")
    assert kept(after) == kept(before)


def test_another_projection_is_shown_whole_also_by_its_link(open_page: Open) -> None:
    page = open_page("&projector.camera=2:0.1,0.2,3")
    settled(page)
    page.keyboard.press("5")
    before = wait_for(page, "d.shown.projection === 'random' && d.job?.state === 'done'")
    page.reload()
    assert settled(page)["camera"] == before["camera"]


def test_isolated_points_stay_so_at_a_step_with_fewer_points(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    with SummaryWriter(str(logdir / "run")) as writer:
        writer.add_embedding(cloud(), metadata(), global_step=0, tag="cloud", metadata_header=HEADER)
        writer.add_embedding(cloud()[:200], metadata()[:200], global_step=10, tag="cloud", metadata_header=HEADER)
    open_log(page, serve(logdir), f"&projector.id={CLOUD}&projector.step=0&projector.isolate=0-9&projector.hidden=3")
    settled(page)
    page.evaluate("""() => {
      const panel = window.stepscope.projector.panel();
      panel.showEverything();
      panel.isolate(Uint32Array.of(4, 5, 6));
    }""")
    state = to_last_step(page)
    assert (state["count"], state["isolated"], state["hidden"]) == (200, [4, 5, 6], [])


def test_bookmarks_keep_a_view(open_page: Open) -> None:
    page = open_page("&projector.rows=5&projector.color=kind")
    before = settled(page)
    before = wait_for(page, "d.neighbors")
    page.locator(".pj-right summary", has_text="Bookmarks").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Name of the bookmark").fill("five")
    page.get_by_label("Name of the bookmark").press("Enter")
    assert wait_for(page, "d.bookmarks.length")["bookmarks"] == ["five"]
    page.keyboard.press("d")
    wait_for(page, "d.shown.dimensions === 3")
    page.locator(".pj-legend-entry").first.click()
    page.get_by_role("button", name="Clear", exact=True).click()
    wait_for(page, "!d.selection.length && d.color.off.length")
    page.get_by_title("Show five").click()
    after = wait_for(page, "d.shown?.dimensions === 2 && d.neighbors && d.quality?.state === 'done'")
    assert kept(after) == kept(before)
    page.reload()
    assert settled(page)["bookmarks"] == ["five"]


def test_a_bookmark_keeps_more_points_than_an_address_can(open_page: Open) -> None:
    page = open_page(of="odd|config|many", step=None)
    wait_for(page, "d.shown")
    page.evaluate("""() => {
      const panel = window.stepscope.projector.panel();
      const rows = (step) => Uint32Array.from({ length: 3000 }, (_, at) => step * at);
      panel.isolate(rows(2));
      panel.select(rows(4));
      panel.bookmarks.add();
      panel.showEverything();
      panel.select(Uint32Array.of(1));
      void window.stepscope.projector.applyBookmark(panel, panel.bookmarks.kept[0].state);
    }""")
    state = wait_for(page, "d.shown && d.selection.length > 1 && d.visible === 3000")
    assert state["isolated"] == list(range(0, 6000, 2))
    assert state["selection"] == list(range(0, 12000, 4))


def test_a_bookmark_stops_a_cloud_that_spins_and_shows_it_from_where_it_was_seen(open_page: Open) -> None:
    page = open_page("&projector.dims=3")
    settled(page)
    page.emulate_media(reduced_motion="no-preference")
    before, after = page.evaluate("""() => {
      const panel = window.stepscope.projector.panel();
      panel.view.turn(30, 10);
      const seen = panel.view.camera();
      panel.bookmarks.add();
      panel.setPerspective(false);
      panel.setSpin(true);
      panel.view.turn(30, 10);
      const turned = [panel.view.camera(), panel.view.motion.spin];
      void window.stepscope.projector.applyBookmark(panel, panel.bookmarks.kept[0].state);
      return [seen, turned];
    }""")
    assert before != after[0]
    assert after[1]
    state = wait_for(page, "d.shown && d.job?.state === 'done' && d.quality?.state === 'done'")
    assert state["camera"] == before
    motion = "(({ motion, look }) => [motion.spin, look.perspective])(window.stepscope.projector.panel().view)"
    assert page.evaluate(motion) == [False, True]


# ---- odd data


def test_a_point_alone_is_shown(open_page: Open) -> None:
    page = open_page(of="odd|config|alone", step=None)
    state = wait_for(page, "d.count === 1 && d.shown")
    assert state["shown"]["points"] == 1
    click_point(page, 0)
    wait_for(page, "d.focus === 0")
    expect(page.locator(".pj-inspector-body")).to_contain_text("only")
    expect(page.locator(".pj-near")).to_contain_text("There are no others.")
    page.keyboard.press("2")
    expect(page.locator(".pj-run")).to_contain_text("At least two points are needed.")


def test_rows_with_holes_are_left_out_and_said(open_page: Open) -> None:
    page = open_page(of="odd|config|holes", step=None)
    state = wait_for(page, "d.count === 18 && d.shown")
    assert [(problem["kind"], problem["count"]) for problem in state["problems"]] == [("not finite", 2)]
    expect(page.locator(".pj-warn summary")).to_contain_text("1 note about the data")
    page.locator(".pj-warn summary").click()
    expect(page.locator(".pj-problems")).to_contain_text("2 rows have NaN or infinity and are left out")
    click_point(page, 3)
    wait_for(page, "d.focus === 3")
    # The fourth row that is shown is the fifth in the file.
    expect(page.locator(".pj-inspector-body")).to_contain_text("row 4")


def open_log(page: Page, dashboard: Dashboard, query: str = "") -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{dashboard.url}?tab=projector{query}")


def test_a_growing_log_offers_its_new_step(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    log_cloud(logdir / "run", 0)
    open_log(page, serve(logdir))
    state = settled(page)
    assert (state["id"], state["step"], state["news"]) == (CLOUD, 0, "")
    # Updates arrive at most every few seconds; the first may come at once.
    page.evaluate("window.stepscope.projector.panel().newsAt = -Infinity")
    log_cloud(logdir / "run", 10)
    page.wait_for_function("() => window.stepscope.projector.debug().news.startsWith('1 newer step, up to 10.')")
    assert debug(page)["step"] == 0
    page.get_by_role("button", name="Reload", exact=True).click()
    state = wait_for(page, "d.step === 10 && d.quality?.state === 'done'")
    assert (state["steps"], state["news"]) == ([0, 10], "")


@pytest.fixture
def refused(refused_page: Page) -> Iterator[Page]:
    """A page that is refused one answer, which the browser reports in its console, and has no other error."""
    errors: list[str] = []
    refused_page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    refused_page.on("pageerror", lambda error: errors.append(str(error)))
    yield refused_page
    assert ["422 (Unprocessable" in error for error in errors] == [True]


def test_damaged_files_are_said_and_crash_nothing(serve: Callable[..., Dashboard], refused: Page, logdir: Path) -> None:
    log_cloud(logdir / "run", 0)
    tensors = next((logdir / "run").rglob("tensors.tsv"))
    tensors.write_bytes(b"\x00\xff\xfe not numbers\n" * 10)
    (logdir / "torn").mkdir()
    (logdir / "torn" / "projector_config.pbtxt").write_bytes(b"embeddings { tensor_name: \xff")
    with SummaryWriter(str(logdir / "good")) as writer:
        writer.add_embedding(cloud(), tag="cloud")
    open_log(refused, serve(logdir), f"&projector.id={CLOUD}")
    state = wait_for(refused, "d.message && d.embeddings.length")
    assert "tensors.tsv" in state["message"]
    assert state["shown"] is None
    refused.get_by_role("textbox", name="Embedding", exact=True).click()
    refused.get_by_role("option", name="good · cloud").click()
    state = settled(refused)
    assert (state["id"], state["count"], state["message"]) == ("good|config|cloud", COUNT, "")


def log_without(logdir: Path) -> None:
    with SummaryWriter(str(logdir / "run")) as writer:
        writer.add_scalar("loss", 1.0, 0)


def test_checkpoints_beyond_those_that_are_listed_are_counted(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    for number in range(MOST_SERIES + 2):
        np.save(logdir / f"{chr(200 + number)}.npy", cloud()[:10])
    page.goto(f"{serve(logdir).url}?tab=projector")
    wait_for(page, "d.count === 10")
    page.get_by_label("Embedding", exact=True).first.click()
    said = page.get_by_role("option", name="2 older checkpoints: open a file with stepscope project FILE")
    expect(said).to_have_attribute("data-combobox-disabled", "true")


def test_without_an_embedding_there_is_no_tab(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> None:
    log_without(logdir)
    page.goto(serve(logdir).url)
    expect(page.get_by_role("tab", name="Scalars")).to_be_visible()
    expect(page.get_by_role("tab", name="Projector")).to_have_count(0)


def test_without_an_embedding_the_page_says_what_to_do(
    serve: Callable[..., Dashboard], page: Page, logdir: Path, tmp_path: Path
) -> None:
    log_without(logdir)
    open_log(page, serve(logdir))
    expect(page.get_by_role("tab", name="Scalars")).to_be_visible()
    expect(page.get_by_role("heading", name="No embeddings yet")).to_be_visible(timeout=1500)
    expect(page.get_by_role("button", name="Choose a file")).to_be_visible()
    np.save(tmp_path / "mine.npy", cloud())
    page.locator("#projector-empty input[type=file]").set_input_files(tmp_path / "mine.npy")
    assert settled(page)["count"] == COUNT


# ---- the user's own files


def test_a_chosen_file_opens(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    settled(page)
    np.save(tmp_path / "mine.npy", cloud()[:40])
    (tmp_path / "mine.tsv").write_text("\n".join(f"word {row}" for row in range(40)))
    chooser = page.get_by_label("File of an embedding")
    chooser.set_input_files(tmp_path / "mine.npy")
    state = wait_for(page, "d.id?.startsWith('|dropped|') && d.shown && d.count === 40")
    assert (state["dimensions"], state["columns"]) == (16, [])
    chooser.set_input_files(tmp_path / "mine.tsv")
    page.get_by_role("button", name=re.compile("^Metadata of ")).click()
    state = wait_for(page, "d.columns.length === 1 && d.shown")
    click_point(page, lonely(on_screen(page), page))
    expect(page.locator(".pj-inspector-body")).to_contain_text("word ")


def test_a_file_that_is_dropped_opens(open_page: Open) -> None:
    page = open_page()
    settled(page)
    lines = "\n".join("\t".join(map(str, row)) for row in cloud()[:30].tolist())
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "points.tsv"));
          const host = document.querySelector("#projector-host");
          for (const name of ["dragover", "drop"]) {
            host.dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }));
          }
        }""",
        lines,
    )
    state = wait_for(page, "d.id?.startsWith('|dropped|') && d.shown && d.count === 30")
    assert state["dimensions"] == 16
    assert any("points" in one for one in state["embeddings"])


# ---- answers that come late


def hold(page: Page, route: str) -> Held:
    """Holds back the requests of a route until they are released."""
    return Held(page, f"/api/projector/{route}")


def test_the_step_slider_keeps_what_the_hand_has_chosen(open_page: Open) -> None:
    page = open_page()
    settled(page)
    held = hold(page, r"dataset[?].*step=10")
    slider = page.get_by_label("Step", exact=True)
    # A frame of a projection shows the steps, too: before the step is requested, and while it is being requested.
    assert slider.evaluate(
        """(slider) => {
          slider.value = 1;
          slider.dispatchEvent(new Event("input"));
          window.stepscope.projector.panel().steps.show();
          return slider.value;
        }"""
    ) == "1"  # fmt: skip
    page.wait_for_function("() => new URLSearchParams(location.search).get('projector.step') === '10'")
    page.evaluate("window.stepscope.projector.panel().steps.show()")
    assert slider.input_value() == "1"
    slider.press("Home")
    page.wait_for_function("() => new URLSearchParams(location.search).get('projector.step') === '0'")
    held.release()
    assert wait_for(page, "d.shown")["step"] == 0


def test_a_field_under_the_hand_is_not_made_anew(open_page: Open) -> None:
    page = open_page("&projector.projection=tsne&projector.tsne=iterations:10")
    settled(page)
    slider = page.get_by_label("Perplexity", exact=True)
    box = slider.bounding_box()
    assert box is not None
    at = "window.stepscope.projector.panel().state.methods.tsne.perplexity"
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2)
    page.wait_for_function(f"() => {at} !== 30")
    first = page.evaluate(at)
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
    assert float(slider.input_value()) > first
    page.mouse.up()
    page.wait_for_function(f"() => {at} > {first}")
    # Another method is chosen before the slider has settled.
    page.evaluate(
        """() => {
          const panel = window.stepscope.projector.panel();
          const slider = document.querySelector("[aria-label=Perplexity]");
          slider.value = 7;
          slider.dispatchEvent(new Event("input"));
          panel.setProjection("pca");
        }"""
    )
    page.wait_for_function(f"() => {at} === 7")
    assert page.evaluate("Object.keys(window.stepscope.projector.panel().state.methods.pca)") == []


def test_a_click_out_of_a_field_reaches_what_it_was_meant_for(open_page: Open) -> None:
    page = open_page("&projector.projection=custom")
    wait_for(page, "d.waiting === 'axes' && d.shown")
    page.get_by_label("What lies at the end: Left").click()
    page.keyboard.type("ant")
    page.get_by_label("What lies at the end: Right").click()
    page.keyboard.type("bee")
    page.locator(".pj-method").get_by_role("button", name="Regular expression").nth(1).click()
    settled(page)
    axes = page.evaluate("window.stepscope.projector.panel().state.axes")
    assert (axes["left"], axes["right"], debug(page)["tool"]) == ("text:ant", "regex:bee", "pointer")


def test_the_table_asks_for_pages_of_the_rows_that_are_wanted(open_page: Open) -> None:
    page = open_page("&projector.color=kind&projector.table=on")
    wait_for(page, f"d.shown && d.table.rows === {COUNT}")
    held = hold(page, "rows")
    with page.expect_request("**/api/projector/rows*"):
        page.evaluate("""() => {
          const panel = window.stepscope.projector.panel();
          panel.setOff(["ant"]);
        }""")
    held.release()
    wait_for(page, f"d.table.rows === {COUNT - KINDS['ant']}")
    expect(line(page, 0)).to_contain_text("bee 150")


def test_enter_waits_for_what_is_searched(open_page: Open) -> None:
    page = open_page()
    settled(page)
    field = page.get_by_label("Search points")
    field.fill("bee")
    wait_for(page, "d.found === 100")
    held = hold(page, "search")
    with page.expect_request("**/api/projector/search*"):
        field.fill("cat")
    field.press("Enter")
    held.release()
    assert wait_for(page, "d.found === 50 && d.focus >= 0")["focus"] == rows_of("cat")[0]


def test_an_entry_of_the_legend_keeps_the_focus(open_page: Open) -> None:
    page = open_page("&projector.color=kind")
    settled(page)
    page.locator(".pj-legend-entry").nth(1).focus()
    page.keyboard.press("Space")
    assert wait_for(page, "d.color.off.length")["color"]["off"] == ["bee"]
    assert page.evaluate("document.activeElement.title.startsWith('bee')")
    assert page.evaluate("""(() => {
      const panel = window.stepscope.projector.panel();
      const entry = document.activeElement;
      panel.legend.show();
      panel.setNews("The file has changed.");
      const button = panel.news.querySelector("button");
      panel.setNews("The file has changed.");
      return [entry.isConnected, button.isConnected];
    })()""") == [True, True]  # fmt: skip


def test_a_projection_may_be_chosen_before_the_points_are_there(open_page: Open, page: Page) -> None:
    held = hold(page, "dataset")
    open_page("&projector.tsne=iterations:10")
    page.wait_for_function("() => window.stepscope?.projector?.panel?.()?.loading")
    page.keyboard.press("2")
    assert page.evaluate("window.stepscope.projector.panel().state.projection") == "tsne"
    held.release()
    assert settled(page)["shown"]["projection"] == "tsne"


def test_a_bookmark_of_tensorboard_keeps_its_camera(open_page: Open) -> None:
    page = open_page()
    settled(page)
    camera = page.evaluate("""async () => {
      const { projector } = window.stepscope;
      const panel = projector.panel();
      const cameraDef = { orthographic: true, position: [0.2, 0.1, 4], target: [0.2, 0.1, 0], zoom: 3 };
      await projector.applyBookmark(panel, { selectedProjection: "random", cameraDef });
      return panel.state.camera;
    }""")
    state = wait_for(page, "d.shown?.projection === 'random' && d.job?.state === 'done'")
    assert state["camera"] == camera != ""


def test_a_panel_that_was_left_ends(open_page: Open) -> None:
    page = open_page(f"&projector.projection=tsne&projector.tsne=iterations:{ENDLESS},perplexity:11")
    wait_for(page, "d.job?.iteration > 0", ready=False)
    page.evaluate("""() => {
      window.left = window.stepscope.projector.panel();
      window.left.root.closest(".panel").remove();
      window.left.tell({ step: "10" });
    }""")
    page.wait_for_function("() => window.left.job.abort.signal.aborted")
    assert page.evaluate("new URLSearchParams(location.search).get('projector.step')") == "0"
