/** What stands in words: the drawer about the selected slice, and the box beside the mouse. */
import * as colours from "./colours.ts";
import * as format from "./format.ts";
import * as pageFrame from "../../../web/page/layout.ts";
import * as timelineText from "../../../web/core/canvas_text.ts";
import { causeKey, causeWords } from "./overlays.ts";
import { elements } from "../../../web/core/dom.ts";
import type { Source } from "./data.ts";
import type { Band } from "./layout.ts";

/** What arguments mean, for those whose name does not say it. */
const MEANINGS: Record<string, string> = {
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

/** Why a stream had nothing to do, as HolisticTraceAnalysis tells them apart. */
const CAUSES = {
  host: "The next kernel was launched too late: the host did not keep up",
  kernel: "A short pause between kernels that were launched in time",
  other: "The launch of the next one is not known, or it waited for something else",
};

const BYTES = /(^|[ _])(bytes|size|shared memory)$/i;

export function element(tag: string, className: string = "", ...children: ((Node | string | null))[]): HTMLElement {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter((c) => c !== null));
  return made;
}

export function button(text: string, title: string, action: () => void, className: string = "") {
  const made = element("button", `timeline-button ${className}`, text) as HTMLButtonElement;
  made.type = "button";
  made.title = title;
  made.setAttribute("aria-label", title);
  made.addEventListener("click", action);
  return made;
}

function argumentText(key: string, value: any) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "object") return JSON.stringify(value).replace(/,/g, ", ");
  if (typeof value === "number") {
    if (BYTES.test(key)) return value < 1000 ? `${value} B` : `${format.bytes(value)} (${format.integer(value)} B)`;
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7)));
  }
  return String(value);
}

function table(rows: [string, string | Node, string?][]) {
  const body = element("div", "timeline-facts");
  for (const [key, value, title] of rows) {
    const name = element("span", "timeline-fact-name", key);
    if (title) name.title = title;
    if (title) name.classList.add("explained");
    body.append(name, element("span", "timeline-fact-value", value));
  }
  return body;
}

const section = (title: string, content: Node, className: string = "") =>
  element("section", `timeline-section ${className}`, element("h4", "", title), content);

/** A slice as a link to it. */
function sliceLink(other: any, source: Source, select: (index: number) => void) {
  const link = button(
    timelineText.shortName(other.name),
    `${other.name}\n${laneName(source, other.lane)}\n${format.duration(other.duration)}`,
    () => select(other.index),
    "link",
  );
  // Tells links to slices apart that are called alike.
  link.dataset.index = other.index;
  return link;
}

function laneName(source: Source, lane: number) {
  const group = source.summary.groups.find((g: any) => g.lanes.includes(lane));
  return `${group ? `${group.title} · ` : ""}${source.summary.lane_labels[lane] ?? `lane ${lane}`}`;
}

/** @param slice answer of the route `slice` with its `source`, and later `relations` and `spread` of those routes */
export function drawer(
  slice: any,
  actions: {
    close: () => void;
    select: (index: number) => void;
    find: (name: string) => void;
    zoom: () => void;
    table: (table: any) => void;
  },
) {
  return [
    head(slice, actions),
    element(
      "div",
      "timeline-drawer-body",
      factsOf(slice),
      argumentsOf(slice),
      causesOf(slice, actions),
      spreadOf(slice, actions),
    ),
  ];
}

/**
 * Makes the children of a box those that are given. Those that are alike stay, and with them the scroll, the focus, and what
 * is pressed or marked in them; so what alike buttons do must be the same.
 */
export function refill(box: Element, wanted: Iterable<Node>) {
  let place = box.firstChild;
  for (const child of [...wanted]) {
    let alike = place;
    while (alike && !alike.isEqualNode(child)) alike = alike.nextSibling;
    if (alike) { for (; place !== alike; place = removed(place)); }
    else if (place?.cloneNode().isEqualNode(child.cloneNode()) && (child as Element).firstElementChild) {
      refill(place as Element, child.childNodes);
    } else {
      box.insertBefore(child, place);
      continue;
    }
    place = (place as Node).nextSibling;
  }
  while (place) place = removed(place);
}

