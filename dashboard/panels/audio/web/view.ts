/** The picture of one clip. */
import { busy, failed, ready } from "../../../web/cards/loading.ts";
import { isAbort } from "../../../web/core/request.ts";
import { make } from "../../../web/core/dom.ts";
import { counted } from "../../../web/core/numbers.ts";
import { view as page } from "../../../web/page/view.ts";
import { type Clip, clipUrl } from "./clip.ts";
import * as data from "./data.ts";
import * as draw from "./draw.ts";
import { MOST_CHANNELS, MOST_WIDTH } from "./messages.generated.ts";
import * as scales from "./scales.ts";
import { settings } from "./settings.generated.ts";
import type { Span } from "./span.ts";

const SETTLE_MS = 70;

export interface Handlers {
  seek: (seconds: number) => void;
  toggle: () => void;
  zoom: (span: Span | null) => void;
  rendered: (notes: string) => void;
}

/** Colors of a run. */
export interface Colors {
  light: string;
  dark: string;
}

export interface View {
  element: HTMLElement;
  canvas: HTMLCanvasElement;
  head: HTMLElement;
  box: HTMLElement;
  readout: HTMLElement;
  handlers: Handlers;
  tall: number;
  /** The clip that is shown. */
  shown: { clip: Clip; facts: data.Facts; colors: Colors } | null;
  /** The time range, which all views of a card share. */
  span: Span;
  waves: (data.Wave & Span) | null;
  spectra: Map<number | null, data.Spectrum & Span>;
  /** The key of the latest request. */
  requested: string;
  abort: AbortController;
  settling: ReturnType<typeof setTimeout> | undefined;
  drawn: draw.Drawn | null;
}

const views = new WeakMap<Element, View>();

/** The view of an element, or of the nearest element around it. */
export function viewOf(element: EventTarget | null): View | null {
  const found = element instanceof Element ? element.closest(".audio-view") : null;
  return (found && views.get(found)) ?? null;
}

/** How clips are drawn, according to the toolbar. */
export function look(tall = 1): scales.Look {
  return {
    pictures: page.read(settings.pictures),
    fft: Number(page.read(settings.fft)),
    frequencies: page.read(settings.frequencies),
    spectra: page.read(settings.spectra),
    amplitude: page.read(settings.amplitude),
    floor: page.read(settings.floor),
    ceiling: page.read(settings.ceiling),
    tall,
  };
}

export function create(handlers: Handlers, tall = 1): View {
  const canvas = make("canvas");
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
      "aria-valuemin": 0,
      "aria-valuenow": 0,
      title:
        "Click to seek, drag to zoom, double-click for the whole clip; Ctrl+wheel zooms; Space plays, arrow keys seek",
    },
    canvas,
    box,
    head,
    readout,
  );
  const view: View = {
    element,
    canvas,
    head,
    box,
    readout,
    handlers,
    tall,
    shown: null,
    span: { start: 0, stop: 1 },
    waves: null,
    spectra: new Map(),
    requested: "",
    abort: new AbortController(),
    settling: undefined,
    drawn: null,
  };
  views.set(element, view);
  new ResizeObserver(() => refresh(view)).observe(element);
  return view;
}

/** The duration of the clip in seconds; 0 if unknown. */
export const duration = (view: View): number => view.shown?.facts.seconds ?? 0;

export function show(view: View, clip: Clip, facts: data.Facts, colors: Colors, span: Span): void {
  if (!view.shown || clipUrl(view.shown.clip) !== clipUrl(clip)) {
    view.waves = null;
    view.spectra = new Map();
    view.requested = "";
  }
  view.shown = { clip, facts, colors };
  view.span = span;
  refresh(view);
}

/** Draws what is available and requests what is missing. */
export function refresh(view: View): void {
  if (!view.shown?.facts.rate || !view.element.clientWidth) return;
  paint(view);
  clearTimeout(view.settling);
  if (!view.waves && !view.spectra.size) void ask(view);
  else view.settling = setTimeout(() => void ask(view), SETTLE_MS);
}

