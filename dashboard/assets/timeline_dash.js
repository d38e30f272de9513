// @ts-check
/** Joins the Timeline panel to the page: the trace selector opens traces, what is visible goes to the URL. */
(() => {
  const scope = (window.stepscope = window.stepscope || {});
  const RANGE = "timeline.range";

  /** @param {string} range `START:END` @returns {{start?: number, end?: number}} */
  function parse(range) {
    const parts = range.split(":").map(Number);
    return parts.length === 2 && parts.every(Number.isFinite) ? { start: parts[0], end: parts[1] } : {};
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.stepscopeTimeline = {
    /** @param {string | null} trace */
    open(trace) {
      const host = document.getElementById("timeline-host");
      const tools = document.getElementById("timeline-tools");
      if (!host || !tools) return window.dash_clientside.no_update;
      const onView = (/** @type {number | null} */ start, /** @type {number | null} */ end) =>
        scope.view.update((/** @type {URLSearchParams} */ _, /** @type {(name: string, values: string[]) => void} */ set) =>
          set(RANGE, [start === null ? "" : `${start}:${end}`]),
        );
      const fresh = host.childElementCount === 0;
      const panel = scope.timeline.mount(host, tools, { api: "api/timeline", onView });
      if (!fresh && panel.wanted !== trace) {
        onView(null, null);
        panel.canvas.focus();
      }
      panel.open(trace, fresh ? parse(scope.view.values(RANGE)[0] || "") : {});
      return trace;
    },
  };
})();
