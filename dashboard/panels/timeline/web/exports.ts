/** Exports of the panel: pictures, the trace or its visible part, and, on request, opening in Perfetto. */
import { make } from "../../../web/core/dom.ts";
import { save, saveBlob } from "../../../web/core/download.ts";
import { SvgContext } from "../../../web/core/svg_context.ts";
import { messageOf, reasonOf } from "../../../web/core/request.ts";
import type { TimelinePanel } from "./panel.ts";
import type { Source } from "./data.ts";
import { penOf } from "./widgets.ts";

const PING_MS = 100;
const GIVE_UP_MS = 30_000;

/** The picture as shown on the screen. */
function png(panel: TimelinePanel) {
  panel.draw();
  const { width, height } = panel.canvas;
  const both = make("canvas", { width, height });
  const context = penOf(both);
  context.drawImage(panel.canvas, 0, 0);
  context.drawImage(panel.overlay, 0, 0);
  save(both.toDataURL("image/png"), `${panel.sources[0].summary.label}.png`);
}

/** The picture as vector graphics. */
export function svg(panel: TimelinePanel) {
  const picture = new SvgContext(panel.width, panel.height);
  const context = picture.canvasContext;
  context.fillStyle = panel.theme.body;
  context.fillRect(0, 0, panel.width, panel.height);
  panel.paint(panel.sceneOn(context));
  const over = new SvgContext(panel.width, panel.height);
  panel.paintOverlay(over.canvasContext);
  picture.draw(over);
  saveBlob(new Blob([picture.toString()], { type: "image/svg+xml" }), `${panel.sources[0].summary.label}.svg`);
  panel.changed();
}

/** URL of the visible part of a trace, as Chrome JSON. */
function visible(panel: TimelinePanel, source: Source) {
  const { start, end } = source.own(panel.viewport);
  const all = [...panel.rows.bands, ...panel.rows.pinned];
  const lanes = all.filter((b) => b.source === source && b.lane >= 0).map((b) => b.lane);
  const query = new URLSearchParams({
    id: source.id,
    start: String(Math.floor(start)),
    end: String(Math.ceil(end)),
    lanes: [...new Set(lanes)].join(","),
  });
  return `${panel.settings.api}/export?${query}`;
}

/** URL of the whole trace, as Chrome JSON. */
const whole = (panel: TimelinePanel, source: Source) =>
  `${panel.settings.api}/download?${new URLSearchParams({ id: source.id })}`;

/**
 * Opens Perfetto's page and passes it the visible part, as its documentation describes: ping until it answers, then
 * send one message with the bytes. The page belongs to another company; the data it receives stays in the browser.
 */
async function perfetto(panel: TimelinePanel, source: Source) {
  const address = panel.settings.perfetto;
  const other = window.open(address);
  if (!other) {
    return panel.notify(
      "The browser blocked the new tab. Allow pop-ups for this page, or download the trace and open it in Perfetto.",
    );
  }
  try {
    const response = await fetch(visible(panel, source));
    if (!response.ok) throw new Error(await reasonOf(response));
    const buffer = await response.arrayBuffer();
    const origin = new URL(address).origin;
    const since = performance.now();
    const ping = setInterval(() => {
      if (other.closed || performance.now() - since > GIVE_UP_MS) {
        clearInterval(ping);
        window.removeEventListener("message", answer);
        if (!other.closed) {
          panel.notify(
            "Perfetto did not respond. Check the connection, or download the trace and open it in Perfetto.",
          );
        }
      } else other.postMessage("PING", origin);
    }, PING_MS);
    const answer = (event: MessageEvent) => {
      if (event.origin !== origin || event.data !== "PONG") return;
      clearInterval(ping);
      window.removeEventListener("message", answer);
      other.postMessage({ perfetto: { buffer, title: source.summary.label } }, origin);
    };
    window.addEventListener("message", answer);
  } catch (error) {
    panel.notify(messageOf(error));
  }
}

export function entries(panel: TimelinePanel): [string, () => void][] {
  if (!panel.ready) return [];
  const source = panel.selection.slice?.source ?? panel.sources[0];
  const found: [string, () => void][] = [
    ["Image as PNG", () => png(panel)],
    ["Image as SVG", () => svg(panel)],
    ["Visible part as Chrome JSON", () => save(visible(panel, source), "")],
    ["Whole trace", () => save(whole(panel, source), "")],
  ];
  if (panel.settings.perfetto) {
    found.push(["Open the visible part in Perfetto (another site)", () => perfetto(panel, source)]);
  }
  return found;
}
