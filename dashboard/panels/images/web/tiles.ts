/** Tiles of galleries and film strips; a picture is fetched once its tile is on the screen. */
import { iconButton, make, stepText, when } from "../../../web/core/dom.ts";
import * as picking from "./compare_picker.ts";
import * as large from "./large.ts";
import type { NoPicture } from "./messages.generated.ts";
import * as pictures from "./pictures.ts";
import type { Picture, Wanted } from "./pictures.ts";
import { settings } from "./settings.generated.ts";
import { read } from "./settings.ts";

export interface Tile {
  element: HTMLElement;
  caption: HTMLElement;
  picture: HTMLButtonElement;
  /** called when a picture has arrived */
  settled: (tile: Tile) => void;
  /** whether the tile is on the screen */
  seen: boolean;
  /** what it should show */
  wanted: Wanted | null;
  /** address of the picture it shows */
  shown: string;
  /** address of the picture being loaded */
  loading: string;
  ending: AbortController | null;
  /** number of pictures at its step */
  samples: number;
  /** width divided by height of the picture; 0 if unknown */
  ratio: number;
}

const tiles: Map<Element, Tile> = new Map();

const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const tile = tiles.get(entry.target);
      if (!tile) continue;
      tile.seen = entry.isIntersecting;
      if (tile.seen) load(tile);
      else tile.ending?.abort();
    }
  },
  { rootMargin: "150px 150px" },
);

const mark = (tile: Tile) => tile.element.classList.toggle("picked", picking.is(tile.wanted));
picking.onChange(() => tiles.forEach(mark));

export function makeTile(settled: (tile: Tile) => void): Tile {
  const picture = make("button", { type: "button", className: "picture", title: "" });
  const pick = iconButton(
    "compare",
    "Compare: pick this image, then another (or Shift+click)",
    () => picking.pick(tile.wanted),
  );
  pick.classList.add("act-pick");
  const caption = make("figcaption", {});
  const element = make("figure", { className: "tile" }, caption, make("div", { className: "held" }, picture, pick));
  const tile: Tile = {
    element,
    caption,
    picture,
    settled,
    seen: false,
    wanted: null,
    shown: "",
    loading: "",
    ending: null,
    samples: 1,
    ratio: 0,
  };
  picture.addEventListener("click", (event) => {
    if (event.shiftKey) picking.pick(tile.wanted);
    else if (tile.wanted && !picture.classList.contains("failed")) large.open(tile.wanted);
  });
  tiles.set(element, tile);
  seen.observe(element);
  return tile;
}

/** Sets the picture of a tile, which is fetched once the tile is on the screen. */
export function want(tile: Tile, wanted: Wanted): void {
  tile.wanted = wanted;
  tile.picture.title ||= `${wanted.tag}\n${wanted.run}`;
  mark(tile);
  if (tile.seen) load(tile);
}

const edge = (tile: Tile) =>
  read(settings.size) === "actual" ? 0 : pictures.edgeFor(Math.max(tile.element.clientWidth, 32));

async function load(tile: Tile): Promise<void> {
  const { wanted } = tile;
  if (!wanted) return;
  const side = edge(tile);
  const url = pictures.address(wanted, side);
  if (tile.loading === url) return;
  tile.ending?.abort();
  if (tile.shown === url) {
    // The picture wanted is the one still shown, because no other has arrived since.
    [tile.ending, tile.loading] = [null, ""];
    return;
  }
  const ending = new AbortController();
  tile.ending = ending;
  tile.loading = url;
  try {
    const found = await pictures.look(wanted, side, ending.signal);
    if (tile.ending === ending) await show(tile, wanted, found, ending);
    if (tile.ending === ending) tile.shown = pictures.isUnanswered(found) ? "" : url;
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  } finally {
    if (tile.ending === ending) {
      tile.ending = null;
      tile.loading = "";
      tile.settled(tile);
    }
  }
}

function showFailure(tile: Tile, why: string): void {
  tile.picture.replaceChildren(pictures.placeholder(why));
  tile.picture.classList.add("failed");
  tile.picture.title = why;
}

async function show(tile: Tile, wanted: Wanted, found: Picture | NoPicture, ending: AbortController): Promise<void> {
  tile.samples = found.samples || 1;
  if (!pictures.isPicture(found)) return showFailure(tile, found.error);
  const { facts, url } = found;
  const step = stepText(wanted.point.step);
  const alt = `${wanted.tag}, ${wanted.run}, step ${wanted.point.step}`;
  const image = make("img", { src: url, alt, draggable: false });
  const decoded = await image.decode().then(() => true, () => false);
  if (tile.ending !== ending) return;
  if (!decoded) return showFailure(tile, pictures.undecodable(facts));
  tile.picture.replaceChildren(image);
  tile.picture.classList.remove("failed");
  if (facts.frames > 1) {
    tile.picture.append(make("span", { className: "badge" }, facts.reduced ? "GIF, first frame" : "GIF"));
  }
  const wall = typeof facts.wall_time === "number" ? when(facts.wall_time) : "no time";
  tile.picture.title = `${wanted.tag}\n${wanted.run}\nstep ${step} · ${wall}\n${pictures.describe(facts)}\n` +
    "Click to open large, Shift+click to compare";
  tile.ratio = facts.width / facts.height;
  pictures.crisp(image);
}

export function drop(tile: Tile): void {
  seen.unobserve(tile.element);
  tiles.delete(tile.element);
  tile.ending?.abort();
  tile.ending = null;
  tile.element.remove();
}
