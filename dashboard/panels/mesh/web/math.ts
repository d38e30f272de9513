/** Vectors, matrices (in column order, as WebGL takes them), and the projection of points to pixels. */

export type Vector = [number, number, number];
/** An axis-aligned box. */
export interface Box {
  low: Vector;
  high: Vector;
}

export const AXES = [0, 1, 2] as const;
export type Axis = typeof AXES[number];

/** Builds a vector from a function of the axis. */
export const vector = (of: (axis: Axis) => number): Vector => [of(0), of(1), of(2)];
export const add = (a: Vector, b: Vector, by: number): Vector => vector((i) => a[i] + b[i] * by);
export const minus = (a: Vector, b: Vector): Vector => add(a, b, -1);
export const middle = ({ low, high }: Box): Vector => vector((i) => (low[i] + high[i]) / 2);
export const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const norm = (a: Vector): number => Math.hypot(a[0], a[1], a[2]);
export const unit = (a: Vector): Vector => add([0, 0, 0], a, 1 / (norm(a) || 1));

export function multiply(a: Float32Array, b: Float32Array): Float32Array {
  const product = new Float32Array(16);
  for (let column = 0; column < 4; column += 1) {
    for (let row = 0; row < 4; row += 1) {
      let sum = 0;
      for (let k = 0; k < 4; k += 1) sum += a[k * 4 + row] * b[column * 4 + k];
      product[column * 4 + row] = sum;
    }
  }
  return product;
}

export type Pixel = [number, number];

/** The pixel of a point, or null behind the eye. */
export function pixel(all: Float32Array, place: Vector, width: number, height: number): Pixel | null {
  const [x, y, w] = [0, 1, 3].map((row) =>
    all[row] * place[0] + all[4 + row] * place[1] + all[8 + row] * place[2] + all[12 + row]
  );
  return w <= 0 ? null : [((x / w + 1) / 2) * width, ((1 - y / w) / 2) * height];
}
