"""The functions of TensorFlow 2's ``tf.summary.experimental``."""

from stepscope.summary.v2.state import get_step, set_step, summary_scope
from stepscope.summary.v2.writing import write_raw_pb

__all__ = ["get_step", "set_step", "summary_scope", "write_raw_pb"]
