/** Which cards share a camera, where the cameras are, and what they fit. */
import { noted } from "../../../web/core/setting.ts";
import { view } from "../../../web/page/view.ts";
import { type Card, cards, looksOf } from "./card.ts";
import { type Box, vector } from "./math.ts";
import { type Camera, cameraEntry, firstCamera, type Frame, frameAround, readCamera, type Up } from "./orbit.ts";
import { settings } from "./settings.generated.ts";

const EMPTY: Box = { low: [0, 0, 0], high: [0, 0, 0] };

/** Cameras that were moved, by group of cards. */
const moved: Map<string, Camera> = new Map();
/** The frame that a camera fits at zoom 1 since it was moved, by tag, or by card if each has its own camera. */
const frames: Map<string, Frame> = new Map();
/** The box around all meshes shown so far, by tag and by card: the frame until the camera is moved. */
const boxes: Map<string, Box> = new Map();
const inUrl = noted(() => view.read(settings.camera));

const sharing = () => view.read(settings.cameras);
const frameKey = (card: Card) => (sharing() === "each" ? card.key : card.data.tag);
const groupKey = (card: Card) => (sharing() === "all" ? "*" : frameKey(card));
const up = (): Up => view.read(settings.up);
const ofGroup = (group: string) =>
  [...cards.values()].filter((card) => groupKey(card) === group && card.geometry?.extent);

/** Takes the cameras from the address, if it has others than were moved. */
function readUrl(): void {
  if (!inUrl.differs()) return;
  moved.clear();
  frames.clear();
  for (const entry of view.read(settings.camera)) {
    const found = readCamera(entry);
    if (!found) continue;
    moved.set(found.group, found.camera);
    if (found.frame) frames.set(found.group, found.frame);
  }
}

function writeUrl(): void {
  // A camera shared by all cards has a frame for each tag; the address leaves those out.
  const entries = [...moved].map(([group, camera]) => cameraEntry({ group, camera, frame: frames.get(group) }));
  view.write(settings.camera, entries);
  inUrl.note();
}

/** The frame of a card, which holds all meshes that share it, so that steps and runs are shown at the same scale. */
function frameOf(card: Card): Frame {
  const key = frameKey(card);
  return frames.get(key) ?? frameAround(boxes.get(key) ?? card.geometry?.extent ?? EMPTY);
}

/** Extends the boxes to include a newly arrived mesh; returns whether the frame of its card grew. */
function hold(card: Card): boolean {
  const extent = card.geometry?.extent;
  if (!extent) return false;
  const before = frameOf(card);
  for (const key of new Set([card.data.tag, card.key])) {
    const { low, high } = boxes.get(key) ?? extent;
    boxes.set(key, {
      low: vector((i) => Math.min(low[i], extent.low[i])),
      high: vector((i) => Math.max(high[i], extent.high[i])),
    });
  }
  const now = frameOf(card);
  return now.radius !== before.radius || now.center.some((value, i) => value !== before.center[i]);
}

export const cameras = {
  up,
  frameOf,
  hold,
  readUrl,
  writeUrl,
  of(card: Card): Camera {
    return moved.get(groupKey(card)) ?? firstCamera(looksOf(card).camera, frameOf(card), up());
  },
  set(card: Card, camera: Camera): void {
    moved.set(groupKey(card), camera);
    // The target stays in place when other meshes arrive.
    for (const other of ofGroup(groupKey(card))) frames.set(frameKey(other), frameOf(other));
  },
  /** Resets to the first camera, around what the cards that share it show now. */
  reset(card: Card): void {
    const group = groupKey(card);
    moved.delete(group);
    for (const other of ofGroup(group)) {
      for (const key of [frameKey(other), other.data.tag, other.key]) (frames.delete(key), boxes.delete(key));
    }
    for (const other of cards.values()) hold(other);
  },
  /** Whether two cards share a camera or a frame. */
  together: (one: Card, other: Card): boolean => groupKey(one) === groupKey(other) || frameKey(one) === frameKey(other),
};
