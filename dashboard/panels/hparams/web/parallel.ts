// @ts-nocheck
// Parallel coordinates: one axis per column, one line per row; brushes on the axes, together, are a selection.
import { canvas, cut, hideTip, ink, showTip } from "./chart.ts";
import {
  clear,
  columns as hparamsColumns,
  data,
  pairs,
  pick,
  select,
  selectedRows,
  setSetting,
  settings,
} from "./index.ts";
import { elements } from "../../../web/core/dom.ts";
import { nextScale, scaleOf } from "./scales.ts";

const { make } = elements;
const HEIGHT = 322;
const TOP = 66;
const BOTTOM = HEIGHT - 34;
const LEAST_SPACING = 66;
/** Room for the ticks of the last axis. */
const SIDE = 64;
const REACH = 14;
/** Where a value is drawn that its axis has not. */
const NOWHERE = BOTTOM + 18;

const yOf = (place) => (Number.isNaN(place) ? NOWHERE : BOTTOM - place * (BOTTOM - TOP));
const placeOf = (y) => Math.min(1, Math.max(0, (BOTTOM - y) / (BOTTOM - TOP)));

/** The columns in the order of their axes: those that were moved, then the others as they are. */
function inOrder() {
  const columns = hparamsColumns();
  const moved = settings("order").map((key) => columns.find((column) => column.key === key)).filter(Boolean);
  return [...new Set([...moved, ...columns])];
}

/** Moves an axis to another place among all. */
function move(axes, from, to) {
  const keys = axes.map((axis) => axis.column.key);
  keys.splice(Math.min(Math.max(to, 0), keys.length - 1), 0, ...keys.splice(from, 1));
  setSetting("order", ...keys);
}

/** Bounds of the brushes, by column: of a category its numbers. */
function brushes() {
  const found = new Map();
  for (const [key, rest] of pairs("brush")) {
    const [low, high] = rest.split(":").map(Number);
    if (low <= high) found.set(key, [low, high]);
  }
  return found;
}

const digits = (value) => String(Number(value.toPrecision(6)));
const written = (bounds) => new Map([...bounds].map(([key, [low, high]]) => [key, `${digits(low)}:${digits(high)}`]));

/** Rows that lie inside every brush. */
function inside(axes, bounds) {
  const { rows } = data();
  const on = axes.filter((axis) => bounds.has(axis.column.key));
  const found = new Set();
  rows.forEach((row, at) => {
    const passes = on.every(({ column, scale }) => {
      const [low, high] = bounds.get(column.key);
      const value = scale.kind === "category" ? scale.labels.indexOf(row.v[column.place]) : row.v[column.place];
      return Number.isFinite(value) && row.v[column.place] !== null && value >= low && value <= high;
    });
    if (passes) found.add(at);
  });
  return found;
}

function line(context, axes, at) {
  context.beginPath();
  axes.forEach((axis, index) => (index ? context.lineTo(axis.x, axis.ys[at]) : context.moveTo(axis.x, axis.ys[at])));
  context.stroke();
}

/** All rows, faint: what is behind the active ones. */
function drawFaint(context, axes) {
  const { rows } = data();
  context.strokeStyle = ink("ink-dim");
  context.globalAlpha = Math.max(0.05, Math.min(0.2, 40 / rows.length));
  rows.forEach((_row, at) => line(context, axes, at));
}

function drawLines(context, axes, coloring, active) {
  const { rows } = data();
  context.lineJoin = "round";
  const count = active ? active.size : rows.length;
  context.globalAlpha = Math.max(0.22, Math.min(0.9, 12 / Math.sqrt(count)));
  // Lines of one pixel are drawn several times as fast as any that are thicker.
  context.lineWidth = count < 12 ? 2 : count < 300 ? 1.2 : 1;
  rows.forEach((_row, at) => {
    if (active && !active.has(at)) return;
    context.strokeStyle = coloring.colors[at];
    line(context, axes, at);
  });
  context.globalAlpha = 1;
}

