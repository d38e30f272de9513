"""The Projector's cloud on a blank page: its arithmetic, its pixels, and its interactions."""

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, TimeoutError

from stepscope.dashboard.page import bundle
from tests.browser.scripts import script_of

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
SQUARE = "[0, 0, 10, 0, 0, 10, 10, 10]"
HELPERS = """
window.P = window.stepscope.projector;
window.seen = [];
window.openView = () => {
  const plain = (one) => (one instanceof Uint32Array ? [...one] : one);
  const note = (name) => (...what) => window.seen.push([name, ...what.map(plain)]);
  const names = {onHover: "hover", onPick: "pick", onSelect: "select", onCamera: "camera"};
  const hooks = Object.fromEntries(Object.entries(names).map(([hook, name]) => [hook, note(name)]));
  window.view = P.createView(document.querySelector("#host"), hooks);
};
window.RED = [255, 0, 0, 255];
window.BLUE = [0, 0, 255, 255];
window.GREEN = [0, 160, 0, 255];
window.color = (...colors) => view.setColors(Uint8Array.from(colors.flat()));
window.show = (values, dimensions, how) => view.setPoints(Float32Array.from(values), dimensions, how);
// Whether nothing is left to be painted.
window.idle = () => view.requested === 0 && !view.moving && !view.motion.busy(view.dimensions);
// The pixel of the points at a place in CSS pixels: red, green, blue.
window.pixel = (x, y) => {
  const [left, top] = [x, y].map((value) => Math.round(value * view.ratio));
  return [...view.baseContext.getImageData(left, top, 1, 1).data].slice(0, 3);
};
window.at = (row) => { const {x, y} = view.screenOf(row); return [Math.round(x), Math.round(y)]; };
window.ground = () => pixel(1, 1);
window.same = (a, b) => a.every((value, k) => Math.abs(value - b[k]) < 3);
"""


def prepare(page: Page) -> None:
    """Puts the scripts and one empty host of 400 x 300 pixels into a page."""
    page.set_content('<!doctype html><html data-mantine-color-scheme="light"><body><div id="host"></div></body></html>')
    page.add_style_tag(path=str(bundle.ROOT / "web" / "page" / "frame.css"))
    page.add_style_tag(content="#host { position: absolute; left: 20px; top: 10px; width: 400px; height: 300px }")
    page.add_script_tag(content=script_of("cloud.ts"))
    page.add_script_tag(content=HELPERS)


@pytest.fixture
def cloud(page: Page) -> Page:
    """A page with an empty view, for one test."""
    prepare(page)
    page.evaluate("openView()")
    return page


@pytest.fixture(scope="module")
def bare(browser: Browser) -> Iterator[Page]:
    """A page with the scripts, for all tests that only compute."""
    opened = browser.new_page()
    prepare(opened)
    yield opened
    opened.close()


def settled(page: Page) -> None:
    try:
        page.wait_for_function("() => idle()")
    except TimeoutError as late:
        # Once, on a busy machine, it did not come to rest. This tells whether the view or the browser's frames failed.
        state = page.evaluate("""async () => ({
            frames: await new Promise((tell) => {
                requestAnimationFrame(() => tell(true));
                setTimeout(() => tell(false), 2000);
            }),
            requested: view.requested, moving: view.moving, motion: view.motion, size: [view.width, view.height],
            visibility: document.visibilityState, now: performance.now(),
        })""")
        raise AssertionError(f"the view does not come to rest: {state}") from late


def show(page: Page, script: str) -> None:
    page.evaluate(f"() => {{ {script} }}")
    settled(page)


def place(page: Page, row: int) -> tuple[int, int]:
    """Where a row is, in pixels of the page."""
    x, y = page.evaluate(f"at({row})")
    return x + 20, y + 10


def seen(page: Page, name: str) -> list[Any]:
    """The arguments that a handler received, call by call."""
    return [entry[1:] for entry in page.evaluate("seen") if entry[0] == name]


# ---- which labels are shown


