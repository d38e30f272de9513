/** Describes and draws the histogram under the pointer in a box beside it; a click opens it large. */
import { runs } from "../../../runs/web/state.ts";
import { onPointer, placeBeside, type Plot, type PlotlyLayout, type Pointed } from "../../../web/cards/plotly.ts";
import { make } from "../../../web/core/dom.ts";
import { bandFacts, type ChartMeta, type Facts, heatFacts, heightAt, lineFacts } from "./facts.ts";
import * as large from "./large.ts";
import type { BandMeta, HeatMeta, LineMeta } from "./messages.generated.ts";

const what = make("div", { className: "what" });
const picture = make("div", { className: "bucket-picture" });
const box = make("div", { id: "bucket", hidden: true }, what, picture);
/** The line under the pointer. */
let hot: Element | null = null;
/** What the box shows now, so that a late answer is not put into the box of another histogram. */
let under: { card: HTMLElement; source: large.Source; address: string } | null = null;

function heat(line: Element | null): void {
  if (hot !== line) hot?.classList.remove("hot");
  line?.classList.add("hot");
  hot = line;
}

function leave(): void {
  under = null;
  box.hidden = true;
  heat(null);
}

/** Trace under the pointer: with ridges, the frontmost one whose shape is hit, or else the nearest line. */
function traceAt(plot: Plot, layout: PlotlyLayout, ridges: boolean, x: number, py: number): number {
  const toPx = (value: number) => layout.yaxis.d2p(value);
  const traces = plot._fullData ?? [];
  let best = -1;
  let distance = 24;
  for (let i = traces.length - 1; i >= 0; i -= 1) {
    const { x: xs = [], y: ys = [], meta } = traces[i];
    const y = heightAt(xs, ys, x);
    if (y === null) continue;
    const top = toPx(y);
    const bottom = ridges ? toPx((meta as LineMeta).at) : top;
    if (ridges && py >= top && py <= bottom) return i;
    const off = Math.min(Math.abs(py - top), Math.abs(py - bottom));
    if (off < distance) [distance, best] = [off, i];
  }
  return best;
}

/** The facts at a place, and the index of the line there if the chart has lines. */
function factsAt({ plot, layout, px, py }: Pointed, mode: ChartMeta["mode"]): [Facts | null, number] {
  const traces = plot._fullData ?? [];
  const { xaxis, yaxis } = layout;
  const toPx = (place: number) => xaxis.d2p(place);
  if (mode === "bands") {
    const meta = traces[traces.length - 1].meta as BandMeta | undefined;
    return [meta?.points ? bandFacts(meta, toPx, px) : null, -1];
  }
  if (mode === "heatmap") return [heatFacts(traces[0].meta as HeatMeta, toPx, px, yaxis.p2c(py)), -1];
  const x = xaxis.p2c(px);
  const line = traceAt(plot, layout, mode === "offset", x, py);
  if (line < 0) return [null, line];
  return [lineFacts(traces[line].x ?? [], traces[line].meta as LineMeta, x), line];
}

async function draw(event: MouseEvent, source: large.Source, address: string): Promise<void> {
  const found = await large.find(source);
  if (under?.address !== address) return;
  picture.replaceChildren(...large.picture(found, 300, 110), large.facts(found));
  placeBeside(box, event, 16);
}

function enter(at: Pointed, event: PointerEvent): void {
  const meta: ChartMeta | undefined = at.layout.meta;
  if (!at.plot._fullData?.length || !meta?.mode) return leave();
  const [facts, line] = factsAt(at, meta.mode);
  if (!facts) return leave();
  heat(line < 0 ? null : at.plot.querySelectorAll(".scatterlayer .trace")[line] ?? null);
  const rows = facts.rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
  const head = facts.run === undefined ? [] : [make("div", { className: "run" }, runs.label(facts.run))];
  what.replaceChildren(...head, make("dl", {}, ...rows));
  if (!box.isConnected) document.body.append(box);
  box.hidden = false;
  const source = {
    tag: meta.tag,
    run: facts.run ?? (meta.mode === "runs" ? "" : meta.run),
    index: facts.index,
  };
  const address = large.address(source);
  const another = under?.address !== address;
  under = { card: at.card, source, address };
  if (another) void draw(event, source, address);
  placeBeside(box, event, 16);
}

onPointer(".histograms-card", enter, leave, (card) => under?.card === card && large.open(under.source));
