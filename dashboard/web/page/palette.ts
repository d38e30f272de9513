/** The palette: finds any run, tag, tab or command from a few letters. */
import { active, bind } from "../core/commands.ts";
import { icon, make, within } from "../core/dom.ts";
import { popover } from "../core/popover.ts";
import { whenReleased } from "../core/press.ts";
import { Api } from "../core/request.ts";
import { closeBeside } from "../core/taps.ts";
import { sectionsIn, turnSections } from "../cards/sections.ts";
import type { Hit } from "../../runs/web/messages.generated.ts";
import { runTable } from "../../runs/web/table.ts";
import { runs } from "../../runs/web/state.ts";
import type { PanelFacts } from "./messages.generated.ts";
import { bestFirst, type Entry, tagShown } from "./palette_entries.ts";
import { view } from "./view.ts";

const WAIT_MS = 60;
const FOUND_MS = 1600;
const MOST_LETTERS = 200;
const api = new Api("api");

const commands = (): Entry[] =>
  active().flatMap(({ commands }) => commands).flatMap(({ title, palette, when, act }) =>
    palette && act && (!when || when())
      ? [{ title, hint: "command", icon: palette, act: () => act(new KeyboardEvent("keydown")) }]
      : []
  );

const panels = (): Entry[] =>
  view.tabs().map((tab) => ({ title: tab.title, hint: "tab", icon: tab.name, act: () => view.open(tab.name) }));

const local = (wanted: string): Entry[] => bestFirst([...panels(), ...commands()], wanted);

// --- what choosing does --------------------------------------------------------------------------------------

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

function openRun(run: string) {
  const tabs = view.tabs();
  const follows = ({ name }: { name: string }) => view.followsRuns(name);
  const other = tabs.some((tab) => tab.open && follows(tab)) ? undefined : tabs.find(follows);
  if (other) view.open(other.name);
  runs.select([run]);
  const row = runs.rows.get(run);
  if (row && !runs.isOn(row)) runs.switchRuns([row], true);
  runTable.reveal(run);
}

/** A tag as stored on the server and as shown on its card, and the panel that has such cards. */
interface Tag {
  stored: string;
  shown: string;
  panel: PanelFacts | undefined;
}

function tagOf(hit: Hit): Tag {
  const panel = view.panelOf(hit.data);
  return { stored: hit.name, shown: tagShown(hit.name, panel?.ending ?? ""), panel };
}

/** Scrolls a tag's card into view, or opens the tab that has one, with the tag chosen there. */
function openTag({ stored, shown, panel }: Tag) {
  const tabs = view.tabs();
  const open = tabs.find((tab) => tab.open);
  const tab = tabs.find(({ name }) => name === panel?.name) ?? open;
  if (!tab) return;
  const cards = tab === open ? [...document.querySelectorAll<HTMLElement>("#panel [data-key]")] : [];
  const card = cards.find(({ dataset }) => [stored, shown].includes(keyTag(dataset.key ?? "")));
  if (!card) {
    const { tag_setting = "tag_filter", ending = "" } = panel ?? {};
    // The filter applies to the stored tags: a mesh has one for each of its parts.
    const value = tag_setting === "tag_filter" ? `^${escaped(shown)}${shown === stored ? "$" : ending}` : stored;
    return view.open(tab.name, tag_setting ? { [tag_setting]: [value] } : {});
  }
  const closed = sectionsIn(document).filter((section) => section.contains(card) && !section.matches(".open"));
  turnSections(tab.name, closed.map(({ dataset }) => dataset.group!), true);
  card.scrollIntoView({ block: "center" });
  card.classList.remove("found");
  requestAnimationFrame(() => card.classList.add("found"));
  window.setTimeout(() => card.classList.remove("found"), FOUND_MS);
}

/** The tag in a card's key, which is either a tag or a list of a tag and a run. */
function keyTag(key: string): string {
  try {
    const pair: unknown = JSON.parse(key);
    return Array.isArray(pair) ? String(pair[0]) : key;
  } catch {
    return key;
  }
}

function entryOf(hit: Hit): Entry {
  const { places } = hit;
  if (hit.kind === "run") return { title: hit.name, hint: "run", icon: "check", places, act: () => openRun(hit.name) };
  const tag = tagOf(hit);
  const tab = view.tabs().find(({ name }) => name === tag.panel?.name);
  return {
    title: tag.shown,
    hint: tab?.title ?? hit.data,
    icon: tab?.name ?? "scalars",
    places,
    act: () => openTag(tag),
  };
}

