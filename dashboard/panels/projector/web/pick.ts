/** Which point is under the pointer: a grid over the places on the screen, built when first needed. */

const CELL = 16; // pixels

export class Grid {
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly across: number;
  readonly down: number;
  /** Where each cell's rows begin in `rows`; within a cell they keep their order. */
  readonly starts: Uint32Array;
  readonly rows: Uint32Array;

  /**
   * @param rows from back to front
   * @param x by row
   * @param width pixels
   */
  constructor(rows: ArrayLike<number>, x: Float32Array, y: Float32Array, width: number, height: number) {
    this.x = x;
    this.y = y;
    this.across = Math.max(1, Math.ceil(width / CELL));
    this.down = Math.max(1, Math.ceil(height / CELL));
    this.starts = new Uint32Array(this.across * this.down + 1);
    this.rows = new Uint32Array(rows.length);
    const cells = new Int32Array(rows.length);
    for (let n = 0; n < rows.length; n += 1) {
      const cell = this.cell(x[rows[n]], y[rows[n]]);
      cells[n] = cell;
      this.starts[cell + 1] += 1;
    }
    for (let cell = 0; cell < this.starts.length - 1; cell += 1) this.starts[cell + 1] += this.starts[cell];
    const at = this.starts.slice();
    for (let n = 0; n < rows.length; n += 1) this.rows[at[cells[n]]++] = rows[n];
  }

  /** Places outside the picture belong to the nearest cell at its edge. */
  cell(x: number, y: number) {
    const column = Math.min(this.across - 1, Math.max(0, Math.floor(x / CELL)));
    const line = Math.min(this.down - 1, Math.max(0, Math.floor(y / CELL)));
    return line * this.across + column;
  }

  /**
   * Calls `each` with the rows of all cells within `reach` of a place.
   * @param reach pixels
   */
  around(x: number, y: number, reach: number, each: (row: number) => void) {
    const [first, last] = [this.cell(x - reach, y - reach), this.cell(x + reach, y + reach)];
    const [left, right] = [first % this.across, last % this.across];
    for (let line = Math.floor(first / this.across); line <= Math.floor(last / this.across); line += 1) {
      for (let n = this.starts[line * this.across + left]; n < this.starts[line * this.across + right + 1]; n += 1) {
        each(this.rows[n]);
      }
    }
  }

  /**
   * The point under the pointer: the one nearest to the eye whose disc contains it, or else the nearest within `slack`.
   * @param slack pixels beyond the disc
   * @param most the largest radius
   * @param height greater is nearer to the eye
   * @returns row, -1 if there is none
   */
  at(
    x: number,
    y: number,
    slack: number,
    most: number,
    radius: (row: number) => number,
    height: (row: number) => number,
  ): number {
    let [found, best, inside] = [-1, Infinity, false];
    this.around(x, y, most + slack, (row) => {
      const gap = Math.hypot(this.x[row] - x, this.y[row] - y) - radius(row);
      if (gap > slack || (inside && gap > 0)) return;
      // At equal heights, the later row was painted over the earlier one.
      const rank = gap <= 0 ? -height(row) : gap;
      if (gap <= 0 && !inside) [inside, best] = [true, Infinity];
      if (rank <= best) [found, best] = [row, rank];
    });
    return found;
  }
}
