"""Images on the page: galleries and steps, growth, damage, none; the large view, comparisons, animations, files."""

import re
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, Page, Request, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.proto.summary_pb2 import Summary
from tests.browser.conftest import Dashboard, Held, hold_callbacks

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]


def add_gray(writer: SummaryWriter, tag: str, step: int, shade: int) -> None:
    writer.add_image(tag, np.full((1, 4, 6), shade, np.uint8), step, walltime=1000.0 + step)


def legacy(tag: str, content: bytes) -> Summary:
    image = Summary.Image(width=64, height=64, encoded_image_string=content)
    return Summary(value=[Summary.Value(tag=tag, image=image)])


def png(pixels: NDArray[Any]) -> bytes:
    stream = BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG")
    return stream.getvalue()


def wait_for_shades(page: Page, wanted: list[int]) -> None:
    """Waits until the pictures in the galleries have these grays, in order."""
    page.wait_for_function(
        """(wanted) => {
          const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
          const found = [...document.querySelectorAll(".picture img")].map((image) => {
            context.drawImage(image, 0, 0);
            return context.getImageData(0, 0, 1, 1).data[0];
          });
          return JSON.stringify(found) === JSON.stringify(wanted);
        }""",
        arg=wanted,
    )


def wait_for_color(page: Page, wanted: list[int], place: float = 0.5, stage: int = 0) -> None:
    """Waits until the large view's canvas has a color at a fraction of its width, in its middle row."""
    page.wait_for_function(
        """([wanted, place, stage]) => {
          const canvas = document.querySelectorAll("#large canvas.stage")[stage];
          if (!canvas || !canvas.width) return false;
          // Beside the lines between pixels, and above and below the values in them.
          const at = [Math.floor(canvas.width * place) + 3, Math.floor(canvas.height / 2) + 3];
          const found = [...canvas.getContext("2d").getImageData(at[0], at[1], 1, 1).data].slice(0, 3);
          return JSON.stringify(found) === JSON.stringify(wanted);
        }""",
        arg=[wanted, place, stage],
    )


def slide(slider: Locator, position: int) -> None:
    """Moves a slider as a hand does: it moves, then it is released."""
    slider.evaluate(
        """(input, position) => {
          input.value = position;
          input.dispatchEvent(new Event("input", { bubbles: true }));
          input.dispatchEvent(new Event("change", { bubbles: true }));
        }""",
        position,
    )


def large(*parts: object) -> str:
    return "?" + "&".join(f"images.large={part}" for part in parts)


def other(*parts: object) -> str:
    return "".join(f"&images.other={part}" for part in parts)


def test_every_run_has_its_picture_at_the_chosen_step(serve: Serve, page: Page, logdir: Path) -> None:
    for run, base in (("a", 10), ("b", 100)):
        with SummaryWriter(str(logdir / run)) as writer:
            for step in (0, 5, 10):
                add_gray(writer, "digit", step, base + step)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [20, 110])
    expect(page.locator(".images-card .note")).to_have_text("2 runs · 3 steps")
    slide(page.locator(".track-slider"), 1)
    wait_for_shades(page, [15, 105])
    field = page.locator(".track-field")
    expect(field).to_have_value("5")
    expect(page).to_have_url(re.compile(r"images\.step=tag:digit:5"))
    page.reload()
    wait_for_shades(page, [15, 105])
    page.locator(".picture").first.focus()
    page.keyboard.press("ArrowLeft")
    wait_for_shades(page, [10, 100])
    field.fill("7")
    field.press("Enter")
    wait_for_shades(page, [15, 105])
    expect(page.locator(".said")).to_have_text("no 7, nearest is 5")
    page.get_by_title("Next step (Right)").click()
    wait_for_shades(page, [20, 110])
    expect(page.locator(".said")).to_have_text("")


