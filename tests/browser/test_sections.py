"""Sections of cards: their order, how they open, close and move, columns, and cards that are still loading."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.dashboard.page.state import decode
from stepscope.summary.writer import SummaryWriter
from tests.browser.conftest import CALLBACKS, Busy, Dashboard, Held, hold_callbacks

Serve = Callable[..., Dashboard]

LAYERS = [f"model.layers.{layer}.{part}" for layer in range(12) for part in ("attn.q", "attn.k", "mlp.up")]
TAGS = [*LAYERS, "optim/lr", "optim/momentum", "val/loss", "val/accuracy", "train/accuracy", "train/loss", "epoch"]


def write_scalars(logdir: Path, tags: list[str], points: int = 3, runs: tuple[str, ...] = ("a",)) -> None:
    for number, run in enumerate(runs):
        with SummaryWriter(logdir / run) as writer:
            for step in range(points):
                for tag in tags:
                    writer.add_scalar(tag, 0.5 + number / 4 - step / 10, step)


def head(page: Page, name: str) -> Locator:
    return page.locator(f'.group[data-group="{name}"] > .group-head')


def toggle(page: Page, name: str) -> Locator:
    return head(page, name).locator(".group-toggle")


def names(page: Page) -> Locator:
    return page.locator(".groups > div > .group > .group-head .group-name")


def keys(page: Page, name: str) -> Locator:
    return page.locator(f'.group[data-group="{name}"] > .cards > .card')


def kept(page: Page, name: str) -> tuple[str, ...]:
    """The values that the URL has for a setting."""
    return decode(page.url.partition("?")[2]).settings.get(name, ())


def test_what_people_look_at_first_is_open_and_layers_are_sections_within_a_closed_one(
    serve: Serve, page: Page, logdir: Path
) -> None:
    write_scalars(logdir, TAGS)
    page.goto(serve(logdir).url)
    expect(names(page)).to_have_text(["train", "val", "model.layers", "optim", "Other"])
    expect(page.locator(".group-toggle[aria-expanded=true]")).to_have_count(4)
    expect(head(page, "model.layers").locator(".count")).to_have_text("36")
    expect(keys(page, "train")).to_have_count(2)
    expect(keys(page, "train").first).to_have_attribute("data-key", "train/loss")
    card = page.locator(".card[data-key='train/loss']")
    expect(card).to_have_class(re.compile(r"\bdrawn\b"))
    card.evaluate("card => card.same = true")

    toggle(page, "model.layers").press("Enter")
    layers = page.locator('.group[data-group="model.layers"] .inner-groups .group-name')
    expect(layers).to_have_text([f"model.layers.{layer}" for layer in range(12)])
    expect(page.locator('.group[data-group="model.layers"] .card')).to_have_count(0)
    toggle(page, "model.layers.10").click()
    expect(keys(page, "model.layers.10")).to_have_count(3)
    expect(keys(page, "model.layers.10").first).to_have_class(re.compile(r"\bdrawn\b"))
    expect(page).to_have_url(re.compile("scalars.open=model.layers&scalars.open=model.layers.10"))
    # Nothing else was mounted again.
    assert card.evaluate("card => card.same")

    page.reload()
    expect(keys(page, "model.layers.10")).to_have_count(3)
    expect(toggle(page, "model.layers.9")).to_have_attribute("aria-expanded", "false")


def test_all_sections_collapse_and_open_by_buttons_and_keys(serve: Serve, page: Page, logdir: Path) -> None:
    write_scalars(logdir, TAGS)
    page.goto(serve(logdir).url)
    expect(keys(page, "train")).to_have_count(2)
    page.get_by_role("button", name="Collapse all sections").click()
    expect(page.locator(".group-toggle[aria-expanded=true]")).to_have_count(0)
    expect(page.locator(".card >> visible=true")).to_have_count(0)
    expect(page).to_have_url(re.compile("scalars.fold=closed"))
    toggle(page, "val").click()
    expect(keys(page, "val").first).to_be_visible()

    page.keyboard.press("Shift+O")
    expect(page.locator(".group-toggle[aria-expanded=false]")).to_have_count(0)
    expect(keys(page, "model.layers.11")).to_have_count(3)
    assert kept(page, "scalars.open") == ()
    page.reload()
    expect(keys(page, "model.layers.11")).to_have_count(3)
    page.keyboard.press("Shift+C")
    expect(page.locator(".group-toggle[aria-expanded=true]")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("expand all sections")
    page.keyboard.press("Enter")
    expect(keys(page, "model.layers.11").first).to_be_visible()


def test_the_palette_opens_the_sections_around_a_card(serve: Serve, page: Page, logdir: Path) -> None:
    write_scalars(logdir, TAGS)
    page.goto(serve(logdir).url)
    card = page.locator(".card[data-key='train/loss']")
    expect(card).to_be_visible()
    toggle(page, "train").click()
    expect(card).to_be_hidden()
    page.keyboard.press("Control+k")
    page.keyboard.type("train/loss")
    expect(page.get_by_role("listbox", name="Found").get_by_role("option").first).to_have_text("train/lossScalars")
    page.keyboard.press("Enter")
    expect(card).to_be_visible()
    expect(toggle(page, "train")).to_have_attribute("aria-expanded", "true")
    assert (kept(page, "scalars.open"), kept(page, "scalars.closed")) == (("train",), ())


def test_sections_move_by_their_menu_and_stay_there(serve: Serve, page: Page, logdir: Path) -> None:
    write_scalars(logdir, TAGS)
    page.goto(serve(logdir).url)
    expect(names(page)).to_have_text(["train", "val", "model.layers", "optim", "Other"])
    menu = head(page, "optim").get_by_role("button", name="Move this section")
    menu.press("Enter")
    page.get_by_role("menuitem", name="Move to the top").press("Enter")
    expect(names(page)).to_have_text(["optim", "train", "val", "model.layers", "Other"])
    expect(menu).to_be_focused()
    assert kept(page, "scalars.sections") == ("optim",)
    head(page, "val").get_by_role("button", name="Move this section").press("Enter")
    page.get_by_role("menuitem", name="Move up").click()
    expect(names(page)).to_have_text(["optim", "val", "train", "model.layers", "Other"])
    head(page, "Other").get_by_role("button", name="Move this section").press("Enter")
    expect(page.get_by_role("menuitem")).to_have_text(["Move to the top", "Move up"])
    page.keyboard.press("Escape")
    page.reload()
    expect(names(page)).to_have_text(["optim", "val", "train", "model.layers", "Other"])

    toggle(page, "model.layers").click()
    head(page, "model.layers.3").get_by_role("button", name="Move this section").press("Enter")
    page.get_by_role("menuitem", name="Move to the top").click()
    expect(page.locator(".inner-groups .group-name").first).to_have_text("model.layers.3")
    expect(page.locator(".inner-groups .group-name").nth(1)).to_have_text("model.layers.0")
    expect(names(page)).to_have_text(["optim", "val", "train", "model.layers", "Other"])


def test_sections_are_dragged_to_another_place(serve: Serve, page: Page, logdir: Path) -> None:
    write_scalars(logdir, TAGS)
    page.goto(serve(logdir).url)
    expect(names(page)).to_have_text(["train", "val", "model.layers", "optim", "Other"])

    def begin(name: str, onto: str) -> None:
        """Grab a section by its name, and hold it at the upper edge of another section's head."""
        toggle(page, name).scroll_into_view_if_needed()
        box = toggle(page, name).bounding_box()
        assert box is not None
        x, y = box["x"] + 20, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y - 8)
        expect(page.locator(".card >> visible=true")).to_have_count(0)
        target = head(page, onto).bounding_box()
        assert target is not None
        page.mouse.move(x, target["y"] + 2)
        expect(page.locator(f'.group[data-group="{onto}"]')).to_have_class(re.compile("drop-before"))

    begin("optim", "val")
    page.mouse.up()
    expect(names(page)).to_have_text(["train", "optim", "val", "model.layers", "Other"])
    # This did not count as a click: everything that was open still is.
    expect(page.locator(".group-toggle[aria-expanded=true]")).to_have_count(4)
    expect(head(page, "optim").get_by_role("button", name="Move this section")).to_be_focused()
    assert kept(page, "scalars.sections") == ("train", "optim")

    begin("Other", "train")
    page.keyboard.press("Escape")
    expect(keys(page, "train").first).to_be_visible()
    page.mouse.up()
    expect(page.locator(".dragged, .drop-before, .only-head")).to_have_count(0)
    assert kept(page, "scalars.sections") == ("train", "optim")
    page.reload()
    expect(names(page)).to_have_text(["train", "optim", "val", "model.layers", "Other"])


