/** Views in the form of TensorBoard's bookmarks: their fields, cameras, places, and files. */
import * as camera from "./camera.ts";
import type { Dimensions } from "./camera.ts";

/** The most points whose places go into a bookmark; with more, it holds only the settings. */
const MOST_PLACES = 20_000;
/** TensorBoard's cameras: half the field of view of the 3-D one, and how much the flat one shows at zoom 1. */
const EYE = (35 * Math.PI) / 180;
const FLAT = 1.2;

/** TensorBoard's camera: an eye at one place looking at another with a 70-degree field of view, or flat with a zoom. */
export interface CameraDef {
  orthographic: boolean;
  position: number[];
  target: number[];
  zoom: number;
}

/**
 * A view with the field names of TensorBoard's `State` (tensorboard/plugins/projector/vz_projector/data.ts); whatever
 * has no field there goes under "stepscope". In a file, any field may be missing or have another type.
 */
export interface Bookmark {
  label: string;
  isSelected: boolean;
  tSNEIteration: number;
  tSNEPerplexity: unknown;
  tSNELearningRate: unknown;
  tSNEis3d: boolean;
  umapIs3d: boolean;
  umapNeighbors: unknown;
  umapMinDist: unknown;
  pcaComponentDimensions: number[];
  /** Where each point lies, under the names of TensorBoard's projections. */
  projections: Record<string, number>[];
  selectedPoints: number[];
  filteredPoints: number[] | null;
  shuffledDataIndices: number[];
  selectedProjection: string;
  dataSetDimensions: number[];
  cameraDef: CameraDef;
  selectedColorOptionName: string;
  forceCategoricalColoring: boolean;
  selectedLabelOption: string;
  customSelectedSearchByMetadataOption: string;
  customXLeftText: string;
  customXLeftRegex: boolean;
  customXRightText: string;
  customXRightRegex: boolean;
  customYUpText: string;
  customYUpRegex: boolean;
  customYDownText: string;
  customYDownRegex: boolean;
  stepscope: { query: string };
}
/** A bookmark from a file. */
export type Given = Partial<Bookmark>;

export const isBookmark = (state: unknown): state is Given => typeof state === "object" && state !== null;

/**
 * Reads the bookmarks in a file.
 * @throws Error if it is not a bookmark file, or is for other data
 */
export function bookmarksOf(text: string, name: string, count: number, dimensions: number): Given[] {
  let states: unknown;
  try {
    states = JSON.parse(text);
  } catch {
    throw new Error(`${name} is not JSON; bookmarks are a list of states, as TensorBoard's projector saves them.`);
  }
  if (!Array.isArray(states) || !states.length || !states.every(isBookmark)) {
    throw new Error(`${name} holds no list of bookmarks.`);
  }
  for (const { dataSetDimensions: of } of states) {
    if (Array.isArray(of) && (of[0] !== count || of[1] !== dimensions)) {
      throw new Error(
        `The bookmarks belong to data of ${of.join(" × ")}, but the open data is ${count} × ${dimensions}.`,
      );
    }
  }
  return states;
}

/** Converts our camera to TensorBoard's. */
export function cameraDef(text: string): CameraDef {
  const found = camera.read(text);
  if (!found || found.dimensions === 2) {
    const { x, y, zoom } = found?.camera ?? camera.first(2);
    return { orthographic: true, position: [x, y, 4], target: [x, y, 0], zoom: zoom * FLAT };
  }
  const { az, el, zoom, x, y, z } = found.camera;
  const away = 1 / (zoom * Math.sin(EYE));
  const [a, e] = [(az * Math.PI) / 180, (el * Math.PI) / 180];
  return {
    orthographic: false,
    position: [x + away * Math.cos(e) * Math.sin(a), y + away * Math.sin(e), z + away * Math.cos(e) * Math.cos(a)],
    target: [x, y, z],
    zoom: 1,
  };
}

const isPlace = (list: unknown): list is [number, number, number] =>
  Array.isArray(list) && list.length === 3 && list.every(Number.isFinite);

/**
 * Converts TensorBoard's camera to ours.
 * @returns empty if it is not a camera
 */
export function cameraOf(def: Partial<CameraDef> | undefined, dimensions: Dimensions): string {
  const { position, target } = def ?? {};
  if (!isPlace(position) || !isPlace(target)) return "";
  const [x, y, z] = target;
  const zoom = Number(def?.zoom) || 1;
  if (dimensions === 2) return camera.written({ ...camera.first(2), x, y, zoom: Math.max(zoom, 1e-3) / FLAT }, 2);
  const [dx, dy, dz] = position.map((one, axis) => one - target[axis]);
  const away = Math.max(Math.hypot(dx, dy, dz), 1e-6);
  return camera.written({
    ...camera.first(3),
    az: (Math.atan2(dx, dz) * 180) / Math.PI,
    el: (Math.asin(dy / away) * 180) / Math.PI,
    zoom: zoom / (away * Math.sin(EYE)),
    x,
    y,
    z,
  }, 3);
}

/** TensorBoard's names for the places along our axes. */
function namesOf(projection: string, components: readonly number[]): string[] {
  if (projection === "pca") return components.map((one) => `pca-${one}`);
  return projection === "custom" ? ["linear-x", "linear-y"] : [0, 1, 2].map((axis) => `${projection}-${axis}`);
}

/** Where each point lies, under the names of TensorBoard's projections; empty if there are very many points. */
export function placesOf(
  { values, dimensions }: { values: Float32Array; dimensions: Dimensions },
  projection: string,
  components: readonly number[],
): Record<string, number>[] {
  const count = values.length / dimensions;
  if (count > MOST_PLACES) return [];
  const names = namesOf(projection, components).slice(0, dimensions);
  const place = (row: number) =>
    names.map((name, axis) => [name, Number(values[row * dimensions + axis].toPrecision(6))]);
  return Array.from({ length: count }, (_, row) => Object.fromEntries(place(row)));
}

/** The coordinates of all points in a bookmark; null if any are missing. */
export function coordinatesOf(
  places: readonly Record<string, unknown>[],
  projection: string,
  dimensions: number,
): { coordinates: Float32Array; dimensions: number } | null {
  const names = namesOf(projection, []).slice(0, dimensions);
  const coordinates = Float32Array.from(places.flatMap((place) => names.map((name) => Number(place?.[name]))));
  return coordinates.every(Number.isFinite) ? { coordinates, dimensions: names.length } : null;
}
