/** Pictures as points: an atlas of small pictures, read once and painted among the pixels of the cloud. */
import { paper } from "./canvas.ts";
import { type Cloud, FULL, LEVELS, type Look, mixed, PAD, type Raster } from "./raster.ts";

const MOST_SIDE = 96; // most pixels kept along a side of one picture
const MOST_PIXELS = 24e6; // in the whole atlas
const FRAME_FROM = 12; // pixels of a picture from which it has a frame in its point's color
const PALE = 14; // out of 64: how strongly pictures in the background are painted

/** all pictures at one size */
export interface Level {
  pixels: Uint32Array;
  stride: number;
  width: number;
  height: number;
  across: number;
}
/** one image with all pictures, line by line; `width` and `height` are those of a single one */
export interface Sheet {
  image: HTMLImageElement | HTMLCanvasElement;
  width: number;
  height: number;
  across: number;
}
export interface Atlas {
  levels: Level[];
  count: number;
  aspect: number;
}

/** Reads an atlas and halves it until a picture is four pixels high. */
export function atlasOf(sprite: Sheet): Atlas {
  const { across, image } = sprite;
  const [fullWidth, fullHeight] = image instanceof HTMLImageElement
    ? [image.naturalWidth, image.naturalHeight]
    : [image.width, image.height];
  const lines = Math.max(1, Math.floor(fullHeight / sprite.height));
  const count = across * lines;
  const shrink = Math.min(
    1,
    MOST_SIDE / Math.max(sprite.width, sprite.height),
    Math.sqrt(MOST_PIXELS / (sprite.width * sprite.height * count)),
  );
  let width = Math.max(1, Math.round(sprite.width * shrink));
  let height = Math.max(1, Math.round(sprite.height * shrink));
  const levels: Level[] = [];
  let source: CanvasImageSource = sprite.image;
  let [fromWidth, fromHeight] = [
    Math.min(fullWidth, across * sprite.width),
    Math.min(fullHeight, lines * sprite.height),
  ];
  for (;;) {
    const context = paper(width * across, height * lines, { willReadFrequently: true });
    const { canvas } = context;
    context.imageSmoothingQuality = "high";
    context.drawImage(source, 0, 0, fromWidth, fromHeight, 0, 0, canvas.width, canvas.height);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    levels.push({ pixels: new Uint32Array(data.buffer), stride: canvas.width, width, height, across });
    if (height <= 4 || width <= 4) break;
    [source, fromWidth, fromHeight] = [canvas, canvas.width, canvas.height];
    width = Math.ceil(width / 2);
    height = Math.ceil(height / 2);
  }
  return { levels, count, aspect: sprite.width / sprite.height };
}

/**
 * Returns the smallest level that is no smaller than what is shown.
 * @param height pixels
 */
export function levelFor(atlas: Atlas, height: number) {
  let [found] = atlas.levels;
  for (const level of atlas.levels) if (level.height >= height) found = level;
  return found;
}

/** Returns the width and height of a picture for the radius of its point. */
export const sized = (radius: number, aspect: number): [number, number] => {
  const height = Math.max(2, (2 * radius) / Math.sqrt(aspect));
  return [Math.max(2, Math.round(height * aspect)), Math.round(height)];
};

/**
 * Paints the points placed by a raster as pictures; rows without a picture as discs.
 */
export function paint(raster: Raster, cloud: Cloud, look: Look, atlas: Atlas) {
  for (let n = 0; n < raster.painted; n += 1) {
    const row = raster.order[n];
    const layer = Math.floor(raster.level[row] / LEVELS);
    const radius = raster.radiusOf(row, cloud.sizes);
    const alpha = layer === 0 ? PALE : FULL;
    if (row >= atlas.count) {
      raster.disc(raster.x[row], raster.y[row], Math.min(radius, 5), cloud.colors[row], alpha);
      continue;
    }
    const fog = layer === 2 ? FULL : raster.fogs[raster.level[row] % LEVELS];
    const mark = cloud.marks[row];
    const frame = { color: mark ? look.rings[mark] : cloud.colors[row], width: mark ? 1 + Math.ceil(look.ring) : 1 };
    picture(raster, atlas, row, sized(radius, atlas.aspect), frame, (alpha * fog) >> 6);
  }
}

/** @param alpha out of 64 */
function picture(
  raster: Raster,
  atlas: Atlas,
  row: number,
  [width, height]: [number, number],
  rimOf: { color: number; width: number },
  alpha: number,
) {
  const { pixels, stride } = raster;
  const level = levelFor(atlas, height);
  const fromX = (row % level.across) * level.width;
  const fromY = Math.floor(row / level.across) * level.height;
  const left = Math.round(raster.x[row] + PAD - width / 2);
  const top = Math.round(raster.y[row] + PAD - height / 2);
  const [x0, x1] = [Math.max(0, left), Math.min(stride, left + width)];
  const [y0, y1] = [Math.max(0, top), Math.min(raster.height + 2 * PAD, top + height)];
  const { color } = rimOf;
  const frame = height >= FRAME_FROM || rimOf.width > 1 ? rimOf.width : 0;
  const [perX, perY] = [level.width / width, level.height / height];
  for (let y = y0; y < y1; y += 1) {
    const line = (fromY + ((((y - top) + 0.5) * perY) | 0)) * level.stride + fromX;
    const rim = y - top < frame || top + height - y <= frame;
    for (let x = x0; x < x1; x += 1) {
      const at = y * stride + x;
      if (rim || x - left < frame || left + width - x <= frame) {
        pixels[at] = mixed(color, pixels[at], alpha);
        continue;
      }
      const found = level.pixels[line + ((((x - left) + 0.5) * perX) | 0)];
      const share = ((found >>> 24) * alpha + 128) >> 8;
      if (found >>> 24 === 255 && alpha === FULL) pixels[at] = found;
      else pixels[at] = mixed(found, pixels[at], found >>> 24 === 255 ? alpha : share);
    }
  }
}
