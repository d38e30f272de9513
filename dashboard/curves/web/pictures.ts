// Charts side by side in one picture.
import { make } from "../../web/core/dom.ts";
import * as picture from "../../web/lines/picture.ts";
import { grid } from "./picture_grid.ts";
import { type Card, titleOf } from "./state.ts";

const PIXELS_PER_PIXEL = 2;

export const pngOf = (card: Card): Promise<Blob> => picture.pngOf(card.plot, titleOf(card), PIXELS_PER_PIXEL);
export const svgOf = (card: Card, prefix?: string): string => picture.svgOf(card.plot, titleOf(card), prefix);

export function sheetSvg(cards: readonly Card[]): string {
  const drawn = cards.map((card, index) =>
    new DOMParser().parseFromString(svgOf(card, `chart${index + 1}-`), "image/svg+xml").documentElement
  );
  const side = (svg: Element, name: string) => Number(svg.getAttribute(name));
  const { places, width, height } = grid(
    drawn.map((svg) => ({ width: side(svg, "width"), height: side(svg, "height") })),
  );
  const root = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  root.setAttribute("width", String(width));
  root.setAttribute("height", String(height));
  drawn.forEach((svg, index) => {
    svg.setAttribute("x", String(places[index].x));
    svg.setAttribute("y", String(places[index].y));
    root.append(svg);
  });
  return new XMLSerializer().serializeToString(root);
}

export async function sheetPng(cards: readonly Card[]): Promise<Blob> {
  const pictures = await Promise.all(cards.map(async (card) => createImageBitmap(await pngOf(card))));
  const { places, width, height } = grid(pictures);
  const canvas = make("canvas", { width, height });
  const context = canvas.getContext("2d");
  if (context) {
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--surface");
    context.fillRect(0, 0, width, height);
    pictures.forEach((picture, index) => context.drawImage(picture, places[index].x, places[index].y));
  }
  const failed = new Error(
    `an image of ${width} x ${height} pixels is too large for this browser: choose fewer charts`,
  );
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(failed))));
}
