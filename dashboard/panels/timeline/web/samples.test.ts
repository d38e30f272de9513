// Traces for the tests of this folder; there is no test in here.
import { Api } from "../../../web/core/request.ts";
import { Source } from "./data.ts";
import type { CounterRow, LaneGroup, LaneRow, TraceSummary } from "./messages.generated.ts";

export const lane = (number: number, depths = 1, kind: LaneRow["kind"] = "host"): LaneRow => ({
  lane: number,
  process: "python",
  name: `thread ${number}`,
  pid: 4711,
  tid: number,
  kind,
  depths,
});
export const counter = (name: string): CounterRow => ({
  process: "python",
  name,
  series: "bytes",
  points: 2,
  min: 0,
  max: 1,
});
export const group = (title: string, lanes: number[], counters: number[] = []): LaneGroup => ({
  title,
  short: title.slice(0, 3),
  kind: "host",
  lanes,
  counters,
});

export const summary = (parts: Partial<TraceSummary>): TraceSummary => ({
  lanes: [],
  lanes_total: 0,
  groups: [],
  lane_labels: parts.lanes?.map(({ name }) => name) ?? [],
  counter_labels: parts.counters?.map(({ name }) => name) ?? [],
  id: "trace.json",
  label: "trace.json",
  run: "train",
  start_ns: "0",
  end: 1000,
  work: [0, 1000],
  slices: 0,
  steps: [],
  steps_total: 0,
  counters: [],
  categories: [],
  longest: 0,
  losses: {},
  counted: {},
  examples: {},
  meanings: {},
  notes: [],
  coverage: { start: 0, end: 0, strips: [] },
  ...parts,
});

export function source(parts: Partial<TraceSummary> = {}, place = 0): Source {
  const made = new Source(new Api("api"), summary(parts), () => {}, () => {});
  made.place = place;
  return made;
}
