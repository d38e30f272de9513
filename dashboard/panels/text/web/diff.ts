/** Compares two texts of a tag, side by side or in one column. The server does the comparison (panels/text/diff.py). */
import { tip } from "../../../web/core/commands.ts";
import { iconButton, make, stepText } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import type { Choice } from "../../../web/core/setting.ts";
import * as stepper from "../../../web/core/stepper.ts";
import { view } from "../../../web/page/view.ts";
import { isGap, near, ordered, type Row, type Segment } from "./diff_rows.ts";
import type { CardData, Comparison, Entry, EntryPlace } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import { api, nearest, tagName } from "./texts.ts";

const SIGNS = { same: "", added: "+", removed: "\u2212" };
type Kind = keyof typeof SIGNS;

interface Side extends EntryPlace {
  run: string;
}
const SIDES = ["old", "new"] as const;
type Sides = Record<typeof SIDES[number], Side>;

let shown: Dialog | null = null;

/** Compares a text with the previous one, or with that of another run. */
export async function open({ run, tag, total, runs }: CardData, { index, step }: Entry): Promise<void> {
  const now = { run, index, step, total };
  const other = runs.find((one) => one !== run);
  const old = index > 0 || !other ? { ...now, index: Math.max(0, index - 1) } : await choose(tag, other, step);
  if (old) begin(tag, runs, { old, new: now });
}

async function choose(tag: string, run: string, step: number | string): Promise<Side | null> {
  const found = await nearest(run, tag, step);
  return found && { run, ...found };
}

function begin(tag: string, runs: string[], sides: Sides): void {
  shown?.close();
  shown = new Dialog(tag, runs, sides);
}

/** Opens the comparison in the URL. */
export async function fromUrl(): Promise<void> {
  const named = view.read(settings.diff);
  const [tag, oldRun, oldStep, newRun, newStep] = named;
  if (shown || newStep === undefined) return;
  const [old, now] = await Promise.all([choose(tag, oldRun, oldStep), choose(tag, newRun, newStep)]);
  // Another call may have opened it, and the user may have closed it, before the answers to this one arrived.
  const isStillNamed = view.read(settings.diff).join("\n") === named.join("\n");
  if (old && now && !shown && isStillNamed) begin(tag, [...new Set([oldRun, newRun])], { old, new: now });
}

/** Buttons for the options of a setting; `act` is called when another option is chosen. */
function choiceOf<T extends string>(name: string, setting: Choice<T>, labels: Record<T, string>, act: () => void) {
  const buttons = setting.options.map((value) => {
    const button = make("button", { className: "quiet", "data-value": value }, labels[value]);
    button.addEventListener("click", () => {
      view.write<T>(setting, value);
      act();
    });
    return button;
  });
  const refresh = () => {
    const now = view.read(setting);
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === now));
  };
  return { element: make("span", { className: "ab", role: "group", "aria-label": name }, ...buttons), refresh };
}

