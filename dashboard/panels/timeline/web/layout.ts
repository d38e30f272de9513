/** Which rows are where: traces, groups of lanes, lanes and counters, from top to bottom; pinned ones apart. Pure. */
import { stable } from "./lanes.ts";

const TRACE_HEIGHT = 28;
const GROUP_HEIGHT = 26;
const SLICE_HEIGHT = 18;
const FOLDED_SLICE_HEIGHT = 5;
const LANE_GAP = 6;
const MIN_LANE_HEIGHT = 24;
const COUNTER_HEIGHT = 44;

export interface Band {
  type: "trace" | "group" | "lane" | "counter";
  /** what its folding, pinning and place are remembered by; equal for the like lane of another trace */
  key: string;
  /** as `key`, but of this trace alone */
  id: string;
  /** key of what it lies in */
  parent: string;
  label: string;
  /** the label that also makes sense alone: "GPU 0 · stream 7 · compute" */
  full: string;
  /** the label as the file has it */
  title: string;
  y: number;
  height: number;
  foldable: boolean;
  folded: boolean;
  pinned: boolean;
  source: any;
  /** index of the lane, -1 for other bands */
  lane: number;
  /** index of the counter, -1 for other bands */
  counter: number;
  depths: number;
  sliceHeight: number;
  kind: string;
}
export interface Rows {
  pinned: Band[];
  pinnedHeight: number;
  bands: Band[];
  height: number;
  /** how many lanes and counters are not shown */
  hidden: number;
  /** how many there are */
  total: number;
  /** the band of each lane, by `place of the source/lane` */
  ofLane: Map<string, Band>;
}

/** Entries of each group, as bands without a place. */
function groupsOf(source: any): { band: any; entries: any[] }[] {
  const { summary } = source;
  return summary.groups.map((group: any) => {
    const seen: Map<string, number> = new Map();
    const parent = `g:${stable(group.title)}`;
    const keyed = (key: string) => {
      const times = seen.get(key) || 0;
      seen.set(key, times + 1);
      return times ? `${key}~${times}` : key;
    };
    const entries = [
      ...group.lanes.map((index: number) => {
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
      }),
      ...group.counters.map((index: number) => {
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
      }),
    ];
    const band = {
      type: "group",
      key: parent,
      parent: "",
      label: group.title,
      full: group.title,
      title: group.title,
      kind: group.kind,
      lane: -1,
      counter: -1,
      depths: 0,
      foldable: true,
    };
    return { band, entries };
  });
}

/** @param choices what the user made of the lanes, see timeline_lanes.js */
export function layout(sources: any[], choices: any): Rows {
  const rows: Rows = { pinned: [], pinnedHeight: 0, bands: [], height: 0, hidden: 0, total: 0, ofLane: new Map() };
  const place = (band: any, source: any, pinned: boolean) => {
    const folded = choices.isFolded(band);
    const flat = folded && band.depths > 1;
    const sliceHeight = flat ? FOLDED_SLICE_HEIGHT : SLICE_HEIGHT;
    const height = band.type === "trace"
      ? TRACE_HEIGHT
      : band.type === "group"
      ? GROUP_HEIGHT
      : band.type === "counter"
      ? COUNTER_HEIGHT
      : Math.max(band.depths * sliceHeight + LANE_GAP, MIN_LANE_HEIGHT);
    const full = {
      ...band,
      id: `${source.place}|${band.key}`,
      source,
      folded,
      pinned,
      sliceHeight,
      height,
      y: pinned ? rows.pinnedHeight : rows.height,
    };
    (pinned ? rows.pinned : rows.bands).push(full);
    if (pinned) rows.pinnedHeight += height;
    else rows.height += height;
    const at = `${source.place}/${band.lane}`;
    if (band.type === "lane" && !rows.ofLane.has(at)) rows.ofLane.set(at, full);
    return full;
  };
  const all = sources.map((source) => ({ source, groups: choices.ordered(groupsOf(source), (g: any) => g.band.key) }));
  const pins = all.flatMap(({ source, groups }) =>
    groups.flatMap((g: any) => g.entries)
      .filter((entry: any) => choices.isPinned(entry)).map((entry: any) => ({ entry, source }))
  );
  for (const { entry, source } of choices.orderedPins(pins)) place(entry, source, true);
  for (const { source, groups } of all) {
    if (sources.length > 1) {
      const label = `${source.place + 1} · ${source.summary.run} · ${source.summary.label}`;
      const trace = {
        type: "trace",
        key: `t:${source.place}`,
        parent: "",
        label,
        full: label,
        title: `Run ${source.summary.run}`,
        kind: "trace",
        lane: -1,
        counter: -1,
        depths: 0,
        foldable: true,
      };
      if (place(trace, source, false).folded) continue;
    }
    for (const { band, entries } of groups) {
      rows.total += entries.length;
      const shown = choices.ordered(entries, (e: any) => e.key).filter((e: any) => choices.isShown(e));
      rows.hidden += entries.length - shown.length;
      const rest = shown.filter((e: any) => !choices.isPinned(e));
      if (!rest.length) continue;
      if (place(band, source, false).folded) continue;
      for (const entry of rest) place(entry, source, false);
    }
  }
  return rows;
}

export function bandAt(bands: Band[], y: number): Band | null {
  let low = 0;
  let high = bands.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bands[middle].y + bands[middle].height <= y) low = middle + 1;
    else high = middle;
  }
  const band = bands[low];
  return band && y >= band.y ? band : null;
}
