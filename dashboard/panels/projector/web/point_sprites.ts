/**
 * Discs as lists of pixels, made once per radius and subpixel place, so that drawing a point costs only its pixels.
 *
 * A stamp's pixels are offsets from the pixel containing its middle: first those wholly inside, then those of the rim
 * with the share of each that is covered.
 */

export const QUARTERS = 4; // steps of the radius and of the place within a pixel
export const LARGEST = 28; // radius in pixels
const RIM_FROM = 3.5; // radius in pixels from which a disc has a rim of another shade
const RIM = 0.9; // pixels
const FULL = 64; // the value of a fully covered pixel: two channels at once still fit into 31 bits
const FIRST_ROOM = 4096;

export class Stamps {
  readonly stride: number;
  readonly smooth: boolean;
  /** Where a stamp's pixels begin (0: not made yet), where its rim begins, and where it ends. */
  readonly start: Int32Array;
  readonly rim: Int32Array;
  readonly end: Int32Array;
  offsets = new Int32Array(FIRST_ROOM);
  shares = new Uint8Array(FIRST_ROOM);
  used = 1;

  /**
   * @param stride pixels per line of the picture
   * @param smooth whether edges are anti-aliased
   */
  constructor(stride: number, smooth: boolean) {
    this.stride = stride;
    this.smooth = smooth;
    const keys = (LARGEST * QUARTERS + 1) * QUARTERS * QUARTERS;
    this.start = new Int32Array(keys);
    this.rim = new Int32Array(keys);
    this.end = new Int32Array(keys);
  }

  /** Makes the stamp of a key: radius in quarters * 16 + row in quarters * 4 + column in quarters. */
  make(key: number) {
    const radius = (key >> 4) / QUARTERS;
    const [x, y] = [((key & 3) + 0.5) / QUARTERS, (((key >> 2) & 3) + 0.5) / QUARTERS];
    const reach = Math.ceil(radius + 1);
    const inside: number[] = [];
    const rim: [number, number][] = [];
    const solid = radius >= RIM_FROM ? radius - RIM : Infinity;
    for (let row = -reach; row <= reach; row += 1) {
      for (let column = -reach; column <= reach; column += 1) {
        const far = Math.hypot(column + 0.5 - x, row + 0.5 - y);
        // A disc smaller than a pixel is still visible, but paler.
        const share = radius < 0.5
          ? (far < 0.71 ? radius * 2 * (1 - far) : 0)
          : Math.min(1, Math.max(0, radius + 0.5 - far));
        const at = row * this.stride + column;
        if (!this.smooth) {
          if (share >= 0.45) inside.push(at);
        } else if (share > 0.97 && far <= solid) inside.push(at);
        else if (share > 0.02) rim.push([at, Math.round(share * FULL)]);
      }
    }
    this.room(inside.length + rim.length);
    this.start[key] = this.used;
    for (const at of inside) this.offsets[this.used++] = at;
    this.rim[key] = this.used;
    for (const [at, share] of rim) {
      this.shares[this.used] = share;
      this.offsets[this.used++] = at;
    }
    this.end[key] = this.used;
  }

  room(more: number) {
    if (this.used + more <= this.offsets.length) return;
    const size = Math.max(this.offsets.length * 2, this.used + more);
    const [offsets, shares] = [new Int32Array(size), new Uint8Array(size)];
    offsets.set(this.offsets);
    shares.set(this.shares);
    [this.offsets, this.shares] = [offsets, shares];
  }
}