def test_a_typed_step_replaces_that_of_an_image_that_came_meanwhile(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    for step in (1, 12):
        add_gray(writer, "digit", step, step)
    writer.flush()
    page.goto(serve(logdir).url)
    wait_for_shades(page, [12])
    field = page.locator(".track-field")
    field.focus()
    add_gray(writer, "digit", 120, 120)
    writer.close()
    expect(field).to_have_value("120")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    wait_for_shades(page, [1])


def open_first_of_three(serve: Serve, page: Page, logdir: Path) -> None:
    """Opens Images at the first of three steps, beside a tab with a curve."""
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_scalar("loss", 1.0, 0)
        for step in range(3):
            add_gray(writer, "digit", step, 100 + step)
    page.goto(serve(logdir).url + "?tab=images&images.step=tag:digit:0")
    wait_for_shades(page, [100])


def test_back_restores_the_step_and_closes_the_picture(serve: Serve, page: Page, logdir: Path) -> None:
    open_first_of_three(serve, page, logdir)
    page.get_by_role("tab", name="Scalars").click()
    expect(page).to_have_url(re.compile("tab=scalars"))
    page.get_by_role("tab", name="Images").click()
    wait_for_shades(page, [100])
    slide(page.locator(".track-slider"), 1)
    wait_for_shades(page, [101])
    page.locator(".picture").click()
    expect(page.locator("#large")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("tab", name="Scalars")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#large")).to_have_count(0)
    page.go_back()
    wait_for_shades(page, [100])


def test_back_restores_the_step_of_a_panel_that_the_server_is_late_to_replace(
    serve: Serve, page: Page, logdir: Path
) -> None:
    open_first_of_three(serve, page, logdir)
    held = hold_callbacks(page, "frame-key")
    page.get_by_role("tab", name="Scalars").click()
    held.wait(1)
    page.get_by_role("tab", name="Images").click()
    held.wait(2)
    slide(page.locator(".track-slider"), 1)
    wait_for_shades(page, [101])
    page.go_back()
    expect(page.get_by_role("tab", name="Scalars")).to_have_attribute("aria-selected", "true")
    page.go_back()
    held.release()
    wait_for_shades(page, [100])


def test_back_at_a_picture_before_the_next_one_came(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            add_gray(writer, "digit", step, 100 + step)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [102])
    held = Held(page, r"/look\?")
    slide(page.locator(".track-slider"), 0)
    held.wait()
    slide(page.locator(".track-slider"), 2)
    page.locator(".picture").click()
    held.wait(2)
    page.keyboard.press("ArrowLeft")
    held.wait(3)
    page.keyboard.press("ArrowRight")
    held.release()
    wait_for_color(page, [102, 102, 102])
    expect(page.locator("#large .what")).to_contain_text("step 2 · 3 of 3")
    page.keyboard.press("Escape")
    expect(page.locator("#large")).to_have_count(0)
    wait_for_shades(page, [102])


def test_playing_goes_to_the_end_and_stops(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(4):
            add_gray(writer, "digit", step, step)
    page.goto(serve(logdir).url + "?images.rate=30")
    wait_for_shades(page, [3])
    page.evaluate(
        """() => {
          const field = document.querySelector(".track-field");
          const { get, set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
          window.seen = [field.value];
          Object.defineProperty(field, "value", {
            get,
            set(text) {
              set.call(this, text);
              if (window.seen.at(-1) !== text) window.seen.push(text);
            },
          });
        }"""
    )
    page.get_by_title("Play", exact=True).click()
    page.wait_for_function("() => window.seen.join() === '3,0,1,2,3'")
    expect(page.get_by_title("Play", exact=True)).to_be_visible()


def test_a_slider_at_the_end_follows_and_another_stays(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    for step in range(3):
        add_gray(writer, "follows", step, step)
        add_gray(writer, "stays", step, step)
    writer.flush()
    page.goto(serve(logdir).url)
    wait_for_shades(page, [2, 2])
    sliders = page.locator(".track-slider")
    slide(sliders.nth(1), 1)
    wait_for_shades(page, [2, 1])
    for tag in ("follows", "stays"):
        add_gray(writer, tag, 3, 3)
    writer.close()
    wait_for_shades(page, [3, 1])
    assert [sliders.nth(i).get_attribute("max") for i in (0, 1)] == ["3", "3"]
    assert [sliders.nth(i).input_value() for i in (0, 1)] == ["3", "1"]


def test_one_slider_moves_all_cards_to_their_nearest_steps(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in (0, 10, 20):
            add_gray(writer, "one", step, step)
        for step in (0, 9, 19):
            add_gray(writer, "two", step, step)
    page.goto(serve(logdir).url + "?images.link=on")
    wait_for_shades(page, [20, 19])
    shared = page.locator("#images-stepper")
    slide(shared.locator(".track-slider"), 2)
    wait_for_shades(page, [10, 9])
    expect(page.locator(".linked-at")).to_have_text(["step 10", "step 9"])
    expect(page).to_have_url(re.compile(r"images\.at=10"))


def test_every_image_of_a_repeated_step_is_reached(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for shade, step in enumerate((0, 5, 5, 5, 9, 9)):
            add_gray(writer, "digit", step, shade)
    page.goto(serve(logdir).url + "?images.link=on&images.at=0")
    wait_for_shades(page, [0])
    page.locator(".picture").focus()
    for shade in (1, 2, 3, 4):
        page.keyboard.press("ArrowRight")
        wait_for_shades(page, [shade])
    page.locator(".picture").click()
    wait_for_color(page, [4, 4, 4])
    expect(page.locator("#large .what")).to_contain_text("step 9 · 5 of 6")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    wait_for_color(page, [1, 1, 1])
    page.keyboard.press("ArrowRight")
    wait_for_color(page, [2, 2, 2])
    page.keyboard.press("Escape")
    wait_for_shades(page, [2])


def test_the_newest_image_of_a_repeated_step_is_still_shown_after_a_reload(
    serve: Serve, page: Page, logdir: Path
) -> None:
    for run, shades in (("a", (1, 2)), ("b", (3, 4))):
        with SummaryWriter(str(logdir / run)) as writer:
            for shade in shades:
                add_gray(writer, "digit", 0, shade)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [2, 4])
    page.locator(".picture").first.click()
    page.get_by_role("radio", name="Side by side").click()
    expect(page).to_have_url(re.compile(r"images\.large=a&images\.large=digit&images\.large=&images\.large=0"))
    expect(page).to_have_url(re.compile(r"images\.other=b&images\.other=digit&images\.other=&images\.other=0"))
    page.reload()
    wait_for_color(page, [2, 2, 2])
    wait_for_color(page, [4, 4, 4], stage=1)


def test_one_picture_has_no_slider_to_move(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        add_gray(writer, "digit", 7, 77)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [77])
    expect(page.locator(".track-slider")).to_be_disabled()
    expect(page.locator(".act-play")).to_be_hidden()
    expect(page.locator(".picture img")).to_have_class("crisp")


def test_samples_are_turned_through(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        pixels = np.stack([np.full((1, 4, 4), shade, np.uint8) for shade in (1, 2, 3)])
        writer.add_images("digit", pixels, 0)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [1])
    expect(page.locator(".which")).to_have_text("sample 1 of 3")
    page.get_by_title("Previous sample").click()
    wait_for_shades(page, [3])
    expect(page).to_have_url(re.compile(r"images\.sample=tag:digit:2"))


def test_groups_by_run_and_film_strips_by_step(serve: Serve, page: Page, logdir: Path) -> None:
    for run, base in (("a", 10), ("b", 20)):
        with SummaryWriter(str(logdir / run)) as writer:
            for step in range(3):
                add_gray(writer, "one", step, base + step)
            add_gray(writer, "two", 0, base + 100)
    page.goto(serve(logdir).url + "?images.group=run")
    wait_for_shades(page, [12, 110, 22, 120])
    page.get_by_text("By step").click()
    strips = page.locator(".images-card[data-key='tag:one'] .tile")
    expect(strips).to_have_count(6)
    wait_for_shades(page, [10, 11, 12, 20, 21, 22, 110, 120])
    expect(strips.locator("figcaption")).to_have_text(["0", "1", "2", "0", "1", "2"])
    expect(page).to_have_url(re.compile(r"images\.group=step"))


def test_film_strips_keep_their_own_steps_beside_a_step_for_all(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            add_gray(writer, "one", step, step)
    page.goto(serve(logdir).url + "?images.group=step&images.link=on&images.at=1")
    here = page.locator(".tile.here figcaption")
    expect(here).to_have_text("2")
    page.get_by_title("Previous step").click()
    expect(here).to_have_text("1")
    expect(page.locator("#images-stepper")).to_be_hidden()


def test_of_a_thousand_steps_only_what_is_seen_is_fetched(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(1000):
            add_gray(writer, "one", step, step % 200)
    requested: list[str] = []

    def note(request: Request) -> None:
        found = re.search(r"/look\?.*&step=(\d+)", request.url)
        if found:
            requested.append(found[1])

    page.on("request", note)
    page.goto(serve(logdir).url + "?images.group=step&images.width=160")
    newest = page.locator(".tile img[alt$='step 999']")
    expect(newest).to_be_visible()
    page.locator(".track-slider").evaluate("(input) => { input.value = 500; input.dispatchEvent(new Event('input')); }")
    expect(page.locator(".tile.here img[alt$='step 500']")).to_be_visible()
    assert len(requested) < 40
    assert page.locator(".tile").count() < 20


def test_brightness_and_contrast_are_filters_of_the_page(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        add_gray(writer, "digit", 0, 50)
    page.goto(serve(logdir).url + "?images.brightness=1.5&images.contrast=2")
    expect(page.locator(".picture img")).to_have_css("filter", "brightness(1.5) contrast(2)")
    page.locator("#images-reset").click()
    expect(page.locator(".picture img")).to_have_css("filter", "brightness(1) contrast(1)")
    assert "images.brightness" not in page.url


def test_damage_is_said_in_the_place_of_the_picture(serve: Serve, page: Page, logdir: Path) -> None:
    whole = png(np.random.default_rng(0).integers(0, 255, (64, 64), np.uint8))
    with SummaryWriter(str(logdir / "a")) as writer:
        add_gray(writer, "digit", 0, 9)
        for step, content in enumerate((whole[:-200], whole[:20], b"", b"<svg onload=a>"), 1):
            writer.add_summary(legacy("digit", content), step)
    page.goto(serve(logdir).url)
    why = page.locator(".no-picture")
    expect(why).to_contain_text("not PNG, JPEG, GIF, WebP or BMP")
    for step, text in (
        (3, "The image is empty: 0 bytes"),
        (2, "The image is damaged"),
        (1, "The image is damaged"),
    ):
        slide(page.locator(".track-slider"), step)
        expect(why).to_contain_text(text)
    expect(page.locator(".picture img")).to_have_count(0)
    slide(page.locator(".track-slider"), 0)
    wait_for_shades(page, [9])
    page.goto(page.url.split("?")[0] + large("a", "digit", 1, 0))
    expect(page.locator("#large .no-picture")).to_contain_text("The image cannot be decoded: its compressed data")


def test_large_view_goes_by_the_arrow_keys_and_the_card_comes_along(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            add_gray(writer, "digit", step, 100 + step)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [102])
    page.locator(".picture").click()
    wait_for_color(page, [102, 102, 102])
    page.keyboard.press("ArrowLeft")
    wait_for_color(page, [101, 101, 101])
    expect(page.locator("#large .what")).to_contain_text("step 1 · 2 of 3")
    expect(page).to_have_url(re.compile(r"images\.large=a&images\.large=digit&images\.large=1&images\.large=0"))
    with page.expect_download() as download:
        page.get_by_title("Download the original").click()
    assert download.value.suggested_filename == "a_digit_step1_0.png"
    page.keyboard.press("Escape")
    expect(page.locator("#large")).to_have_count(0)
    wait_for_shades(page, [101])


def test_keys_before_the_steps_are_known_are_done_when_they_are(serve: Serve, page: Page, logdir: Path) -> None:
    for run, shade in (("a", 100), ("b", 200)):
        with SummaryWriter(str(logdir / run)) as writer:
            for step in range(4):
                add_gray(writer, "digit", step, shade + step)
    steps, runs = Held(page, r"/steps\?"), Held(page, r"/catalog\?")
    page.goto(serve(logdir).url + large("a", "digit", "", 0))
    steps.wait()
    runs.wait()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    steps.release()
    wait_for_color(page, [101, 101, 101])
    runs.release()
    wait_for_color(page, [201, 201, 201])


def test_pixels_are_the_stored_integers(serve: Serve, page: Page, logdir: Path) -> None:
    deep = np.array([[0, 300], [40_000, 65_535]], np.uint16)
    clear = np.array([[[200, 100, 50, 3]]], np.uint8)
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_summary(legacy("deep", png(deep)), 0)
        writer.add_image("clear", clear, 0, dataformats="HWC")
    url = serve(logdir).url
    page.goto(url + large("a", "deep", 0, 0))
    facts = page.locator("#large .what .facts").last
    expect(facts).to_contain_text("2 × 2 · PNG · ")
    expect(facts).to_contain_text("gray, 16 bits")
    box = page.locator("#large canvas.stage").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2 - 9, box["y"] + box["height"] / 2 + 9)
    expect(page.locator("#large .pixel")).to_have_text("x 0  y 1   40000")
    expect(page.locator(".channel-facts th + td, .channel-facts td + td")).to_have_text(["0", "26,459", "65,535"])
    page.goto(url + large("a", "clear", 0, 0))
    expect(facts).to_contain_text("RGBA")
    page.mouse.move(box["x"] + box["width"] / 2 - 8, box["y"] + box["height"] / 2)
    expect(page.locator("#large .pixel")).to_have_text("x 0  y 0   R 200  G 100  B 50  A 3")


def test_adjustments_and_zoom_are_drawn_and_kept_in_the_url(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_image("rgb", np.full((4, 6, 3), [10, 100, 200], np.uint8), 0, dataformats="HWC")
    page.goto(serve(logdir).url + large("a", "rgb", 0, 0))
    wait_for_color(page, [10, 100, 200])
    page.keyboard.press("i")
    wait_for_color(page, [245, 155, 55])
    page.keyboard.press("r")
    page.get_by_label("Channel", exact=True).select_option("g")
    wait_for_color(page, [100, 100, 100])
    page.get_by_label("Colormap of single-channel").select_option("viridis")
    wait_for_color(page, [43, 118, 142])
    expect(page).to_have_url(re.compile(r"images\.channel=g.*images\.map=viridis"))
    page.keyboard.press("1")
    expect(page.locator(".zoom-at")).to_have_text("1×")
    expect(page).to_have_url(re.compile(r"images\.zoom=1&images\.zoom=3&images\.zoom=2"))
    page.keyboard.press("+")
    expect(page.locator(".zoom-at")).to_have_text("2×")
    expect(page).to_have_url(re.compile(r"images\.zoom=2&"))
    page.reload()
    expect(page.locator(".zoom-at")).to_have_text("2×")
    wait_for_color(page, [43, 118, 142])


def test_two_pictures_are_compared_in_every_way(serve: Serve, page: Page, logdir: Path) -> None:
    for run, shade in (("a", 100), ("b", 130)):
        with SummaryWriter(str(logdir / run)) as writer:
            add_gray(writer, "digit", 0, shade)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [100, 130])
    for place in (0, 1):
        page.locator(".picture").nth(place).click(modifiers=["Shift"])
    wait_for_color(page, [100, 100, 100], stage=0)
    wait_for_color(page, [130, 130, 130], stage=1)
    expect(page).to_have_url(re.compile(r"images\.other=b&images\.other=digit"))
    page.get_by_role("radio", name="Swipe").click()
    wait_for_color(page, [100, 100, 100], place=0.3)
    wait_for_color(page, [130, 130, 130], place=0.7)
    page.get_by_role("radio", name="Blink").click()
    wait_for_color(page, [130, 130, 130])
    wait_for_color(page, [100, 100, 100])
    page.keyboard.press("b")
    page.keyboard.press("x")
    expect(page.locator(".row output").first).to_have_text("manual (press B)")
    page.keyboard.press("x")
    page.get_by_role("radio", name="Difference").click()
    wait_for_color(page, [30, 30, 30])
    expect(page.locator(".difference-facts dd")).to_have_text(["30", "30", "18.59 dB", "24 of 24 (100%)"])
    page.get_by_label("Amplification").select_option("4")
    wait_for_color(page, [120, 120, 120])
    page.get_by_label("How to show the difference").select_option("signed")
    wait_for_color(page, [120, 180, 213])


def test_pictures_of_different_sizes_are_compared_as_the_user_says(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        small = np.full((1, 4, 4), 50, np.uint8)
        small[0, 0, 0] = 90
        writer.add_image("small", small, 0)
        writer.add_image("large", np.full((1, 8, 8), 50, np.uint8), 0)
    page.goto(serve(logdir).url + large("a", "large", 0, 0) + other("a", "small", 0, 0) + "&images.compare=difference")
    expect(page.locator(".sizes-note")).to_have_text("A is 8 × 8, B is 4 × 4.")
    numbers = page.locator(".difference-facts dd")
    expect(numbers.last).to_have_text("1 of 16 (6.25%)")
    page.get_by_label("How images of different sizes").select_option("scaled")
    expect(numbers.last).to_contain_text("of 64")


def test_a_swipe_is_cut_at_its_divider_whatever_the_sizes(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_image("narrow", np.full((1, 4, 4), 50, np.uint8), 0)
        writer.add_image("wide", np.full((1, 4, 8), 90, np.uint8), 0)
    swiped = large("a", "narrow", 0, 0) + other("a", "wide", 0, 0) + "&images.compare=swipe&images.divider=0.75"
    page.goto(serve(logdir).url + swiped)
    # The middle is the fifth of eight pixels, and the cut after the third.
    wait_for_color(page, [90, 90, 90])
    with page.expect_download() as saved:
        page.get_by_text("PNG", exact=True).click()
    assert np.asarray(Image.open(saved.value.path()))[0, :, 0].tolist() == [50, 50, 50, 90]


@pytest.mark.parametrize("decoder", [True, False])
def test_animations_are_stepped_through_or_played_as_they_are(
    serve: Serve, page: Page, logdir: Path, decoder: bool
) -> None:
    if not decoder:
        page.add_init_script("delete window.ImageDecoder")
    with SummaryWriter(str(logdir / "a")) as writer:
        video = np.stack([np.full((3, 8, 8), shade, np.uint8) for shade in (0, 120, 240)])
        writer.add_video("clip", video[None], 0, fps=1)
    page.goto(serve(logdir).url + large("a", "clip", 0, 0))
    if not decoder:
        expect(page.locator("#large .instead img")).to_be_visible()
        expect(page.locator("#large .instead")).to_contain_text("plays animations only as a whole")
        return
    at = page.locator("#large .frames output")
    expect(at).to_have_text(re.compile("[123]/3"))
    expect(page.locator("#large .what")).to_contain_text("3 frames")
    page.get_by_title("Pause frames (P)").click()
    page.get_by_label("Frame", exact=True).evaluate(
        "(input) => { input.value = 1; input.dispatchEvent(new Event('input')); }"
    )
    expect(at).to_have_text("2/3")
    wait_for_color(page, [120, 120, 120])
    page.keyboard.press(".")
    expect(at).to_have_text("3/3")
    wait_for_color(page, [240, 240, 240])


def test_what_is_shown_is_saved(serve: Serve, page: Page, logdir: Path) -> None:
    for run in ("a", "../b"):
        with SummaryWriter(str(logdir / "runs" / run.replace("..", "up"))) as writer:
            add_gray(writer, "x/../y", 3, 60)
    page.goto(serve(logdir).url)
    wait_for_shades(page, [60, 60])
    with page.expect_download() as download:
        page.locator("#images-zip").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert archive.namelist() == ["runs/a/x%2F..%2Fy/3.png", "runs/up/b/x%2F..%2Fy/3.png"]
    page.locator(".picture").first.click()
    wait_for_color(page, [60, 60, 60])
    page.keyboard.press("i")
    wait_for_color(page, [195, 195, 195])
    with page.expect_download() as saved:
        page.get_by_text("PNG", exact=True).click()
    assert saved.value.suggested_filename == "runs_a_x_.._y_step3_shown.png"
    assert np.asarray(Image.open(saved.value.path()))[0, 0].tolist() == [195, 195, 195, 255]


def test_new_pictures_come_into_the_large_view(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    add_gray(writer, "digit", 0, 10)
    writer.flush()
    page.goto(serve(logdir).url + large("a", "digit", "", 0))
    wait_for_color(page, [10, 10, 10])
    add_gray(writer, "digit", 1, 80)
    writer.close()
    wait_for_color(page, [80, 80, 80])
    expect(page.locator("#large .what")).to_contain_text("step 1 · 2 of 2")


def test_without_shown_runs_there_is_a_hint(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        add_gray(writer, "digit", 0, 9)
    page.goto(serve(logdir).url + "?hide=a")
    expect(page.locator(".notice.none")).to_contain_text("No images in the visible runs")
