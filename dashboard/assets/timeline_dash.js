// @ts-check
/** Joins the Timeline panel to the page: the trace selector opens traces, what is visible goes to the URL. */
(() => {
  const scope = (window.stepscope = window.stepscope || {});

  /** What the address asks for. */
  function wish() {
    const one = (/** @type {string} */ name) => scope.view.values(`timeline.${name}`)[0] || "";
    const range = one("range").split(":").map(Number);
    const [start, end] = range.length === 2 && range.every(Number.isFinite) ? range : [];
    return {
      start, end,
      slice: /^\d+$/.test(one("slice")) ? Number(one("slice")) : undefined,
      search: one("search"),
      match: one("match") || "text",
      colour: one("colour"),
      compare: scope.view.values("timeline.compare"),
      align: one("align"),
      overlays: scope.view.values("timeline.overlay"),
      lanes: one("lanes"),
    };
  }

  // A large trace takes seconds to read; the page need not be there for the server to begin.
  const asked = new URLSearchParams(location.search);
  const first = asked.get("tab") === "timeline" ? asked.get("timeline.trace") : null;
  let early = first ? { id: first, answer: fetch(`api/timeline/trace?${new URLSearchParams({ id: first })}`).catch(() => null) } : null;
  scope.timeline = scope.timeline || {};
  scope.timeline.ahead = {
    /** What is known of a trace: asked for while the page was loading, or now. @param {string} api @param {string} id */
    async summary(api, id) {
      const known = early?.id === id ? await early.answer : null;
      early = null;
      const response = known?.ok ? known : await scope.timeline.data.request(api, "trace", { id });
      return response.json();
    },
  };

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.stepscopeTimeline = {
    /** @param {string | null} trace */
    open(trace) {
      const host = document.getElementById("timeline-host");
      const tools = document.getElementById("timeline-tools");
      if (!host || !tools) return window.dash_clientside.no_update;
      // What comes late for a panel that was left says nothing about the next one.
      const tell = (/** @type {Record<string, string[]>} */ values) => host.isConnected &&
        scope.view.update((/** @type {URLSearchParams} */ _, /** @type {(name: string, values: string[]) => void} */ set) => {
          for (const [name, told] of Object.entries(values)) set(name, told);
        });
      const fresh = host.childElementCount === 0;
      const panel = scope.timeline.mount(host, tools, { api: "api/timeline", perfetto: host.dataset.perfetto || "", tell });
      const wished = fresh ? wish() : {};
      if (!fresh && panel.wanted !== trace) {
        tell({ "timeline.range": [""], "timeline.slice": [""], "timeline.compare": [] });
        panel.canvas.focus();
      }
      panel.open(trace, wished);
      return trace;
    },
  };
})();
