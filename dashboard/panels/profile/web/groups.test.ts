import assert from "node:assert/strict";
import { isShown, isTreeKey, order } from "./groups.ts";
import type { RowData } from "./grid.ts";

const rows = (...all: RowData[]) => all.map((data) => ({ data }));
const key = (name: string, shiftKey = false) => ({
  key: name,
  shiftKey,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
});

Deno.test("what is in a group follows it, in the order of sorting, and others keep their places", () => {
  const nodes = rows(
    { "@in": 1, name: "b" },
    { "@group": 2, name: "second" },
    { "@in": 2, name: "c" },
    { name: "alone" },
    { "@in": 1, name: "a" },
    { "@group": 1, name: "first" },
  );
  order(nodes);
  assert.deepEqual(nodes.map(({ data }) => data.name), ["second", "c", "alone", "first", "b", "a"]);
});

Deno.test("what is in a group that a filter took out stays where it is", () => {
  const nodes = rows({ "@in": 3, name: "x" }, { "@group": 1, name: "g" });
  order(nodes);
  assert.deepEqual(nodes.map(({ data }) => data.name), ["x", "g"]);
});

Deno.test("only what is in a closed group is hidden", () => {
  const shown = rows({ name: "alone" }, { "@group": 1 }, { "@in": 1 }, { "@in": 1, "@shown": true }).map(isShown);
  assert.deepEqual(shown, [true, true, false, true]);
});

Deno.test("keys of the tree are those that open, close or leave a group", () => {
  const taken = (data: RowData, ...names: string[]) =>
    names.map((name) => isTreeKey({ event: key(name), node: { data } }));
  const names = ["Enter", "ArrowLeft", "ArrowRight", "ArrowDown"];
  assert.deepEqual(taken({ "@group": 1 }, ...names), [true, true, true, false]);
  assert.deepEqual(taken({ "@group": 1, "@open": true }, ...names), [true, true, false, false]);
  assert.deepEqual(taken({ "@in": 1 }, ...names), [false, true, false, false]);
  assert.deepEqual(taken({}, ...names), [false, false, false, false]);
  assert.equal(isTreeKey({ event: key("Enter", true), node: { data: { "@group": 1 } } }), false);
  assert.equal(isTreeKey({ event: key("Enter"), node: { data: { "@group": 1 }, rowPinned: "bottom" } }), false);
});
