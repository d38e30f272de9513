"""An application that serves the page, its scripts and its styles while everything else is still being imported."""

from dash import html
from fastapi import FastAPI

from stepscope.dashboard.page.assets import PageAssets
from stepscope.dashboard.page.document import make_page
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.compression import Compression
from stepscope.dashboard.server.work import RequestAtHand


class Front:
    """The page without a layout, and its files, as a separate application.

    Args:
        access: who may use it, which the caller enforces; its prefix is in the addresses.
        title: title of the browser tab.
    """

    def __init__(self, access: Access, title: str) -> None:
        self.assets = PageAssets()
        self.app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        self.app.include_router(self.assets.router())
        page = make_page(self.app, access, self.assets, title)
        page.layout = html.Div()
        self.app.add_middleware(RequestAtHand)
        self.app.add_middleware(Compression)
        self.scripts = page.csp_hashes()
        """Hashes of the page's inline scripts, for its content security policy."""
