import assert from "node:assert/strict";
import { arranged, type Item, itemsOf } from "./items.ts";
import type { RunColumn, RunRow } from "./messages.generated.ts";
import type { Value } from "./values.ts";

const row = (run: string, order: number, group: number | null, ...values: Value[]): RunRow => ({
  run,
  label: run,
  parent: null,
  order,
  light: "#fff",
  dark: "#000",
  started: 100 + order,
  group,
  values,
});
const group = (label: string) => ({ label, light: "#aaa", dark: "#555", count: 2 });
const COLUMNS: RunColumn[] = [
  { spec: "hparam:lr", label: "lr", kind: "hparam" },
  { spec: "hparam:seed", label: "seed", kind: "hparam" },
  { spec: "metric:loss.last", label: "loss last", kind: "metric" },
];

Deno.test("a group has what its runs share, and the mean of a metric that differs", () => {
  const rows = [row("a", 0, 0, 0.1, 1, 2), row("b", 1, 0, 0.1, 2, 4), row("c", 2, null, 1, 1, 1)];
  const items = itemsOf(rows, { groups: [group("g"), group("empty")], columns: COLUMNS }, new Map());
  assert.deepEqual([...items.keys()], ["r:a", "r:b", "r:c", "g:g"]);
  assert.deepEqual(items.get("g:g"), {
    ...group("g"),
    id: "g:g",
    kind: "group",
    group: 0,
    order: 0,
    started: 100,
    members: ["a", "b"],
    values: [0.1, null, 3],
    means: [false, true, true],
  });
});

Deno.test("a mean leaves out what is missing; with a text or NaN there is none", () => {
  const mean = (...losses: Value[]) => {
    const rows = losses.map((loss, order) => row(`${order}`, order, 0, loss));
    return itemsOf(rows, { groups: [group("g")], columns: COLUMNS.slice(2) }, new Map()).get("g:g")?.values[0];
  };
  assert.deepEqual([mean(1, null, 3), mean(1, "x"), mean(1, "NaN")], [2, null, null]);
});

Deno.test("a run that is as it was keeps its item", () => {
  const [a, b] = [row("a", 0, null), row("b", 1, null)];
  const around = { groups: [], columns: [] };
  const before = itemsOf([a, b], around, new Map());
  const after = itemsOf([a, { ...b }], around, before);
  assert.equal(after.get("r:a"), before.get("r:a"));
  assert.notEqual(after.get("r:b"), before.get("r:b"));
});

Deno.test("members stand below their group in every order, runs of no group at the end", () => {
  const rows = [row("a", 0, 1), row("b", 1, 0), row("c", 2, null), row("d", 3, 1)];
  const items = itemsOf(rows, { groups: [group("one"), group("two")], columns: [] }, new Map());
  const nodes = (...ids: string[]) => ids.flatMap((id) => items.get(id) ?? []).map((data: Item) => ({ data }));
  const names = (found: { data: Item }[]) => found.map(({ data }) => data.id);
  const shuffled = nodes("r:d", "g:one", "r:c", "r:b", "g:two", "r:a");
  assert.deepEqual(names(arranged(shuffled, true)), ["g:one", "r:b", "g:two", "r:d", "r:a", "r:c"]);
  assert.deepEqual(names(arranged(shuffled, false)), ["g:two", "r:a", "r:d", "g:one", "r:b", "r:c"]);
});

Deno.test("runs that belong to another stand below it and are no members of groups; without it they are runs", () => {
  const helper = (run: string, parent: string, order: number) => ({ ...row(run, order, 0), parent });
  const rows = [row("a", 0, 0), helper("a/x", "a", 0), helper("a/y", "a", 0), helper("gone/x", "gone", 1)];
  const items = itemsOf(rows, { groups: [group("g")], columns: [] }, new Map());
  const [head, a, orphan] = ["g:g", "r:a", "r:gone/x"].map((id) => items.get(id));
  assert.deepEqual(head?.kind === "group" && head.members, ["a", "gone/x"]);
  assert.deepEqual(a?.kind === "run" && [a.helpers, a.below], [["a/x", "a/y"], false]);
  assert.equal(orphan?.kind === "run" && orphan.below, false);
  const nodes = [...items.values()].toReversed().map((data) => ({ data }));
  const names = arranged(nodes, false).map(({ data }) => data.id);
  assert.deepEqual(names, ["g:g", "r:a", "r:a/y", "r:a/x", "r:gone/x"]);
});
