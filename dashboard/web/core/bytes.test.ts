import assert from "node:assert/strict";
import { exactBytes, fileSize } from "./bytes.ts";

Deno.test("sizes have three digits and the unit that fits, as the server writes them", () => {
  const sizes = [0, 512, 999, 1000, 1234, 999_499, 999_500, 23_456_789, 999_999_999, 5e12, 1.5e15];
  assert.deepEqual(sizes.map(fileSize), [
    "0 B",
    "512 B",
    "999 B",
    "1 kB",
    "1.23 kB",
    "999 kB",
    "1 MB",
    "23.5 MB",
    "1 GB",
    "5 TB",
    "1500 TB",
  ]);
});

Deno.test("one byte is no bytes", () => {
  assert.deepEqual([1, 0, 12345].map(exactBytes), ["1 byte", "0 bytes", "12,345 bytes"]);
});
