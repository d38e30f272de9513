"""The trace library: record steps, read every trace format, analyse, level of detail."""

from profiler.session import Profile, annotate, start, step, stop

__all__ = ["Profile", "annotate", "start", "step", "stop"]
