// @ts-nocheck
// The palette: finds any run, tag, tab or command by a few letters.
import * as capture from "./capture.ts";
import * as frame from "./layout.ts";
import { elements } from "../core/dom.ts";
import { live } from "./live.ts";
import { popover } from "../core/popover.ts";
import { runTable } from "../../runs/web/table.ts";
import { runs } from "../../runs/web/state.ts";
import { shortcuts } from "./shortcuts.ts";
import { theme } from "./theme.ts";
import { view } from "./view.ts";

const make = (...args) => elements.make(...args);
const WAIT_MS = 60;
const PANELS = {
  mesh: "mesh",
  distributions: "histograms",
  graph_run_metadata: "timeline",
  graph_keras_model: "graphs",
  graph_run_metadata_graph: "graphs",
};

export interface Entry {
  title: string;
  hint: string;
  icon: string;
  act: () => void;
  places?: number[];
}

function commands() {
  const paused = document.getElementById("live").dataset.state === "paused";
  const grouped = view.values("runs.group").length > 0;
  const group = (specs) => view.update((_params, set) => set("runs.group", specs));
  return [
    ["Light or dark", "sun", () => theme.toggle()],
    [grouped ? "Do not group runs" : "Group runs by seeds", "group", () => group(grouped ? [] : ["seeds"])],
    ["Show all runs", "check", () => runs.switchAll(true, [...runs.rows.values()])],
    ["Hide all runs", "close", () => runs.switchAll(false, [...runs.rows.values()])],
    ["Clear the selection of runs", "reset", () => runs.select([])],
    [paused ? "Go on with live data" : "Pause live data", paused ? "play" : "pause", () => live.togglePause()],
    ["Copy a link to this view", "link", () => frame.copyLink()],
    ["Capture a running program", "capture", () => capture.open(document.getElementById("palette-open"))],
    ["Hide or show the runs", "sidebar", () => frame.toggleSidebar()],
    ["Keys", "keyboard", () => shortcuts.sheet()],
    ["Reset settings", "reset", () => view.reset()],
  ].map(([title, icon, act]) => ({ title, hint: "command", icon, act }));
}

const panels = () =>
  view.tabs().map((tab) => ({ title: tab.title, hint: "tab", icon: tab.name, act: () => view.open(tab.name) }));

/** How well a text fits, as dashboard/runs/search.py has it; null where a letter is missing. */
function match(wanted, text) {
  const letters = [...wanted.toLowerCase().replace(/\s+/g, "")];
  const folded = [...text.toLowerCase()];
  const places = [];
  let at = -1;
  for (const letter of letters) {
    at = folded.indexOf(letter, at + 1);
    if (at < 0) return null;
    places.push(at);
  }
  const whole = text.toLowerCase().indexOf(letters.join(""));
  return whole >= 0
    ? { score: 100 - whole, places: letters.map((_, place) => whole + place) }
    : { score: -(at || 0), places };
}

function local(wanted) {
  const all = [...panels(), ...commands()];
  if (!wanted.trim()) return all;
  const found = all.flatMap((entry) => {
    const fits = match(wanted, entry.title);
    return fits ? [{ ...entry, ...fits }] : [];
  });
  return found.sort((one, other) => other.score - one.score);
}

// --- what choosing does --------------------------------------------------------------------------------------

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

function openRun(run) {
  runs.select([run]);
  const row = runs.rows.get(run);
  if (row && !runs.isOn(row)) runs.switchRuns([row], true);
  runTable.reveal(run);
}

/** Brings a tag's card into sight, or opens the tab that has one, filtered to it. */
function openTag(tag, data) {
  const tabs = view.tabs();
  const open = tabs.find((tab) => tab.open);
  const name = PANELS[data] || data;
  const panel = tabs.find((tab) => tab.name === name) || open;
  const card = open && panel === open &&
    [...document.querySelectorAll("#panel [data-key]")].find((element) => keyTag(element.dataset.key) === tag);
  // The filter goes by the tags that are stored: a mesh has one for each of its parts.
  if (!card) {
    return view.open(panel.name, {
      tag_filter: ["^" + escaped(tag) + (data === "mesh" ? "_(VERTEX|FACE|COLOR)$" : "$")],
    });
  }
  card.scrollIntoView({ block: "center" });
  card.classList.remove("found");
  requestAnimationFrame(() => card.classList.add("found"));
}

/** The tag of a card's key, which is a tag, or a list of a tag and a run. */
function keyTag(key) {
  try {
    const pair = JSON.parse(key);
    return Array.isArray(pair) ? pair[0] : key;
  } catch {
    return key;
  }
}

/** The tag as its card calls it: texts and the parts of meshes are stored with an end that no card shows. */
const shownTag = (hit) =>
  hit.name.replace({ text: /\/text_summary$/, mesh: /_(VERTEX|FACE|COLOR)$/ }[hit.data] || /$^/, "");