WIDTHS = """() => {
  const cards = [...document.querySelectorAll(".card")];
  return [...new Set(cards.map((card) => Math.round(card.getBoundingClientRect().width)))];
}"""


def columns(page: Page) -> int:
    """The number of cards beside each other in the first section."""
    places = keys(page, "train").evaluate_all("cards => cards.map(card => card.getBoundingClientRect().top)")
    return int(places.count(places[0]))


def test_cards_are_of_one_width_in_as_many_columns_as_the_user_wants(serve: Serve, page: Page, logdir: Path) -> None:
    write_scalars(logdir, [*(f"train/{number}" for number in range(7)), "val/x", "val/y", "alone"])
    page.goto(serve(logdir).url)
    expect(keys(page, "train")).to_have_count(7)
    expect(page.locator(".scalars-card")).to_have_count(10)
    for width, wanted in ((1280, 2), (1920, 4)):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"wanted => ({WIDTHS})().length === 1 && innerWidth === wanted", arg=width)
        assert columns(page) == wanted
    for number, wanted in (("3", 3), ("6", 6), ("1", 1)):
        page.locator("input[aria-label='Columns of cards']").click()
        page.get_by_role("option", name=re.compile(f"^{number} column")).click()
        expect(page.locator(".groups")).to_have_attribute("data-columns", number)
        assert columns(page) == wanted
        assert len(page.evaluate(WIDTHS)) == 1
    page.goto(page.url.replace("columns=1", "columns=5"))
    expect(keys(page, "train")).to_have_count(7)
    assert columns(page) == 5
    # The setting is personal: the next visit begins with the last choice.
    page.goto(page.url.partition("?")[0])
    expect(page.locator(".groups")).to_have_attribute("data-columns", "1")
    # In a narrow window, there are as many columns as fit.
    page.keyboard.press("[")
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function(f"() => ({WIDTHS})()[0] > 300")
    assert columns(page) == 1
    assert page.evaluate("() => document.getElementById('panel').scrollWidth") <= 390


