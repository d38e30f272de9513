/** The view as a picture of any size: painted again, not copied from the screen. */
import * as svg from "./svg.ts";
import * as viewTheme from "./view_theme.ts";
import { CanvasPen } from "../../../web/lines/pen.ts";
import { paper } from "./canvas.ts";
import { Raster } from "./raster.ts";
import type { View } from "./view.ts";

const MOST_SIDE = 8192; // pixels, a size every browser supports

export interface PngOptions extends svg.Around {
  scale?: number;
  /** overrides the page's background */
  background?: string;
}

export function make(
  view: View,
  { scale = 2, background = "", title = "", legend = null }: PngOptions,
): Promise<Blob> {
  view.current();
  const ratio = Math.max(0.25, Math.min(scale, MOST_SIDE / Math.max(view.width, view.height)));
  const theme = background ? viewTheme.read(view.host, background) : view.theme;
  const [width, height] = [view.width, view.height].map((size) => Math.max(1, Math.round(size * ratio)));
  const context = paper(width, height);
  const raster = new Raster();
  view.paintOn(raster, width, height, ratio, theme, { every: 1, smooth: true });
  raster.put(context);
  view.paintOverlay(context, ratio, false, raster, theme);
  svg.paintAround(new CanvasPen(context, ratio, theme.font), view, theme, title, svg.legendOf(legend));
  return new Promise((go, fail) =>
    context.canvas.toBlob(
      (blob) => (blob ? go(blob) : fail(new Error("The browser could not create the image. Try a smaller one."))),
      "image/png",
    )
  );
}
