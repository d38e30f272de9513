import assert from "node:assert/strict";
import { HEIGHT, place, scattered, shortened } from "./labels.ts";

const item = (row: number, x: number, y: number) => ({ row, x, y, radius: 2, width: 40 });

Deno.test("a label takes the side where it covers none of those before it, and is left out where there is none", () => {
  const placed = place([item(0, 100, 50), item(1, 90, 52), item(2, 110, 50), item(3, 110, 66)], 200, 100);
  assert.deepEqual(placed.map(({ row, x, side }) => [row, x, side]), [[0, 105, 0], [1, 45, 1], [3, 115, 0]]);
});

Deno.test("a label stays on the side where it was, and none leaves the picture", () => {
  const placed = place([{ ...item(0, 100, 50), side: 3 }, item(1, 190, 50), item(2, 1, 1)], 200, 100);
  assert.deepEqual(placed.map(({ row, side }) => [row, side]), [[0, 3], [1, 1]]);
});

Deno.test("of many labels none covers another or leaves the picture", () => {
  const items = Array.from({ length: 300 }, (_, row) => ({
    ...item(row, (200 + row * 37) % 400, (150 + row * 61) % 300),
    width: 30 + (row % 5) * 12,
  }));
  const placed = place(items, 400, 300);
  const leaves = placed.filter(({ x, y, width }) => x < 0 || x + width > 400 || y < HEIGHT / 2 || y > 300 - HEIGHT / 2);
  const covers = placed.filter((one, n) =>
    placed.slice(0, n).some((other) =>
      one.x < other.x + other.width && other.x < one.x + one.width && Math.abs(one.y - other.y) < HEIGHT
    )
  );
  assert.deepEqual([placed.length > 30, placed[0].row, leaves, covers], [true, 0, [], []]);
});

Deno.test("no more labels are placed than are wanted", () => {
  assert.equal(place([item(0, 20, 20), item(1, 20, 60), item(2, 120, 60)], 200, 100, 2).length, 2);
});

Deno.test("rows are tried in an order that reaches each once", () => {
  const order = (count: number) => Array.from({ length: count }, (_, k) => scattered(count)(k));
  assert.deepEqual(order(10), [0, 7, 4, 1, 8, 5, 2, 9, 6, 3]);
  assert.deepEqual([1, 2, 97].map((count) => new Set(order(count)).size), [1, 2, 97]);
});

Deno.test("a long text is cut behind whole letters, and line breaks are blanks", () => {
  assert.equal(shortened(" two\n lines "), "two lines");
  assert.equal(shortened("🦊".repeat(33)), "🦊".repeat(31) + "…");
});
