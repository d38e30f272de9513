"""Makes the bundle of the page's scripts from their modules, with Deno.

The package is built with it (hatch_build.py), and a checkout whose modules have changed makes it anew at the start. It
needs nothing but the standard library, so that it runs where the package is not installed yet.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent
"""The folder whose ``web`` folders, its own and those of its rooms and panels, hold the modules."""
SHIPPED: Final = "main"
"""What users get."""
DEBUG: Final = "debug"
"""The same, with handles for tests and benchmarks on ``window.stepscope``."""
_ENTRIES: Final = {SHIPPED: "web/main.ts", DEBUG: "web/debug.ts"}
_STAMP: Final = "modules.txt"


class BundleError(Exception):
    """The bundle cannot be made; the message is a sentence for a person."""


def folder_of(variant: str, root: Path = ROOT) -> Path:
    """Where a variant's bundle lies: the entry ``VARIANT.js``, its chunks, and each of them compressed."""
    return root / "web" / f"{variant}_bundle"


def modules(root: Path = ROOT) -> list[Path]:
    """The modules of the page; none where the package was installed without them."""
    return sorted(path for path in _sources(root, "*.ts") if not path.parent.name.endswith("_bundle"))


def styles(root: Path = ROOT) -> list[Path]:
    """The style sheets, in the order in which they apply: by name, so that the page's own come before the panels'."""
    return sorted(_sources(root, "*.css"), key=lambda path: path.name)


def _sources(root: Path, pattern: str) -> Iterator[Path]:
    for folder in (root / "web", *root.glob("*/web"), *root.glob("panels/*/web")):
        yield from folder.rglob(pattern)


def is_current(variant: str, root: Path = ROOT) -> bool:
    """Whether the bundle is that of the modules as they are; without modules any bundle is."""
    stamp = folder_of(variant, root) / _STAMP
    if not stamp.is_file():
        return False
    sources = modules(root)
    return not sources or stamp.read_text("ascii") == _digest(sources, root)


def make(variant: str, root: Path = ROOT) -> None:
    """Bundle, minify and compress the modules.

    Raises:
        BundleError: Deno is not there, or finds something wrong with them.
    """
    target = folder_of(variant, root)
    digest = _digest(modules(root), root)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".bundle-") as scratch:
        made = Path(scratch) / "made"
        entry = _ENTRIES[variant]
        command = [deno(), "bundle", "--quiet", "--platform", "browser", "--minify", "--code-splitting"]
        done = subprocess.run(
            [*command, "--outdir", str(made), entry],
            cwd=root,
            env={**os.environ, "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not (made / f"{variant}.js").is_file():
            raise BundleError(f"The page's scripts cannot be bundled:\n{done.stderr.strip()}")
        for path in list(made.glob("*.js")):
            compress(path)
        (made / _STAMP).write_text(digest, "ascii")
        if target.exists():
            with suppress(FileNotFoundError):
                target.rename(Path(scratch) / "old")
        try:
            made.rename(target)
        except OSError:
            # Another process has made the same meanwhile.
            if not is_current(variant, root):
                raise


def compress(path: Path) -> None:
    """Write the file compressed beside it: ``.gz``, and ``.br`` where Brotli is installed."""
    content = path.read_bytes()
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(content, 9, mtime=0))
    try:
        import brotli
    except ImportError:
        return
    path.with_name(f"{path.name}.br").write_bytes(brotli.compress(content))


def _digest(sources: Iterable[Path], root: Path) -> str:
    found = hashlib.blake2b(digest_size=16)
    for path in sources:
        content = path.read_bytes()
        found.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def deno() -> str:
    try:
        from deno import find_deno_bin
    except ImportError:
        found = shutil.which("deno")
        if found is None:
            raise BundleError(
                "The page's scripts have changed, and Deno is not there to bundle them: run "
                "`pip install --editable .` again, or `pip install deno`."
            ) from None
        return found
    return str(find_deno_bin())
