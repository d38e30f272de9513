// Made from stepscope.dashboard.page.messages and stepscope.dashboard.traces.messages by `python -m tools.generate_page`; change them there.

/** What the page is made of: all panels, settings with their defaults, and what other distributions add. */
export interface Declared {
  panels: PanelFacts[];
  values: Record<string, string[]>;
  personal: string[];
  plugins: PluginPage[] | null;
  former_names: Record<string, string>;
  former_values: Record<string, Record<string, string>>;
}

/** What other distributions add, and a sentence for each failure of it. */
export interface PluginsListed {
  plugins: PluginNamed[];
  failures: string[];
}

/** What can be recorded, by whom, and into which runs; if nothing can, why not. */
export interface CaptureRules {
  why_not: string;
  loopback: boolean;
  addresses: string[];
  usual: string;
  runs: string[];
  collectors: string[];
}

/** A recording that has ended well, with its trace's id where that is listed already. */
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

/** Why a program cannot be recorded: what kind of problem it is, and a sentence. */
export interface CaptureProblem {
  problem: string;
  message: string;
}

/** What a program shows of one step; sections that change most come first. */
export interface LiveFrame {
  number: number;
  step: number | null;
  wall_time: number;
  left_out: number;
  sections: LiveSection[];
}

/** There is nothing newer than what the page has. */
export interface NoLiveFrame {
  number: number;
  tensors: null;
}

/** The id of a trace that was taken. */
export interface DroppedTrace {
  id: string;
}

/** A panel: the kinds of data whose tags it shows, an expression for the end of tags that no card shows, and whether the list of runs chooses what is in it. */
export interface PanelFacts {
  name: string;
  kinds: string[];
  ending: string;
  follows_runs: boolean;
}

/** A panel of another distribution: where its module and its style are, and when they are loaded. */
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

/** A setting of a plug-in's panel, with its default as it stands in the URL. */
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
  not_finite: number;
  mean: number | null;
  lowest: number;
  highest: number;
  change: number;
  pixels: string;
}
