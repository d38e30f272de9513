"""Graphs of PyTorch modules, scripts and exported programs."""

import inspect
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

from stepscope.summary.graphs.torch_export import graph_of_exported
from stepscope.summary.graphs.torch_jit import graph_of_script
from stepscope.summary.proto.graph_pb2 import GraphDef

_LONGEST_REASON: Final = 120
"""Maximum number of characters shown of another library's message."""
_BESIDE_THE_POINT: Final = re.compile(r"\s*(\n|\w*tensor\()", re.IGNORECASE)
"""Matches the start of what a short message omits: further lines, and the contents of whole tensors."""


class TracingError(ValueError, RuntimeError):
    """A module cannot be traced; also a RuntimeError, which the writers of PyTorch and tensorboardX raise."""


def graph_from_torch(
    model: Any, input_to_model: Any = None, *, verbose: bool = False, use_strict_trace: bool = True
) -> GraphDef:
    """Return the operations of a PyTorch model, traced in evaluation mode, as ``torch.utils.tensorboard`` shows them.

    Nodes are in the scopes of their modules (``Net/Sequential[body]/Linear[0]/linear``). Inputs are ``input/*`` and
    outputs ``output/*`` of kind "IO Node"; parameters and buffers are nodes with shape and element type. Constant
    arguments are nodes, and also attributes of the operation under the names in its schema.

    The model is left unchanged: its modes, buffers and gradients, and the random state of the host and of the model's
    devices. Any other side effects of ``forward`` and its hooks happen a few extra times. Language models whose
    ``config.use_cache`` requests a key-value cache are traced without it.

    A module that ``torch.jit.trace`` refuses, although it can be called, is exported with ``torch.export`` instead.

    Args:
        model: a ``torch.nn.Module``, compiled or not; a ``ScriptModule``, ``ScriptFunction``, or
            ``torch.export.ExportedProgram``.
        input_to_model: a tensor; a tuple or list of arguments; or a dict, passed as keyword arguments if the model has
            parameters with all of its keys as names, and otherwise as the only argument. Scripts and exported programs
            need no inputs; without them, a script's graph has only the shapes of its parameters.
        verbose: print the traced graph.
        use_strict_trace: the ``strict`` argument of ``torch.jit.trace``; False lets a module return lists and dicts.

    Raises:
        TypeError: the model is none of these, or is a module without inputs.
        ValueError: the model cannot be called with these inputs; it can be neither traced nor exported, in which case
            the cause is chained; or it has lazy modules that were never called.
    """
    import torch

    # The result of torch.compile wraps the module and cannot be traced itself.
    model = getattr(model, "_orig_mod", model)
    if isinstance(model, torch.export.ExportedProgram):
        return _exported(model, verbose)
    if not isinstance(model, torch.nn.Module | torch.jit.ScriptFunction):
        raise TypeError(f"expected a PyTorch module, script or exported program, got {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        if verbose:
            print(model.inlined_graph if isinstance(model, torch.jit.ScriptModule) else model.graph)
        return graph_of_script(model, _arguments(model, input_to_model))
    if input_to_model is None:
        raise TypeError(
            f"input_to_model must be what {type(model).__name__} is called with, such as a tensor or a tuple of "
            "arguments, because a PyTorch module can be traced only by calling it; got None"
        )
    if any(torch.nn.parameter.is_lazy(tensor) for tensor in (*model.parameters(), *model.buffers())):
        raise ValueError(
            f"{type(model).__name__} has lazy modules, whose parameters get their shapes when the model is first "
            "called; call it once before its graph is written"
        )
    positional, keywords = _arguments(model, input_to_model)
    with _left_as_it_was(model), warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return _traced(model, positional, keywords, use_strict_trace, verbose)
        except Exception as error:
            return _exported_or_loosely_traced(model, positional, keywords, verbose, error)


def _traced(model: Any, positional: tuple[Any, ...], keywords: dict[str, Any], strict: bool, verbose: bool) -> GraphDef:
    import torch

    # A check by a second trace would run the model three times and reveal nothing that a graph shows.
    inputs = {"example_kwarg_inputs": keywords} if keywords else {"example_inputs": positional}
    traced = torch.jit.trace(model, **inputs, strict=strict, check_trace=False)
    if verbose:
        print(traced.inlined_graph)
    return graph_of_script(traced, (positional, keywords))


def _exported_or_loosely_traced(
    model: Any, positional: tuple[Any, ...], keywords: dict[str, Any], verbose: bool, trace_error: Exception
) -> GraphDef:
    import torch

    name = type(model).__name__
    try:
        model(*positional, **keywords)
    except Exception as error:
        reported = f"{name} cannot be called with the given input_to_model: {_short(error)}"
        raise TracingError(f"{reported}{_why_one_argument(model, positional)}") from error
    try:
        program = torch.export.export(model, positional, keywords, strict=False)
    except Exception as error:
        with suppress(Exception):
            return _traced(model, positional, keywords, False, verbose)
        raise TracingError(
            f"{name} can be called, but not traced, because it does or returns something that neither tracer supports. "
            f"torch.jit.trace says: {_short(trace_error)} torch.export says: {_short(error)}"
        ) from trace_error
    return _exported(program, verbose)


def _why_one_argument(model: Any, positional: tuple[Any, ...]) -> str:
    given = positional[0] if len(positional) == 1 else None
    if not isinstance(given, Mapping) or not given:
        return ""
    unknown = ", ".join(str(key) for key in given if key not in _parameter_names(model))[:_LONGEST_REASON]
    return f" (a dict is one argument unless its keys are parameters of forward, which has none named {unknown})"


def _short(error: Exception) -> str:
    reported = str(error).strip() or type(error).__name__
    shown = _BESIDE_THE_POINT.split(reported, 1)[0][:_LONGEST_REASON]
    return shown if shown == reported else f"{shown}..."


def _exported(program: Any, verbose: bool) -> GraphDef:
    if verbose:
        print(program)
    return graph_of_exported(program)


def _arguments(model: Any, given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if given is None:
        return (), {}
    if isinstance(given, tuple | list):
        return tuple(given), {}
    if isinstance(given, Mapping) and given and set(given) <= _parameter_names(model):
        return (), dict(given)
    return (given,), {}


def _parameter_names(model: Any) -> set[str]:
    kinds = inspect.Parameter
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (AttributeError, TypeError, ValueError):
        # Functions and compiled methods list none; their arguments are given by position.
        return set()
    return {p.name for p in parameters if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)}


@contextmanager
def _left_as_it_was(model: Any) -> Iterator[None]:
    """Use evaluation mode inside; afterwards, restore each module's mode, the buffers and the random state."""
    import torch

    modes = [(module, module.training) for module in model.modules()]
    buffers = [
        (module, name, buffer, _saved(buffer)) for module in model.modules() for name, buffer in module._buffers.items()
    ]
    devices = {tensor.device for tensor in (*model.parameters(), *model.buffers())}
    cuda = sorted({device.index or 0 for device in devices if device.type == "cuda"})
    fast_path = torch.backends.mha.get_fastpath_enabled()
    try:
        # Attention's fast path hides a whole layer in one operation, but only if no gradient is wanted.
        torch.backends.mha.set_fastpath_enabled(False)
        with torch.random.fork_rng(cuda), ExitStack() as stack:
            for module, _ in modes:
                stack.enter_context(_without_cache(getattr(module, "config", None)))
            # Not model.eval(), which modules override to do more, such as merging weights.
            for module, _ in modes:
                module.training = False
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
        for module, training in modes:
            module.training = training
        for module, name, buffer, saved in buffers:
            module._buffers[name] = buffer
            if saved is not None and buffer._version != saved[0]:
                with torch.no_grad():
                    buffer.copy_(saved[1])


@contextmanager
def _without_cache(config: Any) -> Iterator[None]:
    """Set ``config.use_cache`` to False inside; with it, language models return values that no tracer accepts."""
    if getattr(config, "use_cache", None) is not True:
        yield
        return
    # A frozen config stays as it is.
    with suppress(AttributeError):
        config.use_cache = False
    try:
        yield
    finally:
        with suppress(AttributeError):
            config.use_cache = True


def _saved(buffer: Any) -> tuple[int, Any] | None:
    """Return the buffer's version and a copy; None for a buffer without a version."""
    if buffer is None or buffer.is_inference():
        return None
    return buffer._version, buffer.detach().clone()
