from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import igraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.dashboard.graphs.columns import nearest
from stepscope.dashboard.graphs.crossings import crossings, improve
from stepscope.dashboard.graphs.layers import Flat, order
from stepscope.dashboard.graphs.layout import Box, Placed, place
from stepscope.dashboard.graphs.levels import LayoutCache, Level
from stepscope.dashboard.graphs.measures import MEASURES, text_width
from stepscope.dashboard.graphs.places import simplified
from stepscope.dashboard.graphs.scene import Scene, SceneEdge, SceneNode

ROUNDING = 0.11


def node(
    path: str, *, op: str = "Relu", group: bool = False, expanded: bool = False, aux: int = 0, aside: bool = False
) -> SceneNode:
    """A node whose parent is the one in its path."""
    parent, _, label = path.rpartition("/")
    return SceneNode(
        id=path,
        label=label,
        kind="group" if group or expanded else "op",
        op="" if group or expanded else op,
        parent=parent or None,
        expanded=expanded,
        count=1,
        aux=tuple(f"{path}/aux{number}" for number in range(aux)),
        structure=0,
        device="",
        xla="",
        parameters=0,
        flops=None,
        problems=0,
        aside=aside,
    )


def edge(source: str, target: str) -> SceneEdge:
    return SceneEdge(source, target, False, False, 1, None, "")


def scene(nodes: Sequence[SceneNode], edges: Sequence[tuple[str, str]]) -> Scene:
    return Scene(tuple(nodes), tuple(edge(*pair) for pair in edges))


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Groups within groups, some open, and any edges between visible nodes, including cycles."""
    nodes: list[SceneNode] = []
    open_groups = [""]
    for number in range(draw(st.integers(1, 24))):
        scope = draw(st.sampled_from(open_groups))
        kind = draw(st.sampled_from(["op", "op", "op", "loop", "group", "open"]))
        path = f"{scope}/{'x' * draw(st.integers(1, 30))}{number}" if scope else f"n{number}"
        nodes.append(
            node(
                path,
                op="NextIteration" if kind == "loop" else "Relu",
                group=kind == "group",
                expanded=kind == "open",
                aux=draw(st.integers(0, 2)),
                aside=kind == "op" and draw(st.integers(0, 9)) == 0,
            )
        )
        if kind == "open":
            open_groups.append(path)
    ends = [each.id for each in nodes if not each.expanded]
    if not ends:
        return scene(nodes, [])
    pairs = st.tuples(st.sampled_from(ends), st.sampled_from(ends))
    return scene(nodes, draw(st.lists(pairs, max_size=50, unique=True)))


def bottom_of(box: Box) -> float:
    return box.y + box.height


def right_of(box: Box) -> float:
    return box.x + box.width


def overlap(one: Box, other: Box) -> bool:
    return (
        one.x + ROUNDING < right_of(other)
        and other.x + ROUNDING < right_of(one)
        and one.y + ROUNDING < bottom_of(other)
        and other.y + ROUNDING < bottom_of(one)
    )


def points_of(line: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip(line[::2], line[1::2], strict=True))


def cuts(one: tuple[float, float], other: tuple[float, float], box: Box) -> bool:
    """Whether a straight line passes through the interior of a box (Liang and Barsky 1984)."""
    begin, end = 0.0, 1.0
    low = box.x + ROUNDING, box.y + ROUNDING
    high = right_of(box) - ROUNDING, bottom_of(box) - ROUNDING
    for axis in (0, 1):
        along = other[axis] - one[axis]
        if along == 0:
            if not low[axis] < one[axis] < high[axis]:
                return False
            continue
        first, second = sorted(((low[axis] - one[axis]) / along, (high[axis] - one[axis]) / along))
        begin, end = max(begin, first), min(end, second)
    return begin < end


def around(path: str) -> Iterator[str]:
    """The groups around a node."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def chain(*paths: str) -> list[tuple[str, str]]:
    return list(pairwise(paths))


def test_a_diamond() -> None:
    found = place(scene([node(name) for name in "abcd"], [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]))
    assert found == Placed(
        nodes={
            "a": Box(60.0, 16.0, 70, 26.0),
            "b": Box(16.0, 72.0, 70, 26.0),
            "c": Box(104.0, 72.0, 70, 26.0),
            "d": Box(60.0, 128.0, 70, 26.0),
        },
        edges=(
            (73.0, 42.0, 73.0, 72.0),
            (117.0, 42.0, 117.0, 72.0),
            (73.0, 98.0, 73.0, 128.0),
            (117.0, 98.0, 117.0, 128.0),
        ),
        width=190.0,
        height=170.0,
        key=found.key,
    )


