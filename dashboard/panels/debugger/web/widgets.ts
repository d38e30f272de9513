/** Small building blocks of the sub-views. */
import { icon, make } from "../../../web/core/dom.ts";
import { saveText } from "../../../web/core/download.ts";
import { copyText } from "../../../web/page/layout.ts";
import type { CodeLine } from "./messages.generated.ts";
import { toLine } from "./links.ts";
import { csv, type Sent, shortPath } from "./texts.ts";

export function button(text: string, title: string, act: () => void, sign = ""): HTMLButtonElement {
  const made = make("button", { type: "button", className: "quiet with-icon debugger-button", title }, text);
  if (sign) made.prepend(icon(sign, 14));
  made.addEventListener("click", act);
  return made;
}

/** A native drop-down with a few options. */
export function select(
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  value: string,
  act: (value: string) => void,
): HTMLSelectElement {
  const made = make(
    "select",
    { className: "debugger-select", "aria-label": label, title: label },
    ...options.map(([own, text]) => make("option", { value: own }, text)),
  );
  made.value = value;
  made.addEventListener("change", () => act(made.value));
  return made;
}

/** Replaces the options of a drop-down, unless they are the same. */
export function offer(
  element: HTMLSelectElement,
  options: readonly (readonly [value: string, text: string])[],
  value: string,
): void {
  const key = JSON.stringify(options);
  if (element.dataset.key !== key) {
    element.dataset.key = key;
    element.replaceChildren(...options.map(([own, text]) => make("option", { value: own }, text)));
  }
  element.value = value;
}

/** A field for a regular expression; `act` is called once the user pauses typing. */
export class SearchField {
  readonly field: HTMLInputElement;
  #problem = make("span", { className: "debugger-search-problem", role: "alert", hidden: true });
  readonly element: HTMLElement;

  constructor(label: string, placeholder: string, act: (text: string) => void) {
    this.field = searchInput(label, placeholder, act);
    this.element = make("span", { className: "debugger-search-box" }, this.field, this.#problem);
  }

  /** Shows next to the field what is wrong with its content; an empty text means nothing is. */
  refuse(problem: string): void {
    this.#problem.textContent = problem;
    this.#problem.hidden = !problem;
    this.field.setAttribute("aria-invalid", String(Boolean(problem)));
  }

  focus(): void {
    this.field.focus();
    this.field.select();
  }
}

function searchInput(label: string, placeholder: string, act: (text: string) => void): HTMLInputElement {
  const made = make("input", {
    type: "search",
    className: "debugger-search",
    placeholder,
    title: label,
    "aria-label": label,
    spellcheck: false,
    autocomplete: "off",
  });
  let waiting: ReturnType<typeof setTimeout> | undefined;
  made.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => act(made.value), 200);
  });
  return made;
}

/** Sets the content of a field, unless the user is typing in it. */
export function fill(field: HTMLInputElement, value: string): void {
  if (document.activeElement !== field && field.value !== value) field.value = value;
}

/** A dot that shows how bad something is, with a word for people who cannot see colors. */
export function healthDot(health: string | null): HTMLSpanElement {
  const words: Record<string, string> = { good: "finite", not_finite: "not finite", infinite: "Inf", nan: "NaN" };
  const word = health === null ? "not observed" : words[health];
  const shown = health === null || health === "good" ? "" : health === "not_finite" ? "!" : word;
  return make("span", { className: `debugger-health ${health ?? "none"}`, title: word }, shown);
}

/** A line of code, linked to the Source sub-view if its file was kept. */
export function codeLink(line: CodeLine): HTMLElement {
  const text = `${shortPath(line.path)}:${line.line}`;
  if (!line.kept) {
    return make("span", { className: "debugger-code-place", title: `${line.path}, line ${line.line}` }, text);
  }
  const made = make("button", {
    type: "button",
    className: "debugger-link",
    title: `${line.path}, line ${line.line}: show it in Source`,
  }, text);
  made.addEventListener("click", (event) => {
    event.stopPropagation();
    toLine(line.path, line.line);
  });
  return made;
}

/** Copies a table as CSV, or saves it. */
export const copyTable = (rows: readonly (readonly Sent[])[]): void => void copyText(csv(rows), "Table copied");
export const saveTable = (rows: readonly (readonly Sent[])[], name: string): void =>
  saveText(csv(rows), name, "text/csv");
