/** Paints the view: one frame of the points, and what lies over them; and finds which points are where in it. */
import * as axes from "./axes.ts";
import * as camera from "./camera.ts";
import * as lasso from "./lasso.ts";
import * as sprites from "./sprites.ts";
import { Labels, type Placed, SIZE } from "./labels.ts";
import { Grid } from "./pick.ts";
import { CULL, FULL, LEVELS, type Lines, type Look, mixed, pixel, type Raster, sizeOf } from "./raster.ts";
import { ViewBase } from "./view_base.ts";
import type { Projection } from "./camera.ts";
import type { ViewTheme } from "./view_theme.ts";

const MOST_RATIO = 2; // device pixels per CSS pixel
const LARGEST_POINT = 6; // radius in CSS pixels
const FEW_MARKS = 3000; // most points that stand out with a wide ring; with more, rings are thin
const LINE_ALPHA = 26; // out of 64
const REST_OPACITY = 0.42; // of the other points when some stand out
const SPRITE_SHARE = 0.6; // share of the space for each picture if all are spread evenly
const MOST_LABELED = 200; // selected points with labels
const SLACK = 5; // pixels beyond a point that still pick it

/** One of how many points is painted, and whether edges are smooth. */
export type Detail = Pick<Look, "every" | "smooth">;

/** A line between two points, from x, y to x, y. */
interface Bond {
  line: [number, number, number, number];
  opacity: number;
}

/** The radius in CSS pixels of each of this many points. */
const fittingRadius = (count: number) => Math.min(LARGEST_POINT, 11.5 * Math.max(1, count) ** -0.175);
const within = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

export abstract class ViewDrawing extends ViewBase {
  readonly labels = new Labels(() => this.redraw({ overlay: true }));
  /** Whether what lies over the points is painted on their canvas. */
  together = false;

  /** Prepares the next picture as part of a movement. */
  abstract moved(): void;

  /** Requests the next frame. */
  redraw({ cloud = false, overlay = false }: { cloud?: boolean; overlay?: boolean }) {
    if (cloud) this.picks = null;
    this.dirty.cloud ||= cloud;
    this.dirty.overlay ||= cloud || overlay;
    if (this.requested) return;
    this.requested = requestAnimationFrame((now) => {
      this.requested = 0;
      this.frameNow(now, true);
    });
  }

  /**
   * Paints what has changed.
   * @param go whether movements advance
   */
  frameNow(now: number, go: boolean) {
    if (!this.width || !this.height) return;
    if (go) this.advance(now);
    const { dirty } = this;
    dirty.cloud ||= dirty.overlay && this.together;
    if (dirty.cloud) {
      const began = performance.now();
      this.paintCloud();
      dirty.cloud = false;
      dirty.overlay = true;
      if (go && this.moving) this.pace.add(now, performance.now() - began);
    }
    if (!go) return;
    if (!this.moving) this.lookUnder();
    if (dirty.overlay) {
      dirty.overlay = false;
      this.paintOver();
    }
    if (this.motion.busy(this.dimensions)) this.moved();
  }

  advance(now: number) {
    const { motion, cloud } = this;
    if (!motion.busy(this.dimensions)) return;
    cloud.share = motion.mixed(now);
    this.look = motion.moved(this.look, now, this.projectionFor());
    this.dirty.cloud = true;
    this.picks = null;
  }

  /** Finds which point is under the pointer now. */
  lookUnder() {
    const { pointer } = this;
    const row = pointer ? this.rowAt(pointer[0], pointer[1]) : -1;
    if (row === this.hovered) return;
    this.hovered = row;
    this.dirty.overlay = true;
    this.handlers.onHover?.(row);
  }

  // ---- points

  /** Returns how points are painted. */
  lookFor(ratio: number, theme: ViewTheme, { every, smooth }: Detail): Look {
    const count = Math.max(1, this.shownCount);
    const { zoom } = this.look;
    let radius = within(fittingRadius(count) * within(zoom, 0.05, 60) ** 0.3, 0.75, 9);
    if (this.pictures) {
      radius = within(
        within(Math.sqrt((this.width * this.height) / count) * SPRITE_SHARE * 0.5, 7, 32) *
          within(zoom, 0.05, 60) ** 0.5,
        3,
        64,
      );
    }
    radius *= this.pointScale * ratio;
    const some = this.neighbors.length > 0 || this.selection.length > 1;
    const { accent, ink } = theme.pixels;
    return {
      radius,
      every,
      smooth,
      background: theme.pixels.background,
      opacity: some ? REST_OPACITY : this.dimensions === 2 && count > 3000 ? 0.8 : 1,
      rings: [accent, accent, mixed(accent, theme.pixels.background, 38), ink],
      ring: (this.selection.length > FEW_MARKS ? 0.75 : 1.75) * ratio,
      margin: this.pictures ? radius * 8 : CULL,
    };
  }

