"""The Profile panel: the open trace and page, and their content."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, Final

import dash
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from fastapi import APIRouter

from stepscope.dashboard.page.colors import Scheme
from stepscope.dashboard.page.controls import (
    revision_input,
    scheme_input,
    segmented,
    setting_id,
    side_scroll,
    view_input,
)
from stepscope.dashboard.page.state import View, decode
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.profile.known_ranks import KnownRanks, known_ranks
from stepscope.dashboard.panels.profile.messages import FollowedRanks
from stepscope.dashboard.panels.profile.presence import absent_pages, shown_pages
from stepscope.dashboard.panels.profile.rank_page import rank_options
from stepscope.dashboard.panels.profile.request import answer_of, rank_sources
from stepscope.dashboard.panels.profile.routes import make_router
from stepscope.dashboard.panels.profile.rows import chosen_id
from stepscope.dashboard.panels.profile.settings import PAGE, PAGES, SETTINGS, TRACE, Page, PageRequest
from stepscope.dashboard.panels.profile.views import absent_menu, options_of, page_lead, page_tables, trace_line
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import heavy
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTraces, analyzed_traces_of
from stepscope.dashboard.traces.choices import choices, newest, open_button, trace_select
from stepscope.dashboard.traces.drop_route import UPLOADS
from stepscope.dashboard.traces.folders import TRACE_PATTERNS, TRACE_RECOGNIZER
from stepscope.dashboard.traces.gathered_ranks import jobs_of_ranks
from stepscope.dashboard.traces.sources import TraceSource, TraceUnavailableError, has_traces, trace_sources
from stepscope.summary.snapshot import Snapshot

PARTS: Final = ("choices", "pages", "absent", "options", "facts", "lead", "tables", "chosen", "followed")


class ProfilePanel(Panel):
    """How the time of a trace was spent."""

    name = "profile"
    title = "Profile"
    follows_runs = False
    companions = TRACE_PATTERNS
    recognizers = (TRACE_RECOGNIZER,)
    uploads = UPLOADS
    settings = SETTINGS

    def has_data(self, snapshot: Snapshot) -> bool:
        return has_traces(snapshot)

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        first: tuple[Page, ...] = ("overview", PageRequest.of(view).page)
        sources = trace_sources(snapshot)
        listed = choices(sources, TRACE.of(view) or newest(sources))
        return html.Div(
            [
                html.Div(
                    [
                        trace_select(TRACE, snapshot, view, "profile-choice"),
                        open_button("quiet"),
                        html.Div(id="profile-facts"),
                        html.Div(
                            [
                                # The pages with something to show are known once the trace is.
                                side_scroll(
                                    segmented(PAGE, view, {page: PAGES[page] for page in dict.fromkeys(first)}, "View"),
                                    "profile-views",
                                ),
                                html.Div(id="profile-absent"),
                            ],
                            className="profile-pages",
                        ),
                        html.Div(id="profile-options", className="profile-options"),
                    ],
                    className="toolbar profile-toolbar",
                ),
                html.Div(id="profile-progress", role="status"),
                # While ranks are being read, the page requests the progress, and more ranks when there are more.
                html.Div(id="profile-ranks-line", role="status"),
                html.Div(
                    html.Div([html.Div(id="profile-lead"), html.Div(id="profile-tables")], className="profile-page"),
                    id="profile-body",
                ),
                # Avoids listing thousands of traces twice.
                dcc.Store(id="profile-keys", data={"choices": fingerprint(listed)}),
                dcc.Store(id="profile-running", data=False),
                dcc.Store(id="profile-chosen"),
                dcc.Store(id="profile-selected"),
                dcc.Store(id="profile-ranks-followed"),
                # Written only by the page's own code: as a callback's output, it would make callbacks circular.
                dcc.Store(id="profile-ranks-wanted"),
            ],
            className="panel profile-panel",
        )

    def register(self, app: Dash, live: Live) -> None:
        analyzed_traces = analyzed_traces_of(live)
        jobs = jobs_of_ranks(live)
        for function, output, given in (
            ("profileProgress", Output("profile-progress", "title"), Input("profile-running", "data")),
            ("profileSelect", Output("profile-selected", "data"), Input("profile-chosen", "data")),
            ("profileTables", Output("profile-tables", "title"), Input("profile-tables", "children")),
            ("profileFollow", Output("profile-ranks-line", "title"), Input("profile-ranks-followed", "data")),
        ):
            app.clientside_callback(ClientsideFunction("stepscope", function), output, given, prevent_initial_call=True)

        @app.callback(
            Output(setting_id(TRACE.name), "data"),
            Output(setting_id(PAGE.name), "data"),
            Output("profile-absent", "children"),
            Output("profile-options", "children"),
            Output("profile-facts", "children"),
            Output("profile-lead", "children"),
            Output("profile-tables", "children"),
            Output("profile-chosen", "data"),
            Output("profile-ranks-followed", "data"),
            Output("profile-keys", "data"),
            view_input(self.name),
            revision_input(self.name),
            scheme_input(self.name),
            Input("profile-ranks-wanted", "data"),
            State(setting_id(TRACE.name), "value"),
            State("profile-keys", "data"),
            running=[(Output("profile-running", "data"), True, False)],
        )
        @heavy
        def update_profile(
            query: str | None,
            _revision: int | None,
            scheme: str | None,
            _ranks_wanted: float | None,
            trace: str | None,
            known: dict[str, str],
        ) -> Any:
            """Show the page that the view asks for; parts that the page already has are not sent again."""
            if query is None:
                raise dash.exceptions.PreventUpdate
            view = decode(query)
            colors: Scheme = "dark" if scheme == "dark" else "light"
            sources = trace_sources(live.snapshot())
            chosen = TRACE.of(view) or trace or newest(sources)
            requested = PageRequest.of(view)
            ranks, followed = None, None
            if requested.page == "ranks":
                with suppress(TraceUnavailableError):
                    ranks, followed = known_ranks(rank_sources(requested, chosen, sources), analyzed_traces, jobs)
            keys = _keys(requested, chosen, sources, colors, ranks, followed)
            if keys == known:
                raise dash.exceptions.PreventUpdate
            changed = {part for part in PARTS if keys[part] != known.get(part)}
            made = _parts(analyzed_traces, view, requested, chosen, sources, colors, ranks, changed)
            made |= {"followed": followed}
            return *(made[part] if part in changed else no_update for part in PARTS), keys

    def router(self, live: Live) -> APIRouter | None:
        return make_router(live)


def _keys(
    requested: PageRequest,
    chosen: str | None,
    sources: Sequence[TraceSource],
    scheme: Scheme,
    ranks: KnownRanks | None,
    followed: FollowedRanks | None,
) -> dict[str, str]:
    """Return what each part depends on; figures contain the colors of the scheme."""
    versions = {source.id: source.version for source in sources}
    involved = [chosen, requested.before]
    state = [(each, versions.get(each or "")) for each in involved]
    listing = choices(sources, chosen)
    lead = fingerprint((requested.relevant(), state, scheme, ranks.version if ranks is not None else ""))
    # Tables of thousands of ranks do not depend on how charts are divided, or on whether more is on its way.
    tables = lead if ranks is None else fingerprint((requested.for_tables(), state, ranks.content))
    return {
        "choices": fingerprint(listing),
        "pages": fingerprint((state[0], listing, requested.page)),
        "absent": fingerprint((state[0], listing)),
        "options": fingerprint(
            (
                (requested.page, chosen, state[0], listing if requested.page in ("ranks", "diff") else ()),
                # Choices that arrive while ranks are being read.
                ranks.groupings if ranks is not None else (),
            )
        ),
        "facts": fingerprint(state[0]),
        "lead": lead,
        "tables": tables,
        "chosen": tables,
        "followed": fingerprint(followed),
    }


def _parts(
    analyzed_traces: AnalyzedTraces,
    view: View,
    requested: PageRequest,
    chosen: str | None,
    sources: Sequence[TraceSource],
    scheme: Scheme,
    ranks: KnownRanks | None,
    changed: Collection[str],
) -> dict[str, Any]:
    """Return the parts of the panel; of lead and tables, only those that changed."""
    listing = choices(sources, chosen)
    parts: dict[str, Any] = {"choices": listing, "options": [], "facts": None, "chosen": None, "tables": []}
    parts |= {"pages": shown_pages({}, requested.page), "absent": None}
    try:
        answer = answer_of(analyzed_traces, requested, chosen, sources, ranks)
    except TraceUnavailableError as error:
        return parts | {"lead": notice("This trace cannot be shown", str(error))}
    lead: Any = []
    tables: Any = []
    if answer.missing:
        lead = notice(*answer.missing)
    else:
        if "lead" in changed:
            lead = page_lead(requested, answer.analyzed, answer.tables, scheme, answer.workers, answer.ranks)
        if "tables" in changed:
            tables = page_tables(requested, answer.tables)
    options = options_of(requested.page, view, answer.analyzed, listing)
    if answer.ranks is not None:
        options = rank_options(view, answer.ranks, listing, [source.id for source in answer.job])
    absent = absent_pages(answer.analyzed, answer.workers, len(sources))
    return {
        "choices": listing,
        "pages": shown_pages(absent, requested.page),
        "absent": absent_menu(absent, answer.analyzed.source.id),
        "options": options,
        "facts": trace_line(answer.analyzed),
        "lead": lead,
        "tables": tables,
        "chosen": next(([each.name, chosen_id(each)] for each in answer.tables if each.chosen is not None), None),
    }


def notice(title: str, words: str) -> html.Div:
    """Return a message that explains why there is nothing to see, and what to do."""
    return html.Div([html.Strong(title), html.Span(words)], className="notice none profile-notice")


PANEL = ProfilePanel()
