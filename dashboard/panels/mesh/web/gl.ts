// @ts-nocheck
// The mesh panel: one WebGL context for all cards. A scene is drawn into the shared canvas, and copied from there.
import * as meshGeometry from "./geometry.ts";

const MOST_BYTES = 512e6; // of buffers in the graphics memory
const LARGEST_STRIDE = 255; // bytes, by the standard: how points are left out while the camera moves
const WORTH_TIMING = 20e3; // vertices from which on the time of drawing is waited for and measured
const MOST_LIGHTS = 3;
const EDGE_ALPHA = 0.38; // lets the surface be seen between edges that are close together

// Viridis, by Stéfan van der Walt and Nathaniel Smith (CC0), at eighths.
const SCALE = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);

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
  uniform vec3 stops[9];
  uniform vec3 one, ambient;
  uniform vec3 lights[${MOST_LIGHTS}], lightColors[${MOST_LIGHTS}];
  uniform vec2 range;
  uniform int paint; // 0 vertices' colours, 1 one colour, 2 scale
  uniform int lit;   // 0 not, 1 smooth, 2 flat
  uniform int lightCount;
  uniform bool dots, orthographic;
  uniform float alpha;
  out vec4 result;
  void main() {
    if (dots && length(gl_PointCoord - 0.5) > 0.5) discard;
    vec3 base = paint == 0 ? color : one;
    if (paint == 2) {
      float at = range.y > range.x ? clamp((value - range.x) / (range.y - range.x), 0.0, 1.0) * 8.0 : 0.0;
      int low = min(int(at), 7);
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
const UNIFORMS = [
  "view",
  "projection",
  "offset",
  "pixels",
  "worldPixels",
  "axis",
  "stops",
  "one",
  "ambient",
  "lights",
  "lightColors",
  "range",
  "paint",
  "lit",
  "lightCount",
  "dots",
  "orthographic",
  "alpha",
];

/** directions of lights are in the space of the eye */
export interface Scene {
  geometry: any;
  show: "surface" | "edges" | "wireframe" | "points";
  lit: 0 | 1 | 2;
  paint: 0 | 1 | 2;
  axis: number;
  range: [number, number];
  one: number[];
  line: number[];
  offset: number[];
  pixels: number;
  worldSize: number;
  projection: any;
  ambient: number[];
  lights: { direction: number[]; color: number[] }[];
}
let canvas: HTMLCanvasElement | null = null;
let gl: WebGL2RenderingContext | null = null;
let program = null;
let places = {};
let lost = false;
let onRestored = () => {};
/** By geometry, in order of use. */
const uploaded: Map<any, { bytes: number; buffers: Map<string, WebGLBuffer> }> = new Map();

function compile(kind, source) {
  const shader = gl.createShader(kind);
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  return shader;
}

function build() {
  program = gl.createProgram();
  gl.attachShader(program, compile(gl.VERTEX_SHADER, VERTEX));
  gl.attachShader(program, compile(gl.FRAGMENT_SHADER, FRAGMENT));
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(gl.getProgramInfoLog(program) || "shaders do not link");
  }
  places = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]));
  gl.useProgram(program);
  gl.uniform3fv(places.stops, SCALE.flatMap(rgb));
  gl.enable(gl.DEPTH_TEST);
  gl.depthFunc(gl.LEQUAL);
  gl.enable(gl.SCISSOR_TEST);
  gl.polygonOffset(1, 1);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
}

/** Makes the context when a mesh is drawn for the first time. Whether there is one. */
function ready() {
  if (canvas) return Boolean(gl) && !lost;
  canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  gl = canvas.getContext("webgl2", { alpha: true, antialias: true, powerPreference: "high-performance" });
  if (!gl) return false;
  canvas.addEventListener("webglcontextlost", (event) => {
    event.preventDefault();
    lost = true;
    uploaded.clear();
  });
  canvas.addEventListener("webglcontextrestored", () => {
    lost = false;
    build();
    onRestored();
  });
  build();
  return true;
}

/** The buffer of one column of a geometry. */
function buffer(geometry, name, target, make) {
  let entry = uploaded.get(geometry);
  if (!entry) entry = { bytes: 0, buffers: new Map() };
  uploaded.delete(geometry);
  uploaded.set(geometry, entry);
  let found = entry.buffers.get(name);
  if (!found) {
    const data = make();
    found = gl.createBuffer();
    gl.bindBuffer(target, found);
    gl.bufferData(target, data, gl.STATIC_DRAW);
    entry.buffers.set(name, found);
    entry.bytes += data.byteLength;
    evict(geometry);
  }
  gl.bindBuffer(target, found);
  return found;
}

function evict(current) {
  let total = 0;
  for (const entry of uploaded.values()) total += entry.bytes;
  for (const [geometry, entry] of uploaded) {
    if (total <= MOST_BYTES) return;
    if (geometry === current) continue;
    entry.buffers.forEach((one) => gl.deleteBuffer(one));
    uploaded.delete(geometry);
    total -= entry.bytes;
  }
}

