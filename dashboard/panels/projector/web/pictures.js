/** The sprite of an embedding as the cloud needs it: the picture of point i in place i. */

/**
 * @param {string} address @param {{width: number, height: number, across: number}} sprite @param {any} dataset of projector_data.js
 * @returns {Promise<HTMLImageElement | HTMLCanvasElement>}
 */
export async function load(address, sprite, dataset) {
  const image = new Image();
  image.src = address;
  await image.decode();
  return dataset.fileRows ? moved(image, sprite, dataset) : image;
}

/** Where rows of the file were left out, the pictures behind them move up. @param {HTMLImageElement} image @param {{width: number, height: number, across: number}} sprite @param {any} dataset */
function moved(image, { width, height, across }, dataset) {
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  for (let row = 0; row < dataset.count; row += 1) {
    const from = dataset.fileRow(row);
    context.drawImage(image, (from % across) * width, Math.floor(from / across) * height, width, height, (row % across) * width, Math.floor(row / across) * height, width, height);
  }
  return canvas;
}
