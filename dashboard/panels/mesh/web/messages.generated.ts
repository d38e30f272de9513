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

/** What a mesh is compared with: for each of its points another. */
export interface Reference {
  run: string;
  same_run: boolean;
  index: TypedArray;
  steps: TypedArray;
  walls: TypedArray;
}

/** What is told of a mesh beside its columns: as much as is known, and why there is nothing to draw. */
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

/** What is honored of a logged configuration, and the entries that are not. */
export interface Looks {
  camera: CameraLooks;
  material: MaterialLooks;
  lights: Light[];
  ignored: string[];
}

/** By point of the vertices: when it was, and the points of faces and colors that belong to it. */
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

/** How far vertices moved. */
export interface MovedFacts {
  mean: number | string;
  most: number | string;
}

/** Places of the columns that there are. */
export interface ColumnPlaces {
  positions?: number;
  faces?: number;
  colors?: number;
  moved?: number;
}

/** The camera of a logged configuration; what is not given is None. */
export interface CameraLooks {
  kind: "perspective" | "orthographic";
  fov: number | null;
  position: [number, number, number] | null;
  target: [number, number, number] | null;
}

/** The material of a logged configuration; what is not given is None. */
export interface MaterialLooks {
  unlit: boolean;
  color: [number, number, number] | null;
  wireframe: boolean | null;
  flat: boolean | null;
  vertexColors: boolean | null;
  size: number | null;
}

/** A light of a logged configuration; one without a position shines from everywhere. */
export interface Light {
  color: [number, number, number];
  intensity: number;
  position?: [number, number, number];
}
