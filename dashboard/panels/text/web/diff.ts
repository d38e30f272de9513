// @ts-nocheck
// The text panel: two texts of a tag compared, side by side or in one column. The server compares (panels/text/diff.py).
import * as stepper from "../../../web/core/stepper.ts";
import { cards } from "./index.ts";
import { elements } from "../../../web/core/dom.ts";
import { view } from "../../../web/page/view.ts";

const { make, icon } = elements;
const CONTEXT = 3;
const SIGNS = { same: "", added: "+", removed: "\u2212" };

export interface Side {
  run: string;
  index: number;
  step: number;
  total: number;
}
let shown: {
  dialog: HTMLDialogElement;
  tag: string;
  runs: string[];
  old: Side;
  new: Side;
  found: object | null;
  ask: number;
} | null = null;

const setting = (name, otherwise) => view.values("text." + name)[0] ?? otherwise;

/** Compares a text with the one before it, or with that of another run. */
export function open(data, entry) {
  const now = { run: data.run, index: entry.index, step: entry.step, total: data.total };
  const other = data.runs.find((run) => run !== data.run);
  if (entry.index > 0 || !other) {
    return begin(data.tag, data.runs, { ...now, index: Math.max(0, entry.index - 1) }, now);
  }
  return choose(data.tag, other, entry.step).then((side) => side && begin(data.tag, data.runs, side, now));
}

async function choose(tag, run, step) {
  const found = await cards.nearest({ run, tag }, step);
  return found && { run, index: found.index, step: found.step, total: found.total };
}

function begin(tag, runs, old, now) {
  if (shown) shown.dialog.close();
  const dialog = make("dialog", { id: "text-diff", "aria-label": "Two texts compared" });
  const body = make("div", { className: "diff-body", tabIndex: 0 });
  const close = make("button", { className: "icon-button", title: "Close (Esc)" }, icon("close", 18));
  close.addEventListener("click", () => dialog.close());
  const head = make(
    "header",
    {},
    make("strong", {}, tag.replace(/\/text_summary$/, "")),
    make("output", { className: "counts" }),
    make("span", { className: "spacer" }),
    toggle("layout", { side: "Side by side", unified: "Unified" }),
    toggle("unchanged", { near: "Changes", all: "All lines" }),
    close,
  );
  dialog.append(head, make("div", { className: "diff-sides" }), body);
  document.body.append(dialog);
  shown = { dialog, tag, runs, old, new: now, found: null, ask: 0 };
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (!shown || shown.dialog !== dialog) return;
    shown = null;
    view.update((_params, set) => set("text.diff", []));
  });
  dialog.showModal();
  load();
}

function toggle(name, options) {
  const group = make("span", { className: "ab", role: "group", "aria-label": name });
  for (const [value, label] of Object.entries(options)) {
    const button = make("button", { className: "quiet", "data-value": value, "data-name": name }, label);
    button.addEventListener("click", () => {
      view.update((_params, set) => set("text." + name, [value]));
      render();
    });
    group.append(button);
  }
  return group;
}

async function load() {
  const ask = (shown.ask += 1);
  const query = new URLSearchParams([["tag", shown.tag], ["old_run", shown.old.run], ["old_index", shown.old.index], [
    "new_run",
    shown.new.run,
  ], ["new_index", shown.new.index]]);
  const answer = await fetch("/api/text/diff?" + query).catch(() => null);
  const found = answer && (await answer.json().catch(() => null));
  if (!shown || shown.ask !== ask) return;
  if (!answer || !answer.ok) {
    shown.found = { rows: [], added: 0, removed: 0, notice: "", error: "No answer from the server." };
  } else {
    shown.found = found;
    Object.assign(shown.old, found.old);
    Object.assign(shown.new, found.new);
  }
  view.update((_params, set) =>
    set("text.diff", [shown.tag, shown.old.run, String(shown.old.step), shown.new.run, String(shown.new.step)])
  );
  render();
}

/** The run and the step of one side, to choose others. */
function side(name) {
  const one = shown[name];
  const runs = make(
    "select",
    { "aria-label": name === "old" ? "Old run" : "New run" },
    ...[...new Set([...shown.runs, one.run])].map((run) =>
      make("option", { value: run, selected: run === one.run }, run)
    ),
  );
  runs.addEventListener("change", async () => {
    const found = await choose(shown.tag, runs.value, one.step);
    if (found) Object.assign(one, found);
    load();
  });
  const track = stepper.create({
    count: () => one.total,
    at: () => one.index,
    said: () => elements.step(one.step),
    hint: () => one.run,
    move: (index) => (one.index = index),
    typed: async (step) => {
      const found = await choose(shown.tag, one.run, step);
      if (found) Object.assign(one, found);
      load();
    },
    settled: load,
  });
  track.refresh();
  return make(
    "div",
    { className: "diff-side" },
    make("span", { className: "dim" }, name === "old" ? "old" : "new"),
    runs,
    track.element,
  );
}

// --- rows --------------------------------------------------------------------------------------------------

