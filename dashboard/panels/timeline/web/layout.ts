/** The row layout: traces, lane groups, lanes and counters from top to bottom; pinned ones separate. Pure. */
import { firstWhere } from "../../../web/core/steps.ts";
import type { Source } from "./data.ts";
import type { LaneGroup, LaneRow } from "./messages.generated.ts";

const TRACE_HEIGHT = 28;
const GROUP_HEIGHT = 26;
const SLICE_HEIGHT = 18;
const FOLDED_SLICE_HEIGHT = 5;
const LANE_GAP = 6;
const MIN_LANE_HEIGHT = 24;
const COUNTER_HEIGHT = 44;

/** Anything that can have a row. */
export interface Entry {
  type: "trace" | "group" | "lane" | "counter";
  /** identifies it for remembering folding, pinning and order; the same for the corresponding lane of another trace */
  key: string;
  /** key of its parent */
  parent: string;
  label: string;
  /** a label that also makes sense on its own: "GPU 0 · stream 7 · compute" */
  full: string;
  /** the label as written in the file */
  title: string;
  kind: LaneRow["kind"] | LaneGroup["kind"] | "counter" | "trace";
  /** index of the lane, -1 for other entries */
  lane: number;
  /** index of the counter, -1 for other entries */
  counter: number;
  depths: number;
  foldable: boolean;
}
/** An entry at its position. */
export interface Band extends Entry {
  /** like `key`, but for this trace only */
  id: string;
  y: number;
  height: number;
  folded: boolean;
  pinned: boolean;
  source: Source;
  sliceHeight: number;
}
export interface Rows {
  pinned: Band[];
  pinnedHeight: number;
  bands: Band[];
  height: number;
  /** how many lanes and counters are not shown */
  hidden: number;
  /** how many there are in total */
  total: number;
  /** the band of each lane, by `place of the source/lane` */
  ofLane: Map<string, Band>;
}
/** An entry that is pinned. */
export interface Pin {
  entry: Entry;
  source: Source;
}
/** The user's choices for the lanes. */
export interface Choices {
  isFolded(entry: Entry): boolean;
  isPinned(entry: Entry): boolean;
  isShown(entry: Entry): boolean;
  ordered<T>(entries: T[], keyOf: (entry: T) => string): T[];
  orderedPins(pins: Pin[]): Pin[];
}

/** Removes identifiers, which differ for the corresponding lane of another recording. */
export const stable = (text: string) => text.replace(/\(process \d+\)/, "").replace(/-?\d{4,}/g, "#").trim();

/** An entry that is neither a lane nor a counter. */
const heading = (type: "trace" | "group", key: string, label: string, kind: Entry["kind"], title = label): Entry => ({
  type,
  key,
  parent: "",
  label,
  full: label,
  title,
  kind,
  lane: -1,
  counter: -1,
  depths: 0,
  foldable: true,
});

/** The groups of a trace with their lanes and counters. */
function groupsOf({ summary }: Source): { band: Entry; entries: Entry[] }[] {
  return summary.groups.map((group) => {
    const seen: Map<string, number> = new Map();
    const parent = `g:${stable(group.title)}`;
    const keyed = (key: string) => {
      const times = seen.get(key) ?? 0;
      seen.set(key, times + 1);
      return times ? `${key}~${times}` : key;
    };
    const lanes = group.lanes.map((index): Entry => {
      const lane = summary.lanes[index];
      const label = summary.lane_labels[index];
      return {
        type: "lane",
        key: keyed(`${parent}/l:${stable(label)}`),
        parent,
        label,
        full: `${group.short} · ${label}`,
        kind: lane.kind,
        title: `${lane.process} › ${lane.name} (process ${lane.pid}, thread ${lane.tid})`,
        lane: index,
        counter: -1,
        depths: lane.depths,
        foldable: lane.depths > 1,
      };
    });
    const counters = group.counters.map((index): Entry => {
      const counter = summary.counters[index];
      const label = summary.counter_labels[index];
      return {
        type: "counter",
        key: keyed(`${parent}/c:${stable(label)}`),
        parent,
        label,
        full: label,
        kind: "counter",
        title: `${counter.process} › ${counter.name} › ${counter.series}`,
        lane: -1,
        counter: index,
        depths: 0,
        foldable: false,
      };
    });
    return { band: heading("group", parent, group.title, group.kind), entries: [...lanes, ...counters] };
  });
}

export function layout(sources: Source[], choices: Choices): Rows {
  const rows: Rows = { pinned: [], pinnedHeight: 0, bands: [], height: 0, hidden: 0, total: 0, ofLane: new Map() };
  const place = (entry: Entry, source: Source, pinned: boolean): Band => {
    const folded = choices.isFolded(entry);
    const sliceHeight = folded && entry.depths > 1 ? FOLDED_SLICE_HEIGHT : SLICE_HEIGHT;
    const heights = {
      trace: TRACE_HEIGHT,
      group: GROUP_HEIGHT,
      counter: COUNTER_HEIGHT,
      lane: Math.max(entry.depths * sliceHeight + LANE_GAP, MIN_LANE_HEIGHT),
    };
    const height = heights[entry.type];
    const y = pinned ? rows.pinnedHeight : rows.height;
    const band = { ...entry, id: `${source.place}|${entry.key}`, source, folded, pinned, sliceHeight, height, y };
    (pinned ? rows.pinned : rows.bands).push(band);
    if (pinned) rows.pinnedHeight += height;
    else rows.height += height;
    const at = `${source.place}/${entry.lane}`;
    if (entry.type === "lane" && !rows.ofLane.has(at)) rows.ofLane.set(at, band);
    return band;
  };
  const all = sources.map((source) => ({ source, groups: choices.ordered(groupsOf(source), ({ band }) => band.key) }));
  const pins = all.flatMap(({ source, groups }) =>
    groups.flatMap(({ entries }) => entries).filter((entry) => choices.isPinned(entry))
      .map((entry) => ({ entry, source }))
  );
  for (const { entry, source } of choices.orderedPins(pins)) place(entry, source, true);
  for (const { source, groups } of all) {
    if (sources.length > 1) {
      const { run, label } = source.summary;
      const name = `${source.place + 1} · ${run} · ${label}`;
      if (place(heading("trace", `t:${source.place}`, name, "trace", `Run ${run}`), source, false).folded) continue;
    }
    for (const { band, entries } of groups) {
      rows.total += entries.length;
      const shown = choices.ordered(entries, ({ key }) => key).filter((entry) => choices.isShown(entry));
      rows.hidden += entries.length - shown.length;
      const rest = shown.filter((entry) => !choices.isPinned(entry));
      if (!rest.length || place(band, source, false).folded) continue;
      for (const entry of rest) place(entry, source, false);
    }
  }
  return rows;
}

export function bandAt(bands: Band[], y: number): Band | null {
  const band = bands.at(firstWhere(bands.length, (at) => bands[at].y + bands[at].height > y));
  return band && y >= band.y ? band : null;
}
