/** The mesh panel: cards that each have a step slider and fetch their geometry when visible. */
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { failed, ready } from "../../../web/cards/loading.ts";
import { bind } from "../../../web/core/commands.ts";
import { noUpdate, propsOf, setProps, settingId } from "../../../web/core/dash.ts";
import { iconButton, make, numbers, stepText, when, within } from "../../../web/core/dom.ts";
import { save, saveBlob } from "../../../web/core/download.ts";
import { integer } from "../../../web/core/numbers.ts";
import { type Parameters } from "../../../web/core/request.ts";
import { noted } from "../../../web/core/setting.ts";
import { nearest, type Point, pointsOf } from "../../../web/core/steps.ts";
import { copyText } from "../../../web/page/layout.ts";
import { view } from "../../../web/page/view.ts";
import { cameras } from "./cameras.ts";
import { type Card, cards, complain, looksOf, type Parts } from "./card.ts";
import { commands } from "./commands.ts";
import { address, type Geometry, get } from "./geometry.ts";
import { gl } from "./gl.ts";
import { attach } from "./input.ts";
import { redraw, redrawAll, redrawShared, resetCamera } from "./loop.ts";
import type { MeshCard } from "./messages.generated.ts";
import { draw } from "./scene.ts";
import { settings } from "./settings.generated.ts";
import { facts, numbersByKey } from "./texts.ts";

// --- steps and samples -------------------------------------------------------------------------------------

/** Step and repeat chosen by the user, by card; without a choice, the newest is shown. */
const chosen: Map<string, [number, number]> = new Map();
const samples: Map<string, number> = new Map();
const inUrl = noted(() => [view.read(settings.step), view.read(settings.sample)]);

/** Takes the steps and samples from the address; returns whether it has others than the cards chose. */
function readUrl(): boolean {
  if (!inUrl.differs()) return false;
  chosen.clear();
  samples.clear();
  for (const [key, step] of numbersByKey(view.read(settings.step))) chosen.set(key, [step, 0]);
  for (const [key, sample] of numbersByKey(view.read(settings.sample))) samples.set(key, sample);
  return true;
}

function writeUrl(): void {
  view.update((_params, set) => {
    set(settings.step, [...chosen].map(([key, [step]]) => `${key}:${step}`));
    set(settings.sample, [...samples].filter(([, at]) => at).map(([key, at]) => `${key}:${at}`));
  });
  inUrl.note();
}

function position({ key, points }: Card): number {
  const wanted = chosen.get(key);
  return wanted ? nearest(points, ...wanted) : points.length - 1;
}

const pointOf = (card: Card): Point => card.points[position(card)];

const sampleOf = ({ key }: Card) => Math.max(0, samples.get(key) ?? 0);

/** Moves a card and, if cards are linked, all others; a card at the end follows new data. */
function moveTo(card: Card, at: number): void {
  const { step, nth } = card.points[at];
  const newest = at >= card.points.length - 1;
  for (const other of view.read(settings.link) ? cards.values() : [card]) {
    if (!other.points.length) continue;
    if (newest) chosen.delete(other.key);
    else chosen.set(other.key, [step, nth]);
    refresh(other);
  }
}

function turnSample(card: Card, by: number): void {
  const most = card.geometry?.header.samples || 1;
  samples.set(card.key, (sampleOf(card) + by + most) % most);
  writeUrl();
  refresh(card);
}

// --- a card ------------------------------------------------------------------------------------------------

const cardOf = (element: Element): Card | undefined =>
  cards.get(element.closest<HTMLElement>(".mesh-card")?.dataset.key ?? "");

const onScreen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const card = cardOf(target);
      // A canvas that has left the page says nothing about its replacement.
      if (card?.parts?.canvas !== target) continue;
      card.visible = isIntersecting;
      if (!isIntersecting) continue;
      void load(card);
      redraw(card);
    }
  },
  { rootMargin: "100px 0px" },
);

const onSize = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const card = cardOf(target);
    if (!card?.parts) continue;
    const ratio = Math.min(2, devicePixelRatio || 1);
    card.parts.canvas.width = Math.max(1, Math.round(contentRect.width * ratio));
    card.parts.canvas.height = Math.max(1, Math.round(contentRect.height * ratio));
    redraw(card);
  }
});