/** @returns the one after it */
function removed(node: any): ChildNode | null {
  const { nextSibling } = node;
  node.remove();
  return nextSibling;
}

function head(slice: any, actions: any) {
  const { source, relations, spread } = slice;
  const swatch = element("span", "timeline-swatch");
  swatch.dataset.name = slice.name;
  const title = element("span", "timeline-drawer-title", slice.name);
  title.title = slice.name;
  const tables: Record<string, string> = {
    operators: "operators",
    kernels: "kernels",
    copies: "copies",
    slices: "slices",
  };
  return element(
    "div",
    "timeline-drawer-head",
    swatch,
    title,
    element(
      "span",
      "timeline-drawer-tools",
      slice.previous === null
        ? null
        : button("‹", "Previous slice in this row (,)", () => actions.select(slice.previous)),
      slice.next === null ? null : button("›", "Next slice in this row (.)", () => actions.select(slice.next)),
      spread?.previous == null
        ? null
        : button("« same", "Previous slice of this name, on any lane", () => actions.select(spread.previous)),
      spread?.next == null
        ? null
        : button("same »", "Next slice of this name, on any lane", () => actions.select(spread.next)),
      button("Zoom to", "Zoom to this slice (F)", actions.zoom),
      button("Find all", "Highlight every slice of this name", () => actions.find(slice.name)),
      relations
        ? button(
          `In the table`,
          `Its row in the Profile panel's table of ${tables[relations.table.page]}`,
          () => actions.table(relations.table),
        )
        : null,
      button(
        "Copy",
        "Copy everything about this slice as JSON",
        () =>
          elements.toClipboard(JSON.stringify({ ...slice, source: source.id }, null, 2)).then(() =>
            pageFrame.say("Copied")
          ),
      ),
      button("✕", "Close (Esc)", actions.close, "plain"),
    ),
  );
}

function factsOf(slice: any) {
  const { exact, integer, duration } = format;
  const { source, relations } = slice;
  const rows: [string, string | Node, string?][] = [
    ["Category", slice.category || "–"],
    ["Start", exact(slice.start), `${integer(slice.start)} ns after the trace's first event`],
    ["Duration", exact(slice.duration), `${integer(slice.duration)} ns`],
    ["Own time", exact(slice.children.own_ns), "Without what lies directly in it on its lane"],
    ["Lane", laneName(source, slice.lane), `${slice.process} › ${slice.lane_name}, depth ${slice.depth}`],
  ];
  if (slice.step !== null) rows.push(["Step", String(slice.step)]);
  if (relations?.queue_ns != null) {
    rows.push([
      "Waited",
      relations.queue_ns >= 0
        ? duration(relations.queue_ns)
        : `began ${duration(-relations.queue_ns)} before its launch returned`,
      "From the end of the call that launched it to its start",
    ]);
  }
  return section("Slice", table(rows));
}

function argumentsOf(slice: any) {
  const entries = Object.entries(slice.arguments);
  const rows = entries.map((
    [key, value],
  ) => ([key, argumentText(key, value), MEANINGS[key]] as [string, string, string?]));
  return section(
    entries.length ? `Arguments (${entries.length})` : "Arguments",
    entries.length ? table(rows) : element("p", "timeline-none", "The trace stores none for this slice."),
    "wide",
  );
}

