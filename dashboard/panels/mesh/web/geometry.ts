/** The columns of a mesh at one step, fetched and cached, and what is computed from them on demand. */
import { Api, type Parameters } from "../../../web/core/request.ts";
import type { Column } from "../../../web/core/binary.ts";
import type { Vector } from "./math.ts";
import type { MeshHeader, PackedMesh } from "./messages.generated.ts";

const MOST_KEPT = 256e6; // bytes of meshes viewed before

type Packed = PackedMesh & { arrays: Column[] };

/** The extent of a mesh, whose positions are relative to `origin`. */
export interface Extent {
  origin: Vector;
  low: Vector;
  high: Vector;
}
export interface Geometry {
  header: MeshHeader;
  /** Null if there is nothing to draw. */
  extent: Extent | null;
  positions: Float32Array;
  faces: Uint32Array | null;
  colors: Uint8Array | null;
  /** How far each vertex is from its position in another mesh; -1 if unknown. */
  moved: Float32Array | null;
  normals?: Float32Array;
  edges?: Uint32Array;
}

const api = new Api("api/mesh");
/** Geometries by URL, in order of use. */
const kept: Map<string, Geometry> = new Map();
const underWay: Map<string, Promise<Geometry>> = new Map();

export function unpack({ columns, arrays, ...header }: Packed): Geometry {
  const column = (name: keyof Packed["columns"]): Column | undefined => arrays[columns[name] ?? -1];
  const positions = column("positions");
  const faces = column("faces");
  const colors = column("colors");
  const moved = column("moved");
  const { origin, low, high } = header;
  return {
    header,
    extent: origin && low && high ? { origin, low, high } : null,
    positions: positions instanceof Float32Array ? positions : new Float32Array(0),
    faces: faces instanceof Uint32Array ? faces : null,
    colors: colors instanceof Uint8Array ? colors : null,
    moved: moved instanceof Float32Array ? moved : null,
  };
}

/** Discards the least recently used meshes. */
function trim(): void {
  const bytes = ({ positions, faces, colors, moved }: Geometry) =>
    [positions, faces, colors, moved].reduce((sum, column) => sum + (column?.byteLength ?? 0), 0);
  let total = 0;
  for (const geometry of kept.values()) total += bytes(geometry);
  for (const [url, geometry] of kept) {
    if (total <= MOST_KEPT) return;
    kept.delete(url);
    total -= bytes(geometry);
  }
}

/** The address of a mesh, either for drawing or as a file for the user. */
export const address = (route: "geometry" | "ply", requested: Parameters): string => api.address(route, requested);

/**
 * Returns a mesh, without delay if it was viewed before.
 * @throws Error with a sentence for the user
 */
export async function get(requested: Parameters): Promise<Geometry> {
  const url = address("geometry", requested);
  const found = kept.get(url);
  if (found) {
    kept.delete(url);
    kept.set(url, found);
    return found;
  }
  let loading = underWay.get(url);
  if (!loading) {
    loading = api.ask<Packed>("geometry", requested).then(unpack);
    underWay.set(url, loading);
  }
  try {
    const geometry = await loading;
    kept.set(url, geometry);
    trim();
    return geometry;
  } finally {
    underWay.delete(url);
  }
}

/** The normal of each vertex: the mean of its faces' normals, weighted by area. */
export function normals({ positions: p, faces: f }: Pick<Geometry, "positions" | "faces">): Float32Array {
  const found = new Float32Array(p.length);
  for (let i = 0; f && i < f.length; i += 3) {
    const [a, b, c] = [f[i] * 3, f[i + 1] * 3, f[i + 2] * 3];
    const [ux, uy, uz] = [p[b] - p[a], p[b + 1] - p[a + 1], p[b + 2] - p[a + 2]];
    const [vx, vy, vz] = [p[c] - p[a], p[c + 1] - p[a + 1], p[c + 2] - p[a + 2]];
    const [x, y, z] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    for (const at of [a, b, c]) {
      found[at] += x;
      found[at + 1] += y;
      found[at + 2] += z;
    }
  }
  for (let i = 0; i < found.length; i += 3) {
    const length = Math.hypot(found[i], found[i + 1], found[i + 2]) || 1;
    for (let k = 0; k < 3; k += 1) found[i + k] /= length;
  }
  return found;
}

/** Every edge of the faces once, as pairs of vertices. */
export function edges({ positions, faces: f }: Pick<Geometry, "positions" | "faces">): Uint32Array {
  if (!f) return new Uint32Array(0);
  const n = positions.length / 3;
  const keys = new Float64Array(f.length);
  for (let i = 0; i < f.length; i += 1) {
    const [a, b] = [f[i], f[i % 3 === 2 ? i - 2 : i + 1]];
    keys[i] = Math.min(a, b) * n + Math.max(a, b);
  }
  keys.sort();
  const found = new Uint32Array(f.length * 2);
  let count = 0;
  for (let i = 0; i < keys.length; i += 1) {
    if (i && keys[i] === keys[i - 1]) continue;
    const low = Math.floor(keys[i] / n);
    found[count] = low;
    found[count + 1] = keys[i] - low * n;
    count += 2;
  }
  return found.slice(0, count);
}
