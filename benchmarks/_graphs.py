"""Graphs like those of well-known models, and large ones, made of graph messages without TensorFlow."""

from collections.abc import Sequence
from typing import Final

from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.types_pb2 import DT_FLOAT, DT_INT32, DataType

BLOCKS: Final = ((64, 3), (128, 4), (256, 6), (512, 3))
"""Channels and blocks of each stage of ResNet-50."""


class Builder:
    """Adds nodes to a graph below name scopes."""

    def __init__(self) -> None:
        self.graph: Final = GraphDef()
        self.graph.versions.producer = 2129

    def add(
        self,
        name: str,
        op: str,
        inputs: Sequence[str] = (),
        shape: Sequence[int] | None = None,
        dtype: DataType = DT_FLOAT,
    ) -> str:
        """A node; the name that its first output goes by."""
        node = self.graph.node.add(name=name, op=op, input=inputs)
        node.attr["T" if op not in ("Const", "Placeholder", "VarHandleOp", "ReadVariableOp") else "dtype"].type = dtype
        if shape is not None:
            _add_shape(node, shape)
        return name

    def constant(self, name: str, value: int) -> str:
        """A scalar constant."""
        node = self.graph.node.add(name=name, op="Const")
        node.attr["dtype"].type = DT_INT32
        node.attr["value"].tensor.dtype = DT_INT32
        node.attr["value"].tensor.int_val.append(value)
        _add_shape(node, ())
        return name

    def variable(self, name: str, shape: Sequence[int]) -> str:
        """A resource variable with its initializer; the name of what reads it."""
        handle = self.graph.node.add(name=name, op="VarHandleOp")
        handle.attr["dtype"].type = DT_FLOAT
        for length in shape:
            handle.attr["shape"].shape.dim.add(size=length)
        initial = self.add(f"{name}/Initializer/random_uniform", "RandomUniform", shape=shape)
        self.add(f"{name}/Assign", "AssignVariableOp", [name, initial])
        return self.add(f"{name}/Read/ReadVariableOp", "ReadVariableOp", [name], shape)

    def convolution(self, scope: str, value: str, kernel: Sequence[int], shape: Sequence[int]) -> str:
        """A convolution whose output has the shape."""
        weights = self.variable(f"{scope}/kernel", kernel)
        return self.add(f"{scope}/Conv2D", "Conv2D", [value, weights], shape)

    def normalized(self, scope: str, value: str, shape: Sequence[int]) -> str:
        """Batch normalization."""
        parts = ("gamma", "beta", "moving_mean", "moving_variance")
        read = [self.variable(f"{scope}/{part}", shape[-1:]) for part in parts]
        return self.add(f"{scope}/FusedBatchNormV3", "FusedBatchNormV3", [value, *read], shape)

    def dense(self, scope: str, value: str, inputs: int, outputs: int, shape: Sequence[int]) -> str:
        """A matrix product and a bias."""
        weights = self.variable(f"{scope}/kernel", (inputs, outputs))
        product = self.add(f"{scope}/MatMul", "MatMul", [value, weights], (*shape, outputs))
        bias = self.variable(f"{scope}/bias", (outputs,))
        return self.add(f"{scope}/BiasAdd", "BiasAdd", [product, bias], (*shape, outputs))

    def layer_norm(self, scope: str, value: str, shape: Sequence[int]) -> str:
        """Layer normalization."""
        mean = self.add(f"{scope}/moments/mean", "Mean", [value, self.constant(f"{scope}/moments/axes", -1)])
        difference = self.add(f"{scope}/moments/SquaredDifference", "SquaredDifference", [value, mean], shape)
        variance = self.add(f"{scope}/moments/variance", "Mean", [difference, f"{scope}/moments/axes"])
        scale = self.add(f"{scope}/Rsqrt", "Rsqrt", [variance])
        scaled = self.add(f"{scope}/mul", "Mul", [scale, self.variable(f"{scope}/gamma", shape[-1:])])
        centered = self.add(f"{scope}/sub", "Sub", [value, mean], shape)
        product = self.add(f"{scope}/mul_1", "Mul", [centered, scaled], shape)
        return self.add(f"{scope}/add", "AddV2", [product, self.variable(f"{scope}/beta", shape[-1:])], shape)


