/** The cards of the mesh panel: what the server told of each, its parts on the page, and how it was drawn last. */
import type { NumbersSpec } from "../../../web/core/dom.ts";
import type { Point } from "../../../web/core/steps.ts";
import type { Geometry } from "./geometry.ts";
import type { Vector } from "./math.ts";
import type { Frame, Projection, Wanted } from "./orbit.ts";

export interface Light {
  color: Vector;
  intensity: number;
  /** Absent where it shines from everywhere. */
  position?: Vector;
}
/** What is honored of a logged configuration (dashboard/panels/mesh/looks.py); colors are shares of 1. */
export interface Looks {
  camera: Wanted;
  material: {
    unlit?: boolean;
    color?: Vector | null;
    wireframe?: boolean | null;
    flat?: boolean | null;
    vertexColors?: boolean | null;
    size?: number | null;
  };
  lights: Light[];
  ignored: string[];
}
/** What a mesh is compared with: of each of its points the index of another, -1 for none. */
export interface Reference {
  run: string;
  same_run: boolean;
  index: NumbersSpec;
  steps: NumbersSpec;
  walls: NumbersSpec;
}
/** A card as `draw` of dashboard/panels/mesh/panel.py describes it. */
export interface MeshData {
  key: string;
  tag: string;
  run: string;
  light: string;
  dark: string;
  problems: string[];
  looks?: Looks;
  /** By point: when it was, and the points of faces and colors that belong to it. */
  vertices: Record<"steps" | "walls" | "faces" | "colors", NumbersSpec> | null;
  against?: Reference | { error: string } | null;
}

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
  data: MeshData;
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

const BLANK: Looks = { camera: {}, material: {}, lights: [], ignored: [] };

export const cards: Map<string, Card> = new Map();

export const looksOf = (card: Card): Looks => card.data.looks ?? BLANK;

/** Says in place of the picture why there is none; "" where there is one. */
export function complain({ parts }: Card, text: string): void {
  if (!parts || parts.message.textContent === text) return;
  parts.message.hidden = !text;
  parts.message.textContent = text;
}