/** Hits as entries; the parts of a mesh form one entry, and letters in an ending that is not shown do not count. */
function entriesOf(hits: readonly Hit[]): Entry[] {
  const found = new Map<string, Entry>();
  for (const hit of hits) {
    const shown = hit.kind === "run" ? hit.name : tagOf(hit).shown;
    if (hit.places.every((place) => place < [...shown].length)) {
      found.set(JSON.stringify([hit.kind, hit.data, shown]), entryOf(hit));
    }
  }
  return [...found.values()];
}

// --- the box -------------------------------------------------------------------------------------------------

/** A text with the found letters marked. */
function marked(text: string, places: readonly number[] = []): HTMLElement {
  const found = new Set(places);
  return make("bdi", {}, ...[...text].map((letter, place) => (found.has(place) ? make("b", {}, letter) : letter)));
}

const shownBox = () => document.querySelector<HTMLDialogElement>("dialog.palette[open]");

export function toggle(): void {
  const known = shownBox();
  if (known) known.close();
  else open();
}

function open(): void {
  if (shownBox()) return;
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
    make("div", { className: "field" }, icon("search", 16), field),
    list,
  );
  let entries: Entry[] = [];
  let chosen = 0;
  let turn = 0;
  let waiting = 0;
  /** The text that the list answers, and whether Enter was pressed before the results arrived. */
  let answered = "";
  let pendingEnter = false;

  const mark = () => {
    [...list.children].forEach((entry, place) => entry.setAttribute("aria-selected", String(place === chosen)));
    const current = list.children[chosen];
    field.setAttribute("aria-activedescendant", current?.id ?? "");
    current?.scrollIntoView({ block: "nearest" });
  };
  const nameOf = (entry: Entry | undefined) => entry && `${entry.hint}\n${entry.title}`;
  const item = (entry: Entry, place: number) => {
    const made = make(
      "li",
      { role: "option", id: `palette-${place}` },
      icon(entry.icon, 14),
      marked(entry.title, entry.places),
      make("span", { className: "hint" }, entry.hint),
    );
    made.addEventListener("click", () => take(place));
    made.addEventListener("pointermove", () => {
      if (chosen === place) return;
      chosen = place;
      mark();
    });
    return made;
  };
  const show = (next: Entry[], text: string) => {
    const kept = text === answered ? next.findIndex((entry) => nameOf(entry) === nameOf(entries[chosen])) : 0;
    entries = next;
    chosen = Math.max(0, kept);
    answered = text;
    list.replaceChildren(...entries.map(item));
    if (!entries.length) list.append(make("li", { className: "nothing" }, "Nothing found"));
    mark();
    if (pendingEnter && text === field.value) take(0);
  };
  const take = (place: number) => {
    const entry = entries[place];
    if (!entry) return;
    box.close();
    entry.act();
  };
  const ask = async () => {
    const wanted = field.value;
    const own = (turn += 1);
    const here = local(wanted);
    const hits = await api.ask<Hit[]>("search", { limit: 50, q: wanted.slice(0, MOST_LETTERS) }).catch(() => []);
    if (turn !== own) return;
    const there = entriesOf(hits);
    const isGood = ({ score = 0 }: Entry) => score > 0;
    const found = wanted.trim()
      ? [...here.filter(isGood), ...there, ...here.filter((entry) => !isGood(entry))]
      : [...here, ...there];
    whenReleased(list, () => turn === own && show(found, wanted));
  };
  field.addEventListener("input", () => {
    pendingEnter = false;
    clearTimeout(waiting);
    waiting = window.setTimeout(ask, WAIT_MS);
  });
  const move = (by: number) => () => {
    if (!entries.length) return;
    chosen = Math.abs(by) > 1
      ? Math.min(Math.max(chosen + by, 0), entries.length - 1)
      : (chosen + by + entries.length) % entries.length;
    mark();
  };
  bind(field, {
    ArrowDown: move(1),
    ArrowUp: move(-1),
    PageDown: move(8),
    PageUp: move(-8),
    Enter() {
      if (field.value === answered) take(chosen);
      else pendingEnter = true;
    },
  });
  closeBeside(box);
  box.addEventListener("close", () => {
    box.remove();
    // Responses that are still pending are no longer wanted.
    turn += 1;
    pendingEnter = false;
    clearTimeout(waiting);
  });
  document.body.append(box);
  box.showModal();
  show(local(""), "");
  void ask();
}

document.addEventListener("click", (event) => {
  if (within(event, "#palette-open")) open();
});
