// @ts-nocheck
// The images panel: one picture, fetched and described; what was fetched lately is kept.
import { elements } from "../../../web/core/dom.ts";

const { make, icon } = elements;
const FORMATS = {
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/gif": "GIF",
  "image/webp": "WebP",
  "image/bmp": "BMP",
};
const EDGES = [64, 128, 256, 512, 1024];
const MOST_KEPT = 600;
const MOST_BYTES = 96e6;

export interface Wanted {
  run: string;
  tag: string;
  epoch: string;
  point: { index: number; step: number };
  sample: number;
}
export interface Facts {
  samples: number;
  width: number;
  height: number;
  frames: number;
  size: number;
  mime_type: string;
  wall_time: number | string;
  reduced: boolean;
}
export interface Found {
  facts: Facts | null;
  blob: Blob | null;
  url: string;
  error: string;
  samples: number;
}
/** By address, the latest last. */
const kept: Map<string, Found> = new Map();
let bytes = 0;

function where(wanted, more) {
  return new URLSearchParams([["run", wanted.run], ["tag", wanted.tag], ["index", String(wanted.point.index)], [
    "sample",
    String(wanted.sample),
  ], ...more]);
}

/** The address of a picture: of the original where `edge` is 0, else of one not much larger than that. */
export function address(wanted, edge) {
  return "/api/images/look?" +
    where(wanted, [["step", String(wanted.point.step)], ["epoch", wanted.epoch], ["edge", String(edge)]]);
}

export const downloadAddress = (wanted) => "/api/images/image?" + where(wanted, [["download", "true"]]);

/** The thumbnail that is large enough for so many CSS pixels. */
export const edgeFor = (width) =>
  EDGES.find((edge) => edge >= width * Math.min(devicePixelRatio, 2)) || EDGES[EDGES.length - 1];

function keep(url, found) {
  kept.set(url, found);
  bytes += found.blob.size;
  for (const [oldest, entry] of kept) {
    if ((kept.size <= MOST_KEPT && bytes <= MOST_BYTES) || oldest === url) break;
    kept.delete(oldest);
    bytes -= entry.blob.size;
    URL.revokeObjectURL(entry.url);
  }
}

/** A picture that is here already. */
export function known(url): Found | undefined {
  const found = kept.get(url);
  if (found) {
    kept.delete(url);
    kept.set(url, found);
  }
  return found;
}

const nothing = (error, samples) => ({ facts: null, blob: null, url: "", error, samples: samples || 0 });

/** Fetches a picture; what is wrong with it is in its `error`. Throws only where `signal` ended it. */
export async function look(wanted, edge, signal): Promise<Found> {
  const url = address(wanted, edge);
  const there = known(url);
  if (there) return there;
  let response;
  try {
    response = await fetch(url, { signal });
    if (!response.ok) return nothing("The server does not have this picture any more.");
    if ((response.headers.get("content-type") || "").startsWith("application/json")) {
      const { error, samples } = await response.json();
      return nothing(sentence(error), samples);
    }
    const facts = JSON.parse(response.headers.get("X-Picture"));
    const blob = await response.blob();
    const found = { facts, blob, url: URL.createObjectURL(blob), error: "", samples: facts.samples };
    keep(url, found);
    return found;
  } catch (error) {
    if (signal && signal.aborted) throw error;
    return nothing("No answer from the server.");
  }
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");

function fileSize(size) {
  return size < 1000
    ? `${size} B`
    : size < 1e6
    ? `${(size / 1000).toPrecision(3)} kB`
    : `${(size / 1e6).toPrecision(3)} MB`;
}

/** Size, format, bytes. */
export function describe(facts: Facts) {
  const frames = facts.frames > 1 ? ` · ${facts.frames} frames` : "";
  return `${facts.width} × ${facts.height} · ${FORMATS[facts.mime_type]}${frames} · ${fileSize(facts.size)}`;
}

/** What stands in a picture's place. */
export function placeholder(why) {
  return make("span", { className: "no-picture", title: why }, icon("alert", 18), make("span", {}, why));
}

export const undecodable = (facts) =>
  `The browser cannot decode this ${FORMATS[facts.mime_type]} (${describe(facts)}); its bytes are damaged.`;

/** Pixels stay squares where a small picture is enlarged. */
export function crisp(image) {
  image.classList.toggle("crisp", image.clientWidth * devicePixelRatio > image.naturalWidth * 1.2);
}
export const crispAll = () => document.querySelectorAll(".picture img").forEach(crisp);
addEventListener("resize", crispAll);