def _add_shape(node: NodeDef, shape: Sequence[int]) -> None:
    found = node.attr["_output_shapes"].list.shape.add()
    for length in shape:
        found.dim.add(size=length)


def resnet50() -> GraphDef:
    """ResNet-50 for images of 224 x 224 pixels, with its loss."""
    b = Builder()
    value = b.add("images", "Placeholder", shape=(-1, 224, 224, 3))
    value = b.convolution("conv1", value, (7, 7, 3, 64), (-1, 112, 112, 64))
    value = b.add("conv1/relu", "Relu", [b.normalized("conv1/bn", value, (-1, 112, 112, 64))], (-1, 112, 112, 64))
    value = b.add("pool1/MaxPool", "MaxPool", [value], (-1, 56, 56, 64))
    channels, size = 64, 56
    for stage, (width, blocks) in enumerate(BLOCKS, start=2):
        size = 56 >> stage - 2
        for block in range(blocks):
            scope = f"stage{stage}/block{block + 1}"
            value = _bottleneck(b, scope, value, channels, width, size, project=block == 0)
            channels = 4 * width
    pooled = b.add("head/Mean", "Mean", [value, b.constant("head/Mean/axes", 1)], (-1, channels))
    logits = b.dense("head/fc", pooled, channels, 1000, (-1,))
    labels = b.add("labels", "Placeholder", shape=(-1,), dtype=DT_INT32)
    loss = b.add("loss/xent", "SparseSoftmaxCrossEntropyWithLogits", [logits, labels], (-1,))
    b.add("loss/Mean", "Mean", [loss, b.constant("loss/axes", 0)], ())
    b.add("accuracy/Equal", "Equal", [b.add("accuracy/ArgMax", "ArgMax", [logits], (-1,)), labels], (-1,))
    return b.graph


def _bottleneck(b: Builder, scope: str, value: str, channels: int, width: int, size: int, *, project: bool) -> str:
    shortcut, shape = value, (-1, size, size, width)
    wide = (-1, size, size, 4 * width)
    if project:
        found = b.convolution(f"{scope}/shortcut", value, (1, 1, channels, 4 * width), wide)
        shortcut = b.normalized(f"{scope}/shortcut/bn", found, wide)
    kernels = ((1, 1, channels, width), (3, 3, width, width), (1, 1, width, 4 * width))
    for number, kernel in enumerate(kernels, start=1):
        here = wide if number == 3 else shape
        value = b.convolution(f"{scope}/conv{number}", value, kernel, here)
        value = b.normalized(f"{scope}/bn{number}", value, here)
        if number < 3:
            value = b.add(f"{scope}/relu{number}", "Relu", [value], here)
    return b.add(f"{scope}/relu", "Relu", [b.add(f"{scope}/add", "AddV2", [value, shortcut], wide)], wide)


def transformer(layers: int = 6, width: int = 512, heads: int = 8, words: int = 32_000) -> GraphDef:
    """A Transformer's encoder and decoder, as in "Attention Is All You Need"."""
    b = Builder()
    sides = {}
    table = b.variable("shared/embedding", (words, width))
    for side in ("encoder", "decoder"):
        tokens = b.add(f"{side}_tokens", "Placeholder", shape=(-1, -1), dtype=DT_INT32)
        found = b.add(f"{side}/embed/GatherV2", "GatherV2", [table, tokens], (-1, -1, width))
        position = b.variable(f"{side}/embed/positions", (1024, width))
        sides[side] = b.add(f"{side}/embed/add", "AddV2", [found, position], (-1, -1, width))
    memory = sides["encoder"]
    for layer in range(layers):
        scope = f"encoder/layer_{layer}"
        memory = _attention(b, f"{scope}/self_attention", memory, memory, width, heads)
        memory = _feed_forward(b, f"{scope}/feed_forward", memory, width)
    value = sides["decoder"]
    for layer in range(layers):
        scope = f"decoder/layer_{layer}"
        value = _attention(b, f"{scope}/self_attention", value, value, width, heads)
        value = _attention(b, f"{scope}/cross_attention", value, memory, width, heads)
        value = _feed_forward(b, f"{scope}/feed_forward", value, width)
    logits = b.add("logits/MatMul", "BatchMatMulV2", [value, table], (-1, -1, words))
    b.add("logits/Softmax", "Softmax", [logits], (-1, -1, words))
    return b.graph


