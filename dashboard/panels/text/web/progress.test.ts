import assert from "node:assert/strict";
import type { FoundText } from "./messages.generated.ts";
import { hitBeside, progress } from "./progress.ts";

const hit = (count: number): FoundText => ({
  tag: "note",
  run: "a",
  index: 0,
  step: 0,
  count,
  before: "",
  found: "x",
  after: "",
  key: "",
  sections: [],
  page: 1,
});
const done = { hits: [hit(3), hit(1)], searched: 1500, total: 1500, unreadable: 0, place: null, busy: false };

Deno.test("a search that has ended says in how many texts it was", () => {
  assert.equal(progress(done), "4 matches in 2 entries · all 1,500 entries searched");
});

Deno.test("a search that goes on says how far it is, and what it could not read", () => {
  const going = { ...done, hits: [hit(1)], searched: 300, unreadable: 2, place: "[]", busy: true };
  assert.equal(progress(going), "1 match in 1 entry · searched 300 of 1,500 entries · 2 could not be read");
});

Deno.test("hits are stepped through round and round", () => {
  const { hits } = done;
  assert.deepEqual(
    [[-1, 1], [-1, -1], [0, 1], [1, 1], [0, -1]].map(([at, by]) => hitBeside({ at, hits }, by > 0 ? 1 : -1)),
    [0, 1, 1, 0, 1],
  );
});