/** Rows near a change, and stretches of unchanged ones between. */
function near(rows) {
  const kept = new Uint8Array(rows.length);
  rows.forEach(([change], at) => {
    if (change !== "same") kept.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const pieces = [];
  for (let at = 0; at < rows.length;) {
    const state = kept[at];
    let end = at;
    while (end < rows.length && kept[end] === state) end += 1;
    if (state || end - at < 3) pieces.push(...rows.slice(at, end));
    else pieces.push({ hidden: rows.slice(at, end) });
    at = end;
  }
  return pieces;
}

const text = (segments, mark) =>
  segments.map(([piece, changed]) => (changed ? make(mark, {}, piece) : document.createTextNode(piece)));

function cells(number, sign, segments, kind) {
  const mark = kind === "added" ? "ins" : "del";
  return [
    make("td", { className: "line-number" }, number === null ? "" : String(number)),
    make(
      "td",
      { className: "line " + (number === null ? "absent" : kind) },
      make("span", { className: "sign" }, number === null ? "" : sign),
      ...text(segments, mark),
    ),
  ];
}

function lines(row, unified) {
  const [change, oldNumber, newNumber, old, now] = row;
  const [oldKind, newKind] = change === "same" ? ["same", "same"] : ["removed", "added"];
  if (!unified) {
    return [
      make(
        "tr",
        {},
        ...cells(oldNumber, SIGNS[oldKind], old, oldKind),
        ...cells(newNumber, SIGNS[newKind], now, newKind),
      ),
    ];
  }
  const one = (first, second, segments, kind) => {
    const [numberCell, line] = cells(first ?? second, SIGNS[kind], segments, kind);
    numberCell.textContent = first ?? "";
    return make(
      "tr",
      {},
      numberCell,
      make("td", { className: "line-number" }, second === null ? "" : String(second)),
      line,
    );
  };
  if (change === "same") return [one(oldNumber, newNumber, old, "same")];
  const found = [];
  if (oldNumber !== null) found.push(one(oldNumber, null, old, "removed"));
  if (newNumber !== null) found.push(one(null, newNumber, now, "added"));
  return found;
}

/** In one column all removed lines of a change come before the added ones. */
function ordered(rows) {
  const found = [];
  let removed = [];
  let added = [];
  const flush = () => {
    found.push(...removed, ...added);
    removed = [];
    added = [];
  };
  for (const row of rows) {
    if (row.hidden || row[0] === "same") {
      flush();
      found.push(row);
    } else {
      if (row[1] !== null) removed.push(["removed", row[1], null, row[3], []]);
      if (row[2] !== null) added.push(["added", null, row[2], [], row[4]]);
    }
  }
  flush();
  return found;
}

function gap(hidden, unified) {
  const button = make("button", { className: "quiet" }, `${elements.step(hidden.length)} unchanged lines`);
  const row = make("tr", { className: "gap" }, make("td", { colSpan: unified ? 3 : 4 }, button));
  button.addEventListener("click", () => row.replaceWith(...hidden.flatMap((one) => lines(one, unified))));
  return row;
}

function render() {
  if (!shown || !shown.found) return;
  const { dialog, found } = shown;
  const unified = setting("layout", "side") === "unified";
  const all = setting("unchanged", "near") === "all";
  for (const button of dialog.querySelectorAll(".ab button")) {
    button.setAttribute("aria-pressed", String(setting(button.dataset.name, "") === button.dataset.value));
  }
  dialog.querySelector(".counts").replaceChildren(
    make("span", { className: "plus" }, "+" + elements.step(found.added)),
    " ",
    make("span", { className: "minus" }, "\u2212" + elements.step(found.removed)),
    " lines",
  );
  const sides = dialog.querySelector(".diff-sides");
  if (!sides.contains(document.activeElement) || !sides.firstChild) sides.replaceChildren(side("old"), side("new"));
  const body = dialog.querySelector(".diff-body");
  const notices = [
    found.error && "Not compared: " + found.error,
    found.notice,
    !found.error && !found.added && !found.removed ? "The two texts are the same." : "",
  ].filter(Boolean);
  const table = make("table", { className: unified ? "diff unified" : "diff" });
  const pieces = all ? found.rows : near(found.rows);
  for (const piece of unified ? ordered(pieces) : pieces) {
    table.append(...(piece.hidden ? [gap(piece.hidden, unified)] : lines(piece, unified)));
  }
  body.replaceChildren(
    ...notices.map((notice) => make("p", { className: found.error ? "bad" : "diff-notice" }, notice)),
    table,
  );
}

/** Opens what the URL has. */
export async function fromUrl() {
  const [tag, oldRun, oldStep, newRun, newStep] = view.values("text.diff");
  if (shown || newStep === undefined) return;
  const [old, now] = await Promise.all([choose(tag, oldRun, oldStep), choose(tag, newRun, newStep)]);
  if (old && now && !shown) begin(tag, [...new Set([oldRun, newRun])], old, now);
}
