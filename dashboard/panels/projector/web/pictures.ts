// @ts-nocheck
/** The sprite of an embedding as the cloud needs it: the picture of point i in place i. */

/** @param dataset of projector_data.js */
export async function load(
  address: string,
  sprite: { width: number; height: number; across: number },
  dataset: any,
): Promise<HTMLImageElement | HTMLCanvasElement> {
  const image = new Image();
  image.src = address;
  await image.decode();
  return dataset.fileRows ? moved(image, sprite, dataset) : image;
}

/** Where rows of the file were left out, the pictures behind them move up. */
function moved(
  image: HTMLImageElement,
  { width, height, across }: { width: number; height: number; across: number },
  dataset: any,
) {
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
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
  return canvas;
}
