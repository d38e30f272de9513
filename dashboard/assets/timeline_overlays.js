// @ts-check
/** What lies over the slices when asked for: the critical path, and why streams were idle. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  const MIN_GAP_TEXT = 70;

  class Overlays {
    constructor() {
      this.critical = false;
      this.idle = false;
    }

    /** Asks for what is on the screen. @param {Scene} scene @param {{start: number, end: number}} target */
    want(scene, target) {
      const pixels = scene.width - scene.left;
      for (const source of scene.sources) {
        if (this.critical) source.stretches.critical.want(source.own(target), pixels, {});
        if (this.idle) source.stretches.idle.want(source.own(target), pixels, {});
      }
    }

    /** @param {"critical" | "idle"} which @param {boolean} on @param {any[]} sources */
    turn(which, on, sources) {
      this[which] = on;
      if (!on) for (const source of sources) source.stretches[which].drop();
    }

    /** What is found on an idle gap, for the box beside the mouse. @param {any} source @param {number} lane @param {number} time of the trace */
    gapAt(source, lane, time) {
      const { answer } = source.stretches.idle;
      if (!this.idle || !answer) return null;
      const at = answer.lane.findIndex((/** @type {number} */ l, /** @type {number} */ i) => l === lane && answer.start[i] <= time && time < answer.end[i]);
      return at < 0 ? null : { start: answer.start[at], end: answer.end[at], cause: answer.causes[answer.cause[at]] };
    }
  }

  /** @param {Scene} scene @param {boolean} pinned */
  function draw(scene, pinned) {
    for (const source of scene.sources) {
      if (scene.overlays.idle && source.stretches.idle.answer) gaps(scene, source, source.stretches.idle.answer, pinned);
      if (scene.overlays.critical && source.stretches.critical.answer) path(scene, source, source.stretches.critical.answer, pinned);
    }
  }

  /** Stretches in which nothing ran on a stream, shaded by why. */
  function gaps(/** @type {Scene} */ scene, /** @type {any} */ source, /** @type {any} */ answer, /** @type {boolean} */ pinned) {
    const { context, theme, left, width } = scene;
    const { xOf, bandY, LANE_PAD } = timeline.geometry;
    context.font = `400 10.5px ${theme.font}`;
    context.textBaseline = "middle";
    for (let i = 0; i < answer.lane.length; i += 1) {
      const band = scene.rows.ofLane.get(`${source.place}/${answer.lane[i]}`);
      if (!band || band.pinned !== pinned) continue;
      const x0 = Math.max(xOf(scene, answer.start[i] + source.offset), left);
      const x1 = Math.min(xOf(scene, answer.end[i] + source.offset), width);
      if (x1 - x0 < 1) continue;
      const y = bandY(scene, band) + LANE_PAD;
      const height = band.height - 2 * LANE_PAD;
      const cause = answer.causes[answer.cause[i]];
      context.fillStyle = theme.causes[timeline.causeKey(cause)];
      context.globalAlpha = theme.dark ? 0.3 : 0.22;
      context.fillRect(x0, y, x1 - x0, height);
      context.globalAlpha = 1;
      if (x1 - x0 < MIN_GAP_TEXT) continue;
      context.fillStyle = theme.dimmed;
      const text = timeline.text.fit(context, `idle: ${cause} · ${timeline.format.duration(answer.end[i] - answer.start[i], 3)}`, x1 - x0 - 10);
      if (text) context.fillText(text, x0 + 5, y + Math.min(height / 2, 9));
    }
  }

  /** The slices that the length of the trace, or of a step, hangs on, joined in order. */
  function path(/** @type {Scene} */ scene, /** @type {any} */ source, /** @type {any} */ answer, /** @type {boolean} */ pinned) {
    const { context, theme, left, width } = scene;
    context.lineWidth = 1.2;
    context.strokeStyle = context.fillStyle = theme.critical;
    let last = /** @type {{x: number, y: number} | null} */ (null);
    for (let i = 0; i < answer.start.length; i += 1) {
      const slice = { lane: answer.lane[i], depth: answer.depth[i], start: answer.start[i], duration: answer.end[i] - answer.start[i] };
      const at = slice.lane < 0 ? null : timeline.geometry.slicePlace(scene, slice, source);
      if (!at || at.band.pinned !== pinned) continue;
      const x0 = Math.max(at.x0, left - 4);
      const x1 = Math.min(Math.max(at.x1, at.x0 + 1.5), width + 4);
      const y = at.y + at.height;
      if (last && Math.abs(last.y - y) > 2 && at.x0 >= left - 4 && at.x0 <= width + 4) {
        context.globalAlpha = 0.55;
        context.beginPath();
        context.moveTo(last.x, last.y);
        context.lineTo(x0, y);
        context.stroke();
        context.globalAlpha = 1;
      }
      last = { x: x1, y };
      if (x1 > x0) context.fillRect(x0, y - 2.5, Math.max(x1 - x0, 1.5), 3);
    }
  }

  /** A cause as the theme knows it. @param {string} cause */
  timeline.causeKey = (cause) => (/host/.test(cause) ? "host" : /kernel/.test(cause) ? "kernel" : "other");
  timeline.Overlays = Overlays;
  timeline.overlays = { draw };
})();
