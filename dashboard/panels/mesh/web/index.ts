// @ts-nocheck
// The mesh panel: cards with a step slider each, their geometry fetched when they are looked at, and one drawing loop.
import * as dash from "../../../web/core/dash.ts";
import * as input from "./input.ts";
import * as math from "./math.ts";
import * as meshGeometry from "./geometry.ts";
import * as scene from "./scene.ts";
import * as steps from "./steps.ts";
import { cameras } from "./cameras.ts";
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { elements } from "../../../web/core/dom.ts";
import { gl } from "./gl.ts";
import { view } from "../../../web/page/view.ts";

const { make, numbers } = elements;
const REST_MS = 140;
// While the camera moves a frame should take about so long; slower ones are made of fewer points.
const HASTE_MS = 30;
// A surface that takes longer is drawn as points while the camera moves.
const HEAVY_MS = 90;
const NO_CONTEXT = "This browser offers no WebGL 2, so meshes cannot be drawn. The PLY file can be downloaded.";
const LOST_CONTEXT = "The graphics driver took the drawing away; it comes back by itself, or after a reload.";
const BLANK = { camera: {}, material: {}, lights: [], ignored: [] };

/** as mesh_steps.js has it */
export interface Point {
  step: number;
  nth: number;
  index: number;
  wall: number;
}
export interface Card {
  key: string;
  tag: string;
  run: string;
  light: string;
  dark: string;
  looks: any;
  data: any;
  points: Point[];
  body: HTMLElement | null;
  canvas: HTMLCanvasElement | null;
  context: any;
  geometry: any;
  url: string;
  seen: any;
  visible: boolean;
  comparison: string;
  cost: number;
}
export const cards: Map<string, Card> = new Map();
/** Step and repeat that the user chose, by card; where there is none the newest is shown. */
const chosen: Map<string, [number, number]> = new Map();
const samples: Map<string, number> = new Map();
let read = false;

// --- steps and samples -------------------------------------------------------------------------------------

function readUrl() {
  if (read) return;
  read = true;
  for (
    const [name, store] of [["mesh.step", (key, value) => chosen.set(key, [value, 0])], [
      "mesh.sample",
      (key, value) => samples.set(key, value),
    ]]
  ) {
    for (const entry of view.values(name)) {
      const at = entry.lastIndexOf(":");
      const value = Number(entry.slice(at + 1));
      if (at > 0 && Number.isSafeInteger(value)) store(entry.slice(0, at), value);
    }
  }
}

const writeSteps = () =>
  view.update((_params, set) => set("mesh.step", [...chosen].map(([key, [step]]) => `${key}:${step}`)));
const writeSamples = () =>
  view.update((_params, set) =>
    set("mesh.sample", [...samples].filter(([, at]) => at).map(([key, at]) => `${key}:${at}`))
  );

function position(card) {
  if (!chosen.has(card.key)) return card.points.length - 1;
  const [step, nth] = chosen.get(card.key);
  return steps.nearest(card.points, step, nth);
}

const sample = (card) => Math.max(0, samples.get(card.key) || 0);

/** Moves a card, and with it all others if they are linked; at the end it follows what is new. */
function moveTo(card, at) {
  const last = card.points.length - 1;
  const target = card.points[at];
  const linked = scene.setting("link") === "on";
  for (const other of linked ? [...cards.values()].filter((one) => one.points.length) : [card]) {
    if (at >= last) chosen.delete(other.key);
    else chosen.set(other.key, [target.step, target.nth]);
    refresh(other);
  }
}

function turnSample(card, by) {
  const most = card.geometry ? card.geometry.header.samples : 1;
  samples.set(card.key, (sample(card) + by + most) % most);
  writeSamples();
  refresh(card);
}

// --- the drawing loop --------------------------------------------------------------------------------------

const dirty: Set<Card> = new Set();
let frame = 0;
let moving = false;
let resting = 0;
/** Of how many points one is drawn while the camera moves. */
let every = 1;
/** What the loop did, for measurements. */
export const stats = { frames: 0, milliseconds: 0, every: 1 };

function redraw(card) {
  dirty.add(card);
  if (!frame) frame = requestAnimationFrame(drawDirty);
}

