/** The scatter matrix: each hyperparameter against each metric, or one large chart of two columns. */
import { fit } from "../../../web/core/canvas_text.ts";
import { make } from "../../../web/core/dom.ts";
import type { Setting } from "../../../web/core/setting.ts";
import { view } from "../../../web/page/view.ts";
import {
  canvas,
  type Coloring,
  hideTip,
  ink,
  nextScale,
  onTaps,
  reachOf,
  scaleOf,
  showTip,
  within,
} from "./drawing.ts";
import { alphaOf, type Bins, greatest } from "./density.ts";
import { rowsDrawn, type Shade, shadesOf } from "./shades.ts";
import type { ShownColumn } from "./payload.ts";
import type { Scale, Tick } from "./scales.ts";
import { settings } from "./settings.generated.ts";
import { columns, data, firstRows, pick, selectedRows, update, valuesOf } from "./state.ts";

const GAP = 10;
const LEFT = 74;
const FOOT = 46;
/** Bins per side: squares of a few pixels. */
const BINS = 64;
const BINS_ALONE = 128;
/** Maximum width in pixels of a text's shade. */
const WIDEST_LABEL = 8;

interface Side {
  column: ShownColumn;
  scale: Scale;
  /** Of each row. */
  places: number[];
}

interface Cell {
  x: ShownColumn;
  y: ShownColumn;
  left: number;
  top: number;
  width: number;
  height: number;
  /** Of each row. */
  xs: Float64Array;
  ys: Float64Array;
}

/** The column named by a setting, or else those of a kind. */
function sides(setting: Setting<string>, kind: ShownColumn["kind"]): Side[] {
  const all = columns();
  const one = all.find((column) => column.key === view.read(setting));
  const those = one ? [one] : all.filter((column) => column.kind === kind);
  return (those.length ? those : all.slice(0, 1)).map((column) => {
    const scale = scaleOf(column);
    return { column, scale, places: valuesOf(column.place).map(scale.place) };
  });
}

/** A position inside a cell, with space at the edge for values that are not on the scale. */
const inside = (place: number, size: number) => (Number.isNaN(place) ? 6 : 16 + place * (size - 24));

/** As many ticks of an axis as fit. */
function fitting(ticks: Tick[], room: number, least: number): Tick[] {
  const every = Math.ceil(ticks.length / Math.max(2, Math.floor(room / least)));
  return ticks.filter((_tick, at) => at % every === 0);
}

function drawAcross(context: CanvasRenderingContext2D, { column, scale }: Side, cell: Cell): void {
  const { left, width } = cell;
  const bottom = cell.top + cell.height;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillStyle = ink("ink-dim");
  const ticks = fitting(scale.ticks, width, 44);
  const room = (width - 8) / Math.max(1, ticks.length);
  for (const tick of ticks) {
    const x = left + inside(tick.at, width);
    context.fillRect(x - 0.5, bottom, 1, 4);
    context.fillText(fit(context, tick.label, room), Math.min(Math.max(x, left + 10), left + width - 8), bottom + 6);
  }
  context.fillStyle = ink("ink");
  context.fillText(fit(context, column.label, width), left + width / 2, bottom + 22);
}

