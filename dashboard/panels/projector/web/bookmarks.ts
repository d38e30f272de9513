// @ts-nocheck
/** Bookmarks of the Projector panel: kept for each embedding, read and written as TensorBoard's JSON. */
import * as parts from "./parts.ts";
import * as projectorCamera from "./camera.ts";
import * as settings from "./settings.ts";
import { METHODS } from "./settings.ts";
import { storage } from "../../../web/core/dom.ts";
import { view } from "../../../web/page/view.ts";

const KEY = "stepscope-projector-bookmarks";
/** Points whose places go into a bookmark; with more it has the settings alone. */
const MOST_PLACES = 20_000;
const MOST_KEPT = 50;
const LARGEST = 64e6;
/** Of TensorBoard's cameras: half the view of the one in space, and how much the flat one shows at zoom 1. */
const EYE = (35 * Math.PI) / 180;
const FLAT = 1.2;

export class Bookmarks {
  panel;
  kept: any[] = [];
  of = "";
  list;
  file: HTMLInputElement;
  element;
  dataset: any;

  /** @param panel of projector_panel.js */
  constructor(panel: any) {
    const { make, button, fold } = parts;
    this.panel = panel;
    this.list = make("div", { className: "pj-bookmarks" });
    this.file = make("input", {
      type: "file",
      accept: ".json,.txt,application/json",
      hidden: true,
      "aria-label": "File of bookmarks",
    }) as HTMLInputElement;
    this.file.addEventListener("change", () => this.file.files?.[0] && this.load(this.file.files[0]));
    this.element = fold(
      "bookmarks",
      "Bookmarks",
      false,
      this.list,
      make(
        "div",
        { className: "pj-row" },
        button("Save", "Keep this view", () => this.add()),
        button("Download", "All bookmarks as a file that TensorBoard reads", () => this.download()),
        button("Upload", "Bookmarks of a file, as TensorBoard writes them", () => this.file.click()),
      ),
      this.file,
    );
  }

  /** Those of the data come first; those that were kept here are remembered by the browser. */
  read() {
    const { dataset } = this.panel;
    const of = dataset ? dataset.id : "";
    if (this.of === of && this.dataset === dataset) return;
    this.of = of;
    this.dataset = dataset;
    let stored = [];
    try {
      stored = JSON.parse(storage.get(`${KEY}:${of}`) || "[]");
    } catch {
      // Not ours, or cut short.
    }
    const written = (dataset?.info.bookmarks ?? []).map((state: any) => ({ state, own: false }));
    this.kept = [...written, ...(Array.isArray(stored) ? stored : []).map((state) => ({ state, own: true }))];
  }

  store() {
    storage.set(
      `${KEY}:${this.of}`,
      JSON.stringify(this.kept.filter((one) => one.own).map((one) => ({ ...one.state, projections: [] }))),
    );
  }

  show() {
    const { panel } = this;
    const { make, iconButton } = parts;
    this.element.hidden = !panel.dataset;
    if (!panel.dataset) return;
    this.read();
    this.element.note.textContent = this.kept.length ? String(this.kept.length) : "";
    this.list.replaceChildren(
      ...this.kept.map((one, at) => {
        const name = one.state.label || `Bookmark ${at + 1}`;
        const apply = make(
          "button",
          { type: "button", className: "pj-result still", title: `Show ${name}` },
          make("bdi", {}, name),
          make("span", { className: "pj-count" }, one.own ? "" : "of the data"),
        );
        apply.addEventListener("click", () => this.apply(one.state));
        const drop = one.own
          ? [iconButton("close", `Delete ${name}`, () => {
            this.kept.splice(at, 1);
            this.store();
            this.show();
          })]
          : [];
        return make("div", { className: "pj-row" }, apply, ...drop);
      }),
      ...(this.kept.length ? [] : [
        make(
          "p",
          { className: "pj-note" },
          "A bookmark keeps the projection, the camera, the selection and the colours.",
        ),
      ]),
    );
  }

