/** Several traces in one view: which, how they are aligned, what their collectives and differences are. */
import * as data from "./data.ts";
import * as details from "./details.ts";
import * as geometry from "./geometry.ts";
import { popover } from "../../../web/core/popover.ts";
import { view } from "../../../web/page/view.ts";
import { messageOf } from "../../../web/core/request.ts";
import type { Scene } from "./geometry.ts";
import type { TimelinePanel } from "./panel.ts";
import type { Source } from "./data.ts";
import type { Band } from "./layout.ts";

/** Comparing more would leave no room for any. */
const MOST = 8;
/** Characters of a name that windows carry. */
const WINDOW_NAME = 160;
const ALIGNMENTS = { start: "Beginnings", step: "A step", clock: "Wall clock", collectives: "Collectives" };

export class Together {
  panel;
  by = "start";
  step: number | null = null;
  /** answer of the route `collectives` */
  collectives: any = null;
  notes: string[] = [];
  asked = 0;
  /** Ids of traces that are still to be added, which the address names all the same. */
  coming: string[] = [];
  /** Whether the box waits for the list of traces. */
  opening = false;

  /** @param panel the panel of timeline_panel.js */
  constructor(panel: TimelinePanel) {
    this.panel = panel;
  }

  get ids() {
    return this.panel.sources.map((source: Source) => source.id);
  }

  reset() {
    this.asked += 1;
    this.coming = [];
    this.collectives = null;
    this.notes = [];
    this.panel.colours.verdicts = null;
  }

  /** One after another, until another trace is opened. */
  async addAll(ids: string[]) {
    const first = this.panel.sources[0];
    this.coming = [...this.coming, ...ids];
    for (const id of ids) {
      await this.add(id);
      if (this.panel.sources[0] !== first) return;
      this.coming = this.coming.filter((each) => each !== id);
    }
  }

  async add(id: string) {
    const { panel } = this;
    if (this.ids.includes(id)) return;
    if (panel.sources.length >= MOST) return panel.notify(`At most ${MOST} traces can be shown together.`);
    const first = panel.sources[0];
    try {
      const response = await data.request(panel.settings.api, "trace", { id });
      const summary = await response.json();
      if (panel.sources[0] !== first || this.ids.includes(id)) return;
      if (summary.problem) return panel.notify(summary.problem);
      panel.addSource(summary);
      const stepped = panel.sources.every((s: any) => s.summary.steps.length > 0);
      if (this.by === "start" && stepped) this.by = "step";
      if (this.by === "step" && !stepped) this.by = "start";
      await this.align();
    } catch (error) {
      panel.notify(messageOf(error));
    }
  }

  remove(source: Source) {
    const { panel } = this;
    source.close();
    panel.sources = panel.sources.filter((s: any) => s !== source);
    panel.sources.forEach((s: any, place: number) => (s.place = place));
    this.coming = this.coming.filter((id) => id !== source.id);
    panel.setMatches(null);
    if (panel.selection.slice?.source === source) panel.selection.clear();
    panel.area.clear();
    this.align();
  }

  alignBy(by: string, step: number | null = null): Promise<void> | void {
    this.by = by;
    this.step = step;
    return this.align();
  }

  /** Asks where each trace goes, and what joins them. */
  async align(): Promise<void> {
    const { panel } = this;
    const asked = ++this.asked;
    panel.tellTraces();
    this.collectives = null;
    panel.colours.verdicts = null;
    this.notes = [];
    if (panel.sources.length < 2) {
      for (const source of panel.sources) source.offset = 0;
      if (panel.colours.mode === "difference") panel.setColour("name");
      return panel.sourcesChanged();
    }
    const ids = this.ids;
    try {
      const found = await panel.sources[0].many("align", ids, {
        by: this.by,
        step: this.by === "step" ? this.step : null,
      });
      if (asked !== this.asked) return;
      panel.sources.forEach((source: Source, place: number) => (source.offset = found.traces[place].offset));
      this.notes = found.notes;
      if (found.notes.length && this.by !== "start") panel.notify(found.notes.join(" "), "info");
    } catch (error) {
      if (asked !== this.asked) return;
      panel.notify(messageOf(error));
      if (this.by !== "start") return this.alignBy("start");
    }
    panel.sourcesChanged();
    const [collectives, differences] = await Promise.allSettled([
      panel.sources[0].many("collectives", ids, { limit: 2000 }),
      ids.length === 2 ? panel.sources[0].many("differences", ids, {}) : Promise.resolve(null),
    ]);
    if (asked !== this.asked) return;
    if (collectives.status === "fulfilled") this.collectives = collectives.value;
    if (differences.status === "fulfilled" && differences.value) {
      const { name, verdict, mean, count } = differences.value;
      panel.colours.verdicts = new Map(
        name.map((
          each: string,
          i: number,
        ) => [each.slice(0, WINDOW_NAME), {
          verdict: verdict[i],
          means: [mean[0][i], mean[1][i]],
          counts: [count[0][i], count[1][i]],
        }]),
      );
    }
    panel.changed();
  }

