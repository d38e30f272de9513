/** Bookmarks of the Projector panel: kept per embedding, read and written as TensorBoard's JSON. */
import * as states from "./bookmark_states.ts";
import { METHODS, writeKnobs } from "./knobs.ts";
import { writeRows } from "./rows.ts";
import { settings } from "./settings.generated.ts";
import { entry } from "./lists.ts";
import { button, fold, make, remark } from "./widgets.ts";
import { bind } from "../../../web/core/commands.ts";
import { iconButton, storage } from "../../../web/core/dom.ts";
import { saveText } from "../../../web/core/download.ts";
import { messageOf } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import type { Bookmark, Given } from "./bookmark_states.ts";
import type { Dataset } from "./data.ts";
import type { ProjectorPanel } from "./panel.ts";

const KEY = "stepscope-projector-bookmarks";
const MOST_KEPT = 50;
const LARGEST = 64e6;

/** @param own whether it can be deleted: bookmarks that come with the data cannot */
interface Kept {
  state: Given;
  own: boolean;
}

/** What the browser remembers of an embedding; empty if it is not ours or is truncated. */
function stored(key: string): Given[] {
  try {
    const found: unknown = JSON.parse(storage.get(key) || "[]");
    return Array.isArray(found) ? found.filter(states.isBookmark) : [];
  } catch {
    return [];
  }
}

export class Bookmarks {
  readonly panel: ProjectorPanel;
  kept: Kept[] = [];
  /** The embedding that the bookmarks belong to. */
  dataset: Dataset | null = null;
  readonly list = make("div", { className: "pj-bookmarks" });
  readonly file = make("input", {
    type: "file",
    accept: ".json,.txt,application/json",
    hidden: true,
    "aria-label": "Bookmarks file",
  });
  readonly element;

  constructor(panel: ProjectorPanel) {
    this.panel = panel;
    this.file.addEventListener("change", () => this.file.files?.[0] && this.load(this.file.files[0]));
    this.element = fold(
      "bookmarks",
      "Bookmarks",
      false,
      this.list,
      make(
        "div",
        { className: "pj-row" },
        button("Save", "Save this view as a bookmark", () => this.add()),
        button("Download", "All bookmarks as a file that TensorBoard reads", () => this.download()),
        button("Upload", "Load bookmarks from a file in TensorBoard's format", () => this.file.click()),
      ),
      this.file,
    );
  }

  get key(): string {
    return `${KEY}:${this.dataset?.id ?? ""}`;
  }

  /** Bookmarks from the data come first; those saved here are remembered by the browser. */
  read(dataset: Dataset): void {
    if (this.dataset === dataset) return;
    this.dataset = dataset;
    const written = dataset.info.bookmarks.filter(states.isBookmark);
    this.kept = [
      ...written.map((state) => ({ state, own: false })),
      ...stored(this.key).map((state) => ({ state, own: true })),
    ];
  }

  store(): void {
    const own = this.kept.filter((one) => one.own);
    storage.set(this.key, JSON.stringify(own.map(({ state }) => ({ ...state, projections: [] }))));
  }

  show(): void {
    const { dataset } = this.panel;
    this.element.hidden = !dataset;
    if (!dataset) return;
    this.read(dataset);
    // Do not interrupt a user who is naming a bookmark: the list is redrawn afterwards.
    if (this.list.querySelector("input:focus")) return;
    this.element.note.textContent = this.kept.length ? String(this.kept.length) : "";
    const rows = this.kept.map(({ state, own }, at) => {
      const name = state.label || `Bookmark ${at + 1}`;
      const how = { title: `Show ${name}`, still: true };
      const shown = entry(name, own ? "" : "of the data", how, () => void applyBookmark(this.panel, state));
      const drop = iconButton("close", `Delete ${name}`, () => this.drop(at), 13);
      return make("div", { className: "pj-row" }, shown, ...(own ? [drop] : []));
    });
    const nothing = remark("A bookmark keeps the projection, the camera, the selection and the colors.");
    this.list.replaceChildren(...(rows.length ? rows : [nothing]));
  }

  drop(at: number): void {
    this.kept.splice(at, 1);
    this.store();
    this.show();
  }

