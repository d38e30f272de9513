/**
 * The state of the view of a cloud of points, and where its points are on the screen.
 *
 * Drawing (view_draw.ts), input (view_interactions.ts), and content (view.ts) build on it. Two canvases lie on top of
 * each other: the points as pixels (raster.ts), and over them names, rings, and labels.
 */
import * as camera from "./camera.ts";
import { contextOf } from "./canvas.ts";
import * as viewTheme from "./view_theme.ts";
import { make } from "../../../web/core/dom.ts";
import { Motion, Pace } from "./motion.ts";
import { type Cloud, Raster } from "./raster.ts";
import type { Axis, Frame } from "./axes.ts";
import type { Dimensions, Projection, Vector } from "./camera.ts";
import type { Trail } from "./lasso.ts";
import type { Grid } from "./pick.ts";
import type { Atlas } from "./sprites.ts";
import type { ViewTheme } from "./view_theme.ts";

export type Mode = "orbit" | "pan";
export type Tool = "pointer" | "box" | "lasso";

/** How the selection changes. */
export interface Change {
  add: boolean;
  remove: boolean;
}

/** Handlers for user input. */
export interface Handlers {
  /** -1 for none */
  onHover?: (row: number) => void;
  onPick?: (row: number, how: Change) => void;
  onSelect?: (rows: Uint32Array, how: Change) => void;
  onCamera?: (camera: string) => void;
}

export const NONE: Uint32Array = new Uint32Array(0);

function canvas(className: string): HTMLCanvasElement {
  const element = make("canvas", { className });
  Object.assign(element.style, { position: "absolute", inset: "0", width: "100%", height: "100%", display: "block" });
  return element;
}

export abstract class ViewBase {
  readonly host: HTMLElement;
  readonly handlers: Handlers;
  dimensions: Dimensions = 2;
  mode: Mode = "orbit";
  tool: Tool = "pointer";
  look = camera.first(2);
  /** Whether the user chose the camera, which then stays when points arrive; and whether to report that choice. */
  touched = false;
  steered = false;
  frame: Frame = { center: [0, 0, 0], radius: 1 };
  cloud: Cloud = {
    count: 0,
    from: new Float32Array(0),
    to: new Float32Array(0),
    share: 1,
    colors: new Uint32Array(0),
    visible: null,
    sizes: null,
    marks: new Uint8Array(0),
    reach: 1,
  };
  selection = NONE;
  focus = -1;
  neighbors = NONE;
  strengths: Float32Array = new Float32Array(0);
  hovered = -1;
  lines: { pairs: Uint32Array; rgba: Uint8Array | null } = { pairs: NONE, rgba: null };
  atlas: Atlas | null = null;
  sprites = false;
  axes: Axis[] | null = null;
  grid = false;
  pointScale = 1;
  trail: Trail | null = null;
  pointer: [number, number] | null = null;
  motion = new Motion();
  pace = new Pace();
  moving = false;
  raster = new Raster();
  picks: Grid | null = null;
  ratio = 1;
  every = 1;
  shownCount = 0;
  /** The requested frame; -1 once the view is gone. */
  requested = 0;
  dirty = { cloud: true, overlay: true };
  theme: ViewTheme;
  width = 0;
  height = 0;
  readonly base = canvas("pj-canvas");
  readonly over = canvas("pj-overlay");
  readonly baseContext: CanvasRenderingContext2D;
  readonly overContext: CanvasRenderingContext2D;

  constructor(host: HTMLElement, handlers: Handlers) {
    this.host = host;
    this.handlers = handlers;
    // Pixels are written to it, so it is kept where they can be written.
    this.baseContext = contextOf(this.base, { alpha: false, willReadFrequently: true });
    this.overContext = contextOf(this.over);
    if (getComputedStyle(host).position === "static") host.style.position = "relative";
    host.append(this.base, this.over);
    this.theme = viewTheme.read(host);
  }

  /** The pictures that points are shown as; null for discs. */
  get pictures(): Atlas | null {
    return this.sprites ? this.atlas : null;
  }

  projectionFor(ratio = 1): Projection {
    return camera.projection(this.look, this.dimensions, this.width * ratio, this.height * ratio);
  }

  /** The current place in the cube. */
  placeOf(row: number): Vector {
    const { from, to, share } = this.cloud;
    const at = (k: number) => from[row * 3 + k] + (to[row * 3 + k] - from[row * 3 + k]) * share;
    return [at(0), at(1), at(2)];
  }

  /** The place of a row in CSS pixels of the host. */
  screenOf(row: number): { x: number; y: number; visible: boolean } | null {
    if (!(row >= 0 && row < this.cloud.count)) return null;
    const { x, y, behind } = camera.screen(this.projectionFor(), ...this.placeOf(row));
    const shown = !this.cloud.visible || this.cloud.visible[row] !== 0;
    return { x, y, visible: shown && !behind && x >= 0 && y >= 0 && x <= this.width && y <= this.height };
  }
}
