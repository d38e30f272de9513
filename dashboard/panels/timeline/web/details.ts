/** Details: the drawer for the selected slice, and the box beside the mouse. */
import { counted, durationText, exactBytes, exactDurationText, fileSize, integer } from "../../../web/core/numbers.ts";
import * as timelineText from "../../../web/core/canvas_text.ts";
import { make } from "../../../web/core/dom.ts";
import { retryButton } from "../../../web/cards/loading.ts";
import { copyText } from "../../../web/page/layout.ts";
import { type Change, type Colors, VERDICTS } from "./colors.ts";
import type { Source } from "./data.ts";
import * as format from "./format.ts";
import type { DrawnSlice } from "./geometry.ts";
import type { Band } from "./layout.ts";
import type { DurationHistogram, FlowEnds, SliceRow, TableRow } from "./messages.generated.ts";
import { causeKey, causeWords } from "./overlays.ts";
import { button } from "./widgets.ts";
import type { SelectedSlice } from "./selection.ts";
import type { Theme } from "./theme.ts";

/** What the buttons of the drawer do. */
export interface Actions {
  close: () => void;
  select: (index: number) => void;
  again: () => void;
  find: (name: string) => void;
  zoom: () => void;
  table: (table: TableRow) => void;
}
/** A name, its value, and the meaning. */
type Fact = [name: string, value: string | Node, meaning?: string];
/** The data behind the duration bars. */
type Bars = DurationHistogram & { own: number };

/** Meanings of arguments whose names are not self-explanatory. */
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

/** Reasons why a stream had nothing to do, as HolisticTraceAnalysis distinguishes them. */
const CAUSES = {
  host: "The next kernel was launched too late: the host did not keep up",
  kernel: "A short pause between kernels that were launched in time",
  other: "The launch of the next one is not known, or it waited for something else",
};

const BYTES = /(^|[ _])(bytes|size|shared memory)$/i;

function argumentText(key: string, value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "object") return JSON.stringify(value).replace(/,/g, ", ");
  if (typeof value === "number") {
    if (BYTES.test(key)) return value < 1000 ? fileSize(value) : `${fileSize(value)} (${exactBytes(value)})`;
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7)));
  }
  return String(value);
}

function table(rows: Fact[]) {
  const body = make("div", { className: "timeline-facts" });
  for (const [key, value, title] of rows) {
    const name = make("span", { className: "timeline-fact-name" }, key);
    if (title) {
      name.title = title;
      name.classList.add("explained");
    }
    body.append(name, make("span", { className: "timeline-fact-value" }, value));
  }
  return body;
}

const section = (title: string, content: Node, className: string = "") =>
  make("section", { className: `timeline-section ${className}` }, make("h4", null, title), content);

/** A link to a slice. */
function sliceLink(other: SliceRow, source: Source, select: (index: number) => void) {
  const link = button(
    timelineText.shortName(other.name),
    `${other.name}\n${laneName(source, other.lane)}\n${durationText(other.duration)}`,
    () => select(other.index),
    "link",
  );
  // Distinguishes links to slices with the same name.
  link.dataset.index = String(other.index);
  return link;
}

function laneName(source: Source, lane: number) {
  const group = source.summary.groups.find((g) => g.lanes.includes(lane));
  return `${group ? `${group.title} · ` : ""}${source.summary.lane_labels[lane] ?? `lane ${lane}`}`;
}

export function drawer(slice: SelectedSlice, actions: Actions): HTMLElement[] {
  return [
    head(slice, actions),
    make(
      "div",
      { className: "timeline-drawer-body" },
      factsOf(slice),
      argumentsOf(slice),
      causesOf(slice, actions),
      spreadOf(slice, actions),
    ),
  ];
}

/**
 * Replaces the children of a box with the given ones. Equal nodes stay, preserving scroll, focus, and whatever is
 * pressed or marked in them; buttons that are equal must therefore do the same thing.
 */