/** What led to the slice and what came of it: launch, operator, stack, arrows, what lies in it. */
function causesOf(slice: any, actions: any) {
  const { source, relations } = slice;
  const { duration, integer } = format;
  const list = element("div", "timeline-flows");
  const add = (word: string, other: any, note: string) =>
    list.append(
      element("span", "timeline-flow-direction", word),
      sliceLink(other, source, actions.select),
      element("span", "timeline-flow-gap", note),
    );
  const more = (text: string) => list.append(element("span", "timeline-flow-more", text));
  if (relations?.launch) add("launched by", relations.launch, duration(relations.launch.duration, 3));
  if (relations?.operator) add("operator", relations.operator, duration(relations.operator.duration, 3));
  for (const other of slice.stack.slice(-8).reverse()) add("inside", other, duration(other.duration, 3));
  if (slice.stack.length > 8) more(`and ${integer(slice.stack.length - 8)} more around it`);
  const launched = relations?.launched;
  for (const other of launched?.slices.slice(0, 6) || []) add("launches", other, duration(other.duration, 3));
  if (launched?.count > 6) {
    more(`${integer(launched.count)} activities on devices in all, ${duration(launched.total_ns)}`);
  }
  const known = new Set([relations?.launch?.index, ...(launched?.slices || []).map((s: any) => s.index)]);
  for (const [word, flows] of ([["from", slice.incoming], ["to", slice.outgoing]] as [string, any][])) {
    const rest = flows.slices.filter((s: any) => !known.has(s.index));
    for (const other of rest.slice(0, 8)) {
      const gap = word === "from"
        ? slice.start - other.start - other.duration
        : other.start - slice.start - slice.duration;
      add(
        word,
        other,
        `${other.kind ? `${other.kind}, ` : ""}${
          gap >= 0 ? `after ${duration(gap, 3)}` : `overlaps ${duration(-gap, 3)}`
        }`,
      );
    }
    const hidden = flows.total - flows.slices.length + Math.max(rest.length - 8, 0);
    if (hidden > 0) more(`and ${integer(hidden)} more arrows ${word === "from" ? "to" : "from"} it`);
  }
  for (const other of slice.children.slices.slice(0, 6)) add("holds", other, duration(other.duration, 3));
  if (slice.children.count > 6) {
    more(`${integer(slice.children.count)} slices lie directly in it; these are the longest`);
  }
  const stack = relations?.call_stack || [];
  if (stack.length) {
    const frames = element(
      "ol",
      "timeline-stack",
      ...stack.slice().reverse().map((frame: string) => element("li", "", frame)),
    );
    list.append(element("span", "timeline-flow-direction", "stack"), frames);
  }
  if (!relations) list.append(element("span", "timeline-flow-more", "Working out what launched what …"));
  else if (!list.childElementCount) {
    list.append(element("p", "timeline-none", "No launch, arrow, stack or other slice belongs to it."));
  }
  return section("Where it comes from, where it goes", list, "wide");
}

/** All slices of the name: figures, and how their durations spread. */
function spreadOf(slice: any, actions: any) {
  const { duration, integer } = format;
  const { occurrences, spread, source } = slice;
  const share = source.summary.end > 0 ? (100 * occurrences.total) / source.summary.end : 0;
  const rows: [string, string | Node, string?][] = [
    [
      "Count",
      spread ? `${integer(spread.place + 1)} of ${integer(spread.count)}` : integer(occurrences.count),
      spread ? "This one's place in time" : undefined,
    ],
    ["Total", duration(occurrences.total), `${share.toFixed(2)} % of the trace's length, over all lanes`],
    [
      "Mean",
      spread ? `${duration(spread.mean)} ± ${duration(spread.std, 3)}` : duration(occurrences.mean),
      "± standard deviation",
    ],
    ["Min", duration(occurrences.min)],
  ];
  if (spread) {
    rows.push(["Median", duration(spread.median)], ["95 %", duration(spread.p95), "95 of 100 take at most this long"]);
  }
  rows.push(["Max", duration(occurrences.max)]);
  if (spread && spread.count > 1) {
    rows.push([
      "This one",
      `${rankText(spread.rank)} longest`,
      `${spread.percentile.toFixed(1)} % take at most as long`,
    ]);
  }
  const body = element("div", "", table(rows));
  if (spread && spread.count > 1) {
    const bars = element("canvas", "timeline-bars") as HTMLCanvasElement;
    bars.dataset.bars = JSON.stringify({ ...spread.histogram, own: slice.duration });
    bars.title = `How long the ${integer(spread.count)} slices take, from ${duration(spread.min)} to ${
      duration(spread.max)
    }, on a logarithmic scale; this one is marked`;
    bars.setAttribute("role", "img");
    bars.setAttribute("aria-label", bars.title);
    body.prepend(bars);
    const longest = spread.longest[0];
    if (longest.index !== slice.index) {
      body.append(
        element(
          "p",
          "timeline-none",
          button(
            `Go to the longest, ${duration(longest.duration)}`,
            "The longest slice of this name",
            () => actions.select(longest.index),
            "link",
          ),
        ),
      );
    }
  }
  return section("All of this name", body, "narrow");
}

