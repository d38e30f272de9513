/** The menu of a run: show only this one, hide, pin, rename, recolor. */
import { bind } from "../../web/core/commands.ts";
import { make } from "../../web/core/dom.ts";
import { type Place, popover } from "../../web/core/popover.ts";
import { copyText } from "../../web/page/layout.ts";
import { allMembersOf, withHelpers } from "./cells.ts";
import { settings } from "./settings.generated.ts";
import { type RunRow, runs } from "./state.ts";

const scheme = () => (document.documentElement.dataset.mantineColorScheme === "dark" ? "dark" : "light");

/** The menu row for the color: the system's color picker, and a button that restores the original color. */
function colorEntry(row: RunRow): HTMLElement {
  const input = make("input", {
    type: "color",
    value: row[scheme()],
    "aria-label": `Color of ${row.label}`,
  });
  let waiting = 0;
  const give = () => {
    clearTimeout(waiting);
    if (input.value !== runs.given(settings.paint, row.run)) runs.give(settings.paint, row.run, input.value);
  };
  // While the picker is open, every movement of the pointer changes the color.
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(give, 150);
  });
  input.addEventListener("change", give);
  const reset = make("button", {
    className: "quiet",
    title: "Reset the color",
    disabled: !runs.given(settings.paint, row.run),
  }, "Reset");
  reset.addEventListener("click", () => {
    popover.close();
    runs.give(settings.paint, row.run, "");
  });
  return make("div", { className: "menu-color" }, make("label", {}, "Color ", input), reset);
}

export function open(row: RunRow, anchor: HTMLElement, at?: Place): void {
  // The anchor may be redrawn while the menu is open.
  const place = at ?? anchor.getBoundingClientRect();
  const on = runs.isOn(row);
  const pinned = runs.isPinned(row.run);
  const entries: Parameters<typeof popover.menu>[2] = [
    ["Only this run", () => runs.only([row.run])],
    [on ? "Hide" : "Show", () => runs.switchRuns(withHelpers([row]), !on)],
    [pinned ? "Unpin" : "Pin to the top", () => runs.pin(row.run, !pinned)],
    ["Rename for display…", () => rename(row, anchor, place)],
    ["Copy name", () => copyText(row.run, "Name copied")],
  ];
  if (row.group !== null) {
    const all = runs.around().groups[row.group];
    const withMembers = (act: (names: string[]) => void) => () => {
      const here = [...runs.rows.values()].filter(({ group, parent }) => group === row.group && parent === null);
      const names = allMembersOf(all, here).map(({ run }) => run);
      if (names.length) act(names);
    };
    entries.push(["Select the group", withMembers(runs.select)]);
    entries.push(["Only this group", withMembers(runs.only)]);
  }
  popover.menu(anchor, `Run ${row.label}`, [...entries, colorEntry(row)], at);
}

/** A field for the displayed name of a run; leaving it empty restores the run's own name. */
export function rename({ run }: RunRow, anchor: HTMLElement, at: Place): void {
  const input = make("input", {
    type: "text",
    value: runs.given(settings.name, run) || run,
    maxLength: 200,
    className: "text-field",
    "aria-label": `Display name of ${run}`,
    spellcheck: false,
  });
  const save = () => {
    const text = input.value.trim();
    popover.close();
    runs.give(settings.name, run, text === run ? "" : text);
  };
  bind(input, { Enter: save });
  const done = make("button", { className: "primary" }, "Rename");
  done.addEventListener("click", save);
  const hint = make(
    "p",
    { className: "hint" },
    "Only on this page and in its link; leave empty for the run's name.",
  );
  popover.show(anchor, "Rename", [make("div", { className: "row" }, input, done), hint], { className: "rename", at });
  input.select();
}