function build(card: Card, body: HTMLElement): Parts | null {
  const { tag, run } = card.data;
  const canvas = make("canvas", {
    className: "mesh-canvas",
    tabIndex: 0,
    title: "Drag to rotate, right-drag or Shift-drag to pan, scroll to zoom, R to reset",
    role: "img",
    "aria-label": `${tag}, ${run}: arrows turn, Shift and arrows move, plus and minus zoom, R resets`,
  });
  const context = canvas.getContext("2d");
  if (!context) return null;
  const which = make("span", { className: "which" });
  const parts: Parts = {
    body,
    canvas,
    context,
    message: make("div", { className: "mesh-message", hidden: true }),
    slider: make("input", { type: "range", min: "0", step: "1", className: "steps", "aria-label": "Step" }),
    label: make("output", { className: "at" }),
    sampler: make(
      "span",
      { className: "samples", hidden: true },
      iconButton("left", "Previous sample", () => turnSample(card, -1)),
      which,
      iconButton("right", "Next sample", () => turnSample(card, 1)),
    ),
    which,
    facts: make("div", { className: "mesh-facts" }),
    notes: make("ul", { className: "mesh-notes" }),
  };
  const { slider, label, sampler, message } = parts;
  slider.addEventListener("input", () => moveTo(card, Number(slider.value)));
  slider.addEventListener("change", writeUrl);
  body.replaceChildren(
    make("div", { className: "mesh-view" }, canvas, message),
    make("div", { className: "controls" }, slider, label, sampler),
    parts.facts,
    parts.notes,
  );
  attach(canvas, card);
  bind(canvas, commands);
  onScreen.observe(canvas);
  onSize.observe(canvas);
  return parts;
}

/** Remarks about a mesh. */
function notes(card: Card, { header }: Geometry): HTMLElement[] {
  const { problems, against } = card.data;
  const incomparable = against && "error" in against ? [against.error] : [];
  const items = [...problems, ...incomparable, ...header.notes].map((note) => make("li", {}, note));
  const { ignored } = looksOf(card);
  if (ignored.length) {
    const text = `Ignored settings from json_config: ${ignored.join(", ")}`;
    items.push(make("li", { className: "dim", title: ignored.join("\n") }, text));
  }
  return items;
}

/** Brings a card's page elements in line with its data and the chosen step. */
function refresh(card: Card): void {
  const { parts, points } = card;
  if (!parts?.body.isConnected || !points.length) return;
  const { slider, label } = parts;
  const last = points.length - 1;
  const at = position(card);
  const { step, wall } = points[at];
  slider.max = String(last);
  slider.value = String(at);
  slider.disabled = last === 0;
  const text = "step " + stepText(step);
  slider.title = label.title = `${at + 1} of ${last + 1} steps · ${when(wall)}`;
  slider.setAttribute("aria-valuetext", text);
  label.replaceChildren(text, make("span", { className: "dim" }, when(wall)));
  if (card.visible) void load(card);
}

/** The request for a card: its point, and the corresponding points of the other series that belong to it. */
function query(card: Card, { index }: Point): Parameters {
  const { run, tag, vertices } = card.data;
  const belonging = (part: "faces" | "colors") => vertices && numbers(vertices[part])[index];
  return { run, tag, index, sample: sampleOf(card), face: belonging("faces"), color: belonging("colors") };
}

/** The same request with the point to compare with, and the name of that comparison. */
function geometryQuery(card: Card): { requested: Parameters; comparison: string } {
  const point = pointOf(card);
  const { against } = card.data;
  const requested = {
    ...query(card, point),
    ...(Number.isFinite(point.wall) ? { step: point.step, wall_time: point.wall } : {}),
  };
  if (!against || "error" in against) return { requested, comparison: "" };
  const other = numbers(against.index)[point.index];
  if (other < 0) return { requested, comparison: "" };
  const from = `moved from step ${stepText(numbers(against.steps)[other])}`;
  return {
    // The time distinguishes cached data of runs that were restarted.
    requested: { ...requested, against_run: against.run, against: other, against_time: numbers(against.walls)[other] },
    comparison: against.same_run ? from : `${from} of ${against.run}`,
  };
}

async function load(card: Card): Promise<void> {
  if (!card.points.length) return;
  const { requested, comparison } = geometryQuery(card);
  const url = address("geometry", requested);
  card.comparison = comparison;
  if (card.url === url) return;
  card.url = url;
  try {
    const geometry = await get(requested);
    if (card.url === url) show(card, geometry);
  } catch (error) {
    if (card.url !== url) return;
    // The previous drawing shows another step; the card tries again when it is next viewed.
    card.url = "";
    card.geometry = null;
    const article = pageCards.find("mesh", card.key);
    if (article) failed(article, error, () => load(card));
  }
}

