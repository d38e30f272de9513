"""Compiles ``summary/proto/*.proto`` to the Python modules and stubs beside them.

The modules are without the check by which those of protobuf 6 refuse to be loaded by an older protobuf: TensorFlow 2.16
to 2.19 need protobuf 4 or 5 beside them, which read these descriptors as well (``make test-versions``).
"""

import argparse
import re
import sys
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

REPOSITORY = Path(__file__).resolve().parent.parent
PROTO_FOLDER = Path("stepscope/summary/proto")
_VERSION_CHECK = re.compile(
    r"^from google\.protobuf import runtime_version as _runtime_version\n"
    r"|^_runtime_version\.ValidateProtobufRuntimeVersion\((?:\n .*)+\n\)\n",
    re.MULTILINE,
)


def generate(output_root: Path) -> list[Path]:
    """Write ``*_pb2.py`` and ``*_pb2.pyi`` under ``output_root``, and return their paths relative to it.

    Raises:
        RuntimeError: the compiler rejected a file; its message is on standard error.
    """
    sources = sorted(str(p.relative_to(REPOSITORY)) for p in (REPOSITORY / PROTO_FOLDER).glob("*.proto"))
    well_known = resources.files("grpc_tools") / "_proto"
    includes = [f"-I{REPOSITORY}", f"-I{well_known}"]
    outputs = [f"--python_out={output_root}", f"--pyi_out={output_root}"]
    status = protoc.main(["protoc", *includes, *outputs, *sources])
    if status != 0:
        raise RuntimeError(f"protoc ended with status {status}")
    for module in (output_root / PROTO_FOLDER).glob("*_pb2.py"):
        text, checks = _VERSION_CHECK.subn("", module.read_text())
        if checks != 2:
            raise RuntimeError(f"{module.name} has no check of the version of protobuf where one was expected")
        module.write_text(text)
    return sorted(p.relative_to(output_root) for p in (output_root / PROTO_FOLDER).glob("*_pb2.py*"))


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for path in generate(REPOSITORY):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
