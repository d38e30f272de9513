// The histograms panel: what is under the pointer.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const { make, numbers } = scope.elements;

  /** Five significant digits, without noise. */
  function show(value) {
    if (!Number.isFinite(value)) return String(value);
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(3).replace("-", "−").replace("e+", "e");
    return Number(value.toPrecision(5)).toLocaleString("en-US", { maximumFractionDigits: 9 }).replace("-", "−");
  }

  let box = null;
  let hot = null;

  function leave() {
    if (box) box.hidden = true;
    if (hot) hot.classList.remove("hot");
    hot = null;
  }

  /** Height of a ridge at x, by the line that is drawn. */
  function heightAt(trace, x) {
    const xs = trace.x;
    const ys = trace.y;
    if (!xs || !xs.length || x < xs[0] || x > xs[xs.length - 1]) return null;
    let i = 0;
    while (i + 1 < xs.length && xs[i + 1] < x) i += 1;
    const j = Math.min(i + 1, xs.length - 1);
    const share = xs[j] > xs[i] ? (x - xs[i]) / (xs[j] - xs[i]) : 0;
    return ys[i] + (ys[j] - ys[i]) * share;
  }

  /** Trace under the pointer: in ridges the foremost whose shape is hit, else the nearest line. */
  function traceAt(plot, mode, x, px, py) {
    const axis = plot._fullLayout.yaxis;
    let best = -1;
    let distance = 24;
    for (let i = plot._fullData.length - 1; i >= 0; i -= 1) {
      const trace = plot._fullData[i];
      const y = heightAt(trace, x);
      if (y === null) continue;
      const top = axis.c2p(axis.type === "date" ? axis.d2c(y) : y);
      const bottom = mode === "offset" ? axis.c2p(axis.type === "date" ? axis.d2c(trace.meta.at) : trace.meta.at) : top;
      if (mode === "offset" && py >= top && py <= bottom) return i;
      const off = Math.min(Math.abs(py - top), Math.abs(py - bottom));
      if (off < distance) {
        distance = off;
        best = i;
      }
    }
    return best;
  }

  /** The bucket of x: the stairs' level stretch below it. */
  function bucketAt(trace, x) {
    const { x: xs, y: ys, meta } = trace;
    let i = 0;
    while (i + 2 < xs.length && xs[i + 1] <= x) i += 1;
    // Where the pointer is right of the last stretch, or the only bucket has no width.
    while (i > 0 && ys[i] !== ys[i + 1]) i -= 1;
    const width = Math.max(xs[i + 1] - xs[i], meta.finest);
    const count = (((meta.at - ys[i]) / meta.scale) * width) / meta.typical;
    // Screen numbers have seven digits, and counts are whole as a rule.
    const whole = Math.round(count);
    return { left: xs[i], right: xs[i + 1], count: Math.abs(count - whole) < 1e-4 * Math.max(10, whole) ? whole : count };
  }

  function ridgeFacts(plot, mode, x, px, py) {
    const at = traceAt(plot, mode, x, px, py);
    if (at < 0) return null;
    const meta = plot._fullData[at].meta;
    const bucket = bucketAt(plot._fullData[at], x);
    return { at, step: meta.step, wall: meta.wall, total: meta.total, ...bucket };
  }

  function heatFacts(plot, px, py) {
    const { meta } = plot._fullData[0];
    const x = plot._fullLayout.xaxis.p2c(px);
    const y = plot._fullLayout.yaxis.p2c(py);
    const column = meta.places.reduce((best, place, i) => (Math.abs(place - x) < Math.abs(meta.places[best] - x) ? i : best), 0);
    const edges = numbers(meta.edges);
    const bins = edges.length - 1;
    const row = Math.floor(((y - edges[0]) / (edges[bins] - edges[0])) * bins);
    if (row < 0 || row >= bins) return null;
    const counts = numbers(meta.counts).subarray(column * bins, (column + 1) * bins);
    return {
      at: -1, step: meta.steps[column], wall: meta.walls[column], left: edges[row], right: edges[row + 1],
      count: counts[row], total: counts.reduce((sum, value) => sum + value, 0),
    };
  }

  function hover({ plot, layout, px, py }, event) {
    if (!plot._fullData.length || !layout.meta) return leave();
    const { mode } = layout.meta;
    const facts = mode === "heatmap" ? heatFacts(plot, px, py) : ridgeFacts(plot, mode, layout.xaxis.p2c(px), px, py);
    if (!facts || facts.left === undefined) return leave();
    const line = facts.at < 0 ? null : plot.querySelectorAll(".scatterlayer .trace")[facts.at];
    if (hot && hot !== line) hot.classList.remove("hot");
    if (line) line.classList.add("hot");
    hot = line;
    if (!box) document.body.append((box = make("div", { id: "bucket" })));
    const share = facts.total > 0 ? ` (${Number(((100 * facts.count) / facts.total).toPrecision(3))} %)` : "";
    const rows = [
      ["Step", scope.elements.step(facts.step)],
      ["From", show(facts.left)],
      ["To", show(facts.right)],
      ["Count", show(facts.count) + share],
      ["Of", show(facts.total)],
      ["Time", scope.elements.when(facts.wall)],
    ];
    box.replaceChildren(make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
    box.hidden = false;
    scope.charts.placeBeside(box, event, 16);
  }

  scope.charts.onPointer(".histograms-card", hover, leave);
})();
