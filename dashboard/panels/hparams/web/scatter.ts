// @ts-nocheck
// The scatter matrix: every hyperparameter against every metric, or one large chart of two columns.
import { canvas, cut, hideTip, ink, showTip } from "./chart.ts";
import { columns as hparamsColumns, data, pick, selectedRows, setting } from "./index.ts";
import { elements } from "../../../web/core/dom.ts";
import { nextScale, scaleOf } from "./scales.ts";
import { view } from "../../../web/page/view.ts";

const { make } = elements;
const GAP = 10;
const LEFT = 74;
const FOOT = 46;

/** The columns across and down: those chosen, else hyperparameters across and metrics down. */
function chosen() {
  const columns = hparamsColumns();
  const of = (name, kind) => {
    const one = columns.find((column) => column.key === setting(name));
    const those = one ? [one] : columns.filter((column) => column.kind === kind);
    return those.length ? those : columns.slice(0, 1);
  };
  return [of("x", "hparam"), of("y", "metric")];
}

/** A place inside a cell, with room at its rim for what the scale has not. */
const within = (place, size) => (Number.isNaN(place) ? 6 : 16 + place * (size - 24));

function frame(context, left, top, width, height) {
  context.strokeStyle = ink("line");
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
}

/** Ticks of an axis, as many as have room. */
function fitting(ticks, room, least) {
  const most = Math.max(2, Math.floor(room / least));
  const every = Math.ceil(ticks.length / most);
  return ticks.filter((_tick, at) => at % every === 0);
}

function drawAcross(context, column, left, width, top, height) {
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillStyle = ink("ink-dim");
  const ticks = fitting(column.scale.ticks, width, 44);
  const room = (width - 8) / Math.max(1, ticks.length);
  for (const tick of ticks) {
    const x = left + within(tick.at, width);
    context.fillRect(x - 0.5, top + height, 1, 4);
    context.fillText(
      cut(context, tick.label, room),
      Math.min(Math.max(x, left + 10), left + width - 8),
      top + height + 6,
    );
  }
  context.fillStyle = ink("ink");
  context.fillText(cut(context, column.label, width), left + width / 2, top + height + 22);
}

