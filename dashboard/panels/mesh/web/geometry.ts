// @ts-nocheck
// The mesh panel: the columns of a mesh at one step, fetched and kept, and what is computed of them when asked for.
import { binary } from "../../../web/core/binary.ts";

const MOST_KEPT = 256e6; // bytes of meshes looked at before

/** as dashboard/panels/mesh/files.py packs it */
export interface Geometry {
  header: any;
  positions: Float32Array;
  faces: Uint32Array | null;
  colors: Uint8Array | null;
  moved: Float32Array | null;
  bytes: number;
  normals?: Float32Array;
  edges?: Uint32Array;
}
/** By URL, in order of use. */
const kept: Map<string, Geometry> = new Map();
const underWay: Map<string, Promise<Geometry>> = new Map();

function unpack(buffer): Geometry {
  const header = binary.unpack(buffer);
  const column = (name) => header.arrays[header.columns[name]] || null;
  return {
    header,
    positions: column("positions") || new Float32Array(0),
    faces: column("faces"),
    colors: column("colors"),
    moved: column("moved"),
    bytes: buffer.byteLength,
  };
}

async function load(url) {
  const answer = await fetch(url);
  if (!answer.ok) {
    const why = await answer.json().catch(() => ({}));
    throw new Error(typeof why.detail === "string" ? why.detail : "The server does not have this mesh any more.");
  }
  return unpack(await answer.arrayBuffer());
}

/** Forgets what was looked at longest ago. */
function trim() {
  let total = 0;
  for (const geometry of kept.values()) total += geometry.bytes;
  for (const [url, geometry] of kept) {
    if (total <= MOST_KEPT) return;
    kept.delete(url);
    total -= geometry.bytes;
  }
}

export function get(url): Promise<Geometry> {
  const found = kept.get(url);
  if (found) {
    kept.delete(url);
    kept.set(url, found);
    return Promise.resolve(found);
  }
  if (!underWay.has(url)) {
    const loading = load(url).then((geometry) => {
      kept.set(url, geometry);
      trim();
      return geometry;
    });
    underWay.set(url, loading);
    loading.finally(() => underWay.delete(url)).catch(() => {});
  }
  return underWay.get(url);
}

/** Of each vertex the mean of its faces' normals, weighted by their areas. */
export function normals(geometry) {
  if (geometry.normals) return geometry.normals;
  const { positions: p, faces: f } = geometry;
  const found = new Float32Array(p.length);
  for (let i = 0; i < f.length; i += 3) {
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
  return (geometry.normals = found);
}

/** Every edge of the faces once, as pairs of vertices. */
export function edges(geometry) {
  if (geometry.edges) return geometry.edges;
  const f = geometry.faces;
  const n = geometry.positions.length / 3;
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
  return (geometry.edges = found.slice(0, count));
}
