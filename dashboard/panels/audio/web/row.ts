/** One clip with its buttons, facts, label and picture, in a card or beside another clip. */
import { busy, ready, retryButton } from "../../../web/cards/loading.ts";
import { bind } from "../../../web/core/commands.ts";
import { icon, iconButton, make, runLabel } from "../../../web/core/dom.ts";
import { type Clip, clipUrl } from "./clip.ts";
import { ON_CLIP } from "./commands.ts";
import * as data from "./data.ts";
import { type Slot, SLOTS } from "./entries.ts";
import { listen } from "./interactions.ts";
import * as pins from "./pins.ts";
import { player } from "./player.ts";
import { clock } from "./scales.ts";
import type { Span } from "./span.ts";
import * as views from "./view.ts";

/** A run that has clips. */
export interface RowRun extends views.Colors {
  run: string;
}

interface Options {
  zoom: (span: Span | null) => void;
  /** Called when its facts have arrived. */
  changed: () => void;
  lead?: HTMLElement;
  tall?: number;
}

export interface Row {
  run: RowRun;
  changed: () => void;
  element: HTMLElement;
  play: HTMLButtonElement;
  clock: HTMLElement;
  other: HTMLElement;
  facts: HTMLElement;
  download: HTMLAnchorElement;
  pins: [Slot, HTMLButtonElement][];
  label: HTMLElement;
  note: HTMLElement;
  body: HTMLElement;
  view: views.View;
  /** The latest clip requested; its facts may not have arrived yet. */
  clip: Clip | null;
  loading: string;
  /** The facts of the clip that is shown. */
  known: data.Facts | null;
  url: string;
  notes: string;
}

/** Rows on the page. */
const rows: Set<Row> = new Set();

/** The colors of a run, from any row that shows it. */
export const colorsOf = (run: string): views.Colors =>
  [...rows].find((row) => row.run.run === run)?.run ?? { light: "var(--accent)", dark: "var(--accent)" };

/** The longest clip of some rows, in seconds. */
export const longest = (all: Iterable<Row>): number =>
  Math.max(0, ...Array.from(all, ({ known }) => known?.seconds ?? 0));

/** Makes a play button look like a pause button, with its title, while its clip plays. */
export function showPlaying(button: HTMLButtonElement, playing: boolean, size: number, title = ""): void {
  if (button.dataset.playing === String(playing)) return;
  button.dataset.playing = String(playing);
  button.replaceChildren(icon(playing ? "pause" : "play", size));
  if (!title) return;
  button.title = title;
  button.setAttribute("aria-label", title);
}

/** Creates a row without a clip. */
export function create(run: RowRun, { zoom, changed, lead, tall }: Options): Row {
  const view = views.create({
    seek: (seconds) => row.url && player.seek(row.url, seconds),
    toggle: () => row.url && player.toggle(row.url),
    zoom,
    rendered(notes) {
      row.notes = notes;
      showNote(row);
    },
  }, tall);
  listen(view);
  bind(view.element, ON_CLIP);
  const play = iconButton("play", "Play", () => player.toggle(row.loading || row.url), 16);
  play.classList.add("act-play");
  play.disabled = true;
  const row: Row = {
    run,
    changed,
    element: make("article", { className: "clip" }),
    play,
    clock: make("output", { className: "clock" }),
    other: make("span", { className: "other dim" }),
    facts: make("span", { className: "facts dim" }),
    download: make(
      "a",
      {
        className: "icon-button",
        title: "Download the clip",
        "aria-label": "Download the clip",
        download: "",
        hidden: true,
      },
      icon("download", 14),
    ),
    pins: SLOTS.map((slot) => [slot, pinButton(slot)]),
    label: make("div", { className: "prose clip-label", hidden: true }),
    note: make("p", { className: "clip-note", hidden: true }),
    body: make("div", { className: "clip-body" }),
    view,
    clip: null,
    loading: "",
    known: null,
    url: "",
    notes: "",
  };
  for (const [slot, button] of row.pins) {
    button.addEventListener("click", () => row.clip && pins.pin(slot, row.clip));
  }
  const header = make(
    "header",
    {},
    play,
    lead ?? "",
    runLabel(run),
    row.other,
    row.clock,
    row.facts,
    make("span", { className: "pins" }, ...row.pins.map(([, button]) => button)),
    row.download,
  );
  row.body.style.minHeight = views.likelyHeight(tall) + "px";
  row.element.append(header, row.label, row.body, row.note);
  rows.add(row);
  return row;
}

const pinButton = (slot: Slot): HTMLButtonElement =>
  make("button", { className: "quiet pin", title: `Compare: use as ${slot}`, "data-slot": slot }, slot);

function showNote(row: Row): void {
  const error = player.error(row.url);
  const text = [error, row.known?.notice, row.notes].filter(Boolean).join(" · ");
  row.note.hidden = !text;
  row.note.classList.toggle("bad", !!error);
  if (row.note.textContent !== text) row.note.textContent = text;
}

/** Shows a clip; the promise resolves when its facts have arrived. */
export async function show(row: Row, clip: Clip): Promise<void> {
  const url = clipUrl(clip);
  if (row.loading === url) return;
  row.loading = url;
  row.clip = clip;
  if (!row.known) busy(row.body);
  const known = await data.facts(clip);
  if (row.loading !== url) return;
  ready(row.body);
  row.body.style.minHeight = "";
  Object.assign(row, { known, url, notes: "" });
  row.facts.textContent = row.facts.title = data.factsText(known);
  row.download.hidden = !known.mime_type || !known.size;
  row.download.href = clipUrl(clip, { download: true });
  // Sanitized by the server (dashboard/panels/audio/clips.py).
  row.label.innerHTML = known.label;
  row.label.hidden = !known.label;
  row.play.disabled = !!known.error;
  if (known.error) {
    const why = known.said ? known.error : `No sound: ${known.error}.`;
    const retry = retryButton(() => {
      row.loading = "";
      void show(row, clip);
    }, "quiet");
    const parts = [icon("alert", 18), make("span", {}, why), ...(known.said ? [retry] : [])];
    row.body.replaceChildren(make("span", { className: "no-picture" }, ...parts));
  } else if (row.body.firstChild !== row.view.element) row.body.replaceChildren(row.view.element);
  showNote(row);
  row.changed();
  follow(row);
}

/** Draws a time range of the row's clip. */
export function stretch(row: Row, span: Span): void {
  if (row.known && !row.known.error && row.clip) views.show(row.view, row.clip, row.known, row.run, span);
  follow(row);
}

/** Brings a row in line with the player. */
function follow(row: Row): void {
  const playing = player.playing(row.url);
  row.element.classList.toggle("playing", playing);
  showPlaying(row.play, playing, 16, playing ? "Pause" : "Play");
  const at = row.url ? player.time(row.url) : null;
  views.playhead(row.view, row.known?.error ? null : at);
  const length = views.duration(row.view);
  const digits = length < 10 ? 0.01 : 0.1;
  const text = at === null ? "" : `${clock(at, digits)} / ${clock(length, digits)}`;
  if (row.clock.textContent !== text) row.clock.textContent = text;
  showNote(row);
  for (const [slot, button] of row.pins) button.setAttribute("aria-pressed", String(pins.isPinned(slot, row.clip)));
}

function followAll(): void {
  for (const row of rows) if (row.element.isConnected) follow(row);
}
player.onMove(followAll);
pins.onPin(followAll);

export function remove(row: Row): void {
  row.element.remove();
  rows.delete(row);
}
