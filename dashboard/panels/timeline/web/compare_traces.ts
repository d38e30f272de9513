/** Several traces in one view: the selection, their alignment, and their collectives and differences. */
import { make } from "../../../web/core/dom.ts";
import { runName } from "../../../web/core/names.ts";
import { popover } from "../../../web/core/popover.ts";
import { messageOf } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import { changesOf } from "./colors.ts";
import type { Source } from "./data.ts";
import * as geometry from "./geometry.ts";
import type { Scene, SlicePlace } from "./geometry.ts";
import type {
  AlignmentAnswer,
  ClosedTrace,
  CollectivesAnswer,
  DifferencesAnswer,
  TraceRow,
  TracesAnswer,
  TraceSummary,
} from "./messages.generated.ts";
import type { TimelinePanel } from "./panel.ts";
import { button } from "./widgets.ts";
import { settings } from "./settings.generated.ts";

export type Alignment = typeof settings.align.options[number];

/** Comparing more would leave too little room for each. */
const MOST = 8;
const ALIGNMENTS: Record<Alignment, string> = {
  start: "Start of trace",
  step: "A step",
  clock: "Wall clock",
  collectives: "Collectives",
};

export class Together {
  readonly panel: TimelinePanel;
  by: Alignment = settings.align.default;
  step: number | null = null;
  collectives: CollectivesAnswer | null = null;
  notes: string[] = [];
  requested = 0;
  /** Ids of traces yet to be added, which the address already names. */
  coming: string[] = [];
  /** Whether the box is waiting for the list of traces. */
  opening = false;

  constructor(panel: TimelinePanel) {
    this.panel = panel;
  }

  get ids() {
    return this.panel.sources.map((source) => source.id);
  }

  reset() {
    this.requested += 1;
    this.coming = [];
    this.collectives = null;
    this.notes = [];
    this.panel.colors.verdicts = null;
  }

