/** Two clips, A and B, one above the other on a shared time axis, with switching between them during playback. */
import { bind, tip } from "../../../web/core/commands.ts";
import { icon, iconButton, make, stepText, within } from "../../../web/core/dom.ts";
import { type Clip, clipName } from "./clip.ts";
import { type Slot, SLOTS } from "./entries.ts";
import * as pins from "./pins.ts";
import { player } from "./player.ts";
import * as rows from "./row.ts";
import { clamp, type Span } from "./span.ts";

/** Updates the bar at the bottom of the panel that shows the clips chosen as A and B. */
export function tray(): void {
  const panel = document.querySelector(".panel.audio");
  if (!panel) return;
  const known = panel.querySelector(".audio-tray");
  const all = pins.pinned();
  if (!all.size) return known?.remove();
  const bar = known ?? make("div", { className: "audio-tray", role: "region", "aria-label": "Clips to compare" });
  if (!known) panel.append(bar);
  const parts = SLOTS.map((slot) => {
    const clip = all.get(slot);
    return make(
      "span",
      { className: clip ? "slot" : "slot dim", title: clip ? clipName(clip) : "" },
      make("b", {}, slot),
      clip ? clipName(clip) : `click ${slot} on a clip to choose it`,
    );
  });
  const compare = make(
    "button",
    { className: "quiet act-compare", disabled: all.size < 2 },
    icon("compare", 14),
    " Compare",
  );
  compare.addEventListener("click", show);
  bar.replaceChildren(...parts, compare, iconButton("close", "Clear comparison", pins.unpinAll));
}

let open: Comparison | null = null;

function show(): void {
  const all = pins.pinned();
  const [a, b] = [all.get("A"), all.get("B")];
  if (a && b) open ??= new Comparison({ A: a, B: b });
}

class Comparison {
  #dialog = make("dialog", { id: "audio-compare", "aria-label": "Two clips" });
  #play = iconButton("play", tip({ title: "Play or pause", keys: [" "] }), () => this.#toggle(), 18);
  #whole = make("button", { className: "quiet act-whole", hidden: true }, "Whole clips");
  #choices: Record<Slot, HTMLButtonElement>;
  #rows: Record<Slot, rows.Row>;
  #zoomed: Span | null = null;
  #heard: Slot = "A";

  constructor(clips: Record<Slot, Clip>) {
    this.#choices = { A: this.#choice("A"), B: this.#choice("B") };
    this.#rows = { A: this.#row("A", clips.A), B: this.#row("B", clips.B) };
    this.#play.classList.add("act-play-pair");
    this.#whole.addEventListener("click", () => this.#zoom(null));
    const swap = make("div", { className: "ab", role: "group", "aria-label": "Playing" });
    swap.append(...SLOTS.map((slot) => this.#choices[slot]));
    const header = make(
      "header",
      {},
      this.#play,
      swap,
      make("span", { className: "dim" }, "X switches between the clips at the same position"),
      make("span", { className: "spacer" }),
      this.#whole,
      iconButton("close", tip({ title: "Close", keys: ["Esc"] }), () => this.#dialog.close(), 18),
    );
    const body = make("div", { className: "pair" }, ...SLOTS.map((slot) => this.#rows[slot].element));
    this.#dialog.append(header, body);
    this.#dialog.addEventListener("close", () => this.#end());
    bind(this.#dialog, {
      x: () => this.#hear(this.#heard === "A" ? "B" : "A"),
      " ": (event) => (within(event, "button") ? false : this.#toggle()),
    });
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    for (const slot of SLOTS) void rows.show(this.#rows[slot], clips[slot]);
    this.follow();
  }

  #choice(slot: Slot): HTMLButtonElement {
    const title = `Play ${slot} from the same position (X swaps)`;
    const button = make("button", { className: "quiet", "data-slot": slot, title }, slot);
    button.addEventListener("click", () => this.#hear(slot));
    return button;
  }

  #row(slot: Slot, { run, tag, step }: Clip): rows.Row {
    const lead = make(
      "span",
      { className: "slot" },
      make("b", {}, slot),
      make("span", { className: "dim" }, `${tag} · step ${stepText(step)}`),
    );
    const zoom = (span: Span | null) => this.#zoom(span);
    return rows.create({ run, ...rows.colorsOf(run) }, { zoom, changed: () => this.#layout(), lead, tall: 1.5 });
  }

  #toggle(): void {
    player.toggle(this.#rows[this.#heard].url);
  }

  #hear(slot: Slot): void {
    this.#heard = slot;
    player.swap(this.#rows[slot].url);
    this.follow();
  }

  #zoom(span: Span | null): void {
    this.#zoomed = span;
    this.#layout();
  }

  #layout(): void {
    const all = SLOTS.map((slot) => this.#rows[slot]);
    const length = rows.longest(all);
    this.#zoomed = clamp(this.#zoomed, length);
    this.#whole.hidden = !this.#zoomed;
    for (const row of all) rows.stretch(row, this.#zoomed ?? { start: 0, stop: length || 1 });
  }

  /** Brings the dialog in line with the player. */
  follow(): void {
    const playing = SLOTS.find((slot) => player.playing(this.#rows[slot].url));
    this.#heard = playing ?? this.#heard;
    rows.showPlaying(this.#play, playing !== undefined, 18);
    for (const slot of SLOTS) this.#choices[slot].setAttribute("aria-pressed", String(slot === this.#heard));
  }

  #end(): void {
    player.pause();
    for (const slot of SLOTS) rows.remove(this.#rows[slot]);
    this.#dialog.remove();
    open = null;
  }
}

player.onMove(() => open?.follow());
pins.onPin(tray);