function drawn({ key }: Card): void {
  const article = pageCards.find("mesh", key);
  if (article) ready(article);
}

function show(card: Card, geometry: Geometry): void {
  const { parts } = card;
  if (!parts?.body.isConnected) return;
  const { header } = geometry;
  card.geometry = geometry;
  drawn(card);
  parts.canvas.dataset.vertices = String(geometry.positions.length / 3);
  complain(card, header.error && header.error[0].toUpperCase() + header.error.slice(1) + ".");
  parts.notes.replaceChildren(...notes(card, geometry));
  parts.facts.textContent = facts(header);
  parts.sampler.hidden = header.samples < 2;
  parts.which.textContent = `sample ${sampleOf(card) + 1} of ${header.samples}`;
  if (cameras.hold(card)) redrawShared(card);
  redraw(card);
}

function fill(card: Card): void {
  const { data } = card;
  const body = pageCards.find("mesh", card.key)?.querySelector<HTMLElement>(".fill");
  if (!body) return;
  if (card.parts?.body !== body || !body.firstChild) {
    card.parts = build(card, body);
    card.seen = card.geometry = null;
    card.url = "";
  }
  card.points = data.vertices ? pointsOf(numbers(data.vertices.steps), numbers(data.vertices.walls)) : [];
  body.classList.toggle("no-steps", !card.points.length);
  if (!card.points.length) {
    complain(card, data.problems.join(" ") || "No mesh has been written yet.");
    drawn(card);
  } else {
    refresh(card);
    redraw(card);
  }
}

// --- downloads, comparison, link ---------------------------------------------------------------------------

async function savePicture(card: Card): Promise<void> {
  if (!card.geometry?.extent || !card.parts) return;
  const { canvas } = card.parts;
  const { run, tag } = card.data;
  card.seen = draw(card, 1, false);
  const name = `${run}_${tag}_step${pointOf(card).step}.png`.replace(/[^\w.-]/g, "_");
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
  if (blob) saveBlob(blob, name);
}

/** An option in the list of comparisons. */
interface Comparison {
  value: string;
  label: string;
}

function compareWith(card: Card): void {
  const { step } = pointOf(card);
  const { run } = card.data;
  const value = `at:${step}:${run}`;
  view.write(settings.compare, value);
  const list = settingId(settings.compare.name);
  const offered = propsOf(list)?.data as Comparison[];
  const others = offered.filter((one) => one.value !== value);
  setProps(list, { data: [...others, { value, label: `Against step ${integer(step)} of ${run}` }], value });
}

/** The options in the list of comparisons: those the server found, and the one chosen now. */
export function offerComparisons(found: Comparison[], offered: Comparison[]): Comparison[] {
  const chosen = view.read(settings.compare);
  if (found.some(({ value }) => value === chosen)) return found;
  return [...found, ...offered.filter(({ value }) => value === chosen)];
}

const ACTIONS: [string, (card: Card) => void][] = [
  ["act-reset", resetCamera],
  ["act-mesh_pin", compareWith],
  ["act-download", (card) => save(address("ply", query(card, pointOf(card))), "")],
  ["act-images", (card) => void savePicture(card)],
];

document.addEventListener("click", (event) => {
  const button = within(event, "#mesh-link, .mesh-card .actions button");
  if (!button) return;
  if (button.id === "mesh-link") {
    cameras.writeUrl();
    return void copyText(location.href, "Link copied");
  }
  const card = cardOf(button);
  const found = ACTIONS.find(([name]) => button.classList.contains(name));
  if (card?.points.length && found) found[1](card);
});

export function drawMeshes(all: (MeshCard | null)[]) {
  readUrl();
  cameras.readUrl();
  gl.whenRestored(redrawAll);
  for (const [key, { parts }] of cards) if (parts && !parts.body.isConnected) cards.delete(key);
  for (const data of all) {
    if (!data) continue;
    let card = cards.get(data.key);
    if (card?.data === data) continue;
    if (card) card.data = data;
    else {
      const { key } = data;
      const blank = { points: [], parts: null, geometry: null, url: "", seen: null };
      card = { key, data, ...blank, visible: false, comparison: "", cost: 0 };
      cards.set(key, card);
    }
    fill(card);
  }
  return noUpdate();
}

export function adjustMeshes() {
  const shown = document.getElementById("mesh-size");
  const size = view.read(settings.size);
  if (shown) shown.textContent = size ? size + " px" : "auto";
  if (readUrl()) cards.forEach(refresh);
  cameras.readUrl();
  redrawAll();
  return noUpdate();
}
