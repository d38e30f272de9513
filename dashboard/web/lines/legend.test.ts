import assert from "node:assert/strict";
import { inRows, type Key, spread, textsOf, withoutCommonFolder } from "./legend.ts";

/** Ten pixels a letter. */
const measure = (text: string) => 10 * text.length;
const keys = (...labels: string[]): Key[] => labels.map((label) => ({ label, color: "#f00", id: label }));

Deno.test("folders that all labels begin with are left out, never a whole label", () => {
  assert.deepEqual(withoutCommonFolder(["a/b/c", "a/b/d/e"]), ["c", "d/e"]);
  assert.deepEqual(withoutCommonFolder(["a/b", "a/b/c"]), ["b", "b/c"]);
  assert.deepEqual(withoutCommonFolder(["loss/train", "lr"]), ["loss/train", "lr"]);
  assert.deepEqual(withoutCommonFolder(["a/b"]), ["a/b"]);
});

Deno.test("long labels are cut so that they stay different", () => {
  const texts = textsOf(keys("model_a_of_many_words", "model_b_of_many_words"), 110, measure);
  assert.ok(texts.every((text) => measure(text) <= 110));
  assert.notEqual(texts[0], texts[1]);
});

Deno.test("keys fill rows, and the last one says how many have no room", () => {
  const { placed, rows } = inRows(keys("aaaa", "bbbb", "cccc"), 150, 2, measure);
  assert.deepEqual([placed.map(({ text, x, y }) => [text, x, y]), rows], [[["aaaa", 0, 0], ["bbbb", 71, 0], [
    "cccc",
    0,
    16,
  ]], 2]);
  const few = inRows(keys("aaaa", "bbbb", "cccc", "dddd"), 250, 1, measure);
  assert.deepEqual([few.placed.map(({ text }) => text), few.rows], [["aaaa", "bbbb", "+ 2 more"], 1]);
  assert.deepEqual(inRows([], 100, 2, measure), { placed: [], rows: 0 });
});

Deno.test("names at the ends of lines keep apart, near their lines and inside the plot", () => {
  assert.deepEqual(spread([50, 10], 14, 0, 100), [50, 10]);
  assert.deepEqual(spread([50, 50, 53], 14, 0, 100), [37, 51, 65]);
  assert.deepEqual(spread([0, 2], 14, 0, 100), [0, 14]);
  assert.deepEqual(spread([99, 100], 14, 0, 100), [86, 100]);
  assert.deepEqual(spread([], 14, 0, 100), []);
});
