"""Meshes on the page: how good and odd data are shown, cameras, comparison, growth, and a lost context."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.proto.summary_pb2 import Summary
from tests.browser.conftest import Dashboard, Held, held_frames, hold_callbacks
from tests.dashboard.test_mesh_panel import SQUARE, TRIANGLES, value

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]

RED = np.tile(np.array([255, 0, 0], np.uint8), (4, 1))
GREEN = np.tile(np.array([0, 255, 0], np.uint8), (4, 1))
FRONT = {"camera": {"position": [1, 1, 8], "target": [1, 1, 0]}, "material": {"cls": "MeshBasicMaterial"}}
"""Looks straight at the square, without light."""

CAMERA = """() => {
  const { az, el, zoom, pan } = window.stepscope.mesh.cameras.of([...window.stepscope.mesh.cards.values()][0]);
  return [az, el, zoom, ...pan].map((value) => value.toFixed(4));
}"""


FRAMES = """() => [...window.stepscope.mesh.cards.values()].map((card) =>
  window.stepscope.mesh.cameras.frameOf(card).center.map((value) => Number(value.toFixed(4))))"""


def wait_for_middle(page: Page, *wanted: list[int]) -> None:
    """Waits until the pixels in the middle of the cards have the given colors."""
    page.wait_for_function(
        """(wanted) => {
          const found = [...document.querySelectorAll(".mesh-canvas")].map((canvas) =>
            [...canvas.getContext("2d").getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data].slice(0, 3));
          return JSON.stringify(found) === JSON.stringify(wanted);
        }""",
        arg=list(wanted),
    )


def picture(card: Locator) -> str:
    found: str = card.evaluate("(canvas) => canvas.toDataURL()")
    return found


def wait_for_another(page: Page, number: int, before: str) -> None:
    page.wait_for_function(
        "([number, before]) => document.querySelectorAll('.mesh-canvas')[number].toDataURL() !== before",
        arg=[number, before],
    )


def slide(slider: Locator, position: int) -> None:
    slider.evaluate(
        """(input, position) => {
          input.value = position;
          input.dispatchEvent(new Event("input", { bubbles: true }));
          input.dispatchEvent(new Event("change", { bubbles: true }));
        }""",
        position,
    )


def write(folder: Path, steps: int = 1, **arguments: Any) -> None:
    with SummaryWriter(str(folder)) as writer:
        for step in range(steps):
            colors = RED if step % 2 == 0 else GREEN
            writer.add_mesh(
                "square", SQUARE, colors=colors, faces=TRIANGLES, config_dict=FRONT, global_step=step, **arguments
            )


def test_a_mesh_has_its_colors_its_facts_and_its_steps(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", steps=2)
    page.goto(serve(logdir).url)
    wait_for_middle(page, [0, 255, 0])
    expect(page.locator(".mesh-facts")).to_have_text("4 vertices · 2 faces · 2 × 2 × 0")
    slide(page.locator(".steps"), 0)
    wait_for_middle(page, [255, 0, 0])
    expect(page).to_have_url(re.compile(re.escape("mesh.step=")))
    page.reload()
    wait_for_middle(page, [255, 0, 0])


def test_one_step_has_no_slider_and_growth_is_followed(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    writer.add_mesh("square", SQUARE, colors=RED, faces=TRIANGLES, config_dict=FRONT, global_step=0)
    writer.flush()
    page.goto(serve(logdir).url)
    wait_for_middle(page, [255, 0, 0])
    expect(page.locator(".steps")).to_be_disabled()
    writer.add_mesh("square", SQUARE, colors=GREEN, faces=TRIANGLES, config_dict=FRONT, global_step=7)
    writer.close()
    wait_for_middle(page, [0, 255, 0])
    expect(page.locator(".mesh-card .at")).to_contain_text("step 7")


def test_samples_of_a_batch_are_turned_through(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_mesh(
            "square",
            np.stack([SQUARE, SQUARE]),
            colors=np.stack([RED, GREEN]),
            faces=np.stack([TRIANGLES, TRIANGLES]),
            config_dict=FRONT,
            global_step=0,
        )
    page.goto(serve(logdir).url)
    wait_for_middle(page, [255, 0, 0])
    expect(page.locator(".which")).to_have_text("sample 1 of 2")
    page.get_by_title("Next sample").click()
    wait_for_middle(page, [0, 255, 0])


def test_cards_of_a_tag_share_a_camera_until_each_has_its_own(serve: Serve, page: Page, logdir: Path) -> None:
    for run in ("a", "b"):
        write(logdir / run)
    url = serve(logdir).url
    page.goto(url)
    wait_for_middle(page, [255, 0, 0], [255, 0, 0])
    canvases = page.locator(".mesh-canvas")
    before = [picture(canvases.nth(i)) for i in (0, 1)]
    canvases.nth(0).focus()
    page.keyboard.press("ArrowRight")
    for i in (0, 1):
        wait_for_another(page, i, before[i])
    page.keyboard.press("r")
    page.goto(url + "?mesh.cameras=each")
    wait_for_middle(page, [255, 0, 0], [255, 0, 0])
    before = [picture(canvases.nth(i)) for i in (0, 1)]
    canvases.nth(0).focus()
    page.keyboard.press("ArrowRight")
    wait_for_another(page, 0, before[0])
    assert picture(canvases.nth(1)) == before[1]


def test_the_frame_of_a_tag_holds_all_its_meshes_whichever_comes_first(serve: Serve, page: Page, logdir: Path) -> None:
    low = float(SQUARE.min())
    for run, scale in (("a", 1.0), ("b", 3.0)):
        with SummaryWriter(str(logdir / run)) as writer:
            writer.add_mesh("square", low + (SQUARE - low) * scale, faces=TRIANGLES, global_step=0)
    url = serve(logdir).url
    flat = SQUARE.reshape(-1, 3)
    reach = low + (flat.max(axis=0) - low) * 3.0
    center = [round(float(value), 4) for value in (flat.min(axis=0) + reach) / 2]
    for last in ("a", "b"):
        # Answered only once the other run's answer has arrived.
        held = Held(page, rf"/api/mesh/geometry\?run={last}&")
        page.goto(url)
        expect(page.locator(".mesh-canvas[data-vertices]")).to_have_count(1)
        held.wait()
        held.release()
        expect(page.locator(".mesh-canvas[data-vertices]")).to_have_count(2)
        assert page.evaluate(FRAMES) == [center, center]


def test_a_drag_turns_a_wheel_zooms_a_double_click_and_the_button_reset(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a")
    page.goto(serve(logdir).url)
    wait_for_middle(page, [255, 0, 0])
    canvas = page.locator(".mesh-canvas")
    first = picture(canvas)
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 120)
    wait_for_another(page, 0, first)
    page.mouse.up()
    turned = picture(canvas)
    page.mouse.wheel(0, -200)
    wait_for_another(page, 0, turned)
    is_first = "(first) => document.querySelector('.mesh-canvas').toDataURL() === first"
    page.mouse.dblclick(box["x"] + 200, box["y"] + 100)
    page.wait_for_function(is_first, arg=first)
    page.mouse.wheel(0, -200)
    wait_for_another(page, 0, first)
    page.get_by_title("Reset the camera (R)").click()
    page.wait_for_function(is_first, arg=first)


def test_the_link_keeps_the_cameras(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a")
    page.goto(serve(logdir).url)
    wait_for_middle(page, [255, 0, 0])
    canvas = page.locator(".mesh-canvas")
    first = picture(canvas)
    canvas.focus()
    for key in ("ArrowRight", "ArrowUp", "+"):
        page.keyboard.press(key)
    wait_for_another(page, 0, first)
    assert "mesh.camera=" not in page.url
    page.locator("#mesh-link").click()
    expect(page).to_have_url(re.compile(r"mesh\.camera=square:-10,-10,"))
    moved = page.evaluate(CAMERA)
    page.reload()
    page.wait_for_function("() => window.stepscope.mesh && window.stepscope.mesh.stats.frames > 0")
    assert page.evaluate(CAMERA) == moved


def test_back_restores_the_step_and_the_camera(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", steps=2)
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    page.goto(serve(logdir).url + "?tab=mesh")
    wait_for_middle(page, [0, 255, 0])
    first = page.evaluate(CAMERA)
    page.get_by_role("tab", name="Scalars").click()
    expect(page).to_have_url(re.compile("tab=scalars"))
    page.get_by_role("tab", name="Mesh").click()
    wait_for_middle(page, [0, 255, 0])
    slide(page.locator(".steps"), 0)
    wait_for_middle(page, [255, 0, 0])
    page.locator(".mesh-canvas").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#mesh-link").click()
    expect(page).to_have_url(re.compile(r"mesh\.camera=square:.*mesh\.step=|mesh\.step=.*mesh\.camera=square:"))
    page.go_back()
    expect(page.get_by_role("tab", name="Scalars")).to_have_attribute("aria-selected", "true")
    page.go_back()
    wait_for_middle(page, [0, 255, 0])
    assert page.evaluate(CAMERA) == first


def test_a_comparison_colors_by_distance_and_says_what_it_is(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            writer.add_mesh("square", SQUARE + step, faces=TRIANGLES, global_step=step)
        writer.add_mesh("other", SQUARE, faces=TRIANGLES, global_step=0)
        writer.add_mesh("other", SQUARE[:3], faces=TRIANGLES[:1], global_step=1)
    page.goto(serve(logdir).url + "?mesh.compare=first")
    square, other = (page.locator(f".mesh-card[data-key*={tag}]") for tag in ("square", "other"))
    facts = square.locator(".mesh-facts")
    expect(facts).to_contain_text("moved 3.46 on average, 3.46 at most")
    expect(other.locator(".mesh-notes")).to_have_text("Not compared: 3 vertices here, 4 there")
    slide(square.locator(".steps"), 1)
    expect(facts).to_contain_text("moved 1.73 on average")
    square.hover()
    square.get_by_title("Compare all meshes with this one").click()
    expect(facts).to_contain_text("moved 0 on average")
    expect(page).to_have_url(re.compile(r"mesh\.compare=at:1:a"))
    expect(page.locator("input[aria-label='Compare each mesh with']")).to_have_value("Against step 1 of a")


def test_what_is_compared_with_stays_named_when_an_older_list_arrives(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            writer.add_mesh("square", SQUARE + step, faces=TRIANGLES, global_step=step)
    page.goto(serve(logdir).url + "?mesh.compare=first")
    square = page.locator(".mesh-card")
    expect(square.locator(".mesh-facts")).to_contain_text("moved 3.46 on average")
    held = hold_callbacks(page, "mesh-comparisons")
    slide(square.locator(".steps"), 1)
    expect(page).to_have_url(re.compile(r"mesh\.step="))
    square.hover()
    square.get_by_title("Compare all meshes with this one").click()
    compared = page.get_by_role("textbox", name="Compare each mesh with")
    expect(compared).to_have_value("Against step 1 of a")
    held.release()
    page.get_by_text("Points", exact=True).first.click()
    expect(page).to_have_url(re.compile(r"mesh\.show=points"))
    expect(compared).to_have_value("Against step 1 of a")


def test_what_is_wrong_is_said_on_the_card(serve: Serve, page: Page, logdir: Path) -> None:
    broken = SQUARE.copy()
    broken[3] = np.nan
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 1, 9]], np.int32)
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_summary(
            Summary(
                value=[
                    value("odd_VERTEX", "odd", 1, broken[np.newaxis], json.dumps({"fog": True})),
                    value("odd_FACE", "odd", 2, faces[np.newaxis]),
                    value("odd_COLOR", "odd", 3, RED[np.newaxis, :2]),
                    value("empty_VERTEX", "empty", 1, np.zeros((1, 0, 3), np.float32)),
                    value("shape_VERTEX", "shape", 1, np.zeros((4, 2), np.float32)),
                    value("faces_FACE", "faces", 2, faces[np.newaxis]),
                ]
            ),
            0,
        )
    page.goto(serve(logdir).url)
    expect(page.locator(".mesh-card[data-key*=odd] .mesh-notes li")).to_have_text(
        [
            "1 vertex left out: NaN or infinite",
            "1 face left out: expected indices of the vertices, 0 to 3",
            "1 face left out: a vertex is NaN or infinite",
            "Colors ignored: 2 colors for 4 vertices",
            "Ignored settings from json_config: fog = True",
        ]
    )
    expect(page.locator(".mesh-message:not([hidden])")).to_have_text(
        [
            "There are no vertices at this step.",
            "There are no vertices: expected the tag faces_VERTEX, without which nothing can be drawn.",
            "Expected part of a mesh of shape [batch, n, 3], got shape [4, 2].",
        ]
    )


def test_a_damaged_file_shows_what_is_left(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a", steps=2)
    file = next((logdir / "a").iterdir())
    content = bytearray(file.read_bytes())
    at = content.rindex(b"square_COLOR")
    content[at] ^= 1
    file.write_bytes(content)
    page.goto(serve(logdir).url)
    wait_for_middle(page, [255, 0, 0])
    expect(page.locator(".mesh-card .at")).to_contain_text("step 0")
    expect(page.locator(".steps")).to_be_disabled()


def test_without_meshes_there_is_no_tab(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    page.goto(serve(logdir).url + "?tab=mesh")
    expect(page.get_by_role("tab", name="Scalars")).to_be_visible()
    expect(page.get_by_role("tab", name="Mesh")).to_have_count(0)


def test_two_dozen_cards_need_one_context_which_may_be_lost(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for number in range(12):
            writer.add_mesh(f"m{number}", SQUARE, colors=RED, faces=TRIANGLES, config_dict=FRONT, global_step=0)
    page.add_init_script(
        """window.contexts = 0;
        const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
          if (kind.startsWith("webgl")) window.contexts += 1;
          return get.call(this, kind, ...rest);
        };"""
    )
    page.goto(serve(logdir).url)
    cards = page.locator(".mesh-card")
    expect(cards).to_have_count(12)
    for i in range(12):
        cards.nth(i).scroll_into_view_if_needed()
        expect(cards.nth(i).locator(".mesh-canvas")).to_have_attribute("data-vertices", "4")
    assert page.evaluate("() => window.contexts") == 1
    page.evaluate(
        "() => { window.lose = window.stepscope.mesh.gl.context().getExtension('WEBGL_lose_context');"
        " window.lose.loseContext(); }"
    )
    page.wait_for_function("() => window.stepscope.mesh.gl.context().isContextLost()")
    page.locator(".mesh-canvas").last.focus()
    page.keyboard.press("ArrowRight")
    message = page.locator(".mesh-message:not([hidden])").last
    expect(message).to_contain_text("context was lost")
    page.evaluate("() => window.lose.restoreContext()")
    expect(page.locator(".mesh-message:not([hidden])")).to_have_count(0)
    assert page.evaluate("() => window.contexts") == 1


def test_files_are_named_after_the_mesh(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a")
    page.goto(serve(logdir).url)
    wait_for_middle(page, [255, 0, 0])
    for title, name in (("Download PLY", "a_square_step0_0.ply"), ("Download PNG", "a_square_step0.png")):
        page.locator(".mesh-card").hover()
        with page.expect_download() as download:
            page.get_by_title(title).click()
        assert download.value.suggested_filename == name


def test_display_takes_the_focus_at_once_and_escape_closes_it(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a")
    page.goto(serve(logdir).url)
    box = page.locator(".mesh-display")
    with held_frames(page):
        page.locator("#mesh-display").click()
        expect(box.locator(":focus")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(box).to_be_hidden()
    expect(page.locator("#mesh-display")).to_be_focused()


def test_settings_of_the_address_are_drawn(serve: Serve, page: Page, logdir: Path) -> None:
    write(logdir / "a")
    url = serve(logdir).url
    looks = [
        "mesh.show=points",
        "mesh.show=wireframe",
        "mesh.show=edges",
        "mesh.color=x",
        "mesh.color=one",
        "mesh.background=black",
        "mesh.box=off",
        "mesh.up=z",
        "",
    ]
    pictures = set()
    for query in looks:
        page.goto(f"{url}?{quote(query, safe='=.')}")
        page.wait_for_function("() => window.stepscope.mesh && window.stepscope.mesh.stats.frames > 0")
        pictures.add(picture(page.locator(".mesh-canvas")))
    assert len(pictures) == len(looks)
