/** Exports of the Projector panel: coordinates with metadata, pictures, a link. */
import { counted } from "../../../web/core/numbers.ts";
import * as frame from "../../../web/page/layout.ts";
import { fileName, saveBlob, saveText } from "../../../web/core/download.ts";
import { messageOf } from "../../../web/core/request.ts";
import { METHODS } from "./knobs.ts";
import type { Appearance } from "./appearance.ts";
import type { Dataset } from "./data.ts";
import type { LegendEntry } from "./svg.ts";
import type { View } from "./view.ts";

type TableFormat = "csv" | "parquet" | "tsv";

/** The parts of the panel that exports use. */
export interface ExportPanel extends Pick<Appearance, "state" | "dataset" | "api" | "view" | "theme"> {
  readonly job: { frame: object | null } | null;
  readonly selection: Uint32Array;
  readonly legend: { entries(): LegendEntry[] };
  readonly bookmarks: { download(): void };
  /** Whether the selection is too large for an address. */
  readonly linkTooLong: boolean;
  pictureOf(): { job?: string; frame: number | null; components: string | null };
  /** null for all */
  visibleRows(): Uint32Array | null;
  tellCamera(): void;
  notify(text: string, sort?: "problem" | "info"): void;
}

const nameOf = ({ state }: ExportPanel, ending: string) =>
  `${fileName(state.id, "embedding")}.${state.projection}.${ending}`;

async function saveTable(panel: ExportPanel, dataset: Dataset, format: TableFormat, rows: Uint32Array | null) {
  try {
    const answer = await panel.api.response("export", {
      ...dataset.at,
      ...(panel.job?.frame ? panel.pictureOf() : {}),
      format,
      rows_of: rows ? await dataset.keyOf(rows) : null,
    });
    saveBlob(await answer.blob(), nameOf(panel, format));
  } catch (error) {
    panel.notify(messageOf(error));
  }
}

async function savePng(panel: ExportPanel, view: View) {
  try {
    saveBlob(await view.toPng({ scale: 2, background: panel.theme.background }), nameOf(panel, "png"));
  } catch (error) {
    panel.notify(`The image could not be created: ${messageOf(error)}`);
  }
}

function saveSvg(panel: ExportPanel, view: View, dataset: Dataset) {
  const title = `${dataset.info.label} · ${METHODS[panel.state.projection].title}`;
  saveText(view.toSvg({ title, legend: panel.legend.entries() }), nameOf(panel, "svg"), "image/svg+xml");
}

export function entries(panel: ExportPanel): [string, () => void][] {
  const { dataset, view, selection } = panel;
  if (!dataset || !view) return [];
  const rows = selection.length ? selection : panel.visibleRows();
  const which = rows && counted(rows.length, selection.length ? "selected point" : "shown point");
  const some: [TableFormat, string][] = [["csv", "CSV"], ["parquet", "Parquet"], ["tsv", "TSV"]];
  return [
    ...some.map(([format, name]): [string, () => void] => [
      `All as ${name}`,
      () => saveTable(panel, dataset, format, null),
    ]),
    ...some.slice(0, rows ? 2 : 0).map(([format, name]): [string, () => void] => [
      `${name} of the ${which}`,
      () => saveTable(panel, dataset, format, rows),
    ]),
    ["Image as PNG", () => savePng(panel, view)],
    ["Image as SVG", () => saveSvg(panel, view, dataset)],
    ["Bookmarks for TensorBoard", () => panel.bookmarks.download()],
    ["Copy a link to this view", () => copyLink(panel)],
  ];
}

async function copyLink(panel: ExportPanel) {
  panel.tellCamera();
  if (panel.linkTooLong) panel.notify("The link has everything but the selection, which is too large for it.", "info");
  await frame.copyLink();
}