  add(): void {
    const { panel } = this;
    const { dataset, picture, state: { projection } } = panel;
    if (!dataset || !picture) return;
    if (this.kept.filter((one) => one.own).length >= MOST_KEPT) {
      return panel.notify(`At most ${MOST_KEPT} bookmarks are kept: delete one first.`);
    }
    const state = bookmarkOf(panel, dataset, `${METHODS[projection].title} ${this.kept.length + 1}`);
    this.kept.push({ state, own: true });
    this.store();
    this.show();
    const input = make("input", {
      type: "text",
      className: "pj-input small",
      value: state.label,
      "aria-label": "Name of the bookmark",
    });
    this.list.lastElementChild?.querySelector(".pj-result")?.replaceWith(input);
    input.select();
    input.focus();
    const done = () => input.blur();
    bind(input, { Enter: done, Escape: done });
    input.addEventListener("blur", () => {
      state.label = input.value.trim() || state.label;
      this.store();
      this.show();
    }, { once: true });
  }

  download(): void {
    const { dataset } = this.panel;
    if (!dataset) return;
    const all = this.kept.length ? this.kept.map(({ state }) => state) : [bookmarkOf(this.panel, dataset, "View")];
    saveText(JSON.stringify(all), "state.txt", "application/json");
  }

  async load(file: File): Promise<void> {
    const { panel } = this;
    const { dataset } = panel;
    this.file.value = "";
    if (!dataset) return;
    try {
      if (file.size > LARGEST) throw new Error(`${file.name} is larger than ${LARGEST / 1e6} MB.`);
      const given = states.bookmarksOf(await file.text(), file.name, dataset.count, dataset.info.dimensions);
      this.kept.push(...given.slice(0, MOST_KEPT).map((state) => ({ state, own: true })));
      this.store();
      this.show();
      await applyBookmark(panel, given[0]);
    } catch (error) {
      panel.notify(messageOf(error));
    }
  }
}

/** Returns the view as a bookmark. */
export function bookmarkOf(panel: ProjectorPanel, { count, info }: Dataset, label: string): Bookmark {
  const { state, picture, selection, isolated } = panel;
  const { axes, projection, components, dimensions, methods: { tsne, umap } } = state;
  // The address follows a camera only once it rests.
  panel.tellCamera();
  const text = (end: string) => (end.startsWith("rows:") ? "" : end.slice(end.indexOf(":") + 1));
  const regex = (end: string) => end.startsWith("regex:");
  return {
    label,
    isSelected: false,
    tSNEIteration: projection === "tsne" ? panel.job?.frame?.iteration ?? 0 : 0,
    tSNEPerplexity: tsne.perplexity,
    tSNELearningRate: tsne.learning_rate ?? 10,
    tSNEis3d: dimensions === 3,
    umapIs3d: dimensions === 3,
    umapNeighbors: umap.neighbors,
    umapMinDist: umap.minimum_distance,
    pcaComponentDimensions: components.slice(0, dimensions),
    projections: picture ? states.placesOf(picture, projection, components) : [],
    selectedPoints: Array.from(selection),
    filteredPoints: isolated ? Array.from(isolated) : null,
    shuffledDataIndices: [],
    selectedProjection: projection === "random" ? "pca" : projection,
    dataSetDimensions: [count, info.dimensions],
    cameraDef: states.cameraDef(panel.view.camera()),
    selectedColorOptionName: panel.columnOfColors,
    forceCategoricalColoring: state.categorical === "on",
    selectedLabelOption: panel.labelBy,
    customSelectedSearchByMetadataOption: axes.in,
    customXLeftText: text(axes.left),
    customXLeftRegex: regex(axes.left),
    customXRightText: text(axes.right),
    customXRightRegex: regex(axes.right),
    customYUpText: text(axes.up),
    customYUpRegex: regex(axes.up),
    customYDownText: text(axes.down),
    customYDownRegex: regex(axes.down),
    stepscope: { query: view.query() },
  };
}

/** Whether TensorBoard showed a projection in 2-D. */
function isFlat(bookmark: Given, projection: string): boolean {
  if (projection === "pca") return (bookmark.pcaComponentDimensions?.length ?? 2) < 3;
  if (projection === "tsne") return bookmark.tSNEis3d === false;
  return projection !== "umap" || bookmark.umapIs3d === false;
}

