"""Meshes as bytes: for the page to draw, and as PLY files."""

import numpy as np

from stepscope.dashboard.panels.mesh.geometry import Geometry, Rows, bytes_of_colors, valid_faces
from stepscope.dashboard.panels.mesh.messages import ColumnPlaces, MeshFacts, MeshHeader, PackedMesh
from stepscope.dashboard.server.binary import ColumnPack
from stepscope.dashboard.server.numbers import json_number


def pack(header: MeshHeader, geometry: Geometry | None) -> bytes:
    """Return the header and columns for ``mesh/web/geometry.ts``, packed as in `stepscope.dashboard.server.binary`.

    ``header["columns"]`` has the places of the existing columns among float32 "positions" [3 n], uint32 "faces" [3 m],
    uint8 "colors" [4 n] and float32 "moved" [n].
    """
    columns = ColumnPack()
    places: ColumnPlaces = {}
    if geometry is not None:
        places["positions"] = columns.add(geometry.positions.ravel())
        if geometry.faces is not None:
            places["faces"] = columns.add(geometry.faces.ravel())
        if geometry.colors is not None:
            places["colors"] = columns.add(geometry.colors.ravel())
        if geometry.moved is not None:
            places["moved"] = columns.add(geometry.moved.distances.ravel())
    packed: PackedMesh = {**header, "columns": places}
    return columns.body(packed)


def describe(geometry: Geometry) -> MeshFacts:
    """Return the facts about a mesh that are sent to the page besides its columns."""
    moved = geometry.moved
    return {
        "vertices": geometry.vertices,
        "faces": geometry.face_count,
        "every": geometry.every,
        "origin": geometry.origin.tolist(),
        "low": geometry.low.tolist(),
        "high": geometry.high.tolist(),
        "moved": None if moved is None else {"mean": json_number(moved.mean), "most": json_number(moved.most)},
    }


def ply(vertices: Rows, faces: Rows | None, colors: Rows | None) -> bytes:
    """Return a binary PLY file of a whole mesh, with every vertex as written, including NaN.

    Faces that refer to vertices that do not exist, which PLY readers refuse, are left out, as a comment in the file
    notes; so are colors if their number differs from that of the vertices. The format: G. Turk, "The PLY Polygon File
    Format", 1994.
    """
    head = ["ply", "format binary_little_endian 1.0", "comment written by Stepscope"]
    fields: list[tuple[str, str] | tuple[str, str, tuple[int, ...]]] = [("place", "<f4", (3,))]
    body = [f"property float {axis}" for axis in "xyz"]
    if colors is not None and len(colors) != len(vertices):
        head.append(f"comment {len(colors)} colors do not fit {len(vertices)} vertices and are left out")
        colors = None
    if colors is not None:
        fields.append(("shade", "u1", (3,)))
        body += [f"property uchar {name}" for name in ("red", "green", "blue")]
    points = np.empty(len(vertices), np.dtype(fields))
    with np.errstate(over="ignore"):
        points["place"] = vertices
    if colors is not None:
        points["shade"] = bytes_of_colors(colors)[0]
    triangles = b""
    if faces is not None:
        valid = valid_faces(faces, len(vertices))
        if not valid.all():
            head.append(f"comment {int((~valid).sum())} faces that point outside the vertices are left out")
        rows = np.empty(int(valid.sum()), np.dtype([("corners", "u1"), ("places", "<u4", (3,))]))
        rows["corners"] = 3
        rows["places"] = faces[valid]
        body += [f"element face {len(rows)}", "property list uchar uint vertex_indices"]
        triangles = rows.tobytes()
    lines = [*head, f"element vertex {len(vertices)}", *body, "end_header"]
    return "".join(f"{line}\n" for line in lines).encode("ascii") + points.tobytes() + triangles
