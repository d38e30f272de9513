/** The whole graph in a corner, with the visible part marked; a drag moves the view. */
import { elements } from "../../../web/core/dom.ts";
import type { GraphPanel } from "./panel.ts";

const WIDTH = 176;
const HEIGHT = 124;
const MARGIN = 5;

export class Minimap {
  panel;
  canvas: HTMLCanvasElement = elements.make("canvas", {
    className: "graph-minimap",
    title: "The whole graph: drag to move the view",
  });
  still;
  /** The inputs from which the static picture was made. */
  made: unknown[] = [];

  constructor(panel: GraphPanel) {
    this.panel = panel;
    this.canvas.setAttribute("aria-hidden", "true");
    this.still = document.createElement("canvas");
    const drag = (event: PointerEvent) => {
      const box = this.canvas.getBoundingClientRect();
      const { scale, left, top } = this.place();
      this.panel.lookAt(left + (event.clientX - box.left) / scale, top + (event.clientY - box.top) / scale);
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.canvas.setPointerCapture(event.pointerId);
      this.panel.remember();
      drag(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.canvas.hasPointerCapture(event.pointerId)) drag(event);
    });
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { view } = this.panel;
      this.panel.zoomBy(Math.exp(-event.deltaY * 0.002), { x: view.width / 2, y: view.height / 2 }, true);
    }, { passive: false });
  }

  /** Pixels per unit, and the graph point in the corner. */
  place() {
    const { box } = this.panel.shown;
    const scale = Math.min((WIDTH - 2 * MARGIN) / Math.max(box.w, 1), (HEIGHT - 2 * MARGIN) / Math.max(box.h, 1));
    return { scale, left: box.x - (WIDTH / scale - box.w) / 2, top: box.y - (HEIGHT / scale - box.h) / 2 };
  }

  draw() {
    const { panel, canvas } = this;
    const { scene, view, theme } = panel;
    const seen = view.visible;
    const { box } = scene ?? { box: null };
    const whole = !box ||
      (seen.left <= box.x && seen.top <= box.y && seen.right >= box.x + box.w && seen.bottom >= box.y + box.h);
    canvas.hidden = whole;
    if (whole || !scene) return;
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== WIDTH * ratio) {
      canvas.width = WIDTH * ratio;
      canvas.height = HEIGHT * ratio;
    }
    if (scene.moving || [scene, theme, ratio, panel.painted].some((value, at) => value !== this.made[at])) {
      this.paint(ratio);
    }
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(this.still, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { scale, left, top } = this.place();
    const x = Math.max((seen.left - left) * scale, 0.75);
    const y = Math.max((seen.top - top) * scale, 0.75);
    const w = Math.min((seen.right - left) * scale, WIDTH - 0.75) - x;
    const h = Math.min((seen.bottom - top) * scale, HEIGHT - 0.75) - y;
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.1;
    context.fillRect(x, y, w, h);
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(x, y, w, h);
  }

  paint(ratio: number) {
    const { shown: scene, theme, colors } = this.panel;
    this.made = [scene, theme, ratio, this.panel.painted];
    this.still.width = WIDTH * ratio;
    this.still.height = HEIGHT * ratio;
    const context = this.still.getContext("2d") as CanvasRenderingContext2D;
    const { scale, left, top } = this.place();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const node of scene.nodes) {
      const paint = node.expanded ? null : colors.of(node, theme);
      context.fillStyle = paint
        ? (paint.gray ? theme.gray : paint.fill ?? paint.stripe ?? theme.strong)
        : theme.containers[node.depth % theme.containers.length];
      context.fillRect(
        (node.x - left) * scale,
        (node.y - top) * scale,
        Math.max(node.w * scale, 1),
        Math.max(node.h * scale, 1),
      );
      if (!node.expanded) continue;
      context.strokeStyle = theme.border;
      context.lineWidth = 0.6;
      context.strokeRect((node.x - left) * scale, (node.y - top) * scale, node.w * scale, node.h * scale);
    }
  }
}