  /** Adds traces one after another, until another trace is opened. */
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
      const summary = await panel.api.ask<TraceSummary | ClosedTrace>("trace", { id });
      if (panel.sources[0] !== first || this.ids.includes(id)) return;
      if ("problem" in summary) return panel.notify(summary.problem);
      panel.addSource(summary);
      const stepped = panel.sources.every((s) => s.summary.steps.length > 0);
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
    panel.sources = panel.sources.filter((s) => s !== source);
    panel.sources.forEach((s, place) => (s.place = place));
    this.coming = this.coming.filter((id) => id !== source.id);
    panel.setMatches(null);
    if (panel.selection.slice?.source === source) panel.selection.clear();
    panel.area.clear();
    this.align();
  }

  alignBy(by: Alignment, step: number | null = null): Promise<void> | void {
    this.by = by;
    this.step = step;
    return this.align();
  }

  /** Requests the position of each trace, and what connects them. */
  async align(): Promise<void> {
    const { panel } = this;
    const requested = ++this.requested;
    panel.tellTraces();
    this.collectives = null;
    panel.colors.verdicts = null;
    this.notes = [];
    if (panel.sources.length < 2) {
      for (const source of panel.sources) source.offset = 0;
      if (panel.colors.mode === "difference") panel.setColor("name");
      return panel.sourcesChanged();
    }
    const ids = this.ids;
    try {
      const found = await panel.api.ask<AlignmentAnswer>("align", {
        id: ids,
        by: this.by,
        step: this.by === "step" ? this.step : null,
      });
      if (requested !== this.requested) return;
      panel.sources.forEach((source, place) => (source.offset = found.traces[place].offset));
      this.notes = found.notes;
      if (found.notes.length && this.by !== "start") panel.notify(found.notes.join(" "), "info");
    } catch (error) {
      if (requested !== this.requested) return;
      panel.notify(messageOf(error));
      if (this.by !== "start") return this.alignBy("start");
    }
    panel.sourcesChanged();
    const [collectives, differences] = await Promise.allSettled([
      panel.api.ask<CollectivesAnswer>("collectives", { id: ids, limit: 2000 }),
      ids.length === 2 ? panel.api.ask<DifferencesAnswer>("differences", { id: ids }) : null,
    ]);
    if (requested !== this.requested) return;
    if (collectives.status === "fulfilled") this.collectives = collectives.value;
    if (differences.status === "fulfilled" && differences.value) {
      panel.colors.verdicts = changesOf(differences.value);
    }
    panel.changed();
  }

  /** Draws lines between the slices of one collective on several ranks. */
  draw(scene: Scene) {
    if (!this.collectives || scene.sources.length < 2) return;
    const { context, theme } = scene;
    const ids = this.ids;
    context.lineWidth = 1;
    context.strokeStyle = theme.accent;
    for (const row of this.collectives.rows) {
      let last: SlicePlace | null = null;
      for (let place = 0; place < ids.length; place += 1) {
        const slice = row.slices[place];
        const at: SlicePlace | null = slice && geometry.slicePlace(scene, slice, scene.sources[place]);
        if (!at || at.band.pinned) continue;
        if (last && Math.max(last.x1, at.x1) > scene.left && Math.min(last.x0, at.x0) < scene.width) {
          context.globalAlpha = this.by === "collectives" ? 0.4 : 0.16;
          context.beginPath();
          for (const side of ["x0", "x1"] as const) {
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

  /** Opens the box with the traces that can be added and the alignment. */
  async open(anchor: HTMLElement) {
    const { panel } = this;
    if (!panel.sources.length || this.opening) return;
    this.opening = true;
    const active = document.activeElement;
    let traces: TraceRow[];
    try {
      ({ traces } = await panel.api.ask<TracesAnswer>("traces", {}));
    } catch (error) {
      return panel.notify(messageOf(error));
    } finally {
      this.opening = false;
    }
    // If the user has moved elsewhere in the meantime, the focus stays there.
    if (document.activeElement !== active || !panel.sources.length) return;
    const here = this.ids;
    const first = traces.find((t) => t.id === here[0]);
    const folder = (id: string) => id.slice(0, id.lastIndexOf("/"));
    const ranks = first?.kind === "file"
      ? traces.filter((t) => t.kind === "file" && folder(t.id) === folder(first.id))
      : [];
    const beside = ranks.filter((t) => !here.includes(t.id));
    const added = beside.slice(0, MOST - here.length);
    const shown = ranks.length - beside.length + added.length;
    const many = shown < ranks.length ? `${shown} of ${ranks.length}` : `all ${shown}`;
    const field = make("input", {
      className: "text-field",
      type: "search",
      placeholder: "Find a trace",
      "aria-label": "Find a trace",
    });
    const list = make("div", { className: "timeline-trace-list" });
    const fill = () => {
      const wanted = field.value.toLowerCase();
      const found = traces.filter((t) => !here.includes(t.id) && t.id.toLowerCase().includes(wanted));
      // Traces in the first trace's folder are the most likely choices.
      found.sort((a, b) => Number(folder(b.id) === folder(here[0])) - Number(folder(a.id) === folder(here[0])));
      list.replaceChildren(
        ...found.slice(0, 200).map((t) => {
          const entry = button(`${runName(t.run)} · ${t.label}`, t.id, () => {
            popover.close();
            this.add(t.id);
          }, "menu-entry");
          entry.setAttribute("aria-label", `${runName(t.run)} · ${t.label}`);
          return entry;
        }),
        found.length ? "" : make("p", { className: "timeline-none" }, "No other trace matches"),
      );
    };
    field.addEventListener("input", fill);
    fill();
    const ways = make("div", { className: "timeline-ways" });
    for (const by of settings.align.options) {
      const label = ALIGNMENTS[by];
      // An alignment that cannot be computed is not offered.
      if (by === "step" && !panel.sources.every((s) => s.summary.steps.length)) continue;
      const way = button(label, `Align the traces by: ${label.toLowerCase()}`, () => {
        popover.close();
        this.alignBy(by, by === "step" ? panel.middleStep() : null);
      }, "plain");
      way.classList.toggle("on", this.by === by);
      way.setAttribute("aria-pressed", String(this.by === by));
      ways.append(way);
    }
    const notes = this.notes.map((note) => make("p", { className: "timeline-none" }, note));
    const open = panel.sources.slice(1).map((source) =>
      make(
        "div",
        { className: "timeline-open-trace" },
        make("span", null, `${source.place + 1} · ${runName(source.summary.run)} · ${source.summary.label}`),
        button("✕", `Close ${source.summary.label}`, () => {
          popover.close();
          this.remove(source);
        }, "plain"),
      )
    );
    const parts = [
      ...open,
      ...(panel.sources.length > 1
        ? [make("div", { className: "timeline-box-head" }, "Aligned by"), ways, ...notes]
        : []),
      ...(panel.colors.verdicts
        ? [
          make(
            "div",
            { className: "timeline-box-row" },
            button("Color differences", "Color slices by how they changed in the second trace", () => {
              popover.close();
              panel.setColor("difference");
            }),
            button("Table of differences", "Both traces compared on the Profile tab", () => {
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
      make("div", { className: "timeline-box-head" }, "Add a trace below"),
      ...(added.length
        ? [button(`Add ${many} from this folder`, "The ranks of one job write into one folder", () => {
          popover.close();
          this.addAll(added.map((t) => t.id));
        })]
        : []),
      field,
      list,
    ];
    popover.show(anchor, "Several traces", parts, { className: "timeline-together", focus: field });
  }
}
