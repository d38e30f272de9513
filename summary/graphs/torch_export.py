"""Graphs of programs that ``torch.export`` made."""

from collections.abc import Iterable
from typing import Any, Final

from stepscope.summary.graphs.nodes import GraphBuilder, TensorType, clean, dtype_of
from stepscope.summary.graphs.torch_jit import IO_NODE
from stepscope.summary.proto.graph_pb2 import GraphDef

_PARAMETERS: Final = frozenset({"PARAMETER", "BUFFER", "CONSTANT_TENSOR", "CUSTOM_OBJ"})


def graph_of_exported(program: Any) -> GraphDef:
    """Return the graph of a ``torch.export.ExportedProgram``, in the scopes of the modules that made the calls.

    Operations have the names of their overloads, such as ``aten.linear.default``. Dynamic sizes keep their names.
    """
    return _ProgramReader(program).read()


class _ProgramReader:
    def __init__(self, program: Any) -> None:
        self._program = program
        self._builder = GraphBuilder()
        self._names: dict[str, str] = {}
        classes: dict[str, str] = {}
        for node in program.graph.nodes:
            for path, class_name in _module_stack(node):
                classes.setdefault(path, class_name)
        self._root = clean(classes.get("", "") or "Module")
        self._classes = classes

    def read(self) -> GraphDef:
        """Return the whole graph, with inputs and parameters first, as in the program."""
        targets = {spec.arg.name: spec for spec in self._program.graph_signature.input_specs}
        for node in self._program.graph.nodes:
            match node.op:
                case "placeholder":
                    self._add_placeholder(node, targets.get(node.name))
                case "output":
                    self._add_outputs(node)
                case "get_attr":
                    self._add(node, self._root, "get_attr", {"name": str(node.target)})
                case _:
                    self._add(node, self._scope(node), _operation(node.target), _constants(node))
        return self._builder.graph

    def _add_placeholder(self, node: Any, spec: Any) -> None:
        if spec is not None and spec.kind.name in _PARAMETERS and spec.target:
            path, _, leaf = spec.target.rpartition(".")
            self._add(node, self._module_scope(path), "prim::GetAttr", {"name": leaf}, leaf)
        else:
            self._add(node, "input", IO_NODE, {}, node.name)

    def _add_outputs(self, node: Any) -> None:
        for place, source in enumerate(node.all_input_nodes):
            name = self._builder.name("output", f"output.{place + 1}")
            self._builder.node(name, IO_NODE, [self._names[source.name]], _types(source))

    def _add(self, node: Any, scope: str, op: str, attributes: dict[str, Any], leaf: str = "") -> None:
        name = self._names[node.name] = self._builder.name(scope, clean(leaf or node.name))
        inputs = [self._names[source.name] for source in node.all_input_nodes if source.name in self._names]
        self._builder.node(name, op, inputs, _types(node), attributes)

    def _scope(self, node: Any) -> str:
        stack = _module_stack(node)
        return self._module_scope(stack[-1][0]) if stack else self._root

    def _module_scope(self, path: str) -> str:
        """Return ``Net/Sequential[body]/Linear[0]`` for "body.0"; a module not called itself adds only its name."""
        if not path:
            return self._root
        parts = path.split(".")
        prefixes = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
        labels = [self._label(prefix, part) for prefix, part in zip(prefixes, parts, strict=True)]
        return "/".join((self._root, *labels))

    def _label(self, path: str, leaf: str) -> str:
        class_name = self._classes.get(path)
        return clean(f"{class_name}[{leaf}]" if class_name else leaf)


def _module_stack(node: Any) -> list[tuple[str, str]]:
    """Return the path and class name of each module around a call, outermost first."""
    stack: list[tuple[str, str]] = []
    for path, owner in (node.meta.get("nn_module_stack") or {}).values():
        class_name = owner.__name__ if isinstance(owner, type) else str(owner).rpartition(".")[2]
        # The path of a module's second call ends in "@1".
        stack.append((path.partition("@")[0].removeprefix("L['self']").strip("."), class_name))
    return stack


def _operation(target: Any) -> str:
    return str(target) if not hasattr(target, "__name__") or "." in str(target)[:60] else target.__name__


def _constants(node: Any) -> dict[str, Any]:
    """Return the arguments that are not nodes, under their names in the operation's schema."""
    schema = getattr(node.target, "_schema", None)
    names: Iterable[str] = [argument.name for argument in schema.arguments] if schema is not None else ()
    arguments = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    return {name: _constant(value) for name, value in arguments.items()}


def _constant(value: Any) -> Any:
    if isinstance(value, list | tuple):
        parts = [_constant(part) for part in value]
        return None if any(part is None for part in parts) else parts
    return None if hasattr(value, "all_input_nodes") else value


def _types(node: Any) -> list[TensorType]:
    found = node.meta.get("val")
    values = found if isinstance(found, list | tuple) else [found]
    return [_type(value) for value in values]


def _type(value: Any) -> TensorType:
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return TensorType()
    sizes = [size if isinstance(size, int) else str(size) for size in value.shape]
    return TensorType(sizes, dtype_of(str(value.dtype)))
