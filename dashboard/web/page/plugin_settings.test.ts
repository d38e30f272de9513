import assert from "node:assert/strict";
import { accepted, settingOf } from "./plugin_settings.ts";

const facts = { values: [""], options: [], limits: null };

Deno.test("a setting of a plug-in reads as Python declares it", () => {
  const read = (values: string[]) =>
    [
      settingOf({ ...facts, name: "a.on", kind: "flag", values: ["on"] }),
      settingOf({ ...facts, name: "a.axis", kind: "choice", values: ["log"], options: ["log", "linear"] }),
      settingOf({ ...facts, name: "a.width", kind: "number", values: ["2"], limits: [1, 4] }),
      settingOf({ ...facts, name: "a.tag", kind: "text", values: ["all"] }),
      settingOf({ ...facts, name: "a.tags", kind: "names", values: [] }),
    ].map((setting) => setting.parse(values));
  assert.deepEqual(read([]), [true, "log", 2, "all", []]);
  assert.deepEqual(read(["off"]), [false, "log", 2, "off", ["off"]]);
  assert.deepEqual(read(["3"]), [true, "log", 3, "3", ["3"]]);
});

Deno.test("what a setting does not take is its default", () => {
  const width = settingOf({ ...facts, name: "a.width", kind: "number", values: ["2"], limits: [1, 4] });
  const on = settingOf({ ...facts, name: "a.on", kind: "flag", values: ["off"] });
  assert.deepEqual([accepted(width, 3), accepted(width, 9), accepted(on, true)], [3, 2, true]);
});
