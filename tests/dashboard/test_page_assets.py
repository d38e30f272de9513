"""The page's own scripts and styles: bundled from their modules, and addressed by content."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import brotli
import dash
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from stepscope.dashboard.page import bundle
from stepscope.dashboard.page.assets import PageAssets
from stepscope.summary.errors import UserError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A page with a start and a panel, part of it fetched later, a style for each and two icons."""
    files = {
        "web/page/start.ts": 'import { two } from "../core/two.ts";\nexport const start = () => console.log(two);\n',
        "web/debug.ts": "export const expose = (panels: object) => console.log(panels);\n",
        "web/core/two.ts": "export const two: number = 1 + 1;\n",
        "web/core/two.test.ts": "throw new Error();\n",
        "web/page/frame.css": "body { color: red; }\n",
        "web/icons/plus.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
        "panels/far/web/index.ts": 'void import("./mount.ts");\n',
        "panels/far/web/handles.ts": "export const far = 1;\n",
        "panels/far/web/mount.ts": 'console.log("far");\n',
        "panels/far/web/far.css": "b { color: blue; }\n",
        "panels/far/web/icon.svg": "<svg/>\n",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


def made(root: Path, variant: str = bundle.SHIPPED) -> dict[str, str]:
    """The files of the bundle, decompressed, under names without the digests of chunks."""
    found = {}
    for path in bundle.folder_of(variant, root).glob("*.br"):
        found[re.sub(r"-\w+\.", ".", path.stem)] = brotli.decompress(path.read_bytes()).decode().strip()
    return found


def test_modules_and_styles_become_small_files(root: Path) -> None:
    bundle.make(bundle.SHIPPED, root)
    found = made(root)
    assert set(found) == {"main.js", "mount.js", "page.css"}
    assert found["mount.js"] == 'console.log("far");'
    assert re.fullmatch(r'import\("\./mount-\w+\.js"\);var (\w)=\(\)=>console\.log\(2\);\1\(\);', found["main.js"])
    far = "url(data:image/svg+xml,%3Csvg/%3E)"
    plus = r"url(data:image/svg+xml,%3Csvg\ xmlns=%22http://www.w3.org/2000/svg%22/%3E)"
    assert found["page.css"] == f":root{{--icon-far: {far};--icon-plus: {plus}}}b{{color:#00f}}body{{color:red}}"


def test_the_variant_for_tests_has_the_handles_of_panels(root: Path) -> None:
    bundle.make(bundle.DEBUG, root)
    assert re.search(r"\{far:\(\)=>(\w)\}\);var \1=1;", made(root, bundle.DEBUG)["debug.js"])


def test_a_bundle_is_current_until_something_changes(root: Path) -> None:
    assert not bundle.is_current(bundle.SHIPPED, root)
    bundle.make(bundle.SHIPPED, root)
    assert bundle.is_current(bundle.SHIPPED, root)
    (root / "web/core/two.test.ts").write_text("// of no bundle")
    assert bundle.is_current(bundle.SHIPPED, root)
    for name in ("web/core/two.ts", "panels/far/web/far.css", "panels/far/web/icon.svg"):
        before = (root / name).read_text()
        (root / name).write_text(before + "\n")
        assert not bundle.is_current(bundle.SHIPPED, root), name
        (root / name).write_text(before)
    (root / "panels/far/web/more.ts").write_text("export {};\n")
    assert not bundle.is_current(bundle.SHIPPED, root)


def test_what_another_process_is_making_is_no_part_of_a_bundle(root: Path) -> None:
    bundle.make(bundle.SHIPPED, root)
    before = (bundle.modules(root), bundle.styles(root))
    for name in ("main.ts", "page.css", "made/page.css", "made/chunk.ts"):
        path = root / "web/.bundle-other" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("/* half */")
    assert (bundle.modules(root), bundle.styles(root)) == before
    assert bundle.is_current(bundle.SHIPPED, root)


@pytest.mark.parametrize("place", [0, 3, -1])
def test_a_bundle_that_another_process_replaces_meanwhile_is_read_whole(
    root: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    expected = bundle.files_of(bundle.SHIPPED, root)
    folder = bundle.folder_of(bundle.SHIPPED, root)
    gone, read_bytes, left = sorted(expected)[place], Path.read_bytes, [1]

    def read_late(path: Path) -> bytes:
        if path == folder / gone and left:
            left.pop()
            folder.rename(root / "old")
            with pytest.raises(FileNotFoundError):
                read_bytes(path)
            shutil.copytree(root / "old", folder)
            raise FileNotFoundError(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", read_late)
    assert bundle.files_of(bundle.SHIPPED, root) == expected
    assert not left


def test_a_bundle_that_another_process_has_made_meanwhile_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, folder = subprocess.run, bundle.folder_of(bundle.SHIPPED, root)
    made_by_another: list[int] = []

    def run_beside_another(*arguments: Any, **options: Any) -> Any:
        if not made_by_another:
            made_by_another.append(0)
            bundle.make(bundle.SHIPPED, root)
            made_by_another[0] = folder.stat().st_ino
        return run(*arguments, **options)

    monkeypatch.setattr(subprocess, "run", run_beside_another)
    bundle.make(bundle.SHIPPED, root)
    assert made_by_another == [folder.stat().st_ino]


def test_an_installed_package_has_no_modules_and_its_bundle_is_current(root: Path) -> None:
    bundle.make(bundle.SHIPPED, root)
    for path in [*bundle.modules(root), *bundle.styles(root)]:
        path.unlink()
    assert bundle.is_current(bundle.SHIPPED, root)


def test_what_is_wrong_with_a_module_is_said(root: Path) -> None:
    (root / "web/core/two.ts").write_text("export const two = ;\n")
    with pytest.raises(bundle.BundleError, match=r"cannot be bundled:\n(?s:.*)two\.ts"):
        bundle.make(bundle.SHIPPED, root)
    assert not bundle.folder_of(bundle.SHIPPED, root).exists()


def test_without_deno_the_message_says_what_to_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "deno", None)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(bundle.BundleError, match=r"pip install"):
        bundle.make(bundle.SHIPPED, root)
    # In an application, too, it is a message for the user.
    monkeypatch.setattr(bundle, "is_current", lambda _variant, _root: False)
    with pytest.raises(UserError, match=r"pip install"):
        PageAssets(bundle.SHIPPED)


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    assets = PageAssets(bundle.SHIPPED)
    app.include_router(assets.router())
    app.state.assets = assets
    return TestClient(app)


def addresses(client: TestClient) -> list[str]:
    """Addresses in the page's head and foot."""
    assets = client.app.state.assets  # type: ignore[attr-defined]
    return re.findall(r'(?:href|src)="([^"]+)"', assets.head + assets.foot)


def test_what_the_page_names_is_kept_for_good_and_compressed(client: TestClient) -> None:
    named = addresses(client)
    assert [re.sub(r"^page/[0-9a-f]{16}/", "", address) for address in (named[0], named[1], named[-1])] == [
        "page.css",
        "main.js",
        "main.js",
    ]
    for address in named:
        for encoding, reported in (("br", "br"), ("gzip", "gzip"), ("identity", None)):
            answer = client.get(address, headers={"accept-encoding": encoding})
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.headers["vary"] == "Accept-Encoding"
            assert answer.headers.get("content-encoding") == reported
    assert client.get(named[0]).headers["content-type"] == "text/css; charset=utf-8"
    assert client.get(named[1]).headers["content-type"] == "text/javascript; charset=utf-8"


def test_the_shipped_page_has_no_handles_of_tests(client: TestClient) -> None:
    folder = bundle.folder_of(bundle.SHIPPED)
    texts = [path.read_text() for path in folder.glob("*.js")]
    assert not any("window.stepscope" in text for text in texts)
    assert sum(len(text) for text in texts) > 100_000


@pytest.mark.parametrize("name", ["absent.js", "../app.py", "%2e%2e/app.py", "main.ts"])
def test_there_is_nothing_else(client: TestClient, name: str) -> None:
    folder = addresses(client)[0].rpartition("/")[0]
    assert client.get(f"{folder}/{name}").status_code == 404


@pytest.mark.parametrize(
    "script",
    [
        "dash/dash-renderer/build/dash_renderer.min.js",
        "dash/dcc/dash_core_components.js",
        "dash_mantine_components/dash_mantine_components.js",
        "dash_ag_grid/dash_ag_grid.min.js",
    ],
)
def test_dashs_scripts_need_no_more_of_its_polyfills_than_the_page_gives(script: str) -> None:
    text = (Path(dash.__file__).parents[1] / script).read_text("utf-8")
    used = set(re.findall(r"regeneratorRuntime[.\w]*", text))
    assert used <= {"regeneratorRuntime.mark", "regeneratorRuntime.wrap"}
    # Without a list of `try`s, which the page's runtime does not support.
    plain = re.findall(r"regeneratorRuntime\.wrap\(function\(\w\)\{.{0,400}?\.stop\(\)\}\},\w\)", text)
    assert len(plain) == text.count("regeneratorRuntime.wrap(")
