"""The exception that trace readers raise."""

from stepscope.summary.errors import UserError


class TraceError(UserError, ValueError):
    """Data to be read as a trace is not one in any known format."""
