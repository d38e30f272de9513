"""``/api/search`` and ``/api/runs/fields``: results for the palette, and the fields that can describe runs."""

from typing import Annotated, get_args

from fastapi import APIRouter, Query

from stepscope.dashboard.runs import messages
from stepscope.dashboard.runs.examples import examples
from stepscope.dashboard.runs.expression import BuiltIn
from stepscope.dashboard.runs.facts import Facts, HParamField, MetricField, Statistic
from stepscope.dashboard.runs.listing import column_of
from stepscope.dashboard.runs.search import LONGEST_SEARCH, MOST_HITS, Hit, search, tags_of
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import LightRoute

MOST_FIELDS = 2_000


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["runs"], route_class=LightRoute)

    @routes.get("/api/search")
    def find(
        q: Annotated[str, Query(max_length=LONGEST_SEARCH)] = "",
        limit: Annotated[int, Query(ge=1, le=200)] = MOST_HITS,
    ) -> list[messages.Hit]:
        """Return runs and tags whose names contain the letters of ``q`` in order, best first."""
        return [_as_json(hit) for hit in search(live.snapshot(), q, limit)]

    @routes.get("/api/runs/fields")
    def fields() -> messages.RunFields:
        """Return the fields for grouping, coloring and searching runs: hyperparameters, and scalar tags."""
        return _fields(live)

    return routes


def _as_json(hit: Hit) -> messages.Hit:
    return {"kind": hit.kind, "name": hit.name, "data": hit.data, "places": hit.places}


def _fields(live: Live) -> messages.RunFields:
    snapshot = live.snapshot()
    facts = Facts.of(snapshot)
    tags = [tag for tag, kind in facts.once("tags", lambda: tags_of(snapshot)) if kind == "scalars"]
    return {
        "built_in": list(get_args(BuiltIn)),
        "hparams": [
            {**column_of(HParamField(name), facts), "differs": name in facts.differing_hparams}
            for name in facts.hparam_names[:MOST_FIELDS]
        ],
        "metrics": [{"tag": tag, "spec": MetricField(tag, "last").spec} for tag in tags[:MOST_FIELDS]],
        "statistics": list(get_args(Statistic)),
        "examples": examples(facts),
        "depth": max((run.count("/") + 1 for run in snapshot.runs), default=1),
    }
