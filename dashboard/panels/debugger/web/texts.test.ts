import assert from "node:assert/strict";
import { csv, deviceText, figureText, kindOf, rowsIn, short, shortPath } from "./texts.ts";

Deno.test("numbers take few letters, and say what is none", () => {
  const said = [null, 0, 1234, -5, 0.03125, 1 / 3, -2.5e-7, 3.4e38, 12345678, "Infinity", "-Infinity", "NaN"].map(
    short,
  );
  assert.deepEqual(said, [
    "–",
    "0",
    "1,234",
    "−5",
    "0.03125",
    "0.3333",
    "−2.5e−7",
    "3.4e38",
    "1.235e7",
    "∞",
    "−∞",
    "NaN",
  ]);
});

Deno.test("a path is known by its end", () => {
  assert.equal(shortPath("/home/me/net/layers/attention.py"), "…/layers/attention.py");
  assert.equal(shortPath("C:\\net\\layers\\attention.py"), "…/layers/attention.py");
  assert.equal(shortPath("train.py"), "train.py");
  assert.equal(shortPath("/a/b/c/d.py", 3), "…/b/c/d.py");
});

Deno.test("a device is called by its type and number, unless another is too", () => {
  const [cpu, gpu] = ["CPU:0", "GPU:1"].map((name) => `/job:worker/replica:0/task:0/device:${name}`);
  const other = "/job:worker/replica:0/task:1/device:GPU:1";
  assert.deepEqual([cpu, gpu].map((name) => deviceText(name, [cpu, gpu])), ["CPU:0", "GPU:1"]);
  assert.deepEqual([cpu, gpu, other].map((name) => deviceText(name, [cpu, gpu, other])), ["CPU:0", gpu, other]);
  assert.equal(deviceText("cuda:0", []), "cuda:0");
});

Deno.test("a tensor is told in a line of what is known of it", () => {
  const tensor = {
    number: 0,
    name: "x",
    phase: "forward",
    module: "net",
    op: "aten.log",
    slot: 0,
    dtype: "float32",
    shape: "[4]",
    graph: "",
  } as const;
  assert.equal(kindOf(tensor), "aten.log · float32 [4] · forward · in net");
  assert.equal(kindOf({ ...tensor, op: "", shape: "", module: "", phase: "parameter" }), "float32 · parameter");
  assert.deepEqual(["l2", "positive_infinity", "unheard of"].map(figureText), ["L2 norm", "+Inf", "unheard of"]);
});

Deno.test("a table is CSV as RFC 4180 has it", () => {
  assert.equal(csv([["a", 'say "x"', "1,5"], [null, 2, "two\nlines"]]), 'a,"say ""x""","1,5"\r\n,2,"two\nlines"\r\n');
});

Deno.test("a row of numbers is as long as the array is wide, except for the last one", () => {
  const rows = (count: number, shape: number[]) =>
    rowsIn(Float64Array.from({ length: count }, (_, at) => at), shape).map((row) => [...row]);
  assert.deepEqual(rows(5, [7, 2, 3]), [[0, 1, 2], [3, 4]]);
  assert.deepEqual(rows(1024, [197, 197]).map((row) => row[0]), [0, 197, 394, 591, 788, 985]);
  assert.deepEqual(rows(2, [2]), [[0, 1]]);
  assert.deepEqual(rows(1, []), [[0]]);
  assert.deepEqual(rows(0, [5, 0]), []);
});