  paintCloud() {
    const { pace } = this;
    const level = this.moving ? pace.level : 0;
    const full = Math.min(MOST_RATIO, window.devicePixelRatio || 1);
    this.ratio = level > 0 ? Math.min(1, full) : full;
    this.every = 2 ** Math.max(0, level - 1);
    const [width, height] = [this.width, this.height].map((size) => Math.max(1, Math.round(size * this.ratio)));
    for (const canvas of [this.base, this.over]) {
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    }
    this.paintOn(this.raster, width, height, this.ratio, this.theme, { every: this.every, smooth: level === 0 });
    this.raster.put(this.baseContext);
    this.together = false;
  }

  /** Paints the overlay: on the points' canvas while they move, as combining two takes longer than painting them. */
  paintOver() {
    this.together = this.moving;
    this.over.style.opacity = this.together ? "0" : "";
    const context = this.together ? this.baseContext : this.overContext;
    context.setTransform(1, 0, 0, 1, 0, 0);
    if (!this.together) context.clearRect(0, 0, this.over.width, this.over.height);
    this.paintOverlay(context, this.ratio, true);
  }

  /** Paints the cloud into a raster of any size. */
  paintOn(
    raster: Raster,
    width: number,
    height: number,
    ratio: number,
    theme: ViewTheme,
    how: Detail,
  ) {
    const p = camera.projection(this.look, this.dimensions, width, height);
    const look = this.lookFor(ratio, theme, how);
    raster.resize(width, height);
    raster.clear(look.background);
    raster.place(this.cloud, p, look);
    axes.paint(raster, p, { axes: this.axes, grid: this.grid, frame: this.frame, color: theme.pixels.dim, ratio });
    if (this.lines.pairs.length) this.paintLines(raster, p, theme, how.every);
    if (this.pictures) sprites.paint(raster, this.cloud, look, this.pictures);
    else raster.discs(this.cloud, look);
  }

  /** Paints sequences. */
  paintLines(raster: Lines, p: Projection, theme: ViewTheme, every: number) {
    const { pairs, rgba } = this.lines;
    const colors = rgba && rgba.length >= pairs.length * 2 ? rgba : null;
    const { visible, count } = this.cloud;
    for (let n = 0; n + 1 < pairs.length; n += 2 * every) {
      const [a, b] = [pairs[n], pairs[n + 1]];
      if (a >= count || b >= count || (visible && !(visible[a] && visible[b]))) continue;
      const [from, to] = [a, b].map((row) => camera.screen(p, ...this.placeOf(row)));
      if (from.behind || to.behind) continue;
      const at = n * 2;
      const color = colors ? pixel([colors[at], colors[at + 1], colors[at + 2]]) : theme.pixels.dim;
      const faded = visible && (visible[a] === 2 || visible[b] === 2);
      const strength = colors ? (colors[at + 3] * FULL) / 255 : LINE_ALPHA;
      raster.line(from.x, from.y, to.x, to.y, color, Math.round(faded ? strength * 0.2 : strength));
    }
  }

  // ---- over the points

  /** Rows whose labels come first. */
  firstLabels(live: boolean): number[] {
    const rows: number[] = [];
    if (this.focus >= 0) rows.push(this.focus);
    rows.push(...this.selection.subarray(0, MOST_LABELED));
    if (live && this.hovered >= 0) rows.push(this.hovered);
    rows.push(...this.neighbors);
    return rows.filter((row) => row < this.cloud.count);
  }

  /** Lays out the labels in a picture. */
  layLabels(raster: Raster, ratio: number, live: boolean): Placed[] {
    this.labels.font = `500 ${SIZE}px ${this.theme.font}`;
    const { sizes } = this.cloud;
    return this.labels.layOut({
      first: this.firstLabels(live),
      count: this.cloud.count,
      width: this.width,
      height: this.height,
      moving: live && this.moving,
      seen: (row) => {
        if (row >= this.cloud.count || !raster.isPainted(row)) return null;
        const faded = raster.level[row] < LEVELS;
        const [x, y] = [raster.x[row] / ratio, raster.y[row] / ratio];
        if (faded || x < 0 || y < 0 || x > this.width || y > this.height) return null;
        return { x, y, radius: raster.radiusOf(row, sizes) / ratio };
      },
    });
  }

