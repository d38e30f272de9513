/** How the points of the Projector look: colours, sizes, labels, pictures, lines. Methods of ProjectorPanel in projector_panel.js. */
import * as colours from "./colors.ts";
import * as pictures from "./pictures.ts";
import * as sequences from "./polylines.ts";

export const looks = {
  /** @param name a column, "@..." for trust, "-" for one colour */
  setColour(this: any, name: string) {
    Object.assign(this.state, { color: name, off: [], categorical: "auto" });
    this.tell({ color: name, off: [], categorical: "auto" });
    return this.recolour();
  },

  /** @param how "auto", "on" or "off" */
  setCategorical(this: any, how: string) {
    Object.assign(this.state, { categorical: how, off: [] });
    this.tell({ categorical: how, off: [] });
    return this.recolour();
  },

  /** @param labels categories that are not shown */
  setOff(this: any, labels: string[]) {
    this.state.off = labels;
    this.tell({ off: labels });
    this.mask();
    this.legend.show();
  },

  async recolour(this: any) {
    const { dataset, state } = this;
    if (!dataset) return;
    const name = this.colourBy;
    try {
      if (!name) this.colouring = colours.nothing("");
      else if (colours.TRUST[name]) this.colouring = this.trustColouring(name);
      else {
        const column = await dataset.column(name);
        if (dataset !== this.dataset || name !== this.colourBy) return;
        this.colouring = colours.ofColumn(column, state.categorical);
      }
    } catch (error) {
      if (dataset !== this.dataset) return;
      this.colouring = colours.nothing(name, error.message);
    }
    this.paint();
  },

  trustColouring(this: any, name: string) {
    const [title, about] = colours.TRUST[name];
    const values = this.quality?.points?.[name];
    if (!values) {
      return colours.nothing(
        title,
        this.quality?.state === "running" ? "Being measured…" : "Not measured yet: see Trust on the left.",
      );
    }
    return { ...colours.byNumber(title, values, [colours.quantile(values, 0.02), 1]), note: about };
  },

  /** Colours, visibility and legend again. */
  paint(this: any) {
    if (!this.dataset) return;
    this.view?.setColours(colours.rgba(this.colouring, this.theme, this.dataset.count));
    this.mask();
    this.legend.show();
    this.tools.show();
    this.controls.show();
    this.inspector.show();
    void this.resequence();
  },

  async resize(this: any) {
    const { dataset, state } = this;
    if (!dataset) return;
    const { size } = state;
    if (!size || dataset.infoOf(size)?.kind !== "number") return void this.view?.setSizes(null);
    try {
      const { values } = await dataset.column(size);
      if (dataset === this.dataset && size === this.state.size) {
        this.view?.setSizes(values ? colours.sizes(values) : null);
      }
    } catch (error) {
      this.notify(error.message);
    }
  },

  setSize(this: any, name: string) {
    this.state.size = name;
    this.tell({ size: name });
    return this.resize();
  },

  relabel(this: any) {
    const { dataset } = this;
    const name = this.labelBy;
    // As long as the picture is that of another embedding, its rows are none of this one.
    const mode = name && this.picture ? this.state.labels : "none";
    const texts = (
      rows: ArrayLike<number>,
    ) => (dataset && dataset === this.dataset ? dataset.texts(name, rows) : Array.from(rows, () => ""));
    this.view?.setLabels({ texts, mode });
    this.inspector.show();
    this.tools.show();
  },

  setLabel(this: any, name: string) {
    this.state.label = name;
    this.tell({ label: name });
    this.relabel();
    this.table.refresh();
  },

  /** @param mode "none", "selected", "some" or "all" */
  setLabels(this: any, mode: string) {
    this.state.labels = mode;
    this.tell({ labels: mode });
    this.relabel();
  },

  setSprites(this: any, on: boolean) {
    this.state.sprites = on;
    this.tell({ sprites: on ? "on" : "off" });
    this.tools.show();
    return this.resprite();
  },

  get spriteAddress() {
    const sprite = this.dataset?.info.sprite;
    return sprite ? sprite.url || this.api.address("sprite", this.dataset.at) : "";
  },

  async resprite(this: any) {
    const { dataset } = this;
    const sprite = dataset?.info.sprite;
    if (!sprite || !this.state.sprites) return void this.view?.setSprites(null, false);
    try {
      if (this.sprite?.address !== this.spriteAddress) {
        this.sprite = { address: this.spriteAddress, image: pictures.load(this.spriteAddress, sprite, dataset) };
      }
      const image = await this.sprite.image;
      if (dataset === this.dataset && this.state.sprites) {
        this.view?.setSprites({ image, width: sprite.width, height: sprite.height, across: sprite.across }, true);
      }
    } catch {
      this.notify("The browser cannot show the pictures of this embedding.");
      this.sprite = undefined;
    }
  },

  /** The column that says which point comes next; as TensorBoard has it where none is chosen. */
  get sequenceBy() {
    const { state, dataset } = this;
    if (!dataset || state.sequence === "-") return "";
    if (state.sequence && dataset.infoOf(state.sequence)) return state.sequence;
    return sequences.NEXT_COLUMNS.find((name) => dataset.infoOf(name)) ?? "";
  },

  /** @param name a column, "-" for no lines */
  setSequence(this: any, name: string) {
    this.state.sequence = name;
    this.tell({ sequence: name });
    this.tools.show();
    return this.resequence();
  },

  async resequence(this: any) {
    const { dataset } = this;
    const name = this.sequenceBy;
    if (!dataset || !name) return void this.view?.setLines(new Uint32Array(0), null);
    try {
      const pairs = await sequences.pairsOf(dataset, name, sequences.NEXT_COLUMNS.includes(name));
      if (dataset !== this.dataset || name !== this.sequenceBy) return;
      this.view?.setLines(pairs, sequences.coloursOf(pairs, colours.rgba(this.colouring, this.theme, dataset.count)));
    } catch (error) {
      this.notify(error.message);
    }
  },
};
