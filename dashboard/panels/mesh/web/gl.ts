/** One WebGL context for all cards: a scene is drawn into the shared canvas and copied from there. */
import { VIRIDIS } from "../../../web/core/color.ts";
import type { ValueOf } from "../../../web/core/setting.ts";
import { edges, type Geometry, normals } from "./geometry.ts";
import type { Vector } from "./math.ts";
import type { Projection } from "./orbit.ts";
import type { settings } from "./settings.generated.ts";

const MOST_BYTES = 512e6; // for buffers in graphics memory
const LARGEST_STRIDE = 255; // bytes, per the standard: the stride skips points while the camera moves
const WORTH_TIMING = 20e3; // vertices from which drawing is awaited and timed
const MOST_LIGHTS = 3;
const EDGE_ALPHA = 0.38; // keeps the surface visible between edges that are close together
const LAST = VIRIDIS.length - 1;

const VERTEX = `#version 300 es
  layout(location = 0) in vec3 place;
  layout(location = 1) in vec3 normal;
  layout(location = 2) in vec4 shade;
  layout(location = 3) in float moved;
  uniform mat4 view, projection;
  uniform vec3 offset;
  uniform float pixels, worldPixels;
  uniform int axis;
  out vec3 seen, facing;
  out vec3 color;
  out float value;
  void main() {
    vec4 at = view * vec4(place + offset, 1.0);
    gl_Position = projection * at;
    gl_PointSize = worldPixels > 0.0 ? clamp(worldPixels / gl_Position.w, 1.0, 256.0) : pixels;
    seen = at.xyz;
    facing = mat3(view) * normal;
    color = shade.rgb;
    value = axis < 0 ? moved : place[axis];
  }`;
const FRAGMENT = `#version 300 es
  precision highp float;
  in vec3 seen, facing;
  in vec3 color;
  in float value;
  uniform vec3 stops[${VIRIDIS.length}];
  uniform vec3 one, ambient;
  uniform vec3 lights[${MOST_LIGHTS}], lightColors[${MOST_LIGHTS}];
  uniform vec2 range;
  uniform int paint; // 0 vertices' colors, 1 one color, 2 scale
  uniform int lit;   // 0 not, 1 smooth, 2 flat
  uniform int lightCount;
  uniform bool dots, orthographic;
  uniform float alpha;
  out vec4 result;
  void main() {
    if (dots && length(gl_PointCoord - 0.5) > 0.5) discard;
    vec3 base = paint == 0 ? color : one;
    if (paint == 2) {
      float at = range.y > range.x ? clamp((value - range.x) / (range.y - range.x), 0.0, 1.0) * ${LAST}.0 : 0.0;
      int low = min(int(at), ${LAST - 1});
      base = mix(stops[low], stops[low + 1], at - float(low));
      if (value < range.x && range.x == 0.0 && value <= -0.5) base = vec3(0.55);
    }
    if (lit > 0) {
      vec3 n = lit == 2 ? cross(dFdx(seen), dFdy(seen)) : facing;
      n = length(n) > 0.0 ? normalize(n) : vec3(0.0, 0.0, 1.0);
      if (dot(n, orthographic ? vec3(0.0, 0.0, 1.0) : -seen) < 0.0) n = -n;
      vec3 light = ambient;
      for (int i = 0; i < ${MOST_LIGHTS}; i++)
        if (i < lightCount) light += lightColors[i] * max(dot(n, lights[i]), 0.0);
      base *= light;
    }
    result = vec4(min(base, vec3(1.0)) * alpha, alpha);
  }`;

/** What is drawn of a mesh. */
export type Show = Exclude<ValueOf<typeof settings.show>, "logged">;
/** How surfaces are lit. */
export const LIT = { none: 0, smooth: 1, flat: 2 } as const;
/** How vertices are colored: as logged, in one color, or by a scale. */
export const PAINT = { vertices: 0, one: 1, scale: 2 } as const;
/** A directional light, with its direction in eye space. */
export interface Directional {
  direction: Vector;
  color: Vector;
}
export interface Scene {
  geometry: Geometry;
  show: Show;
  lit: typeof LIT[keyof typeof LIT];
  paint: typeof PAINT[keyof typeof PAINT];
  /** What the color scale shows: an axis, or -1 for how far vertices moved. */
  axis: number;
  range: [number, number];
  /** The single color and the color of lines over a surface, as shares of 1. */
  one: Vector;
  line: Vector;
  offset: Vector;
  pixels: number;
  worldSize: number;
  projection: Projection;
  ambient: Vector;
  lights: Directional[];
}

