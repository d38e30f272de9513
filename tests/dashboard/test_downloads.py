from pathlib import Path

import polars as pl

from stepscope.dashboard.export.tables import csv_lines, csv_pieces
from stepscope.dashboard.tensorboard.hparams.download import encoded
from stepscope.summary import SummaryWriter, open_logdir

TEXTS = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "-1.5", "+3e5", "-inf", "x=1", ""]
HARMLESS = ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "'\rx", "-1.5", "+3e5", "-inf", "x=1", ""]


def test_no_text_is_a_formula_in_any_csv() -> None:
    frame = pl.DataFrame({"=name": TEXTS, "number": [-0.5] * len(TEXTS)})
    assert list(csv_lines(["=name"], [[-1.5], ["-x"]])) == ["'=name\r\n-1.5\r\n'-x\r\n"]
    assert list(encoded(["-name"], [["=x"], [-2]], "csv")) == ["'-name\r\n'=x\r\n-2\r\n"]
    expected = pl.DataFrame({"'=name": HARMLESS, "number": [-0.5] * len(TEXTS)})
    assert b"".join(csv_pieces(frame)) == expected.write_csv().encode()
    assert b"".join(csv_pieces(frame, exact=True)) == frame.write_csv().encode()
    # A cell of bytes is base64, which may begin with a plus.
    assert b"".join(csv_pieces(pl.DataFrame({"b": [b"\xf8\x00"]}))) == b"b\n+AA=\n"


def test_no_run_or_tag_is_a_formula_in_csv(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path / "+run") as writer:
        writer.add_scalar("=1+1", 0.5, 3, walltime=100.0)
    scalars = open_logdir(tmp_path).scalars()
    assert b"".join(csv_pieces(scalars)) == b"run,tag,step,wall_time,value\n'+run,'=1+1,3,100.0,0.5\n"
    assert b"".join(csv_pieces(scalars, exact=True)) == b"run,tag,step,wall_time,value\n+run,=1+1,3,100.0,0.5\n"
    kinds = pl.DataFrame({"kind": ["@x", None]}, schema={"kind": pl.Enum(["@x"])})
    assert b"".join(csv_pieces(kinds)) == b"kind\n'@x\n\n"