function attribute(place, on, geometry, name, array, size, type, normalized, bytes, every) {
  if (!on) {
    gl.disableVertexAttribArray(place);
    return;
  }
  buffer(geometry, name, gl.ARRAY_BUFFER, array);
  gl.enableVertexAttribArray(place);
  gl.vertexAttribPointer(place, size, type, normalized, bytes * every, 0);
}

function bind(scene, every) {
  const g = scene.geometry;
  attribute(0, true, g, "positions", () => g.positions, 3, gl.FLOAT, false, 12, every);
  attribute(1, scene.lit === 1 && g.faces, g, "normals", () => meshGeometry.normals(g), 3, gl.FLOAT, false, 12, every);
  attribute(2, scene.paint === 0 && g.colors, g, "colors", () => g.colors, 4, gl.UNSIGNED_BYTE, true, 4, every);
  attribute(3, scene.paint === 2 && scene.axis < 0 && g.moved, g, "moved", () => g.moved, 1, gl.FLOAT, false, 4, every);
}

function setUniforms(scene, height) {
  const { projection } = scene;
  gl.uniformMatrix4fv(places.view, false, projection.view);
  gl.uniformMatrix4fv(places.projection, false, projection.projection);
  gl.uniform3fv(places.offset, scene.offset);
  gl.uniform1f(places.pixels, scene.pixels);
  gl.uniform1f(places.worldPixels, scene.worldSize * projection.projection[5] * height * 0.5);
  gl.uniform1i(places.axis, scene.axis);
  gl.uniform3fv(places.one, scene.one);
  gl.uniform3fv(places.ambient, scene.ambient);
  gl.uniform2fv(places.range, scene.range);
  gl.uniform1i(places.orthographic, projection.orthographic ? 1 : 0);
  const lights = scene.lights.slice(0, MOST_LIGHTS);
  gl.uniform1i(places.lightCount, lights.length);
  if (!lights.length) return;
  gl.uniform3fv(places.lights, lights.flatMap((light) => light.direction));
  gl.uniform3fv(places.lightColors, lights.flatMap((light) => light.color));
}

const style = (paint, lit, dots, alpha) => {
  gl.uniform1i(places.paint, paint);
  gl.uniform1i(places.lit, lit);
  gl.uniform1i(places.dots, dots ? 1 : 0);
  gl.uniform1f(places.alpha, alpha);
};

function drawPoints(scene, every) {
  bind(scene, every);
  style(scene.paint, 0, scene.worldSize > 0 || scene.pixels > 3, 1);
  gl.drawArrays(gl.POINTS, 0, Math.ceil(scene.geometry.positions.length / 3 / every));
}

function drawFaces(scene) {
  const g = scene.geometry;
  bind(scene, 1);
  if (scene.show !== "wireframe") {
    style(scene.paint, scene.lit, false, 1);
    if (scene.show === "edges") gl.enable(gl.POLYGON_OFFSET_FILL);
    buffer(g, "faces", gl.ELEMENT_ARRAY_BUFFER, () => g.faces);
    gl.drawElements(gl.TRIANGLES, g.faces.length, gl.UNSIGNED_INT, 0);
    gl.disable(gl.POLYGON_OFFSET_FILL);
    if (scene.show !== "edges") return;
    gl.uniform3fv(places.one, scene.line);
  }
  const over = scene.show === "edges";
  style(over ? 1 : scene.paint, 0, false, over ? EDGE_ALPHA : 1);
  buffer(g, "edges", gl.ELEMENT_ARRAY_BUFFER, () => meshGeometry.edges(g));
  gl.drawElements(gl.LINES, g.edges.length, gl.UNSIGNED_INT, 0);
}

/**
 * Draws a scene and copies it onto `target` at its own size.
 * @param every of how many points one is drawn
 * @returns whether there is a context to draw with
 */
function draw(scene: Scene, target: CanvasRenderingContext2D, every: number): boolean {
  if (!ready()) return false;
  const { width, height } = target.canvas;
  if (canvas.width < width || canvas.height < height) {
    canvas.width = Math.max(canvas.width, width);
    canvas.height = Math.max(canvas.height, height);
  }
  gl.viewport(0, 0, width, height);
  gl.scissor(0, 0, width, height);
  gl.clearColor(0, 0, 0, 0);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  setUniforms(scene, height);
  if (scene.show === "points" || !scene.geometry.faces) drawPoints(scene, every);
  else drawFaces(scene);
  // Waits until it is drawn, so that who measures frames measures this.
  if (scene.geometry.positions.length > 3 * WORTH_TIMING) {
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  }
  target.drawImage(canvas, 0, canvas.height - height, width, height, 0, 0, width, height);
  return true;
}

const exportedGl = {
  draw,
  MOST_LEFT_OUT: Math.floor(LARGEST_STRIDE / 12),
  SCALE,
  rgb,
  /** Calls back when a lost context is there again. */
  whenRestored: (callback) => (onRestored = callback),
  /** The shared context, for tests. */
  context: () => gl,
};

export { exportedGl as gl };
