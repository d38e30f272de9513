import assert from "node:assert/strict";
import { near, ordered, type Row, type Segment } from "./diff_rows.ts";

const whole = (text: string): Segment[] => [[text, false]];
const same = (number: number): Row => ["same", number, number, whole(`line ${number}`), whole(`line ${number}`)];
const changed = (number: number): Row => ["changed", number, number, whole(`old ${number}`), whole(`new ${number}`)];
const sames = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => same(from + i));

Deno.test("three unchanged lines around a change stay, the others become gaps", () => {
  const rows = [...sames(1, 6), changed(7), ...sames(8, 13)];
  assert.deepEqual(near(rows), [
    { hidden: sames(1, 3) },
    ...sames(4, 6),
    changed(7),
    ...sames(8, 10),
    { hidden: sames(11, 13) },
  ]);
});

Deno.test("a gap of two lines would be longer than the lines", () => {
  const rows = [changed(1), ...sames(2, 9), changed(10)];
  assert.deepEqual(near(rows), rows);
});

Deno.test("in one column the removed lines of a change come before the added ones", () => {
  const gap = { hidden: sames(4, 9) };
  assert.deepEqual(ordered([same(1), changed(2), changed(3), gap]), [
    same(1),
    ["removed", 2, null, whole("old 2"), []],
    ["removed", 3, null, whole("old 3"), []],
    ["added", null, 2, [], whole("new 2")],
    ["added", null, 3, [], whole("new 3")],
    gap,
  ]);
});

Deno.test("a line that is in one text alone has one row in one column", () => {
  const rows: Row[] = [["added", null, 1, [], whole("a")], ["removed", 1, null, whole("b"), []]];
  assert.deepEqual(ordered(rows), [rows[1], rows[0]]);
});
