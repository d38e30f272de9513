/** A canvas that shows pixels at any scale, moved by wheel and drag, alone or together with others. */
import { make } from "../../../web/core/dom.ts";
import * as imagesPixels from "./pixels.ts";
import type { Pixels } from "./png.ts";
import type { Place, Shown, Viewport } from "./viewport.ts";

const GRID_FROM = 8;
const VALUES_FROM = 32;

export interface Layer {
  pixels: Pixels;
  look: imagesPixels.Look;
  /** only to the right of this place, in picture pixels */
  from?: number;
}

export interface Stage extends Shown {
  canvas: HTMLCanvasElement;
  show: (layers: Layer[]) => void;
  /** Marks the pixel that the pointer is over in another stage. */
  mark: (at: Place | null) => void;
  close: () => void;
}

type Corner = ReturnType<Viewport["corner"]>;

export function makeStage(viewport: Viewport, hover: (at: Place | null) => void): Stage {
  const canvas = make("canvas", { className: "stage" });
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const scratch = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
  let layers: Layer[] = [];
  let marked: Place | null = null;
  let waiting = 0;
  let drag: { px: number; py: number } | null = null;

  const extent = () => ({
    width: Math.max(1, ...layers.map((layer) => layer.pixels.width)),
    height: Math.max(1, ...layers.map((layer) => layer.pixels.height)),
  });

  const stage: Stage = {
    canvas,
    extent,
    empty: () => layers.length === 0,
    draw: () => void (waiting ||= requestAnimationFrame(paint)),
    show,
    mark,
    close,
  };
  const corner = () => viewport.corner(stage);

  function show(news: Layer[]) {
    layers = news;
    stage.draw();
  }

  function mark(at: Place | null) {
    if (at?.x === marked?.x && at?.y === marked?.y) return;
    marked = at;
    stage.draw();
  }

  function paint() {
    waiting = 0;
    const ratio = devicePixelRatio;
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (!width || !height) return;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    context.clearRect(0, 0, width, height);
    if (!layers.length) return;
    const at = corner();
    layers.forEach((layer) => drawLayer(layer, at));
    if (at.scale >= GRID_FROM * ratio) drawGrid(at);
    if (at.scale >= VALUES_FROM * ratio && layers.length === 1) drawValues(layers[0], at);
    if (marked && at.scale >= 4) outline(at, marked);
  }

  function drawLayer({ pixels, look, from }: Layer, at: Corner) {
    const wanted = [pixels, ...(pixels.smaller ?? [])];
    // Use the smallest copy that still has a pixel for each screen pixel.
    let level = 0;
    while (level + 1 < wanted.length && (wanted[level + 1].width / pixels.width) >= at.scale) level += 1;
    const source = wanted[level];
    const fx = (at.scale * pixels.width) / source.width;
    const fy = (at.scale * pixels.height) / source.height;
    const cut = from === undefined ? 0 : Math.round(from * at.scale) + at.left;
    const x0 = Math.max(Math.floor((Math.max(0, from === undefined ? 0 : cut) - at.left) / fx), 0);
    const y0 = Math.max(Math.floor(-at.top / fy), 0);
    const x1 = Math.min(Math.ceil((canvas.width - at.left) / fx), source.width);
    const y1 = Math.min(Math.ceil((canvas.height - at.top) / fy), source.height);
    if (x1 <= x0 || y1 <= y0) return;
    Object.assign(scratch.canvas, { width: x1 - x0, height: y1 - y0 });
    scratch.putImageData(imagesPixels.paint(source, look, x0, y0, x1 - x0, y1 - y0), 0, 0);
    context.save();
    if (from !== undefined) {
      context.beginPath();
      context.rect(cut, 0, canvas.width, canvas.height);
      context.clip();
    }
    const [left, top, wide, high] = [at.left + x0 * fx, at.top + y0 * fy, (x1 - x0) * fx, (y1 - y0) * fy];
    if (pixels.channels % 2 === 0) checkers(left, top, wide, high);
    else if (from !== undefined) context.clearRect(left, top, wide, high);
    context.imageSmoothingEnabled = fx < 1;
    context.imageSmoothingQuality = "high";
    context.drawImage(scratch.canvas, left, top, wide, high);
    context.restore();
  }

  /** Draws the checkerboard behind transparent pixels. */
  function checkers(left: number, top: number, wide: number, high: number) {
    const side = 8 * devicePixelRatio;
    context.fillStyle = "#ffffff";
    context.fillRect(left, top, wide, high);
    context.save();
    context.beginPath();
    context.rect(left, top, wide, high);
    context.clip();
    context.fillStyle = "#d4d7dd";
    const [x0, y0] = [Math.max(left, 0), Math.max(top, 0)];
    for (let y = Math.floor(y0 / side); y * side < Math.min(top + high, canvas.height); y += 1) {
      for (let x = Math.floor(x0 / side); x * side < Math.min(left + wide, canvas.width); x += 1) {
        if ((x + y) % 2) context.fillRect(x * side, y * side, side, side);
      }
    }
    context.restore();
  }

  /** The visible columns and rows. */
  function seen(at: Corner) {
    const { width, height } = extent();
    return {
      x0: Math.max(Math.floor(-at.left / at.scale), 0),
      x1: Math.min(Math.ceil((canvas.width - at.left) / at.scale), width),
      y0: Math.max(Math.floor(-at.top / at.scale), 0),
      y1: Math.min(Math.ceil((canvas.height - at.top) / at.scale), height),
    };
  }

  function drawGrid(at: Corner) {
    const { x0, x1, y0, y1 } = seen(at);
    context.beginPath();
    for (let x = x0; x <= x1; x += 1) {
      const px = Math.round(at.left + x * at.scale) + 0.5;
      context.moveTo(px, at.top + y0 * at.scale);
      context.lineTo(px, at.top + y1 * at.scale);
    }
    for (let y = y0; y <= y1; y += 1) {
      const py = Math.round(at.top + y * at.scale) + 0.5;
      context.moveTo(at.left + x0 * at.scale, py);
      context.lineTo(at.left + x1 * at.scale, py);
    }
    context.lineWidth = 1;
    context.strokeStyle = "rgb(128 128 128 / 45%)";
    context.stroke();
  }

  function drawValues({ pixels, look }: Layer, at: Corner) {
    if (pixels.signed) return;
    const { x0, x1, y0, y1 } = seen(at);
    const size = Math.min(at.scale / 3.6, 15 * devicePixelRatio);
    context.font = `${size}px ${getComputedStyle(document.documentElement).getPropertyValue("--mono")}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const shown = imagesPixels.paint(pixels, look, x0, y0, x1 - x0, y1 - y0).data;
    for (let y = y0; y < y1; y += 1) {
      for (let x = x0; x < x1; x += 1) {
        const o = ((y - y0) * (x1 - x0) + x - x0) * 4;
        const opaque = shown[o + 3] / 255;
        const light = (0.299 * shown[o] + 0.587 * shown[o + 1] + 0.114 * shown[o + 2]) * opaque + 235 * (1 - opaque);
        context.fillStyle = light > 135 ? "#10141b" : "#f4f6fa";
        const place = (y * pixels.width + x) * pixels.channels;
        const values = look.channel === "all"
          ? imagesPixels.valuesAt(pixels, x, y)
          : [imagesPixels.single(pixels, place, look.channel)];
        const step = size * 0.94;
        values.slice(0, 4).forEach((value, i) => {
          const py = at.top + (y + 0.5) * at.scale +
            (i - (values.length - 1) / 2) * step * (values.length > 3 ? 0.85 : 1);
          context.fillText(String(value), at.left + (x + 0.5) * at.scale, py, at.scale - 4);
        });
      }
    }
  }

  function outline(at: Corner, { x, y }: Place) {
    for (const [width, color] of [[2, "#ffffff"], [1, "#000000"]] as const) {
      context.lineWidth = width;
      context.strokeStyle = color;
      context.strokeRect(at.left + x * at.scale, at.top + y * at.scale, at.scale, at.scale);
    }
  }

  // --- pointer events --------------------------------------------------------------------------------------

  const placeOf = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { px: (event.clientX - box.left) * devicePixelRatio, py: (event.clientY - box.top) * devicePixelRatio };
  };

  function hovered(event: MouseEvent): Place | null {
    const { px, py } = placeOf(event);
    const at = corner();
    const place = { x: Math.floor((px - at.left) / at.scale), y: Math.floor((py - at.top) / at.scale) };
    const { width, height } = extent();
    return layers.length > 0 && place.x >= 0 && place.y >= 0 && place.x < width && place.y < height ? place : null;
  }

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { px, py } = placeOf(event);
    const lines = event.deltaMode === 1 ? 20 : 1;
    viewport.zoom(stage, Math.exp(-Math.max(Math.min(event.deltaY * lines, 200), -200) * 0.003), px, py);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag = placeOf(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const now = placeOf(event);
      viewport.pan(stage, now.px - drag.px, now.py - drag.py);
      drag = now;
    }
    hover(hovered(event));
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (drag = null));
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("dblclick", () => viewport.set({ fit: true }));
  const sizes = new ResizeObserver(() => stage.draw());
  sizes.observe(canvas);
  viewport.stages.add(stage);

  function close() {
    sizes.disconnect();
    viewport.stages.delete(stage);
    canvas.remove();
  }

  return stage;
}
