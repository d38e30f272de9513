"""What a trace reader raises."""

from stepscope.summary.errors import UserError


class TraceError(UserError, ValueError):
    """Data that was to be read as a trace is none in any known format."""
