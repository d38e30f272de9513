"""A program that uses only the CUDA driver, recorded by the collector "cupti": plain_cuda.py LOGDIR."""

import ctypes
import sys
from pathlib import Path
from typing import Any

from stepscope import profiler

COUNT = 1 << 16
BYTES = 4 * COUNT
STEPS = 3
BLOCK = 128
PTX = b"""
.version 6.4
.target sm_75
.address_size 64

.visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 count)
{
    .reg .pred %p;
    .reg .f32 %f<3>;
    .reg .b32 %r<5>;
    .reg .b64 %d<4>;

    ld.param.u64 %d0, [data];
    ld.param.f32 %f0, [factor];
    ld.param.u32 %r0, [count];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p bra done;
    cvta.to.global.u64 %d1, %d0;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d3, %d1, %d2;
    ld.global.f32 %f1, [%d3];
    mul.f32 %f2, %f1, %f0;
    st.global.f32 [%d3], %f2;
done:
    ret;
}
"""


class Cuda:
    """The driver's functions, which raise any error code that they return."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._library, name)

        def call(*arguments: Any) -> None:
            result = function(*arguments)
            if result:
                raise RuntimeError(f"{name} returned {result}")

        return call


def main(logdir: str) -> None:
    """Scales an array on the GPU, once per step."""
    cuda = Cuda()
    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    data, copied = ctypes.c_uint64(), ctypes.c_uint64()
    cuda.cuInit(0)
    cuda.cuDeviceGet(ctypes.byref(device), 0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    cuda.cuCtxSetCurrent(context)
    cuda.cuModuleLoadData(ctypes.byref(module), PTX)
    cuda.cuModuleGetFunction(ctypes.byref(function), module, b"scale")
    for pointer in (data, copied):
        cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(BYTES))
    host = (ctypes.c_float * COUNT)(*range(COUNT))
    result = (ctypes.c_float * COUNT)()
    factor, count = ctypes.c_float(2.0), ctypes.c_uint32(COUNT)
    parameters = (ctypes.c_void_p * 3)(*(ctypes.addressof(each) for each in (data, factor, count)))
    with profiler.Profile(logdir, collectors=["cupti"]) as profile:
        for _ in range(STEPS):
            with profiler.annotate("upload"):
                cuda.cuMemcpyHtoD_v2(data, host, ctypes.c_size_t(BYTES))
            with profiler.annotate("clear"):
                cuda.cuMemsetD32_v2(copied, ctypes.c_uint(0), ctypes.c_size_t(COUNT))
            with profiler.annotate("scale it"):
                sizes = (COUNT // BLOCK, 1, 1, BLOCK, 1, 1)
                cuda.cuLaunchKernel(function, *map(ctypes.c_uint, (*sizes, 0)), None, parameters, None)
            with profiler.annotate("duplicate"):
                cuda.cuMemcpyDtoD_v2(copied, data, ctypes.c_size_t(BYTES))
            with profiler.annotate("wait"):
                cuda.cuCtxSynchronize()
            with profiler.annotate("download"):
                cuda.cuMemcpyDtoH_v2(result, copied, ctypes.c_size_t(BYTES))
            profiler.step()
    assert list(result) == [2.0 * number for number in range(COUNT)]
    assert profile.recording is not None
    Path(logdir, "step_1.pb").write_bytes(profile.recording.run_metadata[1].step_stats.SerializeToString())
    print(profile.recording.trace_path, *profile.recording.notes, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
