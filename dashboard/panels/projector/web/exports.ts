/** What leaves the Projector panel: coordinates with metadata, pictures, a link. */
import * as frame from "../../../web/page/layout.ts";
import * as parts from "./parts.ts";
import { format as projectorFormat } from "./parts.ts";
import { METHODS } from "./settings.ts";

const nameOf = (panel: any) =>
  `${panel.state.id.replace(/[^\w.-]+/g, "_").replace(/^_+|_+$/g, "") || "embedding"}.${panel.state.projection}`;

/** @param panel of projector_panel.js */
async function saveTable(panel: any, format: "csv" | "parquet" | "tsv", rows: Uint32Array | null) {
  try {
    const key = rows ? await panel.dataset.keyOf(rows) : null;
    const address = panel.api.address("export", {
      ...panel.dataset.at,
      ...(panel.job?.frame ? panel.pictureOf() : {}),
      format,
      rows_of: key,
    });
    const answer = await fetch(address);
    if (!answer.ok) {
      throw new Error(
        (await answer.json().catch(() => null))?.detail ?? `The server answered with status ${answer.status}.`,
      );
    }
    parts.saveBlob(await answer.blob(), `${nameOf(panel)}.${format}`);
  } catch (error) {
    panel.notify(error.message);
  }
}

async function savePng(panel: any) {
  try {
    parts.saveBlob(await panel.view.toPng({ scale: 2, background: panel.theme.background }), `${nameOf(panel)}.png`);
  } catch (error) {
    panel.notify(`The picture could not be made: ${error.message}`);
  }
}

function saveSvg(panel: any) {
  const { info } = panel.dataset;
  const title = `${info.label} · ${METHODS[panel.state.projection].title}`;
  parts.saveBlob(
    new Blob([panel.view.toSvg({ title, legend: panel.legend.entries() })], { type: "image/svg+xml" }),
    `${nameOf(panel)}.svg`,
  );
}

export function entries(panel: any): [string, () => void][] {
  const rows = panel.selection.length ? panel.selection : panel.visibleRows();
  const which = panel.selection.length
    ? ` of the ${projectorFormat.counted(panel.selection.length, "selected point")}`
    : rows
    ? ` of the ${projectorFormat.counted(rows.length, "shown point")}`
    : "";
  return [
    ["All as CSV", () => saveTable(panel, "csv", null)],
    ["All as Parquet", () => saveTable(panel, "parquet", null)],
    ["All as TSV", () => saveTable(panel, "tsv", null)],
    ...(rows
      ? ([[`CSV${which}`, () => saveTable(panel, "csv", rows)], [
        `Parquet${which}`,
        () => saveTable(panel, "parquet", rows),
      ]] as [string, () => void][])
      : []),
    ["Picture as PNG", () => savePng(panel)],
    ["Picture as SVG", () => saveSvg(panel)],
    ["Bookmarks for TensorBoard", () => panel.bookmarks.download()],
    ["Copy a link to this view", () => copyLink(panel)],
  ];
}

export async function copyLink(panel: any) {
  panel.tellCamera();
  if (panel.linkTooLong) panel.notify("The selection is too large for a link; all else is in it.", "info");
  await frame.copyLink();
}