/** Requests the pictures of the visible time range. */
async function ask(view: View): Promise<void> {
  if (!view.shown) return;
  const { span, shown: { clip, facts } } = view;
  const how = look(view.tall);
  const { plot } = scales.geometry(view.element.clientWidth, span);
  const start = Math.max(0, Math.floor(span.start * facts.rate));
  const stop = Math.min(facts.frames, Math.ceil(span.stop * facts.rate));
  if (stop <= start || plot < 8) return;
  const pixels = Math.round((plot * (stop - start)) / facts.rate / (span.stop - span.start));
  const stretch = { start, stop, width: Math.max(1, Math.min(MOST_WIDTH, pixels)) };
  const lanes = scales.lanes(facts.channels, how);
  const spectra = lanes.filter((lane) => lane.kind === "spectrum");
  const key = JSON.stringify([
    clipUrl(clip),
    stretch,
    lanes.map((lane) => [lane.kind, lane.channel, lane.height]),
    how.fft,
    how.frequencies,
  ]);
  if (view.requested === key) return;
  view.requested = key;
  if (view.waves || view.spectra.size) ready(view.element);
  else busy(view.element);
  view.abort.abort();
  view.abort = new AbortController();
  const { signal } = view.abort;
  const seconds = { start: start / facts.rate, stop: stop / facts.rate };
  try {
    const [waves, ...found] = await Promise.all(
      [
        lanes.length > spectra.length ? data.waveform(clip, stretch, signal) : null,
        ...spectra.map((lane) => data.spectrogram(clip, stretch, lane.height, how, lane.channel, signal)),
      ] as const,
    );
    if (view.requested !== key) return;
    view.waves = waves && { ...waves, ...seconds };
    view.spectra = new Map(found.map((picture, at) => [spectra[at].channel, { ...picture, ...seconds }]));
    view.element.dataset.drawn = key;
    ready(view.element);
    paint(view);
    view.handlers.rendered(notes(view, facts.channels));
  } catch (error) {
    if (isAbort(error) || view.requested !== key) return;
    view.requested = "";
    failed(view.element, error, () => ask(view));
  }
}

function notes({ waves, spectra }: View, channels: number): string {
  const found: string[] = [];
  if (waves?.notFinite) {
    found.push(`${counted(waves.notFinite, "value is", "values are")} NaN or infinite and not drawn`);
  }
  if ([...spectra.values()].some((picture) => !picture.isWhole)) {
    found.push("each spectrogram pixel shows the loudest of several windows; zoom in for full detail");
  }
  if (channels > MOST_CHANNELS) found.push(`the first ${MOST_CHANNELS} of ${channels} channels`);
  return found.join(" · ");
}

const heightOf = (lanes: readonly scales.Lane[]): number => {
  const last = lanes[lanes.length - 1];
  return last.top + last.height + 2 + scales.AXIS;
};

/** Height of a one-channel picture in pixels: most clips have one channel, and the number is known only once loaded. */
export const likelyHeight = (tall?: number): number => heightOf(scales.lanes(1, look(tall)));

function paint(view: View): void {
  if (!view.shown) return;
  const { canvas, element, span, shown: { facts, colors } } = view;
  const how = look(view.tall);
  const lanes = scales.lanes(facts.channels, how);
  const height = heightOf(lanes);
  const width = element.clientWidth;
  const ratio = devicePixelRatio || 1;
  element.style.height = height + "px";
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = draw.contextOf(canvas);
  context.scale(ratio, ratio);
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const ink = document.documentElement.dataset.mantineColorScheme === "dark" ? colors.dark : colors.light;
  const drawn: draw.Drawn = {
    ...scales.geometry(width, span),
    span,
    height,
    look: how,
    rate: facts.rate,
    channels: facts.channels,
    amplitude: amplitude(how, view.waves),
    lanes,
    ink: ink.startsWith("var(") ? color("--accent") : ink,
    line: color("--line"),
    dim: color("--ink-dim"),
    soft: color("--ink-soft"),
    bad: color("--bad"),
  };
  view.drawn = drawn;
  context.save();
  context.beginPath();
  context.rect(scales.GUTTER, 0, drawn.plot, height);
  context.clip();
  for (const lane of lanes) {
    context.fillStyle = color("--bg");
    context.fillRect(scales.GUTTER, lane.top, drawn.plot, lane.height);
    if (lane.kind === "wave") {
      if (view.waves) draw.drawWave(context, lane, view.waves, drawn);
    } else {
      const picture = view.spectra.get(lane.channel);
      if (picture) draw.drawSpectrum(context, lane, picture, drawn);
    }
  }
  context.restore();
  draw.drawAxes(context, drawn);
}

/** The amplitude that the height of a waveform represents. */
function amplitude({ amplitude }: scales.Look, waves: data.Wave | null): number {
  if (amplitude !== "fit" || !waves) return 1;
  let most = 0;
  for (const value of waves.bounds) if (Math.abs(value) > most) most = Math.abs(value);
  return most || 1;
}

/** Places the line that moves while the clip plays. */
export function playhead(view: View, seconds: number | null): void {
  const { drawn, head, element } = view;
  const at = seconds === null || !drawn ? -1 : drawn.x(seconds);
  head.hidden = !drawn || at < scales.GUTTER - 1 || at > scales.GUTTER + drawn.plot + 1;
  head.style.left = at + "px";
  if (seconds === null) return;
  element.setAttribute("aria-valuemax", duration(view).toFixed(3));
  element.setAttribute("aria-valuenow", seconds.toFixed(3));
  element.setAttribute("aria-valuetext", scales.clock(seconds, 0.01));
}

/** Redraws all views after the settings or the color scheme changed. */
export function refreshAll(): void {
  for (const element of document.querySelectorAll(".audio-view")) {
    const view = views.get(element);
    if (view) refresh(view);
  }
}
new MutationObserver(refreshAll).observe(document.documentElement, { attributeFilter: ["data-mantine-color-scheme"] });
