/** Keys and gestures of the galleries; those of the large view are in large_keys.ts. */
import type { Command } from "../../../web/core/commands.ts";
import { within } from "../../../web/core/dom.ts";
import { stepperOf } from "./cards.ts";
import * as picking from "./compare_picker.ts";
import type { Stepper } from "./stepper.ts";

/** The stepper of the focused card; sliders in it handle their own keys. */
function stepperAt(event: Event | undefined): Stepper | null {
  if (!event || event.target instanceof HTMLInputElement) return null;
  const key = within(event, ".images-card")?.dataset.key;
  return key === undefined ? null : stepperOf(key);
}

const onCard = (event?: KeyboardEvent) => stepperAt(event) !== null;

export const commands: readonly Command[] = [
  {
    id: "images.turn_step",
    title: "Previous or next step (focused card)",
    keys: ["ArrowLeft", "ArrowRight"],
    when: onCard,
    act: (event) => stepperAt(event)?.move(event.key === "ArrowLeft" ? -1 : 1),
  },
  {
    id: "images.go_to_end",
    title: "First or newest step",
    keys: ["Home", "End"],
    when: onCard,
    act: (event) => {
      const stepper = stepperAt(event);
      stepper?.to(event.key === "Home" ? 0 : stepper.last());
    },
  },
  { id: "images.open_large", title: "Enlarge the image; press ? there for more keys", gestures: ["click"] },
  { id: "images.compare", title: "Compare two images", gestures: ["Shift click"] },
  { id: "images.cancel_comparison", ...picking.CANCEL, when: picking.isPicking, act: picking.clear },
];
