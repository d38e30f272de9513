/** The view as a picture of any size: painted anew, not a copy of the screen. */
import * as svg from "./svg.js";
import * as viewTheme from "./view_theme.js";
import { CanvasPen } from "../../../web/lines/pen.js";
import { Raster } from "./raster.js";

const MOST_SIDE = 8192; // pixels, which all browsers can hold

/**
 * @param {any} view @param {{scale?: number, background?: string, title?: string, legend?: any}} how
 * @returns {Promise<Blob>}
 */
export async function make(view, { scale = 2, background = "", title = "", legend = null }) {
  view.current();
  const ratio = Math.max(0.25, Math.min(scale, MOST_SIDE / Math.max(view.width, view.height)));
  const theme = background ? viewTheme.read(view.host, background) : view.theme;
  const [width, height] = [view.width, view.height].map((size) => Math.max(1, Math.round(size * ratio)));
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const raster = new Raster();
  view.paintOn(raster, width, height, ratio, theme, { every: 1, smooth: true });
  raster.put(context);
  view.paintOverlay(context, ratio, false, raster, theme);
  svg.paintAround(new CanvasPen(context, ratio, theme.font), view, theme, title, svg.legendOf(legend));
  return new Promise((go, fail) => canvas.toBlob((blob) => (blob ? go(blob) : fail(new Error("The browser could not make the picture: try a smaller one."))), "image/png"));
}
