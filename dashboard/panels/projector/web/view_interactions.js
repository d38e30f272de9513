/** How the cloud is looked at, what the hand does to it, and which points are where. Methods of View in projector_view.js. */
import * as lasso from "./lasso.js";
import * as projectorCamera from "./camera.js";
import { Grid } from "./pick.js";
import { sizeOf } from "./raster.js";
import { still } from "./motion.js";

const REST_MS = 140; // without a movement, after which everything is painted again
const WAY_MS = 380;
const SLACK = 5; // pixels beside a point that still pick it
const CLOSER = 4; // zoom that a double click on a point reaches at least

const hand = {
  // ---- how it is looked at

  /** @param {"orbit" | "pan"} mode @param {"pointer" | "box" | "lasso"} tool @this {any} */
  setMode(mode, tool) {
    this.mode = mode;
    this.tool = tool;
    this.describe();
  },

  /** @param {boolean} on @this {any} */
  setSpin(on) {
    this.motion.spin = on && !still();
    this.motion.spunAt = performance.now();
    this.redraw({});
  },

  /** @param {boolean} on @this {any} */
  setPerspective(on) {
    this.look = { ...this.look, perspective: on };
    this.steered = true;
    this.moved();
  },

  /** For the address. @this {any} */
  camera() {
    return projectorCamera.written(this.motion.way ? this.motion.way.to : this.look, this.dimensions);
  },

  /** Nonsense, and a camera of another number of dimensions, change nothing. @param {string} text @returns {boolean} whether it was taken @this {any} */
  setCamera(text) {
    const found = projectorCamera.read(text);
    if (!found || found.dimensions !== this.dimensions) return false;
    this.touched = true;
    this.go(found.camera, 0);
    return true;
  },

  /** Shows these rows whole, or all that are not hidden. @param {ArrayLike<number> | null} [rows] @this {any} */
  fit(rows = null) {
    this.touched = Boolean(rows);
    this.steered = true;
    this.go(this.fitting(rows), WAY_MS);
  },

  /** @param {ArrayLike<number> | null} rows @this {any} */
  fitting(rows) {
    const { to, visible, count } = this.cloud;
    const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
    const each = (/** @type {(row: number) => void} */ act) => {
      if (rows) for (let n = 0; n < rows.length; n += 1) rows[n] < count && act(rows[n]);
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
    if (!some) return projectorCamera.fitted(this.look, { low: [-1, -1, -1], high: [1, 1, 1], radius: 1.2 }, this.dimensions, this.width, this.height);
    const middle = low.map((value, k) => (value + high[k]) / 2);
    let far = 0;
    each((row) => (far = Math.max(far, Math.hypot(to[row * 3] - middle[0], to[row * 3 + 1] - middle[1], to[row * 3 + 2] - middle[2]))));
    // A point alone, or points in one place, are shown in the middle and not from within.
    if (far < 1e-6) return { ...this.look, x: middle[0], y: middle[1], z: middle[2], zoom: rows ? Math.max(CLOSER, this.look.zoom) : 1 };
    return projectorCamera.fitted(this.look, { low, high, radius: far }, this.dimensions, this.width, this.height);
  },

  /** @param {any} camera @param {number} ms @this {any} */
  go(camera, ms) {
    this.motion.stop();
    if (ms > 0 && !still()) this.motion.way = { from: this.look, to: camera, began: performance.now(), ms };
    else this.look = camera;
    this.moved();
  },

  /** Ready for the next picture, as one of a movement. @this {any} */
  moved() {
    this.moving = true;
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => this.settle(), REST_MS);
    this.redraw({ cloud: true });
  },

  /** The movement is over: everything is painted, and who listens hears of it. @this {any} */
  settle() {
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

  /** @param {number} ratio @this {any} */
  projectionFor(ratio = 1) {
    return projectorCamera.projection(this.look, this.dimensions, this.width * ratio, this.height * ratio);
  },

  /** @param {number} dx pixels @param {number} dy @this {any} */
  pan(dx, dy) {
    this.byHand(projectorCamera.panned(this.look, dx, dy, this.projectionFor()));
  },

  /** @param {number} x degrees @param {number} y @this {any} */
  turn(x, y) {
    this.byHand(projectorCamera.turned(this.look, x, y));
  },

  /** Zooms about a place on the screen, or about the middle. @param {number} by @param {number} [x] pixels @param {number} [y] @this {any} */
  zoom(by, x = this.width / 2, y = this.height / 2) {
    this.byHand(projectorCamera.zoomed(this.look, by, x, y, this.projectionFor()));
  },

  /** @param {any} camera @this {any} */
  byHand(camera) {
    this.motion.stop();
    this.touched = this.steered = true;
    this.look = camera;
    this.moved();
  },

  /** @param {number} x pixels in a millisecond @param {number} y @param {boolean} pan @this {any} */
  throwOn(x, y, pan) {
    if (!still() && Math.hypot(x, y) > 0.15) this.motion.thrown = { x, y, at: performance.now(), pan };
    this.moved();
  },

  /** Brings a point to the middle, or shows all. @param {number} x @param {number} y @this {any} */
  centre(x, y) {
    const row = this.rowAt(x, y);
    if (row < 0) return this.fit(null);
    this.touched = this.steered = true;
    const [px, py, pz] = this.placeOf(row);
    this.go({ ...this.look, x: px, y: py, z: pz, zoom: Math.max(this.look.zoom * 1.5, CLOSER) }, WAY_MS);
  },

  /** @param {number} x @param {number} y @param {{add: boolean}} how @this {any} */
  pickAt(x, y, how) {
    this.settle();
    this.handlers.onPick?.(this.rowAt(x, y), how);
  },

  /** @param {number[] | null} line @param {{add: boolean, remove: boolean}} how @this {any} */
  selectIn(line, how) {
    this.settle();
    this.handlers.onSelect?.(line ? this.rowsIn(line) : new Uint32Array(0), how);
  },

  /** @param {any} trail @this {any} */
  showTrail(trail) {
    this.trail = trail;
    this.redraw({ overlay: true });
  },

  /** @param {[number, number] | null} place @this {any} */
  hover(place) {
    this.pointer = place;
    if (place || this.hovered < 0) return this.redraw({});
    this.hovered = -1;
    this.handlers.onHover?.(-1);
    this.redraw({ overlay: true });
  },

  // ---- where points are

  /** Place in the cube, now. @param {number} row @returns {[number, number, number]} @this {any} */
  placeOf(row) {
    const { from, to, share } = this.cloud;
    const at = (/** @type {number} */ k) => from[row * 3 + k] + (to[row * 3 + k] - from[row * 3 + k]) * share;
    return [at(0), at(1), at(2)];
  },

  /** Where a row is in CSS pixels of the host. @param {number} row @this {any} */
  screenOf(row) {
    if (!(row >= 0 && row < this.cloud.count)) return null;
    const at = projectorCamera.screen(this.projectionFor(), ...this.placeOf(row));
    const shown = !this.cloud.visible || this.cloud.visible[row] !== 0;
    return { x: at.x, y: at.y, visible: shown && !at.behind && at.x >= 0 && at.y >= 0 && at.x <= this.width && at.y <= this.height };
  },

  /** Brings the places on the screen up to date, those of points that a movement left out too. @this {any} */
  current() {
    if (this.every > 1) {
      this.moving = false;
      this.dirty.cloud = true;
      this.picks = null;
    }
    if (this.dirty.cloud) this.frameNow(performance.now(), false);
  },

  /** The row under a place, -1 where none is. @param {number} x @param {number} y @this {any} */
  rowAt(x, y) {
    this.current();
    const { raster, ratio } = this;
    if (!raster.painted) return -1;
    this.picks ||= new Grid(raster.order.subarray(0, raster.painted), raster.x, raster.y, raster.width, raster.height);
    const radius = this.radiusIn();
    const height = (/** @type {number} */ row) => raster.level[row] * 2 ** 32 + row;
    return this.picks.at(x * ratio, y * ratio, SLACK * ratio, radius.most, radius.of, height);
  },

  /** Pixels of the raster that a point reaches from its middle. @this {any} */
  radiusIn() {
    const { raster, cloud } = this;
    const { sizes } = cloud;
    const wide = this.sprites && this.atlas ? Math.max(1, Math.sqrt(this.atlas.aspect)) : 1;
    let most = 0;
    for (const one of raster.radii) most = Math.max(most, one);
    return { most: most * wide * (sizes ? sizeOf(1) : 1), of: (/** @type {number} */ row) => raster.radiusOf(row, sizes) * wide };
  },

  /** Rows that are shown, not faded, inside a closed line. @param {number[]} line in CSS pixels @returns {Uint32Array} @this {any} */
  rowsIn(line) {
    this.current();
    const { raster, ratio, cloud } = this;
    const rows = raster.order.subarray(0, raster.painted).filter((/** @type {number} */ row) => !cloud.visible || cloud.visible[row] === 1);
    return lasso.rowsIn(line.map((value) => value * ratio), rows, raster.x, raster.y);
  },
};

export { hand as viewHand };
