// @ts-nocheck
// The images panel: two pictures are picked one after the other, and then compared.
import * as large from "./large.ts";
import { elements } from "../../../web/core/dom.ts";

const { make, icon, step } = elements;

/** The first of the two. */
let first = null;
let bar = null;

const same = (one, other) =>
  one.run === other.run && one.tag === other.tag && one.point.index === other.point.index &&
  one.sample === other.sample;
export const is = (wanted) => Boolean(first && wanted && same(first, wanted));

function mark() {
  for (const element of document.querySelectorAll(".tile")) {
    if (element.stepscopeTile) element.classList.toggle("picked", is(element.stepscopeTile.wanted));
  }
  if (bar) bar.remove();
  bar = null;
  if (!first) return;
  const cancel = make(
    "button",
    { type: "button", className: "icon-button", title: "Do not compare (Esc)" },
    icon("close", 14),
  );
  cancel.addEventListener("click", clear);
  const name = `${first.run} · ${first.tag} · step ${step(first.point.step)}`;
  bar = make(
    "div",
    { id: "images-picked", role: "status" },
    icon("compare", 16),
    make("span", {}, "Pick another picture to compare with ", make("strong", {}, name)),
    cancel,
  );
  document.body.append(bar);
}

export function clear() {
  first = null;
  mark();
}

/** Picks a picture; the second one opens both, the first one again lets it go. */
export function pick(wanted) {
  if (!wanted) return;
  if (!first || same(first, wanted)) {
    first = first ? null : wanted;
    return mark();
  }
  const picked = first;
  clear();
  large.open(picked, wanted);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && first) clear();
});
