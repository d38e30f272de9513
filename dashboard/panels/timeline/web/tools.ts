/** The Timeline's buttons, the field that filters lanes, and the menus of slices and steps. */
import { bind } from "../../../web/core/commands.ts";
import { toggleKeysSheet } from "../../../web/page/keys_sheet.ts";
import * as colours from "./colours.ts";
import * as details from "./details.ts";
import * as exports from "./exports.ts";
import * as frame from "../../../web/page/layout.ts";
import * as rulers from "./rulers.ts";
import * as timelineText from "../../../web/core/canvas_text.ts";
import { elements } from "../../../web/core/dom.ts";
import { popover } from "../../../web/core/popover.ts";
import { showStep } from "../../../curves/web/profiled_steps.ts";
import { view } from "../../../web/page/view.ts";
import type { TimelinePanel } from "./panel.ts";
import type { Source } from "./data.ts";

const FILTER_MS = 120;

/** @param panel the panel of timeline_panel.js */
export function fill(panel: TimelinePanel, host: HTMLElement): { show: () => void } {
  const { element, button } = details;
  const menu = (anchor: HTMLElement, label: string, entries: [string, () => void][]) =>
    popover.menu(anchor, label, entries);
  const area = button(
    "Area",
    "Drag over lanes to sum up what ran there (R; or Shift + drag)",
    () => panel.setChoosing(!panel.choosing),
    "toggle-text",
  );
  const colour = button(
    "Colour",
    "What slices are coloured by",
    () =>
      menu(
        colour,
        "Colour by",
        Object.entries(colours.MODES)
          .filter(([mode]) => mode !== "difference" || panel.colours.verdicts)
          .map(([mode, label]) => [mode === panel.colours.mode ? `✓ ${label}` : `   ${label}`, () =>
            panel.setColour(mode)]
          ),
      ),
  );
  colour.setAttribute("aria-haspopup", "menu");
  const critical = button(
    "Critical path",
    "Draw what the length of the trace hangs on over the slices (C)",
    () => panel.turn("critical"),
    "toggle-text",
  );
  const idle = button(
    "Idle",
    "Shade the time in which streams are idle by its cause (I)",
    () => panel.turn("idle"),
    "toggle-text",
  );
  const several = button("Compare", "Show other traces below this one, aligned", () => panel.together.open(several));
  several.setAttribute("aria-haspopup", "dialog");
  const save = button("Save", "Save the picture or the trace", () => menu(save, "Save", exports.entries(panel)));
  save.setAttribute("aria-haspopup", "menu");
  host.replaceChildren(
    panel.search.element,
    element(
      "span",
      "timeline-tools-end",
      area,
      critical,
      idle,
      colour,
      several,
      save,
      button("Fit", "Fit the selection, or everything (F)", () => panel.fit()),
      button("?", "Keys and mouse (?)", toggleKeysSheet),
    ),
  );
  const show = () => {
    for (
      const [toggle, on]
        of ([[area, panel.choosing], [critical, panel.overlays.critical], [idle, panel.overlays.idle]] as [
          HTMLElement,
          boolean,
        ][])
    ) {
      toggle.classList.toggle("on", on);
      toggle.setAttribute("aria-pressed", String(on));
    }
    colour.textContent = `Colour: ${colours.MODES[panel.colours.mode].toLowerCase()}`;
  };
  show();
  return { show };
}

/** The field above the labels. */
export function laneFilter(panel: TimelinePanel) {
  const { element, button } = details;
  const input = element("input", "timeline-lane-filter-input") as HTMLInputElement;
  input.type = "text";
  input.spellcheck = false;
  input.placeholder = "Filter lanes";
  input.setAttribute("aria-label", "Filter lanes by name, a regular expression");
  const all = button("", "Show all lanes", () => panel.showAllLanes(), "plain");
  const box = element("div", "timeline-lane-filter", input, all);
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
    /** @param rows see timeline_layout.js */
    show: (rows: any) => {
      all.textContent = rows.hidden ? `${rows.total - rows.hidden} of ${rows.total}` : "";
      all.style.display = rows.hidden ? "" : "none";
      input.classList.toggle("wrong", panel.lanes.wrong);
      input.title = panel.lanes.wrong ? "No regular expression; taken as text" : "";
    },
    place: ({ left, sources }: any) => {
      box.style.width = `${left - 8}px`;
      box.style.top = `${rulers.heights(sources).axis + 1}px`;
    },
  };
}

/** @param found a slice under the mouse */
export function sliceMenu(panel: TimelinePanel, found: any, at: { x: number; y: number }) {
  const short = timelineText.shortName(found.name);
  const name = short.length > 40 ? `${short.slice(0, 39)}…` : short;
  const elsewhere: ([string, () => void])[] = view.tabs().some((tab: any) => tab.name === "graph")
    ? [[
      "Show its node in the graph",
      () => view.open("graph", { "graph.node": [found.name], "graph.costs": [found.source.id] }),
    ]]
    : [];
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
    [`Find all “${name}”`, () => panel.search.set(found.name, "name")],
    [
      "Only this lane",
      () =>
        panel.setFilter(
          `^${
            panel.rows.ofLane.get(`${found.source.place}/${found.lane}`)!.full.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
          }$`,
        ),
    ],
    ["Copy name", () => elements.toClipboard(found.name).then(() => frame.say("Name copied"))],
  ], { left: at.x, top: at.y, bottom: at.y });
}

export async function stepMenu(
  panel: TimelinePanel,
  { source, step }: { source: Source; step: any },
  at: { x: number; y: number },
) {
  const [number, , start, length] = step;
  const from = start + source.offset;
  const entries: [string, () => void][] = [
    [`Zoom to step ${number}`, () => panel.viewport.reveal({ start: from, duration: length }, 0.96, performance.now())],
    [`What ran in step ${number}`, () => panel.area.over([from, from + length], source)],
    [`Mark step ${number}`, () => {
      panel.marked = [from, from + length];
      panel.changed();
    }],
  ];
  if (panel.sources.length > 1) {
    entries.push([`Align all traces at step ${number}`, () => panel.together.alignBy("step", number)]);
  }
  const joined = await source.joined;
  const found = joined?.steps.find((one: any[]) => one[3] === number);
  if (found && joined.runs.length) {
    entries.push([
      `Show step ${found[0]} on the curves of ${joined.runs[0]}`,
      () => showStep(joined.runs[0], found[0]),
    ]);
  }
  popover.menu(panel.canvas, `Step ${number}`, entries, { left: at.x, top: at.y, bottom: at.y });
}
