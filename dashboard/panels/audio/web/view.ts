// @ts-nocheck
// The audio panel: the picture of one clip, and what mouse and keyboard do on it.
import * as data from "./data.ts";
import * as draw from "./draw.ts";
import { clipUrl } from "./steps.ts";
import { elements } from "../../../web/core/dom.ts";
import { player } from "./player.ts";
import { view as pageView } from "../../../web/page/view.ts";

// Assets load in the order of their names; elements.js comes later.
const make = (...args) => elements.make(...args);
const SETTLE_MS = 70;

export interface Span {
  start: number;
  stop: number;
}
export interface Handlers {
  seek: (seconds: number) => void;
  toggle: () => void;
  zoom: (span: Span | null) => void;
  rendered: (notes: string) => void;
}

/** What a view shows. `span` is the stretch of time, in seconds, that all views of a card share. */

/** How clips are drawn, as the toolbar says. */
export function look() {
  const value = (name, otherwise) => pageView.values("audio." + name)[0] ?? otherwise;
  return {
    pictures: value("pictures", "both"),
    fft: value("fft", "1024"),
    frequencies: value("frequencies", "mel"),
    spectra: value("spectra", "mix"),
    amplitude: value("amplitude", "full"),
    floor: Number(value("floor", -100)),
    ceiling: Number(value("ceiling", 0)),
  };
}

export function create(handlers: Handlers, tall) {
  const canvas = make("canvas", {});
  const head = make("div", { className: "playhead", hidden: true });
  const box = make("div", { className: "stretch", hidden: true });
  const readout = make("output", { className: "readout", hidden: true });
  const element = make(
    "div",
    {
      className: "audio-view",
      tabIndex: 0,
      role: "slider",
      "aria-label": "Position in the clip",
      title:
        "Click to seek, drag to zoom, double click for the whole clip; Ctrl and wheel zoom; Space plays, arrow keys seek",
    },
    canvas,
    box,
    head,
    readout,
  );
  const view = {
    element,
    canvas,
    head,
    box,
    readout,
    handlers,
    tall: tall || 1,
    clip: null,
    facts: null,
    color: null,
    span: { start: 0, stop: 1 },
    waves: null,
    spectra: new Map(),
    asked: "",
    abort: null,
    settling: 0,
    look: look(),
  };
  element.stepscopeView = view;
  listen(view);
  new ResizeObserver(() => refresh(view)).observe(element);
  return view;
}

export const duration = (view) => (view.facts && view.facts.rate ? view.facts.frames / view.facts.rate : 0);

/** Shows a clip. */
export function show(view, clip, facts, color, span) {
  if (!view.clip || clipUrl(view.clip) !== clipUrl(clip)) {
    view.waves = null;
    view.spectra = new Map();
    view.asked = "";
  }
  Object.assign(view, { clip, facts, color, span });
  refresh(view);
}

/** Draws with what is there, and asks for what is not. */
export function refresh(view) {
  view.look = { ...look(), tall: view.tall };
  if (!view.facts || !view.facts.rate || !view.element.clientWidth) return;
  paint(view);
  clearTimeout(view.settling);
  if (!view.waves && !view.spectra.size) ask(view);
  else view.settling = setTimeout(() => ask(view), SETTLE_MS);
}

/** Asks for the pictures of the stretch that is shown. */
async function ask(view) {
  const { clip, facts, span } = view;
  const { plot } = draw.geometry(view.element.clientWidth, span);
  const from = Math.max(0, Math.floor(span.start * facts.rate));
  const to = Math.min(facts.frames, Math.ceil(span.stop * facts.rate));
  if (to <= from || plot < 8) return;
  const width = Math.max(1, Math.min(4096, Math.round((plot * (to - from)) / facts.rate / (span.stop - span.start))));
  const shown = draw.lanes(facts.channels, view.look);
  const spectra = shown.filter((lane) => lane.kind === "spectrum");
  const key = JSON.stringify([
    clipUrl(clip),
    from,
    to,
    width,
    shown.map((lane) => [lane.kind, lane.channel, lane.height]),
    view.look.fft,
    view.look.frequencies,
  ]);
  if (view.asked === key) return;
  view.asked = key;
  if (view.abort) view.abort.abort();
  const abort = (view.abort = new AbortController());
  const stretch = { start: from / facts.rate, stop: to / facts.rate };
  try {
    const wave = shown.some((lane) => lane.kind === "wave")
      ? data.waveform(clip, facts, from, to, width, abort.signal)
      : null;
    const all = spectra.map((lane) =>
      data.spectrum(clip, facts, from, to, width, lane.height, view.look, lane.channel, abort.signal)
    );
    const [waves, ...found] = await Promise.all([wave, ...all]);
    if (view.asked !== key) return;
    view.waves = waves && { ...waves, ...stretch };
    view.spectra = new Map(found.map((picture, at) => [spectra[at].channel, { ...picture, ...stretch }]));
    view.element.dataset.drawn = key;
    paint(view);
    view.handlers.rendered(notes(view));
  } catch (error) {
    if (error.name === "AbortError") return;
    view.asked = "";
    view.handlers.rendered(error.message);
  }
}

