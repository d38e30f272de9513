"""Graphs of traced and scripted PyTorch modules, call by call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from stepscope.summary.graphs.nodes import GraphBuilder, TensorType, clean, dtype_of, joined, output
from stepscope.summary.proto.graph_pb2 import GraphDef

IO_NODE: Final = "IO Node"
"""The kind that PyTorch gives to a model's inputs and outputs."""

_MOST_CONSTANT_ELEMENTS: Final = 16


@dataclass(frozen=True)
class ModuleValue:
    """A module represented by a value of a TorchScript graph."""

    scope: str
    module: Any


Value: TypeAlias = str | ModuleValue
"""The translation of a TorchScript graph value: the output of a node, as inputs name it, or a module."""


def graph_of_script(script: Any, arguments: tuple[Sequence[Any], Mapping[str, Any]]) -> GraphDef:
    """Return the graph of a traced module, ``ScriptModule`` or ``ScriptFunction``.

    Calls of submodules and functions are followed, each into its own scope, even for modules that are called twice or
    shared. The bodies of conditions and loops are scopes of their nodes.

    Args:
        script: the module or function.
        arguments: its positional and keyword arguments, which supply shapes that the graph lacks.
    """
    return _ScriptReader().read(script, arguments)


class _ScriptReader:
    def __init__(self) -> None:
        self._builder = GraphBuilder()
        self._parameters: dict[tuple[str, str], str] = {}
        self._calls: tuple[str, ...] = ()

    def read(self, script: Any, arguments: tuple[Sequence[Any], Mapping[str, Any]]) -> GraphDef:
        graph = script.graph
        values: dict[str, Value] = {}
        inputs = list(graph.inputs())
        root = clean(_class_name(script))
        if hasattr(script, "_c") and inputs and inputs[0].type().kind() == "ClassType":
            values[inputs.pop(0).debugName()] = ModuleValue(root, script)
        for place, value in enumerate(inputs):
            name = value.debugName().rpartition(".")
            leaf = name[0] if name[0] and name[2].isdigit() else value.debugName()
            given = arguments[0][place] if place < len(arguments[0]) else arguments[1].get(leaf)
            node = self._builder.name("input", clean(leaf))
            self._builder.node(node, IO_NODE, (), [_type_of(value, given)])
            values[value.debugName()] = node
        self._read_nodes(graph.nodes(), root, values)
        for place, value in enumerate(graph.outputs()):
            name = self._builder.name("output", f"output.{place + 1}")
            self._builder.node(name, IO_NODE, self._references([value], values), [_type_of(value)])
        return self._builder.graph

    def _read_nodes(self, nodes: Iterable[Any], scope: str, values: dict[str, Value]) -> None:
        for node in nodes:
            match node.kind():
                case "prim::GetAttr":
                    self._read_attribute(node, scope, values)
                case "prim::CallMethod":
                    self._read_method_call(node, scope, values)
                case "prim::CallFunction":
                    self._read_function_call(node, scope, values)
                case "prim::If":
                    self._read_condition(node, scope, values)
                case "prim::Loop":
                    self._read_loop(node, scope, values)
                case "prim::Constant" if node.output().type().kind() == "FunctionType":
                    pass
                case _:
                    self._add_operation(node, scope, values)

    def _read_attribute(self, node: Any, scope: str, values: dict[str, Value]) -> None:
        owner = values.get(node.input().debugName())
        name = node.s("name")
        key = node.output().debugName()
        if not isinstance(owner, ModuleValue):
            self._add_operation(node, scope, values)
            return
        found = getattr(owner.module, name)
        if hasattr(found, "_c") and hasattr(found, "named_modules"):
            values[key] = ModuleValue(f"{owner.scope}/{clean(f'{_class_name(found)}[{name}]')}", found)
            return
        if (owner.scope, name) not in self._parameters:
            node_name = self._builder.name(owner.scope, clean(name))
            value = {} if hasattr(found, "shape") else {"value": found}
            self._builder.node(node_name, node.kind(), (), [_type_of(node.output(), found)], {"name": name, **value})
            self._parameters[owner.scope, name] = node_name
        values[key] = self._parameters[owner.scope, name]

    def _read_method_call(self, node: Any, scope: str, values: dict[str, Value]) -> None:
        owner = values.get(node.inputsAt(0).debugName())
        if not isinstance(owner, ModuleValue):
            self._add_operation(node, scope, values)
            return
        graph = owner.module._c._get_method(node.s("name")).graph
        self._read_call(node, graph, list(node.inputs()), owner.scope, values)

    def _read_function_call(self, node: Any, scope: str, values: dict[str, Value]) -> None:
        import torch

        callee, *arguments = node.inputs()
        function = torch.jit._state._python_cu.find_function(str(callee.type().annotation_str))
        short_name = callee.node().s("name")
        if function is None or short_name in self._calls:
            self._add_operation(node, scope, values, {"function": short_name}, inputs=arguments)
            return
        calls, self._calls = self._calls, (*self._calls, short_name)
        self._read_call(node, function.graph, arguments, self._builder.name(scope, clean(short_name)), values)
        self._calls = calls

    def _read_call(self, node: Any, graph: Any, arguments: list[Any], scope: str, values: dict[str, Value]) -> None:
        graph = _tidied(graph)
        inside: dict[str, Value] = {}
        for parameter, argument in zip(graph.inputs(), arguments, strict=True):
            if argument.debugName() in values:
                inside[parameter.debugName()] = values[argument.debugName()]
        self._read_nodes(graph.nodes(), scope, inside)
        for result, returned in zip(node.outputs(), graph.outputs(), strict=True):
            if returned.debugName() in inside:
                values[result.debugName()] = inside[returned.debugName()]

    def _read_condition(self, node: Any, scope: str, values: dict[str, Value]) -> None:
        name = self._builder.name(scope, "If")
        branches: list[str] = []
        for label, block in zip(("then", "else"), node.blocks(), strict=True):
            # A branch sees the enclosing values; its own are not seen outside.
            inside = dict(values)
            self._read_nodes(block.nodes(), joined(name, label), inside)
            branches += self._references(block.outputs(), inside)
        self._finish(name, node, [*self._references(node.inputs(), values), *branches], values)

    def _read_loop(self, node: Any, scope: str, values: dict[str, Value]) -> None:
        name = self._builder.name(scope, "Loop")
        (block,) = node.blocks()
        counter, *carried = block.inputs()
        inside = dict(values)
        before = list(node.inputs())
        # A loop's inputs are its maximum count, whether it starts, and values carried between iterations.
        for parameter, source in zip((counter, *carried), (before[0], *before[2:]), strict=True):
            leaf = self._builder.name(joined(name, "body"), clean(parameter.debugName()))
            self._builder.node(leaf, "prim::Param", self._references([source], values), [_type_of(parameter)])
            inside[parameter.debugName()] = leaf
        self._read_nodes(block.nodes(), joined(name, "body"), inside)
        references = [*self._references(before, values), *self._references(block.outputs(), inside)]
        self._finish(name, node, references, values)

    def _add_operation(
        self,
        node: Any,
        scope: str,
        values: dict[str, Value],
        attributes: Mapping[str, Any] | None = None,
        inputs: Iterable[Any] | None = None,
    ) -> None:
        name = self._builder.name(scope, clean(node.kind().rpartition("::")[2]))
        references = self._references(node.inputs() if inputs is None else inputs, values)
        self._finish(name, node, references, values, {**_attributes(node), **(attributes or {})})

    def _finish(
        self,
        name: str,
        node: Any,
        references: Iterable[str],
        values: dict[str, Value],
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        results = list(node.outputs())
        self._builder.node(name, node.kind(), references, [_type_of(r) for r in results], attributes)
        for index, result in enumerate(results):
            values[result.debugName()] = output(name, index)

    @staticmethod
    def _references(wanted: Iterable[Any], values: Mapping[str, Value]) -> list[str]:
        found = [values.get(value.debugName()) for value in wanted]
        return [reference for reference in found if isinstance(reference, str)]


def _tidied(graph: Any) -> Any:
    """Return a copy without the detours of a trace, such as a size converted to a tensor and back to a number.

    These are the passes that PyTorch itself runs before it inlines a call.
    """
    import torch

    copy = graph.copy()
    torch._C._jit_pass_peephole(copy, True)
    torch._C._jit_pass_constant_propagation_immutable_types(copy)
    torch._C._jit_pass_constant_pooling(copy)
    return copy


def _class_name(script: Any) -> str:
    name = getattr(script, "_name", None) or getattr(script, "original_name", None) or getattr(script, "name", None)
    return name if isinstance(name, str) and name else type(script).__name__


def _type_of(value: Any, given: Any = None) -> TensorType:
    """Return the type of a graph value, or else the type of the tensor given for it."""
    value_type = value.type()
    if value_type.kind() == "TensorType":
        shape, dtype = value_type.sizes(), value_type.dtype()
        if shape is not None and dtype is not None:
            return TensorType(shape, dtype_of(str(dtype)))
    if hasattr(given, "shape") and hasattr(given, "dtype"):
        return TensorType([int(size) for size in given.shape], dtype_of(str(given.dtype)))
    return TensorType()


def _attributes(node: Any) -> dict[str, Any]:
    """Return the node's own attributes, and its constant arguments under their names in the schema."""
    if node.kind() == "prim::Constant":
        value = _constant(node.output())
        return {"value": _shown(value) if hasattr(value, "detach") else value}
    found = {name: _attribute(node, name) for name in node.attributeNames()}
    schema = node.schema()
    if schema != "(no schema)":
        import torch

        arguments = torch._C.parse_schema(schema).arguments
        for argument, value in zip(arguments, node.inputs(), strict=False):
            constant = _constant(value)
            if not hasattr(constant, "detach"):
                found[argument.name] = constant
    return found


def _attribute(node: Any, name: str) -> Any:
    kind = node.kindOf(name)
    # Graphs in attributes are bodies that run elsewhere, such as those of fork.
    return f"<{kind}>" if kind in ("g", "gs") else getattr(node, kind)(name)


def _constant(value: Any) -> Any:
    """Return the constant that a value always has; None if it is unknown or is None itself."""
    node = value.node()
    if node.kind() == "prim::ListConstruct":
        parts = [_constant(part) for part in node.inputs()]
        return None if any(part is None for part in parts) else parts
    if node.kind() != "prim::Constant":
        return None
    return value.toIValue()


def _shown(tensor: Any) -> str:
    """Return a tensor as text: its type, and its elements if there are few."""
    small = tensor.numel() <= _MOST_CONSTANT_ELEMENTS and tensor.device.type != "meta"
    # No nested lists without elements: any number of them may be empty.
    elements = "[]" if 0 in tensor.shape else str(tensor.tolist()) if small else "..."
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)} {elements}"
