import assert from "node:assert/strict";
import { LARGEST, upload } from "./upload.ts";

Deno.test("a file that is larger than any may be is not sent, and it is said why", async () => {
  const file = Object.defineProperty(new File([], "large.json"), "size", { value: LARGEST + 1 });
  // There is no XMLHttpRequest here.
  const { done } = upload("api/traces/drop", file, () => {});
  await assert.rejects(
    done,
    new Error(
      "The file is 1.07 GB; the limit for dropped files is 1.07 GB. Open larger files with the stepscope command.",
    ),
  );
});