function notes(view) {
  const found = [];
  if (view.waves && view.waves.notFinite) {
    found.push(`${elements.step(view.waves.notFinite)} values are NaN or infinite and not drawn`);
  }
  if ([...view.spectra.values()].some((picture) => !picture.whole)) {
    found.push("each pixel of the spectrogram is the loudest of some windows: zoom in for all");
  }
  if (view.facts.channels > 8) found.push(`the first 8 of ${view.facts.channels} channels`);
  return found.join(" · ");
}

function paint(view) {
  const { canvas, facts } = view;
  const all = draw.lanes(facts.channels, view.look);
  const last = all.at(-1);
  const height = last.top + last.height + 2 + draw.AXIS;
  const width = view.element.clientWidth;
  const ratio = devicePixelRatio || 1;
  view.element.style.height = height + "px";
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const style = getComputedStyle(view.element);
  const color = (name) => style.getPropertyValue(name).trim();
  const dark = document.documentElement.dataset.mantineColorScheme === "dark";
  const drawn = {
    ...draw.geometry(width, view.span),
    span: view.span,
    height,
    look: view.look,
    rate: facts.rate,
    channels: facts.channels,
    amplitude: amplitude(view),
    ink: view.color ? (dark ? view.color.dark : view.color.light) : color("--accent"),
    line: color("--line"),
    dim: color("--ink-dim"),
    soft: color("--ink-soft"),
    bad: color("--bad"),
  };
  view.drawn = { ...drawn, lanes: all };
  context.save();
  context.beginPath();
  context.rect(draw.GUTTER, 0, drawn.plot, height);
  context.clip();
  for (const lane of all) {
    context.fillStyle = color("--bg");
    context.fillRect(draw.GUTTER, lane.top, drawn.plot, lane.height);
    if (lane.kind === "wave" && view.waves) draw.drawWave(context, lane, view.waves, drawn);
    const picture = lane.kind === "spectrum" && view.spectra.get(lane.channel);
    if (picture) draw.drawSpectrum(context, lane, picture, drawn);
  }
  context.restore();
  draw.drawAxes(context, all, drawn);
}

/** What the height of a waveform stands for. */
function amplitude(view) {
  if (view.look.amplitude !== "fit" || !view.waves) return 1;
  let most = 0;
  for (const value of view.waves.bounds) if (Math.abs(value) > most) most = Math.abs(value);
  return most || 1;
}

/** The line that moves while the clip plays. */
export function playhead(view, seconds) {
  const at = seconds === null || !view.drawn ? -1 : view.drawn.x(seconds);
  view.head.hidden = at < draw.GUTTER - 1 || at > draw.GUTTER + view.drawn.plot + 1;
  view.head.style.left = at + "px";
  if (seconds === null) return;
  view.element.setAttribute("aria-valuemin", "0");
  view.element.setAttribute("aria-valuemax", duration(view).toFixed(3));
  view.element.setAttribute("aria-valuenow", seconds.toFixed(3));
  view.element.setAttribute("aria-valuetext", draw.clock(seconds, 0.01));
}

// --- under the pointer -------------------------------------------------------------------------------------

function valueAt(view, x, y) {
  const { drawn } = view;
  const seconds = drawn.seconds(x);
  const parts = [draw.clock(seconds, (drawn.span.stop - drawn.span.start) / drawn.plot / 2)];
  const lane = drawn.lanes.find((one) => y >= one.top && y < one.top + one.height);
  if (!lane || seconds > duration(view)) return parts.join("");
  const name = lane.channel === null ? "" : draw.channelName(lane.channel, drawn.channels);
  if (name) parts.push(name);
  const picture = lane.kind === "wave" ? view.waves : view.spectra.get(lane.channel);
  const column = picture
    ? Math.floor(((seconds - picture.start) / (picture.stop - picture.start)) * picture.width)
    : -1;
  if (!picture || column < 0 || column >= picture.width) return parts.join(" · ");
  if (lane.kind === "wave") {
    const place = 2 * (lane.channel * picture.width + column);
    const [low, high] = [picture.bounds[place], picture.bounds[place + 1]];
    parts.push(Number.isNaN(low) ? "NaN" : low === high ? low.toFixed(4) : `${low.toFixed(4)} to ${high.toFixed(4)}`);
  } else {
    const place = 1 - (y - lane.top) / lane.height;
    const row = Math.min(picture.height - 1, Math.floor((1 - place) * picture.height));
    const level = picture.levels[row * picture.width + column];
    parts.push(draw.hertzText(draw.frequencyScale(drawn.rate, drawn.look.frequencies).hertz(place)));
    parts.push(level ? `${(picture.top - (255 - level) / 2).toFixed(1)} dB` : `below ${picture.top - 127} dB`);
  }
  return parts.join(" · ");
}

