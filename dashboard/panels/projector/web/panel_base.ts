/** The state that the layers of the Projector panel share, and the panel's messages. */
import * as settings from "./settings.ts";
import { Api, type Dataset } from "./data.ts";
import { Appearance } from "./appearance.ts";
import { make, storage } from "../../../web/core/dom.ts";
import { retryButton } from "../../../web/cards/loading.ts";
import { NEXT_COLUMNS } from "./polylines.ts";
import { theme } from "./theme.ts";
import type { Bookmarks } from "./bookmarks.ts";
import type { Clusters } from "./clusters.ts";
import type { Controls } from "./controls.ts";
import type { Frame, Job } from "./jobs.ts";
import type { Inspector } from "./inspector.ts";
import type { EmbeddingRow } from "./messages.generated.ts";
import type { Projection } from "./knobs.ts";
import type { Legend } from "./legend.ts";
import type { Quality } from "./quality.ts";
import type { Search } from "./search.ts";
import type { Reported, State } from "./settings.ts";
import type { Steps } from "./steps.ts";
import type { Table } from "./table.ts";
import type { Theme } from "./theme.ts";
import type { Tools } from "./tools.ts";
import type { View } from "./view.ts";

export const SIDES = "stepscope-projector-sides";
const MOST_DEFAULT_COLORS = 50;

export interface Outside {
  /** Address of the routes. */
  api: string;
  /** Opens another embedding. */
  choose: (id: string) => void;
  /** @param unlisted number of checkpoint series left out because there are too many */
  offer: (embeddings: EmbeddingRow[], unlisted: number) => void;
}

/** The content of the picture: coordinates of all points, how many columns they have, and the projection. */
export interface Picture {
  values: Float32Array;
  dimensions: 2 | 3;
  key: Projection;
}

/** The points nearest to one point. */
export interface Nearest {
  row: number;
  rows: number[];
  distances: number[];
  metric: string;
  space: "picture" | "original";
}

/** Why nothing has started: an axis is undefined, there are too few points, or the user has to press Run. */
export type Waiting = "" | "axes" | "few" | "run";

/** How requests identify a picture: the job, which of its steps, and which components are shown. */
export interface PictureOf {
  job: string | undefined;
  frame: number | null;
  components: string | null;
  [name: string]: string | number | null | undefined;
}

/** The source of a selection. */
export type Origin = "cloud" | "table" | "search" | "list" | "legend";

export abstract class PanelBase extends Appearance {
  readonly root: HTMLElement;
  readonly outside: Outside;
  readonly api: Api;
  state: State = settings.read();
  dataset: Dataset | null = null;
  embeddings: EmbeddingRow[] = [];
  loading = 0;
  /** Whether the embedding named in the address was missing; it may still appear. */
  isMissing = false;
  theme: Theme;
  job: Job | null = null;
  /** Steps that are projected together; null for a single one. */
  stepsOfJob: number[] | null = null;
  waiting: Waiting = "";
  /** The components of a principal component analysis, of which two or three are shown. */
  frame10: Partial<Frame> | null = null;
  picture: Picture | null = null;
  quality: Quality | null = null;
  selection: Uint32Array = new Uint32Array(0);
  focus = -1;
  nearest: Nearest | null = null;
  nearestProblem = "";
  isolated: Uint32Array | null = null;
  hidden = new Set<number>();
  found: Uint32Array | null = null;
  /** Which points are drawn (1), faded (2), or left out (0); null for all. */
  visible: Uint8Array | null = null;
  visibleCount: number | null = null;
  /** Whether the selection is too large for the address. */
  linkTooLong = false;

  /** Which columns beside the cloud are wanted; if unspecified, those that fit. */
  readonly sides: { left?: boolean; right?: boolean } = JSON.parse(storage.get(SIDES) || "{}");
  readonly tip = make("div", { className: "pj-tip", hidden: true });
  readonly message = make("div", { className: "pj-message", role: "status" });
  readonly status = make("div", { className: "pj-status", hidden: true });
  readonly news = make("div", { className: "pj-news", role: "status", hidden: true });
  readonly cloud = make("div", { className: "pj-cloud" });
  abstract readonly stage: HTMLElement;
  abstract readonly frame: HTMLElement;
  abstract override readonly view: View;
  abstract override readonly legend: Legend;
  abstract override readonly tools: Tools;
  abstract readonly steps: Steps;
  abstract override readonly controls: Controls;
  abstract readonly search: Search;
  abstract override readonly inspector: Inspector;
  abstract readonly clusters: Clusters;
  abstract readonly bookmarks: Bookmarks;
  abstract override readonly table: Table;

  constructor(host: HTMLElement, outside: Outside) {
    super();
    this.root = host;
    this.outside = outside;
    this.api = new Api(outside.api);
    this.theme = theme.read(host);
  }

  abstract findNearest(): Promise<void>;

  // ---- which columns

  /** Returns the column chosen for a purpose, or else the best available. "-" is none. */
  columnFor(chosen: string, purpose: "color" | "label"): string {
    const { dataset } = this;
    if (!dataset || chosen === "-") return "";
    if (chosen && (chosen.startsWith("@") || dataset.infoOf(chosen))) return chosen;
    const usable = dataset.columnInfos.filter(({ name }) => !NEXT_COLUMNS.includes(name));
    // Of columns whose values many points share, the one they are colored by is the most telling.
    if (purpose === "label") {
      const name = usable.find(({ kind, categories }) =>
        kind === "text" && (categories === null || categories > MOST_DEFAULT_COLORS)
      );
      return name?.name ?? (this.columnFor("", "color") || (usable[0]?.name ?? ""));
    }
    const grouped = usable.flatMap(({ name, kind, categories }) =>
      categories !== null && categories > 1 && (kind === "text" || categories <= MOST_DEFAULT_COLORS)
        ? [{ name, categories }]
        : []
    );
    const few = grouped.filter(({ categories }) => categories <= MOST_DEFAULT_COLORS);
    const named = few.find(({ name }) => /label|class|categor|type|cluster|target/i.test(name));
    // If every text had its own color, the colors would tell nothing.
    const many = grouped.find(({ categories }) => categories * 2 <= dataset.count);
    return (named ?? few[0] ?? many ??
      usable.find(({ kind, minimum, maximum }) => kind === "number" && minimum !== maximum))?.name ?? "";
  }

  get colorBy(): string {
    return this.columnFor(this.state.color, "color");
  }

  get labelBy(): string {
    return this.columnFor(this.state.label, "label");
  }

  // ---- messages

  /** Writes settings to the address. */
  tell(reported: Reported): void {
    // Another panel may own the page by now.
    if (this.root.isConnected) settings.tell(reported);
  }

  /** @param again set if asking once more may help */
  say(text: string, sort: "" | "busy" | "bad" = "", again?: () => unknown): void {
    this.message.textContent = text;
    if (again) this.message.append(retryButton(again));
    this.message.className = `pj-message ${sort}`;
    this.message.hidden = !text;
  }

  /** Shows a message that leaves the picture as it is. */
  notify(text: string, sort: "problem" | "info" = "problem"): void {
    if (!text) return;
    this.stage.querySelector(".pj-toast")?.remove();
    const note = make("div", { className: `pj-toast ${sort}`, role: sort === "info" ? "status" : "alert" }, text);
    this.stage.append(note);
    setTimeout(() => note.remove(), sort === "info" ? 2500 : 7000);
  }
}
