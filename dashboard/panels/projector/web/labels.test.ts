import assert from "node:assert/strict";
import { place, scattered, shortened } from "./labels.ts";

const item = (row: number, x: number, y: number) => ({ row, x, y, radius: 2, width: 40 });

Deno.test("a label takes the side where it covers none of those before it, and is left out where there is none", () => {
  const placed = place([item(0, 100, 50), item(1, 90, 52), item(2, 110, 50), item(3, 110, 66)], 200, 100);
  assert.deepEqual(placed.map(({ row, x, side }) => [row, x, side]), [[0, 105, 0], [1, 45, 1], [3, 115, 0]]);
});

Deno.test("a label stays on the side where it was, and none leaves the picture", () => {
  const placed = place([{ ...item(0, 100, 50), side: 3 }, item(1, 190, 50), item(2, 1, 1)], 200, 100);
  assert.deepEqual(placed.map(({ row, side }) => [row, side]), [[0, 3], [1, 1]]);
});

Deno.test("no more labels are placed than are wanted", () => {
  assert.equal(place([item(0, 20, 20), item(1, 20, 60), item(2, 120, 60)], 200, 100, 2).length, 2);
});

Deno.test("rows are tried in an order that reaches each once", () => {
  const kth = scattered(10);
  const order = Array.from({ length: 10 }, (_, k) => kth(k));
  assert.deepEqual(order, [0, 7, 4, 1, 8, 5, 2, 9, 6, 3]);
});

Deno.test("a long text is cut behind whole letters, and line breaks are blanks", () => {
  assert.equal(shortened(" two\n lines "), "two lines");
  assert.equal(shortened("🦊".repeat(33)), "🦊".repeat(31) + "…");
});
