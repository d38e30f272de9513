import assert from "node:assert/strict";
import { Scene } from "./scene.ts";
import { answer, edge, node } from "./samples.test.ts";

Reflect.set(globalThis, "window", { matchMedia: () => ({ matches: false }) });

/** A scope that is open with two operations in it, one of which has a constant folded into it, and one beside it. */
const scene = () =>
  new Scene(answer([
    node("model", [0, 0, 100, 100], { kind: "group", expanded: true, count: 3 }),
    node("model/a", [10, 10, 30, 20], { aux: ["model/weights"] }),
    node("model/b", [60, 60, 30, 20]),
    node("loss", [200, 0, 40, 20]),
  ], [
    edge("model/a", "model/b", [25, 30, 25, 50, 75, 60]),
    edge("model/b", "loss", [90, 70, 200, 10], { bytes: 1e6 }),
    edge("model/a", "elsewhere", [0, 0, 1, 1]),
  ]));
const at = ({ x, y, w, h }: { x: number; y: number; w: number; h: number }) => [x, y, w, h];

Deno.test("nodes know their scope and their edges, and an edge that leads nowhere is left out", () => {
  const { nodes, edges, roots, box } = scene();
  assert.deepEqual(roots.map(({ id }) => id), ["model", "loss"]);
  assert.deepEqual(
    nodes.map(({ id, depth, children, inputs, outputs }) => [
      id,
      depth,
      children.map((child) => child.id),
      inputs.map(({ source }) => source.id),
      outputs.map(({ target }) => target.id),
    ]),
    [
      ["model", 0, ["model/a", "model/b"], [], []],
      ["model/a", 1, [], [], ["model/b"]],
      ["model/b", 1, [], ["model/a"], ["loss"]],
      ["loss", 0, [], ["model/b"], []],
    ],
  );
  assert.deepEqual(edges.map((one) => [one.box, one.width]), [[[25, 30, 75, 60], 0], [[90, 10, 200, 70], 2]]);
  assert.deepEqual(box, { x: 0, y: 0, w: 240, h: 100 });
});

Deno.test("an id is stood for by itself, by what it is folded into, or by the closed scope around it", () => {
  const drawn = scene();
  assert.deepEqual(
    ["model/a", "model/weights", "loss/inner/add", "model/c/d", "nowhere/x", ""].map((id) => drawn.standsFor(id)?.id),
    [
      "model/a",
      "model/a",
      "loss",
      "model",
      undefined,
      undefined,
    ],
  );
});

Deno.test("the innermost node at a point is the one that is meant, of an open scope what is in it", () => {
  const drawn = scene();
  const found = [[15, 15], [50, 50], [90, 80], [200, 0], [150, 50]].map(([x, y]) => drawn.at(x, y)?.id);
  assert.deepEqual(found, ["model/a", "model", "model/b", "loss", undefined]);
});

Deno.test("an edge is met within reach of its line, and the nearer one of two", () => {
  const drawn = scene();
  const met = (x: number, y: number, reach: number) => drawn.edgeAt(x, y, reach)?.target.id;
  assert.deepEqual([met(28, 40, 5), met(31, 40, 5), met(145, 40, 1), met(85, 66, 30), met(25, 22, 5)], [
    "model/b",
    undefined,
    "loss",
    "loss",
    undefined,
  ]);
});

Deno.test("a scene begins where the one before it was, what is new comes out of what was opened", () => {
  const before = new Scene(answer([
    node("model", [0, 0, 40, 20], { kind: "group", count: 3 }),
    node("loss", [100, 0, 40, 20]),
  ], [edge("model", "loss", [40, 10, 100, 10])]));
  const after = scene();
  after.follow(before, "model", 1000);
  assert.deepEqual(after.nodes.map((one) => [one.id, one.fresh, at(one)]), [
    ["model", false, [0, 0, 40, 20]],
    ["model/a", true, [5, 0, 30, 20]],
    ["model/b", true, [5, 0, 30, 20]],
    ["loss", false, [100, 0, 40, 20]],
  ]);
  assert.equal(after.tick(1120), true);
  assert.deepEqual(at(after.nodes[3]), [187.5, 0, 40, 20]);
  assert.equal(after.tick(1240), true);
  assert.deepEqual(after.nodes.map((one) => [one.fresh, at(one)]), [
    [false, [0, 0, 100, 100]],
    [false, [10, 10, 30, 20]],
    [false, [60, 60, 30, 20]],
    [false, [200, 0, 40, 20]],
  ]);
  assert.equal(after.tick(1300), false);
});

Deno.test("an edge that both scenes have moves with its nodes where it has as many points", () => {
  const line = (points: number[]) =>
    new Scene(answer([node("a", [0, 0, 1, 1]), node("b", [9, 0, 1, 1])], [edge("a", "b", points)]));
  const moved = (before: number[], after: number[]) => {
    const next = line(after);
    next.follow(line(before), null, 0);
    return [...next.edges[0].points];
  };
  assert.deepEqual(moved([0, 0, 10, 0], [0, 8, 10, 8]), [0, 0, 10, 0]);
  assert.deepEqual(moved([0, 0, 5, 5, 10, 0], [0, 8, 10, 8]), [0, 8, 10, 8]);
});

Deno.test("only what is near the screen is painted, scopes apart from what lies on them", () => {
  const { containers, leaves, edges } = scene().within({ left: 0, top: 0, right: 50, bottom: 50 });
  assert.deepEqual([containers, leaves, edges].map((list) => list.map((one) => "id" in one ? one.id : one.target.id)), [
    ["model"],
    ["model/a"],
    ["model/b"],
  ]);
});
