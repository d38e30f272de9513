/** Exports of the Graph panel: pictures, the graph as text, a link to the view. */
import * as draw from "./draw.ts";
import * as frame from "../../../web/page/layout.ts";
import { SvgContext } from "../../../web/core/svg_context.ts";
import { save, saveText } from "../../../web/core/download.ts";
import type { Picture } from "./ink.ts";
import { View } from "./view.ts";
import type { GraphPanel } from "./panel.ts";

const LARGEST_PNG = 8192;
const MARGIN = 24;

const nameOf = (panel: GraphPanel) =>
  (panel.state.id.replace(/[^\w.-]+/g, "_").replace(/^_+|_+$/g, "") || "graph") +
  (panel.state.function ? `.${panel.state.function.replace(/[^\w.-]+/g, "_")}` : "");

/** The panel's picture as if everything were visible at a given zoom; nothing is changed. */
function whole(panel: GraphPanel, zoom: number): Picture {
  const { box } = panel.shown;
  const view = new View();
  Object.assign(view, {
    width: box.w * zoom + 2 * MARGIN,
    height: box.h * zoom + 2 * MARGIN,
    x: box.x + box.w / 2,
    y: box.y + box.h / 2,
    zoom,
  });
  return { ...shownBy(panel), view };
}

/** The panel's picture, without anything that follows the mouse. */
function shownBy(panel: GraphPanel): Picture {
  return { ...panel.drawing, hover: null };
}

/** @returns an SVG document */
export function svg(panel: GraphPanel, all: boolean): string {
  const shown = all ? whole(panel, 1) : shownBy(panel);
  const context = new SvgContext(Math.ceil(shown.view.width), Math.ceil(shown.view.height));
  draw.draw(context.canvasContext, shown, 1);
  return context.toString();
}

const saveSvg = (panel: GraphPanel, all: boolean) => saveText(svg(panel, all), `${nameOf(panel)}.svg`, "image/svg+xml");

function savePng(panel: GraphPanel, all: boolean) {
  const { box } = panel.shown;
  const zoom = Math.min(1, (LARGEST_PNG / 2 - 2 * MARGIN) / Math.max(box.w, box.h));
  const shown = all ? whole(panel, zoom) : shownBy(panel);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(shown.view.width * 2);
  canvas.height = Math.ceil(shown.view.height * 2);
  const context = canvas.getContext("2d");
  if (!context) return;
  draw.draw(context, shown, 2);
  save(canvas.toDataURL("image/png"), `${nameOf(panel)}.png`);
}

export function entries(panel: GraphPanel): [string, () => void][] {
  if (!panel.ready) return [];
  return [
    ["Whole graph as SVG", () => saveSvg(panel, true)],
    ["Whole graph as PNG", () => savePng(panel, true)],
    ["What is visible as SVG", () => saveSvg(panel, false)],
    ["What is visible as PNG", () => savePng(panel, false)],
    [
      "The graph as text (GraphDef)",
      () => save(panel.api.address("export", { id: panel.state.id, format: "pbtxt" }), ""),
    ],
    ["Copy a link to this view", () => frame.copyLink()],
  ];
}
