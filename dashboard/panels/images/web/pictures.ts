/** Fetches and describes pictures; recent ones are kept. */
import { fileSize } from "../../../web/core/numbers.ts";
import { icon, make } from "../../../web/core/dom.ts";
import { Api } from "../../../web/core/request.ts";
import { EDGES, FACTS_HEADER, type NoPicture, type PictureFacts } from "./messages.generated.ts";

export const api = new Api("api/images");
const FORMATS: Record<string, string> = {
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/gif": "GIF",
  "image/webp": "WebP",
  "image/bmp": "BMP",
};
const MOST_KEPT = 600;
const MOST_BYTES = 96e6;

export interface Wanted {
  run: string;
  tag: string;
  epoch: string;
  point: { index: number; step: number; nth: number };
  sample: number;
}
export interface Picture {
  facts: PictureFacts;
  blob: Blob;
  url: string;
  samples: number;
}
/** Pictures by address, the most recently used last. */
const kept: Map<string, Picture> = new Map();
let bytes = 0;

const where = ({ run, tag, point, sample }: Wanted) => ({ run, tag, index: point.index, sample });

/** The address of a picture: the original if `edge` is 0, or else a version not much larger than that. */
export const address = (wanted: Wanted, edge: number): string =>
  api.address("look", { ...where(wanted), step: wanted.point.step, epoch: wanted.epoch, edge });

export const downloadAddress = (wanted: Wanted): string => api.address("image", { ...where(wanted), download: true });

/** The thumbnail size that is sufficient for a width in CSS pixels. */
export const edgeFor = (width: number): number =>
  EDGES.find((edge) => edge >= width * Math.min(devicePixelRatio, 2)) ?? EDGES[EDGES.length - 1];

function keep(url: string, found: Picture): void {
  kept.set(url, found);
  bytes += found.blob.size;
  for (const [oldest, entry] of kept) {
    if ((kept.size <= MOST_KEPT && bytes <= MOST_BYTES) || oldest === url) break;
    kept.delete(oldest);
    bytes -= entry.blob.size;
    URL.revokeObjectURL(entry.url);
  }
}

/** A picture that has already been fetched. */
function known(url: string): Picture | undefined {
  const found = kept.get(url);
  if (found) {
    kept.delete(url);
    kept.set(url, found);
  }
  return found;
}

const nothing = (error: string, samples = 0): NoPicture => ({ error, samples });
const UNANSWERED = nothing("No response from the server.");

/** Fetches a picture; problems are reported in its `error`. Throws only if `signal` aborted the request. */
export async function look(wanted: Wanted, edge: number, signal: AbortSignal): Promise<Picture | NoPicture> {
  const url = address(wanted, edge);
  const there = known(url);
  if (there) return there;
  try {
    const response = await fetch(url, { signal });
    if (!response.ok) return nothing("The server no longer has this image.");
    const said = response.headers.get(FACTS_HEADER);
    if (said === null) {
      const { error, samples }: NoPicture = await response.json();
      return nothing(sentence(error), samples);
    }
    const facts: PictureFacts = JSON.parse(said);
    const blob = await response.blob();
    const found: Picture = { facts, blob, url: URL.createObjectURL(blob), samples: facts.samples };
    keep(url, found);
    return found;
  } catch (error) {
    if (signal.aborted) throw error;
    return UNANSWERED;
  }
}

/** Whether another attempt may succeed. */
export const isUnanswered = (found: Picture | NoPicture): boolean => found === UNANSWERED;

export const isPicture = (found: Picture | NoPicture): found is Picture => "facts" in found;

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");

type Described = Pick<PictureFacts, "width" | "height" | "frames" | "size" | "mime_type">;

/** Describes a picture's size, format and bytes. */
export function describe(facts: Described): string {
  const frames = facts.frames > 1 ? ` · ${facts.frames} frames` : "";
  return `${facts.width} × ${facts.height} · ${FORMATS[facts.mime_type]}${frames} · ${fileSize(facts.size)}`;
}

/** What is shown in place of a picture. */
export const placeholder = (why: string): HTMLElement =>
  make("span", { className: "no-picture", title: why }, icon("alert", 18), make("span", {}, why));

export const undecodable = (facts: Described): string =>
  `The browser cannot decode this ${FORMATS[facts.mime_type]} (${describe(facts)}); the file is damaged.`;

/** Keeps pixels square when a small picture is enlarged. */
export function crisp(image: HTMLImageElement): void {
  image.classList.toggle("crisp", image.clientWidth * devicePixelRatio > image.naturalWidth * 1.2);
}
export const crispAll = (): void => document.querySelectorAll<HTMLImageElement>(".picture img").forEach(crisp);