function drawAxes(context, axes, bounds) {
  const [soft, dim, accent, surface] = ["ink-soft", "ink-dim", "accent", "surface"].map(ink);
  const spacing = axes.length > 1 ? axes[1].x - axes[0].x : LEAST_SPACING;
  for (const { x, column, scale, missing } of axes) {
    context.strokeStyle = dim;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, TOP);
    context.lineTo(x, BOTTOM);
    context.stroke();
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.lineWidth = 3;
    context.strokeStyle = surface;
    const write = (text, y, color) => {
      const short = cut(context, text, spacing - 14);
      context.strokeStyle = surface;
      context.strokeText(short, x + 6, y);
      context.fillStyle = color;
      context.fillText(short, x + 6, y);
    };
    for (const tick of scale.ticks) {
      context.fillStyle = dim;
      // On the other side of the axis: before the label it would be read as a minus.
      context.fillRect(x - 5, yOf(tick.at) - 0.5, 5, 1);
      // At the ends it stands beyond them: lines go the other way.
      const beyond = yOf(tick.at) < TOP + 5 ? -7 : yOf(tick.at) > BOTTOM - 5 ? 7 : 0;
      write(tick.label, yOf(tick.at) + beyond, soft);
    }
    if (missing) write("none", NOWHERE, dim);
    const bound = bounds.get(column.key);
    if (bound) {
      const category = scale.kind === "category";
      const at = (value, edge) =>
        yOf(Math.min(1, Math.max(0, category ? (value + 0.5 + edge * 0.4) / scale.labels.length : scale.place(value))));
      const [high, low] = [at(bound[1], 1), at(bound[0], -1)];
      context.fillStyle = accent;
      context.globalAlpha = 0.28;
      context.fillRect(x - 7, high, 14, Math.max(2, low - high));
      context.globalAlpha = 1;
      context.fillRect(x - 7, high - 1, 14, 2);
      context.fillRect(x - 7, low - 1, 14, 2);
    }
  }
}

/** The row whose line passes nearest, at most 8 pixels away; -1 where none does. */
function nearest(axes, active, x, y) {
  if (!axes.length) return -1;
  let after = axes.findIndex((axis) => axis.x >= x);
  if (after === -1) after = axes.length - 1;
  after = Math.max(1, after);
  const [left, right] = [axes[after - 1], axes[after] || axes[after - 1]];
  const share = right.x > left.x ? Math.min(1, Math.max(0, (x - left.x) / (right.x - left.x))) : 0;
  let best = -1;
  let distance = 8;
  for (let at = 0; at < left.ys.length; at++) {
    if (active && !active.has(at)) continue;
    const slope = (right.ys[at] - left.ys[at]) / (right.x - left.x || 1);
    const away = Math.abs(left.ys[at] + share * (right.ys[at] - left.ys[at]) - y) / Math.hypot(1, slope);
    if (away < distance) [best, distance] = [at, away];
  }
  return best;
}

/** A name that may go on in the next line behind its separators. */
const breakable = (name) => name.split(/(?<=[_/.-])/).flatMap((part) => [part, make("wbr", {})]);

