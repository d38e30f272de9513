"""The trace library: record steps, read every trace format, analyze, level of detail."""

from stepscope.profiler.collectors.data_loading import data_loading
from stepscope.profiler.options import ProfilerOptions
from stepscope.profiler.process import AlreadyStartedError, NotStartedError, Profile, annotate, start, step, stop
from stepscope.profiler.schedules import ProfilerAction, schedule
from stepscope.profiler.session import Recording

__all__ = [
    "AlreadyStartedError",
    "NotStartedError",
    "Profile",
    "ProfilerAction",
    "ProfilerOptions",
    "Recording",
    "annotate",
    "data_loading",
    "schedule",
    "start",
    "step",
    "stop",
]