const redrawAll = () => cards.forEach((card) => card.geometry && redraw(card));

function drawDirty() {
  frame = 0;
  const ready = [...dirty].filter((card) =>
    card.visible && card.geometry && card.geometry.positions.length && card.body && card.body.isConnected
  );
  dirty.clear();
  if (!ready.length) return;
  const began = performance.now();
  for (const card of ready) drawCard(card);
  stats.frames += 1;
  stats.milliseconds = performance.now() - began;
  stats.every = moving ? every : 1;
  if (moving) hurry(stats.milliseconds);
}

function drawCard(card) {
  const began = performance.now();
  const heavy = moving && card.geometry.faces && card.cost > HEAVY_MS;
  card.seen = scene.draw(card, moving ? every : 1, Boolean(heavy));
  if (!card.seen) complain(card, gl.context() ? LOST_CONTEXT : NO_CONTEXT);
  else if (card.shownMessage) complain(card, "");
  if (moving) return;
  card.cost = performance.now() - began;
  every = Math.min(gl.MOST_LEFT_OUT, Math.max(every, Math.floor(card.cost / HASTE_MS)));
}

/** Fewer points in the next frame if this one took long, more if there was time left. */
function hurry(milliseconds) {
  if (milliseconds > HASTE_MS * 1.4) every = Math.min(gl.MOST_LEFT_OUT, Math.ceil((every * milliseconds) / HASTE_MS));
  else if (milliseconds < HASTE_MS * 0.6) every = Math.max(1, Math.floor(every * 0.8));
}

/** The camera of a card moved: so do all that look through it. */
function moveCamera(card, camera) {
  cameras.set(card, camera);
  moving = true;
  clearTimeout(resting);
  redrawShared(card);
}

/** Draws all cards that look through a card's camera, or in its frame. */
function redrawShared(card) {
  for (const other of cards.values()) if (cameras.together(card, other) && other.geometry) redraw(other);
}

/** After the last movement everything is drawn whole. */
function rest() {
  clearTimeout(resting);
  resting = setTimeout(() => {
    moving = false;
    redrawAll();
  }, REST_MS);
}

function resetCamera(card) {
  if (!card.geometry || !card.geometry.positions.length) return;
  cameras.reset(card);
  redrawAll();
}

const onScreen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const card = entry.target.stepscopeMesh;
      card.visible = entry.isIntersecting;
      if (!card.visible) continue;
      load(card);
      redraw(card);
    }
  },
  { rootMargin: "100px 0px" },
);

const onSize = new ResizeObserver((entries) => {
  for (const entry of entries) {
    const card = entry.target.stepscopeMesh;
    const ratio = Math.min(2, devicePixelRatio || 1);
    card.canvas.width = Math.max(1, Math.round(entry.contentRect.width * ratio));
    card.canvas.height = Math.max(1, Math.round(entry.contentRect.height * ratio));
    redraw(card);
  }
});

// --- a card ------------------------------------------------------------------------------------------------

function controls(card) {
  const slider = make("input", { type: "range", min: "0", step: "1", className: "steps", "aria-label": "Step" });
  const sampler = make("span", { className: "samples", hidden: true });
  const before = make("button", { className: "icon-button", title: "Previous sample" }, "‹");
  const after = make("button", { className: "icon-button", title: "Next sample" }, "›");
  sampler.append(before, make("span", { className: "which" }), after);
  slider.addEventListener("input", () => moveTo(card, Number(slider.value)));
  slider.addEventListener("change", writeSteps);
  before.addEventListener("click", () => turnSample(card, -1));
  after.addEventListener("click", () => turnSample(card, 1));
  return make("div", { className: "controls" }, slider, make("output", { className: "at" }), sampler);
}

