// @ts-check
/** Files that leave the panel. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  /** @param {string} href @param {string} name */
  function save(href, name) {
    const link = document.createElement("a");
    link.href = href;
    link.download = name;
    link.click();
  }

  /** The picture as it is on the screen. @param {any} panel */
  function png(panel) {
    if (!panel.source) return;
    panel.draw();
    const both = document.createElement("canvas");
    both.width = panel.canvas.width;
    both.height = panel.canvas.height;
    const context = /** @type {CanvasRenderingContext2D} */ (both.getContext("2d"));
    context.drawImage(panel.canvas, 0, 0);
    context.drawImage(panel.overlay, 0, 0);
    save(both.toDataURL("image/png"), `${panel.source.summary.label}.png`);
  }

  /** The trace as Chrome's JSON. @param {any} panel */
  function trace(panel) {
    if (panel.source) save(`${panel.settings.api}/download?${new URLSearchParams({ id: panel.source.summary.id })}`, "");
  }

  timeline.exports = { png, trace };
})();
