/** The Profile panel: search, columns and downloads for its tables, and links to the Timeline. */
import { callbacks, gridComponents, gridFunctions, noUpdate, setProps, settingId } from "../../../web/core/dash.ts";
import { gridWhenReady } from "../../../web/core/ag_grid.ts";
import { beforeAll } from "../../../web/core/commands.ts";
import { make, within } from "../../../web/core/dom.ts";
import { save } from "../../../web/core/download.ts";
import { popover } from "../../../web/core/popover.ts";
import { Api } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import { CutTables, isCut } from "./chosen_rows.ts";
import { ProfileFrame, ProfileName, ProfileSpread } from "./cells.ts";
import { type Grid, gridId, gridOfTable, type RowNode } from "./grid.ts";
import { isShown, isTreeKey, order, search, searchText, setAllOpen, takeKey } from "./groups.ts";
import type { FollowedRanks, Progress } from "./messages.generated.ts";
import { type Place, settingsOf } from "./places.ts";
import type { Closer } from "./rank_map.ts";
import { ReadRanks } from "./read_ranks.ts";
import { showRow } from "./selection.ts";
import { followNames } from "./point_names.ts";
import { followPoints } from "./points.ts";
import { settings } from "./settings.generated.ts";
import { formats } from "./texts.ts";

const POLL_MS = 500;
const api = new Api("api/profile");
const readRanks = new ReadRanks(api);
/** Parameters that identify the open page and its trace to the server. */
const openPageOf = () => ({ view: view.query(), trace: openTrace() });
const cutTables = new CutTables(api, openPageOf);

Object.assign(gridComponents, { ProfileName, ProfileFrame, ProfileSpread });
for (const [name, format] of Object.entries(formats)) gridFunctions[`stepscopeProfile${name}`] = format;
Object.assign(gridFunctions, {
  stepscopeProfileTreeShown: isShown,
  stepscopeProfileTreeOrder: ({ nodes }: { nodes: RowNode[] }) => order(nodes),
  stepscopeProfileTreeText: searchText,
  stepscopeProfileTreeKey: isTreeKey,
  stepscopeProfileKey: takeKey,
  stepscopeProfileChoose: (table: string) => void cutTables.choose(table),
});

// --- tables ------------------------------------------------------------------------------------------------

const tableOf = (element: Element) => element.closest<HTMLElement>("[data-table]")?.dataset.table;

/** The grid of the card that contains an element. */
function gridAround(element: Element): Grid | null {
  const table = tableOf(element);
  return table === undefined ? null : gridOfTable(table);
}

/** Lists the columns of a table, to show or hide them. */
function chooseColumns(button: HTMLElement): void {
  const grid = gridAround(button);
  const entries = (grid?.getColumns() ?? []).map((column) => {
    const box = make("input", { type: "checkbox", checked: column.isVisible() });
    box.addEventListener("change", () => grid?.setColumnsVisible([column.getColId()], box.checked));
    return make("label", { className: "profile-column" }, box, column.getColDef().headerName ?? "");
  });
  if (grid) popover.show(button, "Columns", entries);
}

/** Downloads a complete table, as the server has it. */
const saveTable = (button: HTMLElement) =>
  save(api.address("table.csv", { name: tableOf(button), ...openPageOf() }), "");

/** Opens or closes all groups. */
function toggleAll(button: HTMLElement): void {
  const grid = gridAround(button);
  if (!grid) return;
  const open = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(open));
  const label = button.querySelector("span:last-child");
  if (label) label.textContent = open ? "Collapse all" : "Expand all";
  setAllOpen(grid, open);
}

document.addEventListener("input", (event) => {
  const { target } = event;
  if (!(target instanceof HTMLInputElement) || !target.closest(".profile-search")) return;
  const table = tableOf(target);
  if (table !== undefined) void searchTable(table, target);
});

/** Searches a table for the text in its field, as soon as its grid exists. */
async function searchTable(table: string, field: HTMLInputElement): Promise<void> {
  await gridWhenReady(gridId(table));
  const grid = gridOfTable(table);
  if (isCut(table)) cutTables.search(table);
  else if (grid) search(grid, field.value);
}

// Names truncated on the screen are copied to the clipboard in full.
document.addEventListener("copy", (event) => {
  const selection = getSelection();
  const [from, to] = [selection?.anchorNode, selection?.focusNode].map((node) =>
    (node instanceof Element ? node : node?.parentElement)?.closest<HTMLElement>(".profile-panel [data-name]")
  );
  if (!from || from !== to || !event.clipboardData) return;
  event.clipboardData.setData("text/plain", from.dataset.name ?? "");
  event.preventDefault();
});