def test_a_point_on_its_own_is_named_beside_a_crowd(bare: Page) -> None:
    named = bare.evaluate("""() => {
      const labels = new P.Labels(() => {});
      labels.font = "12px sans-serif";
      labels.set({texts: (rows) => Array.from(rows, String), mode: "some"});
      // All of 5,000 points lie together but one.
      const at = (row) => row === 4321 ? {x: 350, y: 250} : {x: 100 + row % 5, y: 100 + row % 3};
      const seen = (row) => ({...at(row), radius: 3});
      const scene = {first: [], count: 5000, width: 400, height: 300, moving: false, seen};
      return labels.layOut(scene).map((one) => one.row);
    }""")
    assert len(named) == 2
    assert 4321 in named


@pytest.mark.parametrize(("left", "right", "count"), [(30, 96, 2), (60, 126, 2), (30, 50, 1), (100, 120, 1)])
def test_labels_keep_a_distance_wherever_in_the_picture_they_are(bare: Page, left: int, right: int, count: int) -> None:
    named = bare.evaluate(
        """(places) => {
      const labels = new P.Labels(() => {});
      labels.font = "12px sans-serif";
      labels.set({texts: (rows) => Array.from(rows, () => "1"), mode: "some"});
      // Two crowds of points.
      const seen = (row) => ({x: places[row % 2], y: 130, radius: 3});
      const scene = {first: [], count: 300, width: 400, height: 300, moving: false, seen};
      return labels.layOut(scene).map((one) => one.row % 2);
    }""",
        (left, right),
    )
    assert len(named) == len(set(named)) == count


# ---- pixels


def test_points_are_painted_where_they_are(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2); color(RED, BLUE, GREEN, RED)")
    red = [255, 0, 0]
    assert [cloud.evaluate(f"pixel(...at({row}))") for row in range(4)] == [red, [0, 0, 255], [0, 160, 0], red]
    places = [cloud.evaluate(f"at({row})") for row in range(4)]
    assert places[0][0] == places[2][0] < places[1][0]
    assert places[0][1] == places[1][1] > places[2][1]


def test_hidden_points_are_not_painted_and_faded_ones_are_pale(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2); color(RED, RED, RED, RED); view.setVisible(Uint8Array.of(0, 1, 2, 1))")
    assert cloud.evaluate("same(pixel(...at(0)), ground())")
    assert cloud.evaluate("pixel(...at(1))") == [255, 0, 0]
    pale = cloud.evaluate("pixel(...at(2))")
    assert not cloud.evaluate("same(pixel(...at(2)), ground())")
    assert 150 < pale[1] < 230


def test_the_nearer_of_two_points_hides_the_other(cloud: Page) -> None:
    show(cloud, "show([0, 0, -1, 0, 0, 1, 3, 0, 0], 3); color(RED, BLUE, GREEN); view.setCamera('3:0,0,1,0,0,0,o')")
    assert cloud.evaluate("at(0).join() === at(1).join()")
    middle = [cloud.evaluate("pixel(...at(0))")]
    show(cloud, "view.setCamera('3:180,0,1,0,0,0,o')")
    middle.append(cloud.evaluate("pixel(...at(0))"))
    assert [max(range(3), key=one.__getitem__) for one in middle] == [2, 0]


def test_pictures_are_the_points(cloud: Page) -> None:
    show(
        cloud,
        """show([0, 0, 10, 0], 2); color(BLUE, BLUE);
        const atlas = Object.assign(document.createElement("canvas"), {width: 16, height: 8});
        const context = atlas.getContext("2d");
        context.fillStyle = "#ff0000"; context.fillRect(0, 0, 8, 8);
        context.fillStyle = "#00a000"; context.fillRect(8, 0, 8, 8);
        view.setSprites({image: atlas, width: 8, height: 8, across: 2}, true);""",
    )
    assert [cloud.evaluate(f"pixel(...at({row}))") for row in range(2)] == [[255, 0, 0], [0, 160, 0]]
    show(cloud, "view.setSprites(null, false)")
    assert cloud.evaluate("pixel(...at(0))") == [0, 0, 255]


def test_sequences_join_points_that_are_shown(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2); view.setLines(Uint32Array.of(0, 1, 2, 3), Uint8Array.of(...RED, ...RED))")
    between = """(a, b) => {
      const [p, q] = [at(a), at(b)];
      return [-1, 0, 1].some((k) => !same(pixel((p[0] + q[0]) >> 1, p[1] + k), ground()));
    }"""
    assert cloud.evaluate(f"[({between})(0, 1), ({between})(2, 3)]") == [True, True]
    show(cloud, "view.setVisible(Uint8Array.of(0, 1, 1, 1))")
    assert cloud.evaluate(f"[({between})(0, 1), ({between})(2, 3)]") == [False, True]