class Dialog {
  readonly #tag: string;
  readonly #runs: string[];
  readonly #sides: Sides;
  readonly #dialog = make("dialog", { id: "text-diff", "aria-label": "Two texts compared" });
  readonly #counts = make("output", { className: "counts" });
  readonly #sidesBox = make("div", { className: "diff-sides" });
  readonly #body = make("div", { className: "diff-body", tabIndex: 0 });
  readonly #choices = [
    choiceOf("layout", settings.layout, { side: "Side by side", unified: "Unified" }, () => this.#render()),
    choiceOf("unchanged", settings.unchanged, { near: "Changes", all: "All lines" }, () => this.#render()),
  ];
  #found: Comparison | null = null;
  #ask = 0;
  /** Counts the moves of each side, so that late answers are recognized. */
  #turns: Record<keyof Sides, number> = { old: 0, new: 0 };
  /** The sides whose next place is being looked up. */
  readonly #moving: Set<keyof Sides> = new Set();
  readonly #controls: Record<keyof Sides, { element: HTMLElement; refresh: () => void }>;

  constructor(tag: string, runs: string[], sides: Sides) {
    this.#tag = tag;
    this.#runs = runs;
    this.#sides = sides;
    const head = make(
      "header",
      {},
      make("strong", {}, tagName(tag)),
      this.#counts,
      make("span", { className: "spacer" }),
      ...this.#choices.map(({ element }) => element),
      iconButton("close", tip({ title: "Close", keys: ["Escape"] }), () => this.close(), 18),
    );
    this.#controls = { old: this.#side("old"), new: this.#side("new") };
    this.#dialog.append(head, this.#sidesBox, this.#body);
    this.#dialog.addEventListener("close", () => {
      this.#dialog.remove();
      if (shown !== this) return;
      shown = null;
      view.write(settings.diff, []);
    });
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    this.#load();
  }

  close(): void {
    this.#dialog.close();
  }

  async #load(): Promise<void> {
    const ask = this.#ask += 1;
    const turns = { ...this.#turns };
    const { old, new: now } = this.#sides;
    const requested = {
      tag: this.#tag,
      old_run: old.run,
      old_index: old.index,
      new_run: now.run,
      new_index: now.index,
    };
    const found = await api.ask<Comparison>("diff", requested).catch((error): Comparison => (
      { rows: [], added: 0, removed: 0, notice: "", error: messageOf(error) }
    ));
    if (shown !== this || this.#ask !== ask) return;
    this.#found = found;
    // A side that was moved meanwhile stays where it is: its own answer follows, unless it was moved back.
    const unmoved = SIDES.filter((side) => {
      const { run, index } = this.#sides[side];
      const isBack = !this.#moving.has(side) && run === requested[`${side}_run`] &&
        index === requested[`${side}_index`];
      return isBack || this.#turns[side] === turns[side];
    });
    for (const side of unmoved) Object.assign(this.#sides[side], found[side]);
    view.write(settings.diff, [this.#tag, old.run, String(old.step), now.run, String(now.step)]);
    for (const side of unmoved) this.#controls[side].refresh();
    if (!this.#sidesBox.firstChild) this.#sidesBox.append(...SIDES.map((side) => this.#controls[side].element));
    this.#render();
  }

  /** The run and step of one side, with controls to choose others. */
  #side(name: keyof Sides) {
    const one = this.#sides[name];
    const go = async (run: string, step: number) => {
      const turn = this.#turns[name] += 1;
      this.#moving.add(name);
      const found = await choose(this.#tag, run, step);
      if (this.#turns[name] !== turn) return;
      this.#moving.delete(name);
      if (found) Object.assign(one, found);
      runs.value = one.run;
      this.#load();
    };
    const runs = make(
      "select",
      { "aria-label": name === "old" ? "Old run" : "New run" },
      ...[...new Set([...this.#runs, one.run])].map((run) =>
        make("option", { value: run, selected: run === one.run }, run)
      ),
    );
    runs.addEventListener("change", () => go(runs.value, one.step));
    const track = stepper.create({
      count: () => one.total,
      at: () => one.index,
      said: () => stepText(one.step),
      hint: () => one.run,
      move: (index) => {
        this.#turns[name] += 1;
        this.#moving.delete(name);
        runs.value = one.run;
        one.index = index;
      },
      typed: (step) => go(one.run, step),
      settled: () => this.#load(),
    });
    const element = make(
      "div",
      { className: "diff-side" },
      make("span", { className: "dim" }, name),
      runs,
      track.element,
    );
    const refresh = () => {
      runs.value = one.run;
      track.refresh();
    };
    return { element, refresh };
  }

  #render(): void {
    const found = this.#found;
    if (!found) return;
    const unified = view.read(settings.layout) === "unified";
    for (const { refresh } of this.#choices) refresh();
    this.#counts.replaceChildren(
      make("span", { className: "plus" }, "+" + stepText(found.added)),
      " ",
      make("span", { className: "minus" }, "\u2212" + stepText(found.removed)),
      " lines",
    );
    const notices = [
      found.error && "Not compared: " + found.error,
      found.notice,
      !found.error && !found.added && !found.removed ? "The two texts are the same." : "",
    ].filter(Boolean);
    const pieces = view.read(settings.unchanged) === "all" ? found.rows : near(found.rows);
    const rows = (unified ? ordered(pieces) : pieces).flatMap((piece) =>
      isGap(piece) ? [gap(piece.hidden, unified)] : lines(piece, unified)
    );
    this.#body.replaceChildren(
      ...notices.map((notice) => make("p", { className: found.error ? "bad" : "diff-notice" }, notice)),
      make("table", { className: unified ? "diff unified" : "diff" }, ...rows),
    );
  }
}

// --- rows --------------------------------------------------------------------------------------------------

const lineNumber = (number: number | null) =>
  make("td", { className: "line-number" }, number === null ? "" : String(number));

function line(isThere: boolean, kind: Kind, segments: readonly Segment[]): HTMLElement {
  const mark = kind === "added" ? "ins" : "del";
  return make(
    "td",
    { className: "line " + (isThere ? kind : "absent") },
    make("span", { className: "sign" }, isThere ? SIGNS[kind] : ""),
    ...segments.map(([piece, changed]) => (changed ? make(mark, {}, piece) : piece)),
  );
}

function lines([change, oldNumber, newNumber, old, now]: Row, unified: boolean): HTMLElement[] {
  const [oldKind, newKind]: Kind[] = change === "same" ? ["same", "same"] : ["removed", "added"];
  if (!unified) {
    return [
      make(
        "tr",
        {},
        lineNumber(oldNumber),
        line(oldNumber !== null, oldKind, old),
        lineNumber(newNumber),
        line(newNumber !== null, newKind, now),
      ),
    ];
  }
  const one = (first: number | null, second: number | null, segments: readonly Segment[], kind: Kind) =>
    make("tr", {}, lineNumber(first), lineNumber(second), line(true, kind, segments));
  if (change === "same") return [one(oldNumber, newNumber, old, "same")];
  return [
    ...(oldNumber === null ? [] : [one(oldNumber, null, old, "removed")]),
    ...(newNumber === null ? [] : [one(null, newNumber, now, "added")]),
  ];
}

function gap(hidden: Row[], unified: boolean): HTMLElement {
  const button = make("button", { className: "quiet" }, `${stepText(hidden.length)} unchanged lines`);
  const row = make("tr", { className: "gap" }, make("td", { colSpan: unified ? 3 : 4 }, button));
  button.addEventListener("click", () => row.replaceWith(...hidden.flatMap((one) => lines(one, unified))));
  return row;
}
