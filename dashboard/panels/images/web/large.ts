// @ts-nocheck
// The images panel: a picture large, and two compared. Keys are in KEYS; the help lists them.
import * as downloads from "./downloads.ts";
import * as gallery from "./index.ts";
import * as imagesControls from "./controls.ts";
import * as imagesPixels from "./pixels.ts";
import * as pictures from "./pictures.ts";
import * as settings from "./settings.ts";
import * as steps from "./steps.ts";
import { elements, storage } from "../../../web/core/dom.ts";
import { slot as imagesSlot } from "./compare_side.ts";
import { source } from "./sources.ts";
import { view as pageView } from "../../../web/page/view.ts";
import { viewer as imagesViewer } from "./viewer.ts";

const { make, icon, runLabel, step, when } = elements;
const MODES = { off: "One", side: "Side by side", swipe: "Swipe", blink: "Blink", difference: "Difference" };
const NAMES = ["R", "G", "B", "A"];

/** What is open, if anything. */
let large = null;
let tried = false;
let catalog = { tags: [], runs: [] };

const mode = () => settings.get("compare") || "off";
const comparing = () => large.b && mode() !== "off";
const button = (name, title, act, size) => {
  const made = make("button", { type: "button", className: "icon-button", title }, icon(name, size || 16));
  made.addEventListener("click", act);
  return made;
};

const stateOf = (wanted) => ({
  run: wanted.run,
  tag: wanted.tag,
  step: wanted.point.step,
  nth: wanted.point.nth || 0,
  sample: wanted.sample,
});

/** Opens a picture, or two to be compared. */
export function open(one, two) {
  if (two) settings.set({ compare: mode() === "off" ? "side" : mode() });
  settings.set({ zoom: [] });
  start(stateOf(one), two ? stateOf(two) : null);
}

/** Once, when the page begins: opens what the URL names. */
export function openFromUrl() {
  if (tried) return;
  tried = true;
  const [one, two] = ["large", "other"].map((name) => {
    const [run, tag, at, sample] = settings.all(name);
    if (run === undefined || tag === undefined) return null;
    const stepOf = at === undefined || at === "" || !Number.isFinite(Number(at)) ? null : Number(at);
    return { run, tag, step: stepOf, nth: 0, sample: Math.max(0, Math.trunc(Number(sample)) || 0) };
  });
  if (one) start(one, two);
}

function start(one, two) {
  if (large) close();
  const dialog = make("dialog", { id: "large", tabIndex: -1, "aria-label": "Picture" });
  const what = make("div", { className: "what" });
  const modes = make("div", { className: "modes", role: "radiogroup", "aria-label": "Compare" });
  for (const [name, label] of Object.entries(MODES)) {
    const made = make("button", {
      type: "button",
      role: "radio",
      title: name === "off"
        ? "One picture (C for the next way)"
        : `Compare: ${label.toLowerCase()} (C for the next way)`,
      "data-mode": name,
    }, label);
    made.addEventListener("click", () => setMode(name));
    modes.append(made);
  }
  const original = make(
    "a",
    { className: "icon-button", title: "Download the original", download: "" },
    icon("download", 16),
  );
  const png = make(
    "button",
    { type: "button", className: "quiet", title: "Download what is shown, adjusted, as PNG" },
    "PNG",
  );
  png.addEventListener("click", savePng);
  const columnButton = button("sidebar", "Adjustments and histogram (H)", toggleColumn);
  const help = make("button", { type: "button", className: "icon-button", title: "Keys (?)" }, "?");
  help.addEventListener("click", toggleHelp);
  const head = make(
    "header",
    {},
    what,
    modes,
    original,
    png,
    columnButton,
    help,
    button("close", "Close (Esc)", () => dialog.close()),
  );
  const a = imagesSlot(one, () => schedule());
  const b = two ? imagesSlot(two, () => schedule()) : null;
  const controls = imagesControls.make({ changed: () => schedule(), blinkChanged: () => large.viewer.beat() });
  const viewer = imagesViewer({
    a: () => large.a,
    b: () => large.b,
    mode,
    look: controls.look,
    grid: () => true,
    hovered: showReadout,
    computed: (stats) => (controls.showStats(stats), large && showZoom()),
    zoomed: (view) => {
      if (!large) return;
      settings.set({ zoom: view.fit ? [] : [view.scale, view.x, view.y].map((value) => Number(value.toPrecision(6))) });
      viewer.place();
      showZoom();
    },
  });
  const readout = make("output", { className: "pixel" });
  const zoom = make("span", { className: "zooming" });
  const zoomText = make("output", { className: "zoom-at" });
  const fit = make("button", { type: "button", className: "quiet", title: "Fit (0)" }, "Fit");
  fit.addEventListener("click", () => viewer.viewport.set({ fit: true }));
  const actual = make(
    "button",
    { type: "button", className: "quiet", title: "One pixel of the screen per pixel (1)" },
    "1:1",
  );
  actual.addEventListener("click", oneToOne);
  zoom.append(
    button("minus", "Smaller (−)", () => zoomBy(1 / 2)),
    zoomText,
    button("plus", "Larger (+)", () => zoomBy(2)),
    fit,
    actual,
  );
  const sources = make("div", { className: "sources" });
  const foot = make("footer", {}, sources, zoom);
  dialog.append(
    head,
    make(
      "div",
      { className: "large-body" },
      make("div", { className: "canvas-box" }, viewer.element, readout),
      controls.element,
    ),
    foot,
  );
  dialog.addEventListener("close", closed);
  document.body.append(dialog);
  large = {
    dialog,
    a,
    b,
    viewer,
    controls,
    what,
    modes,
    original,
    sources,
    readout,
    zoomText,
    rows: [],
    scheduled: 0,
    drawnMoves: 0,
  };
  dialog.classList.toggle("no-column", storage.get("stepscope.images.column") === "off");
  const [scale, x, y] = settings.all("zoom").map(Number);
  if (scale > 0 && Number.isFinite(x) && Number.isFinite(y)) {
    Object.assign(viewer.viewport.view, { fit: false, scale, x, y });
  }
  dialog.showModal();
  dialog.focus();
  a.renew();
  if (b) b.renew();
  else if (mode() !== "off") addOther();
  makeRows();
  fetch("/api/images/catalog?" + new URLSearchParams([["view", pageView.params().toString().slice(0, 60_000)]]))
    .then((answer) => (answer.ok ? answer.json() : null))
    .then((found) => {
      if (!found || !large) return;
      catalog = found;
      schedule();
      if (mode() !== "off" && !large.b) addOther();
    })
    .catch(() => {});
  writeUrl();
}

