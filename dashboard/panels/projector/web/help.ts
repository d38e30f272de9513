// The keys and gestures of the Projector panel, in the sheet that "?" opens.
import { type Keys, shortcuts } from "../../../web/page/shortcuts.ts";

const KEYS: Keys = [
  ["drag", "Turn in 3-D, move in 2-D"],
  ["right drag, Shift drag", "Move in 3-D"],
  ["wheel, +, -", "Zoom at the mouse"],
  ["click", "Select a point; with Shift add to the selection"],
  ["B", "Select by a box; Shift adds, Alt takes away"],
  ["L", "Select by a lasso; Shift adds, Alt takes away"],
  ["V", "Back to moving"],
  ["I", "Isolate the selection, or a point with its neighbours"],
  ["H", "Hide the selection"],
  ["A", "Show all"],
  ["F", "Fit the selection, or everything"],
  ["1 … 5", "PCA, t-SNE, UMAP, own axes, random"],
  ["D", "2-D or 3-D"],
  ["Space", "Pause or go on with a projection; play the steps"],
  ["M", "The metadata table"],
  ["/", "Search; there Enter and Shift Enter: next, previous"],
  ["N", "The next one that was found"],
  ["Escape", "Clear the search, the selection, what is hidden"],
  ["click", "On the legend: show or hide; with Shift nothing else, with Alt select"],
];
// When all scripts are there: that of the sheet comes after this one.
shortcuts.register("projector", "Projector", KEYS);
