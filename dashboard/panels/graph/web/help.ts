// The keys and gestures of the Graph panel, in the sheet that "?" opens.
import { shortcuts } from "../../../web/page/shortcuts.ts";

const KEYS = [
  ["drag", "Move; let go to throw"],
  ["wheel, +, -", "Zoom at the mouse; also a pinch"],
  ["click", "Select; with Shift a second node"],
  ["double click, Enter", "Expand or collapse; so does a click on the chevron"],
  ["Up, Down", "To an input, to an output"],
  ["Left, Right", "To the node beside it; arrows with Shift move the view"],
  ["I", "Light up all inputs"],
  ["O", "Light up all outputs"],
  ["P", "Paths between the two selected nodes"],
  ["E", "Expand all children; a level more each time"],
  ["C", "Collapse, or collapse what it is in"],
  ["X", "Set aside, or bring back"],
  ["F", "Fit the selection, or everything"],
  ["0, Home", "Fit everything"],
  ["/", "Search; there, Enter and Shift Enter: next, previous"],
  ["Backspace, Z", "Undo the last move or expansion"],
  ["Escape", "Clear what is lit up, the selection, the search"],
  ["right click, menu key", "All of it, and more"],
];
// When all scripts are there: that of the sheet comes after this one.
shortcuts.register("graph", "Graph", KEYS);
