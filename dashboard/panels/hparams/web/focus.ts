/** What keeps the focus where elements are drawn again: controls are known by the name in their `data-focus`. */
import { bind } from "../../../web/core/commands.ts";

/** Draws an element again: the control in it that has the focus keeps it, and what was typed. */
export function keepFocus(element: HTMLElement, redraw: () => void): void {
  const { activeElement } = document;
  const had = activeElement instanceof HTMLElement && element.contains(activeElement) ? activeElement : null;
  const typed = had instanceof HTMLInputElement ? had.value : null;
  redraw();
  const name = had?.dataset.focus;
  const again = name ? element.querySelector<HTMLElement>(`[data-focus="${CSS.escape(name)}"]`) : null;
  if (again !== had) again?.focus();
  if (again instanceof HTMLInputElement && typed !== null && again.type !== "checkbox") retype(again, typed);
}

/** Puts into a new field what was typed into the one before it: it holds when the field is left, as it would have there. */
function retype(field: HTMLInputElement, typed: string): void {
  if (field.value === typed) return;
  field.value = typed;
  const hold = () => {
    if (field.isConnected && field.value === typed) field.dispatchEvent(new Event("change", { bubbles: true }));
  };
  field.addEventListener("blur", hold, { once: true });
  bind(field, {
    Enter() {
      hold();
      return false;
    },
  });
}
