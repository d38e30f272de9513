"""What the distribution stepscope-core does without, and what is said where something needs it."""

from collections.abc import Iterator
from contextlib import contextmanager

from stepscope.summary.errors import UserError


class NotInstalledError(UserError, ImportError):
    """Something needs a package that `stepscope` brings and `stepscope-core` does not."""


@contextmanager
def needs_full_install(what: str) -> Iterator[None]:
    """Import in the block what `stepscope-core` does without.

    Args:
        what: what is done with it, as the beginning of a sentence.

    Raises:
        NotInstalledError: a package is not installed; one sentence that says which, and what to install.
    """
    try:
        yield
    except NotInstalledError:
        raise
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "stepscope":
            raise
        raise NotInstalledError(
            f"{what} needs {package}, which stepscope-core does without. Run: pip install stepscope"
        ) from error
