// The keys and gestures of the panels in the sheet that "?" opens; charts of curves and the timeline list their own.
import { type Keys, shortcuts } from "./shortcuts.ts";

/** panel, title, and what each key does */
const SHEETS: [string, string, Keys][] = [
  ["images", "Images", [
    ["Left, Right", "Step before or after, on a card that has the focus"],
    ["Home, End", "First or newest step"],
    ["click", "Open a picture large; there, ? lists more"],
    ["Shift click", "Compare two pictures"],
  ]],
  ["audio", "Audio, on a clip that has the focus", [
    ["Space", "Play, pause"],
    ["Left, Right", "Seek; with Shift finely"],
    ["Home, End", "Beginning, end"],
    ["+, -, Ctrl wheel", "Zoom in time"],
    ["Shift wheel", "Move in time"],
    ["double click, 0", "The whole clip"],
    ["X", "The other of two clips that are compared"],
  ]],
  ["mesh", "Mesh", [
    ["drag", "Turn; with an arrow key too"],
    ["right drag, Shift drag", "Move; with Shift and an arrow key too"],
    ["wheel, +, -", "Zoom"],
    ["double click, R, 0", "The camera as at first"],
  ]],
  ["histograms", "Histograms", [
    ["click", "See a histogram large"],
    ["Left, Right", "There: the step before or after"],
  ]],
  ["hparams", "HParams", [
    ["drag", "Along an axis: brush it; in a scatter chart: select"],
    ["Alt Left, Alt Right", "Move the axis whose name has the focus"],
    ["Ctrl click", "Add to the selection"],
    ["double click", "A scatter chart large"],
    ["Escape", "End the selection"],
  ]],
  ["pr_curves", "PR curves", [
    ["drag", "Zoom"],
    ["double click", "Axes from 0 to 1"],
  ]],
  ["text", "Text", [
    ["Enter, Shift Enter", "Next or previous hit, in the field of the search"],
    ["Up, Down", "Step after or before, in the field of a step"],
    ["click", "On the head of a column: sort the table"],
  ]],
];
for (const [panel, title, keys] of SHEETS) shortcuts.register(panel, title, keys);