function drawDown(context: CanvasRenderingContext2D, { column, scale }: Side, top: number, height: number): void {
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = ink("ink-dim");
  for (const tick of fitting(scale.ticks, height, 20)) {
    const y = top + height - inside(tick.at, height);
    context.fillRect(LEFT - 4, y - 0.5, 4, 1);
    context.fillText(fit(context, tick.label, LEFT - 26), LEFT - 7, y);
  }
  context.save();
  context.translate(10, top + height / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillStyle = ink("ink");
  context.fillText(fit(context, column.label, height), 0, 0);
  context.restore();
}

/** The extents of a column's bins in a cell; the last is for values without a place. */
function spans({ middles, asked }: Bins, size: number): [number, number][] {
  const apart = (size - 24) / middles.length;
  const width = "labels" in asked ? Math.min(WIDEST_LABEL, apart) : apart;
  return [
    ...middles.map((middle): [number, number] => [inside(middle, size) - width / 2, width]),
    [inside(NaN, size) - 2, 4],
  ];
}

/** Draws all sessions of a cell as a shade: stronger where there are more of them. */
function drawShade(context: CanvasRenderingContext2D, { left, top, width, height }: Cell, shade: Shade): void {
  const [across, down] = [spans(shade.first, width), spans(shade.second, height)];
  const most = greatest(shade.counts);
  context.fillStyle = ink("ink-soft");
  across.forEach(([x, w], i) =>
    down.forEach(([y, h], j) => {
      const count = shade.counts[i * down.length + j];
      if (!count) return;
      context.globalAlpha = alphaOf(count, most);
      context.fillRect(left + x, top + height - y - h, w, h);
    })
  );
  context.globalAlpha = 1;
}

function drawPoints(
  context: CanvasRenderingContext2D,
  cell: Cell,
  { colors }: Coloring,
  active: ReadonlySet<number> | null,
  size: number,
  isShaded: boolean,
): void {
  context.strokeStyle = ink("line");
  context.lineWidth = 1;
  context.strokeRect(cell.left + 0.5, cell.top + 0.5, cell.width - 1, cell.height - 1);
  // Squares of a few pixels look like dots and, in large numbers, are drawn much faster.
  const dot = size < 3
    ? (at: number) => context.fillRect(cell.xs[at] - size, cell.ys[at] - size, 2 * size, 2 * size)
    : (at: number) => {
      context.beginPath();
      context.arc(cell.xs[at], cell.ys[at], size, 0, 2 * Math.PI);
      context.fill();
    };
  if (active && !isShaded) {
    context.fillStyle = ink("ink-dim");
    context.globalAlpha = 0.18;
    colors.forEach((_color, at) => active.has(at) || dot(at));
  }
  context.globalAlpha = colors.length > 400 ? 0.6 : 0.8;
  colors.forEach((color, at) => {
    if (active && !active.has(at)) return;
    context.fillStyle = color;
    dot(at);
  });
  context.globalAlpha = 1;
}

function nearest(
  { xs, ys }: Cell,
  drawn: ReadonlySet<number> | null,
  x: number,
  y: number,
  reach: number,
): number {
  let best = -1;
  let distance = reach;
  for (let at = 0; at < xs.length; at += 1) {
    if (drawn && !drawn.has(at)) continue;
    const away = Math.hypot(xs[at] - x, ys[at] - y);
    if (away < distance) [best, distance] = [at, away];
  }
  return best;
}

function listen(
  box: HTMLElement,
  cells: Cell[],
  { colors }: Coloring,
  overlay: CanvasRenderingContext2D,
  size: number,
  drawn: ReadonlySet<number> | null,
): void {
  const { rows } = data();
  const cellAt = (x: number, y: number) =>
    cells.find(({ left, top, width, height }) => x >= left && x < left + width && y >= top && y < top + height);
  const clearOverlay = () => overlay.clearRect(0, 0, box.clientWidth, box.clientHeight);
  let hovered = -1;

  function hover(row: number, cell: Cell | undefined, event: PointerEvent): void {
    if (row !== hovered) {
      hovered = row;
      clearOverlay();
      for (const { xs, ys } of row >= 0 ? cells : []) {
        overlay.beginPath();
        overlay.arc(xs[row], ys[row], size + 2, 0, 2 * Math.PI);
        overlay.fillStyle = colors[row];
        overlay.fill();
        overlay.lineWidth = 1.5;
        overlay.strokeStyle = ink("ink");
        overlay.stroke();
      }
    }
    box.style.cursor = row >= 0 ? "pointer" : cell ? "crosshair" : "";
    if (row < 0 || !cell) return hideTip();
    showTip(rows[row], [cell.x.key, cell.y.key], event);
  }

  function idle(event: PointerEvent): void {
    const [x, y] = within(box, event);
    const cell = cellAt(x, y);
    hover(cell ? nearest(cell, drawn, x, y, reachOf(event, 9)) : -1, cell, event);
  }

  function rubberBand(cell: Cell, event: PointerEvent): void {
    const [x0, y0] = within(box, event);
    let band: { left: number; right: number; top: number; bottom: number } | null = null;
    box.setPointerCapture(event.pointerId);
    box.onpointermove = (move) => {
      const [x1, y1] = within(box, move);
      if (!band && Math.hypot(x1 - x0, y1 - y0) < 5) return;
      const [left, right, top, bottom] = [Math.min(x0, x1), Math.max(x0, x1), Math.min(y0, y1), Math.max(y0, y1)];
      band = { left, right, top, bottom };
      hover(-1, cell, move);
      clearOverlay();
      overlay.fillStyle = overlay.strokeStyle = ink("accent");
      overlay.globalAlpha = 0.15;
      overlay.fillRect(left, top, right - left, bottom - top);
      overlay.globalAlpha = 1;
      overlay.strokeRect(left, top, right - left, bottom - top);
    };
    const release = () => {
      box.onpointermove = idle;
      box.onpointerup = box.onpointercancel = null;
    };
    box.onpointercancel = () => {
      release();
      clearOverlay();
    };
    box.onpointerup = (up) => {
      release();
      if (!band) {
        if (hovered >= 0 && up.pointerType !== "touch") pick([rows[hovered]], up);
        return;
      }
      const { left, right, top, bottom } = band;
      clearOverlay();
      const isIn = (x: number, y: number) => x >= left && x <= right && y >= top && y <= bottom;
      const found = rows.filter((_row, at) => isIn(cell.xs[at], cell.ys[at]));
      if (found.length) pick(found, up);
    };
  }

  const show = (event: PointerEvent) => {
    idle(event);
    return hovered;
  };
  const hide = (event: PointerEvent) => hover(-1, undefined, event);
  onTaps(box, () => hovered, show, hide, (row, event) => pick([rows[row]], event));
  box.onpointermove = idle;
  box.onpointerleave = (event) => event.pointerType !== "touch" && hide(event);
  box.onpointerdown = (event) => {
    const cell = event.button ? undefined : cellAt(...within(box, event));
    if (cell) rubberBand(cell, event);
  };
  box.ondblclick = (event) => {
    const cell = cellAt(...within(box, event));
    if (!cell || hovered >= 0) return;
    const isAlone = cells.length === 1;
    update((set) => {
      set(settings.x, isAlone ? "" : cell.x.key);
      set(settings.y, isAlone ? "" : cell.y.key);
    });
  };
}

/** Buttons for the scales of the columns, and a hint. */
function foot(shown: Side[]): HTMLElement {
  const scales = make("div", { className: "hparams-scales" });
  for (const { column, scale } of new Map(shown.map((side) => [side.column.key, side])).values()) {
    if (scale.kind === "category" || !scale.ticks.length) continue;
    const button = make(
      "button",
      {
        className: "quiet",
        title: `Scale of ${column.label}: linear, log or quantile`,
        onclick: () => nextScale(column),
      },
      column.label + " ",
      make("span", { className: "dim" }, scale.kind === "linear" ? "" : scale.kind),
    );
    button.dataset.focus = "scale " + column.key;
    scales.append(button);
  }
  const hint = "Click or drag to select; double-click an empty part of a chart to enlarge it";
  return make("div", { className: "hparams-foot" }, scales, make("span", { className: "count hint" }, hint));
}

/** Creates the chart. */
export function scatter(width: number, coloring: Coloring): HTMLElement {
  const { rows } = data();
  const [across, down] = [sides(settings.x, "hparam"), sides(settings.y, "metric")];
  const isSingle = across.length * down.length === 1;
  const cellWidth = Math.max(92, (width - LEFT - 12) / across.length - GAP);
  const cellHeight = isSingle ? 380 : down.length === 1 ? 240 : Math.max(124, Math.min(180, 420 / down.length));
  const whole = LEFT + across.length * (cellWidth + GAP);
  const height = down.length * (cellHeight + GAP) + FOOT;
  const size = isSingle ? 4.5 : rows.length > 400 ? 2 : 3;
  const base = canvas(whole, height, "");
  const overlay = canvas(whole, height, "over");
  const pairs = down.flatMap((_y, j) => across.map((_x, i): [number, number] => [i, across.length + j]));
  const shades = shadesOf([...across, ...down], pairs, isSingle ? BINS_ALONE : BINS);
  const active = selectedRows() ?? (shades && firstRows());
  const cells: Cell[] = [];
  down.forEach((y, j) => {
    const top = j * (cellHeight + GAP) + 4;
    drawDown(base, y, top, cellHeight);
    const ys = Float64Array.from(y.places, (place) => top + cellHeight - inside(place, cellHeight));
    across.forEach((x, i) => {
      const left = LEFT + i * (cellWidth + GAP);
      const xs = Float64Array.from(x.places, (place) => left + inside(place, cellWidth));
      const cell = { x: x.column, y: y.column, left, top, width: cellWidth, height: cellHeight, xs, ys };
      const shade = shades?.[j * across.length + i];
      if (shade) drawShade(base, cell, shade);
      drawPoints(base, cell, coloring, active, size, shades !== null);
      if (j === down.length - 1) drawAcross(base, x, cell);
      cells.push(cell);
    });
  });
  const names = (shown: Side[]) => shown.map(({ column }) => column.label).join(", ");
  const box = make("div", {
    className: "hparams-scatter",
    role: "img",
    ariaLabel: `Scatter of ${rowsDrawn(shades && firstRows())}: ${names(across)} against ${names(down)}`,
  });
  box.style.width = whole + "px";
  box.style.height = height + "px";
  box.append(base.canvas, overlay.canvas);
  listen(box, cells, coloring, overlay, size, shades && active);
  return make("div", {}, make("div", { className: "hparams-scroll" }, box), foot([...across, ...down]));
}