  add() {
    const { panel } = this;
    if (!panel.picture) return;
    const own = this.kept.filter((one) => one.own).length;
    if (own >= MOST_KEPT) return panel.notify(`At most ${MOST_KEPT} bookmarks are kept: delete one first.`);
    const state = bookmarkOf(panel, `${METHODS[panel.state.projection].title} ${this.kept.length + 1}`);
    this.kept.push({ state, own: true });
    this.store();
    this.show();
    const last = this.list.lastElementChild?.querySelector("bdi") as HTMLElement;
    const input = parts.make("input", {
      type: "text",
      className: "pj-input small",
      value: state.label,
      "aria-label": "Name of the bookmark",
    });
    last?.parentElement?.replaceWith(input);
    input.select();
    input.focus();
    const done = () => {
      state.label = input.value.trim() || state.label;
      this.store();
      this.show();
    };
    input.addEventListener("keydown", (event: KeyboardEvent) => {
      event.stopPropagation();
      if (event.key === "Enter" || event.key === "Escape") input.blur();
    });
    input.addEventListener("blur", done, { once: true });
  }

  download() {
    const { panel } = this;
    const states = this.kept.length ? this.kept.map((one) => one.state) : [bookmarkOf(panel, "View")];
    parts.saveBlob(new Blob([JSON.stringify(states)], { type: "application/json" }), "state.txt");
  }

  async load(file: File) {
    const { panel } = this;
    this.file.value = "";
    try {
      if (file.size > LARGEST) throw new Error(`${file.name} is larger than ${LARGEST / 1e6} MB.`);
      let states;
      try {
        states = JSON.parse(await file.text());
      } catch {
        throw new Error(
          `${file.name} is no JSON; bookmarks are a list of states, as TensorBoard's projector saves them.`,
        );
      }
      if (
        !Array.isArray(states) || !states.length || states.some((state) => typeof state !== "object" || state === null)
      ) throw new Error(`${file.name} holds no list of bookmarks.`);
      const [count, dimensions] = [panel.dataset.count, panel.dataset.info.dimensions];
      const other = states.find((state) =>
        Array.isArray(state.dataSetDimensions) &&
        (state.dataSetDimensions[0] !== count || state.dataSetDimensions[1] !== dimensions)
      );
      if (other) {
        throw new Error(
          `The bookmarks are of ${other.dataSetDimensions.join(" × ")} data, but ${count} × ${dimensions} are open.`,
        );
      }
      this.kept.push(...states.slice(0, MOST_KEPT).map((state) => ({ state, own: true })));
      this.store();
      this.show();
      await this.apply(states[0]);
    } catch (error) {
      panel.notify(error.message);
    }
  }

  apply(state: any) {
    return applyBookmark(this.panel, state);
  }
}

/**
 * The view with the names of TensorBoard's `State` (tensorboard/plugins/projector/vz_projector/data.ts); what it has
 * no field for is under "stepscope".
 */
export function bookmarkOf(panel: any, label: string) {
  const { state, dataset, picture, selection, isolated } = panel;
  const tsne = state.methods.tsne;
  const umap = state.methods.umap;
  const text = (end: string) => ({
    text: end.startsWith("rows:") ? "" : end.slice(end.indexOf(":") + 1),
    regex: end.startsWith("regex:"),
  });
  const [left, right, up, down] = [state.axes.left, state.axes.right, state.axes.up, state.axes.down].map(text);
  const camera = cameraDef(panel.view?.camera() ?? "");
  return {
    label,
    isSelected: false,
    tSNEIteration: state.projection === "tsne" ? panel.job?.frame?.iteration ?? 0 : 0,
    tSNEPerplexity: tsne.perplexity,
    tSNELearningRate: tsne.learning_rate ?? 10,
    tSNEis3d: state.dimensions === 3,
    umapIs3d: state.dimensions === 3,
    umapNeighbors: umap.neighbours,
    umapMinDist: umap.minimum_distance,
    pcaComponentDimensions: state.components.slice(0, state.dimensions),
    projections: places(picture, state, dataset.count),
    selectedPoints: Array.from(selection),
    filteredPoints: isolated ? Array.from(isolated) : null,
    shuffledDataIndices: [],
    selectedProjection: state.projection === "random" ? "pca" : state.projection,
    dataSetDimensions: [dataset.count, dataset.info.dimensions],
    cameraDef: camera,
    selectedColorOptionName: panel.colourBy.startsWith("@") ? "" : panel.colourBy,
    forceCategoricalColoring: state.categorical === "on",
    selectedLabelOption: panel.labelBy,
    customSelectedSearchByMetadataOption: state.axes.in,
    customXLeftText: left.text,
    customXLeftRegex: left.regex,
    customXRightText: right.text,
    customXRightRegex: right.regex,
    customYUpText: up.text,
    customYUpRegex: up.regex,
    customYDownText: down.text,
    customYDownRegex: down.regex,
    stepscope: { query: view.query() },
  };
}

