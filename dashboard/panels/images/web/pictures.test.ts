import assert from "node:assert/strict";
import { address, describe, downloadAddress } from "./pictures.ts";

const wanted = { run: "a/b", tag: "x y", epoch: "e1", point: { index: 2, step: 7, nth: 0 }, sample: 0 };

Deno.test("the address of a picture names the point and its step", () => {
  assert.equal(
    address(wanted, 128),
    "api/images/look?run=a%2Fb&tag=x+y&index=2&sample=0&step=7&epoch=e1&edge=128",
  );
  assert.equal(downloadAddress(wanted), "api/images/image?run=a%2Fb&tag=x+y&index=2&sample=0&download=true");
});

Deno.test("a picture is described by its size, format, frames and bytes", () => {
  const still = { width: 6, height: 4, frames: 1, size: 980, mime_type: "image/png" };
  assert.equal(describe(still), "6 × 4 · PNG · 980 B");
  assert.equal(
    describe({ ...still, frames: 3, size: 1_234_567, mime_type: "image/gif" }),
    "6 × 4 · GIF · 3 frames · 1.23 MB",
  );
});