function zoomAround(view, seconds, factor) {
  const { start, stop } = view.span;
  const left = Math.max(0, seconds - (seconds - start) * factor);
  view.handlers.zoom({ start: left, stop: left + (stop - start) * factor });
}

function listen(view) {
  const { element, box, readout, handlers } = view;
  let pressed = null;
  const place = (event) => {
    const frame = element.getBoundingClientRect();
    return [Math.min(Math.max(event.clientX - frame.left, draw.GUTTER), frame.width), event.clientY - frame.top];
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button || !view.drawn) return;
    pressed = place(event)[0];
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (!view.drawn) return;
    const [x, y] = place(event);
    readout.hidden = false;
    readout.textContent = valueAt(view, x, y);
    readout.style.left = x > element.clientWidth / 2 ? "auto" : x + 12 + "px";
    readout.style.right = x > element.clientWidth / 2 ? element.clientWidth - x + 12 + "px" : "auto";
    readout.style.top = Math.max(0, y - 26) + "px";
    box.hidden = pressed === null || Math.abs(x - pressed) < 5;
    if (box.hidden) return;
    box.style.left = Math.min(x, pressed) + "px";
    box.style.width = Math.abs(x - pressed) + "px";
  });
  element.addEventListener("pointerup", (event) => {
    if (pressed === null || !view.drawn) return;
    const [x] = place(event);
    const [from, to] = [view.drawn.seconds(Math.min(x, pressed)), view.drawn.seconds(Math.max(x, pressed))];
    if (Math.abs(x - pressed) >= 5) handlers.zoom({ start: from, stop: to });
    else if (from <= duration(view)) handlers.seek(from);
    pressed = null;
    box.hidden = true;
  });
  element.addEventListener("pointercancel", () => ((pressed = null), (box.hidden = true)));
  element.addEventListener("pointerleave", () => (readout.hidden = true));
  element.addEventListener("dblclick", () => handlers.zoom(null));
  element.addEventListener(
    "wheel",
    (event) => {
      if (!view.drawn || !(event.ctrlKey || event.shiftKey)) return;
      event.preventDefault();
      const amount = event.deltaY || event.deltaX;
      const length = view.span.stop - view.span.start;
      if (event.ctrlKey) zoomAround(view, view.drawn.seconds(place(event)[0]), 1.3 ** Math.sign(amount));
      else {handlers.zoom({
          start: Math.max(0, view.span.start + Math.sign(amount) * length * 0.1),
          stop: Math.max(0, view.span.start + Math.sign(amount) * length * 0.1) + length,
        });}
    },
    { passive: false },
  );
  element.addEventListener("keydown", (event) => keydown(view, event));
}

function keydown(view, event) {
  if (!view.facts || event.ctrlKey || event.metaKey || event.altKey) return;
  const now = player.time(clipUrl(view.clip)) || 0;
  const by = (view.span.stop - view.span.start) / (event.shiftKey ? 100 : 20);
  const acts = {
    " ": view.handlers.toggle,
    Enter: view.handlers.toggle,
    ArrowLeft: () => view.handlers.seek(Math.max(0, now - by)),
    ArrowRight: () => view.handlers.seek(Math.min(duration(view), now + by)),
    Home: () => view.handlers.seek(0),
    End: () => view.handlers.seek(duration(view)),
    "+": () => zoomAround(view, now, 0.5),
    "-": () => zoomAround(view, now, 2),
    0: () => view.handlers.zoom(null),
  };
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
}

/** Draws all views anew: settings or the scheme have changed. */
export const refreshAll = () =>
  document.querySelectorAll(".audio-view").forEach((element) => refresh(element.stepscopeView));
new MutationObserver(refreshAll).observe(document.documentElement, { attributeFilter: ["data-mantine-color-scheme"] });