function build(card, body) {
  const canvas = make("canvas", {
    className: "mesh-canvas",
    tabIndex: 0,
    title: "Drag to turn, right drag or Shift to move, wheel to zoom, R to reset",
  });
  canvas.setAttribute("role", "img");
  canvas.setAttribute(
    "aria-label",
    `${card.tag}, ${card.run}: arrows turn, Shift and arrows move, plus and minus zoom, R resets`,
  );
  card.body = body;
  card.canvas = canvas;
  card.context = canvas.getContext("2d");
  card.seen = null;
  card.url = "";
  card.geometry = null;
  canvas.stepscopeMesh = card;
  body.replaceChildren(
    make("div", { className: "mesh-view" }, canvas, make("div", { className: "mesh-message", hidden: true })),
    controls(card),
    make("div", { className: "mesh-facts" }),
    make("ul", { className: "mesh-notes" }),
  );
  input.attach(canvas, {
    camera: () => cameras.of(card),
    seen: () => card.seen,
    move: (camera) => moveCamera(card, camera),
    rest,
    reset: () => resetCamera(card),
  });
  onScreen.observe(canvas);
  onSize.observe(canvas);
}

/** Says in place of the picture why there is none. */
function complain(card, text) {
  const message = card.body.querySelector(".mesh-message");
  card.shownMessage = text;
  message.hidden = !text;
  message.textContent = text;
}

function say(card, notes) {
  const list = card.body.querySelector(".mesh-notes");
  const ignored = card.looks.ignored;
  const items = notes.map((note) => make("li", {}, note));
  if (ignored.length) {
    items.push(
      make(
        "li",
        { className: "dim", title: ignored.join("\n") },
        `Not honoured of the logged configuration: ${ignored.join(", ")}`,
      ),
    );
  }
  list.replaceChildren(...items);
}

/** Brings a card's page elements in line with its data and the chosen step. */
function refresh(card) {
  const { body } = card;
  if (!body || !body.isConnected || !card.points.length) return;
  const last = card.points.length - 1;
  const at = position(card);
  const here = card.points[at];
  const slider = body.querySelector(".steps");
  slider.max = String(last);
  slider.value = String(at);
  slider.disabled = last === 0;
  const label = body.querySelector(".at");
  label.textContent = "step " + elements.step(here.step);
  slider.title = label.title = `${at + 1} of ${last + 1} steps · ${elements.when(here.wall)}`;
  slider.setAttribute("aria-valuetext", label.textContent);
  label.append(make("span", { className: "dim" }, elements.when(here.wall)));
  if (card.visible) load(card);
}

/** What is asked for of a card: its point, and the points of other series that belong to it. */
function query(card) {
  const { data } = card;
  const point = card.points[position(card)];
  const asked = new URLSearchParams([
    ["run", card.run],
    ["tag", card.tag],
    ["index", String(point.index)],
    ["sample", String(sample(card))],
    ["face", String(numbers(data.vertices.faces)[point.index])],
    ["color", String(numbers(data.vertices.colors)[point.index])],
  ]);
  return { asked, point };
}

function geometryUrl(card) {
  const { asked, point } = query(card);
  const against = card.data.against;
  card.comparison = "";
  const other = against && against.index ? numbers(against.index)[point.index] : -1;
  if (other >= 0) {
    asked.set("against_run", against.run);
    asked.set("against", String(other));
    // Tells apart what is kept here of runs that were started again.
    asked.set("against_time", String(numbers(against.walls)[other]));
    card.comparison = `moved from step ${elements.step(numbers(against.steps)[other])}${
      against.same_run ? "" : " of " + against.run
    }`;
  }
  if (Number.isFinite(point.wall)) {
    asked.set("step", String(point.step));
    asked.set("wall_time", String(point.wall));
  }
  return "/api/mesh/geometry?" + asked;
}

async function load(card) {
  if (!card.points.length) return;
  const url = geometryUrl(card);
  if (card.url === url) return;
  card.url = url;
  let geometry;
  try {
    geometry = await meshGeometry.get(url);
  } catch (error) {
    if (card.url !== url) return;
    // What was drawn before is of another step; the next look tries again.
    card.url = "";
    card.geometry = null;
    complain(card, error instanceof Error ? error.message : String(error));
    return;
  }
  if (card.url !== url || !card.body.isConnected) return;
  const { header } = geometry;
  card.geometry = header.error ? { ...geometry, faces: null } : geometry;
  card.canvas.dataset.vertices = String(geometry.positions.length / 3);
  complain(card, header.error && header.error[0].toUpperCase() + header.error.slice(1) + ".");
  say(card, [...card.data.problems, ...comparisonProblem(card), ...header.notes]);
  card.body.querySelector(".mesh-facts").textContent = facts(header);
  const sampler = card.body.querySelector(".samples");
  sampler.hidden = header.samples < 2;
  sampler.querySelector(".which").textContent = `sample ${sample(card) + 1} of ${header.samples}`;
  if (cameras.hold(card)) redrawShared(card);
  redraw(card);
}

