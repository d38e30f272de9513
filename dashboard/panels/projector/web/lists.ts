/** Lists of points in the Projector panel. */
import { bind } from "../../../web/core/commands.ts";
import { make } from "../../../web/core/dom.ts";
import { fitNames } from "../../../web/core/fitted_names.ts";
import { arrows } from "../../../web/core/popover.ts";

/** Makes the up and down keys move among the entries of a list. */
export function arrowsIn(list: HTMLElement, entries: string): void {
  bind(list, arrows(list, entries));
}

/** Shortens the names of entries on the page so that they remain distinct. */
export function fitEntries(list: HTMLElement, names: readonly string[]): void {
  fitNames([...list.querySelectorAll<HTMLElement>("bdi")], names);
}

/** A list entry that stands for a point, followed by its number. */
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