  /** @param live whether to include what belongs to the pointer */
  paintOverlay(
    context: CanvasRenderingContext2D,
    ratio: number,
    live: boolean,
    raster = this.raster,
    theme = this.theme,
  ) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paintBonds(context, theme);
    this.paintNames(context, theme);
    this.layLabels(raster, ratio, live);
    this.labels.draw(
      context,
      theme,
      ratio,
      new Set([this.focus, live ? this.hovered : -1, ...this.selection.subarray(0, MOST_LABELED)]),
    );
    if (!live) return;
    if (this.hovered >= 0) this.paintRing(context, theme);
    this.trail?.draw(context, theme);
  }

  /** Lines from the focused point to its neighbors, the stronger ones more opaque. */
  bonds(): Bond[] {
    const middle = this.neighbors.length ? this.screenOf(this.focus) : null;
    const found: Bond[] = [];
    this.neighbors.forEach((row, n) => {
      const at = this.screenOf(row);
      if (!middle || !at?.visible) return;
      found.push({ line: [middle.x, middle.y, at.x, at.y], opacity: 0.12 + 0.4 * (this.strengths[n] ?? 0.5) });
    });
    return found;
  }

  paintBonds(context: CanvasRenderingContext2D, theme: ViewTheme) {
    context.strokeStyle = theme.accent;
    context.lineWidth = 1;
    for (const { line: [x0, y0, x1, y1], opacity } of this.bonds()) {
      context.globalAlpha = opacity;
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  paintNames(context: CanvasRenderingContext2D, theme: ViewTheme) {
    context.font = `11px ${theme.font}`;
    context.textBaseline = "middle";
    const at = this.projectionFor();
    for (const { text, x: wanted, y, align } of axes.names(at, this)) {
      const width = context.measureText(text).width + 8;
      const x = align === "center" ? Math.max(width / 2, Math.min(at.width - width / 2, wanted)) : wanted;
      const left = align === "center" ? x - width / 2 : align === "right" ? x + 4 - width : x - 4;
      context.textAlign = align;
      // Points may lie behind it.
      context.globalAlpha = 0.85;
      context.fillStyle = theme.background;
      context.fillRect(left, y - 8, width, 16);
      context.globalAlpha = 1;
      context.fillStyle = theme.dim;
      context.fillText(text, x, y);
    }
    context.textAlign = "left";
  }

  paintRing(context: CanvasRenderingContext2D, theme: ViewTheme) {
    const { raster, ratio, hovered } = this;
    if (!raster.isPainted(hovered)) return;
    const [x, y] = [raster.x[hovered] / ratio, raster.y[hovered] / ratio];
    const radius = raster.radiusOf(hovered, this.cloud.sizes) / ratio;
    context.beginPath();
    if (this.pictures) {
      const [w, h] = sprites.sized(radius, this.pictures.aspect);
      context.rect(x - w / 2 - 2, y - h / 2 - 2, w + 4, h + 4);
    } else context.arc(x, y, radius + 2.5, 0, 2 * Math.PI);
    context.strokeStyle = theme.background;
    context.lineWidth = 4;
    context.stroke();
    context.strokeStyle = theme.ink;
    context.lineWidth = 1.75;
    context.stroke();
  }

  // ---- which points are where

  /** Updates the places on the screen, including those of points that a movement left out. */
  current() {
    if (this.every > 1) {
      this.moving = false;
      this.dirty.cloud = true;
      this.picks = null;
    }
    if (this.dirty.cloud) this.frameNow(performance.now(), false);
  }

  /** The row at a place, -1 if there is none. */
  rowAt(x: number, y: number): number {
    this.current();
    const { raster, ratio } = this;
    if (!raster.painted) return -1;
    this.picks ||= new Grid(raster.order.subarray(0, raster.painted), raster.x, raster.y, raster.width, raster.height);
    const radius = this.radiusIn();
    const height = (row: number) => raster.level[row] * 2 ** 32 + row;
    return this.picks.at(x * ratio, y * ratio, SLACK * ratio, radius.most, radius.of, height);
  }

  /** How far a point extends from its middle, in raster pixels. */
  radiusIn() {
    const { raster, cloud } = this;
    const { sizes } = cloud;
    const wide = this.pictures ? Math.max(1, Math.sqrt(this.pictures.aspect)) : 1;
    let most = 0;
    for (const one of raster.radii) most = Math.max(most, one);
    return { most: most * wide * (sizes ? sizeOf(1) : 1), of: (row: number) => raster.radiusOf(row, sizes) * wide };
  }

  /**
   * Returns the rows inside a closed line that are shown and not faded.
   * @param line in CSS pixels
   */
  rowsIn(line: number[]): Uint32Array {
    this.current();
    const { raster, ratio, cloud } = this;
    const rows = raster.order.subarray(0, raster.painted).filter((row) => !cloud.visible || cloud.visible[row] === 1);
    return lasso.rowsIn(line.map((value) => value * ratio), rows, raster.x, raster.y);
  }
}
