/** A drawing context that writes SVG: anything drawn on it as on a canvas becomes a standalone document. */

/** left, top, right, bottom */
export type Box = [number, number, number, number];
export interface Clip {
  id: number;
  parent: Clip | null;
  path: string;
  transform: string;
}
/** the area painted between two heights, up to `right` */
export interface Band {
  top: number;
  bottom: number;
  right: number;
}
/** marks whose relative order does not show: shapes by their attributes, then texts */
export interface Layer {
  clip: Clip | null;
  transform: string;
  /** path data by attributes */
  shapes: Map<string, string[]>;
  /** elements by attributes */
  texts: Map<string, string[]>;
  shapeBands: Band[];
  textBands: Band[];
}

const START = {
  fillStyle: "#000000" as unknown,
  strokeStyle: "#000000" as unknown,
  lineWidth: 1,
  lineCap: "butt",
  lineJoin: "miter",
  lineDashOffset: 0,
  font: "10px sans-serif",
  textAlign: "start",
  textBaseline: "alphabetic",
  globalAlpha: 1,
  dash: [] as number[],
  transform: [1, 0, 0, 1, 0, 0],
  clip: null as Clip | null,
};
const ANCHORS = { center: "middle", right: "end", end: "end" } as Record<string, string>;

/** Two decimals are finer than any screen; more would only make the file larger. */
const short = (value: number) => String(Math.round(value * 100) / 100);
const finite = (values: ArrayLike<number>) => Array.prototype.every.call(values, Number.isFinite);
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" } as Record<string, string>;
// XML 1.0 has no way to write these characters, not even as references.
// deno-lint-ignore no-control-regex
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;
/** A text escaped for XML; characters that XML does not allow become a replacement character. */
export const escaped = (text: unknown): string =>
  String(text).replace(FORBIDDEN, "\ufffd").replace(/[&<>"']/g, (character) => ENTITIES[character]);

/** @param values attributes by name; null values are omitted */
const attributes = (values: Record<string, string | number | null>) =>
  Object.entries(values).map(([key, value]) => (value === null ? "" : ` ${key}="${escaped(value)}"`)).join("");

const rectangle = (x: number, y: number, w: number, h: number) =>
  `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}z`;

function include(box: Box, x: number, y: number) {
  box[0] = Math.min(box[0], x);
  box[1] = Math.min(box[1], y);
  box[2] = Math.max(box[2], x);
  box[3] = Math.max(box[3], y);
}
const nowhere = () => ([Infinity, Infinity, -Infinity, -Infinity] as Box);

/** Whether a box is clear of all bands: it starts to the right of all those that it shares heights with. */
const isClear = (bands: Band[], box: Box) =>
  bands.every((band) => band.bottom <= box[1] || band.top >= box[3] || band.right <= box[0]);

function occupy(bands: Band[], [, top, right, bottom]: Box) {
  const same = bands.find((band) => band.top === top && band.bottom === bottom);
  if (same) same.right = Math.max(same.right, right);
  else bands.push({ top, bottom, right });
}

/**
 * The part of CanvasRenderingContext2D that the timeline draws with. Its limitations do not matter there: patterns
 * paint nothing; clearing a part does nothing, and clearing everything discards the drawing.
 */
export class SvgContext {
  width;
  height;
  /** Measures texts and parses colors and fonts. */
  pen: CanvasRenderingContext2D;
  state = { ...START };
  saved: (typeof START)[] = [];
  layers: Layer[] = [];
  clips: Map<string, Clip> = new Map();
  colors: Map<string, [string, number]> = new Map();
  fonts: Map<string, { attributes: string; shift: number }> = new Map();
  path = "";
  box = nowhere();

  /**
   * @param width px
   * @param height px
   */
  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.pen = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
  }

  /** This object as the type that drawing code takes: it has every part of a canvas context that such code uses. */
  get canvasContext(): CanvasRenderingContext2D {
    return this as unknown as CanvasRenderingContext2D;
  }

  // ---- state

  save() {
    this.saved.push({ ...this.state });
  }

  restore() {
    this.state = this.saved.pop() ?? this.state;
  }

  setLineDash(dash: number[]) {
    if (finite(dash)) this.state.dash = dash.length % 2 ? [...dash, ...dash] : [...dash];
  }

  setTransform(a: number, b: number, c: number, d: number, e: number, f: number) {
    if (finite([a, b, c, d, e, f])) this.state.transform = [a, b, c, d, e, f];
  }

  transform(a: number, b: number, c: number, d: number, e: number, f: number) {
    const [p, q, r, s, t, u] = this.state.transform;
    this.setTransform(p * a + r * b, q * a + s * b, p * c + r * d, q * c + s * d, p * e + r * f + t, q * e + s * f + u);
  }

  translate(x: number, y: number) {
    this.transform(1, 0, 0, 1, x, y);
  }

  scale(x: number, y: number) {
    this.transform(x, 0, 0, y, 0, 0);
  }

  /** @param angle radians */
  rotate(angle: number) {
    this.transform(Math.cos(angle), Math.sin(angle), -Math.sin(angle), Math.cos(angle), 0, 0);
  }

  // ---- paths

  beginPath() {
    this.path = "";
    this.box = nowhere();
  }

  closePath() {
    if (this.path) this.path += "z";
  }

  /** @param points coordinates in pairs */
  go(command: string, ...points: number[]) {
    if (!finite(points)) return;
    // A path begins with a move, even if the caller draws a line first.
    this.path += (this.path ? command : command === "L" ? "M" : `M${short(points[0])} ${short(points[1])}${command}`) +
      points.map(short).join(" ");
    for (let i = 0; i < points.length; i += 2) include(this.box, points[i], points[i + 1]);
  }

  moveTo(x: number, y: number) {
    this.go("M", x, y);
  }

  lineTo(x: number, y: number) {
    this.go("L", x, y);
  }

  quadraticCurveTo(x1: number, y1: number, x: number, y: number) {
    this.go("Q", x1, y1, x, y);
  }

  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number) {
    this.go("C", x1, y1, x2, y2, x, y);
  }

  rect(x: number, y: number, w: number, h: number) {
    if (!finite([x, y, w, h])) return;
    this.path += rectangle(x, y, w, h);
    include(this.box, x, y);
    include(this.box, x + w, y + h);
  }

  /** @param radii one for all corners, or several, clockwise from the top left */
  roundRect(x: number, y: number, w: number, h: number, radii: number | number[] = 0) {
    const given = typeof radii === "number" ? [radii] : radii;
    if (!finite([x, y, w, h, ...given])) return;
    const [a, b = a, c = a, d = b] = given;
    const most = Math.min(w / Math.max(a + b, c + d, 1e-9), h / Math.max(a + d, b + c, 1e-9), 1);
    const [tl, tr, br, bl] = [a, b, c, d].map((radius) => radius * most);
    const corner = (r: number, dx: number, dy: number) =>
      r > 0 ? `a${short(r)} ${short(r)} 0 0 1 ${short(dx * r)} ${short(dy * r)}` : "";
    this.path +=
      `M${short(x + tl)} ${short(y)}H${short(x + w - tr)}${corner(tr, 1, 1)}V${short(y + h - br)}${corner(br, -1, 1)}` +
      `H${short(x + bl)}${corner(bl, -1, -1)}V${short(y + tl)}${corner(tl, 1, -1)}z`;
    include(this.box, x, y);
    include(this.box, x + w, y + h);
  }

  /**
   * @param from radians
   * @param back counterclockwise
   */
  arc(x: number, y: number, r: number, from: number, to: number, back: boolean = false) {
    if (!finite([x, y, r, from, to])) return;
    const turn = 2 * Math.PI;
    const swept = back ? from - to : to - from;
    const angle = swept >= turn ? turn : ((swept % turn) + turn) % turn;
    const at = (share: number) => {
      const place = from + (back ? -1 : 1) * angle * share;
      return [x + r * Math.cos(place), y + r * Math.sin(place)].map(short).join(" ");
    };
    // In halves, since both ends of a full circle are the same point, which does not define the arc between them.
    const piece = (share: number) => `A${short(r)} ${short(r)} 0 0 ${back ? 0 : 1} ${at(share)}`;
    this.path += `${this.path ? "L" : "M"}${at(0)}${piece(0.5)}${piece(1)}`;
    include(this.box, x - r, y - r);
    include(this.box, x + r, y + r);
  }

  clip() {
    const parent = this.state.clip;
    const key = `${parent ? parent.id : ""} ${this.matrix()} ${this.path}`;
    let found = this.clips.get(key);
    if (!found) this.clips.set(key, found = { id: this.clips.size, parent, path: this.path, transform: this.matrix() });
    this.state.clip = found;
  }

  // ---- paint

  fill() {
    this.fillPath(this.path, this.box);
  }

  fillRect(x: number, y: number, w: number, h: number) {
    if (!finite([x, y, w, h]) || !w || !h) return;
    this.fillPath(rectangle(x, y, w, h), [
      Math.min(x, x + w),
      Math.min(y, y + h),
      Math.max(x, x + w),
      Math.max(y, y + h),
    ]);
  }

  stroke() {
    this.strokePath(this.path);
  }

  strokeRect(x: number, y: number, w: number, h: number) {
    if (finite([x, y, w, h])) this.strokePath(rectangle(x, y, w, h));
  }

  clearRect(x: number, y: number, w: number, h: number) {
    const [a, , , d, e, f] = this.state.transform;
    const whole = a * x + e <= 0 && d * y + f <= 0 && a * (x + w) + e >= this.width && d * (y + h) + f >= this.height;
    if (whole && !this.state.clip) this.layers = [];
  }

  /** Patterns paint nothing. */
  createPattern() {
    return {};
  }

  measureText(text: string) {
    this.pen.font = this.state.font;
    return this.pen.measureText(text);
  }

  fillText(text: string, x: number, y: number) {
    const paint = this.paint("fill", this.state.fillStyle);
    if (!finite([x, y]) || paint === null || text === "") return;
    const { width, fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = this.measureText(text);
    const font = this.typeface();
    const anchor = ANCHORS[this.state.textAlign] ?? null;
    const base = y + font.shift;
    const left = x - (anchor === "middle" ? width / 2 : anchor === "end" ? width : 0);
    const layer = this.layer();
    const key = attributes({ "text-anchor": anchor }) + font.attributes + paint;
    const element = `<text${attributes({ x: short(x), y: short(base) })}>${escaped(text)}</text>`;
    append(layer.texts, key, element);
    occupy(layer.textBands, [left, base - up, left + width, base + down]);
  }

  /** Adds the drawing of another context, as `drawImage` does with canvases. */
  draw(other: SvgContext) {
    this.layers.push(...other.layers);
    this.barrier();
  }

  // ---- recording

  fillPath(path: string, box: Box) {
    const paint = this.paint("fill", this.state.fillStyle);
    if (path === "" || paint === null) return;
    let layer = this.layer();
    if (!isClear(layer.shapeBands, box) || !isClear(layer.textBands, box)) layer = this.barrier();
    append(layer.shapes, paint, path);
    occupy(layer.shapeBands, box);
  }

  strokePath(path: string) {
    const { lineWidth, lineCap, lineJoin, dash, lineDashOffset } = this.state;
    const paint = this.paint("stroke", this.state.strokeStyle);
    if (path === "" || paint === null) return;
    const key = attributes({
      fill: "none",
      "stroke-width": lineWidth === 1 ? null : short(lineWidth),
      "stroke-linecap": lineCap === "butt" ? null : lineCap,
      "stroke-linejoin": lineJoin === "miter" ? null : lineJoin,
      "stroke-dasharray": dash.length ? dash.map(short).join(" ") : null,
      "stroke-dashoffset": dash.length && lineDashOffset ? short(lineDashOffset) : null,
    });
    append(this.barrier().shapes, key + paint, path);
    this.barrier();
  }

  matrix() {
    const { transform } = this.state;
    return transform.every((value, i) => value === START.transform[i])
      ? ""
      : `matrix(${transform.map((value) => +value.toPrecision(9)).join(" ")})`;
  }

  /** The layer to draw on: the last one if it has the same clip and transform, otherwise a new one. */
  layer(): Layer {
    const last = this.layers[this.layers.length - 1];
    return last && last.clip === this.state.clip && last.transform === this.matrix() ? last : this.barrier();
  }

  /** A new layer, on top of everything drawn so far. */
  barrier(): Layer {
    const { clip } = this.state;
    const layer = {
      clip,
      transform: this.matrix(),
      shapes: new Map(),
      texts: new Map(),
      shapeBands: [],
      textBands: [],
    };
    this.layers.push(layer);
    return layer;
  }

  /** The attributes of a color; null if it paints nothing. */
  paint(what: "fill" | "stroke", style: unknown) {
    if (typeof style !== "string") return null;
    const [color, opacity] = this.color(style);
    const alpha = opacity * this.state.globalAlpha;
    if (alpha <= 0) return null;
    return attributes({
      [what]: color,
      [`${what}-opacity`]: alpha < 1 ? String(Math.round(alpha * 1000) / 1000) : null,
    });
  }

  /** A color in SVG 1.1 syntax, and its opacity. */
  color(style: string): [string, number] {
    let known = this.colors.get(style);
    if (!known) {
      this.pen.fillStyle = "#000000";
      this.pen.fillStyle = style;
      const text = this.pen.fillStyle;
      const parts = /^rgba\((\d+), (\d+), (\d+), ([\d.e-]+)\)$/.exec(text);
      known = parts ? [`rgb(${parts[1]},${parts[2]},${parts[3]})`, Number(parts[4])] : [text, 1];
      this.colors.set(style, known);
    }
    return known;
  }

  /** The attributes of the font, and how far its baseline is below the position of the text. */
  typeface() {
    const { font, textBaseline } = this.state;
    const key = `${textBaseline} ${font}`;
    let known = this.fonts.get(key);
    if (!known) {
      this.pen.font = START.font;
      this.pen.font = font;
      const heights = ["alphabetic", textBaseline].map((baseline) => {
        this.pen.textBaseline = baseline as CanvasTextBaseline;
        return this.pen.measureText("x").fontBoundingBoxAscent;
      });
      this.pen.textBaseline = "alphabetic";
      const parts = /^(?:(italic|oblique) )?(?:(bold|\d+) )?([\d.]+)px (.+)$/.exec(this.pen.font);
      const [, style, weight, size, family] = parts ?? [];
      known = {
        attributes: attributes(
          parts
            ? { "font-style": style ?? null, "font-weight": weight ?? null, "font-size": size, "font-family": family }
            : { style: `font:${font}` },
        ),
        shift: heights[0] - heights[1],
      };
      this.fonts.set(key, known);
    }
    return known;
  }

  /** The SVG document. */
  toString() {
    const names: Map<Clip, string> = new Map();
    const defs = [] as string[];
    const reference = (clip: Clip | null): string | null => {
      if (!clip) return null;
      let name = names.get(clip);
      if (name === undefined) {
        const parent = reference(clip.parent);
        name = `clip${names.size}`;
        names.set(clip, name);
        const path = `<path${attributes({ d: clip.path || "M0 0", transform: clip.transform || null })}/>`;
        defs.push(`<clipPath${attributes({ id: name, "clip-path": parent })}>${path}</clipPath>`);
      }
      return `url(#${name})`;
    };
    const body = this.layers.map((layer) => written(layer, reference(layer.clip))).join("");
    const { width, height } = this;
    const size = { width: short(width), height: short(height), viewBox: `0 0 ${short(width)} ${short(height)}` };
    return (
      `<svg${
        attributes({ xmlns: "http://www.w3.org/2000/svg", ...size, "xml:space": "preserve", "stroke-miterlimit": 10 })
      }>` +
      `${defs.length ? `<defs>${defs.join("")}</defs>` : ""}${body}</svg>`
    );
  }
}

function append(lists: Map<string, string[]>, key: string, entry: string) {
  const list = lists.get(key);
  if (list) list.push(entry);
  else lists.set(key, [entry]);
}

function written(layer: Layer, clip: string | null) {
  const shapes = [...layer.shapes].map(([key, paths]) => `<path${key}${attributes({ d: paths.join("") })}/>`);
  const texts = [...layer.texts].map(([key, elements]) => `<g${key}>${elements.join("")}</g>`);
  const marks = [...shapes, ...texts].join("");
  if (marks === "") return "";
  // Around the transform, since a clip uses the coordinate system of the element it applies to.
  const inner = layer.transform ? `<g${attributes({ transform: layer.transform })}>${marks}</g>` : marks;
  return clip ? `<g${attributes({ "clip-path": clip })}>${inner}</g>` : inner;
}

// A canvas's attributes are part of the state that save and restore keep. As on a canvas, invalid values are ignored.
for (
  const name of ([
    "fillStyle",
    "strokeStyle",
    "lineWidth",
    "lineCap",
    "lineJoin",
    "lineDashOffset",
    "font",
    "textAlign",
    "textBaseline",
    "globalAlpha",
  ] as (keyof typeof START)[])
) {
  Object.defineProperty(SvgContext.prototype, name, {
    get(this: SvgContext) {
      return this.state[name];
    },
    set(this: SvgContext, value: unknown) {
      if (typeof START[name] === "number" && !Number.isFinite(value)) return;
      if (value === null) return;
      Reflect.set(this.state, name, value);
    },
  });
}