/** @param bookmark ours or TensorBoard's */
export async function applyBookmark(panel: ProjectorPanel, bookmark: Given): Promise<void> {
  const { state, dataset } = panel;
  if (!dataset) return;
  const isRow = (row: unknown) => Number.isInteger(row) && Number(row) >= 0 && Number(row) < dataset.count;
  const rows = (list: unknown) => Uint32Array.from(Array.isArray(list) ? list.filter(isRow) : []).sort();
  const own = bookmark.stepscope?.query;
  if (typeof own === "string") {
    return applyQuery(panel, own, rows(bookmark.selectedPoints), rows(bookmark.filteredPoints));
  }
  const known = (name: string | undefined, otherwise: string) => (name && dataset.infoOf(name) ? name : otherwise);
  const number = (value: unknown, otherwise: typeof state.methods.tsne.perplexity) =>
    typeof value === "number" && value > 0 && Number.isFinite(value) ? value : otherwise;
  const { selectedProjection: wanted = "" } = bookmark;
  const projection = settings.projection.parse([wanted]);
  const { tsne, umap } = state.methods;
  state.projection = projection;
  state.dimensions = isFlat(bookmark, projection) ? 2 : 3;
  const components = (bookmark.pcaComponentDimensions ?? []).filter((one) => Number.isInteger(one) && one >= 0);
  state.components = [...components, ...[0, 1, 2].filter((one) => !components.includes(one))].slice(0, 3);
  // TensorBoard's learning rate is on another scale, so it is left unchanged.
  tsne.perplexity = number(bookmark.tSNEPerplexity, tsne.perplexity);
  umap.neighbors = number(bookmark.umapNeighbors, umap.neighbors);
  umap.minimum_distance = number(bookmark.umapMinDist, umap.minimum_distance);
  const end = (text = "", regex = false) => text && `${regex ? "regex" : "text"}:${text}`;
  const ends = {
    left: end(bookmark.customXLeftText, bookmark.customXLeftRegex),
    right: end(bookmark.customXRightText, bookmark.customXRightRegex),
    down: end(bookmark.customYDownText, bookmark.customYDownRegex),
    up: end(bookmark.customYUpText, bookmark.customYUpRegex),
  };
  state.axes = { ...ends, in: known(bookmark.customSelectedSearchByMetadataOption, "") };
  state.color = known(bookmark.selectedColorOptionName, state.color);
  state.categorical = bookmark.forceCategoricalColoring ? "on" : "auto";
  state.label = known(bookmark.selectedLabelOption, state.label);
  panel.tell({
    projection,
    dims: state.dimensions === 3 ? "3" : "2",
    components: state.components.map((one) => one + 1).join(","),
    tsne: writeKnobs("tsne", tsne),
    umap: writeKnobs("umap", umap),
    ...ends,
    axesIn: state.axes.in,
    color: state.color,
    categorical: state.categorical,
    label: state.label,
  });
  panel.isolated = bookmark.filteredPoints?.length ? rows(bookmark.filteredPoints) : null;
  panel.hidden.clear();
  panel.tellShown();
  panel.showAll();
  await panel.recolor();
  panel.relabel();
  // Before the first picture, which would otherwise fit everything.
  const camera = states.cameraOf(bookmark.cameraDef, state.dimensions);
  if (camera) {
    state.camera = camera;
    panel.view.setCamera(camera);
  }
  await panel.project({ keepCamera: Boolean(camera) });
  panel.select(rows(bookmark.selectedPoints));
  // Show the places in the bookmark until the projection has its own.
  const { projections } = bookmark;
  if (projection === "pca" || panel.job?.ended || panel.job?.frame?.coordinates) return;
  if (!Array.isArray(projections) || projections.length !== dataset.count) return;
  const places = states.coordinatesOf(projections, projection, state.dimensions);
  if (places) panel.showFrame(places, { glide: true, keepCamera: Boolean(camera) });
}

/**
 * Our views are addresses: only the projector's part of one is applied.
 * @param selected if these are too many for an address
 * @param isolated the same
 */
function applyQuery(panel: ProjectorPanel, query: string, selected: Uint32Array, isolated: Uint32Array): void {
  const given = new URLSearchParams(query);
  const kept = [settings.id.name, settings.step.name, settings.table.name];
  view.update((params, set) => {
    for (const { name } of Object.values(settings)) {
      if (kept.includes(name)) continue;
      if (given.has(name)) set(name, given.getAll(name));
      else params.delete(name);
    }
  }, true);
  const whole = ({ name }: { name: string }, rows: Uint32Array) => given.get(name) ?? writeRows(rows, Infinity) ?? "";
  void panel.restore({ rows: whole(settings.rows, selected), isolate: whole(settings.isolate, isolated) });
}
