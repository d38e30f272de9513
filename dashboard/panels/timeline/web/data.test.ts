import assert from "node:assert/strict";
import { decode, firstAfter, type SliceWindow } from "./data.ts";
import type { WindowHeader } from "./messages.generated.ts";
import { lane, source } from "./samples.test.ts";

const HEADER: WindowHeader = {
  n: 3,
  start: 100,
  end: 900,
  bucket: 2.5,
  names: ["matmul", "copy"],
  categories: ["kernel"],
  value: false,
  rows: [0, 0, 0, 4, 1, 2],
  rows_left_out: 0,
};

/** A window as dashboard/panels/timeline/payloads.py packs it. */
function packed(header: WindowHeader, ...columns: ArrayBufferView[]): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const json = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(32);
  json.set(text);
  const head = new DataView(new ArrayBuffer(8));
  head.setUint32(0, 0x53535731);
  head.setUint32(4, json.length, true);
  const parts = [head, json, ...columns].map((part) => new Uint8Array(part.buffer));
  const body = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    body.set(part, at);
    at += part.length;
  }
  return body.buffer;
}
const columns = () => [
  new Float64Array([100, 300, 200]),
  new Float64Array([50, 0, 1e12]),
  new Uint32Array([7, 9, 4_000_000_000]),
  new Uint32Array([1, 12, 1]),
  new Uint16Array([0, 1, 0]),
  new Uint16Array([0, 0, 0]),
];

Deno.test("a window is its header, the rows of its lanes, and columns of its slices", () => {
  const [starts, durations, index, count, name, category] = columns();
  assert.deepEqual(decode(packed(HEADER, ...columns())), {
    start: 100,
    end: 900,
    bucket: 2.5,
    names: ["matmul", "copy"],
    categories: ["kernel"],
    rows: new Map([["0/0", { lane: 0, depth: 0, from: 0, to: 2 }], ["4/1", { lane: 4, depth: 1, from: 2, to: 3 }]]),
    starts,
    durations,
    index,
    count,
    name,
    category,
    value: null,
    lanes: null,
    used: 0,
  });
});

Deno.test("values to color by follow the other columns where the header says so", () => {
  const even = { ...HEADER, n: 2, rows: [0, 0, 0], value: true };
  const two = columns().map((column) => column.slice(0, 2));
  assert.deepEqual(decode(packed(even, ...two, new Float32Array([0.5, NaN]))).value, new Float32Array([0.5, NaN]));
});

Deno.test("an answer that is no window is refused", () => {
  assert.throws(() => decode(new ArrayBuffer(16)), {
    message: "Unexpected response from the server: not a timeline window.",
  });
});

Deno.test("the first slice after a moment is looked for in its row alone", () => {
  const slices = decode(packed(HEADER, ...columns()));
  const [first, second] = slices.rows.values();
  assert.deepEqual([99, 100, 299, 300].map((time) => firstAfter(slices, first, time)), [0, 1, 1, 2]);
  assert.deepEqual([150, 200].map((time) => firstAfter(slices, second, time)), [2, 3]);
});

Deno.test("a moved trace lies elsewhere on the screen's time and keeps its own", () => {
  const trace = source({ end: 500, work: [100, 400] });
  trace.offset = 1000;
  assert.deepEqual([trace.extent, trace.work, trace.own({ start: 1100, end: 1200 })], [
    [1000, 1500],
    [1100, 1400],
    { start: 100, end: 200 },
  ]);
});

Deno.test("small moves ask for the same window, of many lanes in blocks of eight", () => {
  const few = source({ end: 1e6, lanes: [lane(0)] });
  const { key, ...plan } = few.plan({ start: 300_000, end: 400_000 }, 1000, [0]);
  assert.deepEqual(plan, { start: 196_608, end: 524_288, width: 2560, lanes: null });
  assert.equal(few.plan({ start: 301_000, end: 401_000 }, 1000, [0]).key, key);
  const many = source({ end: 1e6, lanes: Array.from({ length: 20 }, (_, number) => lane(number)) });
  assert.deepEqual(many.plan({ start: 0, end: 1e6 }, 1000, [17, 3]).lanes, [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19]);
});

Deno.test("of the windows at hand the one is drawn that covers what is visible, as finely as is useful", () => {
  const trace = source({ end: 1000 });
  const windowOf = (start: number, end: number, bucket: number, lanes: number[] | null): SliceWindow => ({
    ...decode(packed(HEADER, ...columns())),
    start,
    end,
    bucket,
    lanes: lanes && new Set(lanes),
  });
  const [coarse, fine, half, other] = [
    windowOf(0, 1000, 100, null),
    windowOf(0, 1000, 1, null),
    windowOf(0, 50, 1, null),
    windowOf(0, 1000, 1, [5]),
  ];
  for (const one of [coarse, half, other]) trace.windows.set(`${trace.windows.size}`, one);
  const best = () => trace.best(0, { start: 0, end: 100 }, 1);
  assert.equal(best(), coarse);
  trace.windows.set("fine", fine);
  assert.equal(best(), fine);
  assert.equal(trace.best(0, { start: 5000, end: 6000 }, 1), null);
});
