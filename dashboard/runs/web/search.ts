/** The field for searching runs, which completes names as they are typed. */
import { bind } from "../../web/core/commands.ts";
import { make } from "../../web/core/dom.ts";
import { completed, fitting, quoted, type Word, wordIn } from "./completion.ts";
import { runs } from "./state.ts";

const field = (): HTMLInputElement | null => document.querySelector<HTMLInputElement>("#runs-search input");

/** Writes into the field as if the user had typed. */
export function write(text: string): void {
  const input = field();
  if (!input) return;
  // React watches the element's own property: only a change it has not noticed counts as typed.
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(input, text);
  input.dispatchEvent(new Event("input", { bubbles: true }));
  input.focus();
}

/** Names that can complete the typed text; requested when the field gets the focus. */
let names: string[] = [];
let list: HTMLUListElement | null = null;
/** Whether anything was typed since the field got the focus. */
let typed = false;
/** Timer that offers names for the text typed last. */
let offering = 0;
/** The text before the caret when the list was made. */
let listed = "";

async function learnNames(): Promise<void> {
  const { built_in: builtIn, hparams, metrics, statistics } = await runs.fields();
  const tags = metrics.flatMap(({ tag }) => statistics.map((statistic) => quoted(`${tag}.${statistic}`)));
  names = [...builtIn, ...hparams.map(({ label }) => quoted(label)), ...tags];
  if (typed) offer();
}

function closeList(): void {
  list?.remove();
  list = null;
  field()?.removeAttribute("aria-activedescendant");
}

/** The text before and after the caret. */
function sides(input: HTMLInputElement): [string, string] {
  const caret = input.selectionStart ?? 0;
  return [input.value.slice(0, caret), input.value.slice(caret)];
}

function offer(): void {
  clearTimeout(offering);
  offering = 0;
  const input = field();
  closeList();
  if (!input || input !== document.activeElement) return;
  listed = sides(input)[0];
  const word = wordIn(listed);
  const fits = word ? fitting(names, word) : [];
  if (!word || !fits.length) return;
  const entries = fits.map((name, place) => {
    const props = { role: "option", id: `completion-${place}`, "aria-selected": "false" };
    const entry = make("li", props, make("bdi", {}, name));
    entry.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      complete(name, word);
    });
    return entry;
  });
  list = make("ul", { className: "completions", role: "listbox", id: "run-completions" }, ...entries);
  const box = input.getBoundingClientRect();
  list.style.left = box.left + "px";
  list.style.top = box.bottom + 3 + "px";
  list.style.width = box.width + "px";
  document.body.append(list);
}

function complete(name: string, word: Word): void {
  const input = field();
  if (!input) return;
  const { text, caret } = completed(...sides(input), word, name);
  write(text);
  input.setSelectionRange(caret, caret);
  closeList();
}

/** Updates the list, which lags behind the typing: a key pressed before it catches up is meant for the new text. */
function catchUp(): void {
  const input = field();
  if (input && list && listed !== sides(input)[0]) offer();
}

const chosen = () => list?.querySelector("[aria-selected=true]") ?? null;

/** Marks the next or previous entry; returns false if nothing is offered. */
function move(by: number): boolean {
  const all = [...list?.children ?? []];
  if (!all.length) return false;
  const now = all.findIndex((entry) => entry === chosen());
  const next = all[(now + by + all.length + (now < 0 && by < 0 ? 1 : 0)) % all.length];
  all.forEach((entry) => entry.setAttribute("aria-selected", String(entry === next)));
  field()?.setAttribute("aria-activedescendant", next.id);
  return true;
}

function take(entry: Element | null | undefined): boolean {
  const input = field();
  const word = input && wordIn(sides(input)[0]);
  if (!entry || !word) return false;
  complete(entry.textContent, word);
  return true;
}

/** Closes the list, even if the latest typing has yet to open it; returns false if there is none. */
function close(): boolean {
  if (offering) offer();
  typed = false;
  const was = list !== null;
  closeList();
  return was;
}

const keys = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Enter: () => {
    catchUp();
    return take(chosen());
  },
  Tab: () => {
    catchUp();
    return take(chosen() ?? list?.firstElementChild);
  },
  Escape: close,
};

const inSearch = (event: Event) => event.target !== null && event.target === field();
let leaving = new AbortController();
document.addEventListener("focusin", (event) => {
  if (!inSearch(event) || !event.target) return;
  typed = false;
  learnNames().catch(() => names = []);
  leaving.abort();
  leaving = new AbortController();
  bind(event.target, keys, leaving.signal);
});
document.addEventListener("focusout", (event) => {
  if (!inSearch(event)) return;
  leaving.abort();
  closeList();
});
document.addEventListener("input", (event) => {
  if (!inSearch(event) || !event.isTrusted) return;
  typed = true;
  // Wait until React has the text: it would undo anything written before that.
  clearTimeout(offering);
  offering = window.setTimeout(offer);
});