// --- links -------------------------------------------------------------------------------------------------

/** Id of the open trace, which the address names only if it was chosen. */
const openTrace = () =>
  view.read(settings.trace) || document.getElementById("profile-to-timeline")?.dataset.trace || "";

const showOnTimeline = (place: Place) => view.open("timeline", settingsOf(place));

/** Shows only the ranks and steps of a map cell. */
function lookCloser({ ranks, steps }: Closer): void {
  setProps(settingId(settings.onlyRanks.name), { value: ranks });
  view.update((_params, set) => {
    set(settings.onlyRanks, ranks);
    set(settings.onlySteps, steps);
  }, true);
}

followPoints(showOnTimeline, lookCloser);
followNames();

function openPage(page: string, row: string | undefined): void {
  setProps(settingId(settings.view.name), { value: page });
  view.update((_params, set) => {
    set(settings.view, settings.view.parse([page]));
    set(settings.row, row ?? "");
  }, true);
}

// A row belongs to the page it was requested on: choosing another page clears it.
document.addEventListener("change", (event) => {
  if (within(event, ".profile-views")) view.write(settings.row, "");
});

function showLost(): void {
  const details = document.getElementById("profile-lost");
  if (!(details instanceof HTMLDetailsElement)) return;
  details.open = true;
  details.scrollIntoView({ block: "nearest" });
  details.querySelector("summary")?.focus();
}

const BUTTONS: [string, (button: HTMLElement) => void][] = [
  ["profile-columns", chooseColumns],
  ["profile-save", saveTable],
  ["profile-expand", toggleAll],
  ["profile-all-ranks", () => lookCloser({ ranks: "", steps: "" })],
];

function followLink(link: HTMLElement): void {
  const { trace, page, row, range, slice, search } = link.dataset;
  if (link.classList.contains("profile-to-lost")) showLost();
  else if (page) openPage(page, row);
  else if (trace !== undefined) showOnTimeline({ trace, range, slice, search });
}

document.addEventListener("click", (event) => {
  const found = within(
    event,
    ".profile-panel a[data-trace], .profile-panel a[data-page], .profile-columns, .profile-save, .profile-expand, .profile-all-ranks, .profile-to-lost",
  );
  if (!found) return;
  const button = BUTTONS.find(([name]) => found.classList.contains(name));
  if (button) return button[1](found);
  // Links meant to open elsewhere are left to the browser.
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  followLink(found);
});

// --- progress ----------------------------------------------------------------------------------------------

let polling = 0;

/** Shows what the server is doing while the user waits for it. */
async function poll(): Promise<void> {
  const place = document.getElementById("profile-progress");
  if (!place || !polling) return;
  const own = polling;
  try {
    const [latest] = await api.ask<Progress[]>("progress", {});
    if (latest && polling) {
      const { what, seconds } = latest;
      place.textContent = seconds < 2 ? `${what}…` : `${what}: ${Math.round(seconds)} s`;
    }
  } catch {
    // The server is gone; the header reports that.
  }
  if (polling === own) polling = window.setTimeout(poll, POLL_MS);
}

callbacks("stepscope", {
  profileProgress(running: boolean) {
    readRanks.asks(running);
    const place = document.getElementById("profile-progress");
    clearTimeout(polling);
    polling = running ? window.setTimeout(poll, POLL_MS) : 0;
    if (place && !running) place.textContent = "";
    place?.classList.toggle("busy", Boolean(running));
    return noUpdate();
  },
  profileFollow(followed: FollowedRanks | null) {
    readRanks.shows(followed);
    return noUpdate();
  },
  /** Called when the page has received its tables, perhaps again. */
  profileTables() {
    cutTables.begin();
    return noUpdate();
  },
  /** Shows the row that the page should open with. */
  profileSelect(chosen: [string, string] | null) {
    showRow(chosen);
    return noUpdate();
  },
});

/** The box of pages with nothing to show, which closes the way menus do. */
const absentPages = () => document.querySelector<HTMLDetailsElement>("#profile-absent > details[open]");
document.addEventListener("click", (event) => {
  const box = absentPages();
  if (box && !(event.target instanceof Node && box.firstElementChild?.contains(event.target))) box.open = false;
});
beforeAll((event) => {
  const box = event.key === "Escape" ? absentPages() : null;
  if (!box) return false;
  box.open = false;
  box.querySelector("summary")?.focus();
});
