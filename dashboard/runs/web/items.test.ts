import assert from "node:assert/strict";
import { arranged, type Item, itemsOf } from "./items.ts";
import type { RunRow } from "./messages.generated.ts";

const row = (run: string, order: number, group: number | null): RunRow => ({
  run,
  label: run,
  parent: null,
  order,
  light: "#fff",
  dark: "#000",
  started: 100 + order,
  group,
  values: [],
});
const group = (label: string) => ({
  label,
  light: "#aaa",
  dark: "#555",
  count: 2,
  found: 2,
  order: 0,
  started: 100,
  values: [0.1],
  means: [false],
});

Deno.test("a group is a row, with its runs that are here", () => {
  const rows = [row("a", 0, 0), row("b", 1, 0), row("c", 2, null)];
  const items = itemsOf(rows, { groups: [group("g"), group("elsewhere")] }, new Map());
  assert.deepEqual([...items.keys()], ["r:a", "r:b", "r:c", "g:g", "g:elsewhere"]);
  assert.deepEqual(items.get("g:g"), { ...group("g"), id: "g:g", kind: "group", group: 0, members: ["a", "b"] });
  assert.deepEqual(items.get("g:elsewhere"), {
    ...group("elsewhere"),
    id: "g:elsewhere",
    kind: "group",
    group: 1,
    members: [],
  });
});

Deno.test("a run that is as it was keeps its item", () => {
  const [a, b] = [row("a", 0, null), row("b", 1, null)];
  const around = { groups: [] };
  const before = itemsOf([a, b], around, new Map());
  const after = itemsOf([a, { ...b }], around, before);
  assert.equal(after.get("r:a"), before.get("r:a"));
  assert.notEqual(after.get("r:b"), before.get("r:b"));
});

Deno.test("members stand below their group in every order, runs of no group at the end", () => {
  const rows = [row("a", 0, 1), row("b", 1, 0), row("c", 2, null), row("d", 3, 1)];
  const items = itemsOf(rows, { groups: [{ ...group("one"), order: 1 }, group("two")] }, new Map());
  const nodes = (...ids: string[]) => ids.flatMap((id) => items.get(id) ?? []).map((data: Item) => ({ data }));
  const names = (found: { data: Item }[]) => found.map(({ data }) => data.id);
  const shuffled = nodes("r:d", "g:one", "r:c", "r:b", "g:two", "r:a");
  assert.deepEqual(names(arranged(shuffled, true)), ["g:one", "r:b", "g:two", "r:d", "r:a", "r:c"]);
  assert.deepEqual(names(arranged(shuffled, false)), ["g:two", "r:a", "r:d", "g:one", "r:b", "r:c"]);
});

Deno.test("runs that belong to another stand below it and are no members of groups; without it they are runs", () => {
  const helper = (run: string, parent: string, order: number) => ({ ...row(run, order, 0), parent });
  const rows = [row("a", 0, 0), helper("a/x", "a", 0), helper("a/y", "a", 0), helper("gone/x", "gone", 1)];
  const items = itemsOf(rows, { groups: [group("g")] }, new Map());
  const [head, a, orphan] = ["g:g", "r:a", "r:gone/x"].map((id) => items.get(id));
  assert.deepEqual(head?.kind === "group" && head.members, ["a", "gone/x"]);
  assert.deepEqual(a?.kind === "run" && [a.helpers, a.below], [["a/x", "a/y"], false]);
  assert.equal(orphan?.kind === "run" && orphan.below, false);
  const nodes = [...items.values()].toReversed().map((data) => ({ data }));
  const names = arranged(nodes, false).map(({ data }) => data.id);
  assert.deepEqual(names, ["g:g", "r:a", "r:a/y", "r:a/x", "r:gone/x"]);
});
