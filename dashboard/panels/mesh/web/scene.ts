// @ts-nocheck
// The mesh panel: what a card shows and how, from the toolbar and the logged configuration; and its picture.
import * as axes from "./axes.ts";
import * as math from "./math.ts";
import { cameras } from "./cameras.ts";
import { gl } from "./gl.ts";
import { view } from "../../../web/page/view.ts";

const AXES = ["x", "y", "z"];
const BACKGROUNDS = { white: [255, 255, 255], grey: [128, 128, 128], black: [0, 0, 0] };
const SHADINGS = { none: 0, smooth: 1, flat: 2 };
// Without lights of its own a mesh has one behind the left shoulder.
const AMBIENT = [0.45, 0.45, 0.45];
const SHOULDER = [{ direction: [-0.37, 0.56, 0.74], color: [0.62, 0.62, 0.62] }];
// Colours of a scale are to be read, so the shade moves them less.
const READABLE = {
  ambient: [0.74, 0.74, 0.74],
  lights: [{ direction: [-0.37, 0.56, 0.74], color: [0.34, 0.34, 0.34] }],
};

export const setting = (name) => view.values("mesh." + name)[0];
const scheme = () => document.documentElement.dataset.mantineColorScheme;
const css = (rgb) => `rgb(${rgb.join(" ")})`;

/** Three bytes of the background. */
function background() {
  const chosen = BACKGROUNDS[setting("background")];
  if (chosen) return chosen;
  const hex = getComputedStyle(document.documentElement).getPropertyValue("--surface").trim();
  return gl.rgb(hex).map((part) => Math.round(part * 255));
}

/** Colours of lines and numbers that can be seen on a background. */
function inkOn(rgb) {
  const light = (rgb[0] * 2 + rgb[1] * 5 + rgb[2]) / 8 > 110;
  return light
    ? { line: "rgb(20 28 45 / 17%)", text: "rgb(30 36 48 / 85%)" }
    : { line: "rgb(255 255 255 / 17%)", text: "rgb(235 240 250 / 88%)" };
}

/** What is drawn of a card: "surface", "edges", "wireframe" or "points". */
export function shown(card) {
  if (!card.geometry.faces) return "points";
  const chosen = setting("show");
  if (chosen && chosen !== "logged") return chosen;
  return card.looks.material.wireframe ? "wireframe" : "surface";
}

function shading(card) {
  const chosen = setting("shading");
  if (chosen && chosen !== "logged") return SHADINGS[chosen];
  if (card.looks.material.unlit) return SHADINGS.none;
  return card.looks.material.flat ? SHADINGS.flat : SHADINGS.smooth;
}

/** How a mesh is coloured, and the scale that says what its colours mean. */
function paint(card) {
  const { geometry, looks } = card;
  const { header } = geometry;
  const one = gl.rgb(scheme() === "dark" ? card.dark : card.light);
  const plain = { paint: 1, axis: -1, range: [0, 0], one, scale: null };
  if (geometry.moved) {
    return {
      ...plain,
      paint: 2,
      range: [0, header.moved.most],
      scale: { title: card.comparison, low: 0, high: header.moved.most },
    };
  }
  const axis = AXES.indexOf(setting("color"));
  if (axis >= 0) {
    const [low, high, origin] = [header.low[axis], header.high[axis], header.origin[axis]];
    return { ...plain, paint: 2, axis, range: [low - origin, high - origin], scale: { title: AXES[axis], low, high } };
  }
  if (setting("color") === "one") return plain;
  if (geometry.colors && looks.material.vertexColors !== false) return { ...plain, paint: 0 };
  return looks.material.color ? { ...plain, one: looks.material.color } : plain;
}

/** Logged lights as seen from the eye. */
function lighting(card, projection, colors) {
  const { lights } = card.looks;
  if (colors.scale) return READABLE;
  if (!lights.length) return { ambient: AMBIENT, lights: SHOULDER };
  const ambient = [0, 0, 0];
  const directional = [];
  for (const light of lights) {
    const color = light.color.map((part) => part * light.intensity);
    if (!light.position) color.forEach((part, i) => (ambient[i] += part));
    else {
      const length = math.norm(light.position) || 1;
      const v = projection.view;
      const direction = [0, 1, 2].map((row) =>
        (v[row] * light.position[0] + v[4 + row] * light.position[1] + v[8 + row] * light.position[2]) / length
      );
      directional.push({ direction, color });
    }
  }
  return { ambient, lights: directional };
}

/** Pixels of a point where nobody chose: smaller the more there are. */
const fitting = (count) => (count > 300e3 ? 1 : count > 50e3 ? 2 : count > 5e3 ? 3 : count > 500 ? 4 : 6);

/**
 * Draws a card onto its canvas. Everything is relative to the middle of the card's frame, so that meshes far from
 * zero keep their digits.
 * @param every of how many points one is drawn
 * @param asPoints whether only the points of a surface are drawn
 * @returns how it was seen; null where there is no context
 */
export function draw(card, every: number, asPoints: boolean): { projection: any; frame: any; ratio: number } | null {
  const { geometry, canvas } = card;
  const { width, height } = canvas;
  const ratio = width / Math.max(1, canvas.clientWidth);
  const frame = cameras.frameOf(card);
  const relative = (place) => math.minus(place, frame.center);
  const { header } = geometry;
  const [low, high] = [relative(header.low), relative(header.high)];
  const looks = card.looks.camera;
  const projection = math.project(cameras.of(card), { center: [0, 0, 0], radius: frame.radius }, {
    up: cameras.up(),
    width,
    height,
    low,
    high,
    fov: looks.fov || undefined,
    orthographic: looks.kind === "orthographic",
  });
  const behind = background();
  const ink = inkOn(behind);
  const context = card.context;
  context.fillStyle = css(behind);
  context.fillRect(0, 0, width, height);
  if (setting("box") !== "off") axes.drawBox(context, { low, high, projection, ratio, ink }, frame.center);
  const colors = paint(card);
  const chosen = Number(setting("size")) || 0;
  const scene = {
    geometry,
    show: asPoints ? "points" : shown(card),
    lit: shading(card),
    ...colors,
    line: gl.rgb("#10141c"),
    offset: relative(header.origin),
    pixels: (chosen || fitting(geometry.positions.length / 3)) * ratio,
    worldSize: chosen ? 0 : card.looks.material.size || 0,
    projection,
    ...lighting(card, projection, colors),
  };
  if (!gl.draw(scene, context, every)) return null;
  if (colors.scale) axes.drawScale(context, colors.scale, ratio, ink);
  if (every > 1 && scene.show === "points") {
    context.fillStyle = ink.text;
    context.textAlign = "right";
    context.textBaseline = "bottom";
    context.fillText(
      `1 of ${every} ${asPoints ? "vertices" : "points"} while it moves`,
      width - 8 * ratio,
      height - 6 * ratio,
    );
  }
  return { projection, frame, ratio };
}
