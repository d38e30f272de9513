import assert from "node:assert/strict";
import { Colors, type Mode } from "./colors.ts";
import type { Cost } from "./messages.generated.ts";
import { answer, node } from "./samples.test.ts";
import { Scene } from "./scene.ts";
import type { Theme } from "./theme.ts";

const THEME = {
  gray: "gray",
  stripe: (hue: number | null) => `stripe ${hue}`,
  tint: (place: number) => `tint ${place}`,
  ramp: (share: number) => `ramp ${share}`,
} as Partial<Theme> as Theme;
const cost = (time_ns: number, bytes: number, ran = true): Cost => ({ time_ns, bytes, ran, ran_count: 1, calls: 1 });
const graph = () =>
  new Scene(answer([
    node("a", [0, 0, 1, 1], { kind: "group", op: "", structure: 7, count: 2, parameters: 250, device: "GPU:0" }),
    node("b", [0, 0, 1, 1], { kind: "group", op: "", structure: 7, count: 2, parameters: 1000, device: "CPU:0" }),
    node("c", [0, 0, 1, 1], { structure: 9, flops: 2_500_000, device: "GPU:0" }),
    node("d", [0, 0, 1, 1]),
  ]));
const costs = new Map([["a", cost(2_500_000, 2_000_000)], ["c", cost(10_000_000, 0)], ["d", cost(0, 0, false)]]);
const colored = (mode: Mode, known: Map<string, Cost> | null = costs) => {
  const colors = new Colors();
  const scene = graph();
  colors.mode = mode;
  colors.costs = known;
  colors.measure(scene);
  return { colors, nodes: scene.nodes };
};
const amounts = (mode: Mode) => {
  const { colors, nodes } = colored(mode);
  return nodes.map((one) => colors.amount(one));
};
const texts = (mode: Mode, known?: Map<string, Cost> | null) => {
  const { colors, nodes } = colored(mode, known);
  return nodes.map((one) => colors.costText(one));
};

Deno.test("an amount is what colors mean, and null where nothing is known of it", () => {
  assert.deepEqual(amounts("time"), [2_500_000, null, 10_000_000, 0]);
  assert.deepEqual(amounts("memory"), [2_000_000, null, 0, 0]);
  assert.deepEqual(amounts("parameters"), [250, 1000, null, null]);
  assert.deepEqual(amounts("flops"), [null, null, 2_500_000, null]);
  assert.deepEqual(amounts("op"), [null, null, null, null]);
});

Deno.test("beside a node stands its amount, and where colors mean none its time", () => {
  assert.deepEqual(texts("time"), ["2.50 ms", "", "10.0 ms", ""]);
  assert.deepEqual(texts("memory"), ["2 MB", "", "", ""]);
  assert.deepEqual(texts("parameters"), ["250", "1.00 k", "", ""]);
  assert.deepEqual(texts("flops"), ["", "", "2.50 MFLOP", ""]);
  assert.deepEqual([texts("op"), texts("op", null)], [["2.50 ms", "", "10.0 ms", ""], ["", "", "", ""]]);
});

Deno.test("much is warm against the most of what is visible, and what did not run is gray", () => {
  const { colors, nodes } = colored("time");
  const gray = { fill: "gray", stripe: null, gray: true };
  assert.deepEqual(nodes.map((one) => colors.of(one, THEME)), [
    { fill: "ramp 0.5", stripe: null, gray: false },
    gray,
    { fill: "ramp 1", stripe: null, gray: false },
    gray,
  ]);
});

Deno.test("scopes that are built alike share a color, and devices have one each", () => {
  const fills = (mode: Mode) => {
    const { colors, nodes } = colored(mode, null);
    return nodes.map((one) => colors.of(one, THEME).fill);
  };
  assert.deepEqual(fills("structure"), ["tint 0", "tint 0", null, null]);
  assert.deepEqual(fills("device"), ["tint 0", "tint 1", "tint 0", null]);
});
