/** Sections of cards: which of them are open, on the page and in the view. */
import { view } from "../page/view.ts";

export const sectionsIn = (around: ParentNode): HTMLElement[] => [...around.querySelectorAll<HTMLElement>(".group")];

/** Opens or closes a section on the page; the server sends its cards if they are not there yet. */
export function showSection(section: HTMLElement, open: boolean): void {
  section.classList.toggle("open", open);
  section.querySelector(".group-toggle")!.setAttribute("aria-expanded", String(open));
}

/** Opens or closes sections of a panel, by name; returns those that are on the page. */
export function turnSections(panel: string, names: readonly string[], open: boolean): HTMLElement[] {
  const grid = document.querySelector(`.groups[data-panel="${panel}"]`);
  const here = grid ? sectionsIn(grid).filter(({ dataset }) => names.includes(dataset.group!)) : [];
  here.forEach((section) => showSection(section, open));
  view.update((params, set) => {
    const lists: [string, boolean][] = [[panel + ".open", open], [panel + ".closed", !open]];
    for (const [list, listed] of lists) {
      const others = params.getAll(list).filter((entry) => !names.includes(entry));
      set(list, listed ? [...others, ...names] : others);
    }
  });
  return here;
}
