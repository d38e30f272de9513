/** The Graph panel's buttons and its menus. */
import * as exports from "./exports.ts";
import * as parts from "./widgets.ts";
import { MODES } from "./colors.ts";
import { canExpand, type GraphNode } from "./scene.ts";
import { elements } from "../../../web/core/dom.ts";
import { format } from "./format.ts";
import { popover } from "../../../web/core/popover.ts";
import { toggleKeysSheet } from "../../../web/page/keys_sheet.ts";
import { copyText } from "../../../web/page/layout.ts";
import type { GraphPanel } from "./panel.ts";

/**
 * The row of buttons.
 */
export function make(panel: GraphPanel): { element: HTMLElement; show: () => void } {
  const { button } = parts;
  const color = button("Color", "What nodes are colored by", () =>
    panel.ready &&
    popover.menu(
      color,
      "Color by",
      Object.entries(MODES).map((
        [mode, label],
      ) => [mode === panel.colors.mode ? `✓ ${label}` : `   ${label}`, () => panel.setColor(mode)]),
    ), "small");
  const save = button(
    "Download",
    "Download an image or the graph",
    () => panel.ready && popover.menu(save, "Download", exports.entries(panel)),
    "small",
  );
  for (const one of [color, save]) one.setAttribute("aria-haspopup", "menu");
  const element = elements.make(
    "span",
    { className: "graph-tools-end" },
    color,
    save,
    button("Collapse all", "Collapse all scopes", () => panel.ready && panel.collapseAll(), "small"),
    button("Fit", "Fit the selection, or everything (F)", () => panel.fit(true), "small"),
    button("?", "Keyboard and mouse shortcuts (?)", toggleKeysSheet, "small"),
  );
  const show =
    () => (color.textContent = `Color: ${
      MODES[panel.colors.mode].toLowerCase().replace("xla", "XLA").replace("flops", "FLOPs")
    }`);
  show();
  return { element, show };
}

/**
 * The actions available for a node.
 */
export function actions(panel: GraphPanel, node: GraphNode): [string, () => void][] {
  const entries: [string, () => void][] = [];
  const on = (act: () => unknown) => () => {
    panel.select([node.id]);
    act();
  };
  if (canExpand(node)) entries.push([node.expanded ? "Collapse" : "Expand", () => panel.toggle(node)]);
  if (node.expanded) entries.push(["Expand all children", on(() => panel.expandChildren())]);
  const { parent } = node;
  if (parent) entries.push([`Collapse ${parent.label}`, () => panel.toggle(parent)]);
  entries.push(
    ["Highlight its inputs", on(() => panel.trace("inputs"))],
    ["Highlight its outputs", on(() => panel.trace("outputs"))],
  );
  const [first] = panel.selection;
  if (first && first !== node.id) {
    entries.push([`Highlight paths to or from ${format.last(first)}`, () => {
      panel.select([first, node.id]);
      panel.path();
    }]);
  }
  entries.push([panel.isAside(node.id) ? "Restore" : "Set aside", on(() => panel.setAsideSelected())]);
  if (node.op) {
    entries.push([
      `Find all ${node.op}`,
      () => panel.search.set(`^${node.op.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`, true),
    ]);
  }
  entries.push(["Zoom to it", on(() => panel.fit(true))]);
  if (panel.state.costs) entries.push(["Show slices on the Timeline", () => panel.showSlices(node)]);
  entries.push(["Copy name", () => copyText(node.id, "Name copied")]);
  return entries;
}

/** @param at position on the canvas */
export function menuAt(panel: GraphPanel, at: { x: number; y: number }, page: { x: number; y: number }) {
  const place = panel.view.toWorld(at.x, at.y);
  const node = panel.shown.at(place.x, place.y);
  panel.tip.point(null);
  const entries: [string, () => void][] = node ? actions(panel, node) : [
    ["Fit everything", () => panel.fit(false)],
    ["Expand a level", () => {
      panel.select([]);
      panel.expandChildren();
    }],
    ["Collapse all", () => panel.collapseAll()],
    ["Undo", () => panel.undo()],
    ...exports.entries(panel),
  ];
  popover.menu(panel.canvas, node ? node.id : "Graph", entries, { left: page.x, top: page.y, bottom: page.y });
}

export function menuOfSelected(panel: GraphPanel) {
  const node = panel.selected;
  if (!node) return false;
  const box = panel.canvas.getBoundingClientRect();
  const { x, y } = panel.view.toScreen(node.x, node.y + node.h);
  const at = { left: box.left + x, top: box.top + y, bottom: box.top + y };
  popover.menu(panel.canvas, node.id, actions(panel, node), at);
}
