/** Film strips with a row for each series and a column for each step; only visible tiles are on the page. */
import { make, runLabel, stepText } from "../../../web/core/dom.ts";
import { nearest, type Point } from "../../../web/core/steps.ts";
import { type Card, learnRatio, position, sample, type Series } from "./gallery.ts";
import { settings } from "./settings.generated.ts";
import { read } from "./settings.ts";
import { drop, makeTile, type Tile, want } from "./tiles.ts";

const GAP = 8;
const HEAD = 20;
const CAPTION = 18;
/** Browsers draw nothing beyond about 33 million pixels. */
const WIDEST = 15e6;

export interface FilmStrip {
  element: HTMLElement;
  /** Brings the strips in line with the card's data and the settings. */
  refresh: () => void;
  /** Marks a position and, if the user moved there, scrolls it into view. */
  show: (at: number, moved: boolean) => void;
  /** A remark about steps that are left out. */
  note: () => string;
  tiles: () => Tile[];
}

/** @param settled called when a picture has arrived */
export function makeStrip(card: Card, settled: () => void): FilmStrip {
  const canvas = make("div", { className: "strip-canvas" });
  const element = make("div", { className: "strip", tabIndex: 0, "aria-label": "Steps, film strips" }, canvas);
  /** Tiles by "row:column". */
  const cells: Map<string, Tile> = new Map();
  let heads: HTMLElement[] = [];
  let follows = true;
  let drawing = 0;

  const cellWidth = () => read(settings.width) + GAP;
  const pictureHeight = () => Math.round(Math.min(Math.max((cellWidth() - GAP) / (card.ratio || 1), 24), 480));
  const rowHeight = () => HEAD + CAPTION + pictureHeight() + GAP;
  const columns = () => Math.min(card.positions.length, Math.floor(WIDEST / cellWidth()));
  /** Position of the first column. */
  const first = () => card.positions.length - columns();

  element.addEventListener("scroll", () => {
    follows = element.scrollLeft + element.clientWidth >= element.scrollWidth - 4;
    if (!drawing) drawing = requestAnimationFrame(draw);
  });
  new ResizeObserver(() => draw()).observe(element);

  function refresh() {
    const width = columns() * cellWidth();
    const before = { left: element.scrollLeft, width: parseFloat(canvas.style.width) || 0 };
    canvas.style.width = width + "px";
    canvas.style.height = card.series.length * rowHeight() + "px";
    heads.forEach((head) => head.remove());
    heads = card.series.map((series, row) => {
      const head = make("div", { className: "strip-head" }, make("span", {}, runLabel(series)));
      head.style.top = row * rowHeight() + "px";
      return head;
    });
    canvas.append(...heads);
    cells.forEach(drop);
    cells.clear();
    if (follows || !before.width) element.scrollLeft = width;
    draw();
  }

  /** Adds visible tiles to the page and removes the others. */
  function draw() {
    drawing = 0;
    if (!element.isConnected || !card.positions.length) return;
    const wide = cellWidth();
    const high = rowHeight();
    const left = Math.max(Math.floor(element.scrollLeft / wide) - 1, 0);
    const right = Math.min(Math.ceil((element.scrollLeft + element.clientWidth) / wide) + 1, columns());
    const top = Math.max(Math.floor(element.scrollTop / high), 0);
    const bottom = Math.min(Math.ceil((element.scrollTop + element.clientHeight) / high) + 1, card.series.length);
    const keep = new Set<string>();
    for (let row = top; row < bottom; row += 1) {
      for (let column = left; column < right; column += 1) {
        const point = pointAt(card.series[row], card.positions[first() + column]);
        if (!point) continue;
        const name = row + ":" + column;
        keep.add(name);
        place(name, row, column, point);
      }
    }
    for (const [name, tile] of cells) {
      if (keep.has(name)) continue;
      drop(tile);
      cells.delete(name);
    }
  }

  function place(name: string, row: number, column: number, point: Point) {
    let tile = cells.get(name);
    const { run, tag, epoch } = card.series[row];
    if (!tile) {
      tile = makeTile(arrived);
      tile.caption.textContent = stepText(point.step);
      tile.element.style.left = column * cellWidth() + "px";
      tile.element.style.top = row * rowHeight() + HEAD + "px";
      tile.element.style.width = cellWidth() - GAP + "px";
      tile.picture.style.height = pictureHeight() + "px";
      canvas.append(tile.element);
      cells.set(name, tile);
    }
    tile.element.classList.toggle("here", first() + column === position(card));
    want(tile, { run, tag, epoch, point, sample: sample(card) });
  }

  function arrived(tile: Tile) {
    settled();
    if (learnRatio(card, tile) && Math.abs(card.ratio - 1) > 0.02) refresh();
  }

  function show(at: number, moved: boolean) {
    const column = Math.max(at - first(), 0);
    const start = column * cellWidth();
    if (!moved) return draw();
    if (start < element.scrollLeft || start + cellWidth() > element.scrollLeft + element.clientWidth) {
      element.scrollLeft = start - (element.clientWidth - cellWidth()) / 2;
    }
    draw();
  }

  const note = () =>
    columns() < card.positions.length
      ? `the newest ${stepText(columns())} of ${stepText(card.positions.length)} steps`
      : "";
  return { element, refresh, show, note, tiles: () => [...cells.values()] };
}

/** The picture of a series at a position, if there is one. */
function pointAt({ points }: Series, { step, nth }: Point): Point | null {
  const point = points[nearest(points, step, nth)];
  return point.step === step && point.nth === nth ? point : null;
}
