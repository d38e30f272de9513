/** Canvases to paint on. */

export function contextOf(canvas: HTMLCanvasElement, how?: CanvasRenderingContext2DSettings): CanvasRenderingContext2D {
  const found = canvas.getContext("2d", how);
  if (!found) throw new Error("The browser is out of memory for another image.");
  return found;
}

/** Returns the context of a new canvas of this size in pixels. */
export const paper = (width: number, height: number, how?: CanvasRenderingContext2DSettings) =>
  contextOf(Object.assign(document.createElement("canvas"), { width, height }), how);
