// @ts-check
/** The state of a panel as plain numbers, for tests and benchmarks. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  /** @param {any} panel the panel of timeline_panel.js */
  timeline.stateOf = (panel) => {
    const { source } = panel;
    const { slice } = panel.selection;
    return {
      trace: source?.summary.id ?? null,
      message: panel.message.textContent,
      range: [panel.viewport.start, panel.viewport.end],
      target: [...panel.viewport.target],
      end: source?.summary.end ?? null,
      loading: source?.loading ?? false,
      requests: source?.requests ?? 0,
      bytes: source?.bytes ?? 0,
      windows: source?.windows.size ?? 0,
      slices: panel.drawn.slices,
      merged: panel.drawn.merged,
      frames: panel.frames,
      drawMs: panel.drawMs,
      scroll: panel.scroll,
      left: panel.left,
      top: source ? panel.scene.top : 0,
      width: panel.width,
      height: panel.height,
      dark: panel.theme.dark,
      selection: slice && { index: slice.index, name: slice.name, start: slice.start, duration: slice.duration },
      hover: panel.hover && { index: panel.hover.index, name: panel.hover.name },
      matches: panel.matches?.count ?? null,
      current: panel.search.current,
      marked: panel.marked,
      rows: source ? panel.bands.map((b) => ({ type: b.type, label: b.label, lane: b.lane, depths: b.depths, y: b.y - panel.scroll + panel.scene.top, height: b.height, sliceHeight: b.sliceHeight, folded: b.folded })) : [],
    };
  };
})();
