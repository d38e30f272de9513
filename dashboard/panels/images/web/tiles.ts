// @ts-nocheck
// The images panel: tiles of galleries and film strips; a picture is fetched when it is on the screen.
import * as large from "./large.ts";
import * as picking from "./compare_picker.ts";
import * as pictures from "./pictures.ts";
import * as settings from "./settings.ts";
import { elements } from "../../../web/core/dom.ts";

const { make, icon } = elements;

export interface Tile {
  element: HTMLElement;
  caption: HTMLElement;
  picture: HTMLButtonElement;
  /** whether it is on the screen */
  seen: boolean;
  /** what it should show */
  wanted: object | null;
  /** address of what it shows */
  shown: string;
  /** address of what is on its way */
  loading: string;
  ending: AbortController | null;
  /** how many pictures there are at its step */
  samples: number;
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const tile = entry.target.stepscopeTile;
      tile.seen = entry.isIntersecting;
      if (tile.seen) load(tile);
      else if (tile.ending) tile.ending.abort();
    }
  },
  { rootMargin: "150px 150px" },
);

/** @param settled called when a picture has come */
function makeTile(settled: (tile: Tile) => void) {
  const picture = make("button", { type: "button", className: "picture", title: "" });
  const pick = make("button", {
    type: "button",
    className: "icon-button act-pick",
    title: "Compare: pick this picture, then another (or Shift and click)",
  }, icon("compare", 14));
  const caption = make("figcaption", {});
  const element = make("figure", { className: "tile" }, caption, make("div", { className: "held" }, picture, pick));
  const tile = {
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
  };
  picture.addEventListener("click", (event) => (event.shiftKey ? picking.pick(tile.wanted) : open(tile)));
  pick.addEventListener("click", () => picking.pick(tile.wanted));
  element.stepscopeTile = tile;
  seen.observe(element);
  return tile;
}

function open(tile) {
  if (!tile.picture.classList.contains("failed") && tile.wanted) large.open(tile.wanted);
}

/** What the tile shall show; it is fetched once it is on the screen. */
export function want(tile, wanted) {
  tile.wanted = wanted;
  tile.picture.title ||= `${wanted.tag}\n${wanted.run}`;
  tile.element.classList.toggle("picked", picking.is(wanted));
  if (tile.seen) load(tile);
}

const edge = (
  tile,
) => (settings.get("size") === "actual" ? 0 : pictures.edgeFor(Math.max(tile.element.clientWidth, 32)));

export async function load(tile) {
  const { wanted } = tile;
  if (!wanted) return;
  const side = edge(tile);
  const url = pictures.address(wanted, side);
  if (tile.shown === url || tile.loading === url) return;
  if (tile.ending) tile.ending.abort();
  const ending = new AbortController();
  tile.ending = ending;
  tile.loading = url;
  try {
    const found = await pictures.look(wanted, side, ending.signal);
    if (tile.ending === ending) await show(tile, wanted, found, ending);
    if (tile.ending === ending) tile.shown = url;
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

async function show(tile, wanted, found, ending) {
  let content = null;
  let why = found.error;
  if (!why) {
    content = make("img", {
      src: found.url,
      alt: `${wanted.tag}, ${wanted.run}, step ${wanted.point.step}`,
      draggable: false,
    });
    await content.decode().catch(() => (why = pictures.undecodable(found.facts)));
    if (tile.ending !== ending) return;
  }
  tile.samples = found.samples || 1;
  tile.picture.replaceChildren(why ? pictures.placeholder(why) : content);
  tile.picture.classList.toggle("failed", Boolean(why));
  if (why) {
    tile.picture.title = why;
    return;
  }
  const { facts } = found;
  if (facts.frames > 1) {
    tile.picture.append(make("span", { className: "badge" }, facts.reduced ? "GIF, first frame" : "GIF"));
  }
  const wall = typeof facts.wall_time === "number" ? elements.when(facts.wall_time) : "no time";
  tile.picture.title = `${wanted.tag}\n${wanted.run}\nstep ${elements.step(wanted.point.step)} · ${wall}\n${
    pictures.describe(facts)
  }\nClick to open large, Shift and click to compare`;
  tile.ratio = facts.width / facts.height;
  pictures.crisp(content);
}

export function drop(tile) {
  seen.unobserve(tile.element);
  if (tile.ending) tile.ending.abort();
  tile.ending = null;
  tile.element.remove();
}

export { makeTile as make };