def test_values_without_a_course_are_bars(serve: Serve, page: Page, logdir: Path) -> None:
    write_scalars(logdir, ["final/accuracy", "final/f1"], points=1, runs=("a", "b"))
    page.goto(serve(logdir).url)
    card = page.locator(".card[data-key='final/accuracy']")
    expect(card.locator(".bars li")).to_have_text([re.compile("a.*0.5"), re.compile("b.*0.75")])
    assert card.evaluate("card => card.getBoundingClientRect().height") < 120
    widths = card.locator(".bar i").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert widths[0] / widths[1] == pytest.approx(2 / 3, abs=0.01)
    # A second point makes it a chart.
    with SummaryWriter(logdir / "a") as writer:
        writer.add_scalar("final/accuracy", 0.6, 1)
    expect(card.locator(".bars")).to_have_count(0)
    expect(card.locator(".curve")).to_be_visible()


def write_media(logdir: Path) -> None:
    with SummaryWriter(logdir / "a") as writer:
        for step in range(2):
            writer.add_histogram("weights", np.linspace(0, step + 1, 50), step)
            writer.add_text("notes", f"text {step}", step)
            writer.add_mesh("mesh", np.random.default_rng(1).random((1, 9, 3)).astype(np.float32), global_step=step)
    for run in "abcdefgh":
        with SummaryWriter(logdir / run) as writer:
            writer.add_image("square", np.zeros((3, 8, 8), np.uint8), 0)
            writer.add_pr_curve("curve", np.array([0, 1, 1, 0]), np.array([0.2, 0.8, 0.6, 0.7]), 0)


