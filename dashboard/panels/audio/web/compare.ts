// @ts-nocheck
// The audio panel: two clips, A and B, one under the other on one time axis, and back and forth between them while they play.
import * as audioRow from "./row.ts";
import { clamp, runColor } from "./index.ts";
import { clipUrl } from "./steps.ts";
import { elements } from "../../../web/core/dom.ts";
import { player } from "./player.ts";
import { view } from "../../../web/page/view.ts";

// Assets load in the order of their names; elements.js comes later.
const make = (...args) => elements.make(...args);
const icon = (...args) => elements.icon(...args);
const SLOTS = ["A", "B"];

let open: { dialog: HTMLDialogElement; rows: Map<string, object>; zoom: object | null } | null = null;

/** The clips under A and B, as the URL has them. */
function pinned(): Map<string, Clip> {
  const found = new Map();
  for (const entry of view.values("audio.compare")) {
    try {
      const [slot, tag, run, index, step, wall, sample] = JSON.parse(entry);
      if (SLOTS.includes(slot) && [index, step, sample].every(Number.isInteger)) {
        found.set(slot, { tag: String(tag), run: String(run), index, step, wall: Number(wall), sample });
      }
    } catch {
      continue;
    }
  }
  return found;
}

function write(all) {
  const entries = [...all].map(([slot, clip]) =>
    JSON.stringify([slot, clip.tag, clip.run, clip.index, clip.step, clip.wall, clip.sample])
  );
  view.update((_params, set) => set("audio.compare", entries.sort()));
  tray();
  audioRow.followAll();
}

/** Puts a clip under A or B, or takes it away. */
export function pin(slot, clip) {
  const all = pinned();
  if (isPinned(slot, clip)) all.delete(slot);
  else all.set(slot, clip);
  write(all);
}

export function isPinned(slot, clip) {
  const there = pinned().get(slot);
  return !!there && !!clip && clipUrl(there) === clipUrl(clip);
}

const name = (clip) =>
  `${clip.tag} · ${clip.run} · step ${elements.step(clip.step)}${clip.sample ? ` · sample ${clip.sample + 1}` : ""}`;

/** The bar at the foot of the panel that says what is under A and B. */
export function tray() {
  const panel = document.querySelector(".panel.audio");
  if (!panel) return;
  let bar = panel.querySelector(".audio-tray");
  const all = pinned();
  if (!all.size) return bar && bar.remove();
  if (!bar) {
    panel.append(bar = make("div", { className: "audio-tray", role: "region", "aria-label": "Clips to compare" }));
  }
  const parts = SLOTS.map((slot) => {
    const clip = all.get(slot);
    return make(
      "span",
      { className: clip ? "slot" : "slot dim", title: clip ? name(clip) : "" },
      make("b", {}, slot),
      clip ? name(clip) : "choose with the button " + slot + " of a clip",
    );
  });
  const compare = make(
    "button",
    { className: "quiet act-compare", disabled: all.size < 2 },
    icon("compare", 14),
    " Compare",
  );
  compare.addEventListener("click", show);
  const clear = make("button", { className: "icon-button", title: "Compare nothing" }, icon("close", 14));
  clear.addEventListener("click", () => write(new Map()));
  bar.replaceChildren(...parts, compare, clear);
}

function show() {
  const all = pinned();
  if (all.size < 2 || open) return;
  const dialog = make("dialog", { id: "audio-compare", "aria-label": "Two clips" });
  const play = make(
    "button",
    { className: "icon-button act-play-pair", title: "Play or pause (Space)" },
    icon("play", 18),
  );
  const swap = make("div", { className: "ab", role: "group", "aria-label": "Which is heard" });
  for (const slot of SLOTS) {
    const button = make("button", {
      className: "quiet",
      "data-slot": slot,
      title: `Hear ${slot} from the same place (X swaps)`,
    }, slot);
    button.addEventListener("click", () => hear(slot));
    swap.append(button);
  }
  const whole = make("button", { className: "quiet act-whole", hidden: true }, "Whole clips");
  whole.addEventListener("click", () => zoom(null));
  const close = make("button", { className: "icon-button", title: "Close (Esc)" }, icon("close", 18));
  close.addEventListener("click", () => dialog.close());
  play.addEventListener("click", () => player.toggle(open.rows.get(open.heard).url));
  const body = make("div", { className: "pair" });
  dialog.append(
    make(
      "header",
      {},
      play,
      swap,
      make("span", { className: "dim" }, "X goes back and forth at the same place"),
      make("span", { className: "spacer" }),
      whole,
      close,
    ),
    body,
  );
  document.body.append(dialog);
  open = { dialog, rows: new Map(), zoom: null, heard: "A" };
  for (const [slot, clip] of [...all].sort()) {
    const known = runColor(clip.run);
    const lead = make(
      "span",
      { className: "slot" },
      make("b", {}, slot),
      make("span", { className: "dim" }, `${clip.tag} · step ${elements.step(clip.step)}`),
    );
    const row = audioRow.create({ run: clip.run, ...known }, { zoom, changed: layout, lead, tall: 1.5 });
    open.rows.set(slot, row);
    body.append(row.element);
    audioRow.show(row, clip);
  }
  dialog.addEventListener("close", () => {
    player.pause();
    for (const row of open.rows.values()) audioRow.remove(row);
    dialog.remove();
    open = null;
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "x") hear(open.heard === "A" ? "B" : "A");
    else if (event.key === " " && !event.target.closest("button, .audio-view")) play.click();
    else return;
    event.preventDefault();
  });
  dialog.showModal();
  follow();
}

function hear(slot) {
  open.heard = slot;
  player.swap(open.rows.get(slot).url);
  follow();
}

function zoom(span) {
  open.zoom = span;
  layout();
}

function layout() {
  if (!open) return;
  const all = [...open.rows.values()];
  const longest = Math.max(
    0,
    ...all.map((row) => (row.known && row.known.rate ? row.known.frames / row.known.rate : 0)),
  );
  open.zoom = clamp(open.zoom, longest);
  open.dialog.querySelector(".act-whole").hidden = !open.zoom;
  for (const row of all) audioRow.stretch(row, open.zoom || { start: 0, stop: longest || 1 });
}

function follow() {
  if (!open) return;
  for (const [slot, row] of open.rows) if (row.url && player.playing(row.url)) open.heard = slot;
  const playing = [...open.rows.values()].some((row) => player.playing(row.url));
  const play = open.dialog.querySelector(".act-play-pair");
  if (play.dataset.playing !== String(playing)) {
    play.dataset.playing = String(playing);
    play.replaceChildren(icon(playing ? "pause" : "play", 18));
  }
  for (const button of open.dialog.querySelectorAll(".ab button")) {
    button.setAttribute("aria-pressed", String(button.dataset.slot === open.heard));
  }
}
document.addEventListener("audio-moved", follow);
