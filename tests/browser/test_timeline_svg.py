"""The SVG context of the timeline: its document is well-formed, small, and looks like the canvas."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page

from tests.browser.scripts import script_of

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
PRELUDE = """
// Draws a scene on a canvas and, through SVG, on another; the greatest difference of each pixel's four channels.
window.differences = async (width, height, scene) => {
  const canvas = () => {
    const element = document.createElement("canvas");
    [element.width, element.height] = [width, height];
    return element.getContext("2d", {willReadFrequently: true});
  };
  const [drawn, traced] = [canvas(), canvas()];
  scene(drawn);
  const svg = new stepscope.timeline.SvgContext(width, height);
  scene(svg);
  const picture = new Image();
  picture.src = URL.createObjectURL(new Blob([svg.toString()], {type: "image/svg+xml"}));
  await picture.decode();
  traced.drawImage(picture, 0, 0);
  const [a, b] = [drawn, traced].map((context) => context.getImageData(0, 0, width, height).data);
  const found = [];
  for (let i = 0; i < a.length; i += 4) {
    found.push(Math.max(...[0, 1, 2, 3].map((k) => Math.abs(a[i + k] - b[i + k]))));
  }
  return {found, inked: a.filter((v, i) => i % 4 === 3 && v > 0).length};
};
// The document that a scene gives.
window.traced = (width, height, scene) => {
  const context = new stepscope.timeline.SvgContext(width, height);
  scene(context);
  return context.toString();
};
"""
SHAPES = """(c) => {
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.fillStyle = "#ffffff";
  c.fillRect(0, 0, 200, 120);
  c.save();
  c.beginPath();
  c.rect(10, 10, 150, 90);
  c.clip();
  for (let i = 0; i < 30; i += 1) {
    c.fillStyle = ["#d04040", "rgba(40, 120, 200, 0.5)", "seagreen"][i % 3];
    c.fillRect(4.25 + i * 6, 14, 5.5, 12);
  }
  // Over what was drawn before, in a color that was used before.
  c.fillStyle = "#d04040";
  c.fillRect(20, 18, 60, 4);
  c.globalAlpha = 0.4;
  c.fillStyle = "rgb(20, 20, 120)";
  c.beginPath();
  c.roundRect(90, 16, 100, 20, 6);
  c.fill();
  c.globalAlpha = 1;
  c.save();
  c.beginPath();
  c.arc(60, 70, 25, 0, 7);
  c.clip();
  c.fillStyle = "orange";
  c.fillRect(30, 50, 200, 200);
  c.restore();
  c.fillStyle = c.createPattern(document.createElement("canvas"), "repeat") && "purple";
  c.fillRect(120, 60, 100, 5);
  c.restore();
  c.strokeStyle = "#206020";
  c.lineWidth = 3;
  c.beginPath();
  c.moveTo(5, 110);
  c.bezierCurveTo(60, 20, 100, 180, 170, 60);
  c.lineTo(180, 100);
  c.stroke();
  c.setLineDash([6, 4]);
  c.lineWidth = 1;
  c.strokeRect(100.5, 80.5, 60, 30);
  c.setLineDash([]);
  c.beginPath();
  c.moveTo(170, 10);
  c.lineTo(190, 20);
  c.lineTo(170, 30);
  c.closePath();
  c.fill();
  c.save();
  c.translate(100, 50);
  c.scale(2, 0.5);
  c.rotate(0.3);
  c.fillRect(0, 0, 20, 20);
  c.restore();
  c.beginPath();
  c.arc(20, 90, 8, Math.PI, 0.5 * Math.PI, true);
  c.stroke();
}"""
TEXTS = """(c) => {
  c.fillStyle = "#ffffff";
  c.fillRect(0, 0, 300, 120);
  for (const [row, baseline] of ["alphabetic", "middle", "top", "bottom"].entries()) {
    for (const [column, align] of ["left", "center", "right"].entries()) {
      c.fillStyle = ["#803030", "rgba(10, 15, 30, 0.9)", "#20a040"][column];
      c.font = ["500 11px sans-serif", "600 12px serif", "italic bold 14px monospace"][column];
      c.textBaseline = baseline;
      c.textAlign = align;
      c.fillText("Kernel<" + row + "> & co", 10 + 140 * column, 24 + 24 * row);
    }
  }
}"""


@pytest.fixture
def blank(page: Page) -> Page:
    page.set_content("<!doctype html><body></body>")
    page.add_script_tag(content=script_of("svg.ts"))
    page.add_script_tag(content=PRELUDE)
    return page


def traced(page: Page, scene: str, width: int = 200, height: int = 120) -> str:
    """The SVG of a scene (a JavaScript function of a context)."""
    text: str = page.evaluate(f"() => traced({width}, {height}, {scene})")
    return text


def marks(text: str) -> list[tuple[str, dict[str, str]]]:
    """Names and attributes of the elements below the root, in order."""
    return [
        (element.tag.removeprefix(SVG), element.attrib) for element in list(ElementTree.fromstring(text).iter())[1:]
    ]


def differences(page: Page, scene: str, width: int, height: int) -> tuple[list[int], int]:
    """The difference per pixel, and how many pixels of the canvas have ink."""
    found: dict[str, Any] = page.evaluate(f"() => differences({width}, {height}, {scene})")
    return found["found"], found["inked"]


def test_shapes_look_as_on_a_canvas(blank: Page) -> None:
    found, inked = differences(blank, SHAPES, 200, 120)
    assert inked == len(found) == 24_000
    # Edges are smoothed by another routine; nothing is in another place or color.
    assert sum(difference > 48 for difference in found) <= 40
    assert sum(found) / len(found) < 0.5


def test_texts_stand_where_they_stand_on_a_canvas(blank: Page) -> None:
    found, _ = differences(blank, TEXTS, 300, 120)
    blanked, _ = differences(blank, TEXTS.replace("c.fillText", "c.fillStyle ? 0 : c.fillText"), 300, 120)
    ink, _ = differences(blank, TEXTS.replace("c.fillText(", "c.measureText && c.canvas && c.fillText("), 300, 120)
    assert sum(blanked) == 0
    # When drawn only on the canvas, the texts differ this much; when drawn on both, little difference remains.
    assert sum(ink) > 100_000
    assert sum(found) < 0.06 * sum(ink)


def test_the_document_has_its_size_and_hostile_text_is_text(blank: Page) -> None:
    names = """["<script>alert(1)</script>", "a & b", "</text>\\"'", "nul \\u0000 and \\ud800 half", "  two  spaces"]"""
    scene = f"(c) => {names}.forEach((name, i) => c.fillText(name, 10, 20 * i + 20))"
    text = traced(blank, scene)
    root = ElementTree.fromstring(text)
    assert (root.tag, root.get("width"), root.get("height"), root.get("viewBox")) == (
        f"{SVG}svg",
        "200",
        "120",
        "0 0 200 120",
    )
    assert [element.text for element in root.iter(f"{SVG}text")] == [
        "<script>alert(1)</script>",
        "a & b",
        "</text>\"'",
        "nul \ufffd and \ufffd half",
        "  two  spaces",
    ]
    assert {element.tag for element in root.iter()} == {f"{SVG}svg", f"{SVG}g", f"{SVG}text"}
    assert root.get("{http://www.w3.org/XML/1998/namespace}space") == "preserve"


def test_hostile_colors_and_fonts_stay_inside_their_attributes(blank: Page) -> None:
    text = traced(blank, """(c) => { c.fillStyle = 'red"/><script/>'; c.font = '9px "a<b"'; c.fillText("x", 1, 2); }""")
    ((name, style), _) = marks(text)
    assert (name, style["fill"], style["font-size"]) == ("g", "#000000", "9")
    assert "a<b" in style["font-family"]


def test_what_cannot_overlap_is_one_path_a_color(blank: Page) -> None:
    scene = """(c) => {
      for (let i = 0; i < 10000; i += 1) {
        c.fillStyle = ["#112233", "#445566", "#778899"][i % 3];
        c.fillRect((i % 500) * 3, Math.floor(i / 500) * 15, 2.25, 14);
      }
    }"""
    text = traced(blank, scene, 1500, 300)
    assert [(name, style["fill"]) for name, style in marks(text)] == [
        ("path", "#112233"),
        ("path", "#445566"),
        ("path", "#778899"),
    ]
    assert sum(len(re.findall("M", style["d"])) for _, style in marks(text)) == 10_000
    assert len(text) < 400_000


def test_what_overlaps_keeps_its_order(blank: Page) -> None:
    scene = """(c) => {
      c.fillStyle = "#ff0000"; c.fillRect(0, 0, 10, 10);
      c.fillStyle = "#0000ff"; c.fillRect(20, 0, 10, 10);
      c.fillStyle = "#ff0000"; c.fillRect(40, 0, 10, 10);
      c.fillText("over", 2, 8);
      c.fillStyle = "#0000ff"; c.fillRect(5, 5, 10, 10);
      c.globalAlpha = 0.5; c.fillRect(60, 60, 10, 10);
    }"""
    assert [
        (name, style.get("fill"), style.get("fill-opacity"), style.get("d"))
        for name, style in marks(traced(blank, scene))
    ] == [
        ("path", "#ff0000", None, "M0 0h10v10h-10zM40 0h10v10h-10z"),
        ("path", "#0000ff", None, "M20 0h10v10h-10z"),
        ("g", "#ff0000", None, None),
        ("text", None, None, None),
        ("path", "#0000ff", None, "M5 5h10v10h-10z"),
        ("path", "#0000ff", "0.5", "M60 60h10v10h-10z"),
    ]


def test_clips_are_nested_and_written_once(blank: Page) -> None:
    scene = """(c) => {
      for (let i = 0; i < 2; i += 1) {
        c.save();
        c.beginPath(); c.rect(0, 0, 50, 50); c.clip();
        c.beginPath(); c.rect(10, 10, 100, 100); c.clip();
        c.fillRect(0, 0 + 60 * i, 200, 20);
        c.restore();
      }
      c.fillRect(0, 100, 5, 5);
    }"""
    assert marks(traced(blank, scene)) == [
        ("defs", {}),
        ("clipPath", {"id": "clip0"}),
        ("path", {"d": "M0 0h50v50h-50z"}),
        ("clipPath", {"id": "clip1", "clip-path": "url(#clip0)"}),
        ("path", {"d": "M10 10h100v100h-100z"}),
        ("g", {"clip-path": "url(#clip1)"}),
        ("path", {"fill": "#000000", "d": "M0 0h200v20h-200zM0 60h200v20h-200z"}),
        ("path", {"fill": "#000000", "d": "M0 100h5v5h-5z"}),
    ]


def test_clearing_everything_forgets_and_another_context_lies_on_top(blank: Page) -> None:
    scene = """(c) => {
      c.fillRect(1, 1, 5, 5);
      c.clearRect(0, 0, 200, 120);
      c.fillRect(2, 2, 5, 5);
      c.clearRect(0, 0, 20, 20);
      const over = new stepscope.timeline.SvgContext(200, 120);
      over.setTransform(2, 0, 0, 2, 0, 0);
      over.fillStyle = "#00ff00";
      over.fillRect(3, 3, 5, 5);
      c.draw(over);
      c.fillRect(30, 30, 5, 5);
    }"""
    assert marks(traced(blank, scene)) == [
        ("path", {"fill": "#000000", "d": "M2 2h5v5h-5z"}),
        ("g", {"transform": "matrix(2 0 0 2 0 0)"}),
        ("path", {"fill": "#00ff00", "d": "M3 3h5v5h-5z"}),
        ("path", {"fill": "#000000", "d": "M30 30h5v5h-5z"}),
    ]


def test_numbers_that_are_none_and_patterns_draw_nothing(blank: Page) -> None:
    scene = """(c) => {
      c.fillRect(NaN, 0, 5, 5);
      c.lineWidth = Infinity;
      c.beginPath(); c.moveTo(0, NaN); c.lineTo(1, 1); c.lineTo(9, 1); c.stroke();
      c.fillText("nowhere", NaN, 3);
      c.fillStyle = c.createPattern();
      c.fillRect(0, 0, 5, 5);
      c.fillStyle = "rgba(1, 2, 3, 0)";
      c.fillRect(0, 0, 5, 5);
    }"""
    assert marks(traced(blank, scene)) == [("path", {"fill": "none", "stroke": "#000000", "d": "M1 1L9 1"})]