export function refill(box: Element, wanted: Iterable<Node>) {
  let place = box.firstChild;
  for (const child of [...wanted]) {
    let alike = place;
    while (alike && !alike.isEqualNode(child)) alike = alike.nextSibling;
    if (alike) {
      while (place && place !== alike) place = removed(place);
    } else if (
      place instanceof Element && child instanceof Element && child.firstElementChild &&
      place.cloneNode().isEqualNode(child.cloneNode())
    ) refill(place, child.childNodes);
    else {
      box.insertBefore(child, place);
      continue;
    }
    place = place?.nextSibling ?? null;
  }
  while (place) place = removed(place);
}

/** @returns the next sibling */
function removed(node: ChildNode): ChildNode | null {
  const { nextSibling } = node;
  node.remove();
  return nextSibling;
}

function head(slice: SelectedSlice, actions: Actions) {
  const { source, relations, spread, previous, next } = slice;
  const swatch = make("span", { className: "timeline-swatch" });
  swatch.dataset.name = slice.name;
  const title = make("span", { className: "timeline-drawer-title", title: slice.name }, slice.name);
  const tools = make("span", { className: "timeline-drawer-tools" });
  const goTo = (text: string, words: string, index: number | null | undefined) => {
    if (index != null) tools.append(button(text, words, () => actions.select(index)));
  };
  goTo("‹", "Previous slice in this row (,)", previous);
  goTo("›", "Next slice in this row (.)", next);
  goTo("« same", "Previous slice of this name, on any lane", spread?.previous);
  goTo("same »", "Next slice of this name, on any lane", spread?.next);
  tools.append(
    button("Zoom to", "Zoom to this slice (F)", actions.zoom),
    button("Find all", "Highlight every slice of this name", () => actions.find(slice.name)),
  );
  const row = relations?.table;
  if (row) {
    tools.append(
      button("Show in table", `Its row in the table of ${row.page} on the Profile tab`, () => actions.table(row)),
    );
  }
  tools.append(
    button(
      "Copy",
      "Copy all details of this slice as JSON",
      () => copyText(JSON.stringify({ ...slice, source: source.id }, null, 2), "Slice copied"),
    ),
    button("✕", "Close (Escape)", actions.close, "plain"),
  );
  return make("div", { className: "timeline-drawer-head" }, swatch, title, tools);
}

function factsOf(slice: SelectedSlice) {
  const { source, relations } = slice;
  const rows: Fact[] = [
    ["Category", slice.category || "–"],
    ["Start", exactDurationText(slice.start), `${integer(slice.start)} ns after the trace's first event`],
    ["Duration", exactDurationText(slice.duration), `${integer(slice.duration)} ns`],
    ["Self time", exactDurationText(slice.children.own_ns), "Excluding child slices on its lane"],
    ["Lane", laneName(source, slice.lane), `${slice.process} › ${slice.lane_name}, depth ${slice.depth}`],
  ];
  if (slice.step !== null) rows.push(["Step", String(slice.step)]);
  if (relations?.queue_ns != null) {
    rows.push([
      "Waited",
      relations.queue_ns >= 0
        ? durationText(relations.queue_ns)
        : `began ${durationText(-relations.queue_ns)} before its launch returned`,
      "From the end of the call that launched it to its start",
    ]);
  }
  return section("Slice", table(rows));
}

function argumentsOf(slice: SelectedSlice) {
  const entries = Object.entries(slice.arguments);
  const rows = entries.map(([key, value]): Fact => [key, argumentText(key, value), MEANINGS[key]]);
  return section(
    entries.length ? `Arguments (${entries.length})` : "Arguments",
    entries.length ? table(rows) : make("p", { className: "timeline-none" }, "The trace stores none for this slice."),
    "wide",
  );
}

