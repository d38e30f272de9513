from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DebugTensor(_message.Message):
    __slots__ = ("number", "name", "phase", "module", "op_type", "slot", "dtype", "shape", "has_shape", "stack", "inputs", "device")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    OP_TYPE_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    HAS_SHAPE_FIELD_NUMBER: _ClassVar[int]
    STACK_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    number: int
    name: str
    phase: str
    module: str
    op_type: str
    slot: int
    dtype: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    has_shape: bool
    stack: int
    inputs: _containers.RepeatedScalarFieldContainer[int]
    device: str
    def __init__(self, number: _Optional[int] = ..., name: _Optional[str] = ..., phase: _Optional[str] = ..., module: _Optional[str] = ..., op_type: _Optional[str] = ..., slot: _Optional[int] = ..., dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., has_shape: bool = ..., stack: _Optional[int] = ..., inputs: _Optional[_Iterable[int]] = ..., device: _Optional[str] = ...) -> None: ...

class DebugFrame(_message.Message):
    __slots__ = ("number", "path", "line", "function", "code")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    number: int
    path: str
    line: int
    function: str
    code: str
    def __init__(self, number: _Optional[int] = ..., path: _Optional[str] = ..., line: _Optional[int] = ..., function: _Optional[str] = ..., code: _Optional[str] = ...) -> None: ...

class DebugStack(_message.Message):
    __slots__ = ("number", "frames")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    number: int
    frames: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, number: _Optional[int] = ..., frames: _Optional[_Iterable[int]] = ...) -> None: ...

class DebugSource(_message.Message):
    __slots__ = ("path", "text", "host")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    path: str
    text: str
    host: str
    def __init__(self, path: _Optional[str] = ..., text: _Optional[str] = ..., host: _Optional[str] = ...) -> None: ...

class DebugCatalog(_message.Message):
    __slots__ = ("recording", "source", "tensors", "frames", "stacks", "sources", "notes")
    RECORDING_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TENSORS_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    STACKS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    recording: int
    source: str
    tensors: _containers.RepeatedCompositeFieldContainer[DebugTensor]
    frames: _containers.RepeatedCompositeFieldContainer[DebugFrame]
    stacks: _containers.RepeatedCompositeFieldContainer[DebugStack]
    sources: _containers.RepeatedCompositeFieldContainer[DebugSource]
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, recording: _Optional[int] = ..., source: _Optional[str] = ..., tensors: _Optional[_Iterable[_Union[DebugTensor, _Mapping]]] = ..., frames: _Optional[_Iterable[_Union[DebugFrame, _Mapping]]] = ..., stacks: _Optional[_Iterable[_Union[DebugStack, _Mapping]]] = ..., sources: _Optional[_Iterable[_Union[DebugSource, _Mapping]]] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class DebugStep(_message.Message):
    __slots__ = ("recording", "count", "columns", "content", "tensors")
    RECORDING_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TENSORS_FIELD_NUMBER: _ClassVar[int]
    recording: int
    count: int
    columns: str
    content: bytes
    tensors: int
    def __init__(self, recording: _Optional[int] = ..., count: _Optional[int] = ..., columns: _Optional[str] = ..., content: _Optional[bytes] = ..., tensors: _Optional[int] = ...) -> None: ...

class DebugAlert(_message.Message):
    __slots__ = ("rule", "tensor", "message", "figures")
    class FiguresEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    RULE_FIELD_NUMBER: _ClassVar[int]
    TENSOR_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIGURES_FIELD_NUMBER: _ClassVar[int]
    rule: str
    tensor: int
    message: str
    figures: _containers.ScalarMap[str, float]
    def __init__(self, rule: _Optional[str] = ..., tensor: _Optional[int] = ..., message: _Optional[str] = ..., figures: _Optional[_Mapping[str, float]] = ...) -> None: ...

class DebugAlerts(_message.Message):
    __slots__ = ("recording", "alerts")
    RECORDING_FIELD_NUMBER: _ClassVar[int]
    ALERTS_FIELD_NUMBER: _ClassVar[int]
    recording: int
    alerts: _containers.RepeatedCompositeFieldContainer[DebugAlert]
    def __init__(self, recording: _Optional[int] = ..., alerts: _Optional[_Iterable[_Union[DebugAlert, _Mapping]]] = ...) -> None: ...
