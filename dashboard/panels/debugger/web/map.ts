/** The health map: one figure of all tensors over all steps, and the curve of the selected tensor. */
import { make, stepText } from "../../../web/core/dom.ts";
import { save } from "../../../web/core/download.ts";
import { counted, integer } from "../../../web/core/numbers.ts";
import { type Api, isAbort, messageOf, type Parameters } from "../../../web/core/request.ts";
import { say } from "../../../web/page/layout.ts";
import { view } from "../../../web/page/view.ts";
import { CurveBox } from "./curve.ts";
import { toObservation } from "./links.ts";
import {
  type Answer,
  cellsOf,
  drawLegend,
  drawMap,
  layOut,
  nameOf,
  type Picture,
  rowAtY,
  stepAtX,
} from "./map_draw.ts";
import { attach, type Held, pan, zoomRows, zoomSteps } from "./map_input.ts";
import { badText } from "./raster.ts";
import { heatScale } from "./scale.ts";
import { settings } from "./settings.generated.ts";
import type { State, SubView } from "./state.ts";
import { figureText, PHASES, short } from "./texts.ts";
import { cellAt, type Span, within } from "./viewport.ts";
import { button, copyTable, fill, offer, saveTable, SearchField, select } from "./widgets.ts";

const ASK_MS = 90;
const TELL_MS = 400;
const ORDERS = { run: "As they ran", module: "By module", name: "By name", worst: "Worst first" } as const;

export class MapView implements SubView, Held {
  readonly element = make("div", { className: "debugger-split debugger-map" });
  readonly tools: HTMLElement[];
  layout = layOut(100, 100);
  rows: Span = { begin: 0, end: 1 };
  steps: Span = { begin: 0, end: 1 };
  rowCount = 0;
  stepCount = 0;
  box: Held["box"] = null;
  #api: Api;
  #canvas = make("canvas", { className: "debugger-canvas", tabIndex: 0, role: "img", "aria-label": "Health map" });
  #legend = make("canvas", { className: "debugger-legend", "aria-hidden": "true" });
  #tip = make("div", { className: "debugger-tip", hidden: true });
  #message = make("p", { className: "debugger-hint", hidden: true });
  #stage = make("div", { className: "debugger-stage" });
  #curve: CurveBox;
  #figure = select("Statistic", [], "", (value) => this.#write("figure", value));
  #order = select("Order of the rows", Object.entries(ORDERS), "run", (value) => this.#write("order", value));
  #phase = select("Phase", [["", "Phase"]], "", (value) => view.write(settings.phase, value));
  #search = new SearchField("Search tensors (regex)", "Search", (text) => view.write(settings.search, text));
  #count = make("span", { className: "count" });
  #state: State | null = null;
  #answer: Answer | null = null;
  #key = "";
  #frame = 0;
  #asking: AbortController | null = null;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #telling: ReturnType<typeof setTimeout> | undefined;
  /** What determines which tensors are the rows. */
  #filter = "";
  /** What determines which row each of them is, and the same for the answer. */
  #places = "";
  #answered = "";
  /** The places of the selected row and step, or -1. */
  #selected = { row: -1, step: -1 };
  /** The tensor of the selected row, and what determined that it is there. */
  #placed = { tensor: "", places: "" };

