import assert from "node:assert/strict";
import { format } from "./format.ts";

Deno.test("large numbers have three digits and a unit", () => {
  assert.deepEqual([0, 7.4, 999, 999.6, 1234, 12_345, 123_456, 999_950, -1_500_000, 4e18].map(format.amount), [
    "0",
    "7",
    "999",
    "1.00 k",
    "1.23 k",
    "12.3 k",
    "123 k",
    "1.00 M",
    "−1.50 M",
    "4000 P",
  ]);
});

Deno.test("operations are counted in FLOP, with a prefix for thousands of them", () => {
  assert.deepEqual([5, 5000, 2.5e9].map(format.flops), ["5 FLOP", "5.00 kFLOP", "2.50 GFLOP"]);
});

Deno.test("a name is told without its scopes", () => {
  assert.deepEqual(["model/dense/MatMul", "MatMul", "model/"].map(format.last), ["MatMul", "MatMul", "model/"]);
});
