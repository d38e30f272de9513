// @ts-check
/** The view as a picture of any size: painted anew, not a copy of the screen. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const projector = (root.projector = root.projector || {});

  const MOST_SIDE = 8192; // pixels, which all browsers can hold

  /**
   * @param {any} view @param {{scale?: number, background?: string, title?: string, legend?: any}} how
   * @returns {Promise<Blob>}
   */
  async function make(view, { scale = 2, background = "", title = "", legend = null }) {
    view.current();
    const ratio = Math.max(0.25, Math.min(scale, MOST_SIDE / Math.max(view.width, view.height)));
    const theme = background ? projector.viewTheme.read(view.host, background) : view.theme;
    const [width, height] = [view.width, view.height].map((size) => Math.max(1, Math.round(size * ratio)));
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const raster = new projector.Raster();
    view.paintOn(raster, width, height, ratio, theme, { every: 1, smooth: true });
    raster.put(context);
    view.paintOverlay(context, ratio, false, raster, theme);
    projector.svg.paintAround(new root.curves.CanvasPen(context, ratio, theme.font), view, theme, title, projector.svg.legendOf(legend));
    return new Promise((go, fail) => canvas.toBlob((blob) => (blob ? go(blob) : fail(new Error("The browser could not make the picture: try a smaller one."))), "image/png"));
  }

  projector.png = { make };
})();
