"""The page's HTML: Dash's, with Stepscope's scripts and styles; it depends only on what is installed."""

import re
from collections.abc import Callable
from functools import cached_property, wraps
from inspect import iscoroutinefunction
from typing import Any, Final

# These imports tell Dash which scripts their components need.
import dash_ag_grid  # noqa: F401
import dash_mantine_components  # noqa: F401
from dash import Dash
from fastapi import FastAPI

from stepscope.dashboard.page.assets import ICONS, PageAssets
from stepscope.dashboard.page.markup import MarkupMaker
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.page_title import title_element

INDEX: Final = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
{%title%}
<link rel="icon" type="image/svg+xml" href="assets/favicon.svg">
{%css%}
<!-- page styles -->
</head>
<body>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}<!-- page scripts --></footer>
</body>
</html>
"""
NEEDLESS_SCRIPTS: Final = re.compile(r'<script src="[^"]*/(?:deps/polyfill@|dash_table/)[^"]*"></script>\n?')
"""Dash scripts for browsers without modules (see web/core/old_generators.ts), and for a table that no panel uses."""


class Page(Dash):  # type: ignore[misc]
    """A Dash application without the scripts and components that its page does not need."""

    @cached_property
    def markup(self) -> MarkupMaker:
        """Converts elements that no callback uses to markup."""
        return MarkupMaker(self._callback_list)

    def callback(self, *arguments: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
        """Register a callback whose results are converted to markup."""
        register = super().callback(*arguments, **options)
        return lambda function: register(self._with_markup(function))

    def _with_markup(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if iscoroutinefunction(function):

            @wraps(function)
            async def awaited(*values: Any, **named: Any) -> Any:
                return self.markup.of_answer(await function(*values, **named))

            return awaited

        @wraps(function)
        def answered(*values: Any, **named: Any) -> Any:
            return self.markup.of_answer(function(*values, **named))

        return answered

    def interpolate_index(self, **parts: str) -> str:
        """Return the page's HTML."""
        scripts = NEEDLESS_SCRIPTS.sub("", parts["scripts"])
        html: str = super().interpolate_index(**parts | {"scripts": scripts, "title": title_element(self.title)})
        return html

    def _config(self) -> dict[str, Any]:
        """Return the configuration of Dash's scripts, without WebSockets, which they would try again and again."""
        config: dict[str, Any] = super()._config()
        config.pop("websocket", None)
        return config


def make_page(server: FastAPI, access: Access, assets: PageAssets, title: str, more_head: str = "") -> Page:
    """Return the page of a server, without its layout, and add its routes to the server.

    Args:
        server: the application.
        access: provides the prefix of the addresses.
        assets: scripts and styles.
        title: title of the browser tab.
        more_head: content of the page's head besides that of ``assets``.
    """
    head = f"{assets.head}\n{more_head}" if more_head else assets.head
    page = Page(
        "stepscope",
        server=server,
        backend="fastapi",
        requests_pathname_prefix=f"{access.prefix}/",
        routes_pathname_prefix="/",
        assets_folder=str(ICONS),
        title=title,
        update_title="",
        suppress_callback_exceptions=True,
        index_string=INDEX.replace("<!-- page styles -->", head).replace("<!-- page scripts -->", assets.foot),
        include_assets_files=False,
        serve_locally=True,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
        add_log_handler=False,
    )
    # The page's own script starts the renderer once its callbacks exist.
    page.renderer = ""
    return page
