/** The cards of the mesh panel: the server's data for each, its parts on the page, and how it was last drawn. */
import type { Point } from "../../../web/core/steps.ts";
import type { Geometry } from "./geometry.ts";
import type { Looks, MeshCard } from "./messages.generated.ts";
import type { Frame, Projection } from "./orbit.ts";

/** How a card was drawn; `ratio` is canvas pixels per page pixel. */
export interface Seen {
  projection: Projection;
  frame: Frame;
  ratio: number;
}
/** The parts of a card on the page. */
export interface Parts {
  body: HTMLElement;
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  message: HTMLElement;
  slider: HTMLInputElement;
  label: HTMLElement;
  sampler: HTMLElement;
  which: HTMLElement;
  facts: HTMLElement;
  notes: HTMLElement;
}
export interface Card {
  readonly key: string;
  data: MeshCard;
  points: Point[];
  parts: Parts | null;
  geometry: Geometry | null;
  /** Where `geometry` came from, or the URL that is being loaded. */
  url: string;
  seen: Seen | null;
  visible: boolean;
  /** What the colors compare, if they show how far vertices moved. */
  comparison: string;
  /** Milliseconds needed to draw it whole. */
  cost: number;
}

const BLANK: Looks = {
  camera: { kind: "perspective", fov: null, position: null, target: null },
  material: { unlit: false, color: null, wireframe: null, flat: null, vertexColors: null, size: null },
  lights: [],
  ignored: [],
};

export const cards: Map<string, Card> = new Map();

export const looksOf = (card: Card): Looks => card.data.looks ?? BLANK;

/** Explains in place of the picture why there is none; "" if there is one. */
export function complain({ parts }: Card, text: string): void {
  if (!parts || parts.message.textContent === text) return;
  parts.message.hidden = !text;
  parts.message.textContent = text;
}
