// @ts-check
/** Draws the lanes: slices, labels, counters, flows. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  const TEXT_FONT = 11;
  const MIN_TEXT_WIDTH = 26;
  const LANE_PAD = 3;

  /**
   * What drawing needs to know; the panel owns it.
   * @typedef {object} Scene
   * @property {CanvasRenderingContext2D} context
   * @property {any} theme
   * @property {number} width
   * @property {number} height
   * @property {number} left where the lanes begin, right of the labels
   * @property {number} top where the lanes begin, below the rulers
   * @property {number} scroll
   * @property {any} viewport
   * @property {any} source
   * @property {any[]} bands
   * @property {any} selection details of the selected slice, or null
   * @property {{names: Set<string>} | null} matches
   * @property {"name" | "category"} colourBy
   */

  /** @type {Map<string, number>} */
  const textWidths = new Map();
  const measure = (/** @type {CanvasRenderingContext2D} */ context, /** @type {string} */ text) => {
    const key = context.font + text;
    let width = textWidths.get(key);
    if (width === undefined) {
      if (textWidths.size > 20000) textWidths.clear();
      width = context.measureText(text).width;
      textWidths.set(key, width);
    }
    return width;
  };

  /** The longest beginning of a text that fits, with an ellipsis where something is missing. */
  function fit(/** @type {CanvasRenderingContext2D} */ context, /** @type {string} */ text, /** @type {number} */ room) {
    const full = measure(context, text);
    if (full <= room) return text;
    let keep = Math.floor((text.length * room) / full);
    while (keep > 0 && measure(context, `${text.slice(0, keep)}…`) > room) keep -= 1;
    return keep > 1 ? `${text.slice(0, keep)}…` : "";
  }

  /** What stands in a slice: kernels without their return type and arguments, which are the least telling part. */
  function shortName(/** @type {string} */ name) {
    if (!name.startsWith("void ") && !name.includes("<")) return name;
    const bare = name.replace(/^void /, "").replace(/[<(].*$/, "");
    const parts = bare.split("::");
    return parts[parts.length - 1] || bare;
  }

  const xOf = (/** @type {Scene} */ scene, /** @type {number} */ time) =>
    scene.left + ((time - scene.viewport.start) / scene.viewport.span) * (scene.width - scene.left);

  /** Bands on the screen. @param {Scene} scene */
  const visibleBands = (scene) =>
    scene.bands.filter((b) => b.y + b.height > scene.scroll && b.y < scene.scroll + scene.height - scene.top);

  /** @param {Scene} scene @returns {{slices: number, merged: number}} */
  function lanes(scene) {
    const { context, theme, left, top, width, height } = scene;
    let slices = 0;
    let merged = 0;
    context.save();
    context.beginPath();
    context.rect(left, top, width - left, height - top);
    context.clip();
    for (const band of visibleBands(scene)) {
      const y = top + band.y - scene.scroll;
      if (band.type === "process") {
        context.fillStyle = theme.raised;
        context.fillRect(left, y, width - left, band.height);
      }
      context.fillStyle = theme.grid;
      context.fillRect(left, Math.round(y + band.height) - 1, width - left, 1);
      if (band.type === "counter") counter(scene, band, y);
      if (band.type === "lane") {
        const drawn = lane(scene, band, y);
        slices += drawn.slices;
        merged += drawn.merged;
      }
    }
    flows(scene);
    context.restore();
    return { slices, merged };
  }

  function lane(/** @type {Scene} */ scene, /** @type {any} */ band, /** @type {number} */ y) {
    const { viewport, width, left } = scene;
    const nsPerPixel = viewport.span / (width - left);
    const window = scene.source.best(band.lane, viewport, nsPerPixel);
    const total = { slices: 0, merged: 0 };
    if (!window) {
      scene.context.fillStyle = scene.theme.grid;
      scene.context.fillRect(left, y + LANE_PAD, width - left, band.height - 2 * LANE_PAD);
      return total;
    }
    for (let depth = 0; depth < band.depths; depth += 1) {
      const rowY = y + LANE_PAD + depth * band.sliceHeight;
      if (rowY + band.sliceHeight < scene.top || rowY > scene.height) continue;
      const row = window.rows.get(`${band.lane}/${depth}`);
      if (!row) continue;
      const drawn = rowOf(scene, band, window, row, rowY, nsPerPixel);
      total.slices += drawn.slices;
      total.merged += drawn.merged;
    }
    return total;
  }

  function rowOf(
    /** @type {Scene} */ scene, /** @type {any} */ band, /** @type {any} */ window, /** @type {any} */ row,
    /** @type {number} */ y, /** @type {number} */ nsPerPixel,
  ) {
    const { context, theme, viewport, left, width, matches } = scene;
    const height = Math.max(band.sliceHeight - 1.5, 2);
    const colours = window.names.map((/** @type {string} */ name) => theme.colour(name));
    const byCategory = scene.colourBy === "category";
    const { starts, durations, name, category, count } = window;
    const bucketPixels = window.bucket / nsPerPixel;
    let slices = 0;
    let merged = 0;
    let first = timeline.data.upperBound(starts, row.from, row.to, viewport.start);
    if (first > row.from) first -= 1;
    /** @type {[number, number, number][]} */
    const texts = [];
    for (let i = first; i < row.to; i += 1) {
      if (starts[i] > viewport.end) break;
      const end = starts[i] + durations[i];
      if (end < viewport.start && count[i] === 1) continue;
      let x0 = Math.max(left + (starts[i] - viewport.start) / nsPerPixel, left - 4);
      let x1 = Math.min(left + (end - viewport.start) / nsPerPixel, width + 4);
      if (count[i] > 1) {
        merged += 1;
        // What a merged slice stands for fills its bucket at most as long as all were as long as the longest.
        if (count[i] * durations[i] * 2 >= window.bucket) {
          const bucket = window.start + Math.floor((starts[i] - window.start) / window.bucket) * window.bucket;
          x0 = Math.max(Math.min(x0, left + (bucket - viewport.start) / nsPerPixel), left - 4);
          x1 = Math.max(x1, Math.min(x0 + bucketPixels, width + 4));
        }
      }
      const next = i + 1 < row.to ? left + (starts[i + 1] - viewport.start) / nsPerPixel : Infinity;
      const roomy = x1 - x0 > 4 && count[i] === 1;
      const w = Math.max(Math.min(x1, next) - x0 - (roomy ? 0.75 : 0), durations[i] === 0 ? 1.5 : 0.8);
      const dim = matches !== null && !matches.names.has(window.names[name[i]]);
      if (dim) context.globalAlpha = 0.22;
      context.fillStyle = byCategory ? theme.colour(window.categories[category[i]] || "") : colours[name[i]];
      if (roomy && height > 8) rounded(context, x0, y, w, height);
      else context.fillRect(x0, y, w, height);
      if (matches !== null) {
        if (!dim) {
          context.fillStyle = theme.match;
          context.fillRect(x0, y + height - 2, Math.max(w, 1.5), 2);
        }
        context.globalAlpha = 1;
      }
      if (w > MIN_TEXT_WIDTH && height > 10 && count[i] === 1) texts.push([i, x0, w]);
      slices += 1;
    }
    labelSlices(scene, window, texts, y, height);
    return { slices, merged };
  }

  function labelSlices(
    /** @type {Scene} */ scene, /** @type {any} */ window, /** @type {[number, number, number][]} */ texts,
    /** @type {number} */ y, /** @type {number} */ height,
  ) {
    const { context, theme, left, matches } = scene;
    context.font = `500 ${TEXT_FONT}px ${theme.font}`;
    context.textBaseline = "middle";
    context.fillStyle = theme.sliceText;
    for (const [i, x, w] of texts) {
      const from = Math.max(x, left);
      const room = x + w - from - 10;
      if (room < 12) continue;
      const name = window.names[window.name[i]];
      const text = fit(context, shortName(name), room);
      if (!text) continue;
      if (matches !== null && !matches.names.has(name)) context.globalAlpha = 0.35;
      const long = window.durations[i] && room > measure(context, text) + 56;
      context.fillText(text, from + 5, y + height / 2 + 0.5);
      if (long) {
        const time = timeline.format.duration(window.durations[i], 3);
        context.save();
        context.globalAlpha *= 0.6;
        context.fillText(time, from + 5 + measure(context, text) + 7, y + height / 2 + 0.5);
        context.restore();
      }
      context.globalAlpha = 1;
    }
  }

  function rounded(
    /** @type {CanvasRenderingContext2D} */ context, /** @type {number} */ x, /** @type {number} */ y,
    /** @type {number} */ w, /** @type {number} */ h,
  ) {
    context.beginPath();
    context.roundRect(x, y, w, h, Math.min(3, w / 3));
    context.fill();
  }

  function counter(/** @type {Scene} */ scene, /** @type {any} */ band, /** @type {number} */ y) {
    const { context, theme, width } = scene;
    const meta = scene.source.summary.counters[band.counter];
    const loaded = scene.source.counters.get(band.counter);
    if (!loaded || meta.max === null) return;
    const low = Math.min(meta.min, 0);
    const range = Math.max(meta.max - low, 1e-12);
    const bottom = y + band.height - 4;
    const yOf = (/** @type {number} */ v) => bottom - ((v - low) / range) * (band.height - 10);
    const colour = theme.colour(band.label);
    context.beginPath();
    let x = xOf(scene, loaded.time[0] ?? 0);
    let level = null;
    for (let i = 0; i < loaded.time.length; i += 1) {
      const nextX = i + 1 < loaded.time.length ? xOf(scene, loaded.time[i + 1]) : width + 2;
      level = loaded.value[i];
      if (level !== null && nextX >= scene.left && x <= width) {
        context.rect(Math.max(x, scene.left - 2), yOf(level), Math.max(Math.min(nextX, width + 2) - Math.max(x, scene.left - 2), 0.6), bottom - yOf(level));
      }
      x = nextX;
    }
    context.fillStyle = colour;
    context.fill();
    context.fillStyle = theme.border;
    context.fillRect(scene.left, yOf(0), width - scene.left, 1);
  }

  /** Where a slice is on the screen, whether or not it is inside. @param {Scene} scene @param {{lane: number, depth: number, start: number, duration: number}} slice */
  function place(scene, slice) {
    const lane = scene.source.summary.lanes[slice.lane];
    let band = scene.bands.find((b) => b.lane === slice.lane);
    if (!band) {
      band = scene.bands.find((b) => b.type === "process" && b.key === `p:${lane.process}`);
      if (!band) return null;
      const y = scene.top + band.y - scene.scroll + 4;
      return { x0: xOf(scene, slice.start), x1: xOf(scene, slice.start + slice.duration), y, height: band.height - 8, band };
    }
    const y = scene.top + band.y - scene.scroll + LANE_PAD + slice.depth * band.sliceHeight;
    return {
      x0: xOf(scene, slice.start),
      x1: Math.max(xOf(scene, slice.start + slice.duration), xOf(scene, slice.start) + 1.5),
      y,
      height: Math.max(band.sliceHeight - 1.5, 2),
      band,
    };
  }

  function flows(/** @type {Scene} */ scene) {
    const { selection, context, theme } = scene;
    if (!selection) return;
    const here = place(scene, selection);
    if (!here) return;
    context.lineWidth = 1.6;
    context.strokeStyle = theme.accent;
    context.fillStyle = theme.accent;
    for (const other of selection.incoming.slices) {
      const there = place(scene, other);
      if (there) arrow(context, there.x1, there.y + there.height / 2, here.x0, here.y + here.height / 2);
    }
    for (const other of selection.outgoing.slices) {
      const there = place(scene, other);
      if (there) arrow(context, here.x0, here.y + here.height / 2, there.x0, there.y + there.height / 2);
    }
  }

  function arrow(
    /** @type {CanvasRenderingContext2D} */ context, /** @type {number} */ x0, /** @type {number} */ y0,
    /** @type {number} */ x1, /** @type {number} */ y1,
  ) {
    const bend = Math.min(Math.max(Math.abs(x1 - x0) * 0.4, 24), 120);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 7, y1 - 4);
    context.lineTo(x1 - 7, y1 + 4);
    context.fill();
  }

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
    for (const band of visibleBands(scene)) {
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
    for (const band of visibleBands(scene)) {
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
    context.fillText(fit(context, band.label, room), x, middle + 0.5);
    if (band.type === "counter") {
      const meta = scene.source.summary.counters[band.counter];
      context.fillStyle = theme.dimmed;
      context.font = `400 10.5px ${theme.font}`;
      if (meta.max !== null) context.fillText(fit(context, `max ${timeline.format.compact(meta.max)}`, left - x - 10), x, middle + 15);
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

  /**
   * The slice under a point, with how many it stands for.
   * @param {Scene} scene @param {number} x @param {number} y
   */
  function hit(scene, x, y) {
    const band = timeline.layout.bandAt(scene.bands, y - scene.top + scene.scroll);
    if (!band || band.type !== "lane" || x < scene.left) return null;
    const depth = Math.floor((y - scene.top + scene.scroll - band.y - LANE_PAD) / band.sliceHeight);
    const nsPerPixel = scene.viewport.span / (scene.width - scene.left);
    const window = scene.source.best(band.lane, scene.viewport, nsPerPixel);
    const row = window?.rows.get(`${band.lane}/${depth}`);
    if (!row) return null;
    const time = scene.viewport.start + (x - scene.left) * nsPerPixel;
    const near = 2 * nsPerPixel;
    const after = timeline.data.upperBound(window.starts, row.from, row.to, time + near);
    let best = -1;
    let bestGap = near;
    for (let i = after - 1; i >= Math.max(row.from, after - 3); i -= 1) {
      const span = window.count[i] > 1 ? Math.max(window.durations[i], window.bucket) : window.durations[i];
      const gap = Math.max(window.starts[i] - time, time - window.starts[i] - span, 0);
      if (gap < bestGap || (gap === 0 && best < 0)) {
        best = i;
        bestGap = gap;
        if (gap === 0) break;
      }
    }
    if (best < 0) return null;
    return {
      index: window.index[best],
      name: window.names[window.name[best]],
      category: window.categories[window.category[best]],
      lane: band.lane,
      depth,
      start: window.starts[best],
      duration: window.durations[best],
      count: window.count[best],
    };
  }

  /** The value of a counter at a moment. @param {any} source @param {number} counter @param {number} time */
  function counterAt(source, counter, time) {
    const loaded = source.counters.get(counter);
    if (!loaded) return null;
    const at = timeline.data.upperBound(loaded.time, 0, loaded.time.length, time) - 1;
    return at < 0 ? null : { time: loaded.time[at], value: loaded.value[at] };
  }

  timeline.draw = { counterAt, lanes, labels, place, hit, fit, xOf, visibleBands, shortName };
})();
