/** What a card shows and how, according to the toolbar and the logged configuration, and its picture. */
import { css, ofHex, type Rgb } from "../../../web/core/color.ts";
import type { ValueOf } from "../../../web/core/setting.ts";
import { view } from "../../../web/page/view.ts";
import { type ColorScale, drawBox, drawScale, type Ink } from "./axes.ts";
import { cameras } from "./cameras.ts";
import { type Card, looksOf, type Seen } from "./card.ts";
import type { Extent, Geometry } from "./geometry.ts";
import { type Directional, gl, LIT, PAINT, type Scene, type Show } from "./gl.ts";
import { add, AXES, minus, norm, type Vector, vector } from "./math.ts";
import { project, type Projection } from "./orbit.ts";
import { settings } from "./settings.generated.ts";

const BACKGROUNDS: Record<ValueOf<typeof settings.background>, Rgb | null> = {
  page: null,
  white: [255, 255, 255],
  gray: [128, 128, 128],
  black: [0, 0, 0],
};
const LINE: Vector = shares("#10141c");
interface Lighting {
  ambient: Vector;
  lights: Directional[];
}
// Without its own lights, a mesh is lit from behind the left shoulder.
const SHOULDER: Vector = [-0.37, 0.56, 0.74];
const UNLIT: Lighting = {
  ambient: [0.45, 0.45, 0.45],
  lights: [{ direction: SHOULDER, color: [0.62, 0.62, 0.62] }],
};
// The colors of a scale must be readable, so shading affects them less.
const READABLE: Lighting = {
  ambient: [0.74, 0.74, 0.74],
  lights: [{ direction: SHOULDER, color: [0.34, 0.34, 0.34] }],
};

/** A color as shares of 1. */
function shares(hex: string): Vector {
  const bytes = ofHex(hex);
  return vector((i) => bytes[i] / 255);
}

function background(): Rgb {
  return BACKGROUNDS[view.read(settings.background)] ??
    ofHex(getComputedStyle(document.documentElement).getPropertyValue("--surface").trim());
}

/** Colors of lines and numbers that are visible on a background. */
function inkOn(rgb: Rgb): Ink {
  const light = (rgb[0] * 2 + rgb[1] * 5 + rgb[2]) / 8 > 110;
  return light
    ? { line: "rgb(20 28 45 / 17%)", text: "rgb(30 36 48 / 85%)" }
    : { line: "rgb(255 255 255 / 17%)", text: "rgb(235 240 250 / 88%)" };
}

function shown(card: Card, geometry: Geometry): Show {
  if (!geometry.faces) return "points";
  const chosen = view.read(settings.show);
  if (chosen !== "logged") return chosen;
  return looksOf(card).material.wireframe ? "wireframe" : "surface";
}

function shading(card: Card): Scene["lit"] {
  const chosen = view.read(settings.shading);
  if (chosen !== "logged") return LIT[chosen];
  const { unlit, flat } = looksOf(card).material;
  return unlit ? LIT.none : flat ? LIT.flat : LIT.smooth;
}

/** How a mesh is colored, and the scale that explains its colors. */
type Paint = Pick<Scene, "paint" | "axis" | "range" | "one"> & { scale: ColorScale | null };

function paint(card: Card, { header, moved, colors }: Geometry, { low, high, origin }: Extent): Paint {
  const { material } = looksOf(card);
  const dark = document.documentElement.dataset.mantineColorScheme === "dark";
  const plain: Paint = {
    paint: PAINT.one,
    axis: -1,
    range: [0, 0],
    one: shares(dark ? card.data.dark : card.data.light),
    scale: null,
  };
  if (moved) {
    const most = Number(header.moved?.most ?? 0);
    const scale = { title: card.comparison, low: 0, high: most };
    return { ...plain, paint: PAINT.scale, range: [0, most], scale };
  }
  const chosen = view.read(settings.color);
  const axis = AXES.find((i) => "xyz"[i] === chosen);
  if (axis !== undefined) {
    const scale = { title: chosen, low: low[axis], high: high[axis] };
    return { ...plain, paint: PAINT.scale, axis, range: [low[axis] - origin[axis], high[axis] - origin[axis]], scale };
  }
  if (chosen === "one") return plain;
  if (colors && material.vertexColors !== false) return { ...plain, paint: PAINT.vertices };
  return material.color ? { ...plain, one: material.color } : plain;
}

/** Logged lights as seen from the eye. */
function lighting(card: Card, { view: v }: Projection, scaled: boolean): Lighting {
  const { lights } = looksOf(card);
  if (scaled) return READABLE;
  if (!lights.length) return UNLIT;
  const found: Lighting = { ambient: [0, 0, 0], lights: [] };
  for (const { color, intensity, position } of lights) {
    if (!position) found.ambient = add(found.ambient, color, intensity);
    else {
      const length = norm(position) || 1;
      const direction = vector((row) =>
        (v[row] * position[0] + v[4 + row] * position[1] + v[8 + row] * position[2]) / length
      );
      found.lights.push({ direction, color: vector((i) => color[i] * intensity) });
    }
  }
  return found;
}

/** Default point size in pixels: the more points, the smaller. */
const fitting = (count: number) => (count > 300e3 ? 1 : count > 50e3 ? 2 : count > 5e3 ? 3 : count > 500 ? 4 : 6);

/**
 * Draws a card onto its canvas. Everything is relative to the center of the card's frame, so that meshes far from
 * zero keep their precision.
 * @param every one of this many points is drawn
 * @param asPoints whether to draw only the points of a surface
 * @returns how it was seen; null if there is no context or nothing to draw
 */
export function draw(card: Card, every: number, asPoints: boolean): Seen | null {
  const { geometry, parts } = card;
  if (!geometry?.extent || !parts) return null;
  const { extent } = geometry;
  const { canvas, context } = parts;
  const { width, height } = canvas;
  const ratio = width / Math.max(1, canvas.clientWidth);
  const frame = cameras.frameOf(card);
  const relative = (place: Vector) => minus(place, frame.center);
  const box = { low: relative(extent.low), high: relative(extent.high), up: cameras.up() };
  const looks = looksOf(card);
  const projection = project(
    cameras.of(card),
    { center: [0, 0, 0], radius: frame.radius },
    { ...box, width, height, wanted: looks.camera },
  );
  const behind = background();
  const ink = inkOn(behind);
  context.fillStyle = css(behind);
  context.fillRect(0, 0, width, height);
  if (view.read(settings.box)) drawBox(context, { ...box, projection, ratio, ink }, frame.center);
  const { scale, ...colors } = paint(card, geometry, extent);
  const chosen = view.read(settings.size);
  const scene: Scene = {
    geometry,
    show: asPoints ? "points" : shown(card, geometry),
    lit: shading(card),
    ...colors,
    line: LINE,
    offset: relative(extent.origin),
    pixels: (chosen || fitting(geometry.positions.length / 3)) * ratio,
    worldSize: chosen ? 0 : looks.material.size || 0,
    projection,
    ...lighting(card, projection, scale !== null),
  };
  if (!gl.draw(scene, context, every)) return null;
  if (scale) drawScale(context, scale, ratio, ink);
  if (every > 1 && scene.show === "points") {
    context.fillStyle = ink.text;
    context.textAlign = "right";
    context.textBaseline = "bottom";
    const what = asPoints ? "vertices" : "points";
    context.fillText(`1 of ${every} ${what} while it moves`, width - 8 * ratio, height - 6 * ratio);
  }
  return { projection, frame, ratio };
}