/** The slice's causes and effects: launch, operator, stack, arrows, and the slices inside it. */
function causesOf(slice: SelectedSlice, actions: Actions) {
  const { source, relations } = slice;
  const list = make("div", { className: "timeline-flows" });
  const add = (word: string, other: SliceRow, note: string) =>
    list.append(
      make("span", { className: "timeline-flow-direction" }, word),
      sliceLink(other, source, actions.select),
      make("span", { className: "timeline-flow-gap" }, note),
    );
  const more = (text: string) => list.append(make("span", { className: "timeline-flow-more" }, text));
  if (relations?.launch) add("launched by", relations.launch, durationText(relations.launch.duration, 3));
  if (relations?.operator) add("operator", relations.operator, durationText(relations.operator.duration, 3));
  for (const other of slice.stack.slice(-8).reverse()) add("inside", other, durationText(other.duration, 3));
  if (slice.stack.length > 8) more(`and ${integer(slice.stack.length - 8)} more around it`);
  const launched = relations?.launched;
  for (const other of launched?.slices.slice(0, 6) || []) add("launches", other, durationText(other.duration, 3));
  if (launched && launched.count > 6) {
    more(`${integer(launched.count)} device activities in total, ${durationText(launched.total_ns)}`);
  }
  const known = new Set([relations?.launch?.index, ...(launched?.slices ?? []).map(({ index }) => index)]);
  const ways: [word: string, flows: FlowEnds][] = [["from", slice.incoming], ["to", slice.outgoing]];
  for (const [word, flows] of ways) {
    const rest = flows.slices.filter(({ index }) => !known.has(index));
    for (const other of rest.slice(0, 8)) {
      const gap = word === "from"
        ? slice.start - other.start - other.duration
        : other.start - slice.start - slice.duration;
      add(
        word,
        other,
        `${other.kind ? `${other.kind}, ` : ""}${
          gap >= 0 ? `after ${durationText(gap, 3)}` : `overlaps ${durationText(-gap, 3)}`
        }`,
      );
    }
    const hidden = flows.total - flows.slices.length + Math.max(rest.length - 8, 0);
    if (hidden > 0) more(`and ${counted(hidden, "more arrow")} ${word === "from" ? "to" : "from"} it`);
  }
  for (const other of slice.children.slices.slice(0, 6)) add("contains", other, durationText(other.duration, 3));
  if (slice.children.count > 6) {
    more(`${integer(slice.children.count)} direct children; these are the longest`);
  }
  const stack = relations?.call_stack || [];
  if (stack.length) {
    const frames = make(
      "ol",
      { className: "timeline-stack" },
      ...stack.slice().reverse().map((frame) => make("li", null, frame)),
    );
    list.append(make("span", { className: "timeline-flow-direction" }, "stack"), frames);
  }
  if (relations === undefined) more("Finding related slices…");
  else if (relations === null) {
    more("More could not be loaded.");
    list.lastElementChild!.append(" ", retryButton(actions.again, "quiet"));
  } else if (!list.childElementCount) {
    list.append(make("p", { className: "timeline-none" }, "No related launch, arrow, stack or slice."));
  }
  return section("Related slices", list, "wide");
}

/** All slices with this name: statistics and the spread of their durations. */
function spreadOf(slice: SelectedSlice, actions: Actions) {
  const { occurrences, spread, source } = slice;
  const share = source.summary.end > 0 ? (100 * occurrences.total) / source.summary.end : 0;
  const rows: Fact[] = [
    [
      "Count",
      spread ? `${integer(spread.place + 1)} of ${integer(spread.count)}` : integer(occurrences.count),
      spread ? "Position in time" : undefined,
    ],
    ["Total", durationText(occurrences.total), `${share.toFixed(2)}% of the trace's length, over all lanes`],
    [
      "Mean",
      spread ? `${durationText(spread.mean)} ± ${durationText(spread.std, 3)}` : durationText(occurrences.mean),
      "± standard deviation",
    ],
    ["Min", durationText(occurrences.min)],
  ];
  if (spread) {
    rows.push(["Median", durationText(spread.median)], [
      "95%",
      durationText(spread.p95),
      "95% take at most this long",
    ]);
  }
  rows.push(["Max", durationText(occurrences.max)]);
  if (spread && spread.count > 1) {
    rows.push([
      "This one",
      `${rankText(spread.rank)} longest`,
      `${spread.percentile.toFixed(1)}% take at most as long`,
    ]);
  }
  const body = make("div", null, table(rows));
  if (spread && spread.count > 1) {
    const bars = make("canvas", { className: "timeline-bars", role: "img" });
    const reported: Bars = { ...spread.histogram, own: slice.duration };
    bars.dataset.bars = JSON.stringify(reported);
    bars.title = `How long the ${integer(spread.count)} slices take, from ${durationText(spread.min)} to ${
      durationText(spread.max)
    }, on a logarithmic scale; this one is marked`;
    bars.setAttribute("aria-label", bars.title);
    body.prepend(bars);
    const longest = spread.longest[0];
    if (longest.index !== slice.index) {
      body.append(
        make(
          "p",
          { className: "timeline-none" },
          button(
            `Go to the longest, ${durationText(longest.duration)}`,
            "The longest slice of this name",
            () => actions.select(longest.index),
            "link",
          ),
        ),
      );
    }
  }
  return section("All slices with this name", body, "narrow");
}

