// @ts-check
/** Draws the names of processes, lanes and counters. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  /** The column of names at the left. @param {Scene} scene */
  function labels(scene) {
    const { context, theme, left, top, height } = scene;
    context.save();
    context.beginPath();
    context.rect(0, top, left, height - top);
    context.clip();
    context.fillStyle = theme.body;
    context.fillRect(0, top, left, height - top);
    context.textBaseline = "middle";
    for (const band of timeline.geometry.visibleBands(scene)) {
      const y = top + band.y - scene.scroll;
      if (band.type === "process") {
        context.fillStyle = theme.raised;
        context.fillRect(0, y, left, band.height);
      } else labelOf(scene, band, y);
      context.fillStyle = theme.grid;
      context.fillRect(0, Math.round(y + band.height) - 1, left, 1);
    }
    context.restore();
    context.fillStyle = theme.border;
    context.fillRect(left - 1, top, 1, height - top);
    context.save();
    context.beginPath();
    context.rect(0, top, scene.width, height - top);
    context.clip();
    for (const band of timeline.geometry.visibleBands(scene)) {
      if (band.type === "process") labelOf(scene, band, top + band.y - scene.scroll);
    }
    context.restore();
  }

  function labelOf(/** @type {Scene} */ scene, /** @type {any} */ band, /** @type {number} */ y) {
    const { context, theme, left } = scene;
    const process = band.type === "process";
    // A tall lane's name stays in sight while its lower rows are scrolled through.
    const middle = process ? y + band.height / 2 : Math.min(Math.max(y, scene.top) + 13, y + band.height - 10);
    let x = process ? 10 : 24;
    if (band.foldable) chevron(context, theme.dimmed, x + 3, middle, band.folded);
    x += process ? 14 : 12;
    if (band.type === "lane") {
      context.fillStyle = theme.kinds[band.kind] || theme.kinds.other;
      context.beginPath();
      context.arc(x + 2, middle, 2.5, 0, 7);
      context.fill();
      x += 10;
    }
    context.font = `${process ? 600 : 400} 12px ${theme.font}`;
    context.fillStyle = process || band.type === "lane" ? theme.text : theme.dimmed;
    // Nothing else is in a process's own row, so its name may run on.
    const room = (process ? scene.width - 16 : left) - x - 10;
    context.fillText(timeline.text.fit(context, band.label, room), x, middle + 0.5);
    if (band.type === "counter") {
      const meta = scene.source.summary.counters[band.counter];
      context.fillStyle = theme.dimmed;
      context.font = `400 10.5px ${theme.font}`;
      if (meta.max !== null) context.fillText(timeline.text.fit(context, `max ${timeline.format.compact(meta.max)}`, left - x - 10), x, middle + 15);
    }
  }

  function chevron(
    /** @type {CanvasRenderingContext2D} */ context, /** @type {string} */ colour, /** @type {number} */ x,
    /** @type {number} */ y, /** @type {boolean} */ folded,
  ) {
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.beginPath();
    if (folded) {
      context.moveTo(x - 1.5, y - 3.5);
      context.lineTo(x + 2, y);
      context.lineTo(x - 1.5, y + 3.5);
    } else {
      context.moveTo(x - 3.5, y - 1.5);
      context.lineTo(x, y + 2);
      context.lineTo(x + 3.5, y - 1.5);
    }
    context.stroke();
  }

  timeline.labels = { draw: labels };
})();
