/** How the points of the Projector look: colors, sizes, labels, pictures, lines. The panel builds on it. */
import * as colors from "./colors.ts";
import * as pictures from "./pictures.ts";
import * as polylines from "./polylines.ts";
import { messageOf } from "../../../web/core/request.ts";
import type { Api, Dataset } from "./data.ts";
import type { LabelMode } from "./labels.ts";
import type { Reported, State } from "./settings.ts";
import type { Sheet } from "./sprites.ts";
import type { Theme } from "./theme.ts";
import type { View } from "./view.ts";

/** A part of the panel that shows what has changed. */
interface Shown {
  show(): void;
}

export abstract class Appearance {
  abstract readonly api: Api;
  abstract state: State;
  abstract dataset: Dataset | null;
  abstract theme: Theme;
  abstract readonly view: View | null;
  /** What the picture contains; null before there is one. */
  abstract picture: object | null;
  /** How far the picture can be trusted: each measure at each point. */
  abstract quality: { state: string; points?: Record<string, Float32Array | null | undefined> } | null;
  abstract readonly colorBy: string;
  abstract readonly labelBy: string;
  abstract readonly legend: Shown;
  abstract readonly tools: Shown;
  abstract readonly controls: Shown;
  abstract readonly inspector: Shown;
  abstract readonly table: { refresh(): void };
  abstract tell(reported: Reported): void;
  abstract notify(text: string): void;
  /** Determines which points are shown. */
  abstract mask(): void;

  coloring = colors.nothing("");
  /** The image that is loading or loaded. */
  sprite: { address: string; image: Promise<Sheet["image"]> } | null = null;

  /** @param name a column, "@..." for trust, "-" for a single color */
  setColor(name: string): Promise<void> {
    Object.assign(this.state, { color: name, off: [], categorical: "auto" });
    this.tell({ color: name, off: [], categorical: "auto" });
    return this.recolor();
  }

  setCategorical(how: State["categorical"]): Promise<void> {
    Object.assign(this.state, { categorical: how, off: [] });
    this.tell({ categorical: how, off: [] });
    return this.recolor();
  }

  /** @param labels categories to hide */
  setOff(labels: string[]): void {
    this.state.off = labels;
    this.tell({ off: labels });
    this.mask();
    this.legend.show();
  }

  async recolor(): Promise<void> {
    const { dataset, state } = this;
    if (!dataset) return;
    const name = this.colorBy;
    try {
      if (!name) this.coloring = colors.nothing("");
      else if (colors.TRUST[name]) this.coloring = this.trustColoring(name);
      else {
        const column = await dataset.column(name);
        if (dataset !== this.dataset || name !== this.colorBy) return;
        this.coloring = colors.ofColumn(column, state.categorical);
      }
    } catch (error) {
      if (dataset !== this.dataset || name !== this.colorBy) return;
      this.coloring = colors.nothing(name, messageOf(error));
    }
    this.paint();
  }

  trustColoring(name: string): colors.Coloring {
    const [title, note] = colors.TRUST[name];
    const values = this.quality?.points?.[name];
    if (values) return { ...colors.byNumber(title, values, [colors.quantile(values, 0.02), 1]), note };
    const measured = this.quality?.state === "running";
    return colors.nothing(title, measured ? "Measuring…" : "Not measured yet: see Trust on the left.");
  }

  /** Redraws colors, visibility, and the legend. */
  paint(): void {
    if (!this.dataset) return;
    this.view?.setColors(colors.rgba(this.coloring, this.theme, this.dataset.count));
    this.mask();
    for (const part of [this.legend, this.tools, this.controls, this.inspector]) part.show();
    void this.resequence();
  }

  async resize(): Promise<void> {
    const { dataset } = this;
    const { size } = this.state;
    if (!dataset) return;
    if (!size || dataset.infoOf(size)?.kind !== "number") return this.view?.setSizes(null);
    try {
      const column = await dataset.column(size);
      if (dataset !== this.dataset || size !== this.state.size) return;
      this.view?.setSizes(column.kind === "number" && column.values ? colors.sizes(column.values) : null);
    } catch (error) {
      this.notify(messageOf(error));
    }
  }

  setSize(name: string): Promise<void> {
    this.state.size = name;
    this.tell({ size: name });
    return this.resize();
  }

  relabel(): void {
    const { dataset } = this;
    const name = this.labelBy;
    const texts = (rows: Uint32Array) =>
      dataset && dataset === this.dataset ? dataset.texts(name, rows) : Array.from(rows, () => "");
    // While the picture is still of another embedding, its rows do not belong to this one.
    this.view?.setLabels({ texts, mode: name && this.picture ? this.state.labels : "none" });
    this.inspector.show();
    this.tools.show();
  }

  setLabel(name: string): void {
    this.state.label = name;
    this.tell({ label: name });
    this.relabel();
    this.table.refresh();
  }

  setLabels(mode: LabelMode): void {
    this.state.labels = mode;
    this.tell({ labels: mode });
    this.relabel();
  }

  setSprites(on: boolean): Promise<void> {
    this.state.sprites = on;
    this.tell({ sprites: on });
    this.tools.show();
    return this.resprite();
  }

  get spriteAddress(): string {
    const { dataset } = this;
    return dataset?.info.sprite ? dataset.info.sprite.url || this.api.address("sprite", dataset.at) : "";
  }

  async resprite(): Promise<void> {
    const { dataset } = this;
    const sprite = dataset?.info.sprite;
    if (!dataset || !sprite || !this.state.sprites) return this.view?.setSprites(null, false);
    try {
      const address = this.spriteAddress;
      if (this.sprite?.address !== address) this.sprite = { address, image: pictures.load(address, sprite, dataset) };
      const image = await this.sprite.image;
      if (dataset !== this.dataset || !this.state.sprites) return;
      this.view?.setSprites({ image, width: sprite.width, height: sprite.height, across: sprite.across }, true);
    } catch {
      this.notify("The browser cannot show the sprite images of this embedding.");
      this.sprite = null;
    }
  }

  /** The column that says which point comes next; if none is chosen, the one TensorBoard uses. */
  get sequenceBy(): string {
    const { state, dataset } = this;
    if (!dataset || state.sequence === "-") return "";
    if (state.sequence && dataset.infoOf(state.sequence)) return state.sequence;
    return polylines.NEXT_COLUMNS.find((name) => dataset.infoOf(name)) ?? "";
  }

  /** @param name a column, "-" for no lines */
  setSequence(name: string): Promise<void> {
    this.state.sequence = name;
    this.tell({ sequence: name });
    this.tools.show();
    return this.resequence();
  }

  async resequence(): Promise<void> {
    const { dataset } = this;
    const name = this.sequenceBy;
    if (!dataset || !name) return this.view?.setLines(new Uint32Array(0), null);
    try {
      const pairs = await polylines.pairsOf(dataset, name);
      if (dataset !== this.dataset || name !== this.sequenceBy) return;
      this.view?.setLines(pairs, polylines.colorsOf(pairs, colors.rgba(this.coloring, this.theme, dataset.count)));
    } catch (error) {
      this.notify(messageOf(error));
    }
  }
}
