// The parts above a chart that move with the user's input: the cursor, measuring marks, and the zoom box.
import type { Chart, ZoomBox } from "./chart.ts";
import type { Line, Scene } from "./scene.ts";
import { CanvasPen, type Pen } from "./pen.ts";
import { isSorted, nearestIndex } from "./points.ts";

/** How far the end of a line may be from the cursor to still get a dot, in pixels. */
const REACH = 2;

/** Whether a line ends before a position or begins after it. */
const isPast = ({ x }: Line, place: number) => isSorted(x) && !(place >= x[0] && place <= x[x.length - 1]);

function drawCursor(pen: Pen, chart: Chart, scene: Scene, cursor: number) {
  const { theme } = chart;
  const { plot, sx, sy, sy2 } = scene;
  const x = sx.toPx(cursor);
  if (!(x >= plot.x - 0.5 && x <= plot.x + plot.w + 0.5)) return;
  pen.segments([[x, plot.y, x, plot.y + plot.h]], { color: theme.soft, opacity: 0.7 });
  const { lines } = chart.model;
  for (const line of lines) {
    const index = nearestIndex(line.x, cursor);
    if (index < 0 || (isPast(line, cursor) && Math.abs(sx.toPx(line.x[index]) - x) > REACH)) continue;
    const [dotX, dotY] = [sx.toPx(line.x[index]), ((line.axis === "y2" && sy2) || sy).toPx(line.y[index])];
    const inside = dotX >= plot.x - 1 && dotX <= plot.x + plot.w + 1 && dotY >= plot.y - 1 &&
      dotY <= plot.y + plot.h + 1;
    if (!inside || (chart.lit && !chart.lit.has(line.id))) continue;
    pen.disc(dotX, dotY, lines.length > 12 ? 3 : 3.5, { fill: line.color, stroke: theme.surface });
  }
}

function drawMeasures(pen: Pen, { theme, measures }: Chart, scene: Scene) {
  const { plot, sx } = scene;
  const [a, b] = [measures.a, measures.b].map((v) => (v === null || v === undefined ? NaN : sx.toPx(v)));
  const bound = (x: number) => Math.min(Math.max(x, plot.x), plot.x + plot.w);
  if (Number.isFinite(a) && Number.isFinite(b)) {
    const [from, to] = [bound(Math.min(a, b)), bound(Math.max(a, b))];
    pen.rect({ x: from, y: plot.y, w: to - from, h: plot.h }, { fill: theme.accent, opacity: 0.07 });
  }
  const flags: [number, string][] = [[a, "A"], [b, "B"]];
  for (const [x, letter] of flags) {
    if (!(x >= plot.x - 0.5 && x <= plot.x + plot.w + 0.5)) continue;
    pen.segments([[x, plot.y, x, plot.y + plot.h]], { color: theme.accent });
    const flag = Math.min(Math.max(x, plot.x + 7), plot.x + plot.w - 7);
    pen.rect({ x: flag - 7, y: plot.y - 1, w: 14, h: 14 }, { fill: theme.accent });
    pen.text(flag, plot.y + 6, letter, { color: theme.surface, size: 10, weight: 700, align: "center" });
  }
}

function drawBox(pen: Pen, { theme }: Chart, scene: Scene, box: ZoomBox) {
  const { plot } = scene;
  const [x0, x1] = box.zooms.x ? [Math.min(box.x0, box.x1), Math.max(box.x0, box.x1)] : [plot.x, plot.x + plot.w];
  const [y0, y1] = box.zooms.y ? [Math.min(box.y0, box.y1), Math.max(box.y0, box.y1)] : [plot.y, plot.y + plot.h];
  pen.rect({ x: x0, y: y0, w: x1 - x0, h: y1 - y0 }, { fill: theme.accent, opacity: 0.12 });
  const edges = [[x0, y0, x0, y1], [x1, y0, x1, y1], [x0, y0, x1, y0], [x0, y1, x1, y1]];
  pen.segments(edges, { color: theme.accent, opacity: 0.8 });
}

/** Redraws the overlay of a chart; does not touch it if it was empty and remains so. */
export function drawOverlay(chart: Chart) {
  const { over, scene, measures, cursor, box } = chart;
  const something = cursor !== null || box || measures.a !== null || measures.b !== null;
  if ((!something && over.dataset.drawn !== "yes") || !over.width) return;
  const context = over.getContext("2d")!;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, over.width, over.height);
  over.dataset.drawn = something ? "yes" : "no";
  if (!something || !scene || scene.tiny) return;
  const pen = new CanvasPen(context, chart.ratio, chart.theme.family);
  drawMeasures(pen, chart, scene);
  if (cursor !== null) drawCursor(pen, chart, scene, cursor);
  if (box) drawBox(pen, chart, scene, box);
}
