/** The panel's keys and gestures. */
import { register } from "../../../web/core/commands.ts";
import { within } from "../../../web/core/dom.ts";
import { moveAxis } from "./parallel.ts";
import { clear } from "./state.ts";

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

function moveFocusedAxis(event: KeyboardEvent): boolean {
  const key = within(event, ".hparams-axis-name")?.parentElement?.dataset.key;
  if (key !== undefined) moveAxis(key, STEPS[event.key]);
  return key !== undefined;
}

register({
  panel: "hparams",
  title: "HParams",
  commands: [
    { id: "hparams.select", title: "Along an axis: brush it; in a scatter chart: select", gestures: ["drag"] },
    {
      id: "hparams.move_axis",
      title: "Move the axis whose name is focused",
      keys: ["Alt ArrowLeft", "Alt ArrowRight"],
      act: moveFocusedAxis,
    },
    { id: "hparams.select_more", title: "Add to the selection", gestures: ["Ctrl click"] },
    { id: "hparams.enlarge", title: "Enlarge a scatter chart", gestures: ["double click"] },
    {
      id: "hparams.select_nothing",
      title: "Clear the selection",
      keys: ["Escape"],
      act: (event) => (within(event, ".hparams-panel") ? clear() : false),
    },
  ],
});
