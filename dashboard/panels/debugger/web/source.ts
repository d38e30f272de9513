/** Source files as they were when the program ran, with lines marked by how bad the values they made were. */
import { make } from "../../../web/core/dom.ts";
import { saveText } from "../../../web/core/download.ts";
import { counted, integer } from "../../../web/core/numbers.ts";
import { type Api, messageOf } from "../../../web/core/request.ts";
import { copyText, say } from "../../../web/page/layout.ts";
import { view } from "../../../web/page/view.ts";
import { toObservation, toRow } from "./links.ts";
import type { LineMark, SourceAnswer, SourceList, SourceRow } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import type { State, SubView } from "./state.ts";
import { shortPath } from "./texts.ts";
import { button } from "./widgets.ts";

export class SourceView implements SubView {
  readonly element = make("div", { className: "debugger-split debugger-source" });
  readonly tools = [
    button(
      "Next non-finite",
      "Go to the next line that produced something non-finite (B)",
      () => this.nextBad(),
      "alert",
    ),
    button("Copy", "Copy the file", () => this.#copy(), "copy"),
    button("Download", "Download the file as it was recorded", () => this.#save(), "download"),
  ];
  #api: Api;
  #files = make("nav", { className: "debugger-files", "aria-label": "Source files" });
  #code = make("div", { className: "debugger-code", tabIndex: 0, role: "region", "aria-label": "Code" });
  #key = "";
  #opened = "";
  /** The file and line last scrolled into view. */
  #marked = "";
  #list: readonly SourceRow[] = [];
  #shown: SourceAnswer | null = null;

  constructor(api: Api) {
    this.#api = api;
    this.element.append(this.#files, this.#code);
  }

  show(state: State): void {
    const key = `${state.id} ${state.version}`;
    if (key !== this.#key) {
      this.#key = key;
      this.#opened = "";
      void this.#load(state, key);
    } else this.#open(state);
  }

  opened(): void {
    this.#marked = "";
  }

  facts = () => ({ file: this.#shown?.path ?? null, line: view.read(settings.line), files: this.#list.length });

  async #load(state: State, key: string): Promise<void> {
    try {
      const { files } = await this.#api.ask<SourceList>("sources", { id: state.id });
      if (this.#key !== key) return;
      this.#list = [...files].sort((a, b) =>
        Number(a.library) - Number(b.library) || b.bad - a.bad || b.marked - a.marked || a.path.localeCompare(b.path)
      );
      this.#open(state);
    } catch (error) {
      if (this.#key !== key) return;
      this.#say(messageOf(error));
      this.#key = "";
    }
  }

  #open(state: State): void {
    const wanted = view.read(settings.file);
    const file = this.#list.find(({ path }) => path === wanted) ?? this.#list[0];
    this.#drawFiles(file);
    if (!file) return this.#say("This recording has no source code.");
    const opened = `${this.#key} ${file.index}`;
    if (this.#opened === opened) return this.#mark();
    this.#opened = opened;
    this.#api.ask<SourceAnswer>("source", { id: state.id, index: file.index }).then((found) => {
      if (this.#opened !== opened) return;
      this.#shown = found;
      this.#drawCode(found);
      this.#mark();
    }, (error) => {
      if (this.#opened !== opened) return;
      this.#opened = "";
      this.#say(messageOf(error));
    });
  }

  #drawFiles(open: SourceRow | undefined): void {
    this.#files.replaceChildren(...this.#list.map((file) => {
      const made = make(
        "button",
        { type: "button", className: file.bad ? "bad" : "", title: `${file.path}${file.host && `, on ${file.host}`}` },
        make("span", { className: "name" }, shortPath(file.path)),
        make(
          "span",
          { className: "count" },
          file.bad ? `${integer(file.bad)} non-finite` : file.marked ? counted(file.marked, "line") : "",
        ),
      );
      if (file === open) made.setAttribute("aria-current", "true");
      made.addEventListener("click", () =>
        view.update((_params, set) => {
          set(settings.file, file.path);
          set(settings.line, "");
        }));
      return made;
    }));
  }

  #drawCode({ lines, marks, left_out }: SourceAnswer): void {
    const byLine = new Map(marks.map((mark) => [mark.line, mark]));
    this.#code.replaceChildren(
      ...lines.map((text, at) => {
        const mark = byLine.get(at + 1);
        const row = make(
          "div",
          { className: mark ? (mark.bad ? "marked bad" : "marked good") : "", "data-line": at + 1 },
          make("span", { className: "number" }, String(at + 1)),
          make("code", {}, text || " "),
        );
        if (mark) row.append(chip(mark));
        return row;
      }),
      ...(left_out ? [make("p", { className: "debugger-none" }, `and ${counted(left_out, "line")} more`)] : []),
    );
  }

  /** Shows the line in the address, or else the one that first made something bad. */
  #mark(): void {
    const wanted = view.read(settings.line) || String(firstBad(this.#shown?.marks ?? [])?.line ?? "");
    for (const row of this.#code.querySelectorAll("[aria-current]")) row.removeAttribute("aria-current");
    const row = wanted ? this.#code.querySelector<HTMLElement>(`[data-line="${wanted}"]`) : null;
    if (!row) return this.opened();
    row.setAttribute("aria-current", "true");
    // If the user has moved elsewhere since, stay there.
    const marked = `${this.#shown?.path}:${wanted}`;
    if (marked !== this.#marked) row.scrollIntoView({ block: "center" });
    this.#marked = marked;
  }

  nextBad(): void {
    const bad = (this.#shown?.marks ?? []).filter((mark) => mark.bad).map(({ line }) => line);
    if (!bad.length) return say("No line of this file produced anything non-finite");
    const at = Number(view.read(settings.line) || 0);
    view.write(settings.line, String(bad.find((line) => line > at) ?? bad[0]));
  }

  #say(text: string): void {
    this.opened();
    this.#shown = null;
    this.#code.replaceChildren(make("p", { className: "debugger-hint" }, text));
  }

  #copy(): void {
    if (this.#shown) void copyText(this.#shown.lines.join("\n"), "File copied");
  }

  #save(): void {
    if (this.#shown) saveText(this.#shown.lines.join("\n") + "\n", this.#shown.path.split(/[/\\]/).at(-1) ?? "code.py");
  }
}

/** The line that first made something bad; of one value's lines, the one with fewest tensors, usually the innermost. */
function firstBad(marks: readonly LineMark[]): LineMark | undefined {
  const bad = marks.filter(({ first_bad }) => first_bad !== null);
  return bad.sort((a, b) => a.first_bad! - b.first_bad! || a.tensors - b.tensors)[0];
}

/** Returns a button that shows what was made on a line and opens the first bad value among it. */
function chip({ tensors, bad, first_bad, first_tensor, names, observed }: LineMark): HTMLElement {
  const text = bad ? `${integer(bad)} of ${integer(observed)} non-finite` : counted(tensors, "tensor");
  const made = make("button", {
    type: "button",
    className: `debugger-mark ${bad ? "bad" : "good"}`,
    title: [...names, ...(tensors > names.length ? [`and ${tensors - names.length} more`] : [])].join("\n"),
  }, text);
  made.addEventListener("click", () => first_bad !== null ? toObservation(first_bad) : toRow(first_tensor));
  return made;
}
