"""Makes the bundle of the page's scripts while the package is built."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageBundleHook(BuildHookInterface):  # type: ignore[type-arg]
    """Bundles before anything is packed; an editable installation uses the same folder."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "sdist":
            return
        root = (Path(self.root) / "stepscope" / "dashboard").resolve()
        spec = importlib.util.spec_from_file_location("bundle", root / "page" / "bundle.py")
        assert spec is not None
        assert spec.loader is not None
        bundle = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = bundle
        spec.loader.exec_module(bundle)
        if not bundle.is_current(bundle.SHIPPED, root):
            bundle.make(bundle.SHIPPED, root)