function comparisonProblem(card) {
  const { against } = card.data;
  return against && against.error ? [against.error] : [];
}

const counted = (count, one, many) => `${elements.step(count)} ${count === 1 ? one : many}`;

function facts(header) {
  if (header.vertices === undefined) return "";
  const parts = [
    header.faces ? counted(header.vertices, "vertex", "vertices") : counted(header.vertices, "point", "points"),
  ];
  if (header.faces) parts.push(counted(header.faces, "face", "faces"));
  if (header.low) parts.push(header.low.map((low, i) => math.short(header.high[i] - low)).join(" × "));
  if (header.moved) {
    parts.push(`moved ${math.short(header.moved.mean)} on average, ${math.short(header.moved.most)} at most`);
  }
  return parts.join(" · ");
}

function fill(card, data) {
  Object.assign(card, {
    data,
    tag: data.tag,
    run: data.run,
    light: data.light,
    dark: data.dark,
    looks: data.looks || BLANK,
  });
  const article = pageCards.find("mesh", card.key);
  const body = article && article.querySelector(".fill");
  if (!body) return;
  if (card.body !== body || !body.firstChild) build(card, body);
  card.points = data.vertices ? steps.points(data.vertices) : [];
  body.classList.toggle("no-steps", !card.points.length);
  if (!card.points.length) {
    complain(card, data.problems.join(" ") || "No mesh was written yet.");
    return;
  }
  refresh(card);
  redraw(card);
}

// --- downloads, comparison, link ---------------------------------------------------------------------------

function save(url, name) {
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

function savePicture(card) {
  card.seen = scene.draw(card, 1, false);
  const name = `${card.run}_${card.tag}_step${card.points[position(card)].step}.png`.replace(/[^\w.-]/g, "_");
  card.canvas.toBlob((blob) => {
    const url = URL.createObjectURL(blob);
    save(url, name);
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
}

function compareWith(card) {
  view.update((_params, set) => set("mesh.compare", [`at:${card.points[position(card)].step}:${card.run}`]));
  view.follow("mesh.compare");
}

const ACTIONS = {
  "act-reset": resetCamera,
  "act-mesh_pin": compareWith,
  "act-download": (card) => save("/api/mesh/ply?" + query(card).asked, ""),
  "act-images": (card) => card.geometry && card.geometry.positions.length && savePicture(card),
};

async function copyLink(button) {
  cameras.writeUrl();
  try {
    await elements.toClipboard(location.href);
  } catch {
    return; // The address bar has it.
  }
  const before = [...button.childNodes];
  button.replaceChildren(elements.icon("check"));
  setTimeout(() => button.replaceChildren(...before), 1600);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest("#mesh-link, .mesh-card .actions button");
  if (!button) return;
  if (button.id === "mesh-link") return void copyLink(button);
  const card = cards.get(button.closest(".mesh-card").dataset.key);
  const act = ACTIONS[[...button.classList].find((name) => name in ACTIONS)];
  if (card && act && card.points.length) act(card);
});

const clientside = {
  drawMeshes(all) {
    readUrl();
    gl.whenRestored(redrawAll);
    for (const [key, card] of cards) if (card.body && !card.body.isConnected) cards.delete(key);
    for (const data of all) {
      if (!data) continue;
      let card = cards.get(data.key);
      if (!card) {
        cards.set(
          data.key,
          card = {
            key: data.key,
            data: null,
            points: [],
            body: null,
            geometry: null,
            visible: false,
            seen: null,
            url: "",
            cost: 0,
          },
        );
      }
      if (card.data !== data) fill(card, data);
    }
    return window.dash_clientside.no_update;
  },
  adjustMeshes() {
    const size = document.getElementById("mesh-size");
    if (size) size.textContent = Number(scene.setting("size")) ? scene.setting("size") + " px" : "auto";
    redrawAll();
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);