// --- what is compared --------------------------------------------------------------------------------------

function setMode(name) {
  settings.set({ compare: name });
  if (name !== "off" && !large.b) addOther();
  makeRows();
  writeUrl();
  schedule();
}

/** The other picture where the user named none: the same step of another run, or the step before. */
function addOther() {
  // Called once more when the catalog is there.
  if (!catalog.runs.length) return;
  const { a } = large;
  const place = catalog.tags.indexOf(a.tag);
  const others = catalog.runs.filter((entry) => entry.run !== a.run && entry.tags.includes(place));
  const here = a.series && a.point();
  const before = a.series ? a.series.points[Math.max(a.at() - 1, 0)] : null;
  const state = others.length
    ? { run: others[0].run, tag: a.tag, step: here ? here.step : a.step, nth: 0, sample: a.sample }
    : { run: a.run, tag: a.tag, step: before ? before.step : a.step, nth: 0, sample: a.sample };
  large.b = imagesSlot(state, () => schedule());
  large.b.renew();
  makeRows();
  writeUrl();
}

function swapSlots() {
  if (!large.b) return;
  [large.a, large.b] = [large.b, large.a];
  makeRows();
  writeUrl();
  schedule();
}

function makeRows() {
  large.rows.forEach((row) => row.stepper.stop());
  const on = {
    catalog: () => catalog,
    go: (slot, news) => slot.set(news).then(() => moved(slot)),
    moved,
  };
  large.rows = [source("A", large.a, on), ...(comparing() ? [source("B", large.b, on)] : [])];
  const extras = [];
  if (comparing()) {
    const together = make("input", { type: "checkbox", checked: settings.on("together") });
    together.addEventListener("change", () => {
      settings.set({ together: together.checked ? "on" : "off" });
      moved(large.a);
    });
    extras.push(
      make(
        "label",
        { className: "together", title: "B goes to the step nearest to A's" },
        together,
        "B follows A’s step",
      ),
      button("swap", "Swap A and B (X)", swapSlots, 14),
    );
  }
  large.rows[large.rows.length - 1].element.append(...extras);
  large.sources.replaceChildren(...large.rows.map((row) => row.element));
}

/** After a picture was changed by hand. */
function moved(slot) {
  if (!large) return;
  if (comparing() && settings.on("together") && slot === large.a && large.a.series && large.b.series) {
    const here = large.a.point();
    if (here) large.b.move(steps.nearest(large.b.series.points, here.step, here.nth));
  }
  large.moves = (large.moves || 0) + 1;
  writeUrl();
}

function writeUrl() {
  const values = (slot) => (slot ? [slot.run, slot.tag, slot.step ?? "", slot.sample] : []);
  settings.set({ large: values(large.a), other: comparing() ? values(large.b) : [] });
}

