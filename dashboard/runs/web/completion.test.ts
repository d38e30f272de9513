import assert from "node:assert/strict";
import { completed, fitting, quoted, wordIn } from "./completion.ts";

Deno.test("names that a condition would read otherwise stand in backquotes", () => {
  assert.deepEqual(["lr", "loss/train.min", "learning rate", "in", "2x"].map(quoted), [
    "lr",
    "loss/train.min",
    "`learning rate`",
    "`in`",
    "`2x`",
  ]);
});

Deno.test("a word is completed after what may stand before a name, not within a number or a text", () => {
  assert.deepEqual(wordIn("not lo"), { text: "lo", start: 4 });
  assert.deepEqual(wordIn("(lr<los"), { text: "los", start: 4 });
  assert.deepEqual(wordIn("x in (`learning r"), { text: "`learning r", start: 6 });
  assert.deepEqual(["lr < 1", "lr < ", "", 'name ~ "ad', "lr < 1e"].map(wordIn), [null, null, null, null, null]);
});

Deno.test("names that begin with the word are offered first, what stands there already is not", () => {
  const names = ["val_loss", "loss.min", "Loss", "`a loss`", "lr"];
  assert.deepEqual(fitting(names, { text: "loss", start: 0 }), ["loss.min", "Loss", "val_loss", "`a loss`"]);
  assert.deepEqual(fitting(["loss"], { text: "loss", start: 0 }), []);
});

Deno.test("a completed name is followed by one blank, before which the caret does not stay", () => {
  assert.deepEqual(completed("not lo", " < 2", { text: "lo", start: 4 }, "loss.min"), {
    text: "not loss.min < 2",
    caret: 13,
  });
});
