// Forms in a dialog over the page.
import { make } from "../../web/core/dom.ts";

/** Shows a form in a dialog, which is removed when it is closed. */
export function openSheet(
  className: string,
  label: string,
  submit: () => void,
  ...parts: Node[]
): HTMLDialogElement {
  const form = make("form", {}, ...parts);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  const sheet = make("dialog", { className: `sheet ${className}`, "aria-label": label }, form);
  sheet.addEventListener("close", () => sheet.remove());
  document.body.append(sheet);
  sheet.showModal();
  return sheet;
}
