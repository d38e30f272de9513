import assert from "node:assert/strict";
import { decode } from "./png.ts";

/** A chunk without a checksum, at which nobody looks. */
function chunk(type: string, body: Uint8Array): Uint8Array {
  const made = new Uint8Array(12 + body.length);
  new DataView(made.buffer).setUint32(0, body.length);
  made.set(new TextEncoder().encode(type), 4);
  made.set(body, 8);
  return made;
}

async function png(
  { width, height, depth, type, rows, others = [], interlaced = false, cut = 0 }: {
    width: number;
    height: number;
    depth: number;
    type: number;
    /** each with its filter's number before it */
    rows: number[][];
    others?: [string, number[]][];
    interlaced?: boolean;
    /** how many bytes of the pixels are missing */
    cut?: number;
  },
): Promise<ArrayBuffer> {
  const header = new Uint8Array([0, 0, 0, width, 0, 0, 0, height, depth, type, 0, 0, interlaced ? 1 : 0]);
  const raw = new Uint8Array(rows.flat());
  const packed = new Blob([raw.subarray(0, raw.length - cut)]).stream().pipeThrough(new CompressionStream("deflate"));
  const parts = [
    new Uint8Array(8),
    chunk("IHDR", header),
    ...others.map(([name, body]) => chunk(name, new Uint8Array(body))),
    chunk("IDAT", new Uint8Array(await new Response(packed).arrayBuffer())),
    chunk("IEND", new Uint8Array()),
  ];
  return new Uint8Array(parts.flatMap((part) => [...part])).buffer;
}

Deno.test("each of the five filters of rows is undone", async () => {
  // Of all rows the pixels are 10 20 40 70.
  const rows = [[0, 10, 20, 40, 70], [1, 10, 10, 20, 30], [2, 0, 0, 0, 0], [3, 5, 5, 10, 15], [4, 0, 0, 0, 0]];
  assert.deepEqual(await decode(await png({ width: 4, height: 5, depth: 8, type: 0, rows })), {
    width: 4,
    height: 5,
    channels: 1,
    top: 255,
    data: new Uint8Array(Array(5).fill([10, 20, 40, 70]).flat()),
    note: "",
  });
});

Deno.test("sixteen bits stay sixteen bits", async () => {
  const found = await decode(await png({ width: 1, height: 1, depth: 16, type: 4, rows: [[0, 1, 44, 156, 64]] }));
  const data = new Uint16Array([300, 40_000]);
  assert.deepEqual(found, { width: 1, height: 1, channels: 2, top: 65_535, data, note: "16 bits" });
});

Deno.test("pixels of two bits are taken apart", async () => {
  const found = await decode(
    await png({ width: 5, height: 1, depth: 2, type: 0, rows: [[0, 0b00011011, 0b11000000]] }),
  );
  const data = new Uint8Array([0, 1, 2, 3, 3]);
  assert.deepEqual(found, { width: 5, height: 1, channels: 1, top: 3, data, note: "2 bits" });
});

Deno.test("a palette becomes colors, with alpha where it has some", async () => {
  const others: [string, number[]][] = [["PLTE", [1, 2, 3, 4, 5, 6]], ["tRNS", [7]]];
  const found = await decode(await png({ width: 2, height: 1, depth: 8, type: 3, rows: [[0, 0, 1]], others }));
  const data = new Uint8Array([1, 2, 3, 7, 4, 5, 6, 255]);
  assert.deepEqual(found, { width: 2, height: 1, channels: 4, top: 255, data, note: "colors of a palette" });
});

Deno.test("what is interlaced is left to the browser", async () => {
  assert.equal(
    await decode(await png({ width: 1, height: 1, depth: 8, type: 0, rows: [[0, 1]], interlaced: true })),
    null,
  );
});

Deno.test("damage is told where it is", async () => {
  const rows = [[0, 1], [0, 2], [0, 3]];
  await assert.rejects(decode(await png({ width: 1, height: 3, depth: 8, type: 0, rows, cut: 2 })), {
    message: "it ends after row 2 of 3",
  });
  await assert.rejects(decode(await png({ width: 1, height: 1, depth: 8, type: 0, rows: [[9, 1]] })), {
    message: "row 0 has filter 9, expected 0 to 4",
  });
  await assert.rejects(decode(new ArrayBuffer(8)), { message: "its header is missing" });
});