  constructor(api: Api, ended: AbortSignal) {
    this.#api = api;
    this.#curve = new CurveBox(api, ended);
    this.#stage.append(this.#canvas, this.#message, this.#tip);
    const foot = make("div", { className: "debugger-map-foot" }, this.#legend, this.#count);
    this.element.append(make("div", { className: "debugger-main" }, this.#stage, foot), this.#curve.element);
    for (const filter of [this.#figure, this.#order, this.#phase]) filter.classList.add("debugger-filter");
    this.tools = [
      this.#figure,
      this.#order,
      this.#phase,
      this.#search.element,
      button("First non-finite", "Go to the first non-finite cell (B)", () => this.firstBad(), "alert"),
      button("All", "Show all rows and steps (0)", () => this.reset(), "zoom_all"),
      button("PNG", "Download the map as an image", () => this.#savePicture(), "download"),
      button("CSV", "Download the visible cells as CSV", () => this.#saveTable(), "download"),
      button("Copy", "Copy the visible cells as CSV", () => copyTable(this.#table()), "copy"),
    ];
    attach(this.#canvas, () => (this.#answer ? this : null));
    new ResizeObserver(() => {
      this.#drawSoon();
      this.#askSoon();
    }).observe(this.#stage);
  }

  show(state: State): void {
    const other = this.#state?.id !== state.id;
    this.#state = state;
    const { overview } = state;
    const figure = view.read(settings.figure);
    const order = view.read(settings.order);
    fill(this.#search.field, view.read(settings.search));
    const figures = [...new Set([...overview.figures, ...(figure === "auto" ? [] : [figure])])];
    const choices = figures.map((one): [string, string] => [one, figureText(one)]);
    if (choices.length) offer(this.#figure, choices, figure === "auto" ? overview.figure : figure);
    else offer(this.#figure, [["auto", "Not finite"]], "auto");
    offer(this.#order, Object.entries(ORDERS), order);
    offer(
      this.#phase,
      [["", "Phase"], ...overview.phases.map((one): [string, string] => [one, PHASES[one]])],
      view.read(settings.phase),
    );
    const filter = JSON.stringify([state.id, view.read(settings.search), view.read(settings.phase), order]);
    const key = JSON.stringify([state.version, figure, filter]);
    if (key !== this.#key) {
      // A view that showed everything keeps showing everything.
      if (filter !== this.#filter) this.rowCount = 0;
      this.#filter = filter;
      this.#key = key;
      this.#places = JSON.stringify([filter, order === "worst" && [figure, state.version]]);
      if (other) this.stepCount = 0;
      void this.#ask();
    }
    this.#select();
    this.#drawSoon();
  }

  facts = () => ({
    rows: [this.rows.begin, this.rows.end],
    steps: [this.steps.begin, this.steps.end],
    total: this.rowCount,
    lines: this.#answer?.lines ?? null,
    columns: this.#answer?.columns ?? null,
    pending: this.#asking !== null || this.#waiting !== undefined,
    selected: this.#selected,
    curve: this.#curve.facts(),
    layout: this.layout,
    figure: this.#answer?.figure ?? null,
  });

  // --- pointer input -------------------------------------------------------------------------------------------

  changed(): void {
    this.#drawSoon();
    this.#askSoon();
    clearTimeout(this.#telling);
    this.#telling = setTimeout(() => this.#tell(), TELL_MS);
  }

  reset(): void {
    this.rows = { begin: 0, end: this.rowCount };
    this.steps = { begin: 0, end: this.stepCount };
    this.changed();
  }

  hover(at: { x: number; y: number } | null): void {
    const answer = this.#answer;
    const row = at && answer ? Math.floor(rowAtY(this.layout, this.rows, at.y)) : -1;
    const line = answer && row >= 0 ? cellAt(answer.arrays[answer.rows], row, answer.lines) : -1;
    if (!at || !answer || line < 0 || row >= answer.end) return void (this.#tip.hidden = true);
    const named = answer.names[line];
    const end = line + 1 < answer.lines ? answer.arrays[answer.rows][line + 1] : answer.end;
    const joined = end - answer.arrays[answer.rows][line];
    const parts = [
      make("strong", {}, named ? nameOf(named) : `row ${integer(row + 1)}`),
      make(
        "span",
        {},
        [named?.op, named?.module && `in ${named.module}`, joined > 1 ? `and ${counted(joined - 1, "more row")}` : ""]
          .filter(Boolean)
          .join(" · "),
      ),
    ];
    const place = stepAtX(this.layout, this.steps, at.x);
    const column = at.x < this.layout.left ? -1 : cellAt(answer.arrays[answer.edges], place, answer.columns);
    if (column >= 0) parts.push(make("span", {}, this.#cellText(answer, line, column)));
    this.#tip.replaceChildren(...parts);
    this.#tip.hidden = false;
    const { offsetWidth: wide, offsetHeight: high } = this.#tip;
    const x = at.x + 16 + wide > this.layout.width ? Math.max(at.x - wide - 12, 2) : at.x + 16;
    const y = at.y + 16 + high > this.layout.height ? Math.max(at.y - high - 12, 2) : at.y + 16;
    this.#tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }

  choose(row: number, step: number): void {
    this.#canvas.focus({ preventScroll: true });
    this.#choose(row, step);
  }

  // --- keys ----------------------------------------------------------------------------------------------------

  zoom(factor: number): void {
    if (this.#answer) zoomSteps(this, factor, this.#selected.step >= 0 ? this.#selected.step + 0.5 : undefined);
  }
  zoomRows(factor: number): void {
    if (this.#answer) zoomRows(this, factor, this.#selected.row >= 0 ? this.#selected.row + 0.5 : undefined);
  }
  pan(rows: number, steps: number): void {
    if (this.#answer) pan(this, rows * (this.rows.end - this.rows.begin), steps * (this.steps.end - this.steps.begin));
  }
  /** Moves the selection by rows and columns. */
  move(rows: number, columns: number): void {
    const answer = this.#answer;
    if (!answer) return;
    const row = Math.min(
      Math.max(this.#selected.row < 0 ? Math.floor(this.rows.begin) : this.#selected.row + rows, 0),
      this.rowCount - 1,
    );
    let step = this.#selected.step;
    if (columns) {
      const edges = answer.arrays[answer.edges];
      const column = cellAt(edges, step < 0 ? this.steps.begin : step, answer.columns) + (step < 0 ? 0 : columns);
      step = edges[Math.min(Math.max(column, 0), answer.columns - 1)];
    }
    this.#choose(row, step);
  }
  /** Opens the execution of the selected cell. */
  openSelected(): void {
    const { first } = this.#cellSteps();
    const tensor = view.read(settings.tensor);
    if (tensor === "" || !this.#state) return say("Select a row first");
    const asked = { id: this.#state.id, tensor, first: first ?? undefined, limit: 1 };
    this.#api.ask<{ rows: { number: number }[] }>("observations", asked).then(({ rows }) => {
      if (!this.element.isConnected || view.read(settings.tensor) !== tensor) return;
      if (rows.length) toObservation(rows[0].number);
      else say(`This tensor was not recorded${first === null ? "" : " at or after this step"}`);
    }, (error) => say(messageOf(error)));
  }
  firstBad(): void {
    const bad = this.#answer?.first_bad;
    if (!bad) return say("Everything shown is finite");
    this.#canvas.focus({ preventScroll: true });
    this.#placed.tensor = String(bad.tensor);
    view.write(settings.tensor, String(bad.tensor));
    this.#selected.row = bad.row;
    const length = this.rows.end - this.rows.begin;
    if (bad.row < this.rows.begin || bad.row >= this.rows.end) {
      this.rows = within({ begin: bad.row - length / 2, end: bad.row + length / 2 }, this.rowCount, 1);
    }
    this.#selectStep(bad.step);
    this.changed();
  }
  focusSearch(): void {
    this.#search.focus();
  }

  // --- the selection -------------------------------------------------------------------------------------------

  #choose(row: number, step: number): void {
    this.#selected = { row, step };
    if (row < this.rows.begin || row + 1 > this.rows.end) {
      const length = this.rows.end - this.rows.begin;
      const begin = row < this.rows.begin ? row : row + 1 - length;
      this.rows = within({ begin, end: begin + length }, this.rowCount, 1);
      this.changed();
    }
    const answer = this.#answer;
    const line = answer ? cellAt(answer.arrays[answer.rows], row, answer.lines) : -1;
    const exact = answer && line >= 0 && answer.arrays[answer.rows][line] === row ? answer.names[line] : null;
    if (exact) view.write(settings.tensor, String(exact.number));
    else void this.#nameRow(row);
    this.#curve.point(this.#cellSteps().first);
    this.#drawSoon();
  }

  /** Looks up the tensor at a row when each line covers several rows. */
  async #nameRow(row: number): Promise<void> {
    const asked = { ...this.#parameters(), row_begin: row, row_end: row + 1, lines: 1, columns: 1 };
    const answer = await this.#api.ask<Answer>("map", asked).catch(() => null);
    const named = answer?.names[0];
    if (!named || this.#selected.row !== row) return;
    this.#placed.tensor = String(named.number);
    view.write(settings.tensor, String(named.number));
  }

  #cellSteps(): { first: number | null } {
    const answer = this.#answer;
    if (!answer || this.#selected.step < 0) return { first: null };
    const column = cellAt(answer.arrays[answer.edges], this.#selected.step, answer.columns);
    return { first: column < 0 ? null : answer.arrays[answer.steps][column] };
  }

  #selectStep(step: number): void {
    const answer = this.#answer;
    if (!answer) return;
    const column = cellAt(answer.arrays[answer.steps], step, answer.columns);
    this.#selected.step = column < 0 ? -1 : answer.arrays[answer.edges][column];
    this.#curve.point(step);
  }

  /** Shows the selection given in the address. */
  #select(): void {
    const state = this.#state;
    if (!state) return;
    const tensor = view.read(settings.tensor);
    const answer = this.#answer;
    const line = tensor === "" || !answer ? -1 : answer.names.findIndex(({ number }) => String(number) === tensor);
    if (tensor === "") this.#selected = { row: -1, step: -1 };
    else if (line >= 0 && answer) this.#selected.row = answer.arrays[answer.rows][line];
    else if (tensor !== this.#placed.tensor || this.#answered !== this.#placed.places) this.#selected.row = -1;
    this.#placed = { tensor, places: this.#answered };
    const figure = view.read(settings.figure);
    this.element.classList.toggle("alone", tensor === "");
    void this.#curve.show(state, tensor === "" ? null : Number(tensor), figure, view.read(settings.steps));
  }

  #cellText(answer: Answer, line: number, column: number): string {
    const at = line * answer.columns + column;
    const edges = answer.arrays[answer.edges];
    const first = answer.arrays[answer.steps][column];
    const several = edges[column + 1] - edges[column];
    const steps = several > 1 ? `${integer(several)} steps from ${stepText(first)}` : `step ${stepText(first)}`;
    const [worst, mean, bad] = [
      answer.arrays[answer.worst][at],
      answer.arrays[answer.mean][at],
      answer.arrays[answer.bad][at],
    ];
    const figure = figureText(answer.figure);
    const value = Number.isNaN(worst)
      ? (bad ? "" : "not observed")
      : several > 1
      ? `${figure} ${short(worst)}, mean ${short(mean)}`
      : `${figure} ${short(worst)}`;
    return [steps, badText(bad), value].filter(Boolean).join(" · ");
  }

  // --- the server ----------------------------------------------------------------------------------------------

  #write(name: "figure" | "order", value: string): void {
    const setting = settings[name];
    const found = setting.options.find((option) => option === value);
    if (found) view.update((_params, set) => set(setting.name, [found]));
  }

  #parameters(): Parameters {
    return {
      id: this.#state!.id,
      figure: view.read(settings.figure),
      order: view.read(settings.order),
      q: view.read(settings.search),
      phase: view.read(settings.phase),
    };
  }

  #askSoon(): void {
    if (!this.#state) return;
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => {
      this.#waiting = undefined;
      void this.#ask();
    }, ASK_MS);
  }

  async #ask(): Promise<void> {
    const { clientWidth: wide, clientHeight: high } = this.#stage;
    if (!this.#state || !wide || !high) return;
    this.#asking?.abort();
    const asking = this.#asking = new AbortController();
    const places = this.#places;
    const asked = this.#parameters();
    const layout = layOut(wide, high);
    const [first, last] = view.read(settings.steps).split(":");
    const rows = this.rowCount ? { row_begin: Math.floor(this.rows.begin), row_end: Math.ceil(this.rows.end) } : {};
    const steps = this.stepCount
      ? { begin: Math.floor(this.steps.begin), end: Math.ceil(this.steps.end) }
      : { first, last };
    const room = {
      lines: Math.min(Math.ceil(layout.plotHeight), 2000),
      columns: Math.min(Math.ceil(layout.plotWidth), 4000),
    };
    try {
      const answer = await this.#api.ask<Answer>("map", { ...asked, ...rows, ...steps, ...room }, {
        signal: asking.signal,
      });
      if (asking.signal.aborted) return;
      this.#search.refuse(answer.search_problem);
      // Keep the earlier results while the user is typing.
      if (answer.search_problem) return this.#answer ? undefined : this.#say("The search expression cannot be used.");
      // In the order of the run, tensors that are seen later are the last rows.
      [this.#answer, this.#answered] = [answer, asked.order === "run" ? places : `${places} ${answer.total}`];
      // The view may have been zoomed since the request.
      const wholeRows = this.rows.begin === 0 && this.rows.end >= this.rowCount;
      const wholeSteps = this.steps.begin === 0 && this.steps.end >= this.stepCount;
      if (!this.rowCount || (wholeRows && answer.total !== this.rowCount)) {
        this.rows = { begin: answer.begin, end: Math.max(answer.total, 1) };
      }
      if (!this.stepCount) {
        this.steps = { begin: answer.step_begin, end: Math.max(answer.step_end, answer.step_begin + 1) };
      } else if (wholeSteps) this.steps = { begin: 0, end: answer.all_steps };
      const grown = wholeRows && answer.end < answer.total ||
        wholeSteps && answer.step_end < answer.all_steps && this.stepCount > 0;
      [this.rowCount, this.stepCount] = [answer.total, answer.all_steps];
      this.#say(answer.total ? "" : "No tensor matches the filter.");
      this.#count.textContent = `${counted(answer.total, "tensor")}, ${counted(answer.all_steps, "step")}`;
      this.#select();
      if (grown) this.#askSoon();
    } catch (error) {
      if (isAbort(error) || asking.signal.aborted) return;
      [this.#answer, this.#key] = [null, ""];
      this.#say(messageOf(error));
    } finally {
      if (this.#asking === asking) this.#asking = null;
    }
    this.#drawSoon();
  }

  #say(text: string): void {
    this.#message.textContent = text;
    this.#message.hidden = !text;
    this.#canvas.hidden = Boolean(text);
  }

  /** Writes the visible range of steps to the address. */
  #tell(): void {
    const answer = this.#answer;
    if (!answer || !this.element.isConnected) return;
    const all = this.steps.begin <= 0 && this.steps.end >= this.stepCount;
    const steps = answer.arrays[answer.steps];
    const edges = answer.arrays[answer.edges];
    const at = (place: number) =>
      steps[Math.max(Math.min(cellAt(edges, place, answer.columns), answer.columns - 1), 0)];
    const last = this.steps.end >= edges[answer.columns]
      ? steps[answer.columns] - (edges[answer.columns] < answer.all_steps ? 1 : 0)
      : at(this.steps.end - 1);
    view.write(settings.steps, all ? "" : `${at(this.steps.begin)}:${last}`);
  }

  // --- the picture ---------------------------------------------------------------------------------------------

  #picture(): Picture | null {
    const [answer, state] = [this.#answer, this.#state];
    if (!answer || !state) return null;
    const number = (value: number | string | null) => (value === null ? NaN : Number(value));
    const extent = {
      low: number(answer.low),
      high: number(answer.high),
      least: number(answer.least),
      signed: answer.signed,
    };
    return {
      answer,
      cells: cellsOf(answer),
      rows: this.rows,
      steps: this.steps,
      scale: heatScale(extent, state.scheme),
      selectedRow: this.#selected.row,
      selectedStep: this.#selected.step,
      box: this.box,
    };
  }

  #drawSoon(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const picture = this.#picture();
      const { clientWidth: wide, clientHeight: high } = this.#stage;
      if (!picture || !wide || !high) return;
      this.layout = layOut(wide, high);
      drawMap(this.#canvas, this.layout, picture);
      const { answer } = picture;
      drawLegend(this.#legend, answer.low === null ? null : picture.scale, Math.min(360, Math.max(wide * 0.5, 150)));
      this.#canvas.setAttribute(
        "aria-label",
        `Health map: ${figureText(answer.figure)} of ${counted(answer.total, "tensor")} over ${
          counted(answer.all_steps, "step")
        }. ` +
          (answer.first_bad
            ? `The first value that is not finite is at step ${answer.first_bad.step}. `
            : "Everything is finite. ") +
          "Arrows move the selection, plus and minus zoom, Enter opens it.",
      );
      this.#canvas.dataset.drawn = `${answer.lines}x${answer.columns}`;
    });
  }

  #savePicture(): void {
    save(this.#canvas.toDataURL("image/png"), "health_map.png");
  }

  #table() {
    const answer = this.#answer;
    if (!answer) return [];
    const steps = [...answer.arrays[answer.steps].slice(0, answer.columns)];
    const rows = Array.from({ length: answer.lines }, (_, line) => {
      const at = line * answer.columns;
      const named = answer.names[line];
      const worst = [...answer.arrays[answer.worst].slice(at, at + answer.columns)];
      const bad = answer.arrays[answer.bad].slice(at, at + answer.columns);
      return [
        named?.name ?? `row ${answer.arrays[answer.rows][line]}`,
        named?.phase ?? "",
        ...worst.map((
          value,
          column,
        ) => (bad[column] ? badText(bad[column]) : Number.isNaN(value) ? null : value)),
      ];
    });
    return [["tensor", "phase", ...steps], ...rows];
  }

  #saveTable(): void {
    saveTable(this.#table(), `${this.#answer?.figure ?? "map"}.csv`);
  }
}