def _attention(b: Builder, scope: str, value: str, memory: str, width: int, heads: int) -> str:
    shape = (-1, -1)
    split = (-1, heads, -1, width // heads)
    parts = []
    for name, source in (("query", value), ("key", memory), ("value", memory)):
        projected = b.dense(f"{scope}/{name}", source, width, width, shape)
        parts.append(b.add(f"{scope}/{name}/heads", "Transpose", [projected], split))
    scores = b.add(f"{scope}/scores", "BatchMatMulV2", parts[:2], (-1, heads, -1, -1))
    scaled = b.add(f"{scope}/scale", "Mul", [scores, b.constant(f"{scope}/scale/y", 8)], (-1, heads, -1, -1))
    weights = b.add(f"{scope}/softmax", "Softmax", [scaled], (-1, heads, -1, -1))
    mixed = b.add(f"{scope}/mixed", "BatchMatMulV2", [weights, parts[2]], split)
    together = b.add(f"{scope}/together", "Transpose", [mixed], (-1, -1, width))
    out = b.dense(f"{scope}/output", together, width, width, shape)
    added = b.add(f"{scope}/residual", "AddV2", [value, out], (-1, -1, width))
    return b.layer_norm(f"{scope}/layer_norm", added, (-1, -1, width))


def _feed_forward(b: Builder, scope: str, value: str, width: int) -> str:
    inner = b.dense(f"{scope}/inner", value, width, 4 * width, (-1, -1))
    active = b.add(f"{scope}/relu", "Relu", [inner], (-1, -1, 4 * width))
    outer = b.dense(f"{scope}/outer", active, 4 * width, width, (-1, -1))
    added = b.add(f"{scope}/residual", "AddV2", [value, outer], (-1, -1, width))
    return b.layer_norm(f"{scope}/layer_norm", added, (-1, -1, width))


def lstm(width: int = 128) -> GraphDef:
    """An LSTM unrolled by a while loop of control flow operations, as TensorFlow 1 made them."""
    b = Builder()
    b.add("inputs", "Placeholder", shape=(-1, -1, width))
    b.add("rnn/TensorArray", "TensorArrayV3", [b.constant("rnn/steps", 100)])
    b.add("rnn/TensorArrayUnstack", "TensorArrayScatterV3", ["rnn/TensorArray", "inputs"])
    state = {
        name: b.add(f"rnn/zeros/{name}", "Fill", [b.constant(f"rnn/zeros/{name}/value", 0)], (-1, width))
        for name in ("c", "h")
    }
    state |= {"time": b.constant("rnn/time", 0)}
    loop = "rnn/while"
    for name, start in state.items():
        b.add(f"{loop}/Enter_{name}", "Enter", [start])
        # The loop's back edge is named before the node that it comes from exists.
        b.add(f"{loop}/Merge_{name}", "Merge", [f"{loop}/Enter_{name}", f"{loop}/NextIteration_{name}"])
    limit = b.add(f"{loop}/Less/Enter", "Enter", ["rnn/steps"])
    b.add(f"{loop}/Less", "Less", [f"{loop}/Merge_time", limit])
    b.add(f"{loop}/LoopCond", "LoopCond", [f"{loop}/Less"])
    inner = {}
    for name in state:
        b.add(f"{loop}/Switch_{name}", "Switch", [f"{loop}/Merge_{name}", f"{loop}/LoopCond"])
        inner[name] = b.add(f"{loop}/Identity_{name}", "Identity", [f"{loop}/Switch_{name}:1"])
        b.add(f"{loop}/Exit_{name}", "Exit", [f"{loop}/Switch_{name}"])
    after = _cell(b, f"{loop}/lstm_cell", inner, width)
    after["time"] = b.add(f"{loop}/add", "AddV2", [inner["time"], b.constant(f"{loop}/add/y", 1)], ())
    for name, value in after.items():
        b.add(f"{loop}/NextIteration_{name}", "NextIteration", [value])
    b.dense("output", f"{loop}/Exit_h", width, 10, (-1,))
    return b.graph


def _cell(b: Builder, scope: str, state: dict[str, str], width: int) -> dict[str, str]:
    reading = [f"{scope}/array/Enter", state["time"]]
    b.add(f"{scope}/array/Enter", "Enter", ["rnn/TensorArrayUnstack"])
    step = b.add(f"{scope}/TensorArrayReadV3", "TensorArrayReadV3", reading, (-1, width))
    both = b.add(f"{scope}/concat", "ConcatV2", [step, state["h"], b.constant(f"{scope}/axis", 1)], (-1, 2 * width))
    gates = b.dense(f"{scope}/gates", both, 2 * width, 4 * width, (-1,))
    b.add(f"{scope}/split", "Split", [f"{scope}/split/dim", gates], (-1, width))
    b.constant(f"{scope}/split/dim", 1)
    active = [
        b.add(f"{scope}/{name}", "Tanh" if name == "update" else "Sigmoid", [f"{scope}/split:{number}"], (-1, width))
        for number, name in enumerate(("input_gate", "update", "forget_gate", "output_gate"))
    ]
    kept = b.add(f"{scope}/keep", "Mul", [state["c"], active[2]], (-1, width))
    added = b.add(f"{scope}/write", "Mul", [active[0], active[1]], (-1, width))
    cell = b.add(f"{scope}/cell", "AddV2", [kept, added], (-1, width))
    hidden = b.add(f"{scope}/hidden", "Mul", [b.add(f"{scope}/tanh", "Tanh", [cell], (-1, width)), active[3]])
    return {"c": cell, "h": hidden}


def large(nodes: int, wide: int = 300) -> GraphDef:
    """A graph of about so many nodes in scopes; one, `model/wide`, has so many children.

    Blocks of a dozen operations are chained, forty to a stage; some edges skip blocks. The children of the wide scope
    are small scopes, each fed by one of the thirty before it.
    """
    b = Builder()
    value = b.add("input", "Placeholder", shape=(-1, 64))
    value = _wide(b, value, wide)
    skipped = [value]
    block = 0
    while len(b.graph.node) < nodes - 4:
        scope = f"model/stage_{block // 40}/block_{block}"
        value = _block(b, scope, value, skipped[-min(len(skipped), 1 + block * 7 % 5)])
        skipped = [*skipped[-8:], value]
        block += 1
    b.add("loss", "Mean", [value], ())
    return b.graph


def _wide(b: Builder, value: str, children: int) -> str:
    ends = [value]
    for child in range(children):
        scope = f"model/wide/unit_{child}_{_word(child)}"
        source = ends[-1 - child * 17 % min(len(ends), 30)]
        product = b.add(f"{scope}/MatMul", "MatMul", [source, b.variable(f"{scope}/kernel", (64, 64))], (-1, 64))
        ends.append(b.add(f"{scope}/Relu", "Relu", [product], (-1, 64)))
    return b.add("model/concat", "ConcatV2", ends[-30:], (-1, 1920))


def _word(number: int) -> str:
    """So that children are no series."""
    return "".join(chr(ord("a") + number // 26**place % 26) for place in range(3))


def _block(b: Builder, scope: str, value: str, other: str) -> str:
    value = b.dense(f"{scope}/dense", value, 64, 64, (-1,))
    value = b.add(f"{scope}/Relu", "Relu", [value], (-1, 64))
    return b.add(f"{scope}/add", "AddV2", [value, other], (-1, 64))
