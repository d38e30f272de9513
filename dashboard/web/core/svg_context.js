/** A drawing context that writes SVG: what is drawn on it as on a canvas becomes a document that stands alone. */

/**
 * @typedef {[number, number, number, number]} Box left, top, right, bottom
 * @typedef {{id: number, parent: Clip | null, path: string, transform: string}} Clip
 * @typedef {object} Band what was painted between two heights, up to `right`
 * @property {number} top
 * @property {number} bottom
 * @property {number} right
 * @typedef {object} Layer marks whose order among each other does not show: shapes by their attributes, then texts
 * @property {Clip | null} clip
 * @property {string} transform
 * @property {Map<string, string[]>} shapes path data by attributes
 * @property {Map<string, string[]>} texts elements by attributes
 * @property {Band[]} shapeBands
 * @property {Band[]} textBands
 */

const START = {
  fillStyle: /** @type {any} */ ("#000000"),
  strokeStyle: /** @type {any} */ ("#000000"),
  lineWidth: 1,
  lineCap: "butt",
  lineJoin: "miter",
  lineDashOffset: 0,
  font: "10px sans-serif",
  textAlign: "start",
  textBaseline: "alphabetic",
  globalAlpha: 1,
  dash: /** @type {number[]} */ ([]),
  transform: [1, 0, 0, 1, 0, 0],
  clip: /** @type {Clip | null} */ (null),
};
const ANCHORS = /** @type {Record<string, string>} */ ({ center: "middle", right: "end", end: "end" });

