import assert from "node:assert/strict";
import { runtime } from "./old_generators.ts";

Deno.test("a function in parts goes on where it waited, with what it waited for", () => {
  const steps: unknown[] = [];
  const generator = runtime.mark(() =>
    runtime.wrap((context) => {
      for (;;) {
        switch (context.prev = context.next) {
          case 0:
            context.next = 2;
            return "first";
          case 2:
            steps.push(context.sent);
            // falls through
          case 3:
          case "end":
            return context.stop();
        }
      }
    })
  );
  const run = generator();
  assert.deepEqual(run.next(), { value: "first", done: false });
  assert.deepEqual(run.next("answer"), { value: undefined, done: true });
  assert.deepEqual(steps, ["answer"]);
});
