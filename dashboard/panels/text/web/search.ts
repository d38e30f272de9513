/** A search in all texts of the visible runs; the server searches some hundred texts at a time. */
import { cards } from "../../../web/cards/grid.ts";
import { retryButton } from "../../../web/cards/loading.ts";
import { turnSections } from "../../../web/cards/sections.ts";
import { choose } from "../../../web/cards/step_slider.ts";
import { tip } from "../../../web/core/commands.ts";
import { iconButton, make, stepText } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import { reveal } from "./cards.ts";
import { unfold } from "./entry.ts";
import { highlight, ranges } from "./marks.ts";
import type { FoundText, SearchAnswer } from "./messages.generated.ts";
import { hitBeside, progress, type Search } from "./progress.ts";
import { settings } from "./settings.generated.ts";
import { api, tagName } from "./texts.ts";

/** Consecutive requests before the user is asked. */
const AT_ONCE = 5;

const fresh = (): Search => ({
  hits: [],
  searched: 0,
  total: 0,
  unreadable: 0,
  place: null,
  at: -1,
  error: "",
  isLost: false,
  busy: false,
});
let state = fresh();
/** The hit whose card is still loading. */
let awaited: FoundText | null = null;
const find = () => view.read(settings.find);

/** Starts the search again. */
export function start(): void {
  state = fresh();
  awaited = null;
  if (find()) goOn();
  show();
  highlight(null);
}

async function goOn(): Promise<void> {
  const own = state;
  own.busy = true;
  own.error = "";
  show();
  for (let request = 0; request < AT_ONCE; request += 1) {
    const requested = {
      pattern: find(),
      regex: view.read(settings.regex),
      query: view.params().toString(),
      place: own.place,
    };
    const found = await api.ask<SearchAnswer>("search", requested).catch((error) => ({ error: messageOf(error) }));
    if (state !== own) return;
    own.error = found.error;
    own.isLost = !("hits" in found);
    if (found.error || !("hits" in found)) break;
    own.hits.push(...found.hits);
    own.unreadable += found.unreadable;
    own.searched = found.searched;
    own.total = found.total;
    own.place = found.place;
    if (!found.place) break;
    show();
  }
  own.busy = false;
  show();
}

function resultOf(hit: FoundText, at: number): HTMLElement {
  const button = make(
    "button",
    { className: "result", "aria-current": String(at === state.at) },
    make("span", { className: "where" }, `${tagName(hit.tag)} · ${hit.run} · step ${stepText(hit.step)}`),
    make("span", { className: "snippet" }, hit.before, make("mark", {}, hit.found), hit.after),
    make("span", { className: "dim" }, hit.count > 1 ? "× " + stepText(hit.count) : ""),
  );
  button.addEventListener("click", () => go(at));
  return make("li", {}, button);
}

function headOf(): HTMLElement {
  const { hits, at, error, busy, place } = state;
  const previous = iconButton(
    "left",
    tip({ title: "Previous text with a match", keys: ["Shift Enter"] }),
    () => step(-1),
  );
  const next = iconButton("right", tip({ title: "Next text with a match", keys: ["Enter"] }), () => step(1));
  previous.disabled = next.disabled = !hits.length;
  const where = at >= 0 ? `${stepText(at + 1)} of ${stepText(hits.length)} · ` : "";
  const said = make("output", { className: error ? "bad" : "" }, error || where + progress(state));
  const head = make("div", { className: "results-head" }, previous, next, said);
  if (error) {
    if (state.isLost) head.append(retryButton(goOn, "quiet"));
    return head;
  }
  if (busy) head.append(make("span", { className: "dim" }, "searching"));
  else if (place) {
    const on = make("button", { className: "quiet act-on" }, "Continue");
    on.addEventListener("click", goOn);
    head.append(on);
  }
  return head;
}

function show(): void {
  const box = document.getElementById("text-results");
  if (!box) return;
  box.hidden = !find();
  if (box.hidden) return;
  const list = make("ol", { className: "results" }, ...state.hits.map(resultOf));
  const top = box.querySelector(".results")?.scrollTop ?? 0;
  box.replaceChildren(headOf(), list);
  list.scrollTop = top;
  const current = list.querySelector<HTMLElement>('[aria-current="true"]');
  if (!current) return;
  const least = current.offsetTop - list.offsetTop;
  const most = least + current.offsetHeight;
  if (least < list.scrollTop || most > list.scrollTop + list.clientHeight) list.scrollTop = least - 30;
}

/** Goes to the next or previous hit. */
export function step(by: 1 | -1): void {
  if (state.hits.length) go(hitBeside(state, by));
}

/** Goes to a matching text; if its card is on another page or in a closed group, brings it into view first. */
async function go(at: number): Promise<void> {
  state.at = at;
  const hit = state.hits[at];
  awaited = hit;
  show();
  if ((await jump()) || state.at !== at) return;
  choose(settings.page, hit.sections.at(-1)!, hit.page > 1 ? hit.page : null);
  // Cards are drawn once they are visible.
  turnSections("text", hit.sections, true).at(-1)?.scrollIntoView({ block: "start" });
}

async function jump(): Promise<boolean> {
  const wanted = awaited;
  if (!wanted) return false;
  cards.find("text", wanted.key)?.scrollIntoView({ block: "nearest" });
  const article = await reveal(wanted.key, wanted.index);
  if (!article || awaited !== wanted) return false;
  awaited = null;
  unfold(article, true);
  highlight(article);
  scrollTo(article, ranges(article).at(0));
  return true;
}

/** Scrolls the card, then the page, to the match. */
function scrollTo(article: HTMLElement, range: Range = rangeAround(article)): void {
  const body = article.closest(".fill");
  if (body) {
    body.scrollTop += range.getBoundingClientRect().top - body.getBoundingClientRect().top - body.clientHeight / 3;
  }
  article.closest(".card")?.scrollIntoView({ block: "center" });
}

function rangeAround(article: HTMLElement): Range {
  const range = document.createRange();
  range.selectNode(article);
  return range;
}

/** Called when a card has its texts: continues a jump that is waiting for it. */
export function arrived(key: string): void {
  if (awaited?.key === key) jump();
}
