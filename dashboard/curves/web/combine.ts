// Several tags in one chart: the sheet for choosing them.
import { make } from "../../web/core/dom.ts";
import { popover } from "../../web/core/popover.ts";
import { sidesOf } from "./entries.ts";
import type { NamesAnswer } from "./messages.generated.ts";
import { openSheet } from "./sheet.ts";
import { api, assign, type Card, list, state } from "./state.ts";

/** Asks which tags a chart should have, each on the left or the right axis. */
export async function combine(card: Card): Promise<void> {
  const presses = popover.presses();
  const { tags } = await api().ask<NamesAnswer>("names", { view: state.params.toString() });
  if (presses !== popover.presses()) return;
  const [left, right] = sidesOf(card.key).map((side) => new Set(side));
  const rows = tags.map((tag) => {
    const choice = (side: Set<string>, label: string) => {
      const button = make("button", { type: "button", className: "side" }, label);
      button.addEventListener("click", () => {
        const other = side === left ? right : left;
        if (!side.delete(tag)) side.add(tag);
        other.delete(tag);
        show();
      });
      return { side, button };
    };
    const choices = [choice(left, "left"), choice(right, "right")];
    const show = () => choices.forEach(({ side, button }) => (button.ariaPressed = String(side.has(tag))));
    show();
    const element = make("li", {}, make("span", { title: tag }, tag), ...choices.map(({ button }) => button));
    return { tag, element };
  });
  const search = make("input", { type: "search", placeholder: "Find a tag", "aria-label": "Find a tag" });
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const { tag, element } of rows) {
      element.hidden = !words.every((word) => tag.toLowerCase().includes(word));
    }
  });
  const done = () => {
    sheet.close();
    if (!left.size && !right.size) return;
    const key = JSON.stringify([[...left], [...right]]);
    const others = list("chart").filter((entry) => entry !== card.key && entry !== key);
    assign("chart", left.size + right.size > 1 || right.size ? [...others, key] : others);
  };
  const sheet = openSheet(
    "combine",
    "Tags of this chart",
    done,
    make(
      "header",
      {},
      make("strong", {}, "Tags of this chart"),
      make("span", { className: "dim" }, "each on the left or the right axis"),
    ),
    search,
    make("ul", {}, ...rows.map(({ element }) => element)),
    make(
      "footer",
      {},
      make("button", { type: "button", onclick: () => sheet.close() }, "Cancel"),
      make("button", { type: "submit", className: "primary" }, "Show"),
    ),
  );
  sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
  search.focus();
}