// --- what is shown -----------------------------------------------------------------------------------------

function schedule() {
  if (large && !large.scheduled) large.scheduled = requestAnimationFrame(draw);
}

function draw() {
  if (!large) return;
  large.scheduled = 0;
  const { a, b, viewer, controls, what, modes, original } = large;
  large.dialog.classList.toggle("busy", a.busy || Boolean(b && b.busy));
  const here = a.series && a.point();
  const run = catalog.runs.find((entry) => entry.run === a.run) || { run: a.run, light: "#868e96", dark: "#868e96" };
  for (const slot of [a, b]) {
    if (slot) {
      Object.assign(
        slot,
        catalog.runs.find((entry) => entry.run === slot.run) && colorsOf(slot.run),
      );
    }
  }
  const facts = a.facts ? pictures.describe(a.facts) + noteOf(a) : "";
  const wall = a.facts && typeof a.facts.wall_time === "number" ? " · " + when(a.facts.wall_time) : "";
  what.replaceChildren(
    make("strong", { title: a.tag }, a.tag),
    runLabel(run),
    make(
      "span",
      { className: "dim facts" },
      here ? `step ${step(here.step)} · ${a.at() + 1} of ${step(a.series.points.length)}${wall}` : "",
    ),
    make("span", { className: "dim facts" }, facts),
  );
  for (const made of modes.children) {
    made.setAttribute("aria-checked", String(made.dataset.mode === (b ? mode() : "off")));
  }
  original.hidden = !here || !a.facts;
  if (here) original.href = pictures.downloadAddress(a.wanted());
  large.rows.forEach((row) => row.refresh());
  viewer.draw();
  controls.arrange(comparing() ? mode() : "off", a.pixels, b && b.pixels);
  const shown = comparing() && mode() === "blink" && viewer.isSecond() ? b.pixels : a.pixels;
  if (!(a.frames && a.frames.playing)) controls.showHistogram(shown);
  showZoom();
}

function colorsOf(run) {
  const { light, dark } = catalog.runs.find((entry) => entry.run === run);
  return { light, dark };
}

const noteOf = (
  slot,
) => (slot.pixels
  ? " · " + ["", "grey", "grey and alpha", "RGB", "RGBA"][slot.pixels.channels] +
    (slot.pixels.note ? ", " + slot.pixels.note : "")
  : "");

function showZoom() {
  if (large.viewer.main().empty()) return;
  const { scale } = large.viewer.viewport.of(large.viewer.main());
  large.zoomText.textContent = scale >= 1
    ? `${Number(scale.toPrecision(3))}×`
    : `${Number((100 * scale).toPrecision(2))}%`;
}

function valuesText(pixels, at) {
  const values = pixels ? imagesPixels.valuesAt(pixels, at.x, at.y) : [];
  if (!values.length) return "outside";
  const named = values.length < 3 ? ["", "A"] : NAMES;
  return values.map((value, i) => (named[i] ? named[i] + " " : "") + value).join("  ");
}

/** The pixel under the pointer. */
function showReadout(at) {
  if (!large) return;
  large.pointer = at;
  if (!at) return (large.readout.textContent = "");
  const parts = [`x ${at.x}  y ${at.y}`];
  if (!comparing()) parts.push(valuesText(large.a.pixels, at));
  else parts.push("A: " + valuesText(large.a.pixels, at), "B: " + valuesText(large.viewer.other(), at));
  large.readout.textContent = parts.join("   ");
}

// --- by hand -----------------------------------------------------------------------------------------------

function zoomBy(factor) {
  const stage = large.viewer.main();
  large.viewer.viewport.zoom(stage, factor, stage.canvas.width / 2, stage.canvas.height / 2);
}

function oneToOne() {
  const { viewport } = large.viewer;
  const now = viewport.of(large.viewer.main());
  viewport.set({ fit: false, scale: 1, x: now.x, y: now.y });
}

const panBy = (dx, dy) => large.viewer.viewport.pan(large.viewer.main(), dx * 60, dy * 60);

function savePng() {
  const canvas = large.viewer.whole();
  if (!canvas) return;
  const { a } = large;
  const name = `${a.run}_${a.tag}_step${a.point().step}_${comparing() ? mode() : "shown"}`;
  canvas.toBlob((blob) => blob && downloads.save(blob, downloads.fileName(name) + ".png"), "image/png");
}

function toggleColumn() {
  const off = large.dialog.classList.toggle("no-column");
  storage.set("stepscope.images.column", off ? "off" : "on");
}