function drawDown(context, column, top, height) {
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = ink("ink-dim");
  for (const tick of fitting(column.scale.ticks, height, 20)) {
    const y = top + height - within(tick.at, height);
    context.fillRect(LEFT - 4, y - 0.5, 4, 1);
    context.fillText(cut(context, tick.label, LEFT - 26), LEFT - 7, y);
  }
  context.save();
  context.translate(10, top + height / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillStyle = ink("ink");
  context.fillText(cut(context, column.label, height), 0, 0);
  context.restore();
}

function drawPoints(context, cell, coloring, active, size) {
  const { rows } = data();
  // Squares of a few pixels look like dots, and many are drawn much faster.
  const dot = size < 3
    ? (at) => context.fillRect(cell.xs[at] - size, cell.ys[at] - size, 2 * size, 2 * size)
    : (at) => {
      context.beginPath();
      context.arc(cell.xs[at], cell.ys[at], size, 0, 2 * Math.PI);
      context.fill();
    };
  if (active) {
    context.fillStyle = ink("ink-dim");
    context.globalAlpha = 0.18;
    rows.forEach((_row, at) => active.has(at) || dot(at));
  }
  context.globalAlpha = rows.length > 400 ? 0.6 : 0.8;
  rows.forEach((_row, at) => {
    if (active && !active.has(at)) return;
    context.fillStyle = coloring.colors[at];
    dot(at);
  });
  context.globalAlpha = 1;
}

function nearest(cell, x, y) {
  let best = -1;
  let distance = 9;
  for (let at = 0; at < cell.xs.length; at++) {
    const away = Math.hypot(cell.xs[at] - x, cell.ys[at] - y);
    if (away < distance) [best, distance] = [at, away];
  }
  return best;
}

function listen(box, cells, coloring, overlay, size) {
  const { rows } = data();
  const at = (event) => {
    const corner = box.getBoundingClientRect();
    return [event.clientX - corner.left, event.clientY - corner.top];
  };
  const cellAt = (x, y) =>
    cells.find((cell) => x >= cell.left && x < cell.left + cell.width && y >= cell.top && y < cell.top + cell.height);
  let hovered = -1;

  function hover(row, cell, event) {
    if (row !== hovered) {
      hovered = row;
      overlay.clearRect(0, 0, box.clientWidth, box.clientHeight);
      if (row >= 0) {
        for (const each of cells) {
          overlay.beginPath();
          overlay.arc(each.xs[row], each.ys[row], size + 2, 0, 2 * Math.PI);
          overlay.fillStyle = coloring.colors[row];
          overlay.fill();
          overlay.lineWidth = 1.5;
          overlay.strokeStyle = ink("ink");
          overlay.stroke();
        }
      }
    }
    box.style.cursor = row >= 0 ? "pointer" : cell ? "crosshair" : "";
    if (row < 0) return hideTip();
    showTip(rows[row], [cell.x.key, cell.y.key], event);
  }

  const idle = (event) => {
    const [x, y] = at(event);
    const cell = cellAt(x, y);
    hover(cell ? nearest(cell, x, y) : -1, cell, event);
  };

  function rubberBand(cell, event) {
    const [x0, y0] = at(event);
    let edges = null;
    box.setPointerCapture(event.pointerId);
    box.onpointermove = (move) => {
      const [x1, y1] = at(move);
      if (!edges && Math.hypot(x1 - x0, y1 - y0) < 5) return;
      edges = [Math.min(x0, x1), Math.max(x0, x1), Math.min(y0, y1), Math.max(y0, y1)];
      hover(-1, cell, move);
      overlay.clearRect(0, 0, box.clientWidth, box.clientHeight);
      overlay.fillStyle = overlay.strokeStyle = ink("accent");
      overlay.globalAlpha = 0.15;
      overlay.fillRect(edges[0], edges[2], edges[1] - edges[0], edges[3] - edges[2]);
      overlay.globalAlpha = 1;
      overlay.strokeRect(edges[0], edges[2], edges[1] - edges[0], edges[3] - edges[2]);
    };
    box.onpointerup = (up) => {
      box.onpointermove = idle;
      box.onpointerup = null;
      if (!edges) return hovered >= 0 && pick([rows[hovered]], up);
      overlay.clearRect(0, 0, box.clientWidth, box.clientHeight);
      const found = rows.filter((_row, place) =>
        cell.xs[place] >= edges[0] && cell.xs[place] <= edges[1] && cell.ys[place] >= edges[2] &&
        cell.ys[place] <= edges[3]
      );
      if (found.length) pick(found, up);
    };
  }

  box.onpointermove = idle;
  box.onpointerleave = (event) => hover(-1, null, event);
  box.onpointerdown = (event) => {
    const cell = event.button ? undefined : cellAt(...at(event));
    if (cell) rubberBand(cell, event);
  };
  box.ondblclick = (event) => {
    const cell = cellAt(...at(event));
    if (!cell || hovered >= 0) return;
    const alone = cells.length === 1;
    view.update((_params, set) => {
      set("hparams.x", alone ? [] : [cell.x.key]);
      set("hparams.y", alone ? [] : [cell.y.key]);
    });
  };
}

/** The chart. */
export const scatter = function (width, coloring) {
  const { rows } = data();
  const [across, down] = chosen().map((list) =>
    list.map((column) => {
      const scale = scaleOf(column);
      return { ...column, scale, places: rows.map((row) => scale.place(row.v[column.place])) };
    })
  );
  const single = across.length * down.length === 1;
  const cellWidth = Math.max(92, (width - LEFT - 12) / across.length - GAP);
  const cellHeight = single ? 380 : down.length === 1 ? 240 : Math.max(124, Math.min(180, 420 / down.length));
  const whole = LEFT + across.length * (cellWidth + GAP);
  const height = down.length * (cellHeight + GAP) + FOOT;
  const size = single ? 4.5 : rows.length > 400 ? 2 : 3;
  const base = canvas(whole, height, "");
  const overlay = canvas(whole, height, "over");
  const active = selectedRows();
  const cells = [];
  down.forEach((y, j) => {
    const top = j * (cellHeight + GAP) + 4;
    drawDown(base, y, top, cellHeight);
    across.forEach((x, i) => {
      const left = LEFT + i * (cellWidth + GAP);
      const xs = Float64Array.from(x.places, (place) => left + within(place, cellWidth));
      const ys = Float64Array.from(y.places, (place) => top + cellHeight - within(place, cellHeight));
      const cell = { x, y, left, top, width: cellWidth, height: cellHeight, xs, ys };
      frame(base, left, top, cellWidth, cellHeight);
      drawPoints(base, cell, coloring, active, size);
      if (j === down.length - 1) drawAcross(base, x, left, cellWidth, top, cellHeight);
      cells.push(cell);
    });
  });
  const box = make("div", {
    className: "hparams-scatter",
    role: "img",
    ariaLabel: `Scatter of ${rows.length} rows: ${across.map((column) => column.label).join(", ")} against ${
      down.map((column) => column.label).join(", ")
    }`,
  });
  box.style.width = whole + "px";
  box.style.height = height + "px";
  box.title = "";
  box.append(base.canvas, overlay.canvas);
  listen(box, cells, coloring, overlay, size);
  const scales = make("div", { className: "hparams-scales" });
  for (const column of [...new Map([...across, ...down].map((one) => [one.key, one])).values()]) {
    if (column.scale.kind === "category" || !column.scale.ticks.length) continue;
    const button = make(
      "button",
      {
        className: "quiet",
        title: `Scale of ${column.label}: linear, log or quantile`,
        onclick: () => nextScale(column),
      },
      column.label + " ",
      make("span", { className: "dim" }, column.scale.kind),
    );
    button.dataset.focus = "scale " + column.key;
    scales.append(button);
  }
  const hint = make(
    "span",
    { className: "count hint" },
    "Click or drag to select; double click an empty place of a chart to enlarge it",
  );
  return make(
    "div",
    {},
    make("div", { className: "hparams-scroll" }, box),
    make("div", { className: "hparams-foot" }, scales, hint),
  );
};
