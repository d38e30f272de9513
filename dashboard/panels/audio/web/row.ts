// @ts-nocheck
// The audio panel: one clip with its buttons, facts, label and picture; in a card or side by side with another.
import * as compare from "./compare.ts";
import * as data from "./data.ts";
import * as draw from "./draw.ts";
import * as view from "./view.ts";
import { clipUrl } from "./steps.ts";
import { elements } from "../../../web/core/dom.ts";
import { player } from "./player.ts";

// Assets load in the order of their names; elements.js comes later.
const make = (...args) => elements.make(...args);
const icon = (...args) => elements.icon(...args);
const runLabel = (...args) => elements.runLabel(...args);

/** rows that are on the page */
const rows: Set<object> = new Set();

function sizeText(bytes) {
  return bytes < 1000
    ? `${bytes} B`
    : bytes < 1e6
    ? `${(bytes / 1000).toPrecision(3)} kB`
    : `${(bytes / 1e6).toPrecision(3)} MB`;
}

/** Duration, rate, channels, format and size. */
export function factsText(facts) {
  const parts = [];
  if (facts.rate) {
    parts.push(draw.clock(facts.frames / facts.rate, 0.001), `${elements.step(facts.rate)} Hz`);
    parts.push(facts.channels === 1 ? "mono" : facts.channels === 2 ? "stereo" : `${facts.channels} channels`);
  }
  if (facts.mime_type) parts.push(facts.format, sizeText(facts.size));
  return parts.join(" · ");
}

/** A row without a clip. */
export function create(
  run: { run: string; light: string; dark: string },
  options: { zoom: (span: object | null) => void; changed: (row: object) => void; lead?: HTMLElement; tall?: number },
) {
  const play = make("button", { className: "icon-button act-play", title: "Play", disabled: true }, icon("play", 16));
  const clock = make("output", { className: "clock" });
  const other = make("span", { className: "other dim" });
  const facts = make("span", { className: "facts dim" });
  const download = make(
    "a",
    { className: "icon-button", title: "Download the clip", download: "", hidden: true },
    icon("download", 14),
  );
  const pins = ["A", "B"].map((slot) =>
    make("button", { className: "quiet pin", title: `Compare: use as ${slot}`, "data-slot": slot }, slot)
  );
  const header = make(
    "header",
    {},
    play,
    options.lead || "",
    runLabel(run),
    other,
    clock,
    facts,
    make("span", { className: "pins" }, ...pins),
    download,
  );
  const label = make("div", { className: "prose clip-label", hidden: true });
  const note = make("p", { className: "clip-note", hidden: true });
  const body = make("div", { className: "clip-body" });
  const element = make("article", { className: "clip" }, header, label, body, note);
  const row = {
    run,
    options,
    element,
    play,
    clock,
    other,
    facts,
    download,
    pins,
    label,
    note,
    body,
    clip: null,
    known: null,
    url: "",
    loading: "",
    notes: "",
  };
  row.view = view.create(
    {
      seek: (seconds) => row.url && player.seek(row.url, seconds),
      toggle: () => row.url && player.toggle(row.url),
      zoom: options.zoom,
      rendered: (notes) => {
        row.notes = notes;
        showNote(row);
      },
    },
    options.tall,
  );
  // The clip that was asked for last, of which the facts may not be here yet.
  play.addEventListener("click", () => player.toggle(row.loading || row.url));
  for (const pin of pins) pin.addEventListener("click", () => compare.pin(pin.dataset.slot, row.clip));
  rows.add(row);
  return row;
}

function showNote(row) {
  const error = player.error(row.url);
  const parts = [error, row.known && row.known.notice, row.notes].filter(Boolean);
  row.note.hidden = !parts.length;
  row.note.classList.toggle("bad", !!error);
  const text = parts.join(" · ");
  if (row.note.textContent !== text) row.note.textContent = text;
}

/** Shows a clip; the promise is kept when its facts are there. */
export async function show(row, clip) {
  const url = clipUrl(clip);
  if (row.loading === url) return;
  row.loading = url;
  row.clip = clip;
  const known = await data.facts(clip);
  if (row.loading !== url) return;
  Object.assign(row, { known, url, notes: "" });
  row.facts.textContent = factsText(known);
  row.facts.title = row.facts.textContent;
  row.download.hidden = !known.mime_type || !known.size;
  row.download.href = clipUrl(clip, { download: true });
  // Sanitised by the server (dashboard/panels/audio/clips.py).
  row.label.innerHTML = known.label || "";
  row.label.hidden = !known.label;
  row.play.disabled = !!known.error;
  if (known.error) {
    const why = known.said ? known.error : `No sound: ${known.error}.`;
    row.body.replaceChildren(make("span", { className: "no-picture" }, icon("alert", 18), make("span", {}, why)));
  } else if (row.body.firstChild !== row.view.element) row.body.replaceChildren(row.view.element);
  showNote(row);
  row.options.changed(row);
  follow(row);
}

/** Draws the row's stretch of time. */
export function stretch(row, span) {
  if (row.known && !row.known.error && row.clip) view.show(row.view, row.clip, row.known, row.run, span);
  follow(row);
}

/** Brings a row in line with the player. */
export function follow(row) {
  const playing = player.playing(row.url);
  if (row.element.classList.contains("playing") !== playing) {
    row.element.classList.toggle("playing", playing);
    row.play.replaceChildren(icon(playing ? "pause" : "play", 16));
    row.play.title = playing ? "Pause" : "Play";
  }
  const at = row.url ? player.time(row.url) : null;
  view.playhead(row.view, row.known && !row.known.error ? at : null);
  const length = view.duration(row.view);
  const text = at === null
    ? ""
    : draw.clock(at, length < 10 ? 0.01 : 0.1) + " / " + draw.clock(length, length < 10 ? 0.01 : 0.1);
  if (row.clock.textContent !== text) row.clock.textContent = text;
  showNote(row);
  for (const pin of row.pins) pin.setAttribute("aria-pressed", String(compare.isPinned(pin.dataset.slot, row.clip)));
}

export function followAll() {
  for (const row of rows) {
    if (row.element.isConnected) follow(row);
    else if (row.gone) rows.delete(row);
  }
}
document.addEventListener("audio-moved", followAll);

export const remove = (row) => {
  row.gone = true;
  row.element.remove();
  rows.delete(row);
};
