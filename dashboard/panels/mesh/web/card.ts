/** The cards of the mesh panel: what the server told of each, its parts on the page, and how it was drawn last. */
import type { Point } from "../../../web/core/steps.ts";
import type { Geometry } from "./geometry.ts";
import type { Looks, MeshCard } from "./messages.generated.ts";
import type { Frame, Projection } from "./orbit.ts";

/** How a card was drawn; `ratio` is canvas pixels to those of the page. */
export interface Seen {
  projection: Projection;
  frame: Frame;
  ratio: number;
}
/** What a card has on the page. */
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
  /** Where `geometry` comes from, or what is on its way. */
  url: string;
  seen: Seen | null;
  visible: boolean;
  /** What the colors say, where they say how far vertices moved. */
  comparison: string;
  /** Milliseconds that drawing it whole took. */
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

/** Says in place of the picture why there is none; "" where there is one. */
export function complain({ parts }: Card, text: string): void {
  if (!parts || parts.message.textContent === text) return;
  parts.message.hidden = !text;
  parts.message.textContent = text;
}
