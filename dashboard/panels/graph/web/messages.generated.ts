// Made from stepscope.dashboard.panels.graph.messages by `python -m tools.generate_page`; change them there.

/** A graph of the log directory; if it is open, with its size and problems. */
export interface GraphRow {
  id: string;
  run: string;
  tag: string;
  kind: string;
  label: string;
  steps: number[];
  opened: boolean;
  functions: string[];
  total?: Size;
  problems?: Problem[];
}

/** A graph that cannot be shown. */
export interface ClosedGraph {
  id: string;
  problem: string;
}

/** An entry in full; lists are bounded, and counts are of all. */
export interface Card {
  id: string;
  label: string;
  kind: "op" | "group" | "series" | "function";
  op: string;
  name: string;
  device: string;
  xla: string;
  expand: string[];
  structure: number;
  alike: number;
  count: number;
  parameters: number;
  bytes: number;
  flops: number | null;
  aside: boolean;
  auxiliary: boolean;
  hosts: string[];
  aux: string[];
  function: string;
  functions: string[];
  attributes: Record<string, Attribute>;
  outputs_of: string[];
  inputs: Link[];
  inputs_total: number;
  outputs: Link[];
  outputs_total: number;
  members: Member[];
  members_total: number;
  ops: OpCount[];
  problems: Problem[];
}

/** Costs by the paths of entries. */
export interface CostsAnswer {
  total: CostTotal;
  devices: string[];
  matched: number;
  unmatched: number;
  unmatched_names: string[];
  by_op: OpCost[];
  costs: Record<string, Cost>;
  problem?: string;
}

/** An attribute of a node, truncated if it is too long. */
export interface AttributeText {
  node: string;
  name: string;
  text: string;
  truncated: boolean;
}

/** What differs between two graphs; of each list, at most as many as requested. */
export interface Comparison {
  added: string[];
  removed: string[];
  changed: Change[];
  added_count: number;
  removed_count: number;
  changed_count: number;
  same_count: number;
}

/** What a search found, in the order of the graph. */
export interface Search {
  count: number;
  results: Found[];
  whole: boolean;
}

/** Nodes that hang together. */
export interface Walk {
  total: number;
  truncated: boolean;
  nodes: string[];
  groups: string[];
  shortest: string[];
}

/** A visible entry of the tree: an operation, or a group, open or closed. */
export interface SceneNode {
  id: string;
  label: string;
  kind: "op" | "group" | "series" | "function";
  op: string;
  parent: string | null;
  expanded: boolean;
  count: number;
  aux: string[];
  structure: number;
  device: string;
  xla: string;
  parameters: number;
  flops: number | null;
  problems: number;
  aside: boolean;
  members: string[];
}

/** All edges from one visible node to another. */
export interface SceneEdge {
  source: string;
  target: string;
  control: boolean;
  reference: boolean;
  tensors: number;
  bytes: number | null;
  label: string;
}

/** Position of a node in a scene: its upper left corner and its size, in units of the graph. */
export interface Place {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** The line of an edge of a scene. */
export interface EdgePoints {
  points: number[];
}

/** A scene without its nodes and edges. */
export interface SceneFrame {
  key: string;
  x: number;
  y: number;
  width: number;
  height: number;
  measures: Measures;
  aside: SceneNode[];
  problems: Problem[];
  total: Totals;
}

/** Size of a graph. */
export interface Size {
  nodes: number;
  edges: number;
}

/** What is wrong with a graph, of one kind; the graph is shown as far as it goes. */
export interface Problem {
  kind: "dangling input" | "duplicate name" | "unnamed node" | "cycle" | "recursion" | "too large" | "unknown function";
  message: string;
  count: number;
  examples: string[];
}

/** An attribute of a node, as far as it is shown beside others. */
export interface Attribute {
  kind: string;
  text: string;
  bytes: number;
  truncated: boolean;
}

/** An edge at an entry, seen from it. */
export interface Link {
  node: string;
  op: string;
  inside: string;
  expand: string[];
  slot: number;
  input: number;
  control: boolean;
  reference: boolean;
  label: string;
  bytes: number | null;
}

/** An entry of a group. */
export interface Member {
  id: string;
  label: string;
  kind: "op" | "group" | "series" | "function";
  op: string;
  count: number;
}

/** How many nodes of an operation there are. */
export interface OpCount {
  op: string;
  count: number;
}

/** Total cost of all entries. */
export interface CostTotal {
  time_ns: number;
  bytes: number;
  ran_count: number;
}

/** Cost of all nodes of an operation. */
export interface OpCost {
  op: string;
  time_ns: number;
  calls: number;
}

/** Cost of an entry in a profiled step or a trace. */
export interface Cost {
  time_ns: number;
  bytes: number;
  ran: boolean;
  ran_count: number;
  calls: number;
}

/** An attribute of a node that differs; "op", "device" and "inputs" are called so, others "attr.name". */
export interface Change {
  node: string;
  attribute: string;
  before: string | null;
  after: string | null;
}

/** An entry that fits. */
export interface Found {
  id: string;
  op: string;
  kind: string;
  place: "name" | "op" | "attribute";
  expand: string[];
  hosts: string[];
}

/** Sizes and gaps in pixels. */
export interface Measures {
  font: number;
  op_height: number;
  group_height: number;
  series_height: number;
  series_stack: number;
  min_width: number;
  max_width: number;
  label_padding: number;
  group_extra: number;
  long_count: number;
  badge: number;
  header: number;
  padding: number;
  gap: number;
  bend_gap: number;
  row_gap: number;
  most_row_gap: number;
  port_gap: number;
  inset: number;
}

/** Sums over a whole graph. */
export interface Totals {
  nodes: number;
  edges: number;
  parameters: number;
  bytes: number;
  flops: number | null;
}
