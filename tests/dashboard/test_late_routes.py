"""Routes prepared on their first request equal those that FastAPI would have made immediately."""

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import pytest
from fastapi import APIRouter, FastAPI, Query
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from stepscope.dashboard.server.late_routes import LateRoute, join


def router(route_class: type[APIRoute]) -> APIRouter:
    routes = APIRouter(tags=["inner"], route_class=route_class)

    @routes.get("/{name}")
    def named(name: str, count: Annotated[int, Query(ge=1, description="How often")] = 1) -> list[str]:
        """Return a name as often as asked."""
        return [name] * count

    @routes.post("/{name}", status_code=201)
    def added(name: str) -> str:
        return name

    @routes.get("/hidden/{path:path}", include_in_schema=False)
    def hidden(path: str) -> str:
        return path

    return routes


def server(route_class: type[APIRoute]) -> FastAPI:
    app = FastAPI()
    if route_class is APIRoute:
        app.include_router(router(APIRoute), prefix="/api", tags=["outer"])
        app.include_router(router(APIRoute))
    else:
        whole = APIRouter()
        join(whole, router(LateRoute))
        join(app, whole, "/api", ("outer",))
        join(app, router(LateRoute))
    return app


def test_they_are_described_alike() -> None:
    assert server(LateRoute).openapi() == server(APIRoute).openapi()


@pytest.mark.parametrize("prefix", ["/api", ""])
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/a?count=2", 200),
        ("GET", "/a?count=0", 422),
        ("POST", "/a", 201),
        ("DELETE", "/a", 405),
        ("GET", "/hidden/b/c", 200),
        ("GET", "/no/such", 404),
    ],
)
def test_they_answer_alike(prefix: str, method: str, path: str, status: int) -> None:
    answers = [TestClient(server(made)).request(method, prefix + path) for made in (LateRoute, APIRoute)]
    assert [answer.status_code for answer in answers] == [status, status]
    assert answers[0].content == answers[1].content
    assert answers[0].headers == answers[1].headers


def test_nothing_of_a_route_is_prepared_before_somebody_asks_for_it() -> None:
    app = server(LateRoute)
    late = [route for route in app.routes if isinstance(route, LateRoute)]
    assert len(late) == 6
    assert [route.name for route in late if "app" in vars(route)] == []
    assert TestClient(app).get("/a").json() == ["a"]
    assert [(route.path, route.name) for route in late if "app" in vars(route)] == [("/{name}", "named")]
    with pytest.raises(AttributeError, match="no_such"):
        _ = late[0].no_such


def test_a_route_that_several_threads_ask_for_is_prepared_once() -> None:
    (route, *_) = router(LateRoute).routes
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: id(route.app), range(64)))  # type: ignore[attr-defined]
    assert len(set(found)) == 1


def test_routes_of_another_class_join_as_fastapi_includes_them() -> None:
    app = FastAPI()
    join(app, router(APIRoute), "/api", ("outer",))
    assert TestClient(app).get("/api/a").json() == ["a"]
    assert app.openapi()["paths"]["/api/{name}"]["get"]["tags"] == ["outer", "inner"]