def test_the_theme_changes_while_it_is_open(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2)")
    light = cloud.evaluate("ground()")
    cloud.evaluate("document.documentElement.dataset.mantineColorScheme = 'dark'")
    cloud.wait_for_function("() => ground()[0] < 40")
    assert light == [246, 247, 249]


def test_selected_points_have_rings(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2); color(RED, RED, RED, RED)")
    ring = "(row) => { const [x, y] = at(row); return pixel(x + Math.round(view.raster.radiusOf(row, null)) + 1, y); }"
    assert cloud.evaluate(f"same(({ring})(3), ground())")
    show(cloud, "view.setSelection(Uint32Array.of(3))")
    found = cloud.evaluate(f"({ring})(3)")
    assert found[2] > found[0]
    assert not cloud.evaluate(f"same(({ring})(3), ground())")


@pytest.mark.parametrize("values", ["[7, 7, 7]", "[7, 7, 7, 7, 7, 7, 7, 7, 7]", "[1, 2, 3, 4, 5, 6]", "[]"])
def test_few_points_and_points_in_one_place(cloud: Page, values: str) -> None:
    show(cloud, f"show({values}, 3)")
    show(cloud, "view.fit(null)")
    places = cloud.evaluate("Array.from({length: view.cloud.count}, (_, row) => view.screenOf(row).visible)")
    assert places == [True] * len(places)
    assert cloud.evaluate("view.screenOf(view.cloud.count)") is None


def test_a_view_comes_to_rest_where_frames_are_late(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2)")
    # The view checked whether the movement was over before the frame that ended it, and never again: it stayed coarse
    # and named no point under the pointer.
    looked = "clearTimeout(view.resting); view.settle()"
    show(cloud, f"view.fit(null); {looked}; view.motion.way.began -= 1000")
    assert not cloud.evaluate("view.moving")


def test_points_glide_and_a_glide_can_be_interrupted(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2, {{frame: {{center: [5, 5, 0], radius: 5}}}})")
    frame = "frame: {center: [5, 5, 0], radius: 5}, keepCamera: true"
    cloud.evaluate(f"show([10, 0, 0, 0, 0, 10, 10, 10], 2, {{animate: 60000, {frame}}})")
    cloud.wait_for_function("() => view.placeOf(0)[0] > -1")
    cloud.evaluate(f"() => {{ window.midway = view.placeOf(0)[0]; show({SQUARE}, 2, {{animate: 60000, {frame}}}); }}")
    # The point goes back from where it is, not from an end; how far it has gone depends on timing.
    assert cloud.evaluate("view.placeOf(0)[0] > -1.01 && view.placeOf(0)[0] < midway + 0.01")
    show(cloud, f"show({SQUARE}, 2, {{{frame}}})")
    assert cloud.evaluate("[view.placeOf(0), view.placeOf(3)]") == [[-1, -1, 0], [1, 1, 0]]


def test_who_wants_less_movement_gets_none(cloud: Page) -> None:
    cloud.emulate_media(reduced_motion="reduce")
    show(cloud, f"show({SQUARE}, 2)")
    cloud.evaluate("() => { show([10, 0, 0, 0, 0, 10, 10, 10], 2, {animate: 60000}); view.setSpin(true); }")
    assert cloud.evaluate("[view.placeOf(0), view.motion.busy(2)]") == [[1, -1, 0], False]


# ---- the hand


def test_the_pointer_finds_the_row_under_it(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2)")
    cloud.mouse.move(*place(cloud, 2))
    cloud.wait_for_function("() => seen.length === 1")
    cloud.mouse.move(220, 160)
    cloud.wait_for_function("() => seen.length === 2")
    assert seen(cloud, "hover") == [[2], [-1]]
    cloud.mouse.click(*place(cloud, 3))
    cloud.keyboard.down("Shift")
    cloud.mouse.click(220, 160)
    cloud.keyboard.up("Shift")
    assert seen(cloud, "pick") == [[3, {"add": False, "remove": False}], [-1, {"add": True, "remove": False}]]