const rankText = (rank: number) => rank === 1 ? "the" : format.ordinal(rank);

export function paintBars(canvas: HTMLCanvasElement, theme: Theme) {
  const context = canvas.getContext("2d");
  if (!canvas.dataset.bars || !context) return;
  const { edges, counts, own }: Bars = JSON.parse(canvas.dataset.bars);
  const [width, height] = [170, 40];
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  context.scale(ratio, ratio);
  const most = Math.max(...counts, 1);
  const step = width / counts.length;
  counts.forEach((count, i) => {
    const mine = own >= edges[i] && (own < edges[i + 1] || i === counts.length - 1);
    context.fillStyle = mine ? theme.accent : theme.unknown;
    const tall = count ? Math.max((count / most) * (height - 4), 2) : 0;
    context.fillRect(i * step, height - tall - 1, Math.max(step - 1, 1), tall);
  });
  context.fillStyle = theme.border;
  context.fillRect(0, height - 1, width, 1);
}

/** How a name changed from the first trace to the second. */
function changeOf({ verdict, means: [first, second], counts }: Change) {
  const both = first && second !== null
    ? `mean ${durationText(first)} → ${durationText(second)} (${second >= first ? "+" : ""}${
      ((100 * (second - first)) / first).toFixed(1)
    }%), `
    : "";
  return `${VERDICTS[verdict]}: ${both}${integer(counts[0])} → ${integer(counts[1])} slices`;
}

/** @param colors what slices are colored by */
export function tooltip(slice: DrawnSlice, { mode, verdicts }: Colors): HTMLElement[] {
  const { name, category, count, lane, source, value } = slice;
  const known = value !== null && value >= 0 ? ` · ${value.toFixed(0)}% occupancy` : " · occupancy not known";
  const parts = [
    make("div", { className: "timeline-tip-name" }, name),
    make(
      "div",
      { className: "timeline-tip-facts" },
      make("b", null, durationText(slice.duration)),
      category ? ` · ${category}` : "",
      mode === "occupancy" ? known : "",
    ),
    make("div", { className: "timeline-tip-lane" }, laneName(source, lane)),
  ];
  const change = mode === "difference" ? verdicts?.get(name) : undefined;
  if (change) parts.push(make("div", { className: "timeline-tip-facts" }, changeOf(change)));
  if (count > 1) {
    const words = `${integer(count)} slices here (longest shown); zoom in to separate them`;
    parts.push(make("div", { className: "timeline-tip-merged" }, words));
  }
  return parts;
}

export function gapTip(gap: { start: number; end: number; cause: string }) {
  return [
    make("div", { className: "timeline-tip-name" }, `Idle: ${causeWords(gap.cause)}`),
    make("div", { className: "timeline-tip-facts" }, make("b", null, durationText(gap.end - gap.start))),
    make("div", { className: "timeline-tip-lane" }, CAUSES[causeKey(gap.cause)]),
  ];
}

export function counterTip(band: Band, reading: { time: number; value: number | null }) {
  const counter = band.source.summary.counters[band.counter];
  const value = reading.value === null ? "not a number" : format.quantity(band.full, reading.value);
  const made = make(
    "div",
    { className: "timeline-tip-facts" },
    make("b", null, value),
    ` since ${durationText(reading.time, 6)}`,
  );
  if (reading.value !== null) made.title = String(reading.value);
  return [
    make("div", { className: "timeline-tip-name" }, band.label),
    made,
    make("div", { className: "timeline-tip-lane" }, `${counter.process} · ${counted(counter.points, "point")}`),
  ];
}
