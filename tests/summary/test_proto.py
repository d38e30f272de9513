import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, FileDescriptor
from tensorboard.compat.proto import config_pb2 as tensorboard_config
from tensorboard.compat.proto import (
    event_pb2,
    graph_pb2,
    meta_graph_pb2,
    step_stats_pb2,
    summary_pb2,
)
from tensorboard.plugins.audio import plugin_data_pb2 as audio_data
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.histogram import plugin_data_pb2 as histogram_data
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.image import plugin_data_pb2 as image_data
from tensorboard.plugins.mesh import plugin_data_pb2 as mesh_data
from tensorboard.plugins.pr_curve import plugin_data_pb2 as pr_curve_data
from tensorboard.plugins.projector import projector_config_pb2
from tensorboard.plugins.scalar import plugin_data_pb2 as scalar_data
from tensorboard.plugins.text import plugin_data_pb2 as text_data

import stepscope.summary.proto
from tools.generate_protos import generate

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(stepscope.summary.proto.__path__[0])

PEER_FILES = [
    module.DESCRIPTOR.name
    for module in (
        event_pb2,
        summary_pb2,
        graph_pb2,
        meta_graph_pb2,
        step_stats_pb2,
        tensorboard_config,
        audio_data,
        histogram_data,
        image_data,
        mesh_data,
        pr_curve_data,
        scalar_data,
        text_data,
        layout_pb2,
        api_pb2,
        plugin_data_pb2,
        projector_config_pb2,
    )
]


def test_generated_modules_are_current(tmp_path: Path) -> None:
    generated = generate(tmp_path)
    stored = sorted(p.relative_to(REPOSITORY) for p in FOLDER.glob("*_pb2.py*"))
    assert generated == stored
    for path in generated:
        assert (tmp_path / path).read_bytes() == (REPOSITORY / path).read_bytes(), f"{path}: run `make protos`"


def _all_messages(messages: Iterator[Descriptor]) -> Iterator[Descriptor]:
    for message in messages:
        yield message
        yield from _all_messages(iter(message.nested_types))


def _local_name(descriptor: Descriptor | EnumDescriptor) -> str:
    """The name without the top package; TensorBoard spreads over packages what is in one place here."""
    name = descriptor.full_name.partition(".")[2]
    for package in ("custom_scalars.", "mesh."):
        name = name.removeprefix(package)
    return name


def _peer_descriptors() -> tuple[dict[str, Descriptor], dict[str, EnumDescriptor]]:
    pool = descriptor_pool.Default()
    files, waiting = {}, list(PEER_FILES)
    while waiting:
        file = pool.FindFileByName(waiting.pop())
        if file.name not in files:
            files[file.name] = file
            waiting += [d.name for d in file.dependencies if d.name.startswith("tensorboard/")]
    messages = [m for f in files.values() for m in _all_messages(iter(f.message_types_by_name.values()))]
    enums = [e for f in files.values() for e in f.enum_types_by_name.values()]
    enums += [e for m in messages for e in m.enum_types]
    return {_local_name(m): m for m in messages}, {_local_name(e): e for e in enums}


PEER_MESSAGES, PEER_ENUMS = _peer_descriptors()


def _own_files() -> list[FileDescriptor]:
    stems = sorted(path.stem for path in FOLDER.glob("*.proto"))
    return [importlib.import_module(f"stepscope.summary.proto.{stem}_pb2").DESCRIPTOR for stem in stems]


def _own_messages() -> list[Descriptor]:
    """All messages except those of recordings, which only Stepscope has."""
    of_others = (file for file in _own_files() if file.package != "stepscope.debug")
    return list(_all_messages(m for f in of_others for m in f.message_types_by_name.values()))


def _own_enums() -> list[EnumDescriptor]:
    nested = [enum for message in _own_messages() for enum in message.enum_types]
    return nested + [enum for f in _own_files() for enum in f.enum_types_by_name.values()]


def _shape(field: FieldDescriptor) -> tuple[object, ...]:
    refers_to = field.message_type or field.enum_type
    oneof = field.containing_oneof.name if field.containing_oneof is not None else None
    kind = (field.name, field.type, field.is_repeated, field.is_packed, oneof)
    return (*kind, _local_name(refers_to) if refers_to is not None else None)


@pytest.mark.parametrize("message", _own_messages(), ids=_local_name)
def test_messages_are_wire_compatible_with_those_of_the_same_name(message: Descriptor) -> None:
    if _local_name(message) not in PEER_MESSAGES:
        assert _local_name(message) in NOT_IN_TENSORBOARD
        return
    theirs = PEER_MESSAGES[_local_name(message)]
    own_fields = {f.number: _shape(f) for f in message.fields}
    peer_fields = {f.number: _shape(f) for f in theirs.fields}
    assert own_fields.items() >= peer_fields.items()


@pytest.mark.parametrize("enum", _own_enums(), ids=_local_name)
def test_enums_have_the_numbers_of_those_of_the_same_name(enum: EnumDescriptor) -> None:
    if _local_name(enum) not in PEER_ENUMS:
        assert _local_name(enum) in NOT_IN_TENSORBOARD
        return
    own_numbers = {v.number: v.name for v in enum.values}
    assert own_numbers.items() >= {v.number: v.name for v in PEER_ENUMS[_local_name(enum)].values}.items()


NOT_IN_TENSORBOARD = {
    "BundleEntryProto",
    "BundleHeaderProto",
    "CodeLocation",
    "DebugEvent",
    "DebugMetadata",
    "DebuggedDevice",
    "DebuggedGraph",
    "Execution",
    "GraphExecutionTrace",
    "GraphOpCreation",
    "SavedModel",
    "SavedSlice",
    "SavedSliceMeta",
    "SavedTensorSliceMeta",
    "SavedTensorSlices",
    "SourceFile",
    "StackFrameWithId",
    "TensorDebugMode",
    "TensorSliceProto",
    "TensorSliceProto.Extent",
    "XEvent",
    "XEventMetadata",
    "XLine",
    "XPlane",
    "XPlane.EventMetadataEntry",
    "XPlane.StatMetadataEntry",
    "XSpace",
    "XStat",
    "XStatMetadata",
}
"""Messages and enums of TensorFlow's that TensorBoard does not carry."""


@pytest.mark.parametrize(
    "order",
    [
        "stepscope.summary.proto.event_pb2, tensorboard.compat.proto.event_pb2, tensorboardX",
        "tensorboardX, tensorboard.compat.proto.event_pb2, stepscope.summary.proto.event_pb2",
        "tensorboard.compat.proto.event_pb2, stepscope.summary.proto.event_pb2, tensorboardX",
    ],
)
def test_other_packages_import_beside_ours(order: str) -> None:
    script = f"import {order}\nassert stepscope.summary.proto.event_pb2.Event(step=3).step == 3"
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_writer_loads_nothing_heavy() -> None:
    script = (
        "import sys, summary\n"
        "print(sorted({'numba', 'torch', 'dash', 'tensorflow', 'pandas', 'tensorboard'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
