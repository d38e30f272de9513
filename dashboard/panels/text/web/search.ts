// @ts-nocheck
// The text panel: a search in all texts of the shown runs, which the server does some hundred texts at a time.
import * as textsEntry from "./entry.ts";
import { highlight } from "./entry.ts";
import { cards as textsCards } from "./index.ts";
import { cards } from "../../../web/cards/grid.ts";
import { elements } from "../../../web/core/dom.ts";
import { view } from "../../../web/page/view.ts";

const { make, icon } = elements;
/** Requests in a row; then the user is asked. */
const AT_ONCE = 5;
const MOST_LISTED = 500;

const state: {
  ask: number;
  hits: object[];
  searched: number;
  total: number;
  unreadable: number;
  place: string | null;
  at: number;
  error: string;
  busy: boolean;
  jump: object | null;
} = { ask: 0, hits: [], searched: 0, total: 0, unreadable: 0, place: null, at: -1, error: "", busy: false, jump: null };
const number = (value) => elements.step(value);
const find = () => view.values("text.find")[0] || "";

/** Searches anew. */
function start() {
  Object.assign(state, {
    ask: state.ask + 1,
    hits: [],
    searched: 0,
    total: 0,
    unreadable: 0,
    place: null,
    at: -1,
    error: "",
    busy: false,
    jump: null,
  });
  highlight(null);
  if (find()) goOn();
  show();
  highlight(null);
}

async function goOn() {
  const ask = state.ask;
  state.busy = true;
  show();
  for (let request = 0; request < AT_ONCE && state.hits.length < MOST_LISTED; request += 1) {
    const query = new URLSearchParams([["pattern", find()], ["regex", String(view.values("text.regex")[0] === "on")], [
      "query",
      view.params().toString(),
    ], ["place", state.place || ""]]);
    const answer = await fetch("/api/text/search?" + query).catch(() => null);
    const found = answer && (await answer.json().catch(() => null));
    if (state.ask !== ask) return;
    state.error = !answer || !answer.ok || !found ? "No answer from the server." : found.error;
    if (state.error) break;
    state.hits.push(...found.hits);
    Object.assign(state, {
      searched: found.searched,
      total: found.total,
      unreadable: state.unreadable + found.unreadable,
      place: found.place,
    });
    if (!found.place) break;
    show();
  }
  state.busy = false;
  show();
}

function progress() {
  const places = state.hits.reduce((sum, hit) => sum + hit.count, 0);
  const parts = [
    `${number(places)} ${places === 1 ? "place" : "places"} in ${number(state.hits.length)} ${
      state.hits.length === 1 ? "text" : "texts"
    }`,
  ];
  if (state.total) {
    parts.push(
      state.place || state.busy
        ? `searched ${number(state.searched)} of ${number(state.total)} texts`
        : `all ${number(state.total)} texts searched`,
    );
  }
  if (state.unreadable) parts.push(`${number(state.unreadable)} could not be read`);
  return parts.join(" · ");
}

