"""A request by one process for a recording of another: how long to record, and what."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from stepscope.profiler.collectors.registry import all_collectors
from stepscope.profiler.options import ProfilerOptions
from stepscope.summary.errors import UserError

DEFAULT_PORT: Final = 6009
MOST_SECONDS: Final = 600
"""Maximum, because a recording is held in memory until it ends."""
MOST_STEPS: Final = 10_000
MOST_REQUEST_BYTES: Final = 64 << 10
EXAMPLE: Final = '{"duration_ms": 2000}'

_Milliseconds = Annotated[int, Meta(ge=1, le=MOST_SECONDS * 1000)]


class CaptureOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options of `profiler.ProfilerOptions`, with the same defaults."""

    host_tracer_level: Annotated[int, Meta(ge=0, le=3)] = 2
    python_tracer_level: Annotated[int, Meta(ge=0, le=1)] = 0
    device_tracer_level: Annotated[int, Meta(ge=0, le=1)] = 1
    delay_ms: Annotated[int, Meta(ge=0, le=MOST_SECONDS * 1000)] = 0


class CaptureRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request for a recording: the body of ``POST /capture`` as JSON."""

    duration_ms: _Milliseconds | None = None
    """How long to record; with `steps`, the maximum time until they are over."""
    steps: Annotated[int, Meta(ge=1, le=MOST_STEPS)] | None = None
    """How many complete training steps to record."""
    options: CaptureOptions = CaptureOptions()
    collectors: Annotated[list[str], Meta(max_length=32)] | None = None
    """Names from `stepscope.profiler.collectors.registry.all_collectors`; if absent, the options choose."""

    @property
    def seconds(self) -> float:
        """The maximum time from the first recorded moment to the last, including the delay."""
        milliseconds = MOST_SECONDS * 1000 if self.duration_ms is None else self.duration_ms
        return (milliseconds + self.options.delay_ms) / 1000

    def profiler_options(self) -> ProfilerOptions:
        """Return the options as `ProfilerOptions`."""
        options = self.options
        return ProfilerOptions(
            host_tracer_level=options.host_tracer_level,
            python_tracer_level=options.python_tracer_level,
            device_tracer_level=options.device_tracer_level,
            delay_ms=options.delay_ms or None,
        )


def parse_request(body: bytes) -> CaptureRequest:
    """Parse the body of a request.

    Raises:
        UserError: the body is not a request; the message states what was expected.
    """
    try:
        request = msgspec.json.decode(body, type=CaptureRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UserError(f"the request cannot be used: {error}. Expected JSON such as {EXAMPLE}.") from None
    return checked_request(request)


def checked_request(request: CaptureRequest) -> CaptureRequest:
    """Return the request unchanged.

    Raises:
        UserError: it specifies neither a duration nor a number of steps, or a collector is unknown or repeated.
    """
    if request.duration_ms is None and request.steps is None:
        raise UserError(f"the request has neither duration_ms nor steps. Expected JSON such as {EXAMPLE}.")
    names = request.collectors or []
    known = all_collectors() if names else {}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UserError(f"there is no collector {unknown[0][:80]!r}. Expected one or more of: {', '.join(known)}.")
    if len(set(names)) != len(names):
        raise UserError(f"a collector is named twice: {', '.join(names)}. Expected each once.")
    return request


def request_bytes(request: CaptureRequest) -> bytes:
    """Return the request as the body that `parse_request` reads."""
    return msgspec.json.encode(request)