function toggleHelp() {
  const there = large.dialog.querySelector(".key-help");
  if (there) return there.remove();
  const rows = HELP.flatMap((
    [keys, text],
  ) => [make("dt", {}, ...keys.split(" ").flatMap((key) => [make("kbd", {}, key), " "])), make("dd", {}, text)]);
  large.dialog.append(make("div", { className: "key-help" }, make("h4", {}, "Keys"), make("dl", {}, ...rows)));
}

/** To the next or previous run that has the tag. */
function turnRun(by) {
  const place = catalog.tags.indexOf(large.a.tag);
  const runs = catalog.runs.filter((entry) => entry.tags.includes(place)).map((entry) => entry.run);
  const at = runs.indexOf(large.a.run) + by;
  if (at >= 0 && at < runs.length) {
    const here = large.a.point();
    large.a.set({ run: runs[at], step: here && large.a.step !== null ? here.step : large.a.step }).then(() =>
      moved(large.a)
    );
  }
}

function toggle(name) {
  settings.set({ [name]: settings.on(name) ? "off" : "on" });
  large.controls.refresh();
  schedule();
}

const nextMode = () => {
  const names = Object.keys(MODES);
  setMode(names[(names.indexOf(large.b ? mode() : "off") + 1) % names.length]);
};
const first = () => large.rows[0];
function blink() {
  if (!comparing() || mode() !== "blink") return;
  large.viewer.swap();
  large.controls.refresh();
  schedule();
}
const divide = (by) => mode() === "swipe" && large.viewer.moveDivider(settings.number("divider", 0.5) + by);
const KEYS = {
  ArrowLeft: () => first().stepper.move(-1),
  ArrowRight: () => first().stepper.move(1),
  ArrowUp: () => turnRun(-1),
  ArrowDown: () => turnRun(1),
  Home: () => first().stepper.to(0),
  End: () => first().stepper.to(first().stepper.last()),
  " ": () => first().stepper.toggle(),
  "+": () => zoomBy(2),
  "=": () => zoomBy(2),
  "-": () => zoomBy(1 / 2),
  0: () => large.viewer.viewport.set({ fit: true }),
  1: oneToOne,
  c: nextMode,
  b: blink,
  d: () => setMode(mode() === "difference" ? "off" : "difference"),
  x: swapSlots,
  "[": () => divide(-0.02),
  "]": () => divide(0.02),
  i: () => toggle("invert"),
  r: () => large.controls.restore(),
  h: toggleColumn,
  s: () => first().turnSample(),
  ",": () => large.a.frames && large.a.turnFrame(-1),
  ".": () => large.a.frames && large.a.turnFrame(1),
  p: () => large.a.frames && large.a.playFrames(!large.a.frames.playing),
  "?": toggleHelp,
};
const SHIFTED = {
  ArrowLeft: () => panBy(1, 0),
  ArrowRight: () => panBy(-1, 0),
  ArrowUp: () => panBy(0, 1),
  ArrowDown: () => panBy(0, -1),
};
const HELP = [
  ["← →", "step"],
  ["Home End", "first, newest step"],
  ["Space", "play, pause"],
  ["↑ ↓", "run"],
  ["S", "next sample"],
  ["+ − wheel", "zoom"],
  ["0 1", "fit, 1:1"],
  ["Shift+arrows drag", "move the picture"],
  ["C", "next way to compare"],
  ["B", "blink by hand"],
  ["D", "difference"],
  ["X", "swap A and B"],
  ["[ ]", "divider of swipe"],
  ["I", "invert"],
  ["R", "as stored"],
  ["H", "adjustments and histogram"],
  [", .", "frame of an animation"],
  ["P", "play, pause the animation"],
  ["Esc", "close"],
];

document.addEventListener("keydown", (event) => {
  if (
    !large || event.ctrlKey || event.metaKey || event.altKey ||
    event.target.matches('select, input:not([type="checkbox"])')
  ) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === " " && event.target.matches("button")) return;
  const act = (event.shiftKey && SHIFTED[key]) || KEYS[key];
  if (!act) return;
  event.preventDefault();
  act();
});

// --- the end -----------------------------------------------------------------------------------------------

function close() {
  large.dialog.close();
  closed();
}

function closed() {
  if (!large) return;
  const { a, b, viewer, dialog, rows, moves } = large;
  rows.forEach((row) => row.stepper.stop());
  viewer.close();
  a.close();
  if (b) b.close();
  dialog.remove();
  large = null;
  settings.set({ large: [], other: [], compare: "off", zoom: [] });
  const here = a.series && a.point();
  if (moves && here) gallery.moveTo(a.run, a.tag, here.step);
}

/** New data came: what is open asks for its steps again. */
export function renew() {
  if (!large) return;
  large.a.renew();
  if (large.b) large.b.renew();
}
