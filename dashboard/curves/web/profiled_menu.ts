// From the curves to the Timeline: picks the profiled step, offers a choice if there are several, and makes the button.
import { icon, make, stepText } from "../../web/core/dom.ts";
import { popover } from "../../web/core/popover.ts";
import { loop } from "../../web/lines/loop.ts";
import type { Span } from "../../web/lines/scene.ts";
import { view } from "../../web/page/view.ts";
import { type Found, isProfiled, profiledAt } from "./profiled_steps.ts";
import type { Card } from "./state.ts";
import { leave } from "./table.ts";
import { entriesAt, type Entry, explained, rangeOf } from "./trace_steps.ts";

const MOST_CHOICES = 24;

interface Spot {
  clientX: number;
  clientY: number;
}
/** A run and the step of it that is offered. */
interface Offer extends Pick<Found, "name" | "entries"> {
  entry: Entry;
}

/** Opens the Timeline at a step. */
const show = (entry: Entry) =>
  view.open("timeline", {
    "timeline.trace": [entry.trace],
    "timeline.range": [rangeOf(entry)],
    "timeline.slice": [],
  });

const offersOf = (found: readonly Found[]): Offer[] =>
  found.map(({ name, entries, near }) => ({ name, entries, entry: near }));

/** Menu entries: the step of each run, or the step of a single run in every trace that has it. */
function choices(offers: readonly Offer[], isNear: boolean): ([string, () => void] | Node)[] {
  const all = offers.flatMap(({ name, entries, entry }) => {
    const said = stepText(entry.step);
    const label = isNear ? `Nearest profiled step: ${said}` : `Show step ${said} on the Timeline`;
    const same = offers.length > 1 ? [entry] : entriesAt(entries, entry.step);
    return same.map((one): [string, () => void] => {
      const of = offers.length > 1 ? name : same.length > 1 ? one.label : "";
      return [of ? `${label} (${of})` : label, () => show(one)];
    });
  });
  if (all.length <= MOST_CHOICES) return all;
  const rest = `and ${all.length - MOST_CHOICES} more: show fewer runs, or zoom in`;
  return [...all.slice(0, MOST_CHOICES), make("div", { className: "menu-heading" }, rest)];
}

function openMenu(card: Card, offers: readonly Offer[], isNear: boolean, { clientX, clientY }: Spot) {
  // The pointer's last move has not been drawn yet.
  loop.before(card, leave);
  const place = { left: clientX, top: clientY, bottom: clientY };
  popover.menu(card.plot.element, "Profiled steps", choices(offers, isNear), place);
}

/** Handles a click on the strip of bands: opens the step there, or a menu if several runs have one. */
export function open(card: Card, x: number, event: MouseEvent, spans: readonly Span[]): void {
  const runs = new Set(spans.filter(isProfiled).map((span) => span.run));
  const offers = offersOf(profiledAt(card, x).filter((one) => runs.has(one.run)));
  if (offers.length === 1) show(offers[0].entry);
  else if (offers.length) openMenu(card, offers, false, event);
}

/** Handles a context menu request or Enter at a place; with nothing to offer, the browser shows its own menu. */
export function menu(card: Card, x: number, event: MouseEvent | KeyboardEvent): void {
  const all = profiledAt(card, x);
  if (!all.length) return;
  event.preventDefault();
  const exact = all.filter((one) => one.exact);
  const byKey = event instanceof KeyboardEvent;
  if (byKey && exact.length === 1) return show(exact[0].near);
  const spot = byKey ? card.plot.toClient(x, card.plot.visibleRange().y[0]) : event;
  openMenu(card, offersOf(exact.length ? exact : all), !exact.length, spot);
}

/** A button for the marked step, leading to that step or to the nearest one that was profiled. */
export function actions(card: Card, x: number): HTMLButtonElement[] {
  const all = profiledAt(card, x);
  if (!all.length) return [];
  const exact = all.filter((one) => one.exact);
  const found = exact.length ? exact : [all.reduce((best, one) => (one.away < best.away ? one : best))];
  const offers = offersOf(found);
  const steps = [...new Set(offers.map(({ entry }) => stepText(entry.step)))];
  const which = steps.length === 1 ? `step ${steps[0]}` : "a step";
  const of = all.length > 1 ? ` (${offers[0].name})` : "";
  const text = exact.length
    ? `Show ${which} on the Timeline${exact.length > 1 ? "…" : of}`
    : `Nearest profiled step: ${steps[0]}${of}`;
  const title = explained(offers[0].entry);
  const button = make("button", { className: "quiet act-profiled", title }, icon("timeline", 14), text);
  button.addEventListener("click", () => {
    const { left, top } = button.getBoundingClientRect();
    if (offers.length === 1) show(offers[0].entry);
    else openMenu(card, offers, false, { clientX: left, clientY: top });
  });
  return [button];
}
