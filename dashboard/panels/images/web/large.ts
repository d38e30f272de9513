/** A large view of one picture, or of two for comparison. */
import { bind, type Command, tip } from "../../../web/core/commands.ts";
import { toggleSheet } from "../../../web/page/keys_sheet.ts";
import { icon, iconButton, make, runLabel, stepText, storage, when } from "../../../web/core/dom.ts";
import { fileName, saveBlob } from "../../../web/core/download.ts";
import { nearest, type Point } from "../../../web/core/steps.ts";
import { view as pageView } from "../../../web/page/view.ts";
import { type Choice, Slot } from "./compare_side.ts";
import { makeControls } from "./controls.ts";
import { CLOSE, KEYS, type LargeKey, SHEET } from "./large_keys.ts";
import type { Catalog } from "./messages.generated.ts";
import * as pictures from "./pictures.ts";
import type { Wanted } from "./pictures.ts";
import { valuesAt } from "./pixels.ts";
import type { Pixels } from "./png.ts";
import { settings } from "./settings.generated.ts";
import { read, reset, write } from "./settings.ts";
import { makeSource, type Source } from "./sources.ts";
import type { Stepper } from "./stepper.ts";
import { makeViewer, type Mode } from "./viewer.ts";
import type { Place, View } from "./viewport.ts";

