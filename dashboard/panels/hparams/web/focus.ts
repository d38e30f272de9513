/** Keeps the focus when elements are redrawn: controls are identified by the name in their `data-focus`. */
import { bind } from "../../../web/core/commands.ts";

/** Redraws an element: the focused control in it keeps the focus and the text typed. */
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

/** Puts the text typed into the old field into the new one; it takes effect on leaving the field, as it would have. */
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
