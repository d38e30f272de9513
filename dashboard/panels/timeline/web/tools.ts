/** The Timeline's buttons, the lane filter field, and the menus of slices and steps. */
import { showStep } from "../../../curves/web/profiled_steps.ts";
import * as timelineText from "../../../web/core/canvas_text.ts";
import { bind } from "../../../web/core/commands.ts";
import { make } from "../../../web/core/dom.ts";
import { popover } from "../../../web/core/popover.ts";
import { messageOf } from "../../../web/core/request.ts";
import { toggleKeysSheet } from "../../../web/page/keys_sheet.ts";
import { copyText } from "../../../web/page/layout.ts";
import { view } from "../../../web/page/view.ts";
import { MODES } from "./colors.ts";
import * as exports from "./exports.ts";
import type { DrawnSlice, Point } from "./geometry.ts";
import { onlyLane } from "./lanes.ts";
import type { Rows } from "./layout.ts";
import type { TimelinePanel } from "./panel.ts";
import { button } from "./widgets.ts";
import * as rulers from "./rulers.ts";
import { settings } from "./settings.generated.ts";

const FILTER_MS = 120;

/** Fills the host with the buttons. */
export function fill(panel: TimelinePanel, host: HTMLElement): { show: () => void } {
  const area = button(
    "Area",
    "Drag over lanes to sum up what ran there (R; or Shift+drag)",
    () => panel.setChoosing(!panel.choosing),
    "toggle-text",
  );
  const color = button(
    "Color",
    "What slices are colored by",
    () =>
      popover.menu(
        color,
        "Color by",
        settings.color.options
          .filter((mode) => mode !== "difference" || panel.colors.verdicts)
          .map((mode) => [`${mode === panel.colors.mode ? "✓" : "  "} ${MODES[mode]}`, () => panel.setColor(mode)]),
      ),
  );
  color.setAttribute("aria-haspopup", "menu");
  const critical = button(
    "Critical path",
    "Highlight the critical path (C)",
    () => panel.turn("critical"),
    "toggle-text",
  );
  const idle = button(
    "Idle",
    "Shade idle gaps by cause (I)",
    () => panel.turn("idle"),
    "toggle-text",
  );
  const several = button("Compare", "Show other traces below this one, aligned", () => panel.together.open(several));
  several.setAttribute("aria-haspopup", "dialog");
  const save = button(
    "Download",
    "Download an image or the trace",
    () => popover.menu(save, "Download", exports.entries(panel)),
  );
  save.setAttribute("aria-haspopup", "menu");
  host.replaceChildren(
    panel.search.element,
    make(
      "span",
      { className: "timeline-tools-end" },
      area,
      critical,
      idle,
      color,
      several,
      save,
      button("Fit", "Fit the selection, or everything (F)", () => panel.fit()),
      button("?", "Keyboard and mouse shortcuts (?)", toggleKeysSheet),
    ),
  );
  const show = () => {
    const toggles: [HTMLElement, boolean][] = [
      [area, panel.choosing],
      [critical, panel.overlays.critical],
      [idle, panel.overlays.idle],
    ];
    for (const [toggle, on] of toggles) {
      toggle.classList.toggle("on", on);
      toggle.setAttribute("aria-pressed", String(on));
    }
    color.textContent = `Color: ${MODES[panel.colors.mode].toLowerCase()}`;
  };
  show();
  return { show };
}

/** The lane filter field above the labels. */
export function laneFilter(panel: TimelinePanel) {
  const input = make("input", {
    className: "timeline-lane-filter-input",
    type: "text",
    spellcheck: false,
    placeholder: "Filter lanes",
    "aria-label": "Filter lanes by name, a regular expression",
  });
  const all = button("", "Show all lanes", () => panel.showAllLanes(), "plain");
  const box = make("div", { className: "timeline-lane-filter" }, input, all);
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => panel.setFilter(input.value), FILTER_MS);
  });
  bind(input, {
    Escape() {
      clearTimeout(timer);
      input.value = "";
      panel.setFilter("");
      panel.canvas.focus();
    },
  });
  return {
    element: box,
    set: (text: string) => {
      if (document.activeElement !== input) input.value = text;
    },
    show: (rows: Rows) => {
      all.textContent = rows.hidden ? `${rows.total - rows.hidden} of ${rows.total}` : "";
      all.style.display = rows.hidden ? "" : "none";
      input.classList.toggle("wrong", panel.lanes.wrong);
      input.title = panel.lanes.wrong ? "Not a valid regular expression; matching as plain text" : "";
    },
    place: ({ left, sources }: Pick<TimelinePanel, "left" | "sources">) => {
      box.style.width = `${left - 8}px`;
      box.style.top = `${rulers.heights(sources).axis + 1}px`;
    },
  };
}

/** @param found the slice under the mouse */
export function sliceMenu(panel: TimelinePanel, found: DrawnSlice, at: Point) {
  const short = timelineText.shortName(found.name);
  const name = short.length > 40 ? `${short.slice(0, 39)}…` : short;
  const withName = (use: (name: string) => void) => () =>
    found.source.fullName(found).then(use).catch((error) => panel.notify(messageOf(error)));
  const elsewhere: [string, () => void][] = view.tabs().some((tab) => tab.name === "graph")
    ? [[
      "Show its node in the graph",
      withName((whole) => view.open("graph", { "graph.node": [whole], "graph.costs": [found.source.id] })),
    ]]
    : [];
  const band = panel.rows.ofLane.get(`${found.source.place}/${found.lane}`);
  const lane: [string, () => void][] = band ? [["Only this lane", () => panel.setFilter(onlyLane(band))]] : [];
  popover.menu(panel.canvas, found.name, [
    ...elsewhere,
    ["Select", () => panel.selection.select(found.index, { source: found.source })],
    [
      "Zoom to it",
      () =>
        panel.viewport.reveal(
          { start: found.start + found.source.offset, duration: found.duration },
          0.8,
          performance.now(),
        ),
    ],
    [`Find all “${name}”`, withName((whole) => panel.search.set(whole, "name"))],
    ...lane,
    ["Copy name", withName((whole) => copyText(whole, "Name copied"))],
  ], { left: at.x, top: at.y, bottom: at.y });
}

export async function stepMenu(panel: TimelinePanel, { source, step }: rulers.StepOf, at: Point) {
  const [number, , start, length] = step;
  const from = start + source.offset;
  const entries: [string, () => void][] = [
    [`Zoom to step ${number}`, () => panel.viewport.reveal({ start: from, duration: length }, 0.96, performance.now())],
    [`Summarize step ${number}`, () => panel.area.over([from, from + length], source)],
    [`Mark step ${number}`, () => {
      panel.marked = [from, from + length];
      panel.changed();
    }],
  ];
  if (panel.sources.length > 1) {
    entries.push([`Align all traces at step ${number}`, () => panel.together.alignBy("step", number)]);
  }
  const presses = popover.presses();
  const joined = await source.joined;
  if (presses !== popover.presses()) return;
  const found = joined?.steps.find((one) => one[3] === number);
  const run = joined?.runs.at(0);
  if (found && run !== undefined) {
    entries.push([`Show step ${found[0]} on the curves of ${run}`, () => showStep(run, found[0])]);
  }
  popover.menu(panel.canvas, `Step ${number}`, entries, { left: at.x, top: at.y, bottom: at.y });
}