def test_hidden_points_are_not_picked(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2); view.setVisible(Uint8Array.of(1, 0, 2, 1))")
    assert cloud.evaluate("[0, 1, 2, 3].map((row) => view.rowAt(...at(row)))") == [0, -1, 2, 3]
    assert cloud.evaluate("[0, 1].map((row) => view.screenOf(row).visible)") == [True, False]


def test_the_nearer_of_two_points_is_picked(cloud: Page) -> None:
    show(cloud, "show([0, 0, -1, 0, 0, 1, 3, 0, 0], 3); view.setCamera('3:0,0,1,0,0,0,o')")
    assert cloud.evaluate("view.rowAt(...at(0))") == 1
    show(cloud, "view.setCamera('3:180,0,1,0,0,0,o')")
    assert cloud.evaluate("view.rowAt(...at(0))") == 0


@pytest.mark.parametrize(("key", "how"), [("", "neither"), ("Shift", "add"), ("Alt", "remove")])
def test_a_box_selects_the_points_that_are_shown(cloud: Page, key: str, how: str) -> None:
    show(cloud, f"show({SQUARE}, 2); view.setVisible(Uint8Array.of(1, 1, 2, 0)); view.setMode('orbit', 'box')")
    if key:
        cloud.keyboard.down(key)
    cloud.mouse.move(22, 12)
    cloud.mouse.down()
    cloud.mouse.move(200, 100)
    cloud.mouse.move(418, 308)
    cloud.mouse.up()
    assert seen(cloud, "select") == [[[0, 1], {"add": how == "add", "remove": how == "remove"}]]
    assert cloud.evaluate("view.touched") is False


def test_a_lasso_selects_what_it_goes_round(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2); view.setMode('orbit', 'lasso')")
    left, right = place(cloud, 0), place(cloud, 3)
    low, high = left[1] + 12, right[1] - 12
    corners = [(left[0] - 12, low), (left[0] - 12, high), (left[0] + 12, high), (left[0] + 12, low)]
    cloud.mouse.move(*corners[0])
    cloud.mouse.down()
    for corner in corners[1:]:
        cloud.mouse.move(*corner, steps=5)
    cloud.mouse.up()
    assert seen(cloud, "select") == [[[0, 2], {"add": False, "remove": False}]]


def test_a_drag_turns_and_with_shift_moves(cloud: Page) -> None:
    show(cloud, "show([0, 0, 0, 4, 5, 6], 3); view.setCamera('3:10,20,1,0,0,0,p')")
    cloud.mouse.move(200, 150)
    cloud.mouse.down()
    cloud.mouse.move(250, 150)
    assert cloud.evaluate("[view.look.az, view.look.el, view.look.x]") == [-10, 20, 0]
    cloud.keyboard.down("Shift")
    cloud.mouse.move(230, 150)
    cloud.keyboard.up("Shift")
    cloud.mouse.up()
    settled(cloud)
    assert cloud.evaluate("view.look.x > 0")
    assert seen(cloud, "camera")[-1] == [cloud.evaluate("view.camera()")]


def test_in_two_dimensions_points_go_with_the_hand(cloud: Page) -> None:
    # Without the tail of a throw, whose length depends on the time that the moves take.
    cloud.emulate_media(reduced_motion="reduce")
    show(cloud, f"show({SQUARE}, 2)")
    x, y = place(cloud, 0)
    cloud.mouse.move(200, 150)
    cloud.mouse.down()
    cloud.mouse.move(230, 130)
    assert place(cloud, 0) == (x + 30, y - 20)
    cloud.mouse.up()
    settled(cloud)
    before = place(cloud, 1)
    cloud.mouse.move(*before)
    cloud.evaluate("window.zoom = view.look.zoom")
    cloud.mouse.wheel(0, -200)
    cloud.wait_for_function("() => view.look.zoom > 1.3 * zoom")
    settled(cloud)
    after = place(cloud, 1)
    assert abs(after[0] - before[0]) <= 1
    assert abs(after[1] - before[1]) <= 1


