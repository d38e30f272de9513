import assert from "node:assert/strict";
import { shortName } from "./canvas_text.ts";

Deno.test("of a function of C++ only its own name is shown", () => {
  const names = [
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float*, float const*, int)",
    "void (anonymous namespace)::softmax_warp_forward<float, 7>(float*, int)",
    "cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(Params)",
    "void fill(int)",
  ];
  assert.deepEqual(names.map(shortName), ["cunn_SoftMaxForward", "softmax_warp_forward", "Kernel2", "fill"]);
});

Deno.test("names that are no signature of C++ are shown whole", () => {
  const names = [
    "<built-in method run_backward of torch._C._EngineBase object at 0x7f>",
    "<frozen importlib._bootstrap>(1165): _find_and_load",
    "train.py(88): <module>",
    "<forward op>",
    "aten::add",
    "void <lambda>(int)",
    "",
  ];
  assert.deepEqual(names.map(shortName), names);
});
