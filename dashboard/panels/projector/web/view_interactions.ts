// @ts-nocheck
/** How the cloud is looked at, what the hand does to it, and which points are where. Methods of View in projector_view.js. */
import * as lasso from "./lasso.ts";
import * as projectorCamera from "./camera.ts";
import { Grid } from "./pick.ts";
import { sizeOf } from "./raster.ts";
import { still } from "./motion.ts";

const REST_MS = 140; // without a movement, after which everything is painted again
const WAY_MS = 380;
const SLACK = 5; // pixels beside a point that still pick it
const CLOSER = 4; // zoom that a double click on a point reaches at least

const hand = {
  // ---- how it is looked at

  setMode(this: any, mode: "orbit" | "pan", tool: "pointer" | "box" | "lasso") {
    this.mode = mode;
    this.tool = tool;
    this.describe();
  },

  setSpin(this: any, on: boolean) {
    this.motion.spin = on && !still();
    this.motion.spunAt = performance.now();
    this.redraw({});
  },

  setPerspective(this: any, on: boolean) {
    this.look = { ...this.look, perspective: on };
    this.steered = true;
    this.moved();
  },

  /** For the address. */
  camera(this: any) {
    return projectorCamera.written(this.motion.way ? this.motion.way.to : this.look, this.dimensions);
  },

  /**
   * Nonsense, and a camera of another number of dimensions, change nothing.
   * @returns whether it was taken
   */
  setCamera(this: any, text: string): boolean {
    const found = projectorCamera.read(text);
    if (!found || found.dimensions !== this.dimensions) return false;
    this.touched = true;
    this.go(found.camera, 0);
    return true;
  },

  /** Shows these rows whole, or all that are not hidden. */
  fit(this: any, rows: ArrayLike<number> | null = null) {
    this.touched = Boolean(rows);
    this.steered = true;
    this.go(this.fitting(rows), WAY_MS);
  },

  fitting(this: any, rows: ArrayLike<number> | null) {
    const { to, visible, count } = this.cloud;
    const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
    const each = (act: (row: number) => void) => {
      if (rows) { for (let n = 0; n < rows.length; n += 1) rows[n] < count && act(rows[n]); }
      else for (let row = 0; row < count; row += 1) if (visible === null || visible[row] !== 0) act(row);
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
    if (!some) {
      return projectorCamera.fitted(
        this.look,
        { low: [-1, -1, -1], high: [1, 1, 1], radius: 1.2 },
        this.dimensions,
        this.width,
        this.height,
      );
    }
    const middle = low.map((value, k) => (value + high[k]) / 2);
    let far = 0;
    each((
      row,
    ) => (far = Math.max(
      far,
      Math.hypot(to[row * 3] - middle[0], to[row * 3 + 1] - middle[1], to[row * 3 + 2] - middle[2]),
    )));
    // A point alone, or points in one place, are shown in the middle and not from within.
    if (far < 1e-6) {
      return {
        ...this.look,
        x: middle[0],
        y: middle[1],
        z: middle[2],
        zoom: rows ? Math.max(CLOSER, this.look.zoom) : 1,
      };
    }
    return projectorCamera.fitted(this.look, { low, high, radius: far }, this.dimensions, this.width, this.height);
  },

  go(this: any, camera: any, ms: number) {
    this.motion.stop();
    if (ms > 0 && !still()) this.motion.way = { from: this.look, to: camera, began: performance.now(), ms };
    else this.look = camera;
    this.moved();
  },

  /** Ready for the next picture, as one of a movement. */
  moved(this: any) {
    this.moving = true;
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => this.settle(), REST_MS);
    this.redraw({ cloud: true });
  },

  /** The movement is over: everything is painted, and who listens hears of it. */
  settle(this: any) {
    if (this.asked === -1) return;
    if (this.motion.busy(this.dimensions)) return;
    clearTimeout(this.resting);
    this.moving = false;
    this.pace.rest();
    this.redraw({ cloud: true });
    if (this.steered) this.handlers.onCamera?.(this.camera());
    this.steered = false;
    this.handlers.onStats?.({ shown: this.shownCount, ...this.pace.stats() });
  },

  // ---- the hand

  projectionFor(this: any, ratio: number = 1) {
    return projectorCamera.projection(this.look, this.dimensions, this.width * ratio, this.height * ratio);
  },

  /** @param dx pixels */
  pan(this: any, dx: number, dy: number) {
    this.byHand(projectorCamera.panned(this.look, dx, dy, this.projectionFor()));
  },

  /** @param x degrees */
  turn(this: any, x: number, y: number) {
    this.byHand(projectorCamera.turned(this.look, x, y));
  },

  /**
   * Zooms about a place on the screen, or about the middle.
   * @param x pixels
   */
  zoom(this: any, by: number, x: number = this.width / 2, y: number = this.height / 2) {
    this.byHand(projectorCamera.zoomed(this.look, by, x, y, this.projectionFor()));
  },

  byHand(this: any, camera: any) {
    this.motion.stop();
    this.touched = this.steered = true;
    this.look = camera;
    this.moved();
  },

  /** @param x pixels in a millisecond */
  throwOn(this: any, x: number, y: number, pan: boolean) {
    if (!still() && Math.hypot(x, y) > 0.15) this.motion.thrown = { x, y, at: performance.now(), pan };
    this.moved();
  },

  /** Brings a point to the middle, or shows all. */
  centre(this: any, x: number, y: number) {
    const row = this.rowAt(x, y);
    if (row < 0) return this.fit(null);
    this.touched = this.steered = true;
    const [px, py, pz] = this.placeOf(row);
    this.go({ ...this.look, x: px, y: py, z: pz, zoom: Math.max(this.look.zoom * 1.5, CLOSER) }, WAY_MS);
  },

  pickAt(this: any, x: number, y: number, how: { add: boolean }) {
    this.settle();
    this.handlers.onPick?.(this.rowAt(x, y), how);
  },

  selectIn(this: any, line: number[] | null, how: { add: boolean; remove: boolean }) {
    this.settle();
    this.handlers.onSelect?.(line ? this.rowsIn(line) : new Uint32Array(0), how);
  },

  showTrail(this: any, trail: any) {
    this.trail = trail;
    this.redraw({ overlay: true });
  },

  hover(this: any, place: [number, number] | null) {
    this.pointer = place;
    if (place || this.hovered < 0) return this.redraw({});
    this.hovered = -1;
    this.handlers.onHover?.(-1);
    this.redraw({ overlay: true });
  },

  // ---- where points are

  /** Place in the cube, now. */
  placeOf(this: any, row: number): [number, number, number] {
    const { from, to, share } = this.cloud;
    const at = (k: number) => from[row * 3 + k] + (to[row * 3 + k] - from[row * 3 + k]) * share;
    return [at(0), at(1), at(2)];
  },

  /** Where a row is in CSS pixels of the host. */
  screenOf(this: any, row: number) {
    if (!(row >= 0 && row < this.cloud.count)) return null;
    const at = projectorCamera.screen(this.projectionFor(), ...this.placeOf(row));
    const shown = !this.cloud.visible || this.cloud.visible[row] !== 0;
    return {
      x: at.x,
      y: at.y,
      visible: shown && !at.behind && at.x >= 0 && at.y >= 0 && at.x <= this.width && at.y <= this.height,
    };
  },

  /** Brings the places on the screen up to date, those of points that a movement left out too. */
  current(this: any) {
    if (this.every > 1) {
      this.moving = false;
      this.dirty.cloud = true;
      this.picks = null;
    }
    if (this.dirty.cloud) this.frameNow(performance.now(), false);
  },

  /** The row under a place, -1 where none is. */
  rowAt(this: any, x: number, y: number) {
    this.current();
    const { raster, ratio } = this;
    if (!raster.painted) return -1;
    this.picks ||= new Grid(raster.order.subarray(0, raster.painted), raster.x, raster.y, raster.width, raster.height);
    const radius = this.radiusIn();
    const height = (row: number) => raster.level[row] * 2 ** 32 + row;
    return this.picks.at(x * ratio, y * ratio, SLACK * ratio, radius.most, radius.of, height);
  },

  /** Pixels of the raster that a point reaches from its middle. */
  radiusIn(this: any) {
    const { raster, cloud } = this;
    const { sizes } = cloud;
    const wide = this.sprites && this.atlas ? Math.max(1, Math.sqrt(this.atlas.aspect)) : 1;
    let most = 0;
    for (const one of raster.radii) most = Math.max(most, one);
    return { most: most * wide * (sizes ? sizeOf(1) : 1), of: (row: number) => raster.radiusOf(row, sizes) * wide };
  },

  /**
   * Rows that are shown, not faded, inside a closed line.
   * @param line in CSS pixels
   */
  rowsIn(this: any, line: number[]): Uint32Array {
    this.current();
    const { raster, ratio, cloud } = this;
    const rows = raster.order.subarray(0, raster.painted).filter((row: number) =>
      !cloud.visible || cloud.visible[row] === 1
    );
    return lasso.rowsIn(line.map((value) => value * ratio), rows, raster.x, raster.y);
  },
};

export { hand as viewHand };
