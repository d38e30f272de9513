"""Charts under a finger: a tap shows what lies there, a second one acts or closes; a finger that moves up scrolls."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from sample_logs.make import FOLDER
from tests.browser.conftest import Dashboard, Held

pytestmark = pytest.mark.browser


def middle(chart: Locator) -> tuple[float, float]:
    """Return the middle of what is drawn, once it is at rest."""
    chart.wait_for(state="attached")
    chart.scroll_into_view_if_needed()
    chart.evaluate(
        """async (element) => {
          const place = () => JSON.stringify(element.getBoundingClientRect());
          const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          for (let before = ""; before !== place(); await frame()) before = place();
        }"""
    )
    box = chart.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drawn(page: Page, panel: str) -> Locator:
    page.wait_for_function(
        "panel => document.querySelector(`.${panel}-card .js-plotly-plot`)?._fullData?.some(t => t.x?.length)",
        arg=panel,
    )
    return page.locator(f".{panel}-card .nsewdrag").first


def drag(page: Page, start: tuple[float, float], by: tuple[float, float]) -> None:
    """Move one finger, with the events that a browser reports."""
    client = page.context.new_cdp_session(page)
    x, y = start
    client.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for part in range(1, 11):
        place = {"x": x + by[0] * part / 10, "y": y + by[1] * part / 10}
        client.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [place]})
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    client.detach()


def test_taps_show_values_follow_and_close_in_pr_curves(phone: Page, serve: Callable[..., Dashboard]) -> None:
    phone.goto(serve(FOLDER).url + "?tab=pr_curves")
    values = phone.locator("#pr-hover")
    x, y = middle(drawn(phone, "pr_curves"))
    phone.touchscreen.tap(x, y)
    expect(values).to_be_visible()
    expect(values).to_contain_text("Precision")
    first = values.inner_text()
    phone.touchscreen.tap(x - 90, y)
    expect(values).not_to_have_text(first, use_inner_text=True)
    expect(values).to_be_visible()
    phone.touchscreen.tap(x - 90, y)
    expect(values).to_be_hidden()
    phone.touchscreen.tap(x, y)
    expect(values).to_be_visible()
    phone.locator(".toolbar").tap(position={"x": 3, "y": 3})
    expect(values).to_be_hidden()


def test_a_second_tap_opens_the_histogram_that_the_first_has_shown(
    phone: Page, serve: Callable[..., Dashboard]
) -> None:
    phone.goto(serve(FOLDER).url + "?tab=histograms")
    bucket, large = phone.locator("#bucket"), phone.get_by_role("dialog")
    x, y = middle(drawn(phone, "histograms"))
    # The window is small until its histogram arrives, so the tap that opens it ends outside it.
    held = Held(phone, "api/histograms/point")
    phone.touchscreen.tap(x, y)
    expect(bucket).to_be_visible()
    expect(large).to_have_count(0)
    step = bucket.locator("dd").first.inner_text()
    phone.touchscreen.tap(x, y)
    expect(large).to_be_visible()
    expect(large.locator("svg.outline")).to_have_count(0)
    held.release()
    expect(large).to_contain_text(step)
    expect(bucket).to_be_hidden()
    phone.touchscreen.tap(x, 3)
    expect(large).to_be_hidden()


def test_a_finger_scrolls_over_a_chart_and_zooms_along_it(phone: Page, serve: Callable[..., Dashboard]) -> None:
    phone.goto(serve(FOLDER).url + "?tab=histograms")
    chart = drawn(phone, "histograms")
    x, y = middle(chart)
    ranges = "() => document.querySelector('.histograms-card .js-plotly-plot')._fullLayout.xaxis.range.join()"
    before = phone.evaluate(ranges)
    drag(phone, (x - 60, y), (120, 0))
    phone.wait_for_function(f"before => ({ranges})() !== before", arg=before)
    zoomed, scrolled = phone.evaluate(ranges), "() => document.getElementById('panel').scrollTop"
    top = phone.evaluate(scrolled)
    drag(phone, (x, y), (0, -120))
    phone.wait_for_function(f"top => ({scrolled})() > top", arg=top)
    assert phone.evaluate(ranges) == zoomed


def test_a_second_finger_ends_the_zoom_of_the_first(phone: Page, serve: Callable[..., Dashboard]) -> None:
    phone.goto(serve(FOLDER).url + "?tab=histograms")
    x, y = middle(drawn(phone, "histograms"))
    chart = "document.querySelector('.histograms-card .js-plotly-plot')"
    ranges = f"() => {chart}._fullLayout.xaxis.range.join()"
    before = phone.evaluate(ranges)
    client = phone.context.new_cdp_session(phone)

    def touch(kind: str, *places: float) -> None:
        points = [{"x": place, "y": y} for place in places]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", x - 60)
    for place in (x - 40, x, x + 20):
        touch("touchMove", place)
    phone.wait_for_function(f"() => {chart}._dragging")
    touch("touchStart", x + 20, x + 60)
    touch("touchEnd")
    client.detach()
    phone.wait_for_function(f"() => !{chart}._dragging")
    assert phone.evaluate(ranges) == before
    drag(phone, (x - 60, y), (120, 0))
    phone.wait_for_function(f"before => ({ranges})() !== before", arg=before)


def on_a_session(page: Page, chart: str) -> tuple[float, float]:
    """Return a place on something drawn: the first line between its axes, or the first point."""
    place = page.locator(f".hparams-{chart}")
    middle(place)
    x, y = place.evaluate(
        """async (box) => {
          const [canvas] = [...box.querySelectorAll("canvas:not(.over):not([hidden])")].slice(-1);
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          const corner = box.getBoundingClientRect();
          const scale = canvas.width / canvas.clientWidth;
          for (;;) {
            for (let x = 60; x < 300; x += 7) {
              for (let y = 90; y < 260; y += 1) {
                const [r, g, b, a] = canvas.getContext("2d").getImageData(x * scale, y * scale, 1, 1).data;
                const gray = Math.max(r, g, b) - Math.min(r, g, b);
                if (a > 200 && gray > 60) return [corner.left + x, corner.top + y];
              }
            }
            await frame();
          }
        }"""
    )
    return x, y


def test_a_second_tap_selects_the_session_that_the_first_has_shown(
    phone: Page, serve: Callable[..., Dashboard]
) -> None:
    url = serve(FOLDER).url
    tip = phone.locator(".hparams-tip")
    for chart in ("parallel", "scatter"):
        phone.goto(f"{url}?tab=hparams&hparams.chart={chart}")
        x, y = on_a_session(phone, chart)
        phone.touchscreen.tap(x, y)
        expect(tip).to_be_visible()
        expect(tip).to_contain_text("sweep/")
        shown = tip.inner_text().split("\n")[0]
        expect(phone).not_to_have_url(re.compile("runs.select"))
        phone.touchscreen.tap(x, y)
        expect(phone).to_have_url(re.compile(f"runs.select=digits/{re.escape(shown)}"))
        expect(tip).to_be_hidden()


def test_what_a_tap_has_shown_of_a_session_goes_with_the_tab(phone: Page, serve: Callable[..., Dashboard]) -> None:
    phone.goto(serve(FOLDER).url + "?tab=hparams&hparams.chart=parallel")
    phone.touchscreen.tap(*on_a_session(phone, "parallel"))
    expect(phone.locator(".hparams-tip")).to_be_visible()
    phone.keyboard.press("1")
    expect(phone.locator(".hparams-panel")).to_have_count(0)
    expect(phone.locator(".hparams-tip")).to_be_hidden()


def test_a_second_tap_on_a_bar_of_the_profile_leads_to_the_timeline(
    phone: Page, serve: Callable[..., Dashboard]
) -> None:
    phone.goto(serve(FOLDER).url + "?tab=profile")
    bar = phone.locator(".profile-chart .barlayer .point path").first
    label = phone.locator(".hoverlayer .hovertext").first
    for _ in range(2):
        x, y = middle(bar)
        phone.touchscreen.tap(x, y)
        expect(label).to_be_visible()
        expect(phone).to_have_url(re.compile("tab=profile"))
        phone.touchscreen.tap(x, y)
        expect(phone).to_have_url(re.compile("tab=timeline"))
        # After going back, the same bar can be tapped again.
        phone.go_back()
        expect(phone.locator(".profile-panel")).to_be_visible()