def height(card: Locator) -> float:
    return float(card.evaluate("card => card.getBoundingClientRect().height"))


def draws_of(panel: str) -> str:
    """What a request for what the cards of a panel show contains."""
    return f"{panel}-drawn.data"


@pytest.mark.parametrize(
    ("panel", "jump"), [("histograms", 0), ("mesh", 8), ("text", 60), ("images", 8), ("pr_curves", 24)]
)
def test_cards_on_their_way_say_so_and_have_their_height(
    serve: Serve, page: Page, logdir: Path, panel: str, jump: float
) -> None:
    write_media(logdir)
    held = hold_callbacks(page, draws_of(panel))
    page.goto(serve(logdir).url + f"?tab={panel}")
    card = page.locator(f".{panel}-card")
    expect(card).to_have_attribute("aria-busy", "true")
    assert "Loading" in card.evaluate("card => getComputedStyle(card, '::after').content")
    before = height(card)
    held.release()
    expect(card).to_have_attribute("aria-busy", "false")
    assert card.evaluate("card => getComputedStyle(card, '::after').content") == "none"
    assert height(card) == pytest.approx(before, abs=jump)


def test_a_mesh_is_on_its_way_until_its_points_are_here(serve: Serve, page: Page, logdir: Path) -> None:
    write_media(logdir)
    held = Held(page, "/api/mesh/geometry")
    page.goto(serve(logdir).url + "?tab=mesh")
    card = page.locator(".mesh-card")
    expect(card.locator("canvas")).to_be_attached()
    expect(card).to_have_attribute("aria-busy", "true")
    held.release()
    expect(card).to_have_attribute("aria-busy", "false")


@pytest.mark.parametrize(
    ("panel", "address", "drawn"),
    [
        ("text", "/api/text/entries", ".entry"),
        ("mesh", "/api/mesh/geometry", "canvas[data-vertices]"),
        ("scalars", "/api/scalars/", ".curve"),
        ("histograms", CALLBACKS, ".js-plotly-plot .trace"),
    ],
)
def test_a_card_that_did_not_come_says_why_and_is_asked_for_again(
    serve: Serve, refused_page: Page, logdir: Path, panel: str, address: str, drawn: str
) -> None:
    write_media(logdir)
    write_scalars(logdir, ["loss"])
    page = refused_page
    words = draws_of(panel) if panel == "histograms" else ""
    server = Busy(page, address, words, status=None)
    page.goto(serve(logdir).url + f"?tab={panel}")
    card = page.locator(f".{panel}-card").first
    expect(card.get_by_role("alert")).to_have_text(re.compile("Not loaded: The server d(oes|id) not respond.*Retry"))
    expect(card).to_have_attribute("aria-busy", "false")
    before = server.refused
    card.get_by_role("button", name="Retry").click()
    expect(card.get_by_role("alert")).to_be_visible()
    assert server.refused > before
    server.free()
    # The card may have been requested automatically in the meantime.
    page.evaluate("() => document.querySelector('.not-loaded button')?.click()")
    expect(card.locator(drawn).first).to_be_visible()
    expect(card.get_by_role("alert")).to_have_count(0)
    expect(card).to_have_attribute("aria-busy", "false")