/**
 * Our camera as TensorBoard's: an eye at a place that looks at another, with a view of 70 degrees, or flat with a zoom.
 * @param text of projector_camera.js
 */
function cameraDef(text: string) {
  const found = projectorCamera?.read(text);
  if (!found || found.dimensions === 2) {
    return {
      orthographic: true,
      position: [found?.camera.x ?? 0, found?.camera.y ?? 0, 4],
      target: [found?.camera.x ?? 0, found?.camera.y ?? 0, 0],
      zoom: (found?.camera.zoom ?? 1) * FLAT,
    };
  }
  const { az, el, zoom, x, y, z } = found.camera;
  const away = 1 / (zoom * Math.sin(EYE));
  const [a, e] = [(az * Math.PI) / 180, (el * Math.PI) / 180];
  return {
    orthographic: false,
    position: [x + away * Math.cos(e) * Math.sin(a), y + away * Math.sin(e), z + away * Math.cos(e) * Math.cos(a)],
    target: [x, y, z],
    zoom: 1,
  };
}

/**
 * @param def TensorBoard's `cameraDef`
 * @returns empty where it is none
 */
function cameraOf(def: any, dimensions: number): string {
  const place = (list: any) => Array.isArray(list) && list.length === 3 && list.every(Number.isFinite);
  if (!place(def?.position) || !place(def?.target) || !projectorCamera) return "";
  const [x, y, z] = def.target;
  if (dimensions === 2) {
    return projectorCamera.written({
      ...projectorCamera.first(2),
      x,
      y,
      zoom: Math.max(Number(def.zoom) || 1, 1e-3) / FLAT,
    }, 2);
  }
  const [dx, dy, dz] = def.position.map((one: number, axis: number) => one - def.target[axis]);
  const away = Math.max(Math.hypot(dx, dy, dz), 1e-6);
  return projectorCamera.written({
    ...projectorCamera.first(3),
    az: (Math.atan2(dx, dz) * 180) / Math.PI,
    el: (Math.asin(dy / away) * 180) / Math.PI,
    zoom: ((Number(def.zoom) || 1) * 1) / (away * Math.sin(EYE)),
    x,
    y,
    z,
  }, 3);
}

/** Where each point lies, under the names of TensorBoard's projections. */
function places(picture: any, state: any, count: number) {
  if (!picture || count > MOST_PLACES) return [];
  const names = state.projection === "pca"
    ? state.components.map((one: number) => `pca-${one}`)
    : state.projection === "custom"
    ? ["linear-x", "linear-y"]
    : [0, 1, 2].map((axis) => `${state.projection}-${axis}`);
  const { values, dimensions } = picture;
  return Array.from(
    { length: count },
    (_, row) =>
      Object.fromEntries(
        Array.from(
          { length: dimensions },
          (_unused, axis) => [names[axis], Number(values[row * dimensions + axis].toPrecision(6))],
        ),
      ),
  );
}