function show() {
  const box = document.getElementById("text-results");
  if (!box) return;
  box.hidden = !find();
  if (box.hidden) return;
  const tool = (name, title, act, disabled) => {
    const button = make("button", { className: "icon-button", title, disabled }, icon(name, 14));
    button.addEventListener("click", act);
    return button;
  };
  const none = !state.hits.length;
  const head = make(
    "div",
    { className: "results-head" },
    tool("left", "Previous text with a hit (Shift Enter)", () => step(-1), none),
    tool("right", "Next text with a hit (Enter)", () => step(1), none),
    make(
      "output",
      {},
      state.error || (state.at >= 0 ? `${number(state.at + 1)} of ${number(state.hits.length)} · ` : "") + progress(),
    ),
  );
  if (state.error) head.lastChild.classList.add("bad");
  else if (state.busy) head.append(make("span", { className: "dim" }, "searching"));
  else if (state.place) {
    const on = make("button", { className: "quiet act-on" }, "Go on");
    on.addEventListener("click", goOn);
    head.append(on);
  }
  const list = make("ol", { className: "results" });
  state.hits.slice(0, MOST_LISTED).forEach((hit, at) => {
    const button = make(
      "button",
      { className: "result", "aria-current": String(at === state.at) },
      make(
        "span",
        { className: "where" },
        `${hit.tag.replace(/\/text_summary$/, "")} · ${hit.run} · step ${number(hit.step)}`,
      ),
      make("span", { className: "snippet" }, hit.before, make("mark", {}, hit.found), hit.after),
      make("span", { className: "dim" }, hit.count > 1 ? "× " + number(hit.count) : ""),
    );
    button.addEventListener("click", () => go(at));
    list.append(make("li", {}, button));
  });
  const scrolled = box.querySelector(".results");
  const top = scrolled ? scrolled.scrollTop : 0;
  box.replaceChildren(head, list);
  list.scrollTop = top;
  const current = list.querySelector('[aria-current="true"]');
  if (current) {
    const [least, most] = [
      current.offsetTop - list.offsetTop,
      current.offsetTop - list.offsetTop + current.offsetHeight,
    ];
    if (least < list.scrollTop || most > list.scrollTop + list.clientHeight) list.scrollTop = least - 30;
  }
}

function step(by) {
  if (!state.hits.length) return;
  go(state.at < 0 ? (by > 0 ? 0 : state.hits.length - 1) : (state.at + by + state.hits.length) % state.hits.length);
}

/** Goes to a text with a hit; a card that is on another page or in a closed group is brought here first. */
async function go(at) {
  state.at = at;
  const hit = state.hits[at];
  state.jump = { key: hit.key, index: hit.index };
  show();
  if ((await jump()) || state.at !== at) return;
  view.update((params, set) => {
    const others = (name) => params.getAll(name).filter((entry) => entry !== hit.group);
    set("text.closed", others("text.closed"));
    set("text.open", [...others("text.open"), hit.group]);
    const rest = params.getAll("text.page").filter((entry) => !entry.startsWith(hit.group + ":"));
    set("text.page", hit.page > 1 ? [...rest, `${hit.group}:${hit.page}`] : rest);
  });
  const section = [...document.querySelectorAll(".groups[data-panel='text'] .group")].find((one) =>
    one.dataset.group === hit.group
  );
  if (section) {
    section.classList.add("open");
    section.querySelector(".group-toggle").setAttribute("aria-expanded", "true");
    // Cards are drawn when they are seen.
    section.scrollIntoView({ block: "start" });
  }
}

async function jump() {
  const wanted = state.jump;
  if (!wanted) return false;
  const card = cards.find("text", wanted.key);
  if (card) card.scrollIntoView({ block: "nearest" });
  const article = await textsCards.reveal(wanted.key, wanted.index);
  if (!article || state.jump !== wanted) return false;
  state.jump = null;
  textsEntry.unfold(article, true);
  highlight(article);
  const [first] = textsEntry.ranges(article);
  scrollTo(article, first);
  return true;
}

/** Scrolls the card, then the page, to what was found. */
function scrollTo(article, range) {
  const body = article.closest(".fill");
  const place = (range || article).getBoundingClientRect();
  body.scrollTop += place.top - body.getBoundingClientRect().top - body.clientHeight / 3;
  article.closest(".card").scrollIntoView({ block: "center" });
}

document.addEventListener("keydown", (event) => {
  if (
    event.key !== "Enter" || !event.target.closest ||
    !event.target.closest(".panel.text .find input[type=text], .panel.text .find input:not([type])")
  ) return;
  event.preventDefault();
  step(event.shiftKey ? -1 : 1);
});

export const search = {
  start,
  /** A card has its texts: if a jump waits for it, it goes on. */
  arrived: (key) => state.jump && state.jump.key === key && jump(),
};
