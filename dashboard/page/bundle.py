"""Builds the bundle of the page's scripts from their modules, with Deno.

The package build uses it (hatch_build.py), and a checkout whose modules have changed rebuilds the bundle at the start.
It needs only Brotli and the standard library, as it also runs before the package is installed.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import brotli

ROOT: Final = Path(__file__).resolve().parents[1]
"""The folder whose ``web`` folders, including those of its subfolders and panels, hold the modules."""
STYLE: Final = "page.css"
SHIPPED: Final = "main"
"""The variant that users get."""
DEBUG: Final = "debug"
"""The same variant, with handles for tests and benchmarks on ``window.stepscope``."""
_STAMP: Final = "modules.txt"
_SCRATCH: Final = ".bundle-"


class BundleError(Exception):
    """The bundle cannot be built; the message is a readable sentence."""


def folder_of(variant: str, root: Path = ROOT) -> Path:
    """Return the folder of a variant's bundle: the entry ``VARIANT.js``, its chunks, and compressed copies of each."""
    return root / "web" / f"{variant}_bundle"


def modules(root: Path = ROOT) -> list[Path]:
    """Return the modules of the page without their tests; empty if the package was installed without modules."""
    return sorted(path for path in _sources(root, ".ts") if not path.name.endswith(".test.ts"))


def styles(root: Path = ROOT) -> list[Path]:
    """Return the style sheets in the order in which they apply: by name, so that the page's precede the panels'."""
    return sorted(_sources(root, ".css"), key=lambda path: path.name)


def icons(root: Path = ROOT) -> dict[str, Path]:
    """Return the icons by name."""
    files = {path.stem: path for path in root.glob("web/icons/*.svg")}
    return files | {path.parent.parent.name: path for path in root.glob("panels/*/web/icon.svg")}


def _sources(root: Path, suffix: str) -> Iterator[Path]:
    """Yield the hand-written files: no bundle, nor files that another process is building and may remove meanwhile."""
    for top in (root / "web", *root.glob("*/web"), *root.glob("panels/*/web")):
        for parent, folders, names in os.walk(top):
            folders[:] = [name for name in folders if not name.startswith(_SCRATCH) and not name.endswith("_bundle")]
            yield from (Path(parent, name) for name in names if name.endswith(suffix))


def is_current(variant: str, root: Path = ROOT) -> bool:
    """Return whether the bundle matches the current modules and styles; without modules, any bundle does."""
    try:
        stamp = (folder_of(variant, root) / _STAMP).read_text("ascii")
    except FileNotFoundError:
        return False
    return not modules(root) or stamp == _digest(root)


def files_of(variant: str, root: Path = ROOT) -> dict[str, bytes]:
    """Return the contents of the bundle's files by name; a bundle that is not current is made first.

    Raises:
        BundleError: the bundle cannot be made.
    """
    while True:
        if not is_current(variant, root):
            make(variant, root)
        # A file may be gone: another process, which began to make the bundle before it was current, replaces it.
        with suppress(FileNotFoundError):
            files = {path.name: path.read_bytes() for path in sorted(folder_of(variant, root).glob("*.*"))}
            if _STAMP in files:
                return files


def entry_of(variant: str, root: Path = ROOT) -> str:
    """Return the source of the module that starts the page, for a folder of ``web``; it imports panels by folder."""
    folders = [path.parent for path in sorted(root.glob("panels/*/web/index.ts"))]
    lines = [f'import "../../{(folder / "index.ts").relative_to(root).as_posix()}";' for folder in folders]
    lines.append('import { start } from "../page/start.ts";')
    if variant == DEBUG:
        with_handles = [folder for folder in folders if (folder / "handles.ts").is_file()]
        lines.append('import { expose } from "../debug.ts";')
        lines += [
            f'import * as panel_{folder.parent.name} from "../../{path.relative_to(root).as_posix()}";'
            for folder in with_handles
            for path in (folder / "handles.ts",)
        ]
        # A panel's name may be a reserved word.
        names = [f"{folder.parent.name}: panel_{folder.parent.name}" for folder in with_handles]
        lines.append(f"expose({{ {', '.join(names)} }});")
    return "\n".join([*lines, "start();", ""])


def make(variant: str, root: Path = ROOT) -> None:
    """Bundle, minify and compress the modules and the styles.

    Raises:
        BundleError: Deno is missing, or finds an error in them.
    """
    target = folder_of(variant, root)
    digest = _digest(root)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=_SCRATCH) as scratch:
        made = Path(scratch) / "made"
        entry = Path(scratch) / f"{variant}.ts"
        entry.write_text(entry_of(variant, root), "utf-8")
        sheet = Path(scratch) / STYLE
        sheet.write_text(
            "\n".join([_icon_properties(root), *(path.read_text("utf-8") for path in styles(root))]), "utf-8"
        )
        command = [deno(), "bundle", "--quiet", "--platform", "browser", "--minify", "--code-splitting"]
        for source in (entry, sheet):
            done = subprocess.run(
                [*command, "--outdir", str(made), str(source)],
                cwd=root,
                env={**os.environ, "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise BundleError(f"The page's scripts cannot be bundled:\n{done.stderr.strip()}")
        if not {f"{variant}.js", STYLE} <= {path.name for path in made.iterdir()}:
            raise BundleError("The page's scripts cannot be bundled: Deno wrote unexpected files.")
        for path in list(made.iterdir()):
            compress(path)
        (made / _STAMP).write_text(digest, "ascii")
        if is_current(variant, root):
            return  # Another process has made it meanwhile.
        if target.exists():
            with suppress(FileNotFoundError):
                target.rename(Path(scratch) / "old")
        try:
            made.rename(target)
        except OSError:
            # Another process has made the same bundle meanwhile.
            if not is_current(variant, root):
                raise


def _icon_properties(root: Path) -> str:
    """Return the properties ``--icon-NAME`` of the page; an ``icon.svg`` belongs to its panel."""
    properties = (
        f"""--icon-{name}: url("data:image/svg+xml,{quote(path.read_text("utf-8").strip(), safe=" =:/'")}");"""
        for name, path in sorted(icons(root).items())
    )
    return ":root {" + "\n".join(properties) + "}"


def compress(path: Path) -> None:
    """Write compressed copies beside the file: ``.gz`` and ``.br``."""
    content = path.read_bytes()
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(content, 9, mtime=0))
    path.with_name(f"{path.name}.br").write_bytes(brotli.compress(content))


def _digest(root: Path) -> str:
    found = hashlib.blake2b(digest_size=16)
    for path in (*modules(root), *styles(root), *icons(root).values()):
        content = path.read_bytes()
        found.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def deno() -> str:
    """Return the path of Deno: from the package ``deno``, else from the search path.

    Raises:
        BundleError: Deno is in neither place.
    """
    with suppress(ImportError, FileNotFoundError):
        # This looks for Deno beside the interpreter; in an isolated build, it is only on the path.
        from deno import find_deno_bin

        return str(find_deno_bin())
    found = shutil.which("deno")
    if found is None:
        raise BundleError(
            "The page's scripts have changed, and Deno is not there to bundle them: run "
            "`pip install --editable .` again, or `pip install deno`."
        )
    return found
