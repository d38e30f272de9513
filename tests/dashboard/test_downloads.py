import polars as pl

from stepscope.dashboard.export.tables import csv_lines, csv_pieces
from stepscope.dashboard.tensorboard.hparams.download import encoded

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
