/**
 * Lists to choose a trace, a graph or an embedding from (`long_select` in dashboard/page/controls.py): a closed one
 * shows as much of the chosen name as fits, distinct from all other choices.
 */
import { propsOf } from "../core/dash.ts";
import { fittedName } from "../core/fitted_names.ts";

type Choice = { label: string } | { group: string; items: Choice[] };

const labelsOf = (choices: readonly Choice[]): string[] =>
  choices.flatMap((choice) => "items" in choice ? labelsOf(choice.items) : [choice.label]);

function arrange(input: HTMLInputElement): void {
  const field = input.parentElement;
  // Closed inputs have the height of the toolbar, or none if they are folded away.
  if (!field || !input.clientWidth) return;
  const whole = input.value;
  const data = input.id.startsWith("{") ? propsOf(JSON.parse(input.id))?.data : null;
  const short = Array.isArray(data) && whole ? fittedName(input, whole, labelsOf(data)) : whole;
  if (short === whole) delete field.dataset.short;
  else field.dataset.short = short;
  input.title = whole;
}

const CHOOSER = ".long-choice input.mantine-Select-input";
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (!target.isConnected) sizes.unobserve(target);
    else if (target instanceof HTMLInputElement) arrange(target);
  }
});
const watched = new WeakSet<Element>();

let following = 0;
function follow(): void {
  following = 0;
  for (const input of document.querySelectorAll<HTMLInputElement>(CHOOSER)) {
    if (!watched.has(input)) sizes.observe(input);
    watched.add(input);
    arrange(input);
  }
}

// The text of an input is also an attribute, since React writes it there.
new MutationObserver((changes) => {
  const concerns = changes.some(({ type, target }) =>
    type === "childList" || (target instanceof Element && target.matches(CHOOSER))
  );
  if (concerns) following ||= requestAnimationFrame(follow);
}).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["value"] });
