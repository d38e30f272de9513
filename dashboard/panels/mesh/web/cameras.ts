// @ts-nocheck
// The mesh panel: which cards look through one camera, where the cameras are, and how they stand in the URL.
import * as math from "./math.ts";
import { cards } from "./index.ts";
import { view } from "../../../web/page/view.ts";

const FIRST = { az: 35, el: 22 };

/** Cameras that were moved, by group of cards. */
const moved: Map<string, any> = new Map();
/** What a camera at zoom 1 fits since it was moved, by tag, or by card where each has its own camera. */
const frames: Map<string, any> = new Map();
/** What holds all meshes shown so far, by tag and by card: the frame until the camera is moved. */
const boxes: Map<string, { low: number[]; high: number[] }> = new Map();
let read = false;

const sharing = () => view.values("mesh.cameras")[0] || "tag";
const frameKey = (card) => (sharing() === "each" ? card.key : card.tag);
const groupKey = (card) => (sharing() === "all" ? "*" : frameKey(card));
const up = () => view.values("mesh.up")[0] || "y";

/** Entries are "GROUP:az,el,zoom,pan x 3" and, of groups that share one frame, its centre and radius. */
function readUrl() {
  if (read) return;
  read = true;
  for (const entry of view.values("mesh.camera")) {
    const at = entry.lastIndexOf(":");
    const numbers = entry.slice(at + 1).split(",").map(Number);
    if (at < 1 || ![6, 10].includes(numbers.length) || !numbers.every(Number.isFinite) || !(numbers[2] > 0)) continue;
    const group = entry.slice(0, at);
    moved.set(group, {
      az: numbers[0],
      el: Math.min(90, Math.max(-90, numbers[1])),
      zoom: numbers[2],
      pan: numbers.slice(3, 6),
    });
    if (numbers[9] > 0) frames.set(group, { center: numbers.slice(6, 9), radius: numbers[9] });
  }
}

const rounded = (value) => Number(value.toPrecision(6)) + 0;

function writeUrl() {
  const entries = [...moved].map(([group, camera]) => {
    // A camera of all cards has a frame for each tag, which the address leaves out.
    const frame = frames.get(group);
    const numbers = [
      camera.az,
      camera.el,
      camera.zoom,
      ...camera.pan,
      ...(frame ? [...frame.center, frame.radius] : []),
    ];
    return `${group}:${numbers.map(rounded).join(",")}`;
  });
  view.update((_params, set) => set("mesh.camera", entries));
}

/** What holds a mesh: the middle and half the diagonal of its box. */
function frameAround(header) {
  const { low, high } = header;
  const center = [0, 1, 2].map((i) => (low[i] + high[i]) / 2);
  return { center, radius: math.norm(math.minus(high, low)) / 2 || Math.max(1e-3, Math.abs(center[0]) * 1e-3) };
}

/** The frame of a card: it holds all meshes that share it, so that steps and runs are seen at one scale. */
function frameOf(card) {
  const key = frameKey(card);
  return frames.get(key) || frameAround(boxes.get(key) || card.geometry.header);
}

/**
 * Takes a mesh that arrived into its boxes.
 * @returns whether the frame of its card grew
 */
function hold(card): boolean {
  const { low, high } = card.geometry.header;
  if (!low) return false;
  const before = frameOf(card);
  for (const key of new Set([card.tag, card.key])) {
    const box = boxes.get(key);
    boxes.set(
      key,
      box
        ? {
          low: box.low.map((value, i) => Math.min(value, low[i])),
          high: box.high.map((value, i) => Math.max(value, high[i])),
        }
        : { low, high },
    );
  }
  const now = frameOf(card);
  return now.radius !== before.radius || now.center.some((value, i) => value !== before.center[i]);
}

/** Where the logged configuration puts the camera, or somewhat above. */
function firstCamera(card) {
  const wanted = card.looks.camera;
  if (!wanted.position) return { ...FIRST, zoom: 1, pan: [0, 0, 0] };
  const frame = frameOf(card);
  const target = wanted.target || [0, 0, 0];
  const direction = math.minus(wanted.position, target);
  const away = math.norm(direction) / frame.radius;
  if (!away) return { ...FIRST, zoom: 1, pan: [0, 0, 0] };
  const pan = math.minus(target, frame.center).map((value) => value / frame.radius);
  return { ...math.fromEye(direction, up()), zoom: math.distance({ zoom: 1 }, wanted.fov || math.FOV) / away, pan };
}

export const cameras = {
  up,
  frameOf,
  hold,
  of(card) {
    readUrl();
    return moved.get(groupKey(card)) || firstCamera(card);
  },
  set(card, camera) {
    moved.set(groupKey(card), camera);
    // What is looked at stays where it is when other meshes arrive.
    for (const other of [card, ...cards.values()]) {
      if (groupKey(other) === groupKey(card) && other.geometry && other.geometry.header.low) {
        frames.set(frameKey(other), frameOf(other));
      }
    }
  },
  /** Back to the first camera, around what the cards that share it show now. */
  reset(card) {
    const group = groupKey(card);
    moved.delete(group);
    const sharing = [...cards.values()].filter((other) => groupKey(other) === group && other.geometry);
    for (const other of sharing) {
      for (const key of [frameKey(other), other.tag, other.key]) (frames.delete(key), boxes.delete(key));
    }
    for (const other of cards.values()) if (other.geometry) hold(other);
  },
  /** Whether two cards look through one camera, or in one frame. */
  together: (one, other) => groupKey(one) === groupKey(other) || frameKey(one) === frameKey(other),
  writeUrl,
};
