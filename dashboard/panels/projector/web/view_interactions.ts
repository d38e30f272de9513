/** The camera on the cloud, and what user input does. */
import * as cameras from "./camera.ts";
import { still } from "../../../web/core/motion.ts";
import { type Change, type Mode, NONE, type Tool } from "./view_base.ts";
import { ViewDrawing } from "./view_draw.ts";
import type { Camera } from "./camera.ts";
import type { Trail } from "./lasso.ts";

const REST_MS = 140; // without movement, after which everything is repainted
const WAY_MS = 380;
const CLOSER = 4; // the least zoom that a double-click on a point reaches

export abstract class ViewHand extends ViewDrawing {
  resting = 0;

  /** Describes the cloud and how keys move it. */
  abstract describe(): void;

  // ---- camera

  setMode(mode: Mode, tool: Tool) {
    this.mode = mode;
    this.tool = tool;
    this.describe();
  }

  setSpin(on: boolean) {
    this.motion.spin = on && !still();
    this.motion.spunAt = performance.now();
    this.redraw({});
  }

  setPerspective(on: boolean) {
    if (on === this.look.perspective) return;
    this.look = { ...this.look, perspective: on };
    this.steered = true;
    this.moved();
  }

  /** Writes the camera for the address. */
  camera(): string {
    return cameras.written(this.motion.way ? this.motion.way.to : this.look, this.dimensions);
  }

  /**
   * Invalid text, or a camera for another number of dimensions, changes nothing.
   * @returns whether it was accepted
   */
  setCamera(text: string): boolean {
    const found = cameras.read(text);
    if (!found || found.dimensions !== this.dimensions) return false;
    this.touched = true;
    this.go(found.camera, 0);
    return true;
  }

  /** Shows all of these rows, or everything that is not hidden. */
  fit(rows: ArrayLike<number> | null = null) {
    this.touched = Boolean(rows);
    this.steered = true;
    this.go(this.fitting(rows), WAY_MS);
  }

  /** Returns the camera for that. */
  fitting(rows: ArrayLike<number> | null): Camera {
    const { to, visible, count } = this.cloud;
    const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
    const each = (act: (row: number) => void) => {
      for (let n = 0; n < (rows?.length ?? count); n += 1) {
        if (!rows ? visible?.[n] !== 0 : rows[n] < count) act(rows ? rows[n] : n);
      }
    };
    let some = false;
    each((row) => {
      some = true;
      for (let k = 0; k < 3; k += 1) {
        const value = to[row * 3 + k];
        if (value < low[k]) low[k] = value;
        if (value > high[k]) high[k] = value;
      }
    });
    const fitted = (box: Parameters<typeof cameras.fitted>[1]) =>
      cameras.fitted(this.look, box, this.dimensions, this.width, this.height);
    if (!some) return fitted({ low: [-1, -1, -1], high: [1, 1, 1], radius: 1.2 });
    const [x, y, z] = low.map((value, k) => (value + high[k]) / 2);
    let far = 0;
    each((row) => {
      far = Math.max(far, Math.hypot(to[row * 3] - x, to[row * 3 + 1] - y, to[row * 3 + 2] - z));
    });
    // A lone point, or points in one place, are shown in the middle and not from within.
    if (far < 1e-6) return { ...this.look, x, y, z, zoom: rows ? Math.max(CLOSER, this.look.zoom) : 1 };
    return fitted({ low, high, radius: far });
  }

  go(camera: Camera, ms: number) {
    this.motion.stop();
    if (ms > 0 && !still()) this.motion.way = { from: this.look, to: camera, began: performance.now(), ms };
    else this.look = camera;
    this.moved();
  }

  /** Prepares the next picture as part of a movement. */
  moved() {
    this.moving = true;
    this.settleLater();
    this.redraw({ cloud: true });
  }

  private settleLater() {
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => this.settle(), REST_MS);
  }

  /** Ends the movement: paints everything and notifies listeners. */
  settle() {
    if (this.requested === -1) return;
    // If frames are late, the next may be the last, after which nothing would ask again.
    if (this.motion.busy(this.dimensions)) return this.settleLater();
    clearTimeout(this.resting);
    this.moving = false;
    this.pace.rest();
    this.redraw({ cloud: true });
    if (this.steered) this.handlers.onCamera?.(this.camera());
    this.steered = false;
  }

  // ---- input

  /** @param dx pixels */
  pan(dx: number, dy: number) {
    this.byHand(cameras.panned(this.look, dx, dy, this.projectionFor()));
  }

  /** @param x degrees */
  turn(x: number, y: number) {
    this.byHand(cameras.turned(this.look, x, y));
  }

  /**
   * Zooms around a place on the screen, or around the middle.
   * @param x pixels
   */
  zoom(by: number, x: number = this.width / 2, y: number = this.height / 2) {
    this.byHand(cameras.zoomed(this.look, by, x, y, this.projectionFor()));
  }

  byHand(camera: Camera) {
    this.motion.stop();
    this.touched = this.steered = true;
    this.look = camera;
    this.moved();
  }

  /** @param x pixels per millisecond */
  throwOn(x: number, y: number, pan: boolean) {
    if (!still() && Math.hypot(x, y) > 0.15) this.motion.thrown = { x, y, at: performance.now(), pan };
    this.moved();
  }

  /** Centers a point, or shows everything. */
  center(x: number, y: number) {
    const row = this.rowAt(x, y);
    if (row < 0) return this.fit(null);
    this.touched = this.steered = true;
    const [px, py, pz] = this.placeOf(row);
    this.go({ ...this.look, x: px, y: py, z: pz, zoom: Math.max(this.look.zoom * 1.5, CLOSER) }, WAY_MS);
  }

  pickAt(x: number, y: number, how: Change) {
    this.settle();
    this.handlers.onPick?.(this.rowAt(x, y), how);
  }

  selectIn(line: number[] | null, how: Change) {
    this.settle();
    this.handlers.onSelect?.(line ? this.rowsIn(line) : NONE, how);
  }

  showTrail(trail: Trail | null) {
    this.trail = trail;
    this.redraw({ overlay: true });
  }

  hover(place: [number, number] | null) {
    this.pointer = place;
    if (place || this.hovered < 0) return this.redraw({});
    this.hovered = -1;
    this.handlers.onHover?.(-1);
    this.redraw({ overlay: true });
  }
}