def test_an_edge_into_an_open_group_crosses_its_border_above_its_end() -> None:
    nodes = [node("a"), node("g", expanded=True), node("g/b"), node("z")]
    found = place(scene(nodes, [("a", "g/b"), ("g/b", "z")]))
    group, inside = found.nodes["g"], found.nodes["g/b"]
    middle = inside.x + inside.width / 2
    assert (inside.x - group.x, inside.y - group.y) == (16.0, MEASURES.header + MEASURES.padding)
    assert found.edges == (
        (middle, bottom_of(found.nodes["a"]), middle, inside.y),
        (middle, bottom_of(inside), middle, found.nodes["z"].y),
    )


def test_edges_from_one_neighbor_enter_a_group_at_one_place() -> None:
    nodes = [node("a"), node("g", expanded=True), node("g/b"), node("g/c"), node("h", expanded=True), node("h/d")]
    found = place(scene(nodes, [("h/d", "g/b"), ("h/d", "g/c"), ("a", "g/b")]))
    top = found.nodes["g"].y
    crossed = [{x for x, y in points_of(line) if y == top} for line in found.edges]
    assert crossed[0] == crossed[1]
    assert len(crossed[0]) == 1
    assert crossed[2].isdisjoint(crossed[0])


def test_neighbors_with_edges_to_the_same_node_share_its_place_on_the_border() -> None:
    nodes = [node("a"), node("b"), node("g", expanded=True), node("g/c")]
    found = place(scene(nodes, [("a", "g/c"), ("b", "g/c")]))
    assert found.edges[0][2:] == found.edges[1][2:]


def test_a_loop_goes_back_beside_what_it_leads_over() -> None:
    nodes = [node("merge"), node("body"), node("next", op="NextIteration")]
    found = place(scene(nodes, [*chain("merge", "body", "next"), ("next", "merge")]))
    ys = [found.nodes[name].y for name in ("merge", "body", "next")]
    assert ys == sorted(ys)
    back = points_of(found.edges[2])
    assert back[0][1] == bottom_of(found.nodes["next"])
    assert back[-1][1] == found.nodes["merge"].y
    assert max(x for x, _ in back) > max(right_of(box) for box in found.nodes.values())


def test_only_an_edge_that_leads_back_is_drawn_upwards() -> None:
    names = [f"n{number}" for number in range(9)]
    nodes = [node(name, op="NextIteration" if name == "n8" else "Relu") for name in reversed(names)]
    found = place(scene(nodes, [*chain(*names), ("n8", "n0")]))
    assert [line[1] < line[-1] for line in found.edges] == [True] * 8 + [False]


def test_an_edge_to_its_own_node_goes_around_its_side() -> None:
    found = place(scene([node("a")], [("a", "a")]))
    assert found.edges == ((51.0, 42.0, 51.0, 48.0, 92.0, 48.0, 92.0, 10.0, 51.0, 10.0, 51.0, 16.0),)


