"""Audio on the page: data, one clip, none, odd values, growth and damage; playing, seeking, zooming and comparing."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.tensor_proto import strings_tensor
from stepscope.summary.proto.summary_pb2 import Summary, SummaryMetadata
from tests.browser.conftest import Dashboard
from tests.dashboard.test_audio_panel import int16_wav, wav_bytes, written

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]
RATE = 8000


def sine(seconds: float, hertz: float = 440.0) -> Any:
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(int(RATE * seconds)) / RATE)


def labeled(*clips: tuple[bytes, bytes]) -> Summary:
    """Clips with labels, as TensorFlow writes them."""
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="audio"))
    parts = [part for clip in clips for part in clip]
    value = Summary.Value(tag="voice", metadata=metadata, tensor=strings_tensor(parts, (len(clips), 2)))
    return Summary(value=[value])


def drawn(page: Page, number: int) -> None:
    expect(page.locator(".audio-view[data-drawn]")).to_have_count(number)


def type_step(page: Page, step: str, nth: int = 0) -> None:
    field = page.locator(".track-field").nth(nth)
    field.fill(step)
    field.press("Enter")


def press_at(page: Page, place: float, nth: int = 0) -> None:
    """Clicks at a position on the time axis: 0 is its beginning, 1 its end."""
    box = page.locator(".audio-view").nth(nth).bounding_box()
    assert box is not None
    gutter = page.evaluate("stepscope.audio.draw.GUTTER")
    page.mouse.click(box["x"] + gutter + place * (box["width"] - gutter - 2), box["y"] + 30)


def test_every_run_has_its_clip_at_the_chosen_step(serve: Serve, page: Page, logdir: Path) -> None:
    for run, base in (("a", 1.0), ("b", 2.0)):
        with SummaryWriter(str(logdir / run)) as writer:
            for step in (0, 5, 10):
                writer.add_audio("voice", sine(base + step / 100), step, sample_rate=RATE)
    page.goto(serve(logdir).url)
    facts = page.locator(".clip .facts")
    expect(facts).to_have_text(
        [
            "1.100 s · 8,000 Hz · mono · WAV, 16-bit PCM · 17.6 kB",
            "2.100 s · 8,000 Hz · mono · WAV, 16-bit PCM · 33.6 kB",
        ]
    )
    drawn(page, 2)
    type_step(page, "4")
    expect(facts).to_contain_text(["1.050 s", "2.050 s"])
    expect(page).to_have_url(re.compile(r"audio\.step=voice:5"))
    page.reload()
    expect(facts).to_contain_text(["1.050 s", "2.050 s"])


def test_a_slider_at_the_end_follows_and_linked_cards_move_together(serve: Serve, page: Page, logdir: Path) -> None:
    writer = SummaryWriter(str(logdir / "a"))
    for tag in ("one", "two"):
        for step in range(3):
            writer.add_audio(tag, sine(0.1 + step / 10), step, sample_rate=RATE)
    writer.flush()
    page.goto(serve(logdir).url)
    facts = page.locator(".clip .facts")
    expect(facts).to_contain_text(["0.300 s", "0.300 s"])
    type_step(page, "1", 1)
    expect(facts).to_contain_text(["0.300 s", "0.200 s"])
    for tag in ("one", "two"):
        writer.add_audio(tag, sine(0.4), 3, sample_rate=RATE)
    writer.close()
    expect(facts).to_contain_text(["0.400 s", "0.200 s"])
    page.locator("label", has_text="Link steps").click()
    expect(page).to_have_url(re.compile("audio.link=on"))
    type_step(page, "0")
    expect(facts).to_contain_text(["0.100 s", "0.100 s"])
    expect(page).to_have_url(re.compile(r"audio\.step=:0"))


def test_a_step_in_the_hand_stays_while_another_setting_changes(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        for step in range(3):
            writer.add_audio("voice", sine(0.1 + step / 10), step, sample_rate=RATE)
    page.goto(serve(logdir).url)
    facts = page.locator(".clip .facts")
    expect(facts).to_contain_text(["0.300 s"])
    slider = page.locator(".track-slider")
    slider.evaluate("input => { input.value = 0; input.dispatchEvent(new Event('input', { bubbles: true })); }")
    expect(facts).to_contain_text(["0.100 s"])
    page.locator("label", has_text="Loop").click()
    expect(page).to_have_url(re.compile(r"audio\.loop=on"))
    # Once this call returns, the earlier one that reads the settings has run, too.
    page.evaluate("() => window.dash_clientside.stepscope.adjustAudio()")
    expect(facts).to_contain_text(["0.100 s"])
    slider.dispatch_event("change")
    expect(page).to_have_url(re.compile(r"audio\.step=voice:0"))
    page.evaluate("() => stepscope.view.update((_view, set) => set('audio.step', ['voice:1']))")
    page.evaluate("() => window.dash_clientside.stepscope.adjustAudio()")
    expect(facts).to_contain_text(["0.200 s"])


def test_a_click_seeks_space_plays_and_one_clip_plays_at_a_time(serve: Serve, page: Page, logdir: Path) -> None:
    for run in ("a", "b"):
        with SummaryWriter(str(logdir / run)) as writer:
            writer.add_audio("voice", sine(4), 0, sample_rate=RATE)
    page.goto(serve(logdir).url)
    drawn(page, 2)
    press_at(page, 0.5)
    expect(page.locator(".clock").first).to_have_text("2.00 s / 4.00 s")
    page.locator(".audio-view").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".clock").first).to_have_text("2.20 s / 4.00 s")
    page.keyboard.press("Space")
    expect(page.locator(".clip").first).to_have_class(re.compile("playing"))
    page.locator(".clip .act-play").nth(1).click()
    expect(page.locator(".clip").nth(1)).to_have_class(re.compile("playing"))
    expect(page.locator(".clip").first).not_to_have_class(re.compile("playing"))
    page.locator(".clip .act-play").nth(1).click()
    expect(page.locator(".clip.playing")).to_have_count(0)


def test_a_drag_zooms_all_clips_of_the_card(serve: Serve, page: Page, logdir: Path) -> None:
    for run in ("a", "b"):
        with SummaryWriter(str(logdir / run)) as writer:
            writer.add_audio("voice", sine(4), 0, sample_rate=RATE)
    page.goto(serve(logdir).url)
    drawn(page, 2)
    box = page.locator(".audio-view").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 30, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"audio\.zoom=voice:[\d.]+:[\d.]+"))
    spans = "[...document.querySelectorAll('.audio-view')].map((one) => stepscope.audio.view.viewOf(one).span)"
    first, second = page.evaluate(spans)
    assert first == second
    assert 0 < first["start"] < first["stop"] < 4
    page.locator(".audio-view").first.dblclick(position={"x": 300, "y": 30})
    expect(page).not_to_have_url(re.compile(r"audio\.zoom"))
    assert page.evaluate(spans)[1] == {"start": 0, "stop": 4}


def test_two_clips_are_compared_at_the_same_place(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_audio("one", sine(4), 0, sample_rate=RATE)
        writer.add_audio("two", sine(3, 880), 7, sample_rate=RATE)
    page.goto(serve(logdir).url)
    drawn(page, 2)
    page.locator('.pin[data-slot="A"]').first.click()
    page.locator('.pin[data-slot="B"]').nth(1).click()
    expect(page.locator(".audio-tray .slot")).to_have_text(["Aone · a · step 0", "Btwo · a · step 7"])
    page.reload()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#audio-compare .audio-view[data-drawn]")).to_have_count(2)
    views = """[...document.querySelectorAll('#audio-compare .audio-view')]
      .map((one) => stepscope.audio.view.viewOf(one).span.stop)"""
    assert page.evaluate(views) == [4, 4]
    page.locator("#audio-compare .audio-view").first.focus()
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    clocks = page.locator("#audio-compare .clock")
    expect(clocks).to_have_text(["1.00 s / 4.00 s", ""])
    page.keyboard.press("x")
    expect(clocks).to_have_text(["", "1.00 s / 3.00 s"])
    expect(page.locator('.ab [data-slot="B"]')).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(page.locator("#audio-compare")).to_have_count(0)


def test_samples_labels_and_downloads(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        attack = b"**hello** <img src=x onerror='window.harmed = 1'>"
        writer.add_summary(labeled((int16_wav([1, 2]), attack), (int16_wav([1, 2, 3]), b"second")), 0)
    page.goto(serve(logdir).url)
    expect(page.locator(".clip-label strong")).to_have_text("hello")
    assert page.locator(".clip-label img").count() == 0
    page.get_by_title("Next sample").click()
    expect(page.locator(".clip-label")).to_have_text("second")
    expect(page.locator(".which")).to_have_text("sample 2 of 2")
    expect(page).to_have_url(re.compile(r"audio\.sample=voice:1"))
    with page.expect_download() as download:
        page.get_by_title("Download the clip").click()
    assert download.value.suggested_filename == "a_voice_step0_1.wav"
    assert page.evaluate("window.harmed") is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"RIFF\0\0\0\0WAVEgarbage", "No sound: WAV of 19 B cannot be decoded: No 'data' chunk marker."),
        (b"no sound at all", "No sound: the clip is 15 B in an unknown audio format"),
        (int16_wav([]), "No sound: the clip has 0 samples."),
        (wav_bytes(b"\0\0", kind=2, bits=8), "No sound: WAV of 58 B cannot be decoded: Invalid bit width."),
        (b"fLaC" + bytes(60), "No sound: FLAC of 64 B cannot be decoded"),
    ],
)
def test_a_clip_that_is_none_says_why(serve: Serve, page: Page, logdir: Path, content: bytes, why: str) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_summary(labeled((int16_wav([1, 2]), b"")), 0)
        writer.add_summary(labeled((content, b"")), 1)
    page.goto(serve(logdir).url)
    expect(page.locator(".clip .no-picture")).to_contain_text(why)
    expect(page.get_by_title("Download the clip")).to_be_visible()
    expect(page.locator(".clip .act-play")).to_be_disabled()
    type_step(page, "0")
    drawn(page, 1)


def test_odd_values_and_many_channels_are_drawn_and_told(serve: Serve, page: Page, logdir: Path) -> None:
    odd = np.array([[np.nan, 0.5, 2.0, np.inf] * 100] * 3, "<f4").T
    many = np.zeros((400, 12), "<i2")
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_summary(labeled((wav_bytes(odd.tobytes(), kind=3, bits=32, channels=3), b"")), 0)
        writer.add_summary(labeled((wav_bytes(many.tobytes(), channels=12), b"")), 1)
    page.goto(serve(logdir).url)
    expect(page.locator(".clip-note")).to_contain_text("the first 8 of 12 channels")
    expect(page.locator(".facts")).to_contain_text("12 channels · WAV, 16-bit PCM")
    type_step(page, "0")
    expect(page.locator(".clip-note")).to_contain_text("600 values are NaN or infinite and not drawn")


def test_one_clip_has_no_slider_and_none_no_tab(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_audio("voice", [0.5], 7, sample_rate=RATE)
    page.goto(serve(logdir).url)
    drawn(page, 1)
    expect(page.locator(".track-slider")).to_be_disabled()
    page.get_by_role("button", name="None").click()
    expect(page.locator(".notice.none")).to_contain_text("No audio in the visible runs")


@pytest.mark.parametrize(
    ("container", "encoding", "facts"),
    [
        ("FLAC", "PCM_24", "2.000 s · 8,000 Hz · stereo · FLAC, 24-bit PCM"),
        ("OGG", "VORBIS", "2.000 s · 8,000 Hz · stereo · Ogg, Vorbis"),
        ("MP3", "MPEG_LAYER_III", "2.000 s · 8,000 Hz · stereo · MP3"),
    ],
)
def test_compressed_clips_have_pictures_and_values_under_the_pointer(
    serve: Serve, page: Page, logdir: Path, container: str, encoding: str, facts: str
) -> None:
    stereo = np.stack([sine(2, 1000), sine(2, 3000)], axis=1)
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_summary(labeled((written(stereo, container, encoding), b"")), 0)
    page.goto(serve(logdir).url + "?audio.spectra=each&audio.frequencies=linear")
    expect(page.locator(".facts")).to_contain_text(facts)
    drawn(page, 1)
    for channel, name, hertz in ((0, "L", 1000), (1, "R", 3000)):
        loudest = page.evaluate(
            """(channel) => {
              const view = stepscope.audio.view.viewOf(document.querySelector('.audio-view'));
              const { levels, width, height } = view.spectra.get(channel);
              const column = Array.from({ length: height }, (_, row) => levels[row * width + Math.floor(width / 2)]);
              const lane = view.drawn.lanes.find((one) => one.kind === 'spectrum' && one.channel === channel);
              const row = column.indexOf(Math.max(...column));
              return { share: 1 - (row + 0.5) / height, y: lane.top + (lane.height * (row + 0.5)) / height };
            }""",
            channel,
        )
        assert abs(loudest["share"] * 4000 - hertz) < 60
        page.locator(".audio-view").hover(position={"x": 400, "y": loudest["y"]})
        expect(page.locator(".readout")).to_contain_text(re.compile(rf"s · {name} · .*kHz · -\d+\.\d dB"))


def test_a_clip_that_is_not_decoded_may_play_without_pictures(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_summary(labeled((b"\x1aE\xdf\xa3" + bytes(60), b"")), 0)
    page.goto(serve(logdir).url)
    expect(page.locator(".clip-note")).to_contain_text("WebM files are not decoded here: the browser may be able")
    expect(page.locator(".clip .act-play")).to_be_enabled()
    page.locator(".clip .act-play").click()
    expect(page.locator(".clip-note")).to_contain_text("The browser cannot play this clip. Download it to hear it.")


def test_keys_zoom_and_seek_on_the_clip_that_has_the_focus(serve: Serve, page: Page, logdir: Path) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_audio("voice", sine(4), 0, sample_rate=RATE)
    page.goto(serve(logdir).url)
    drawn(page, 1)
    press_at(page, 0.25)
    clock = page.locator(".clock")
    expect(clock).to_have_text("1.00 s / 4.00 s")
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"audio\.zoom=voice:0\.\d+:2\.\d+"))
    page.keyboard.press("Shift+ArrowRight")
    expect(clock).to_have_text("1.02 s / 4.00 s")
    page.keyboard.press("-")
    expect(page).not_to_have_url(re.compile(r"audio\.zoom"))
    page.keyboard.press("+")
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile(r"audio\.zoom"))
    page.keyboard.press("End")
    expect(clock).to_have_text("4.00 s / 4.00 s")
    page.keyboard.press("Home")
    expect(clock).to_have_text("0.00 s / 4.00 s")
