/** The sprite of an embedding as the cloud needs it: the picture of point i at place i. */

import { paper } from "./canvas.ts";
import type { Dataset } from "./data.ts";
import type { Sprite } from "./messages.generated.ts";

export async function load(
  address: string,
  sprite: Sprite,
  dataset: Dataset,
): Promise<HTMLImageElement | HTMLCanvasElement> {
  const image = new Image();
  image.src = address;
  await image.decode();
  return dataset.fileRows ? moved(image, sprite, dataset) : image;
}

/** If rows of the file were left out, the pictures after them move up. */
function moved(
  image: HTMLImageElement,
  { width, height, across }: Sprite,
  dataset: Dataset,
) {
  const context = paper(image.naturalWidth, image.naturalHeight);
  for (let row = 0; row < dataset.count; row += 1) {
    const from = dataset.fileRow(row);
    context.drawImage(
      image,
      (from % across) * width,
      Math.floor(from / across) * height,
      width,
      height,
      (row % across) * width,
      Math.floor(row / across) * height,
      width,
      height,
    );
  }
  return context.canvas;
}
