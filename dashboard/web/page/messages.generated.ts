// Made from stepscope.dashboard.page.messages and stepscope.dashboard.traces.messages by `python -m tools.generate_page`; change them there.

/** Content of the page: all panels, settings with their defaults, and additions by other distributions. */
export interface Declared {
  panels: PanelFacts[];
  values: Record<string, string[]>;
  personal: string[];
  plugins: PluginPage[] | null;
  former_names: Record<string, string>;
  former_values: Record<string, Record<string, string>>;
}

/** Additions by other distributions, and a sentence for each failure. */
export interface PluginsListed {
  plugins: PluginNamed[];
  failures: string[];
}

/** Programs that can be recorded, available collectors, and target runs; if nothing can be recorded, why not. */
export interface CaptureRules {
  why_not: string;
  loopback: boolean;
  addresses: string[];
  usual: string;
  runs: string[];
  collectors: string[];
}

/** A successful recording, with the id of its trace if that is already listed. */
export interface Captured {
  trace: string | null;
  file: string;
  address: string;
  host: string;
  pid: number;
  steps: number;
  first_step: number | null;
  last_step: number | null;
  records: number;
  unfinished: number;
  notes: string[];
}

/** Why a program cannot be recorded: the kind of problem, and a sentence. */
export interface CaptureProblem {
  problem: string;
  message: string;
}

/** Arrays that a program shows of one step; the sections that change most come first. */
export interface LiveFrame {
  number: number;
  step: number | null;
  wall_time: number;
  left_out: number;
  sections: LiveSection[];
}

/** The page already has the newest frame. */
export interface NoLiveFrame {
  number: number;
  tensors: null;
}

/** Id of a dropped trace that was accepted. */
export interface DroppedTrace {
  id: string;
}

/** A panel: the kinds of data whose tags it shows, a regular expression for the tag ending that cards leave out, the setting that a tag chosen in the palette is written to ("" for none), and whether the list of runs selects its content. */
export interface PanelFacts {
  name: string;
  kinds: string[];
  ending: string;
  tag_setting: string;
  follows_runs: boolean;
}

/** A panel of another distribution: the locations of its module and style, and when they are loaded. */
export interface PluginPage {
  name: string;
  title: string;
  distribution: string;
  script: string | null;
  style: string | null;
  at_start: boolean;
  settings: SettingFacts[];
}

/** An entry point of another distribution. */
export interface PluginNamed {
  group: string;
  name: string;
  distribution: string;
}

/** Arrays that belong together. */
export interface LiveSection {
  name: string;
  change: number;
  tensors: LiveTensor[];
}

/** A setting of a plug-in's panel, with its default as written in the URL. */
export interface SettingFacts {
  name: string;
  kind: "text" | "names" | "flag" | "choice" | "number";
  values: string[];
  options: string[];
  limits: [number, number] | null;
}

/** An array of a running program as a picture. */
export interface LiveTensor {
  name: string;
  layout: "bars" | "plane" | "tiles" | "colors";
  shape: number[];
  dtype: string;
  width: number;
  height: number;
  shown: number;
  axes: [number, number][];
  not_finite: number;
  mean: number | null;
  lowest: number;
  highest: number;
  change: number;
  pixels: string;
}
