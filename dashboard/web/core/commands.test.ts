import assert from "node:assert/strict";
import { keyOf } from "./commands.ts";

const released = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
const pressed = (key: string, ...held: (keyof typeof released)[]) =>
  keyOf({ ...released, ...Object.fromEntries(held.map((name) => [name, true])), key });

Deno.test("a sign is named without the keys that produce it", () => {
  const altGr = ["ctrlKey", "altKey"] as const;
  assert.deepEqual(
    [pressed("?", "shiftKey"), pressed("[", "altKey"), pressed("[", ...altGr), pressed("{", ...altGr, "shiftKey")],
    ["?", "[", "[", "{"],
  );
});

Deno.test("other keys are named with those held", () => {
  assert.deepEqual(
    [
      pressed("K", "ctrlKey", "shiftKey"),
      pressed("k", "metaKey"),
      pressed("+", "ctrlKey"),
      pressed("x", "ctrlKey", "altKey"),
      pressed("1", "altKey"),
      pressed(" ", "altKey", "shiftKey"),
      pressed("ArrowLeft", "altKey"),
    ],
    ["Ctrl Shift k", "Ctrl k", "Ctrl +", "Ctrl Alt x", "Alt 1", "Alt Shift  ", "Alt ArrowLeft"],
  );
});