def test_nodes_without_edges_fill_a_block_in_their_order() -> None:
    found = place(scene([node("g", expanded=True), *(node(f"g/n{number:03}") for number in range(300))], []))
    boxes = [found.nodes[f"g/n{number:03}"] for number in range(300)]
    assert 0.5 < found.width / found.height < 3
    assert [(box.y, box.x) for box in boxes] == sorted((box.y, box.x) for box in boxes)
    assert len({box.x for box in boxes}) == -(-300 // len({box.y for box in boxes}))


def test_what_one_node_feeds_fills_a_block() -> None:
    nodes = [node("hub"), *(node(f"n{number:03}") for number in range(300)), node("sum")]
    edges = [pair for number in range(300) for pair in chain("hub", f"n{number:03}", "sum")]
    found = place(scene(nodes, edges))
    assert 0.3 < found.width / found.height < 3


def test_parts_without_edges_between_them_are_beside_and_below_each_other() -> None:
    names = [[f"{name}{number}" for name in "abc"] for number in range(60)]
    nodes = [node(name) for part in names for name in part]
    found = place(scene(nodes, [pair for part in names for pair in chain(*part)]))
    assert 0.3 < found.width / found.height < 4
    assert all(len({found.nodes[name].x for name in part}) == 1 for part in names)


def test_what_is_set_aside_has_no_place() -> None:
    nodes = [node("a"), node("b"), node("save", aside=True)]
    found = place(scene(nodes, [("a", "b"), ("a", "save"), ("save", "save")]))
    assert found.edges[1:] == ((), ())
    assert set(found.nodes) == {"a", "b"}
    assert found.width == 102.0


def test_a_badge_has_room_at_the_right_of_its_node() -> None:
    found = place(scene([node("a", aux=1), node("b")], []))
    assert found.nodes["b"].x - right_of(found.nodes["a"]) == MEASURES.badge + MEASURES.gap


def test_nothing_to_place() -> None:
    found = place(Scene((), ()))
    assert (found.nodes, found.edges) == ({}, ())


def test_an_edge_that_ends_at_an_open_group_ends_at_its_border() -> None:
    nodes = [node("a"), node("g", expanded=True), node("g/b"), node("g/h", expanded=True), node("g/h/c")]
    found = place(scene(nodes, [("a", "g"), ("g", "g/b"), ("g/h/c", "g")]))
    assert found.edges[0][-1] == found.nodes["g"].y
    assert (found.edges[1][1], found.edges[1][-1]) == (found.nodes["g"].y, found.nodes["g/b"].y)
    assert found.edges[2][-1] == bottom_of(found.nodes["g"])


class Counting(LayoutCache):
    """Records which levels are laid out."""

    def __init__(self, most: int = 400_000) -> None:
        super().__init__(most)
        self.made: list[Level] = []

    def get(self, key, weight, make):  # type: ignore[no-untyped-def]
        def noted():  # type: ignore[no-untyped-def]
            if isinstance(key[0] if isinstance(key, tuple) else key, Level):
                self.made.append(key[0])
            return make()

        return super().get(key, weight, noted)


def test_expanding_a_group_lays_out_only_it_and_those_around_it() -> None:
    def opened(inner: bool) -> Scene:
        nodes = [node("in")]
        for name in "pqr":
            nodes += [node(name, expanded=True), *(node(f"{name}/{part}") for part in f"ab{name}")]
            nodes.append(node(f"{name}/more", group=True, expanded=inner and name == "q"))
        nodes += [node("q/more/x"), node("q/more/y")] if inner else []
        edges = [pair for name in "pqr" for pair in chain("in", f"{name}/a", f"{name}/b")]
        return scene(nodes, edges)

    cache = Counting()
    before = place(opened(False), cache=cache)
    # The three groups have the same content, so it is laid out once.
    assert len(cache.made) == 2
    cache.made.clear()
    after = place(opened(True), cache=cache)
    assert [len(level.sizes) for level in cache.made] == [2, 4, 4]
    columns = [[found.nodes[name].x for name in "pqr"] for found in (before, after)]
    assert [sorted(xs) for xs in columns] == columns or columns[0] != columns[1]
    assert after.nodes["p"].width == before.nodes["p"].width


def test_levels_used_least_are_forgotten() -> None:
    cache = LayoutCache(most=10)
    made: list[str] = []

    def get(name: str) -> str:
        return cache.get(name, 4, lambda: made.append(name) or name)  # type: ignore[func-returns-value]

    for name in ("a", "b", "a", "c", "a", "b"):
        assert get(name) == name
    assert made == ["a", "b", "c", "b"]
    assert len(cache) == 2


@settings(max_examples=120)
@given(scenes())
def test_nodes_do_not_overlap_and_are_inside_their_groups(drawn: Scene) -> None:
    found = place(drawn)
    shown = [each for each in drawn.nodes if not each.aside]
    assert set(found.nodes) == {each.id for each in shown}
    children: dict[str | None, list[SceneNode]] = {}
    for each in shown:
        children.setdefault(each.parent, []).append(each)
    for parent, members in children.items():
        for one, other in combinations([found.nodes[each.id] for each in members], 2):
            assert not overlap(one, other)
        frame = Box(0, 0, found.width, found.height) if parent is None else found.nodes[parent]
        header = 0.0 if parent is None else MEASURES.header
        for box in (found.nodes[each.id] for each in members):
            assert box.x >= frame.x - ROUNDING
            assert box.y >= frame.y + header - ROUNDING
            assert right_of(box) <= right_of(frame) + ROUNDING
            assert bottom_of(box) <= bottom_of(frame) + ROUNDING


@settings(max_examples=120)
@given(scenes())
def test_edges_begin_and_end_at_borders_and_pass_no_other_node(drawn: Scene) -> None:
    found = place(drawn)
    aside = {each.id for each in drawn.nodes if each.aside}
    for each, line in zip(drawn.edges, found.edges, strict=True):
        if aside & {each.source, each.target}:
            assert line == ()
            continue
        source, target = found.nodes[each.source], found.nodes[each.target]
        points = points_of(line)
        assert points[0][1] == pytest.approx(bottom_of(source), abs=ROUNDING)
        assert source.x < points[0][0] < right_of(source)
        assert points[-1][1] == pytest.approx(target.y, abs=ROUNDING)
        assert target.x < points[-1][0] < right_of(target)
        passed = {*around(each.source), *around(each.target)}
        boxes = [box for path, box in found.nodes.items() if path not in passed]
        assert not [box for box in boxes for one, other in pairwise(points) if cuts(one, other, box)]


@settings(max_examples=40)
@given(scenes())
def test_the_same_scene_has_the_same_places(drawn: Scene) -> None:
    cache = LayoutCache()
    assert place(drawn) == place(drawn, cache=cache) == place(drawn, cache=cache)


@st.composite
def levels(draw: st.DrawFn) -> Flat:
    nodes = draw(st.integers(2, 25))
    tops, bottoms = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    ends = st.tuples(
        st.integers(0, nodes + tops - 1),
        st.one_of(st.integers(0, nodes - 1), st.integers(nodes + tops, nodes + tops + bottoms - 1))
        if bottoms
        else st.integers(0, nodes - 1),
    )
    # No edge passes a level without touching one of its nodes.
    pairs = draw(st.lists(ends.filter(lambda p: p[0] != p[1] and min(p) < nodes), max_size=60, unique=True))
    returns = tuple(draw(st.booleans()) for _ in pairs)
    return Flat((80.0,) * nodes, tops, bottoms, tuple(pairs), returns, 600.0)


@settings(max_examples=150)
@given(levels())
def test_every_path_passes_one_place_of_each_row(flat: Flat) -> None:
    found = order(flat)
    row_of = {vertex: number for number, row in enumerate(found.rows) for vertex in row}
    assert set(range(flat.count)) <= set(row_of)
    assert sum(map(len, found.rows)) == len(row_of)
    for pair, path, back in zip(flat.pairs, found.paths, found.back, strict=True):
        assert (path[0], path[-1]) == pair
        rows = [row_of[vertex] for vertex in path]
        start, end = rows[0], rows[-1]
        assert back == (start >= end)
        assert rows == ([start, *range(start, end - 1, -1), end] if back else [*range(start, end + 1)])


@settings(max_examples=100)
@given(levels())
def test_there_are_no_more_crossings_than_in_igraphs_order(flat: Flat) -> None:
    rows = order(flat).rows
    layer = {vertex: number for number, row in enumerate(rows) for vertex in row}
    paths = [path for path, back in zip(order(flat).paths, order(flat).back, strict=True) if not back]
    links = list(dict.fromkeys(pair for path in paths for pair in pairwise(path)))
    numbers = {vertex: index for index, vertex in enumerate(sorted(layer))}
    graph = igraph.Graph(n=len(layer), edges=[(numbers[a], numbers[b]) for a, b in links], directed=True)
    x = [place[0] for place in graph.layout_sugiyama(layers=[layer[v] for v in sorted(layer)]).coords]
    theirs = [sorted(row, key=lambda vertex: x[numbers[vertex]]) for row in rows]
    assert crossings(improve(theirs, links), links) <= crossings(theirs, links)


def test_fewer_crossings_than_in_igraphs_order() -> None:
    rows = [[0, 1, 2, 3], [4, 5, 6, 7]]
    links = [(0, 7), (1, 6), (2, 5), (3, 4), (0, 6)]
    assert crossings(rows, links) == 8
    assert crossings(improve(rows, links), links) == 0


@pytest.mark.parametrize(
    ("links", "expected"), [([(0, 2), (1, 3)], 0), ([(0, 3), (1, 2)], 1), ([(0, 2), (0, 3), (1, 2), (1, 3)], 1)]
)
def test_crossings_are_counted(links: list[tuple[int, int]], expected: int) -> None:
    assert crossings([[0, 1], [2, 3]], links) == expected


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 10), st.floats(0, 20)), min_size=1, max_size=12))
def test_places_keep_their_distances_and_stay_if_they_can(drawn: list[tuple[float, float, float]]) -> None:
    after = [0.0]
    for _, _, gap in drawn[1:]:
        after.append(after[-1] + gap)
    wanted = [place for place, _, _ in drawn]
    found = nearest(wanted, [weight for _, weight, _ in drawn], after)
    assert all(b - a >= d - c - 1e-9 for (a, b), (c, d) in zip(pairwise(found), pairwise(after), strict=True))
    if all(b - a >= d - c for (a, b), (c, d) in zip(pairwise(wanted), pairwise(after), strict=True)):
        assert found == pytest.approx(wanted)


def test_a_line_keeps_only_its_bends() -> None:
    points = [(0.0, 0.0), (0.0, 0.0), (0.0, 4.0), (0.02, 8.0), (5.0, 8.0), (5.0, 8.0), (9.0, 8.0)]
    assert simplified(points) == (0.0, 0.0, 0.0, 8.0, 9.0, 8.0)


def test_wide_letters_are_wider() -> None:
    assert text_width("iiii") < text_width("nnnn") < text_width("WWWW") < text_width("畳畳畳畳")
