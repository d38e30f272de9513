/** Draws the arrows to and from the selected slice. */
import * as geometry from "./geometry.ts";
import type { Scene } from "./geometry.ts";

/** Draws the arrows from and to the selected slice. */
function flows(scene: Scene) {
  const { selection, context, theme } = scene;
  if (!selection) return;
  const here = geometry.slicePlace(scene, selection, selection.source);
  if (!here) return;
  context.lineWidth = 1.6;
  context.strokeStyle = theme.accent;
  context.fillStyle = theme.accent;
  for (const other of selection.incoming.slices) {
    const there = geometry.slicePlace(scene, other, selection.source);
    if (there) arrow(context, there.x1, there.y + there.height / 2, here.x0, here.y + here.height / 2);
  }
  for (const other of selection.outgoing.slices) {
    const there = geometry.slicePlace(scene, other, selection.source);
    if (there) arrow(context, here.x0, here.y + here.height / 2, there.x0, there.y + there.height / 2);
  }
}

export function arrow(
  context: CanvasRenderingContext2D,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
) {
  const bend = Math.min(Math.max(Math.abs(x1 - x0) * 0.4, 24), 120);
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 7, y1 - 4);
  context.lineTo(x1 - 7, y1 + 4);
  context.fill();
}

export { flows as draw };
