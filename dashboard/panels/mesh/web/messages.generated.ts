// Made from stepscope.dashboard.panels.mesh.messages by `python -m tools.generate_page`; change them there.

/** A card. */
export interface MeshCard {
  key: string;
  tag: string;
  run: string;
  light: string;
  dark: string;
  problems: string[];
  looks?: Looks;
  vertices: MeshPoints | null;
  against?: Reference | Incomparable | null;
}

/** The mesh that a mesh is compared with: for each point of the one, a point of the other. */
export interface Reference {
  run: string;
  same_run: boolean;
  index: TypedArray;
  steps: TypedArray;
  walls: TypedArray;
}

/** Facts about a mesh besides its columns, as far as known, and why there is nothing to draw. */
export interface MeshHeader {
  samples: number;
  error: string;
  notes: string[];
  vertices?: number;
  faces?: number;
  every?: number;
  origin?: [number, number, number];
  low?: [number, number, number];
  high?: [number, number, number];
  moved?: MovedFacts | null;
}

/** A mesh at one step. */
export interface PackedMesh {
  samples: number;
  error: string;
  notes: string[];
  vertices?: number;
  faces?: number;
  every?: number;
  origin?: [number, number, number];
  low?: [number, number, number];
  high?: [number, number, number];
  moved?: MovedFacts | null;
  columns: ColumnPlaces;
}

/** The honored parts of a logged configuration, and the entries that are ignored. */
export interface Looks {
  camera: CameraLooks;
  material: MaterialLooks;
  lights: Light[];
  ignored: string[];
}

/** For each point of the vertices: its step and wall time, and the matching points of faces and colors. */
export interface MeshPoints {
  steps: TypedArray;
  walls: TypedArray;
  faces: TypedArray;
  colors: TypedArray;
}

/** Why a mesh is not compared. */
export interface Incomparable {
  error: string;
}

/** Numbers as Plotly takes them: their type and, in base64, their bytes. */
export interface TypedArray {
  dtype: "i1" | "i2" | "i4" | "u1" | "u2" | "u4" | "f4" | "f8";
  bdata: string;
}

/** Distances that vertices moved. */
export interface MovedFacts {
  mean: number | string;
  most: number | string;
}

/** Places of the existing columns. */
export interface ColumnPlaces {
  positions?: number;
  faces?: number;
  colors?: number;
  moved?: number;
}

/** The camera of a logged configuration; values that are not given are None. */
export interface CameraLooks {
  kind: "perspective" | "orthographic";
  fov: number | null;
  position: [number, number, number] | null;
  target: [number, number, number] | null;
}

/** The material of a logged configuration; values that are not given are None. */
export interface MaterialLooks {
  unlit: boolean;
  color: [number, number, number] | null;
  wireframe: boolean | null;
  flat: boolean | null;
  vertexColors: boolean | null;
  size: number | null;
}

/** A light of a logged configuration; without a position, it shines from everywhere. */
export interface Light {
  color: [number, number, number];
  intensity: number;
  position?: [number, number, number];
}
