/** The single loop that draws changed cards, with fewer points while a camera moves. */
import { cameras } from "./cameras.ts";
import { type Card, cards, complain } from "./card.ts";
import { gl } from "./gl.ts";
import type { Camera } from "./orbit.ts";
import * as scene from "./scene.ts";

const REST_MS = 140;
// The target time of a frame while the camera moves; slower frames are drawn with fewer points.
const HASTE_MS = 30;
// A surface that takes longer than this is drawn as points while the camera moves.
const HEAVY_MS = 90;
const NO_CONTEXT = "This browser offers no WebGL 2, so meshes cannot be drawn. The PLY file can be downloaded.";
const LOST_CONTEXT = "The WebGL context was lost. It should recover; otherwise reload the page.";

const dirty: Set<Card> = new Set();
let frame = 0;
let moving = false;
let resting = 0;
/** One of this many points is drawn while the camera moves. */
let every = 1;
/** Measurements of the loop. */
export const stats = { frames: 0, milliseconds: 0, every: 1 };

export function redraw(card: Card): void {
  if (!card.geometry) return;
  dirty.add(card);
  if (!frame) frame = requestAnimationFrame(drawDirty);
}

export const redrawAll = (): void => cards.forEach(redraw);

function drawDirty(): void {
  frame = 0;
  const ready = [...dirty].filter(({ visible, geometry, parts }) =>
    visible && geometry?.extent && parts?.body.isConnected
  );
  dirty.clear();
  if (!ready.length) return;
  const began = performance.now();
  for (const card of ready) drawCard(card);
  stats.frames += 1;
  stats.milliseconds = performance.now() - began;
  stats.every = moving ? every : 1;
  if (moving) hurry(stats.milliseconds);
}

function drawCard(card: Card): void {
  const began = performance.now();
  const heavy = moving && card.geometry?.faces && card.cost > HEAVY_MS;
  card.seen = scene.draw(card, moving ? every : 1, Boolean(heavy));
  complain(card, card.seen ? "" : gl.context() ? LOST_CONTEXT : NO_CONTEXT);
  if (moving) return;
  card.cost = performance.now() - began;
  every = Math.min(gl.MOST_LEFT_OUT, Math.max(every, Math.floor(card.cost / HASTE_MS)));
}

/** Draws fewer points in the next frame if this one took long, or more if there was time to spare. */
function hurry(milliseconds: number): void {
  if (milliseconds > HASTE_MS * 1.4) every = Math.min(gl.MOST_LEFT_OUT, Math.ceil((every * milliseconds) / HASTE_MS));
  else if (milliseconds < HASTE_MS * 0.6) every = Math.max(1, Math.floor(every * 0.8));
}

/** Moves the camera of a card, and thus of all cards that look through it. */
export function moveCamera(card: Card, camera: Camera): void {
  cameras.set(card, camera);
  moving = true;
  clearTimeout(resting);
  redrawShared(card);
}

/** Draws all cards that share a card's camera or frame. */
export function redrawShared(card: Card): void {
  for (const other of cards.values()) if (cameras.together(card, other)) redraw(other);
}

/** Draws everything whole after the last movement. */
export function rest(): void {
  clearTimeout(resting);
  resting = window.setTimeout(() => {
    moving = false;
    redrawAll();
  }, REST_MS);
}

export function resetCamera(card: Card): void {
  if (!card.geometry?.extent) return;
  cameras.reset(card);
  redrawAll();
}