/** @param bookmark ours or TensorBoard's */
export async function applyBookmark(panel: any, bookmark: any) {
  const own = bookmark.stepscope?.query;
  if (typeof own === "string") return applyQuery(panel, own);
  const { state, dataset } = panel;
  const rows = (
    list: any,
  ) => (Array.isArray(list)
    ? Uint32Array.from(list.filter((row) => Number.isInteger(row) && row >= 0 && row < dataset.count)).sort()
    : new Uint32Array(0));
  const projection = METHODS[bookmark.selectedProjection] ? bookmark.selectedProjection : "pca";
  const flat = projection === "pca"
    ? (bookmark.pcaComponentDimensions?.length ?? 2) < 3
    : projection === "tsne"
    ? bookmark.tSNEis3d === false
    : projection === "umap"
    ? bookmark.umapIs3d === false
    : true;
  state.projection = projection;
  state.dimensions = flat ? 2 : 3;
  const wanted = (bookmark.pcaComponentDimensions ?? []).filter((one: any) => Number.isInteger(one) && one >= 0);
  state.components = [...wanted, ...[0, 1, 2].filter((one) => !wanted.includes(one))].slice(0, 3);
  const number = (value: any, otherwise: any) => (Number.isFinite(value) && value > 0 ? value : otherwise);
  // TensorBoard's learning rate is of another scale: it is left as it is.
  state.methods.tsne.perplexity = number(bookmark.tSNEPerplexity, state.methods.tsne.perplexity);
  state.methods.umap.neighbours = number(bookmark.umapNeighbors, state.methods.umap.neighbours);
  state.methods.umap.minimum_distance = number(bookmark.umapMinDist, state.methods.umap.minimum_distance);
  const end = (
    name: string,
  ) => (bookmark[`custom${name}Text`]
    ? `${bookmark[`custom${name}Regex`] ? "regex" : "text"}:${bookmark[`custom${name}Text`]}`
    : "");
  state.axes = {
    left: end("XLeft"),
    right: end("XRight"),
    down: end("YDown"),
    up: end("YUp"),
    in: dataset.infoOf(bookmark.customSelectedSearchByMetadataOption ?? "")
      ? bookmark.customSelectedSearchByMetadataOption
      : "",
  };
  state.color = dataset.infoOf(bookmark.selectedColorOptionName ?? "") ? bookmark.selectedColorOptionName : state.color;
  state.categorical = bookmark.forceCategoricalColoring ? "on" : "auto";
  state.label = dataset.infoOf(bookmark.selectedLabelOption ?? "") ? bookmark.selectedLabelOption : state.label;
  panel.tell({
    projection,
    dims: String(state.dimensions),
    components: state.components.map((one) => one + 1).join(","),
    tsne: settings.writeKnobs("tsne", state.methods.tsne),
    umap: settings.writeKnobs("umap", state.methods.umap),
    left: state.axes.left,
    right: state.axes.right,
    down: state.axes.down,
    up: state.axes.up,
    axes_in: state.axes.in,
    color: state.color,
    categorical: state.categorical,
    label: state.label,
  });
  panel.isolated = Array.isArray(bookmark.filteredPoints) && bookmark.filteredPoints.length
    ? rows(bookmark.filteredPoints)
    : null;
  panel.hidden.clear();
  panel.tellShown();
  panel.showAll();
  await panel.recolour();
  panel.relabel();
  // Before the first picture, which would fit everything.
  const camera = cameraOf(bookmark.cameraDef, state.dimensions);
  if (camera) {
    state.camera = camera;
    panel.view?.setCamera(camera);
  }
  await panel.project({ keepCamera: Boolean(camera) });
  panel.select(rows(bookmark.selectedPoints));
  if (!panel.job?.ended && Array.isArray(bookmark.projections) && bookmark.projections.length === dataset.count) {
    showPlaces(panel, bookmark, projection, Boolean(camera));
  }
}

/** The places that the bookmark has, until the projection has its own. */
function showPlaces(panel: any, bookmark: any, projection: string, keepCamera: boolean) {
  if (projection === "pca" || panel.job?.frame?.coordinates) return;
  const prefix = projection === "custom" ? "linear" : projection;
  const names = projection === "custom" ? ["x", "y"] : ["0", "1", "2"].slice(0, panel.state.dimensions);
  const values = Float32Array.from(
    bookmark.projections.flatMap((place: any) => names.map((name) => Number(place?.[`${prefix}-${name}`]))),
  );
  if (!values.every(Number.isFinite)) return;
  panel.showFrame({ coordinates: values, dimensions: names.length }, { glide: true, keepCamera });
}

/** A view of ours is an address: only what the projector has in it is taken over. */
function applyQuery(panel: any, query: string) {
  const given = new URLSearchParams(query);
  view.update((params: URLSearchParams, set: (name: string, values: string[]) => void) => {
    for (const name of new Set([...params.keys(), ...given.keys()])) {
      if (!name.startsWith("projector.") || ["projector.id", "projector.step", "projector.table"].includes(name)) {
        continue;
      }
      if (given.has(name)) set(name, given.getAll(name));
      else params.delete(name);
    }
  }, true);
  panel.restore();
}