const NAMES = ["R", "G", "B", "A"];
const CHANNELS = ["", "gray", "gray and alpha", "RGB", "RGBA"];
const COLUMN = "stepscope.images.column";
/** How far a key moves the picture. */
const PAN_PX = 60;
const PANS: Record<string, [number, number]> = {
  ArrowLeft: [1, 0],
  ArrowRight: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

let large: Large | null = null;
let tried = false;
let catalog: Catalog = { tags: [], runs: [] };
type Listener = (run: string, tag: string, point: Point) => void;
const listeners: Listener[] = [];

const MODES: Record<Mode, string> = {
  off: "One",
  side: "Side by side",
  swipe: "Swipe",
  blink: "Blink",
  difference: "Difference",
};
const mode = () => read(settings.compare);

const choiceOf = ({ run, tag, point, sample }: Wanted): Choice => ({
  run,
  tag,
  step: point.step,
  nth: point.nth,
  sample,
});

/** Opens one picture, or two for comparison. */
export function open(one: Wanted, two?: Wanted): void {
  if (two) write(settings.compare, mode() === "off" ? "side" : mode());
  reset(settings.zoom);
  start(choiceOf(one), two ? choiceOf(two) : null);
}

/** Called once when the page starts: opens what the URL names. */
export function openFromUrl(): void {
  if (tried) return;
  tried = true;
  const [one, two] = [settings.large, settings.other].map((setting): Choice | null => {
    const [run, tag, at, sample] = read(setting);
    if (run === undefined || tag === undefined) return null;
    const step = at === undefined || at === "" || !Number.isFinite(Number(at)) ? null : Number(at);
    return { run, tag, step, nth: 0, sample: Math.max(0, Math.trunc(Number(sample)) || 0) };
  });
  if (one) start(one, two);
}

/** Calls back when the large view is closed, with the point it was at, if it was moved. */
export const whenClosed = (listener: Listener): void => void listeners.push(listener);

/** Called when new data arrive: the open pictures request their steps again. */
export function renew(): void {
  large?.renew();
}

function start(one: Choice, two: Choice | null): void {
  large?.close();
  large = new Large(one, two);
}

/** Whether a key is not used by the focused control: sliders take arrow keys, buttons and checkboxes the space bar. */
function isFree({ key, target }: KeyboardEvent): boolean {
  if (target instanceof HTMLInputElement) return target.type === "checkbox" && key !== " ";
  return !(target instanceof HTMLButtonElement && key === " ");
}

class Large {
  a: Slot;
  b: Slot | null;
  readonly #dialog = make("dialog", { id: "large", tabIndex: -1, "aria-label": "Image" });
  readonly #what = make("div", { className: "what" });
  readonly #modes = settings.compare.options.map((name) => this.#modeButton(name));
  readonly #original = iconLink();
  readonly #readout = make("output", { className: "pixel" });
  readonly #zoomText = make("output", { className: "zoom-at" });
  readonly #sources = make("div", { className: "sources" });
  readonly #controls = makeControls({ changed: () => this.#schedule(), blinkChanged: () => this.#viewer.beat() });
  readonly #viewer = makeViewer({
    a: () => this.a,
    b: () => this.b,
    mode,
    look: this.#controls.look,
    hovered: (at) => this.#showReadout(at),
    computed: (stats) => this.#controls.showStats(stats),
    zoomed: (view) => this.#zoomed(view),
  });
  readonly #ending = new AbortController();
  readonly #whenRunsAreKnown: Promise<void>;
  #rows: Source[] = [];
  #scheduled = 0;
  #isMoved = false;

  constructor(one: Choice, two: Choice | null) {
    this.a = this.#slot(one);
    this.b = two && this.#slot(two);
    this.#build();
    const [scale, x, y] = read(settings.zoom).map(Number);
    if (scale > 0 && Number.isFinite(x) && Number.isFinite(y)) {
      Object.assign(this.#viewer.viewport.view, { fit: false, scale, x, y });
    }
    const acts = this.#acts();
    const commands = (Object.keys(KEYS) as LargeKey[]).map((name): Command => ({
      id: "images." + name,
      ...KEYS[name],
      act: acts[name],
      when: (event) => event !== undefined && isFree(event),
    }));
    // A control that loses the focus by being removed or disabled leaves it nowhere; keys must still work then.
    bind(document, commands, this.#ending.signal);
    this.#dialog.addEventListener("close", () => this.close());
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    this.#dialog.focus();
    this.renew();
    if (mode() !== "off") this.#addOther();
    this.#makeRows();
    this.#whenRunsAreKnown = this.#askCatalog();
    this.#writeUrl();
  }

  #slot(choice: Choice): Slot {
    return new Slot(choice, () => this.#schedule());
  }

  renew(): void {
    for (const slot of [this.a, this.b]) if (slot) void this.#renew(slot);
  }

  /** Requests the current steps of a picture; they tell whether it is at the end, which the address then says. */
  async #renew(slot: Slot): Promise<void> {
    await slot.renew();
    if (large === this) this.#writeUrl();
  }

  async #askCatalog(): Promise<void> {
    const view = pageView.params().toString().slice(0, 60_000);
    try {
      catalog = await pictures.api.ask<Catalog>("catalog", { view }, { signal: this.#ending.signal });
    } catch {
      return;
    }
    this.#schedule();
    if (mode() !== "off") this.#addOther();
  }

  // --- parts -----------------------------------------------------------------------------------------------

  #build(): void {
    const quiet = (text: string, title: string, act: () => void) => {
      const made = make("button", { type: "button", className: "quiet", title }, text);
      made.addEventListener("click", act);
      return made;
    };
    const help = make("button", { type: "button", className: "icon-button", title: tip(KEYS.toggle_help) }, "?");
    help.addEventListener("click", () => toggleSheet(SHEET));
    const zoom = make(
      "span",
      { className: "zooming" },
      iconButton("minus", tip(KEYS.zoom_out), () => this.#zoomBy(1 / 2), 16),
      this.#zoomText,
      iconButton("plus", tip(KEYS.zoom_in), () => this.#zoomBy(2), 16),
      quiet("Fit", tip(KEYS.fit), () => this.#fit()),
      quiet("1:1", tip(KEYS.actual_size), () => this.#oneToOne()),
    );
    this.#dialog.append(
      make(
        "header",
        {},
        this.#what,
        make("div", { className: "modes", role: "radiogroup", "aria-label": "Compare" }, ...this.#modes),
        this.#original,
        quiet("PNG", "Download what is shown, adjusted, as PNG", () => this.#savePng()),
        iconButton("sidebar", tip(KEYS.toggle_column), () => this.#toggleColumn(), 16),
        help,
        iconButton("close", tip(CLOSE), () => this.close(), 16),
      ),
      make(
        "div",
        { className: "large-body" },
        make("div", { className: "canvas-box" }, this.#viewer.element, this.#readout),
        this.#controls.element,
      ),
      make("footer", {}, this.#sources, zoom),
    );
    this.#dialog.classList.toggle("no-column", storage.get(COLUMN) === "off");
  }

  #modeButton(name: Mode): HTMLButtonElement {
    const label = MODES[name];
    const title = name === "off" ? "Single image" : `Compare: ${label.toLowerCase()}`;
    const made = make("button", {
      type: "button",
      role: "radio",
      title: `${title} (C cycles modes)`,
      "aria-checked": "false",
      "data-mode": name,
    }, label);
    made.addEventListener("click", () => this.#setMode(name));
    return made;
  }

  #acts(): Record<LargeKey, (event: KeyboardEvent) => unknown> {
    const sign = (event: KeyboardEvent, back: string) => (event.key === back ? -1 : 1);
    const onceKnown = (what: "series" | "facts", act: (first: Source) => void) => {
      const { a } = this;
      a.once(() => a[what] !== null, () => act(this.#rows[0]));
    };
    const onStepper = (act: (stepper: Stepper) => void) => onceKnown("series", ({ stepper }) => act(stepper));
    return {
      turn_step: (event) => onStepper((stepper) => stepper.move(sign(event, "ArrowLeft"))),
      go_to_end: (event) => onStepper((stepper) => stepper.to(event.key === "Home" ? 0 : stepper.last())),
      play: () => onStepper((stepper) => stepper.toggle()),
      turn_run: (event) => this.#whenRunsAreKnown.then(() => this.#turnRun(sign(event, "ArrowUp"))),
      next_sample: () => onceKnown("facts", (first) => first.turnSample()),
      zoom_out: () => this.#zoomBy(1 / 2),
      zoom_in: () => this.#zoomBy(2),
      fit: () => this.#fit(),
      actual_size: () => this.#oneToOne(),
      move_picture: ({ key }) => {
        const { viewport, main } = this.#viewer;
        const [x, y] = PANS[key];
        viewport.pan(main(), x * PAN_PX, y * PAN_PX);
      },
      next_comparison: () => {
        const names = settings.compare.options;
        this.#setMode(names[(names.indexOf(this.#mode()) + 1) % names.length]);
      },
      blink: () => this.#blink(),
      difference: () => this.#setMode(mode() === "difference" ? "off" : "difference"),
      swap: () => this.#swapSlots(),
      move_divider: (event) => this.#viewer.moveDivider(0.02 * sign(event, "[")),
      invert: () => {
        write(settings.invert, !read(settings.invert));
        this.#controls.refresh();
        this.#schedule();
      },
      restore: () => this.#controls.restore(),
      toggle_column: () => this.#toggleColumn(),
      previous_frame: () => this.a.turnFrame(-1),
      next_frame: () => this.a.turnFrame(1),
      play_frames: () => this.a.toggleFrames(),
      toggle_help: () => toggleSheet(SHEET),
    };
  }

  // --- comparison --------------------------------------------------------------------------------------------

  /** How the two pictures are compared; "off" while there is only one. */
  #mode(): Mode {
    return this.b ? mode() : "off";
  }

  #comparing(): boolean {
    return this.#mode() !== "off";
  }

  #setMode(name: Mode): void {
    write(settings.compare, name);
    if (name !== "off") this.#addOther();
    this.#makeRows();
    this.#writeUrl();
    this.#schedule();
  }

  /** Adds a second picture if the user has named none: the same step of another run, or the previous step. */
  #addOther(): void {
    // Called again when the catalog arrives.
    if (this.b || !catalog.runs.length) return;
    const { run, tag, step, sample } = this.a.choice;
    const place = catalog.tags.indexOf(tag);
    const another = catalog.runs.find((entry) => entry.run !== run && entry.tags.includes(place));
    const shown = another ? this.a.point() : this.a.points()[Math.max(this.a.at() - 1, 0)];
    const { step: at, nth } = shown ?? { step, nth: 0 };
    this.b = this.#slot({ run: another?.run ?? run, tag, step: at, nth, sample });
    void this.#renew(this.b);
    this.#makeRows();
    this.#writeUrl();
  }

  #swapSlots(): void {
    if (!this.b) return;
    [this.a, this.b] = [this.b, this.a];
    this.#makeRows();
    this.#writeUrl();
    this.#schedule();
  }

  #makeRows(): void {
    this.#rows.forEach((row) => row.stepper.stop());
    const row = (letter: "A" | "B", slot: Slot) => makeSource(letter, slot, () => catalog, (one) => this.#moved(one));
    this.#rows = [row("A", this.a), ...(this.b && this.#comparing() ? [row("B", this.b)] : [])];
    if (this.#comparing()) {
      const together = make("input", { type: "checkbox", checked: read(settings.together) });
      together.addEventListener("change", () => {
        write(settings.together, together.checked);
        this.#moved(this.a);
      });
      this.#rows[1].element.append(
        make(
          "label",
          { className: "together", title: "B moves to the step nearest to A's" },
          together,
          "B follows A’s step",
        ),
        iconButton("swap", tip(KEYS.swap), () => this.#swapSlots()),
      );
    }
    this.#sources.replaceChildren(...this.#rows.map(({ element }) => element));
  }

  /** Called after the user has changed a picture. */
  #moved(slot: Slot): void {
    if (large !== this) return;
    const here = this.a.point();
    if (this.b?.series && here && this.#comparing() && read(settings.together) && slot === this.a) {
      this.b.move(nearest(this.b.points(), here.step, here.nth));
    }
    this.#isMoved = true;
    this.#writeUrl();
  }

  #writeUrl(): void {
    const values = (slot: Slot | null) => {
      if (!slot) return [];
      const { run, tag, step, sample } = slot.choice;
      return [run, tag, String(step ?? ""), String(sample)];
    };
    write(settings.large, values(this.a));
    write(settings.other, this.#comparing() ? values(this.b) : []);
  }

  // --- drawing -----------------------------------------------------------------------------------------------

  #schedule(): void {
    if (large === this) this.#scheduled ||= requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    if (large !== this) return;
    this.#scheduled = 0;
    const { a, b } = this;
    this.#dialog.classList.toggle("busy", a.busy || Boolean(b?.busy));
    for (const slot of [a, b]) {
      const run = catalog.runs.find((entry) => entry.run === slot?.choice.run);
      if (slot && run) Object.assign(slot, { light: run.light, dark: run.dark });
    }
    this.#drawWhat();
    for (const made of this.#modes) made.setAttribute("aria-checked", String(made.dataset.mode === this.#mode()));
    const wanted = a.wanted();
    this.#original.hidden = !wanted || !a.facts;
    if (wanted) this.#original.href = pictures.downloadAddress(wanted);
    this.#rows.forEach((row) => row.refresh());
    this.#viewer.draw();
    this.#controls.arrange(this.#mode(), a.pixels, b?.pixels ?? null);
    const shown = b && this.#mode() === "blink" && this.#viewer.isSecond() ? b.pixels : a.pixels;
    if (!a.frames?.playing) this.#controls.showHistogram(shown);
    this.#showZoom();
  }

  #drawWhat(): void {
    const { choice, facts, pixels, light, dark } = this.a;
    const here = this.a.point();
    const wall = typeof facts?.wall_time === "number" ? " · " + when(facts.wall_time) : "";
    const at = here ? `step ${stepText(here.step)} · ${this.a.at() + 1} of ${stepText(this.a.points().length)}` : "";
    const values = pixels ? ` · ${CHANNELS[pixels.channels]}${pixels.note && ", " + pixels.note}` : "";
    this.#what.replaceChildren(
      make("strong", { title: choice.tag }, choice.tag),
      runLabel({ run: choice.run, light, dark }),
      make("span", { className: "dim facts" }, at && at + wall),
      make("span", { className: "dim facts" }, facts ? pictures.describe(facts) + values : ""),
    );
  }

  #zoomed(view: View): void {
    write(
      settings.zoom,
      view.fit ? [] : [view.scale, view.x, view.y].map((value) => String(Number(value.toPrecision(6)))),
    );
    this.#viewer.place();
    this.#showZoom();
  }

  #showZoom(): void {
    const stage = this.#viewer.main();
    if (stage.empty()) return;
    const { scale } = this.#viewer.viewport.of(stage);
    this.#zoomText.textContent = scale >= 1
      ? `${Number(scale.toPrecision(3))}×`
      : `${Number((100 * scale).toPrecision(2))}%`;
  }

  /** Shows the pixel under the pointer. */
  #showReadout(at: Place | null): void {
    if (!at) return void (this.#readout.textContent = "");
    const first = valuesText(this.a.pixels, at);
    const values = this.#comparing() ? ["A: " + first, "B: " + valuesText(this.#viewer.other(), at)] : [first];
    this.#readout.textContent = [`x ${at.x}  y ${at.y}`, ...values].join("   ");
  }

  // --- actions -----------------------------------------------------------------------------------------------

  #zoomBy(factor: number): void {
    this.#viewer.viewport.zoom(this.#viewer.main(), factor);
  }

  #fit(): void {
    this.#viewer.viewport.set({ fit: true });
  }

  #oneToOne(): void {
    const { viewport, main } = this.#viewer;
    const { x, y } = viewport.of(main());
    viewport.set({ fit: false, scale: 1, x, y });
  }

  #savePng(): void {
    const canvas = this.#viewer.whole();
    if (!canvas) return;
    const { run, tag } = this.a.choice;
    const name = `${run}_${tag}_step${this.a.point()?.step}_${this.#comparing() ? mode() : "shown"}`;
    canvas.toBlob((blob) => blob && saveBlob(blob, `${fileName(name, "picture")}.png`), "image/png");
  }

  #toggleColumn(): void {
    storage.set(COLUMN, this.#dialog.classList.toggle("no-column") ? "off" : "on");
  }

  /** Goes to the next or previous run that has the tag. */
  #turnRun(by: number): void {
    const { run, tag, step } = this.a.choice;
    const place = catalog.tags.indexOf(tag);
    const runs = catalog.runs.filter((entry) => entry.tags.includes(place)).map((entry) => entry.run);
    const next = runs[runs.indexOf(run) + by];
    if (next === undefined || large !== this) return;
    const slot = this.a;
    slot.set({ run: next, step: step === null ? null : slot.point()?.step ?? step }).then(() => this.#moved(slot));
  }

  #blink(): void {
    if (this.#mode() !== "blink") return;
    this.#viewer.swap();
    this.#controls.refresh();
    this.#schedule();
  }

  close(): void {
    if (large !== this) return;
    large = null;
    this.#ending.abort();
    this.#rows.forEach((row) => row.stepper.stop());
    this.#viewer.close();
    this.a.close();
    this.b?.close();
    this.#dialog.close();
    this.#dialog.remove();
    reset(settings.large, settings.other, settings.compare, settings.zoom);
    const here = this.a.point();
    const { run, tag } = this.a.choice;
    if (this.#isMoved && here) listeners.forEach((listener) => listener(run, tag, here));
  }
}

const iconLink = (): HTMLAnchorElement =>
  make("a", { className: "icon-button", title: "Download the original", download: "" }, icon("download", 16));

function valuesText(pixels: Pixels | null, at: Place): string {
  const values = pixels ? valuesAt(pixels, at.x, at.y) : [];
  if (!values.length) return "outside";
  const named = values.length < 3 ? ["", "A"] : NAMES;
  return values.map((value, i) => (named[i] ? named[i] + " " : "") + value).join("  ");
}
