"""A made-up trace of training, as PyTorch's profiler writes it: Chrome trace JSON of any number of events.

A step is a forward and a backward pass over layers, on two threads of the host, with operators nested six deep. Each
operator launches a kernel on one of four streams of a device; a flow leads from the launch to the kernel, and another
from an operator to its backward. Layers copy memory now and then and tell how much is allocated.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LAYERS: Final = 416
"""Of a step: about 20,000 events."""
OPERATORS: Final = 3
"""Of a layer."""
STREAMS: Final = (7, 20, 24, 28)
HOST: Final = 4242
MAIN: Final = 4242
AUTOGRAD: Final = 4300
LAYER_US: Final = 90.0
BATCH: Final = 1_000
_NAMES: Final = (
    ("aten::linear", "aten::addmm", "AddmmBackward0"),
    ("aten::layer_norm", "aten::native_layer_norm", "NativeLayerNormBackward0"),
    ("aten::scaled_dot_product_attention", "aten::_flash_attention_forward", "FlashAttentionBackward0"),
    ("aten::gelu", "aten::gelu", "GeluBackward0"),
    ("aten::dropout", "aten::native_dropout", "NativeDropoutBackward0"),
    ("aten::embedding", "aten::index_select", "EmbeddingBackward0"),
    ("aten::matmul", "aten::bmm", "BmmBackward0"),
)
_KERNELS: Final = (
    "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::Half, float>(int, float, c10::Half*)",
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>(int)",
    "void at::native::fused_dropout_kernel_vec<c10::Half, float, unsigned int, 1, 4, bool>(int, float)",
    "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_32x32_128x2_nn_align8>(Params)",
)


def _slice(category: str, name: str, pid: int, tid: int, begin: float, length: float, arguments: str) -> str:
    return (
        f'{{"ph":"X","cat":"{category}","name":"{name}","pid":{pid},"tid":{tid},'
        f'"ts":{begin:.3f},"dur":{length:.3f},"args":{{{arguments}}}}}'
    )


def _flow(phase: str, category: str, number: int, pid: int, tid: int, at: float) -> str:
    ends = ',"bp":"e"' if phase == "f" else ""
    return (
        f'{{"ph":"{phase}","cat":"{category}","name":"{category}","id":{number},'
        f'"pid":{pid},"tid":{tid},"ts":{at:.3f}{ends}}}'
    )


def _launch(tid: int, number: int, kernel: int, begin: float) -> list[str]:
    """A launch on the host, its kernel, and the flow between them: four events."""
    stream = STREAMS[number % 4 if kernel != 5 else 3]
    # Kernels of different lengths, which start later as the layer proceeds, as when a queue fills.
    there = begin + 20 + kernel
    length = 9.0 + number % 13
    return [
        _slice("cuda_runtime", "cudaLaunchKernel", HOST, tid, begin, 3.5, f'"cbid":211,"correlation":{number}'),
        _slice(
            "kernel",
            _KERNELS[kernel],
            0,
            stream,
            there,
            length,
            f'"device":0,"stream":{stream},"correlation":{number},"grid":[{1 + number % 256},1,1],"block":[128,1,1]',
        ),
        _flow("s", "ac2g", number, HOST, tid, begin),
        _flow("f", "ac2g", number, 0, stream, there),
    ]


def _forward(number: int, begin: float) -> list[str]:
    """One operator of a layer on the main thread: six events."""
    kind = number % len(_NAMES)
    outer, inner, _ = _NAMES[kind]
    dims = f'"External id":{number},"Input Dims":[[{32 << kind % 3},1024],[1024]]'
    return [
        _slice("cpu_op", outer, HOST, MAIN, begin, 24.0, dims),
        _slice("cpu_op", inner, HOST, MAIN, begin + 3, 18.5, dims),
        *_launch(MAIN, 2 * number, kind, begin + 9),
    ]


def _backward(number: int, forward: float, begin: float) -> list[str]:
    """What goes back through the operator on autograd's thread: nine events."""
    kind = number % len(_NAMES)
    _, inner, name = _NAMES[kind]
    dims = f'"External id":{number},"Fwd thread id":1,"Sequence number":{number}'
    evaluated = f"autograd::engine::evaluate_function: {name}"
    return [
        _slice("cpu_op", evaluated, HOST, AUTOGRAD, begin, 26.0, dims),
        _slice("cpu_op", name, HOST, AUTOGRAD, begin + 1, 24.0, dims),
        _slice("cpu_op", inner, HOST, AUTOGRAD, begin + 3, 20.0, dims),
        *_launch(AUTOGRAD, 2 * number + 1, kind, begin + 8),
        _flow("s", "fwdbwd", number, HOST, MAIN, forward),
        _flow("f", "fwdbwd", number, HOST, AUTOGRAD, begin),
    ]


