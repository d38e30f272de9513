// @ts-nocheck
// The menu of a run: only, hide, pin, another name, another colour.
import * as frame from "../../web/page/layout.ts";
import { elements } from "../../web/core/dom.ts";
import { popover } from "../../web/core/popover.ts";
import { runs } from "./state.ts";

const make = (...args) => elements.make(...args);

const dark = () => document.documentElement.dataset.mantineColorScheme === "dark";

/** The row of the menu with the colour: the system's own chooser, and back to the colour that it had. */
function colorEntry(item) {
  const input = make("input", {
    type: "color",
    value: dark() ? item.dark : item.light,
    role: "menuitem",
    "aria-label": "Colour of " + item.label,
  });
  let waiting = 0;
  const give = () => {
    clearTimeout(waiting);
    if (input.value !== runs.given("runs.paint", item.run)) runs.give("runs.paint", item.run, input.value);
  };
  // While the chooser is open the colour changes with every movement of the hand.
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(give, 150);
  });
  input.addEventListener("change", give);
  const reset = make("button", {
    className: "quiet",
    role: "menuitem",
    title: "Back to the colour it had",
    disabled: !runs.given("runs.paint", item.run),
  }, "Reset");
  reset.addEventListener("click", () => {
    popover.close();
    runs.give("runs.paint", item.run, "");
  });
  return make("div", { className: "menu-color" }, make("label", {}, "Colour ", input), reset);
}

/** @param item a row of the table */
export function open(item: any, anchor: HTMLElement, at?: { left: number; top: number; bottom: number }) {
  // The anchor may be drawn anew while the menu is open.
  const place = at || anchor.getBoundingClientRect();
  const on = runs.isOn(item);
  const pinned = runs.isPinned(item.run);
  const group = runs.around().groups[item.group];
  const entries: any[] = [
    ["Only this run", () => runs.only([item.run])],
    [on ? "Hide" : "Show", () => runs.switchRuns([item], !on)],
    [pinned ? "Unpin" : "Pin to the top", () => runs.pin(item.run, !pinned)],
    ["Rename for display…", () => rename(item, anchor, place)],
    ["Copy name", () => elements.toClipboard(item.run).then(() => frame.say("Name copied"))],
  ];
  if (group) {
    const members = () => [...runs.rows.values()].filter((row) => row.group === item.group).map((row) => row.run);
    entries.push(["Select the group", () => runs.select(members())]);
    entries.push(["Only this group", () => runs.only(members())]);
  }
  entries.push(colorEntry(item));
  popover.menu(anchor, "Run " + item.label, entries, at);
}

/** A field for the name that a run has on the screen; an empty one gives it its own name back. */
export function rename(item, anchor, at) {
  const input = make("input", {
    type: "text",
    value: runs.given("runs.name", item.run) || item.run,
    maxLength: 200,
    className: "text-field",
    "aria-label": "Name on the screen of " + item.run,
    spellcheck: false,
  });
  const save = () => {
    const text = input.value.trim();
    popover.close();
    runs.give("runs.name", item.run, text === item.run ? "" : text);
  };
  input.addEventListener("keydown", (event) => event.key === "Enter" && save());
  const done = make("button", { className: "primary" }, "Rename");
  done.addEventListener("click", save);
  const hint = make(
    "p",
    { className: "hint" },
    "Only on this page and in its link; leave it empty for the run's own name.",
  );
  popover.show(anchor, "Rename", [make("div", { className: "row" }, input, done), hint], { className: "rename", at });
  input.select();
}
