import assert from "node:assert/strict";
import { qualityOf, sentence } from "./quality.ts";

const PACK = {
  state: "done" as const,
  progress: 1,
  message: "",
  trustworthiness: 0.9,
  continuity: 0.8,
  hit: null,
  neighbors_kept: 0.5,
  count: 12,
  sampled: null,
  arrays_of: ["trustworthiness", "neighbors_kept"],
  arrays: [Float32Array.of(1, 0.5), Float32Array.of(0, 0.25)],
};

Deno.test("measures of points are those of all; NaN where a point is not in the picture", () => {
  const { points, ...rest } = qualityOf(PACK, Uint32Array.of(0, 2), 3, "kind");
  assert.deepEqual(rest, {
    state: "done",
    trustworthiness: 0.9,
    continuity: 0.8,
    hit: null,
    kept: 0.5,
    count: 12,
    sampled: null,
    column: "kind",
  });
  assert.deepEqual(points, {
    "@trustworthiness": Float32Array.of(1, NaN, 0.5),
    "@continuity": undefined,
    "@hit": undefined,
    "@kept": Float32Array.of(0, NaN, 0.25),
  });
});

Deno.test("what the measures mean is said in words", () => {
  const said = (trustworthiness: number, continuity: number) =>
    sentence({ trustworthiness, continuity, kept: 0.5, count: 12 });
  const kept = "Of 12 true neighbors the view shows about 6.";
  assert.equal(said(0.97, 0.96), `Groups in this view reflect the data. ${kept}`);
  assert.equal(said(0.8, 0.9), `Some points that are close here are far apart in the data. ${kept}`);
  assert.equal(said(0.9, 0.8), `Some groups of the data are split here. ${kept}`);
  assert.equal(said(0.9, 0.9), `The overall structure is right; individual neighbors may not be. ${kept}`);
  assert.equal(said(0.6, 0.6), `Do not trust groups in this view. ${kept}`);
});
