/** The menu of a card's download button: files that the server writes. */
import { make } from "../core/dom.ts";
import { popover } from "../core/popover.ts";

/**
 * @param files the name and address of each file
 * @param nothing the text shown if there are none
 */
export function downloadMenu(button: HTMLElement, files: [name: string, href: string][], nothing = ""): void {
  const links = files.map(([name, href]) => {
    const link = make("a", { className: "menu-entry", role: "menuitem", href, download: "" }, name);
    link.addEventListener("click", () => popover.close());
    return link;
  });
  const box = popover.menu(button, "Download", links.length ? links : [make("span", { className: "dim" }, nothing)]);
  box?.querySelector("a")?.focus();
}