const rankText = (
  rank: number,
) => (rank === 1
  ? "the"
  : `${format.integer(rank)}${["th", "st", "nd", "rd"][rank % 100 > 10 && rank % 100 < 14 ? 0 : rank % 10] || "th"}`);

export function paintBars(canvas: HTMLCanvasElement, theme: any) {
  const { edges, counts, own } = JSON.parse(canvas.dataset.bars as string);
  const [width, height] = [170, 40];
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.scale(ratio, ratio);
  const most = Math.max(...counts, 1);
  const step = width / counts.length;
  counts.forEach((count: number, i: number) => {
    const mine = own >= edges[i] && (own < edges[i + 1] || i === counts.length - 1);
    context.fillStyle = mine ? theme.accent : theme.unknown;
    const tall = count ? Math.max((count / most) * (height - 4), 2) : 0;
    context.fillRect(i * step, height - tall - 1, Math.max(step - 1, 1), tall);
  });
  context.fillStyle = theme.border;
  context.fillRect(0, height - 1, width, 1);
}

/**
 * What became of a name from the first trace to the second.
 * @param found of the colours' verdicts
 */
function changeOf({ verdict, means: [first, second], counts }: any) {
  const { duration, integer } = format;
  const both = first && second !== null
    ? `mean ${duration(first)} → ${duration(second)} (${second >= first ? "+" : ""}${
      ((100 * (second - first)) / first).toFixed(1)
    } %), `
    : "";
  return `${colours.VERDICTS[verdict]}: ${both}${integer(counts[0])} → ${integer(counts[1])} slices`;
}

/** @param colours what slices are coloured by */
export function tooltip(slice: any, { mode, verdicts }: any) {
  const { duration, integer } = format;
  const known = mode === "occupancy"
    ? (slice.value >= 0 ? ` · ${slice.value.toFixed(0)} % occupancy` : " · occupancy not known")
    : "";
  return [
    element("div", "timeline-tip-name", slice.name),
    element(
      "div",
      "timeline-tip-facts",
      element("b", "", duration(slice.duration)),
      slice.category ? ` · ${slice.category}` : "",
      known,
    ),
    element("div", "timeline-tip-lane", laneName(slice.source, slice.lane)),
    mode === "difference" && verdicts?.has(slice.name)
      ? element("div", "timeline-tip-facts", changeOf(verdicts.get(slice.name)))
      : null,
    slice.count > 1
      ? element(
        "div",
        "timeline-tip-merged",
        `The longest of ${integer(slice.count)} slices here; zoom in to part them`,
      )
      : null,
  ].filter((e) => e !== null);
}

export function gapTip(gap: { start: number; end: number; cause: string }) {
  return [
    element("div", "timeline-tip-name", `Idle: ${causeWords(gap.cause)}`),
    element("div", "timeline-tip-facts", element("b", "", format.duration(gap.end - gap.start))),
    element("div", "timeline-tip-lane", CAUSES[causeKey(gap.cause)]),
  ];
}

export function counterTip(band: Band, reading: { time: number; value: number | null }) {
  const counter = band.source.summary.counters[band.counter];
  const value = reading.value === null ? "not a number" : format.quantity(band.full, reading.value);
  const made = element(
    "div",
    "timeline-tip-facts",
    element("b", "", value),
    ` since ${format.duration(reading.time, 6)}`,
  );
  if (reading.value !== null) made.title = String(reading.value);
  return [
    element("div", "timeline-tip-name", band.label),
    made,
    element("div", "timeline-tip-lane", `${counter.process} · ${format.integer(counter.points)} points`),
  ];
}