function remote(hit) {
  if (hit.kind === "run") {
    return {
      title: hit.name,
      hint: "run",
      icon: "check",
      places: hit.places,
      act: () => openRun(hit.name),
    };
  }
  const tab = view.tabs().find((one) => one.name === (PANELS[hit.data] || hit.data));
  const title = shownTag(hit);
  const tag = hit.data === "mesh" ? title : hit.name;
  return {
    title,
    hint: tab ? tab.title : hit.data,
    icon: tab ? tab.name : "scalars",
    places: hit.places,
    act: () => openTag(tag, hit.data),
  };
}

/** Hits as entries; the parts of one mesh are one, and letters in an end that is not shown are no hit. */
const found = (
  hits,
) => [
  ...new Map(
    hits.filter((hit) => hit.places.every((place) => place < [...shownTag(hit)].length)).map((
      hit,
    ) => [JSON.stringify([hit.kind, hit.data, shownTag(hit)]), remote(hit)]),
  ).values(),
];

// --- the box -------------------------------------------------------------------------------------------------

/** A text with the letters that were found marked. */
function marked(text, places) {
  const found = new Set(places || []);
  return make("bdi", {}, ...[...text].map((letter, place) => (found.has(place) ? make("b", {}, letter) : letter)));
}

export function open() {
  if (document.querySelector("dialog.palette")) return;
  popover.close(false);
  const field = make("input", {
    type: "text",
    placeholder: "Find a run, a tag, a tab or a command",
    "aria-label": "Find a run, a tag, a tab or a command",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    autocomplete: "off",
    spellcheck: false,
  });
  const list = make("ul", { id: "palette-list", role: "listbox", "aria-label": "Found" });
  const box = make(
    "dialog",
    { className: "palette", "aria-label": "Find" },
    make("div", { className: "field" }, elements.icon("search", 16), field),
    list,
  );
  let entries: Entry[] = [];
  let chosen = 0;
  let asked = 0;
  let waiting = 0;
  /** What the list was found for, and whether Enter was pressed for what is not found yet. */
  let answered = "";
  let due = false;

  const mark = () => {
    [...list.children].forEach((entry, place) => entry.setAttribute("aria-selected", String(place === chosen)));
    const current = list.children[chosen];
    field.setAttribute("aria-activedescendant", current ? current.id : "");
    if (current) current.scrollIntoView({ block: "nearest" });
  };
  const nameOf = (entry) => entry && `${entry.hint}\n${entry.title}`;
  const show = (next, text) => {
    const kept = text === answered ? next.findIndex((entry) => nameOf(entry) === nameOf(entries[chosen])) : 0;
    entries = next;
    chosen = Math.max(0, kept);
    answered = text;
    list.replaceChildren(...entries.map((entry, place) => {
      const item = make(
        "li",
        { role: "option", id: "palette-" + place },
        elements.icon(entry.icon, 14),
        marked(entry.title, entry.places),
        make("span", { className: "hint" }, entry.hint),
      );
      item.addEventListener("click", () => take(place));
      item.addEventListener("pointermove", () => {
        if (chosen === place) return;
        chosen = place;
        mark();
      });
      return item;
    }));
    if (!entries.length) list.append(make("li", { className: "nothing" }, "Nothing found"));
    mark();
    if (due && text === field.value) take(0);
  };
  const take = (place) => {
    const entry = entries[place];
    if (!entry) return;
    box.close();
    entry.act();
  };
  const ask = async () => {
    const wanted = field.value;
    const turn = (asked += 1);
    const own = local(wanted);
    const answer = await fetch("/api/search?limit=50&q=" + encodeURIComponent(wanted.slice(0, 200))).catch(() => null);
    const hits = answer && answer.ok ? await answer.json() : [];
    if (turn !== asked) return;
    const all = wanted.trim()
      ? [...own.filter((entry) => entry.score > 0), ...found(hits), ...own.filter((entry) => entry.score <= 0)]
      : [...own, ...found(hits)];
    show(all, wanted);
  };
  field.addEventListener("input", () => {
    due = false;
    clearTimeout(waiting);
    waiting = setTimeout(ask, WAIT_MS);
  });
  box.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (by && entries.length) {
      chosen = Math.abs(by) > 1
        ? Math.min(Math.max(chosen + by, 0), entries.length - 1)
        : (chosen + by + entries.length) % entries.length;
      mark();
    } else if (event.key !== "Enter") return;
    else if (field.value === answered) take(chosen);
    else due = true;
    event.preventDefault();
  });
  box.addEventListener("click", (event) => event.target === box && box.close());
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  show(local(""), "");
  ask();
}

window.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  const known = document.querySelector("dialog.palette") as HTMLDialogElement | null;
  if (known) known.close();
  else open();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest("#palette-open");
  if (button) open();
});
