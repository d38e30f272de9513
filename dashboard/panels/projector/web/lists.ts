/** Lists of points in the Projector panel. */
import { bind } from "../../../web/core/commands.ts";
import { make } from "../../../web/core/dom.ts";
import { fitNames } from "../../../web/core/fitted_names.ts";
import { arrows } from "../../../web/core/popover.ts";

/** Up and down among the entries of a list. */
export function arrowsIn(list: HTMLElement, entries: string): void {
  bind(list, arrows(list, entries));
}

/** Cuts the names of entries that are on the page, so that they stay apart. */
export function fitEntries(list: HTMLElement, names: readonly string[]): void {
  fitNames([...list.querySelectorAll<HTMLElement>("bdi")], names);
}

/** The entry of a list that stands for a point, with its number behind it. */
export function entry(
  text: string,
  aside: string,
  { still = false, ...props }: { still?: boolean; title: string; selected?: boolean; before?: Node[] },
  action: (event: MouseEvent) => void,
): HTMLButtonElement {
  const { title, selected = false, before = [] } = props;
  const made = make(
    "button",
    {
      type: "button",
      className: `pj-result${still ? " still" : ""}`,
      role: "option",
      "aria-selected": String(selected),
      title,
      ...(still ? {} : { tabIndex: -1 }),
    },
    ...before,
    make("bdi", {}, text),
    make("span", { className: "pj-count" }, aside),
  );
  made.addEventListener("click", action);
  return made;
}
