import assert from "node:assert/strict";
import { packed } from "./decode.ts";

Deno.test("of a canvas only the channels stay that tell something", async () => {
  const channels = async (...rgba: number[]) => {
    const found = await packed(new Uint8ClampedArray(rgba), 1, 1);
    return [found.channels, ...found.data];
  };
  assert.deepEqual(await channels(7, 7, 7, 255), [1, 7]);
  assert.deepEqual(await channels(7, 7, 7, 9), [2, 7, 9]);
  assert.deepEqual(await channels(7, 8, 9, 255), [3, 7, 8, 9]);
  assert.deepEqual(await channels(7, 8, 9, 0), [4, 7, 8, 9, 0]);
});
