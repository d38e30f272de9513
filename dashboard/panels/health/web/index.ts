/** The health panel: how its table formats and sorts values, the selected file, copies and downloads. */
import { exactBytes, fileSize } from "../../../web/core/numbers.ts";
import { gridOf } from "../../../web/core/ag_grid.ts";
import { callbacks, gridComponents, gridFunctions, noUpdate } from "../../../web/core/dash.ts";
import { stepText, when, within } from "../../../web/core/dom.ts";
import { save } from "../../../web/core/download.ts";
import { h } from "../../../web/core/react.ts";
import { Api } from "../../../web/core/request.ts";
import { copyText } from "../../../web/page/layout.ts";
import { type Made, view } from "../../../web/page/view.ts";
import type { FileRow } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import { ago } from "../../../runs/web/values.ts";
import { byHealth, type CutName, fileParts, type HealthRow, some } from "./texts.ts";

const MINUTE_MS = 60_000;
const api = new Api("api/health");

// --- cells -------------------------------------------------------------------------------------------------

const cutName = ([head, tail]: CutName) =>
  h("div", { className: "cut-name" }, h("span", { className: "head" }, head), h("span", { className: "tail" }, tail));

Object.assign(gridComponents, {
  HealthFile: ({ value }: { value: string }) => cutName(fileParts(value)),
  // Named as on the rest of the page: runs/web/labels.ts.
  HealthRun: ({ value }: { value: string }) => h("span", { className: "run-label", title: value }, h("bdi", {}, value)),
});
Object.assign(gridFunctions, {
  stepscopeCount: stepText,
  stepscopeWritten: (seconds: number | null) => seconds === null ? "" : ago(seconds),
  stepscopeMoment: (seconds: number | null) => seconds === null ? "" : when(seconds),
  stepscopeBytes: fileSize,
  stepscopeExactBytes: exactBytes,
  stepscopeSome: (value: number) => some(value),
  stepscopeSkipped: (size: number) => some(size, fileSize),
  stepscopeByHealth: (one: string, other: string, oneNode: { data: HealthRow }, otherNode: { data: HealthRow }) =>
    byHealth(one, other, oneNode.data, otherNode.data),
});

// --- copy and download -------------------------------------------------------------------------------------

/** The route to a table as CSV: of the files listed in the panel, or of the selected file. */
function route({ dataset }: HTMLElement): [string, Record<string, string>] {
  const { file, show, filter } = settings;
  const requested: Record<string, string> = dataset.selected
    ? { file: view.read(file) }
    : { show: view.read(show), filter: view.read(filter) };
  return [`${dataset.table}.csv`, requested];
}

const table = async (button: HTMLElement): Promise<string> => await (await api.response(...route(button))).text();

// --- the selected file -------------------------------------------------------------------------------------

/** Opens the panel, with a file selected if one is named. */
function openPanel(path: string | undefined): void {
  document.getElementById("health-badge")?.click();
  view.update((_params, set) => {
    set("tab", ["health"]);
    set(settings.show, settings.show.default);
    set(settings.filter, settings.filter.default);
    set(settings.file, path ?? "");
  });
}

const grid = () => gridOf<FileRow>("health-grid");

// The ages of files grow, so their cells are refreshed.
setInterval(() => {
  grid()?.refreshCells({ force: true, columns: ["modified"] });
}, MINUTE_MS);

function close(): void {
  grid()?.deselectAll();
  view.write(settings.file, "");
}

document.addEventListener("click", (event) => {
  const button = within(event, "button");
  if (!button) return;
  if (button.classList.contains("health-copy")) void copyText(table(button), "Table copied");
  if (button.classList.contains("health-save")) save(api.address(...route(button)), "");
  if (button.classList.contains("health-open")) openPanel(button.dataset.path);
  if (button.id === "health-close") close();
});

/** The panel whose table has told which file it was made with. */
let told = "";

callbacks("stepscope", {
  openHealthFile(selected: FileRow[] | null, { key, view: query }: Made) {
    // Rows that leave the table also leave the selection, but the file stays open until it is closed.
    const path = Array.isArray(selected) ? selected[0]?.path : undefined;
    if (path === undefined) return noUpdate();
    const isMadeWith = key !== told && path === new URLSearchParams(query).get(settings.file.name);
    if (!isMadeWith) view.write(settings.file, path);
    // The table tells of the file that is open a moment after it was made: the user may have closed it by then.
    else if (view.read(settings.file) !== path) grid()?.deselectAll();
    if (isMadeWith) told = key;
    return noUpdate();
  },
});