  /** Lines between the slices of one collective on several ranks. */
  draw(scene: Scene) {
    if (!this.collectives || scene.sources.length < 2) return;
    const { context, theme } = scene;
    const ids = this.ids;
    context.lineWidth = 1;
    context.strokeStyle = theme.accent;
    for (const row of this.collectives.rows) {
      let last: any = null;
      for (let place = 0; place < ids.length; place += 1) {
        const slice = row.slices[place];
        const at = slice && geometry.slicePlace(scene, slice, scene.sources[place]);
        if (!at || at.band.pinned) continue;
        if (last && Math.max(last.x1, at.x1) > scene.left && Math.min(last.x0, at.x0) < scene.width) {
          context.globalAlpha = this.by === "collectives" ? 0.4 : 0.16;
          context.beginPath();
          for (const side of ["x0", "x1"]) {
            context.moveTo(last[side], last.y + last.height);
            context.lineTo(at[side], at.y);
          }
          context.stroke();
        }
        last = at;
      }
    }
    context.globalAlpha = 1;
  }

  /** The box with the traces that can be added, and how they are aligned. */
  async open(anchor: HTMLElement) {
    const { panel } = this;
    const { element, button } = details;
    if (!panel.sources.length || this.opening) return;
    this.opening = true;
    const active = document.activeElement;
    let traces: any[];
    try {
      const response = await data.request(panel.settings.api, "traces", {});
      ({ traces } = await response.json());
    } catch (error) {
      return panel.notify(messageOf(error));
    } finally {
      this.opening = false;
    }
    // Whoever went elsewhere meanwhile keeps the focus.
    if (document.activeElement !== active || !panel.sources.length) return;
    const here = this.ids;
    const first = traces.find((t: any) => t.id === here[0]);
    const folder = (id: string) => id.slice(0, id.lastIndexOf("/"));
    const beside = first
      ? traces.filter((t: any) =>
        t.kind === "file" && first.kind === "file" && folder(t.id) === folder(first.id) && !here.includes(t.id)
      )
      : [];
    const field = element("input", "text-field") as HTMLInputElement;
    field.type = "search";
    field.placeholder = "Find a trace";
    field.setAttribute("aria-label", "Find a trace");
    const list = element("div", "timeline-trace-list");
    const fill = () => {
      const wanted = field.value.toLowerCase();
      const found = traces.filter((t: any) => !here.includes(t.id) && t.id.toLowerCase().includes(wanted));
      // Those beside the first trace are the likeliest.
      found.sort((a: any, b: Band) =>
        Number(folder(b.id) === folder(here[0])) - Number(folder(a.id) === folder(here[0]))
      );
      list.replaceChildren(
        ...found.slice(0, 200).map((t: any) => {
          const entry = button(`${t.run} · ${t.label}`, t.id, () => {
            popover.close();
            this.add(t.id);
          }, "menu-entry");
          entry.setAttribute("aria-label", `${t.run} · ${t.label}`);
          return entry;
        }),
        found.length ? "" : element("p", "timeline-none", "No other trace of that name"),
      );
    };
    field.addEventListener("input", fill);
    fill();
    const ways = element("div", "timeline-ways");
    for (const [by, label] of Object.entries(ALIGNMENTS)) {
      // A request that cannot be answered is not offered.
      if (by === "step" && !panel.sources.every((s: any) => s.summary.steps.length)) continue;
      const way = button(label, `Align the traces by: ${label.toLowerCase()}`, () => {
        popover.close();
        this.alignBy(by, by === "step" ? panel.middleStep() : null);
      }, "plain");
      way.classList.toggle("on", this.by === by);
      way.setAttribute("aria-pressed", String(this.by === by));
      ways.append(way);
    }
    const notes = this.notes.map((note) => element("p", "timeline-none", note));
    const open = panel.sources.slice(1).map((source: Source) =>
      element(
        "div",
        "timeline-open-trace",
        element("span", "", `${source.place + 1} · ${source.summary.run} · ${source.summary.label}`),
        button("✕", `Close ${source.summary.label}`, () => {
          popover.close();
          this.remove(source);
        }, "plain"),
      )
    );
    const parts = [
      ...open,
      ...(panel.sources.length > 1 ? [element("div", "timeline-box-head", "Aligned by"), ways, ...notes] : []),
      ...(panel.colours.verdicts
        ? [
          element(
            "div",
            "timeline-box-row",
            button("Colour differences", "Colour slices by what became of them in the second trace", () => {
              popover.close();
              panel.setColour("difference");
            }),
            button("Table of differences", "Both traces compared in the Profile panel", () => {
              popover.close();
              view.open("profile", {
                "profile.trace": [here[1]],
                "profile.before": [here[0]],
                "profile.view": ["diff"],
              });
            }),
          ),
        ]
        : []),
      element("div", "timeline-box-head", "Add a trace below"),
      ...(beside.length
        ? [button(`All ${beside.length + 1} of this folder`, "The ranks of one job write into one folder", () => {
          popover.close();
          this.addAll(beside.slice(0, MOST - here.length).map((t: any) => t.id));
        })]
        : []),
      field,
      list,
    ];
    popover.show(anchor, "Several traces", parts, { className: "timeline-together", focus: field });
  }
}