/** Two decimals are finer than any screen; more only make the file larger. */
const short = (/** @type {number} */ value) => String(Math.round(value * 100) / 100);
const finite = (/** @type {ArrayLike<number>} */ values) => Array.prototype.every.call(values, Number.isFinite);
const ENTITIES = /** @type {Record<string, string>} */ ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" });
// XML 1.0 has no way to write these characters, not even as references.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;
const escaped = (/** @type {unknown} */ text) =>
  String(text).replace(FORBIDDEN, "\ufffd").replace(/[&<>"']/g, (character) => ENTITIES[character]);

/** @param {Record<string, string | number | null>} values those that are not null */
const attributes = (values) =>
  Object.entries(values).map(([key, value]) => (value === null ? "" : ` ${key}="${escaped(value)}"`)).join("");

/** @param {number} x @param {number} y @param {number} w @param {number} h */
const rectangle = (x, y, w, h) => `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}z`;

/** @param {Box} box @param {number} x @param {number} y */
function include(box, x, y) {
  box[0] = Math.min(box[0], x);
  box[1] = Math.min(box[1], y);
  box[2] = Math.max(box[2], x);
  box[3] = Math.max(box[3], y);
}
const nowhere = () => /** @type {Box} */ ([Infinity, Infinity, -Infinity, -Infinity]);

/** Whether a box is clear of all bands: left of none that it shares heights with. @param {Band[]} bands @param {Box} box */
const isClear = (bands, box) => bands.every((band) => band.bottom <= box[1] || band.top >= box[3] || band.right <= box[0]);

/** @param {Band[]} bands @param {Box} box */
function occupy(bands, [, top, right, bottom]) {
  const same = bands.find((band) => band.top === top && band.bottom === bottom);
  if (same) same.right = Math.max(same.right, right);
  else bands.push({ top, bottom, right });
}

/**
 * The part of CanvasRenderingContext2D that the timeline draws with. What it lacks, and why it does not matter:
 * patterns paint nothing; clearing a part does nothing, clearing everything forgets what was drawn.
 */
export class SvgContext {
  /** @param {number} width px @param {number} height px */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** Measures texts and knows colours and fonts. */
    this.pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    this.state = { ...START };
    /** @type {(typeof START)[]} */
    this.saved = [];
    /** @type {Layer[]} */
    this.layers = [];
    /** @type {Map<string, Clip>} */
    this.clips = new Map();
    /** @type {Map<string, [string, number]>} */
    this.colours = new Map();
    /** @type {Map<string, {attributes: string, shift: number}>} */
    this.fonts = new Map();
    this.path = "";
    this.box = nowhere();
  }

  // ---- state

  save() {
    this.saved.push({ ...this.state });
  }

  restore() {
    this.state = this.saved.pop() ?? this.state;
  }

  /** @param {number[]} dash */
  setLineDash(dash) {
    if (finite(dash)) this.state.dash = dash.length % 2 ? [...dash, ...dash] : [...dash];
  }

  getLineDash() {
    return [...this.state.dash];
  }

  /** @param {number} a @param {number} b @param {number} c @param {number} d @param {number} e @param {number} f */
  setTransform(a, b, c, d, e, f) {
    if (finite([a, b, c, d, e, f])) this.state.transform = [a, b, c, d, e, f];
  }

  resetTransform() {
    this.setTransform(1, 0, 0, 1, 0, 0);
  }

  /** @param {number} a @param {number} b @param {number} c @param {number} d @param {number} e @param {number} f */
  transform(a, b, c, d, e, f) {
    const [p, q, r, s, t, u] = this.state.transform;
    this.setTransform(p * a + r * b, q * a + s * b, p * c + r * d, q * c + s * d, p * e + r * f + t, q * e + s * f + u);
  }

  /** @param {number} x @param {number} y */
  translate(x, y) {
    this.transform(1, 0, 0, 1, x, y);
  }

  /** @param {number} x @param {number} y */
  scale(x, y) {
    this.transform(x, 0, 0, y, 0, 0);
  }

  /** @param {number} angle radians */
  rotate(angle) {
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

  /** @param {string} command @param {...number} points in pairs */
  go(command, ...points) {
    if (!finite(points)) return;
    // A path begins with a move, even if the caller draws a line first.
    this.path += (this.path ? command : command === "L" ? "M" : `M${short(points[0])} ${short(points[1])}${command}`) + points.map(short).join(" ");
    for (let i = 0; i < points.length; i += 2) include(this.box, points[i], points[i + 1]);
  }

  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.go("M", x, y);
  }

  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.go("L", x, y);
  }

  /** @param {number} x1 @param {number} y1 @param {number} x @param {number} y */
  quadraticCurveTo(x1, y1, x, y) {
    this.go("Q", x1, y1, x, y);
  }

  /** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {number} x @param {number} y */
  bezierCurveTo(x1, y1, x2, y2, x, y) {
    this.go("C", x1, y1, x2, y2, x, y);
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h */
  rect(x, y, w, h) {
    if (!finite([x, y, w, h])) return;
    this.path += rectangle(x, y, w, h);
    include(this.box, x, y);
    include(this.box, x + w, y + h);
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h @param {number | number[]} [radii] one for all corners, or from the top left clockwise */
  roundRect(x, y, w, h, radii = 0) {
    const given = typeof radii === "number" ? [radii] : radii;
    if (!finite([x, y, w, h, ...given])) return;
    const [a, b = a, c = a, d = b] = given;
    const most = Math.min(w / Math.max(a + b, c + d, 1e-9), h / Math.max(a + d, b + c, 1e-9), 1);
    const [tl, tr, br, bl] = [a, b, c, d].map((radius) => radius * most);
    const corner = (/** @type {number} */ r, /** @type {number} */ dx, /** @type {number} */ dy) =>
      r > 0 ? `a${short(r)} ${short(r)} 0 0 1 ${short(dx * r)} ${short(dy * r)}` : "";
    this.path +=
      `M${short(x + tl)} ${short(y)}H${short(x + w - tr)}${corner(tr, 1, 1)}V${short(y + h - br)}${corner(br, -1, 1)}` +
      `H${short(x + bl)}${corner(bl, -1, -1)}V${short(y + tl)}${corner(tl, 1, -1)}z`;
    include(this.box, x, y);
    include(this.box, x + w, y + h);
  }

  /** @param {number} x @param {number} y @param {number} r @param {number} from radians @param {number} to @param {boolean} [back] against the clock */
  arc(x, y, r, from, to, back = false) {
    if (!finite([x, y, r, from, to])) return;
    const turn = 2 * Math.PI;
    const swept = back ? from - to : to - from;
    const angle = swept >= turn ? turn : ((swept % turn) + turn) % turn;
    const at = (/** @type {number} */ share) => {
      const place = from + (back ? -1 : 1) * angle * share;
      return [x + r * Math.cos(place), y + r * Math.sin(place)].map(short).join(" ");
    };
    // In halves, as the ends of a full circle are one point, which says nothing of the way between.
    const piece = (/** @type {number} */ share) => `A${short(r)} ${short(r)} 0 0 ${back ? 0 : 1} ${at(share)}`;
    this.path += `${this.path ? "L" : "M"}${at(0)}${piece(0.5)}${piece(1)}`;
    include(this.box, x - r, y - r);
    include(this.box, x + r, y + r);
  }

  clip() {
    const parent = this.state.clip;
    const key = `${parent ? parent.id : ""} ${this.matrix()} ${this.path}`;
    let found = this.clips.get(key);
    if (!found) this.clips.set(key, (found = { id: this.clips.size, parent, path: this.path, transform: this.matrix() }));
    this.state.clip = found;
  }

  // ---- paint

  fill() {
    this.fillPath(this.path, this.box);
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h */
  fillRect(x, y, w, h) {
    if (!finite([x, y, w, h]) || !w || !h) return;
    this.fillPath(rectangle(x, y, w, h), [Math.min(x, x + w), Math.min(y, y + h), Math.max(x, x + w), Math.max(y, y + h)]);
  }

  stroke() {
    this.strokePath(this.path);
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h */
  strokeRect(x, y, w, h) {
    if (finite([x, y, w, h])) this.strokePath(rectangle(x, y, w, h));
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h */
  clearRect(x, y, w, h) {
    const [a, , , d, e, f] = this.state.transform;
    const whole = a * x + e <= 0 && d * y + f <= 0 && a * (x + w) + e >= this.width && d * (y + h) + f >= this.height;
    if (whole && !this.state.clip) this.layers = [];
  }

  /** Nothing is painted where a pattern would be. */
  createPattern() {
    return {};
  }

  /** @param {string} text */
  measureText(text) {
    this.pen.font = this.state.font;
    return this.pen.measureText(text);
  }

  /** @param {string} text @param {number} x @param {number} y */
  fillText(text, x, y) {
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

  /** Adds what was drawn on another context, as `drawImage` does with canvases. @param {SvgContext} other */
  draw(other) {
    this.layers.push(...other.layers);
    this.barrier();
  }

  // ---- how it is recorded

  /** @param {string} path @param {Box} box */
  fillPath(path, box) {
    const paint = this.paint("fill", this.state.fillStyle);
    if (path === "" || paint === null) return;
    let layer = this.layer();
    if (!isClear(layer.shapeBands, box) || !isClear(layer.textBands, box)) layer = this.barrier();
    append(layer.shapes, paint, path);
    occupy(layer.shapeBands, box);
  }

  /** @param {string} path */
  strokePath(path) {
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
    return transform.every((value, i) => value === START.transform[i]) ? "" : `matrix(${transform.map((value) => +value.toPrecision(9)).join(" ")})`;
  }

  /** The layer to draw on: the last, where it has the same clip and transform. @returns {Layer} */
  layer() {
    const last = this.layers[this.layers.length - 1];
    return last && last.clip === this.state.clip && last.transform === this.matrix() ? last : this.barrier();
  }

  /** A new layer, for what lies over all that was drawn. @returns {Layer} */
  barrier() {
    const { clip } = this.state;
    const layer = { clip, transform: this.matrix(), shapes: new Map(), texts: new Map(), shapeBands: [], textBands: [] };
    this.layers.push(layer);
    return layer;
  }

  /** Attributes of a colour; null where it paints nothing. @param {"fill" | "stroke"} what @param {unknown} style */
  paint(what, style) {
    if (typeof style !== "string") return null;
    const [colour, opacity] = this.colour(style);
    const alpha = opacity * this.state.globalAlpha;
    if (alpha <= 0) return null;
    return attributes({ [what]: colour, [`${what}-opacity`]: alpha < 1 ? String(Math.round(alpha * 1000) / 1000) : null });
  }

  /** A colour as SVG 1.1 writes it, and its opacity. @param {string} style @returns {[string, number]} */
  colour(style) {
    let known = this.colours.get(style);
    if (!known) {
      this.pen.fillStyle = "#000000";
      this.pen.fillStyle = style;
      const text = this.pen.fillStyle;
      const parts = /^rgba\((\d+), (\d+), (\d+), ([\d.e-]+)\)$/.exec(text);
      known = parts ? [`rgb(${parts[1]},${parts[2]},${parts[3]})`, Number(parts[4])] : [text, 1];
      this.colours.set(style, known);
    }
    return known;
  }

  /** Attributes of the font, and how far its base line is below where the text is put. */
  typeface() {
    const { font, textBaseline } = this.state;
    const key = `${textBaseline} ${font}`;
    let known = this.fonts.get(key);
    if (!known) {
      this.pen.font = START.font;
      this.pen.font = font;
      const heights = ["alphabetic", textBaseline].map((baseline) => {
        this.pen.textBaseline = /** @type {CanvasTextBaseline} */ (baseline);
        return this.pen.measureText("x").fontBoundingBoxAscent;
      });
      this.pen.textBaseline = "alphabetic";
      const parts = /^(?:(italic|oblique) )?(?:(bold|\d+) )?([\d.]+)px (.+)$/.exec(this.pen.font);
      const [, style, weight, size, family] = parts ?? [];
      known = {
        attributes: attributes(parts ? { "font-style": style ?? null, "font-weight": weight ?? null, "font-size": size, "font-family": family } : { style: `font:${font}` }),
        shift: heights[0] - heights[1],
      };
      this.fonts.set(key, known);
    }
    return known;
  }

  /** The document. */
  toString() {
    /** @type {Map<Clip, string>} */
    const names = new Map();
    const defs = /** @type {string[]} */ ([]);
    /** @param {Clip | null} clip @returns {string | null} */
    const reference = (clip) => {
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
      `<svg${attributes({ xmlns: "http://www.w3.org/2000/svg", ...size, "xml:space": "preserve", "stroke-miterlimit": 10 })}>` +
      `${defs.length ? `<defs>${defs.join("")}</defs>` : ""}${body}</svg>`
    );
  }
}

/** @param {Map<string, string[]>} lists @param {string} key @param {string} entry */
function append(lists, key, entry) {
  const list = lists.get(key);
  if (list) list.push(entry);
  else lists.set(key, [entry]);
}

/** @param {Layer} layer @param {string | null} clip */
function written(layer, clip) {
  const shapes = [...layer.shapes].map(([key, paths]) => `<path${key}${attributes({ d: paths.join("") })}/>`);
  const texts = [...layer.texts].map(([key, elements]) => `<g${key}>${elements.join("")}</g>`);
  const marks = [...shapes, ...texts].join("");
  if (marks === "") return "";
  // Around the transform, as a clip is measured where it is applied.
  const inner = layer.transform ? `<g${attributes({ transform: layer.transform })}>${marks}</g>` : marks;
  return clip ? `<g${attributes({ "clip-path": clip })}>${inner}</g>` : inner;
}

// What a canvas has as attributes is part of what save and restore keep. As on a canvas, nonsense changes nothing.
for (const name of /** @type {(keyof typeof START)[]} */ (["fillStyle", "strokeStyle", "lineWidth", "lineCap", "lineJoin", "lineDashOffset", "font", "textAlign", "textBaseline", "globalAlpha"])) {
  Object.defineProperty(SvgContext.prototype, name, {
    /** @this {SvgContext} */
    get() {
      return this.state[name];
    },
    /** @this {SvgContext} @param {any} value */
    set(value) {
      if (typeof START[name] === "number" && !Number.isFinite(value)) return;
      if (value === null) return;
      /** @type {any} */ (this.state)[name] = value;
    },
  });
}