def _layer(step: int, layer: int, begin: float, back: float) -> list[str]:
    """Everything of a layer, whose forward and backward pass begin at these microseconds."""
    first = (step * LAYERS + layer) * OPERATORS
    module = f"nn.Module: Block_{layer % 24}"
    events = [_slice("python_function", module, HOST, MAIN, begin, 84.0, f'"Python id":{layer}')]
    for operator in range(OPERATORS):
        at = begin + 2 + 27 * operator
        events += _forward(first + operator, at)
        events += _backward(first + operator, at, back + 2 + 27 * operator)
    allocated = (8 + layer % 97) * 104_857_600
    events.append(f'{{"ph":"C","name":"GPU 0 memory","pid":0,"ts":{begin:.3f},"args":{{"allocated":{allocated}}}}}')
    if layer % 4 == 0:
        copied = '"device":0,"stream":20,"bytes":1048576,"memory bandwidth (GB/s)":11.2'
        events.append(_slice("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 32, begin + 5, 60.0, copied))
    return events


def events(least: int) -> Iterator[str]:
    """JSON of the events of so many layers as give at least so many events."""
    yield from (
        f'{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":"{name}"}}}}'
        for pid, name in ((HOST, "python"), (0, "GPU 0"))
    )
    named = [(HOST, MAIN, f"thread {MAIN} (python)"), (HOST, AUTOGRAD, "pt_autograd_0"), (0, 32, "stream 32")]
    named += [(0, stream, f"stream {stream}") for stream in STREAMS]
    yield from (
        f'{{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":"{name}"}}}}'
        for pid, tid, name in named
    )
    count, step = 2 + len(named), 0
    half = LAYERS * LAYER_US
    while count < least:
        begin = 1000.0 + step * (2 * half + 400)
        yield _slice(
            "user_annotation", f"ProfilerStep#{step}", HOST, MAIN, begin, 2 * half + 200, f'"External id":{step}'
        )
        yield _slice("user_annotation", "forward", HOST, MAIN, begin + 5, half, "")
        yield _slice("user_annotation", "backward", HOST, MAIN, begin + half + 50, half, "")
        count += 3
        for layer in range(LAYERS):
            if count >= least:
                break
            made = _layer(step, layer, begin + 10 + layer * LAYER_US, begin + half + 60 + (LAYERS - layer) * LAYER_US)
            count += len(made)
            yield from made
        step += 1


def write_training(path: Path, least: int) -> int:
    """Writes such a trace; gives how many events it has."""
    count = 0
    batch: list[str] = []
    with path.open("w", encoding="ascii") as file:
        file.write('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"made up"}],"traceEvents":[\n')
        for event in events(least):
            batch.append(event)
            if len(batch) == BATCH:
                file.write((",\n" if count else "") + ",\n".join(batch))
                count += len(batch)
                batch.clear()
        file.write((",\n" if count and batch else "") + ",\n".join(batch))
        file.write("\n]}\n")
        # Readers of the file must not be measured while the system is still writing it.
        file.flush()
        os.fsync(file.fileno())
    return count + len(batch)
