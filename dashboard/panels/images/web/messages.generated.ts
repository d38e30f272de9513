// Made from stepscope.dashboard.panels.images.messages by `python -m tools.generate_page`; change them there.

export const FACTS_HEADER = "X-Picture";
export const EDGES = [64, 128, 256, 512, 1024];

/** The series of a card, and their steps, which series may share. */
export interface CardData {
  key: string;
  group: "tag" | "run" | "step";
  series: CardSeries[];
  steps: TypedArray[];
}

/** Facts about a picture, sent in a header. */
export interface PictureFacts {
  samples: number;
  width: number;
  height: number;
  frames: number;
  size: number;
  mime_type: string;
  wall_time: number | string;
  reduced: boolean;
}

/** Why there is no picture, and the number of pictures at its step. */
export interface NoPicture {
  error: string;
  samples: number;
}

/** The current steps of a series. */
export interface SeriesSteps {
  steps: TypedArray;
  epoch: string;
}

/** All tags of the shown runs, and these runs. */
export interface Catalog {
  tags: string[];
  runs: CatalogRun[];
}

/** A series of a card; ``steps`` is the index of its steps among those of the card. */
export interface CardSeries {
  run: string;
  tag: string;
  light: string;
  dark: string;
  steps: number;
  epoch: string;
}

/** Numbers as Plotly takes them: their type and, in base64, their bytes. */
export interface TypedArray {
  dtype: "i1" | "i2" | "i4" | "u1" | "u2" | "u4" | "f4" | "f8";
  bdata: string;
}

/** A run and the indices of its tags. */
export interface CatalogRun {
  run: string;
  light: string;
  dark: string;
  tags: number[];
}
