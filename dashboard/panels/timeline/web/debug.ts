/** The state of a panel as plain numbers, for tests and benchmarks. */
import * as geometry from "./geometry.ts";
import { panel as timelinePanel } from "./panel.ts";
import type { TimelinePanel } from "./panel.ts";
import type { Source } from "./data.ts";
import type { Band } from "./layout.ts";

export const stateOf = (panel: TimelinePanel) => {
  const { sources } = panel;
  const { slice } = panel.selection;
  const scene = panel.ready ? panel.scene : null;
  const sum = (of: (source: Source) => number) => sources.reduce((total, source) => total + of(source), 0);
  const row = (b: Band) => ({
    type: b.type,
    label: b.label,
    full: b.full,
    lane: b.lane,
    source: b.source.place,
    depths: b.depths,
    y: scene ? geometry.bandY(scene, b) : 0,
    height: b.height,
    sliceHeight: b.sliceHeight,
    folded: b.folded,
    pinned: b.pinned,
  });
  return {
    trace: sources[0]?.id ?? null,
    traces: sources.map((source) => ({ id: source.id, offset: source.offset })),
    aligned: panel.together.by,
    message: panel.message.textContent,
    range: [panel.viewport.start, panel.viewport.end],
    target: [...panel.viewport.target],
    end: sources[0]?.summary.end ?? null,
    loading: sources.some((source) => source.loading),
    requests: sum((source) => source.requests),
    bytes: sum((source) => source.bytes),
    windows: sum((source) => source.windows.size),
    slices: panel.drawn.slices,
    merged: panel.drawn.merged,
    frames: panel.frames,
    drawMs: panel.drawMs,
    scroll: panel.scroll,
    left: panel.left,
    pinTop: scene?.pinTop ?? 0,
    top: scene?.top ?? 0,
    width: panel.width,
    height: panel.height,
    dark: panel.theme.dark,
    color: panel.colors.mode,
    overlays: { critical: panel.overlays.critical, idle: panel.overlays.idle },
    gaps: sum((source) => source.stretches.idle.answer?.lane.length ?? 0),
    path: sum((source) => source.stretches.critical.answer?.lane.length ?? 0),
    differences: panel.colors.verdicts?.size ?? 0,
    collectives: panel.together.collectives?.rows.length ?? 0,
    selection: slice &&
      {
        index: slice.index,
        name: slice.name,
        start: slice.start,
        duration: slice.duration,
        source: slice.source.place,
        related: Boolean(slice.relations),
      },
    hover: panel.hover && { index: panel.hover.index, name: panel.hover.name },
    matches: panel.matches?.count ?? null,
    current: panel.search.current,
    marked: panel.marked,
    area: panel.area.chosen &&
      {
        range: panel.area.range,
        bands: panel.area.chosen.bands.size,
        answers: panel.area.answers.map((a) => a.slices),
      },
    rows: scene ? [...panel.rows.pinned, ...panel.rows.bands].map(row) : [],
    lanes: { total: panel.rows.total, hidden: panel.rows.hidden },
  };
};

export const debug = () => {
  const panel = timelinePanel();
  return panel && stateOf(panel);
};