/** Name and scale of an axis; the name can be dragged, or moved by Alt and the arrow keys. */
function axisHead(axes, index, spacing, whole, box) {
  const { column, scale, x } = axes[index];
  const about = column.about ? `${column.label}: ${column.about}` : column.label;
  const name = make("button", {
    className: "hparams-axis-name",
    title: `${about}\nDrag to move, or Alt and arrow keys`,
  }, ...breakable(column.label));
  name.dataset.focus = "axis " + column.key;
  name.dataset.kind = column.kind;
  const place = make("div", { className: "hparams-axis" }, name);
  place.dataset.key = column.key;
  place.style.left = x - 8 + "px";
  place.style.width = Math.min(spacing, whole - x + 4) - 2 + "px";
  if (scale.kind !== "category" && scale.ticks.length) {
    const kind = make(
      "button",
      { className: "hparams-axis-scale", title: "Scale: linear, log or quantile" },
      scale.kind,
    );
    kind.dataset.focus = "scale " + column.key;
    kind.onclick = () => nextScale(column);
    place.append(kind);
  }
  name.onkeydown = (event) => {
    const by = event.altKey && { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    move(axes, index, index + by);
  };
  name.onpointerdown = (event) => {
    if (event.button) return;
    name.setPointerCapture(event.pointerId);
    const begin = event.clientX;
    let to = index;
    name.onpointermove = (moved) => {
      const by = moved.clientX - begin;
      place.classList.toggle("moving", Math.abs(by) > 4);
      place.style.translate = by + "px";
      to = Math.round((x - axes[0].x + by) / spacing);
    };
    name.onpointerup = () => {
      name.onpointermove = name.onpointerup = null;
      place.classList.remove("moving");
      place.style.translate = "";
      if (to !== index) move(axes, index, to);
    };
  };
  box.append(place);
}

/** The axes that are scrolled into sight, and one more on either side. */
function inSight(box, axes) {
  const { scrollLeft, clientWidth } = box.parentElement;
  const reach = axes.length > 1 ? axes[1].x - axes[0].x : 0;
  return axes.filter(({ x }) => x >= scrollLeft - reach && x <= scrollLeft + clientWidth + reach);
}

/** Brushing, hovering and clicking. */
function listen(box, axes, coloring, overlay, redrawBase) {
  const { rows } = data();
  let hovered = -1;
  const at = (event) => {
    const corner = box.getBoundingClientRect();
    return [event.clientX - corner.left, event.clientY - corner.top];
  };
  const axisAt = (
    x,
    y,
  ) => (y > TOP - 8 && y < BOTTOM + 8 ? axes.find((axis) => Math.abs(axis.x - x) <= REACH) : undefined);
  const active = () => selectedRows();

  function hover(row, event) {
    if (row !== hovered) {
      hovered = row;
      overlay.clearRect(0, 0, box.clientWidth, HEIGHT);
      if (row >= 0) {
        overlay.lineWidth = 3;
        overlay.strokeStyle = coloring.colors[row];
        overlay.beginPath();
        axes.forEach((
          axis,
          index,
        ) => (index ? overlay.lineTo(axis.x, axis.ys[row]) : overlay.moveTo(axis.x, axis.ys[row])));
        overlay.stroke();
      }
    }
    if (row < 0) return hideTip();
    const near = axes.reduce((
      best,
      axis,
    ) => (Math.abs(axis.x - at(event)[0]) < Math.abs(best.x - at(event)[0]) ? axis : best));
    showTip(rows[row], [near.column.key], event);
  }

  function brush(axis, event) {
    const bounds = brushes();
    const { column, scale } = axis;
    const begin = at(event)[1];
    const had = bounds.get(column.key);
    const category = scale.kind === "category";
    const edge = (value, side) => yOf(category ? (value + 0.5 + side * 0.4) / scale.labels.length : scale.place(value));
    const held = had && begin >= edge(had[1], 1) && begin <= edge(had[0], -1)
      ? [edge(had[1], 1), edge(had[0], -1)]
      : null;
    box.setPointerCapture(event.pointerId);
    hover(-1, event);
    let moved = false;
    let frame = 0;
    box.onpointermove = (move) => {
      const y = at(move)[1];
      moved = moved || Math.abs(y - begin) > 3;
      if (!moved) return;
      const [upper, lower] = held ? held.map((one) => one + y - begin) : [Math.min(y, begin), Math.max(y, begin)];
      let [low, high] = [placeOf(lower), placeOf(upper)];
      if (category) {
        const count = scale.labels.length;
        [low, high] = [Math.ceil(low * count - 0.6), Math.floor(high * count - 0.4)];
      } else [low, high] = [scale.value(low), scale.value(high)];
      bounds.set(column.key, [low, high]);
      if (!frame) {
        frame = requestAnimationFrame(() => {
          frame = 0;
          if (box.isConnected) redrawBase(inside(axes, bounds), bounds, inSight(box, axes));
        });
      }
    };
    const release = () => {
      box.onpointermove = idle;
      box.onpointerup = box.onpointercancel = null;
    };
    box.onpointercancel = release;
    box.onpointerup = () => {
      release();
      if (!moved) bounds.delete(column.key);
      else {
        const [low, high] = bounds.get(column.key);
        if (category ? low > high : !(low <= high)) bounds.delete(column.key);
        else if (!category) bounds.set(column.key, widened(low, high));
      }
      if (!moved && !had) return;
      if (!bounds.size) return clear();
      const found = [...inside(axes, bounds)].map((row) => rows[row]);
      if (found.length) return select(found, written(bounds));
      // Nothing is inside: the brush stays to be seen, and nothing is selected.
      select([], written(bounds));
    };
  }

  const idle = (event) => {
    const [x, y] = at(event);
    box.style.cursor = axisAt(x, y) ? "row-resize" : "";
    hover(nearest(axes, active(), x, y), event);
    if (hovered >= 0 && !axisAt(x, y)) box.style.cursor = "pointer";
  };
  box.onpointermove = idle;
  box.onpointerleave = (event) => hover(-1, event);
  box.onpointerdown = (event) => {
    if (event.button || event.target.closest(".hparams-axis")) return;
    const axis = axisAt(...at(event));
    if (axis) return brush(axis, event);
    if (hovered >= 0) pick([rows[hovered]], event);
  };
}

/** Bounds that hold after they are written with few digits. */
function widened(low, high) {
  const size = 10 ** (Math.floor(Math.log10(Math.max(Math.abs(low), Math.abs(high)) || 1)) - 5);
  return [Math.floor(low / size) * size, Math.ceil(high / size) * size];
}

/** The chart. */
export const parallel = function (width, coloring) {
  const { rows } = data();
  // What differs inside every group has no value of its own, and so no axis.
  const columns = inOrder().filter((column) => rows.some((row) => row.v[column.place] !== null));
  const spacing = Math.max(LEAST_SPACING, Math.floor((width - 22 - SIDE) / Math.max(1, columns.length - 1)));
  const whole = Math.max(width - 2, 20 + SIDE + spacing * (columns.length - 1));
  const axes = columns.map((column, index) => {
    const scale = scaleOf(column);
    const ys = Float64Array.from(rows, (row) => yOf(scale.place(row.v[column.place])));
    return { column, scale, ys, x: 20 + spacing * index, missing: ys.includes(NOWHERE) };
  });
  const box = make("div", {
    className: "hparams-parallel",
    role: "img",
    ariaLabel:
      `Parallel coordinates of ${rows.length} rows over ${columns.length} columns; the table below has the same data`,
  });
  box.style.width = whole + "px";
  box.style.height = HEIGHT + "px";
  const faint = canvas(whole, HEIGHT, "");
  const base = canvas(whole, HEIGHT, "");
  const overlay = canvas(whole, HEIGHT, "over");
  let faintDrawn = false;
  const redrawBase = (active, bounds, drawn = axes) => {
    // Behind a moving brush only the active lines are drawn anew.
    if (active && !faintDrawn) drawFaint(faint, axes);
    faintDrawn = faintDrawn || !!active;
    faint.canvas.hidden = !active;
    base.clearRect(0, 0, whole, HEIGHT);
    drawLines(base, drawn, coloring, active);
    drawAxes(base, axes, bounds);
  };
  const bounds = brushes();
  redrawBase(selectedRows() || (bounds.size ? inside(axes, bounds) : null), bounds);
  box.append(faint.canvas, base.canvas, overlay.canvas);
  axes.forEach((_axis, index) => axisHead(axes, index, spacing, whole, box));
  listen(box, axes, coloring, overlay, redrawBase);
  return make("div", { className: "hparams-scroll" }, box);
};