def test_a_finger_moves_two_zoom_about_what_is_under_them_and_a_tap_picks(cloud: Page) -> None:
    # Without the tail of a throw.
    cloud.emulate_media(reduced_motion="reduce")
    show(cloud, f"show({SQUARE}, 2)")
    session = cloud.context.new_cdp_session(cloud)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    corners = np.array([place(cloud, row) for row in range(4)])
    x, y = corners[0].tolist()
    touch("touchStart", (x - 20, y))
    touch("touchStart", (x - 20, y), (x + 20, y))
    touch("touchMove", (x - 40, y), (x + 40, y))
    touch("touchEnd")
    settled(cloud)
    zoomed = np.array([place(cloud, row) for row in range(4)])
    np.testing.assert_allclose(zoomed, corners[0] + 2 * (corners - corners[0]), atol=2)
    touch("touchStart", (x, y))
    touch("touchMove", (x + 30, y + 11))
    touch("touchEnd")
    settled(cloud)
    moved = np.array([place(cloud, row) for row in range(4)])
    np.testing.assert_allclose(moved, zoomed + np.array((30, 11)), atol=2)
    assert not seen(cloud, "pick")
    x, y = moved[0].tolist()
    touch("touchStart", (x, y))
    touch("touchEnd")
    assert seen(cloud, "pick")[-1][0] == 0


def test_keys_turn_move_and_zoom(cloud: Page) -> None:
    show(cloud, "show([0, 0, 0, 4, 5, 6], 3); view.setCamera('3:10,20,1,0,0,0,p')")
    cloud.locator(".pj-overlay").focus()
    cloud.keyboard.press("ArrowLeft")
    cloud.keyboard.press("ArrowUp")
    assert cloud.evaluate("[view.look.az, view.look.el]") == [18, 12]
    cloud.keyboard.press("Shift+ArrowRight")
    assert cloud.evaluate("view.look.x !== 0")
    cloud.keyboard.press("+")
    cloud.keyboard.press("+")
    cloud.keyboard.press("-")
    assert cloud.evaluate("Math.round(view.look.zoom * 100)") == 125


def test_labels_are_on_the_canvas_of_the_points_while_these_move(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2); view.setLabels({{texts: () => ['a', 'b', 'c', 'd'], mode: 'all'}})")
    still, moving, twice, after = cloud.evaluate("""async () => {
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      const look = () => {
        const {width, height} = view.base;
        const {data} = view.baseContext.getImageData(0, 0, width, height);
        const pixels = new Uint32Array(data.buffer);
        const inked = pixels.filter((one) => one !== pixels[0]).length;
        return [inked, getComputedStyle(view.over).opacity];
      };
      const found = [look()];
      view.moved();
      clearTimeout(view.resting);
      await frame();
      found.push(look());
      // Something else over the points changes meanwhile.
      view.redraw({overlay: true});
      await frame();
      found.push(look());
      view.settle();
      await frame();
      found.push(look());
      return found;
    }""")
    assert moving[0] > still[0]
    assert (still, twice) == (after, moving)
    assert (still[1], moving[1]) == ("1", "0")


def test_fit_shows_rows_whole(cloud: Page) -> None:
    show(cloud, "show([0, 0, 1, 1, 100, 100], 2)")
    show(cloud, "view.fit([0, 1])")
    assert cloud.evaluate("[0, 1, 2].map((row) => view.screenOf(row).visible)") == [True, True, False]
    assert cloud.evaluate("at(1)[0] - at(0)[0] > 200")
    show(cloud, "view.fit(null)")
    assert cloud.evaluate("[0, 1, 2].map((row) => view.screenOf(row).visible)") == [True, True, True]


def test_a_double_click_brings_a_point_to_the_middle(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2)")
    cloud.mouse.dblclick(*place(cloud, 1))
    cloud.wait_for_function("() => at(1).join() === '200,150'")
    settled(cloud)
    cloud.mouse.dblclick(100, 50)
    cloud.wait_for_function("() => idle() && [0, 1, 2, 3].every((row) => view.screenOf(row).visible)")


def test_a_camera_that_was_chosen_stays_when_points_arrive(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2)")
    first = cloud.evaluate("view.camera()")
    taken = cloud.evaluate("['2:0.5,0.5,4', '3:0,0,1,0,0,0,p', 'x'].map((text) => view.setCamera(text))")
    assert taken == [True, False, False]
    show(cloud, f"show({SQUARE}, 2, {{keepCamera: true}})")
    assert cloud.evaluate("view.camera()") == "2:0.5,0.5,4"
    show(cloud, f"show({SQUARE}, 2)")
    assert cloud.evaluate("view.camera()") == first
    assert seen(cloud, "camera") == []


