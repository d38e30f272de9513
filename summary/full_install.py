"""Packages that an installation may lack, and the errors raised if something needs them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final

from stepscope.summary.errors import UserError

_DISTRIBUTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {"PIL": "Pillow", "av": "PyAV", "backports": "backports.zstd", "sklearn": "scikit-learn"}
)
"""Names by which packages are installed, if they differ from the import names."""


SCIKIT_LEARN: Final = "stepscope[scikit-learn]"
"""What to install for clusters of points and for forests over hyperparameters."""


class NotInstalledError(UserError, ImportError):
    """Something needs a package that is not installed and that `stepscope`, or an extra, provides."""


def needs_full_install(what: str) -> AbstractContextManager[None]:
    """Import, in the block, packages that `stepscope-core` does not include.

    Args:
        what: what needs the packages, as the beginning of a sentence.

    Raises:
        NotInstalledError: a package is not installed; the message, one sentence, says which, and what to install.
    """
    return _named(
        lambda package: f"{what} needs {package}, which stepscope-core does not include. Run: pip install stepscope"
    )


def needs_extra(what: str, requirement: str) -> AbstractContextManager[None]:
    """Import, in the block, packages that an extra provides.

    Args:
        what: what needs the packages, as the beginning of a sentence.
        requirement: what to install, such as ``stepscope-core[images]``.

    Raises:
        NotInstalledError: a package is not installed; the message, one sentence, says which, and what to install.
    """
    return _named(lambda package: f"{what} needs {package}. Run: pip install '{requirement}'")


def check_extra(what: str, package: str, requirement: str) -> None:
    """Raise the error of `needs_extra` if ``package`` is not installed, without importing it."""
    with needs_extra(what, requirement):
        if find_spec(package) is None:
            raise ModuleNotFoundError(name=package)


@contextmanager
def _named(sentence: Callable[[str], str]) -> Iterator[None]:
    try:
        yield
    except NotInstalledError:
        raise
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "stepscope":
            raise
        raise NotInstalledError(sentence(_DISTRIBUTIONS.get(package, package))) from error
