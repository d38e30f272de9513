"""Why a trace may have nothing for an analysis, and what to do: sentences shown to the user."""

from typing import Final

NO_DEVICE: Final = (
    "No device activity was recorded. Record with CUDA or ROCm activities "
    "(torch.profiler: activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])."
)
NO_OPERATORS: Final = (
    "The trace has no operators. Record with the host's activities (torch.profiler: ProfilerActivity.CPU). "
    "See Slices for what it has."
)
NO_MEMORY: Final = (
    "No allocations were recorded. Record with profile_memory=True, or with StepStats' memory statistics."
)
NO_STACKS: Final = "No call stacks were recorded. Record with with_stack=True, or record Python functions."
NO_FLOPS: Final = (
    "No FLOPs are known. Record with record_shapes=True: those of matrix products and sums follow from their shapes."
)
NO_STEPS: Final = "The trace has no slices, so there are no steps."
NO_COPIES: Final = "No copies were recorded. " + NO_DEVICE
NO_STEP_STATS: Final = (
    "These views need TensorFlow's StepStats. Choose a trace that an event file holds as RunMetadata."
)
NO_COLLECTIVES: Final = "No collective ran on all of these ranks, so none waited for another."
NO_PATH: Final = "The trace has no host and device activity, so it has no path."