type Gl = WebGL2RenderingContext;
/** The buffers of one geometry, by name. */
interface Uploaded {
  bytes: number;
  buffers: Map<string, WebGLBuffer>;
}
type Column = Float32Array | Uint8Array | Uint32Array;

function compiled(gl: Gl, kind: GLenum, source: string): WebGLShader {
  const shader = gl.createShader(kind);
  if (!shader) throw new Error("The graphics driver cannot create a shader.");
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  return shader;
}

class Painter {
  lost = false;
  readonly gl: Gl;
  readonly #canvas: HTMLCanvasElement;
  #places: (name: string) => WebGLUniformLocation | null = () => null;
  /** By geometry, in order of use. */
  readonly #uploaded: Map<Geometry, Uploaded> = new Map();

  constructor(gl: Gl, canvas: HTMLCanvasElement, restored: () => void) {
    this.gl = gl;
    this.#canvas = canvas;
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.lost = true;
      this.#uploaded.clear();
    });
    canvas.addEventListener("webglcontextrestored", () => {
      this.lost = false;
      this.#build();
      restored();
    });
    this.#build();
  }

  #build(): void {
    const { gl } = this;
    const program = gl.createProgram();
    gl.attachShader(program, compiled(gl, gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, compiled(gl, gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(gl.getProgramInfoLog(program) || "shaders do not link");
    }
    const places = new Map<string, WebGLUniformLocation | null>();
    this.#places = (name) => {
      const known = places.get(name);
      if (known !== undefined) return known;
      const place = gl.getUniformLocation(program, name);
      places.set(name, place);
      return place;
    };
    gl.useProgram(program);
    gl.uniform3fv(this.#places("stops"), VIRIDIS.flat().map((part) => part / 255));
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.enable(gl.SCISSOR_TEST);
    gl.polygonOffset(1, 1);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Binds the buffer of one column of a geometry, creating it on first use. */
  #bindBuffer(geometry: Geometry, name: string, target: GLenum, column: () => Column): void {
    const { gl } = this;
    const entry = this.#uploaded.get(geometry) ?? { bytes: 0, buffers: new Map() };
    this.#uploaded.delete(geometry);
    this.#uploaded.set(geometry, entry);
    const known = entry.buffers.get(name);
    if (known) return gl.bindBuffer(target, known);
    const data = column();
    const made = gl.createBuffer();
    gl.bindBuffer(target, made);
    gl.bufferData(target, data, gl.STATIC_DRAW);
    entry.buffers.set(name, made);
    entry.bytes += data.byteLength;
    this.#evict(geometry);
  }

  #evict(current: Geometry): void {
    let total = 0;
    for (const entry of this.#uploaded.values()) total += entry.bytes;
    for (const [geometry, entry] of this.#uploaded) {
      if (total <= MOST_BYTES) return;
      if (geometry === current) continue;
      entry.buffers.forEach((one) => this.gl.deleteBuffer(one));
      this.#uploaded.delete(geometry);
      total -= entry.bytes;
    }
  }

  /** Sets a vertex attribute to every `every`-th value of a column; null if the vertices need none. */
  #attribute(place: number, { geometry }: Scene, name: string, column: (() => Column) | null, every: number): void {
    const { gl } = this;
    if (!column) return gl.disableVertexAttribArray(place);
    this.#bindBuffer(geometry, name, gl.ARRAY_BUFFER, column);
    gl.enableVertexAttribArray(place);
    const [size, type, bytes] = name === "colors"
      ? [4, gl.UNSIGNED_BYTE, 4]
      : name === "moved"
      ? [1, gl.FLOAT, 4]
      : [3, gl.FLOAT, 12];
    gl.vertexAttribPointer(place, size, type, name === "colors", bytes * every, 0);
  }

  #bind(scene: Scene, every: number): void {
    const g = scene.geometry;
    const { colors, moved } = g;
    const smooth = scene.lit === LIT.smooth && g.faces;
    const byMoved = scene.paint === PAINT.scale && scene.axis < 0;
    this.#attribute(0, scene, "positions", () => g.positions, every);
    this.#attribute(1, scene, "normals", smooth ? () => (g.normals ??= normals(g)) : null, every);
    this.#attribute(2, scene, "colors", scene.paint === PAINT.vertices && colors ? () => colors : null, every);
    this.#attribute(3, scene, "moved", byMoved && moved ? () => moved : null, every);
  }

  #setUniforms(scene: Scene, height: number): void {
    const { gl } = this;
    const at = this.#places;
    const { projection } = scene;
    gl.uniformMatrix4fv(at("view"), false, projection.view);
    gl.uniformMatrix4fv(at("projection"), false, projection.projection);
    gl.uniform3fv(at("offset"), scene.offset);
    gl.uniform1f(at("pixels"), scene.pixels);
    gl.uniform1f(at("worldPixels"), scene.worldSize * projection.projection[5] * height * 0.5);
    gl.uniform1i(at("axis"), scene.axis);
    gl.uniform3fv(at("one"), scene.one);
    gl.uniform3fv(at("ambient"), scene.ambient);
    gl.uniform2fv(at("range"), scene.range);
    gl.uniform1i(at("orthographic"), projection.orthographic ? 1 : 0);
    const lights = scene.lights.slice(0, MOST_LIGHTS);
    gl.uniform1i(at("lightCount"), lights.length);
    if (!lights.length) return;
    gl.uniform3fv(at("lights"), lights.flatMap((light) => light.direction));
    gl.uniform3fv(at("lightColors"), lights.flatMap((light) => light.color));
  }

  #style(paint: Scene["paint"], lit: Scene["lit"], dots: boolean, alpha: number): void {
    const { gl } = this;
    const at = this.#places;
    gl.uniform1i(at("paint"), paint);
    gl.uniform1i(at("lit"), lit);
    gl.uniform1i(at("dots"), dots ? 1 : 0);
    gl.uniform1f(at("alpha"), alpha);
  }

  #drawPoints(scene: Scene, every: number): void {
    const { gl } = this;
    this.#bind(scene, every);
    this.#style(scene.paint, LIT.none, scene.worldSize > 0 || scene.pixels > 3, 1);
    gl.drawArrays(gl.POINTS, 0, Math.ceil(scene.geometry.positions.length / 3 / every));
  }

  #drawFaces(scene: Scene, faces: Uint32Array): void {
    const { gl } = this;
    const g = scene.geometry;
    const over = scene.show === "edges";
    this.#bind(scene, 1);
    if (scene.show !== "wireframe") {
      this.#style(scene.paint, scene.lit, false, 1);
      if (over) gl.enable(gl.POLYGON_OFFSET_FILL);
      this.#bindBuffer(g, "faces", gl.ELEMENT_ARRAY_BUFFER, () => faces);
      gl.drawElements(gl.TRIANGLES, faces.length, gl.UNSIGNED_INT, 0);
      gl.disable(gl.POLYGON_OFFSET_FILL);
      if (!over) return;
      gl.uniform3fv(this.#places("one"), scene.line);
    }
    this.#style(over ? PAINT.one : scene.paint, LIT.none, false, over ? EDGE_ALPHA : 1);
    const pairs = (g.edges ??= edges(g));
    this.#bindBuffer(g, "edges", gl.ELEMENT_ARRAY_BUFFER, () => pairs);
    gl.drawElements(gl.LINES, pairs.length, gl.UNSIGNED_INT, 0);
  }

  /** Draws a scene and copies it onto `target` at its own size. */
  draw(scene: Scene, target: CanvasRenderingContext2D, every: number): void {
    const { gl } = this;
    const canvas = this.#canvas;
    const { width, height } = target.canvas;
    if (canvas.width < width || canvas.height < height) {
      canvas.width = Math.max(canvas.width, width);
      canvas.height = Math.max(canvas.height, height);
    }
    gl.viewport(0, 0, width, height);
    gl.scissor(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.#setUniforms(scene, height);
    const { faces, positions } = scene.geometry;
    if (scene.show === "points" || !faces) this.#drawPoints(scene, every);
    else this.#drawFaces(scene, faces);
    // Wait until the drawing is finished, so that measured frame times include it.
    if (positions.length > 3 * WORTH_TIMING) {
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    }
    target.drawImage(canvas, 0, canvas.height - height, width, height, 0, 0, width, height);
  }
}

/** Null if the browser offers no such context, undefined before the first mesh is drawn. */
let painter: Painter | null | undefined;
let onRestored = () => {};

function made(): Painter | null {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("webgl2", { alpha: true, antialias: true, powerPreference: "high-performance" });
  return context && new Painter(context, canvas, () => onRestored());
}

export const gl = {
  /** The most points that one can stand for while the camera moves. */
  MOST_LEFT_OUT: Math.floor(LARGEST_STRIDE / 12),
  /**
   * Draws a scene onto `target`.
   * @param every one of this many points is drawn
   * @returns whether there is a context to draw with
   */
  draw(scene: Scene, target: CanvasRenderingContext2D, every: number): boolean {
    if (painter === undefined) painter = made();
    if (!painter || painter.lost) return false;
    painter.draw(scene, target, every);
    return true;
  },
  /** Calls back when a lost context has been restored. */
  whenRestored: (callback: () => void): void => void (onRestored = callback),
  /** The shared context, once it exists. */
  context: (): Gl | null => painter?.gl ?? null,
};
