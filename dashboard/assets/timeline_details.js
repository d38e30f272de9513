// @ts-check
/** What stands in words: the tooltip, the drawer about the selected slice, the strip of losses, the help sheet. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  /** What arguments mean, for those whose name does not say it. */
  const MEANINGS = {
    "External id": "Links an operator with the device work that it caused",
    "Ev Idx": "Number of the event in the profiler's own list",
    "Sequence number": "Links a forward operator with its backward one",
    "Fwd thread id": "Thread that ran the forward operator of this backward one",
    "Record function id": "Number that PyTorch gave to this call",
    correlation: "Links a kernel with the runtime call that launched it",
    cbid: "CUPTI's number of the runtime or driver function",
    device: "Number of the device",
    context: "CUDA context that the work ran in",
    stream: "Stream that the work was queued on",
    queued: "When the work was queued, if the driver recorded it",
    grid: "Blocks of the launch in x, y, z",
    block: "Threads of a block in x, y, z",
    "registers per thread": "Registers that each thread of the kernel uses",
    "shared memory": "Bytes of shared memory per block",
    "blocks per SM": "Blocks of the launch divided by the multiprocessors of the device",
    "warps per SM": "Warps of the launch divided by the multiprocessors of the device",
    "est. achieved occupancy %": "Estimate: active warps as a share of those that a multiprocessor can hold",
    "memory bandwidth (GB/s)": "Bytes moved divided by the duration",
    "Input Dims": "Shapes of the inputs",
    "Input type": "Element types of the inputs",
    "Input Strides": "Strides of the inputs, in elements",
    "Concrete Inputs": "Inputs that are plain values",
    op: "Type of the operation",
    name: "Name of the node in the graph",
  };

  const BYTES = /(^|[ _])(bytes|size|shared memory)$/i;

  /**
   * @param {string} tag
   * @param {string} [className]
   * @param {...(Node | string | null)} children
   * @returns {HTMLElement}
   */
  function element(tag, className = "", ...children) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...children.filter((c) => c !== null));
    return made;
  }

  /** @param {string} text @param {string} title @param {() => void} action @param {string} [className] */
  function button(text, title, action, className = "") {
    const made = /** @type {HTMLButtonElement} */ (element("button", `timeline-button ${className}`, text));
    made.type = "button";
    made.title = title;
    made.setAttribute("aria-label", title);
    made.addEventListener("click", action);
    return made;
  }

  /** @param {string} key @param {any} value */
  function argumentText(key, value) {
    if (value === null || value === undefined) return "–";
    if (typeof value === "object") return JSON.stringify(value).replace(/,/g, ", ");
    if (typeof value === "number") {
      if (BYTES.test(key)) return value < 1024 ? `${value} B` : `${timeline.format.bytes(value)} (${timeline.format.integer(value)} B)`;
      return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7)));
    }
    return String(value);
  }

  /** @param {[string, string | Node, string?][]} rows */
  function table(rows) {
    const body = element("div", "timeline-facts");
    for (const [key, value, title] of rows) {
      const name = element("span", "timeline-fact-name", key);
      if (title) name.title = title;
      if (title) name.classList.add("explained");
      body.append(name, element("span", "timeline-fact-value", value));
    }
    return body;
  }

  /**
   * @param {any} slice answer of the route `slice`
   * @param {any} summary
   * @param {{close: () => void, select: (index: number) => void, find: (name: string) => void, zoom: () => void}} actions
   */
  function drawer(slice, summary, actions) {
    const { duration, exact, integer } = timeline.format;
    const swatch = element("span", "timeline-swatch");
    swatch.dataset.name = slice.name;
    const copy = button("Copy", "Copy everything about this slice as JSON", async () => {
      // Browsers lend the clipboard only to https and to this machine.
      const copied = await (navigator.clipboard?.writeText(JSON.stringify(slice, null, 2)) ?? Promise.reject()).then(() => true, () => false);
      copy.textContent = copied ? "Copied" : "Not allowed here";
      setTimeout(() => (copy.textContent = "Copy"), 1200);
    });
    const title = element("span", "timeline-drawer-title", slice.name);
    title.title = slice.name;
    const head = element("div", "timeline-drawer-head", swatch, title,
      element("span", "timeline-drawer-tools",
        slice.previous === null ? null : button("‹", "Previous slice in this row (,)", () => actions.select(slice.previous)),
        slice.next === null ? null : button("›", "Next slice in this row (.)", () => actions.select(slice.next)),
        button("Zoom to", "Zoom to this slice (F)", actions.zoom),
        button("Find all", "Search for every slice of this name", () => actions.find(slice.name)),
        copy,
        button("✕", "Close (Esc)", actions.close, "plain")));
    const facts = section("Slice", table([
      ["Category", slice.category || "–"],
      ["Start", exact(slice.start), `${integer(slice.start)} ns after the trace's first event`],
      ["Duration", exact(slice.duration), `${integer(slice.duration)} ns`],
      ["Process", slice.process],
      ["Lane", slice.lane_name],
      ["Depth", String(slice.depth)],
    ]));
    const share = summary.end > 0 ? (100 * slice.occurrences.total) / summary.end : 0;
    const same = section("All of this name", table([
      ["Count", integer(slice.occurrences.count)],
      ["Total", duration(slice.occurrences.total), `${share.toFixed(2)} % of the trace's length, over all lanes`],
      ["Mean", duration(slice.occurrences.mean)],
      ["Min", duration(slice.occurrences.min)],
      ["Max", duration(slice.occurrences.max)],
    ]));
    const entries = Object.entries(slice.arguments);
    const rows = entries.map(([key, value]) => /** @type {[string, string, string?]} */ ([key, argumentText(key, value), MEANINGS[key]]));
    const args = section(entries.length ? `Arguments (${entries.length})` : "Arguments",
      entries.length ? table(rows) : element("p", "timeline-none", "The trace stores none for this slice."));
    args.classList.add("wide");
    same.classList.add("narrow");
    const parts = [facts, args, same];
    if (slice.incoming.total || slice.outgoing.total) parts.push(flowSection(slice, summary, actions));
    return [head, element("div", "timeline-drawer-body", ...parts)];
  }

  /** @param {string} title @param {Node} content */
  const section = (title, content) =>
    element("section", "timeline-section", element("h4", "", title), content);

  function flowSection(/** @type {any} */ slice, /** @type {any} */ summary, /** @type {any} */ actions) {
    const list = element("div", "timeline-flows");
    const add = (/** @type {string} */ direction, /** @type {any} */ flows) => {
      for (const other of flows.slices) {
        const gap = direction === "from" ? slice.start - other.start - other.duration : other.start - slice.start - slice.duration;
        const go = button(timeline.text.shortName(other.name), `${other.name}\n${summary.lanes[other.lane].process} › ${summary.lanes[other.lane].name}`, () => actions.select(other.index), "link");
        list.append(element("span", "timeline-flow-direction", direction), go,
          element("span", "timeline-flow-gap", gap >= 0 ? `after ${timeline.format.duration(gap, 3)}` : `overlaps ${timeline.format.duration(-gap, 3)}`));
      }
      const hidden = flows.total - flows.slices.length;
      if (hidden > 0) list.append(element("span", "timeline-flow-more", `and ${timeline.format.integer(hidden)} more ${direction === "from" ? "incoming" : "outgoing"}`));
    };
    add("from", slice.incoming);
    add("to", slice.outgoing);
    return section(`Flows (${slice.incoming.total + slice.outgoing.total})`, list);
  }

  /** @param {any} slice @param {any} summary */
  function tooltip(slice, summary) {
    const { duration, integer } = timeline.format;
    const lane = summary.lanes[slice.lane];
    return [
      element("div", "timeline-tip-name", slice.name),
      element("div", "timeline-tip-facts", element("b", "", duration(slice.duration)), slice.category ? ` · ${slice.category}` : ""),
      element("div", "timeline-tip-lane", `${lane.process} › ${lane.name}`),
      slice.count > 1
        ? element("div", "timeline-tip-merged", `The longest of ${integer(slice.count)} slices here; zoom in to part them`)
        : null,
    ].filter((e) => e !== null);
  }

  /** @param {any} band @param {{time: number, value: number | null}} reading @param {any} summary */
  function counterTip(band, reading, summary) {
    const counter = summary.counters[band.counter];
    const value = reading.value === null ? "not a number" : reading.value.toLocaleString("en-US", { maximumFractionDigits: 6 });
    return [
      element("div", "timeline-tip-name", band.label),
      element("div", "timeline-tip-facts", element("b", "", value), ` since ${timeline.format.duration(reading.time, 6)}`),
      element("div", "timeline-tip-lane", `${counter.process} · ${timeline.format.integer(counter.points)} points`),
    ];
  }

  /** One line that says what of the trace is not shown; null when it is whole. @param {any} summary */
  function losses(summary) {
    const counted = Object.entries(summary.losses).filter(([, n]) => n > 0);
    const total = counted.reduce((sum, [, n]) => sum + n, 0);
    const parts = [...summary.notes];
    if (summary.steps_total > summary.steps.length) parts.push(`the ruler shows ${summary.steps.length} of ${summary.steps_total} steps`);
    if (!total && !parts.length) return null;
    const { integer } = timeline.format;
    const text = total
      ? `${integer(total)} event${total === 1 ? "" : "s"} could not be shown as stored: ${counted.map(([why, n]) => `${integer(n)} × ${why}`).join("; ")}`
      : "";
    const all = [text, ...parts].filter(Boolean).join(" · ");
    const strip = element("div", "timeline-losses", element("span", "timeline-losses-mark", "!"), element("span", "", all));
    strip.title = all;
    return strip;
  }

  const KEYS = [
    ["W  S", "Zoom in and out at the mouse"],
    ["A  D", "Pan left and right (also ← →)"],
    ["↑  ↓", "Scroll the lanes"],
    ["Ctrl + wheel", "Zoom at the mouse; also the wheel over the time axis"],
    ["Shift + wheel", "Pan"],
    ["Drag", "Pan and scroll"],
    ["Shift + drag", "Zoom to a range"],
    ["Click", "Select a slice; its details open below"],
    ["Double click", "Zoom to a slice"],
    [",  .", "Previous and next slice of the row"],
    ["F", "Fit the selection, or everything"],
    ["0  Home", "Show everything"],
    ["M", "Mark the selection and measure it"],
    ["Z  Backspace", "Undo the last zoom or pan"],
    ["/", "Search; Enter and Shift + Enter step through matches"],
    ["Esc", "Clear selection, marks and search"],
    ["?", "This sheet"],
  ];

  /** @param {() => void} close */
  function help(close) {
    const list = element("div", "timeline-help-keys");
    for (const [keys, what] of KEYS) {
      const shown = element("span", "timeline-help-key");
      for (const key of keys.split("  ")) shown.append(element("kbd", "", key), " ");
      list.append(shown, element("span", "", what));
    }
    const sheet = element("div", "timeline-help-sheet",
      element("div", "timeline-help-head", element("b", "", "Keys and mouse"), button("✕", "Close (Esc)", close, "plain")), list);
    sheet.setAttribute("role", "dialog");
    sheet.setAttribute("aria-label", "Keys and mouse of the timeline");
    const cover = element("div", "timeline-help", sheet);
    cover.addEventListener("click", (event) => {
      if (event.target === cover) close();
    });
    return cover;
  }

  timeline.details = { element, button, drawer, tooltip, counterTip, losses, help };
})();
