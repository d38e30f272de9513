import assert from "node:assert/strict";
import { want, whenWanted } from "./markup.ts";

/** What React is asked for, as text. */
const createElement = (type: unknown, attributes: Record<string, unknown> | null, ...children: unknown[]): string => {
  const given = Object.entries(attributes ?? {}).map(([name, value]) => ` ${name}=${value}`).join("");
  return type === "" ? children.join("") : `<${type}${given}>${children.join("")}</${type}>`;
};
Object.assign(globalThis, { React: { createElement, Fragment: "" } });
const { Markup } = Reflect.get(globalThis, "stepscope_page");

Deno.test("a tree becomes elements, with components in their places", () => {
  const tree = ["before ", ["p", { id: "a" }, ["b", {}, "bold"], 1], 0];
  assert.equal(Markup({ tree, children: ["<first>", "<second>"] }), "before <p id=a><b>bold</b><second></p><first>");
});

Deno.test("one component comes without a list", () => {
  assert.equal(Markup({ tree: [["p", {}, 0]], children: "<only>" }), "<p><only></p>");
  assert.equal(Markup({ tree: ["text"] }), "text");
});

Deno.test("what waits for a component acts when it is wanted, and at once from then on", () => {
  const acts: string[] = [];
  whenWanted("table", () => acts.push("first"));
  whenWanted("other", () => acts.push("other"));
  want("table");
  assert.deepEqual(acts, ["first"]);
  whenWanted("table", () => acts.push("second"));
  want("table");
  assert.deepEqual(acts, ["first", "second"]);
});