# ---- labels, and what goes out


def test_labels_are_those_of_what_is_shown(cloud: Page) -> None:
    show(
        cloud,
        f"""show({SQUARE}, 2); view.setVisible(Uint8Array.of(1, 0, 1, 2));
        view.setLabels({{texts: async (rows) => Array.from(rows, (row) => "row " + row), mode: "some"}});""",
    )
    cloud.wait_for_function("() => view.labels.placed.length === 2")
    assert sorted(cloud.evaluate("view.labels.placed.map((one) => view.labels.textOf(one.row))")) == ["row 0", "row 2"]
    cloud.evaluate("""() => {
      view.setLabels({texts: (rows) => Array.from(rows, (row) => "row " + row), mode: "selected"});
      view.setSelection(Uint32Array.of(2));
    }""")
    cloud.wait_for_function("() => view.labels.placed.length === 1 && view.labels.placed[0].row === 2")
    cloud.evaluate("view.setLabels({texts: (rows) => [], mode: 'none'})")
    cloud.wait_for_function("() => view.labels.placed.length === 0")


def test_svg_has_circles_by_color_labels_title_and_legend(cloud: Page) -> None:
    show(
        cloud,
        f"""show({SQUARE}, 2); color(RED, BLUE, RED, RED); view.setVisible(Uint8Array.of(1, 1, 1, 0));
        view.setLabels({{texts: (rows) => Array.from(rows, (row) => "<row> " + row), mode: "all"}});
        view.setAxes([{{name: "PC 1", share: 0.5}}, {{name: "PC 2", share: 0.25}}]);""",
    )
    legend = "{title: 'Kind', entries: [{label: 'one', color: '#ff0000'}]}"
    text = cloud.evaluate(f"view.toSvg({{title: 'A & B', legend: {legend}}})")
    document = ElementTree.fromstring(text)
    groups = [group for group in document.iter(f"{SVG}g") if (group.get("fill") or "").startswith("#")]
    assert [(group.get("fill"), len(group)) for group in groups] == [("#ff0000", 2), ("#0000ff", 1)]
    texts = sorted(element.text or "" for element in document.iter(f"{SVG}text"))
    assert texts == ["<row> 0", "<row> 1", "<row> 2", "A & B", "Kind", "PC 1  50.0%", "PC 2  25.0%", "one"]


def test_svg_of_very_many_points_holds_an_image_and_says_so(cloud: Page) -> None:
    show(cloud, "show(Array.from({length: 100002}, (_, k) => (k * 7919) % 10007), 2)")
    text = cloud.evaluate("view.toSvg({})")
    assert "<!-- The 50,001 points are an image" in text
    assert len(list(ElementTree.fromstring(text).iter(f"{SVG}image"))) == 1


def test_png_is_painted_at_its_own_scale(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2); color(RED, RED, RED, RED)")
    found = cloud.evaluate("""async () => {
      const picture = await createImageBitmap(await view.toPng({scale: 3, background: "#00ff00"}));
      const canvas = Object.assign(document.createElement("canvas"), {width: picture.width, height: picture.height});
      canvas.getContext("2d").drawImage(picture, 0, 0);
      const pixel = (x, y) => [...canvas.getContext("2d").getImageData(x, y, 1, 1).data];
      const {x, y} = view.screenOf(3);
      return [picture.width, picture.height, pixel(2, 2), pixel(Math.round(x * 3), Math.round(y * 3))];
    }""")
    assert found == [1200, 900, [0, 255, 0, 255], [255, 0, 0, 255]]


def test_movements_are_counted_and_nothing_is_left_behind(cloud: Page) -> None:
    show(cloud, f"show({SQUARE}, 2)")
    cloud.evaluate("view.frames({forget: true})")
    # A frame that comes after the end of a movement does not count.
    cloud.wait_for_function("() => (view.pan(1, 0), view.frames().count >= 1)")
    cloud.evaluate("view.destroy()")
    assert cloud.evaluate("document.querySelector('#host').childElementCount") == 0
